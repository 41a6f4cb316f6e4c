//! The part of jq that points at fields: `.spec.template.spec.containers[] |
//! select(.name == "sidecar") | .image`.
//!
//! `ignoreDifferences` uses jq for one thing only, `del(<path>)`. So this is no
//! jq: it has paths, conditions and a few functions on texts, and neither
//! definitions nor loops. Every expression therefore ends, after steps that are
//! counted; what it does not know is an error when it is read, not when it runs.

mod parse;

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

pub use parse::ParseError;

/// No object that fits into a cluster needs more.
const MOST_STEPS: usize = 200_000;

/// A readable path expression.
#[derive(Clone, Debug, PartialEq)]
pub struct PathExpression(Expression);

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Identity,
    /// `..`
    Descend,
    Literal(Value),
    Field(Box<Self>, Box<Self>),
    Slice(Box<Self>, Option<Box<Self>>, Option<Box<Self>>),
    Iterate(Box<Self>),
    Optional(Box<Self>),
    Pipe(Box<Self>, Box<Self>),
    Comma(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    And(Box<Self>, Box<Self>),
    Alternative(Box<Self>, Box<Self>),
    Compare(Box<Self>, Comparison, Box<Self>),
    If(Box<Self>, Box<Self>, Box<Self>),
    Call(Function, Vec<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Select,
    Not,
    Empty,
    Has,
    Contains,
    StartsWith,
    EndsWith,
    Test,
    Length,
    Type,
    Keys,
    Any,
    All,
    Downcase,
    Upcase,
    ToString,
    Values,
}

/// Why an expression says nothing about an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A part of it does not fit the type of what it meets.
    #[error("cannot {what} {kind}")]
    WrongType {
        /// What it tried.
        what: &'static str,
        /// What it met.
        kind: &'static str,
    },
    /// It points at something that is no field of the object.
    #[error("the expression yields values, not fields")]
    NoPath,
    /// It takes too long.
    #[error("the expression needs more than {MOST_STEPS} steps")]
    TooLong,
}

/// The value without the fields that the expression points at.
///
/// # Errors
/// When the expression does not fit the value.
pub fn delete(value: &Value, expression: &PathExpression) -> Result<Value, RunError> {
    let mut run = Run { steps: 0 };
    let start = Found { path: Some(Vec::new()), value: Cow::Borrowed(value) };
    let found = run.evaluate(&expression.0, &start)?;
    let mut paths = Vec::with_capacity(found.len());
    for found in found {
        paths.push(found.path.ok_or(RunError::NoPath)?);
    }
    // From the back, so that positions stay true.
    paths.sort_unstable_by(|a, b| b.cmp(a));
    paths.dedup();
    let mut cut = value.clone();
    for path in paths {
        remove(&mut cut, &path);
    }
    Ok(cut)
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Index(usize),
    Name(String),
}

#[derive(Clone, Debug)]
struct Found<'v> {
    /// None for a value that was made, not found.
    path: Option<Vec<Step>>,
    value: Cow<'v, Value>,
}

type Results<'v> = Result<Vec<Found<'v>>, RunError>;

struct Run {
    steps: usize,
}

