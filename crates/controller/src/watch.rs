//! What wakes the controller: Applications that changed, live objects that changed.

use std::collections::BTreeSet;
use std::pin::pin;

use api::{AppKey, Application};
use cluster::{Change, Changes, Scope, Selector, WatchEvent};
use futures::StreamExt as _;

use crate::Controller;
use crate::level::Level;
use crate::status_writer::application_kind;

/// Follows the Applications. Does not end.
pub(crate) async fn applications(controller: &Controller) {
    let options = &controller.options;
    let events = controller.ports.control_plane.watch::<Application>(
        &application_kind(),
        Scope::Namespace(options.namespace.clone()),
        Selector::everything(),
        options.random.clone(),
    );
    let mut events = pin!(events);
    let mut listed = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            WatchEvent::Restarted => listed.clear(),
            WatchEvent::Synced => controller.apps.retain(&listed),
            WatchEvent::Applied(app) => {
                let key = app.key();
                listed.insert(key.clone());
                if let Some(level) = controller.apps.see(app) {
                    controller.queue.add(key, level);
                }
            }
            WatchEvent::Deleted(app) => {
                listed.remove(&app.key());
                controller.apps.forget(&app.key());
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

/// Follows what is live. Ends when the cluster does.
pub(crate) async fn live_objects(controller: &Controller, mut changes: Changes) {
    loop {
        let batch = changes.next().await;
        if batch.is_empty() {
            return;
        }
        for key in concerned(controller, &batch) {
            controller.queue.add(key, Level::Live);
        }
    }
}

fn concerned(controller: &Controller, batch: &[Change]) -> BTreeSet<AppKey> {
    let mut keys = BTreeSet::new();
    for change in batch {
        match change {
            Change::Object { applications, .. } => {
                keys.extend(applications.iter().map(|instance| app_key(controller, instance)));
            }
            // Scopes and proofs changed for everyone who uses the kind.
            Change::Kind { .. } => {
                return controller.apps.all().iter().map(|app| app.key()).collect();
            }
        }
    }
    keys
}

/// Reads an instance name back: `name`, or `namespace_name`.
fn app_key(controller: &Controller, instance: &str) -> AppKey {
    match instance.split_once('_') {
        Some((namespace, name)) => AppKey::new(namespace, name),
        None => AppKey::new(&controller.options.namespace, instance),
    }
}
