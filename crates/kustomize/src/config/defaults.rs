//! Kustomize's default field tables, written from what they have in common:
//! nearly every row is a path inside of a pod, repeated for each kind that
//! carries one.

use std::sync::{Arc, OnceLock};

use super::{Config, NameReference};
use crate::kustomization::parts::FieldSpec;
use crate::resource::id::Gvk;

/// The defaults, made once.
pub(super) fn config() -> Arc<Config> {
    static CONFIG: OnceLock<Arc<Config>> = OnceLock::new();
    Arc::clone(CONFIG.get_or_init(|| {
        let mut config = Config {
            name_prefix: vec![spec("", "", "", "metadata/name", false)],
            name_suffix: vec![spec("", "", "", "metadata/name", false)],
            namespace: namespace(),
            common_labels: common_labels(),
            labels: Vec::new(),
            template_labels: metadata_fields("labels", "apps"),
            common_annotations: metadata_fields("annotations", ""),
            name_references: name_references(),
            var_references: var_references(),
            images: images(),
            replicas: replicas(),
        };
        config.sort();
        Arc::new(config)
    }))
}

fn spec(group: &str, version: &str, kind: &str, path: &str, create: bool) -> FieldSpec {
    FieldSpec::new(Gvk::new(group, version, kind), path, create)
}

fn of_kind(kind: &str, path: impl Into<String>) -> FieldSpec {
    FieldSpec::new(Gvk::new("", "", kind), path, false)
}

fn namespace() -> Vec<FieldSpec> {
    vec![
        spec("", "", "Namespace", "metadata/name", true),
        spec("apiregistration.k8s.io", "", "APIService", "spec/service/namespace", true),
        spec(
            "apiextensions.k8s.io",
            "",
            "CustomResourceDefinition",
            "spec/conversion/webhook/clientConfig/service/namespace",
            false,
        ),
    ]
}

/// Labels or annotations of an object and of the templates in it. Labels of a
/// StatefulSet are for its own group only and reach its volume claims.
fn metadata_fields(field: &str, stateful_set_group: &str) -> Vec<FieldSpec> {
    let template = format!("spec/template/metadata/{field}");
    let mut specs = vec![
        spec("", "", "", &format!("metadata/{field}"), true),
        spec("", "v1", "ReplicationController", &template, true),
        spec("", "", "Deployment", &template, true),
        spec("", "", "ReplicaSet", &template, true),
        spec("", "", "DaemonSet", &template, true),
        spec(stateful_set_group, "", "StatefulSet", &template, true),
        spec("batch", "", "Job", &template, true),
        spec("batch", "", "CronJob", &format!("spec/jobTemplate/metadata/{field}"), true),
        spec(
            "batch",
            "",
            "CronJob",
            &format!("spec/jobTemplate/spec/template/metadata/{field}"),
            true,
        ),
    ];
    if field == "labels" {
        specs.push(spec(
            stateful_set_group,
            "",
            "StatefulSet",
            "spec/volumeClaimTemplates[]/metadata/labels",
            true,
        ));
    }
    specs
}

fn common_labels() -> Vec<FieldSpec> {
    let mut specs = vec![
        spec("", "v1", "Service", "spec/selector", true),
        spec("", "v1", "ReplicationController", "spec/selector", true),
        spec("", "", "Deployment", "spec/selector/matchLabels", true),
        spec("", "", "ReplicaSet", "spec/selector/matchLabels", true),
        spec("", "", "DaemonSet", "spec/selector/matchLabels", true),
        spec("apps", "", "StatefulSet", "spec/selector/matchLabels", true),
        spec("batch", "", "Job", "spec/selector/matchLabels", false),
        spec("batch", "", "CronJob", "spec/jobTemplate/spec/selector/matchLabels", false),
        spec("policy", "", "PodDisruptionBudget", "spec/selector/matchLabels", false),
    ];
    for kind in ["Deployment", "StatefulSet"] {
        let pod = "spec/template/spec";
        for affinity in ["podAffinity", "podAntiAffinity"] {
            let affinity = format!("{pod}/affinity/{affinity}");
            let preferred = format!(
                "{affinity}/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm\
                 /labelSelector/matchLabels"
            );
            let required = format!(
                "{affinity}/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels"
            );
            specs.push(spec("apps", "", kind, &preferred, false));
            specs.push(spec("apps", "", kind, &required, false));
        }
        let spread = format!("{pod}/topologySpreadConstraints/labelSelector/matchLabels");
        specs.push(spec("apps", "", kind, &spread, false));
    }
    for path in ["podSelector", "ingress/from/podSelector", "egress/to/podSelector"] {
        let path = format!("spec/{path}/matchLabels");
        specs.push(spec("networking.k8s.io", "", "NetworkPolicy", &path, false));
    }
    specs.extend(metadata_fields("labels", "apps"));
    specs
}

