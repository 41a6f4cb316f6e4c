//! Everything the API server answers, in one table.

use std::sync::Arc;

use wire::{Body, Status, Table, delete, get, patch, post, put};

use crate::ApiServer;
use crate::caller::Caller;
use crate::{
    account, application, application_set, certificate, cluster_service, gpgkey, notification,
    project, repocreds, repository, session, settings_service, version,
};

/// What a handler gets besides the message.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) server: Arc<ApiServer>,
    pub(crate) caller: Option<Caller>,
    /// The gRPC path of the method: what it needs depends on it.
    pub(crate) method: &'static str,
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
    application_sets(&mut table);
    projects(&mut table);
    clusters(&mut table);
    repositories(&mut table);
    trust(&mut table);
    notifications(&mut table);
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
    let path = "/account.AccountService/CreateToken";
    table.unary(path, [post("/api/v1/account/{name}/token")], account::create_token);
    let path = "/account.AccountService/DeleteToken";
    table.unary(path, [delete("/api/v1/account/{name}/token/{id}")], account::delete_token);
    let path = "/cluster.SettingsService/Get";
    table.unary(path, [get("/api/v1/settings")], settings_service::get);
    let path = "/cluster.SettingsService/GetPlugins";
    table.unary(path, [get("/api/v1/settings/plugins")], settings_service::plugins);
}

fn applications(table: &mut Table<Call>) {
    use application::{
        action, event, live, logs, manifests, operation, read, server_side_diff, tree, watch, why,
        windows, write,
    };
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
    let path = "/application.ApplicationService/ManagedResources";
    let rest = [get("/api/v1/applications/{applicationName}/managed-resources")];
    table.unary(path, rest, tree::managed);
    let path = "/application.ApplicationService/ServerSideDiff";
    let rest = [get("/api/v1/applications/{appName}/server-side-diff")];
    table.unary(path, rest, server_side_diff::diff);
    let path = "/application.ApplicationService/ResourceTree";
    let rest = [get("/api/v1/applications/{applicationName}/resource-tree")];
    table.unary(path, rest, tree::resource_tree);
    let path = "/argosy.DecisionService/GetRecord";
    table.unary(path, [get("/api/v1/applications/{applicationName}/why")], why::get);
    let path = "/application.ApplicationService/WatchResourceTree";
    let rest = [get("/api/v1/stream/applications/{applicationName}/resource-tree")];
    table.stream(path, rest, tree::watch);
    let path = "/application.ApplicationService/GetManifests";
    table.unary(path, [get("/api/v1/applications/{name}/manifests")], manifests::get);
    let path = "/application.ApplicationService/GetManifestsWithFiles";
    let rest = [post("/api/v1/applications/manifestsWithFiles").body(Body::Pieces)];
    table.gathered(path, rest, manifests::with_files);
    let path = "/application.ApplicationService/RevisionMetadata";
    let rest = [get("/api/v1/applications/{name}/revisions/{revision}/metadata")];
    table.unary(path, rest, manifests::revision_metadata);
    let path = "/application.ApplicationService/RevisionChartDetails";
    let rest = [get("/api/v1/applications/{name}/revisions/{revision}/chartdetails")];
    table.unary(path, rest, manifests::chart_details);
    let path = "/application.ApplicationService/GetOCIMetadata";
    let rest = [get("/api/v1/applications/{name}/revisions/{revision}/ocimetadata")];
    table.unary(path, rest, manifests::oci_metadata);
    let path = "/application.ApplicationService/GetApplicationSyncWindows";
    table.unary(path, [get("/api/v1/applications/{name}/syncwindows")], windows::get);
    let path = "/application.ApplicationService/ListResourceEvents";
    table.unary(path, [get("/api/v1/applications/{name}/events")], event::list);
    let path = "/application.ApplicationService/ListLinks";
    table.unary(path, [get("/api/v1/applications/{name}/links")], read::links);
    let path = "/application.ApplicationService/PodLogs";
    let rest = [
        get("/api/v1/applications/{name}/pods/{podName}/logs"),
        get("/api/v1/applications/{name}/logs"),
    ];
    table.stream(path, rest, logs::pod_logs);
    let resource = "/api/v1/applications/{name}/resource";
    let path = "/application.ApplicationService/GetResource";
    table.unary(path, [get(resource)], live::get);
    let path = "/application.ApplicationService/PatchResource";
    table.unary(path, [post(resource).body(Body::Field("patch"))], live::patch);
    let path = "/application.ApplicationService/DeleteResource";
    table.unary(path, [delete(resource)], live::delete);
    let path = "/application.ApplicationService/ListResourceLinks";
    table.unary(path, [get("/api/v1/applications/{name}/resource/links")], live::links);
    let actions = "/api/v1/applications/{name}/resource/actions";
    let path = "/application.ApplicationService/ListResourceActions";
    table.unary(path, [get(actions)], action::list);
    let path = "/application.ApplicationService/RunResourceAction";
    table.unary(path, [post(actions).body(Body::Field("action"))], action::run_v1);
    let path = "/application.ApplicationService/RunResourceActionV2";
    table.unary(path, [post("/api/v1/applications/{name}/resource/actions/v2")], action::run);
}

