//! The Applications, as the watch tells them, and everybody who listens.

mod entry;

pub(crate) use entry::{Entry, Told, shown};

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::cluster::{Selector, WatchEvent};
use api::{AppKey, Application};
use futures::StreamExt as _;
use runtime::OneCopy;
use tokio::sync::broadcast;

use crate::ApiServer;
use crate::store::APPLICATIONS;

/// How far a listener may fall behind before it starts over.
const BACKLOG: usize = 1000;

/// What became of an Application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Added,
    Modified,
    Deleted,
}

impl Turn {
    /// The word of a Kubernetes watch.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One change.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) turn: Turn,
    pub(crate) entry: Arc<Entry>,
}

/// All Applications, kept true by [`follow`].
pub(crate) struct Apps {
    known: Mutex<Known>,
    events: broadcast::Sender<Event>,
    copies: Arc<OneCopy<AppKey, Application>>,
}

#[derive(Default)]
struct Known {
    by_key: BTreeMap<AppKey, Arc<Entry>>,
    /// The highest version that was ever seen.
    newest: u64,
    /// Made when it is asked for, and dropped with every change.
    index: Option<Arc<Index>>,
}

/// All Applications at one time, with what a list needs to know of each before it looks at it.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// In the order of their keys.
    pub(crate) apps: Vec<Indexed>,
    /// The names of their projects.
    pub(crate) projects: Vec<String>,
    /// The highest version that was ever seen; none where there was no Application.
    pub(crate) newest: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Indexed {
    pub(crate) entry: Arc<Entry>,
    /// Its place in [`Index::projects`].
    pub(crate) project: usize,
}

impl Index {
    fn of(known: &Known) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut apps = Vec::with_capacity(known.by_key.len());
        for entry in known.by_key.values() {
            let next = places.len();
            let project = *places.entry(entry.app.spec.project_name()).or_insert(next);
            apps.push(Indexed { entry: Arc::clone(entry), project });
        }
        let mut projects = vec![String::new(); places.len()];
        for (name, place) in places {
            projects[place] = name.to_owned();
        }
        let newest = Some(known.newest).filter(|_| !apps.is_empty());
        Self { apps, projects, newest }
    }
}

impl Known {
    fn see(&mut self, app: Arc<Application>, events: &broadcast::Sender<Event>) {
        let key = app.key();
        let before = self.by_key.get(&key);
        if before.is_some_and(|it| version(&it.app) >= version(&app)) {
            return;
        }
        let turn = if before.is_some() { Turn::Modified } else { Turn::Added };
        self.newest = self.newest.max(version(&app));
        self.index = None;
        let entry = Arc::new(Entry::new(app));
        self.by_key.insert(key, Arc::clone(&entry));
        // No listener is no error. Sent under the lock, so that order is the order of states.
        drop(events.send(Event { turn, entry }));
    }
}

impl Apps {
    /// None yet; those to come are shared with whoever holds them too.
    pub(crate) fn new(copies: Arc<OneCopy<AppKey, Application>>) -> Self {
        Self { known: Mutex::default(), events: broadcast::Sender::new(BACKLOG), copies }
    }