impl Run {
    fn evaluate<'v>(&mut self, expression: &Expression, at: &Found<'v>) -> Results<'v> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(RunError::TooLong);
        }
        match expression {
            Expression::Identity => Ok(vec![at.clone()]),
            Expression::Literal(value) => Ok(vec![made(value.clone())]),
            Expression::Descend => self.descend(at),
            Expression::Field(of, key) => {
                let mut results = Vec::new();
                for of in self.evaluate(of, at)? {
                    for key in self.evaluate(key, at)? {
                        results.push(field(&of, &key.value)?);
                    }
                }
                Ok(results)
            }
            Expression::Slice(of, from, to) => self.slice(of, from.as_deref(), to.as_deref(), at),
            Expression::Iterate(of) => {
                let mut results = Vec::new();
                for of in self.evaluate(of, at)? {
                    results.extend(self.iterate(&of)?);
                }
                Ok(results)
            }
            Expression::Optional(of) => match self.evaluate(of, at) {
                Err(RunError::WrongType { .. }) => Ok(Vec::new()),
                other => other,
            },
            Expression::Pipe(first, then) => {
                let mut results = Vec::new();
                for found in self.evaluate(first, at)? {
                    results.extend(self.evaluate(then, &found)?);
                }
                Ok(results)
            }
            Expression::Comma(first, second) => {
                let mut results = self.evaluate(first, at)?;
                results.extend(self.evaluate(second, at)?);
                Ok(results)
            }
            Expression::Or(left, right) => {
                let truth = self.is_true(left, at)? || self.is_true(right, at)?;
                Ok(vec![made(Value::Bool(truth))])
            }
            Expression::And(left, right) => {
                let truth = self.is_true(left, at)? && self.is_true(right, at)?;
                Ok(vec![made(Value::Bool(truth))])
            }
            Expression::Alternative(first, second) => {
                let found: Vec<Found<'v>> = match self.evaluate(first, at) {
                    Ok(found) => found.into_iter().filter(|it| truth(&it.value)).collect(),
                    Err(RunError::WrongType { .. }) => Vec::new(),
                    Err(error) => return Err(error),
                };
                if found.is_empty() { self.evaluate(second, at) } else { Ok(found) }
            }
            Expression::Compare(left, how, right) => {
                let mut results = Vec::new();
                let left = self.evaluate(left, at)?;
                for right in self.evaluate(right, at)? {
                    for left in &left {
                        let order = order(&left.value, &right.value);
                        results.push(made(Value::Bool(how.holds(order))));
                    }
                }
                Ok(results)
            }
            Expression::If(condition, then, otherwise) => {
                let branch = if self.is_true(condition, at)? { then } else { otherwise };
                self.evaluate(branch, at)
            }
            Expression::Call(function, arguments) => self.call(*function, arguments, at),
        }
    }

    fn is_true(&mut self, expression: &Expression, at: &Found<'_>) -> Result<bool, RunError> {
        Ok(self.evaluate(expression, at)?.first().is_some_and(|it| truth(&it.value)))
    }

    fn descend<'v>(&mut self, at: &Found<'v>) -> Results<'v> {
        let mut results = vec![at.clone()];
        let mut next = 0;
        while let Some(found) = results.get(next).cloned() {
            if found.value.is_object() || found.value.is_array() {
                results.extend(self.iterate(&found)?);
            }
            next += 1;
        }
        Ok(results)
    }

    fn iterate<'v>(&mut self, of: &Found<'v>) -> Results<'v> {
        let keys: Vec<Value> = match &*of.value {
            Value::Array(items) => (0..items.len()).map(Value::from).collect(),
            Value::Object(fields) => fields.keys().map(|it| Value::from(it.as_str())).collect(),
            other => return Err(wrong("iterate over", other)),
        };
        self.steps += keys.len();
        if self.steps > MOST_STEPS {
            return Err(RunError::TooLong);
        }
        keys.iter().map(|key| field(of, key)).collect()
    }

    fn slice<'v>(
        &mut self,
        of: &Expression,
        from: Option<&Expression>,
        to: Option<&Expression>,
        at: &Found<'v>,
    ) -> Results<'v> {
        let lists = self.evaluate(of, at)?;
        let mut bound = |it: Option<&Expression>, length: i64, default: i64| {
            let Some(it) = it else { return Ok(default) };
            let found = self.evaluate(it, at)?;
            let number = found.first().and_then(|it| it.value.as_i64()).unwrap_or(default);
            Ok(if number < 0 { number + length } else { number }.clamp(0, length))
        };
        let mut results = Vec::new();
        for list in lists {
            let Value::Array(items) = &*list.value else {
                return Err(wrong("take a slice of", &list.value));
            };
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let (from, to) = (bound(from, length, 0)?, bound(to, length, length)?);
            for index in from..to {
                results.push(field(&list, &Value::from(index))?);
            }
        }
        Ok(results)
    }

    fn call<'v>(
        &mut self,
        function: Function,
        arguments: &[Expression],
        at: &Found<'v>,
    ) -> Results<'v> {
        let value = &*at.value;
        let answer = match function {
            Function::Empty => return Ok(Vec::new()),
            Function::Values if value.is_null() => return Ok(Vec::new()),
            Function::Values => return Ok(vec![at.clone()]),
            Function::Select => {
                let mut results = Vec::new();
                for found in self.evaluate(&arguments[0], at)? {
                    results.extend(truth(&found.value).then(|| at.clone()));
                }
                return Ok(results);
            }
            Function::Any | Function::All => {
                let items = self.iterate(at)?;
                let mut holds = Vec::with_capacity(items.len());
                for item in items {
                    holds.push(match arguments.first() {
                        Some(condition) => self.is_true(condition, &item)?,
                        None => truth(&item.value),
                    });
                }
                let all = matches!(function, Function::All);
                Value::Bool(if all { holds.iter().all(|it| *it) } else { holds.contains(&true) })
            }
            Function::Not => Value::Bool(!truth(value)),
            Function::Length => Value::from(match value {
                Value::Null => 0,
                Value::String(text) => text.chars().count(),
                Value::Array(items) => items.len(),
                Value::Object(fields) => fields.len(),
                other => return Err(wrong("measure", other)),
            }),
            Function::Type => Value::from(kind(value)),
            Function::Keys => match value {
                Value::Object(fields) => fields.keys().map(|it| Value::from(it.as_str())).collect(),
                Value::Array(items) => (0..items.len()).map(Value::from).collect(),
                other => return Err(wrong("take the keys of", other)),
            },
            Function::Downcase => Value::from(text(value, "lower")?.to_ascii_lowercase()),
            Function::Upcase => Value::from(text(value, "raise")?.to_ascii_uppercase()),
            Function::ToString => match value {
                Value::String(_) => value.clone(),
                other => Value::from(other.to_string()),
            },
            Function::Has
            | Function::Contains
            | Function::StartsWith
            | Function::EndsWith
            | Function::Test => {
                let mut results = Vec::new();
                for argument in self.evaluate(&arguments[0], at)? {
                    let holds = relation(function, value, &argument.value)?;
                    results.push(made(Value::Bool(holds)));
                }
                return Ok(results);
            }
        };
        Ok(vec![made(answer)])
    }
}

