//! The node tree: what a YAML text says, with how it was written.
//!
//! A scalar keeps its text, its tag and its style, because Kustomize decides
//! late what a scalar *is*: `1` set over a quoted value stays a string, the
//! same text over a plain value becomes a number. Comments and the order of
//! keys are not kept apart from the order of reading: the printed result is
//! sorted and has no comments.

/// One node of a YAML document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) tag: Tag,
    pub(crate) style: Style,
    pub(crate) body: Body,
    pub(crate) share: Share,
}

/// Membership in a group of scalars that are one and the same to Kustomize: a
/// label that one transformer put in several places is a single node there,
/// and what changes one of them later changes them all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// The group within the resource; zero for none.
    pub(crate) group: u32,
    /// This member was changed and the others were not yet.
    pub(crate) is_changed: bool,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Scalar(String),
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
}

/// The kinds of node, for paths that create what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Scalar,
    Sequence,
    Mapping,
}

impl Kind {
    /// The name Kustomize's error messages use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Scalar => "ScalarNode",
            Self::Sequence => "SequenceNode",
            Self::Mapping => "MappingNode",
        }
    }
}

/// The type of a node as read or as set; `None` is decided when printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    None,
    Str,
    Int,
    Float,
    Bool,
    Null,
    Timestamp,
    Binary,
    Merge,
    Map,
    Seq,
    Other(String),
}

impl Tag {
    /// Reads a tag in its long or short spelling.
    pub(crate) fn parse(text: &str) -> Self {
        let short = match text.strip_prefix("tag:yaml.org,2002:") {
            Some(rest) => format!("!!{rest}"),
            None => text.to_owned(),
        };
        match short.as_str() {
            "!!str" => Self::Str,
            "!!int" => Self::Int,
            "!!float" => Self::Float,
            "!!bool" => Self::Bool,
            "!!null" => Self::Null,
            "!!timestamp" => Self::Timestamp,
            "!!binary" => Self::Binary,
            "!!merge" => Self::Merge,
            "!!map" => Self::Map,
            "!!seq" => Self::Seq,
            _ => Self::Other(short),
        }
    }

    /// The short spelling; empty for [`Tag::None`].
    pub(crate) fn short(&self) -> &str {
        match self {
            Self::None => "",
            Self::Str => "!!str",
            Self::Int => "!!int",
            Self::Float => "!!float",
            Self::Bool => "!!bool",
            Self::Null => "!!null",
            Self::Timestamp => "!!timestamp",
            Self::Binary => "!!binary",
            Self::Merge => "!!merge",
            Self::Map => "!!map",
            Self::Seq => "!!seq",
            Self::Other(text) => text,
        }
    }
}

/// How a node was, or shall be, written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// The tag was written out and stays.
    pub(crate) tagged: bool,
    pub(crate) form: Form,
}

/// The written form of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Plain,
    DoubleQuoted,
    SingleQuoted,
    Literal,
    Folded,
    Flow,
}

impl Style {
    pub(crate) const PLAIN: Self = Self { tagged: false, form: Form::Plain };
    pub(crate) const DOUBLE_QUOTED: Self = Self { tagged: false, form: Form::DoubleQuoted };
    pub(crate) const LITERAL: Self = Self { tagged: false, form: Form::Literal };

    /// Was the scalar marked as a string by quotes or a block indicator?
    pub(crate) fn is_quoted(self) -> bool {
        matches!(self.form, Form::DoubleQuoted | Form::SingleQuoted | Form::Literal | Form::Folded)
    }
}

/// Null, for taking a node out of its place.
impl Default for Node {
    fn default() -> Self {
        Self::typed("", Tag::Null)
    }
}

impl Node {
    pub(crate) fn new(tag: Tag, style: Style, body: Body) -> Self {
        Self { tag, style, body, share: Share::default() }
    }

    /// Takes the contents of another node, in place.
    pub(crate) fn overwrite(&mut self, value: Self) {
        let share = self.share;
        *self = value;
        self.share = share;
        self.mark_changed();
    }

    /// Notes a change for the other members of the group.
    pub(crate) fn mark_changed(&mut self) {
        self.share.is_changed = self.share.group != 0;
    }

    /// Hands changes of shared scalars on to all members of their groups.
    pub(crate) fn settle_shares(&mut self) {
        let mut changed = Vec::new();
        self.take_changes(&mut changed);
        for source in &changed {
            self.copy_to_group(source);
        }
    }

    /// A copy of shared scalars is not shared.
    pub(crate) fn leave_groups(&mut self) {
        self.share = Share::default();
        match &mut self.body {
            Body::Scalar(_) => {}
            Body::Sequence(items) => items.iter_mut().for_each(Self::leave_groups),
            Body::Mapping(entries) => {
                entries.iter_mut().for_each(|(_, value)| value.leave_groups());
            }
        }
    }

    fn take_changes(&mut self, changed: &mut Vec<Self>) {
        match &mut self.body {
            Body::Scalar(_) if self.share.is_changed => {
                self.share.is_changed = false;
                changed.push(self.clone());
            }
            Body::Scalar(_) => {}
            Body::Sequence(items) => items.iter_mut().for_each(|it| it.take_changes(changed)),
            Body::Mapping(entries) => {
                entries.iter_mut().for_each(|(_, value)| value.take_changes(changed));
            }
        }
    }

