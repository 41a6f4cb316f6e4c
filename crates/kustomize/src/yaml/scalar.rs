//! What a plain scalar means in a manifest: the rules of go-yaml 3.
//!
//! They are those of go-yaml 2, which `gocompat` has, with two differences:
//! `yes`, `on`, `n` and their like are no booleans, and dates are timestamps.
//! Kustomization files are read by `gocompat` alone, and the final text is
//! quoted for its readers.

use gocompat::yaml::{Scalar, plain_scalar};

use super::timestamp;
use super::{Body, Form, Kind, Node, Tag, parse};

/// A scalar understood.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meaning {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// A timestamp, in RFC 3339.
    Timestamp(String),
    Text,
}

impl Meaning {
    pub(crate) fn tag(&self) -> Tag {
        match self {
            Self::Null => Tag::Null,
            Self::Bool(_) => Tag::Bool,
            Self::Int(_) | Self::Uint(_) => Tag::Int,
            Self::Float(_) => Tag::Float,
            Self::Timestamp(_) => Tag::Timestamp,
            Self::Text => Tag::Str,
        }
    }
}

/// What the plain scalar `text` means.
pub(crate) fn resolve(text: &str) -> Meaning {
    match plain_scalar(text) {
        Scalar::Null => Meaning::Null,
        Scalar::Bool(_) if is_old_boolean(text) => Meaning::Text,
        Scalar::Bool(flag) => Meaning::Bool(flag),
        Scalar::Int(number) => Meaning::Int(number),
        Scalar::Uint(number) => Meaning::Uint(number),
        Scalar::Float(number) => Meaning::Float(number),
        Scalar::Text | Scalar::Binary => {
            timestamp::to_rfc3339(text).map_or(Meaning::Text, Meaning::Timestamp)
        }
    }
}

/// Is it text to every reader of YAML 1.1?
pub(crate) fn is_text_to_all(text: &str) -> bool {
    plain_scalar(text) == Scalar::Text && timestamp::to_rfc3339(text).is_none()
}

/// Would YAML 1.1 read this text as something other than a string?
pub(crate) fn is_non_string_in_yaml_1_1(text: &str) -> bool {
    if text.is_empty() || text.contains('\n') {
        return false;
    }
    if is_surely_plain(text) {
        return !is_text_to_all(text);
    }
    match parse::document(text.as_bytes()) {
        Err(_) => false,
        Ok(None) => true,
        Ok(Some(node)) => match node.kind() {
            Kind::Sequence | Kind::Mapping => true,
            Kind::Scalar if node.style.tagged => node.tag != Tag::Str,
            Kind::Scalar => node.style.form == Form::Plain && !is_text_to_all(node.text()),
        },
    }
}

/// Would a reader take the text, whole, for one plain scalar? At first sight: a
/// letter, digit or dot, then signs that mean nothing between letters. A colon
/// must not be the last.
fn is_surely_plain(text: &str) -> bool {
    let is_inner = |letter: u8| {
        letter.is_ascii_alphanumeric()
            || matches!(letter, b'.' | b'-' | b'/' | b'_' | b'+' | b':' | b'@' | b'=')
    };
    text.starts_with(|first: char| {
        first.is_ascii_alphanumeric() || matches!(first, '.' | '/' | '_' | '+')
    }) && text.bytes().all(is_inner)
        && !text.ends_with(':')
}

/// What a scalar node means once printed and read again; an error when its
/// tag and its text disagree.
pub(crate) fn meaning(node: &Node) -> Result<Meaning, TagMismatch> {
    let Body::Scalar(text) = &node.body else { return Ok(Meaning::Text) };
    if node.tag == Tag::Str {
        return Ok(Meaning::Text);
    }
    let own = resolve(text);
    let printed_tag = if node.tag == Tag::None {
        None
    } else if node.style.tagged {
        Some(&node.tag)
    } else if own.tag() == node.tag {
        None
    } else {
        Some(&node.tag)
    };
    let Some(tag) = printed_tag else {
        return Ok(if node.style.is_quoted() || !may_be_plain(text) { Meaning::Text } else { own });
    };
    // With another tag on it, a date is only looked at as text.
    let own = match own {
        Meaning::Timestamp(_) if *tag != Tag::Timestamp => Meaning::Text,
        own => own,
    };
    match (tag, own) {
        (Tag::Str | Tag::Binary | Tag::Other(_) | Tag::Merge | Tag::Map | Tag::Seq, _) => {
            Ok(Meaning::Text)
        }
        (Tag::Float, Meaning::Int(number)) => Ok(Meaning::Float(number as f64)),
        (tag, own) if own.tag() == *tag => Ok(own),
        (tag, own) => Err(TagMismatch {
            found: own.tag().short().to_owned(),
            text: text.clone(),
            wanted: tag.short().to_owned(),
        }),
    }
}

/// A word that YAML 1.1 takes for a boolean and go-yaml 3 does not.
pub(crate) fn is_old_boolean(text: &str) -> bool {
    matches!(plain_scalar(text), Scalar::Bool(_))
        && !matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE")
}

/// A scalar whose text cannot be what its tag says.
#[derive(Debug, thiserror::Error)]
#[error("cannot decode {found} `{text}` as a {wanted}")]
pub(crate) struct TagMismatch {
    found: String,
    text: String,
    wanted: String,
}

/// May the text stand without quotes in a block?
pub(crate) fn may_be_plain(text: &str) -> bool {
    super::forms::Analysis::of(text).block_plain_allowed
}

#[cfg(test)]
mod tests {
    use super::{Meaning, is_text_to_all, resolve};

    #[test]
    fn scalars_mean_what_go_yaml_3_takes_them_for() {
        for (text, meaning) in [
            ("12", Meaning::Int(12)),
            ("0755", Meaning::Int(493)),
            ("0o17", Meaning::Int(15)),
            ("0x1F", Meaning::Int(31)),
            ("1_000", Meaning::Int(1000)),
            ("08", Meaning::Float(8.0)),
            ("18446744073709551615", Meaning::Uint(u64::MAX)),
            ("1:30", Meaning::Text),
            ("true", Meaning::Bool(true)),
            ("2024-01-02", Meaning::Timestamp("2024-01-02T00:00:00Z".to_owned())),
            ("", Meaning::Null),
        ] {
            assert_eq!(resolve(text), meaning, "{text}");
        }
    }

    #[test]
    fn old_booleans_are_text_that_needs_quotes() {
        for text in ["yes", "Y", "on", "n"] {
            assert_eq!(resolve(text), Meaning::Text, "{text}");
            assert!(!is_text_to_all(text), "{text}");
        }
        assert!(is_text_to_all("yesterday"));
    }
}
