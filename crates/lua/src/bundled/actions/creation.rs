//! Objects that an action creates from another one.

use object::Object;
use serde_json::{Value, json};

use super::set;
use crate::sandbox::rfc3339;

/// Names of created objects keep room for what controllers append.
const MAX_BASE_NAME: usize = 52;

/// A name for something made from `object` now.
fn name_from(object: &Object, now: i64) -> String {
    let name = object.name();
    let end = (0..=name.len().min(MAX_BASE_NAME)).rev().find(|end| name.is_char_boundary(*end));
    format!("{}-{now}", &name[..end.unwrap_or(0)])
}

fn owner(object: &Object) -> Value {
    json!([{
        "apiVersion": object.api_version(),
        "kind": object.kind(),
        "name": object.name(),
        "uid": object.text(&["metadata", "uid"]),
        "blockOwnerDeletion": true,
        "controller": true,
    }])
}

pub(super) fn job_of(cron_job: &Object, now: i64) -> Object {
    let template = |path: &[&str]| {
        let path: Vec<&str> = ["spec", "jobTemplate"].iter().chain(path).copied().collect();
        cron_job.at(&path).cloned()
    };
    let mut job = new_object(cron_job.api_version(), "Job", cron_job, now);
    if let Some(labels) = template(&["metadata", "labels"]) {
        set(&mut job, &["metadata", "labels"], labels);
    }
    if let Some(annotations) = template(&["metadata", "annotations"]) {
        set(&mut job, &["metadata", "annotations"], annotations);
    }
    job.set_annotation("cronjob.kubernetes.io/instantiate", "manual");
    set(&mut job, &["metadata", "ownerReferences"], owner(cron_job));
    set(&mut job, &["spec"], template(&["spec"]).unwrap_or_else(|| json!({})));
    job
}

pub(super) fn workflow_of(source: &Object, now: i64) -> Object {
    let mut workflow = new_object(source.api_version(), "Workflow", source, now);
    if source.kind() == "CronWorkflow" {
        let meta = ["spec", "workflowMetadata"];
        for field in ["labels", "annotations", "finalizers"] {
            if let Some(value) = source.at(&[meta[0], meta[1], field]).cloned() {
                set(&mut workflow, &["metadata", field], value);
            }
        }
        workflow.set_label("workflows.argoproj.io/cron-workflow", source.name());
        workflow.set_annotation("workflows.argoproj.io/scheduled-time", &rfc3339(now));
        set(&mut workflow, &["metadata", "ownerReferences"], owner(source));
        let spec = source.at(&["spec", "workflowSpec"]).cloned().unwrap_or_else(|| json!({}));
        set(&mut workflow, &["spec"], spec);
    } else {
        workflow.set_label("workflows.argoproj.io/workflow-template", source.name());
        let reference = json!({"workflowTemplateRef": {"name": source.name()}});
        set(&mut workflow, &["spec"], reference);
    }
    workflow
}

fn new_object(api_version: &str, kind: &str, source: &Object, now: i64) -> Object {
    let mut object = Object::from_value(json!({"apiVersion": api_version, "kind": kind}))
        .expect("both are set, and the source has an apiVersion");
    set(&mut object, &["metadata", "name"], json!(name_from(source, now)));
    object.set_namespace(source.namespace());
    object
}
