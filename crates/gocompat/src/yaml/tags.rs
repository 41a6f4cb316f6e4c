//! Tags with commas and brackets in them, and the escape `\'`, which goyaml reads and
//! our parser does not.
//!
//! To goyaml `[!t, a]` is the tag `!t,` and a text; our parser takes a comma inside
//! of a flow collection for the end of the tag, and panics. [`readable`] writes
//! another sign for those, one that ends no tag and is in no tag that means
//! anything; of the escape it leaves the quote. To know a tag from an exclamation mark
//! in a text, and one quote from another, it goes through the tokens as the parser
//! does, which is the whole of this file. Nearly no text has
//! anything to be gone through for.

use std::borrow::Cow;

/// The text with a semicolon for each comma and bracket in a tag, and without the
/// backslash of each `\'`.
pub(super) fn readable(text: &str) -> Cow<'_, str> {
    if !text.contains("\\'") && !may_have_odd_tag(text) {
        return Cow::Borrowed(text);
    }
    let walk = Walk::to_the_end_of(text);
    if walk.odd.is_empty() && walk.backslashes.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    walk.odd.iter().for_each(|at| bytes[*at] = b';');
    let mut superfluous = walk.backslashes.iter().peekable();
    let mut at = 0;
    bytes.retain(|_| {
        let is_superfluous = superfluous.next_if(|it| **it == at).is_some();
        at += 1;
        !is_superfluous
    });
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Is there a tag with a comma or a bracket in it? Whoever drives the parser without
/// [`readable`] has to refuse such a text: the parser panics.
#[must_use]
pub fn has_odd_tag(text: &str) -> bool {
    may_have_odd_tag(text) && !Walk::to_the_end_of(text).odd.is_empty()
}

fn may_have_odd_tag(text: &str) -> bool {
    text.split('!').skip(1).any(|rest| rest.trim_start_matches(is_uri).starts_with(is_odd))
}

/// What a tag may have in it to our parser, with the `>` that ends a tag in full.
fn is_uri(it: char) -> bool {
    it.is_ascii_alphanumeric() || "_-;/?:@&=+$.%!~*'()<>#".contains(it)
}

/// What a tag may have in it to goyaml only.
fn is_odd(it: char) -> bool {
    matches!(it, ',' | '[' | ']')
}

/// A walk over the tokens of a text, up to the first that the parser refuses.
struct Walk<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    column: usize,
    /// How many flow collections are open.
    flow: usize,
    /// The column of the innermost open block collection, -1 where there is none.
    indent: isize,
    /// Those of the collections around it.
    outer: Vec<isize>,
    /// What becomes a key of a block mapping if a colon follows.
    key: Option<Key>,
    /// May what comes next be a key?
    allows_key: bool,
    /// Where the commas and brackets in tags are.
    odd: Vec<usize>,
    /// Where the backslashes before single quotes in double quotes are.
    backslashes: Vec<usize>,
    #[cfg(test)]
    tags: Vec<usize>,
}

struct Key {
    at: usize,
    line: usize,
    column: usize,
    is_required: bool,
}

/// The parser refuses keys that are longer.
const MAX_KEY_BYTES: usize = 1024;

/// Nothing means that the parser ends here, with or without an error.
type Step = Option<()>;

