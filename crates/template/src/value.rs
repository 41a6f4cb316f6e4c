//! What a template computes with: Go's dynamic values, as far as templates can see them.
//!
//! Start with [`Value`]. Maps are shared and mutable, because `set` and `merge` change the map they
//! are given and the chart's next template sees it; lists and texts are shared and immutable.

use std::any::Any;
use std::borrow::Cow;
use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use crate::call::Function;

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

    /// The kind that `reflect.ValueOf` of it has. A nil interface is `Invalid` there.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Nothing | Self::Nil => Kind::Invalid,
            Self::Bool(_) => Kind::Bool,
            Self::Int(IntType::Int, _) => Kind::Int,
            Self::Int(IntType::Int32, _) => Kind::Int32,
            Self::Int(IntType::Int64, _) => Kind::Int64,
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

/// A Go string: bytes that are usually, not always, UTF-8. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<[u8]>);

impl Text {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As UTF-8, with U+FFFD for what is not.
    pub fn as_str(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Length in bytes, as Go's `len`.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::borrow::Borrow<[u8]> for Text {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Arc::from(text.as_bytes()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Arc::from(text.into_bytes()))
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Self {
        Self::from(text.as_ref())
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(Arc::from(bytes))
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::from(bytes))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str())
    }
}

/// What the elements of a slice are declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// `interface {}`
    Any,
    /// `string`
    String,
    /// `int`
    Int,
    /// `[]interface {}`, as `chunk` returns
    List,
    /// `map[string]interface {}`, as TOML's array of tables
    Map,
}

impl ElementType {
    fn slice_name(self) -> &'static str {
        match self {
            Self::Any => "[]interface {}",
            Self::String => "[]string",
            Self::Int => "[]int",
            Self::List => "[][]interface {}",
            Self::Map => "[]map[string]interface {}",
        }
    }
}

/// A Go slice, immutable.
#[derive(Clone)]
pub struct List {
    element_type: ElementType,
    items: Rc<[Value]>,
    named: Option<&'static NamedList>,
}

/// A named Go slice type with methods, such as Helm's `common.VersionSet`.
pub struct NamedList {
    /// As `%T` prints it.
    pub type_name: &'static str,
    /// Finds a method by its name, bound to the slice.
    pub method: fn(&List, &str) -> Option<Function>,
}

impl List {
    /// A slice with the given declared element type.
    pub fn new(element_type: ElementType, items: Vec<Value>) -> Self {
        Self { element_type, items: Rc::from(items), named: None }
    }

    /// The same slice as a named type.
    pub fn named(&self, named: &'static NamedList) -> Self {
        let items = Rc::clone(&self.items);
        Self { element_type: self.element_type, items, named: Some(named) }
    }

    /// The method of that name, if it is a named type that has one.
    pub(crate) fn method(&self, name: &str) -> Option<Function> {
        self.named.and_then(|named| (named.method)(self, name))
    }

    fn type_name(&self) -> &'static str {
        self.named.map_or(self.element_type.slice_name(), |named| named.type_name)
    }

    /// What its elements are declared as.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    fn equal_within(&self, other: &Self, budget: &mut usize) -> bool {
        self.element_type == other.element_type
            && self.len() == other.len()
            && self.iter().zip(other.iter()).all(|(a, b)| a.equal_within(b, budget))
    }
}

impl std::ops::Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

/// A Go map with string keys, shared: every clone is the same map.
#[derive(Clone)]
pub struct Map {
    class: MapClass,
    entries: Rc<RefCell<BTreeMap<Text, Value>>>,
}

