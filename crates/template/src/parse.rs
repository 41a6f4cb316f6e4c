//! Turns tokens into trees, with Go's grammar and Go's complaints.
//!
//! [`parse`] is the entry. It returns every template the text defines, the text's own body among
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ast::{
    Action, Branch, Chain, Command, Identifier, Names, Node, NodeList, Number, Operand, Pipe,
    Slice, Source, StringConstant, TemplateCall, Term, Tree, narrow,
};
use crate::error::Error;
use crate::lex::{Delimiters, Lexer, Token, TokenKind};
use crate::stack::StackBase;
use crate::strconv::{
    char_of_beginning, parse_float, parse_int_any_base, parse_uint_any_base, quote, unquote,
    unquote_char,
};
use crate::value::Text;

/// Nesting that takes more stack than this is refused. Go allows 10,000 parentheses and any number of
/// blocks; no template written by a person comes near either.
const MAX_STACK: usize = 512 << 10;

/// The templates of one text by name.
pub(crate) type TreeSet = BTreeMap<Arc<str>, Tree>;

/// Parses `text` as the template `name`. `slot_of` says which functions exist, and where they are.
pub(crate) fn parse(
    name: &str,
    text: &Text,
    delimiters: Delimiters<'_>,
    slot_of: &dyn Fn(&str) -> Option<usize>,
) -> Result<TreeSet, Error> {
    if u32::try_from(text.len()).is_err() {
        return Err(Error::parse(format!("template: {name}: the text is too long")));
    }
    let source = Arc::new(Source { name: Arc::from(name), text: text.clone() });
    let mut parser = Parser {
        lexer: Lexer::new(text.as_bytes(), delimiters),
        pushed_back: Vec::new(),
        latest: 0,
        source,
        slot_of,
        names: BTreeSet::new(),
        variables: vec![Arc::from("$")],
        trees: TreeSet::new(),
        action_position: None,
        range_depth: 0,
        base: StackBase::here(),
    };
    parser.file()?;
    Ok(parser.trees)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    pushed_back: Vec<Token<'a>>,
    /// Position of the token lexed last: Go's messages carry its line.
    latest: usize,
    source: Arc<Source>,
    slot_of: &'a dyn Fn(&str) -> Option<usize>,
    /// The names met so far: most come again and again.
    names: BTreeSet<Arc<str>>,
    variables: Vec<Arc<str>>,
    trees: TreeSet,
    action_position: Option<usize>,
    range_depth: usize,
    base: StackBase,
}

/// What ended a list of nodes.
enum Ending {
    End,
    Else(ElseKind),
}

#[derive(Clone, Copy, PartialEq)]
enum ElseKind {
    Plain,
    If,
    With,
}

enum Parsed {
    Node(Node),
    Ending(Ending),
}

