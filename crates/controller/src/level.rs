//! How deep an Application must be looked at.

use api::Application;
use api::names::ANNOTATION_REFRESH;
use engine::status::compared_to;
use runtime::Merge;

use crate::look::is_comparable_with_recent;

/// From shallow to deep. A deeper look answers every shallower question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Something live changed: compare with the commit last compared with.
    Live,
    /// Branches may have moved: compare with what the revision stands for at
    /// the last poll.
    Polled,
    /// Somebody asked: find out what the revision stands for now.
    Latest,
    /// Somebody asked, and does not trust what we remember.
    Hard,
}

impl Merge for Level {
    fn merge(self, other: Self) -> Self {
        self.max(other)
    }
}

impl Level {
    /// What a change of the Application asks for. A change of the status alone
    /// asks for nothing: it is our own.
    pub(crate) fn asked_by(before: Option<&Application>, now: &Application) -> Option<Self> {
        if let Some(refresh) = now.metadata.annotations.get(ANNOTATION_REFRESH) {
            return Some(if refresh == "hard" { Self::Hard } else { Self::Latest });
        }
        let Some(before) = before else { return Some(Self::Polled) };
        if compared_to(before) != compared_to(now) {
            return Some(Self::Latest);
        }
        let same = before.spec == now.spec
            && before.operation == now.operation
            && before.metadata.finalizers == now.metadata.finalizers
            && before.metadata.deletion_timestamp == now.metadata.deletion_timestamp
            // Approvals and options are annotations.
            && before.metadata.annotations == now.metadata.annotations
            && is_terminating(before) == is_terminating(now);
        (!same).then_some(Self::Live)
    }

    /// Not shallower than the Application's own record allows.
    pub(crate) fn at_least_for(self, app: &Application) -> Self {
        if is_comparable_with_recent(app) { self } else { self.max(Self::Polled) }
    }
}

fn is_terminating(app: &Application) -> bool {
    app.status.operation_state.as_ref().is_some_and(|state| state.phase == "Terminating")
}

#[cfg(test)]
mod tests {
    use api::names::{ANNOTATION_DELETION_APPROVED, ANNOTATION_SKIP_RECONCILE};

    use super::*;

    #[track_caller]
    fn check(change: impl Fn(&mut Application), expect: Option<Level>) {
        let before = Application::named("argocd", "web");
        let mut now = before.clone();
        change(&mut now);
        assert_eq!(Level::asked_by(Some(&before), &now), expect);
    }

    #[test]
    fn annotations_wake_and_our_own_status_does_not() {
        let annotate = |key: &str, value: &str| {
            let (key, value) = (key.to_owned(), value.to_owned());
            move |app: &mut Application| {
                app.metadata.annotations.insert(key.clone(), value.clone());
            }
        };
        check(annotate(ANNOTATION_REFRESH, "hard"), Some(Level::Hard));
        check(annotate(ANNOTATION_REFRESH, "normal"), Some(Level::Latest));
        check(annotate(ANNOTATION_DELETION_APPROVED, "2026-01-01T00:00:00Z"), Some(Level::Live));
        check(annotate(ANNOTATION_SKIP_RECONCILE, "false"), Some(Level::Live));
        check(|app| app.status.sync.status = "Synced".into(), None);
    }
}
