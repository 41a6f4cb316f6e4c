//! ApplicationSets: `applicationset.ApplicationSetService`.
//!
//! They are stored and shown; nothing generates from them yet.

use std::pin::Pin;

use ::cluster::{Scope, WatchEvent};
use api::{
    ApplicationSet, ApplicationSetList, ApplicationSetTree, ApplicationSetWatchEvent, ResourceNode,
    ResourceRef,
};
use futures::{Stream, StreamExt as _};
use rbac::{action, resource};
use serde_json::json;
use wire::Status;
use wire::message::applicationset::{
    ApplicationSetCreateRequest, ApplicationSetDeleteRequest, ApplicationSetGenerateRequest,
    ApplicationSetGenerateResponse, ApplicationSetGetQuery, ApplicationSetListQuery,
    ApplicationSetResponse, ApplicationSetTreeQuery, ApplicationSetWatchQuery,
};
use wire::message::events::EventList;

use crate::application::checked_namespace;
use crate::application::selector::LabelSelector;
use crate::events::{self, About};
use crate::failure::{permission_denied, refused};
use crate::methods::Call;
use crate::project::replacing;
use crate::store::APPLICATION_SETS;

pub(crate) async fn get(
    call: Call,
    query: ApplicationSetGetQuery,
) -> Result<ApplicationSet, Status> {
    find(&call, &query.name, &query.appset_namespace).await
}

pub(crate) async fn list(
    call: Call,
    query: ApplicationSetListQuery,
) -> Result<ApplicationSetList, Status> {
    let namespace = checked_namespace(&call, Some(&query.appset_namespace))?;
    let selector = selector(&query.selector)?;
    let all = call.server.store.at(&namespace).list::<ApplicationSet>(&APPLICATION_SETS).await;
    let mut items = all.map_err(|error| refused("error listing ApplicationSets", &error))?;
    items.retain(|it| is_asked(it, &selector, &query.projects) && may_see(&call, it));
    items.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    Ok(ApplicationSetList { items: items.into_iter().map(shown).collect(), ..Default::default() })
}

pub(crate) async fn create(
    call: Call,
    request: ApplicationSetCreateRequest,
) -> Result<ApplicationSet, Status> {
    let Some(wanted) = request.applicationset else {
        return Err(Status::invalid_argument(
            "error creating ApplicationSets: ApplicationSets is nil in request",
        ));
    };
    if request.dry_run {
        return Err(generates_nothing());
    }
    let project = &wanted.spec.template.spec.project;
    if project.contains("{{") {
        return Err(Status::invalid_argument(
            "error validating ApplicationSets: the Argo CD API does not currently support creating ApplicationSets with templated `project` fields",
        ));
    }
    let namespace = checked_namespace(&call, Some(&wanted.metadata.namespace))?;
    let store = call.server.store.at(&namespace);
    let mut fresh = ApplicationSet::named(&namespace, &wanted.metadata.name);
    fresh.metadata.labels.clone_from(&wanted.metadata.labels);
    fresh.metadata.annotations.clone_from(&wanted.metadata.annotations);
    fresh.metadata.finalizers.clone_from(&wanted.metadata.finalizers);
    fresh.spec = wanted.spec.clone();
    let object = object_of(&call, &fresh);
    call.require(resource::APPLICATION_SETS, action::CREATE, &object)?;
    match store.create(&APPLICATION_SETS, &fresh).await {
        Ok(created) => return Ok(shown(created)),
        Err(error) if error.is_conflict() => {}
        Err(error) => return Err(refused("error creating ApplicationSet", &error)),
    }
    let existing = find(&call, &wanted.metadata.name, &namespace).await?;
    let (old, new) = (&existing.metadata, &wanted.metadata);
    if existing.spec == wanted.spec
        && old.labels == new.labels
        && old.annotations == new.annotations
        && old.finalizers == new.finalizers
    {
        return Ok(existing);
    }
    if !request.upsert {
        return Err(Status::invalid_argument(
            "existing ApplicationSet spec is different, use upsert flag to force update",
        ));
    }
    let patch = json!({
        "metadata": {
            "resourceVersion": old.resource_version,
            "labels": new.labels,
            "annotations": new.annotations,
            "finalizers": new.finalizers,
        },
        "spec": replacing(&json!(existing.spec), &json!(wanted.spec)),
    });
    call.require(resource::APPLICATION_SETS, action::UPDATE, &object)?;
    let written = store.merge(&APPLICATION_SETS, &wanted.metadata.name, &patch).await;
    written.map(shown).map_err(|error| refused("error updating ApplicationSets", &error))
}

pub(crate) async fn delete(
    call: Call,
    request: ApplicationSetDeleteRequest,
) -> Result<ApplicationSetResponse, Status> {
    let set = stored(&call, &request.name, &request.appset_namespace).await?;
    let set = set.ok_or_else(permission_denied)?;
    let object = object_of(&call, &set);
    if !call.may(resource::APPLICATION_SETS, action::DELETE, &object) && !may_see(&call, &set) {
        return Err(permission_denied());
    }
    call.require(resource::APPLICATION_SETS, action::DELETE, &object)?;
    let store = call.server.store.at(&set.metadata.namespace);
    let deleted = store.delete(&APPLICATION_SETS, &request.name).await;
    deleted.map_err(|error| refused("error deleting ApplicationSets", &error))?;
    Ok(ApplicationSetResponse::default())
}