    fn copy_of(&self, app: Application) -> Arc<Application> {
        self.copies.of(app.key(), app, Application::is_same_state)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All, in the order of their keys.
    pub(crate) fn all(&self) -> Vec<Arc<Application>> {
        self.known().by_key.values().map(|it| Arc::clone(&it.app)).collect()
    }

    /// One by its key.
    pub(crate) fn get(&self, key: &AppKey) -> Option<Arc<Application>> {
        self.known().by_key.get(key).map(|it| Arc::clone(&it.app))
    }

    /// All, laid out for lists; shared by everybody who asks until the next change.
    pub(crate) fn index(&self) -> Arc<Index> {
        let mut known = self.known();
        if let Some(index) = &known.index {
            return Arc::clone(index);
        }
        let index = Arc::new(Index::of(&known));
        known.index = Some(Arc::clone(&index));
        index
    }

    /// All there are now, and every change from then on: nothing is lost in between.
    pub(crate) fn subscribe(&self) -> (Vec<Arc<Entry>>, broadcast::Receiver<Event>) {
        let known = self.known();
        (known.by_key.values().cloned().collect(), self.events.subscribe())
    }

    /// Takes an Application over that the watch told or that we made; an older state is ignored.
    pub(crate) fn see(&self, app: Application) {
        self.known().see(self.copy_of(app), &self.events);
    }

    /// Takes over what a write of ours returned. Of an Application that is not known any more it
    /// says nothing: the watch has told that it is gone before the write told how it went.
    pub(crate) fn wrote(&self, app: Application) {
        let mut known = self.known();
        let before = known.by_key.get(&app.key());
        if before.is_some_and(|it| it.app.metadata.uid == app.metadata.uid) {
            known.see(self.copy_of(app), &self.events);
        }
    }

    fn forget(&self, key: &AppKey, last: Option<Application>) {
        let mut known = self.known();
        if let Some(before) = known.by_key.remove(key) {
            known.index = None;
            let entry = last.map_or(before, |it| Arc::new(Entry::new(Arc::new(it))));
            drop(self.events.send(Event { turn: Turn::Deleted, entry }));
        }
    }

    fn retain(&self, listed: &BTreeSet<AppKey>) {
        let gone: Vec<AppKey> =
            self.known().by_key.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        for key in gone {
            self.forget(&key, None);
        }
    }
}

/// Versions of one API server are numbers that grow.
pub(crate) fn version(app: &Application) -> u64 {
    app.metadata.resource_version.parse().unwrap_or(0)
}

/// Follows the Applications. Does not end.
pub(crate) async fn follow(server: &ApiServer) {
    let events = server.store.client().watch::<Application>(
        &APPLICATIONS,
        server.options.scope(),
        Selector::everything(),
        server.options.random.clone(),
    );
    let mut events = pin!(events);
    let mut listed = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            WatchEvent::Restarted => listed.clear(),
            WatchEvent::Synced => server.apps.retain(&listed),
            WatchEvent::Applied(app) if !server.options.holds(&app.metadata.namespace) => {}
            WatchEvent::Applied(app) => {
                listed.insert(app.key());
                server.apps.see(app);
            }
            WatchEvent::Deleted(app) => {
                listed.remove(&app.key());
                server.apps.forget(&app.key(), Some(app));
            }
            WatchEvent::Unreadable { namespace, name, why } => {
                tracing::warn!(app = %AppKey::new(namespace, name), why, "cannot read an Application");
            }
            WatchEvent::Interrupted { why } => {
                tracing::warn!(why, "the watch of Applications is interrupted");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(name: &str, version: &str) -> Application {
        let mut app = Application::named("argocd", name);
        app.metadata.resource_version = version.into();
        app
    }

    #[test]
    fn an_older_state_never_replaces_a_newer_one() {
        let apps = Apps::new(Arc::default());
        let (_, mut events) = apps.subscribe();
        apps.see(app("web", "7"));
        apps.see(app("web", "6"));
        apps.see(app("web", "10"));
        apps.forget(&app("web", "").key(), None);
        let mut told = Vec::new();
        while let Ok(event) = events.try_recv() {
            told.push((event.turn.as_str(), version(&event.entry.app)));
        }
        assert_eq!(told, [("ADDED", 7), ("MODIFIED", 10), ("DELETED", 10)]);
    }

    #[test]
    fn the_index_is_of_now_and_names_every_project_once() {
        let apps = Apps::new(Arc::default());
        for (number, (name, project)) in
            [("a", "shop"), ("b", ""), ("c", "shop")].into_iter().enumerate()
        {
            let mut app = app(name, &number.to_string());
            app.spec.project = project.into();
            apps.see(app);
        }
        let index = apps.index();
        assert!(Arc::ptr_eq(&index, &apps.index()));
        assert_eq!(index.projects, ["shop", "default"]);
        assert_eq!(index.apps.iter().map(|it| it.project).collect::<Vec<_>>(), [0, 1, 0]);
        apps.forget(&app("a", "").key(), None);
        assert_eq!((apps.index().apps.len(), apps.index().newest), (2, Some(2)));
    }

    #[test]
    fn what_a_list_does_not_name_is_gone() {
        let apps = Apps::new(Arc::default());
        apps.see(app("web", "7"));
        apps.see(app("db", "8"));
        apps.retain(&BTreeSet::from([app("web", "").key()]));
        assert_eq!(apps.all().iter().map(|it| &it.metadata.name).collect::<Vec<_>>(), ["web"]);
    }
}
