//! From the events of the YAML parser to a JSON value.
//!
//! [`Loader`] keeps its own stack of open containers instead of recursing, so
//! that nesting costs memory and never the thread's stack. Aliases are copies of
//! the finished value; how often they may be copied follows goyaml's rule.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use libyaml_safer::{Event, EventData, MappingStyle, Mark, Parser, ScalarStyle, SequenceStyle};
use serde_json::{Map, Number, Value};

use super::byte_order_marks::StandIn;
use super::error::{Error, Problem, UnsupportedKey};
use super::resolve::{Scalar, resolve};
use super::{Limits, base64, tags};
use crate::number;

/// What to do about a key that is there twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DuplicateKeys {
    LastWins,
    Refused,
}

/// Reads up to the end of the first document. What follows is not looked at.
pub(super) fn first_document(
    text: &str,
    duplicate_keys: DuplicateKeys,
    limits: Limits,
) -> Result<Value, Error> {
    let text = tags::readable(text.trim_start_matches('\u{feff}'));
    let (text, stand_in) = StandIn::put_into(text);
    let text = &*text;
    let mut events = Events::of(text);
    let mut loader = Loader {
        text,
        stand_in,
        may_escape_slashes: text.contains("\\/"),
        duplicate_keys,
        limits,
        anchors: BTreeMap::new(),
        open: Vec::new(),
        decoded: Counts::default(),
        root: Value::Null,
        unsupported: None,
    };
    loop {
        let event = events.next()?;
        match event.data {
            EventData::DocumentEnd { .. } | EventData::StreamEnd => {
                return loader.unsupported.map_or(Ok(loader.root), |it| Err(it.error));
            }
            _ => loader.take(event)?,
        }
    }
}

/// The events of a text, whatever its parser does about it.
struct Events<'t> {
    parser: Parser<Chunks<'t>>,
    /// Where the last event ended.
    reached: Mark,
}

impl<'t> Events<'t> {
    fn of(text: &'t str) -> Self {
        let mut parser = Parser::new();
        // Left to itself the parser takes a first character beyond U+EFFF for a broken mark.
        parser.set_encoding(libyaml_safer::Encoding::Utf8);
        parser.set_input(Chunks { rest: text, line_break: needs_line_break(text) });
        Self { parser, reached: Mark::default() }
    }

    /// The parser has places where it panics instead of refusing. The one known to
    /// be within reach is kept from it ([`tags`]); should there be another, the text
    /// is refused. After a panic nobody asks it again.
    fn next(&mut self) -> Result<Event, Error> {
        let parser = &mut self.parser;
        let event = catch_unwind(AssertUnwindSafe(|| parser.parse())).map_err(|_| {
            let problem = Problem::Syntax("the YAML could not be read".to_owned());
            Error::at(self.reached, problem)
        })??;
        self.reached = event.end_mark;
        Ok(event)
    }
}

struct Loader<'t> {
    text: &'t str,
    stand_in: StandIn,
    /// Whether `\/` occurs at all; nearly always it does not.
    may_escape_slashes: bool,
    duplicate_keys: DuplicateKeys,
    limits: Limits,
    anchors: BTreeMap<String, Anchored>,
    open: Vec<Container>,
    decoded: Counts,
    root: Value,
    unsupported: Option<Unsupported>,
}

/// A key that JSON cannot hold. The library looks at keys when the whole text is read, so what
/// else is wrong with it goes first.
struct Unsupported {
    error: Error,
    /// How many containers it stands in: of keys inside each other the outer one is told.
    depth: usize,
}

/// A mapping or sequence whose end has not come yet.
struct Container {
    anchor: Option<String>,
    /// What had been decoded before it.
    decoded_before: usize,
    /// Written in brackets?
    is_flow: bool,
    content: Content,
}

enum Content {
    Sequence(Vec<Value>),
    Mapping { entries: Map<String, Value>, next: Next },
}

/// What the next node in a mapping is.
enum Next {
    Key,
    ValueOf(String),
    ValueOfUnsupported(Mark, UnsupportedKey),
    Merge,
}

