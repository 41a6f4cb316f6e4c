//! Changing Applications: create, update, patch, delete.

use api::{AppProject, Application, ApplicationSpec, names};
use engine::project::Gate;
use rbac::{action, resource};
use serde_json::{Value, json};
use wire::Status;
use wire::message::application::{
    ApplicationCreateRequest, ApplicationDeleteRequest, ApplicationPatchRequest,
    ApplicationResponse, ApplicationUpdateRequest, ApplicationUpdateSpecRequest,
};

use super::{checked_namespace, find, manifests, shown, store_of};
use crate::audit::{Reason, note};
use crate::failure::refused;
use crate::methods::Call;
use crate::project::replacing;
use crate::store::APPLICATIONS;

const REQUIRED: &str = "spec.source.repoURL and either spec.source.path, spec.source.chart, or spec.source.ref are required";
/// How often a write tries again after losing against another.
const ATTEMPTS: usize = 10;

pub(crate) async fn create(
    call: Call,
    request: ApplicationCreateRequest,
) -> Result<Application, Status> {
    let mut app = request.application;
    let namespace = checked_namespace(&call, Some(&app.metadata.namespace))?;
    app.metadata.namespace.clone_from(&namespace);
    call.require(resource::APPLICATIONS, action::CREATE, &call.object_of(&app))?;
    let project = crate::project::of(&call, &app).await?;
    validate(&call, &mut app, &project, request.validate.unwrap_or(true))
        .await
        .map_err(|status| doing("error while validating and normalizing app", status))?;
    let store = call.server.store.at(&namespace);
    match store.create(&APPLICATIONS, &fresh(&app, &namespace)).await {
        Ok(created) => {
            note(&call, &created, Reason::ResourceCreated, "created application").await;
            call.server.apps.see(created.clone());
            return Ok(shown(&call.server, created));
        }
        Err(error) if error.is_conflict() => {}
        Err(error) => return Err(refused("error creating application", &error)),
    }
    let existing = find(&call, &app.metadata.name, Some(&namespace), None).await?;
    let (old, new) = (&existing.metadata, &app.metadata);
    let is_same = existing.spec == app.spec
        && old.labels == new.labels
        && old.annotations == new.annotations
        && old.finalizers == new.finalizers;
    if is_same {
        return Ok(shown(&call.server, existing));
    }
    if !request.upsert.unwrap_or(false) {
        return Err(Status::invalid_argument(
            "existing application spec is different, use upsert flag to force update",
        ));
    }
    call.require(resource::APPLICATIONS, action::UPDATE, &call.object_of(&app))?;
    store_update(&call, &app, Merge::IntoLabels).await
}

pub(crate) async fn update(
    call: Call,
    request: ApplicationUpdateRequest,
) -> Result<Application, Status> {
    let mut app = request.application;
    let namespace = checked_namespace(&call, Some(&app.metadata.namespace))?;
    app.metadata.namespace.clone_from(&namespace);
    call.require(resource::APPLICATIONS, action::UPDATE, &call.object_of(&app))?;
    find(&call, &app.metadata.name, Some(&namespace), request.project.as_deref()).await?;
    validated_update(&call, app, request.validate.unwrap_or(true)).await
}

pub(crate) async fn update_spec(
    call: Call,
    request: ApplicationUpdateSpecRequest,
) -> Result<ApplicationSpec, Status> {
    let namespace = request.app_namespace.as_deref();
    let mut app = find(&call, &request.name, namespace, request.project.as_deref()).await?;
    app.spec = request.spec;
    let updated = validated_update(&call, app, request.validate.unwrap_or(true)).await;
    let updated = updated.map_err(|it| doing("error validating and updating app", it))?;
    Ok(updated.spec)
}

pub(crate) async fn patch(
    call: Call,
    request: ApplicationPatchRequest,
) -> Result<Application, Status> {
    let namespace = request.app_namespace.as_deref();
    let app = find(&call, &request.name, namespace, request.project.as_deref()).await?;
    let patched = patched(&app, &request.patch, &request.patch_type)?;
    if patched.metadata.name != app.metadata.name {
        return Err(Status::invalid_argument("a patch cannot change the name of an application"));
    }
    validated_update(&call, patched, true).await
}

async fn validated_update(
    call: &Call,
    mut app: Application,
    render: bool,
) -> Result<Application, Status> {
    let stored = find(call, &app.metadata.name, Some(&app.metadata.namespace), None).await?;
    // An Application that moves to another project is a new one there.
    if stored.spec.project_name() != app.spec.project_name() {
        call.require(resource::APPLICATIONS, action::CREATE, &call.object_of(&app))?;
    }
    let project = crate::project::of(call, &app).await?;
    validate(call, &mut app, &project, render)
        .await
        .map_err(|status| doing("error validating and normalizing app", status))?;
    store_update(call, &app, Merge::Replace).await
}

