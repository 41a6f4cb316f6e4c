//! Facts about Kubernetes 1.21, the version whose schema Kustomize 5.8 knows:
//! lists merged by key, and the scope of each kind.

/// A kind of object or part of one that has merged lists in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Only the metadata has merged lists.
    MetadataOnly,
    ObjectMeta,
    WebhookConfiguration,
    /// Has `metadata`, `spec.template` and `status.conditions`.
    Workload,
    WorkloadSpec,
    CronJob,
    CronJobSpec,
    JobTemplate,
    PodTemplateKind,
    PodTemplate,
    Pod,
    PodSpec,
    PodStatus,
    Container,
    EphemeralContainer,
    Volume,
    EphemeralVolume,
    Service,
    ServiceSpec,
    ServiceAccount,
    Node,
    NodeSpec,
    NodeStatus,
    CsiNode,
    CsiNodeSpec,
    ComponentStatus,
    /// Has `metadata` and `status.conditions`.
    WithConditions,
    Conditions,
    Kustomization,
}

/// A list that is merged by keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) keys: &'static [&'static str],
    pub(crate) element: Option<Shape>,
}

/// What a field of a shape is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field {
    Shape(Shape),
    List(List),
}

const fn list(keys: &'static [&'static str]) -> Field {
    Field::List(List { keys, element: None })
}

const fn list_of(keys: &'static [&'static str], element: Shape) -> Field {
    Field::List(List { keys, element: Some(element) })
}

/// The field of a shape, if it is, or leads to, a merged list.
pub(crate) fn field(shape: Shape, name: &str) -> Option<Field> {
    use Shape::*;
    if name == "metadata"
        && !matches!(
            shape,
            ObjectMeta
                | WorkloadSpec
                | CronJobSpec
                | PodSpec
                | PodStatus
                | Container
                | EphemeralContainer
                | Volume
                | ServiceSpec
                | NodeSpec
                | NodeStatus
                | CsiNodeSpec
                | Conditions
                | Kustomization
        )
    {
        return Some(Field::Shape(ObjectMeta));
    }
    Some(match (shape, name) {
        (ObjectMeta, "finalizers") => list(&[]),
        (ObjectMeta, "ownerReferences") => list(&["uid"]),
        (WebhookConfiguration, "webhooks") => list(&["name"]),
        (Workload, "spec") | (JobTemplate, "spec") => Field::Shape(WorkloadSpec),
        (Workload | Service | WithConditions, "status") => Field::Shape(Conditions),
        (WorkloadSpec | PodTemplateKind, "template") => Field::Shape(PodTemplate),
        (CronJob, "spec") => Field::Shape(CronJobSpec),
        (CronJobSpec, "jobTemplate") => Field::Shape(JobTemplate),
        (PodTemplate | Pod, "spec") => Field::Shape(PodSpec),
        (Pod, "status") => Field::Shape(PodStatus),
        (PodSpec, "containers" | "initContainers") => list_of(&["name"], Container),
        (PodSpec, "ephemeralContainers") => list_of(&["name"], EphemeralContainer),
        (PodSpec, "hostAliases") => list(&["ip"]),
        (PodSpec, "imagePullSecrets") => list(&["name"]),
        (PodSpec, "topologySpreadConstraints") => list(&["topologyKey", "whenUnsatisfiable"]),
        (PodSpec, "volumes") => list_of(&["name"], Volume),
        (PodStatus, "podIPs") => list(&["ip"]),
        (Container | EphemeralContainer, "env") => list(&["name"]),
        (Container, "ports") => list(&["containerPort", "protocol"]),
        (Container | EphemeralContainer, "volumeDevices") => list(&["devicePath"]),
        (Container | EphemeralContainer, "volumeMounts") => list(&["mountPath"]),
        (Volume, "ephemeral") => Field::Shape(EphemeralVolume),
        (EphemeralVolume, "volumeClaimTemplate") => Field::Shape(MetadataOnly),
        (Service, "spec") => Field::Shape(ServiceSpec),
        (ServiceSpec, "ports") => list(&["port", "protocol"]),
        (ServiceAccount, "secrets") => list(&["name"]),
        (Node, "spec") => Field::Shape(NodeSpec),
        (Node, "status") => Field::Shape(NodeStatus),
        (NodeSpec, "podCIDRs") => list(&[]),
        (NodeStatus, "addresses" | "conditions") => list(&["type"]),
        (CsiNode, "spec") => Field::Shape(CsiNodeSpec),
        (CsiNodeSpec, "drivers") => list(&["name"]),
        (PodStatus | Conditions | ComponentStatus, "conditions") => list(&["type"]),
        (Kustomization, "configMapGenerator" | "secretGenerator") => list(&["name"]),
        _ => return None,
    })
}

