//! Reads a path expression.

use serde_json::Value;

use super::arithmetic::Operator;
use super::functions::Function;
use super::{Comparison, Expression, PathExpression};

const LONGEST: usize = 10_000;
const DEEPEST: usize = 100;
const LONGEST_CHAIN: usize = 400;

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It goes on otherwise than jq does.
    #[error("{found} was not expected at position {at}")]
    Unexpected {
        /// What stands there.
        found: String,
        /// Where, in bytes from the start.
        at: usize,
    },
    /// It uses a function that is not known here.
    #[error("{name} is not among the jq functions that may be used for paths")]
    UnknownFunction {
        /// Its name and number of arguments.
        name: String,
    },
    /// It names something that nothing was given for.
    #[error("${name} is not defined")]
    UnknownVariable {
        /// Its name.
        name: String,
    },
    /// It is too long or too deep.
    #[error(
        "the expression is longer than {LONGEST} characters, deeper than {DEEPEST} levels or has more than {LONGEST_CHAIN} steps in a row"
    )]
    TooLarge,
}

impl PathExpression {
    /// Reads an expression.
    ///
    /// # Errors
    /// When it is no jq, or uses what is not known here.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.len() > LONGEST {
            return Err(ParseError::TooLarge);
        }
        let mut parser = Parser { text, at: 0, depth: 0, variables: Vec::new() };
        let expression = parser.pipe()?;
        parser.skip_space();
        if parser.at < text.len() {
            return Err(parser.unexpected());
        }
        // Chains (`.a.b.c`, `a, b, c`) are read in a loop and gone through in depth.
        if expression.is_deeper_than(LONGEST_CHAIN) {
            return Err(ParseError::TooLarge);
        }
        Ok(Self(expression))
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// Those that may be named here.
    variables: Vec<String>,
}

type Parsed = Result<Expression, ParseError>;

