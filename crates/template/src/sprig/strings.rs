//! Strings: trimming, cutting, quoting, joining, indenting, random ones.
//!
//! Lengths and positions are bytes, as in Go: cutting may leave half a character.

use super::{add_fixed, add_variadic, cases};
use crate::arguments::{bytes, int, text};
use crate::call::{Call, Functions, Parameter};
use crate::error::Error;
use crate::print;
use crate::strconv::quote;
use crate::value::{ElementType, MapClass, Text, Value};

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Any, Int, String};
    add_fixed(
        functions,
        &[
            ("abbrev", &[Int, String], |_, a| Ok(abbreviate(bytes(&a[1]), 0, int(&a[0])))),
            ("abbrevboth", &[Int, Int, String], |_, a| {
                Ok(abbreviate(bytes(&a[2]), int(&a[0]), int(&a[1])))
            }),
            ("trunc", &[Int, String], |_, a| Ok(truncate(int(&a[0]), bytes(&a[1])))),
            ("trim", &[String], |_, a| Ok(Value::string(trim(bytes(&a[0]))))),
            ("upper", &[String], |_, a| Ok(Value::string(cases::upper(&text(&a[0]))))),
            ("lower", &[String], |_, a| Ok(Value::string(cases::lower(&text(&a[0]))))),
            ("title", &[String], |_, a| Ok(Value::string(cases::title(&text(&a[0]))))),
            ("untitle", &[String], |_, a| Ok(Value::string(cases::untitle(&text(&a[0]))))),
            ("swapcase", &[String], |_, a| Ok(Value::string(cases::swap(&text(&a[0]))))),
            ("snakecase", &[String], |_, a| Ok(Value::string(cases::connected(&text(&a[0]), '_')))),
            ("kebabcase", &[String], |_, a| Ok(Value::string(cases::connected(&text(&a[0]), '-')))),
            ("camelcase", &[String], |_, a| Ok(Value::string(cases::pascal(&text(&a[0]))))),
            ("substr", &[Int, Int, String], |_, a| substring(int(&a[0]), int(&a[1]), bytes(&a[2]))),
            ("repeat", &[Int, String], repeat),
            ("trimall", &[String, String], trim_all),
            ("trimAll", &[String, String], trim_all),
            ("trimSuffix", &[String, String], |_, a| {
                let (cut, whole) = (bytes(&a[0]), bytes(&a[1]));
                Ok(Value::string(whole.strip_suffix(cut).unwrap_or(whole)))
            }),
            ("trimPrefix", &[String, String], |_, a| {
                let (cut, whole) = (bytes(&a[0]), bytes(&a[1]));
                Ok(Value::string(whole.strip_prefix(cut).unwrap_or(whole)))
            }),
            ("nospace", &[String], |_, a| Ok(delete_space(&a[0]))),
            ("initials", &[String], |_, a| Ok(initials(bytes(&a[0])))),
            ("wrap", &[Int, String], |_, a| Ok(wrap(bytes(&a[1]), int(&a[0]), b"\n", false))),
            ("wrapWith", &[Int, String, String], |_, a| {
                Ok(wrap(bytes(&a[2]), int(&a[0]), bytes(&a[1]), true))
            }),
            ("contains", &[String, String], |_, a| {
                Ok(Value::Bool(contains(bytes(&a[1]), bytes(&a[0]))))
            }),
            ("hasPrefix", &[String, String], |_, a| {
                Ok(Value::Bool(bytes(&a[1]).starts_with(bytes(&a[0]))))
            }),
            ("hasSuffix", &[String, String], |_, a| {
                Ok(Value::Bool(bytes(&a[1]).ends_with(bytes(&a[0]))))
            }),
            ("indent", &[Int, String], |call, a| indent(call, int(&a[0]), bytes(&a[1]), b"")),
            ("nindent", &[Int, String], |call, a| indent(call, int(&a[0]), bytes(&a[1]), b"\n")),
            ("replace", &[String, String, String], replace),
            ("plural", &[String, String, Int], |_, a| Ok(a[usize::from(int(&a[2]) != 1)].clone())),
            ("toString", &[Any], |_, a| Ok(Value::String(string_value(&a[0])))),
            ("split", &[String, String], |_, a| {
                Ok(numbered(split(bytes(&a[1]), bytes(&a[0]), -1)))
            }),
            ("splitn", &[String, Int, String], |_, a| {
                Ok(numbered(split(bytes(&a[2]), bytes(&a[0]), int(&a[1]))))
            }),
            ("splitList", &[String, String], |_, a| {
                Ok(Value::strings(split(bytes(&a[1]), bytes(&a[0]), -1)))
            }),
            ("toStrings", &[Any], |_, a| Ok(to_strings(&a[0]))),
            ("join", &[String, Any], join),
            ("sortAlpha", &[Any], |_, a| Ok(sort_alpha(&a[0]))),
            ("shuffle", &[String], shuffle),
            ("randAlphaNum", &[Int], |c, a| random(c, int(&a[0]), |b| b.is_ascii_alphanumeric())),
            ("randAlpha", &[Int], |c, a| random(c, int(&a[0]), |b| b.is_ascii_alphabetic())),
            ("randNumeric", &[Int], |c, a| random(c, int(&a[0]), |b| b.is_ascii_digit())),
            ("randAscii", &[Int], |c, a| random(c, int(&a[0]), |b| (32..127).contains(&b))),
            ("hello", &[], |_, _| Ok(Value::from("Hello!"))),
            ("fail", &[String], |_, a| Err(Error::function(text(&a[0])))),
        ],
    );
    add_variadic(
        functions,
        &[
            ("quote", &[Any], |_, a| {
                Ok(spaced(a, |value| quote(string_value(value).as_bytes()).into_bytes()))
            }),
            ("squote", &[Any], |_, a| {
                Ok(spaced(a, |value| [b"'", print::to_bytes(value).as_slice(), b"'"].concat()))
            }),
            ("cat", &[Any], |_, a| Ok(spaced(a, print::to_bytes))),
        ],
    );
}

