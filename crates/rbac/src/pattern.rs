//! How the patterns of a rule match: globs whose `*` crosses slashes, or
//! regular expressions that match anywhere in the text.
//!
//! Nearly all patterns are a word, a `*` or `project/*`; these are compared
//! without any machine.

use gocompat::glob::Glob;
use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// How patterns are read: `policy.matchMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchMode {
    /// `dev-*/web`.
    #[default]
    Glob,
    /// `^dev-[0-9]+/web$`.
    Regex,
}

/// A pattern, ready to match.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    Anything,
    Exactly(Box<str>),
    /// Between these pieces anything may stand; the first begins the text, the last ends it.
    Pieces(Box<[Box<str>]>),
    Glob(Glob),
    /// Text that a regular expression without special characters looks for.
    Contains(Box<str>),
    /// With what every text that fits begins with.
    Regex(Regex, Box<str>),
    Unreadable,
}

/// Whether a pattern fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Yes,
    No,
    /// A regular expression that cannot be read ends the decision with a no.
    Broken,
}

/// How many of the texts that begin alike a pattern fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extent {
    #[default]
    Nothing,
    /// Some of them, or nobody knows.
    Parts,
    All,
}

/// No regular expression of a policy needs more; a megabyte of automaton is plenty.
const REGEX_LIMIT: usize = 1 << 20;
/// A thousand common ones together take half of it.
const MACHINE_LIMIT: usize = 8 << 20;

impl Pattern {
    pub(crate) fn new(text: &str, mode: MatchMode) -> Self {
        match mode {
            MatchMode::Glob => Self::glob(text),
            MatchMode::Regex => Self::regex(text),
        }
    }

    fn glob(text: &str) -> Self {
        if text.contains(['\\', '[', ']', '{', '}', '?', ',']) {
            return Glob::new(text, &[]).map_or(Self::Unreadable, Self::Glob);
        }
        if !text.contains('*') {
            return Self::Exactly(text.into());
        }
        if text.bytes().all(|it| it == b'*') {
            return Self::Anything;
        }
        let mut pieces: Vec<Box<str>> = text.split('*').map(Into::into).collect();
        // Stars side by side are one star.
        let last = pieces.len() - 1;
        let mut index = 0;
        pieces.retain(|piece| {
            index += 1;
            !piece.is_empty() || index == 1 || index == last + 1
        });
        Self::Pieces(pieces.into())
    }

    fn regex(text: &str) -> Self {
        match text {
            "" | ".*" | "^.*$" | "^.*" | ".*$" => return Self::Anything,
            _ if !text.contains(|it: char| r"\.+*?()|[]{}^$".contains(it)) => {
                return Self::Contains(text.into());
            }
            _ => {}
        }
        let built = RegexBuilder::new(&as_go_reads(text)).size_limit(REGEX_LIMIT).build();
        built.map_or(Self::Unreadable, |regex| Self::Regex(regex, anchored(text).into()))
    }

    /// A regular expression that does not say what a text begins with.
    pub(crate) fn is_found_anywhere(&self) -> bool {
        matches!(self, Self::Regex(_, prefix) if prefix.is_empty())
    }

    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable)
    }

    pub(crate) fn fits(&self, text: &str, mode: MatchMode) -> Fit {
        let fits = match self {
            Self::Anything => true,
            Self::Exactly(expected) => **expected == *text,
            Self::Pieces(pieces) => fits_pieces(pieces, text),
            Self::Glob(glob) => glob.is_match(text),
            Self::Contains(needle) => text.contains(&**needle),
            Self::Regex(regex, _) => regex.is_match(text),
            Self::Unreadable => match mode {
                MatchMode::Glob => false,
                MatchMode::Regex => return Fit::Broken,
            },
        };
        if fits { Fit::Yes } else { Fit::No }
    }

    /// What every text that fits begins with.
    pub(crate) fn prefix(&self) -> &str {
        match self {
            Self::Exactly(text) => text,
            Self::Pieces(pieces) => &pieces[0],
            Self::Regex(_, prefix) => prefix,
            _ => "",
        }
    }

    /// How many of the texts that begin with `start` it fits; none for a broken one.
    pub(crate) fn extent(&self, start: &str, mode: MatchMode) -> Option<Extent> {
        let fits_whatever_follows = match self {
            Self::Anything => true,
            Self::Pieces(pieces) => {
                pieces.last().is_some_and(|it| it.is_empty()) && fits_pieces(pieces, start)
            }
            Self::Contains(needle) => start.contains(&**needle),
            Self::Unreadable => match mode {
                MatchMode::Glob => return Some(Extent::Nothing),
                MatchMode::Regex => return None,
            },
            Self::Exactly(_) | Self::Glob(_) | Self::Regex(..) => false,
        };
        let prefix = self.prefix();
        let goes_on = !matches!(self, Self::Exactly(_)) && start.starts_with(prefix);
        Some(match fits_whatever_follows {
            true => Extent::All,
            false if prefix.starts_with(start) || goes_on => Extent::Parts,
            false => Extent::Nothing,
        })
    }
}

