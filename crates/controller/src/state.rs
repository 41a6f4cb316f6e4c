//! What readers in this process may ask: both sides of an Application, its
//! resource tree, its cluster. Nothing is stored for them; a look is cheap
//! because renders are remembered and the live side is in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{
    AppKey, Application, ApplicationDestination, ApplicationTree, HealthStatus, ResourceDiff,
};
use engine::diff::hide::hide_secrets;
use engine::diff::server_side::Webhooks;
use engine::marks::{Role, role};
use engine::{CompareSettings, Comparing, Finding, Sides, diff};
use object::{Object, ResourceKey};
use serde_json::Value;

use crate::Controller;
use crate::acting::acting;
use crate::destinations::{Destination, DestinationError};
use crate::health::KindRules;
use crate::level::Level;
use crate::look::{At, Seen, look};

/// Both sides of an Application, as last compared.
#[derive(Clone, Debug)]
pub struct State {
    /// The commits it was compared with, one per source; empty if that failed.
    pub revisions: Vec<String>,
    /// Its objects, in key order. Secrets show signs instead of values.
    pub resources: Vec<ManagedResource>,
    /// What stood in the way of a whole answer, if something did.
    pub findings: Vec<Finding>,
}

/// One object of an Application from both sides.
#[derive(Clone, Debug)]
pub struct ManagedResource {
    /// Which object.
    pub key: ResourceKey,
    /// What git wants; none if it no longer does.
    pub want: Option<Object>,
    /// What the cluster has; none if it lacks it.
    pub live: Option<Object>,
    /// What the cluster has, without what does not count.
    pub normalized_live: Option<Object>,
    /// What the cluster would have after a sync.
    pub predicted_live: Option<Object>,
    /// Is it a hook?
    pub hook: bool,
    /// Do the two sides differ?
    pub modified: bool,
}

impl Controller {
    /// Looks at both sides of an Application.
    pub async fn compared(&self, app: &Application) -> State {
        let seen = look(self, app, &At::compared(app, Level::Live)).await;
        State { resources: managed(&seen), revisions: seen.revisions, findings: seen.findings }
    }

    /// What a dry run's `answer` would change of a live object of the Application, in its terms.
    ///
    /// # Errors
    /// When the answer cannot be interpreted, in words for the user.
    pub fn answered(
        &self,
        app: &Application,
        answer: &Object,
        live: &Object,
    ) -> Result<Sides, String> {
        let settings = self.settings();
        let asking = CompareSettings { asks_server: true, ..settings.comparing.clone() };
        let (comparing, _) = Comparing::of(app, &asking);
        let webhooks = comparing.asks_server.unwrap_or(Webhooks::Ignored);
        let sides = diff::answered_sides(answer, live, webhooks, &comparing);
        sides.map_err(|error| error.to_string())
    }

    /// The resource tree of an Application.
    ///
    /// # Errors
    /// When its cluster is not known.
    pub async fn tree(&self, app: &Application) -> Result<ApplicationTree, DestinationError> {
        let destination = self.destination(&app.spec.destination)?;
        let seen = look(self, app, &At::compared(app, Level::Live)).await;
        let comparison = seen.comparison.unwrap_or_default();
        let rules = KindRules { settings: &seen.settings, now: self.now() };
        let cluster = &destination.cluster;
        let (shown, orphans) = (seen.settings.shown(), &seen.orphans);
        Ok(crate::tree::tree(cluster, &comparison, orphans, &self.bodies, &rules, shown).await)
    }

    /// The health of each object of an Application, as it was last compared.
    #[must_use]
    pub fn healths(&self, app: &AppKey) -> Arc<BTreeMap<ResourceKey, HealthStatus>> {
        self.healths.of(app)
    }