fn application_sets(table: &mut Table<Call>) {
    let all = "/api/v1/applicationsets";
    let path = "/applicationset.ApplicationSetService/List";
    table.unary(path, [get(all)], application_set::list);
    let path = "/applicationset.ApplicationSetService/Get";
    table.unary(path, [get("/api/v1/applicationsets/{name}")], application_set::get);
    let path = "/applicationset.ApplicationSetService/Create";
    let rest = [post(all).body(Body::Field("applicationset"))];
    table.unary(path, rest, application_set::create);
    let path = "/applicationset.ApplicationSetService/Generate";
    table.unary(path, [post("/api/v1/applicationsets/generate")], application_set::generate);
    let path = "/applicationset.ApplicationSetService/Delete";
    table.unary(path, [delete("/api/v1/applicationsets/{name}")], application_set::delete);
    let path = "/applicationset.ApplicationSetService/ResourceTree";
    let rest = [get("/api/v1/applicationsets/{name}/resource-tree")];
    table.unary(path, rest, application_set::resource_tree);
    let path = "/applicationset.ApplicationSetService/ListResourceEvents";
    let rest = [get("/api/v1/applicationsets/{name}/events")];
    table.unary(path, rest, application_set::list_events);
    let path = "/applicationset.ApplicationSetService/Watch";
    table.stream(path, [get("/api/v1/stream/applicationsets")], application_set::watch);
}

fn projects(table: &mut Table<Call>) {
    use project::token;
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
    let path = "/project.ProjectService/ListEvents";
    table.unary(path, [get("/api/v1/projects/{name}/events")], project::list_events);
    let path = "/project.ProjectService/GetSyncWindowsState";
    table.unary(path, [get("/api/v1/projects/{name}/syncwindows")], project::sync_windows);
    let path = "/project.ProjectService/ListLinks";
    table.unary(path, [get("/api/v1/projects/{name}/links")], project::links);
    let path = "/project.ProjectService/CreateToken";
    let rest = [post("/api/v1/projects/{project}/roles/{role}/token")];
    table.unary(path, rest, token::create);
    let path = "/project.ProjectService/DeleteToken";
    let rest = [delete("/api/v1/projects/{project}/roles/{role}/token/{iat}")];
    table.unary(path, rest, token::delete);
}