impl<'t> Walk<'t> {
    fn over(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            line: 0,
            column: 0,
            flow: 0,
            indent: -1,
            outer: Vec::new(),
            key: None,
            allows_key: true,
            odd: Vec::new(),
            backslashes: Vec::new(),
            #[cfg(test)]
            tags: Vec::new(),
        }
    }

    fn to_the_end_of(text: &'t str) -> Self {
        let mut walk = Self::over(text);
        while walk.token().is_some() {}
        walk
    }

    fn token(&mut self) -> Step {
        self.skip_to_token();
        self.forget_old_key()?;
        self.close_blocks(self.column.cast_signed());
        match self.peek(0)? {
            '%' if self.column == 0 => self.directive(),
            '-' | '.' if self.is_at_marker() => {
                self.close_blocks(-1);
                self.no_key()?;
                self.allows_key = false;
                self.skip(3);
                Some(())
            }
            '[' | '{' => {
                self.maybe_key()?;
                self.flow += 1;
                self.allows_key = true;
                self.skip(1);
                Some(())
            }
            ']' | '}' => {
                self.no_key()?;
                self.flow = self.flow.saturating_sub(1);
                self.allows_key = false;
                self.skip(1);
                Some(())
            }
            ',' => {
                self.no_key()?;
                self.allows_key = true;
                self.skip(1);
                Some(())
            }
            '-' if self.is_blank_or_end(1) => {
                self.open_block()?;
                self.allows_key = true;
                self.skip(1);
                Some(())
            }
            '?' if self.flow > 0 || self.is_blank_or_end(1) => {
                self.open_block()?;
                self.allows_key = self.flow == 0;
                self.skip(1);
                Some(())
            }
            ':' if self.flow > 0 || self.is_blank_or_end(1) => self.colon(),
            '*' | '&' => self.anchor(),
            '!' => self.tag(),
            '|' | '>' if self.flow == 0 => self.block_scalar(),
            quote @ ('\'' | '"') => self.quoted(quote),
            first => self.plain(first),
        }
    }

    fn directive(&mut self) -> Step {
        self.close_blocks(-1);
        self.no_key()?;
        self.allows_key = false;
        self.skip_while(|it| !is_break(it));
        self.skip_break();
        Some(())
    }

    fn colon(&mut self) -> Step {
        if self.flow > 0 {
            self.allows_key = false;
        } else if let Some(key) = self.key.take() {
            self.open_block_at(key.column);
            self.allows_key = false;
        } else if self.allows_key {
            self.open_block_at(self.column);
        } else {
            return None;
        }
        self.skip(1);
        Some(())
    }

    fn anchor(&mut self) -> Step {
        self.maybe_key()?;
        self.allows_key = false;
        self.skip(1);
        let start = self.at;
        self.skip_while(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-'));
        let ends =
            self.is_blank_or_end(0) || self.peek(0).is_some_and(|it| "?:,]}%@`".contains(it));
        (self.at > start && ends).then_some(())
    }

    fn tag(&mut self) -> Step {
        #[cfg(test)]
        self.tags.push(self.at);
        self.maybe_key()?;
        self.allows_key = false;
        if self.peek(1) == Some('<') {
            self.skip_while(|it| it != '>' && !is_blank(it));
            self.peek(0).filter(|it| *it == '>')?;
            self.skip(1);
            // No tag to goyaml either, but our parser shall say so.
            self.odd.extend((self.peek(0) == Some(',')).then_some(self.at));
        } else {
            let start = self.at;
            self.skip_while(|it| is_odd(it) || (is_uri(it) && !"<>#".contains(it)));
            let tag = self.text[start..self.at].bytes().enumerate();
            self.odd.extend(tag.filter(|(_, it)| is_odd(char::from(*it))).map(|it| start + it.0));
        }
        self.is_blank_or_end(0).then_some(())
    }

    fn block_scalar(&mut self) -> Step {
        self.no_key()?;
        self.allows_key = true;
        self.skip(1);
        let mut increment = None;
        for _ in 0..2 {
            match self.peek(0) {
                Some('+' | '-') => {}
                Some(digit) if increment.is_none() && digit.is_ascii_digit() => {
                    increment = digit.to_digit(10);
                }
                _ => break,
            }
            self.skip(1);
        }
        self.skip_while(|it| !is_break(it));
        self.skip_break();
        let least = self.indent.max(-1) + 1;
        let increment = increment.map(|it| it as usize + usize::try_from(self.indent).unwrap_or(0));
        let indent =
            increment.unwrap_or_else(|| self.indentation_ahead().max(least.unsigned_abs()).max(1));
        loop {
            self.skip_blank_lines(indent)?;
            if self.column != indent || self.peek(0).is_none() {
                return Some(());
            }
            self.skip_while(|it| !is_break(it));
            self.skip_break();
        }
    }

    /// The indentation that the next lines give a block scalar: that of its first
    /// line, or of a longer line of spaces before it.
    fn indentation_ahead(&self) -> usize {
        let mut deepest = 0;
        for line in self.text[self.at..].split(is_break) {
            let spaces = line.bytes().take_while(|it| *it == b' ').count();
            deepest = deepest.max(spaces);
            if spaces < line.len() {
                break;
            }
        }
        deepest
    }

    /// To the first character at column `indent`, or before it if there is none but spaces.
    fn skip_blank_lines(&mut self, indent: usize) -> Step {
        loop {
            while self.column < indent && self.peek(0) == Some(' ') {
                self.skip(1);
            }
            if self.column < indent && self.peek(0) == Some('\t') {
                return None;
            }
            if !self.peek(0).is_some_and(is_break) {
                return Some(());
            }
            self.skip_break();
        }
    }

    fn quoted(&mut self, quote: char) -> Step {
        self.maybe_key()?;
        self.allows_key = false;
        self.skip(1);
        loop {
            if self.is_at_marker() {
                return None;
            }
            match self.peek(0)? {
                '\'' if quote == '\'' && self.peek(1) == Some('\'') => self.skip(2),
                '\\' if quote == '"' && self.peek(1).is_some_and(is_break) => {
                    self.skip(1);
                    self.skip_break();
                }
                '\\' if quote == '"' => {
                    self.backslashes.extend((self.peek(1) == Some('\'')).then_some(self.at));
                    self.skip(2);
                }
                it if it == quote => break,
                it if is_break(it) => self.skip_break(),
                _ => self.skip(1),
            }
        }
        self.skip(1);
        Some(())
    }

    fn plain(&mut self, first: char) -> Step {
        let begins = match first {
            '-' => !self.peek(1).is_some_and(is_space),
            '?' | ':' => true,
            _ => !",[]{}#&*!|>'\"%@`".contains(first) && !is_blank(first),
        };
        if !begins {
            return None;
        }
        self.maybe_key()?;
        self.allows_key = false;
        let mut begins_line = false;
        loop {
            if self.is_at_marker() || self.peek(0) == Some('#') {
                break;
            }
            while !self.is_blank_or_end(0) {
                let Some(this) = self.peek(0) else { break };
                let next = self.peek(1);
                if this == ':' && self.flow > 0 && next.is_some_and(|it| ",?[]{}".contains(it)) {
                    return None;
                }
                let ends_word = this == ':' && self.is_blank_or_end(1);
                if ends_word || (self.flow > 0 && ",[]{}".contains(this)) {
                    break;
                }
                begins_line = false;
                self.skip(1);
            }
            if !self.peek(0).is_some_and(is_blank) {
                break;
            }
            while let Some(blank) = self.peek(0).filter(|it| is_blank(*it)) {
                let is_indented = self.column.cast_signed() > self.indent;
                match blank {
                    '\t' if begins_line && !is_indented => return None,
                    ' ' | '\t' => self.skip(1),
                    _ => {
                        begins_line = true;
                        self.skip_break();
                    }
                }
            }
            if self.flow == 0 && self.column.cast_signed() <= self.indent {
                break;
            }
        }
        self.allows_key |= begins_line;
        Some(())
    }

    fn skip_to_token(&mut self) {
        loop {
            if self.column == 0 && self.peek(0) == Some('\u{feff}') {
                self.skip(1);
            }
            let may_skip_tabs = self.flow > 0 || !self.allows_key;
            self.skip_while(|it| it == ' ' || (may_skip_tabs && it == '\t'));
            if self.peek(0) == Some('#') {
                self.skip_while(|it| !is_break(it));
            }
            if !self.peek(0).is_some_and(is_break) {
                return;
            }
            self.skip_break();
            self.allows_key |= self.flow == 0;
        }
    }

    /// Remembers what begins here, in case it turns out to be a key.
    fn maybe_key(&mut self) -> Step {
        if self.flow == 0 && self.allows_key {
            self.no_key()?;
            let (at, line, column) = (self.at, self.line, self.column);
            let is_required = self.indent == column.cast_signed();
            self.key = Some(Key { at, line, column, is_required });
        }
        Some(())
    }

    /// What was remembered is no key. Keys of flow mappings have no say in anything here.
    fn no_key(&mut self) -> Step {
        if self.flow > 0 {
            return Some(());
        }
        self.key.take().is_none_or(|it| !it.is_required).then_some(())
    }

    fn forget_old_key(&mut self) -> Step {
        let is_old = |key: &Key| key.line < self.line || key.at + MAX_KEY_BYTES < self.at;
        match self.key.take_if(|key| is_old(key)) {
            Some(key) if key.is_required => None,
            _ => Some(()),
        }
    }

    /// An entry of a block collection begins here.
    fn open_block(&mut self) -> Step {
        if self.flow == 0 {
            if !self.allows_key {
                return None;
            }
            self.open_block_at(self.column);
        }
        self.no_key()
    }

    fn open_block_at(&mut self, column: usize) {
        let column = column.cast_signed();
        if self.indent < column {
            self.outer.push(self.indent);
            self.indent = column;
        }
    }

    fn close_blocks(&mut self, column: isize) {
        while self.flow == 0 && self.indent > column {
            self.indent = self.outer.pop().unwrap_or(-1);
        }
    }

    /// At the beginning or end of a document?
    fn is_at_marker(&self) -> bool {
        let rest = &self.text[self.at..];
        let is_marker = rest.starts_with("---") || rest.starts_with("...");
        self.column == 0 && is_marker && self.is_blank_or_end(3)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text[self.at..].chars().nth(ahead)
    }

    fn is_blank_or_end(&self, ahead: usize) -> bool {
        self.peek(ahead).is_none_or(is_blank)
    }

    fn skip(&mut self, count: usize) {
        for character in self.text[self.at..].chars().take(count) {
            self.at += character.len_utf8();
            self.column += 1;
        }
    }

    fn skip_while(&mut self, goes_on: impl Fn(char) -> bool) {
        while self.peek(0).is_some_and(&goes_on) {
            self.skip(1);
        }
    }

    fn skip_break(&mut self) {
        let is_pair = self.text[self.at..].starts_with("\r\n");
        if self.peek(0).is_some_and(is_break) {
            self.skip(1 + usize::from(is_pair));
            self.line += 1;
            self.column = 0;
        }
    }
}

