//! `fields=`: only some fields of an answer, for clients that show lists.
//!
//! `fields=metadata.name,items.spec` keeps these, `fields=-items.status` leaves
//! these out; a name is a path of keys, and goes into every member of a list.

use std::collections::BTreeMap;

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
        let value: Value =
            serde_json::from_slice(json).map_err(|error| Status::internal(error.to_string()))?;
        Ok(wire::go_json(&self.select(value)))
    }

    /// The same for a message of a stream, whose fields are named below `result`.
    pub(crate) fn applied_to_result(&self, json: &[u8]) -> Result<Vec<u8>, Status> {
        match self.tree.0.get("result") {
            Some(inner) if !inner.0.is_empty() => {
                let value: Value = serde_json::from_slice(json)
                    .map_err(|error| Status::internal(error.to_string()))?;
                Ok(wire::go_json(&select(value, inner, self.excludes)))
            }
            Some(_) if self.excludes => Ok(b"{}".to_vec()),
            _ => Ok(json.to_vec()),
        }
    }

    fn select(&self, value: Value) -> Value {
        select(value, &self.tree, self.excludes)
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

fn select(value: Value, tree: &Tree, excludes: bool) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|it| select(it, tree, excludes)).collect(),
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(key, value)| {
                let value = match (tree.0.get(&key), excludes) {
                    (Some(inner), true) if inner.0.is_empty() => return None,
                    (None, false) => return None,
                    (None, true) => value,
                    (Some(inner), false) if inner.0.is_empty() => value,
                    (Some(inner), _) => select(value, inner, excludes),
                };
                Some((key, value))
            });
            Value::Object(kept.collect::<Map<_, _>>())
        }
        other => other,
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