/// sprig's `strval`: a string is itself, bytes are a string, everything else prints.
pub(crate) fn string_value(value: &Value) -> Text {
    match value {
        Value::String(text) | Value::Bytes(text) => text.clone(),
        other => Text::from(print::to_bytes(other)),
    }
}

/// sprig's `strslice`.
pub(super) fn strings_of(value: &Value) -> Vec<Text> {
    match value {
        Value::Nothing | Value::Nil => Vec::new(),
        Value::List(list) => list.iter().filter(|item| !item.is_nil()).map(string_value).collect(),
        Value::Bytes(bytes) => {
            bytes.as_bytes().iter().map(|byte| Text::from(byte.to_string())).collect()
        }
        other => vec![string_value(other)],
    }
}

/// A slice of strings is itself.
fn to_strings(value: &Value) -> Value {
    match value {
        Value::List(list) if list.is_plain(ElementType::String) => value.clone(),
        other => Value::strings(strings_of(other)),
    }
}

fn spaced(arguments: &[Value], show: impl Fn(&Value) -> Vec<u8>) -> Value {
    let shown: Vec<Vec<u8>> = arguments.iter().filter(|value| !value.is_nil()).map(show).collect();
    Value::string(shown.join(&b' '))
}

fn abbreviate(whole: &[u8], offset: i64, width: i64) -> Value {
    let length = whole.len() as i64;
    if width < 4 || (offset > 0 && width < 7) || length <= width {
        return Value::string(whole);
    }
    let mut offset = offset.min(length);
    if length - offset < width - 3 {
        offset = length - (width - 3);
    }
    let kept = (width - 3) as usize;
    if offset <= 4 {
        return Value::string([&whole[..kept], b"..."].concat());
    }
    if offset + width - 3 < length {
        let rest = abbreviate(&whole[offset as usize..], 0, width - 3);
        return Value::string([b"...", bytes(&rest)].concat());
    }
    Value::string([b"...", &whole[whole.len() - kept..]].concat())
}

fn truncate(count: i64, whole: &[u8]) -> Value {
    let length = whole.len() as i64;
    Value::string(if count < 0 && length + count > 0 {
        &whole[(length + count) as usize..]
    } else if count >= 0 && length > count {
        &whole[..count as usize]
    } else {
        whole
    })
}

fn trim(whole: &[u8]) -> &[u8] {
    match std::str::from_utf8(whole) {
        Ok(text) => text.trim().as_bytes(),
        Err(_) => whole.trim_ascii(),
    }
}

