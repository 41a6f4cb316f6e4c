//! The defaults that API servers fill in, by type.
//!
//! Two sides of a comparison get the same treatment, so what matters is that a
//! field which git no longer states, and the server defaulted to what it was,
//! is no difference. Values are facts about Kubernetes; rules that depend on
//! other fields are functions at the end.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::{Shape, Struct, TYPES};

type Fields = Map<String, Value>;

/// Fills `fields`, which are of the type `of`, and everything in them.
pub(super) fn fill(fields: &mut Fields, of: &Struct) {
    before_content(&of.name, fields);
    for (name, value) in fields.iter_mut() {
        // Leaves have nothing in them.
        if matches!(value, Value::Object(_) | Value::Array(_))
            && let Some(field) = of.fields.get(name)
        {
            fill_value(value, &field.shape);
        }
    }
    for (field, default) in CONSTANTS.get(of.name.as_str()).into_iter().flatten() {
        fill_in(fields, field, || default.clone());
    }
    depending(&of.name, fields);
}

fn fill_value(value: &mut Value, shape: &Shape) {
    match (shape, value) {
        (Shape::Pointer(of), value) => fill_value(value, of),
        (Shape::Struct(id), Value::Object(fields)) => fill(fields, TYPES.at(*id)),
        (Shape::List(of), Value::Array(items)) => {
            items.iter_mut().for_each(|item| fill_value(item, of));
        }
        (Shape::Map(of), Value::Object(entries)) => {
            entries.values_mut().for_each(|entry| fill_value(entry, of));
        }
        _ => {}
    }
}

/// Absent, null and an empty text are all nothing to a Go default.
fn fill_in(fields: &mut Fields, name: &str, default: impl FnOnce() -> Value) {
    let is_nothing = fields.get(name).is_none_or(|it| it.is_null() || it == "");
    if is_nothing {
        fields.insert(name.to_owned(), default());
    }
}

/// Constant defaults by type.
static CONSTANTS: LazyLock<BTreeMap<&'static str, Fields>> = LazyLock::new(table);

