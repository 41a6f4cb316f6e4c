//! From YAML text to nodes.
//!
//! [`manifests`] reads a file of manifests the way Kustomize does: split into
//! documents by lines first, then each document by itself. [`document`] reads
//! one document.

use std::borrow::Cow;

use libyaml_safer::{EventData, MappingStyle, Parser, ScalarStyle, SequenceStyle};

use super::scalar::resolve;
use super::{Body, Form, Node, Style, Tag};

/// Deeper nesting than this is refused: every walk of a tree takes stack for it.
/// go-yaml allows 10,000; manifests that people write stay below 100.
pub(crate) const DEPTH_LIMIT: usize = 300;

/// Aliases may copy at most this many nodes into one document.
const ALIAS_LIMIT: usize = 200_000;

/// Why a text could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ParseError {
    #[error("yaml: {0}")]
    Syntax(String),
    #[error("yaml: unknown anchor '{0}' referenced")]
    UnknownAnchor(String),
    #[error("yaml: anchor '{0}' value contains itself")]
    RecursiveAnchor(String),
    #[error("yaml: document contains excessive aliasing")]
    ExcessiveAliasing,
    #[error("yaml: exceeded max depth of {DEPTH_LIMIT}")]
    TooDeep,
    #[error("invalid document separator: {0}")]
    Separator(String),
    #[error("invalid map merge: received alias for a non-map value")]
    MergeOfAlias,
    #[error("invalid map merge: received a nested sequence")]
    MergeOfNestedSequence,
    #[error("map merge requires map or sequence of maps as the value")]
    MergeOfScalar,
    #[error("duplicate merge key")]
    DuplicateMergeKey,
}

/// Reads every document of a manifest file. Empty documents are left out, and
/// a lone `List` is replaced by its items.
pub(crate) fn manifests(text: &str) -> Result<Vec<Node>, ParseError> {
    let text = if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    };
    let pieces = split_documents(&text)?;
    let alone = pieces.len() == 1;
    let mut nodes = Vec::new();
    for piece in pieces {
        let Some(node) = document(piece.as_bytes())? else { continue };
        if node.is_null() {
            continue;
        }
        if alone && is_list(&node) {
            if let Some(Body::Sequence(items)) = node.field("items").map(|items| &items.body) {
                nodes.extend(items.iter().cloned());
            }
            continue;
        }
        nodes.push(node);
    }
    Ok(nodes)
}

fn is_list(node: &Node) -> bool {
    let kind = node.field("kind").map_or("", Node::value);
    (kind == "List" || kind == "ResourceList")
        && (node.field("items").is_some() || node.field("functionConfig").is_some())
}

/// Splits at lines that begin with `---`, which may end in a comment only.
fn split_documents(text: &str) -> Result<Vec<&str>, ParseError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut search = 0;
    while let Some(found) = text[search..].find("\n---") {
        let at = search + found;
        let Some(line_end) = text[at + 1..].find('\n').map(|end| at + 1 + end) else { break };
        let after = text[at + 4..line_end].trim();
        if !after.is_empty() && !after.starts_with('#') {
            return Err(ParseError::Separator(text[at..line_end].trim().to_owned()));
        }
        // The piece keeps the line break before the separator.
        pieces.push(&text[start..=at.max(start)]);
        start = line_end + 1;
        search = start.max(at + 1);
    }
    pieces.push(&text[start..]);
    Ok(pieces)
}

/// Reads the first document of a text, with copies in place of aliases and
/// merged maps in place of `<<`; `None` if there is none.
pub(crate) fn document(text: &[u8]) -> Result<Option<Node>, ParseError> {
    if std::str::from_utf8(text).is_ok_and(gocompat::yaml::has_odd_tag) {
        let why = "a tag has a comma or a bracket in it: write a space behind the tag";
        return Err(ParseError::Syntax(why.to_owned()));
    }
    // Should the scanner panic on another text, that one cannot be read either.
    let composed = std::panic::catch_unwind(|| {
        // It also panics where a block scalar ends without a line break. Spaces
        // at the very end mean nothing.
        let text = match text.iter().rposition(|byte| *byte != b' ') {
            Some(last) if text[last] == b'\n' => &text[..=last],
            _ => text,
        };
        if text.ends_with(b"\n") {
            return compose(&mut Events::of(text));
        }
        let ended = [text, b"\n"].concat();
        let mut events = Events { added_break_at: Some(text.len() as u64), ..Events::of(&ended) };
        compose(&mut events)
    });
    composed.unwrap_or_else(|_| Err(ParseError::Syntax("the text cannot be scanned".to_owned())))
}

