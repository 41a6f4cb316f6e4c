//! What a repository holds: branches, tags, charts, paths, and what a source takes.
//!
//! To look costs a fetch and a render, and shows what is inside: besides the right to the
//! repository, who asks for an Application's sake needs rights to the Application, and the
//! repository must be one of its project's.

use api::{AppKey, AppProject, Application, ApplicationSource};
use engine::project::{Gate, ProjectClusters, repo_url};
use rbac::{action, resource};
use wire::Status;
use wire::message::repository::{
    AppInfo, DirectoryAppSpec, HelmAppSpec, HelmChart, HelmChartsResponse, KustomizeAppSpec,
    PluginAppSpec, Refs, RepoAppDetailsQuery, RepoAppDetailsResponse, RepoAppsQuery,
    RepoAppsResponse, RepoQuery,
};

use super::Purpose;
use crate::access::scoped;
use crate::credential;
use crate::failure::permission_denied;
use crate::methods::Call;
use crate::project;

pub(crate) async fn list_refs(call: Call, query: RepoQuery) -> Result<Refs, Status> {
    guard(&call, &query.repo, &query.app_project).await?;
    let refs = call.server.ports.sources.refs(&query.repo).await;
    let refs = refs.map_err(|error| Status::unknown(error.message))?;
    Ok(Refs { branches: refs.branches, tags: refs.tags })
}

pub(crate) async fn list_oci_tags(call: Call, query: RepoQuery) -> Result<Refs, Status> {
    guard(&call, &query.repo, &query.app_project).await?;
    let tags = call.server.ports.sources.oci_tags(&query.repo).await;
    let tags = tags.map_err(|error| Status::unknown(error.message))?;
    Ok(Refs { branches: Vec::new(), tags })
}

pub(crate) async fn helm_charts(
    call: Call,
    query: RepoQuery,
) -> Result<HelmChartsResponse, Status> {
    guard(&call, &query.repo, &query.app_project).await?;
    let charts = call.server.ports.sources.helm_charts(&query.repo).await;
    let charts = charts.map_err(|error| Status::unknown(error.message))?;
    let items = charts.into_iter().map(|(name, versions)| HelmChart { name, versions });
    Ok(HelmChartsResponse { items: items.collect() })
}

pub(crate) async fn list_apps(
    call: Call,
    query: RepoAppsQuery,
) -> Result<RepoAppsResponse, Status> {
    guard(&call, &query.repo, &query.app_project).await?;
    let app = format!("{}/{}", query.app_project, query.app_name);
    let may = |action| call.may(resource::APPLICATIONS, action, &app);
    if !may(action::CREATE) && !may(action::UPDATE) {
        return Err(permission_denied());
    }
    let project = permitted(&call, &query.repo, &query.app_project).await?;
    let apps = call.server.ports.sources.list_apps(&query.repo, &query.revision, &project).await;
    let apps = apps.map_err(|error| Status::unknown(error.message))?;
    let items = apps.into_iter().map(|(path, type_)| AppInfo { type_, path });
    Ok(RepoAppsResponse { items: items.collect() })
}

pub(crate) async fn app_details(
    call: Call,
    query: RepoAppDetailsQuery,
) -> Result<RepoAppDetailsResponse, Status> {
    let Some(source) = &query.source else {
        return Err(Status::invalid_argument("missing payload in request"));
    };
    guard(&call, &source.repo_url, &query.app_project).await?;
    guard_details(&call, &query, source)?;
    let project = permitted(&call, &source.repo_url, &query.app_project).await?;
    let details = call.server.ports.sources.details(source, &project).await;
    let details = details.map_err(|error| Status::unknown(error.message))?;
    let mut answer =
        RepoAppDetailsResponse { type_: details.source_type, ..RepoAppDetailsResponse::default() };
    match answer.type_.as_str() {
        "Helm" => {
            answer.helm = Some(HelmAppSpec {
                name: details.name,
                value_files: details.value_files,
                parameters: details.parameters,
                values: details.values,
                file_parameters: details.file_parameters,
            });
        }
        "Kustomize" => answer.kustomize = Some(KustomizeAppSpec { images: details.images }),
        "Directory" => answer.directory = Some(DirectoryAppSpec {}),
        "Plugin" => {
            let parameters_announcement = details.plugin_parameters;
            answer.plugin = Some(PluginAppSpec { parameters_announcement });
        }
        _ => {}
    }
    Ok(answer)
}