    /// The cluster that a destination names.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn destination(
        &self,
        wanted: &ApplicationDestination,
    ) -> Result<Destination, DestinationError> {
        self.destinations.find(wanted)
    }

    /// The cluster that an Application deploys to, with the rights that the Application has there.
    ///
    /// # Errors
    /// When there is no such cluster, or no account to act as, in words for the user.
    pub fn destination_of(&self, app: &Application) -> Result<Destination, String> {
        let destination = self.destination(&app.spec.destination).map_err(|it| it.to_string())?;
        let Some(project) = self.projects.get(app.spec.project_name()) else {
            return Ok(destination);
        };
        let cluster = acting(self.settings().impersonation, &project, app, &destination)?;
        Ok(Destination { cluster, ..destination })
    }

    /// Every cluster that Applications may deploy to.
    #[must_use]
    pub fn all_destinations(&self) -> Vec<Destination> {
        self.destinations.all()
    }

    /// Asks for a look at an Application, as fresh as can be; with `hard` also
    /// what is remembered of its sources is not trusted.
    pub fn refresh(&self, app: AppKey, hard: bool) {
        self.queue.add(app, if hard { Level::Hard } else { Level::Latest });
    }
}

fn managed(seen: &Seen) -> Vec<ManagedResource> {
    let resource = |(key, compared): (&ResourceKey, &engine::Compared)| {
        let mut want = compared.pair.want().cloned();
        let mut live = compared.pair.live().cloned();
        hide_secrets(want.as_mut(), live.as_mut(), &seen.settings.masked_annotations);
        let (normalized_live, predicted_live) = match (&want, &live) {
            (Some(want), Some(live)) => {
                let sides = sides(key, want, live, seen);
                (Object::from_value(sides.live).ok(), Object::from_value(sides.predicted).ok())
            }
            _ => (live.clone(), want.clone()),
        };
        ManagedResource {
            hook: matches!(role(compared.pair.either()), Role::Hook(_)),
            modified: compared.is_out_of_sync(),
            key: key.clone(),
            want,
            live: live.map(without_field_sets),
            normalized_live: normalized_live.map(without_field_sets),
            predicted_live: predicted_live.map(without_field_sets),
        }
    };
    let items = seen.comparison.iter().flat_map(|it| &it.items);
    items.map(resource).collect()
}

/// As they were compared. Of a Secret the API server's answer is not shown,
/// since its values are in it.
fn sides(key: &ResourceKey, want: &Object, live: &Object, seen: &Seen) -> Sides {
    let answer = seen.facts.answers.get(key).and_then(|it| it.as_ref().ok());
    let answer = answer.filter(|_| !key.group_kind().is("", "Secret"));
    let answered = answer.zip(seen.comparing.asks_server).and_then(|(answer, webhooks)| {
        diff::answered_sides(answer, live, webhooks, &seen.comparing).ok()
    });
    answered.unwrap_or_else(|| diff::sides(want, live, &seen.comparing))
}

/// Nobody reads them, and they are half of an object.
fn without_field_sets(mut live: Object) -> Object {
    if let Some(metadata) = live.fields_mut().get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    live
}

impl ManagedResource {
    /// As the API shows it: each side as JSON text, `null` where there is none.
    #[must_use]
    pub fn to_api(&self) -> ResourceDiff {
        let text = |side: &Option<Object>| {
            serde_json::to_string(side).expect("a tree of JSON values has only string keys")
        };
        let live = self.live.as_ref();
        let version = live.and_then(|it| it.text(&["metadata", "resourceVersion"]));
        ResourceDiff {
            group: self.key.group.clone(),
            kind: self.key.kind.clone(),
            namespace: self.key.namespace.clone(),
            name: self.key.name.clone(),
            target_state: text(&self.want),
            live_state: text(&self.live),
            diff: String::new(),
            hook: self.hook,
            normalized_live_state: text(&self.normalized_live),
            predicted_live_state: text(&self.predicted_live),
            resource_version: version.unwrap_or_default().into(),
            modified: self.modified,
        }
    }
}
