//! What an object looks like after Kubernetes' Go types have read and written it.
//!
//! Clients that decode an object into its type and encode it again change how it
//! looks: quantities become canonical, times lose their fractions, empty fields
//! vanish. [`round_trip`] does the same to a value, so that two spellings of one
//! object compare equal; [`fill_defaults`] fills in what an API server would.
//! Kinds that Go has no type for (custom resources) are nobody's business here.
//!
//! The facts come from the Go types themselves (`typed/types.txt`):
//!
//! ```text
//! kind apps/v1 Deployment apps.v1.Deployment    a kind and its type
//! type apps.v1.Deployment                       a type; its fields follow
//!  metadata @meta.v1.ObjectMeta!                a name and a shape
//!  spec @apps.v1.DeploymentSpec
//! ```
//!
//! Shapes: `text`, `bool`, `int32`, `int64`, `float`, `bytes`, `time`, `quantity`
//! and so on, `@name` a type, `[]` a list of, `{}` a mapping to, `&` a pointer to.
//! `!` at the end: written even when empty.

mod defaults;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use gocompat::quantity::Quantity;
use serde_json::{Map, Value};

use crate::{GroupVersionKind, Object};

/// The object as its Go type writes it, or none: its kind has no such type, or
/// it has a field that the type does not know, or a value that does not fit.
#[must_use]
pub fn round_trip(object: &Object) -> Option<Object> {
    let of = TYPES.of_kind(&object.group_version_kind())?;
    let fields = of.round_trip(object.fields())?;
    Object::from_value(Value::Object(fields)).ok()
}

/// Has the kind a Go type?
#[must_use]
pub fn is_known(kind: &GroupVersionKind) -> bool {
    TYPES.of_kind(kind).is_some()
}

/// Fills in the defaults that the API server would, where the kind is known. An
/// object with a value of the wrong type, which no server would take, is left
/// as it is.
pub fn fill_defaults(object: &mut Object) {
    if let Some(of) = TYPES.of_kind(&object.group_version_kind())
        && of.takes(object.fields())
    {
        defaults::fill(object.fields_mut(), of);
    }
}

/// The value as a named Go type writes it (`core/v1/PodSpec`, `core/Quantity`,
/// `meta/v1/Duration`); none if there is no such type or the value does not fit.
#[must_use]
pub fn round_trip_as(value: &Value, type_name: &str) -> Option<Value> {
    match type_name {
        "core/Quantity" => Shape::Quantity.written(value),
        "meta/v1/Duration" => Shape::Duration.written(value),
        "core/v1/ResourceList" => Shape::Map(Box::new(Shape::Quantity)).written(value),
        name => {
            let of = TYPES.types.get(&containing(name).replace('/', "."))?;
            Some(Value::Object(of.round_trip(value.as_object()?)?))
        }
    }
}

/// Types that occur only inside of others in Go are read as those.
fn containing(type_name: &str) -> &str {
    match type_name {
        "core/v1/VolumeSource" => "core/v1/Volume",
        "core/v1/PersistentVolumeSource" => "core/v1/PersistentVolumeSpec",
        "core/v1/ProbeHandler" => "core/v1/Probe",
        "core/v1/EphemeralContainerCommon" => "core/v1/EphemeralContainer",
        other => other,
    }
}

static TYPES: LazyLock<Types> = LazyLock::new(|| Types::read(include_str!("typed/types.txt")));

#[derive(Debug, Default)]
struct Types {
    kinds: BTreeMap<GroupVersionKind, String>,
    types: BTreeMap<String, Struct>,
}

#[derive(Debug, Default)]
struct Struct {
    name: String,
    fields: BTreeMap<String, Field>,
}

#[derive(Debug)]
struct Field {
    shape: Shape,
    /// Is it written even when empty?
    always: bool,
}

#[derive(Debug)]
enum Shape {
    Text,
    Bool,
    Int32,
    Int64,
    Float,
    Bytes,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    Any,
    Struct(String),
    List(Box<Self>),
    Map(Box<Self>),
    Pointer(Box<Self>),
}

impl Types {
    fn of_kind(&self, kind: &GroupVersionKind) -> Option<&Struct> {
        self.types.get(self.kinds.get(kind)?)
    }

