//! Go's slices. A slice that was never made is nil: it has no elements, as an empty one, but
//! `toJson` shows `null` for it.

use std::cell::OnceCell;
use std::rc::Rc;

use super::{Value, free, is_container};
use crate::call::Function;

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

/// A Go slice: nothing is put into it once it is made.
#[derive(Clone)]
pub struct List {
    element_type: ElementType,
    items: Rc<Items>,
    named: Option<&'static NamedList>,
    is_nil: bool,
}

struct Items {
    made: Box<[Value]>,
    /// The same after `sortAlpha` was here.
    sorted: OnceCell<Box<[Value]>>,
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
        let items = Items { made: items.into_boxed_slice(), sorted: OnceCell::new() };
        Self { element_type, items: Rc::new(items), named: None, is_nil: false }
    }

    /// A slice that was never made.
    pub fn nil(element_type: ElementType) -> Self {
        let mut list = Self::new(element_type, Vec::new());
        list.is_nil = true;
        list
    }

    /// The elements as a slice that grew one by one: without any it was never made.
    pub(crate) fn grown(element_type: ElementType, items: Vec<Value>) -> Self {
        if items.is_empty() { Self::nil(element_type) } else { Self::new(element_type, items) }
    }

    /// Whether it is a slice of that type, and not of a type with a name of its own.
    pub(crate) fn is_plain(&self, element_type: ElementType) -> bool {
        self.element_type == element_type && self.named.is_none()
    }

    /// Whether it was never made.
    pub fn is_nil(&self) -> bool {
        self.is_nil
    }

    /// Sorts a slice of strings for everybody who holds it.
    pub(crate) fn sort_texts(&self) {
        self.items.sorted.get_or_init(|| {
            let mut items = self.items.made.clone();
            items.sort_by(|a, b| a.as_text().cmp(&b.as_text()));
            items
        });
    }

    /// The same slice as a named type.
    pub fn named(&self, named: &'static NamedList) -> Self {
        let items = Rc::clone(&self.items);
        Self { items, named: Some(named), ..*self }
    }

    /// The method of that name, if it is a named type that has one.
    pub(crate) fn method(&self, name: &str) -> Option<Function> {
        self.named.and_then(|named| (named.method)(self, name))
    }

    pub(super) fn type_name(&self) -> &'static str {
        self.named.map_or(self.element_type.slice_name(), |named| named.type_name)
    }

    /// What its elements are declared as.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    pub(super) fn equal_within(&self, other: &Self, budget: &mut usize) -> bool {
        self.element_type == other.element_type
            && self.is_nil == other.is_nil
            && self.len() == other.len()
            && self.iter().zip(other.iter()).all(|(a, b)| a.equal_within(b, budget))
    }
}

impl std::ops::Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.items.sorted.get().unwrap_or(&self.items.made)
    }
}

impl List {
    /// The lists and maps inside, if nobody else holds this list.
    pub(super) fn take_containers(&mut self) -> Vec<Value> {
        let Some(items) = Rc::get_mut(&mut self.items) else { return Vec::new() };
        items.made.iter_mut().filter(|item| is_container(item)).map(std::mem::take).collect()
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
