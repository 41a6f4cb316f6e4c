//! What a template computes with: Go's dynamic values, as far as templates can see them.
//!
//! Start with [`Value`]. Maps are shared and mutable, because `set` and `merge` change the map they
//! are given and the chart's next template sees it; lists and texts are shared and immutable, but
//! that `sortAlpha` sorts a list of strings where it is.

mod list;
mod map;
mod text;

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use crate::call::Function;

pub use list::{ElementType, List, NamedList};
pub use map::{Map, MapClass, NamedMap};
pub use text::Text;

/// One value of a template.
#[derive(Clone, Default)]
pub enum Value {
    /// No value at all: what a variable holds after a pipeline that ended in nil. Prints as
    /// `<no value>`; a field of it is again nothing.
    #[default]
    Nothing,
    /// A nil inside an `interface {}`: a null of a values file. A field of it is an error.
    Nil,
    /// `bool`
    Bool(bool),
    /// A signed integer of some width.
    Int(IntType, i64),
    /// An unsigned integer of some width.
    Uint(UintType, u64),
    /// `float64`
    Float(f64),
    /// `string`: any bytes, usually UTF-8.
    String(Text),
    /// `[]uint8`
    Bytes(Text),
    /// A slice.
    List(List),
    /// A map with string keys.
    Map(Map),
    /// A Go struct or pointer with fields and methods.
    Object(Rc<dyn Object>),
    /// A function as a value, for `call`.
    Function(Function),
}

/// The Go type of a signed integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntType {
    /// `int`
    Int,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `time.Month`, an `int`
    Month,
    /// `time.Weekday`, an `int`
    Weekday,
    /// `time.Duration`, an `int64` of nanoseconds
    Duration,
}

/// The Go type of an unsigned integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UintType {
    /// `uint8`
    Uint8,
    /// `uint64`
    Uint64,
}

/// The words `reflect.Kind` uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the Go kind of that name")]
pub enum Kind {
    Invalid,
    Interface,
    Bool,
    Int,
    Int32,
    Int64,
    Uint8,
    Uint64,
    Float64,
    String,
    Slice,
    Map,
    Struct,
    Pointer,
    Func,
}

impl Kind {
    /// As `reflect.Kind.String` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Interface => "interface",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint64 => "uint64",
            Self::Float64 => "float64",
            Self::String => "string",
            Self::Slice => "slice",
            Self::Map => "map",
            Self::Struct => "struct",
            Self::Pointer => "ptr",
            Self::Func => "func",
        }
    }
}

/// How many parts of two values are compared before they count as different.
const MAX_COMPARED: usize = 1_000_000;

impl Value {
    /// A Go `string`.
    pub fn string(text: impl Into<Text>) -> Self {
        Self::String(text.into())
    }

    /// A Go `int`.
    pub fn int(number: i64) -> Self {
        Self::Int(IntType::Int, number)
    }

    /// A Go `int64`.
    pub fn int64(number: i64) -> Self {
        Self::Int(IntType::Int64, number)
    }

