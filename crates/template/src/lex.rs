//! Cuts template text into tokens, with Go's rules for delimiters, trimming and errors.
//!
//! The parser asks for one token at a time with [`Lexer::next_token`]. Text is bytes: a chart may
//! carry anything, and positions in messages count bytes.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelimiter,
    LeftParenthesis,
    Number,
    Pipe,
    RawString,
    RightDelimiter,
    RightParenthesis,
    Space,
    String,
    Text,
    Variable,
    // Keywords from here on: they print in angle brackets.
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl TokenKind {
    fn is_keyword(self) -> bool {
        self as u8 >= Self::Block as u8
    }
}

/// A piece of the input. What an error token is about is the lexer's message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    pub(crate) position: usize,
    pub(crate) bytes: &'a [u8],
}

impl Token<'_> {
    /// As Go shows a token in a message.
    pub(crate) fn describe(&self) -> String {
        use crate::strconv::quote;
        match self.kind {
            TokenKind::Eof => "EOF".into(),
            kind if kind.is_keyword() => format!("<{}>", String::from_utf8_lossy(self.bytes)),
            _ if self.bytes.len() > 10 => {
                let text = String::from_utf8_lossy(self.bytes);
                let start: String = text.chars().take(10).collect();
                format!("{}...", quote(start.as_bytes()))
            }
            _ => quote(self.bytes),
        }
    }
}

/// The delimiters of actions, `{{` and `}}` unless the caller asks for others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delimiters<'a> {
    pub(crate) left: &'a [u8],
    pub(crate) right: &'a [u8],
}

impl Default for Delimiters<'_> {
    fn default() -> Self {
        Self { left: b"{{", right: b"}}" }
    }
}