fn clusters(table: &mut Table<Call>) {
    let (all, one) = ("/api/v1/clusters", "/api/v1/clusters/{id.value}");
    let path = "/cluster.ClusterService/List";
    table.unary(path, [get(all)], cluster_service::list);
    let path = "/cluster.ClusterService/Get";
    table.unary(path, [get(one)], cluster_service::get);
    let path = "/cluster.ClusterService/Create";
    table.unary(path, [post(all).body(Body::Field("cluster"))], cluster_service::create);
    let path = "/cluster.ClusterService/Update";
    table.unary(path, [put(one).body(Body::Field("cluster"))], cluster_service::update);
    let path = "/cluster.ClusterService/Delete";
    table.unary(path, [delete(one)], cluster_service::delete);
    let path = "/cluster.ClusterService/RotateAuth";
    let rest = [post("/api/v1/clusters/{id.value}/rotate-auth").body(Body::None)];
    table.unary(path, rest, cluster_service::rotate_auth);
    let path = "/cluster.ClusterService/InvalidateCache";
    let rest = [post("/api/v1/clusters/{id.value}/invalidate-cache").body(Body::None)];
    table.unary(path, rest, cluster_service::invalidate_cache);
}

fn repositories(table: &mut Table<Call>) {
    let (all, one) = ("/api/v1/repositories", "/api/v1/repositories/{repo}");
    let path = "/repository.RepositoryService/ListRepositories";
    table.unary(path, [get(all)], repository::list);
    table.unary("/repository.RepositoryService/List", [], repository::list);
    let path = "/repository.RepositoryService/Get";
    table.unary(path, [get(one)], repository::get);
    let create = [post(all).body(Body::Field("repo"))];
    let path = "/repository.RepositoryService/CreateRepository";
    table.unary(path, create, repository::create);
    table.unary("/repository.RepositoryService/Create", [], repository::create);
    let update = [put("/api/v1/repositories/{repo.repo}").body(Body::Field("repo"))];
    let path = "/repository.RepositoryService/UpdateRepository";
    table.unary(path, update, repository::update);
    table.unary("/repository.RepositoryService/Update", [], repository::update);
    let path = "/repository.RepositoryService/DeleteRepository";
    table.unary(path, [delete(one)], repository::delete);
    table.unary("/repository.RepositoryService/Delete", [], repository::delete);
    let path = "/repository.RepositoryService/ValidateAccess";
    let rest = [post("/api/v1/repositories/{repo}/validate").body(Body::Field("repo"))];
    table.unary(path, rest, repository::validate_access);
    let path = "/repository.RepositoryService/ListRefs";
    table.unary(path, [get("/api/v1/repositories/{repo}/refs")], repository::contents::list_refs);
    let path = "/repository.RepositoryService/ListOCITags";
    table.unary(
        path,
        [get("/api/v1/repositories/{repo}/oci-tags")],
        repository::contents::list_oci_tags,
    );
    let path = "/repository.RepositoryService/ListApps";
    table.unary(path, [get("/api/v1/repositories/{repo}/apps")], repository::contents::list_apps);
    let path = "/repository.RepositoryService/GetAppDetails";
    let rest = [post("/api/v1/repositories/{source.repoURL}/appdetails")];
    table.unary(path, rest, repository::contents::app_details);
    let path = "/repository.RepositoryService/GetHelmCharts";
    table.unary(
        path,
        [get("/api/v1/repositories/{repo}/helmcharts")],
        repository::contents::helm_charts,
    );
    write_repositories(table);
    repository_credentials(table);
}

fn write_repositories(table: &mut Table<Call>) {
    let (all, one) = ("/api/v1/write-repositories", "/api/v1/write-repositories/{repo}");
    let path = "/repository.RepositoryService/ListWriteRepositories";
    table.unary(path, [get(all)], repository::list_write);
    let path = "/repository.RepositoryService/GetWrite";
    table.unary(path, [get(one)], repository::get_write);
    let path = "/repository.RepositoryService/CreateWriteRepository";
    table.unary(path, [post(all).body(Body::Field("repo"))], repository::create_write);
    let path = "/repository.RepositoryService/UpdateWriteRepository";
    let rest = [put("/api/v1/write-repositories/{repo.repo}").body(Body::Field("repo"))];
    table.unary(path, rest, repository::update_write);
    let path = "/repository.RepositoryService/DeleteWriteRepository";
    table.unary(path, [delete(one)], repository::delete_write);
    let path = "/repository.RepositoryService/ValidateWriteAccess";
    let rest = [post("/api/v1/write-repositories/{repo}/validate").body(Body::Field("repo"))];
    table.unary(path, rest, repository::validate_access);
}