fn compose(events: &mut Events<'_>) -> Result<Option<Node>, ParseError> {
    let mut composer = Composer { anchors: Vec::new(), copied: 0 };
    loop {
        match events.next()? {
            EventData::StreamEnd => return Ok(None),
            EventData::DocumentStart { .. } => {
                let event = events.next()?;
                return composer.node(events, event, 0).map(Some);
            }
            _ => {}
        }
    }
}

/// The events of a text.
struct Events<'t> {
    parser: Parser<&'t [u8]>,
    /// Where a line break was added that the text does not have.
    added_break_at: Option<u64>,
}

impl<'t> Events<'t> {
    fn of(text: &'t [u8]) -> Self {
        let mut parser = Parser::new();
        parser.set_input(text);
        Self { parser, added_break_at: None }
    }

    fn next(&mut self) -> Result<EventData, ParseError> {
        let mut event =
            self.parser.parse().map_err(|error| ParseError::Syntax(described(&error)))?;
        if let EventData::Scalar {
            value, style: ScalarStyle::Literal | ScalarStyle::Folded, ..
        } = &mut event.data
            && self.added_break_at.is_some_and(|at| event.end_mark.index > at)
            && value.ends_with('\n')
        {
            value.pop();
        }
        Ok(event.data)
    }
}

/// The message with the line that go-yaml would name: that of the context if
/// there is one, counted from zero by the parser and from one by the scanner.
fn described(error: &libyaml_safer::Error) -> String {
    let marks = [error.context_mark(), error.problem_mark()];
    let line = marks.into_iter().flatten().map(|mark| mark.line).find(|line| *line != 0);
    let problem = error.problem();
    match (line, error.kind()) {
        (None, _) => problem.to_owned(),
        (Some(line), libyaml_safer::ErrorKind::Scanner) => format!("line {}: {problem}", line + 1),
        (Some(line), _) => format!("line {line}: {problem}"),
    }
}

struct Composer {
    /// Anchors in order of definition; `None` while the node is being read.
    anchors: Vec<(String, Option<Node>)>,
    copied: usize,
}

impl Composer {
    fn node(
        &mut self,
        events: &mut Events<'_>,
        event: EventData,
        depth: usize,
    ) -> Result<Node, ParseError> {
        if depth > DEPTH_LIMIT {
            return Err(ParseError::TooDeep);
        }
        match event {
            EventData::Alias { anchor } => self.alias(&anchor),
            EventData::Scalar { anchor, tag, value, style, .. } => {
                let node = scalar(tag.as_deref(), value, style);
                self.define(anchor, &node);
                Ok(node)
            }
            EventData::SequenceStart { anchor, tag, style, .. } => {
                let slot = self.open(anchor);
                let mut items = Vec::new();
                loop {
                    match events.next()? {
                        EventData::SequenceEnd => break,
                        event => items.push(self.node(events, event, depth + 1)?),
                    }
                }
                let flow = style == SequenceStyle::Flow;
                let node = collection(tag.as_deref(), Tag::Seq, flow, Body::Sequence(items));
                self.close(slot, &node);
                Ok(node)
            }
            EventData::MappingStart { anchor, tag, style, .. } => {
                let slot = self.open(anchor);
                let entries = self.entries(events, depth)?;
                let flow = style == MappingStyle::Flow;
                let node = collection(tag.as_deref(), Tag::Map, flow, Body::Mapping(entries));
                self.close(slot, &node);
                Ok(node)
            }
            EventData::StreamStart { .. }
            | EventData::StreamEnd
            | EventData::DocumentStart { .. }
            | EventData::DocumentEnd { .. }
            | EventData::SequenceEnd
            | EventData::MappingEnd => {
                Err(ParseError::Syntax("unexpected end of a node".to_owned()))
            }
        }
    }

    fn entries(
        &mut self,
        events: &mut Events<'_>,
        depth: usize,
    ) -> Result<Vec<(Node, Node)>, ParseError> {
        let mut entries = Vec::new();
        let mut merges: Option<Vec<Node>> = None;
        loop {
            let key = match events.next()? {
                EventData::MappingEnd => break,
                event => self.node(events, event, depth + 1)?,
            };
            let event = events.next()?;
            let is_alias = matches!(event, EventData::Alias { .. });
            let value = self.node(events, event, depth + 1)?;
            if key.tag == Tag::Merge {
                if merges.is_some() {
                    return Err(ParseError::DuplicateMergeKey);
                }
                merges = Some(merge_values(value, is_alias)?);
            } else {
                entries.push((key, value));
            }
        }
        Ok(match merges {
            None => entries,
            Some(merges) => merged(entries, merges),
        })
    }

