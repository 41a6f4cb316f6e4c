//! Live objects of an Application: read one, patch it, delete it.

use std::collections::BTreeSet;

use ::cluster::{Cluster, DeleteOptions, PatchKind, Propagation};
use api::{Application, ApplicationTree, ResourceNode};
use engine::project::{Gate, Place, ProjectClusters};
use object::{GroupVersionKind, Object, ResourceKey};
use rbac::action;
use serde_json::Value;
use wire::Status;
use wire::message::application::{
    ApplicationResourceDeleteRequest, ApplicationResourcePatchRequest, ApplicationResourceRequest,
    ApplicationResourceResponse, ApplicationResponse, LinksResponse,
};

use super::find;
use crate::audit::{Reason, note};
use crate::failure::refused;
use crate::methods::Call;
use crate::secret::Mask;
use crate::{cluster_service, links};

/// An object that belongs to an Application, and where it lives.
pub(super) struct Found {
    pub(super) app: Application,
    pub(super) node: ResourceNode,
    pub(super) cluster: Cluster,
}

impl Found {
    /// The kind in the version that the tree knows.
    pub(super) fn kind(&self) -> GroupVersionKind {
        let it = &self.node.resource_ref;
        GroupVersionKind {
            group: it.group.clone(),
            version: it.version.clone(),
            kind: it.kind.clone(),
        }
    }

    /// Reads the object now.
    pub(super) async fn read(&self) -> Result<Object, Status> {
        let it = &self.node.resource_ref;
        let read = self.cluster.get(&self.kind(), &it.namespace, &it.name).await;
        let read = read.map_err(|error| refused("error getting resource", &error))?;
        read.ok_or_else(|| {
            let message = format!("error getting resource: {} {:?} not found", it.kind, it.name);
            Status::not_found(message)
        })
    }
}

pub(crate) async fn get(
    call: Call,
    request: ApplicationResourceRequest,
) -> Result<ApplicationResourceResponse, Status> {
    let found = belonging(&call, &request).await?;
    let manifest = Mask::of(&call).shown(found.read().await?).to_string();
    Ok(ApplicationResourceResponse { manifest })
}

pub(crate) async fn patch(
    call: Call,
    request: ApplicationResourcePatchRequest,
) -> Result<ApplicationResourceResponse, Status> {
    let found = belonging(&call, &asked_to_patch(&request)).await?;
    call.guard_object(&found.app, action::UPDATE, &found.node.resource_ref)?;
    let Some(how) = PatchKind::of_media_type(&request.patch_type) else {
        let message = format!("patch type {:?} is not supported", request.patch_type);
        return Err(Status::invalid_argument(message));
    };
    let it = &found.node.resource_ref;
    let is_secret = it.kind == "Secret" && it.group.is_empty();
    // What is told of a failure could quote what was to be hidden.
    let hidden = || Status::unknown(format!("failed to patch Secret {}/{}", it.namespace, it.name));
    let patch: Value = serde_json::from_str(&request.patch).map_err(|error| {
        let told = Status::invalid_argument(format!("could not read the patch: {error}"));
        if is_secret { hidden() } else { told }
    })?;
    let Some(kind) = found.cluster.kinds().find(&found.kind()).cloned() else {
        return Err(Status::not_found(format!("the cluster does not serve {}", it.kind)));
    };
    let client = found.cluster.client();
    let patched = client.patch(&kind, &it.namespace, &it.name, None, (how, &patch)).await;
    let patched = patched.map_err(|error| {
        if is_secret { hidden() } else { refused("error patching resource", &error) }
    })?;
    let (group, kind) = (request.group.unwrap_or_default(), request.kind);
    let what = format!("patched resource {group}/{kind} '{}'", request.resource_name);
    note(&call, &found.app, Reason::ResourceUpdated, &what).await;
    Ok(ApplicationResourceResponse { manifest: Mask::of(&call).shown(patched).to_string() })
}