fn trim_all(_: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let (cut, whole) = (text(&arguments[0]), text(&arguments[1]));
    Ok(Value::string(whole.trim_matches(|c| cut.contains(c))))
}

fn substring(start: i64, end: i64, whole: &[u8]) -> Result<Value, Error> {
    let length = whole.len() as i64;
    let (from, to) = if start < 0 {
        if end < 0 {
            return Err(out_of_range(&format!("[:{end}]")));
        }
        if end > length {
            return Err(out_of_range(&format!("[:{end}] with length {length}")));
        }
        (0, end)
    } else if end < 0 || end > length {
        if start > length {
            return Err(out_of_range(&format!("[{start}:{length}]")));
        }
        (start, length)
    } else if start > end {
        return Err(out_of_range(&format!("[{start}:{end}]")));
    } else {
        (start, end)
    };
    Ok(Value::string(&whole[from as usize..to as usize]))
}

fn out_of_range(bounds: &str) -> Error {
    Error::function(format!("runtime error: slice bounds out of range {bounds}"))
}

fn repeat(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let (count, whole) = (int(&arguments[0]), bytes(&arguments[1]));
    let count =
        usize::try_from(count).map_err(|_| Error::function("strings: negative Repeat count"))?;
    call.check_size(count.saturating_mul(whole.len()))?;
    Ok(Value::string(whole.repeat(count)))
}

fn delete_space(value: &Value) -> Value {
    let whole = bytes(value);
    // Go looks at single bytes here, as if they were Latin-1.
    let is_space = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b' ' | 0x85 | 0xa0);
    if !whole.iter().any(is_space) {
        return value.clone();
    }
    let kept: String = whole.iter().filter(|byte| !is_space(byte)).map(|b| *b as char).collect();
    Value::string(kept)
}

fn initials(whole: &[u8]) -> Value {
    let mut out = String::new();
    let mut after_gap = true;
    for byte in whole {
        if matches!(byte, b'\t'..=b'\r' | b' ' | 0x85 | 0xa0) {
            after_gap = true;
        } else if std::mem::take(&mut after_gap) {
            out.push(*byte as char);
        }
    }
    Value::string(out)
}

fn wrap(whole: &[u8], width: i64, line_break: &[u8], break_words: bool) -> Value {
    let line_break = if line_break.is_empty() { b"\n" } else { line_break };
    let width = usize::try_from(width).unwrap_or(0).max(1);
    let mut out = Vec::new();
    let mut rest = whole;
    while rest.len() > width {
        if rest[0] == b' ' {
            rest = &rest[1..];
            continue;
        }
        if let Some(space) = rest[..=width].iter().rposition(|byte| *byte == b' ') {
            out.extend_from_slice(&rest[..space]);
            rest = &rest[space + 1..];
        } else if break_words {
            out.extend_from_slice(&rest[..width]);
            rest = &rest[width..];
        } else if let Some(space) = rest[width..].iter().position(|byte| *byte == b' ') {
            out.extend_from_slice(&rest[..width + space]);
            rest = &rest[width + space + 1..];
        } else {
            break;
        }
        out.extend_from_slice(line_break);
    }
    out.extend_from_slice(rest);
    Value::string(out)
}

pub(super) fn contains(whole: &[u8], part: &[u8]) -> bool {
    part.is_empty() || whole.windows(part.len()).any(|window| window == part)
}

fn indent(call: &mut Call<'_>, spaces: i64, whole: &[u8], before: &[u8]) -> Result<Value, Error> {
    let spaces =
        usize::try_from(spaces).map_err(|_| Error::function("strings: negative Repeat count"))?;
    let lines = 1 + whole.iter().filter(|byte| **byte == b'\n').count();
    call.check_size(spaces.saturating_mul(lines))?;
    let mut out = Vec::with_capacity(before.len() + whole.len() + spaces * lines);
    out.extend_from_slice(before);
    out.resize(out.len() + spaces, b' ');
    for (index, line) in whole.split(|byte| *byte == b'\n').enumerate() {
        if index > 0 {
            out.push(b'\n');
            out.resize(out.len() + spaces, b' ');
        }
        out.extend_from_slice(line);
    }
    Ok(Value::string(out))
}

