//! The syntax of a glob pattern, with the corners gobwas/glob gives it: a brace
//! that is never closed closes at the end, a bracket must be closed, `[a-z]` is a
//! range only if nothing else stands in the brackets.

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Text(String),
    /// `*`
    Any,
    /// `**`
    Super,
    /// `?`
    Single,
    List {
        chars: String,
        negated: bool,
    },
    Range {
        low: char,
        high: char,
        negated: bool,
    },
    AnyOf(Vec<Vec<Self>>),
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// `[` without its `]`.
    #[error("the set opened by [ is not closed by ]")]
    UnclosedSet,
    /// `[]` or `[!]`.
    #[error("a set of characters in [ ] cannot be empty")]
    EmptySet,
    /// `[z-a]`.
    #[error("the range {low}-{high} is upside down")]
    ReversedRange {
        /// Its first character.
        low: char,
        /// Its last.
        high: char,
    },
    /// `[a-z0-9]`: Go's library takes one range only.
    #[error("a range must stand alone in its brackets, use {{[a-z],[0-9]}} for several")]
    RangeWithMore,
    /// U+FFFD, which Go uses for text that is not UTF-8.
    #[error("the pattern contains an invalid character")]
    InvalidCharacter,
    /// A pattern of more than 64 KiB.
    #[error("the pattern is longer than {MAX_PATTERN_BYTES} bytes")]
    TooLong,
    /// Braces in more than 64 braces.
    #[error("braces are nested deeper than {MAX_NESTING} levels")]
    TooDeep,
    /// `path/filepath` patterns only: a bracket or backslash out of place.
    #[error("syntax error in pattern")]
    BadFilepathPattern,
}

pub(super) const MAX_PATTERN_BYTES: usize = 64 << 10;
pub(super) const MAX_NESTING: usize = 64;

pub(super) fn parse(pattern: &str) -> Result<Vec<Node>, PatternError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(PatternError::TooLong);
    }
    if pattern.contains(char::REPLACEMENT_CHARACTER) {
        return Err(PatternError::InvalidCharacter);
    }
    let mut rest = pattern;
    // The innermost alternatives are the last; the bottom is the pattern itself.
    let mut open: Vec<Vec<Vec<Node>>> = vec![vec![Vec::new()]];
    while let Some(character) = rest.chars().next() {
        let in_braces = open.len() > 1;
        let after = &rest[character.len_utf8()..];
        match character {
            '{' if open.len() > MAX_NESTING => return Err(PatternError::TooDeep),
            '{' => {
                open.push(vec![Vec::new()]);
                rest = after;
            }
            ',' if in_braces => {
                innermost(&mut open).push(Vec::new());
                rest = after;
            }
            '}' if in_braces => {
                close_braces(&mut open);
                rest = after;
            }
            '[' => {
                let (node, remaining) = parse_set(after)?;
                push(&mut open, node);
                rest = remaining;
            }
            '?' => {
                push(&mut open, Node::Single);
                rest = after;
            }
            '*' => {
                let (node, remaining) = match after.strip_prefix('*') {
                    Some(remaining) => (Node::Super, remaining),
                    None => (Node::Any, after),
                };
                push(&mut open, node);
                rest = remaining;
            }
            _ => {
                let breakers: &[char] =
                    if in_braces { &['?', '*', '[', '{', '}', ','] } else { &['?', '*', '[', '{'] };
                let (text, remaining) = take_text(rest, breakers);
                if !text.is_empty() {
                    push(&mut open, Node::Text(text));
                }
                rest = remaining;
            }
        }
    }
    while open.len() > 1 {
        close_braces(&mut open);
    }
    Ok(innermost(&mut open).pop().expect("the pattern itself is always there"))
}

fn innermost(open: &mut [Vec<Vec<Node>>]) -> &mut Vec<Vec<Node>> {
    open.last_mut().expect("the pattern itself is never closed")
}

fn push(open: &mut [Vec<Vec<Node>>], node: Node) {
    innermost(open).last_mut().expect("opened with one alternative").push(node);
}

fn close_braces(open: &mut Vec<Vec<Vec<Node>>>) {
    if let Some(alternatives) = open.pop() {
        push(open, Node::AnyOf(alternatives));
    }
}

/// Parses what follows `[` and returns what follows the `]`.
fn parse_set(text: &str) -> Result<(Node, &str), PatternError> {
    let (negated, text) = match text.strip_prefix('!') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let mut characters = text.chars();
    let (first, second) = (characters.next(), characters.next());
    if let (Some(low), Some('-')) = (first, second) {
        let high = characters.next().ok_or(PatternError::UnclosedSet)?;
        let after = match characters.as_str().strip_prefix(']') {
            Some(after) => after,
            None if characters.as_str().is_empty() => return Err(PatternError::UnclosedSet),
            None => return Err(PatternError::RangeWithMore),
        };
        if high < low {
            return Err(PatternError::ReversedRange { low, high });
        }
        return Ok((Node::Range { low, high, negated }, after));
    }
    let (chars, rest) = take_text(text, &[']']);
    let after = rest.strip_prefix(']').ok_or(PatternError::UnclosedSet)?;
    if chars.is_empty() {
        return Err(PatternError::EmptySet);
    }
    Ok((Node::List { chars, negated }, after))
}

/// Takes text up to a breaker that no backslash precedes; a backslash at the very
/// end stands for nothing.
fn take_text<'t>(text: &'t str, breakers: &[char]) -> (String, &'t str) {
    let mut taken = String::new();
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if !escaped {
            if character == '\\' {
                escaped = true;
                continue;
            }
            if breakers.contains(&character) {
                return (taken, &text[at..]);
            }
        }
        escaped = false;
        taken.push(character);
    }
    (taken, "")
}
