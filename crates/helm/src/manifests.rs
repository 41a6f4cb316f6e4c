//! From the templates' outputs to the documents `helm template` prints, in its order.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::dependencies::Node;
use crate::error::Error;
use crate::path_match::path_match;
use crate::yaml;

/// A document and the file it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The full name of the template or CRD file.
    pub path: String,
    /// The text of the document.
    pub content: String,
    kind: String,
}

/// A document that Helm runs at a certain moment instead of installing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The document.
    pub manifest: Manifest,
    /// When it runs: `pre-install`, `test` and so on.
    pub events: Vec<String>,
    /// `helm.sh/hook-weight`.
    pub weight: i64,
}

/// What a chart renders to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The files below crds/, if they were asked for.
    pub crds: Vec<Manifest>,
    /// What is to be installed, by kind.
    pub manifests: Vec<Manifest>,
    /// What runs at certain moments, by kind.
    pub hooks: Vec<Hook>,
}

impl Rendered {
    /// The output of `helm template`.
    pub fn text(&self) -> String {
        let mut installed = String::new();
        for manifest in self.crds.iter().chain(&self.manifests) {
            manifest.print(&mut installed);
        }
        let mut out = installed.trim().to_owned();
        out.push('\n');
        for hook in &self.hooks {
            hook.manifest.print(&mut out);
        }
        out
    }

    /// Every document in the order it is printed.
    pub fn documents(&self) -> impl Iterator<Item = &Manifest> {
        let hooks = self.hooks.iter().map(|hook| &hook.manifest);
        self.crds.iter().chain(&self.manifests).chain(hooks)
    }

    /// The output of `helm template --show-only`: the documents of the named templates, which may be
    /// patterns.
    pub fn show_only(&self, files: &[String]) -> Result<String, Error> {
        let text = self.text();
        let documents = split(&text);
        let mut out = String::new();
        for file in files {
            let mut is_missing = true;
            for document in &documents {
                let source = document.lines().find_map(|line| line.split_once("# Source: "));
                let Some((_, inside)) = source.and_then(|(_, path)| path.split_once('/')) else {
                    continue;
                };
                if path_match(file, inside) == Some(true) {
                    out.push_str(&format!("---\n{document}\n"));
                    is_missing = false;
                }
            }
            if is_missing {
                return Err(Error::Template(format!("could not find template {file} in chart")));
            }
        }
        Ok(out)
    }
}

impl Manifest {
    fn print(&self, out: &mut String) {
        out.push_str(&format!("---\n# Source: {}\n{}\n", self.path, self.content));
    }

    /// The kind its text names.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}

/// Sorts the outputs into hooks and manifests.
pub(crate) fn sort(outputs: &BTreeMap<String, String>) -> Result<Rendered, Error> {
    let mut rendered = Rendered::default();
    for (path, output) in outputs {
        if path.ends_with("NOTES.txt") {
            continue;
        }
        for document in split(output) {
            let head = Head::parse(document)
                .map_err(|reason| Error::Manifest { path: path.clone(), reason })?;
            let manifest =
                Manifest { path: path.clone(), content: document.to_owned(), kind: head.kind };
            match head.annotations.get("helm.sh/hook") {
                None => rendered.manifests.push(manifest),
                Some(events) => {
                    let Some(events) = known_events(events) else { continue };
                    let weight = head.annotations.get("helm.sh/hook-weight");
                    let weight = weight.and_then(|weight| weight.parse().ok()).unwrap_or(0);
                    rendered.hooks.push(Hook { manifest, events, weight });
                }
            }
        }
    }
    rendered.manifests.sort_by(|a, b| order(&a.kind).cmp(&order(&b.kind)));
    rendered.hooks.sort_by(|a, b| order(&a.manifest.kind).cmp(&order(&b.manifest.kind)));
    Ok(rendered)
}

/// The CRD files of a chart and of those below it.
pub(crate) fn crds(node: &Node<'_>, parent_path: Option<&str>, found: &mut Vec<Manifest>) {
    let path = match parent_path {
        None => node.name().to_owned(),
        Some(parent) => format!("{parent}/charts/{}", node.name()),
    };
    for file in &node.chart.files {
        let extension = file.name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let is_manifest = matches!(extension.as_str(), "yaml" | "yml" | "json");
        if file.name.starts_with("crds/") && is_manifest {
            found.push(Manifest {
                path: format!("{path}/{}", file.name),
                content: file.content.to_string(),
                kind: "CustomResourceDefinition".into(),
            });
        }
    }
    for child in &node.children {
        crds(child, Some(&path), found);
    }
}

/// The documents of a text: cut at every line that begins with three dashes, blank ones left out.
fn split(text: &str) -> Vec<&str> {
    let text = text.trim_start();
    let mut documents = Vec::new();
    let mut start = 0;
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(after) = line.strip_prefix("---") {
            documents.push(&text[start..line_start]);
            let blanks = after.len() - after.trim_start_matches([' ', '\t']).len();
            start = line_start + 3 + blanks;
        }
        line_start += line.len();
    }
    documents.push(&text[start..]);
    let documents = documents.into_iter().map(str::trim_start);
    documents.filter(|document| !document.is_empty()).collect()
}

