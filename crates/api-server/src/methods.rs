//! Everything the API server answers, in one table.

use std::sync::Arc;

use wire::{Body, Status, Table, delete, get, patch, post, put};

use crate::ApiServer;
use crate::caller::Caller;
use crate::{account, application, cluster_service, project, session, settings_service, version};

/// What a handler gets besides the message.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) server: Arc<ApiServer>,
    pub(crate) caller: Option<Caller>,
}

impl Call {
    /// The caller, where there must be one.
    pub(crate) fn user(&self) -> Result<&Caller, Status> {
        self.caller.as_ref().ok_or_else(|| Status::unauthenticated("no session information"))
    }
}

/// Methods that need no login.
pub(crate) fn is_open(path: &str) -> bool {
    matches!(
        path,
        "/version.VersionService/Version"
            | "/cluster.SettingsService/Get"
            | "/session.SessionService/Create"
            | "/session.SessionService/Delete"
            | "/session.SessionService/GetUserInfo"
    )
}

pub(crate) fn table() -> Table<Call> {
    let mut table = Table::default();
    table.unary("/version.VersionService/Version", [get("/api/version")], version::version);
    sessions(&mut table);
    applications(&mut table);
    projects(&mut table);
    clusters(&mut table);
    table
}

fn sessions(table: &mut Table<Call>) {
    let service = "/api/v1/session";
    table.unary("/session.SessionService/Create", [post(service)], session::create);
    table.unary("/session.SessionService/Delete", [delete(service)], session::delete);
    let path = "/session.SessionService/GetUserInfo";
    table.unary(path, [get("/api/v1/session/userinfo")], session::user_info);
    let path = "/account.AccountService/CanI";
    let rest = [get("/api/v1/account/can-i/{resource}/{action}/{subresource=**}")];
    table.unary(path, rest, account::can_i);
    let path = "/account.AccountService/UpdatePassword";
    table.unary(path, [put("/api/v1/account/password")], account::update_password);
    let path = "/account.AccountService/ListAccounts";
    table.unary(path, [get("/api/v1/account")], account::list);
    let path = "/account.AccountService/GetAccount";
    table.unary(path, [get("/api/v1/account/{name}")], account::get);
    let path = "/cluster.SettingsService/Get";
    table.unary(path, [get("/api/v1/settings")], settings_service::get);
    let path = "/cluster.SettingsService/GetPlugins";
    table.unary(path, [get("/api/v1/settings/plugins")], settings_service::plugins);
}

fn applications(table: &mut Table<Call>) {
    use application::{operation, read, watch, write};
    let path = "/application.ApplicationService/List";
    table.unary(path, [get("/api/v1/applications")], read::list);
    let path = "/application.ApplicationService/Get";
    table.unary(path, [get("/api/v1/applications/{name}")], read::get);
    let path = "/application.ApplicationService/Watch";
    table.stream(path, [get("/api/v1/stream/applications")], watch::watch);
    let path = "/application.ApplicationService/Create";
    let rest = [post("/api/v1/applications").body(Body::Field("application"))];
    table.unary(path, rest, write::create);
    let path = "/application.ApplicationService/Update";
    let rest =
        [put("/api/v1/applications/{application.metadata.name}").body(Body::Field("application"))];
    table.unary(path, rest, write::update);
    let path = "/application.ApplicationService/UpdateSpec";
    let rest = [put("/api/v1/applications/{name}/spec").body(Body::Field("spec"))];
    table.unary(path, rest, write::update_spec);
    let path = "/application.ApplicationService/Patch";
    table.unary(path, [patch("/api/v1/applications/{name}")], write::patch);
    let path = "/application.ApplicationService/Delete";
    table.unary(path, [delete("/api/v1/applications/{name}")], write::delete);
    let path = "/application.ApplicationService/Sync";
    table.unary(path, [post("/api/v1/applications/{name}/sync")], operation::sync);
    let path = "/application.ApplicationService/Rollback";
    table.unary(path, [post("/api/v1/applications/{name}/rollback")], operation::rollback);
    let path = "/application.ApplicationService/TerminateOperation";
    table.unary(path, [delete("/api/v1/applications/{name}/operation")], operation::terminate);
    let path = "/application.ApplicationService/ResourceTree";
    let rest = [get("/api/v1/applications/{applicationName}/resource-tree")];
    table.unary(path, rest, read::resource_tree);
    let path = "/application.ApplicationService/GetManifests";
    table.unary(path, [get("/api/v1/applications/{name}/manifests")], read::manifests);
}

fn projects(table: &mut Table<Call>) {
    let path = "/project.ProjectService/List";
    table.unary(path, [get("/api/v1/projects")], project::list);
    let path = "/project.ProjectService/Get";
    table.unary(path, [get("/api/v1/projects/{name}")], project::get);
    let path = "/project.ProjectService/GetDetailedProject";
    table.unary(path, [get("/api/v1/projects/{name}/detailed")], project::detailed);
    let path = "/project.ProjectService/GetGlobalProjects";
    table.unary(path, [get("/api/v1/projects/{name}/globalprojects")], project::global);
    let path = "/project.ProjectService/Create";
    table.unary(path, [post("/api/v1/projects")], project::create);
    let path = "/project.ProjectService/Update";
    table.unary(path, [put("/api/v1/projects/{project.metadata.name}")], project::update);
    let path = "/project.ProjectService/Delete";
    table.unary(path, [delete("/api/v1/projects/{name}")], project::delete);
}

fn clusters(table: &mut Table<Call>) {
    let path = "/cluster.ClusterService/List";
    table.unary(path, [get("/api/v1/clusters")], cluster_service::list);
    let path = "/cluster.ClusterService/Get";
    table.unary(path, [get("/api/v1/clusters/{id.value}")], cluster_service::get);
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[track_caller]
    fn check(verb: Method, path: &str, expect: Option<&str>) {
        assert_eq!(table().rest(&verb, path).map(|it| it.endpoint.path()), expect);
    }

    #[test]
    fn a_literal_path_wins_over_a_variable() {
        check(Method::GET, "/api/v1/applications/web", Some("/application.ApplicationService/Get"));
        check(Method::GET, "/api/v1/account/password", Some("/account.AccountService/GetAccount"));
        check(
            Method::PUT,
            "/api/v1/account/password",
            Some("/account.AccountService/UpdatePassword"),
        );
        check(
            Method::GET,
            "/api/v1/account/can-i/logs/get/a/b",
            Some("/account.AccountService/CanI"),
        );
        check(Method::DELETE, "/api/v1/clusters/x", None);
    }
}