pub(crate) struct Lexer<'a> {
    input: &'a [u8],
    delimiters: Delimiters<'a>,
    position: usize,
    start: usize,
    parenthesis_depth: usize,
    inside_action: bool,
    /// Why the text is no template; nothing follows it.
    pub(crate) failure: Option<String>,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(input: &'a [u8], delimiters: Delimiters<'a>) -> Self {
        Self {
            input,
            delimiters,
            position: 0,
            start: 0,
            parenthesis_depth: 0,
            inside_action: false,
            failure: None,
        }
    }

    pub(crate) fn next_token(&mut self) -> Token<'a> {
        if self.failure.is_some() {
            return self.eof();
        }
        if self.inside_action { self.inside_action() } else { self.text() }
    }

    fn eof(&self) -> Token<'a> {
        Token { kind: TokenKind::Eof, position: self.position, bytes: b"" }
    }

    fn rest(&self) -> &'a [u8] {
        &self.input[self.position..]
    }

    fn emit(&mut self, kind: TokenKind) -> Token<'a> {
        let bytes = &self.input[self.start..self.position];
        let token = Token { kind, position: self.start, bytes };
        self.start = self.position;
        token
    }

    fn fail(&mut self, message: impl Into<String>) -> Token<'a> {
        self.failure = Some(message.into());
        Token { kind: TokenKind::Error, position: self.start, bytes: b"" }
    }

    fn skip_to(&mut self, position: usize) {
        self.position = position;
        self.start = position;
    }

    fn peek(&self) -> Option<char> {
        decode(self.rest()).map(|(c, _)| c)
    }

    fn advance(&mut self) -> Option<char> {
        let (c, width) = decode(self.rest())?;
        self.position += width;
        Some(c)
    }

    fn skip_alphanumeric(&mut self) {
        while let Some(&byte) = self.input.get(self.position) {
            match byte {
                b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => self.position += 1,
                0x80.. if self.peek().is_some_and(is_alphanumeric) => {
                    self.advance();
                }
                _ => return,
            }
        }
    }

    fn accept(&mut self, valid: &[u8]) -> bool {
        let accepted = self.rest().first().is_some_and(|byte| valid.contains(byte));
        if accepted {
            self.position += 1;
        }
        accepted
    }

    fn text(&mut self) -> Token<'a> {
        loop {
            let Some(offset) = find(self.rest(), self.delimiters.left) else {
                self.position = self.input.len();
                let kind =
                    if self.position > self.start { TokenKind::Text } else { TokenKind::Eof };
                return self.emit(kind);
            };
            let delimiter = self.position + offset;
            let after = delimiter + self.delimiters.left.len();
            let trims = has_left_trim_marker(&self.input[after..]);
            let mut end = delimiter;
            if trims {
                while end > self.start && is_space(self.input[end - 1]) {
                    end -= 1;
                }
            }
            if end > self.start {
                self.position = end;
                let token = self.emit(TokenKind::Text);
                self.skip_to(delimiter);
                return token;
            }
            self.skip_to(delimiter);
            let inner = after + if trims { 2 } else { 0 };
            if !self.input[inner..].starts_with(b"/*") {
                self.position = after;
                let token = self.emit(TokenKind::LeftDelimiter);
                self.skip_to(inner);
                self.inside_action = true;
                self.parenthesis_depth = 0;
                return token;
            }
            self.skip_to(inner);
            if let Some(error) = self.comment() {
                return error;
            }
        }
    }

    fn comment(&mut self) -> Option<Token<'a>> {
        self.position += 2;
        let Some(offset) = find(self.rest(), b"*/") else {
            return Some(self.fail("unclosed comment"));
        };
        self.position += offset + 2;
        match self.at_right_delimiter() {
            None => Some(self.fail("comment ends before closing delimiter")),
            Some(trims) => {
                self.close(trims);
                None
            }
        }
    }

    /// Whether a right delimiter is next, and if so whether it trims what follows.
    fn at_right_delimiter(&self) -> Option<bool> {
        let rest = self.rest();
        if has_right_trim_marker(rest) && rest[2..].starts_with(self.delimiters.right) {
            return Some(true);
        }
        rest.starts_with(self.delimiters.right).then_some(false)
    }

    /// Moves past the right delimiter and the space it trims.
    fn close(&mut self, trims: bool) {
        let mut position = self.position + self.delimiters.right.len() + if trims { 2 } else { 0 };
        if trims {
            while self.input.get(position).is_some_and(|byte| is_space(*byte)) {
                position += 1;
            }
        }
        self.skip_to(position);
    }

    fn right_delimiter(&mut self, trims: bool) -> Token<'a> {
        let position = self.position + if trims { 2 } else { 0 };
        let bytes = &self.input[position..position + self.delimiters.right.len()];
        self.close(trims);
        self.inside_action = false;
        Token { kind: TokenKind::RightDelimiter, position, bytes }
    }

    fn inside_action(&mut self) -> Token<'a> {
        if let Some(trims) = self.at_right_delimiter() {
            if self.parenthesis_depth == 0 {
                return self.right_delimiter(trims);
            }
            return self.fail("unclosed left paren");
        }
        let Some(c) = self.peek() else { return self.fail("unclosed action") };
        if c.is_ascii() && is_space(c as u8) {
            return self.space();
        }
        let number_start = c == '+' || c == '-' || c.is_ascii_digit();
        let number_after_dot =
            c == '.' && self.input.get(self.position + 1).is_none_or(u8::is_ascii_digit);
        if number_start || number_after_dot {
            return self.number();
        }
        if is_alphanumeric(c) {
            return self.identifier();
        }
        self.advance();
        match c {
            '=' => self.emit(TokenKind::Assign),
            ':' if self.accept(b"=") => self.emit(TokenKind::Declare),
            ':' => self.fail("expected :="),
            '|' => self.emit(TokenKind::Pipe),
            '"' => self.quoted(),
            '`' => self.raw_quoted(),
            '\'' => self.char_constant(),
            '$' => self.field_or_variable(TokenKind::Variable, TokenKind::Variable),
            '.' => self.field_or_variable(TokenKind::Field, TokenKind::Dot),
            '(' => {
                self.parenthesis_depth += 1;
                self.emit(TokenKind::LeftParenthesis)
            }
            ')' if self.parenthesis_depth == 0 => self.fail("unexpected right paren"),
            ')' => {
                self.parenthesis_depth -= 1;
                self.emit(TokenKind::RightParenthesis)
            }
            c if c.is_ascii_graphic() => self.emit(TokenKind::Char),
            c => self.fail(format!("unrecognized character in action: {}", code_point(Some(c)))),
        }
    }

    fn space(&mut self) -> Token<'a> {
        let mut count = 0;
        while self.accept(b" \t\r\n") {
            count += 1;
        }
        // The space before `-}}` belongs to the delimiter.
        let last = &self.input[self.position - 1..];
        if has_right_trim_marker(last) && last[2..].starts_with(self.delimiters.right) {
            self.position -= 1;
            if count == 1 {
                return self.right_delimiter(true);
            }
        }
        self.emit(TokenKind::Space)
    }

    fn identifier(&mut self) -> Token<'a> {
        self.skip_alphanumeric();
        if !self.at_terminator() {
            let bad = self.peek();
            return self.fail(format!("bad character {}", code_point(bad)));
        }
        let kind = match &self.input[self.start..self.position] {
            b"true" | b"false" => TokenKind::Bool,
            b"block" => TokenKind::Block,
            b"break" => TokenKind::Break,
            b"continue" => TokenKind::Continue,
            b"define" => TokenKind::Define,
            b"else" => TokenKind::Else,
            b"end" => TokenKind::End,
            b"if" => TokenKind::If,
            b"range" => TokenKind::Range,
            b"nil" => TokenKind::Nil,
            b"template" => TokenKind::Template,
            b"with" => TokenKind::With,
            _ => TokenKind::Identifier,
        };
        self.emit(kind)
    }

    fn field_or_variable(&mut self, named: TokenKind, bare: TokenKind) -> Token<'a> {
        if self.at_terminator() {
            return self.emit(bare);
        }
        self.skip_alphanumeric();
        if !self.at_terminator() {
            let bad = self.peek();
            return self.fail(format!("bad character {}", code_point(bad)));
        }
        self.emit(named)
    }

    fn at_terminator(&self) -> bool {
        match self.rest().first() {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => {
                true
            }
            Some(_) => self.rest().starts_with(self.delimiters.right),
        }
    }

    fn char_constant(&mut self) -> Token<'a> {
        if self.scan_to_quote(b'\'') {
            self.emit(TokenKind::CharConstant)
        } else {
            self.fail("unterminated character constant")
        }
    }

    fn quoted(&mut self) -> Token<'a> {
        if self.scan_to_quote(b'"') {
            self.emit(TokenKind::String)
        } else {
            self.fail("unterminated quoted string")
        }
    }

    fn scan_to_quote(&mut self, quote: u8) -> bool {
        while let Some(&byte) = self.rest().first() {
            self.position += 1;
            match byte {
                b'\\' => match self.rest().first() {
                    None | Some(b'\n') => return false,
                    Some(_) => self.position += 1,
                },
                b'\n' => return false,
                byte if byte == quote => return true,
                _ => {}
            }
        }
        false
    }

    fn raw_quoted(&mut self) -> Token<'a> {
        match self.rest().iter().position(|byte| *byte == b'`') {
            Some(offset) => {
                self.position += offset + 1;
                self.emit(TokenKind::RawString)
            }
            None => self.fail("unterminated raw quoted string"),
        }
    }

    fn number(&mut self) -> Token<'a> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.rest().first(), Some(b'+' | b'-')) {
            if !self.scan_number() || self.input[self.position - 1] != b'i' {
                return self.bad_number();
            }
            return self.emit(TokenKind::Complex);
        }
        self.emit(TokenKind::Number)
    }

    fn bad_number(&mut self) -> Token<'a> {
        let text = crate::strconv::quote(&self.input[self.start..self.position]);
        self.fail(format!("bad number syntax: {text}"))
    }

    fn scan_number(&mut self) -> bool {
        const DECIMAL: &[u8] = b"0123456789_";
        const HEXADECIMAL: &[u8] = b"0123456789abcdefABCDEF_";
        let mut digits = DECIMAL;
        self.accept(b"+-");
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = HEXADECIMAL;
            } else if self.accept(b"oO") {
                digits = b"01234567_";
            } else if self.accept(b"bB") {
                digits = b"01_";
            }
        }
        while self.accept(digits) {}
        if self.accept(b".") {
            while self.accept(digits) {}
        }
        let exponent: &[u8] = match digits.len() {
            11 => b"eE",
            23 => b"pP",
            _ => b"",
        };
        if self.accept(exponent) {
            self.accept(b"+-");
            while self.accept(DECIMAL) {}
        }
        self.accept(b"i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.advance();
            return false;
        }
        true
    }
}

