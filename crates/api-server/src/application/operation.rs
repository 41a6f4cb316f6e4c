//! Syncs: an operation is written into the Application, the controller does it.

use api::{
    Application, ApplicationSource, Operation, OperationInitiator, OperationPhase, SyncOperation,
    SyncStrategy, SyncStrategyApply,
};
use engine::windows::{Blocked, Target, Trigger, Windows};
use jiff::Timestamp;
use rbac::{action, resource};
use serde_json::json;
use wire::Status;
use wire::message::application::{
    ApplicationRollbackRequest, ApplicationSyncRequest, OperationTerminateRequest,
    OperationTerminateResponse,
};

use super::{find, shown, store_of};
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
    let is_elsewhere = request.revision.as_ref().is_some_and(|it| {
        !it.is_empty() && app.sources().iter().any(|source| source.target_revision != *it)
    });
    let settings = call.server.settings.current();
    if !request.manifests.is_empty() || (is_elsewhere && settings.policies.revision_needs_override)
    {
        call.require(resource::APPLICATIONS, action::OVERRIDE, &call.object_of(&app))?;
    }
    check_windows(&call, &app).await?;
    let policy = app.spec.sync_policy.clone().unwrap_or_default();
    let is_local = !request.manifests.is_empty();
    if is_local {
        check_may_sync_local(&app, request.dry_run.unwrap_or(false))?;
    }
    check_not_deleting(&app)?;
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
    let written = begin(&call, &app, &operation).await?;
    let partial = if is_partial { "partial " } else { "" };
    let what = if is_local {
        format!("initiated {partial}sync locally")
    } else {
        format!("initiated {partial}sync to {shown_revision}")
    };
    note(&call, &written, Reason::OperationStarted, &what).await;
    Ok(shown(&call.server, written))
}

pub(crate) async fn rollback(
    call: Call,
    request: ApplicationRollbackRequest,
) -> Result<Application, Status> {
    let namespace = request.app_namespace.as_deref();
    let app = find(&call, &request.name, namespace, request.project.as_deref()).await?;
    check_not_deleting(&app)?;
    let policy = app.spec.sync_policy.clone().unwrap_or_default();
    check_may_roll_back(&app)?;
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
    let written = begin(&call, &app, &operation).await?;
    note(&call, &written, Reason::OperationStarted, &format!("initiated rollback to {id}")).await;
    Ok(shown(&call.server, written))
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
        let store = store_of(&call, &app);
        match store.merge::<Application>(&APPLICATIONS, &request.name, &patch).await {
            Ok(written) => {
                let what = "terminated running operation";
                note(&call, &written, Reason::ResourceUpdated, what).await;
                call.server.apps.wrote(written);
                return Ok(OperationTerminateResponse {});
            }
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(refused("error updating application", &error)),
        }
    }
    Err(Status::internal("Failed to terminate app. Too many conflicts"))
}

/// Does the Application follow its source without being asked?
/// What an Application that syncs by itself would undo at once is not begun.
fn check_may_sync_local(app: &Application, dry_run: bool) -> Result<(), Status> {
    if syncs_by_itself(app) && !dry_run {
        return Err(Status::failed_precondition(
            "cannot use local sync when Automatic Sync Policy is enabled unless for dry run",
        ));
    }
    Ok(())
}

fn check_may_roll_back(app: &Application) -> Result<(), Status> {
    if syncs_by_itself(app) {
        return Err(Status::failed_precondition(
            "rollback cannot be initiated when auto-sync is enabled",
        ));
    }
    Ok(())
}

fn syncs_by_itself(app: &Application) -> bool {
    let policy = app.spec.sync_policy.as_ref();
    let automated = policy.and_then(|it| it.automated.as_ref());
    automated.is_some_and(|it| it.enabled.unwrap_or(true))
}

