//! What a plain scalar means, in the two dialects Kustomize uses.
//!
//! Manifests are read by the rules of go-yaml 3, kustomization files and the
//! final text by those of go-yaml 2, where `yes`, `on` and `n` are booleans.

use super::timestamp;
use super::{Body, Form, Kind, Node, Tag, parse};

/// The rules by which plain scalars are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// go-yaml 2: YAML 1.1 booleans.
    Two,
    /// go-yaml 3: booleans are `true` and `false` only; `0o17` is octal.
    Three,
}

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
pub(crate) fn resolve(text: &str, dialect: Dialect) -> Meaning {
    let Some(first) = text.bytes().next() else { return Meaning::Null };
    match first {
        b'+' | b'-' | b'0'..=b'9' => word(text, dialect).unwrap_or_else(|| number(text, dialect)),
        b'.' => word(text, dialect).unwrap_or_else(|| match go_parse_float(text) {
            Some(number) => Meaning::Float(number),
            None => Meaning::Text,
        }),
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => {
            word(text, dialect).unwrap_or(Meaning::Text)
        }
        // The table of first letters has no `<`, so a merge key is known by its place only.
        _ => Meaning::Text,
    }
}

fn word(text: &str, dialect: Dialect) -> Option<Meaning> {
    Some(match text {
        "true" | "True" | "TRUE" => Meaning::Bool(true),
        "false" | "False" | "FALSE" => Meaning::Bool(false),
        "~" | "null" | "Null" | "NULL" => Meaning::Null,
        ".nan" | ".NaN" | ".NAN" => Meaning::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Meaning::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Meaning::Float(f64::NEG_INFINITY),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if dialect == Dialect::Two => {
            Meaning::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if dialect == Dialect::Two => {
            Meaning::Bool(false)
        }
        _ => return None,
    })
}

fn number(text: &str, dialect: Dialect) -> Meaning {
    if let Some(time) = timestamp::to_rfc3339(text) {
        return Meaning::Timestamp(time);
    }
    let plain: String = text.chars().filter(|letter| *letter != '_').collect();
    if let Some(meaning) = go_parse_int(&plain, 0) {
        return meaning;
    }
    if looks_like_float(&plain)
        && let Some(number) = go_parse_float(&plain)
    {
        return Meaning::Float(number);
    }
    if dialect == Dialect::Three {
        let octal = plain.strip_prefix("0o").map(str::to_owned);
        let octal = octal.or_else(|| plain.strip_prefix("-0o").map(|rest| format!("-{rest}")));
        if let Some(meaning) = octal.and_then(|octal| go_parse_int(&octal, 8)) {
            return meaning;
        }
    }
    Meaning::Text
}

/// Go's `ParseInt`, then `ParseUint`; base 0 reads the prefix.
fn go_parse_int(text: &str, base: u32) -> Option<Meaning> {
    let (negative, signed, digits) = match text.as_bytes().first()? {
        b'-' => (true, true, &text[1..]),
        b'+' => (false, true, &text[1..]),
        _ => (false, false, text),
    };
    let (radix, digits) = if base != 0 {
        (base, digits)
    } else {
        match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
            [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
            [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
            [b'0', _, ..] => (8, &digits[1..]),
            _ => (10, digits),
        }
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        let value = 0i128 - i128::from(magnitude);
        return i64::try_from(value).ok().map(Meaning::Int);
    }
    match i64::try_from(magnitude) {
        Ok(value) => Some(Meaning::Int(value)),
        // ParseUint takes no sign.
        Err(_) if signed => None,
        Err(_) => Some(Meaning::Uint(magnitude)),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn looks_like_float(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit());
    let mantissa_fits = digits(whole)
        && fraction.is_none_or(digits)
        && (!whole.is_empty() || fraction.is_some_and(|fraction| !fraction.is_empty()));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    mantissa_fits && exponent_fits
}

/// Go refuses what overflows; Rust makes it infinite.
fn go_parse_float(text: &str) -> Option<f64> {
    if !looks_like_float(text) {
        return None;
    }
    let trimmed = text.strip_prefix('+').unwrap_or(text);
    trimmed.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Would YAML 1.1 read this text as something other than a string?
pub(crate) fn is_non_string_in_yaml_1_1(text: &str) -> bool {
    if text.is_empty() || text.contains('\n') {
        return false;
    }
    let is_simple = text.bytes().all(|letter| {
        letter.is_ascii_alphanumeric() || matches!(letter, b'.' | b'-' | b'/' | b'_' | b'+')
    });
    if is_simple && !text.starts_with('-') {
        return resolve(text, Dialect::Two) != Meaning::Text;
    }
    match parse::document(text.as_bytes(), parse::Aliases::Expand) {
        Err(_) => false,
        Ok(None) => true,
        Ok(Some(node)) => match node.kind() {
            Kind::Sequence | Kind::Mapping => true,
            Kind::Scalar if node.style.tagged => node.tag != Tag::Str,
            Kind::Scalar => {
                node.style.form == Form::Plain
                    && resolve(node.text(), Dialect::Two) != Meaning::Text
            }
        },
    }
}

/// What a scalar node means once printed and read again; an error when its
/// tag and its text disagree.
pub(crate) fn meaning(node: &Node, dialect: Dialect) -> Result<Meaning, TagMismatch> {
    let Body::Scalar(text) = &node.body else { return Ok(Meaning::Text) };
    let own = resolve(text, dialect);
    if dialect == Dialect::Two && !node.style.tagged {
        // Tags were found by the rules of the other dialect.
        return Ok(if node.style.is_quoted() { Meaning::Text } else { own });
    }
    let printed_tag = if node.tag == Tag::None {
        None
    } else if node.style.tagged {
        Some(&node.tag)
    } else if node.tag == Tag::Str {
        return Ok(Meaning::Text);
    } else if own.tag() == node.tag {
        None
    } else {
        Some(&node.tag)
    };
    let Some(tag) = printed_tag else {
        return Ok(if node.style.is_quoted() || !may_be_plain(text) { Meaning::Text } else { own });
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
    matches!(word(text, Dialect::Two), Some(Meaning::Bool(_)))
        && word(text, Dialect::Three).is_none()
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
    super::print::Analysis::of(text, super::print::Charset::All).block_plain_allowed
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Meaning, resolve};

    #[track_caller]
    fn check(text: &str, two: &Meaning, three: &Meaning) {
        assert_eq!(&resolve(text, Dialect::Two), two, "{text} in dialect two");
        assert_eq!(&resolve(text, Dialect::Three), three, "{text} in dialect three");
    }

    #[test]
    fn both_dialects_agree_on_numbers() {
        for (text, meaning) in [
            ("12", Meaning::Int(12)),
            ("-12", Meaning::Int(-12)),
            ("0755", Meaning::Int(493)),
            ("0x1F", Meaning::Int(31)),
            ("0b101", Meaning::Int(5)),
            ("1_000", Meaning::Int(1000)),
            ("08", Meaning::Float(8.0)),
            ("1e3", Meaning::Float(1000.0)),
            ("18446744073709551615", Meaning::Uint(u64::MAX)),
            (".5", Meaning::Float(0.5)),
            ("1.", Meaning::Float(1.0)),
            ("1.2.3", Meaning::Text),
            ("-", Meaning::Text),
            ("1:30", Meaning::Text),
            ("", Meaning::Null),
        ] {
            check(text, &meaning, &meaning);
        }
    }

    #[test]
    fn yes_and_on_are_booleans_in_dialect_two_only() {
        for text in ["yes", "Y", "on"] {
            check(text, &Meaning::Bool(true), &Meaning::Text);
        }
        check("true", &Meaning::Bool(true), &Meaning::Bool(true));
    }
}
