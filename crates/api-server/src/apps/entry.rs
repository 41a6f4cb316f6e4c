//! One Application as it is known, and as it is told.
//!
//! Lists and watches tell an Application much more often than it changes: each
//! form of it is printed when somebody first asks, and kept until it would be
//! another one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use api::{AppKey, Application, HealthStatus};
use object::{GroupKind, ResourceKey};
use prost::Message as _;
use serde_json::value::RawValue;
use wire::Printed;

/// The health of each object of an Application.
pub(crate) type Healths = Arc<BTreeMap<ResourceKey, HealthStatus>>;

/// An Application in one state.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: AppKey,
    pub(crate) app: Arc<Application>,
    /// As it was told last, and the healths that were compared last: who brings the same ones need
    /// not compare.
    told: Mutex<Option<(Healths, Arc<Told>)>>,
}

impl Entry {
    pub(crate) fn new(app: Arc<Application>) -> Self {
        Self { key: app.key(), app, told: Mutex::default() }
    }

    /// How it is told while its objects have this health.
    pub(crate) fn told(&self, healths: Healths) -> Arc<Told> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((compared, told)) = told.as_mut() {
            if Arc::ptr_eq(compared, &healths) {
                return Arc::clone(told);
            }
            if **compared == *healths {
                *compared = healths;
                return Arc::clone(told);
            }
        }
        let fresh = Arc::new(Told {
            app: Arc::clone(&self.app),
            healths: Arc::clone(&healths),
            json: OnceLock::new(),
            protobuf: OnceLock::new(),
        });
        *told = Some((healths, Arc::clone(&fresh)));
        fresh
    }
}

/// An Application with the health of its objects, as the API tells it.
#[derive(Debug)]
pub(crate) struct Told {
    app: Arc<Application>,
    healths: Healths,
    json: OnceLock<Box<RawValue>>,
    protobuf: OnceLock<Vec<u8>>,
}

impl Told {
    fn shown(&self) -> Application {
        shown((*self.app).clone(), &self.healths)
    }
}

impl Printed for Told {
    fn json(&self) -> &RawValue {
        self.json.get_or_init(|| {
            let text = String::from_utf8(wire::go_json(&self.shown())).expect("JSON is text");
            RawValue::from_string(text).expect("it was printed just now")
        })
    }

    fn protobuf(&self) -> &[u8] {
        self.protobuf.get_or_init(|| self.shown().encode_to_vec())
    }
}

/// An Application as the API tells it: without saying what it is, as Argo CD's
/// answers, and with the health of each of its objects.
pub(crate) fn shown(
    mut app: Application,
    healths: &BTreeMap<ResourceKey, HealthStatus>,
) -> Application {
    app.api_version.clear();
    app.kind.clear();
    for resource in &mut app.status.resources {
        let kind = GroupKind::new(&resource.group, &resource.kind);
        let key = ResourceKey::new(&kind, &resource.namespace, &resource.name);
        resource.health = healths.get(&key).cloned();
    }
    app
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healths(status: &str) -> Healths {
        let key = ResourceKey::new(&GroupKind::new("", "Pod"), "shop", "web");
        let health = HealthStatus { status: status.into(), ..HealthStatus::default() };
        Arc::new(BTreeMap::from([(key, health)]))
    }

    fn entry() -> Entry {
        let mut app = Application::named("argocd", "web");
        app.status.resources = vec![api::ResourceStatus {
            kind: "Pod".into(),
            namespace: "shop".into(),
            name: "web".into(),
            ..api::ResourceStatus::default()
        }];
        Entry::new(Arc::new(app))
    }

    #[test]
    fn a_state_is_printed_once() {
        let entry = entry();
        let first = entry.told(healths("Healthy"));
        assert!(Arc::ptr_eq(&first, &entry.told(healths("Healthy"))));
    }

    #[test]
    fn a_print_is_of_the_health_at_that_time() {
        let entry = entry();
        for status in ["Healthy", "Degraded", "Healthy"] {
            let told = entry.told(healths(status));
            let expect = shown((*entry.app).clone(), &healths(status));
            assert_eq!(told.json().get().as_bytes(), wire::go_json(&expect));
            assert_eq!(told.protobuf(), expect.encode_to_vec());
            assert!(told.json().get().contains(status));
        }
    }
}
