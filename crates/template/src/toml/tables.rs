//! Where the keys of a TOML document belong, and which of them may not stand there.
//!
//! Go's library is more patient than the language: a table that was only mentioned may be given a
//! plain value, which is then forgotten. Its patience and its words are kept.

use std::collections::BTreeMap;

use crate::strconv::quote;
use crate::value::{ElementType, List, Value};

/// A table of the document.
#[derive(Default)]
pub(super) struct Table {
    entries: BTreeMap<String, Node>,
    /// Only mentioned so far, as `a` in `[a.b]`: it may still be written out.
    is_mentioned: bool,
}

enum Node {
    Table(Table),
    /// `[[…]]`
    Tables(Vec<Table>),
    /// `[…]` as a value.
    Array(Value),
    Plain(Value),
}

/// What stands behind a key.
pub(super) enum Given {
    Inline(Table),
    Array(Value),
    Plain(Value),
}

impl Table {
    /// The table a header opens.
    pub(super) fn open(&mut self, path: &[String], is_array: bool) -> Result<(), String> {
        let Some((last, parents)) = path.split_last() else { return Ok(()) };
        let table = self.descend(parents)?;
        let defined = || format!("Key '{}' has already been defined.", shown(path));
        match (table.entries.get_mut(last), is_array) {
            (None, true) => {
                table.entries.insert(last.clone(), Node::Tables(vec![Self::default()]));
            }
            (Some(Node::Tables(tables)), true) => tables.push(Self::default()),
            (Some(_), true) => {
                return Err(format!(
                    "Key '{}' was already created and cannot be used as an array.",
                    shown(path)
                ));
            }
            (None, false) => {
                table.entries.insert(last.clone(), Node::Table(Self::default()));
            }
            (Some(Node::Table(table)), false) if table.is_mentioned => table.is_mentioned = false,
            (Some(_), false) => return Err(defined()),
        }
        Ok(())
    }

    /// The table that these tables lead to; missing ones are made.
    fn descend(&mut self, path: &[String]) -> Result<&mut Self, String> {
        let mut table = self;
        for (index, part) in path.iter().enumerate() {
            let missing = || Node::Table(Self { is_mentioned: true, ..Self::default() });
            let next = table.entries.entry(part.clone()).or_insert_with(missing);
            table = next.last_table().ok_or_else(|| {
                format!("Key '{}' was already created as a hash.", shown(&path[..=index]))
            })?;
        }
        Ok(table)
    }

    /// The parts before the last of `a.b.c = …`, one after the other: `path` ends with the newest.
    pub(super) fn mention(&mut self, path: &[String]) -> Result<(), String> {
        let Some((last, parents)) = path.split_last() else { return Ok(()) };
        let table = self.descend(parents)?;
        match table.entries.get_mut(last) {
            None => {
                let mentioned = Self { is_mentioned: true, ..Self::default() };
                table.entries.insert(last.clone(), Node::Table(mentioned));
            }
            Some(Node::Table(table)) => table.is_mentioned = false,
            // An array gives way.
            Some(node @ Node::Array(_)) => *node = Node::Table(Self::default()),
            Some(Node::Tables(_) | Node::Plain(_)) => {}
        }
        Ok(())
    }

    /// `key = value` in the table at `context`, whose name in messages begins with `outer`.
    pub(super) fn assign(
        &mut self,
        outer: &[String],
        context: &[String],
        key: &str,
        given: Given,
    ) -> Result<(), String> {
        let defined = |inside: &[String]| {
            let path = [outer, inside].concat();
            format!("Key '{}' has already been defined.", shown(&path))
        };
        let mut table = self;
        for (index, part) in context.iter().enumerate() {
            let next = table.entries.get_mut(part).and_then(Node::last_table);
            table = next.ok_or_else(|| defined(&context[..=index]))?;
        }
        let whole = || defined(&[context, &[key.to_owned()]].concat());
        match (table.entries.get_mut(key), given) {
            (None, given) => {
                table.entries.insert(key.to_owned(), given.into_node());
            }
            (Some(node @ Node::Table(Self { is_mentioned: true, .. })), Given::Array(array)) => {
                *node = Node::Array(array);
            }
            (Some(Node::Table(table)), Given::Plain(_)) if table.is_mentioned => {
                table.is_mentioned = false;
            }
            _ => return Err(whole()),
        }
        Ok(())
    }

    pub(super) fn into_value(self) -> Value {
        Value::map(self.entries.into_iter().map(|(key, node)| (key, node.into_value())))
    }
}

impl Given {
    fn into_node(self) -> Node {
        match self {
            Self::Inline(table) => Node::Table(table),
            Self::Array(array) => Node::Array(array),
            Self::Plain(value) => Node::Plain(value),
        }
    }

    pub(super) fn into_value(self) -> Value {
        self.into_node().into_value()
    }
}

impl Node {
    fn last_table(&mut self) -> Option<&mut Table> {
        match self {
            Self::Table(table) => Some(table),
            Self::Tables(tables) => tables.last_mut(),
            Self::Array(_) | Self::Plain(_) => None,
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::Table(table) => table.into_value(),
            Self::Tables(tables) => {
                let tables = tables.into_iter().map(Table::into_value).collect();
                Value::List(List::new(ElementType::Map, tables))
            }
            Self::Array(value) | Self::Plain(value) => value,
        }
    }
}

/// A path as it would be written.
pub(super) fn shown(path: &[String]) -> String {
    let parts: Vec<String> = path.iter().map(|part| written(part)).collect();
    parts.join(".")
}

fn written(part: &str) -> String {
    if !part.is_empty() && part.chars().all(is_bare) {
        return part.to_owned();
    }
    super::quoted(part)
}

/// What a key may consist of without quotes.
pub(super) fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The complaint as Go's library words it.
pub(super) fn complaint(line: usize, last_key: &str, problem: &str) -> String {
    if last_key.is_empty() {
        return format!("toml: line {line}: {problem}");
    }
    format!("toml: line {line} (last key {}): {problem}", quote(last_key.as_bytes()))
}