/// The declared type of a map.
#[derive(Clone, Copy)]
pub enum MapClass {
    /// `map[string]interface {}`
    Any,
    /// `map[string]string`
    Strings,
    /// A named map type with methods, such as Helm's `common.Values`.
    Named(&'static NamedMap),
}

/// A named Go map type: its name, what it holds and its methods.
pub struct NamedMap {
    /// As `%T` prints it.
    pub type_name: &'static str,
    /// Whether its elements are `interface {}`, so that it can stand where a plain map is asked for.
    pub holds_any: bool,
    /// The value of a missing key under `missingkey=zero`.
    pub zero: fn() -> Value,
    /// Finds a method by its name, bound to the map.
    pub method: fn(&Map, &str) -> Option<Function>,
}

impl MapClass {
    /// As `%T` prints it.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Any => "map[string]interface {}",
            Self::Strings => "map[string]string",
            Self::Named(named) => named.type_name,
        }
    }

    /// Whether Go lets it stand for `map[string]interface {}`.
    pub fn holds_any(self) -> bool {
        match self {
            Self::Any => true,
            Self::Strings => false,
            Self::Named(named) => named.holds_any,
        }
    }

    /// The zero of the element type.
    pub(crate) fn zero(self) -> Value {
        match self {
            Self::Any => Value::Nil,
            Self::Strings => Value::string(""),
            Self::Named(named) => (named.zero)(),
        }
    }

    fn is_same(self, other: Self) -> bool {
        self.type_name() == other.type_name()
    }
}

impl Map {
    /// A `map[string]interface {}`.
    pub fn new<K: Into<Text>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::with_class(MapClass::Any, entries)
    }

    /// A map of the given type.
    pub fn with_class<K: Into<Text>>(
        class: MapClass,
        entries: impl IntoIterator<Item = (K, Value)>,
    ) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), value)).collect();
        Self { class, entries: Rc::new(RefCell::new(entries)) }
    }

    /// Its declared type.
    pub fn class(&self) -> MapClass {
        self.class
    }

    /// The same map seen as another type, as a Go conversion does.
    pub fn converted(&self, class: MapClass) -> Self {
        Self { class, entries: Rc::clone(&self.entries) }
    }

    /// The entries, to read. Drop it before calling anything that may change the map.
    pub fn entries(&self) -> Ref<'_, BTreeMap<Text, Value>> {
        self.entries.borrow()
    }

    /// The entries, to change.
    pub fn entries_mut(&self) -> RefMut<'_, BTreeMap<Text, Value>> {
        self.entries.borrow_mut()
    }

    /// The value under `key`.
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        self.entries().get(key).cloned()
    }

    /// Puts a value under `key`.
    pub fn set(&self, key: impl Into<Text>, value: Value) {
        self.entries_mut().insert(key.into(), value);
    }

    /// Whether both are the very same map.
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.entries, &other.entries)
    }

    /// Where the entries are, to tell maps apart.
    pub(crate) fn address(&self) -> usize {
        Rc::as_ptr(&self.entries) as usize
    }

    fn equal_within(&self, other: &Self, budget: &mut usize) -> bool {
        if self.is_same(other) {
            return true;
        }
        let (mine, theirs) = (self.entries(), other.entries());
        self.class().is_same(other.class())
            && mine.len() == theirs.len()
            && mine
                .iter()
                .zip(theirs.iter())
                .all(|((ka, a), (kb, b))| ka == kb && a.equal_within(b, budget))
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

/// What a name on an object stands for.
pub enum Member {
    /// A field's value.
    Field(Value),
    /// A method bound to the object.
    Method(Function),
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

impl List {
    /// The lists and maps inside, if nobody else holds this list.
    fn take_containers(&mut self) -> Vec<Value> {
        let Some(items) = Rc::get_mut(&mut self.items) else { return Vec::new() };
        items.iter_mut().filter(|item| is_container(item)).map(std::mem::take).collect()
    }
}

impl Drop for List {
    fn drop(&mut self) {
        let inner = self.take_containers();
        if !inner.is_empty() {
            free(inner);
        }
    }
}

impl Map {
    /// The lists and maps inside, if nobody else holds this map.
    fn take_containers(&self) -> Vec<Value> {
        if Rc::strong_count(&self.entries) > 1 {
            return Vec::new();
        }
        let Ok(mut entries) = self.entries.try_borrow_mut() else { return Vec::new() };
        entries.values_mut().filter(|value| is_container(value)).map(std::mem::take).collect()
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        let inner = self.take_containers();
        if !inner.is_empty() {
            free(inner);
        }
    }
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
