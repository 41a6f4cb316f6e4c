//! Conditions of links, in the expression language that Argo CD uses for them.
//!
//! Understood are texts, numbers, `true`, `false`, `nil`, lists, fields (`a.b`,
//! `a?.b`, `a["b"]`, `a[0]`), comparisons, `and`/`&&`, `or`/`||`, `not`/`!`, `in`,
//! `not in`, `contains`, `startsWith`, `endsWith`, `matches`, `+` of texts and
//! numbers, `a ? b : c`, `a ?? b` and `len`. Anything else of the language is
//! refused by name: an expression here always ends, and soon.

use regex::RegexBuilder;
use serde_json::{Map, Value};

/// No condition is longer.
const LENGTH_LIMIT: usize = 4_000;
const DEPTH_LIMIT: usize = 50;
const REGEX_LIMIT: usize = 1 << 20;

/// Does the condition hold for these objects?
///
/// # Errors
/// What cannot be understood, or does not come to a yes or no.
pub(super) fn holds(condition: &str, objects: &Map<String, Value>) -> Result<bool, String> {
    if condition.len() > LENGTH_LIMIT {
        return Err(format!("the condition is longer than {LENGTH_LIMIT} bytes"));
    }
    let mut reader = Reader { tokens: tokens(condition)?, next: 0, depth: 0, objects };
    let value = reader.ternary()?;
    match (reader.peek(), value) {
        (Some(extra), _) => Err(format!("unexpected {extra:?}")),
        (None, Value::Bool(holds)) => Ok(holds),
        (None, other) => Err(format!("comes to {other}, which is neither true nor false")),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(f64),
    Sign(&'static str),
}

const SIGNS: [&str; 23] = [
    "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "<", ">", "!", "(", ")", "[", "]", ".", ",",
    "+", "-", "?", ":", "|", "#",
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

struct Reader<'a> {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    objects: &'a Map<String, Value>,
}

/// Each level reads what binds tighter first. Both sides are always computed: nothing has an effect.
impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(it)) if *it == sign);
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

    fn ternary(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err("the condition is nested too deeply".into());
        }
        let mut value = self.or()?;
        if self.take_sign("?") {
            let yes = self.ternary()?;
            self.expect(":")?;
            let no = self.ternary()?;
            value = if truth(&value)? { yes } else { no };
        }
        self.depth -= 1;
        Ok(value)
    }

    fn or(&mut self) -> Result<Value, String> {
        let mut value = self.and()?;
        while self.take_sign("||") || self.take_word("or") {
            let other = self.and()?;
            value = Value::Bool(truth(&value)? || truth(&other)?);
        }
        Ok(value)
    }

    fn and(&mut self) -> Result<Value, String> {
        let mut value = self.comparison()?;
        while self.take_sign("&&") || self.take_word("and") {
            let other = self.comparison()?;
            value = Value::Bool(truth(&value)? && truth(&other)?);
        }
        Ok(value)
    }

    fn comparison(&mut self) -> Result<Value, String> {
        let mut value = self.sum()?;
        loop {
            let signs = ["==", "!=", "<=", ">=", "<", ">"];
            let words = ["contains", "startsWith", "endsWith", "matches", "in"];
            let is_negated = matches!(self.tokens.get(self.next..), Some([Token::Name(not), Token::Name(next), ..]) if not == "not" && words.contains(&next.as_str()));
            self.next += usize::from(is_negated);
            let how = signs.into_iter().find(|it| self.take_sign(it));
            let how = how.or_else(|| words.into_iter().find(|it| self.take_word(it)));
            let Some(how) = how else { return Ok(value) };
            let other = self.sum()?;
            value = Value::Bool(compare(how, &value, &other)? != is_negated);
        }
    }

    fn sum(&mut self) -> Result<Value, String> {
        let mut value = self.default()?;
        while self.take_sign("+") {
            let other = self.default()?;
            value = match (&value, &other) {
                (Value::String(one), Value::String(other)) => format!("{one}{other}").into(),
                (Value::Number(_), Value::Number(_)) => (number(&value)? + number(&other)?).into(),
                _ => return Err(format!("cannot add {other} to {value}")),
            };
        }
        Ok(value)
    }

    fn default(&mut self) -> Result<Value, String> {
        let mut value = self.unary()?;
        while self.take_sign("??") {
            let other = self.unary()?;
            value = if value.is_null() { other } else { value };
        }
        Ok(value)
    }

    fn unary(&mut self) -> Result<Value, String> {
        if self.take_sign("!") || self.take_word("not") {
            self.depth += 1;
            if self.depth > DEPTH_LIMIT {
                return Err("the condition is nested too deeply".into());
            }
            let value = self.unary()?;
            self.depth -= 1;
            return Ok(Value::Bool(!truth(&value)?));
        }
        if self.take_sign("-") {
            return Ok((-number(&self.fields()?)?).into());
        }
        self.fields()
    }

    fn fields(&mut self) -> Result<Value, String> {
        let mut value = self.primary()?;
        loop {
            let is_optional = self.take_sign("?.");
            if is_optional || self.take_sign(".") {
                let Some(Token::Name(name)) = self.peek().cloned() else {
                    return Err("a field has no name".into());
                };
                self.next += 1;
                if self.take_sign("(") {
                    return Err(format!("the function {name} is not supported"));
                }
                value = field(&value, &name, is_optional)?;
            } else if self.take_sign("[") {
                let index = self.ternary()?;
                self.expect("]")?;
                value = match (&value, &index) {
                    (_, Value::String(name)) => field(&value, name, false)?,
                    (Value::Array(items), Value::Number(_)) => member(items, number(&index)?)?,
                    _ => return Err(format!("{value} has no member {index}")),
                };
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Result<Value, String> {
        let token = self.peek().cloned().ok_or("the condition ends too soon")?;
        self.next += 1;
        match token {
            Token::Text(text) => Ok(text.into()),
            Token::Number(number) => Ok(number.into()),
            Token::Name(name) => self.named(&name),
            Token::Sign("(") => {
                let value = self.ternary()?;
                self.expect(")")?;
                Ok(value)
            }
            Token::Sign("[") => {
                let mut items = Vec::new();
                while !self.take_sign("]") {
                    items.push(self.ternary()?);
                    if !self.take_sign(",") {
                        self.expect("]")?;
                        break;
                    }
                }
                Ok(items.into())
            }
            Token::Sign(sign) => Err(format!("unexpected {sign:?}")),
        }
    }

    fn named(&mut self, name: &str) -> Result<Value, String> {
        match name {
            "true" => return Ok(true.into()),
            "false" => return Ok(false.into()),
            "nil" => return Ok(Value::Null),
            _ => {}
        }
        if !self.take_sign("(") {
            return Ok(self.objects.get(name).cloned().unwrap_or_default());
        }
        if name != "len" {
            return Err(format!("the function {name} is not supported"));
        }
        let value = self.ternary()?;
        self.expect(")")?;
        match value {
            Value::String(text) => Ok(text.chars().count().into()),
            Value::Array(items) => Ok(items.len().into()),
            Value::Object(fields) => Ok(fields.len().into()),
            other => Err(format!("{other} has no length")),
        }
    }
}

/// A field that is not there is nil; a field of nil is an error, as in the original.
fn field(value: &Value, name: &str, is_optional: bool) -> Result<Value, String> {
    match value {
        Value::Object(fields) => Ok(fields.get(name).cloned().unwrap_or_default()),
        Value::Null if is_optional => Ok(Value::Null),
        other => Err(format!("cannot fetch {name} from {other}")),
    }
}

fn member(items: &[Value], place: f64) -> Result<Value, String> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked below")]
    let index = place as usize;
    let found = items.get(index).filter(|_| place >= 0.0 && place.fract() == 0.0);
    found.cloned().ok_or_else(|| format!("there is no member {place}"))
}

fn truth(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("{value} is neither true nor false"))
}

