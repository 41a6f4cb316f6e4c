//! Resource actions: what a user may do to a live object.
//!
//! Scripts of `resource.customizations` in argocd-cm come first; the actions we
//! ship are offered unless such a script says that it stands alone.

use std::collections::BTreeMap;

use ::settings::Settings;
use api::Application;
use engine::project::{Gate, Place, ProjectClusters};
use jiff::Timestamp;
use lua::bundled::actions as bundled;
use lua::{ActionOffer, Impact, Operation, Surroundings, discover_actions, run_action};
use object::{GroupKind, Object};
use rbac::{action, resource};
use serde_json::{Value, json};
use wire::Status;
use wire::message::application::{
    ApplicationResourceRequest, ApplicationResponse, ResourceAction, ResourceActionParam,
    ResourceActionRunRequest, ResourceActionRunRequestV2, ResourceActionsListResponse,
};

use super::{find, live};
use crate::audit::{Reason, note, note_resource};
use crate::failure::refused;
use crate::methods::Call;
use crate::ports::Destination;
use crate::project::replacing;
use crate::store::FIELD_MANAGER;

pub(crate) async fn list(
    call: Call,
    request: ApplicationResourceRequest,
) -> Result<ResourceActionsListResponse, Status> {
    let subject = subject(&call, &request).await?;
    let settings = call.server.settings.current();
    let scripts = Scripts::of(&settings, &subject.object.group_kind());
    let offers = offers(scripts.as_ref(), &subject.object, now())
        .map_err(|why| Status::unknown(format!("error getting available actions: {why}")))?;
    Ok(ResourceActionsListResponse { actions: offers.into_iter().map(shown).collect() })
}

/// As clients called it before actions had parameters.
pub(crate) async fn run_v1(
    call: Call,
    request: ResourceActionRunRequest,
) -> Result<ApplicationResponse, Status> {
    let request = ResourceActionRunRequestV2 {
        name: request.name,
        namespace: request.namespace,
        resource_name: request.resource_name,
        version: request.version,
        group: request.group,
        kind: request.kind,
        action: request.action,
        app_namespace: request.app_namespace,
        project: request.project,
        resource_action_parameters: Vec::new(),
    };
    run(call, request).await
}

pub(crate) async fn run(
    call: Call,
    request: ResourceActionRunRequestV2,
) -> Result<ApplicationResponse, Status> {
    let asked = ApplicationResourceRequest {
        name: request.name.clone(),
        namespace: request.namespace.clone(),
        resource_name: request.resource_name.clone(),
        version: request.version.clone(),
        group: request.group.clone(),
        kind: request.kind.clone(),
        app_namespace: request.app_namespace.clone(),
        project: request.project.clone(),
    };
    let subject = subject(&call, &asked).await?;
    let (group, kind) = (request.group.as_deref().unwrap_or_default(), &request.kind);
    let needed = format!("{}/{group}/{kind}/{}", action::ACTION, request.action);
    call.require(resource::APPLICATIONS, &needed, &call.object_of(&subject.app))?;
    let settings = call.server.settings.current();
    let scripts = Scripts::of(&settings, &subject.object.group_kind());
    let parameters = request.resource_action_parameters.into_iter();
    let parameters = parameters.map(|it| (it.name, it.value)).collect();
    let action = &request.action;
    let impacts = impacts(scripts.as_ref(), &subject.object, action, &parameters, now())?;
    check_permitted(&call, &subject, &impacts).await?;
    for impact in &impacts {
        subject.carry_out(impact).await?;
    }
    let object = &subject.object;
    let (kind, name) = (object.group_kind(), object.name());
    let what = format!("ran action {action} on resource {}/{}/{name}", kind.group, kind.kind);
    note(&call, &subject.app, Reason::ResourceActionRan, &what).await;
    note_resource(&call, object, Reason::ResourceActionRan, &format!("ran action {action}")).await;
    Ok(ApplicationResponse {})
}

/// The object an action is about.
struct Subject {
    app: Application,
    object: Object,
    destination: Destination,
}

