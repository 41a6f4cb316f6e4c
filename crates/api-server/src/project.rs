//! Projects: `project.ProjectService`.

use api::{AppProject, AppProjectList};
use serde_json::{Value, json};
use wire::Status;
use wire::message::project::{
    DetailedProjectsResponse, EmptyResponse, GlobalProjectsResponse, ProjectCreateRequest,
    ProjectQuery, ProjectUpdateRequest,
};

use crate::failure::refused;
use crate::methods::Call;
use crate::store::{PROJECTS, Store};

pub(crate) async fn list(call: Call, query: ProjectQuery) -> Result<AppProjectList, Status> {
    let projects = call.server.store.list::<AppProject>(&PROJECTS).await;
    let mut items = projects.map_err(|error| refused("could not list projects", &error))?;
    items.retain(|it| query.name.is_empty() || it.metadata.name == query.name);
    Ok(AppProjectList { items: items.into_iter().map(shown).collect(), ..Default::default() })
}

pub(crate) async fn get(call: Call, query: ProjectQuery) -> Result<AppProject, Status> {
    find(&call.server.store, &query.name).await
}

pub(crate) async fn detailed(
    call: Call,
    query: ProjectQuery,
) -> Result<DetailedProjectsResponse, Status> {
    let project = find(&call.server.store, &query.name).await?;
    Ok(DetailedProjectsResponse { project: Some(project), ..Default::default() })
}

pub(crate) async fn global(
    call: Call,
    query: ProjectQuery,
) -> Result<GlobalProjectsResponse, Status> {
    find(&call.server.store, &query.name).await?;
    Ok(GlobalProjectsResponse::default())
}

pub(crate) async fn create(
    call: Call,
    request: ProjectCreateRequest,
) -> Result<AppProject, Status> {
    let project = request
        .project
        .ok_or_else(|| Status::invalid_argument("missing payload 'project' in request"))?;
    checked(&project)?;
    let store = &call.server.store;
    match store.create(&PROJECTS, &fresh(&project, store.namespace())).await {
        Ok(created) => return Ok(shown(created)),
        Err(error) if error.is_conflict() => {}
        Err(error) => return Err(refused("could not create the project", &error)),
    }
    let existing = find(store, &project.metadata.name).await?;
    if existing.spec == project.spec {
        return Ok(existing);
    }
    if !request.upsert {
        return Err(Status::invalid_argument(
            "existing project spec is different, use upsert flag to force update",
        ));
    }
    replace(store, &existing, &project).await
}

pub(crate) async fn update(
    call: Call,
    request: ProjectUpdateRequest,
) -> Result<AppProject, Status> {
    let project = request
        .project
        .ok_or_else(|| Status::invalid_argument("missing payload 'project' in request"))?;
    checked(&project)?;
    let existing = find(&call.server.store, &project.metadata.name).await?;
    replace(&call.server.store, &existing, &project).await
}

pub(crate) async fn delete(call: Call, query: ProjectQuery) -> Result<EmptyResponse, Status> {
    if query.name == api::names::DEFAULT_PROJECT {
        return Err(Status::invalid_argument(format!(
            "name '{}' is reserved and cannot be deleted",
            query.name
        )));
    }
    find(&call.server.store, &query.name).await?;
    let users = call.server.apps.all();
    let users = users.iter().filter(|app| app.spec.project_name() == query.name).count();
    if users > 0 {
        return Err(Status::invalid_argument(format!(
            "project is referenced by {users} applications"
        )));
    }
    let deleted = call.server.store.delete(&PROJECTS, &query.name).await;
    deleted.map_err(|error| refused("could not delete the project", &error))?;
    Ok(EmptyResponse {})
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
fn checked(project: &AppProject) -> Result<(), Status> {
    if project.metadata.name.is_empty() {
        return Err(Status::invalid_argument("project name may not be empty"));
    }
    let mut seen = std::collections::BTreeSet::new();
    for role in &project.spec.roles {
        if !seen.insert(&role.name) {
            let message = format!("role '{}' already exists", role.name);
            return Err(Status::already_exists(message));
        }
    }
    for destination in &project.spec.destinations {
        if destination.name == "!*" || destination.server == "!*" || destination.namespace == "!*" {
            return Err(Status::invalid_argument("destination has an invalid format, '!*'"));
        }
    }
    Ok(())
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
        "metadata": { "resourceVersion": version },
        "spec": replacing(&json!(existing.spec), &json!(wanted.spec)),
    });
    let written = store.merge(&PROJECTS, &wanted.metadata.name, &patch).await;
    written.map(shown).map_err(|error| refused("could not update the project", &error))
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
