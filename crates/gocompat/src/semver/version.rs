//! One version, and which of two comes first.

use std::cmp::Ordering;
use std::fmt;

/// A version; `v`, the minor and the patch number may be missing in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// What follows `-`; empty for a release.
    pub pre: String,
    /// What follows `+`.
    pub metadata: String,
    original: String,
}

/// Why a text is not a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not of the form at all.
    #[error("invalid semantic version")]
    Invalid,
    /// A number that does not fit 64 bits.
    #[error("error parsing version segment: value out of range")]
    SegmentTooLarge,
    /// `1.0.0-01`.
    #[error("version segment starts with 0")]
    SegmentStartsWithZero,
    /// Strict only: a letter where a number belongs.
    #[error("invalid characters in version")]
    InvalidCharacters,
    /// Strict only: something wrong after `-`.
    #[error("invalid prerelease string")]
    InvalidPrerelease,
    /// Strict only: something wrong after `+`.
    #[error("invalid metadata string")]
    InvalidMetadata,
    /// Strict only: nothing there.
    #[error("version string empty")]
    Empty,
}

impl Version {
    /// Reads a version as `NewVersion` does.
    ///
    /// # Errors
    /// Where Go has one, of the same kind.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let (core, pre, metadata) = split_parts(text.strip_prefix('v').unwrap_or(text))?;
        let mut segments = core.split('.');
        let mut segment = || match segments.next() {
            None => Ok(0),
            Some(digits) if is_number(digits) => {
                digits.parse().map_err(|_| VersionError::SegmentTooLarge)
            }
            Some(_) => Err(VersionError::Invalid),
        };
        let numbers = (segment(), segment(), segment());
        if segments.next().is_some() {
            return Err(VersionError::Invalid);
        }
        // A text of the wrong form is Invalid even where a number before it is too large.
        let all = [&numbers.0, &numbers.1, &numbers.2];
        let well_formed = |part: &str| part.split('.').all(is_identifier);
        if all.contains(&&Err(VersionError::Invalid))
            || pre.is_some_and(|pre| !well_formed(pre))
            || metadata.is_some_and(|metadata| !well_formed(metadata))
        {
            return Err(VersionError::Invalid);
        }
        let (major, minor, patch) = (numbers.0?, numbers.1?, numbers.2?);
        if pre.is_some_and(|pre| pre.split('.').any(has_leading_zero)) {
            return Err(VersionError::SegmentStartsWithZero);
        }
        let owned = |part: Option<&str>| part.unwrap_or_default().to_owned();
        let (pre, metadata) = (owned(pre), owned(metadata));
        Ok(Self { major, minor, patch, pre, metadata, original: text.to_owned() })
    }

    /// Reads a version as `StrictNewVersion` does: exactly the specification.
    ///
    /// # Errors
    /// Where Go has one, of the same kind.
    pub fn parse_strict(text: &str) -> Result<Self, VersionError> {
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        let mut segments = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) =
            (segments.next(), segments.next(), segments.next())
        else {
            return Err(VersionError::Invalid);
        };
        let (rest, metadata) = split_off(rest, '+');
        let (patch, pre) = split_off(rest, '-');
        if metadata.is_some_and(|metadata| !metadata.split('.').all(is_identifier)) {
            return Err(VersionError::InvalidMetadata);
        }
        for identifier in pre.into_iter().flat_map(|pre| pre.split('.')) {
            if has_leading_zero(identifier) {
                return Err(VersionError::SegmentStartsWithZero);
            }
            if !is_identifier(identifier) {
                return Err(VersionError::InvalidPrerelease);
            }
        }
        for segment in [major, minor, patch] {
            if !segment.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(VersionError::InvalidCharacters);
            }
            if has_leading_zero(segment) {
                return Err(VersionError::SegmentStartsWithZero);
            }
        }
        let number = |digits: &str| digits.parse().map_err(|_| VersionError::SegmentTooLarge);
        let owned = |part: Option<&str>| part.unwrap_or_default().to_owned();
        Ok(Self {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            pre: owned(pre),
            metadata: owned(metadata),
            original: text.to_owned(),
        })
    }

    /// The text it was read from.
    #[must_use]
    pub fn original(&self) -> &str {
        &self.original
    }

    pub(super) fn numbers(&self) -> [u64; 3] {
        [self.major, self.minor, self.patch]
    }

    /// Which of two versions is the later; metadata does not count.
    #[must_use]
    pub fn precedence(&self, other: &Self) -> Ordering {
        self.numbers().cmp(&other.numbers()).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => compare_prerelease(&self.pre, &other.pre),
            }
        })
    }
}

impl fmt::Display for Version {
    /// The full form, without `v`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(formatter, "-{}", self.pre)?;
        }
        if !self.metadata.is_empty() {
            write!(formatter, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

/// Compares two texts after `-`, identifier by identifier; a missing one is lowest.
pub(super) fn compare_prerelease(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some("")) | (Some(""), None) => Ordering::Equal,
            (None | Some(""), Some(_)) => Ordering::Less,
            (Some(_), None | Some("")) => Ordering::Greater,
            (Some(one), Some(other)) => compare_identifier(one, other),
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn compare_identifier(left: &str, right: &str) -> Ordering {
    let number = |text: &str| if is_number(text) { text.parse::<u64>().ok() } else { None };
    match (number(left), number(right)) {
        _ if left == right => Ordering::Equal,
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// Numbers, pre-release and metadata of a text without `v`.
fn split_parts(text: &str) -> Result<(&str, Option<&str>, Option<&str>), VersionError> {
    let (rest, metadata) = split_off(text, '+');
    let (core, pre) = split_off(rest, '-');
    if core.is_empty() { Err(VersionError::Invalid) } else { Ok((core, pre, metadata)) }
}

fn split_off(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn has_leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && is_number(text)
}
