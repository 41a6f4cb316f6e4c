//! Which of the four forms a text takes: the least quoted one that reads back
//! the same, with `|` for everything that has lines.

use super::super::resolve::reads_back_as_text;
use super::is_break;

/// The form of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// The form goyaml gives to `text`; keys before a `:` have no room for lines.
pub(super) fn style_of(text: &str, on_one_line: bool) -> Style {
    if text.contains('\n') {
        let literal = !on_one_line && keeps_its_characters(text) && !text.ends_with(' ');
        return if literal { Style::Literal } else { Style::DoubleQuoted };
    }
    let folds_unharmed = keeps_its_characters(text) && !has_space_after_break(text);
    if !folds_unharmed || !reads_back_as_text(text) {
        Style::DoubleQuoted
    } else if text.contains(is_break) || has_outer_space(text) || looks_like_syntax(text) {
        Style::SingleQuoted
    } else {
        Style::Plain
    }
}

/// Whether nothing needs an escape: all is visible, no line ends in spaces.
fn keeps_its_characters(text: &str) -> bool {
    let ends_in_space = |line: &str| line.ends_with(' ');
    let mut lines: Vec<&str> = text.split(is_break).collect();
    lines.pop();
    text.chars().all(is_printable) && !lines.into_iter().any(ends_in_space)
}

fn has_space_after_break(text: &str) -> bool {
    text.split(is_break).skip(1).any(|line| line.starts_with(' '))
}

fn has_outer_space(text: &str) -> bool {
    text.starts_with(' ') || text.ends_with(' ')
}

/// Whether a reader would see an indicator, a comment or the end of a document
/// where `text` stands without quotes.
fn looks_like_syntax(text: &str) -> bool {
    const NEVER_FIRST: &str = "#,[]{}&*!|>'\"%@`";
    let opens = text.starts_with(|first| NEVER_FIRST.contains(first));
    let is_document_mark = text.starts_with("---") || text.starts_with("...");
    let is_entry = matches!(text, "-" | "?") || text.starts_with("- ") || text.starts_with("? ");
    let is_key = text.ends_with(':') || text.contains(": ");
    opens || is_document_mark || is_entry || is_key || text.contains(" #")
}

/// goyaml counts nothing outside the Basic Multilingual Plane as printable.
pub(super) fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{fffd}') && character != '\u{feff}'
}
