//! Deletes an Application: its hooks before, what it tracks, its hooks after,
//! then itself. One stage a pass; the Application's finalizers say which.

use std::collections::BTreeMap;
use std::time::Duration;

use api::Application;
use cluster::{ApplyError, Cluster, DeleteOptions, Propagation, Validation, Way, WriteOptions};
use engine::{CascadeStep, Concern, Finding};
use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use object::{GroupKind, Object, ResourceKey};

use crate::Controller;
use crate::acting::acting;
use crate::deletion_hooks::{self, HookStep, Moment, Stage};
use crate::destinations::DestinationError;
use crate::health::KindRules;
use crate::level::Level;
use crate::look::{At, live_objects, look, tracked_by};
use crate::projects::Permit;
use crate::reconcile::Next;
use crate::watchdog;

const RETRY: Duration = Duration::from_secs(10);
const AT_ONCE: Next = Some((Level::Live, Duration::ZERO));

/// Brings a deletion one step further. Without our finalizers the API server
/// has already done all there is to do.
pub(crate) async fn delete(controller: &Controller, app: &Application) -> Next {
    watchdog::reached(watchdog::Stage::Deleting);
    let stage = deletion_hooks::stage(app);
    if stage == Stage::Released {
        return None;
    }
    let destination = match controller.destinations.find(&app.spec.destination) {
        Ok(destination) => destination,
        // A cluster that we do not know can hold the Application back for ever.
        Err(DestinationError::NotThere(_)) => {
            return release(controller, app, deletion_hooks::foreign_finalizers(app)).await;
        }
        Err(error) => return fail(controller, app, vec![error.to_string()]).await,
    };
    let permit = match controller.permit(app, &destination) {
        Ok(permit) => permit,
        // Nobody can say what may be deleted.
        Err(findings) => {
            let messages = findings.into_iter().map(|it| it.message).collect();
            return fail(controller, app, messages).await;
        }
    };
    let instance = controller.instance_name(app);
    // What it had of a kind that nobody can see now is not gone.
    if !destination.cluster.live(&instance, &recorded(app)).unverified.is_empty() {
        return Some((Level::Live, RETRY));
    }
    let Ok(mut live) = live_objects(&destination.cluster, &instance, &[]).await else {
        return Some((Level::Live, RETRY));
    };
    permit.filter(&mut live);
    // An Application whose project names no account any more must still be able to go.
    let impersonation = controller.settings().impersonation.relaxed();
    let cluster = match acting(impersonation, &permit.project, app, &destination) {
        Ok(cluster) => cluster,
        Err(why) => return fail(controller, app, vec![why]).await,
    };
    let doomed = Doomed { controller, app, cluster, permit, live };
    match stage {
        Stage::Hooks(moment, finalizer) => doomed.run_hooks(moment, finalizer).await,
        Stage::Objects => doomed.delete_objects(&instance).await,
        Stage::Cleanup(moment, finalizer) => doomed.clean_up(moment, &finalizer).await,
        Stage::Released => None,
    }
}

/// What the Application had when it was last compared.
fn recorded(app: &Application) -> Vec<ResourceKey> {
    let resources = app.status.resources.iter();
    resources
        .map(|it| ResourceKey::new(&GroupKind::new(&it.group, &it.kind), &it.namespace, &it.name))
        .collect()
}

/// An Application that is being deleted, and what is left of it.
struct Doomed<'d> {
    controller: &'d Controller,
    app: &'d Application,
    /// With the rights that its objects are deleted with.
    cluster: Cluster,
    permit: Permit,
    live: BTreeMap<ResourceKey, Object>,
}