/// One machine for many regular expressions, in their order; none where it would be too large.
pub(crate) fn one_machine<'a>(patterns: impl Iterator<Item = &'a Pattern>) -> Option<RegexSet> {
    let texts: Option<Vec<&str>> = patterns
        .map(|it| match it {
            Pattern::Regex(regex, _) => Some(regex.as_str()),
            _ => None,
        })
        .collect();
    RegexSetBuilder::new(texts?)
        .size_limit(MACHINE_LIMIT)
        .dfa_size_limit(MACHINE_LIMIT)
        .build()
        .ok()
}

/// The literal text after a `^` at the beginning of a regular expression without alternatives.
fn anchored(text: &str) -> &str {
    let Some(rest) = text.strip_prefix('^').filter(|it| !it.contains('|')) else { return "" };
    let end = rest.find(|it: char| r"\.+*?()[]{}^$".contains(it)).unwrap_or(rest.len());
    // What may be there any number of times may be missing.
    let is_counted = rest[end..].starts_with(['*', '?', '{', '+']);
    let last = rest[..end].chars().next_back().filter(|_| is_counted);
    &rest[..end - last.map_or(0, char::len_utf8)]
}

fn fits_pieces(pieces: &[Box<str>], text: &str) -> bool {
    let [first, middle @ .., last] = pieces else { return false };
    if middle.is_empty() {
        // As in Go's library, beginning and end may overlap: `ab*bc` fits `abc`.
        return text.starts_with(&**first) && text.ends_with(&**last);
    }
    let Some(mut rest) = text.strip_prefix(&**first) else { return false };
    for piece in middle {
        let Some(found) = rest.find(&**piece) else { return false };
        rest = &rest[found + piece.len()..];
    }
    rest.ends_with(&**last)
}

