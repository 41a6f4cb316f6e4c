//! Applications: `application.ApplicationService`.
//!
//! [`find`] is where every method begins. Reading is in `read`, changing in
//! `write`, syncs in `operation`, following in `watch`.

pub(crate) mod operation;
pub(crate) mod read;
pub(crate) mod selector;
pub(crate) mod watch;
pub(crate) mod write;

use api::Application;
use wire::Status;

use crate::failure::permission_denied;
use crate::methods::Call;
use crate::store::APPLICATIONS;

/// An Application as it is stored now.
///
/// Without a project in the request, what is absent and what is forbidden look
/// the same; with one, the caller was allowed to look there and is told.
pub(crate) async fn find(
    call: &Call,
    name: &str,
    namespace: Option<&str>,
    project: Option<&str>,
) -> Result<Application, Status> {
    check_namespace(call, namespace)?;
    let project = project.filter(|it| !it.is_empty());
    let absent = || match project {
        Some(_) => Status::not_found(format!("applications.argoproj.io \"{name}\" not found")),
        None => permission_denied(),
    };
    let found = call.server.store.get::<Application>(&APPLICATIONS, name).await;
    let found = found.map_err(|error| {
        tracing::warn!(error = %error.in_one_line(), name, "could not read an Application");
        permission_denied()
    })?;
    let app = found.ok_or_else(absent)?;
    match project {
        Some(project) if app.spec.project_name() != project => Err(absent()),
        _ => Ok(app),
    }
}

/// Only the namespace of the control plane, so far.
pub(crate) fn check_namespace(call: &Call, namespace: Option<&str>) -> Result<(), Status> {
    match namespace {
        Some(other) if !other.is_empty() && other != call.server.options.namespace => {
            Err(Status::permission_denied(format!("namespace '{other}' is not permitted")))
        }
        _ => Ok(()),
    }
}

/// An Application as the API tells it: without saying what it is, as Argo CD's answers.
pub(crate) fn shown(mut app: Application) -> Application {
    app.api_version.clear();
    app.kind.clear();
    app
}
