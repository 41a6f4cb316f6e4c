//! From the text of a condition to what it says.

use serde_json::Value;

/// No condition is nested deeper.
const DEPTH_LIMIT: usize = 50;

/// What a condition says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Constant(Value),
    /// One of the objects that a condition is about.
    Object(String),
    /// `#`: the member that a condition about members is asked for.
    Member,
    List(Vec<Self>),
    Field {
        of: Box<Self>,
        name: Box<Self>,
        is_optional: bool,
    },
    Part {
        of: Box<Self>,
        from: Option<Box<Self>>,
        to: Option<Box<Self>>,
    },
    /// Nil as a whole where an optional field in it has nothing to be looked for in.
    Chain(Box<Self>),
    Not(Box<Self>),
    Negative(Box<Self>),
    Both {
        how: &'static str,
        one: Box<Self>,
        other: Box<Self>,
    },
    Choice {
        condition: Box<Self>,
        yes: Box<Self>,
        no: Box<Self>,
    },
    Call {
        function: String,
        arguments: Vec<Self>,
    },
}

/// What stands between two expressions, and how tightly it binds.
const BETWEEN: &[(&str, u8)] = &[
    ("||", 10),
    ("or", 10),
    ("&&", 15),
    ("and", 15),
    ("==", 20),
    ("!=", 20),
    ("<=", 20),
    (">=", 20),
    ("<", 20),
    (">", 20),
    ("in", 20),
    ("contains", 20),
    ("startsWith", 20),
    ("endsWith", 20),
    ("matches", 20),
    ("+", 30),
    ("-", 30),
    ("*", 60),
    ("/", 60),
    ("%", 60),
    ("??", 200),
];
const OF_NOT: u8 = 50;
const OF_MINUS: u8 = 90;

/// Reads a whole condition.
///
/// # Errors
/// What cannot be understood.
pub(super) fn read(condition: &str) -> Result<Expression, String> {
    let mut reader = Reader { tokens: tokens(condition)?, next: 0, depth: 0 };
    let expression = reader.expression()?;
    match reader.peek() {
        Some(extra) => Err(format!("unexpected {extra:?}")),
        None => Ok(expression),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(f64),
    Sign(&'static str),
}

const SIGNS: [&str; 28] = [
    "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "<", ">", "!", "(", ")", "[", "]", ".", ",",
    "+", "-", "?", ":", "|", "#", "*", "/", "%", "{", "}",
];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if first == '"' || first == '\'' {
            quoted(rest, first)?
        } else if first.is_ascii_digit() {
            let length =
                rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len());
            let number = rest[..length]
                .parse()
                .map_err(|_| format!("{:?} is no number", &rest[..length]))?;
            (Token::Number(number), length)
        } else if first.is_alphabetic() || first == '_' || first == '$' {
            let is_part = |it: char| it.is_alphanumeric() || it == '_' || it == '$';
            let length = rest.find(|it: char| !is_part(it)).unwrap_or(rest.len());
            (Token::Name(rest[..length].to_owned()), length)
        } else {
            let sign = SIGNS.iter().find(|it| rest.starts_with(**it));
            let sign = sign.ok_or_else(|| format!("unexpected {first:?}"))?;
            (Token::Sign(sign), sign.len())
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn quoted(text: &str, quote: char) -> Result<(Token, usize), String> {
    let mut value = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((place, letter)) = letters.next() {
        match letter {
            _ if letter == quote => return Ok((Token::Text(value), place + 1)),
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other)) => value.push(other),
                None => break,
            },
            other => value.push(other),
        }
    }
    Err("a text has no end".into())
}

