//! Paths into a node tree: splitting them, following them, creating what is
//! missing, setting fields with Kustomize's rules of style.

use super::scalar::is_non_string_in_yaml_1_1;
use super::{Body, Kind, Node, Style, Tag};

/// Why a path could not be followed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error("wrong node kind: expected {} but got {}: node contents:\n{contents}", expected.name(), found.name())]
    WrongKind { expected: Kind, found: Kind, contents: String },
    #[error("wildcard is not supported in PathGetter")]
    Wildcard,
    #[error("array index {0} cannot be negative")]
    NegativeIndex(i64),
    #[error("list path element must contain fieldName=fieldValue for element to match")]
    ListElement,
}

/// Checks the kind of a node; null passes as anything.
pub(crate) fn demand(node: &Node, expected: Kind) -> Result<(), PathError> {
    if node.is_null() || node.kind() == expected {
        return Ok(());
    }
    let contents = super::print_node::print_node(node);
    Err(PathError::WrongKind { expected, found: node.kind(), contents })
}

/// Splits at the delimiter, which a backslash keeps in the part.
pub(crate) fn split(path: &str, delimiter: char) -> Vec<String> {
    let mut pieces = path.split(delimiter).peekable();
    let mut parts: Vec<String> = Vec::new();
    if let Some(first) = pieces.next() {
        // A leading delimiter is ignored.
        if !(first.is_empty() && pieces.peek().is_some()) {
            parts.push(first.to_owned());
        } else if let Some(second) = pieces.next() {
            parts.push(second.to_owned());
        }
    }
    for piece in pieces {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(piece);
            }
            _ => parts.push(piece.to_owned()),
        }
    }
    parts
}

/// Like [`split`], but `[name=a.b]` and `[a.b]` stay in one part.
pub(crate) fn split_with_brackets(path: &str, delimiter: char) -> Vec<String> {
    let mut parts = Vec::new();
    let mut pieces = split(path, delimiter).into_iter();
    while let Some(piece) = pieces.next() {
        if !piece.starts_with('[') || piece.ends_with(']') {
            parts.push(piece);
            continue;
        }
        let mut whole = piece;
        for next in pieces.by_ref() {
            whole.push(delimiter);
            whole.push_str(&next);
            if next.ends_with(']') {
                break;
            }
        }
        if whole.contains('=') {
            parts.push(whole);
        } else {
            parts.push(whole.trim_matches(['[', ']']).to_owned());
        }
    }
    parts
}

pub(crate) fn is_list_element(part: &str) -> bool {
    part.starts_with('[') && part.ends_with(']') && part.len() >= 2
}

pub(crate) fn is_index(part: &str) -> bool {
    part.parse::<i64>().is_ok_and(|index| index >= 0)
}

/// Splits `[name=value]`.
pub(crate) fn split_list_element(part: &str) -> Result<(&str, &str), PathError> {
    let inner = part.strip_suffix(']').unwrap_or(part);
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    inner.split_once('=').ok_or(PathError::ListElement)
}

/// Follows a path; `None` if something on it is missing.
pub(crate) fn lookup<'n, P: AsRef<str>>(
    node: &'n Node,
    path: &[P],
) -> Result<Option<&'n Node>, PathError> {
    let mut current = node;
    for part in cleaned(path) {
        let next = match Step::parse(part)? {
            Step::Index(index) => {
                demand(current, Kind::Sequence)?;
                current.items().get(index)
            }
            Step::Last => {
                demand(current, Kind::Sequence)?;
                current.items().last()
            }
            Step::Element { name, value } => {
                demand(current, Kind::Sequence)?;
                current.items().iter().find(|item| is_element(item, name, value))
            }
            Step::Field(name) => {
                demand(current, Kind::Mapping)?;
                current.field(name)
            }
        };
        match next {
            Some(next) => current = next,
            None => return Ok(None),
        }
    }
    Ok(Some(current))
}

/// Follows a path to change what it leads to.
pub(crate) fn lookup_mut<'n, P: AsRef<str>>(
    node: &'n mut Node,
    path: &[P],
) -> Result<Option<&'n mut Node>, PathError> {
    let mut current = node;
    for part in cleaned(path) {
        let next = match Step::parse(part)? {
            Step::Index(index) => {
                demand(current, Kind::Sequence)?;
                items_mut(current).and_then(|items| items.get_mut(index))
            }
            Step::Last => {
                demand(current, Kind::Sequence)?;
                items_mut(current).and_then(|items| items.last_mut())
            }
            Step::Element { name, value } => {
                demand(current, Kind::Sequence)?;
                items_mut(current)
                    .and_then(|items| items.iter_mut().find(|item| is_element(item, name, value)))
            }
            Step::Field(name) => {
                demand(current, Kind::Mapping)?;
                current.field_mut(name)
            }
        };
        match next {
            Some(next) => current = next,
            None => return Ok(None),
        }
    }
    Ok(Some(current))
}

