//! What makes two objects the same object, and two kinds the same kind.
//!
//! The version is no part of an identity: `extensions/v1beta1` and
//! `networking.k8s.io/v1` are views, `apps/Deployment` is the thing.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An API group and a kind, such as `apps/Deployment`. The core group is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind, as written in manifests.
    pub kind: String,
}

impl GroupKind {
    /// Joins the two parts.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), kind: kind.into() }
    }

    /// Is this the kind `kind` of the group `group`?
    #[must_use]
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.kind)
        } else {
            write!(f, "{}/{}", self.group, self.kind)
        }
    }
}

/// A [`GroupKind`] seen through one of its versions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, as written in manifests.
    pub kind: String,
}

impl GroupVersionKind {
    /// Reads `apps/v1` or `v1` and a kind.
    #[must_use]
    pub fn parse(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// `apps/v1`, or `v1` for the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The same kind without its version.
    #[must_use]
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.api_version(), self.kind)
    }
}

/// The identity of one object in one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ResourceKey {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind, as written in manifests.
    pub kind: String,
    /// The namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ResourceKey {
    /// Joins a kind, a namespace (empty for cluster-scoped) and a name.
    pub fn new(kind: &GroupKind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The kind of the object.
    #[must_use]
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }
}

/// `apps/Deployment web/guestbook`; cluster-scoped: `Namespace web`.
impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.group_kind())?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_group_has_no_name() {
        let pod = GroupVersionKind::parse("v1", "Pod");
        assert_eq!(pod.group_kind(), GroupKind::new("", "Pod"));
        assert_eq!(pod.api_version(), "v1");
        assert_eq!(pod.to_string(), "v1/Pod");
    }

    #[test]
    fn a_key_reads_as_people_say_it() {
        let deployment = GroupKind::new("apps", "Deployment");
        assert_eq!(
            ResourceKey::new(&deployment, "web", "guestbook").to_string(),
            "apps/Deployment web/guestbook"
        );
        assert_eq!(
            ResourceKey::new(&GroupKind::new("", "Namespace"), "", "web").to_string(),
            "Namespace web"
        );
    }
}
