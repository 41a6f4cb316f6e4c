//! Go's maps with string keys, shared and mutable. A map that was never made is nil: it reads as
//! an empty one, `toJson` shows `null` for it, and nothing can be put into it.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Text, Value, free, is_container};
use crate::call::Function;

/// A Go map with string keys, shared: every clone is the same map.
#[derive(Clone)]
pub struct Map {
    class: MapClass,
    entries: Rc<RefCell<BTreeMap<Text, Value>>>,
    is_nil: bool,
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
        Self { class, entries: Rc::new(RefCell::new(entries)), is_nil: false }
    }

    /// A map that was never made. What is put into it is lost: ask [`Map::is_nil`] before.
    pub fn nil(class: MapClass) -> Self {
        let mut map = Self::with_class::<Text>(class, []);
        map.is_nil = true;
        map
    }

    /// Whether it was never made.
    pub fn is_nil(&self) -> bool {
        self.is_nil
    }

    /// Its declared type.
    pub fn class(&self) -> MapClass {
        self.class
    }

    /// The same map seen as another type, as a Go conversion does.
    pub fn converted(&self, class: MapClass) -> Self {
        Self { class, entries: Rc::clone(&self.entries), is_nil: self.is_nil }
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

    pub(super) fn equal_within(&self, other: &Self, budget: &mut usize) -> bool {
        if self.is_same(other) {
            return true;
        }
        let (mine, theirs) = (self.entries(), other.entries());
        self.class().is_same(other.class())
            && self.is_nil == other.is_nil
            && mine.len() == theirs.len()
            && mine
                .iter()
                .zip(theirs.iter())
                .all(|((ka, a), (kb, b))| ka == kb && a.equal_within(b, budget))
    }
}

impl Map {
    /// The lists and maps inside, if nobody else holds this map.
    pub(super) fn take_containers(&self) -> Vec<Value> {
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
