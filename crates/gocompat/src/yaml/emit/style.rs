//! Which of the four forms a text takes: the least quoted one that reads back
//! the same, with `|` for everything that has lines.

use super::super::resolve::{Scalar, plain_scalar, reads_back_as_text};
use super::is_break;

/// The form of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// What a tab in a text of several lines does to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tabs {
    AreEscaped,
    StandInLiterals,
}

/// The form goyaml gives to `text`; keys before a `:` have no room for lines.
pub(super) fn style_of(text: &str, on_one_line: bool, tabs: Tabs) -> Style {
    if text.contains('\n') {
        let may_stand =
            |it: char| is_printable(it) || (it == '\t' && tabs == Tabs::StandInLiterals);
        let literal = !on_one_line && keeps_its_characters(text, may_stand) && !text.ends_with(' ');
        return if literal { Style::Literal } else { Style::DoubleQuoted };
    }
    let folds_unharmed = keeps_its_characters(text, is_printable) && !has_space_after_break(text);
    if !folds_unharmed || !reads_back_as_text(text) {
        Style::DoubleQuoted
    } else if text.contains(is_break) || has_outer_space(text) || looks_like_syntax(text) {
        Style::SingleQuoted
    } else {
        Style::Plain
    }
}

/// Whether `text` is plain at first sight, as nearly all texts are: a letter, then
/// letters, digits and signs that mean nothing between them, and no word such as
/// `yes`. What begins with a letter is no number and no date to anybody.
pub(super) fn is_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    let [first, rest @ ..] = bytes else { return false };
    let is_inner = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b':')
    };
    first.is_ascii_alphabetic()
        && rest.iter().all(is_inner)
        && !text.ends_with(':')
        && plain_scalar(text) == Scalar::Text
}

/// Whether nothing needs an escape: all is visible, no line ends in spaces.
fn keeps_its_characters(text: &str, may_stand: impl Fn(char) -> bool) -> bool {
    let mut breaks = text.match_indices(is_break);
    text.chars().all(may_stand) && !breaks.any(|(at, _)| text[..at].ends_with(' '))
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

#[cfg(test)]
mod tests {
    use super::{Style, Tabs, is_word, style_of};

    #[test]
    fn what_is_plain_at_first_sight_is_plain_at_the_second() {
        for word in ["a", "web-1.example.com/x_y", "nginx:1.27", "Yesterday", "e10", "sha256:0f"] {
            assert!(is_word(word), "{word}");
            assert_eq!(style_of(word, true, Tabs::AreEscaped), Style::Plain, "{word}");
        }
        for other in ["", "yes", "N", "null", "a:", "a b", "1a", "-a", ".a", "é", "a\n", "a#b"] {
            assert!(!is_word(other), "{other:?}");
        }
    }
}
