//! Projects: `project.ProjectService`.
//!
//! [`of`] is the project that an Application belongs to, with what it inherits.
//! Tokens of roles are in `token`.

pub(crate) mod token;

use std::collections::{BTreeMap, BTreeSet};

use ::settings::Settings;
use api::{AppProject, AppProjectList, AppProjectSpec, Application};
use engine::project::inherit::{GlobalProject, globals_of, inherit};
use engine::project::{Cluster, Gate, InvalidClass, ProjectClusters};
use engine::windows::is_open;
use jiff::Timestamp;
use rbac::{action, resource};
use serde_json::{Value, json};
use wire::Status;
use wire::message::application::LinksResponse;
use wire::message::events::EventList;
use wire::message::project::{
    DetailedProjectsResponse, EmptyResponse, GlobalProjectsResponse, ListProjectLinksRequest,
    ProjectCreateRequest, ProjectQuery, ProjectUpdateRequest, SyncWindowsQuery,
    SyncWindowsResponse,
};

use crate::audit::{Reason, note_project};
use crate::events::{self, About};
use crate::failure::{different, refused};
use crate::methods::Call;
use crate::store::{PROJECTS, Store};
use crate::{cluster_service, repository};

pub(crate) async fn list(call: Call, query: ProjectQuery) -> Result<AppProjectList, Status> {
    let projects = call.server.store.list::<AppProject>(&PROJECTS).await;
    let mut items = projects.map_err(|error| refused("could not list projects", &error))?;
    items.retain(|it| query.name.is_empty() || it.metadata.name == query.name);
    let items = call.visible(resource::PROJECTS, items, |it| it.metadata.name.clone());
    Ok(AppProjectList { items: items.into_iter().map(shown).collect(), ..Default::default() })
}

pub(crate) async fn get(call: Call, query: ProjectQuery) -> Result<AppProject, Status> {
    call.require(resource::PROJECTS, action::GET, &query.name)?;
    find(&call.server.store, &query.name).await
}

/// The project with what it inherits, and the repositories and clusters that are its own.
pub(crate) async fn detailed(
    call: Call,
    query: ProjectQuery,
) -> Result<DetailedProjectsResponse, Status> {
    call.require(resource::PROJECTS, action::GET, &query.name)?;
    let store = &call.server.store;
    let project = find(store, &query.name).await?;
    let globals = globals(&call, &project).await?;
    let mut repositories = repository::known(store).await?;
    repositories.retain(|it| it.project == query.name);
    let mut clusters = cluster_service::known(store).await?;
    clusters.retain(|it| it.project == query.name);
    for cluster in &mut clusters {
        cluster.config = cluster_service::sanitized(std::mem::take(&mut cluster.config));
    }
    Ok(DetailedProjectsResponse {
        project: Some(virtual_project(&call, project).await?),
        global_projects: globals,
        repositories: repositories.into_iter().map(repository::shown).collect(),
        clusters,
    })
}

pub(crate) async fn global(
    call: Call,
    query: ProjectQuery,
) -> Result<GlobalProjectsResponse, Status> {
    call.require(resource::PROJECTS, action::GET, &query.name)?;
    let project = find(&call.server.store, &query.name).await?;
    Ok(GlobalProjectsResponse { items: globals(&call, &project).await? })
}

pub(crate) async fn create(
    call: Call,
    request: ProjectCreateRequest,
) -> Result<AppProject, Status> {
    let project = payload(request.project)?;
    call.require(resource::PROJECTS, action::CREATE, &project.metadata.name)?;
    checked(&project).map_err(|status| {
        Status::new(status.code(), format!("error validating project: {}", status.message()))
    })?;
    let store = &call.server.store;
    let created = match store.create(&PROJECTS, &fresh(&project, store.namespace())).await {
        Ok(created) => created,
        Err(error) if error.is_conflict() => {
            let existing = find(store, &project.metadata.name).await?;
            if existing.spec == project.spec {
                return Ok(existing);
            }
            if !request.upsert {
                return Err(different("project", &json!(existing.spec), &json!(project.spec)));
            }
            call.require(resource::PROJECTS, action::UPDATE, &project.metadata.name)?;
            replace(store, &existing, &project).await?
        }
        Err(error) => return Err(refused("could not create the project", &error)),
    };
    note_project(&call, &created, Reason::ResourceCreated, "created project").await;
    Ok(shown(created))
}