pub(crate) async fn delete(
    call: Call,
    request: ApplicationResourceDeleteRequest,
) -> Result<ApplicationResponse, Status> {
    let found = belonging(&call, &asked_to_delete(&request)).await?;
    call.guard_object(&found.app, action::DELETE, &found.node.resource_ref)?;
    let propagation = match (request.orphan.unwrap_or(false), request.force.unwrap_or(false)) {
        (true, _) => Propagation::Orphan,
        (false, true) => Propagation::Background,
        (false, false) => Propagation::Foreground,
    };
    let at_once = propagation == Propagation::Background;
    let options = DeleteOptions { propagation, uid: None, at_once, dry_run: false };
    let it = &found.node.resource_ref;
    let kind = object::GroupKind::new(&it.group, &it.kind);
    let key = ResourceKey::new(&kind, &it.namespace, &it.name);
    let deleted = found.cluster.delete(&key, &options).await;
    deleted.map_err(|error| {
        Status::unknown(format!("error deleting resource: {}", error.in_one_line()))
    })?;
    let (group, kind) = (request.group.unwrap_or_default(), request.kind);
    let what = format!("deleted resource {group}/{kind} '{}'", request.resource_name);
    note(&call, &found.app, Reason::ResourceDeleted, &what).await;
    Ok(ApplicationResponse {})
}

/// The links beside an object.
pub(crate) async fn links(
    call: Call,
    request: ApplicationResourceRequest,
) -> Result<LinksResponse, Status> {
    let found = belonging(&call, &request).await?;
    let settings = call.server.settings.current();
    if settings.ui.resource_links.is_empty() {
        return Ok(LinksResponse::default());
    }
    let object = Mask::of(&call).shown(found.read().await?);
    let project = crate::project::of(&call, &found.app).await?;
    let about =
        links::About::default().resource(object).application(&found.app, "").project(&project);
    let about = match cluster_service::of(&call.server, &found.app.spec.destination).await {
        Some(cluster) => about.cluster(&cluster),
        None => about,
    };
    Ok(about.links(&settings.ui.resource_links))
}

/// The object of a request, if it belongs to the Application it names.
pub(super) async fn belonging(
    call: &Call,
    request: &ApplicationResourceRequest,
) -> Result<Found, Status> {
    let namespace = request.app_namespace.as_deref();
    let app = find(call, &request.name, namespace, request.project.as_deref()).await?;
    let tree = tree_of(call, &app).await?;
    let text = |it: &Option<String>| it.clone().unwrap_or_default();
    let (group, kind) = (text(&request.group), &request.kind);
    let (namespace, name) = (text(&request.namespace), &request.resource_name);
    let nodes = tree.nodes.into_iter().chain(tree.orphaned_nodes);
    let found = nodes.filter(|it| !it.resource_ref.uid.is_empty()).find(|node| {
        let it = &node.resource_ref;
        it.group == group && it.kind == *kind && it.name == *name && it.namespace == namespace
    });
    let Some(mut node) = found else {
        return Err(Status::invalid_argument(format!(
            "{kind} {group} {name} not found as part of application {}",
            request.name
        )));
    };
    if !request.version.is_empty() {
        node.resource_ref.version.clone_from(&request.version);
    }
    let destination = call.server.ports.control.destination_of(&app);
    let destination = destination.map_err(|why| {
        Status::unknown(format!("error getting application cluster config: {why}"))
    })?;
    Ok(Found { app, node, cluster: destination.cluster })
}