pub(crate) async fn generate(
    _: Call,
    _: ApplicationSetGenerateRequest,
) -> Result<ApplicationSetGenerateResponse, Status> {
    Err(generates_nothing())
}

fn generates_nothing() -> Status {
    Status::unimplemented("generators of ApplicationSets are not supported yet")
}

/// The Applications that an ApplicationSet owns.
pub(crate) async fn resource_tree(
    call: Call,
    query: ApplicationSetTreeQuery,
) -> Result<ApplicationSetTree, Status> {
    let set = find(&call, &query.name, &query.appset_namespace).await?;
    let parent = ResourceRef {
        group: api::GROUP.into(),
        version: api::VERSION.into(),
        kind: ApplicationSet::KIND.into(),
        namespace: set.metadata.namespace.clone(),
        name: set.metadata.name.clone(),
        uid: set.metadata.uid.clone(),
    };
    let apps = call.server.apps.all();
    let owned = apps
        .iter()
        .filter(|app| app.metadata.owner_references.iter().any(|it| it.uid == set.metadata.uid));
    let nodes = owned.map(|app| ResourceNode {
        resource_ref: ResourceRef {
            group: api::GROUP.into(),
            version: api::VERSION.into(),
            kind: api::Application::KIND.into(),
            namespace: app.metadata.namespace.clone(),
            name: app.metadata.name.clone(),
            uid: app.metadata.uid.clone(),
        },
        parent_refs: vec![parent.clone()],
        ..ResourceNode::default()
    });
    Ok(ApplicationSetTree { nodes: nodes.collect() })
}

pub(crate) async fn list_events(
    call: Call,
    query: ApplicationSetGetQuery,
) -> Result<EventList, Status> {
    let set = find(&call, &query.name, &query.appset_namespace).await?;
    let metadata = &set.metadata;
    let about = About { namespace: &metadata.namespace, name: &metadata.name, uid: &metadata.uid };
    events::list(call.server.store.client(), &about).await
}

type Events = Pin<Box<dyn Stream<Item = Result<ApplicationSetWatchEvent, Status>> + Send>>;

/// All that match as `ADDED`, then what changes.
pub(crate) async fn watch(call: Call, query: ApplicationSetWatchQuery) -> Result<Events, Status> {
    let namespace = checked_namespace(&call, Some(&query.app_set_namespace))?;
    let selector = selector(&query.selector)?;
    let events = call.server.store.client().clone().watch::<ApplicationSet>(
        &APPLICATION_SETS,
        Scope::Namespace(namespace),
        ::cluster::Selector::everything(),
        call.server.options.random.clone(),
    );
    let mut seen = std::collections::BTreeSet::new();
    let events = events.filter_map(move |event| {
        let (type_, set) = match event {
            WatchEvent::Applied(set) if seen.insert(set.key()) => ("ADDED", set),
            WatchEvent::Applied(set) => ("MODIFIED", set),
            WatchEvent::Deleted(set) => {
                seen.remove(&set.key());
                ("DELETED", set)
            }
            _ => return std::future::ready(None),
        };
        let is_named = query.name.is_empty() || set.metadata.name == query.name;
        let is_asked =
            is_named && is_asked(&set, &selector, &query.projects) && may_see(&call, &set);
        let event = ApplicationSetWatchEvent { type_: type_.into(), application_set: shown(set) };
        std::future::ready(is_asked.then_some(Ok(event)))
    });
    Ok(Box::pin(events))
}

async fn find(call: &Call, name: &str, namespace: &str) -> Result<ApplicationSet, Status> {
    let found = stored(call, name, namespace).await?;
    found.filter(|it| may_see(call, it)).ok_or_else(permission_denied)
}

async fn stored(
    call: &Call,
    name: &str,
    namespace: &str,
) -> Result<Option<ApplicationSet>, Status> {
    let namespace = checked_namespace(call, Some(namespace))?;
    let found = call.server.store.at(&namespace).get(&APPLICATION_SETS, name).await;
    let found = found.map_err(|error| refused("error getting ApplicationSet", &error))?;
    Ok(found.map(shown))
}

fn may_see(call: &Call, set: &ApplicationSet) -> bool {
    call.may(resource::APPLICATION_SETS, action::GET, &object_of(call, set))
}

fn object_of(call: &Call, set: &ApplicationSet) -> String {
    let project = &set.spec.template.spec.project;
    call.object_named(project, &set.metadata.namespace, &set.metadata.name)
}

fn selector(text: &str) -> Result<LabelSelector, Status> {
    LabelSelector::parse(text)
        .map_err(|why| Status::unknown(format!("error parsing the selector: {why}")))
}

fn is_asked(set: &ApplicationSet, selector: &LabelSelector, projects: &[String]) -> bool {
    let project = &set.spec.template.spec.project;
    selector.matches(&set.metadata.labels) && (projects.is_empty() || projects.contains(project))
}

fn shown(mut set: ApplicationSet) -> ApplicationSet {
    set.api_version.clear();
    set.kind.clear();
    set
}
