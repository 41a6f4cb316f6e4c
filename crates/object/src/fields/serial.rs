//! `FieldsV1`: a set as a JSON tree, each step an entry with a typed name.
//!
//! `f:name` is a field, `k:{...}` a list element by key, `v:...` one by value,
//! `i:0` one by position. An entry without children is a member; one with
//! children is a member only if it also holds `.`.

use serde_json::{Map, Value};

use super::{Entry, FieldSet, PathElement};

/// Why a tree is no field set.
#[derive(Debug, thiserror::Error)]
pub enum NotFieldsV1 {
    /// The tree, or something in it, is no mapping.
    #[error("a set of fields is a mapping")]
    NotAMapping,
    /// The name of an entry cannot be read.
    #[error("{0:?} names no field, list element or position")]
    BadElement(String),
}

impl FieldSet {
    /// Reads `fieldsV1` of an entry of `metadata.managedFields`.
    ///
    /// Kinds of steps that are unknown here are left out, as other readers do.
    ///
    /// # Errors
    /// When the tree is no field set.
    pub fn from_json(tree: &Value) -> Result<Self, NotFieldsV1> {
        let children = tree.as_object().ok_or(NotFieldsV1::NotAMapping)?;
        let mut set = Self::new();
        for (name, child) in children.iter().filter(|(name, _)| *name != ".") {
            let Some(element) = read_element(name)? else { continue };
            let below = Self::from_json(child)?;
            let member = below.is_empty() || child.get(".").is_some();
            set.entries.insert(element, Entry { member, below });
        }
        Ok(set)
    }

    /// The set as `fieldsV1` holds it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let entries = self.entries.iter().map(|(element, entry)| {
            let mut child = entry.below.to_json();
            if let Value::Object(child) = &mut child
                && entry.member
                && !child.is_empty()
            {
                child.insert(".".to_owned(), Value::Object(Map::new()));
            }
            (write_element(element), child)
        });
        Value::Object(entries.collect())
    }
}

/// `None` for a kind of step that a later version may have added.
fn read_element(name: &str) -> Result<Option<PathElement>, NotFieldsV1> {
    let bad = || NotFieldsV1::BadElement(name.to_owned());
    let (kind, content) =
        name.split_once(':').filter(|(kind, _)| kind.len() == 1).ok_or_else(bad)?;
    let element = match kind {
        "f" => PathElement::Field(content.to_owned()),
        "v" => PathElement::Value(serde_json::from_str(content).map_err(|_| bad())?),
        "i" => PathElement::Index(content.parse().map_err(|_| bad())?),
        "k" => {
            let fields: Map<String, Value> = serde_json::from_str(content).map_err(|_| bad())?;
            PathElement::Key(fields.into_iter().collect())
        }
        _ => return Ok(None),
    };
    Ok(Some(element))
}

fn write_element(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Value(value) => format!("v:{value}"),
        PathElement::Index(index) => format!("i:{index}"),
        PathElement::Key(fields) => {
            let fields: Map<String, Value> = fields.iter().cloned().collect();
            format!("k:{}", Value::Object(fields))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_be_read_is_named() {
        let refused = |tree| FieldSet::from_json(&tree).unwrap_err().to_string();
        assert_eq!(refused(json!([])), "a set of fields is a mapping");
        assert_eq!(refused(json!({"f:a": 1})), "a set of fields is a mapping");
        for name in ["spec", "k:{", "k:1", "v:{", "i:x", "", "f", "ff:a"] {
            assert_eq!(
                refused(json!({name: {}})),
                format!("{name:?} names no field, list element or position")
            );
        }
    }

    #[test]
    fn steps_of_a_later_version_are_skipped() {
        let set = FieldSet::from_json(&json!({"z:new": {}, "f:a": {}})).unwrap();
        assert_eq!(set.to_json(), json!({"f:a": {}}));
    }
}