/// What an alias stands for.
enum Anchored {
    /// The anchor's own container is still open.
    Unfinished,
    Scalar(Scalar, String),
    Tree {
        value: Value,
        decoded: usize,
    },
}

#[derive(Default)]
struct Counts {
    /// Nodes decoded, each copy made by an alias counted again.
    all: usize,
    /// Those of them that were copies.
    copies: usize,
}

impl Loader<'_> {
    fn take(&mut self, event: Event) -> Result<(), Error> {
        let mark = event.start_mark;
        match event.data {
            EventData::Scalar { anchor, tag, value, plain_implicit, style, .. } => {
                if self.may_escape_slashes && style == ScalarStyle::DoubleQuoted {
                    self.refuse_escaped_slash(mark, event.end_mark)?;
                }
                if style == ScalarStyle::Plain {
                    self.refuse_question_mark(mark, &value)?;
                }
                let value = self.without_added_line_break(value, style, event.end_mark);
                let value = self.stand_in.put_back(value);
                self.take_scalar(mark, anchor, tag.as_deref(), value, plain_implicit)
            }
            EventData::SequenceStart { anchor, style, .. } => {
                let is_flow = style == SequenceStyle::Flow;
                self.enter(mark, anchor, is_flow, Content::Sequence(Vec::new()))
            }
            EventData::MappingStart { anchor, style, .. } => {
                let content = Content::Mapping { entries: Map::new(), next: Next::Key };
                self.enter(mark, anchor, style == MappingStyle::Flow, content)
            }
            EventData::SequenceEnd | EventData::MappingEnd => self.leave(mark),
            EventData::Alias { anchor } => self.take_alias(mark, anchor),
            EventData::DocumentStart { version_directive: Some(version), .. }
                if (version.major, version.minor) != (1, 1) =>
            {
                let problem = Problem::Syntax("found incompatible YAML document".to_owned());
                Err(Error::at(mark, problem))
            }
            EventData::StreamStart { .. }
            | EventData::StreamEnd
            | EventData::DocumentStart { .. }
            | EventData::DocumentEnd { .. } => Ok(()),
        }
    }

    fn take_scalar(
        &mut self,
        mark: Mark,
        anchor: Option<String>,
        tag: Option<&str>,
        text: String,
        implicit: bool,
    ) -> Result<(), Error> {
        if text == "<<"
            && (implicit || tag == Some("tag:yaml.org,2002:merge"))
            && let Some(Content::Mapping { next: next @ Next::Key, .. }) = self.innermost()
        {
            *next = Next::Merge;
            if let Some(anchor) = anchor {
                self.anchors.insert(anchor, Anchored::Scalar(Scalar::Text, text));
            }
            return Ok(());
        }
        let (scalar, text) = if tag.is_none() && !implicit {
            (Scalar::Text, text)
        } else {
            match resolve(tag, &text).map_err(|problem| Error::at(mark, problem))? {
                Scalar::Binary => (Scalar::Text, decode_binary(mark, &text)?),
                scalar => (scalar, text),
            }
        };
        self.count(mark, 1)?;
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, Anchored::Scalar(scalar, text.clone()));
        }
        self.attach_scalar(mark, scalar, text)
    }

    fn take_alias(&mut self, mark: Mark, anchor: String) -> Result<(), Error> {
        self.count(mark, 1)?;
        match self.anchors.get(&anchor) {
            None => Err(Error::at(mark, Problem::UnknownAnchor(anchor))),
            Some(Anchored::Unfinished) => Err(Error::at(mark, Problem::SelfReference(anchor))),
            Some(Anchored::Scalar(scalar, text)) => {
                let (scalar, text) = (*scalar, text.clone());
                self.count_copies(mark, 1)?;
                self.refuse_merge_of_alias(mark)?;
                self.attach_scalar(mark, scalar, text)
            }
            Some(Anchored::Tree { decoded, .. }) => {
                let decoded = *decoded;
                self.count_copies(mark, decoded)?;
                let Some(Anchored::Tree { value, .. }) = self.anchors.get(&anchor) else {
                    unreachable!("counting does not touch the anchors")
                };
                let value = value.clone();
                if !value.is_object() {
                    self.refuse_merge_of_alias(mark)?;
                }
                if self.expects_key() {
                    let found = if value.is_object() { "a mapping" } else { "a list" };
                    return Err(Error::at(mark, Problem::ContainerAsKey(found)));
                }
                self.attach(mark, value)
            }
        }
    }

    fn enter(
        &mut self,
        mark: Mark,
        anchor: Option<String>,
        is_flow: bool,
        content: Content,
    ) -> Result<(), Error> {
        if self.expects_key() {
            let name = match content {
                Content::Sequence(_) => "a list",
                Content::Mapping { .. } => "a mapping",
            };
            return Err(Error::at(mark, Problem::ContainerAsKey(name)));
        }
        let max_depth = self.limits.max_depth;
        if self.open.len() >= max_depth {
            return Err(Error::at(mark, Problem::TooDeep { max_depth }));
        }
        let decoded_before = self.decoded.all;
        self.count(mark, 1)?;
        if let Some(anchor) = &anchor {
            self.anchors.insert(anchor.clone(), Anchored::Unfinished);
        }
        self.open.push(Container { anchor, decoded_before, is_flow, content });
        Ok(())
    }

    fn leave(&mut self, mark: Mark) -> Result<(), Error> {
        let container = self.open.pop().expect("the parser balances starts and ends");
        let value = match container.content {
            Content::Sequence(items) => Value::Array(items),
            Content::Mapping { entries, .. } => Value::Object(entries),
        };
        if let Some(anchor) = container.anchor {
            let decoded = self.decoded.all - container.decoded_before;
            // An anchor of the same name inside has taken over by now.
            if let Some(slot @ Anchored::Unfinished) = self.anchors.get_mut(&anchor) {
                *slot = Anchored::Tree { value: value.clone(), decoded };
            }
        }
        self.attach(mark, value)
    }

    fn attach_scalar(&mut self, mark: Mark, scalar: Scalar, text: String) -> Result<(), Error> {
        if let Some(Content::Mapping { next: next @ Next::Key, .. }) = self.innermost() {
            *next = match key(scalar, text) {
                Ok(key) => Next::ValueOf(key),
                Err(found) => Next::ValueOfUnsupported(mark, found),
            };
            return Ok(());
        }
        let value = value(scalar, text).map_err(|problem| Error::at(mark, problem))?;
        self.attach(mark, value)
    }

    /// Puts a finished value where it belongs: into the innermost open container.
    fn attach(&mut self, mark: Mark, value: Value) -> Result<(), Error> {
        let duplicate_keys = self.duplicate_keys;
        let depth = self.open.len();
        match self.innermost() {
            None => self.root = value,
            Some(Content::Sequence(items)) => items.push(value),
            Some(Content::Mapping { entries, next }) => {
                match std::mem::replace(next, Next::Key) {
                    Next::ValueOf(key) => insert(entries, key, value, duplicate_keys),
                    Next::ValueOfUnsupported(mark, found) => {
                        if self.unsupported.as_ref().is_none_or(|it| depth < it.depth) {
                            let problem = Problem::UnsupportedKey { found, value };
                            let error = Error::at(mark, problem);
                            self.unsupported = Some(Unsupported { error, depth });
                        }
                        Ok(())
                    }
                    Next::Merge => merge(entries, value, duplicate_keys),
                    Next::Key => {
                        unreachable!("keys are scalars, and scalars are sorted out before")
                    }
                }
                .map_err(|problem| Error::at(mark, problem))?;
            }
        }
        Ok(())
    }

    fn innermost(&mut self) -> Option<&mut Content> {
        self.open.last_mut().map(|container| &mut container.content)
    }

    fn expects_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Container { content: Content::Mapping { next: Next::Key, .. }, .. })
        )
    }

    /// `<<: *alias` takes a mapping only, where `<<: [..]` takes a list of them.
    fn refuse_merge_of_alias(&self, mark: Mark) -> Result<(), Error> {
        match self.open.last() {
            Some(Container { content: Content::Mapping { next: Next::Merge, .. }, .. }) => {
                Err(Error::at(mark, Problem::MergeOfNonMapping))
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, mark: Mark, nodes: usize) -> Result<(), Error> {
        self.decoded.all = self.decoded.all.saturating_add(nodes);
        let max_values = self.limits.max_values;
        if self.decoded.all > max_values {
            return Err(Error::at(mark, Problem::TooManyValues { max_values }));
        }
        Ok(())
    }

    fn count_copies(&mut self, mark: Mark, nodes: usize) -> Result<(), Error> {
        self.decoded.copies = self.decoded.copies.saturating_add(nodes);
        self.count(mark, nodes)?;
        if self.decoded.has_excessive_copies() {
            return Err(Error::at(mark, Problem::ExcessiveAliasing));
        }
        Ok(())
    }

    /// Takes back what [`Chunks`] added, where it became part of a block scalar.
    fn without_added_line_break(&self, mut value: String, style: ScalarStyle, end: Mark) -> String {
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let reaches_end = end.index > self.text.len() as u64;
        if is_block
            && reaches_end
            && needs_line_break(self.text)
            && ends_in_added(&value, self.text)
        {
            value.pop();
        }
        value
    }

    /// To goyaml a question mark ends a plain scalar in brackets, and what follows is
    /// the key of a mapping, which cannot stand there.
    fn refuse_question_mark(&self, mark: Mark, value: &str) -> Result<(), Error> {
        let expected = match self.open.last() {
            Some(Container { is_flow: true, content: Content::Sequence(_), .. }) => "']'",
            Some(Container { is_flow: true, content: Content::Mapping { .. }, .. }) => "'}'",
            _ => return Ok(()),
        };
        if !value.contains('?') {
            return Ok(());
        }
        let problem = format!("did not find expected ',' or {expected}");
        Err(Error::at(mark, Problem::Syntax(problem)))
    }

    /// goyaml does not know the escape `\/`, although JSON has it.
    fn refuse_escaped_slash(&self, start: Mark, end: Mark) -> Result<(), Error> {
        let offset = |mark: Mark| usize::try_from(mark.index).unwrap_or(usize::MAX);
        let source = self.text.get(offset(start)..offset(end)).unwrap_or_default();
        // A tag or an anchor may come first; neither can hold a quote.
        let quoted = source.find('"').map_or("", |at| &source[at + 1..]);
        let mut bytes = quoted.bytes();
        while let Some(byte) = bytes.next() {
            if byte == b'\\' && bytes.next() == Some(b'/') {
                let problem = "found unknown escape character \\/ while parsing a quoted scalar";
                return Err(Error::at(start, Problem::Syntax(problem.to_owned())));
            }
        }
        Ok(())
    }
}

impl Counts {
    /// goyaml's rule: small documents may be 99 parts in 100 copies, documents of
    /// four million nodes one part in ten.
    #[expect(clippy::cast_precision_loss, reason = "a ratio; goyaml computes it the same way")]
    fn has_excessive_copies(&self) -> bool {
        const LOW: f64 = 400_000.0;
        const HIGH: f64 = 4_000_000.0;
        let all = self.all as f64;
        let allowed = 0.99 - 0.89 * ((all - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
        self.copies > 100 && self.all > 1000 && self.copies as f64 / all > allowed
    }
}

fn insert(
    entries: &mut Map<String, Value>,
    key: String,
    value: Value,
    duplicate_keys: DuplicateKeys,
) -> Result<(), Problem> {
    if duplicate_keys == DuplicateKeys::Refused && entries.contains_key(&key) {
        return Err(Problem::DuplicateKey(key));
    }
    entries.insert(key, value);
    Ok(())
}

/// Later settings win over earlier ones, whichever of the two is the merge; in a
/// list of mappings the first wins.
fn merge(
    entries: &mut Map<String, Value>,
    from: Value,
    duplicate_keys: DuplicateKeys,
) -> Result<(), Problem> {
    match from {
        Value::Object(from) => from
            .into_iter()
            .try_for_each(|(key, value)| insert(entries, key, value, duplicate_keys)),
        Value::Array(items) => items.into_iter().rev().try_for_each(|item| match item {
            Value::Object(_) => merge(entries, item, duplicate_keys),
            _ => Err(Problem::MergeOfNonMapping),
        }),
        _ => Err(Problem::MergeOfNonMapping),
    }
}

pub(super) fn key(scalar: Scalar, text: String) -> Result<String, UnsupportedKey> {
    match scalar {
        Scalar::Text => Ok(text),
        Scalar::Bool(value) => Ok(value.to_string()),
        Scalar::Int(number) => Ok(number.to_string()),
        // The library prints keys with the precision, and the range, of a 32-bit float.
        Scalar::Float(number) => Ok(match number::format_g_32(number).as_str() {
            "+Inf" => ".inf".to_owned(),
            "-Inf" => "-.inf".to_owned(),
            "NaN" => ".nan".to_owned(),
            printed => printed.to_owned(),
        }),
        Scalar::Null => Err(UnsupportedKey::Null),
        Scalar::Uint(number) => Err(UnsupportedKey::Uint(number)),
        Scalar::Binary => unreachable!("decoded to text before"),
    }
}

pub(super) fn value(scalar: Scalar, text: String) -> Result<Value, Problem> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Int(number) => Value::Number(number.into()),
        Scalar::Uint(number) => Value::Number(number.into()),
        Scalar::Float(number) => Value::Number(json_number(number)?),
        Scalar::Text => Value::String(text),
        Scalar::Binary => unreachable!("decoded to text before"),
    })
}

