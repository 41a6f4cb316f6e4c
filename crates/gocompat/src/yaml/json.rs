//! JSON inside YAML: the short way for plain objects, and kubectl's streams of them.

use serde_json::Value;
use serde_json::value::RawValue;

use super::error::{Error, Position, Problem};

/// Reads `text` by way of JSON if it is an object whose reading as YAML is
/// certain to give the same; otherwise nothing, and YAML decides.
pub(super) fn plain_object(text: &str) -> Option<Value> {
    if !text.starts_with('{') || !reads_alike(text.as_bytes()) {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// The longest key taken the short way; YAML refuses keys from 1024 bytes on, and
/// an escape makes at most six bytes of one.
const MAX_KEY_BYTES: usize = 1000;

/// Whether YAML would see in `text` what JSON sees, provided it is JSON.
///
/// Not so for anything but printable ASCII, for `\/` and surrogates (YAML has
/// neither), for floats and very long integers (rounding), for long keys, and
/// for space between a key and its colon (a line break there is an error in YAML).
fn reads_alike(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => match end_of_string(text, at) {
                Some(end) => {
                    let is_key = text.get(end) == Some(&b':');
                    let blank_follows = matches!(text.get(end), Some(b' ' | b'\n' | b'\r'));
                    if blank_follows && colon_after_blank(&text[end..]) {
                        return false;
                    }
                    if is_key && end - at > MAX_KEY_BYTES {
                        return false;
                    }
                    at = end;
                }
                None => return false,
            },
            b'-' | b'0'..=b'9' => {
                let digits = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                at += 1 + digits;
                if digits > 17 || matches!(text.get(at), Some(b'.' | b'e' | b'E')) {
                    return false;
                }
                // Minus zero is a float to JSON and an integer to YAML.
                if digits == 1 && &text[at - 2..at] == b"-0" {
                    return false;
                }
            }
            b'\n' | b'\r' | b' '..=b'~' => at += 1,
            _ => return false,
        }
    }
    true
}

/// The offset after the closing quote of the string that opens at `start`.
fn end_of_string(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match (text.get(at + 1)?, text.get(at + 2), text.get(at + 3)) {
                (b'/', ..)
                | (b'u', Some(b'd' | b'D'), Some(b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F')) => {
                    return None;
                }
                _ => at += 2,
            },
            b' '..=b'~' => at += 1,
            _ => return None,
        }
    }
}

fn colon_after_blank(text: &[u8]) -> bool {
    text.iter().find(|byte| !matches!(byte, b' ' | b'\n' | b'\r')) == Some(&b':')
}

/// Takes the JSON values at the beginning of `text` into `found` and returns
/// where the YAML begins.
///
/// kubectl looks at the first character that is not white space. Where that is
/// `{` it reads JSON values one after the other; a failure after at most one of
/// them means that the rest is YAML after all, a failure later is final.
pub(super) fn leading_objects(text: &str, found: &mut Vec<(Value, usize)>) -> Result<usize, Error> {
    let beginning = text.len() - text.trim_start().len();
    if beginning >= LOOK_AHEAD_BYTES || !text[beginning..].starts_with('{') {
        return Ok(0);
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let (mut taken, mut lines_before) = (0, 0);
    loop {
        match values.next() {
            None => return Ok(text.len()),
            Some(Ok(raw)) => {
                let end = values.byte_offset();
                let start = end - raw.get().len();
                lines_before += line_breaks(&text[taken..start]);
                let value =
                    super::to_value(raw.get()).map_err(|error| error.further_down(lines_before))?;
                found.push((value, 1 + lines_before));
                lines_before += line_breaks(raw.get());
                taken = end;
            }
            Some(Err(error)) if found.len() > 1 => return Err(not_json(&error)),
            Some(Err(error)) => return after_blank_line(text, taken).ok_or(not_json(&error)),
        }
    }
}

/// How far kubectl looks for the opening brace.
const LOOK_AHEAD_BYTES: usize = 4096;

/// The offset of the first line of `text[start..]` that may be YAML: white space
/// up to one line break is passed over. None if there is nothing else, which to
/// kubectl, reading ahead by four bytes, is also a rest that short.
fn after_blank_line(text: &str, start: usize) -> Option<usize> {
    for (offset, character) in text[start..].char_indices() {
        if text.len() - (start + offset) < 4 {
            return None;
        }
        match character {
            '\n' => return Some(start + offset + 1),
            blank if blank.is_whitespace() => {}
            _ => return Some(start + offset),
        }
    }
    None
}

fn line_breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn not_json(error: &serde_json::Error) -> Error {
    let number = |from: usize| u32::try_from(from).unwrap_or(u32::MAX);
    let (line, column) = (number(error.line()), number(error.column()));
    // serde_json writes the position at the end of its message; ours has its own place.
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    Error {
        position: Some(Position { line, column }),
        problem: Problem::Syntax(format!("invalid JSON: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Limits;
    use super::super::load::{DuplicateKeys, first_document};
    use super::*;

    /// JSON texts with odd white space, escapes, numbers and repeated keys.
    fn json_text() -> impl Strategy<Value = String> {
        let blank = prop::sample::select(vec!["", "", "", " ", "\n", "\r\n", "  \n  ", "\t"]);
        let string = prop::sample::select(vec![
            "",
            "a",
            "b",
            "<<",
            "yes",
            "1",
            "a b",
            "\\n",
            "\\u0041",
            "\\ud83d\\ude00",
            "\\/",
            "\\\\",
            "\\\"",
            "é",
            "\u{7f}",
            "#",
            ": ",
            "- x",
            "{",
            "]",
        ]);
        let string = string.prop_map(|text| format!("\"{text}\""));
        let leaf = prop_oneof![
            string.clone(),
            prop::sample::select(vec![
                "0",
                "-0",
                "1",
                "-17",
                "007",
                "1.0",
                "1e3",
                "1.5",
                "true",
                "false",
                "null",
                "yes",
                "9223372036854775807",
                "12345678901234567890",
                "123456789012345678901234567890",
            ])
            .prop_map(str::to_owned),
        ];
        let value = leaf.prop_recursive(4, 24, 4, move |inner| {
            let (blank, string) = (blank.clone(), string.clone());
            let entry = (blank.clone(), string, blank.clone(), blank.clone(), inner.clone())
                .prop_map(|(a, key, b, c, value)| format!("{a}{key}{b}:{c}{value}"));
            prop_oneof![
                (prop::collection::vec(inner, 0..4), blank.clone())
                    .prop_map(|(items, blank)| format!("[{}{blank}]", items.join(","))),
                (prop::collection::vec(entry, 0..4), blank)
                    .prop_map(|(entries, blank)| format!("{{{}{blank}}}", entries.join(","))),
            ]
        });
        value.prop_map(|value| format!("{{\"a\":{value}}}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn the_short_way_gives_what_the_long_way_gives(text in json_text()) {
            if let Some(short) = plain_object(&text) {
                let long = first_document(&text, DuplicateKeys::LastWins, Limits::default());
                prop_assert_eq!(Ok(short), long);
            }
        }
    }

    #[test]
    fn what_a_json_encoder_writes_takes_the_short_way() {
        let text = r#"{"kind":"List","items":[{"n":-1,"s":"x\u003cy\n\"z\""},true,null]}"#;
        assert!(plain_object(text).is_some());
        let pretty = serde_json::to_string_pretty(&plain_object(text)).expect("a value");
        assert!(plain_object(&pretty).is_some());
    }
}
