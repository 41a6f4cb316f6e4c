//! The hash that names of generated ConfigMaps and Secrets end in.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::error::{Result, invalid};
use crate::resource::Resource;
use crate::resources::Resources;
use crate::schema::Scopes;
use crate::yaml::Kind;
use crate::yaml::json::to_value;

/// Adds a hash to the names of the resources that want one.
pub(crate) fn add_to_names(resources: &mut Resources, scopes: &Scopes) -> Result<()> {
    if !resources.iter().any(|resource| resource.history.needs_hash) {
        return Ok(());
    }
    for resource in resources.as_mut() {
        if resource.history.needs_hash {
            let name = format!("{}-{}", resource.name(), hash(resource)?);
            resource.remember_id(scopes);
            resource.set_name(&name)?;
        }
    }
    Ok(())
}

/// Ten letters from the SHA-256 of the contents.
fn hash(resource: &Resource) -> Result<String> {
    let (fields, optional): (&[&str], &str) = match resource.kind() {
        "ConfigMap" => (&["data"], "binaryData"),
        "Secret" => (&["data", "type"], "stringData"),
        kind => return Err(invalid(format!("cannot hash a {kind}"))),
    };
    let mut contents = Map::new();
    contents.insert("kind".to_owned(), resource.kind().into());
    // Kustomize looks the name up in a place where it never is.
    contents.insert("name".to_owned(), "".into());
    for field in fields {
        contents.insert((*field).to_owned(), value(resource, field)?);
    }
    let extra = value(resource, optional)?;
    if extra.is_object() {
        contents.insert(optional.to_owned(), extra);
    }
    let mut text = String::new();
    crate::go_json::print(&Value::Object(contents), &mut text);
    Ok(letters(&Sha256::digest(text)))
}

fn value(resource: &Resource, field: &str) -> Result<Value> {
    match resource.node.field(field) {
        None => Ok("".into()),
        Some(node) if node.kind() == Kind::Scalar => Ok(node.text().into()),
        Some(node) => Ok(to_value(node)?),
    }
}

/// Hexadecimal digits, without those that could form words or look alike.
fn letters(digest: &[u8]) -> String {
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(10);
    digits.map(|digit| char::from(b"gh2k456789mbcdtf"[usize::from(digit)])).collect()
}