fn relation(function: Function, value: &Value, argument: &Value) -> Result<bool, RunError> {
    match function {
        Function::Has => match (value, argument) {
            (Value::Object(fields), Value::String(name)) => Ok(fields.contains_key(name)),
            (Value::Array(items), Value::Number(index)) => {
                let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                Ok(index.as_i64().is_some_and(|it| (0..length).contains(&it)))
            }
            (other, _) => Err(wrong("look for a key in", other)),
        },
        Function::Contains => Ok(contains(value, argument)),
        Function::StartsWith => {
            Ok(text(value, "begin")?.starts_with(text(argument, "begin with")?))
        }
        Function::EndsWith => Ok(text(value, "end")?.ends_with(text(argument, "end with")?)),
        _ => {
            let pattern = text(argument, "match with")?;
            let pattern = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build();
            let pattern = pattern.map_err(|_| wrong("match with", argument))?;
            Ok(pattern.is_match(text(value, "match")?))
        }
    }
}

fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => part
            .iter()
            .all(|(name, part)| value.get(name).is_some_and(|value| contains(value, part))),
        (Value::Array(value), Value::Array(part)) => {
            part.iter().all(|part| value.iter().any(|value| contains(value, part)))
        }
        (Value::String(value), Value::String(part)) => value.contains(part),
        (value, part) => order(value, part).is_eq(),
    }
}

fn field<'v>(of: &Found<'v>, key: &Value) -> Result<Found<'v>, RunError> {
    let step = match (&*of.value, key) {
        (Value::Object(_) | Value::Null, Value::String(name)) => Step::Name(name.clone()),
        (Value::Array(items), Value::Number(number)) => {
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let index = number.as_i64().unwrap_or(-1);
            let index = if index < 0 { index + length } else { index };
            match usize::try_from(index) {
                Ok(index) => Step::Index(index),
                Err(_) => return Ok(made(Value::Null)),
            }
        }
        (Value::Null, Value::Number(number)) => {
            Step::Index(number.as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(0))
        }
        (other, _) => return Err(wrong("index", other)),
    };
    let value = match &of.value {
        Cow::Borrowed(value) => below(value, &step).map(Cow::Borrowed),
        Cow::Owned(value) => below(value, &step).cloned().map(Cow::Owned),
    };
    let path = of.path.clone().map(|mut path| {
        path.push(step);
        path
    });
    Ok(Found { path, value: value.unwrap_or(Cow::Owned(Value::Null)) })
}

fn below<'v>(value: &'v Value, step: &Step) -> Option<&'v Value> {
    match step {
        Step::Name(name) => value.get(name),
        Step::Index(index) => value.get(index),
    }
}

fn remove(value: &mut Value, path: &[Step]) {
    let Some((last, parents)) = path.split_last() else {
        *value = Value::Null;
        return;
    };
    let mut value = value;
    for step in parents {
        let next = match step {
            Step::Name(name) => value.get_mut(name),
            Step::Index(index) => value.get_mut(index),
        };
        let Some(next) = next else { return };
        value = next;
    }
    match (value, last) {
        (Value::Object(fields), Step::Name(name)) => drop(fields.remove(name)),
        (Value::Array(items), Step::Index(index)) if *index < items.len() => {
            drop(items.remove(*index));
        }
        _ => {}
    }
}

fn made<'v>(value: Value) -> Found<'v> {
    Found { path: None, value: Cow::Owned(value) }
}