/// The right to the repository that is registered, whatever project the caller names: theirs
/// where it has one of its own at this address, else the one that is everybody's.
async fn guard(call: &Call, url: &str, project: &str) -> Result<(), Status> {
    let all = credential::all(&call.server.store, Purpose::Read.label()).await?;
    let same = |of: &str| {
        all.iter().find(|it| repo_url::is_same(it.text("url"), url) && it.text("project") == of)
    };
    let object = match same(project).or_else(|| same("")) {
        Some(found) => scoped(found.text("project"), found.text("url")),
        None => url.to_owned(),
    };
    call.require(resource::REPOSITORIES, action::GET, &object)
}

/// Details are for who may see the Application: of sources that it has or had, or, while it is
/// not there yet, of any for who may create it.
fn guard_details(
    call: &Call,
    query: &RepoAppDetailsQuery,
    source: &ApplicationSource,
) -> Result<(), Status> {
    let object = scoped(&query.app_project, &query.app_name);
    call.require(resource::APPLICATIONS, action::GET, &object)?;
    let (namespace, name) = match query.app_name.split_once('/') {
        Some((namespace, name)) => (namespace, name),
        None => (call.server.options.namespace.as_str(), query.app_name.as_str()),
    };
    let Some(app) = call.server.apps.get(&AppKey::new(namespace, name)) else {
        return call.require(resource::APPLICATIONS, action::CREATE, &object);
    };
    if query.app_project == app.spec.project_name() && has_or_had(&app, query, source) {
        return Ok(());
    }
    Err(permission_denied())
}

/// What was synced counts with the commit that it stood for.
fn has_or_had(app: &Application, query: &RepoAppDetailsQuery, source: &ApplicationSource) -> bool {
    if app.sources().contains(source) {
        return true;
    }
    let index = usize::try_from(query.source_index).unwrap_or(0);
    app.status.history.iter().any(|entry| {
        let (then, revision) = if entry.sources.is_empty() {
            (Some(&entry.source), Some(&entry.revision))
        } else if entry.id == i64::from(query.version_id) {
            // Sources come and go: only of one version is it known which one is meant.
            (entry.sources.get(index), entry.revisions.get(index))
        } else {
            return false;
        };
        let (Some(then), Some(revision)) = (then, revision) else { return false };
        *source == ApplicationSource { target_revision: revision.clone(), ..then.clone() }
    })
}

/// The project, if its Applications may use the repository.
async fn permitted(call: &Call, url: &str, name: &str) -> Result<AppProject, Status> {
    let project = project::effective(call, name).await?;
    let gate = Gate::new(&project, ProjectClusters::Known(Vec::new()));
    gate.permits_source(url).map_err(|_| {
        let message = format!("repository '{url}' not permitted in project '{name}'");
        Status::permission_denied(message)
    })?;
    Ok(project)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(source: &ApplicationSource, version_id: i32, expect: bool) {
        let app: Application = serde_json::from_value(json!({
            "spec": {"source": {"repoURL": "r", "path": "now", "targetRevision": "main"}},
            "status": {"history": [
                {"id": 1, "revision": "c1", "source": {"repoURL": "r", "path": "then", "targetRevision": "main"}},
                {"id": 2, "revisions": ["c2"], "sources": [{"repoURL": "r", "path": "many"}]},
            ]},
        }))
        .expect("an Application");
        let query = RepoAppDetailsQuery { version_id, ..RepoAppDetailsQuery::default() };
        assert_eq!(has_or_had(&app, &query, source), expect, "{source:?}");
    }

    #[test]
    fn details_are_of_sources_that_the_application_has_or_had() {
        let source = |path: &str, revision: &str| ApplicationSource {
            repo_url: "r".into(),
            path: path.into(),
            target_revision: revision.into(),
            ..ApplicationSource::default()
        };
        check(&source("now", "main"), 0, true);
        check(&source("now", "other"), 0, false);
        check(&source("then", "c1"), 0, true);
        check(&source("then", "main"), 0, false);
        check(&source("many", "c2"), 2, true);
        check(&source("many", "c2"), 1, false);
    }
}
