//! Syncs: an operation is written into the Application, the controller does it.

use api::{
    Application, Operation, OperationInitiator, OperationPhase, SyncOperation, SyncStrategy,
    SyncStrategyApply,
};
use serde_json::json;
use wire::Status;
use wire::message::application::{
    ApplicationRollbackRequest, ApplicationSyncRequest, OperationTerminateRequest,
    OperationTerminateResponse,
};

use super::{find, shown};
use crate::audit::{Reason, note};
use crate::failure::refused;
use crate::methods::Call;
use crate::store::APPLICATIONS;

const ATTEMPTS: usize = 10;

pub(crate) async fn sync(
    call: Call,
    request: ApplicationSyncRequest,
) -> Result<Application, Status> {
    let namespace = request.app_namespace.as_deref();
    let app = find(&call, &request.name, namespace, request.project.as_deref()).await?;
    check_not_deleting(&app)?;
    let policy = app.spec.sync_policy.clone().unwrap_or_default();
    let revisions = revisions(&call, &app, &request).await?;
    let is_partial = !request.resources.is_empty();
    let mut sync = SyncOperation {
        prune: request.prune.unwrap_or(false),
        dry_run: request.dry_run.unwrap_or(false),
        sync_strategy: request.strategy,
        resources: request.resources,
        manifests: request.manifests,
        sync_options: request.sync_options.map_or(policy.sync_options, |it| it.items),
        ..SyncOperation::default()
    };
    let shown_revision = revisions.shown.join(",");
    if app.has_multiple_sources() {
        sync.sources.clone_from(&app.spec.sources);
        sync.revisions = revisions.commits;
    } else {
        sync.source = app.sources().first().cloned();
        sync.revision = revisions.commits.into_iter().next().unwrap_or_default();
    }
    let operation = Operation {
        sync: Some(sync),
        initiated_by: initiator(&call)?,
        info: request.infos,
        retry: request.retry_strategy.or(policy.retry).unwrap_or_default(),
    };
    let written = begin(&call, &request.name, &operation).await?;
    let partial = if is_partial { "partial " } else { "" };
    let what = format!("initiated {partial}sync to {shown_revision}");
    note(&call, &written, Reason::OperationStarted, &what).await;
    Ok(shown(written))
}

pub(crate) async fn rollback(
    call: Call,
    request: ApplicationRollbackRequest,
) -> Result<Application, Status> {
    let namespace = request.app_namespace.as_deref();
    let app = find(&call, &request.name, namespace, request.project.as_deref()).await?;
    check_not_deleting(&app)?;
    let policy = app.spec.sync_policy.clone().unwrap_or_default();
    if policy.automated.as_ref().is_some_and(|it| it.enabled.unwrap_or(true)) {
        return Err(Status::failed_precondition(
            "rollback cannot be initiated when auto-sync is enabled",
        ));
    }
    let id = request.id;
    let Some(earlier) = app.status.history.iter().find(|it| it.id == id).cloned() else {
        let name = &app.metadata.name;
        return Err(Status::invalid_argument(format!(
            "application {name} does not have deployment with id {id}"
        )));
    };
    let apply = SyncStrategy { apply: Some(SyncStrategyApply::default()), hook: None };
    let operation = Operation {
        sync: Some(SyncOperation {
            revision: earlier.revision,
            revisions: earlier.revisions,
            dry_run: request.dry_run.unwrap_or(false),
            prune: request.prune.unwrap_or(false),
            sync_options: policy.sync_options,
            sync_strategy: Some(apply),
            source: Some(earlier.source),
            sources: earlier.sources,
            ..SyncOperation::default()
        }),
        initiated_by: initiator(&call)?,
        ..Operation::default()
    };
    let written = begin(&call, &request.name, &operation).await?;
    note(&call, &written, Reason::OperationStarted, &format!("initiated rollback to {id}")).await;
    Ok(shown(written))
}