impl Doomed<'_> {
    async fn run_hooks(&self, moment: Moment, finalizer: &str) -> Next {
        let seen = look(self.controller, self.app, &At::Target(Level::Live)).await;
        if seen.revisions.is_empty() {
            let messages = seen.findings.into_iter().map(|it| it.message).collect();
            return fail(self.controller, self.app, messages).await;
        }
        let want: Vec<Object> = seen.want.iter().map(|it| self.placed(it)).collect();
        let settings = self.controller.settings();
        let rules = KindRules { settings: &settings, now: self.controller.now() };
        match deletion_hooks::next(&want, &self.live, moment, &rules) {
            HookStep::Done => self.without(finalizer).await,
            HookStep::Wait => None,
            HookStep::Create(hooks) => self.create(&hooks).await,
            HookStep::Failed(keys) => {
                let names: Vec<String> =
                    keys.iter().map(|it| format!("{}/{}", it.namespace, it.name)).collect();
                let kind = match moment {
                    Moment::Before => "PreDelete",
                    Moment::After => "PostDelete",
                };
                let mut messages = vec![format!("{kind} hook(s) failed: {}", names.join(", "))];
                messages.extend(self.delete_all(keys, Propagation::Background).await);
                fail(self.controller, self.app, messages).await
            }
        }
    }

    /// A hook that names no namespace runs in the Application's.
    fn placed(&self, hook: &Object) -> Object {
        let mut hook = hook.clone();
        let kinds = self.cluster.kinds();
        let is_namespaced = kinds.find(&hook.group_version_kind()).is_none_or(|it| it.namespaced);
        if is_namespaced && hook.namespace().is_empty() {
            hook.set_namespace(&self.app.spec.destination.namespace);
        }
        if hook.name().is_empty()
            && let Some(prefix) = hook.text(&["metadata", "generateName"])
        {
            // The same name for the same deletion, however often it is looked at.
            let id: String = self.app.metadata.uid.chars().take(8).collect();
            let name = format!("{prefix}{id}");
            hook.set_name(&name);
        }
        hook
    }

    async fn create(&self, hooks: &[Object]) -> Next {
        let options = WriteOptions {
            way: Way::ServerSide { takes_over_from: None },
            force: false,
            validation: Validation::Ignore,
            dry_run: false,
        };
        let mut messages = Vec::new();
        for hook in hooks {
            if let Err(denied) = self.permit.permits(&hook.key()) {
                messages.push(denied.to_string());
            } else if let Err(error) = self.cluster.write(hook, &options).await {
                // An object of that name that is not ours is not ours to run.
                let is_there = matches!(error, ApplyError::Conflict { .. });
                if !is_there {
                    messages.push(error.in_one_line());
                }
            }
        }
        if messages.is_empty() { AT_ONCE } else { fail(self.controller, self.app, messages).await }
    }

    async fn delete_objects(&self, instance: &str) -> Next {
        let Some(finalizer) = self.app.cascade_finalizer() else { return AT_ONCE };
        let settings = self.controller.settings();
        match engine::cascade::next(&self.live, self.app, instance, &tracked_by(&settings.tracking))
        {
            CascadeStep::Done => self.without(finalizer).await,
            // An annotation of the Application brings the confirmation, and wakes us.
            CascadeStep::Wait(_) | CascadeStep::AwaitConfirmation(_) => None,
            CascadeStep::Delete(keys) => {
                let propagation = if finalizer.ends_with("/background") {
                    Propagation::Background
                } else {
                    Propagation::Foreground
                };
                let messages = self.delete_all(keys, propagation).await;
                if messages.is_empty() {
                    AT_ONCE
                } else {
                    fail(self.controller, self.app, messages).await
                }
            }
        }
    }

    async fn clean_up(&self, moment: Moment, finalizer: &str) -> Next {
        let settings = self.controller.settings();
        let rules = KindRules { settings: &settings, now: self.controller.now() };
        let keys = deletion_hooks::to_clean_up(&self.live, moment, &rules);
        if keys.is_empty() {
            return self.without(finalizer).await;
        }
        let is_going = |key: &ResourceKey| {
            self.live.get(key).is_some_and(|it| it.at(&["metadata", "deletionTimestamp"]).is_some())
        };
        if keys.iter().all(is_going) {
            return None;
        }
        let messages = self.delete_all(keys, Propagation::Background).await;
        if messages.is_empty() { AT_ONCE } else { fail(self.controller, self.app, messages).await }
    }

    /// Deletes, several at once; says what went wrong.
    async fn delete_all(&self, keys: Vec<ResourceKey>, propagation: Propagation) -> Vec<String> {
        let options = &DeleteOptions { propagation, uid: None, at_once: false, dry_run: false };
        stream::iter(keys)
            .map(|key| {
                async move {
                    let done = self.cluster.delete(&key, options).await;
                    done.err().map(|error| error.in_one_line())
                }
                .boxed()
            })
            .buffer_unordered(self.controller.options.parallel_writes)
            .filter_map(|failed| async { failed })
            .collect()
            .await
    }

    /// This stage is over.
    async fn without(&self, finalizer: &str) -> Next {
        let finalizers = self.app.metadata.finalizers.iter().filter(|it| *it != finalizer);
        release(self.controller, self.app, finalizers.cloned().collect()).await
    }
}

/// Failures become conditions; the deletion is tried again.
async fn fail(controller: &Controller, app: &Application, messages: Vec<String>) -> Next {
    let failures: Vec<Finding> =
        messages.into_iter().map(|it| Finding::new(Concern::Deletion, it)).collect();
    let mut failed = app.clone();
    failed.status.conditions =
        engine::status::conditions(&failures, &app.status.conditions, controller.now());
    if let Err(failure) = controller.status_writer.write(app, &failed, Level::Live).await {
        tracing::warn!(app = %app.key(), error = %failure, "could not report a failed deletion");
    } else {
        let labels = controller.labels_of_events(app);
        controller.events.tell(app, &failed, &labels, controller.now());
    }
    Some((Level::Live, RETRY))
}

async fn release(controller: &Controller, app: &Application, finalizers: Vec<String>) -> Next {
    match controller.status_writer.set_finalizers(app, &finalizers).await {
        // There may be a next stage; our own write wakes nobody.
        Ok(()) => AT_ONCE,
        Err(failure) => failure.retry(Level::Live),
    }
}