pub(crate) async fn update(
    call: Call,
    request: ProjectUpdateRequest,
) -> Result<AppProject, Status> {
    let mut project = payload(request.project)?;
    call.require(resource::PROJECTS, action::UPDATE, &project.metadata.name)?;
    checked(&project)?;
    let existing = find(&call.server.store, &project.metadata.name).await?;
    token::keep(&existing, &mut project);
    check_reach(&call, &existing.spec, &project.spec)?;
    check_users(&call, &existing, &project)?;
    let written = replace(&call.server.store, &existing, &project).await?;
    note_project(&call, &written, Reason::ResourceUpdated, "updated project").await;
    Ok(shown(written))
}

pub(crate) async fn delete(call: Call, query: ProjectQuery) -> Result<EmptyResponse, Status> {
    call.require(resource::PROJECTS, action::DELETE, &query.name)?;
    if query.name == api::names::DEFAULT_PROJECT {
        return Err(Status::invalid_argument(format!(
            "name '{}' is reserved and cannot be deleted",
            query.name
        )));
    }
    let project = find(&call.server.store, &query.name).await?;
    let users = call.server.apps.all();
    let users = users.iter().filter(|app| app.spec.project_name() == query.name).count();
    if users > 0 {
        return Err(Status::invalid_argument(format!(
            "project is referenced by {users} applications"
        )));
    }
    let deleted = call.server.store.delete(&PROJECTS, &query.name).await;
    deleted.map_err(|error| refused("could not delete the project", &error))?;
    note_project(&call, &project, Reason::ResourceDeleted, "deleted project").await;
    Ok(EmptyResponse {})
}

pub(crate) async fn list_events(call: Call, query: ProjectQuery) -> Result<EventList, Status> {
    call.require(resource::PROJECTS, action::GET, &query.name)?;
    let project = find(&call.server.store, &query.name).await?;
    let metadata = &project.metadata;
    let about = About { namespace: &metadata.namespace, name: &metadata.name, uid: &metadata.uid };
    events::list(call.server.store.client(), &about).await
}

/// The windows that are open now.
pub(crate) async fn sync_windows(
    call: Call,
    query: SyncWindowsQuery,
) -> Result<SyncWindowsResponse, Status> {
    call.require(resource::PROJECTS, action::GET, &query.name)?;
    let project = find(&call.server.store, &query.name).await?;
    let now = Timestamp::now();
    let mut windows = Vec::new();
    for window in project.spec.sync_windows {
        if is_open(&window, now, now).map_err(|error| Status::unknown(error.to_string()))? {
            windows.push(window);
        }
    }
    Ok(SyncWindowsResponse { windows })
}

/// The links beside a project.
pub(crate) async fn links(
    call: Call,
    request: ListProjectLinksRequest,
) -> Result<LinksResponse, Status> {
    call.require(resource::PROJECTS, action::GET, &request.name)?;
    let project = find(&call.server.store, &request.name).await?;
    let links = &call.server.settings.current().ui.project_links;
    Ok(crate::links::About::default().project(&project).links(links))
}

/// The project of an Application, with what it inherits, if the Application may use it.
///
/// # Errors
/// One and the same, whether there is no such project or the Application may not use it.
pub(crate) async fn of(call: &Call, app: &Application) -> Result<AppProject, Status> {
    let name = app.spec.project_name();
    let vague = || {
        Status::invalid_argument(format!(
            "app is not allowed in project {name:?}, or the project does not exist"
        ))
    };
    let project = find(&call.server.store, name).await.map_err(|_| vague())?;
    let gate = Gate::new(&project, ProjectClusters::Known(Vec::new()));
    let (namespace, own) = (&app.metadata.namespace, &call.server.options.namespace);
    let permitted = gate.permits_application_namespace(&app.metadata.name, namespace, own);
    permitted.map_err(|_| vague())?;
    virtual_project(call, project).await
}

/// A project by its name, with what it inherits.
///
/// # Errors
/// `NotFound` in the words of the API server.
pub(crate) async fn effective(call: &Call, name: &str) -> Result<AppProject, Status> {
    let project = find(&call.server.store, name).await?;
    virtual_project(call, project).await
}

/// The clusters that are registered for a project.
pub(crate) fn clusters_of(settings: &Settings, project: &str) -> ProjectClusters {
    let own = settings.clusters.iter().filter(|it| it.project == project);
    let own = own.map(|it| Cluster { server: it.server.clone(), name: it.shown_name().to_owned() });
    ProjectClusters::Known(own.collect())
}

/// A project with the rules of its global projects.
async fn virtual_project(call: &Call, project: AppProject) -> Result<AppProject, Status> {
    let settings = global_settings(&call.server.settings.current());
    if settings.is_empty() {
        return Ok(project);
    }
    Ok(inherit(&project, &settings, &all_by_name(&call.server.store).await?))
}