fn number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("{value} is no number"))
}

fn compare(how: &str, one: &Value, other: &Value) -> Result<bool, String> {
    let texts = || match (one, other) {
        (Value::String(one), Value::String(other)) => Ok((one.as_str(), other.as_str())),
        _ => Err(format!("{how} needs two texts, not {one} and {other}")),
    };
    let is_equal = match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    };
    Ok(match how {
        "==" => is_equal,
        "!=" => !is_equal,
        "contains" => texts().map(|(text, part)| text.contains(part))?,
        "startsWith" => texts().map(|(text, part)| text.starts_with(part))?,
        "endsWith" => texts().map(|(text, part)| text.ends_with(part))?,
        "matches" => {
            let (text, pattern) = texts()?;
            let pattern = RegexBuilder::new(pattern).size_limit(REGEX_LIMIT).build();
            pattern.map_err(|error| error.to_string())?.is_match(text)
        }
        "in" => match (one, other) {
            (_, Value::Array(items)) => items.contains(one),
            (Value::String(key), Value::Object(fields)) => fields.contains_key(key),
            (_, Value::Null) => false,
            _ => return Err(format!("{one} cannot be in {other}")),
        },
        _ => {
            let order = match (one, other) {
                (Value::String(one), Value::String(other)) => one.partial_cmp(other),
                _ => number(one)?.partial_cmp(&number(other)?),
            };
            match how {
                "<" => order.is_some_and(std::cmp::Ordering::is_lt),
                "<=" => order.is_some_and(std::cmp::Ordering::is_le),
                ">" => order.is_some_and(std::cmp::Ordering::is_gt),
                _ => order.is_some_and(std::cmp::Ordering::is_ge),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(condition: &str) -> Result<bool, String> {
        let objects = json!({
            "app": {"metadata": {"name": "web", "labels": {"tier": "gold"}}, "spec": {"project": "shop"}},
            "resource": {"kind": "Pod", "spec": {"replicas": 3, "images": ["a", "b"]}},
        });
        holds(condition, objects.as_object().expect("objects"))
    }

    #[track_caller]
    fn check(condition: &str, expect: bool) {
        assert_eq!(judged(condition), Ok(expect), "{condition}");
    }

    #[test]
    fn fields_are_compared() {
        check(r#"app.spec.project == "shop""#, true);
        check(r#"resource.kind == 'Pod' && resource.spec.replicas >= 3"#, true);
        check(r#"resource.kind != "Pod" or app.metadata.labels["tier"] == "gold""#, true);
        check(r#"app.metadata.labels.other == nil"#, true);
        check(r#"not (resource.spec.replicas < 3)"#, true);
        check("resource.spec.replicas == 3.0", true);
    }

    #[test]
    fn texts_and_lists_are_searched() {
        check(r#"app.metadata.name contains "e" and app.metadata.name startsWith "w""#, true);
        check(r#"app.metadata.name matches "^w.b$""#, true);
        check(r#""a" in resource.spec.images"#, true);
        check(r#""c" not in resource.spec.images"#, true);
        check(r#""tier" in app.metadata.labels"#, true);
        check(r#"app.metadata.name in ["db", "web"]"#, true);
        check(r#"resource.spec.images[1] == "b" && len(resource.spec.images) == 2"#, true);
        check(r#"app.spec.project + "/" + app.metadata.name == "shop/web""#, true);
        check(r#"app.metadata.annotations?.x == nil"#, true);
        check(r#"(app.metadata.annotations?.x ?? "none") == "none""#, true);
        check(r#"resource.kind == "Pod" ? true : false"#, true);
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        let told = |condition: &str| judged(condition).expect_err("refused");
        assert_eq!(told("any(resource.spec.images, true)"), "the function any is not supported");
        assert_eq!(told("app.name.trim()"), "the function trim is not supported");
        assert_eq!(told("app.status.sync.status == 1"), "cannot fetch sync from null");
        assert_eq!(told(r#""shop""#), "comes to \"shop\", which is neither true nor false");
        assert_eq!(told("app.metadata.name == "), "the condition ends too soon");
        assert_eq!(told("1 == 1 1"), "unexpected Number(1.0)");
        assert!(judged("'").is_err() && judged("a ; b").is_err() && judged("").is_err());
    }

    #[test]
    fn deep_and_long_conditions_end_soon() {
        assert!(judged(&"(".repeat(3_000)).is_err());
        assert!(judged(&"!".repeat(3_000)).is_err());
        assert!(judged(&"a".repeat(5_000)).is_err());
    }
}
