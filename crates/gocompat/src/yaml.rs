//! YAML as sigs.k8s.io/yaml reads and writes it.
//!
//! That library is goyaml v2 with JSON behind it: YAML 1.1 booleans (`yes`,
//! `on`), octal integers, merge keys, keys that become strings, and values that
//! are exactly what JSON can say. Start with [`to_value`] for one document,
//! [`documents`] for a manifest file, [`from_value`] for the way back; [`pretty`] writes
//! as the library's third version does.
//!
//! Where we differ on purpose:
//! - nesting, size and the number of values are bounded by [`Limits`];
//! - strict mode also refuses keys that only become equal as strings (`1` and
//!   `"1"`), where Go keeps one of the two at random;
//! - a float that is a whole number below 1e21 is an integer, because that is
//!   how it looks after Go has printed it as JSON; minus zero is zero.
//!
//! The way of a text: `libyaml-safer` says which node stands where, `load`
//! builds the value with `resolve` deciding what a scalar means. That is the
//! long way; texts as manifests are written take a short one (`block`), JSON
//! another (`json`), both of which give the same or nothing.
//!
//! Where that parser differs from goyaml (`tests/golden/yaml-differs.jsonl`): what
//! follows the end of the document on the same line (`[]: x`) is an error, where
//! goyaml does not look at it; keys may be 1024 bytes long instead of 1024 characters.

mod base64;
mod block;
mod byte_order_marks;
mod emit;
mod error;
mod json;
mod load;
mod natural_order;
mod resolve;
mod split;
mod tags;

use serde_json::Value;

pub use emit::{Node, from_value, pretty};
pub use error::{Error, Position, Problem, UnsupportedKey};
pub use resolve::{Scalar, is_base_60, plain_scalar};
pub use split::{Document, split_documents};
pub use tags::has_odd_tag;

use load::DuplicateKeys;

/// How much of an outside input we are ready to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text.
    pub max_bytes: usize,
    /// Mappings and sequences inside each other.
    pub max_depth: usize,
    /// Values in the result, with every alias expanded.
    pub max_values: usize,
}

impl Default for Limits {
    /// Generous for anything a cluster would accept: the largest real inputs are
    /// indexes of chart repositories, tens of megabytes long.
    fn default() -> Self {
        Self { max_bytes: 128 << 20, max_depth: 1000, max_values: 16_000_000 }
    }
}

/// Reads the first document of `text`; a key that is there twice has its last value.
///
/// # Errors
/// Where sigs.k8s.io/yaml `Unmarshal` fails, and where a default limit is passed.
pub fn to_value(text: &str) -> Result<Value, Error> {
    to_value_within(text, Limits::default())
}

/// [`to_value`] with limits of the caller's choice.
///
/// # Errors
/// As [`to_value`].
pub fn to_value_within(text: &str, limits: Limits) -> Result<Value, Error> {
    check_size(text, limits)?;
    match json::plain_object(text) {
        Some(value) => Ok(value),
        None => first_document(text, DuplicateKeys::LastWins, limits),
    }
}

/// Reads the first document of `text`; a key that is there twice is an error.
///
/// # Errors
/// Where sigs.k8s.io/yaml `UnmarshalStrict` fails, and where a default limit is passed.
pub fn to_value_strict(text: &str) -> Result<Value, Error> {
    let limits = Limits::default();
    check_size(text, limits)?;
    first_document(text, DuplicateKeys::Refused, limits)
}

/// The short way where it is certain, or else the long one.
fn first_document(
    text: &str,
    duplicate_keys: DuplicateKeys,
    limits: Limits,
) -> Result<Value, Error> {
    match block::document(text, duplicate_keys, limits) {
        Some(value) => Ok(value),
        None => load::first_document(text, duplicate_keys, limits),
    }
}

/// What the long way alone makes of a text: for those who hold the short ways to it.
///
/// # Errors
/// As [`to_value`], and where `strict` as [`to_value_strict`].
#[doc(hidden)]
pub fn to_value_the_long_way(text: &str, strict: bool) -> Result<Value, Error> {
    let limits = Limits::default();
    check_size(text, limits)?;
    let duplicate_keys = if strict { DuplicateKeys::Refused } else { DuplicateKeys::LastWins };
    load::first_document(text, duplicate_keys, limits)
}

/// Reads every document of a manifest file, with the line where each begins.
///
/// Documents that hold nothing (blank, comments, `null`) are left out. A file
/// that begins with `{` may also be a sequence of JSON objects without
/// separators, as kubectl accepts it. (Kubernetes converts each document twice and
/// therefore refuses control characters written as escapes; we keep them.)
///
/// # Errors
/// For the first document that cannot be read; the position counts from the
/// beginning of the file.
pub fn documents(text: &str) -> Result<Vec<(Value, usize)>, Error> {
    check_size(text, Limits::default())?;
    let mut found = Vec::new();
    let rest = json::leading_objects(text, &mut found)?;
    for document in split::split_from(text, rest) {
        let first_line = document.first_line;
        found.push((document.to_value()?, first_line));
    }
    found.retain(|(value, _)| !value.is_null());
    Ok(found)
}

fn check_size(text: &str, limits: Limits) -> Result<(), Error> {
    if text.len() > limits.max_bytes {
        return Err(Error::without_position(Problem::TooLong { max_bytes: limits.max_bytes }));
    }
    Ok(())
}