/// The first character and its width; U+FFFD of width one for a byte that is not UTF-8.
pub(crate) fn decode(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((first as char, 1));
    }
    let window = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(window) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&window[..error.valid_up_to()]).unwrap_or_default(),
    };
    Some(valid.chars().next().map_or(('\u{fffd}', 1), |c| (c, c.len_utf8())))
}

fn code_point(c: Option<char>) -> String {
    match c {
        // Go's -1 for the end of input.
        None => "U+FFFFFFFFFFFFFFFF".into(),
        Some(c) if crate::strconv::is_printable(c) => format!("U+{:04X} '{c}'", c as u32),
        Some(c) => format!("U+{:04X}", c as u32),
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    while let Some(offset) = haystack[from..].iter().position(|byte| *byte == first) {
        if haystack[from + offset..].starts_with(needle) {
            return Some(from + offset);
        }
        from += offset + 1;
    }
    None
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_alphanumeric(c: char) -> bool {
    c == '_'
        || c.is_alphabetic()
        || (if c.is_ascii() { c.is_ascii_digit() } else { c.is_numeric() })
}

fn has_left_trim_marker(bytes: &[u8]) -> bool {
    matches!(bytes, [b'-', space, ..] if is_space(*space))
}

fn has_right_trim_marker(bytes: &[u8]) -> bool {
    matches!(bytes, [space, b'-', ..] if is_space(*space))
}
