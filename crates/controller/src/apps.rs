//! The Applications as last seen or written, whichever is newer.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use api::{AppKey, Application};
use runtime::OneCopy;

use crate::level::Level;

/// All Applications, by key.
#[derive(Default)]
pub(crate) struct Apps {
    by_key: RwLock<BTreeMap<AppKey, Arc<Application>>>,
    copies: Arc<OneCopy<AppKey, Application>>,
}

impl Apps {
    /// None yet; those to come are shared with whoever holds them too.
    pub(crate) fn new(copies: Arc<OneCopy<AppKey, Application>>) -> Self {
        Self { by_key: RwLock::default(), copies }
    }

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
        let mut apps = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        let known = apps.get(&key);
        if known.is_some_and(|known| is_older(&app, known)) {
            return None;
        }
        let level = Level::asked_by(known.map(AsRef::as_ref), &app);
        apps.insert(key.clone(), self.copies.of(key, app, Application::is_same_state));
        level
    }

    /// Takes over what a write of ours returned. Of an Application that is not known any more
    /// it says nothing: the watch has told that it is gone before the write told how it went.
    pub(crate) fn wrote(&self, app: Application) {
        let key = app.key();
        let mut apps = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        let is_newer = |known: &Arc<Application>| {
            known.metadata.uid == app.metadata.uid && !is_older(&app, known)
        };
        if apps.get(&key).is_some_and(is_newer) {
            apps.insert(key.clone(), self.copies.of(key, app, Application::is_same_state));
        }
    }

    pub(crate) fn forget(&self, key: &AppKey) {
        self.by_key.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Drops every Application that is not among `keys`.
    pub(crate) fn retain(&self, keys: &std::collections::BTreeSet<AppKey>) {
        let mut apps = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        apps.retain(|key, _| keys.contains(key));
    }

    fn read<T>(&self, look: impl FnOnce(&BTreeMap<AppKey, Arc<Application>>) -> T) -> T {
        look(&self.by_key.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A watch may still bring what we have since overwritten. Versions of one
/// object may be compared as numbers; those of different objects mean nothing.
fn is_older(app: &Application, known: &Application) -> bool {
    let version = |app: &Application| app.metadata.resource_version.parse::<u64>().ok();
    app.metadata.uid == known.metadata.uid
        && matches!((version(app), version(known)), (Some(new), Some(old)) if new < old)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn app(uid: &str, version: &str) -> Application {
        let metadata = json!({"name": "web", "namespace": "argocd", "uid": uid,
            "resourceVersion": version});
        serde_json::from_value(json!({"metadata": metadata, "spec": {}})).expect("an Application")
    }

    fn known(apps: &Apps) -> Option<(String, String)> {
        let app = apps.get(&AppKey::new("argocd", "web"))?;
        Some((app.metadata.uid.clone(), app.metadata.resource_version.clone()))
    }

    fn pair(uid: &str, version: &str) -> Option<(String, String)> {
        Some((uid.to_owned(), version.to_owned()))
    }

    #[test]
    fn a_write_brings_nothing_back_that_is_gone_or_another() {
        let apps = Apps::default();
        apps.see(app("a", "7"));
        apps.wrote(app("a", "9"));
        assert_eq!(known(&apps), pair("a", "9"));
        apps.wrote(app("a", "8"));
        assert_eq!(known(&apps), pair("a", "9"));
        apps.forget(&AppKey::new("argocd", "web"));
        apps.wrote(app("a", "10"));
        assert_eq!(known(&apps), None);
        apps.see(app("b", "11"));
        apps.wrote(app("a", "12"));
        assert_eq!(known(&apps), pair("b", "11"));
    }
}
