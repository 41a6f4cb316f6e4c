//! The health of every object, as the last pass over its Application found it.
//!
//! It is not kept in the Application's status, which would be written anew with
//! every pod that starts; readers in this process find it here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use api::{AppKey, HealthStatus};
use engine::{Compared, Comparison};
use object::ResourceKey;

type OfObjects = Arc<BTreeMap<ResourceKey, HealthStatus>>;

/// By Application, then by object.
#[derive(Default)]
pub(crate) struct Healths(RwLock<BTreeMap<AppKey, OfObjects>>);

impl Healths {
    pub(crate) fn of(&self, app: &AppKey) -> OfObjects {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(app).cloned().unwrap_or_default()
    }

    pub(crate) fn remember(&self, app: &AppKey, comparison: &Comparison) {
        let healths = comparison.items.iter();
        let healths = healths.filter_map(|(key, it)| Some((key.clone(), health(it)?))).collect();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(app.clone(), Arc::new(healths));
    }

    pub(crate) fn forget(&self, app: &AppKey) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(app);
    }

    /// Drops what is known of Applications that are not among `apps`.
    pub(crate) fn retain(&self, apps: &BTreeSet<AppKey>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|app, _| apps.contains(app));
    }
}

fn health(compared: &Compared) -> Option<HealthStatus> {
    if compared.pair.live().is_none() {
        return Some(HealthStatus {
            status: "Missing".into(),
            message: "Resource has not been created".into(),
            ..HealthStatus::default()
        });
    }
    compared.health.clone().map(engine::tree::in_api)
}
