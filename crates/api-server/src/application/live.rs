//! Live objects of an Application: read one, patch it, delete it.

use ::cluster::{Cluster, DeleteOptions, PatchKind, Propagation};
use api::{Application, ApplicationTree, ResourceNode};
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
    let patch: Value = serde_json::from_str(&request.patch)
        .map_err(|error| Status::invalid_argument(format!("could not read the patch: {error}")))?;
    let it = &found.node.resource_ref;
    let Some(kind) = found.cluster.kinds().find(&found.kind()).cloned() else {
        return Err(Status::not_found(format!("the cluster does not serve {}", it.kind)));
    };
    let client = found.cluster.client();
    let patched = client.patch(&kind, &it.namespace, &it.name, None, (how, &patch)).await;
    let patched = patched.map_err(|error| {
        // The refusal may quote what was refused.
        if it.kind == "Secret" && it.group.is_empty() {
            let message = format!("failed to patch Secret {}/{}", it.namespace, it.name);
            return Status::unknown(message);
        }
        refused("error patching resource", &error)
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

/// Links that argocd-cm defines are not evaluated yet: there are none.
pub(crate) async fn links(
    call: Call,
    request: ApplicationResourceRequest,
) -> Result<LinksResponse, Status> {
    belonging(&call, &request).await?;
    Ok(LinksResponse::default())
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
    let destination = call.server.ports.control.destination(&app.spec.destination);
    let destination = destination.map_err(|why| {
        Status::unknown(format!("error getting application cluster config: {why}"))
    })?;
    Ok(Found { app, node, cluster: destination.cluster })
}

/// The tree of an Application.
pub(super) async fn tree_of(call: &Call, app: &Application) -> Result<ApplicationTree, Status> {
    let tree = call.server.ports.control.tree(app).await;
    tree.map_err(|why| Status::unknown(format!("error getting cached app resource tree: {why}")))
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