/// The shape of a kind, if its schema is known.
pub(crate) fn shape_of(api_version: &str, kind: &str) -> Option<Shape> {
    use Shape::*;
    let special = match (api_version, kind) {
        (
            "admissionregistration.k8s.io/v1" | "admissionregistration.k8s.io/v1beta1",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => WebhookConfiguration,
        ("apps/v1", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet") => Workload,
        ("batch/v1", "Job") | ("v1", "ReplicationController") => Workload,
        ("batch/v1" | "batch/v1beta1", "CronJob") => CronJob,
        ("v1", "PodTemplate") => PodTemplateKind,
        ("v1", "Pod") => Pod,
        ("v1", "Service") => Service,
        ("v1", "ServiceAccount") => ServiceAccount,
        ("v1", "Node") => Node,
        ("v1", "ComponentStatus") => ComponentStatus,
        ("v1", "Namespace" | "PersistentVolumeClaim") => WithConditions,
        ("policy/v1" | "policy/v1beta1", "PodDisruptionBudget") => WithConditions,
        ("apiregistration.k8s.io/v1" | "apiregistration.k8s.io/v1beta1", "APIService") => {
            WithConditions
        }
        ("storage.k8s.io/v1" | "storage.k8s.io/v1beta1", "CSINode") => CsiNode,
        ("kustomize.config.k8s.io/v1beta1", "Kustomization") => Kustomization,
        _ => return has_schema(api_version, kind).then_some(MetadataOnly),
    };
    Some(special)
}

/// The shape of one of Kubernetes' definitions by its full name, for schemas
/// that refer to it.
pub(crate) fn shape_of_definition(name: &str) -> Option<Shape> {
    use Shape::*;
    Some(match name.rsplit('.').next()? {
        "ObjectMeta" => ObjectMeta,
        "PodTemplateSpec" => PodTemplate,
        "PodSpec" => PodSpec,
        "Container" => Container,
        "EphemeralContainer" => EphemeralContainer,
        "Volume" => Volume,
        "DaemonSetSpec"
        | "DeploymentSpec"
        | "ReplicaSetSpec"
        | "StatefulSetSpec"
        | "JobSpec"
        | "ReplicationControllerSpec" => WorkloadSpec,
        "JobTemplateSpec" => JobTemplate,
        "CronJobSpec" => CronJobSpec,
        "ServiceSpec" => ServiceSpec,
        "PersistentVolumeClaimTemplate" => MetadataOnly,
        "PersistentVolumeClaim" => WithConditions,
        "NodeSpec" => NodeSpec,
        _ => return None,
    })
}

fn has_schema(api_version: &str, kind: &str) -> bool {
    is_namespaced(api_version, kind).is_some()
        || OBJECTS_WITHOUT_PATHS
            .iter()
            .any(|(version, kinds)| *version == api_version && kinds.contains(&kind))
}

/// Kinds with a schema that cannot be listed, so that their scope is unknown.
const OBJECTS_WITHOUT_PATHS: &[(&str, &[&str])] = &[
    ("authentication.k8s.io/v1", &["TokenRequest", "TokenReview"]),
    ("authentication.k8s.io/v1beta1", &["TokenReview"]),
    ("authorization.k8s.io/v1", REVIEWS),
    ("authorization.k8s.io/v1beta1", REVIEWS),
    ("policy/v1beta1", &["Eviction"]),
    ("v1", &["Binding"]),
];

const REVIEWS: &[&str] = &[
    "LocalSubjectAccessReview",
    "SelfSubjectAccessReview",
    "SelfSubjectRulesReview",
    "SubjectAccessReview",
];

/// Is the kind namespaced? `None` if Kustomize does not know it.
pub(crate) fn is_namespaced(api_version: &str, kind: &str) -> Option<bool> {
    let (_, namespaced, cluster) = SCOPES.iter().find(|(version, _, _)| *version == api_version)?;
    if namespaced.contains(&kind) {
        Some(true)
    } else if cluster.contains(&kind) {
        Some(false)
    } else {
        None
    }
}

/// Per API version: namespaced kinds, cluster-scoped kinds.
type ScopeRow = (&'static str, &'static [&'static str], &'static [&'static str]);

const SCOPES: &[ScopeRow] = &[
    (
        "v1",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodAttachOptions",
            "PodExecOptions",
            "PodPortForwardOptions",
            "PodProxyOptions",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
            "ServiceProxyOptions",
        ],
        &["ComponentStatus", "Namespace", "Node", "NodeProxyOptions", "PersistentVolume"],
    ),
    ("admissionregistration.k8s.io/v1", &[], WEBHOOKS),
    ("admissionregistration.k8s.io/v1beta1", &[], WEBHOOKS),
    ("apiextensions.k8s.io/v1", &[], &["CustomResourceDefinition"]),
    ("apiextensions.k8s.io/v1beta1", &[], &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io/v1", &[], &["APIService"]),
    ("apiregistration.k8s.io/v1beta1", &[], &["APIService"]),
    (
        "apps/v1",
        &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
        &[],
    ),
    ("autoscaling/v1", &["HorizontalPodAutoscaler", "Scale"], &[]),
    ("autoscaling/v2beta1", &["HorizontalPodAutoscaler"], &[]),
    ("autoscaling/v2beta2", &["HorizontalPodAutoscaler"], &[]),
    ("batch/v1", &["CronJob", "Job"], &[]),
    ("batch/v1beta1", &["CronJob"], &[]),
    ("certificates.k8s.io/v1", &[], &["CertificateSigningRequest"]),
    ("certificates.k8s.io/v1beta1", &[], &["CertificateSigningRequest"]),
    ("coordination.k8s.io/v1", &["Lease"], &[]),
    ("coordination.k8s.io/v1beta1", &["Lease"], &[]),
    ("discovery.k8s.io/v1", &["EndpointSlice"], &[]),
    ("discovery.k8s.io/v1beta1", &["EndpointSlice"], &[]),
    ("events.k8s.io/v1", &["Event"], &[]),
    ("events.k8s.io/v1beta1", &["Event"], &[]),
    ("extensions/v1beta1", &["Ingress"], &[]),
    ("flowcontrol.apiserver.k8s.io/v1beta1", &[], &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io/v1", &["Ingress", "NetworkPolicy"], &["IngressClass"]),
    ("networking.k8s.io/v1beta1", &["Ingress"], &["IngressClass"]),
    ("node.k8s.io/v1", &[], &["RuntimeClass"]),
    ("node.k8s.io/v1beta1", &[], &["RuntimeClass"]),
    ("policy/v1", &["PodDisruptionBudget"], &[]),
    ("policy/v1beta1", &["PodDisruptionBudget"], &["PodSecurityPolicy"]),
    ("rbac.authorization.k8s.io/v1", RBAC_NAMESPACED, RBAC_CLUSTER),
    ("rbac.authorization.k8s.io/v1beta1", RBAC_NAMESPACED, RBAC_CLUSTER),
    ("scheduling.k8s.io/v1", &[], &["PriorityClass"]),
    ("scheduling.k8s.io/v1beta1", &[], &["PriorityClass"]),
    ("storage.k8s.io/v1", &[], &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"]),
    (
        "storage.k8s.io/v1beta1",
        &["CSIStorageCapacity"],
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    ),
];

const WEBHOOKS: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
const RBAC_NAMESPACED: &[&str] = &["Role", "RoleBinding"];
const RBAC_CLUSTER: &[&str] = &["ClusterRole", "ClusterRoleBinding"];