/// A float as it comes back from Go's JSON, which prints whole numbers below
/// 1e21 without a fraction.
pub(super) fn json_number(number: f64) -> Result<Number, Problem> {
    if number.is_nan() {
        return Err(Problem::NotANumber(".nan"));
    }
    if number.is_infinite() {
        return Err(Problem::NotANumber(".inf"));
    }
    if number.fract() == 0.0 && number.abs() < 1e21 {
        let digits = number.to_string();
        if number == 0.0 {
            return Ok(0.into());
        }
        if let Ok(whole) = digits.parse::<i64>() {
            return Ok(whole.into());
        }
        if let Ok(whole) = digits.parse::<u64>() {
            return Ok(whole.into());
        }
    }
    Ok(Number::from_f64(number).expect("neither infinite nor NaN"))
}

fn decode_binary(mark: Mark, text: &str) -> Result<String, Error> {
    match base64::decode(text) {
        Some(bytes) => Ok(go_utf8_lossy(&bytes)),
        None => Err(Error::at(mark, Problem::InvalidBase64)),
    }
}

/// Go's JSON replaces each offending byte, not each broken sequence.
fn go_utf8_lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// Whether the parser needs a line break at the end that is not there: it cannot
/// read a block scalar that ends with the text.
fn needs_line_break(text: &str) -> bool {
    !text.is_empty() && !text.ends_with(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
}

/// Whether the line break after `text` is the one `value` ends with. After a line
/// with content it is. A blank last line counts only if its spaces are content
/// themselves or if all final line breaks are kept.
fn ends_in_added(value: &str, text: &str) -> bool {
    let Some(before) = value.strip_suffix('\n') else { return false };
    let is_blank = |line: &str| line.bytes().all(|byte| byte == b' ');
    let last_line = |text: &str| text.rsplit('\n').next().unwrap_or_default().to_owned();
    !is_blank(&last_line(text)) || before.is_empty() || is_blank(&last_line(before))
}

/// Hands the text over in pieces: the parser keeps a queue of all it was given.
struct Chunks<'t> {
    rest: &'t str,
    /// Whether a line break is still to come after the text.
    line_break: bool,
}

const CHUNK_BYTES: usize = 16 << 10;

impl BufRead for Chunks<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.rest.is_empty() && self.line_break {
            return Ok(b"\n");
        }
        let end = self.rest.floor_char_boundary(CHUNK_BYTES);
        Ok(&self.rest.as_bytes()[..end])
    }

    fn consume(&mut self, amount: usize) {
        if self.rest.is_empty() {
            self.line_break &= amount == 0;
        }
        self.rest = &self.rest[amount.min(self.rest.len())..];
    }
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let amount = buffer.len().min(available.len());
        buffer[..amount].copy_from_slice(&available[..amount]);
        self.consume(amount);
        Ok(amount)
    }
}
