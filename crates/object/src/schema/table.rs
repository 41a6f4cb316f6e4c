//! A schema as text: small enough to ship, plain enough to read in a diff.
//!
//! ```text
//! kind apps/v1 Deployment apps.v1.Deployment     a kind and the name of its type
//! type apps.v1.Deployment                        a type with fields, which follow:
//!  spec @apps.v1.DeploymentSpec                  a name and a shape
//!  containers [@core.v1.Container](name) merge:name
//!  protocol s default:"TCP"
//! type resource.Quantity = s                     a type that is some other shape
//! ```
//!
//! Shapes: `s` scalar, `*` unknown, `!` opaque, `@name` a named type,
//! `{shape}` a mapping, `[shape]` an atomic list, `[shape]=` a set,
//! `[shape](a,b)` a list keyed by the fields a and b. `^` behind a type name, a
//! mapping or a named type makes it atomic, `~` granular. Scalar fields stand
//! here only if list elements may leave them out of their key: nobody asks about
//! the others.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::{Field, ListKind, MapShape, PatchRule, PatchStrategy, Schema, Shape, ShapeId};
use crate::GroupVersionKind;

/// A line that is no line of a table.
#[derive(Debug, thiserror::Error)]
#[error("cannot read line {line} of the type table: {text:?}")]
pub struct BadTable {
    line: usize,
    text: String,
}

impl Schema {
    /// Reads what [`Schema::to_table`] wrote.
    ///
    /// # Errors
    /// At the first line that cannot be read.
    pub fn from_table(table: &str) -> Result<Self, BadTable> {
        let mut schema = Self::default();
        let mut current = None;
        for (number, line) in table.lines().enumerate() {
            let read = match line.strip_prefix(' ') {
                Some(field) => current.and_then(|of| schema.read_field(of, field)),
                None => schema.read_heading(line, &mut current),
            };
            read.ok_or_else(|| BadTable { line: number + 1, text: line.to_owned() })?;
        }
        Ok(schema)
    }

    /// Writes the named types and the kinds; types without a name are written
    /// where they are used, and must not have fields of their own.
    #[must_use]
    pub fn to_table(&self) -> String {
        let mut table = String::new();
        let keys = self.list_keys();
        for (kind, id) in &self.kinds {
            let name = self.name_of(*id).unwrap_or("?");
            let _ = writeln!(table, "kind {} {} {name}", kind.api_version(), kind.kind);
        }
        for (name, id) in &self.names {
            self.write_type(&mut table, name, *id, &keys);
        }
        table
    }

    /// The fields by which elements of some list are told apart. Only their
    /// defaults matter: an element may leave its key out.
    fn list_keys(&self) -> BTreeSet<&str> {
        let keys = self.shapes.iter().filter_map(|shape| match shape {
            Shape::List { kind: ListKind::Map(keys), .. } => Some(keys),
            _ => None,
        });
        keys.flatten().map(String::as_str).collect()
    }