pub(crate) async fn terminate(
    call: Call,
    request: OperationTerminateRequest,
) -> Result<OperationTerminateResponse, Status> {
    let namespace = request.app_namespace.as_deref();
    for _ in 0..ATTEMPTS {
        let app = find(&call, &request.name, namespace, request.project.as_deref()).await?;
        if app.operation.is_none() || app.status.operation_state.is_none() {
            return Err(Status::invalid_argument(
                "Unable to terminate operation. No operation is in progress",
            ));
        }
        let patch = json!({
            "metadata": { "resourceVersion": app.metadata.resource_version },
            "status": { "operationState": { "phase": OperationPhase::Terminating.as_str() } },
        });
        match call.server.store.merge::<Application>(&APPLICATIONS, &request.name, &patch).await {
            Ok(written) => {
                let what = "terminated running operation";
                note(&call, &written, Reason::ResourceUpdated, what).await;
                call.server.apps.see(written);
                return Ok(OperationTerminateResponse {});
            }
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(refused("error updating application", &error)),
        }
    }
    Err(Status::internal("Failed to terminate app. Too many conflicts"))
}

fn check_not_deleting(app: &Application) -> Result<(), Status> {
    match app.metadata.deletion_timestamp {
        Some(_) => Err(Status::failed_precondition("application is deleting")),
        None => Ok(()),
    }
}

fn initiator(call: &Call) -> Result<OperationInitiator, Status> {
    Ok(OperationInitiator { username: call.user()?.name.clone(), automated: false })
}

/// Writes the operation, unless one is under way. The finished record goes, so
/// that a client that waits does not take the last operation for this one.
async fn begin(call: &Call, name: &str, operation: &Operation) -> Result<Application, Status> {
    for _ in 0..ATTEMPTS {
        let app = find(call, name, None, None).await?;
        if app.operation.is_some() {
            return Err(Status::failed_precondition("another operation is already in progress"));
        }
        let patch = json!({
            "metadata": { "resourceVersion": app.metadata.resource_version },
            "operation": operation,
            "status": { "operationState": null },
        });
        match call.server.store.merge::<Application>(&APPLICATIONS, name, &patch).await {
            Ok(written) => {
                call.server.apps.see(written.clone());
                return Ok(written);
            }
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(refused("error setting app operation", &error)),
        }
    }
    Err(Status::internal("Failed to set the operation. Too many conflicts"))
}

struct Revisions {
    commits: Vec<String>,
    /// As the user knows them: `main (abc…)`, or the commit.
    shown: Vec<String>,
}

async fn revisions(
    call: &Call,
    app: &Application,
    request: &ApplicationSyncRequest,
) -> Result<Revisions, Status> {
    let mut revisions = Revisions { commits: Vec::new(), shown: Vec::new() };
    if !request.manifests.is_empty() {
        return Ok(revisions);
    }
    for (index, source) in app.sources().iter().enumerate() {
        let position = request
            .source_positions
            .iter()
            .position(|it| usize::try_from(*it).is_ok_and(|it| it == index + 1));
        let asked = match position {
            Some(position) => request.revisions.get(position).cloned(),
            None if app.has_multiple_sources() => None,
            None => request.revision.clone(),
        };
        let asked =
            asked.filter(|it| !it.is_empty()).unwrap_or_else(|| source.target_revision.clone());
        if is_commit(&asked) {
            revisions.shown.push(asked.clone());
            revisions.commits.push(asked);
            continue;
        }
        let commit = call.server.ports.sources.resolve(source, &asked).await;
        let commit = commit
            .map_err(|error| Status::unknown(format!("error resolving repo revision: {error}")))?;
        let name = if asked.is_empty() { "HEAD" } else { &asked };
        revisions.shown.push(format!("{name} ({commit})"));
        revisions.commits.push(commit);
    }
    Ok(revisions)
}

fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|it| it.is_ascii_hexdigit())
}
