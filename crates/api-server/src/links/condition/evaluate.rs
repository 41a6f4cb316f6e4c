//! What a condition comes to.

use serde_json::{Map, Value};

use super::functions;
use super::read::Expression;

/// Nobody asks more of a condition; what multiplies lists with each other ends here.
const STEP_LIMIT: usize = 100_000;
const REGEX_LIMIT: usize = 1 << 20;

/// Why there is no value.
#[derive(Debug)]
pub(super) enum Failure {
    /// An optional field was looked for in nothing: the chain that it is in comes to nil.
    Nothing,
    Told(String),
}

impl From<String> for Failure {
    fn from(told: String) -> Self {
        Self::Told(told)
    }
}

pub(super) struct Evaluation<'a> {
    objects: &'a Map<String, Value>,
    /// The members that conditions about members are asked for, the innermost last.
    members: Vec<Value>,
    steps: usize,
}

impl<'a> Evaluation<'a> {
    pub(super) fn of(objects: &'a Map<String, Value>) -> Self {
        Self { objects, members: Vec::new(), steps: 0 }
    }

    pub(super) fn value(&mut self, expression: &Expression) -> Result<Value, Failure> {
        self.steps += 1;
        if self.steps > STEP_LIMIT {
            return Err(Failure::Told("the condition takes too long".into()));
        }
        match expression {
            Expression::Constant(value) => Ok(value.clone()),
            Expression::Object(name) => Ok(self.objects.get(name).cloned().unwrap_or_default()),
            Expression::Member => {
                let member = self.members.last().cloned();
                member.ok_or_else(|| Failure::Told("there is no member here".into()))
            }
            Expression::List(items) => {
                items.iter().map(|it| self.value(it)).collect::<Result<Vec<_>, _>>().map(Into::into)
            }
            Expression::Field { of, name, is_optional } => {
                let (of, name) = (self.value(of)?, self.value(name)?);
                field(&of, &name, *is_optional)
            }
            Expression::Part { of, from, to } => {
                let of = self.value(of)?;
                let (from, to) = (self.place(from.as_deref())?, self.place(to.as_deref())?);
                Ok(functions::part(&of, from, to)?)
            }
            Expression::Chain(chain) => match self.value(chain) {
                Err(Failure::Nothing) => Ok(Value::Null),
                found => found,
            },
            Expression::Not(it) => Ok(Value::Bool(!truth(&self.value(it)?)?)),
            Expression::Negative(it) => Ok((-number(&self.value(it)?)?).into()),
            Expression::Both { how, one, other } => self.both(how, one, other),
            Expression::Choice { condition, yes, no } => {
                let chosen = if truth(&self.value(condition)?)? { yes } else { no };
                self.value(chosen)
            }
            Expression::Call { function, arguments } => self.call(function, arguments),
        }
    }

    fn place(&mut self, place: Option<&Expression>) -> Result<Option<f64>, Failure> {
        let Some(place) = place else { return Ok(None) };
        Ok(Some(number(&self.value(place)?)?))
    }

    /// What the first of two decides, the second is not asked.
    fn both(&mut self, how: &str, one: &Expression, other: &Expression) -> Result<Value, Failure> {
        let one = match (how, self.value(one)) {
            ("??", Err(Failure::Nothing)) => Value::Null,
            (_, found) => found?,
        };
        match how {
            "&&" | "and" if !truth(&one)? => return Ok(false.into()),
            "||" | "or" if truth(&one)? => return Ok(true.into()),
            "??" if !one.is_null() => return Ok(one),
            _ => {}
        }
        let other = self.value(other)?;
        match how {
            "&&" | "and" | "||" | "or" => Ok(truth(&other)?.into()),
            "??" => Ok(other),
            "+" | "-" | "*" | "/" | "%" => Ok(computed(how, &one, &other)?),
            _ => Ok(compare(how, &one, &other)?.into()),
        }
    }

