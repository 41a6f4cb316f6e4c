//! `fields=`: only some fields of an answer, for clients that show lists.
//!
//! `fields=metadata.name,items.spec` keeps these, `fields=-items.status` leaves
//! these out; a name is a path of keys, and goes into every member of a list.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use wire::Status;

use crate::address::field;

/// No client asks for more.
const FIELD_LIMIT: usize = 200;
const DEPTH_LIMIT: usize = 20;

/// Which fields.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    tree: Tree,
    excludes: bool,
}

/// Fields by their first key; one without others below is meant as a whole.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tree(BTreeMap<String, Self>);

impl Selection {
    /// The selection of a query; none where everything is wanted.
    pub(crate) fn of(query: &str) -> Option<Self> {
        let text = field(query, "fields").filter(|it| !it.is_empty())?;
        let (names, excludes) = match text.strip_prefix('-') {
            Some(rest) => (rest, true),
            None => (text.as_str(), false),
        };
        let mut tree = Tree::default();
        let names = names.split(',').map(str::trim).filter(|it| !it.is_empty());
        for name in names.take(FIELD_LIMIT) {
            tree.add(name.split('.').take(DEPTH_LIMIT));
        }
        Some(Self { tree, excludes })
    }

    /// The answer with these fields alone.
    ///
    /// # Errors
    /// Never, as our answers are JSON.
    pub(crate) fn applied(&self, json: &[u8]) -> Result<Vec<u8>, Status> {
        selected(json, &self.tree, self.excludes)
    }

    /// The same for a message of a stream, whose fields are named below `result`.
    pub(crate) fn applied_to_result(&self, json: &[u8]) -> Result<Vec<u8>, Status> {
        match self.tree.0.get("result") {
            Some(inner) if !inner.0.is_empty() => selected(json, inner, self.excludes),
            Some(_) if self.excludes => Ok(b"{}".to_vec()),
            _ => Ok(json.to_vec()),
        }
    }
}

impl Tree {
    fn add<'a>(&mut self, mut path: impl Iterator<Item = &'a str>) {
        let Some(first) = path.next() else { return };
        // A field that is meant as a whole stays so.
        if self.0.get(first).is_some_and(|it| it.0.is_empty()) {
            return;
        }
        let inner = self.0.entry(first.to_owned()).or_default();
        let rest: Vec<&str> = path.collect();
        if rest.is_empty() {
            inner.0.clear();
        } else {
            inner.add(rest.into_iter());
        }
    }
}

fn selected(json: &[u8], tree: &Tree, excludes: bool) -> Result<Vec<u8>, Status> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let kept = Kept { tree, excludes }.deserialize(&mut reader);
    Ok(wire::go_json(&kept.map_err(|error| Status::internal(error.to_string()))?))
}

/// Reads what is kept, and passes over the rest: of a list of thousands most is not wanted.
#[derive(Clone, Copy)]
struct Kept<'t> {
    tree: &'t Tree,
    excludes: bool,
}

impl<'de> DeserializeSeed<'de> for Kept<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Kept<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = match (self.tree.0.get(&key), self.excludes) {
                (Some(inner), true) if inner.0.is_empty() => None,
                (None, false) => None,
                (None, true) => Some(fields.next_value()?),
                (Some(inner), false) if inner.0.is_empty() => Some(fields.next_value()?),
                (Some(tree), excludes) => Some(fields.next_value_seed(Kept { tree, excludes })?),
            };
            match value {
                Some(value) => drop(kept.insert(key, value)),
                None => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Value::Object(kept))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            kept.push(item);
        }
        Ok(Value::Array(kept))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &str, json: &str, expect: &str) {
        let selection = Selection::of(&format!("a=b&fields={fields}")).expect("a selection");
        let selected = selection.applied(json.as_bytes()).expect("JSON");
        assert_eq!(String::from_utf8(selected).expect("text"), expect);
    }

    const LIST: &str = r#"{"items":[{"metadata":{"name":"a","labels":{"x":"<"}},"spec":{"p":1}},{"metadata":{"name":"b"}}],"metadata":{"resourceVersion":"7"}}"#;

    #[test]
    fn only_the_named_fields_are_kept() {
        check(
            "items.metadata.name",
            LIST,
            r#"{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}"#,
        );
        check("metadata.resourceVersion", LIST, r#"{"metadata":{"resourceVersion":"7"}}"#);
        check(
            "items.metadata,items.metadata.name,absent",
            r#"{"items":[{"metadata":{"n":1}}]}"#,
            r#"{"items":[{"metadata":{"n":1}}]}"#,
        );
    }

    #[test]
    fn values_that_are_no_objects_stay_as_they_are() {
        check(
            "a.x,b.x",
            r#"{"a":[1,-2,0.5,true,null,"t<",{"x":7,"y":8}],"b":"text","c":1}"#,
            r#"{"a":[1,-2,0.5,true,null,"t\u003c",{"x":7}],"b":"text"}"#,
        );
    }

    #[test]
    fn a_minus_leaves_fields_out() {
        check(
            "-items.spec,metadata,items.metadata.labels",
            LIST,
            r#"{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}"#,
        );
    }

    #[test]
    fn fields_of_a_stream_are_below_its_result() {
        let selection = Selection::of("fields=result.type").expect("a selection");
        let selected = selection.applied_to_result(br#"{"application":{},"type":"ADDED"}"#);
        assert_eq!(selected.expect("JSON"), br#"{"type":"ADDED"}"#);
        assert_eq!(Selection::of("a=b"), None);
    }
}
