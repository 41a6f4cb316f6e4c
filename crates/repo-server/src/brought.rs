//! Credentials that come with a request, as Argo CD's controllers send them.
//!
//! A request uses what it brought and nothing else: the credentials that
//! another brought for the same address are not for it, nor is what was fetched
//! with them. Two requests with credentials for an address share its store, and
//! connect with what came last.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::credentials::SharedBook;
use crate::server::Inner;
use crate::{CredentialBook, RepoCredentials, RepoUrl, SourceRepos};

/// More addresses than anybody has; then all are learned anew.
const MAX_LEARNED: usize = 20_000;

/// What came with a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// Repositories, each with the project that it belongs to.
    pub repositories: Vec<(RepoUrl, String)>,
    /// Their credentials, credentials for all below an address, and names.
    pub book: CredentialBook,
}

impl Brought {
    /// Adds a repository; of two with one address the first counts.
    pub fn add(&mut self, address: &str, name: &str, project: &str, credentials: RepoCredentials) {
        if address.is_empty() {
            return;
        }
        self.repositories.push((RepoUrl::new(address), project.to_owned()));
        self.book.repositories.push((address.to_owned(), credentials));
        if !name.is_empty() {
            self.book.names.insert(name.to_owned(), address.to_owned());
        }
    }

    fn credentials(&self, url: &RepoUrl) -> RepoCredentials {
        let is_registry = url.is_registry() || self.book.is_chart_registry(url);
        let trust = if is_registry { self.book.for_registry(url) } else { self.book.for_repo(url) };
        trust.credentials
    }

    /// Under whose name the credentials for an address are kept.
    fn owner(&self, url: &RepoUrl) -> String {
        let place = url.place();
        let own = self.repositories.iter().find(|(it, _)| it.place() == place);
        // No project has a blank in its name.
        format!("requests of {}", own.map_or("", |(_, project)| project))
    }
}

/// The book that was set, and what requests brought since.
#[derive(Default)]
pub(crate) struct Learned(Mutex<State>);

#[derive(Default)]
struct State {
    set: CredentialBook,
    owners: BTreeMap<String, Vec<(String, RepoCredentials)>>,
    count: usize,
}

impl Learned {
    /// From now on this book counts, beside what was learned.
    pub(crate) fn set(&self, shared: &SharedBook, book: CredentialBook) {
        let mut state = self.lock();
        state.set = book;
        shared.set(state.merged());
    }

    fn learn(&self, shared: &SharedBook, owner: &str, url: &RepoUrl, news: RepoCredentials) {
        let mut state = self.lock();
        let place = url.place();
        let known = state.owners.entry(owner.to_owned()).or_default();
        match known.iter_mut().find(|(it, _)| RepoUrl::new(it).place() == place) {
            Some((_, credentials)) if *credentials == news => return,
            Some((_, credentials)) => *credentials = news,
            None => {
                known.push((url.to_connect().to_owned(), news));
                state.count += 1;
            }
        }
        if state.count > MAX_LEARNED {
            let newest = state.owners.get_mut(owner).and_then(Vec::pop);
            state.owners = BTreeMap::from([(owner.to_owned(), newest.into_iter().collect())]);
            state.count = 1;
        }
        shared.set(state.merged());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn merged(&self) -> CredentialBook {
        let mut book = self.set.clone();
        book.projects.extend(self.owners.clone());
        book
    }
}

impl Inner {
    /// A repository that a source leads to, as an Application of a project
    /// reaches it: as a stranger, where the project does not permit it.
    pub(crate) fn reached(
        &self,
        brought: Option<&Arc<Brought>>,
        project: &str,
        source_repos: &SourceRepos,
        url: &RepoUrl,
    ) -> RepoUrl {
        if url.is_permitted_by(source_repos) {
            self.seen(brought, project, url)
        } else {
            url.as_stranger()
        }
    }

    /// The repository at an address as a request sees it: with what it brought,
    /// or else as its project does.
    pub(crate) fn seen(
        &self,
        brought: Option<&Arc<Brought>>,
        project: &str,
        url: &RepoUrl,
    ) -> RepoUrl {
        let Some(brought) = brought else { return self.book.current().seen_by(project, url) };
        let credentials = brought.credentials(url);
        if credentials == RepoCredentials::default() {
            return url.of_project("");
        }
        let owner = brought.owner(url);
        self.learned.learn(&self.book, &owner, url, credentials);
        url.of_project(&owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> RepoCredentials {
        RepoCredentials { password: text.to_owned(), ..RepoCredentials::default() }
    }

    fn server() -> (tempfile::TempDir, crate::RepoServer) {
        let folder = tempfile::tempdir().unwrap();
        let server = crate::RepoServer::open(crate::Options::new(folder.path())).unwrap();
        (folder, server)
    }

    fn brought(address: &str, project: &str, credentials: RepoCredentials) -> Arc<Brought> {
        let mut brought = Brought::default();
        brought.add(address, "", project, credentials);
        Arc::new(brought)
    }

    const REPO: &str = "https://example.com/org/repo";

    /// The password that a connection would use.
    fn used(server: &crate::RepoServer, seen: &RepoUrl) -> String {
        server.inner.book.current().for_repo(seen).credentials.password
    }

    #[tokio::test]
    async fn a_request_uses_what_it_brought_and_nothing_else() {
        let (_folder, server) = server();
        let rich = server.with(brought(REPO, "", password("one")));
        let poor = server.with(Arc::default());
        let seen = rich.repo(REPO, "shop");
        assert_eq!(used(&server, &seen), "one");
        let other = poor.repo(REPO, "shop");
        assert_eq!(used(&server, &other), "");
        assert_ne!(seen.identity(), other.identity(), "what was fetched is not shared either");
    }

    #[tokio::test]
    async fn what_came_last_counts_and_the_store_stays() {
        let (_folder, server) = server();
        let before = server.with(brought(REPO, "", password("one"))).repo(REPO, "");
        let spelled = format!("{REPO}.git");
        let after = server.with(brought(&spelled, "", password("two"))).repo(REPO, "");
        assert_eq!(before.identity(), after.identity());
        assert_eq!(used(&server, &before), "two");
        server.set_credentials(CredentialBook::default());
        assert_eq!(used(&server, &before), "two", "what was learned outlives the settings");
    }

    #[tokio::test]
    async fn a_repository_of_a_project_is_its_own() {
        let (_folder, server) = server();
        let shop = server.with(brought(REPO, "shop", password("one"))).repo(REPO, "shop");
        let all = server.with(brought(REPO, "", password("two"))).repo(REPO, "shop");
        assert_ne!(shop.identity(), all.identity());
        assert_eq!((used(&server, &shop), used(&server, &all)), ("one".into(), "two".into()));
    }

    #[tokio::test]
    async fn credentials_for_a_prefix_are_used_below_it() {
        let (_folder, server) = server();
        let mut brought = Brought::default();
        brought.book.templates.push(("https://example.com/org".to_owned(), password("org")));
        let server = server.with(Arc::new(brought));
        assert_eq!(used(&server, &server.repo(REPO, "")), "org");
        assert_eq!(used(&server, &server.repo("https://example.com/other/repo", "")), "");
    }
}
