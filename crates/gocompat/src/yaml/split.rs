//! Where one document of a manifest file ends and the next begins.
//!
//! Kubernetes cuts the text before any YAML is read: at every line that starts
//! with `---`, even inside a quoted scalar, and only there (`...` means nothing).

use std::borrow::Cow;

use serde_json::Value;

use super::error::{Error, Position, Problem};

/// One document of a file, still text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'t> {
    /// The text between two separators. A separator at the very beginning
    /// belongs to it, as does one that something follows on the same line.
    pub text: &'t str,
    /// The line of the file where `text` begins, counted from one.
    pub first_line: usize,
}

/// Cuts a manifest file into documents, blank ones included.
pub fn split_documents(text: &str) -> impl Iterator<Item = Document<'_>> {
    split_from(text, 0)
}

/// [`split_documents`] for the text from the byte `start` on.
pub(super) fn split_from(text: &str, start: usize) -> impl Iterator<Item = Document<'_>> {
    let first_line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
    Documents { rest: &text[start..], line: first_line }
}

impl Document<'_> {
    /// Reads the document; positions in the error count from the file's beginning.
    ///
    /// # Errors
    /// As [`to_value`](super::to_value), and for `--- something`, which is
    /// YAML but refused by Kubernetes.
    pub fn to_value(&self) -> Result<Value, Error> {
        if let Some(content) = separator_content(self.text) {
            let line = u32::try_from(self.first_line).unwrap_or(u32::MAX);
            return Err(Error {
                position: Some(Position { line, column: 4 }),
                problem: Problem::SeparatorWithContent(content.to_owned()),
            });
        }
        let text = with_plain_line_ends(self.text);
        super::to_value(&text).map_err(|error| error.further_down(self.first_line - 1))
    }
}

/// Kubernetes hands every line to YAML with `\n` at its end, the last one too:
/// a block scalar that ends with the file ends in a line break.
fn with_plain_line_ends(text: &str) -> Cow<'_, str> {
    if text.ends_with('\n') && !text.contains("\r\n") {
        return Cow::Borrowed(text);
    }
    let mut plain = text.replace("\r\n", "\n");
    if !plain.ends_with('\n') {
        plain.push('\n');
    }
    Cow::Owned(plain)
}

struct Documents<'t> {
    rest: &'t str,
    line: usize,
}

impl<'t> Iterator for Documents<'t> {
    type Item = Document<'t>;

    fn next(&mut self) -> Option<Document<'t>> {
        if self.rest.is_empty() {
            return None;
        }
        if separator_content(self.rest).is_some() {
            // Nothing after it can be trusted: hand out the rest as the broken document.
            let rest = std::mem::take(&mut self.rest);
            return Some(Document { text: rest, first_line: self.line });
        }
        let first_line = self.line;
        let (text, rest) = match find_separator(self.rest) {
            Some(at) => self.rest.split_at(at),
            None => (self.rest, ""),
        };
        self.line += line_breaks(text);
        self.rest = rest;
        // The separator that ended this document belongs to nobody.
        if separator_content(rest).is_none() {
            let separator = rest.find('\n').map_or(rest.len(), |at| at + 1);
            self.line += line_breaks(&rest[..separator]);
            self.rest = &rest[separator..];
        }
        Some(Document { text, first_line })
    }
}

/// The next line that starts with `---`, not looking at the first line.
fn find_separator(text: &str) -> Option<usize> {
    text.find("\n---").map(|at| at + 1)
}

fn line_breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// What follows `---` on the first line, unless that is nothing or a comment.
fn separator_content(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("---")?;
    let content = rest.split('\n').next().unwrap_or_default().trim();
    (!content.is_empty() && !content.starts_with('#')).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::super::documents;
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[(&str, usize)]) {
        let found: Vec<_> = split_documents(text).map(|it| (it.text, it.first_line)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn documents_know_their_first_line() {
        check("a: 1\n---\nb: 2\n", &[("a: 1\n", 1), ("b: 2\n", 3)]);
        check("---\na: 1\n--- # c\n\nb: 2", &[("---\na: 1\n", 1), ("\nb: 2", 4)]);
        check("a: 1\r\n---\r\nb: 2", &[("a: 1\r\n", 1), ("b: 2", 3)]);
    }

    #[test]
    fn only_a_line_that_starts_with_dashes_separates() {
        check("a: |\n  ---\n  b\n", &[("a: |\n  ---\n  b\n", 1)]);
        check("a: 1\n...\nb: 2\n", &[("a: 1\n...\nb: 2\n", 1)]);
    }

    #[test]
    fn a_separator_with_content_is_handed_out_and_refused() {
        check("a: 1\n--- b: 2\nc: 3\n", &[("a: 1\n", 1), ("--- b: 2\nc: 3\n", 2)]);
        let error = documents("a: 1\n--- b: 2\n").expect_err("Kubernetes refuses it");
        assert_eq!(
            error.to_string(),
            "line 2, column 4: a document separator must stand alone on its line, \
             found `b: 2` after it"
        );
    }

    #[test]
    fn a_block_scalar_at_the_end_of_a_file_ends_in_a_line_break() {
        let found = documents("a: |\n  x\n---\nb: |\r\n  y").expect("two documents");
        let expect = [(serde_json::json!({"a": "x\n"}), 1), (serde_json::json!({"b": "y\n"}), 4)];
        assert_eq!(found, expect);
    }

    #[test]
    fn errors_point_into_the_whole_file() {
        let error = documents("a: 1\n---\nb: 2\nc: [\n").expect_err("the list is not closed");
        assert_eq!(error.position.map(|position| position.line), Some(5));
        let error = documents("{\"a\": 1}\n{\"b\": \"\\/\"}\n").expect_err("a slash escaped");
        assert_eq!(error.position.map(|position| position.line), Some(2));
    }
}
