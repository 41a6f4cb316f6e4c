//! Reading Applications: list, get with refresh, tree, manifests.

use std::sync::Arc;

use api::{
    Application, ApplicationList, ApplicationTree, HealthStatus, RefreshType, ResourceNode,
    ResourceRef, names,
};
use object::{GroupKind, ResourceKey};
use serde_json::json;
use tokio::sync::broadcast;
use wire::Status;
use wire::message::application::{ApplicationManifestQuery, ApplicationQuery, ResourcesQuery};
use wire::message::repository::ManifestResponse;

use super::selector::LabelSelector;
use super::{check_namespace, find, shown};
use crate::ApiServer;
use crate::apps::{Event, Turn, version};
use crate::failure::refused;
use crate::methods::Call;
use crate::ports::RenderRequest;
use crate::store::APPLICATIONS;

/// Which Applications a query is about.
pub(crate) struct Filter {
    name: Option<String>,
    projects: Vec<String>,
    repo: Option<String>,
    selector: LabelSelector,
    /// Only states newer than this.
    newer_than: u64,
}

impl Filter {
    pub(crate) fn new(call: &Call, query: &ApplicationQuery) -> Result<Self, Status> {
        check_namespace(call, query.app_namespace.as_deref())?;
        let selector = LabelSelector::parse(query.selector.as_deref().unwrap_or_default())
            .map_err(|why| {
                Status::invalid_argument(format!("error parsing the selector: {why}"))
            })?;
        let named = |text: &Option<String>| text.clone().filter(|it| !it.is_empty());
        let projects = query.project.iter().chain(&query.projects);
        Ok(Self {
            name: named(&query.name),
            projects: projects.filter(|it| !it.is_empty()).cloned().collect(),
            repo: named(&query.repo),
            selector,
            newer_than: query
                .resource_version
                .as_deref()
                .and_then(|it| it.parse().ok())
                .unwrap_or(0),
        })
    }

    pub(crate) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    pub(crate) fn admits(&self, app: &Application) -> bool {
        self.name.as_ref().is_none_or(|name| app.metadata.name == *name)
            && (self.projects.is_empty()
                || self.projects.iter().any(|it| it == app.spec.project_name()))
            && self
                .repo
                .as_ref()
                .is_none_or(|repo| app.sources().iter().any(|source| source.repo_url == *repo))
            && self.selector.matches(&app.metadata.labels)
    }

    /// As a watch has it: what is older than the version asked for is known already.
    pub(crate) fn admits_news(&self, app: &Application) -> bool {
        version(app) > self.newer_than && self.admits(app)
    }
}

pub(crate) async fn list(call: Call, query: ApplicationQuery) -> Result<ApplicationList, Status> {
    let filter = Filter::new(&call, &query)?;
    let apps = call.server.apps.all();
    let newest = apps.iter().map(|it| version(it)).max();
    let items = apps.iter().filter(|it| filter.admits(it)).map(|it| shown((**it).clone()));
    let mut list = ApplicationList { items: items.collect(), ..ApplicationList::default() };
    list.metadata.resource_version = newest.map(|it| it.to_string()).unwrap_or_default();
    Ok(list)
}

pub(crate) async fn get(call: Call, query: ApplicationQuery) -> Result<Application, Status> {
    let mut projects = query.project.iter().chain(&query.projects);
    let project = projects.next().map(String::as_str);
    if projects.next().is_some() {
        return Err(Status::invalid_argument(
            "multiple projects specified - the get endpoint accepts either zero or one project",
        ));
    }
    let name = query.name.as_deref().unwrap_or_default();
    let app = find(&call, name, query.app_namespace.as_deref(), project).await?;
    let Some(refresh) = query.refresh else { return Ok(shown(app)) };
    // Listening starts before the wish is written, so that its fulfilment cannot be missed.
    let (_, events) = call.server.apps.subscribe();
    let refresh = RefreshType::parse(&refresh).unwrap_or(RefreshType::Normal);
    let patch =
        json!({ "metadata": { "annotations": { names::ANNOTATION_REFRESH: refresh.as_str() } } });
    let asked = call.server.store.merge::<Application>(&APPLICATIONS, name, &patch).await;
    let asked = asked.map_err(|error| refused("error refreshing the app", &error))?;
    refreshed(&call.server, asked, events).await
}