impl Ending {
    fn describe(&self) -> &'static str {
        match self {
            Self::End => "{{end}}",
            Self::Else(_) => "{{else}}",
        }
    }
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Token<'a> {
        self.pushed_back.pop().unwrap_or_else(|| {
            let token = self.lexer.next_token();
            self.latest = token.position;
            token
        })
    }

    fn push_back(&mut self, token: Token<'a>) {
        self.pushed_back.push(token);
    }

    fn peek(&mut self) -> Token<'a> {
        match self.pushed_back.last() {
            Some(token) => *token,
            None => {
                let token = self.next();
                self.push_back(token);
                token
            }
        }
    }

    /// The name, shared with everyone who has it.
    fn name(&mut self, bytes: &[u8]) -> Arc<str> {
        let name = String::from_utf8_lossy(bytes);
        match self.names.get(name.as_ref()) {
            Some(known) => Arc::clone(known),
            None => {
                let name: Arc<str> = Arc::from(name.as_ref());
                self.names.insert(Arc::clone(&name));
                name
            }
        }
    }

    fn slice(&self, token: &Token<'_>) -> Slice {
        Slice::new(&self.source, token.position, token.bytes.len())
    }

    fn next_non_space(&mut self) -> Token<'a> {
        loop {
            let token = self.next();
            if token.kind != TokenKind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Token<'a> {
        let token = self.next_non_space();
        self.push_back(token);
        token
    }

    fn error(&self, message: impl std::fmt::Display) -> Error {
        let line = self.source.line(self.latest);
        Error::parse(format!("template: {}:{line}: {message}", self.source.name))
    }

    fn unexpected(&self, token: &Token<'_>, context: &str) -> Error {
        if token.kind != TokenKind::Error {
            return self.error(format_args!("unexpected {} in {context}", token.describe()));
        }
        let message = self.lexer.failure.as_deref().unwrap_or_default();
        let token_line = self.source.line(token.position);
        let mut extra = String::new();
        if let Some(action) = self.action_position {
            let line = self.source.line(action);
            if line != token_line {
                let noun = if message.ends_with(" action") { "" } else { " in action" };
                extra = format!("{noun} started at {}:{line}", self.source.name);
            }
        }
        self.error(format_args!("{message}{extra}"))
    }

    fn expect(&mut self, kind: TokenKind, context: &str) -> Result<Token<'a>, Error> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(&token, context)) }
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.base.is_exceeded(MAX_STACK) {
            return Err(self.error("max expression depth exceeded"));
        }
        inner(self)
    }

    fn file(&mut self) -> Result<(), Error> {
        let mut nodes = Vec::new();
        while self.peek().kind != TokenKind::Eof {
            if self.peek().kind == TokenKind::LeftDelimiter {
                let delimiter = self.next();
                let word = self.next_non_space();
                if word.kind == TokenKind::Define {
                    self.definition()?;
                    continue;
                }
                self.push_back(word);
                self.push_back(delimiter);
            }
            match self.text_or_action()? {
                Parsed::Node(node) => nodes.push(node),
                Parsed::Ending(ending) => {
                    return Err(self.error(format_args!("unexpected {}", ending.describe())));
                }
            }
        }
        let name = Arc::clone(&self.source.name);
        self.add(name, NodeList { nodes: nodes.into() })
    }

    fn add(&mut self, name: Arc<str>, root: NodeList) -> Result<(), Error> {
        let tree = Tree { name: Arc::clone(&name), source: Arc::clone(&self.source), root };
        match self.trees.get(&name) {
            Some(old) if !old.is_empty() => {
                if !tree.is_empty() {
                    let name = quote(name.as_bytes());
                    return Err(self
                        .error(format_args!("template: multiple definition of template {name}")));
                }
            }
            _ => {
                self.trees.insert(name, tree);
            }
        }
        Ok(())
    }

    fn definition(&mut self) -> Result<(), Error> {
        const CONTEXT: &str = "define clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        self.expect(TokenKind::RightDelimiter, CONTEXT)?;
        let root = self.separate_body(CONTEXT)?;
        self.add(name, root)
    }

    /// The body of a `define` or `block`: it sees no variables from outside.
    fn separate_body(&mut self, context: &str) -> Result<NodeList, Error> {
        let variables = std::mem::replace(&mut self.variables, vec![Arc::from("$")]);
        let range_depth = std::mem::take(&mut self.range_depth);
        let action_position = self.action_position.take();
        let (list, ending) = self.deeper(Self::item_list)?;
        if let Ending::Else(_) = ending {
            return Err(self.error(format_args!("unexpected {} in {context}", ending.describe())));
        }
        self.variables = variables;
        self.range_depth = range_depth;
        self.action_position = action_position;
        Ok(list)
    }

    fn item_list(&mut self) -> Result<(NodeList, Ending), Error> {
        let mut nodes = Vec::new();
        while self.peek_non_space().kind != TokenKind::Eof {
            match self.text_or_action()? {
                Parsed::Node(node) => nodes.push(node),
                Parsed::Ending(ending) => {
                    return Ok((NodeList { nodes: nodes.into() }, ending));
                }
            }
        }
        Err(self.error("unexpected EOF"))
    }

    fn text_or_action(&mut self) -> Result<Parsed, Error> {
        let token = self.next_non_space();
        match token.kind {
            TokenKind::Text => Ok(Parsed::Node(Node::Text(self.slice(&token)))),
            TokenKind::LeftDelimiter => {
                self.action_position = Some(token.position);
                let parsed = self.action();
                if parsed.is_ok() {
                    self.action_position = None;
                }
                parsed
            }
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    fn action(&mut self) -> Result<Parsed, Error> {
        let token = self.next_non_space();
        let node = match token.kind {
            TokenKind::Block => self.block()?,
            TokenKind::Break => self.loop_control(Node::Break, "{{break}}")?,
            TokenKind::Continue => self.loop_control(Node::Continue, "{{continue}}")?,
            TokenKind::Else => return self.else_ending(),
            TokenKind::End => {
                self.expect(TokenKind::RightDelimiter, "end")?;
                return Ok(Parsed::Ending(Ending::End));
            }
            TokenKind::If => Node::If(Box::new(self.branch("if")?)),
            TokenKind::Range => Node::Range(Box::new(self.branch("range")?)),
            TokenKind::With => Node::With(Box::new(self.branch("with")?)),
            TokenKind::Template => self.template_call()?,
            _ => {
                let position = narrow(token.position);
                self.push_back(token);
                let pipe = self.pipeline("command", TokenKind::RightDelimiter)?;
                Node::Action(Action { position, pipe })
            }
        };
        Ok(Parsed::Node(node))
    }

    fn loop_control(&mut self, node: Node, what: &str) -> Result<Node, Error> {
        let token = self.next_non_space();
        if token.kind != TokenKind::RightDelimiter {
            return Err(self.unexpected(&token, what));
        }
        if self.range_depth == 0 {
            return Err(self.error(format_args!("{what} outside {{{{range}}}}")));
        }
        Ok(node)
    }

    fn else_ending(&mut self) -> Result<Parsed, Error> {
        let kind = match self.peek_non_space().kind {
            TokenKind::If => ElseKind::If,
            TokenKind::With => ElseKind::With,
            _ => {
                self.expect(TokenKind::RightDelimiter, "else")?;
                ElseKind::Plain
            }
        };
        Ok(Parsed::Ending(Ending::Else(kind)))
    }

    fn branch(&mut self, keyword: &'static str) -> Result<Branch, Error> {
        self.deeper(|parser| parser.branch_body(keyword))
    }

    fn branch_body(&mut self, keyword: &'static str) -> Result<Branch, Error> {
        let variable_mark = self.variables.len();
        let pipe = self.pipeline(keyword, TokenKind::RightDelimiter)?;
        let is_range = keyword == "range";
        self.range_depth += usize::from(is_range);
        let (list, ending) = self.item_list()?;
        self.range_depth -= usize::from(is_range);
        let else_list = match ending {
            Ending::End => None,
            // `{{else if}}` is `{{else}}{{if}}` whose two ends are one.
            Ending::Else(ElseKind::If) if keyword == "if" => {
                self.next();
                Some(NodeList { nodes: Box::new([Node::If(Box::new(self.branch("if")?))]) })
            }
            Ending::Else(ElseKind::With) if keyword == "with" => {
                self.next();
                Some(NodeList { nodes: Box::new([Node::With(Box::new(self.branch("with")?))]) })
            }
            Ending::Else(_) => {
                let (else_list, ending) = self.item_list()?;
                if !matches!(ending, Ending::End) {
                    return Err(
                        self.error(format_args!("expected end; found {}", ending.describe()))
                    );
                }
                Some(else_list)
            }
        };
        self.variables.truncate(variable_mark);
        Ok(Branch { keyword, position: pipe.position, pipe, list, else_list })
    }

    fn block(&mut self) -> Result<Node, Error> {
        const CONTEXT: &str = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, TokenKind::RightDelimiter)?;
        let root = self.separate_body(CONTEXT)?;
        self.add(Arc::clone(&name), root)?;
        let position = narrow(token.position);
        Ok(Node::Template(Box::new(TemplateCall { position, name, pipe: Some(pipe) })))
    }

    fn template_call(&mut self) -> Result<Node, Error> {
        const CONTEXT: &str = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let after = self.next_non_space();
        let pipe = if after.kind == TokenKind::RightDelimiter {
            None
        } else {
            self.push_back(after);
            Some(self.pipeline(CONTEXT, TokenKind::RightDelimiter)?)
        };
        let position = narrow(token.position);
        Ok(Node::Template(Box::new(TemplateCall { position, name, pipe })))
    }

    fn template_name(&mut self, token: &Token<'_>, context: &str) -> Result<Arc<str>, Error> {
        match token.kind {
            TokenKind::String | TokenKind::RawString => {
                let bytes = unquote(token.bytes).ok_or_else(|| self.error("invalid syntax"))?;
                Ok(Arc::from(String::from_utf8_lossy(&bytes).as_ref()))
            }
            _ => Err(self.unexpected(token, context)),
        }
    }

    fn pipeline(&mut self, context: &str, end: TokenKind) -> Result<Pipe, Error> {
        let position = narrow(self.peek_non_space().position);
        let (declared, is_assignment) = self.declarations(context)?;
        let mut commands = Vec::new();
        loop {
            let token = self.next_non_space();
            match token.kind {
                kind if kind == end => {
                    self.check_pipeline(&commands, context)?;
                    let (declared, commands) = (declared.into(), commands.into());
                    return Ok(Pipe { position, is_assignment, declared, commands });
                }
                TokenKind::Bool
                | TokenKind::CharConstant
                | TokenKind::Complex
                | TokenKind::Dot
                | TokenKind::Field
                | TokenKind::Identifier
                | TokenKind::Number
                | TokenKind::Nil
                | TokenKind::RawString
                | TokenKind::String
                | TokenKind::Variable
                | TokenKind::LeftParenthesis => {
                    self.push_back(token);
                    commands.push(self.command()?);
                }
                _ => return Err(self.unexpected(&token, context)),
            }
        }
    }

    /// The variables a pipeline sets, and whether they were there before.
    fn declarations(&mut self, context: &str) -> Result<(Vec<Arc<str>>, bool), Error> {
        let mut declared = Vec::new();
        loop {
            if self.peek_non_space().kind != TokenKind::Variable {
                return Ok((declared, false));
            }
            let variable = self.next_non_space();
            let after = self.next();
            let next = if after.kind == TokenKind::Space { self.next_non_space() } else { after };
            match next.kind {
                TokenKind::Assign | TokenKind::Declare => {
                    let name = self.name(variable.bytes);
                    declared.push(Arc::clone(&name));
                    self.variables.push(name);
                    return Ok((declared, next.kind == TokenKind::Assign));
                }
                TokenKind::Char if next.bytes == b"," => {
                    let name = self.name(variable.bytes);
                    declared.push(Arc::clone(&name));
                    self.variables.push(name);
                    if context != "range" || declared.len() >= 2 {
                        return Err(self.error(format_args!("too many declarations in {context}")));
                    }
                    match self.peek_non_space().kind {
                        TokenKind::Variable
                        | TokenKind::RightDelimiter
                        | TokenKind::RightParenthesis => {}
                        _ => return Err(self.error("range can only initialize variables")),
                    }
                }
                _ => {
                    self.push_back(next);
                    if after.kind == TokenKind::Space {
                        self.push_back(after);
                    }
                    self.push_back(variable);
                    return Ok((declared, false));
                }
            }
        }
    }

    fn check_pipeline(&self, commands: &[Command], context: &str) -> Result<(), Error> {
        if commands.is_empty() {
            return Err(self.error(format_args!("missing value for {context}")));
        }
        for (index, command) in commands.iter().enumerate().skip(1) {
            let constant = matches!(
                command.operands[0].term,
                Term::Bool(_) | Term::Dot | Term::Nil | Term::Number(_) | Term::String(_)
            );
            if constant {
                return Err(self.error(format_args!(
                    "non executable command in pipeline stage {}",
                    index + 1
                )));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command, Error> {
        let position = narrow(self.peek_non_space().position);
        let mut operands = Vec::new();
        loop {
            self.peek_non_space();
            if let Some(operand) = self.operand()? {
                operands.push(operand);
            }
            let token = self.next();
            match token.kind {
                TokenKind::Space => continue,
                TokenKind::RightDelimiter | TokenKind::RightParenthesis => self.push_back(token),
                TokenKind::Pipe => {}
                _ => return Err(self.unexpected(&token, "operand")),
            }
            break;
        }
        if operands.is_empty() {
            return Err(self.error("empty command"));
        }
        Ok(Command { position, operands: operands.into() })
    }

    fn operand(&mut self) -> Result<Option<Operand>, Error> {
        let Some(operand) = self.term()? else { return Ok(None) };
        if self.peek().kind != TokenKind::Field {
            return Ok(Some(operand));
        }
        let position = narrow(self.peek().position);
        let mut chained = Vec::new();
        while self.peek().kind == TokenKind::Field {
            let token = self.next();
            chained.push(self.name(&token.bytes[1..]));
        }
        let with = |names: Names| names.into_iter().chain(chained.iter().cloned()).collect();
        let term = match operand.term {
            Term::Field(names) => Term::Field(with(names)),
            Term::Variable(names) => Term::Variable(with(names)),
            Term::Bool(_) | Term::String(_) | Term::Number(_) | Term::Nil | Term::Dot => {
                let shown = quote(operand.to_string().as_bytes());
                return Err(self.error(format_args!("unexpected . after term {shown}")));
            }
            _ => Term::Chain(Box::new(Chain { base: operand, fields: chained.into() })),
        };
        Ok(Some(Operand { position, term }))
    }

    fn term(&mut self) -> Result<Option<Operand>, Error> {
        let token = self.next_non_space();
        let text = || String::from_utf8_lossy(token.bytes);
        let term = match token.kind {
            TokenKind::Identifier => {
                let Some(slot) = (self.slot_of)(&text()) else {
                    let name = quote(text().as_bytes());
                    return Err(self.error(format_args!("function {name} not defined")));
                };
                Term::Identifier(Identifier { name: self.name(token.bytes), slot: narrow(slot) })
            }
            TokenKind::Dot => Term::Dot,
            TokenKind::Nil => Term::Nil,
            TokenKind::Variable => {
                let name = self.name(token.bytes);
                if !self.variables.contains(&name) {
                    let name = quote(name.as_bytes());
                    return Err(self.error(format_args!("undefined variable {name}")));
                }
                Term::Variable(Box::new([name]))
            }
            TokenKind::Field => Term::Field(Box::new([self.name(&token.bytes[1..])])),
            TokenKind::Bool => Term::Bool(token.bytes == b"true"),
            TokenKind::CharConstant | TokenKind::Complex | TokenKind::Number => {
                Term::Number(Box::new(number(&token).map_err(|message| self.error(message))?))
            }
            TokenKind::LeftParenthesis => {
                let pipe = self.deeper(|parser| {
                    parser.pipeline("parenthesized pipeline", TokenKind::RightParenthesis)
                })?;
                let position = pipe.position;
                return Ok(Some(Operand { position, term: Term::Pipe(Box::new(pipe)) }));
            }
            TokenKind::String | TokenKind::RawString => {
                let bytes = unquote(token.bytes).ok_or_else(|| self.error("invalid syntax"))?;
                let quoted = self.slice(&token);
                Term::String(Box::new(StringConstant { quoted, text: Text::from(bytes) }))
            }
            _ => {
                self.push_back(token);
                return Ok(None);
            }
        };
        Ok(Some(Operand { position: narrow(token.position), term }))
    }
}

fn number(token: &Token<'_>) -> Result<Number, String> {
    let text = String::from_utf8_lossy(token.bytes).into_owned();
    if token.kind == TokenKind::CharConstant {
        let Some(code) = unquote_char(token.bytes) else {
            // Only what has a readable beginning is named.
            let is_readable = char_of_beginning(token.bytes).is_some();
            return Err(match is_readable {
                true => format!("malformed character constant: {text}"),
                false => "invalid syntax".to_owned(),
            });
        };
        let (int, float) = (i64::from(code), f64::from(code));
        return Ok(Number { text, int: Some(int), float: Some(float) });
    }
    if text.ends_with('i') {
        return Err(format!("complex numbers are not supported: {}", quote(text.as_bytes())));
    }
    let int = parse_int_any_base(&text);
    if let Some(int) = int {
        return Ok(Number { text, int: Some(int), float: Some(int as f64) });
    }
    if let Some(uint) = parse_uint_any_base(&text) {
        return Ok(Number { text, int: None, float: Some(uint as f64) });
    }
    let Some(float) = parse_float(&text.replace('_', "")) else {
        return Err(format!("illegal number syntax: {}", quote(text.as_bytes())));
    };
    if !text.contains(['.', 'e', 'E', 'p', 'P']) {
        return Err(format!("integer overflow: {}", quote(text.as_bytes())));
    }
    let whole = float.fract() == 0.0;
    Ok(Number {
        text,
        int: (whole && float.abs() < 9.2e18).then_some(float as i64),
        float: Some(float),
    })
}