/// The `regex` crate and Go's are of one family. What differs and can be seen
/// in a policy: classes are ASCII in Go, and a bracket inside of a class is a
/// character there.
fn as_go_reads(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len());
    let mut characters = pattern.chars().peekable();
    let mut class_length = None::<usize>;
    while let Some(character) = characters.next() {
        match (character, &mut class_length) {
            ('\\', _) => {
                let escaped = characters.next();
                translated.push_str(&match escaped {
                    Some('d') => "[0-9]".into(),
                    Some('D') => "[^0-9]".into(),
                    Some('w') => "[0-9A-Za-z_]".into(),
                    Some('W') => "[^0-9A-Za-z_]".into(),
                    Some('s') => r"[\t\n\f\r ]".into(),
                    Some('S') => r"[^\t\n\f\r ]".into(),
                    Some('b') if class_length.is_none() => r"(?-u:\b)".into(),
                    Some(other) => format!("\\{other}"),
                    None => "\\".to_owned(),
                });
                class_length = class_length.map(|it| it + 1);
            }
            ('[', None) => {
                class_length = Some(0);
                translated.push('[');
                if characters.next_if_eq(&'^').is_some() {
                    translated.push('^');
                }
            }
            ('[', Some(length)) => {
                *length += 1;
                translated.push_str(if characters.peek() == Some(&':') { "[" } else { r"\[" });
            }
            (']', Some(length)) if *length > 0 => {
                class_length = None;
                translated.push(']');
            }
            (']', Some(length)) => {
                *length += 1;
                translated.push_str(r"\]");
            }
            ('&' | '~', Some(length)) => {
                *length += 1;
                translated.push('\\');
                translated.push(character);
            }
            (_, length) => {
                if let Some(length) = length {
                    *length += 1;
                }
                translated.push(character);
            }
        }
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mode: MatchMode, pattern: &str, fits: &[&str], not: &[&str]) {
        let compiled = Pattern::new(pattern, mode);
        for text in fits {
            assert_eq!(compiled.fits(text, mode), Fit::Yes, "{pattern} {text}");
        }
        for text in not {
            assert_eq!(compiled.fits(text, mode), Fit::No, "{pattern} {text}");
        }
    }

    #[test]
    fn a_star_crosses_slashes() {
        check(MatchMode::Glob, "*", &["", "a/b"], &[]);
        check(MatchMode::Glob, "shop/*", &["shop/", "shop/a/b"], &["shop", "x/shop/a"]);
        check(MatchMode::Glob, "*/*", &["a/b", "/"], &["a"]);
        check(MatchMode::Glob, "a*b*c", &["abc", "axbybc"], &["ab", "acb"]);
        check(MatchMode::Glob, "a**c", &["ac", "abc"], &["ab"]);
        check(MatchMode::Glob, "ab*bc", &["abc"], &["ab"]);
    }

    #[test]
    fn quick_ways_answer_as_the_glob_machine_does() {
        let texts = ["", "a", "ab", "abc", "a/b", "a/b/c", "shop/web", "/", "aab", "abab"];
        for pattern in ["", "*", "**", "a*", "*b", "a*b", "*a*b*", "a/*", "*/*", "*/*/*", "a*b*b"] {
            let slow = Glob::new(pattern, &[]).unwrap();
            let quick = Pattern::new(pattern, MatchMode::Glob);
            for text in texts {
                let fits = quick.fits(text, MatchMode::Glob) == Fit::Yes;
                assert_eq!(fits, slow.is_match(text), "{pattern} {text}");
                assert!(!fits || text.starts_with(quick.prefix()), "{pattern} {text}");
            }
        }
    }

    #[test]
    fn sets_and_alternatives_are_patterns_too() {
        check(MatchMode::Glob, "{a,b}/*", &["a/x", "b/"], &["c/x"]);
        check(MatchMode::Glob, "dev-[0-9]/?", &["dev-1/a"], &["dev-x/a"]);
    }

    #[test]
    fn a_regular_expression_matches_anywhere() {
        check(MatchMode::Regex, "web", &["web", "shop/web-2"], &["shop"]);
        check(MatchMode::Regex, "^dev-.*/.*$", &["dev-1/a"], &["x-dev-1/a", "dev-1"]);
        check(MatchMode::Regex, r"^\d+$", &["12"], &["a", "١٢"]);
        check(MatchMode::Regex, "^[[]$", &["["], &["]"]);
        check(MatchMode::Regex, "^[]a]$", &["]", "a"], &["b"]);
        check(MatchMode::Regex, "^[[:alpha:]]+$", &["ab"], &["a1"]);
    }

    #[test]
    fn a_regular_expression_tells_what_it_begins_with() {
        let prefix = |text: &str| Pattern::new(text, MatchMode::Regex).prefix().to_owned();
        for (text, expect) in [
            ("^dev-1/.*", "dev-1/"),
            ("^dev-1$", "dev-1"),
            ("^ab*c", "a"),
            ("^ab+c", "a"),
            ("^ab{0,2}", "a"),
            ("^é?x", ""),
            ("^a|b", ""),
            ("^(?i)a.", ""),
            (r"^a\.b", "a"),
            ("dev-.*", ""),
        ] {
            assert_eq!(prefix(text), expect, "{text}");
        }
    }

    #[track_caller]
    fn check_extent(mode: MatchMode, pattern: &str, expect: Option<Extent>) {
        assert_eq!(Pattern::new(pattern, mode).extent("shop/", mode), expect, "{pattern}");
    }

    #[test]
    fn a_pattern_knows_how_much_of_a_project_it_fits() {
        for all in ["*", "*/*", "shop/*", "s*", "*p/*"] {
            check_extent(MatchMode::Glob, all, Some(Extent::All));
        }
        for parts in ["shop/web", "shop/w*", "*/web", "shop*web", "{shop,x}/*", "s*/*/*"] {
            check_extent(MatchMode::Glob, parts, Some(Extent::Parts));
        }
        for nothing in ["shop", "other/*", "shopping/*", "["] {
            check_extent(MatchMode::Glob, nothing, Some(Extent::Nothing));
        }
        check_extent(MatchMode::Regex, "shop", Some(Extent::All));
        check_extent(MatchMode::Regex, "^shop/.*", Some(Extent::Parts));
        check_extent(MatchMode::Regex, "^other/.*", Some(Extent::Nothing));
        check_extent(MatchMode::Regex, "(", None);
    }

    #[test]
    fn what_cannot_be_read_fits_nothing_or_breaks_the_decision() {
        let fit = |pattern, mode| Pattern::new(pattern, mode).fits("a", mode);
        assert_eq!(fit("[", MatchMode::Glob), Fit::No);
        assert_eq!(fit("*/*", MatchMode::Regex), Fit::Broken);
        assert_eq!(fit("(a{1000}){1000}", MatchMode::Regex), Fit::Broken);
    }
}