/// Waits until the controller has taken the wish back; the client's patience is the limit.
async fn refreshed(
    server: &ApiServer,
    asked: Application,
    mut events: broadcast::Receiver<Event>,
) -> Result<Application, Status> {
    let is_done = |app: &Application| {
        app.key() == asked.key()
            && version(app) > version(&asked)
            && app.annotation(names::ANNOTATION_REFRESH).is_none()
    };
    loop {
        match events.recv().await {
            Ok(Event { turn: Turn::Deleted, app }) if app.key() == asked.key() => {
                return Err(Status::not_found("the application was deleted meanwhile"));
            }
            Ok(Event { app, .. }) if is_done(&app) => return Ok(shown(Arc::unwrap_or_clone(app))),
            Ok(_) => {}
            Err(broadcast::error::RecvError::Lagged(_)) => {
                let all = server.apps.all();
                if let Some(app) = all.into_iter().find(|app| is_done(app)) {
                    return Ok(shown(Arc::unwrap_or_clone(app)));
                }
            }
            Err(broadcast::error::RecvError::Closed) => {
                return Err(Status::unavailable("the server is shutting down"));
            }
        }
    }
}

/// The resources of an Application with what they own, as far as the watches know.
pub(crate) async fn resource_tree(
    call: Call,
    query: ResourcesQuery,
) -> Result<ApplicationTree, Status> {
    let name = &query.application_name;
    let app = find(&call, name, query.app_namespace.as_deref(), query.project.as_deref()).await?;
    let mut tree = ApplicationTree::default();
    for resource in &app.status.resources {
        let kind = GroupKind::new(&resource.group, &resource.kind);
        let key = ResourceKey::new(&kind, &resource.namespace, &resource.name);
        let Some(known) = call.server.ports.cluster.known(&key) else { continue };
        let reference = ResourceRef {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            namespace: resource.namespace.clone(),
            name: resource.name.clone(),
            uid: known.uid.clone(),
        };
        let health = resource.health.clone();
        add_node(&call.server, &mut tree, reference, &[], health);
    }
    Ok(tree)
}

fn add_node(
    server: &ApiServer,
    tree: &mut ApplicationTree,
    reference: ResourceRef,
    parents: &[ResourceRef],
    health: Option<HealthStatus>,
) {
    if tree.nodes.iter().any(|it| it.resource_ref.uid == reference.uid) {
        return;
    }
    tree.nodes.push(ResourceNode {
        resource_ref: reference.clone(),
        parent_refs: parents.to_vec(),
        health,
        ..ResourceNode::default()
    });
    let kinds = server.ports.cluster.kinds();
    for child in server.ports.cluster.children(&reference.uid) {
        let kind = kinds.preferred(&child.key.group_kind());
        let owned = ResourceRef {
            version: kind.map(|it| it.version.clone()).unwrap_or_default(),
            group: child.key.group,
            kind: child.key.kind,
            namespace: child.key.namespace,
            name: child.key.name,
            uid: child.uid.clone(),
        };
        add_node(server, tree, owned, std::slice::from_ref(&reference), None);
    }
}

/// What git wants, rendered now.
pub(crate) async fn manifests(
    call: Call,
    query: ApplicationManifestQuery,
) -> Result<ManifestResponse, Status> {
    let name = &query.name;
    let app = find(&call, name, query.app_namespace.as_deref(), query.project.as_deref()).await?;
    let mut answer = ManifestResponse {
        namespace: app.spec.destination.namespace.clone(),
        server: app.spec.destination.server.clone(),
        ..ManifestResponse::default()
    };
    for (index, source) in app.sources().iter().enumerate() {
        let position = query
            .source_positions
            .iter()
            .position(|it| usize::try_from(*it).is_ok_and(|it| it == index + 1));
        let revision = position.and_then(|it| query.revisions.get(it)).or(query.revision.as_ref());
        let revision = revision.filter(|it| !it.is_empty()).unwrap_or(&source.target_revision);
        let request = RenderRequest {
            source: source.clone(),
            revision: revision.clone(),
            instance: app.instance_name(&call.server.options.namespace),
            namespace: app.spec.destination.namespace.clone(),
        };
        let rendered = call
            .server
            .ports
            .sources
            .render(request)
            .await
            .map_err(|error| Status::unknown(format!("error generating manifests: {error}")))?;
        answer.revision = rendered.commit;
        answer.source_type = rendered.source_type;
        answer.manifests.extend(rendered.objects.into_iter().map(|it| masked(it).to_string()));
    }
    Ok(answer)
}

/// A Secret's values are nobody's business here.
fn masked(object: object::Object) -> serde_json::Value {
    let is_secret = object.group_kind().is("", "Secret");
    let mut value = object.into_value();
    if is_secret {
        for part in ["data", "stringData"] {
            if let Some(entries) = value.get_mut(part).and_then(|it| it.as_object_mut()) {
                for text in entries.values_mut() {
                    *text = "++++++++".into();
                }
            }
        }
    }
    value
}