async fn globals(call: &Call, project: &AppProject) -> Result<Vec<AppProject>, Status> {
    let settings = global_settings(&call.server.settings.current());
    if settings.is_empty() {
        return Ok(Vec::new());
    }
    let all = all_by_name(&call.server.store).await?;
    Ok(globals_of(project, &settings).filter_map(|name| all.get(name).cloned()).collect())
}

async fn all_by_name(store: &Store) -> Result<BTreeMap<String, AppProject>, Status> {
    let all = store.list::<AppProject>(&PROJECTS).await;
    let all = all.map_err(|error| refused("could not list projects", &error))?;
    Ok(all.into_iter().map(|it| (it.metadata.name.clone(), shown(it))).collect())
}

/// The setting `globalProjects`, as the rules of inheritance take it.
fn global_settings(settings: &Settings) -> Vec<GlobalProject> {
    let entries = settings.global_projects.iter().map(|it| GlobalProject {
        project_name: it.project_name.clone(),
        label_selector: it.label_selector.clone(),
    });
    entries.collect()
}

/// A project by its name.
///
/// # Errors
/// `NotFound` in the words of the API server.
pub(crate) async fn find(store: &Store, name: &str) -> Result<AppProject, Status> {
    let found = store.get(&PROJECTS, name).await;
    let found = found.map_err(|error| refused("could not read the project", &error))?;
    found
        .map(shown)
        .ok_or_else(|| Status::not_found(format!("appprojects.argoproj.io \"{name}\" not found")))
}

fn payload(project: Option<AppProject>) -> Result<AppProject, Status> {
    project.ok_or_else(|| Status::invalid_argument("missing payload 'project' in request"))
}

/// Answers do not say what they are; nor did Argo CD's.
fn shown(mut project: AppProject) -> AppProject {
    project.api_version.clear();
    project.kind.clear();
    project
}

fn fresh(project: &AppProject, namespace: &str) -> AppProject {
    let mut fresh = AppProject::named(namespace, &project.metadata.name);
    fresh.metadata.labels.clone_from(&project.metadata.labels);
    fresh.metadata.annotations.clone_from(&project.metadata.annotations);
    fresh.metadata.finalizers.clone_from(&project.metadata.finalizers);
    fresh.spec = project.spec.clone();
    fresh
}

/// Refuses what no project can be, before anything is stored.
pub(crate) fn checked(project: &AppProject) -> Result<(), Status> {
    engine::project::validate(project).map_err(|invalid| {
        let message = invalid.to_string();
        match invalid.class() {
            InvalidClass::InvalidArgument => Status::invalid_argument(message),
            InvalidClass::AlreadyExists => Status::already_exists(message),
            InvalidClass::OutOfRange => Status::out_of_range(message),
            InvalidClass::Unknown => Status::unknown(message),
        }
    })
}

/// Who opens or closes a project to a cluster or a repository must be allowed to change that one,
/// too; so must who changes what may be written to its clusters.
fn check_reach(call: &Call, before: &AppProjectSpec, after: &AppProjectSpec) -> Result<(), Status> {
    let (clusters, repositories) = touched(before, after);
    for cluster in clusters {
        call.require(resource::CLUSTERS, action::UPDATE, cluster)?;
    }
    for repository in repositories {
        call.require(resource::REPOSITORIES, action::UPDATE, repository)?;
    }
    Ok(())
}

/// The clusters and the repositories that a change of a project is about.
fn touched<'a>(
    before: &'a AppProjectSpec,
    after: &'a AppProjectSpec,
) -> (BTreeSet<&'a str>, BTreeSet<&'a str>) {
    let clusters = |spec: &'a AppProjectSpec| -> BTreeSet<&'a str> {
        spec.destinations.iter().map(|it| it.server.as_str()).collect()
    };
    let repositories = |spec: &'a AppProjectSpec| -> BTreeSet<&'a str> {
        spec.source_repos.iter().map(String::as_str).collect()
    };
    let mut touched = &clusters(before) ^ &clusters(after);
    if before.cluster_resource_whitelist != after.cluster_resource_whitelist
        || before.cluster_resource_blacklist != after.cluster_resource_blacklist
        || before.namespace_resource_blacklist != after.namespace_resource_blacklist
        || before.namespace_resource_whitelist != after.namespace_resource_whitelist
    {
        touched.extend(clusters(after));
    }
    (touched, &repositories(before) ^ &repositories(after))
}

