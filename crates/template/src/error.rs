//! Why a template could not be parsed or executed, in the words Go uses.
//!
//! Go's messages are part of what users see and search for, so an [`Error`] carries the whole
//! sentence, with the inner one inside it, and [`Error::chain`] gives each link by itself as
//! `errors.Unwrap` would.

use std::fmt;

/// A failed parse, execution or function call.
#[derive(Debug, Clone)]
pub struct Error {
    message: String,
    origin: Origin,
    cause: Option<Box<Self>>,
}

/// Where an error arose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The template's text is malformed.
    Parse,
    /// Executing a template: the message names template, line and column.
    Template,
    /// A function refused its arguments.
    Function,
    /// A limit on depth, steps or output was reached: the template is hostile or endless.
    Limit,
}

impl Error {
    /// A function's refusal.
    pub fn function(message: impl Into<String>) -> Self {
        Self { message: message.into(), origin: Origin::Function, cause: None }
    }

    /// A function's refusal because of another error, whose text `message` already contains.
    pub fn wrapping(message: impl Into<String>, cause: Self) -> Self {
        Self { message: message.into(), origin: cause.origin, cause: Some(Box::new(cause)) }
    }

    pub(crate) fn parse(message: String) -> Self {
        Self { message, origin: Origin::Parse, cause: None }
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self { message: message.into(), origin: Origin::Limit, cause: None }
    }

    pub(crate) fn template(message: String, cause: Option<Self>) -> Self {
        let is_limit = cause.as_ref().is_some_and(|cause| cause.origin == Origin::Limit);
        let origin = if is_limit { Origin::Limit } else { Origin::Template };
        Self { message, origin, cause: cause.map(Box::new) }
    }

    /// Where it arose.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// For functions that swallow complaints and return something else instead: a limit still counts.
    pub(crate) fn swallow<T>(
        result: Result<T, Self>,
        otherwise: impl FnOnce(Self) -> T,
    ) -> Result<T, Self> {
        match result {
            Err(error) if error.origin == Origin::Limit => Err(error),
            Err(error) => Ok(otherwise(error)),
            Ok(value) => Ok(value),
        }
    }

    /// The message of this error and of each one it wraps, outermost first.
    pub fn chain(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self), |error| error.cause.as_deref())
            .map(|error| error.message.as_str())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

// No `source`: the message already contains the cause, as Go's does.
impl std::error::Error for Error {}