fn table() -> BTreeMap<&'static str, Fields> {
    let probe = json!({"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1,
        "failureThreshold": 3});
    let container = json!({"terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File"});
    let webhook = json!({"failurePolicy": "Fail", "matchPolicy": "Equivalent",
        "namespaceSelector": {}, "objectSelector": {}, "timeoutSeconds": 10});
    let stateful_set = json!({"replicas": 1, "revisionHistoryLimit": 10,
        "podManagementPolicy": "OrderedReady",
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}});
    let mode = json!({"defaultMode": 420});
    let mut table: BTreeMap<&'static str, Fields> = BTreeMap::new();
    for (name, fields) in [
        ("admissionregistration.v1.MutatingWebhook", webhook.clone()),
        ("admissionregistration.v1.MutatingWebhook", json!({"reinvocationPolicy": "Never"})),
        ("admissionregistration.v1.RuleWithOperations", json!({"scope": "*"})),
        ("admissionregistration.v1.ServiceReference", json!({"port": 443})),
        ("admissionregistration.v1.ValidatingWebhook", webhook),
        ("apps.v1.DaemonSetSpec", json!({"revisionHistoryLimit": 10})),
        (
            "apps.v1.DeploymentSpec",
            json!({"replicas": 1, "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600}),
        ),
        ("apps.v1.ReplicaSetSpec", json!({"replicas": 1})),
        ("apps.v1.StatefulSetSpec", stateful_set.clone()),
        (
            "apps.v1beta1.DeploymentSpec",
            json!({"replicas": 1, "revisionHistoryLimit": 2,
            "progressDeadlineSeconds": 600}),
        ),
        ("apps.v1beta1.StatefulSetSpec", stateful_set.clone()),
        ("apps.v1beta2.DaemonSetSpec", json!({"revisionHistoryLimit": 10})),
        (
            "apps.v1beta2.DeploymentSpec",
            json!({"replicas": 1, "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600}),
        ),
        ("apps.v1beta2.ReplicaSetSpec", json!({"replicas": 1})),
        ("apps.v1beta2.StatefulSetSpec", stateful_set),
        ("autoscaling.v1.HorizontalPodAutoscalerSpec", json!({"minReplicas": 1})),
        ("autoscaling.v2.HorizontalPodAutoscalerSpec", json!({"minReplicas": 1})),
        (
            "batch.v1.CronJobSpec",
            json!({"concurrencyPolicy": "Allow", "suspend": false,
            "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}),
        ),
        (
            "batch.v1.JobSpec",
            json!({"backoffLimit": 6, "completionMode": "NonIndexed",
            "suspend": false}),
        ),
        ("core.v1.ConfigMapVolumeSource", mode.clone()),
        ("core.v1.Container", container.clone()),
        ("core.v1.ContainerPort", json!({"protocol": "TCP"})),
        ("core.v1.DownwardAPIVolumeSource", mode.clone()),
        ("core.v1.EndpointPort", json!({"protocol": "TCP"})),
        ("core.v1.EphemeralContainer", container),
        ("core.v1.GRPCAction", json!({"service": ""})),
        ("core.v1.HTTPGetAction", json!({"path": "/", "scheme": "HTTP"})),
        ("core.v1.HostPathVolumeSource", json!({"type": ""})),
        ("core.v1.ISCSIVolumeSource", json!({"iscsiInterface": "default"})),
        ("core.v1.ISCSIPersistentVolumeSource", json!({"iscsiInterface": "default"})),
        ("core.v1.ObjectFieldSelector", json!({"apiVersion": "v1"})),
        ("core.v1.PersistentVolumeClaimSpec", json!({"volumeMode": "Filesystem"})),
        (
            "core.v1.PersistentVolumeSpec",
            json!({"persistentVolumeReclaimPolicy": "Retain",
            "volumeMode": "Filesystem"}),
        ),
        (
            "core.v1.PodSpec",
            json!({"dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {},
            "terminationGracePeriodSeconds": 30}),
        ),
        ("core.v1.Probe", probe),
        ("core.v1.ProjectedVolumeSource", mode.clone()),
        ("core.v1.ReplicationControllerSpec", json!({"replicas": 1})),
        ("core.v1.Secret", json!({"type": "Opaque"})),
        ("core.v1.SecretVolumeSource", mode),
        ("core.v1.ServiceAccountTokenProjection", json!({"expirationSeconds": 3600})),
        ("core.v1.ServicePort", json!({"protocol": "TCP"})),
        ("core.v1.ServiceSpec", json!({"sessionAffinity": "None", "type": "ClusterIP"})),
        ("discovery.v1.EndpointPort", json!({"protocol": "TCP"})),
        ("extensions.v1beta1.DaemonSetSpec", json!({"revisionHistoryLimit": 10})),
        (
            "extensions.v1beta1.DeploymentSpec",
            json!({"replicas": 1,
            "revisionHistoryLimit": i32::MAX, "progressDeadlineSeconds": i32::MAX}),
        ),
        ("extensions.v1beta1.ReplicaSetSpec", json!({"replicas": 1})),
        ("networking.v1.IngressClassParametersReference", json!({"scope": "Cluster"})),
        ("networking.v1.NetworkPolicyPort", json!({"protocol": "TCP"})),
        ("scheduling.v1.PriorityClass", json!({"preemptionPolicy": "PreemptLowerPriority"})),
        (
            "storage.v1.StorageClass",
            json!({"reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate"}),
        ),
    ] {
        let Value::Object(fields) = fields else { continue };
        table.entry(name).or_default().extend(fields);
    }
    table
}

/// Defaults that bring content which has defaults of its own.
fn before_content(name: &str, fields: &mut Fields) {
    if name == "core.v1.Volume" && fields.keys().all(|it| it == "name") {
        fields.insert("emptyDir".into(), json!({}));
    }
    // Only pods get these; the templates of others are left as they are.
    if name == "core.v1.Pod"
        && let Some(Value::Object(spec)) = fields.get_mut("spec")
    {
        fill_in(spec, "enableServiceLinks", || json!(true));
        if spec.get("hostNetwork") == Some(&json!(true)) {
            for list in ["containers", "initContainers"] {
                let containers = spec.get_mut(list).and_then(Value::as_array_mut);
                containers.into_iter().flatten().for_each(use_host_ports);
            }
        }
        requests_from_limits(spec);
    }
}

fn use_host_ports(container: &mut Value) {
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(number) = port.get("containerPort").cloned() {
            fill_in(port, "hostPort", || number);
        }
    }
}

/// Defaults that depend on other fields.
fn depending(name: &str, fields: &mut Fields) {
    match name {
        "core.v1.Container" | "core.v1.EphemeralContainer" => {
            let policy = pull_policy(fields.get("image").and_then(Value::as_str).unwrap_or(""));
            fill_in(fields, "imagePullPolicy", || json!(policy));
        }
        "core.v1.ServicePort" => {
            if let Some(port) = fields.get("port").cloned() {
                fill_in(fields, "targetPort", || port);
            }
        }
        "core.v1.ServiceSpec" => service(fields),
        "apps.v1.DeploymentSpec"
        | "apps.v1beta1.DeploymentSpec"
        | "apps.v1beta2.DeploymentSpec" => {
            roll(fields, "strategy", &json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
        }
        "extensions.v1beta1.DeploymentSpec" => {
            roll(fields, "strategy", &json!({"maxUnavailable": 1, "maxSurge": 1}));
        }
        "apps.v1.DaemonSetSpec" | "apps.v1beta2.DaemonSetSpec" => {
            roll(fields, "updateStrategy", &json!({"maxUnavailable": 1, "maxSurge": 0}));
        }
        "apps.v1.StatefulSetSpec" | "apps.v1beta2.StatefulSetSpec" => {
            roll(fields, "updateStrategy", &json!({"partition": 0}));
        }
        "apps.v1beta1.Deployment"
        | "apps.v1beta1.StatefulSet"
        | "extensions.v1beta1.Deployment"
        | "extensions.v1beta1.DaemonSet" => label_as_template(fields),
        "batch.v1.JobSpec" => job(fields),
        "networking.v1.NetworkPolicySpec" => policy_types(fields),
        "rbac.v1.RoleRef" => {
            fill_in(fields, "apiGroup", || json!("rbac.authorization.k8s.io"));
        }
        "rbac.v1.Subject" => {
            if matches!(fields.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
                fill_in(fields, "apiGroup", || json!("rbac.authorization.k8s.io"));
            }
        }
        _ => {}
    }
}

/// An update rolls unless it says otherwise.
fn roll(spec: &mut Fields, field: &str, rolling: &Value) {
    let strategy = spec.entry(field).or_insert(Value::Null);
    if strategy.is_null() {
        *strategy = json!({});
    }
    let Some(strategy) = strategy.as_object_mut() else { return };
    fill_in(strategy, "type", || json!("RollingUpdate"));
    if strategy["type"] != "RollingUpdate" {
        return;
    }
    fill_in(strategy, "rollingUpdate", || json!({}));
    if let Some(Value::Object(update)) = strategy.get_mut("rollingUpdate") {
        for (name, default) in rolling.as_object().into_iter().flatten() {
            fill_in(update, name, || default.clone());
        }
    }
}

/// The first versions of these kinds took labels and selector from the template.
fn label_as_template(fields: &mut Fields) {
    let labels = fields.get("spec").and_then(|it| it.pointer("/template/metadata/labels"));
    let Some(labels) = labels.filter(|it| it.is_object()).cloned() else { return };
    if let Some(Value::Object(spec)) = fields.get_mut("spec") {
        fill_in(spec, "selector", || json!({"matchLabels": labels}));
    }
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        fill_in(metadata, "labels", || labels);
    }
}

/// `latest`, said or unsaid, is pulled always.
fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or(image);
    let has_digest = image.contains('@');
    match name.split('@').next().and_then(|it| it.split_once(':')) {
        Some((_, "latest")) => "Always",
        None if !has_digest => "Always",
        _ => "IfNotPresent",
    }
}

fn service(fields: &mut Fields) {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or("").to_owned();
    if matches!(kind.as_str(), "ClusterIP" | "NodePort" | "LoadBalancer") {
        fill_in(fields, "internalTrafficPolicy", || json!("Cluster"));
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        fill_in(fields, "externalTrafficPolicy", || json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        fill_in(fields, "allocateLoadBalancerNodePorts", || json!(true));
    }
    if fields.get("sessionAffinity") == Some(&json!("ClientIP")) {
        fill_in(fields, "sessionAffinityConfig", || json!({"clientIP": {"timeoutSeconds": 10800}}));
    }
}

/// What a container is limited to, it asks for.
fn requests_from_limits(spec: &mut Fields) {
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for resources in containers.into_iter().flatten().filter_map(|it| it.get_mut("resources")) {
            let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else {
                continue;
            };
            let Some(resources) = resources.as_object_mut() else { continue };
            let requests = resources.entry("requests").or_insert_with(|| json!({}));
            if let Some(requests) = requests.as_object_mut() {
                for (name, amount) in limits {
                    requests.entry(name).or_insert(amount);
                }
            }
        }
    }
}

fn job(fields: &mut Fields) {
    let is_absent = |name: &str| fields.get(name).is_none_or(Value::is_null);
    if is_absent("completions") && is_absent("parallelism") {
        fields.insert("completions".into(), json!(1));
    }
    fill_in(fields, "parallelism", || json!(1));
    let keeps_failed = fields.contains_key("podFailurePolicy");
    let replacement = if keeps_failed { "Failed" } else { "TerminatingOrFailed" };
    fill_in(fields, "podReplacementPolicy", || json!(replacement));
}

fn policy_types(fields: &mut Fields) {
    let has_egress =
        fields.get("egress").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let types = if has_egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    let is_empty =
        fields.get("policyTypes").is_none_or(|it| it.as_array().is_none_or(Vec::is_empty));
    if is_empty {
        fields.insert("policyTypes".into(), types);
    }
}
