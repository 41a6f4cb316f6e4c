//! Replacing inside of a text that holds JSON or YAML, such as a file in a
//! ConfigMap.

use serde_json::Value;

use super::matching;
use crate::yaml::json::to_value;
use crate::yaml::path::{lookup, lookup_mut};
use crate::yaml::print_node::print_node;
use crate::yaml::{Body, Kind, Node, parse};

/// Sets a value inside of the text that a part of the path leads to, and says
/// whether that text is shared; `None` if there is no such text or no such field
/// in it.
pub(super) fn set(
    node: &mut Node,
    path: &[String],
    value: &Node,
    create: Option<Kind>,
) -> Option<bool> {
    let (outer, inner) = split(node, path)?;
    let field = lookup_mut(node, outer).ok()??;
    let original = field.text().to_owned();
    let mut document = parse::document(original.as_bytes()).ok()??;
    let matches = matching::find(&mut document, inner, create).ok()?;
    if matches.is_empty() {
        return None;
    }
    for found in matches {
        if let matching::Match::Address(address) = found
            && let Some(target) = matching::at(&mut document, &address)
        {
            match &mut target.body {
                Body::Scalar(text) => value.text().clone_into(text),
                Body::Sequence(_) | Body::Mapping(_) => *target = value.clone(),
            }
        }
    }
    let text = print_like(&document, &original)?;
    field.body = Body::Scalar(text);
    field.mark_changed();
    Some(field.share.is_changed)
}

/// Splits the path where it leads through a text that reads as YAML.
fn split<'p>(node: &Node, path: &'p [String]) -> Option<(&'p [String], &'p [String])> {
    for length in 1..path.len() {
        let (outer, inner) = path.split_at(length);
        let Ok(Some(field)) = lookup(node, outer) else { continue };
        let reads =
            field.kind() == Kind::Scalar && parse::document(field.text().as_bytes()).is_ok();
        if reads {
            return Some((outer, inner));
        }
    }
    None
}

/// JSON stays JSON, indented if it was; everything else is YAML.
fn print_like(document: &Node, original: &str) -> Option<String> {
    if !original.trim_start().starts_with(['{', '[']) {
        return Some(print_node(document).trim().to_owned());
    }
    let value: Value = to_value(document).ok()?;
    let mut text = String::new();
    if original.contains('\n') && original.contains("  ") {
        crate::go_json::print_indented(&value, &mut text);
    } else {
        crate::go_json::print(&value, &mut text);
    }
    Some(text)
}
