//! What the API server would make of manifests: a diff by dry runs.

use ::cluster::ApplyOptions;
use api::{Application, ResourceDiff};
use object::Object;
use serde_json::Value;
use wire::Status;
use wire::message::application::{
    ApplicationServerSideDiffQuery, ApplicationServerSideDiffResponse,
};

use super::find;
use crate::methods::Call;
use crate::secret::Mask;

/// Live objects and manifests come in pairs, in the same order; either may be missing.
pub(crate) async fn diff(
    call: Call,
    query: ApplicationServerSideDiffQuery,
) -> Result<ApplicationServerSideDiffResponse, Status> {
    let namespace = query.app_namespace.as_deref();
    let app = find(&call, &query.app_name, namespace, query.project.as_deref()).await?;
    let live = live_objects(&call, &app, &query.live_resources).await?;
    let control = &call.server.ports.control;
    let destination = control.destination_of(&app);
    let destination = destination
        .map_err(|why| Status::unknown(format!("error getting destination cluster: {why}")))?;
    let mut answer = ApplicationServerSideDiffResponse::default();
    for index in 0..live.len().max(query.target_manifests.len()) {
        let live = live.get(index).cloned().flatten();
        let target = match query.target_manifests.get(index) {
            Some(text) => manifest(index, text)?,
            None => None,
        };
        let predicted = match target {
            None => None,
            Some(target) => {
                let options = ApplyOptions { dry_run: true, ..ApplyOptions::default() };
                let applied = destination.cluster.apply(&target, &options).await;
                let applied = applied.map_err(|error| {
                    Status::unknown(format!(
                        "error performing state diffs: {}",
                        error.in_one_line()
                    ))
                })?;
                Some(applied.object)
            }
        };
        let named = query.live_resources.get(index).cloned().unwrap_or_default();
        let (live, predicted) = match (live, predicted) {
            (Some(live), Some(answer)) => {
                let sides = control.answered(&app, &answer, &live);
                let sides = sides.map_err(|why| {
                    Status::unknown(format!("error performing state diffs: {why}"))
                })?;
                (Object::from_value(sides.live).ok(), Object::from_value(sides.predicted).ok())
            }
            either => either,
        };
        let item = compared(&Mask::of(&call), named, live, predicted);
        answer.modified |= item.modified;
        answer.items.push(item);
    }
    Ok(answer)
}

/// The live objects as the client has them, checked against what it says they are and
/// against what belongs to the Application.
async fn live_objects(
    call: &Call,
    app: &Application,
    given: &[ResourceDiff],
) -> Result<Vec<Option<Object>>, Status> {
    let managed = call.server.ports.control.compared(app).await;
    let managed = managed
        .map_err(|why| Status::unknown(format!("error getting managed resources: {why}")))?;
    let mut objects = Vec::new();
    for it in given {
        if matches!(it.live_state.as_str(), "" | "null") {
            objects.push(None);
            continue;
        }
        let object = object(&it.live_state).map_err(|why| {
            let ResourceDiff { kind, name, .. } = it;
            Status::unknown(format!("error unmarshaling live state for {kind}/{name}: {why}"))
        })?;
        let kind = object.group_kind();
        for (what, said, found) in [
            ("name", it.name.as_str(), object.name()),
            ("namespace", &it.namespace, object.namespace()),
            ("group", &it.group, &kind.group),
            ("kind", &it.kind, &kind.kind),
        ] {
            if said != found {
                return Err(Status::invalid_argument(format!(
                    "{what} mismatch: expected {said}, got {found} for live resource {}/{}/{}",
                    it.group, it.kind, it.name
                )));
            }
        }
        let is_managed = managed.iter().any(|other| {
            (&other.group, &other.kind, &other.namespace, &other.name)
                == (&it.group, &it.kind, &it.namespace, &it.name)
        });
        if !is_managed {
            return Err(Status::permission_denied(format!(
                "{}/{} {} not found as part of application {}",
                it.group, it.kind, it.name, app.metadata.name
            )));
        }
        objects.push(Some(object));
    }
    Ok(objects)
}

fn manifest(index: usize, text: &str) -> Result<Option<Object>, Status> {
    if matches!(text, "" | "null") {
        return Ok(None);
    }
    object(text).map(Some).map_err(|why| {
        Status::unknown(format!("error unmarshaling target manifest {index}: {why}"))
    })
}

fn object(text: &str) -> Result<Object, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Object::from_value(value).map_err(|error| error.to_string())
}

fn compared(
    mask: &Mask,
    named: ResourceDiff,
    live: Option<Object>,
    predicted: Option<Object>,
) -> ResourceDiff {
    let either = predicted.as_ref().or(live.as_ref());
    let (group, kind, namespace, name) = match either {
        Some(object) if named.kind.is_empty() => {
            let kind = object.group_kind();
            (kind.group, kind.kind, object.namespace().to_owned(), object.name().to_owned())
        }
        _ => (named.group, named.kind, named.namespace, named.name),
    };
    let (live, predicted) = (live.map(lasting), predicted.map(lasting));
    let modified = live != predicted;
    let (predicted, live) = mask.pair(predicted, live);
    ResourceDiff {
        group,
        kind,
        namespace,
        name,
        target_state: predicted.to_string(),
        live_state: live.to_string(),
        hook: named.hook,
        resource_version: named.resource_version,
        modified,
        ..ResourceDiff::default()
    }
}

/// Without what the API server counts and notes for itself.
fn lasting(mut object: Object) -> Object {
    let metadata = object.fields_mut().get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        for field in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(data: Value) -> Object {
        let value = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": "a", "namespace": "b", "resourceVersion": data.to_string()},
        });
        Object::from_value(value).expect("an object")
    }

    #[test]
    fn only_what_lasts_makes_a_difference() {
        let item = |one: Value, other: Value| {
            let named = ResourceDiff::default();
            compared(&Mask::default(), named, Some(map(one)), Some(map(other)))
        };
        assert!(item(json!({"a": "1"}), json!({"a": "2"})).modified);
        let same = item(json!({"a": "1"}), json!({"a": "1"}));
        assert_eq!(
            (same.modified, same.kind.as_str(), same.name.as_str()),
            (false, "ConfigMap", "a")
        );
        let new = compared(&Mask::default(), ResourceDiff::default(), None, Some(map(json!({}))));
        assert_eq!((new.modified, new.live_state.as_str()), (true, "null"));
    }
}
