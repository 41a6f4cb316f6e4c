//! Adding a value to fields: a plugin without a field in the kustomization.

use serde_json::Value;

use super::Context;
use super::namespace::{NamespaceTransformer, Subjects};
use crate::error::{Result, invalid};
use crate::fields::replace_scalar;
use crate::kustomization::decode::{Place, integer, list, object, string};
use crate::kustomization::parts::Selector;
use crate::resources::Resources;
use crate::yaml::path::{demand, lookup_or_create, split};
use crate::yaml::{Kind, Node};

/// Sets a value, or inserts it into a path that the field holds.
#[derive(Clone, Debug)]
pub(crate) struct ValueAddTransformer {
    pub(crate) value: String,
    pub(crate) targets: Vec<ValueTarget>,
}

/// A field of the chosen resources.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueTarget {
    selector: Option<Selector>,
    field_path: String,
    file_path_position: i64,
}

impl ValueTarget {
    pub(crate) fn read_list(value: &Value, place: &Place<'_>) -> Result<Vec<Self>> {
        list(value, place, "Target", Self::read)
    }

    fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("Target");
        let mut target = Self::default();
        object(value, &place, &["selector", "fieldPath", "filePathPosition"], |name, value| {
            let place = place.field(name);
            match name {
                "selector" if value.is_null() => {}
                "selector" => target.selector = Some(Selector::read(value, &place)?),
                "fieldPath" => target.field_path = string(value, &place)?,
                _ => target.file_path_position = integer(value, &place)?,
            }
            Ok(())
        })?;
        if target.field_path.is_empty() {
            return Err(invalid("fieldPath cannot be empty"));
        }
        if target.file_path_position < 0 {
            return Err(invalid(format!(
                "value of FilePathPosition ({}) cannot be negative",
                target.file_path_position
            )));
        }
        Ok(target)
    }
}

impl ValueAddTransformer {
    pub(crate) fn run(&self, resources: &mut Resources, context: &Context<'_>) -> Result<()> {
        for target in &self.targets {
            let chosen = match &target.selector {
                None => (0..resources.len()).collect(),
                Some(selector) => resources.select(selector, context.scopes)?,
            };
            for at in chosen {
                let node = &mut resources.as_mut()[at].node;
                if target.field_path == "metadata/namespace" {
                    let transformer = NamespaceTransformer {
                        namespace: self.value.clone(),
                        fields: Vec::new(),
                        unset_only: false,
                        subjects: Subjects::Default,
                    };
                    transformer.change(node, context.scopes)?;
                } else {
                    self.add(node, target)?;
                }
            }
        }
        Ok(())
    }

    fn add(&self, node: &mut Node, target: &ValueTarget) -> Result<()> {
        let path = split(&target.field_path, '/');
        let Some(field) = lookup_or_create(node, &path, Kind::Scalar)? else { return Ok(()) };
        demand(field, Kind::Scalar)?;
        let value = match usize::try_from(target.file_path_position) {
            Ok(position) if position > 0 => inserted(field.text(), position - 1, &self.value),
            _ => self.value.clone(),
        };
        replace_scalar(field, Node::untyped(value))
    }
}

/// Inserts a name into a path; a leading slash does not count as a place.
fn inserted(path: &str, position: usize, name: &str) -> String {
    let (root, relative) = match path.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", path),
    };
    let mut names: Vec<&str> = relative.split('/').filter(|name| !name.is_empty()).collect();
    names.insert(position.min(names.len()), name);
    format!("{root}{}", names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::inserted;

    #[test]
    fn a_name_is_inserted_into_a_path() {
        assert_eq!(inserted("/a/b", 1, "x"), "/a/x/b");
        assert_eq!(inserted("a/b", 0, "x"), "x/a/b");
        assert_eq!(inserted("a/b", 9, "x"), "a/b/x");
    }
}