fn patched(app: &Application, patch: &str, kind: &str) -> Result<Application, Status> {
    let mut value = json!(app);
    match kind {
        "json" | "" => {
            let patch: json_patch::Patch = serde_json::from_str(patch)
                .map_err(|error| Status::unknown(format!("error decoding json patch: {error}")))?;
            json_patch::patch(&mut value, &patch)
                .map_err(|error| Status::unknown(format!("error applying patch: {error}")))?;
        }
        "merge" => {
            let patch: Value = serde_json::from_str(patch).map_err(|error| {
                Status::unknown(format!("error calculating merge patch: {error}"))
            })?;
            json_patch::merge(&mut value, &patch);
        }
        other => {
            let message = format!("Patch type '{other}' is not supported");
            return Err(Status::invalid_argument(message));
        }
    }
    serde_json::from_value(value)
        .map_err(|error| Status::unknown(format!("error unmarshaling patched app: {error}")))
}

pub(crate) async fn delete(
    call: Call,
    request: ApplicationDeleteRequest,
) -> Result<ApplicationResponse, Status> {
    let namespace = request.app_namespace.as_deref();
    let app = find(&call, &request.name, namespace, request.project.as_deref()).await?;
    let policy = request.propagation_policy.as_deref().unwrap_or_default();
    let finalizers = finalizers_for(&app, request.cascade.unwrap_or(true), policy)?;
    let store = store_of(&call, &app);
    if finalizers != app.metadata.finalizers {
        let patch = json!({ "metadata": { "finalizers": finalizers } });
        let patched = store.merge::<Value>(&APPLICATIONS, &request.name, &patch).await;
        patched.map_err(|error| refused("error patching application with finalizers", &error))?;
    }
    let deleted = store.delete(&APPLICATIONS, &request.name).await;
    deleted.map_err(|error| refused("error deleting application", &error))?;
    note(&call, &app, Reason::ResourceDeleted, "deleted application").await;
    Ok(ApplicationResponse {})
}

/// The finalizers that make the deletion what was asked for.
fn finalizers_for(app: &Application, cascade: bool, policy: &str) -> Result<Vec<String>, Status> {
    let mut finalizers = app.metadata.finalizers.clone();
    let is_cascade = |it: &str| {
        it == names::FINALIZER_RESOURCES
            || it == names::FINALIZER_RESOURCES_BACKGROUND
            || it == names::FINALIZER_RESOURCES_FOREGROUND
    };
    if !cascade {
        if !policy.is_empty() {
            return Err(Status::invalid_argument(
                "cannot set propagation policy when cascading is disabled",
            ));
        }
        finalizers.retain(|it| !is_cascade(it));
        return Ok(finalizers);
    }
    let wanted = match policy {
        "" => names::FINALIZER_RESOURCES,
        "foreground" => names::FINALIZER_RESOURCES_FOREGROUND,
        "background" => names::FINALIZER_RESOURCES_BACKGROUND,
        other => {
            return Err(Status::invalid_argument(format!("invalid propagation policy: {other}")));
        }
    };
    // Kubernetes takes no new finalizer on what is being deleted already.
    if app.metadata.deletion_timestamp.is_none() && !finalizers.iter().any(|it| it == wanted) {
        finalizers.retain(|it| !is_cascade(it));
        finalizers.push(wanted.to_owned());
    }
    Ok(finalizers)
}

/// What becomes of labels and annotations that the new state does not have.
#[derive(Clone, Copy)]
enum Merge {
    IntoLabels,
    Replace,
}

/// Writes specification, labels, annotations and finalizers over what is stored, and nothing else.
async fn store_update(
    call: &Call,
    wanted: &Application,
    merge: Merge,
) -> Result<Application, Status> {
    let name = &wanted.metadata.name;
    for _ in 0..ATTEMPTS {
        let stored = find(call, name, Some(&wanted.metadata.namespace), None).await?;
        let replaced = |from: &Value, to: &Value| match merge {
            Merge::IntoLabels => to.clone(),
            Merge::Replace => replacing(from, to),
        };
        let (old, new) = (&stored.metadata, &wanted.metadata);
        let patch = json!({
            "metadata": {
                "resourceVersion": old.resource_version,
                "labels": replaced(&json!(old.labels), &json!(new.labels)),
                "annotations": replaced(&json!(old.annotations), &json!(new.annotations)),
                "finalizers": new.finalizers,
            },
            "spec": replacing(&json!(stored.spec), &json!(wanted.spec)),
        });
        match store_of(call, &stored).merge::<Application>(&APPLICATIONS, name, &patch).await {
            Ok(written) => {
                note(call, &written, Reason::ResourceUpdated, "updated application spec").await;
                call.server.apps.wrote(written.clone());
                return Ok(shown(&call.server, written));
            }
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(refused("error updating application", &error)),
        }
    }
    Err(Status::internal("Failed to update application. Too many conflicts"))
}