    fn call(&mut self, function: &str, arguments: &[Expression]) -> Result<Value, Failure> {
        if let (
            "any" | "all" | "none" | "one" | "count" | "filter" | "map" | "find",
            [list, asked],
        ) = (function, arguments)
        {
            let list = match self.value(list)? {
                Value::Array(items) => items,
                other => return Err(format!("{function} needs a list, not {other}").into()),
            };
            return self.of_members(function, list, asked);
        }
        let arguments: Vec<Value> =
            arguments.iter().map(|it| self.value(it)).collect::<Result<_, _>>()?;
        Ok(functions::called(function, &arguments)?)
    }

    fn of_members(
        &mut self,
        function: &str,
        list: Vec<Value>,
        asked: &Expression,
    ) -> Result<Value, Failure> {
        let length = list.len();
        let mut kept = Vec::new();
        for member in list {
            self.members.push(member.clone());
            let told = self.value(asked);
            self.members.pop();
            let told = told?;
            if function == "map" {
                kept.push(told);
            } else if truth(&told)? {
                kept.push(member);
            }
        }
        Ok(match function {
            "any" => (!kept.is_empty()).into(),
            "all" => (kept.len() == length).into(),
            "none" => kept.is_empty().into(),
            "one" => (kept.len() == 1).into(),
            "count" => kept.len().into(),
            "find" => kept.into_iter().next().unwrap_or_default(),
            _ => kept.into(),
        })
    }
}

/// A field that is not there is nil; a field of nil is an error, as in the original.
fn field(value: &Value, name: &Value, is_optional: bool) -> Result<Value, Failure> {
    match (value, name) {
        (Value::Null, _) if is_optional => Err(Failure::Nothing),
        (Value::Object(fields), Value::String(name)) => {
            Ok(fields.get(name).cloned().unwrap_or_default())
        }
        (Value::Array(items), Value::Number(_)) => Ok(member(items, number(name)?)?),
        (_, Value::String(name)) => Err(format!("cannot fetch {name} from {value}").into()),
        _ => Err(format!("{value} has no member {name}").into()),
    }
}

/// A place before the first is counted from the end.
fn member(items: &[Value], place: f64) -> Result<Value, String> {
    #[expect(clippy::cast_precision_loss, reason = "no list is so long")]
    let counted = if place < 0.0 { items.len() as f64 + place } else { place };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked below")]
    let index = counted as usize;
    let found = items.get(index).filter(|_| counted >= 0.0 && counted.fract() == 0.0);
    found.cloned().ok_or_else(|| format!("there is no member {place}"))
}

fn truth(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("{value} is neither true nor false"))
}

pub(super) fn number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("{value} is no number"))
}

fn computed(how: &str, one: &Value, other: &Value) -> Result<Value, String> {
    if let ("+", Value::String(one), Value::String(other)) = (how, one, other) {
        return Ok(format!("{one}{other}").into());
    }
    let (Some(left), Some(right)) = (one.as_f64(), other.as_f64()) else {
        return Err(format!("cannot compute {one} {how} {other}"));
    };
    Ok(match how {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "%" => left % right,
        _ => left / right,
    }
    .into())
}

pub(super) fn is_equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

fn compare(how: &str, one: &Value, other: &Value) -> Result<bool, String> {
    let texts = || match (one, other) {
        (Value::String(one), Value::String(other)) => Ok((one.as_str(), other.as_str())),
        _ => Err(format!("{how} needs two texts, not {one} and {other}")),
    };
    Ok(match how {
        "==" => is_equal(one, other),
        "!=" => !is_equal(one, other),
        "contains" => texts().map(|(text, part)| text.contains(part))?,
        "startsWith" => texts().map(|(text, part)| text.starts_with(part))?,
        "endsWith" => texts().map(|(text, part)| text.ends_with(part))?,
        "matches" => {
            let (text, pattern) = texts()?;
            let pattern = regex::RegexBuilder::new(pattern).size_limit(REGEX_LIMIT).build();
            pattern.map_err(|error| error.to_string())?.is_match(text)
        }
        "in" => match (one, other) {
            (_, Value::Array(items)) => items.iter().any(|it| is_equal(it, one)),
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