fn is_space(it: char) -> bool {
    matches!(it, ' ' | '\t')
}

fn is_break(it: char) -> bool {
    matches!(it, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(it: char) -> bool {
    is_space(it) || is_break(it)
}

#[cfg(test)]
mod tests {
    use libyaml_safer::{Scanner, TokenData};
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(readable(text), expect);
        assert_eq!(has_odd_tag(text), expect.contains(';'));
    }

    #[test]
    fn commas_and_brackets_in_tags_are_written_otherwise() {
        check("[!t, a]", "[!t; a]");
        check("{a: !!str[], b: !x c}", "{a: !!str;;; b: !x c}");
        check("- !a,b c", "- !a;b c");
        check("a: [b, [!t,\n!u, c]]\n", "a: [b, [!t;\n!u; c]]\n");
        check("[!<x>, a]", "[!<x>; a]");
    }

    #[test]
    fn a_single_quote_may_be_escaped_in_double_quotes() {
        check(r#"a: "it\'s \\\' '\"\'""#, r#"a: "it's \\' '\"'""#);
        check(r#"{"\'": [!t, "\'"]}"#, r#"{"'": [!t; "'"]}"#);
        for text in [r"a: it\'s", r"a: 'it\'", "a: |\n  \"\\'\"\n", r#"# "\'""#] {
            check(text, text);
        }
    }

    #[test]
    fn texts_keep_their_commas() {
        for text in [
            "[a !t, b]",
            "['!t, b', \"!t, b\"]",
            "a: |\n  [!t, b]\n  f(!0,!1)\n",
            "# !t, a\n[b] # !t, c\n",
            "a: b\n  !t, c\n",
            "a: >2\n   !t, b\n",
            "a!t, b",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn a_text_ends_where_the_parser_says_so() {
        check("a: |\n  x\n!t, b", "a: |\n  x\n!t; b");
        check("- - |\n  !t, x\n", "- - |\n  !t; x\n");
        check("- |\n !t, x\n", "- |\n !t, x\n");
        check("? |\n !t, x\n: !t, y\n", "? |\n !t, x\n: !t; y\n");
    }

    /// Where tags begin to the parser, as far as it gets.
    fn tags_of_parser(text: &str) -> Vec<usize> {
        let mut scanner = Scanner::new();
        let mut input = text.as_bytes();
        scanner.set_encoding(libyaml_safer::Encoding::Utf8);
        scanner.set_input(&mut input);
        let mut tags = Vec::new();
        for token in scanner {
            match token {
                Ok(token) if matches!(token.data, TokenData::Tag { .. }) => {
                    tags.push(usize::try_from(token.start_mark.index).unwrap_or_default());
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        tags
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "!t ", "!t ", "!u\n", "!t, ", "!<x> ", "!", " !t ", "a", "b c", "key: ", "- ", "? ",
            ": ", ":", "\n", "\n  ", "\n    ", "\n   ", "\n\n", "\r\n", " ", "  ", "\t", "#",
            " # c", "|", "|2", ">-\n  ", "|\n", "|\n ", "'", "\"", "''", "\\", "[", "]", "{", "}",
            ",", ", ", "&x ", "*x ", "%", "---", "--- ", "...\n", "é", "\u{85}", "\u{2028}",
            "\u{feff}", "@",
        ]);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat() + "\n")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn tags_are_where_the_parser_sees_them(text in text()) {
            let text = readable(&text);
            let mut walk = Walk::over(&text);
            while walk.token().is_some() {}
            let seen = tags_of_parser(&text);
            prop_assert!(walk.tags.starts_with(&seen), "{:?} and {:?}", walk.tags, seen);
        }
    }
}
