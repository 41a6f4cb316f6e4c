//! Where resources came from and what changed them, as annotations: the
//! `buildMetadata` options `originAnnotations` and `transformerAnnotations`.

use crate::error::Result;
use crate::remote::RemoteBase;
use crate::resource::Resource;
use crate::resources::Resources;
use crate::yaml::path::{lookup_or_create, set_string};
use crate::yaml::print_node::print_node;
use crate::yaml::{Kind, Node, parse};

/// The annotation with the origin of a resource.
pub(crate) const ORIGIN: &str = "config.kubernetes.io/origin";
/// The annotation with the transformers that changed a resource.
pub(crate) const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";

/// A file in the tree or in a repository, or the plugin that made something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) path: String,
    repository: String,
    reference: String,
    configured_in: String,
    configured_by: Option<Configured>,
}

/// The resource that configures a plugin.
#[derive(Clone, Debug, Default)]
struct Configured {
    api_version: String,
    kind: String,
    name: String,
    namespace: String,
}

impl Origin {
    /// The origin of what `path` names, seen from this one.
    pub(crate) fn append(&self, path: &str) -> Self {
        let mut origin = self.clone();
        match RemoteBase::parse(path) {
            Some(base) => {
                origin.repository = base.clone_url;
                origin.reference = base.reference;
                origin.path = base.path;
            }
            None => origin.path = joined(&self.path, path),
        }
        origin
    }

    /// The origin of what a builtin plugin makes by a field of a kustomization.
    pub(crate) fn of_builtin(&self, file_name: &str, plugin: &str) -> Self {
        Self {
            path: String::new(),
            repository: self.repository.clone(),
            reference: self.reference.clone(),
            configured_in: joined(&self.path, file_name),
            configured_by: Some(Configured {
                api_version: "builtin".to_owned(),
                kind: plugin.to_owned(),
                ..Configured::default()
            }),
        }
    }

    /// The origin of what a plugin makes that a resource configures.
    pub(crate) fn of_plugin(config: &Resource) -> Option<Self> {
        let origin = Self::of(config)?;
        Some(Self {
            path: String::new(),
            repository: origin.repository,
            reference: origin.reference,
            configured_in: origin.path,
            configured_by: Some(Configured {
                api_version: config.api_version().to_owned(),
                kind: config.kind().to_owned(),
                name: config.name().to_owned(),
                namespace: config.namespace().to_owned(),
            }),
        })
    }

    fn of(resource: &Resource) -> Option<Self> {
        let text = resource.annotation(ORIGIN)?;
        let node = parse::document(text.as_bytes()).ok()??;
        let field = |name: &str| node.field(name).map_or("", Node::value).to_owned();
        Some(Self {
            path: field("path"),
            repository: field("repo"),
            reference: field("ref"),
            configured_in: field("configuredIn"),
            configured_by: None,
        })
    }

    /// Notes this as the origin of a resource.
    pub(crate) fn annotate(&self, resource: &mut Resource) -> Result<()> {
        Ok(resource.set_annotation(ORIGIN, &print_node(&self.node()))?)
    }

    /// Notes this as the origin of a resource that was just read, and leaves
    /// its other annotations as they are written.
    pub(crate) fn annotate_read(&self, resource: &mut Resource) -> Result<()> {
        let path = ["metadata", "annotations"];
        if let Some(annotations) = lookup_or_create(&mut resource.node, &path, Kind::Mapping)? {
            set_string(annotations, ORIGIN, &print_node(&self.node()))?;
        }
        Ok(())
    }

    fn node(&self) -> Node {
        let mut node = Node::empty(Kind::Mapping);
        let mut put = |name: &str, text: &str| {
            if !text.is_empty() {
                node.put(name, crate::yaml::json::printed_string(text));
            }
        };
        put("path", &self.path);
        put("repo", &self.repository);
        put("ref", &self.reference);
        put("configuredIn", &self.configured_in);
        if let Some(by) = &self.configured_by {
            let mut inner = Node::empty(Kind::Mapping);
            for (name, text) in [
                ("apiVersion", &by.api_version),
                ("kind", &by.kind),
                ("name", &by.name),
                ("namespace", &by.namespace),
            ] {
                if !text.is_empty() {
                    inner.put(name, crate::yaml::json::printed_string(text));
                }
            }
            node.put("configuredBy", inner);
        }
        node
    }

    /// Notes on all resources that a transformer with this origin ran. A
    /// resource without origin came from the transformer.
    pub(crate) fn annotate_transformed(&self, resources: &mut Resources) -> Result<()> {
        for resource in resources.as_mut() {
            if resource.annotation(ORIGIN).is_none() {
                self.annotate(resource)?;
                continue;
            }
            let mut text = resource.annotation(TRANSFORMATIONS).unwrap_or_default().to_owned();
            text.push_str(&print_node(&Node::sequence(vec![self.node()])));
            resource.set_annotation(TRANSFORMATIONS, &text)?;
        }
        Ok(())
    }
}

/// Joins and cleans; a path may lead above where the build began.
fn joined(base: &str, path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in base.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join("/")
}
