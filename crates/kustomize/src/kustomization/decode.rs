//! From the values of a YAML file to typed settings, with Go's messages.
//!
//! A kustomization file is read strictly: unknown fields and values of the
//! wrong type are errors. Configurations of builtin plugins are read the way
//! `sigs.k8s.io/yaml` reads them: unknown fields are ignored, and numbers and
//! booleans pass as strings.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{Result, invalid};
use crate::yaml::json::json_number_text;

/// How exact the input must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Strict,
    Lenient,
}

/// Where in the input a value stands, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    pub(crate) mode: Mode,
    /// The structure that has the field.
    structure: &'static str,
    /// The structure that the value fills, if it is an object.
    fills: &'static str,
    parent: Option<&'p Self>,
    field: &'static str,
}

impl<'p> Place<'p> {
    /// The root of an input that fills the named structure.
    pub(crate) fn root(mode: Mode, structure: &'static str) -> Self {
        Self { mode, structure, fills: structure, parent: None, field: "" }
    }

    /// A field of the structure at this place.
    pub(crate) fn field(&'p self, field: &'static str) -> Self {
        let structure = self.fills;
        Place { mode: self.mode, structure, fills: structure, parent: Some(self), field }
    }

    /// The same place, filling another structure.
    pub(crate) fn filling(&self, structure: &'static str) -> Self {
        Place { fills: structure, ..*self }
    }

    fn path(&self) -> String {
        match self.parent {
            None => String::new(),
            Some(parent) => {
                let path = parent.path();
                if path.is_empty() {
                    self.field.to_owned()
                } else {
                    format!("{path}.{}", self.field)
                }
            }
        }
    }

    fn mismatch(&self, value: &Value, go_type: &str) -> crate::BuildError {
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let path = self.path();
        if path.is_empty() {
            return invalid(format!(
                "json: cannot unmarshal {found} into Go value of type types.{}",
                self.structure
            ));
        }
        invalid(format!(
            "json: cannot unmarshal {found} into Go struct field {}.{path} of type {go_type}",
            self.structure
        ))
    }
}

/// Visits the fields of an object in order; `visit` gets the field's name as
/// it is in `names`, whatever its case in the input.
pub(crate) fn object<'v>(
    value: &'v Value,
    place: &Place<'_>,
    names: &'static [&'static str],
    mut visit: impl FnMut(&'static str, &'v Value) -> Result<()>,
) -> Result<()> {
    let map = match value {
        Value::Null => return Ok(()),
        Value::Object(map) => map,
        other => return Err(place.mismatch(other, &format!("types.{}", place.fills))),
    };
    for (key, value) in map {
        let known = names
            .iter()
            .find(|name| *name == key)
            .or_else(|| names.iter().find(|name| name.eq_ignore_ascii_case(key)));
        match known {
            Some(name) => visit(name, value)?,
            None if place.mode == Mode::Strict => {
                return Err(invalid(format!("json: unknown field {}", Value::from(key.as_str()))));
            }
            None => {}
        }
    }
    Ok(())
}

pub(crate) fn string(value: &Value, place: &Place<'_>) -> Result<String> {
    match value {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Bool(flag) if place.mode == Mode::Lenient => Ok(flag.to_string()),
        Value::Number(number) if place.mode == Mode::Lenient => Ok(json_number_text(number)),
        other => Err(place.mismatch(other, "string")),
    }
}

pub(crate) fn boolean(value: &Value, place: &Place<'_>) -> Result<bool> {
    match value {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(*flag),
        other => Err(place.mismatch(other, "bool")),
    }
}

pub(crate) fn integer(value: &Value, place: &Place<'_>) -> Result<i64> {
    match value {
        Value::Null => Ok(0),
        Value::Number(number) => number.as_i64().ok_or_else(|| place.mismatch(value, "int64")),
        other => Err(place.mismatch(other, "int64")),
    }
}

pub(crate) fn strings(value: &Value, place: &Place<'_>) -> Result<Vec<String>> {
    list(value, place, "string", string)
}

/// Reads every element of an array.
pub(crate) fn list<T>(
    value: &Value,
    place: &Place<'_>,
    go_type: &str,
    read: impl Fn(&Value, &Place<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items.iter().map(|item| read(item, place)).collect(),
        other => Err(place.mismatch(other, &format!("[]{go_type}"))),
    }
}

pub(crate) fn string_map(value: &Value, place: &Place<'_>) -> Result<BTreeMap<String, String>> {
    match value {
        Value::Null => Ok(BTreeMap::new()),
        Value::Object(map) => {
            map.iter().map(|(key, value)| Ok((key.clone(), string(value, place)?))).collect()
        }
        other => Err(place.mismatch(other, "map[string]string")),
    }
}

/// Demands an object without looking into it.
pub(crate) fn any_object(value: &Value, place: &Place<'_>) -> Result<Map<String, Value>> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(map) => Ok(map.clone()),
        other => Err(place.mismatch(other, "map[string]interface {}")),
    }
}
