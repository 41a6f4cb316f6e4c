//! The part of jq that points at fields: `.spec.template.spec.containers[] |
//! select(.name == "sidecar") | .image`.
//!
//! `ignoreDifferences` uses jq for one thing only, `del(<path>)`. So this is not
//! all of jq: it has paths, conditions, variables, arithmetic, lists, mappings and
//! texts that are put together, and the functions (`functions`) that people use to
//! say which element they mean; neither definitions nor loops (`def`, `reduce`,
//! `foreach`, `until`), and nothing that assigns.
//! Every expression therefore ends, after steps that are counted by how much they
//! look at; what it does not know is an error when it is read, not when it runs.

mod arithmetic;
mod functions;
mod parse;
mod values;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use arithmetic::Operator;
use functions::Function;
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
    /// `[…]`
    List(Box<Self>),
    /// `{name: …, (…): …}`
    Mapping(Vec<(Self, Self)>),
    /// `"… \\(…) …"`
    Text(Vec<Self>),
    Arithmetic(Box<Self>, Operator, Box<Self>),
    Negate(Box<Self>),
    /// `… as $name | …`
    Bind(Box<Self>, String, Box<Self>),
    Variable(String),
    Call(Function, Vec<Self>),
}

impl Expression {
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Identity | Self::Descend | Self::Literal(_) | Self::Variable(_) => Vec::new(),
            Self::Iterate(of) | Self::Optional(of) | Self::List(of) | Self::Negate(of) => vec![of],
            Self::Mapping(entries) => entries.iter().flat_map(|(key, it)| [key, it]).collect(),
            Self::Slice(of, from, to) => [Some(of), from.as_ref(), to.as_ref()]
                .into_iter()
                .flatten()
                .map(|it| &**it)
                .collect(),
            Self::Field(one, other)
            | Self::Pipe(one, other)
            | Self::Comma(one, other)
            | Self::Or(one, other)
            | Self::And(one, other)
            | Self::Alternative(one, other)
            | Self::Compare(one, _, other)
            | Self::Arithmetic(one, _, other)
            | Self::Bind(one, _, other) => vec![one, other],
            Self::If(condition, then, otherwise) => vec![condition, then, otherwise],
            Self::Call(_, parts) | Self::Text(parts) => parts.iter().collect(),
        }
    }

    fn is_deeper_than(&self, most: usize) -> bool {
        most == 0 || self.parts().into_iter().any(|it| it.is_deeper_than(most - 1))
    }
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
    let mut run = Run::default();
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

#[derive(Default)]
struct Run {
    steps: usize,
    /// What names stand for, the innermost last.
    variables: Vec<(String, Value)>,
    /// Patterns that were read already.
    patterns: BTreeMap<String, Regex>,
}