    fn alias(&mut self, anchor: &str) -> Result<Node, ParseError> {
        let node = match self.anchors.iter().rev().find(|(name, _)| name == anchor) {
            None => return Err(ParseError::UnknownAnchor(anchor.to_owned())),
            Some((_, None)) => return Err(ParseError::RecursiveAnchor(anchor.to_owned())),
            Some((_, Some(node))) => node.clone(),
        };
        self.copied += size(&node);
        if self.copied > ALIAS_LIMIT {
            return Err(ParseError::ExcessiveAliasing);
        }
        Ok(node)
    }

    fn define(&mut self, anchor: Option<String>, node: &Node) {
        if let Some(anchor) = anchor {
            self.anchors.push((anchor, Some(node.clone())));
        }
    }

    fn open(&mut self, anchor: Option<String>) -> Option<usize> {
        let anchor = anchor?;
        self.anchors.push((anchor, None));
        Some(self.anchors.len() - 1)
    }

    fn close(&mut self, slot: Option<usize>, node: &Node) {
        if let Some(slot) = slot {
            self.anchors[slot].1 = Some(node.clone());
        }
    }
}

fn size(node: &Node) -> usize {
    1 + match &node.body {
        Body::Scalar(_) => 0,
        Body::Sequence(items) => items.iter().map(size).sum(),
        Body::Mapping(entries) => entries.iter().map(|(key, value)| size(key) + size(value)).sum(),
    }
}

/// The maps named by a `<<` key, the one that wins last.
fn merge_values(value: Node, is_alias: bool) -> Result<Vec<Node>, ParseError> {
    match value.body {
        Body::Mapping(_) => Ok(vec![value]),
        _ if is_alias => Err(ParseError::MergeOfAlias),
        Body::Sequence(items) => {
            let mut maps = Vec::new();
            for item in items {
                match item.body {
                    Body::Mapping(_) => maps.insert(0, item),
                    Body::Sequence(_) => return Err(ParseError::MergeOfNestedSequence),
                    Body::Scalar(_) => return Err(ParseError::MergeOfScalar),
                }
            }
            Ok(maps)
        }
        Body::Scalar(_) => Err(ParseError::MergeOfScalar),
    }
}

/// A mapping's own entries win over merged ones.
fn merged(own: Vec<(Node, Node)>, merges: Vec<Node>) -> Vec<(Node, Node)> {
    let mut result = own.clone();
    let merged = merges.into_iter().flat_map(|node| match node.body {
        Body::Mapping(entries) => entries,
        Body::Scalar(_) | Body::Sequence(_) => Vec::new(),
    });
    for (key, value) in merged.chain(own) {
        match result.iter_mut().find(|(present, _)| present.text() == key.text()) {
            Some(entry) => *entry = (key, value),
            None => result.push((key, value)),
        }
    }
    result
}

fn scalar(tag: Option<&str>, value: String, style: ScalarStyle) -> Node {
    let form = match style {
        ScalarStyle::DoubleQuoted => Form::DoubleQuoted,
        ScalarStyle::SingleQuoted => Form::SingleQuoted,
        ScalarStyle::Literal => Form::Literal,
        ScalarStyle::Folded => Form::Folded,
        _ => Form::Plain,
    };
    let (tag, tagged) = match tag.filter(|tag| !tag.is_empty() && *tag != "!") {
        Some(tag) => (Tag::parse(tag), true),
        None if form != Form::Plain => (Tag::Str, false),
        None if value == "<<" => (Tag::Merge, false),
        None => (resolve(&value).tag(), false),
    };
    Node::new(tag, Style { tagged, form }, Body::Scalar(value))
}

fn collection(tag: Option<&str>, default: Tag, flow: bool, body: Body) -> Node {
    let (tag, tagged) = match tag.filter(|tag| !tag.is_empty() && *tag != "!") {
        Some(tag) => (Tag::parse(tag), true),
        None => (default, false),
    };
    let form = if flow { Form::Flow } else { Form::Plain };
    Node::new(tag, Style { tagged, form }, body)
}