async fn subject(call: &Call, request: &ApplicationResourceRequest) -> Result<Subject, Status> {
    let group = request.group.as_deref().unwrap_or_default();
    let is_app = request.kind == Application::KIND
        && group == api::GROUP
        && request.name == request.resource_name;
    let (app, object) = if is_app {
        let namespace = request.app_namespace.as_deref();
        let app = find(call, &request.name, namespace, request.project.as_deref()).await?;
        let mut value = json!(app);
        value["apiVersion"] = api::API_VERSION.into();
        value["kind"] = Application::KIND.into();
        (app, Object::from_value(value).expect("says its kind"))
    } else {
        let found = live::belonging(call, request).await?;
        let object = found.read().await?;
        (found.app, object)
    };
    let destination = call.server.ports.control.destination_of(&app);
    let destination = destination.map_err(|why| {
        Status::unknown(format!("error getting application cluster config: {why}"))
    })?;
    Ok(Subject { app, object, destination })
}

impl Subject {
    async fn carry_out(&self, impact: &Impact) -> Result<(), Status> {
        let object = &impact.object;
        let cluster = &self.destination.cluster;
        let kind = object.group_version_kind();
        let Some(kind) = cluster.kinds().find(&kind).cloned() else {
            return Err(Status::not_found(format!("the cluster does not serve {}", object.kind())));
        };
        let (client, namespace, name) = (cluster.client(), object.namespace(), object.name());
        match impact.operation {
            Operation::Create => {
                let created = client.create(&kind, namespace, object, FIELD_MANAGER).await;
                created.map_err(|error| refused("error creating resource", &error))?;
            }
            Operation::Patch => {
                let before = Value::Object(self.object.fields().clone());
                let after = Value::Object(object.fields().clone());
                let patch = replacing(&before, &after);
                let failed = |error| refused("error patching resource", &error);
                // A kind whose status has a door of its own takes it through that door only.
                let (mut patch, mut is_status_done) = (patch, false);
                if patch.get("status").is_some() {
                    let written =
                        client.merge_patch(&kind, namespace, name, Some("status"), &patch).await;
                    match written {
                        Ok(_) => is_status_done = true,
                        Err(error) if error.is_not_found() => {}
                        Err(error) => return Err(failed(error)),
                    }
                }
                if is_status_done && let Some(fields) = patch.as_object_mut() {
                    fields.remove("status");
                }
                if patch.as_object().is_some_and(|it| !it.is_empty()) {
                    let patched = client.merge_patch(&kind, namespace, name, None, &patch).await;
                    patched.map_err(failed)?;
                }
            }
        }
        Ok(())
    }
}

/// What an action makes or changes must be the project's to manage.
async fn check_permitted(call: &Call, subject: &Subject, impacts: &[Impact]) -> Result<(), Status> {
    let project = crate::project::of(call, &subject.app).await?;
    let gate = Gate::new(&project, ProjectClusters::Known(Vec::new()));
    let Destination { server, name, cluster } = &subject.destination;
    let place = engine::project::Cluster { server: server.clone(), name: name.clone() };
    for object in impacts.iter().map(|it| &it.object) {
        let kind = object.group_kind();
        let is_namespaced = cluster.kinds().preferred(&kind).is_none_or(|it| it.namespaced);
        let within =
            if is_namespaced { Place::Namespace(object.namespace()) } else { Place::ClusterWide };
        if gate.permits_object(&kind, object.name(), within, &place).is_err() {
            return Err(Status::unknown(format!(
                "application is not permitted to manage {}/{}/{} in {}",
                kind.group,
                kind.kind,
                object.name(),
                object.namespace()
            )));
        }
    }
    Ok(())
}

fn now() -> i64 {
    Timestamp::now().as_second()
}

/// A user's scripts for one kind.
#[derive(Debug, Default, PartialEq)]
struct Scripts {
    discovery: String,
    actions: BTreeMap<String, String>,
    /// Offer the actions we ship as well.
    with_bundled: bool,
}

impl Scripts {
    fn of(settings: &Settings, kind: &GroupKind) -> Option<Self> {
        let custom = settings.resources.of_kind(&kind.group, &kind.kind)?;
        if custom.actions.is_empty() { None } else { Self::read(&custom.actions) }
    }

