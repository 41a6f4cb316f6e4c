//! JSON as Go prints it.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};

/// JSON with `<`, `>`, `&` and the two line separators escaped inside texts, as Go prints it.
#[must_use]
pub fn go_json(value: &impl Serialize) -> Vec<u8> {
    go_json_of_size(value, 128)
}

/// The same, where it is known about how long it will be.
pub(crate) fn go_json_of_size(value: &impl Serialize, size: usize) -> Vec<u8> {
    let mut printed = Vec::with_capacity(size);
    let mut serializer = serde_json::Serializer::with_formatter(&mut printed, Go(CompactFormatter));
    value.serialize(&mut serializer).expect("messages have only text for keys");
    printed
}

struct Go(CompactFormatter);

impl Formatter for Go {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((place, escaped, length)) = first_escaped(rest.as_bytes()) {
            self.0.write_string_fragment(writer, &rest[..place])?;
            writer.write_all(escaped)?;
            rest = &rest[place + length..];
        }
        self.0.write_string_fragment(writer, rest)
    }
}

/// Where the first character is that Go escapes, what for, and how many bytes it has.
fn first_escaped(text: &[u8]) -> Option<(usize, &'static [u8], usize)> {
    let mut from = 0;
    loop {
        let found = text[from..].iter().position(|it| matches!(it, b'<' | b'>' | b'&' | 0xe2));
        let place = from + found?;
        match &text[place..] {
            [b'<', ..] => return Some((place, b"\\u003c", 1)),
            [b'>', ..] => return Some((place, b"\\u003e", 1)),
            [b'&', ..] => return Some((place, b"\\u0026", 1)),
            [0xe2, 0x80, 0xa8, ..] => return Some((place, b"\\u2028", 3)),
            [0xe2, 0x80, 0xa9, ..] => return Some((place, b"\\u2029", 3)),
            _ => from = place + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let printed = String::from_utf8(go_json(&text)).expect("JSON is text");
        assert_eq!(printed, expect);
        assert_eq!(serde_json::from_str::<String>(&printed).expect("JSON"), text);
    }

    #[test]
    fn what_a_page_could_mistake_for_markup_is_escaped() {
        check("a<b>&c", r#""a\u003cb\u003e\u0026c""#);
        check("<<", r#""\u003c\u003c""#);
        check("&", r#""\u0026""#);
    }

    #[test]
    fn line_separators_are_escaped_and_their_neighbours_are_not() {
        check("a\u{2028}b\u{2029}", r#""a\u2028b\u2029""#);
        check("…\u{2027}\u{2030}â", "\"…\u{2027}\u{2030}â\"");
        check("ends with €", "\"ends with €\"");
    }

    #[test]
    fn the_escapes_of_json_stay() {
        check("a\"\\\n\u{1}<", r#""a\"\\\n\u0001\u003c""#);
    }
}