/// Refuses what cannot work, and writes down what was left unsaid.
async fn validate(
    call: &Call,
    app: &mut Application,
    project: &AppProject,
    render: bool,
) -> Result<(), Status> {
    if app.metadata.name.is_empty() {
        return Err(Status::unknown("resource name may not be empty"));
    }
    check_source_names(app)?;
    if app.spec.project.is_empty() {
        app.spec.project = names::DEFAULT_PROJECT.to_owned();
    }
    let name = &app.metadata.name;
    let destination = call.server.ports.control.destination(&app.spec.destination);
    let destination = destination.map_err(|why| {
        Status::invalid_argument(format!(
            "application destination spec for {name} is invalid: {why}"
        ))
    })?;
    let clusters =
        crate::project::clusters_of(&call.server.settings.current(), &project.metadata.name);
    let place = engine::project::Cluster { server: destination.server, name: destination.name };
    let objections = Gate::new(project, clusters).objections(&app.spec, &place);
    if !objections.is_empty() {
        let told = objections.iter().map(|it| format!("InvalidSpecError: {it}"));
        return Err(Status::invalid_argument(format!(
            "application spec for {name} is invalid: {}",
            told.collect::<Vec<_>>().join(";")
        )));
    }
    if render { check_sources(call, app).await } else { Ok(()) }
}

fn check_source_names(app: &Application) -> Result<(), Status> {
    let mut seen = std::collections::BTreeSet::new();
    let named = app.spec.sources.iter().map(|it| &it.name).filter(|it| !it.is_empty());
    match named.into_iter().find(|it| !seen.insert(*it)) {
        Some(name) => Err(Status::unknown(format!(
            "application {} has duplicate source name: {name}",
            app.metadata.name
        ))),
        None => Ok(()),
    }
}

/// Renders every source once: the best proof that it can be rendered.
async fn check_sources(call: &Call, app: &Application) -> Result<(), Status> {
    let invalid = |what: String| {
        let name = &app.metadata.name;
        Status::invalid_argument(format!(
            "application spec for {name} is invalid: InvalidSpecError: {what}"
        ))
    };
    if app.sources().is_empty() {
        return Err(invalid(REQUIRED.into()));
    }
    for source in app.sources().iter() {
        if source.repo_url.is_empty()
            || (source.path.is_empty() && source.chart.is_empty() && source.ref_.is_empty())
        {
            return Err(invalid(REQUIRED.into()));
        }
    }
    let requests = manifests::requests(call, app, |_, source| source.target_revision.clone());
    for request in requests.await? {
        let path = request.source.path.clone();
        if let Err(error) = call.server.ports.sources.render(request).await {
            return Err(invalid(if error.is_inaccessible {
                format!("repository not accessible: {error}")
            } else {
                format!("Unable to generate manifests in {path}: {error}")
            }));
        }
    }
    Ok(())
}

/// What a user may give at creation; operation and status are not theirs.
fn fresh(app: &Application, namespace: &str) -> Application {
    let mut fresh = Application::named(namespace, &app.metadata.name);
    fresh.metadata.labels.clone_from(&app.metadata.labels);
    fresh.metadata.annotations.clone_from(&app.metadata.annotations);
    fresh.metadata.finalizers.clone_from(&app.metadata.finalizers);
    fresh.metadata.owner_references.clone_from(&app.metadata.owner_references);
    fresh.spec = app.spec.clone();
    fresh
}

/// Says what we were doing before the message, keeping the code.
fn doing(what: &str, status: Status) -> Status {
    Status::new(status.code(), format!("{what}: {}", status.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_finalizers(
        there: &[&str],
        cascade: bool,
        policy: &str,
        expect: Result<&[&str], &str>,
    ) {
        let mut app = Application::named("argocd", "web");
        app.metadata.finalizers = there.iter().map(|it| (*it).to_owned()).collect();
        let found = finalizers_for(&app, cascade, policy);
        let found = found.as_ref().map(|it| it.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(found.map_err(|it| it.message()), expect.map(<[&str]>::to_vec));
    }

    const PLAIN: &str = names::FINALIZER_RESOURCES;
    const BACKGROUND: &str = names::FINALIZER_RESOURCES_BACKGROUND;

    #[test]
    fn a_cascade_is_a_finalizer_and_only_one_of_them() {
        check_finalizers(&["other"], true, "", Ok(&["other", PLAIN]));
        check_finalizers(&[PLAIN], true, "", Ok(&[PLAIN]));
        check_finalizers(&[PLAIN], true, "background", Ok(&[BACKGROUND]));
        check_finalizers(&["other", PLAIN], false, "", Ok(&["other"]));
    }

    #[test]
    fn a_policy_must_be_known_and_make_sense() {
        check_finalizers(&[], true, "orphan", Err("invalid propagation policy: orphan"));
        check_finalizers(
            &[],
            false,
            "foreground",
            Err("cannot set propagation policy when cascading is disabled"),
        );
    }

    #[test]
    fn both_kinds_of_patches_work() {
        let app = Application::named("argocd", "web");
        let merged = patched(&app, r#"{"spec":{"project":"a"}}"#, "merge").expect("a patch");
        let json = r#"[{"op":"replace","path":"/spec/project","value":"a"}]"#;
        assert_eq!(patched(&app, json, "").expect("a patch"), merged);
        let refused = patched(&app, "{}", "strategic").expect_err("no such type");
        assert_eq!(refused.message(), "Patch type 'strategic' is not supported");
    }
}
