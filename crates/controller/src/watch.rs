//! What wakes the controller: Applications that changed, live objects that changed.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use api::{AppKey, AppProject, Application};
use cluster::{ApiKind, Change, Changes, Scope, Selector, WatchEvent};
use engine::status::is_news;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use object::GroupVersionKind;

use crate::Controller;
use crate::level::Level;
use crate::noise::Noise;
use crate::settings::Settings;
use crate::status_writer::application_kind;

/// Follows the Applications. Does not end.
pub(crate) async fn applications(controller: &Controller) {
    let options = &controller.options;
    let scope = if options.application_namespaces.is_empty() {
        Scope::Namespace(options.namespace.clone())
    } else {
        Scope::Everywhere
    };
    let events = controller.control_plane.watch::<Application>(
        &application_kind(),
        scope,
        Selector::everything(),
        options.random.clone(),
    );
    let mut events = pin!(events);
    let mut listed = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            WatchEvent::Restarted => listed.clear(),
            WatchEvent::Synced => {
                controller.apps.retain(&listed);
                controller.healths.retain(&listed);
                controller.grace.retain(&listed);
                controller.metrics.retain(&listed);
            }
            WatchEvent::Applied(app) if !controller.holds_applications(&app.metadata.namespace) => {
            }
            WatchEvent::Applied(app) => {
                let key = app.key();
                listed.insert(key.clone());
                let is_foreign = has_foreign_status(controller, &app);
                if let Some(level) = controller.apps.see(app) {
                    controller.queue.add(key, level);
                } else if is_foreign {
                    controller.queue.add(key, Level::Live);
                }
            }
            WatchEvent::Deleted(app) => {
                listed.remove(&app.key());
                controller.apps.forget(&app.key());
                controller.healths.forget(&app.key());
                controller.grace.forget(&app.key());
                controller.metrics.forget(&app.key());
                controller.publisher.may_differ(&app.key(), true);
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

/// Did another replica write the status of what is ours? It may have been late.
fn has_foreign_status(controller: &Controller, app: &Application) -> bool {
    let known = controller.apps.get(&app.key());
    controller.tenure.is_shared()
        && controller.is_ours(app)
        && known.is_some_and(|it| is_news(&it.status, &app.status))
}

/// Follows the projects, and wakes the Applications of one that changed. Does not end.
pub(crate) async fn projects(controller: &Controller) {
    let kind = GroupVersionKind::parse(api::API_VERSION, AppProject::KIND);
    let events = controller.control_plane.watch::<AppProject>(
        &ApiKind::known(&kind, "appprojects", true),
        Scope::Namespace(controller.options.namespace.clone()),
        Selector::everything(),
        controller.options.random.clone(),
    );
    let mut events = pin!(events);
    let mut listed = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            WatchEvent::Restarted => listed.clear(),
            WatchEvent::Synced => controller.projects.retain(&listed),
            WatchEvent::Applied(project) => {
                let name = project.metadata.name.clone();
                listed.insert(name.clone());
                if controller.projects.see(project) {
                    wake_applications_of(controller, &name);
                }
            }
            WatchEvent::Deleted(project) => {
                listed.remove(&project.metadata.name);
                controller.projects.forget(&project.metadata.name);
                wake_applications_of(controller, &project.metadata.name);
            }
            WatchEvent::Unreadable { name, why, .. } => {
                tracing::warn!(project = name, why, "cannot read an AppProject");
            }
            WatchEvent::Interrupted { why } => {
                tracing::warn!(why, "the watch of AppProjects is interrupted");
            }
        }
    }
}

fn wake_applications_of(controller: &Controller, project: &str) {
    let settings = controller.settings();
    let is_global = settings.global_projects.iter().any(|it| it.project_name == project);
    for app in controller.apps.all() {
        if is_global || app.spec.project_name() == project {
            controller.queue.add(app.key(), Level::Live);
        }
    }
}

/// Follows the settings, and wakes everybody when they say something new to the
/// controller. Does not end.
pub(crate) async fn settings(controller: &Controller) {
    let mut all = controller.all_settings.subscribe();
    loop {
        let settings =
            Settings::overridden(&all.borrow_and_update(), &controller.options.overrides);
        let is_news = controller.settings.send_if_modified(|known| {
            let is_news = **known != settings;
            *known = Arc::new(settings);
            is_news
        });
        if is_news {
            for finding in controller.settings().unreadable_update_rules() {
                tracing::warn!(why = %finding.message, "a rule about ignored updates does not count");
            }
            controller.wake_everybody();
        }
        if all.changed().await.is_err() {
            return;
        }
    }
}

/// Follows what is live, in every cluster. Does not end.
pub(crate) async fn live_objects(controller: &Controller) {
    let Some(mut arrivals) = controller.destinations.arrivals() else { return };
    let mut followed = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some((server, changes)) = arrivals.recv() => followed.push(follow(controller, server, changes)),
            Some(()) = followed.next(), if !followed.is_empty() => {}
            else => return,
        }
    }
}

/// Follows one cluster. Ends when it does.
async fn follow(controller: &Controller, server: String, mut changes: Changes) {
    loop {
        let batch = changes.next().await;
        if batch.is_empty() {
            return;
        }
        let began = Instant::now();
        for key in concerned(controller, &batch) {
            controller.queue.add(key, Level::Live);
        }
        controller.metrics.passed_on(&server, batch.len(), began.elapsed());
    }
}

fn concerned(controller: &Controller, batch: &[Change]) -> BTreeSet<AppKey> {
    let settings = controller.settings();
    let noise = Noise::of(&settings, controller.now());
    let mut keys = BTreeSet::new();
    for change in batch {
        match change {
            Change::Object { update: Some(update), .. } if noise.is(update) => {}
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
pub(crate) fn app_key(controller: &Controller, instance: &str) -> AppKey {
    match instance.split_once('_') {
        Some((namespace, name)) => AppKey::new(namespace, name),
        None => AppKey::new(&controller.options.namespace, instance),
    }
}