fn truth(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

fn text<'t>(value: &'t Value, what: &'static str) -> Result<&'t str, RunError> {
    value.as_str().ok_or_else(|| wrong(what, value))
}

fn wrong(what: &'static str, met: &Value) -> RunError {
    RunError::WrongType { what, kind: kind(met) }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// jq's order of all values: null, booleans, numbers, strings, arrays, objects.
fn order(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(false) => 1,
        Value::Bool(true) => 2,
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::Array(_) => 5,
        Value::Object(_) => 6,
    };
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let differing = left.iter().zip(right).map(|(l, r)| order(l, r)).find(|it| it.is_ne());
            differing.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.keys().cmp(right.keys()).then_with(|| {
                let pairs = left.values().zip(right.values());
                pairs.map(|(l, r)| order(l, r)).find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
            })
        }
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(expression: &str, value: Value, expect: Value) {
        let expression = PathExpression::parse(expression).expect("a readable expression");
        assert_eq!(delete(&value, &expression), Ok(expect));
    }

    fn containers() -> Value {
        json!({"spec": {"containers": [
            {"name": "app", "image": "a:1", "env": [{"name": "A", "value": "1"}]},
            {"name": "sidecar", "image": "s:1"},
        ]}})
    }

    #[test]
    fn a_path_names_a_field() {
        check(".a.b", json!({"a": {"b": 1, "c": 2}}), json!({"a": {"c": 2}}));
        check(r#"."a"["b"]"#, json!({"a": {"b": 1}}), json!({"a": {}}));
        check(".a.missing.too", json!({"a": {}}), json!({"a": {}}));
        check(
            r#".metadata.annotations."a/b""#,
            json!({"metadata": {"annotations": {"a/b": "1"}}}),
            json!({"metadata": {"annotations": {}}}),
        );
    }

    #[test]
    fn all_elements_or_some_of_them_can_be_meant() {
        check(".a[]", json!({"a": [1, 2, 3]}), json!({"a": []}));
        check(".a[1]", json!({"a": [1, 2, 3]}), json!({"a": [1, 3]}));
        check(".a[-1]", json!({"a": [1, 2, 3]}), json!({"a": [1, 2]}));
        check(".a[1:]", json!({"a": [1, 2, 3]}), json!({"a": [1]}));
        check(".a[] | select(. > 1)", json!({"a": [1, 2, 3]}), json!({"a": [1]}));
    }

    #[test]
    fn conditions_choose_among_elements() {
        let without_sidecar =
            json!({"spec": {"containers": [containers()["spec"]["containers"][0]]}});
        check(
            r#".spec.containers[] | select(.name == "sidecar")"#,
            containers(),
            without_sidecar.clone(),
        );
        check(
            r#".spec.containers[] | select(.name | startswith("side"))"#,
            containers(),
            without_sidecar.clone(),
        );
        check(
            r#".spec.containers[] | select(.name | test("^side.*r$"))"#,
            containers(),
            without_sidecar.clone(),
        );
        check(
            r#".spec.containers[] | select(.name != "app" and (.env | not))"#,
            containers(),
            without_sidecar.clone(),
        );
        check(r#".spec.containers[] | select(has("env") | not)"#, containers(), without_sidecar);
        check(
            r#".spec.containers[].env[]? | select(.name == "A") | .value"#,
            json!({"spec": {"containers": [{"env": [{"name": "A", "value": "1"}]}]}}),
            json!({"spec": {"containers": [{"env": [{"name": "A"}]}]}}),
        );
    }

    #[test]
    fn several_paths_can_be_named_at_once() {
        check(".a, .b", json!({"a": 1, "b": 2, "c": 3}), json!({"c": 3}));
        check(
            ".. | .x?",
            json!({"x": 1, "a": {"x": 2}, "b": [{"x": 3}]}),
            json!({"a": {}, "b": [{}]}),
        );
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_not_a_guess() {
        let expression = PathExpression::parse(".a[]").expect("readable");
        assert_eq!(
            delete(&json!({"a": 1}), &expression),
            Err(RunError::WrongType { what: "iterate over", kind: "number" })
        );
        let values = PathExpression::parse("1").expect("readable");
        assert_eq!(delete(&json!({}), &values), Err(RunError::NoPath));
    }

    #[test]
    fn what_could_run_for_ever_is_not_read() {
        for hostile in
            ["def f: f; f", "[range(1e9)]", "recurse(.)", "until(false; .)", "env.HOME", "input"]
        {
            assert!(PathExpression::parse(hostile).is_err(), "{hostile}");
        }
        let deep = "(".repeat(100_000);
        assert!(PathExpression::parse(&deep).is_err());
    }

    #[test]
    fn many_steps_are_too_many() {
        let expression = PathExpression::parse(".. | .. | .. | .. | .. | .a?").expect("readable");
        let nested = (0..60).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(delete(&nested, &expression), Err(RunError::TooLong));
    }
}
