//! One page of a list of Applications, in the order that is asked for.
//!
//! The token of a page names the last Application on it with what it was sorted
//! by: Applications that come and go meanwhile neither repeat nor hide others.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use api::Application;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use wire::message::application::ApplicationQuery;

use crate::apps::Entry;

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// As they are kept, so that the rest need not be looked at.
    Key,
    Name,
    Project,
    Health,
    Sync,
    Created,
}

/// Which part of a list, in which order.
#[derive(Debug)]
pub(super) struct Paging {
    by: By,
    is_reversed: bool,
    limit: usize,
    after: Option<Place<'static>>,
}

/// Where an Application stands in an order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place<'a> {
    by: Cow<'a, str>,
    name: Cow<'a, str>,
    namespace: Cow<'a, str>,
}

/// A page, and the token of the next if there is one.
pub(super) struct Page<'a> {
    pub(super) entries: Vec<&'a Arc<Entry>>,
    pub(super) next: Option<String>,
}

impl Paging {
    /// Everything by key unless the query says otherwise.
    ///
    /// # Errors
    /// What cannot be read of it.
    pub(super) fn read(query: &ApplicationQuery) -> Result<Self, String> {
        let sort = query.sort.as_deref().unwrap_or_default();
        let (is_reversed, word) = match sort.strip_prefix('-') {
            Some(word) => (true, word),
            None => (false, sort),
        };
        let by = match word {
            "" => By::Key,
            "name" => By::Name,
            "project" => By::Project,
            "health" => By::Health,
            "sync" => By::Sync,
            "created" => By::Created,
            other => {
                return Err(format!(
                    "cannot sort by {other:?}; name, project, health, sync and created are known"
                ));
            }
        };
        let limit = match query.limit {
            None | Some(0) => usize::MAX,
            Some(limit) => usize::try_from(limit)
                .map_err(|_| format!("the limit must not be negative: {limit}"))?,
        };
        let after = query.r#continue.as_deref().filter(|it| !it.is_empty());
        let after = after.map(|it| Place::read(it).ok_or("the continue token is none of ours"));
        Ok(Self { by, is_reversed, limit, after: after.transpose()? })
    }

    /// `entries` come by key.
    pub(super) fn page<'a>(&self, entries: impl Iterator<Item = &'a Arc<Entry>>) -> Page<'a> {
        let is_after = |app: &Application| {
            let after = self.after.as_ref();
            after.is_none_or(|it| self.order(&self.place(app), it) == Ordering::Greater)
        };
        let wanted = entries.filter(|it| is_after(&it.app));
        let with_next = self.limit.saturating_add(1);
        let mut entries: Vec<&Arc<Entry>>;
        if self.by == By::Key && !self.is_reversed {
            entries = wanted.take(with_next).collect();
        } else {
            let mut placed: Vec<_> = wanted.map(|it| (self.place(&it.app), it)).collect();
            // Only what is on the page is put in order.
            if placed.len() > with_next {
                placed.select_nth_unstable_by(self.limit, |(one, _), (other, _)| {
                    self.order(one, other)
                });
                placed.truncate(with_next);
            }
            placed.sort_unstable_by(|(one, _), (other, _)| self.order(one, other));
            entries = placed.into_iter().map(|(_, it)| it).collect();
        }
        let has_more = entries.len() > self.limit;
        entries.truncate(self.limit);
        let last = entries.last().filter(|_| has_more);
        let next = last.map(|it| self.place(&it.app).to_token());
        Page { entries, next }
    }

    fn order(&self, one: &Place<'_>, other: &Place<'_>) -> Ordering {
        if self.is_reversed { other.cmp(one) } else { one.cmp(other) }
    }

    fn place<'a>(&self, app: &'a Application) -> Place<'a> {
        let by = match self.by {
            By::Key => app.metadata.namespace.as_str().into(),
            By::Name => "".into(),
            By::Project => app.spec.project_name().into(),
            By::Health => app.status.health.status.as_str().into(),
            By::Sync => app.status.sync.status.as_str().into(),
            By::Created => app.metadata.creation_timestamp.to_string().into(),
        };
        let (name, namespace) = (app.metadata.name.as_str(), app.metadata.namespace.as_str());
        Place { by, name: name.into(), namespace: namespace.into() }
    }
}

impl Place<'_> {
    fn to_token(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}\n{}\n{}", self.by, self.name, self.namespace))
    }

    fn read(token: &str) -> Option<Place<'static>> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let mut parts = text.splitn(3, '\n').map(|it| Cow::Owned(it.to_owned()));
        Some(Place { by: parts.next()?, name: parts.next()?, namespace: parts.next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Arc<Entry>> {
        let rows = [("a", "p2", "Healthy"), ("b", "p1", "Degraded"), ("c", "p1", "Healthy")];
        let app = |(name, project, health): (&str, &str, &str)| {
            let mut app = Application::named("argocd", name);
            app.spec.project = project.into();
            app.status.health.status = health.into();
            Arc::new(Entry::new(Arc::new(app)))
        };
        rows.into_iter().map(app).collect()
    }

    fn query(sort: &str, limit: i64, token: Option<String>) -> ApplicationQuery {
        ApplicationQuery {
            sort: Some(sort.into()),
            limit: Some(limit),
            r#continue: token,
            ..ApplicationQuery::default()
        }
    }

    #[track_caller]
    fn check(sort: &str, limit: i64, expect: &[&str]) {
        let mut token = None;
        let mut pages = Vec::new();
        loop {
            let paging = Paging::read(&query(sort, limit, token)).expect("a query");
            let entries = entries();
            let page = paging.page(entries.iter());
            let names = page.entries.iter().map(|it| it.key.name.as_str());
            pages.push(names.collect::<Vec<_>>().join(""));
            token = page.next;
            if token.is_none() {
                break;
            }
        }
        assert_eq!(pages, expect);
    }

    #[test]
    fn pages_go_on_where_the_last_one_ended() {
        check("name", 2, &["ab", "c"]);
        check("-name", 2, &["cb", "a"]);
        check("project", 1, &["b", "c", "a"]);
        check("health", 2, &["ba", "c"]);
        check("", 0, &["abc"]);
        check("", 2, &["ab", "c"]);
        check("-health", 3, &["cab"]);
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        assert!(Paging::read(&query("color", 1, None)).is_err());
        assert!(Paging::read(&query("", -1, None)).is_err());
        assert!(Paging::read(&query("", 1, Some("x".into()))).is_err());
    }
}
