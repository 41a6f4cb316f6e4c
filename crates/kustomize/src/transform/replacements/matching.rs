//! Finding all fields that a path with wildcards and list selectors leads to.

use regex::Regex;

use crate::error::{Context as _, Result, invalid};
use crate::selector::expression;
use crate::yaml::path::{
    demand, is_index, is_list_element, kind_before, new_element, split_list_element,
};
use crate::yaml::print_node::print_node;
use crate::yaml::{Body, Kind, Node, parse};

/// The way to a node: positions of entries or elements.
pub(super) type Address = Vec<usize>;

/// A field that was found.
pub(super) enum Match {
    Address(Address),
    /// Inside of a text that was read as YAML for the purpose.
    InText,
}

/// All fields at the path; with `create`, what is missing is made.
pub(super) fn find(node: &mut Node, path: &[String], create: Option<Kind>) -> Result<Vec<Match>> {
    let mut matches = Vec::new();
    walk(node, path, create, &mut Vec::new(), &mut matches)?;
    Ok(matches)
}

/// The node at an address.
pub(super) fn at<'n>(node: &'n mut Node, address: &[usize]) -> Option<&'n mut Node> {
    address.iter().try_fold(node, |node, at| match &mut node.body {
        Body::Scalar(_) => None,
        Body::Sequence(items) => items.get_mut(*at),
        Body::Mapping(entries) => entries.get_mut(*at).map(|(_, value)| value),
    })
}

fn walk(
    node: &mut Node,
    path: &[String],
    create: Option<Kind>,
    address: &mut Address,
    matches: &mut Vec<Match>,
) -> Result<()> {
    let Some((part, rest)) = path.split_first() else {
        matches.push(Match::Address(address.clone()));
        return Ok(());
    };
    if is_index(part) {
        return walk_index(node, part, rest, create, address, matches);
    }
    if is_list_element(part) {
        return walk_elements(node, part, rest, create, address, matches);
    }
    if part == "*" {
        demand(node, Kind::Sequence)?;
        return each_item(node, address, |item, address| {
            walk(item, rest, create, address, matches)
        });
    }
    walk_field(node, part, rest, create, address, matches)
}

fn each_item(
    node: &mut Node,
    address: &mut Address,
    mut visit: impl FnMut(&mut Node, &mut Address) -> Result<()>,
) -> Result<()> {
    let Body::Sequence(items) = &mut node.body else { return Ok(()) };
    for (at, item) in items.iter_mut().enumerate() {
        address.push(at);
        visit(item, address)?;
        address.pop();
    }
    Ok(())
}

fn walk_field(
    node: &mut Node,
    name: &str,
    rest: &[String],
    create: Option<Kind>,
    address: &mut Address,
    matches: &mut Vec<Match>,
) -> Result<()> {
    if node.is_null() {
        return Ok(());
    }
    demand(node, Kind::Mapping)?;
    let Body::Mapping(entries) = &mut node.body else { return Ok(()) };
    let position = entries.iter().position(|(key, _)| key.text() == name);
    let position = match (position, create) {
        (Some(at), _) => at,
        (None, None) => return Ok(()),
        (None, Some(kind)) => {
            let kind = kind_before(rest.first().map(String::as_str), kind);
            entries.push((Node::untyped(name), Node::empty(kind)));
            entries.len() - 1
        }
    };
    let field = &mut entries[position].1;
    if field.kind() == Kind::Scalar && !rest.is_empty() {
        return walk_text(field, rest, create, matches);
    }
    address.push(position);
    walk(field, rest, create, address, matches)?;
    address.pop();
    Ok(())
}

/// A text may hold YAML; what is found there is found, but not reachable.
fn walk_text(
    field: &Node,
    rest: &[String],
    create: Option<Kind>,
    matches: &mut Vec<Match>,
) -> Result<()> {
    let Some(mut inner) = parse::document(field.text().as_bytes())? else {
        return Ok(());
    };
    let mut found = Vec::new();
    walk(&mut inner, rest, create, &mut Vec::new(), &mut found)?;
    matches.extend(found.iter().map(|_| Match::InText));
    Ok(())
}

fn walk_index(
    node: &mut Node,
    part: &str,
    rest: &[String],
    create: Option<Kind>,
    address: &mut Address,
    matches: &mut Vec<Match>,
) -> Result<()> {
    demand(node, Kind::Sequence)?;
    let index: usize = part.parse().unwrap_or(usize::MAX);
    let Body::Sequence(items) = &mut node.body else { return Ok(()) };
    if let (true, Some(kind)) = (items.len() == index, create) {
        items.push(Node::empty(kind_before(rest.first().map(String::as_str), kind)));
    }
    let count = items.len();
    let item = items.get_mut(index).ok_or_else(|| {
        invalid(format!("index {index} specified but only {count} elements found"))
    })?;
    address.push(index);
    walk(item, rest, create, address, matches)?;
    address.pop();
    Ok(())
}

/// `[name=web]`: the value is a regular expression found anywhere in the text.
fn walk_elements(
    node: &mut Node,
    part: &str,
    rest: &[String],
    create: Option<Kind>,
    address: &mut Address,
    matches: &mut Vec<Match>,
) -> Result<()> {
    let (name, value) = split_list_element(part)?;
    demand(node, Kind::Sequence)?;
    let pattern = expression(value)?;
    let before = matches.len();
    visit_elements(node, name, &pattern, rest, create, address, matches)?;
    let (true, Some(_)) = (matches.len() == before, create) else { return Ok(()) };
    let Body::Sequence(items) = &mut node.body else { return Ok(()) };
    items.push(new_element(name, value));
    visit_elements(node, name, &pattern, rest, create, address, matches)
        .context(|| format!("failed to create element for {part:?}"))
}

fn visit_elements(
    node: &mut Node,
    name: &str,
    pattern: &Regex,
    rest: &[String],
    create: Option<Kind>,
    address: &mut Address,
    matches: &mut Vec<Match>,
) -> Result<()> {
    each_item(node, address, |item, address| {
        let text = if name.is_empty() {
            print_node(item)
        } else {
            match item.field(name) {
                Some(field) => print_node(field),
                None => return Ok(()),
            }
        };
        if !pattern.is_match(text.trim()) {
            return Ok(());
        }
        if name.is_empty() {
            // The rest of the path is ignored for plain elements.
            matches.push(Match::Address(address.clone()));
            return Ok(());
        }
        walk(item, rest, create, address, matches)
    })
}
