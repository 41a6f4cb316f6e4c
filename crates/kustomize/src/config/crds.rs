//! Field tables from `crds` files: OpenAPI definitions of custom resources
//! whose extensions say which fields hold names, labels or annotations.

use serde_json::{Map, Value};

use super::{Config, NameReference, merge_specs};
use crate::error::{Context as _, Result};
use crate::kustomization::config_value;
use crate::kustomization::parts::FieldSpec;
use crate::resource::id::Gvk;

/// Definitions may refer to each other only so deep.
const DEPTH_LIMIT: usize = 32;

/// Reads one file.
pub(crate) fn read(bytes: &[u8], path: &str) -> Result<Config> {
    let value = config_value(bytes)
        .context(|| format!("unable to parse open API definition from '{path}'"))?;
    let mut config = Config::default();
    let Value::Object(definitions) = value else { return Ok(config) };
    for (name, definition) in &definitions {
        let Some(properties) = properties(definition) else { continue };
        if ["kind", "apiVersion", "metadata"].iter().all(|name| properties.contains_key(*name)) {
            let kind = name.rsplit('.').next().unwrap_or_default();
            let mut reader = Reader { definitions: &definitions, kind, config: &mut config };
            reader.definition(name, &mut Vec::new())?;
        }
    }
    Ok(config)
}

fn properties(definition: &Value) -> Option<&Map<String, Value>> {
    let schema = definition.get("Schema").or_else(|| definition.get("schema"))?;
    schema.get("properties")?.as_object()
}

struct Reader<'r> {
    definitions: &'r Map<String, Value>,
    kind: &'r str,
    config: &'r mut Config,
}

impl Reader<'_> {
    fn definition(&mut self, name: &str, path: &mut Vec<String>) -> Result<()> {
        if path.len() > DEPTH_LIMIT {
            return Ok(());
        }
        let Some(properties) = self.definitions.get(name).and_then(properties) else {
            return Ok(());
        };
        for (field, property) in properties {
            path.push(field.clone());
            self.property(property, path)?;
            if let Some(reference) = property.get("$ref").and_then(Value::as_str) {
                self.definition(reference, path)?;
            }
            path.pop();
        }
        Ok(())
    }

    fn property(&mut self, property: &Value, path: &[String]) -> Result<()> {
        let text = |extension: &str| property.get(extension).and_then(Value::as_str);
        let here = [self.spec(path)];
        if text("x-kubernetes-annotation").is_some() {
            merge_specs(&mut self.config.common_annotations, &here)?;
        }
        if text("x-kubernetes-label-selector").is_some() {
            merge_specs(&mut self.config.common_labels, &here)?;
        }
        if text("x-kubernetes-identity").is_some() {
            merge_specs(&mut self.config.name_prefix, &here)?;
        }
        let version = text("x-kubernetes-object-ref-api-version");
        let kind = text("x-kubernetes-object-ref-kind");
        if let (Some(version), Some(kind)) = (version, kind) {
            let key = text("x-kubernetes-object-ref-name-key").unwrap_or("name");
            let mut path = path.to_vec();
            path.push(key.to_owned());
            let referrers = vec![self.spec(&path)];
            let target = Gvk::new("", version, kind);
            self.config.add_name_reference(&NameReference { target, referrers })?;
        }
        Ok(())
    }

    fn spec(&self, path: &[String]) -> FieldSpec {
        FieldSpec::new(Gvk::new("", "", self.kind), path.join("/"), false)
    }
}
