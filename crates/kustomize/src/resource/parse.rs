//! From the text of a file to its resources.

use serde_json::Value;

use crate::error::{BuildError, Context as _, Result, invalid};
use crate::resource::Resource;
use crate::yaml::json::{from_value, to_value};
use crate::yaml::{Node, parse};

/// Reads all resources of a text: several documents, and lists taken apart.
pub(crate) fn resources(text: &str) -> Result<Vec<Resource>> {
    let nodes = without_empty(parse::manifests(text)?)?;
    let nodes = take_lists_apart(nodes)?;
    Ok(nodes.into_iter().map(Resource::new).collect())
}

/// Reads bytes that should be UTF-8.
pub(crate) fn resources_from_bytes(bytes: &[u8]) -> Result<Vec<Resource>> {
    resources(utf8(bytes)?)
}

pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        BuildError::MalformedYaml(format!("yaml: invalid UTF-8 after byte {}", error.valid_up_to()))
    })
}

fn without_empty(nodes: Vec<Node>) -> Result<Vec<Node>> {
    let mut kept = Vec::with_capacity(nodes.len());
    for node in nodes {
        if node.is_empty() {
            continue;
        }
        validate(&node)?;
        kept.push(node);
    }
    Ok(kept)
}

/// A resource has a kind and a name; a list needs no name.
pub(crate) fn validate(node: &Node) -> Result<()> {
    let has_metadata = node.field("metadata").is_some_and(|metadata| !metadata.is_empty());
    let kind = node.field("kind").map_or("", Node::value);
    let api_version = node.field("apiVersion").map_or("", Node::value);
    if kind.is_empty() && api_version.is_empty() && !has_metadata {
        return Err(invalid("missing Resource metadata"));
    }
    let metadata = |field: &str| {
        node.at(&["metadata", field]).filter(|value| !value.is_empty()).map_or("", Node::text)
    };
    let describe = || {
        let resource = Resource::new(node.clone());
        let print = |map: std::collections::BTreeMap<String, String>| {
            let pairs: Vec<_> = map.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            format!("map[{}]", pairs.join(" "))
        };
        format!(
            "{{{{{api_version} {kind}}} {{{{{} {}}} {} {}}}}}",
            metadata("name"),
            metadata("namespace"),
            print(resource.labels()),
            print(resource.annotations()),
        )
    };
    if kind.is_empty() {
        return Err(invalid(format!("missing kind in object {}", describe())));
    }
    if !kind.ends_with("List") && metadata("name").is_empty() {
        return Err(invalid(format!("missing metadata.name in object {}", describe())));
    }
    Ok(())
}

/// Replaces every list by its items, which come after everything else.
fn take_lists_apart(nodes: Vec<Node>) -> Result<Vec<Node>> {
    let mut queue = std::collections::VecDeque::from(nodes);
    let mut result = Vec::new();
    while let Some(node) = queue.pop_front() {
        let kind = node.field("kind").map_or("", Node::text).to_owned();
        if !kind.ends_with("List") {
            result.push(node);
            continue;
        }
        let mut value = to_value(&node).context(|| format!("trouble expanding list of {kind}"))?;
        match value.as_object_mut().and_then(|map| map.remove("items")) {
            None => result.push(node),
            Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                queue.extend(without_empty(items.iter().map(from_value).collect())?);
            }
            Some(other) => {
                return Err(invalid(format!(
                    "expected array in {kind}/items, but found {}",
                    go_type(&other)
                )));
            }
        }
    }
    Ok(result)
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
