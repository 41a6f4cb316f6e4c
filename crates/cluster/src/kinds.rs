//! What an API server serves: which kinds, in which versions, under which paths.
//!
//! [`Kinds`] is a value: a snapshot of one discovery. [`crate::discovery`]
//! makes it, [`crate::Cluster`] keeps the current one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use object::{GroupKind, GroupVersionKind};

/// One kind in one version, as the API server serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, as written in manifests.
    pub kind: String,
    /// The plural in URLs, such as `deployments`.
    pub plural: String,
    /// Do its objects live in namespaces?
    pub namespaced: bool,
    /// What may be asked of it: `get`, `list`, `watch`, `patch` and so on.
    pub verbs: Vec<String>,
}

impl ApiKind {
    /// A kind whose shape is known beforehand, with every usual verb.
    #[must_use]
    pub fn known(gvk: &GroupVersionKind, plural: &str, namespaced: bool) -> Self {
        let verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
        Self {
            group: gvk.group.clone(),
            version: gvk.version.clone(),
            kind: gvk.kind.clone(),
            plural: plural.to_owned(),
            namespaced,
            verbs: verbs.map(str::to_owned).to_vec(),
        }
    }

    /// Group and kind.
    #[must_use]
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }

    /// Group, version and kind.
    #[must_use]
    pub fn group_version_kind(&self) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
        }
    }

    /// `apps/v1`, or `v1` for the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        self.group_version_kind().api_version()
    }

    /// May objects of this kind be listed and watched?
    #[must_use]
    pub fn is_watchable(&self) -> bool {
        ["list", "watch"].iter().all(|verb| self.verbs.iter().any(|it| it == verb))
    }

    /// The collection: in one namespace, or (empty namespace) everywhere.
    pub(crate) fn collection_path(&self, namespace: &str) -> String {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if self.namespaced && !namespace.is_empty() {
            path.push_str("/namespaces/");
            push_segment(&mut path, namespace);
        }
        path.push('/');
        push_segment(&mut path, &self.plural);
        path
    }

    /// One object, or one of its subresources.
    pub(crate) fn object_path(
        &self,
        namespace: &str,
        name: &str,
        subresource: Option<&str>,
    ) -> String {
        let mut path = self.collection_path(namespace);
        path.push('/');
        push_segment(&mut path, name);
        if let Some(subresource) = subresource {
            path.push('/');
            push_segment(&mut path, subresource);
        }
        path
    }
}

/// Appends one path segment or query value, escaping what URLs do not take as it stands.
///
/// Names of RBAC objects may hold almost anything, so a name is never trusted to be a safe segment.
pub(crate) fn push_segment(url: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                url.push(char::from(byte));
            }
            _ => write!(url, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
    }
}

/// Every kind that an API server served when it was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Versions of a kind, the preferred one first.
    by_kind: BTreeMap<GroupKind, Vec<Arc<ApiKind>>>,
    /// Group versions whose server did not answer; their kinds are those of the last good answer.
    pub(crate) unavailable: Vec<String>,
}

impl Kinds {
    /// The kind in exactly this version.
    #[must_use]
    pub fn find(&self, gvk: &GroupVersionKind) -> Option<&Arc<ApiKind>> {
        self.versions(&gvk.group_kind()).iter().find(|it| it.version == gvk.version)
    }

    /// The kind in the version that the server prefers.
    #[must_use]
    pub fn preferred(&self, kind: &GroupKind) -> Option<&Arc<ApiKind>> {
        self.versions(kind).first()
    }

    /// Every version of the kind, the preferred one first; empty when it is not served.
    #[must_use]
    pub fn versions(&self, kind: &GroupKind) -> &[Arc<ApiKind>] {
        self.by_kind.get(kind).map_or(&[], Vec::as_slice)
    }

    /// Is anything served under this `group/version`?
    #[must_use]
    pub fn serves(&self, api_version: &str) -> bool {
        self.by_kind.values().flatten().any(|it| it.api_version() == api_version)
    }