    fn read(text: &str) -> Option<Self> {
        let value = gocompat::yaml::to_value(text).ok()?;
        let text = |it: &Value, key: &str| it.get(key).and_then(Value::as_str).map(str::to_owned);
        let definitions = value.get("definitions").and_then(Value::as_array);
        let actions = definitions.into_iter().flatten();
        let actions = actions.filter_map(|it| Some((text(it, "name")?, text(it, "action.lua")?)));
        Some(Self {
            discovery: text(&value, "discovery.lua").unwrap_or_default(),
            actions: actions.collect(),
            with_bundled: value.get("mergeBuiltinActions").is_some_and(|it| it == true),
        })
    }
}

fn offers(
    scripts: Option<&Scripts>,
    object: &Object,
    now: i64,
) -> Result<Vec<ActionOffer>, String> {
    let Some(scripts) = scripts.filter(|it| !it.discovery.is_empty()) else {
        return Ok(bundled::offers(object));
    };
    let found = discover_actions(&[&scripts.discovery], object, &Surroundings::at(now));
    let mut found = found.map_err(|error| error.to_string())?;
    if scripts.with_bundled {
        let ours = bundled::offers(object);
        let names: Vec<String> = found.iter().map(|it| it.name.clone()).collect();
        found.extend(ours.into_iter().filter(|it| !names.contains(&it.name)));
        found.sort_by(|one, other| one.name.cmp(&other.name));
    }
    Ok(found)
}

fn impacts(
    scripts: Option<&Scripts>,
    object: &Object,
    action: &str,
    parameters: &BTreeMap<String, String>,
    now: i64,
) -> Result<Vec<Impact>, Status> {
    if let Some(script) = scripts.and_then(|it| it.actions.get(action)) {
        return run_action(script, object, parameters, &Surroundings::at(now)).map_err(|error| {
            Status::unknown(format!("error executing Lua resource action: {error}"))
        });
    }
    bundled::run(object, action, parameters, now)
        .map_err(|error| Status::unknown(format!("error getting Lua resource action: {error}")))
}

fn shown(offer: ActionOffer) -> ResourceAction {
    ResourceAction {
        name: offer.name,
        params: offer.params.into_iter().map(|it| ResourceActionParam { name: it.name }).collect(),
        disabled: offer.disabled,
        icon_class: offer.icon_class,
        display_name: offer.display_name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPTS: &str = "discovery.lua: |\n  actions = {}\n  actions['sample'] = {['disabled'] = false}\n  return actions\ndefinitions:\n- name: sample\n  action.lua: |\n    obj.metadata.labels = {}\n    obj.metadata.labels.sample = 'test'\n    return obj\n";

    fn deployment() -> Object {
        let value =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
        Object::from_value(value).expect("an object")
    }

    fn settings(key: &str, text: &str) -> Settings {
        let mut sources = ::settings::Sources::default();
        let data = [(key.to_owned(), text.to_owned())].into();
        sources.config_maps.insert(::settings::names::CONFIG.into(), data);
        Settings::read(&sources)
    }

    #[track_caller]
    fn check_offers(settings: &Settings, expect: &[&str]) {
        let scripts = Scripts::of(settings, &deployment().group_kind());
        let offers = offers(scripts.as_ref(), &deployment(), 0).expect("offers");
        assert_eq!(offers.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_script_stands_alone_unless_it_says_otherwise() {
        let key = "resource.customizations.actions.apps_Deployment";
        check_offers(&settings(key, SCRIPTS), &["sample"]);
        let merged = format!("mergeBuiltinActions: true\n{SCRIPTS}");
        let all = ["pause", "restart", "resume", "sample", "scale"];
        check_offers(&settings(key, &merged), &all);
        check_offers(&settings("other", ""), &["restart", "pause", "resume", "scale"]);
    }

    #[test]
    fn the_older_mapping_is_read_too() {
        let indented = SCRIPTS.replace('\n', "\n    ");
        let map = format!("apps/Deployment:\n  actions: |\n    {indented}\n");
        check_offers(&settings("resource.customizations", &map), &["sample"]);
    }

    #[test]
    fn a_script_runs_and_an_unknown_action_is_refused() {
        let scripts = Scripts::read(SCRIPTS);
        let run = |action| impacts(scripts.as_ref(), &deployment(), action, &BTreeMap::new(), 0);
        let changed = run("sample").expect("an impact");
        assert_eq!(changed[0].object.text(&["metadata", "labels", "sample"]), Some("test"));
        assert_eq!(run("restart").expect("ours").len(), 1);
        assert!(run("nothing").expect_err("no such action").message().contains("nothing"));
    }
}