async fn check_windows(call: &Call, app: &Application) -> Result<(), Status> {
    let project = crate::project::of(call, app).await?;
    let windows = Windows::applying_to(&project.spec.sync_windows, &Target::from(app));
    windows.can_sync(Trigger::Manual, Timestamp::now()).map_err(|blocked| match blocked {
        Blocked::Unreadable(error) => {
            Status::permission_denied(format!("cannot sync: invalid sync window: {error}"))
        }
        Blocked::Denied(_) | Blocked::NotAllowedYet(_) => {
            Status::permission_denied("cannot sync: blocked by sync window")
        }
    })
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
async fn begin(
    call: &Call,
    about: &Application,
    operation: &Operation,
) -> Result<Application, Status> {
    let (name, namespace) = (&about.metadata.name, &about.metadata.namespace);
    for _ in 0..ATTEMPTS {
        let app = find(call, name, Some(namespace), None).await?;
        if app.operation.is_some() {
            return Err(Status::failed_precondition("another operation is already in progress"));
        }
        let patch = json!({
            "metadata": { "resourceVersion": app.metadata.resource_version },
            "operation": operation,
            "status": { "operationState": null },
        });
        match store_of(call, &app).merge::<Application>(&APPLICATIONS, name, &patch).await {
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
    let sources = app.sources();
    let is_source = |it: &i64| usize::try_from(*it).is_ok_and(|it| it > 0 && it <= sources.len());
    if !request.source_positions.iter().all(is_source) {
        return Err(Status::unknown("source position is out of range"));
    }
    for (index, source) in sources.iter().enumerate() {
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
        check_follows(app, source, &asked, request)?;
        if is_commit(&asked) {
            revisions.shown.push(asked.clone());
            revisions.commits.push(asked);
            continue;
        }
        let project = &app.spec.project;
        let commit = call.server.ports.sources.resolve(source, project, &asked).await;
        let commit = commit.map_err(|error| {
            Status::failed_precondition(format!("error resolving repo revision: {error}"))
        })?;
        let name = if asked.is_empty() { "HEAD" } else { &asked };
        revisions.shown.push(format!("{name} ({commit})"));
        revisions.commits.push(commit);
    }
    Ok(revisions)
}

/// What syncs by itself would go back at once to where its source says.
fn check_follows(
    app: &Application,
    source: &ApplicationSource,
    asked: &str,
    request: &ApplicationSyncRequest,
) -> Result<(), Status> {
    let named = |it: &str| if it.is_empty() { "HEAD".to_owned() } else { it.to_owned() };
    let target = &source.target_revision;
    if named(asked) == named(target) || !syncs_by_itself(app) || request.dry_run.unwrap_or(false) {
        return Ok(());
    }
    let of = if app.has_multiple_sources() {
        format!("source {} ", source.repo_url)
    } else {
        String::new()
    };
    Err(Status::failed_precondition(format!(
        "Cannot sync {of}to {asked}: auto-sync currently set to {target}"
    )))
}

fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|it| it.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use api::{SyncPolicy, SyncPolicyAutomated};

    use super::*;

    fn application(enabled: Option<bool>) -> Application {
        let mut app = Application::named("argocd", "web");
        let automated = Some(SyncPolicyAutomated { enabled, ..SyncPolicyAutomated::default() });
        app.spec.sync_policy = Some(SyncPolicy { automated, ..SyncPolicy::default() });
        app
    }

    #[test]
    fn an_application_that_syncs_by_itself_takes_no_local_manifests_and_is_not_rolled_back() {
        for enabled in [None, Some(true)] {
            let app = application(enabled);
            assert!(check_may_sync_local(&app, false).is_err());
            assert!(check_may_sync_local(&app, true).is_ok(), "a dry run changes nothing");
            assert!(check_may_roll_back(&app).is_err());
        }
        for app in [application(Some(false)), Application::named("argocd", "web")] {
            assert!(check_may_sync_local(&app, false).is_ok());
            assert!(check_may_roll_back(&app).is_ok());
        }
    }
}