    /// A Go `[]interface {}`.
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(List::new(ElementType::Any, items))
    }

    /// A Go `[]string`.
    pub fn strings<T: Into<Text>>(items: impl IntoIterator<Item = T>) -> Self {
        let items = items.into_iter().map(Self::string).collect();
        Self::List(List::new(ElementType::String, items))
    }

    /// A fresh Go `map[string]interface {}`.
    pub fn map<K: Into<Text>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(Map::new(entries))
    }

    /// Whether this is a nil of either sort.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nothing | Self::Nil)
    }

    /// The same, or a slice or a map that was never made.
    pub(crate) fn is_or_holds_nil(&self) -> bool {
        match self {
            Self::List(list) => list.is_nil(),
            Self::Map(map) => map.is_nil(),
            other => other.is_nil(),
        }
    }

    /// The kind that `reflect.ValueOf` of it has. A nil interface is `Invalid` there.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Nothing | Self::Nil => Kind::Invalid,
            Self::Bool(_) => Kind::Bool,
            Self::Int(IntType::Int | IntType::Month | IntType::Weekday, _) => Kind::Int,
            Self::Int(IntType::Int32, _) => Kind::Int32,
            Self::Int(IntType::Int64 | IntType::Duration, _) => Kind::Int64,
            Self::Uint(UintType::Uint8, _) => Kind::Uint8,
            Self::Uint(UintType::Uint64, _) => Kind::Uint64,
            Self::Float(_) => Kind::Float64,
            Self::String(_) => Kind::String,
            Self::Bytes(_) | Self::List(_) => Kind::Slice,
            Self::Map(_) => Kind::Map,
            Self::Object(object) => object.kind(),
            Self::Function(_) => Kind::Func,
        }
    }

    /// The type as `%T` prints it.
    pub fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Nothing | Self::Nil => "<nil>",
            Self::Int(IntType::Month, _) => "time.Month",
            Self::Int(IntType::Weekday, _) => "time.Weekday",
            Self::Int(IntType::Duration, _) => "time.Duration",
            Self::Bytes(_) => "[]uint8",
            Self::List(list) => list.type_name(),
            Self::Map(map) => map.class().type_name(),
            Self::Object(object) => return object.type_name(),
            Self::Function(_) => "func()",
            scalar => scalar.kind().name(),
        })
    }

    /// The truth of the value as `if` sees it: not the zero of its type.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Nothing | Self::Nil => false,
            Self::Bool(truth) => *truth,
            Self::Int(_, number) => *number != 0,
            Self::Uint(_, number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::String(text) | Self::Bytes(text) => !text.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.entries().is_empty(),
            Self::Object(_) | Self::Function(_) => true,
        }
    }

    /// The text, if this is a `string`.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// `reflect.DeepEqual`: types must agree, not only contents.
    pub fn deep_equal(&self, other: &Self) -> bool {
        let mut budget = MAX_COMPARED;
        self.equal_within(other, &mut budget)
    }

    /// The same for at most so many parts: values that share theirs are endless as trees.
    fn equal_within(&self, other: &Self, budget: &mut usize) -> bool {
        let Some(left) = budget.checked_sub(1) else { return false };
        *budget = left;
        match (self, other) {
            (Self::Nothing | Self::Nil, Self::Nothing | Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(ta, a), Self::Int(tb, b)) => ta == tb && a == b,
            (Self::Uint(ta, a), Self::Uint(tb, b)) => ta == tb && a == b,
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::String(a), Self::String(b)) | (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b)) => a.equal_within(b, budget),
            (Self::Map(a), Self::Map(b)) => a.equal_within(b, budget),
            (Self::Object(a), Self::Object(b)) => a.deep_equal(b.as_ref()),
            _ => false,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = crate::print::format(b"%#v", std::slice::from_ref(self));
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

/// A Go value with fields and methods that templates may reach.
pub trait Object: Any {
    /// As `%T` prints it, for example `*semver.Version`.
    fn type_name(&self) -> Cow<'static, str>;

    /// [`Kind::Struct`] or [`Kind::Pointer`].
    fn kind(&self) -> Kind;

    /// The field or method of that name.
    fn member(&self, name: &str) -> Option<Member>;

    /// What its `String` or `Error` method says, if it has one.
    fn text(&self) -> Option<Text> {
        None
    }

    /// What its `String` method says when that is a method of the pointer only: `{{ value }}` sees
    /// it, `printf` and `toString`, which get a copy, do not.
    fn addressed_text(&self) -> Option<Text> {
        self.text()
    }

    /// The exported fields in order, for printing and for JSON.
    fn fields(&self) -> Vec<(&'static str, Value)>;

    /// What `encoding/json` makes of it: an object of these fields, in their order.
    fn json(&self) -> JsonForm {
        JsonForm::Fields(self.fields())
    }

    /// What YAML and TOML make of it.
    fn marshals(&self) -> Marshals {
        Marshals::Fields
    }

    /// `reflect.DeepEqual`.
    fn deep_equal(&self, other: &dyn Object) -> bool;

    /// The concrete type, for functions that take just this one.
    fn as_any(&self) -> &dyn Any;
}

/// How an object looks in JSON.
pub enum JsonForm {
    /// An object with these fields.
    Fields(Vec<(&'static str, Value)>),
    /// Some other value: it marshals itself.
    Value(Value),
}

/// How an object looks in formats that know times.
pub enum Marshals {
    /// By its exported fields.
    Fields,
    /// As the text that its `MarshalText` gives.
    Text(String),
    /// As a time, which stands without quotes.
    Time(String),
}

/// What a name on an object stands for.
pub enum Member {
    /// A field's value.
    Field(Value),
    /// A method bound to the object.
    Method(Function),
    /// Something that is there and that templates may not use, and why.
    Unusable(&'static str),
}

/// Frees nested values one after the other: by recursion, a list in a list in a list would take the
/// stack with it.
fn free(mut pending: Vec<Value>) {
    while let Some(value) = pending.pop() {
        match value {
            Value::List(mut list) => pending.append(&mut list.take_containers()),
            Value::Map(map) => pending.append(&mut map.take_containers()),
            _ => {}
        }
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_nested_a_million_times_is_freed() {
        let mut value = Value::Nil;
        for _ in 0..1_000_000 {
            value = Value::list(vec![value]);
        }
        drop(value);
    }
}
