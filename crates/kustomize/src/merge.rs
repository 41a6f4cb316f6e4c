//! Strategic merge patches as Kustomize applies them.
//!
//! [`merge`] walks a resource and a patch together. Mappings are merged field
//! by field; lists are replaced, unless the schema names keys by which their
//! elements are paired ([`elements`]). `$patch: delete|replace|merge` and null
//! work as in kubectl. What Kustomize does to fields that the patch does not
//! name is done here too: a field left blank is dropped.

mod elements;

use std::collections::BTreeSet;

use crate::error::{Result, invalid};
use crate::schema::{Schema, Schemas};
use crate::yaml::path::{demand, guarded};
use crate::yaml::{Body, Kind, Node, Share, Style, Tag};

const DIRECTIVE: &str = "$patch";

/// Applies a patch to a resource; `None` if the patch deletes it.
pub(crate) fn merge(target: Node, patch: Node, schemas: &Schemas) -> Result<Option<Node>> {
    let merger = Merger { schemas };
    Ok(match merger.walk(Some(target), Patch::Other(patch), None)? {
        Merged::Cleared => None,
        Merged::Node { node, .. } | Merged::KeptNull(node) => Some(node),
    })
}

struct Merger<'s> {
    schemas: &'s Schemas,
}

/// The patch's side of a place in the tree.
enum Patch {
    /// The patch says nothing here.
    Absent,
    /// The target's side was taken from the patch.
    Same,
    Other(Node),
}

enum Merged {
    Cleared,
    Node {
        node: Node,
        /// The node is the target's own, changed.
        in_place: bool,
    },
    /// A null that was written out in the target stays.
    KeptNull(Node),
}

impl Merged {
    fn adopted(node: Node) -> Self {
        Self::Node { node, in_place: false }
    }
}

impl<'s> Merger<'s> {
    fn walk(&self, dest: Option<Node>, patch: Patch, schema: Option<Schema<'s>>) -> Result<Merged> {
        let patch_node = match &patch {
            Patch::Other(node) => Some(node),
            Patch::Absent | Patch::Same => None,
        };
        let sides = [dest.as_ref(), patch_node];
        let schema = schema.or_else(|| self.schema_by_kind(sides));
        match common_kind(sides)? {
            None | Some(Kind::Mapping) => self.mappings(dest, patch, schema),
            Some(Kind::Sequence) => self.sequences(dest, patch, schema),
            Some(Kind::Scalar) => Ok(match (dest, patch) {
                (_, Patch::Other(node)) => Merged::adopted(node),
                (Some(node), Patch::Same | Patch::Absent) => Merged::Node { node, in_place: true },
                (None, Patch::Same | Patch::Absent) => Merged::Cleared,
            }),
        }
    }

