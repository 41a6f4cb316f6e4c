//! Upper, lower and title case; camel, snake and kebab case.
//!
//! Go maps one character to one character, so `ß` has no upper case here.

pub(super) fn upper(text: &str) -> String {
    text.chars().map(to_upper).collect()
}

pub(super) fn lower(text: &str) -> String {
    text.chars().map(to_lower).collect()
}

fn to_upper(c: char) -> char {
    let mut mapped = c.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        _ => with_iota(c),
    }
}

/// Greek letters with an iota below have a capital of their own beside the two letters that Rust
/// makes of them.
fn with_iota(c: char) -> char {
    let capital = match c as u32 {
        code @ (0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7) => code + 8,
        code @ (0x1fb3 | 0x1fc3 | 0x1ff3) => code + 9,
        code => code,
    };
    char::from_u32(capital).unwrap_or(c)
}

/// The first letter of a word: `ǆ` becomes `ǅ`, and Georgian words have no capitals.
fn to_title(c: char) -> char {
    match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => c,
        c => to_upper(c),
    }
}

fn is_title(c: char) -> bool {
    matches!(
        c,
        '\u{1c5}' | '\u{1c8}' | '\u{1cb}' | '\u{1f2}'
        | '\u{1f88}'..='\u{1f8f}' | '\u{1f98}'..='\u{1f9f}' | '\u{1fa8}'..='\u{1faf}'
        | '\u{1fbc}' | '\u{1fcc}' | '\u{1ffc}'
    )
}

fn to_lower(c: char) -> char {
    let mut mapped = c.to_lowercase();
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        (Some(first), Some(_)) => first,
        _ => c,
    }
}

/// Capitalises the first letter of every word.
pub(super) fn title(text: &str) -> String {
    let mut previous = ' ';
    text.chars()
        .map(|c| {
            let mapped = if is_separator(previous) { to_title(c) } else { c };
            previous = c;
            mapped
        })
        .collect()
}

fn is_separator(c: char) -> bool {
    if c.is_ascii() {
        return !(c.is_ascii_alphanumeric() || c == '_');
    }
    !(c.is_alphabetic() || c.is_numeric()) && c.is_whitespace()
}

pub(super) fn untitle(text: &str) -> String {
    let mut after_space = true;
    text.chars()
        .map(|c| {
            if c.is_whitespace() {
                after_space = true;
                c
            } else if std::mem::take(&mut after_space) {
                to_lower(c)
            } else {
                c
            }
        })
        .collect()
}

pub(super) fn swap(text: &str) -> String {
    let mut after_space = true;
    text.chars()
        .map(|c| {
            let starts_word = std::mem::replace(&mut after_space, c.is_whitespace());
            if c.is_uppercase() || is_title(c) {
                to_lower(c)
            } else if c.is_lowercase() {
                if starts_word { to_title(c) } else { to_upper(c) }
            } else {
                c
            }
        })
        .collect()
}

/// A letter that words are made of; ideographs are words by themselves.
fn is_letter(c: char) -> bool {
    let is_ideograph = matches!(
        c,
        '\u{3400}'..='\u{4db5}' | '\u{4e00}'..='\u{9fcc}' | '\u{20000}'..='\u{2a6d6}'
        | '\u{2a700}'..='\u{2b734}' | '\u{2b740}'..='\u{2b81d}'
    );
    c.is_alphabetic() && !is_ideograph
}

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || c.is_whitespace()
}

/// `PascalCase`: connectors go, the letter after them is upper, runs of capitals become one word.
pub(super) fn pascal(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let leading = letters.iter().take_while(|c| is_connector(**c)).count();
    let mut out: String = letters[..leading].iter().collect();
    let Some(first) = letters.get(leading) else {
        // Nothing but connectors: the last one once more.
        out.extend(letters.last());
        return out;
    };
    let mut in_capitals = first.is_uppercase();
    let mut current = to_upper(*first);
    for next in &letters[leading + 1..] {
        let previous = current;
        current = *next;
        match (is_connector(previous), is_connector(current)) {
            (true, true) => out.push(previous),
            (true, false) => {
                in_capitals = current.is_uppercase();
                current = to_upper(current);
            }
            (false, _) => {
                if in_capitals {
                    if current.is_uppercase() {
                        current = to_lower(current);
                    } else {
                        in_capitals = false;
                    }
                }
                out.push(previous);
            }
        }
    }
    out.push(current);
    out
}

