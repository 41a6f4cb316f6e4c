//! The layout of goyaml v3 with two spaces, which people ask for where others shall read:
//! sequences indented below their key, lines as long as they are, bytes that are no text
//! in base64.

use super::super::base64;
use super::super::natural_order::{self, Version};
use super::style::Tabs;
use super::{MAX_KEY_BEFORE_COLON, Page, STEP, is_break};

/// A value as this layout sees it: Go's own, not what JSON makes of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A number, a truth, a time or nothing, as it shall be printed.
    Plain(String),
    /// Text, quoted where it needs to be; bytes that are no UTF-8 get a tag.
    Text(Vec<u8>),
    /// A sequence.
    List(Vec<Self>),
    /// A mapping in this order. Maps have none: [`Node::sorted`] gives them theirs.
    Map(Vec<(Vec<u8>, Self)>),
}

impl Node {
    /// A mapping in the natural order of its keys.
    #[must_use]
    pub fn sorted(entries: Vec<(Vec<u8>, Self)>) -> Self {
        let keys: Vec<String> =
            entries.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect();
        let mut entries: Vec<Option<_>> = entries.into_iter().map(Some).collect();
        let order = natural_order::sorted(keys.iter().zip(0..), Version::Three);
        Self::Map(order.into_iter().filter_map(|(_, index)| entries[index].take()).collect())
    }
}

/// Writes `node` as the encoder of go.yaml.in/yaml/v3 with an indentation of two does.
#[must_use]
pub fn pretty(node: &Node) -> String {
    let mut page = Page { text: String::new(), width: usize::MAX, tabs: Tabs::StandInLiterals };
    match node {
        Node::List(items) if !items.is_empty() => page.nodes(items, 0),
        Node::Map(entries) if !entries.is_empty() => page.entries(entries, 0),
        leaf => page.node(leaf, STEP),
    }
    page.start_line(0);
    page.text
}

impl Page {
    fn entries(&mut self, entries: &[(Vec<u8>, Node)], margin: usize) {
        for (index, (key, value)) in entries.iter().enumerate() {
            if index > 0 {
                self.start_line(margin);
            }
            if is_simple_key(key) {
                self.bytes(key, None);
                self.text.push(':');
                self.below_key(value, margin);
            } else {
                self.text.push_str("? ");
                self.bytes(key, Some(margin + STEP));
                self.start_line(margin);
                self.text.push_str(": ");
                self.node(value, margin + STEP);
            }
        }
    }

    fn nodes(&mut self, items: &[Node], margin: usize) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.start_line(margin);
            }
            self.text.push_str("- ");
            self.node(item, margin + STEP);
        }
    }

    fn below_key(&mut self, value: &Node, margin: usize) {
        let is_below = match value {
            Node::List(items) => !items.is_empty(),
            Node::Map(entries) => !entries.is_empty(),
            Node::Plain(_) | Node::Text(_) => false,
        };
        if is_below {
            self.start_line(margin + STEP);
        } else {
            self.text.push(' ');
        }
        self.node(value, margin + STEP);
    }

    /// A value where the page stands; its further lines begin at `margin`.
    fn node(&mut self, node: &Node, margin: usize) {
        match node {
            Node::Plain(text) => self.text.push_str(text),
            Node::Text(bytes) => self.bytes(bytes, Some(margin)),
            Node::List(items) if items.is_empty() => self.text.push_str("[]"),
            Node::Map(entries) if entries.is_empty() => self.text.push_str("{}"),
            Node::List(items) => self.nodes(items, margin),
            Node::Map(entries) => self.entries(entries, margin),
        }
    }

    fn bytes(&mut self, bytes: &[u8], margin: Option<usize>) {
        match std::str::from_utf8(bytes) {
            // To version 3 alone this is a number.
            Ok(text) if is_odd_octal(text) => {
                self.text.push('"');
                self.text.push_str(text);
                self.text.push('"');
            }
            Ok(text) => self.string(text, margin),
            Err(_) => {
                self.text.push_str(BINARY);
                let lines = base64_lines(bytes);
                match margin {
                    Some(margin) if lines.contains('\n') => self.literal(&lines, margin),
                    _ => self.text.push_str(&lines),
                }
            }
        }
    }
}

const BINARY: &str = "!!binary ";

/// `0o-7`: the library takes the prefix off and reads the rest, sign included.
fn is_odd_octal(text: &str) -> bool {
    text.strip_prefix("0o").is_some_and(|rest| {
        rest.starts_with(['-', '+']) && i64::from_str_radix(&rest.replace('_', ""), 8).is_ok()
    })
}

fn is_simple_key(key: &[u8]) -> bool {
    match std::str::from_utf8(key) {
        Ok(text) => text.len() <= MAX_KEY_BEFORE_COLON && !text.contains(is_break),
        Err(_) => {
            let lines = base64_lines(key);
            lines.len() + BINARY.len() - 1 <= MAX_KEY_BEFORE_COLON && !lines.contains('\n')
        }
    }
}

/// Base64 in lines of 70, each with its line break, or as one line without if it is shorter.
fn base64_lines(bytes: &[u8]) -> String {
    const LINE: usize = 70;
    let encoded = base64::encode(bytes);
    if encoded.len() < LINE {
        return encoded;
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / LINE + 1);
    for (index, letter) in encoded.chars().enumerate() {
        if index > 0 && index % LINE == 0 {
            lines.push('\n');
        }
        lines.push(letter);
    }
    lines.push('\n');
    lines
}
