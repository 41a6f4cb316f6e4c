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

/// One step from a value to what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'n> {
    /// Into a mapping.
    Field(&'n str),
    /// Into a list, wherever in it.
    Element,
}

/// Is what stands at `path` in objects of this kind a text, which may be any?
#[must_use]
pub fn is_text(kind: &GroupVersionKind, path: &[Step<'_>]) -> bool {
    let shape = TYPES.of_kind(kind).and_then(|of| of.shape_at(path));
    shape.is_some_and(|it| matches!(it, Shape::Text))
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
            let of = TYPES.at(*TYPES.names.get(&containing(name).replace('/', "."))?);
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
    kinds: BTreeMap<GroupVersionKind, TypeId>,
    names: BTreeMap<String, TypeId>,
    /// By id, so that nobody has to look for a name once the table is read.
    types: Vec<Struct>,
}

/// Which of the types of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TypeId(usize);

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
    Struct(TypeId),
    List(Box<Self>),
    Map(Box<Self>),
    Pointer(Box<Self>),
}

impl Types {
    fn of_kind(&self, kind: &GroupVersionKind) -> Option<&Struct> {
        self.kinds.get(kind).map(|id| self.at(*id))
    }

    fn at(&self, id: TypeId) -> &Struct {
        &self.types[id.0]
    }

    /// The table is ours and checked by a test, so a line that cannot be read is
    /// passed over.
    fn read(table: &str) -> Self {
        let mut types = Self::default();
        for name in table.lines().filter_map(|line| line.strip_prefix("type ")) {
            let name = name.trim().to_owned();
            types.names.insert(name.clone(), TypeId(types.types.len()));
            types.types.push(Struct { name, fields: BTreeMap::new() });
        }
        let mut current = None;
        for line in table.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match (line.starts_with(' '), words.as_slice()) {
                (true, [name, shape]) => {
                    let always = shape.ends_with('!');
                    let shape = Shape::read(shape.trim_end_matches('!'), &types.names);
                    if let Some(TypeId(current)) = current {
                        let of = &mut types.types[current];
                        of.fields.insert((*name).to_owned(), Field { shape, always });
                    }
                }
                (false, ["kind", version, kind, name]) => {
                    let kind = GroupVersionKind::parse(version, kind);
                    types.kinds.extend(types.names.get(*name).map(|id| (kind, *id)));
                }
                (false, ["type", name]) => current = types.names.get(*name).copied(),
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

    fn shape_at(&self, path: &[Step<'_>]) -> Option<&Shape> {
        let (Step::Field(name), rest) = path.split_first()? else { return None };
        self.fields.get(*name)?.shape.at(rest)
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
    fn read(word: &str, names: &BTreeMap<String, TypeId>) -> Self {
        if let Some(rest) = word.strip_prefix('&') {
            return Self::Pointer(Box::new(Self::read(rest, names)));
        }
        if let Some(rest) = word.strip_prefix("[]") {
            return Self::List(Box::new(Self::read(rest, names)));
        }
        if let Some(rest) = word.strip_prefix("{}") {
            return Self::Map(Box::new(Self::read(rest, names)));
        }
        if let Some(name) = word.strip_prefix('@') {
            return names.get(name).map_or(Self::Any, |id| Self::Struct(*id));
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

    /// The shape of what is at `path` in a value of this shape.
    fn at(&self, path: &[Step<'_>]) -> Option<&Self> {
        match (self, path) {
            (Self::Pointer(of), _) => of.at(path),
            (shape, []) => Some(shape),
            (Self::Struct(id), _) => TYPES.at(*id).shape_at(path),
            (Self::List(of), [Step::Element, rest @ ..])
            | (Self::Map(of), [Step::Field(_), rest @ ..]) => of.at(rest),
            _ => None,
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
            (Self::Struct(id), Value::Object(fields)) => {
                TYPES.at(*id).round_trip(fields).map(Value::Object)
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
            (Self::Struct(id), Value::Object(fields)) => TYPES.at(*id).takes(fields),
            (Self::List(of), Value::Array(items)) => items.iter().all(|item| of.takes(item)),
            (Self::Map(of), Value::Object(fields)) => fields.values().all(|it| of.takes(it)),
            (Self::Struct(_) | Self::List(_) | Self::Map(_), _) => false,
            // Most leaves are, and need not be written to know that.
            (Self::Any, _) | (Self::Text | Self::IntOrString, Value::String(_)) => true,
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
            Self::Struct(id) => Value::Object(TYPES.at(*id).zero()),
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
        let is_described = |name: &str| TYPES.names.contains_key(name);
        for line in include_str!("typed/types.txt").lines() {
            let named = match line.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["kind", _, _, name] => Some(*name),
                [_, shape] => shape.split_once('@').map(|(_, name)| name.trim_end_matches('!')),
                _ => None,
            };
            assert!(named.is_none_or(is_described), "{line}");
        }
        assert_eq!(TYPES.names.len(), TYPES.types.len());
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