struct Reader {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(it)) if *it == sign)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.next += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Name(it)) if it == word);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.take_sign(sign) { Ok(()) } else { Err(format!("{sign:?} is missing")) }
    }

    fn name(&mut self, of: &str) -> Result<String, String> {
        let Some(Token::Name(name)) = self.peek().cloned() else {
            return Err(format!("a {of} has no name"));
        };
        self.next += 1;
        Ok(name)
    }

    /// Every way down goes through here, so that nothing is nested too deeply.
    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err("the condition is nested too deeply".into());
        }
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn expression(&mut self) -> Result<Expression, String> {
        self.deeper(|it| {
            let condition = it.binary(0)?;
            if !it.take_sign("?") {
                return Ok(condition);
            }
            let yes = Box::new(it.expression()?);
            it.expect(":")?;
            let no = Box::new(it.expression()?);
            Ok(Expression::Choice { condition: Box::new(condition), yes, no })
        })
    }

    fn binary(&mut self, least: u8) -> Result<Expression, String> {
        let mut expression = self.unary()?;
        loop {
            // `a | lower()` is `lower(a)`.
            if least == 0 && self.take_sign("|") {
                let function = self.name("function")?;
                self.expect("(")?;
                let mut arguments = vec![expression];
                arguments.extend(self.list(")")?);
                expression = Expression::Call { function, arguments };
                continue;
            }
            let is_negated = matches!(
                self.tokens.get(self.next..),
                Some([Token::Name(not), Token::Name(_), ..]) if not == "not"
            );
            let token = self.tokens.get(self.next + usize::from(is_negated));
            let found = BETWEEN.iter().find(|(sign, _)| match token {
                Some(Token::Sign(it)) => it == sign,
                Some(Token::Name(it)) => it == sign,
                _ => false,
            });
            let Some((how, binding)) = found.filter(|(_, binding)| *binding > least) else {
                return Ok(expression);
            };
            self.next += 1 + usize::from(is_negated);
            let other = Box::new(self.deeper(|it| it.binary(*binding))?);
            expression = Expression::Both { how, one: Box::new(expression), other };
            if is_negated {
                expression = Expression::Not(Box::new(expression));
            }
        }
    }

    fn unary(&mut self) -> Result<Expression, String> {
        if self.take_sign("!") || self.take_word("not") {
            return Ok(Expression::Not(Box::new(self.deeper(|it| it.binary(OF_NOT))?)));
        }
        if self.take_sign("-") {
            return Ok(Expression::Negative(Box::new(self.deeper(|it| it.binary(OF_MINUS))?)));
        }
        self.fields()
    }

    fn fields(&mut self) -> Result<Expression, String> {
        let mut value = self.primary()?;
        let mut has_optional = false;
        loop {
            let is_optional = self.take_sign("?.");
            has_optional |= is_optional;
            if is_optional || self.take_sign(".") {
                if is_optional && self.take_sign("[") {
                    value = self.member(value, true)?;
                    continue;
                }
                let name = self.name("field")?;
                if self.is_sign("(") {
                    return Err(format!("the function {name} is not supported"));
                }
                let name = Box::new(Expression::Constant(name.into()));
                value = Expression::Field { of: Box::new(value), name, is_optional };
            } else if self.take_sign("[") {
                value = self.member(value, false)?;
            } else if has_optional {
                return Ok(Expression::Chain(Box::new(value)));
            } else {
                return Ok(value);
            }
        }
    }

    /// After the bracket: one member, or those from one to another.
    fn member(&mut self, of: Expression, is_optional: bool) -> Result<Expression, String> {
        let of = Box::new(of);
        let from = if self.is_sign(":") { None } else { Some(Box::new(self.expression()?)) };
        if !self.take_sign(":") {
            self.expect("]")?;
            let name = from.ok_or("a member has no name")?;
            return Ok(Expression::Field { of, name, is_optional });
        }
        let to = if self.is_sign("]") { None } else { Some(Box::new(self.expression()?)) };
        self.expect("]")?;
        Ok(Expression::Part { of, from, to })
    }

    fn primary(&mut self) -> Result<Expression, String> {
        let token = self.peek().cloned().ok_or("the condition ends too soon")?;
        self.next += 1;
        match token {
            Token::Text(text) => Ok(Expression::Constant(text.into())),
            Token::Number(number) => Ok(Expression::Constant(number.into())),
            Token::Name(name) => self.named(name),
            Token::Sign("(") => {
                let value = self.expression()?;
                self.expect(")")?;
                Ok(value)
            }
            // What a function asks of each member may stand in braces.
            Token::Sign("{") => {
                let value = self.expression()?;
                self.expect("}")?;
                Ok(value)
            }
            Token::Sign("[") => Ok(Expression::List(self.list("]")?)),
            Token::Sign("#") => Ok(Expression::Member),
            // `.name` is `#.name`.
            Token::Sign(".") => {
                self.next -= 1;
                Ok(Expression::Member)
            }
            Token::Sign(sign) => Err(format!("unexpected {sign:?}")),
        }
    }

    fn named(&mut self, name: String) -> Result<Expression, String> {
        match name.as_str() {
            "true" => return Ok(Expression::Constant(true.into())),
            "false" => return Ok(Expression::Constant(false.into())),
            "nil" => return Ok(Expression::Constant(Value::Null)),
            _ => {}
        }
        if !self.take_sign("(") {
            return Ok(Expression::Object(name));
        }
        Ok(Expression::Call { function: name, arguments: self.list(")")? })
    }

    fn list(&mut self, end: &str) -> Result<Vec<Expression>, String> {
        let mut items = Vec::new();
        while !self.take_sign(end) {
            items.push(self.expression()?);
            if !self.take_sign(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(items)
    }
}