#[derive(Clone, Copy, PartialEq)]
enum Word {
    End,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

/// Words in lower case with a connector between them: `snake_case` and `kebab-case`.
pub(super) fn connected(text: &str, connector: char) -> String {
    let mut out = String::new();
    let mut words = Words { rest: text };
    let (mut kind, mut word) = words.next();
    while !words.rest.is_empty() {
        if kind != Word::Connector {
            push_lower(&mut out, kind, word, connector);
        }
        let (before, before_word) = (kind, word);
        (kind, word) = words.next();
        match before {
            Word::Number => {
                while matches!(kind, Word::Alphabet | Word::Number) {
                    push_lower(&mut out, kind, word, connector);
                    (kind, word) = words.next();
                }
                if !matches!(kind, Word::End | Word::Punctuation | Word::Connector) {
                    out.push(connector);
                }
            }
            Word::Connector => push_lower(&mut out, before, before_word, connector),
            Word::Punctuation => {}
            _ if kind != Word::Number => {
                if !matches!(kind, Word::Connector | Word::Punctuation) {
                    out.push(connector);
                }
            }
            _ if words.rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word) = words.next();
                if kind != Word::Alphabet {
                    // A number ends the word before it: `Bld4Floor` is `bld4_floor`.
                    push_lower(&mut out, Word::Number, number, connector);
                    if !matches!(kind, Word::Connector | Word::Punctuation) {
                        out.push(connector);
                    }
                    continue;
                }
                // Small letters after a number belong to it: `HTTP2xx` is `http_2xx`.
                out.push(connector);
                push_lower(&mut out, Word::Number, number, connector);
                while matches!(kind, Word::Alphabet | Word::Number) {
                    push_lower(&mut out, kind, word, connector);
                    (kind, word) = words.next();
                }
                if !matches!(kind, Word::End | Word::Connector | Word::Punctuation) {
                    out.push(connector);
                }
            }
        }
    }
    push_lower(&mut out, kind, word, connector);
    out
}

fn push_lower(out: &mut String, kind: Word, word: &str, connector: char) {
    match kind {
        Word::Upper => out.extend(word.chars().map(to_lower)),
        Word::Connector => out.extend(word.chars().map(|_| connector)),
        _ => out.push_str(word),
    }
}

struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> (Word, &'a str) {
        let Some(first) = self.rest.chars().next() else { return (Word::End, "") };
        let is_punctuation = |c: char| {
            if c.is_ascii() {
                c.is_ascii_punctuation() && !"$+<=>^`|~".contains(c)
            } else {
                !c.is_alphanumeric()
                    && !c.is_whitespace()
                    && matches!(c, '\u{2010}'..='\u{2027}' | '\u{3001}'..='\u{3003}' | '¡' | '§' | '«' | '¶' | '·' | '»' | '¿')
            }
        };
        let (kind, end) = if is_connector(first) {
            (Word::Connector, self.run(is_connector))
        } else if is_punctuation(first) {
            (Word::Punctuation, self.run(is_punctuation))
        } else if first.is_uppercase() {
            (Word::Upper, self.capitalised())
        } else if is_letter(first) {
            (Word::Alphabet, self.run(|c| is_letter(c) && !c.is_uppercase()))
        } else if first.is_numeric() {
            (Word::Number, self.run(char::is_numeric))
        } else {
            let other =
                |c: char| !(is_connector(c) || is_letter(c) || c.is_numeric() || is_punctuation(c));
            (Word::Other, self.run(other))
        };
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (kind, word)
    }

    /// Where the run of characters that started here ends.
    fn run(&self, belongs: impl Fn(char) -> bool) -> usize {
        let mut indices = self.rest.char_indices().skip(1);
        indices.find(|(_, c)| !belongs(*c)).map_or(self.rest.len(), |(index, _)| index)
    }

    /// `Status` whole, of `HTTPStatus` only `HTTP`.
    fn capitalised(&self) -> usize {
        let capitals = self.run(char::is_uppercase);
        let after = self.rest[capitals..].chars().next();
        let count = self.rest[..capitals].chars().count();
        match after {
            Some(c) if is_letter(c) && count == 1 => {
                self.run(|c| is_letter(c) && !c.is_uppercase())
            }
            Some(c) if is_letter(c) => {
                let last = self.rest[..capitals].chars().next_back().map_or(0, char::len_utf8);
                capitals - last
            }
            _ => capitals,
        }
    }
}