impl Run {
    fn evaluate<'v>(&mut self, expression: &Expression, at: &Found<'v>) -> Results<'v> {
        self.pay(1)?;
        match expression {
            Expression::Identity => {
                self.pay_for_copy(at)?;
                Ok(vec![at.clone()])
            }
            Expression::Literal(value) => self.make(value.clone()),
            Expression::Mapping(entries) => self.mapping(entries, at),
            Expression::Text(parts) => self.interpolate(parts, at),
            Expression::Negate(of) => {
                let mut results = Vec::new();
                for found in self.evaluate(of, at)? {
                    let negative =
                        arithmetic::apply(Value::from(0), Operator::Subtract, &found.value)?;
                    results.extend(self.make(negative)?);
                }
                Ok(results)
            }
            Expression::Arithmetic(left, operator, right) => {
                let mut results = Vec::new();
                let left = self.evaluate(left, at)?;
                for right in self.evaluate(right, at)? {
                    for left in &left {
                        self.pay_for_arithmetic(&left.value, *operator, &right.value)?;
                        let left = left.value.clone().into_owned();
                        let answer = arithmetic::apply(left, *operator, &right.value)?;
                        results.extend(self.make(answer)?);
                    }
                }
                Ok(results)
            }
            Expression::List(of) => {
                let items = self.evaluate(of, at)?.into_iter().map(|it| it.value.into_owned());
                self.make(Value::Array(items.collect()))
            }
            Expression::Bind(of, name, then) => {
                let mut results = Vec::new();
                for found in self.evaluate(of, at)? {
                    self.pay(weight(&found.value))?;
                    self.variables.push((name.clone(), found.value.into_owned()));
                    let outcome = self.evaluate(then, at);
                    self.variables.pop();
                    results.extend(outcome?);
                }
                Ok(results)
            }
            Expression::Variable(name) => {
                let bound = self.variables.iter().rev().find(|(known, _)| known == name);
                let value = bound.map(|(_, value)| value.clone()).unwrap_or_default();
                self.make(value)
            }
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
                        self.pay(weight(&left.value).min(weight(&right.value)))?;
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

    fn pay(&mut self, steps: usize) -> Result<(), RunError> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MOST_STEPS { Err(RunError::TooLong) } else { Ok(()) }
    }

    /// What was found is only pointed at; what was made is copied.
    fn pay_for_copy(&mut self, of: &Found<'_>) -> Result<(), RunError> {
        match &of.value {
            Cow::Borrowed(_) => Ok(()),
            Cow::Owned(value) => self.pay(weight(value)),
        }
    }

    fn make<'v>(&mut self, value: Value) -> Results<'v> {
        self.pay(weight(&value))?;
        Ok(vec![made(value)])
    }

    /// A mapping for each way to choose its keys and values.
    fn mapping<'v>(&mut self, entries: &[(Expression, Expression)], at: &Found<'v>) -> Results<'v> {
        let mut mappings = vec![Map::new()];
        for (key, value) in entries {
            let (keys, values) = (self.evaluate(key, at)?, self.evaluate(value, at)?);
            let mut next = Vec::new();
            for mapping in &mappings {
                for key in &keys {
                    let Value::String(key) = &*key.value else {
                        return Err(wrong("make a key of", &key.value));
                    };
                    for value in &values {
                        let known = mapping.values().map(weight).sum::<usize>();
                        self.pay(1 + known + weight(&value.value))?;
                        let mut mapping = mapping.clone();
                        mapping.insert(key.clone(), value.value.clone().into_owned());
                        next.push(mapping);
                    }
                }
            }
            mappings = next;
        }
        Ok(mappings.into_iter().map(|it| made(Value::Object(it))).collect())
    }

    /// A text for each way to choose its parts.
    fn interpolate<'v>(&mut self, parts: &[Expression], at: &Found<'v>) -> Results<'v> {
        let mut texts = vec![String::new()];
        for part in parts {
            let choices = self.evaluate(part, at)?;
            let mut next = Vec::new();
            for text in &texts {
                for choice in &choices {
                    let words = values::in_words(&choice.value);
                    self.pay(1 + (text.len() + words.len()) / 64)?;
                    next.push(format!("{text}{words}"));
                }
            }
            texts = next;
        }
        Ok(texts.into_iter().map(|it| made(Value::from(it))).collect())
    }

    /// What is repeated, or taken away pair by pair, costs more than to look at.
    fn pay_for_arithmetic(
        &mut self,
        left: &Value,
        operator: Operator,
        right: &Value,
    ) -> Result<(), RunError> {
        let (one, other) = (weight(left), weight(right));
        self.pay(match (left, operator, right) {
            (Value::String(_), Operator::Multiply, number @ Value::Number(_))
            | (number @ Value::Number(_), Operator::Multiply, Value::String(_)) => {
                one.saturating_mul(other).saturating_mul(arithmetic::times(number).max(1))
            }
            (Value::Array(_), Operator::Subtract, Value::Array(_)) => one.saturating_mul(other),
            _ => one.saturating_add(other),
        })
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
        self.pay(keys.len())?;
        self.pay_for_copy(of)?;
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

/// How many steps it takes to look at all of a value.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => {
            let entries = fields.iter().map(|(name, value)| 1 + name.len() / 64 + weight(value));
            1 + entries.sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests;
