//! AppProjects as last seen, and what each lets an Application do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use api::{AppProject, Application};
use engine::project::inherit::{GlobalProject, globals_of, inherit};
use engine::project::{Cluster, Denied, Gate, Place, ProjectClusters, SourceRepos};
use engine::windows::{Target, Trigger, Windows};
use engine::{Comparison, Concern, Finding, Verdict};
use jiff::{SignedDuration, Timestamp};
use object::{Object, ResourceKey};
use tokio::sync::watch as signal;

use crate::destinations::Destination;

/// How long windows that say no are not asked again, at most.
const WINDOW_CHECK: SignedDuration = SignedDuration::from_mins(10);

/// All projects, by name.
pub(crate) struct Projects {
    known: RwLock<BTreeMap<String, Arc<AppProject>>>,
    /// Becomes true with the first complete list.
    listed: signal::Sender<bool>,
}

impl Projects {
    pub(crate) fn new() -> Self {
        Self { known: RwLock::default(), listed: signal::Sender::new(false) }
    }

    /// Waits for the first complete list: before it, no project would seem to exist.
    pub(crate) async fn listed(&self) {
        let mut listed = self.listed.subscribe();
        // The sender lives as long as we do.
        drop(listed.wait_for(|it| *it).await);
    }

    pub(crate) fn are_listed(&self) -> bool {
        *self.listed.borrow()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<AppProject>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The project with what it inherits.
    pub(crate) fn with_inherited(
        &self,
        name: &str,
        globals: &[GlobalProject],
    ) -> Option<Arc<AppProject>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let project = known.get(name)?;
        if globals_of(project, globals).next().is_none() {
            return Some(Arc::clone(project));
        }
        Some(Arc::new(inherit(project, globals, &known)))
    }

    /// Takes a project in; is it another one than before?
    pub(crate) fn see(&self, project: AppProject) -> bool {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let name = project.metadata.name.clone();
        // Labels decide what it inherits.
        let is_news = known.get(&name).is_none_or(|before| {
            before.spec != project.spec || before.metadata.labels != project.metadata.labels
        });
        known.insert(name, Arc::new(project));
        is_news
    }

    pub(crate) fn forget(&self, name: &str) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// The list is complete: drops what it did not name.
    pub(crate) fn retain(&self, names: &BTreeSet<String>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|name, _| names.contains(name));
        drop(known);
        self.listed.send_replace(true);
    }
}

/// What an Application may do: its project's word about one destination.
pub(crate) struct Permit {
    pub(crate) project: Arc<AppProject>,
    gate: Gate,
    cluster: Cluster,
}

impl Permit {
    /// Asks the project about the Application as a whole.
    ///
    /// # Errors
    /// With everything that keeps it from being deployed.
    pub(crate) fn ask(
        project: Option<Arc<AppProject>>,
        app: &Application,
        destination: &Destination,
        all: &[Destination],
        control_namespace: &str,
    ) -> Result<Self, Vec<Finding>> {
        let name = app.spec.project_name();
        let Some(project) = project else {
            let message = format!("Application referencing project {name} which does not exist");
            return Err(vec![Finding::new(Concern::InvalidSpec, message)]);
        };
        let own = all.iter().filter(|it| it.project == name).map(registered).collect();
        let gate = Gate::new(&project, ProjectClusters::Known(own));
        let cluster = registered(destination);
        let metadata = &app.metadata;
        gate.permits_application_namespace(&metadata.name, &metadata.namespace, control_namespace)
            .map_err(|denied| vec![Finding::new(Concern::Unknown, denied.to_string())])?;
        let objections = gate.objections(&app.spec, &cluster);
        if !objections.is_empty() {
            let finding = |it: &Denied| Finding::new(Concern::InvalidSpec, it.to_string());
            return Err(objections.iter().map(finding).collect());
        }
        Ok(Self { project, gate, cluster })
    }

    /// The address of the cluster it is about.
    pub(crate) fn server(&self) -> &str {
        &self.cluster.server
    }

    /// The repositories that its manifests may come from.
    pub(crate) fn source_repos(&self) -> SourceRepos {
        self.gate.sources().clone()
    }

    /// May the Application write or delete this object?
    pub(crate) fn permits(&self, key: &ResourceKey) -> Result<(), Denied> {
        self.gate.permits_object(&key.group_kind(), &key.name, place(key), &self.cluster)
    }

    /// Takes away what the Application may not even see.
    pub(crate) fn filter(&self, live: &mut BTreeMap<ResourceKey, Object>) {
        live.retain(|key, _| self.permits(key).is_ok());
    }

    /// Nothing is said about objects of kinds that may not be deployed.
    pub(crate) fn mark_denied(&self, comparison: &mut Comparison) {
        for (key, compared) in &mut comparison.items {
            let kind = key.group_kind();
            if self.gate.permits_kind(&kind, &key.name, place(key)).is_err() {
                compared.verdict = Verdict::Unknown;
            }
        }
    }

    /// What the project has against a sync of these objects.
    pub(crate) fn objections<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k ResourceKey>,
    ) -> BTreeMap<ResourceKey, String> {
        let objection =
            |key: &ResourceKey| Some((key.clone(), self.permits(key).err()?.to_string()));
        keys.into_iter().filter_map(objection).collect()
    }

    /// Why no sync may start now, if so.
    pub(crate) fn holds_back(&self, app: &Application, now: Timestamp) -> Option<String> {
        let windows = Windows::applying_to(&self.project.spec.sync_windows, &Target::from(app));
        windows.can_sync(Trigger::Automatic, now).err().map(|it| it.to_string())
    }

    /// When the windows may say otherwise. Looked at once in a while even if they
    /// never do, since somebody may set the clock.
    pub(crate) fn windows_change_at(&self, app: &Application, now: Timestamp) -> Timestamp {
        let windows = Windows::applying_to(&self.project.spec.sync_windows, &Target::from(app));
        let latest = now + WINDOW_CHECK;
        windows.changes_at(now).map_or(latest, |at| at.min(latest))
    }

    /// Why the sync that began at `started` may not go on now, if so.
    pub(crate) fn stops(
        &self,
        app: &Application,
        automated: bool,
        started: Timestamp,
        now: Timestamp,
    ) -> Option<String> {
        let windows = Windows::applying_to(&self.project.spec.sync_windows, &Target::from(app));
        let trigger = if automated { Trigger::Automatic } else { Trigger::Manual };
        windows.can_continue(trigger, started, now).err().map(|it| it.to_string())
    }
}

fn registered(destination: &Destination) -> Cluster {
    Cluster { server: destination.server.clone(), name: destination.name.clone() }
}

fn place(key: &ResourceKey) -> Place<'_> {
    match key.namespace.as_str() {
        "" => Place::ClusterWide,
        namespace => Place::Namespace(namespace),
    }
}
