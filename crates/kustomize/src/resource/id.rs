//! What makes two resources the same one for Kustomize.

use std::fmt;

/// Kustomize's stand-in for the namespace of cluster-scoped resources.
pub(crate) const NO_NAMESPACE: &str = "_non_namespaceable_";

/// Group, version and kind; an empty part of a selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gvk {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

impl Gvk {
    pub(crate) fn new(group: &str, version: &str, kind: &str) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Reads `apps/v1` and a kind.
    pub(crate) fn parse(api_version: &str, kind: &str) -> Self {
        let (group, version) = split_api_version(api_version);
        Self::new(group, version, kind)
    }

    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Is this one of what the selector names?
    pub(crate) fn is_selected_by(&self, selector: &Self) -> bool {
        selects(selector, &self.group, &self.version, &self.kind)
    }
}

/// Does a selector with possibly empty parts name this kind?
pub(crate) fn selects(selector: &Gvk, group: &str, version: &str, kind: &str) -> bool {
    (selector.group.is_empty() || selector.group == group)
        && (selector.version.is_empty() || selector.version == version)
        && (selector.kind.is_empty() || selector.kind == kind)
}

/// Splits `apps/v1` into group and version.
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// `Deployment.v1.apps`, with placeholders for what is empty.
impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |part: &str, placeholder: &'static str| {
            if part.is_empty() { placeholder.to_owned() } else { part.to_owned() }
        };
        let kind = or(&self.kind, "[noKind]");
        let version = or(&self.version, "[noVer]");
        let group = or(&self.group, "[noGrp]");
        write!(f, "{kind}.{version}.{group}")
    }
}

/// The identity of a resource at some point of its way through the build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceId {
    pub(crate) gvk: Gvk,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) is_cluster_scoped: bool,
}

impl ResourceId {
    /// The namespace that counts: `default` if none, a stand-in for
    /// cluster-scoped resources.
    pub(crate) fn effective_namespace(&self) -> &str {
        effective_namespace(&self.namespace, self.is_cluster_scoped)
    }

    pub(crate) fn same_kind_and_name(&self, other: &Self) -> bool {
        self.name == other.name && self.gvk == other.gvk
    }

    pub(crate) fn same_namespace(&self, other: &Self) -> bool {
        self.effective_namespace() == other.effective_namespace()
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        self.same_namespace(other) && self.same_kind_and_name(other)
    }
}

/// An identity, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdParts<'r> {
    pub(crate) group: &'r str,
    pub(crate) version: &'r str,
    pub(crate) kind: &'r str,
    pub(crate) name: &'r str,
    pub(crate) namespace: &'r str,
}

pub(crate) fn effective_namespace(namespace: &str, is_cluster_scoped: bool) -> &str {
    if is_cluster_scoped {
        NO_NAMESPACE
    } else if namespace.is_empty() {
        "default"
    } else {
        namespace
    }
}

/// `Deployment.v1.apps/web.shop`.
impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "[noName]" } else { &self.name };
        let namespace = if self.namespace.is_empty() { "[noNs]" } else { &self.namespace };
        write!(f, "{}/{name}.{namespace}", self.gvk)
    }
}

/// What no two resources of one build may share: name, namespace that counts,
/// group, version and kind, in one text with the places where its parts end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IdKey {
    text: Box<str>,
    ends: [usize; 4],
}

impl IdKey {
    pub(crate) fn new(id: &IdParts<'_>, is_cluster_scoped: bool) -> Self {
        let namespace = effective_namespace(id.namespace, is_cluster_scoped);
        let parts = [id.name, namespace, id.group, id.version, id.kind];
        let mut end = 0;
        let ends = [0, 1, 2, 3].map(|at| {
            end += parts[at].len();
            end
        });
        Self { text: parts.concat().into(), ends }
    }
}

#[cfg(test)]
mod tests {
    use super::{IdKey, IdParts};

    #[test]
    fn keys_differ_where_their_parts_do() {
        let id = IdParts { group: "", version: "v1", kind: "A", name: "ab", namespace: "c" };
        let key = IdKey::new(&id, false);
        assert_eq!(key, IdKey::new(&id, false));
        assert_ne!(key, IdKey::new(&IdParts { name: "a", namespace: "bc", ..id }, false));
        assert_ne!(key, IdKey::new(&IdParts { group: "v", version: "1", ..id }, false));
        assert_ne!(key, IdKey::new(&id, true));
    }
}
