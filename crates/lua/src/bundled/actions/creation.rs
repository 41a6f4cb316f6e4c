//! Objects that an action creates from another one.

use object::Object;
use serde_json::{Map, Value, json};

use super::set;
use crate::sandbox::rfc3339;

/// Names of created objects keep room for what is appended here.
const MAX_BASE_NAME: usize = 52;

/// A name for something made from `object` in this minute.
fn name_from(object: &Object, minute: &str) -> String {
    let name = object.name();
    let end = (0..=name.len().min(MAX_BASE_NAME)).rev().find(|end| name.is_char_boundary(*end));
    format!("{}-{minute}", &name[..end.unwrap_or(0)])
}

/// Year, month, day, hour and minute as digits alone.
fn minute(now: i64) -> String {
    rfc3339(now).chars().filter(char::is_ascii_digit).take("yyyymmddHHMM".len()).collect()
}

fn owner(object: &Object) -> Value {
    let mut owner = json!({
        "apiVersion": object.api_version(),
        "kind": object.kind(),
        "name": object.name(),
    });
    if let Some(uid) = object.at(&["metadata", "uid"]) {
        owner["uid"] = uid.clone();
    }
    owner
}

/// A copy of what is there; mappings and lists without anything in them are left out.
fn copy(value: Option<&Value>) -> Option<Value> {
    match value? {
        Value::Null => None,
        Value::Object(fields) => {
            let fields =
                fields.iter().filter_map(|(name, it)| Some((name.clone(), copy(Some(it))?)));
            let fields: Map<String, Value> = fields.collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().filter_map(|it| copy(Some(it))).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        scalar => Some(scalar.clone()),
    }
}

pub(super) fn job_of(cron_job: &Object, now: i64) -> Object {
    let template = |field: &str| copy(cron_job.at(&["spec", "jobTemplate", field]));
    let mut job = new_object("batch/v1", "Job");
    if let Some(metadata) = template("metadata").filter(Value::is_object) {
        set(&mut job, &["metadata"], metadata);
    }
    // Two digits do for the year: a job's name is bounded more than others are.
    job.set_name(&name_from(cron_job, &minute(now)[2..]));
    place(&mut job, cron_job);
    job.set_annotation("cronjob.kubernetes.io/instantiate", "manual");
    let mut owner = owner(cron_job);
    owner["blockOwnerDeletion"] = json!(true);
    owner["controller"] = json!(true);
    set(&mut job, &["metadata", "ownerReferences"], json!([owner]));
    if let Some(spec) = template("spec") {
        set(&mut job, &["spec"], spec);
    }
    job
}

pub(super) fn workflow_of(source: &Object, now: i64) -> Object {
    let mut workflow = new_object("argoproj.io/v1alpha1", "Workflow");
    workflow.set_name(&name_from(source, &minute(now)));
    place(&mut workflow, source);
    if source.kind() == "CronWorkflow" {
        for field in ["labels", "annotations", "finalizers"] {
            if let Some(value) = copy(source.at(&["spec", "workflowMetadata", field])) {
                set(&mut workflow, &["metadata", field], value);
            }
        }
        workflow.set_label("workflows.argoproj.io/cron-workflow", source.name());
        if let Some(instance) = source.label(CONTROLLER_INSTANCE) {
            workflow.set_label(CONTROLLER_INSTANCE, instance);
        }
        workflow.set_annotation("workflows.argoproj.io/scheduled-time", &rfc3339(now));
        if let Some(spec) = copy(source.at(&["spec", "workflowSpec"])) {
            set(&mut workflow, &["spec"], spec);
        }
    } else {
        workflow.set_label("workflows.argoproj.io/workflow-template", source.name());
        let reference = json!({"workflowTemplateRef": {"name": source.name()}});
        set(&mut workflow, &["spec"], reference);
    }
    set(&mut workflow, &["metadata", "ownerReferences"], json!([owner(source)]));
    workflow
}

const CONTROLLER_INSTANCE: &str = "workflows.argoproj.io/controller-instanceid";

fn new_object(api_version: &str, kind: &str) -> Object {
    Object::from_value(json!({"apiVersion": api_version, "kind": kind})).expect("both are set")
}

/// Where its source lives.
fn place(object: &mut Object, source: &Object) {
    if !source.namespace().is_empty() {
        object.set_namespace(source.namespace());
    }
}