    /// The table is ours and checked by a test, so a line that cannot be read is
    /// passed over.
    fn read(table: &str) -> Self {
        let mut types = Self::default();
        let mut current = String::new();
        for line in table.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match (line.starts_with(' '), words.as_slice()) {
                (true, [name, shape]) => {
                    let always = shape.ends_with('!');
                    let shape = Shape::read(shape.trim_end_matches('!'));
                    if let Some(of) = types.types.get_mut(&current) {
                        of.fields.insert((*name).to_owned(), Field { shape, always });
                    }
                }
                (false, ["kind", version, kind, name]) => {
                    let kind = GroupVersionKind::parse(version, kind);
                    types.kinds.insert(kind, (*name).to_owned());
                }
                (false, ["type", name]) => {
                    current = (*name).to_owned();
                    let of = Struct { name: current.clone(), fields: BTreeMap::new() };
                    types.types.insert(current.clone(), of);
                }
                _ => {}
            }
        }
        types
    }
}

impl Struct {
    /// Unknown fields are refused, as a strict decoder does.
    fn round_trip(&self, value: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut written = Map::new();
        for (name, value) in value {
            let field = self.fields.get(name)?;
            let value = field.shape.written(value)?;
            if field.always || !field.shape.is_empty(&value) {
                written.insert(name.clone(), value);
            }
        }
        Some(written)
    }
}

impl Struct {
    /// Have all fields that the type knows values that it can hold?
    fn takes(&self, value: &Map<String, Value>) -> bool {
        value
            .iter()
            .all(|(name, value)| self.fields.get(name).is_none_or(|field| field.shape.takes(value)))
    }

    /// Go writes structs inside structs even when they are empty.
    fn zero(&self) -> Map<String, Value> {
        let written = self
            .fields
            .iter()
            .filter(|(_, field)| field.always || matches!(field.shape, Shape::Struct(_)));
        written.map(|(name, field)| (name.clone(), field.shape.zero())).collect()
    }
}

impl Shape {
    fn read(word: &str) -> Self {
        if let Some(rest) = word.strip_prefix('&') {
            return Self::Pointer(Box::new(Self::read(rest)));
        }
        if let Some(rest) = word.strip_prefix("[]") {
            return Self::List(Box::new(Self::read(rest)));
        }
        if let Some(rest) = word.strip_prefix("{}") {
            return Self::Map(Box::new(Self::read(rest)));
        }
        if let Some(name) = word.strip_prefix('@') {
            return Self::Struct(name.to_owned());
        }
        match word {
            "text" => Self::Text,
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "float" => Self::Float,
            "bytes" => Self::Bytes,
            "time" => Self::Time,
            "microtime" => Self::MicroTime,
            "duration" => Self::Duration,
            "quantity" => Self::Quantity,
            "intorstring" => Self::IntOrString,
            _ => Self::Any,
        }
    }

    /// Decodes and encodes; none if the value is of another type.
    fn written(&self, value: &Value) -> Option<Value> {
        if value.is_null() {
            return Some(self.zero());
        }
        match (self, value) {
            (Self::Any, _) | (Self::Text, Value::String(_)) | (Self::Bool, Value::Bool(_)) => {
                Some(value.clone())
            }
            (Self::Int32 | Self::IntOrString, Value::Number(number)) => {
                i32::try_from(number.as_i64()?).ok().map(Value::from)
            }
            (Self::Int64, Value::Number(number)) => number.as_i64().map(Value::from),
            (Self::Float, Value::Number(_)) | (Self::IntOrString, Value::String(_)) => {
                Some(value.clone())
            }
            (Self::Bytes, Value::String(text)) => is_base64(text).then(|| value.clone()),
            (Self::Time, Value::String(text)) => time(text, "%Y-%m-%dT%H:%M:%SZ"),
            (Self::MicroTime, Value::String(text)) => time(text, "%Y-%m-%dT%H:%M:%S.%6fZ"),
            (Self::Duration, Value::String(text)) => {
                let read = gocompat::duration::Duration::parse(text).ok()?;
                Some(Value::String(read.to_string()))
            }
            (Self::Quantity, Value::String(text)) => quantity(text),
            (Self::Quantity, Value::Number(number)) => quantity(&number.to_string()),
            (Self::Struct(name), Value::Object(fields)) => {
                Some(Value::Object(TYPES.types.get(name)?.round_trip(fields)?))
            }
            (Self::List(of), Value::Array(items)) => {
                items.iter().map(|item| of.written(item)).collect::<Option<_>>().map(Value::Array)
            }
            (Self::Map(of), Value::Object(fields)) => {
                let entries =
                    fields.iter().map(|(key, value)| Some((key.clone(), of.written(value)?)));
                entries.collect::<Option<_>>().map(Value::Object)
            }
            (Self::Pointer(of), value) => of.written(value),
            _ => None,
        }
    }

    fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null) => true,
            (Self::Pointer(of), value) => of.takes(value),
            (Self::Struct(name), Value::Object(fields)) => {
                TYPES.types.get(name).is_none_or(|of| of.takes(fields))
            }
            (Self::List(of), Value::Array(items)) => items.iter().all(|item| of.takes(item)),
            (Self::Map(of), Value::Object(fields)) => fields.values().all(|it| of.takes(it)),
            (Self::Struct(_) | Self::List(_) | Self::Map(_), _) => false,
            (leaf, value) => leaf.written(value).is_some(),
        }
    }

    /// What Go holds where nothing was written.
    fn zero(&self) -> Value {
        match self {
            Self::Text | Self::Duration => Value::from(""),
            Self::Bool => Value::from(false),
            Self::Int32 | Self::Int64 | Self::Float | Self::IntOrString => Value::from(0),
            Self::Quantity => Value::from("0"),
            Self::Struct(name) => {
                Value::Object(TYPES.types.get(name).map(Struct::zero).unwrap_or_default())
            }
            Self::Bytes
            | Self::Time
            | Self::MicroTime
            | Self::Any
            | Self::List(_)
            | Self::Map(_)
            | Self::Pointer(_) => Value::Null,
        }
    }

    /// Would Go leave it out? Structs are never empty, pointers only when nil.
    fn is_empty(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Struct(_) | Self::Quantity | Self::IntOrString | Self::Duration, _) => false,
            (_, Value::Null) => true,
            (Self::Pointer(_) | Self::Any, _) => false,
            (_, Value::Bool(it)) => !it,
            (_, Value::Number(it)) => it.as_f64() == Some(0.0),
            (_, Value::String(it)) => it.is_empty(),
            (_, Value::Array(it)) => it.is_empty(),
            (_, Value::Object(it)) => it.is_empty(),
        }
    }
}

fn quantity(text: &str) -> Option<Value> {
    Some(Value::String(Quantity::parse(text).ok()?.to_string()))
}

fn time(text: &str, format: &str) -> Option<Value> {
    let read: jiff::Timestamp = text.parse().ok()?;
    Some(Value::String(read.strftime(format).to_string()))
}

/// Standard alphabet, padded; line breaks are let through, as Go does.
fn is_base64(text: &str) -> bool {
    let text: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = &text[..text.len() - padding];
    text.len().is_multiple_of(4)
        && padding <= 2
        && digits.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(object: Value, expect: Option<Value>) {
        let object = Object::from_value(object).expect("an object");
        assert_eq!(round_trip(&object).map(Object::into_value), expect);
    }

    fn pod(container: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": [container]}})
    }

    #[test]
    fn every_type_that_is_named_is_described() {
        let described = |shape: &Shape| {
            let mut shape = shape;
            loop {
                match shape {
                    Shape::List(of) | Shape::Map(of) | Shape::Pointer(of) => shape = of,
                    Shape::Struct(name) => return TYPES.types.contains_key(name),
                    _ => return true,
                }
            }
        };
        for (name, of) in &TYPES.types {
            for (field, it) in &of.fields {
                assert!(described(&it.shape), "{name}.{field}");
            }
        }
        assert!(TYPES.kinds.values().all(|name| TYPES.types.contains_key(name)));
        assert!(TYPES.kinds.len() > 80);
    }

    #[test]
    fn quantities_become_canonical() {
        check(
            pod(&json!({"name": "c", "resources": {"limits": {"cpu": "1000m", "memory": 1024}}})),
            Some(pod(
                &json!({"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1024"}}}),
            )),
        );
    }

    #[test]
    fn empty_fields_vanish_unless_they_are_pointers_or_structs() {
        check(
            pod(&json!({"name": "c", "stdin": false, "args": [], "resources": {},
                "securityContext": {"privileged": false}})),
            Some(pod(&json!({"name": "c", "resources": {},
                "securityContext": {"privileged": false}}))),
        );
    }

    #[test]
    fn nulls_vanish_where_an_empty_field_would() {
        check(
            pod(&json!({"name": "c", "args": null, "image": null})),
            Some(pod(&json!({"name": "c"}))),
        );
    }

    #[test]
    fn what_the_type_does_not_know_is_left_alone() {
        check(pod(&json!({"name": "c", "colour": "red"})), None);
        check(pod(&json!({"name": 1})), None);
        check(json!({"apiVersion": "example.org/v1", "kind": "Widget"}), None);
    }

    #[test]
    fn a_value_can_be_read_as_a_named_type() {
        assert_eq!(round_trip_as(&json!("0.5"), "core/Quantity"), Some(json!("500m")));
        assert_eq!(round_trip_as(&json!("3600s"), "meta/v1/Duration"), Some(json!("1h0m0s")));
        assert_eq!(
            round_trip_as(&json!({"containers": [], "hostNetwork": false}), "core/v1/PodSpec"),
            Some(json!({"containers": []}))
        );
        assert_eq!(round_trip_as(&json!({}), "core/v1/Nonsense"), None);
    }
}
