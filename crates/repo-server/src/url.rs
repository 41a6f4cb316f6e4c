//! A repository's address: as written, for showing, and for telling two apart.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::SourceRepos;

/// A repository's address as its user wrote it.
///
/// Shown without the credentials some people put into it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoUrl {
    text: String,
    /// The project whose own credentials are used; empty when it has none for
    /// this address. What they brought here is not for other projects.
    project: Box<str>,
    /// The repository that this one is a submodule of, if it is reached with
    /// that one's credentials; empty otherwise.
    parent: Box<str>,
    /// Reached without anything that is registered for it, because the project
    /// does not permit it. What credentials brought here is not for strangers.
    is_stranger: bool,
}

impl RepoUrl {
    /// Takes the address as it stands in an Application; spaces around it are
    /// no part of it.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let (project, parent) = Default::default();
        Self { text: text.trim().to_owned(), project, parent, is_stranger: false }
    }

    /// The same address, reached with the project's own credentials.
    pub(crate) fn of_project(&self, project: &str) -> Self {
        Self { project: project.into(), ..self.clone() }
    }

    /// Does a project permit it? A registry is permitted with or without its
    /// scheme: charts refer to it with, and their repositories are without.
    pub(crate) fn is_permitted_by(&self, source_repos: &SourceRepos) -> bool {
        let bare = self.text.get(6..).filter(|_| self.is_registry());
        source_repos.permits(&self.text) || bare.is_some_and(|it| source_repos.permits(it))
    }

    /// The same address, reached as by somebody who has no credentials.
    pub(crate) fn as_stranger(&self) -> Self {
        Self { is_stranger: true, ..Self::new(&self.text) }
    }

    /// Is it reached without anything that is registered for it?
    pub(crate) fn is_stranger(&self) -> bool {
        self.is_stranger
    }

    /// The same address, reached with the credentials of the repository that it
    /// is a submodule of; a stranger's submodule is a stranger.
    pub(crate) fn as_part_of(&self, parent: &Self) -> Self {
        let whole = if parent.parent.is_empty() { &*parent.text } else { &*parent.parent };
        Self { text: self.text.clone(), parent: whole.into(), ..parent.clone() }
    }

    /// The repository whose credentials are used, if they are not its own.
    pub(crate) fn parent(&self) -> Option<Self> {
        let parent = self.with_text(self.parent.to_string());
        (!self.parent.is_empty()).then_some(Self { parent: Box::default(), ..parent })
    }

    /// Would what is said to one be said to the same server as what is said to
    /// the other?
    pub(crate) fn is_served_with(&self, other: &Self) -> bool {
        let server = |it: &Self| {
            let place = it.place();
            let (scheme, rest) = place.split_once("://")?;
            let authority = rest.split('/').next()?;
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            Some(format!("{scheme}://{host}"))
        };
        server(self).is_some() && server(self) == server(other)
    }

    /// The project whose own credentials are used.
    pub(crate) fn project(&self) -> &str {
        &self.project
    }

    /// The same repository, at another address.
    pub(crate) fn moved_to(&self, address: &str) -> Self {
        self.with_text(address.to_owned())
    }

    fn with_text(&self, text: String) -> Self {
        Self { text, ..self.clone() }
    }

    /// The address to connect to, credentials and all. Never for showing.
    pub(crate) fn to_connect(&self) -> &str {
        &self.text
    }

    /// The address without credentials.
    #[must_use]
    pub fn without_credentials(&self) -> String {
        let Some((scheme, rest)) = self.text.split_once("://") else { return self.text.clone() };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        format!("{scheme}://{host}{path}")
    }

    /// The text with this address's credentials taken out, wherever they stand.
    pub(crate) fn hide_credentials(&self, text: &str) -> String {
        let mut hidden = text.replace(&self.text, &self.without_credentials());
        if let Some((_, rest)) = self.text.split_once("://")
            && let Some((user, _)) = rest[..rest.find('/').unwrap_or(rest.len())].rsplit_once('@')
        {
            hidden = hidden.replace(&format!("{user}@"), "");
            if let Some((_, password)) = user.split_once(':').filter(|it| !it.1.is_empty()) {
                hidden = hidden.replace(password, "******");
            }
        }
        hidden
    }

    /// What makes two repositories the same to us: where they are, and with
    /// whose credentials.
    pub(crate) fn identity(&self) -> String {
        let identity = self.identity_with_credentials();
        // No project has a blank in its name.
        if self.is_stranger { format!("{identity}\nas a stranger") } else { identity }
    }

    fn identity_with_credentials(&self) -> String {
        match (&*self.project, self.parent()) {
            ("", None) => self.place(),
            // No address holds a line feed.
            (project, None) => format!("{}\n{project}", self.place()),
            (project, Some(parent)) => format!("{}\n{project}\n{}", self.place(), parent.place()),
        }
    }

    /// What makes two addresses the same place.
    ///
    /// Scheme and host ignore case; the path does not, because on most servers
    /// `/Org/a` and `/org/a` may be two repositories, and mixing up their
    /// branches would be worse than storing one repository twice.
    pub(crate) fn place(&self) -> String {
        let text = self.text.trim_end_matches('/');
        let text = text.strip_suffix(".git").unwrap_or(text);
        let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        match scheme.to_ascii_lowercase().as_str() {
            "file" => path.to_owned(),
            scheme => {
                let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
                let host = host.to_ascii_lowercase();
                let host = match scheme {
                    "https" => host.strip_suffix(":443").unwrap_or(&host),
                    "http" => host.strip_suffix(":80").unwrap_or(&host),
                    "ssh" => host.strip_suffix(":22").unwrap_or(&host),
                    _ => &host,
                };
                let at = if user.is_empty() { "" } else { "@" };
                format!("{scheme}://{user}{at}{host}{path}")
            }
        }
    }

    /// The address of a registry's repository, however it is written: with
    /// `oci://`, with `https://`, or without anything.
    pub(crate) fn in_registry(&self) -> Self {
        let bare = self.text.split_once("://").map_or(self.text.as_str(), |(_, rest)| rest);
        self.with_text(format!("oci://{}", bare.trim_end_matches('/')))
    }

    /// A repository below this one.
    pub(crate) fn below(&self, name: &str) -> Self {
        self.with_text(format!("{}/{name}", self.text.trim_end_matches('/')))
    }

    /// Does it name a repository of a registry by itself?
    pub(crate) fn is_registry(&self) -> bool {
        self.text.get(..6).is_some_and(|it| it.eq_ignore_ascii_case("oci://"))
    }

    /// The registry's host with its port, and the repository there.
    pub(crate) fn registry_parts(&self) -> (String, String) {
        let host = self.authority().unwrap_or_default();
        let path = self.text.split_once("://").map_or("", |(_, rest)| rest);
        let path = path.split_once('/').map_or("", |(_, path)| path);
        (host, path.trim_matches('/').to_owned())
    }

    /// Host and port as they stand in an address with a scheme, in lower case.
    pub(crate) fn authority(&self) -> Option<String> {
        let (_, rest) = self.text.split_once("://")?;
        let authority = rest.split('/').next().unwrap_or(rest);
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        Some(host.to_ascii_lowercase())
    }

    /// The host: of a URL, or of `git@host:path`.
    pub(crate) fn host(&self) -> Option<String> {
        if let Some(authority) = self.authority() {
            return authority.split(':').next().map(str::to_owned);
        }
        let (before, _) = self.text.split_once(':')?;
        Some(before.rsplit_once('@').map_or(before, |(_, host)| host).to_ascii_lowercase())
    }

    /// Is it a place on our own disk?
    pub(crate) fn is_local(&self) -> bool {
        match self.text.split_once("://") {
            Some((scheme, _)) => scheme.eq_ignore_ascii_case("file"),
            None => !self.is_ssh(),
        }
    }

    /// Is it an address for ssh?
    pub(crate) fn is_ssh(&self) -> bool {
        match self.text.split_once("://") {
            Some((scheme, _)) => scheme.eq_ignore_ascii_case("ssh"),
            None => self.text.split_once(':').is_some_and(|(host, _)| !host.contains('/')),
        }
    }

    /// The name of this repository's folder in the data directory.
    pub(crate) fn folder_name(&self) -> String {
        let digest = Sha256::digest(self.identity().as_bytes());
        digest[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_credentials())
    }
}

