//! The set of all fields that an object has.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::path::compare_values;
use super::{Entry, FieldSet, Path, PathElement};
use crate::schema::{Granularity, ListKind, Type};

/// A list element that cannot be told apart from the others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot tell the elements of {list} apart: {problem}")]
pub struct NotKeyed {
    /// The list.
    pub list: Path,
    /// What is wrong with one of its elements.
    pub problem: &'static str,
}

impl FieldSet {
    /// Every leaf and every list element that `value` mentions.
    ///
    /// # Errors
    /// When an element of a keyed list has none of the keys, or an element of
    /// a set is no scalar.
    pub fn of(value: &Value, of: Type<'_>) -> Result<Self, NotKeyed> {
        Ok(entry(value, of, &Trail::Root)?.below)
    }

    /// What a manager owns after applying `object`: [`FieldSet::of`] without
    /// the fields that identify the object or that the server fills in.
    ///
    /// # Errors
    /// As [`FieldSet::of`].
    pub fn applied(object: &Value, of: Type<'_>) -> Result<Self, NotKeyed> {
        let mut set = Self::of(object, of)?;
        for field in ["apiVersion", "kind"] {
            set.entries.remove(&PathElement::Field(field.to_owned()));
        }
        let metadata = PathElement::Field("metadata".to_owned());
        if let Some(entry) = set.entries.get_mut(&metadata) {
            entry.member = false;
            for field in NEVER_OWNED {
                entry.below.entries.remove(&PathElement::Field((*field).to_owned()));
            }
            if entry.is_empty() {
                set.entries.remove(&metadata);
            }
        }
        Ok(set)
    }
}

/// Fields of `metadata` that appear in no manager's set.
const NEVER_OWNED: &[&str] = &[
    "clusterName",
    "creationTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The way back to the root, for those who complain.
pub(super) enum Trail<'t> {
    Root,
    Step(&'t Self, &'t PathElement),
    Field(&'t Self, &'t str),
    /// An element of a list, whose step is made only when somebody complains.
    Item(&'t Self, &'t Value, &'t ListKind, Type<'t>),
}

impl Trail<'_> {
    pub(super) fn to_path(&self) -> Path {
        match self {
            Self::Root => Path::default(),
            Self::Step(before, element) => {
                let mut path = before.to_path();
                path.0.push((*element).clone());
                path
            }
            Self::Field(before, name) => {
                let mut path = before.to_path();
                path.0.push(PathElement::Field((*name).to_owned()));
                path
            }
            Self::Item(before, value, kind, items) => {
                let mut path = before.to_path();
                path.0.extend(element(value, kind, *items));
                path
            }
        }
    }
}

/// What owning `value` comes to: the place itself, or places inside of it.
fn entry(value: &Value, of: Type<'_>, trail: &Trail<'_>) -> Result<Entry, NotKeyed> {
    let below = match (of.granularity(value), value) {
        (Granularity::Map, Value::Object(fields)) => map_entries(fields, of, trail)?,
        (Granularity::List(kind, items), Value::Array(list)) => {
            list_entries(list, kind, items, trail)?
        }
        // A null in the place of a mapping or list owns nothing by itself; the
        // field that holds it does, see `map_entries`.
        _ => {
            let member = of.is_leaf() || !value.is_null();
            return Ok(Entry { member, below: FieldSet::new() });
        }
    };
    Ok(Entry { member: false, below })
}

fn map_entries(
    fields: &Map<String, Value>,
    of: Type<'_>,
    trail: &Trail<'_>,
) -> Result<FieldSet, NotKeyed> {
    let mut entries = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        let mut entry = entry(value, of.entry(name), &Trail::Field(trail, name))?;
        let is_empty_map = value.as_object().is_some_and(Map::is_empty);
        // Entries of a free mapping are owned one by one, whatever they hold.
        entry.member |= value.is_null() || is_empty_map || of.is_free(name);
        if !entry.is_empty() {
            entries.push((PathElement::Field(name.clone()), entry));
        }
    }
    Ok(FieldSet { entries: entries.into_iter().collect() })
}

fn list_entries(
    list: &[Value],
    kind: &ListKind,
    items: Type<'_>,
    trail: &Trail<'_>,
) -> Result<FieldSet, NotKeyed> {
    let elements = elements(list, kind, items, trail)?;
    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for element in &elements {
        if !seen.insert(element) {
            twice.insert(element.clone());
        }
    }
    let mut set = FieldSet::new();
    for (element, value) in elements.into_iter().zip(list) {
        // Which of two elements with one key is meant below it? Nobody knows.
        let below = if twice.contains(&element) {
            FieldSet::new()
        } else {
            entry(value, items, &Trail::Step(trail, &element))?.below
        };
        set.entries.insert(element, Entry { member: true, below });
    }
    Ok(set)
}

/// The step to each element of a list.
pub(super) fn elements(
    list: &[Value],
    kind: &ListKind,
    items: Type<'_>,
    trail: &Trail<'_>,
) -> Result<Vec<PathElement>, NotKeyed> {
    let problem = |problem| NotKeyed { list: trail.to_path(), problem };
    list.iter().map(|value| element(value, kind, items).map_err(problem)).collect()
}

fn element(value: &Value, kind: &ListKind, items: Type<'_>) -> Result<PathElement, &'static str> {
    match (kind, value) {
        (ListKind::Map(keys), Value::Object(fields)) => {
            let mut key: Vec<(String, Value)> = keys
                .iter()
                .filter_map(|name| Some((name.clone(), key_of(fields, name, items)?.clone())))
                .collect();
            if key.is_empty() {
                return Err("an element has none of the fields that identify it");
            }
            key.sort_by(|left, right| left.0.cmp(&right.0));
            Ok(PathElement::Key(key))
        }
        (ListKind::Map(_), _) => Err("an element is no mapping"),
        (_, Value::Null | Value::Array(_) | Value::Object(_)) => Err("an element is no scalar"),
        (_, scalar) => Ok(PathElement::Value(scalar.clone())),
    }
}

/// Can the element be told apart from others?
pub(super) fn check_element(
    value: &Value,
    kind: &ListKind,
    items: Type<'_>,
) -> Result<(), &'static str> {
    match (kind, value) {
        (ListKind::Map(keys), Value::Object(fields))
            if keys.iter().any(|it| key_of(fields, it, items).is_some()) =>
        {
            Ok(())
        }
        (ListKind::Set, Value::Bool(_) | Value::Number(_) | Value::String(_)) => Ok(()),
        _ => element(value, kind, items).map(drop),
    }
}

/// Do two elements, which can be told apart, stand in the same place of their
/// lists? As if their steps were compared, without making steps.
pub(super) fn are_one_element(
    one: &Value,
    other: &Value,
    kind: &ListKind,
    items: Type<'_>,
) -> bool {
    match (kind, one, other) {
        (ListKind::Map(keys), Value::Object(one), Value::Object(other)) => {
            keys.iter().all(|it| match (key_of(one, it, items), key_of(other, it, items)) {
                (Some(one), Some(other)) => compare_values(one, other).is_eq(),
                (one, other) => one.is_none() && other.is_none(),
            })
        }
        _ => compare_values(one, other).is_eq(),
    }
}

/// The value of one of the fields that tell elements apart.
fn key_of<'v>(fields: &'v Map<String, Value>, name: &str, items: Type<'v>) -> Option<&'v Value> {
    fields.get(name).or_else(|| items.default_of(name))
}