    /// An object inside of an unknown one is known by its own kind.
    fn schema_by_kind(&self, sides: [Option<&Node>; 2]) -> Option<Schema<'s>> {
        sides.into_iter().flatten().find_map(|node| {
            let kind = node.field("kind")?.value();
            let api_version = node.field("apiVersion")?.value();
            self.schemas.of_kind(api_version, kind)
        })
    }

    fn mappings(
        &self,
        dest: Option<Node>,
        patch: Patch,
        schema: Option<Schema<'s>>,
    ) -> Result<Merged> {
        let mut patch = patch;
        let mut dest = match dest {
            Some(node) if !node.is_null() => node,
            nothing => return self.over_nothing(nothing, patch, schema),
        };
        let directive = match &mut patch {
            Patch::Absent => Directive::Merge,
            Patch::Same => take_directive(&mut dest)?,
            Patch::Other(node) if node.is_null() => return Ok(Merged::Cleared),
            Patch::Other(node) => take_directive(node)?,
        };
        match (directive, patch) {
            (Directive::Delete, _) => Ok(Merged::Cleared),
            (Directive::Replace, Patch::Other(node)) => {
                Ok(Merged::adopted(self.fields(node, Patch::Same, schema)?))
            }
            (Directive::Replace | Directive::Merge, patch) => {
                let node = self.fields(dest, patch, schema)?;
                Ok(Merged::Node { node, in_place: true })
            }
        }
    }

    /// The target has nothing, or null, where the patch has a mapping or null.
    fn over_nothing(
        &self,
        dest: Option<Node>,
        patch: Patch,
        schema: Option<Schema<'s>>,
    ) -> Result<Merged> {
        match patch {
            Patch::Other(mut node) => match take_directive(&mut node) {
                Ok(Directive::Delete) => Ok(Merged::Cleared),
                _ if node.kind() == Kind::Mapping && !node.is_null() => {
                    Ok(Merged::adopted(self.fields(node, Patch::Same, schema)?))
                }
                _ => Ok(Merged::adopted(node)),
            },
            Patch::Same => Ok(Merged::Cleared),
            Patch::Absent => Ok(match dest {
                Some(node) if !node.text().is_empty() => {
                    Merged::KeptNull(Node::typed(node.text(), Tag::Null))
                }
                _ => Merged::Cleared,
            }),
        }
    }

    fn fields(&self, mut dest: Node, patch: Patch, schema: Option<Schema<'s>>) -> Result<Node> {
        if let (Patch::Absent, Body::Mapping(entries)) = (&patch, &mut dest.body)
            && are_distinct(entries)
        {
            self.untouched(entries, schema)?;
            return Ok(dest);
        }
        let is_same = matches!(patch, Patch::Same);
        let mut patch = match patch {
            Patch::Other(node) => node,
            Patch::Absent | Patch::Same => Node::empty(Kind::Mapping),
        };
        let names: BTreeSet<String> = dest
            .entries()
            .iter()
            .chain(patch.entries())
            .map(|(key, _)| key.text().to_owned())
            .collect();
        for name in names {
            let key_style = key_style(&patch, &name);
            let own = dest.field_mut(&name).map(std::mem::take);
            let mut replaced = own.as_ref().map(|node| (node.style, node.share));
            let field_patch = match patch.remove_field(&name) {
                Some(node) => Patch::Other(node),
                None if is_same => Patch::Same,
                None => Patch::Absent,
            };
            let field_schema = schema.and_then(|schema| schema.field(&name));
            let value = match self.walk(own, field_patch, field_schema)? {
                Merged::KeptNull(node) => node,
                // Kustomize sets the target's own node over itself, so that a
                // text which needs quotes has them from now on.
                Merged::Node { node, in_place } if !node.is_null() => {
                    let node = guarded(node);
                    if in_place {
                        replaced = replaced.map(|(_, share)| (node.style, share));
                    }
                    node
                }
                Merged::Node { .. } | Merged::Cleared => {
                    dest.remove_field(&name);
                    continue;
                }
            };
            place(&mut dest, &name, value, replaced, key_style);
        }
        Ok(dest)
    }

    /// The fields of a mapping that the patch does not mention, in place: what
    /// the loop of [`Merger::fields`] would come to, without its copies.
    fn untouched(&self, entries: &mut Vec<(Node, Node)>, schema: Option<Schema<'s>>) -> Result<()> {
        for (key, own) in std::mem::take(entries) {
            let field_schema = schema.and_then(|schema| schema.field(key.text()));
            let style = own.style;
            match self.walk(Some(own), Patch::Absent, field_schema)? {
                Merged::KeptNull(node) => entries.push((key, Node { style, ..node })),
                Merged::Node { node, .. } if !node.is_null() => entries.push((key, guarded(node))),
                Merged::Node { .. } | Merged::Cleared => {}
            }
        }
        Ok(())
    }

    fn sequences(
        &self,
        dest: Option<Node>,
        patch: Patch,
        schema: Option<Schema<'s>>,
    ) -> Result<Merged> {
        let Some(schema) = schema.filter(Schema::is_merged_list) else {
            return Ok(match (dest, patch) {
                (_, Patch::Other(node)) => Merged::adopted(node),
                (Some(node), Patch::Absent | Patch::Same) => Merged::Node { node, in_place: true },
                (None, Patch::Absent | Patch::Same) => Merged::Cleared,
            });
        };
        let dest = dest.filter(|node| !node.is_null());
        match (dest, patch) {
            (None, Patch::Other(node)) => {
                Ok(Merged::adopted(self.elements(node, Patch::Same, schema)?))
            }
            (None, Patch::Absent | Patch::Same) => Ok(Merged::Cleared),
            (Some(_), Patch::Other(node)) if node.is_null() => Ok(Merged::Cleared),
            (Some(dest), Patch::Other(mut node)) => match take_list_directive(&mut node)? {
                Directive::Delete => Ok(Merged::Cleared),
                Directive::Replace => {
                    Ok(Merged::adopted(self.elements(node, Patch::Same, schema)?))
                }
                Directive::Merge => {
                    let node = self.elements(dest, Patch::Other(node), schema)?;
                    Ok(Merged::Node { node, in_place: true })
                }
            },
            (Some(mut dest), Patch::Same) => match take_list_directive(&mut dest)? {
                Directive::Delete => Ok(Merged::Cleared),
                Directive::Replace | Directive::Merge => {
                    let node = self.elements(dest, Patch::Same, schema)?;
                    Ok(Merged::Node { node, in_place: true })
                }
            },
            (Some(dest), Patch::Absent) => {
                let node = self.elements(dest, Patch::Absent, schema)?;
                Ok(Merged::Node { node, in_place: true })
            }
        }
    }
}

