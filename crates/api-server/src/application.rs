//! Applications: `application.ApplicationService`.
//!
//! [`find`] is where every method begins. Reading is in `read`, changing in
//! `write`, syncs in `operation`, following in `watch`; `tree`, `live`, `action`,
//! `logs` and `event` are about the objects of an Application.

pub(crate) mod action;
pub(crate) mod event;
pub(crate) mod live;
pub(crate) mod logs;
pub(crate) mod manifests;
pub(crate) mod operation;
mod page;
pub(crate) mod read;
pub(crate) mod selector;
pub(crate) mod server_side_diff;
pub(crate) mod tree;
mod upload;
pub(crate) mod watch;
pub(crate) mod why;
pub(crate) mod windows;
pub(crate) mod write;

use api::Application;
use wire::Status;

use crate::failure::permission_denied;
use crate::methods::Call;
use crate::store::{APPLICATIONS, Store};
use crate::{ApiServer, apps};

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
    let namespace = checked_namespace(call, namespace)?;
    let project = project.filter(|it| !it.is_empty());
    let absent = || match project {
        Some(_) => Status::not_found(format!("applications.argoproj.io \"{name}\" not found")),
        None => permission_denied(),
    };
    let found = call.server.store.at(&namespace).get::<Application>(&APPLICATIONS, name).await;
    let found = found.map_err(|error| {
        tracing::warn!(error = %error.in_one_line(), name, "could not read an Application");
        permission_denied()
    })?;
    let app = found.ok_or_else(absent)?;
    match project {
        Some(project) if app.spec.project_name() != project => Err(absent()),
        _ => call.guard(&app).map(|()| app),
    }
}

/// The namespace asked for, if it may hold Applications; ours when none is named.
pub(crate) fn checked_namespace(call: &Call, namespace: Option<&str>) -> Result<String, Status> {
    let options = &call.server.options;
    match namespace.filter(|it| !it.is_empty()) {
        None => Ok(options.namespace.clone()),
        Some(other) if options.holds(other) => Ok(other.to_owned()),
        Some(other) => {
            Err(Status::permission_denied(format!("namespace '{other}' is not permitted")))
        }
    }
}

/// Where an Application is stored.
pub(crate) fn store_of(call: &Call, app: &Application) -> Store {
    call.server.store.at(&app.metadata.namespace)
}

/// An Application as the API tells it; see [`apps::shown`].
pub(crate) fn shown(server: &ApiServer, app: Application) -> Application {
    let healths = server.ports.control.healths(&app.key());
    apps::shown(app, &healths)
}
