//! What can be wrong with a YAML text, and where.

use std::fmt;

use serde_json::Value;

/// A place in a text; both numbers count from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character within the line.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

/// A text that is not the YAML we can read.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// Where; unknown for problems of the text as a whole.
    pub position: Option<Position>,
    /// What.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is not YAML at all.
    #[error("{0}")]
    Syntax(String),
    /// An alias without its anchor.
    #[error("the alias *{0} refers to no anchor before it")]
    UnknownAnchor(String),
    /// An alias inside what it refers to.
    #[error("the alias *{0} stands inside its own anchor")]
    SelfReference(String),
    /// An alias bomb.
    #[error(
        "the document consists almost entirely of expanded aliases; write out what they stand for"
    )]
    ExcessiveAliasing,
    /// `<<` with something that cannot be merged.
    #[error("the merge key << needs a mapping or a list of mappings")]
    MergeOfNonMapping,
    /// A key that JSON cannot hold, with the value below it.
    #[error("a mapping key must be text, a number or a boolean, found {found}")]
    UnsupportedKey {
        /// The key.
        found: UnsupportedKey,
        /// What it stands for.
        value: Value,
    },
    /// A mapping or list where a key should be.
    #[error("a mapping key must be text, a number or a boolean, found {0}")]
    ContainerAsKey(&'static str),
    /// A key that is there twice, in strict mode.
    #[error("the key {0:?} is already set in this mapping")]
    DuplicateKey(String),
    /// A value that is not what its tag says.
    #[error("cannot read `{text}` as {tag}")]
    TagMismatch {
        /// The value as written.
        text: String,
        /// The tag as written.
        tag: String,
    },
    /// `.inf` or `.nan`.
    #[error("{0} cannot be expressed in JSON")]
    NotANumber(&'static str),
    /// A `!!binary` value that is not base64.
    #[error("the !!binary value is not valid base64")]
    InvalidBase64,
    /// A line that begins with `---` and goes on.
    #[error("a document separator must stand alone on its line, found `{0}` after it")]
    SeparatorWithContent(String),
    /// More text than [`Limits`](super::Limits) allow.
    #[error("the text is longer than {max_bytes} bytes")]
    TooLong {
        /// The limit.
        max_bytes: usize,
    },
    /// Deeper nesting than [`Limits`](super::Limits) allow.
    #[error("nested deeper than {max_depth} levels; flatten it")]
    TooDeep {
        /// The limit.
        max_depth: usize,
    },
    /// More values than [`Limits`](super::Limits) allow.
    #[error("more than {max_values} values")]
    TooManyValues {
        /// The limit.
        max_values: usize,
    },
}

/// A scalar that cannot be the key of a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedKey {
    /// Nothing at all, `~` or `null`.
    #[error("null")]
    Null,
    /// Larger than any `int64`.
    #[error("a number beyond 64 bits")]
    Uint(u64),
}

impl Error {
    pub(super) fn without_position(problem: Problem) -> Self {
        Self { position: None, problem }
    }

    pub(super) fn at(mark: libyaml_safer::Mark, problem: Problem) -> Self {
        let from_zero = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
        let position = Position { line: from_zero(mark.line), column: from_zero(mark.column) };
        Self { position: Some(position), problem }
    }

    /// The same error in a text that has `lines` more lines in front.
    #[must_use]
    pub fn further_down(mut self, lines: usize) -> Self {
        if let Some(position) = &mut self.position {
            position.line = position.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        }
        self
    }
}

impl From<libyaml_safer::Error> for Error {
    fn from(error: libyaml_safer::Error) -> Self {
        let problem = match error.context() {
            Some(context) => Problem::Syntax(format!("{} {context}", error.problem())),
            None => Problem::Syntax(error.problem().to_owned()),
        };
        match error.problem_mark() {
            Some(mark) => Self::at(mark, problem),
            None => Self::without_position(problem),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(position) => write!(formatter, "{position}: {}", self.problem),
            None => write!(formatter, "{}", self.problem),
        }
    }
}

impl std::error::Error for Error {}