fn images() -> Vec<FieldSpec> {
    let mut specs = Vec::new();
    for pod in ["spec", "spec/template/spec"] {
        for path in ["containers[]/image", "initContainers[]/image", "volumes[]/image/reference"] {
            specs.push(spec("", "", "", &format!("{pod}/{path}"), true));
        }
    }
    specs
}

fn replicas() -> Vec<FieldSpec> {
    ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"]
        .map(|kind| spec("", "", kind, "spec/replicas", true))
        .into()
}

/// Where each kind keeps its pod.
const PODS: [(&str, &str); 8] = [
    ("Pod", "spec"),
    ("PodTemplate", "template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicaSet", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
];

/// A path in the pod of every kind that carries one. A CronJob names it after
/// the others, and Pods are of version v1.
fn in_pods(paths: &[&str]) -> Vec<FieldSpec> {
    let mut specs = Vec::new();
    for (kind, pod) in PODS {
        let version = if kind == "Pod" { "v1" } else { "" };
        for path in paths {
            specs.push(spec("", version, kind, &format!("{pod}/{path}"), false));
        }
    }
    specs
}

/// A path in the pod of the kinds that run in the long term.
fn in_workloads(path: &str) -> Vec<FieldSpec> {
    let kinds = [
        ("Pod", "spec"),
        ("StatefulSet", "spec/template/spec"),
        ("Deployment", "spec/template/spec"),
        ("ReplicationController", "spec/template/spec"),
        ("CronJob", "spec/jobTemplate/spec/template/spec"),
        ("Job", "spec/template/spec"),
        ("DaemonSet", "spec/template/spec"),
    ];
    kinds.map(|(kind, pod)| of_kind(kind, format!("{pod}/{path}"))).into()
}

fn reference(group: &str, version: &str, kind: &str, referrers: Vec<FieldSpec>) -> NameReference {
    NameReference { target: Gvk::new(group, version, kind), referrers }
}

fn name_references() -> Vec<NameReference> {
    let rbac = "rbac.authorization.k8s.io";
    let mut references: Vec<NameReference> =
        ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"]
            .map(|kind| {
                let scaler = of_kind("HorizontalPodAutoscaler", "spec/scaleTargetRef/name");
                reference("", "", kind, vec![scaler])
            })
            .into();
    references.extend([
        reference("", "v1", "ConfigMap", config_map_referrers()),
        reference("", "v1", "Secret", secret_referrers()),
        reference("", "v1", "Service", service_referrers()),
        reference(rbac, "", "Role", vec![spec(rbac, "", "RoleBinding", "roleRef/name", false)]),
        reference(
            rbac,
            "",
            "ClusterRole",
            vec![
                spec(rbac, "", "RoleBinding", "roleRef/name", false),
                spec(rbac, "", "ClusterRoleBinding", "roleRef/name", false),
            ],
        ),
        reference("", "v1", "ServiceAccount", {
            let mut specs = vec![
                spec(rbac, "", "RoleBinding", "subjects", false),
                spec(rbac, "", "ClusterRoleBinding", "subjects", false),
            ];
            specs.extend(in_workloads("serviceAccountName"));
            specs
        }),
        reference(
            "",
            "v1",
            "PersistentVolumeClaim",
            in_workloads("volumes/persistentVolumeClaim/claimName"),
        ),
        reference(
            "",
            "v1",
            "PersistentVolume",
            vec![
                of_kind("PersistentVolumeClaim", "spec/volumeName"),
                of_kind("ClusterRole", "rules/resourceNames"),
            ],
        ),
        reference(
            "storage.k8s.io",
            "v1",
            "StorageClass",
            vec![
                of_kind("PersistentVolume", "spec/storageClassName"),
                of_kind("PersistentVolumeClaim", "spec/storageClassName"),
                of_kind("StatefulSet", "spec/volumeClaimTemplates/spec/storageClassName"),
            ],
        ),
        reference("scheduling.k8s.io", "v1", "PriorityClass", in_workloads("priorityClassName")),
        // The group is misspelt in Kustomize, so that this row never applies.
        reference(
            "networking.k8s.io/v1",
            "v1",
            "IngressClass",
            vec![of_kind("Ingress", "spec/ingressClassName")],
        ),
        reference(
            "admissionregistration.k8s.io",
            "",
            "ValidatingAdmissionPolicy",
            vec![spec(
                "admissionregistration.k8s.io",
                "",
                "ValidatingAdmissionPolicyBinding",
                "spec/policyName",
                false,
            )],
        ),
    ]);
    references
}

fn config_map_referrers() -> Vec<FieldSpec> {
    let mut specs = in_pods(&[
        "volumes/configMap/name",
        "containers/env/valueFrom/configMapKeyRef/name",
        "initContainers/env/valueFrom/configMapKeyRef/name",
        "containers/envFrom/configMapRef/name",
        "initContainers/envFrom/configMapRef/name",
        "volumes/projected/sources/configMap/name",
    ]);
    specs.extend([
        of_kind("Node", "spec/configSource/configMap"),
        of_kind("Role", "rules/resourceNames"),
        of_kind("ClusterRole", "rules/resourceNames"),
        of_kind(
            "Ingress",
            r"metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap",
        ),
    ]);
    specs
}

fn secret_referrers() -> Vec<FieldSpec> {
    let mut specs = in_pods(&[
        "volumes/secret/secretName",
        "containers/env/valueFrom/secretKeyRef/name",
        "initContainers/env/valueFrom/secretKeyRef/name",
        "containers/envFrom/secretRef/name",
        "initContainers/envFrom/secretRef/name",
        "imagePullSecrets/name",
        "volumes/projected/sources/secret/name",
    ]);
    specs.extend([
        of_kind("Ingress", "spec/tls/secretName"),
        of_kind("Ingress", r"metadata/annotations/ingress.kubernetes.io\/auth-secret"),
        of_kind("Ingress", r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret"),
        of_kind("Ingress", r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret"),
        of_kind("ServiceAccount", "imagePullSecrets/name"),
        of_kind("StorageClass", "parameters/secretName"),
        of_kind("StorageClass", "parameters/adminSecretName"),
        of_kind("StorageClass", "parameters/userSecretName"),
        of_kind("StorageClass", "parameters/secretRef"),
        of_kind("Role", "rules/resourceNames"),
        of_kind("ClusterRole", "rules/resourceNames"),
        spec(
            "serving.knative.dev",
            "v1",
            "Service",
            "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
            false,
        ),
        of_kind("PersistentVolume", "spec/azureFile/secretName"),
    ]);
    specs
}

fn service_referrers() -> Vec<FieldSpec> {
    let webhooks = "admissionregistration.k8s.io";
    let webhook = "webhooks/clientConfig/service";
    vec![
        spec("apps", "", "StatefulSet", "spec/serviceName", false),
        of_kind("Ingress", "spec/rules/http/paths/backend/serviceName"),
        of_kind("Ingress", "spec/backend/serviceName"),
        of_kind("Ingress", "spec/rules/http/paths/backend/service/name"),
        of_kind("Ingress", "spec/defaultBackend/service/name"),
        spec("apiregistration.k8s.io", "", "APIService", "spec/service/name", false),
        spec(webhooks, "", "ValidatingWebhookConfiguration", webhook, false),
        spec(webhooks, "", "MutatingWebhookConfiguration", webhook, false),
    ]
}

fn var_references() -> Vec<FieldSpec> {
    let mut specs = Vec::new();
    for (kind, pod) in PODS {
        if kind == "PodTemplate" {
            continue;
        }
        for containers in ["containers", "initContainers"] {
            for field in ["args", "command", "env/value", "volumeMounts/mountPath"] {
                specs.push(of_kind(kind, format!("{pod}/{containers}/{field}")));
            }
        }
        match kind {
            "StatefulSet" => specs.push(of_kind(kind, "spec/volumeClaimTemplates/spec/nfs/server")),
            // Kustomize leaves out the pod's spec here.
            "CronJob" => {
                specs.push(of_kind(kind, "spec/jobTemplate/spec/template/volumes/nfs/server"));
            }
            _ => specs.push(of_kind(kind, format!("{pod}/volumes/nfs/server"))),
        }
    }
    specs.extend([
        of_kind("Deployment", "spec/template/metadata/annotations"),
        of_kind("Ingress", "spec/rules/host"),
        of_kind("Ingress", "spec/tls/hosts"),
        of_kind("Ingress", "spec/tls/secretName"),
        of_kind("Service", "spec/ports/port"),
        of_kind("Service", "spec/ports/targetPort"),
        of_kind("PersistentVolume", "spec/nfs/server"),
        of_kind("", "metadata/labels"),
        of_kind("", "metadata/annotations"),
    ]);
    specs
}