    /// Every kind once, in its preferred version.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ApiKind>> {
        self.by_kind.values().filter_map(|versions| versions.first())
    }

    /// Every `group/version` and `group/version/Kind`, sorted: what charts and plugins are told as API versions.
    ///
    /// As in Argo CD, kinds of which no object can be kept (reviews, bindings) are none of them.
    #[must_use]
    pub fn api_versions(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .by_kind
            .values()
            .flatten()
            .filter(|it| it.is_watchable())
            .flat_map(|it| [it.api_version(), it.group_version_kind().to_string()])
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Group versions (`metrics.k8s.io/v1beta1`) whose server did not answer the last discovery.
    #[must_use]
    pub fn unavailable(&self) -> &[String] {
        &self.unavailable
    }

    /// Adds a kind after those already there: call in order of preference.
    pub(crate) fn add(&mut self, kind: ApiKind) {
        self.by_kind.entry(kind.group_kind()).or_default().push(Arc::new(kind));
    }

    /// The kinds of one group version.
    pub(crate) fn served_by(&self, api_version: &str) -> Vec<ApiKind> {
        let of_version =
            self.by_kind.values().flatten().filter(|it| it.api_version() == api_version);
        of_version.map(|it| ApiKind::clone(it)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_path(kind: &ApiKind, namespace: &str, name: &str, expect: &str) {
        assert_eq!(kind.object_path(namespace, name, None), expect);
    }

    fn kind(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> ApiKind {
        ApiKind::known(&GroupVersionKind::parse(api_version, kind), plural, namespaced)
    }

    #[test]
    fn paths_follow_group_and_scope() {
        let config_map = kind("v1", "ConfigMap", "configmaps", true);
        let deployment = kind("apps/v1", "Deployment", "deployments", true);
        let node = kind("v1", "Node", "nodes", false);
        check_path(&config_map, "web", "a", "/api/v1/namespaces/web/configmaps/a");
        check_path(&deployment, "web", "a", "/apis/apps/v1/namespaces/web/deployments/a");
        check_path(&node, "ignored", "a", "/api/v1/nodes/a");
    }

    #[test]
    fn a_name_cannot_leave_its_place_in_the_path() {
        let role = kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false);
        let base = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        check_path(&role, "", "system:node", &format!("{base}/system:node"));
        check_path(&role, "", "../x?y=1", &format!("{base}/..%2Fx%3Fy%3D1"));
    }

    #[test]
    fn the_first_version_added_is_the_preferred_one() {
        let mut kinds = Kinds::default();
        kinds.add(kind(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            true,
        ));
        kinds.add(kind(
            "autoscaling/v1",
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            true,
        ));
        let scaler = GroupKind::new("autoscaling", "HorizontalPodAutoscaler");
        assert_eq!(kinds.preferred(&scaler).expect("served").version, "v2");
        let older = GroupVersionKind::parse("autoscaling/v1", "HorizontalPodAutoscaler");
        assert_eq!(kinds.find(&older).expect("served").version, "v1");
        assert!(kinds.serves("autoscaling/v1") && !kinds.serves("autoscaling/v3"));
    }

    #[test]
    fn charts_are_told_every_version_of_what_can_be_listed_and_watched() {
        let mut kinds = Kinds::default();
        let scalers = "horizontalpodautoscalers";
        kinds.add(kind("autoscaling/v2", "HorizontalPodAutoscaler", scalers, true));
        kinds.add(kind("autoscaling/v1", "HorizontalPodAutoscaler", scalers, true));
        let review = kind("authentication.k8s.io/v1", "TokenReview", "tokenreviews", false);
        kinds.add(ApiKind { verbs: vec!["create".into()], ..review });
        assert_eq!(
            kinds.api_versions(),
            [
                "autoscaling/v1",
                "autoscaling/v1/HorizontalPodAutoscaler",
                "autoscaling/v2",
                "autoscaling/v2/HorizontalPodAutoscaler"
            ]
        );
    }
}
