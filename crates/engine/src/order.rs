//! The order of kinds within a wave: what others build on comes first.

/// Kinds in the order they are applied; all others follow.
const KINDS: [&str; 35] = [
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
];

/// The place of a kind in that order.
pub(crate) fn kind_rank(kind: &str) -> usize {
    KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_order() {
        let mut kinds = ["Ship", "Ingress", "Deployment", "Service", "Secret", "Pod", "Namespace"];
        kinds.sort_by_key(|it| kind_rank(it));
        let expect = ["Namespace", "Secret", "Service", "Pod", "Deployment", "Ingress", "Ship"];
        assert_eq!(kinds, expect);
    }
}