    fn read_heading(&mut self, line: &str, current: &mut Option<ShapeId>) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            [""] | ["#", ..] => {}
            ["kind", api_version, kind, name] => {
                let id = self.named(name);
                self.kinds.insert(GroupVersionKind::parse(api_version, kind), id);
            }
            ["type", name, "=", shape] => {
                let id = self.named(name);
                self.shapes[id.0] = self.read_whole_shape(shape)?;
            }
            ["type", name] => {
                let (name, atomic) = granularity(name);
                let id = self.named(name);
                let atomic = atomic == Some(true);
                self.shapes[id.0] = Shape::Map(MapShape { atomic, ..Default::default() });
                *current = Some(id);
            }
            _ => return None,
        }
        Some(())
    }

    fn read_field(&mut self, of: ShapeId, line: &str) -> Option<()> {
        let mut words = line.splitn(2, ' ');
        let name = words.next()?;
        let (shape, mut rest) = self.read_shape(words.next()?)?;
        let mut field = Field { shape, patch: PatchRule::default(), default: None };
        if let Some((before, default)) = rest.split_once(" default:") {
            field.default = Some(serde_json::from_str(default).ok()?);
            rest = before;
        }
        for strategy in rest.split_whitespace() {
            match strategy.split_once(':').unwrap_or((strategy, "")) {
                ("retainKeys", "") => field.patch.retain_keys = true,
                ("replace", "") => field.patch.strategy = PatchStrategy::Replace,
                ("merge", key) => {
                    field.patch.strategy = PatchStrategy::Merge;
                    field.patch.merge_key = (!key.is_empty()).then(|| key.to_owned());
                }
                _ => return None,
            }
        }
        let Shape::Map(map) = &mut self.shapes[of.0] else { return None };
        map.fields.insert(name.to_owned(), field);
        Some(())
    }

    fn read_whole_shape(&mut self, text: &str) -> Option<Shape> {
        let (id, rest) = self.read_shape(text)?;
        rest.is_empty().then(|| match &self.shapes[id.0] {
            plain @ (Shape::Scalar | Shape::Any | Shape::Opaque) => plain.clone(),
            _ => Shape::Refer { of: id, atomic: None },
        })
    }

    /// Reads one shape from the start of `text`; returns what follows it.
    fn read_shape<'t>(&mut self, text: &'t str) -> Option<(ShapeId, &'t str)> {
        let rest = text.get(1..)?;
        match text.as_bytes().first()? {
            b's' => Some((self.add(Shape::Scalar), rest)),
            b'*' => Some((self.add(Shape::Any), rest)),
            b'!' => Some((self.add(Shape::Opaque), rest)),
            b'@' => {
                let end = rest.find([' ', ']', '}']).unwrap_or(rest.len());
                let (name, atomic) = granularity(&rest[..end]);
                let of = self.named(name);
                let id = match atomic {
                    None => of,
                    atomic => self.add(Shape::Refer { of, atomic }),
                };
                Some((id, &rest[end..]))
            }
            b'{' => {
                let (values, rest) = self.read_shape(rest)?;
                let rest = rest.strip_prefix('}')?;
                let (rest, atomic) = rest.strip_prefix('^').map_or((rest, false), |it| (it, true));
                let map = MapShape { values: Some(values), atomic, ..Default::default() };
                Some((self.add(Shape::Map(map)), rest))
            }
            b'[' => {
                let (items, rest) = self.read_shape(rest)?;
                let (kind, rest) = read_list_kind(rest.strip_prefix(']')?)?;
                Some((self.add(Shape::List { items, kind }), rest))
            }
            _ => None,
        }
    }

    fn write_type(&self, table: &mut String, name: &str, id: ShapeId, keys: &BTreeSet<&str>) {
        match &self.shapes[id.0] {
            Shape::Map(map) if map.values.is_none() || !map.fields.is_empty() => {
                let _ = writeln!(table, "type {name}{}", if map.atomic { "^" } else { "" });
                for (name, field) in &map.fields {
                    let default = field.default.as_ref().filter(|_| keys.contains(name.as_str()));
                    self.write_field(table, name, field, default);
                }
            }
            shape => {
                let _ = writeln!(table, "type {name} = {}", self.text_of(shape));
            }
        }
    }

    fn write_field(&self, table: &mut String, name: &str, field: &Field, default: Option<&Value>) {
        let shape = self.text_of_use(field.shape);
        if shape == "s" && default.is_none() {
            return;
        }
        let _ = write!(table, " {name} {shape}");
        let PatchRule { strategy, retain_keys, merge_key } = &field.patch;
        match (strategy, merge_key) {
            (PatchStrategy::Merge, Some(key)) => {
                let _ = write!(table, " merge:{key}");
            }
            (PatchStrategy::Merge, None) => table.push_str(" merge"),
            (PatchStrategy::Replace, _) => table.push_str(" replace"),
            (PatchStrategy::Unspecified, _) => {}
        }
        if *retain_keys {
            table.push_str(" retainKeys");
        }
        if let Some(default) = default {
            let _ = write!(table, " default:{default}");
        }
        table.push('\n');
    }

    fn text_of_use(&self, id: ShapeId) -> String {
        match self.name_of(id) {
            // Times and quantities are scalars with a name; the name says
            // nothing to those who merge.
            Some(_) if self.shapes[id.0] == Shape::Scalar => "s".to_owned(),
            Some(name) => format!("@{name}"),
            None => self.text_of(&self.shapes[id.0]),
        }
    }

    fn text_of(&self, shape: &Shape) -> String {
        match shape {
            Shape::Scalar => "s".to_owned(),
            Shape::Any => "*".to_owned(),
            Shape::Opaque => "!".to_owned(),
            Shape::Refer { of, atomic } => {
                let suffix = match atomic {
                    Some(true) => "^",
                    Some(false) => "~",
                    None => "",
                };
                format!("{}{suffix}", self.text_of_use(*of))
            }
            Shape::Map(map) => {
                let values = map.values.map_or_else(|| "*".to_owned(), |id| self.text_of_use(id));
                format!("{{{values}}}{}", if map.atomic { "^" } else { "" })
            }
            Shape::List { items, kind } => {
                let kind = match kind {
                    ListKind::Atomic => String::new(),
                    ListKind::Set => "=".to_owned(),
                    ListKind::Map(keys) => format!("({})", keys.join(",")),
                };
                format!("[{}]{kind}", self.text_of_use(*items))
            }
        }
    }

    fn name_of(&self, id: ShapeId) -> Option<&str> {
        self.names.iter().find(|(_, named)| **named == id).map(|(name, _)| name.as_str())
    }
}

fn granularity(name: &str) -> (&str, Option<bool>) {
    if let Some(name) = name.strip_suffix('^') {
        (name, Some(true))
    } else if let Some(name) = name.strip_suffix('~') {
        (name, Some(false))
    } else {
        (name, None)
    }
}

fn read_list_kind(text: &str) -> Option<(ListKind, &str)> {
    if let Some(rest) = text.strip_prefix('=') {
        return Some((ListKind::Set, rest));
    }
    let Some(keys) = text.strip_prefix('(') else { return Some((ListKind::Atomic, text)) };
    let (keys, rest) = keys.split_once(')')?;
    Some((ListKind::Map(keys.split(',').map(str::to_owned).collect()), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let table = include_str!("builtin.txt");
        let written = Schema::builtin().to_table();
        let shipped = table.lines().filter(|line| !line.starts_with('#'));
        for (written, shipped) in written.lines().zip(shipped.clone()) {
            assert_eq!(written, shipped);
        }
        assert_eq!(written.lines().count(), shipped.count());
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        let error = Schema::from_table("type a\n b [s\n").unwrap_err();
        assert_eq!(error.to_string(), "cannot read line 2 of the type table: \" b [s\"");
        for table in ["kind", " field s", "type a\n b q", "type a\n b s default:{", "type a\n b"] {
            assert!(Schema::from_table(table).is_err(), "{table:?}");
        }
    }

    #[test]
    fn unknown_defaults_do_not_hide_known_ones() {
        let schema = Schema::from_table("type a\n b s default:\"TCP\"\n").expect("a table");
        let found = schema.type_at(schema.names["a"]);
        assert_eq!(found.default_of("b"), Some(&Value::from("TCP")));
    }
}
