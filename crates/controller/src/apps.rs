//! The Applications as last seen or written, whichever is newer.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use api::{AppKey, Application};

use crate::level::Level;

/// All Applications, by key.
#[derive(Default)]
pub(crate) struct Apps(RwLock<BTreeMap<AppKey, Arc<Application>>>);

impl Apps {
    pub(crate) fn get(&self, key: &AppKey) -> Option<Arc<Application>> {
        self.read(|apps| apps.get(key).cloned())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Application>> {
        self.read(|apps| apps.values().cloned().collect())
    }

    /// Takes the Application in, unless something newer is known. Says how
    /// deep it must be looked at because of what changed, if at all.
    pub(crate) fn see(&self, app: Application) -> Option<Level> {
        let key = app.key();
        let mut apps = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = apps.get(&key);
        if known.is_some_and(|known| is_older(&app, known)) {
            return None;
        }
        let level = Level::asked_by(known.map(AsRef::as_ref), &app);
        apps.insert(key, Arc::new(app));
        level
    }

    pub(crate) fn forget(&self, key: &AppKey) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Drops every Application that is not among `keys`.
    pub(crate) fn retain(&self, keys: &std::collections::BTreeSet<AppKey>) {
        let mut apps = self.0.write().unwrap_or_else(PoisonError::into_inner);
        apps.retain(|key, _| keys.contains(key));
    }

    fn read<T>(&self, look: impl FnOnce(&BTreeMap<AppKey, Arc<Application>>) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A watch may still bring what we have since overwritten. Versions of one
/// object may be compared as numbers; those of different objects mean nothing.
fn is_older(app: &Application, known: &Application) -> bool {
    let version = |app: &Application| app.metadata.resource_version.parse::<u64>().ok();
    app.metadata.uid == known.metadata.uid
        && matches!((version(app), version(known)), (Some(new), Some(old)) if new < old)
}