    fn copy_to_group(&mut self, source: &Self) {
        match &mut self.body {
            Body::Scalar(_) if self.share.group == source.share.group => self.clone_from(source),
            Body::Scalar(_) => {}
            Body::Sequence(items) => items.iter_mut().for_each(|it| it.copy_to_group(source)),
            Body::Mapping(entries) => {
                entries.iter_mut().for_each(|(_, value)| value.copy_to_group(source));
            }
        }
    }

    /// A scalar whose type is decided when it is printed.
    pub(crate) fn untyped(text: impl Into<String>) -> Self {
        Self::new(Tag::None, Style::PLAIN, Body::Scalar(text.into()))
    }

    /// A scalar of a known type.
    pub(crate) fn typed(text: impl Into<String>, tag: Tag) -> Self {
        Self::new(tag, Style::PLAIN, Body::Scalar(text.into()))
    }

    /// A string, in block style when it has several lines.
    pub(crate) fn string(text: impl Into<String>) -> Self {
        let text = text.into();
        let style = if text.contains('\n') { Style::LITERAL } else { Style::PLAIN };
        Self::new(Tag::Str, style, Body::Scalar(text))
    }

    /// An empty node of the wished kind, without a tag.
    pub(crate) fn empty(kind: Kind) -> Self {
        let body = match kind {
            Kind::Scalar => Body::Scalar(String::new()),
            Kind::Sequence => Body::Sequence(Vec::new()),
            Kind::Mapping => Body::Mapping(Vec::new()),
        };
        Self::new(Tag::None, Style::PLAIN, body)
    }

    pub(crate) fn mapping(entries: Vec<(Self, Self)>) -> Self {
        Self::new(Tag::Map, Style::PLAIN, Body::Mapping(entries))
    }

    pub(crate) fn sequence(items: Vec<Self>) -> Self {
        Self::new(Tag::Seq, Style::PLAIN, Body::Sequence(items))
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.body {
            Body::Scalar(_) => Kind::Scalar,
            Body::Sequence(_) => Kind::Sequence,
            Body::Mapping(_) => Kind::Mapping,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.tag == Tag::Null
    }

    /// Null, `{}` or `[]`.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_null()
            || match &self.body {
                Body::Scalar(_) => false,
                Body::Sequence(items) => items.is_empty(),
                Body::Mapping(entries) => entries.is_empty(),
            }
    }

    /// A scalar that is a string, or not yet decided.
    pub(crate) fn is_stringlike(&self) -> bool {
        self.kind() == Kind::Scalar && matches!(self.tag, Tag::Str | Tag::None)
    }

    /// The text of a scalar; empty for everything else.
    pub(crate) fn text(&self) -> &str {
        match &self.body {
            Body::Scalar(text) => text,
            Body::Sequence(_) | Body::Mapping(_) => "",
        }
    }

    /// The text of a scalar that is not null.
    pub(crate) fn value(&self) -> &str {
        if self.is_null() { "" } else { self.text() }
    }

    pub(crate) fn entries(&self) -> &[(Self, Self)] {
        match &self.body {
            Body::Mapping(entries) => entries,
            Body::Scalar(_) | Body::Sequence(_) => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Self] {
        match &self.body {
            Body::Sequence(items) => items,
            Body::Scalar(_) | Body::Mapping(_) => &[],
        }
    }

    /// The value of a field of a mapping.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.entries().iter().find(|(key, _)| key.text() == name).map(|(_, value)| value)
    }

    /// The value of a field of a mapping, to change it.
    pub(crate) fn field_mut(&mut self, name: &str) -> Option<&mut Self> {
        match &mut self.body {
            Body::Mapping(entries) => {
                entries.iter_mut().find(|(key, _)| key.text() == name).map(|(_, value)| value)
            }
            Body::Scalar(_) | Body::Sequence(_) => None,
        }
    }

    /// About how many bytes a copy takes.
    pub(crate) fn weight(&self) -> usize {
        let inside = match &self.body {
            Body::Scalar(text) => text.len(),
            Body::Sequence(items) => items.iter().map(Self::weight).sum(),
            Body::Mapping(entries) => {
                entries.iter().map(|(key, value)| key.weight() + value.weight()).sum()
            }
        };
        size_of::<Self>() + inside
    }

    /// Follows field names through mappings.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, name| node.field(name))
    }

    /// Removes a field and returns what it held.
    pub(crate) fn remove_field(&mut self, name: &str) -> Option<Self> {
        let Body::Mapping(entries) = &mut self.body else { return None };
        let index = entries.iter().position(|(key, _)| key.text() == name)?;
        Some(entries.remove(index).1)
    }

    /// Sets a field without looking at styles: for values this crate makes.
    pub(crate) fn put(&mut self, name: &str, value: Self) {
        match self.field_mut(name) {
            Some(existing) => *existing = value,
            None => {
                if let Body::Mapping(entries) = &mut self.body {
                    entries.push((Self::untyped(name), value));
                }
            }
        }
    }
}
