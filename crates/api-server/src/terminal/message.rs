//! What browser and server say to each other on the socket of a terminal.

use serde::{Deserialize, Serialize};

/// What a browser says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Typed(String),
    Resized { columns: u16, rows: u16 },
}

/// One message, in both directions.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Message {
    operation: String,
    data: String,
    rows: u16,
    cols: u16,
}

/// Reads what a browser said.
///
/// # Errors
/// When it is nothing that a terminal knows.
pub(super) fn heard(text: &[u8]) -> Result<Heard, String> {
    let message: Message = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    match message.operation.as_str() {
        "stdin" => Ok(Heard::Typed(message.data)),
        "resize" => Ok(Heard::Resized { columns: message.cols, rows: message.rows }),
        other => Err(format!("unknown message type {other}")),
    }
}

/// A piece of output.
pub(super) fn output(text: &str) -> String {
    let message = Message { operation: "stdout".into(), data: text.into(), ..Message::default() };
    String::from_utf8(wire::go_json(&message)).expect("JSON is text")
}

/// Asks the browser to come again with the token that it has by then.
pub(super) const RECONNECT: &str = r#"{"Code":1}"#;

/// Output as text, although a character may come in two pieces.
#[derive(Default)]
pub(super) struct Characters {
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
}

impl Characters {
    /// As much as is whole now.
    pub(super) fn read(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.begun.len());
        let mut chunks = self.begun.utf8_chunks().peekable();
        let mut kept = 0;
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let rest = chunk.invalid();
            if chunks.peek().is_none() && is_beginning(rest) {
                kept = rest.len();
            } else if !rest.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        let read = self.begun.len() - kept;
        self.begun.drain(..read);
        text
    }
}

/// Could more bytes make a character of these?
fn is_beginning(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|it| it.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_type_and_resize() {
        assert_eq!(
            heard(br#"{"operation":"stdin","data":"ls\n"}"#),
            Ok(Heard::Typed("ls\n".into()))
        );
        let resized = heard(br#"{"operation":"resize","cols":80,"rows":24}"#);
        assert_eq!(resized, Ok(Heard::Resized { columns: 80, rows: 24 }));
        assert!(heard(br#"{"operation":"dance"}"#).is_err());
        assert!(heard(br#"{"operation":"resize","cols":-1}"#).is_err());
        assert!(heard(b"\xff").is_err());
    }

    #[test]
    fn output_is_written_as_go_writes_it() {
        assert_eq!(
            output("<a>"),
            r#"{"operation":"stdout","data":"\u003ca\u003e","rows":0,"cols":0}"#
        );
    }

    #[track_caller]
    fn check(pieces: &[&[u8]], expect: &[&str]) {
        let mut characters = Characters::default();
        let read: Vec<String> = pieces.iter().map(|it| characters.read(it)).collect();
        assert_eq!(read, expect);
    }

    #[test]
    fn a_character_in_two_pieces_stays_whole() {
        check(&[b"a\xe2\x82", b"\xacb"], &["a", "€b"]);
        check(&[b"\xff\xe2\x82", b"x"], &["\u{fffd}", "\u{fffd}x"]);
        check(&[b"plain"], &["plain"]);
    }
}