fn repository_credentials(table: &mut Table<Call>) {
    let path = "/repocreds.RepoCredsService/ListRepositoryCredentials";
    table.unary(path, [get("/api/v1/repocreds")], repocreds::list);
    let path = "/repocreds.RepoCredsService/CreateRepositoryCredentials";
    let rest = [post("/api/v1/repocreds").body(Body::Field("creds"))];
    table.unary(path, rest, repocreds::create);
    let path = "/repocreds.RepoCredsService/UpdateRepositoryCredentials";
    let rest = [put("/api/v1/repocreds/{creds.url}").body(Body::Field("creds"))];
    table.unary(path, rest, repocreds::update);
    let path = "/repocreds.RepoCredsService/DeleteRepositoryCredentials";
    table.unary(path, [delete("/api/v1/repocreds/{url}")], repocreds::delete);
    let path = "/repocreds.RepoCredsService/ListWriteRepositoryCredentials";
    table.unary(path, [get("/api/v1/write-repocreds")], repocreds::list_write);
    let path = "/repocreds.RepoCredsService/CreateWriteRepositoryCredentials";
    let rest = [post("/api/v1/write-repocreds").body(Body::Field("creds"))];
    table.unary(path, rest, repocreds::create_write);
    let path = "/repocreds.RepoCredsService/UpdateWriteRepositoryCredentials";
    let rest = [put("/api/v1/write-repocreds/{creds.url}").body(Body::Field("creds"))];
    table.unary(path, rest, repocreds::update_write);
    let path = "/repocreds.RepoCredsService/DeleteWriteRepositoryCredentials";
    table.unary(path, [delete("/api/v1/write-repocreds/{url}")], repocreds::delete_write);
}

fn trust(table: &mut Table<Call>) {
    let all = "/api/v1/certificates";
    let path = "/certificate.CertificateService/ListCertificates";
    table.unary(path, [get(all)], certificate::list);
    let path = "/certificate.CertificateService/CreateCertificate";
    let rest = [post(all).body(Body::Field("certificates"))];
    table.unary(path, rest, certificate::create);
    let path = "/certificate.CertificateService/DeleteCertificate";
    table.unary(path, [delete(all)], certificate::delete);
    let all = "/api/v1/gpgkeys";
    table.unary("/gpgkey.GPGKeyService/List", [get(all)], gpgkey::list);
    table.unary("/gpgkey.GPGKeyService/Get", [get("/api/v1/gpgkeys/{keyID}")], gpgkey::get);
    let rest = [post(all).body(Body::Field("publickey"))];
    table.unary("/gpgkey.GPGKeyService/Create", rest, gpgkey::create);
    table.unary("/gpgkey.GPGKeyService/Delete", [delete(all)], gpgkey::delete);
}

fn notifications(table: &mut Table<Call>) {
    let path = "/notification.NotificationService/ListTriggers";
    table.unary(path, [get("/api/v1/notifications/triggers")], notification::triggers);
    let path = "/notification.NotificationService/ListServices";
    table.unary(path, [get("/api/v1/notifications/services")], notification::services);
    let path = "/notification.NotificationService/ListTemplates";
    table.unary(path, [get("/api/v1/notifications/templates")], notification::templates);
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
        check(Method::PATCH, "/api/v1/clusters/x", None);
        check(
            Method::GET,
            "/api/v1/applications/web/resource/actions",
            Some("/application.ApplicationService/ListResourceActions"),
        );
    }
}