impl fmt::Debug for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_same(left: &str, right: &str, expect: bool) {
        assert_eq!(RepoUrl::new(left).identity() == RepoUrl::new(right).identity(), expect);
    }

    #[test]
    fn spellings_of_one_repository_share_a_store() {
        check_same("https://Example.com/org/repo.git", "https://example.com:443/org/repo", true);
        check_same("https://example.com/org/repo/", "https://example.com/org/repo", true);
        check_same("file:///srv/repo.git", "/srv/repo", true);
    }

    #[test]
    fn two_repositories_never_share_a_store() {
        check_same("https://example.com/org/repo", "https://example.com/Org/repo", false);
        check_same("https://example.com/org/repo", "https://example.com:8443/org/repo", false);
        check_same("https://a@example.com/org/repo", "https://b@example.com/org/repo", false);
        check_same("/srv/repo", "/srv/Repo", false);
    }

    #[test]
    fn a_stranger_shares_no_store_with_those_who_have_credentials() {
        let url = RepoUrl::new("https://example.com/org/repo");
        let part = RepoUrl::new("https://example.com/org/part").as_part_of(&url);
        let stranger = RepoUrl::new("https://example.com/org/part").as_stranger();
        let all = [part.clone(), part.as_stranger(), stranger.as_part_of(&stranger)];
        let known = [url.clone(), url.of_project("shop")];
        let strangers = [url.as_stranger(), url.of_project("shop").as_stranger()];
        assert_eq!(strangers[0].identity(), strangers[1].identity(), "they are all the same");
        let all = all.iter().chain(&known).chain(&strangers[..1]);
        let identities: std::collections::BTreeSet<String> = all.map(RepoUrl::identity).collect();
        assert_eq!(identities.len(), 6);
    }

    #[test]
    fn a_registry_is_permitted_with_and_without_its_scheme() {
        let permits = |entries: &[&str], url: &str| {
            let entries: Vec<String> = entries.iter().map(|&it| it.to_owned()).collect();
            RepoUrl::new(url).is_permitted_by(&SourceRepos::new(&entries))
        };
        assert!(permits(&["registry.local/charts"], "oci://registry.local/charts"));
        assert!(permits(&["oci://registry.local/charts"], "oci://registry.local/charts"));
        assert!(!permits(&["registry.local/charts"], "oci://registry.local/other"));
        assert!(!permits(&["*", "!registry.local/charts"], "oci://registry.local/charts"));
    }

    #[test]
    fn credentials_in_an_address_are_never_shown() {
        let url = RepoUrl::new(" https://user:s3cret@example.com/org/repo?x=@y ");
        assert_eq!(url.to_string(), "https://example.com/org/repo?x=@y");
        assert_eq!(format!("{url:?}"), "RepoUrl(https://example.com/org/repo?x=@y)");
        assert_eq!(
            url.hide_credentials("no answer from https://user:s3cret@example.com/x for s3cret"),
            "no answer from https://example.com/x for ******"
        );
    }
}