impl Parser<'_> {
    fn pipe(&mut self) -> Parsed {
        self.deeper(|parser| {
            let first = parser.comma()?;
            if parser.take_operator("|") {
                return Ok(Expression::Pipe(Box::new(first), Box::new(parser.pipe()?)));
            }
            Ok(first)
        })
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ParseError::TooLarge);
        }
        let inner = read(self);
        self.depth -= 1;
        inner
    }

    /// `$name | …` after `… as`.
    fn binding(&mut self, of: Expression) -> Parsed {
        self.expect("$")?;
        let name = self.identifier();
        if name.is_empty() {
            return Err(self.unexpected());
        }
        self.expect("|")?;
        self.variables.push(name.clone());
        let then = self.pipe()?;
        self.variables.pop();
        Ok(Expression::Bind(Box::new(of), name, Box::new(then)))
    }

    fn comma(&mut self) -> Parsed {
        let mut left = self.alternative()?;
        while self.take(",") {
            left = Expression::Comma(Box::new(left), Box::new(self.alternative()?));
        }
        Ok(left)
    }

    fn alternative(&mut self) -> Parsed {
        let mut left = self.or()?;
        while self.take("//") {
            left = Expression::Alternative(Box::new(left), Box::new(self.or()?));
        }
        Ok(left)
    }

    fn or(&mut self) -> Parsed {
        let mut left = self.and()?;
        while self.take_word("or") {
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed {
        let mut left = self.comparison()?;
        while self.take_word("and") {
            left = Expression::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Parsed {
        let left = self.sum()?;
        let operators = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        for (operator, how) in operators {
            if self.take(operator) {
                let right = self.sum()?;
                return Ok(Expression::Compare(Box::new(left), how, Box::new(right)));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Parsed {
        self.operation(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::product)
    }

    fn product(&mut self) -> Parsed {
        let operators =
            [("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Modulo)];
        self.operation(&operators, Self::signed)
    }

    fn operation(
        &mut self,
        operators: &[(&str, Operator)],
        part: fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let mut left = part(self)?;
        while let Some((_, operator)) = operators.iter().find(|(it, _)| self.take_operator(it)) {
            left = Expression::Arithmetic(Box::new(left), *operator, Box::new(part(self)?));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Parsed {
        if !self.take_operator("-") {
            return self.postfix();
        }
        Ok(match self.deeper(Self::signed)? {
            Expression::Literal(Value::Number(number)) if number.is_i64() => {
                Expression::Literal(Value::from(number.as_i64().map_or(0, i64::wrapping_neg)))
            }
            other => Expression::Negate(Box::new(other)),
        })
    }

    fn postfix(&mut self) -> Parsed {
        let mut of = self.term()?;
        loop {
            if self.rest().starts_with('[') {
                of = self.brackets(of)?;
            } else if self.rest().starts_with('.') && !self.rest().starts_with("..") {
                self.at += 1;
                if self.rest().starts_with('[') {
                    continue;
                }
                let key = self.key()?;
                of = Expression::Field(Box::new(of), Box::new(key));
            } else if self.rest().starts_with('?') && !self.rest().starts_with("?/") {
                self.at += 1;
                of = Expression::Optional(Box::new(of));
            } else if self.take_word("as") {
                return self.binding(of);
            } else {
                return Ok(of);
            }
        }
    }

    fn term(&mut self) -> Parsed {
        self.skip_space();
        let rest = self.rest();
        if rest.starts_with("..") {
            self.at += 2;
            return Ok(Expression::Descend);
        }
        if rest.starts_with('.') {
            self.at += 1;
            let names_a_field = |it: char| it.is_ascii_alphabetic() || matches!(it, '_' | '"');
            if self.rest().starts_with(names_a_field) {
                let key = self.key()?;
                return Ok(Expression::Field(Box::new(Expression::Identity), Box::new(key)));
            }
            return Ok(Expression::Identity);
        }
        if rest.starts_with('(') {
            self.at += 1;
            let inner = self.pipe()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if rest.starts_with('[') {
            self.at += 1;
            if self.take("]") {
                return Ok(Expression::Literal(Value::Array(Vec::new())));
            }
            let inner = self.pipe()?;
            self.expect("]")?;
            return Ok(Expression::List(Box::new(inner)));
        }
        if rest.starts_with('{') {
            self.at += 1;
            return self.deeper(Self::mapping);
        }
        if rest.starts_with('$') {
            return self.variable();
        }
        if rest.starts_with('"') {
            return self.text_literal();
        }
        if rest.starts_with(|it: char| it.is_ascii_digit()) {
            return self.number();
        }
        self.word()
    }

    /// The environment and whatever else jq brings along is not there.
    fn variable(&mut self) -> Parsed {
        self.at += 1;
        let name = self.identifier();
        if !self.variables.contains(&name) {
            return Err(ParseError::UnknownVariable { name });
        }
        Ok(Expression::Variable(name))
    }

    /// `name` or `"any text"` after a dot.
    fn key(&mut self) -> Parsed {
        if self.rest().starts_with('"') {
            return self.text_literal();
        }
        let name = self.identifier();
        if name.is_empty() {
            return Err(self.unexpected());
        }
        Ok(Expression::Literal(Value::from(name)))
    }

    fn brackets(&mut self, of: Expression) -> Parsed {
        self.expect("[")?;
        if self.take("]") {
            return Ok(Expression::Iterate(Box::new(of)));
        }
        if self.take(":") {
            let to = self.pipe()?;
            self.expect("]")?;
            return Ok(Expression::Slice(Box::new(of), None, Some(Box::new(to))));
        }
        let key = self.pipe()?;
        if self.take(":") {
            let to = if self.take("]") {
                None
            } else {
                let to = self.pipe()?;
                self.expect("]")?;
                Some(Box::new(to))
            };
            return Ok(Expression::Slice(Box::new(of), Some(Box::new(key)), to));
        }
        self.expect("]")?;
        Ok(Expression::Field(Box::new(of), Box::new(key)))
    }

    /// A text, in which `\(…)` stands for what an expression makes.
    fn text_literal(&mut self) -> Parsed {
        self.at += 1;
        let mut parts = Vec::new();
        loop {
            let rest = self.rest();
            let mut escaped = false;
            let end = rest.char_indices().find(|(_, it)| {
                let ends = *it == '"' && !escaped || *it == '(' && escaped;
                escaped = *it == '\\' && !escaped;
                ends
            });
            let Some((end, found)) = end else { return Err(self.unexpected()) };
            let is_over = found == '"';
            let written = if is_over { &rest[..end] } else { &rest[..end - 1] };
            let value = serde_json::from_str(&format!("\"{written}\""));
            parts.push(Expression::Literal(value.map_err(|_| self.unexpected())?));
            self.at += end + 1;
            if is_over {
                break;
            }
            parts.push(self.pipe()?);
            self.expect(")")?;
        }
        match parts.pop() {
            Some(only) if parts.is_empty() => Ok(only),
            last => {
                parts.extend(last);
                Ok(Expression::Text(parts))
            }
        }
    }

    fn number(&mut self) -> Parsed {
        let rest = self.rest();
        let mut before = '0';
        let end = rest.find(|it: char| {
            let is_part = it.is_ascii_digit()
                || matches!(it, '.' | 'e' | 'E')
                || matches!(it, '-' | '+') && matches!(before, 'e' | 'E');
            before = it;
            !is_part
        });
        let end = end.unwrap_or(rest.len());
        let value = serde_json::from_str(&rest[..end]).map_err(|_| self.unexpected())?;
        self.at += end;
        Ok(Expression::Literal(value))
    }

    /// `{name: …, "any text": …, $name, (…): …, name}`, after the brace.
    fn mapping(&mut self) -> Parsed {
        let mut entries = Vec::new();
        if self.take("}") {
            return Ok(Expression::Mapping(entries));
        }
        loop {
            entries.push(self.entry()?);
            if !self.take(",") {
                self.expect("}")?;
                return Ok(Expression::Mapping(entries));
            }
        }
    }

    fn entry(&mut self) -> Result<(Expression, Expression), ParseError> {
        self.skip_space();
        if self.rest().starts_with('$') {
            let variable = self.variable()?;
            let Expression::Variable(name) = &variable else { return Err(self.unexpected()) };
            return Ok((Expression::Literal(Value::from(name.as_str())), variable));
        }
        let is_made = self.take("(");
        let key = if is_made {
            let key = self.pipe()?;
            self.expect(")")?;
            key
        } else {
            self.key()?
        };
        if !is_made && !self.take(":") {
            let of = Box::new(Expression::Identity);
            return Ok((key.clone(), Expression::Field(of, Box::new(key))));
        }
        if is_made {
            self.expect(":")?;
        }
        let mut value = self.deeper(Self::alternative)?;
        while self.take_operator("|") {
            value = Expression::Pipe(Box::new(value), Box::new(self.deeper(Self::alternative)?));
        }
        Ok((key, value))
    }

    fn word(&mut self) -> Parsed {
        let start = self.at;
        let is_format = self.rest().starts_with('@');
        self.at += usize::from(is_format);
        let name = self.identifier();
        let name = if is_format { format!("@{name}") } else { name };
        match name.as_str() {
            "" => Err(self.unexpected()),
            "true" => Ok(Expression::Literal(Value::Bool(true))),
            "false" => Ok(Expression::Literal(Value::Bool(false))),
            "null" => Ok(Expression::Literal(Value::Null)),
            "if" => self.condition(),
            "try" => {
                let tried = self.deeper(Self::postfix)?;
                Ok(Expression::Optional(Box::new(tried)))
            }
            name => {
                let mut arguments = Vec::new();
                if self.take("(") {
                    arguments.push(self.pipe()?);
                    while self.take(";") {
                        arguments.push(self.pipe()?);
                    }
                    self.expect(")")?;
                }
                if name == "recurse" && arguments.is_empty() {
                    return Ok(Expression::Descend);
                }
                match Function::named(name, arguments.len()) {
                    Some(function) => Ok(Expression::Call(function, arguments)),
                    None => {
                        self.at = start;
                        let name = format!("{name}/{}", arguments.len());
                        Err(ParseError::UnknownFunction { name })
                    }
                }
            }
        }
    }

    fn condition(&mut self) -> Parsed {
        let condition = self.pipe()?;
        self.expect_word("then")?;
        let then = self.pipe()?;
        let otherwise = if self.take_word("elif") {
            // It ends with the same word.
            return Ok(Expression::If(
                Box::new(condition),
                Box::new(then),
                Box::new(self.deeper(Self::condition)?),
            ));
        } else if self.take_word("else") {
            self.pipe()?
        } else {
            Expression::Identity
        };
        self.expect_word("end")?;
        Ok(Expression::If(Box::new(condition), Box::new(then), Box::new(otherwise)))
    }

    fn identifier(&mut self) -> String {
        let rest = self.rest();
        let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        let name = rest[..end].to_owned();
        self.at += end;
        name
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        let before = self.at;
        self.skip_space();
        let found = self.rest().starts_with(token);
        self.at = if found { self.at + token.len() } else { before };
        found
    }

    /// `|`, but not `|=`, which would change something; `/`, but not `//`.
    fn take_operator(&mut self, token: &str) -> bool {
        let before = self.at;
        let is_longer = |rest: &str| rest.starts_with('=') || token == "/" && rest.starts_with('/');
        let found = self.take(token) && !is_longer(self.rest());
        if !found {
            self.at = before;
        }
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let before = self.at;
        let goes_on = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let found = self.take(word) && !self.rest().starts_with(goes_on);
        if !found {
            self.at = before;
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), ParseError> {
        if self.take(token) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.take_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&mut self) -> ParseError {
        self.skip_space();
        let found = self.rest().chars().next();
        let found = found.map_or("the end".to_owned(), |it| format!("{it:?}"));
        ParseError::Unexpected { found, at: self.at }
    }
}