/// A change of a project must not leave its Applications without a permission they have.
fn check_users(call: &Call, before: &AppProject, after: &AppProject) -> Result<(), Status> {
    let name = &after.metadata.name;
    let gate = |project| Gate::new(project, ProjectClusters::Known(Vec::new()));
    let (before, after) = (gate(before), gate(after));
    let (mut sources, mut destinations) = (0, 0);
    for app in call.server.apps.all() {
        if app.spec.project_name() != name {
            continue;
        }
        let permits_sources = |gate: &Gate| {
            app.sources().iter().all(|source| gate.permits_source(&source.repo_url).is_ok())
        };
        sources += usize::from(permits_sources(&before) && !permits_sources(&after));
        let Ok(place) = call.server.ports.control.destination(&app.spec.destination) else {
            continue;
        };
        let place = Cluster { server: place.server, name: place.name };
        let namespace = &app.spec.destination.namespace;
        let permits = |gate: &Gate| gate.permits_destination(&place, namespace).is_ok();
        destinations += usize::from(permits(&before) && !permits(&after));
    }
    let mut parts = Vec::new();
    if sources > 0 {
        parts.push(format!("{sources} applications source became invalid"));
    }
    if destinations > 0 {
        parts.push(format!("{destinations} applications destination became invalid"));
    }
    if parts.is_empty() {
        return Ok(());
    }
    let parts = parts.join(" and ");
    Err(Status::invalid_argument(format!("as a result of project update {parts}")))
}

/// Writes the new specification over the one we read, unless somebody was faster.
async fn replace(
    store: &Store,
    existing: &AppProject,
    wanted: &AppProject,
) -> Result<AppProject, Status> {
    let version = Some(&wanted.metadata.resource_version).filter(|it| !it.is_empty());
    let version = version.unwrap_or(&existing.metadata.resource_version);
    let patch = json!({
        "metadata": {
            "resourceVersion": version,
            "labels": replacing(&json!(existing.metadata.labels), &json!(wanted.metadata.labels)),
            "annotations":
                replacing(&json!(existing.metadata.annotations), &json!(wanted.metadata.annotations)),
        },
        "spec": replacing(&json!(existing.spec), &json!(wanted.spec)),
    });
    let written = store.merge(&PROJECTS, &wanted.metadata.name, &patch).await;
    written.map_err(|error| refused("could not update the project", &error))
}

/// A merge patch that makes one tree of the other: what is gone is removed.
pub(crate) fn replacing(from: &Value, to: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (from, to) else { return to.clone() };
    let mut patch = serde_json::Map::new();
    for (key, value) in new {
        match old.get(key) {
            Some(before) if before == value => {}
            Some(before) => drop(patch.insert(key.clone(), replacing(before, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(value: Value) -> AppProjectSpec {
        serde_json::from_value(value).expect("a specification")
    }

    #[track_caller]
    fn check_touched(before: Value, after: Value, clusters: &[&str], repositories: &[&str]) {
        let (before, after) = (spec(before), spec(after));
        let (found_clusters, found_repositories) = touched(&before, &after);
        assert_eq!(found_clusters.into_iter().collect::<Vec<_>>(), clusters);
        assert_eq!(found_repositories.into_iter().collect::<Vec<_>>(), repositories);
    }

    #[test]
    fn a_change_touches_what_comes_and_what_goes() {
        let to = |servers: &[&str]| -> Value {
            servers.iter().map(|it| json!({"server": it, "namespace": "x"})).collect()
        };
        check_touched(
            json!({"destinations": to(&["a", "b"]), "sourceRepos": ["r", "s"]}),
            json!({"destinations": to(&["b", "c", "c"]), "sourceRepos": ["s", "t"]}),
            &["a", "c"],
            &["r", "t"],
        );
        check_touched(
            json!({"destinations": to(&["a"])}),
            json!({"destinations": to(&["a"]), "description": "other"}),
            &[],
            &[],
        );
    }

    #[test]
    fn other_kinds_touch_every_cluster() {
        for list in [
            "clusterResourceWhitelist",
            "clusterResourceBlacklist",
            "namespaceResourceWhitelist",
            "namespaceResourceBlacklist",
        ] {
            let destinations = json!([{"server": "a", "namespace": "x"}]);
            check_touched(
                json!({"destinations": destinations}),
                json!({"destinations": destinations, list: [{"group": "*", "kind": "*"}]}),
                &["a"],
                &[],
            );
        }
    }

    #[track_caller]
    fn check(from: Value, to: Value, expect: Value) {
        assert_eq!(replacing(&from, &to), expect);
    }

    #[test]
    fn a_replacement_says_only_what_differs() {
        check(
            json!({"a": 1, "b": {"c": 1, "d": 2}}),
            json!({"a": 1, "b": {"c": 3}, "e": []}),
            json!({"b": {"c": 3, "d": null}, "e": []}),
        );
        check(json!({"a": [1, 2]}), json!({"a": [2]}), json!({"a": [2]}));
        check(json!({"a": 1}), json!({"a": 1}), json!({}));
    }
}