fn known_events(annotation: &str) -> Option<Vec<String>> {
    let mut events = Vec::new();
    for event in annotation.split(',') {
        let event = event.trim().to_lowercase();
        match event.as_str() {
            "pre-install" | "post-install" | "pre-delete" | "post-delete" | "pre-upgrade"
            | "post-upgrade" | "pre-rollback" | "post-rollback" | "test" => events.push(event),
            "test-success" => events.push("test".into()),
            _ => return None,
        }
    }
    Some(events)
}

/// What must be known of a document to sort it.
struct Head {
    kind: String,
    annotations: BTreeMap<String, String>,
}

/// Go's name for the inner part of a head: that structure has none of its own.
const METADATA: &str = ".metadata";

impl Head {
    fn parse(document: &str) -> Result<Self, String> {
        const PARTS: [&str; 3] = ["apiVersion", "kind", "metadata"];
        let map = yaml::parse_parts(document, &PARTS, "util.SimpleHead")?;
        let text = |field: &str, place: &str, value: Option<&Json>| match value {
            None | Some(Json::Null) => Ok(String::new()),
            Some(value) => yaml::string_of(value).ok_or_else(|| {
                yaml::mismatch(value, &format!("struct field {place}.{field}"), "string")
            }),
        };
        text("apiVersion", "SimpleHead", map.get("apiVersion"))?;
        let kind = text("kind", "SimpleHead", map.get("kind"))?;
        let mut annotations = BTreeMap::new();
        match map.get("metadata") {
            None | Some(Json::Null) => {}
            Some(Json::Object(metadata)) => {
                text("name", METADATA, metadata.get("name"))?;
                match metadata.get("annotations") {
                    None | Some(Json::Null) => {}
                    Some(Json::Object(entries)) => {
                        for (key, value) in entries {
                            let value = text("annotations", METADATA, Some(value))?;
                            annotations.insert(key.clone(), value);
                        }
                    }
                    Some(other) => {
                        let place = format!("struct field {METADATA}.annotations");
                        return Err(yaml::mismatch(other, &place, "map[string]string"));
                    }
                }
            }
            Some(other) => {
                let type_name = "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }";
                return Err(yaml::mismatch(other, "struct field SimpleHead.metadata", type_name));
            }
        }
        Ok(Self { kind, annotations })
    }
}

/// Where a kind stands: known ones in the order of installation, then the others by name.
fn order(kind: &str) -> (usize, &str) {
    match INSTALL_ORDER.iter().position(|known| *known == kind) {
        Some(position) => (position, ""),
        None => (INSTALL_ORDER.len(), kind),
    }
}

/// The order in which Helm installs.
const INSTALL_ORDER: [&str; 38] = [
    "PriorityClass",
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
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_cut_at_dashes_and_blank_ones_left_out() {
        assert_eq!(split("\n---\na: 1\n---\n\n--- \nb: 2\n---c: 3"), ["a: 1\n", "b: 2\n", "c: 3"]);
        assert_eq!(split(" \n"), Vec::<&str>::new());
    }

    #[test]
    fn known_kinds_come_first_and_unknown_ones_by_name() {
        let outputs = [
            ("a", "kind: Zebra"),
            ("b", "kind: Service"),
            ("c", "kind: Apple"),
            ("d", "kind: Namespace"),
        ];
        let outputs = outputs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let rendered = sort(&outputs).expect("valid");
        let kinds: Vec<&str> = rendered.manifests.iter().map(Manifest::kind).collect();
        assert_eq!(kinds, ["Namespace", "Service", "Apple", "Zebra"]);
    }
}