fn replace(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let (old, new, whole) = (bytes(&arguments[0]), bytes(&arguments[1]), bytes(&arguments[2]));
    if old.is_empty() {
        let text = String::from_utf8_lossy(whole);
        call.check_size(new.len().saturating_mul(text.chars().count() + 1))?;
        let replaced = text.replace("", &String::from_utf8_lossy(new));
        return Ok(Value::string(replaced));
    }
    let parts = split(whole, old, -1);
    call.check_size(new.len().saturating_mul(parts.len()).saturating_add(whole.len()))?;
    Ok(Value::string(parts.join(new)))
}

/// `strings.SplitN`; a negative limit is none.
fn split<'a>(whole: &'a [u8], separator: &[u8], limit: i64) -> Vec<&'a [u8]> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut rest = whole;
    if separator.is_empty() {
        while !rest.is_empty() && parts.len() + 1 < limit {
            let width = crate::lex::decode(rest).map_or(1, |(_, width)| width);
            parts.push(&rest[..width]);
            rest = &rest[width..];
        }
        if !rest.is_empty() {
            parts.push(rest);
        }
        return parts;
    }
    while parts.len() + 1 < limit {
        let found = rest.windows(separator.len()).position(|window| window == separator);
        let Some(at) = found else { break };
        parts.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    parts.push(rest);
    parts
}

fn numbered(parts: Vec<&[u8]>) -> Value {
    let entries = parts.into_iter().enumerate();
    let entries = entries.map(|(index, part)| (format!("_{index}"), Value::string(part)));
    Value::Map(crate::value::Map::with_class(MapClass::Strings, entries))
}

fn join(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let separator = bytes(&arguments[0]);
    let strings = strings_of(&arguments[1]);
    let length: usize = strings.iter().map(|text| text.len() + separator.len()).sum();
    call.check_size(length)?;
    let parts: Vec<&[u8]> = strings.iter().map(Text::as_bytes).collect();
    Ok(Value::string(parts.join(separator)))
}

/// Go sorts a slice of strings where it is, and every other slice in a copy.
fn sort_alpha(value: &Value) -> Value {
    if let Value::List(list) = value
        && list.is_plain(ElementType::String)
    {
        list.sort_texts();
        return value.clone();
    }
    let mut strings = strings_of(value);
    if matches!(value, Value::List(_) | Value::Bytes(_)) {
        strings.sort();
        return Value::strings(strings);
    }
    Value::strings([string_value(value)])
}

fn shuffle(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let mut letters: Vec<char> = text(&arguments[0]).chars().collect();
    for last in (1..letters.len()).rev() {
        let other = random_below(call, last as u64 + 1) as usize;
        letters.swap(last, other);
    }
    Ok(Value::string(letters.into_iter().collect::<String>()))
}

/// A number below `limit`, from the random facts.
pub(super) fn random_below(call: &Call<'_>, limit: u64) -> u64 {
    let mut buffer = [0; 16];
    call.facts().random(&mut buffer);
    let wide = u128::from_le_bytes(buffer);
    (wide % u128::from(limit.max(1))) as u64
}

fn random(call: &mut Call<'_>, count: i64, wanted: fn(u8) -> bool) -> Result<Value, Error> {
    let Ok(count) = usize::try_from(count) else { return Ok(Value::string("")) };
    call.check_size(count)?;
    let letters: Vec<u8> = (32..127).filter(|byte| wanted(*byte)).collect();
    // Bytes beyond the last whole multiple would favour the first letters.
    let fair = 256 - 256 % letters.len();
    let mut out = Vec::with_capacity(count);
    while out.len() < count {
        let mut buffer = [0; 64];
        call.facts().random(&mut buffer);
        call.charge(1)?;
        let fresh = buffer.iter().filter(|byte| usize::from(**byte) < fair);
        out.extend(fresh.map(|byte| letters[usize::from(*byte) % letters.len()]));
    }
    out.truncate(count);
    Ok(Value::string(out))
}

/// The elements of any slice, each as its own value.
pub(super) fn elements(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::List(list) => Some(list.to_vec()),
        Value::Bytes(bytes) => Some(
            bytes
                .as_bytes()
                .iter()
                .map(|byte| Value::Uint(crate::value::UintType::Uint8, u64::from(*byte)))
                .collect(),
        ),
        _ => None,
    }
}