/// Has every entry a key of its own? Where there are many, nobody looks.
fn are_distinct(entries: &[(Node, Node)]) -> bool {
    entries.len() <= 32
        && entries.iter().enumerate().all(|(at, (key, _))| {
            entries[..at].iter().all(|(before, _)| before.text() != key.text())
        })
}

/// The kind of both sides, null aside; `None` if there is nothing else.
fn common_kind(sides: [Option<&Node>; 2]) -> Result<Option<Kind>> {
    let mut present = sides.into_iter().flatten().filter(|node| !node.is_null());
    let Some(kind) = present.next().map(Node::kind) else { return Ok(None) };
    for node in present {
        demand(node, kind)?;
    }
    Ok(Some(kind))
}

fn key_style(patch: &Node, name: &str) -> Style {
    patch
        .entries()
        .iter()
        .find(|(key, _)| key.text() == name)
        .map_or(Style::PLAIN, |(key, _)| key.style)
}

/// Puts a merged value where the old one was, in the old one's style.
fn place(
    dest: &mut Node,
    name: &str,
    mut value: Node,
    replaced: Option<(Style, Share)>,
    key_style: Style,
) {
    if let Some((style, share)) = replaced {
        value.style = style;
        if value.share.group != share.group {
            value.share = share;
            value.mark_changed();
        }
        if let Some(field) = dest.field_mut(name) {
            *field = value;
        }
    } else if let Body::Mapping(entries) = &mut dest.body {
        let mut key = Node::untyped(name);
        key.style = key_style;
        entries.push((key, value));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    Merge,
    Replace,
    Delete,
}

impl Directive {
    fn parse(text: &str) -> Result<Self> {
        match text {
            "merge" => Ok(Self::Merge),
            "replace" => Ok(Self::Replace),
            "delete" => Ok(Self::Delete),
            _ => Err(invalid(format!("unknown patch strategy '{text}'"))),
        }
    }
}

/// Removes the directive from a mapping and says what it was.
fn take_directive(patch: &mut Node) -> Result<Directive> {
    if patch.kind() == Kind::Sequence {
        return take_list_directive(patch);
    }
    if patch.kind() == Kind::Scalar {
        return Err(invalid(format!(
            "no implemented strategic merge patch strategy for '{}' ('{}')",
            patch.tag.short(),
            crate::yaml::print_node::print_node(patch),
        )));
    }
    let Some(field) = patch.field(DIRECTIVE) else { return Ok(Directive::Merge) };
    let directive = Directive::parse(field.text())?;
    patch.remove_field(DIRECTIVE);
    Ok(directive)
}

/// A list's directive is an element of its own: `- $patch: replace`.
fn take_list_directive(patch: &mut Node) -> Result<Directive> {
    let Body::Sequence(items) = &mut patch.body else { return Ok(Directive::Merge) };
    let Some(element) = items.iter().find(|item| item.field(DIRECTIVE).is_some()) else {
        return Ok(Directive::Merge);
    };
    if element.entries().len() > 1 {
        return Ok(Directive::Merge);
    }
    let text = element.field(DIRECTIVE).map_or("", Node::text).to_owned();
    let directive = Directive::parse(&text)?;
    elements::set_element(items, None, &[DIRECTIVE.to_owned()], &[text])?;
    Ok(directive)
}
