//! A push, followed into the repository: fetched once before anybody looks, and
//! where the provider does not say which files changed, the repository does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{AppKey, Application, ApplicationSource};
use futures::future::BoxFuture;

use super::affected::{Concern, Refresh, concerns, pushed_source, refresh_after_push};
use super::event::Push;

/// Commits that one push is compared with; those who were last compared with
/// others are refreshed without a further question.
const MAX_COMPARISONS: usize = 32;

/// What is asked of a repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Question {
    pub(crate) repo_url: String,
    pub(crate) target_revision: String,
    pub(crate) tag_prefix: String,
    pub(crate) project: String,
    /// The commit that the Application was last compared with.
    pub(crate) since: String,
}

impl Question {
    fn of(app: &Application, push: &Push) -> Option<Self> {
        let (source, since) = pushed_source(app, push)?;
        Some(Self {
            repo_url: source.repo_url,
            target_revision: source.target_revision,
            tag_prefix: source.tag_prefix,
            project: app.spec.project.clone(),
            since,
        })
    }

    /// The source that it is about.
    pub(crate) fn source(&self) -> ApplicationSource {
        ApplicationSource {
            repo_url: self.repo_url.clone(),
            target_revision: self.target_revision.clone(),
            tag_prefix: self.tag_prefix.clone(),
            ..ApplicationSource::default()
        }
    }
}

/// Lists of paths where changes matter to some Application.
pub(crate) type PathLists = BTreeSet<Vec<String>>;

/// Asks a repository which of the lists are touched; nothing, if that cannot be told.
type Ask<'a> = dyn Fn(Question, Vec<Vec<String>>) -> BoxFuture<'a, Option<PathLists>> + Sync + 'a;

/// Whom a push concerns.
pub(crate) async fn concerned(
    apps: &[Arc<Application>],
    push: &Push,
    touched: &Ask<'_>,
) -> Vec<(AppKey, Refresh)> {
    let concerned = apps.iter().filter_map(|app| Some((app, refresh_after_push(app, push)?)));
    let concerned: Vec<_> = concerned.collect();
    let mut answers = BTreeMap::new();
    for (question, paths) in questions(concerned.iter().map(|it| &**it.0), push) {
        let answer = touched(question.clone(), paths.into_iter().collect()).await;
        answers.insert(question, answer);
    }
    let decide = |app: &Application, refresh: Refresh| {
        if !push.changed_files.is_empty() {
            return Some(refresh);
        }
        let touched = Question::of(app, push).and_then(|it| answers.get(&it)?.as_ref());
        let is_touched = |it: &Concern| {
            it.paths.is_empty() || touched.is_none_or(|touched| touched.contains(&it.paths))
        };
        concerns(app, push).into_iter().find(is_touched).map(|it| it.refresh)
    };
    let concerned = concerned.into_iter();
    concerned.filter_map(|(app, refresh)| Some((app.key(), decide(app, refresh)?))).collect()
}

/// What to ask, and about which paths. Where the files are known, one fetch per repository is all
/// there is to do.
fn questions<'a>(
    apps: impl Iterator<Item = &'a Application>,
    push: &Push,
) -> Vec<(Question, PathLists)> {
    let are_files_known = !push.changed_files.is_empty();
    let mut questions: Vec<(Question, PathLists)> = Vec::new();
    for app in apps {
        let Some(question) = Question::of(app, push) else { continue };
        let is_known = |it: &Question| {
            *it == question
                || are_files_known
                    && Question { since: question.since.clone(), ..it.clone() } == question
        };
        let place = match questions.iter().position(|(it, _)| is_known(it)) {
            Some(place) => place,
            None if questions.len() < MAX_COMPARISONS => {
                questions.push((question, PathLists::new()));
                questions.len() - 1
            }
            None => continue,
        };
        if !are_files_known {
            let paths = concerns(app, push).into_iter().map(|it| it.paths);
            questions[place].1.extend(paths.filter(|it| !it.is_empty()));
        }
    }
    questions
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::FutureExt as _;
    use serde_json::json;

    use super::*;

    const PATHS: &str = api::names::ANNOTATION_MANIFEST_GENERATE_PATHS;

    fn app(name: &str, paths: Option<&str>, compared: &str) -> Arc<Application> {
        let mut app = Application::named("argocd", name);
        let source = json!({"repoURL": "https://h/o/r", "path": name, "targetRevision": "main"});
        app.spec = serde_json::from_value(json!({"source": source})).expect("a spec");
        app.metadata.annotations.extend(paths.map(|it| (PATHS.to_owned(), it.to_owned())));
        app.status.sync.revision = compared.to_owned();
        Arc::new(app)
    }

    /// Who is refreshed, and what was asked since which commits.
    #[track_caller]
    fn check(apps: &[Arc<Application>], told: &[&str], expect: (&[&str], &[&str])) {
        let push = Push {
            web_urls: vec!["https://h/o/r".into()],
            revision: "main".into(),
            touched_head: true,
            changed_files: told.iter().map(|it| (*it).to_owned()).collect(),
        };
        let asked = Mutex::<Vec<String>>::default();
        let touched = |question: Question, paths: Vec<Vec<String>>| {
            let in_web = paths.into_iter().filter(|it| it.iter().any(|it| it.contains("web")));
            let touched = (question.since != "lost").then(|| in_web.collect::<PathLists>());
            asked.lock().expect("nobody panics").push(question.since);
            std::future::ready(touched).boxed()
        };
        let refreshed = futures::executor::block_on(concerned(apps, &push, &touched));
        let names: Vec<&str> = refreshed.iter().map(|(key, _)| key.name.as_str()).collect();
        let asked = asked.into_inner().expect("nobody panics");
        assert_eq!(
            (names, asked.iter().map(String::as_str).collect()),
            (expect.0.to_vec(), expect.1.to_vec())
        );
    }

    #[test]
    fn a_provider_that_does_not_tell_files_is_not_needed_to() {
        let apps =
            [app("web", Some("."), "one"), app("api", Some("."), "one"), app("plain", None, "one")];
        check(&apps, &[], (&["web", "plain"], &["one"]));
    }

    #[test]
    fn each_is_compared_with_what_it_was_last_compared_with() {
        let apps = [app("web", Some("."), "one"), app("api", Some("."), "two")];
        check(&apps, &[], (&["web"], &["one", "two"]));
    }

    #[test]
    fn what_cannot_be_told_concerns_everybody() {
        check(&[app("api", Some("."), "lost")], &[], (&["api"], &["lost"]));
    }

    #[test]
    fn a_push_with_its_files_is_fetched_once_for_all() {
        let apps = [app("web", Some("."), "one"), app("plain", None, "two")];
        check(&apps, &["api/b.yaml"], (&["plain"], &["two"]));
        check(&apps, &["web/b.yaml"], (&["web", "plain"], &["one"]));
    }
}