/// Follows a path and creates what is missing; the last part gets `kind`.
pub(crate) fn lookup_or_create<'n, P: AsRef<str>>(
    node: &'n mut Node,
    path: &[P],
    kind: Kind,
) -> Result<Option<&'n mut Node>, PathError> {
    let parts: Vec<&str> = cleaned(path).collect();
    let mut current = node;
    for (at, part) in parts.iter().enumerate() {
        let part = *part;
        let next_kind = kind_before(parts.get(at + 1).copied(), kind);
        let next = match Step::parse(part)? {
            Step::Index(index) => {
                demand(current, Kind::Sequence)?;
                items_mut(current).and_then(|items| items.get_mut(index))
            }
            Step::Last => {
                demand(current, Kind::Sequence)?;
                items_mut(current).and_then(|items| items.last_mut())
            }
            Step::Element { name, value } => {
                demand(current, Kind::Sequence)?;
                let Some(items) = items_mut(current) else { return Ok(None) };
                let position = items.iter().position(|item| is_element(item, name, value));
                let position = position.unwrap_or_else(|| {
                    items.push(new_element(name, value));
                    items.len() - 1
                });
                items.get_mut(position)
            }
            Step::Field(name) => {
                demand(current, Kind::Mapping)?;
                if current.is_null() {
                    return Ok(None);
                }
                if current.field(name).is_none()
                    && let Body::Mapping(entries) = &mut current.body
                {
                    entries.push((Node::untyped(name), Node::empty(next_kind)));
                }
                current.field_mut(name)
            }
        };
        match next {
            Some(next) => current = next,
            None => return Ok(None),
        }
    }
    Ok(Some(current))
}

/// The kind of node that the next part of a path needs.
pub(crate) fn kind_before(next: Option<&str>, last: Kind) -> Kind {
    match next {
        None | Some("") => last,
        Some(part) if is_list_element(part) || is_index(part) => Kind::Sequence,
        Some(_) => Kind::Mapping,
    }
}

pub(crate) fn new_element(name: &str, value: &str) -> Node {
    if name.is_empty() {
        return Node::untyped(value);
    }
    let mut element = Node::empty(Kind::Mapping);
    element.put(name, Node::untyped(value));
    element
}

fn cleaned<P: AsRef<str>>(path: &[P]) -> impl Iterator<Item = &str> {
    path.iter().map(|part| part.as_ref().trim()).filter(|part| !part.is_empty())
}

fn items_mut(node: &mut Node) -> Option<&mut Vec<Node>> {
    match &mut node.body {
        Body::Sequence(items) => Some(items),
        Body::Scalar(_) | Body::Mapping(_) => None,
    }
}

fn is_element(item: &Node, name: &str, value: &str) -> bool {
    if name.is_empty() {
        return item.text() == value;
    }
    item.kind() == Kind::Mapping && item.field(name).is_some_and(|field| field.text() == value)
}

enum Step<'p> {
    Index(usize),
    Last,
    Element { name: &'p str, value: &'p str },
    Field(&'p str),
}

impl<'p> Step<'p> {
    fn parse(part: &'p str) -> Result<Self, PathError> {
        if let Ok(index) = part.parse::<i64>() {
            let index = usize::try_from(index).map_err(|_| PathError::NegativeIndex(index))?;
            return Ok(Self::Index(index));
        }
        match part {
            "-" => Ok(Self::Last),
            "*" => Err(PathError::Wildcard),
            _ if is_list_element(part) => {
                let (name, value) = split_list_element(part)?;
                Ok(Self::Element { name, value })
            }
            _ => Ok(Self::Field(part)),
        }
    }
}

/// Sets a field of a mapping. The style of a value that is replaced stays;
/// null removes the field.
pub(crate) fn set_field(map: &mut Node, name: &str, value: Node) -> Result<(), PathError> {
    let mut value = guarded(value);
    if value.is_null() {
        demand(map, Kind::Mapping)?;
        map.remove_field(name);
        return Ok(());
    }
    demand(map, Kind::Mapping)?;
    match map.field_mut(name) {
        Some(existing) => {
            value.style = existing.style;
            existing.overwrite(value);
        }
        None => {
            if let Body::Mapping(entries) = &mut map.body {
                entries.push((Node::untyped(name), value));
            }
        }
    }
    Ok(())
}

/// Replaces a scalar by another; its style stays.
pub(crate) fn set_scalar(target: &mut Node, value: Node) -> Result<(), PathError> {
    demand(target, Kind::Scalar)?;
    if value.is_null() {
        return Ok(());
    }
    let mut value = value;
    value.style = target.style;
    target.overwrite(value);
    Ok(())
}

/// Quotes a string that YAML 1.1 would read as something else.
pub(crate) fn guarded(mut value: Node) -> Node {
    if value.is_stringlike()
        && value.style == Style::PLAIN
        && is_non_string_in_yaml_1_1(value.text())
    {
        value.style = Style::DOUBLE_QUOTED;
    }
    value
}

/// Sets a string field, as for names and labels.
pub(crate) fn set_string(map: &mut Node, name: &str, text: &str) -> Result<(), PathError> {
    set_field(map, name, Node::typed(text, Tag::Str))
}

#[cfg(test)]
mod tests {
    use super::{split, split_with_brackets};

    #[test]
    fn a_backslash_keeps_the_delimiter() {
        assert_eq!(
            split(r"metadata/annotations/a.b\/c", '/'),
            ["metadata", "annotations", "a.b/c"]
        );
        assert_eq!(split("/a/b", '/'), ["a", "b"]);
        assert_eq!(split("", '/'), [""]);
    }

    #[test]
    fn brackets_hold_their_contents_together() {
        assert_eq!(
            split_with_brackets("spec.containers.[name=a.b].image", '.'),
            ["spec", "containers", "[name=a.b]", "image"]
        );
        assert_eq!(
            split_with_brackets("metadata.annotations.[config.kubernetes.io/x]", '.'),
            ["metadata", "annotations", "config.kubernetes.io/x"]
        );
    }
}