/// The tree of an Application: what its project lets it have. One that its project does not let be
/// has nothing.
pub(super) async fn tree_of(call: &Call, app: &Application) -> Result<ApplicationTree, Status> {
    let Ok(project) = crate::project::of(call, app).await else {
        return Ok(ApplicationTree::default());
    };
    let gate = Gate::new(&project, ProjectClusters::Known(Vec::new()));
    let Ok(place) = call.server.ports.control.destination(&app.spec.destination) else {
        return Ok(ApplicationTree::default());
    };
    let place = engine::project::Cluster { server: place.server, name: place.name };
    if !gate.objections(&app.spec, &place).is_empty() {
        return Ok(ApplicationTree::default());
    }
    let tree = call.server.ports.control.tree(app).await;
    let tree = tree
        .map_err(|why| Status::unknown(format!("error getting cached app resource tree: {why}")))?;
    let is_permitted = |node: &ResourceNode| {
        let it = &node.resource_ref;
        let kind = object::GroupKind::new(&it.group, &it.kind);
        let whereabouts = match it.namespace.as_str() {
            "" => Place::ClusterWide,
            namespace => Place::Namespace(namespace),
        };
        gate.permits_object(&kind, &it.name, whereabouts, &place).is_ok()
    };
    Ok(ApplicationTree { nodes: reachable(tree.nodes, is_permitted), ..tree })
}

/// The nodes that are permitted and do not hang from others only that are not.
fn reachable(
    nodes: Vec<ResourceNode>,
    is_permitted: impl Fn(&ResourceNode) -> bool,
) -> Vec<ResourceNode> {
    let (mut kept, gone): (Vec<_>, Vec<_>) = nodes.into_iter().partition(is_permitted);
    let mut gone: BTreeSet<String> = gone.into_iter().map(|it| it.resource_ref.uid).collect();
    // What is not there yet has no id to hang from.
    gone.remove("");
    loop {
        let hangs = |it: &ResourceNode| {
            !it.parent_refs.is_empty() && it.parent_refs.iter().all(|it| gone.contains(&it.uid))
        };
        let (hanging, rest): (Vec<_>, Vec<_>) = kept.into_iter().partition(hangs);
        kept = rest;
        if hanging.is_empty() {
            return kept;
        }
        gone.extend(hanging.into_iter().map(|it| it.resource_ref.uid));
    }
}

fn asked_to_patch(request: &ApplicationResourcePatchRequest) -> ApplicationResourceRequest {
    ApplicationResourceRequest {
        name: request.name.clone(),
        namespace: request.namespace.clone(),
        resource_name: request.resource_name.clone(),
        version: request.version.clone(),
        group: request.group.clone(),
        kind: request.kind.clone(),
        app_namespace: request.app_namespace.clone(),
        project: request.project.clone(),
    }
}

fn asked_to_delete(request: &ApplicationResourceDeleteRequest) -> ApplicationResourceRequest {
    ApplicationResourceRequest {
        name: request.name.clone(),
        namespace: request.namespace.clone(),
        resource_name: request.resource_name.clone(),
        version: request.version.clone(),
        group: request.group.clone(),
        kind: request.kind.clone(),
        app_namespace: request.app_namespace.clone(),
        project: request.project.clone(),
    }
}

#[cfg(test)]
mod tests {
    use api::ResourceRef;

    use super::*;

    #[test]
    fn what_hangs_from_the_forbidden_goes_with_it() {
        let node = |uid: &str, parents: &[&str]| ResourceNode {
            resource_ref: ResourceRef { uid: uid.into(), ..ResourceRef::default() },
            parent_refs: parents
                .iter()
                .map(|it| ResourceRef { uid: (*it).into(), ..ResourceRef::default() })
                .collect(),
            ..ResourceNode::default()
        };
        let nodes = vec![
            node("deployment", &[]),
            node("pod", &["set"]),
            node("set", &["deployment"]),
            node("service", &[]),
            node("slice", &["service", "deployment"]),
        ];
        let kept = reachable(nodes, |it| it.resource_ref.uid != "deployment");
        let kept: Vec<&str> = kept.iter().map(|it| it.resource_ref.uid.as_str()).collect();
        assert_eq!(kept, ["service", "slice"]);
    }
}
