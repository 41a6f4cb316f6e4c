//! Functions about several values: some of them, their order, the ways to them.

use std::cmp::Ordering;

use serde_json::Value;

use super::functions::{By, Function};
use super::{
    Expression, Found, Results, Run, RunError, Step, arithmetic, field, order, weight, wrong,
};

impl Run {
    /// `limit(count; generator)`, `nth(position)` and `nth(position; generator)`.
    pub(super) fn some<'v>(
        &mut self,
        function: Function,
        arguments: &[Expression],
        at: &Found<'v>,
    ) -> Results<'v> {
        let mut results = Vec::new();
        for wanted in self.evaluate(&arguments[0], at)? {
            let Some(of) = arguments.get(1) else {
                self.pay_for_copy(at)?;
                results.push(field(at, &wanted.value)?);
                continue;
            };
            let count = wanted.value.as_f64().ok_or_else(|| wrong("count to", &wanted.value))?;
            let found = self.evaluate(of, at)?;
            let (skipped, taken) = match function {
                Function::Limit => (0, arithmetic::times(&wanted.value)),
                _ if count < 0.0 => return Err(wrong("count to", &wanted.value)),
                _ => (arithmetic::times(&wanted.value), 1),
            };
            results.extend(found.into_iter().skip(skipped).take(taken));
        }
        Ok(results)
    }

    /// Numbers from one (or zero) to below another, each of which is paid for.
    pub(super) fn range<'v>(&mut self, arguments: &[Expression], at: &Found<'v>) -> Results<'v> {
        let mut bounds = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let found = self.evaluate(argument, at)?;
            let [bound] = found.as_slice() else {
                return Err(wrong("count to", &Value::Array(Vec::new())));
            };
            bounds.push(bound.value.as_f64().ok_or_else(|| wrong("count to", &bound.value))?);
        }
        let (from, to, by) = match *bounds.as_slice() {
            [to] => (0.0, to, 1.0),
            [from, to] => (from, to, 1.0),
            [from, to, by, ..] => (from, to, by),
            [] => return Ok(Vec::new()),
        };
        if by == 0.0 {
            return Err(RunError::WrongType { what: "count by", kind: "zero" });
        }
        let mut results = Vec::new();
        let mut next = from;
        while if by > 0.0 { next < to } else { next > to } {
            results.extend(self.make(arithmetic::number(next)?)?);
            next += by;
        }
        Ok(results)
    }

    /// Where an expression leads to, as a list of names and positions.
    pub(super) fn path<'v>(&mut self, of: &Expression, at: &Found<'v>) -> Results<'v> {
        let start = Found { path: Some(Vec::new()), value: at.value.clone() };
        self.pay_for_copy(at)?;
        let mut results = Vec::new();
        for found in self.evaluate(of, &start)? {
            let path = found.path.ok_or(RunError::NoPath)?;
            results.extend(self.make(steps_of(&path))?);
        }
        Ok(results)
    }

    /// The paths of everything below, or of what a condition holds for.
    pub(super) fn paths<'v>(
        &mut self,
        condition: Option<&Expression>,
        at: &Found<'v>,
    ) -> Results<'v> {
        let start = Found { path: Some(Vec::new()), value: at.value.clone() };
        self.pay_for_copy(at)?;
        let mut results = Vec::new();
        for found in self.descend(&start)? {
            let holds = match condition {
                Some(condition) => self.is_true(condition, &found)?,
                None => true,
            };
            match found.path {
                Some(path) if holds && !path.is_empty() => {
                    results.extend(self.make(steps_of(&path))?);
                }
                _ => {}
            }
        }
        Ok(results)
    }

    /// The same list or mapping with other values; those without one are gone.
    pub(super) fn map_values<'v>(&mut self, of: &Expression, at: &Found<'v>) -> Results<'v> {
        let keys: Option<Vec<String>> =
            at.value.as_object().map(|fields| fields.keys().cloned().collect());
        let mut values = Vec::new();
        for item in self.iterate(at)? {
            let made = self.evaluate(of, &item)?.into_iter().next();
            values.push(made.map(|it| it.value.into_owned()));
        }
        self.make(match keys {
            Some(keys) => keys
                .into_iter()
                .zip(values)
                .filter_map(|(key, value)| Some((key, value?)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            None => values.into_iter().flatten().collect(),
        })
    }

    pub(super) fn by<'v>(&mut self, by: By, of: &Expression, at: &Found<'v>) -> Results<'v> {
        if !at.value.is_array() {
            return Err(wrong("sort", &at.value));
        }
        let mut keyed: Vec<(Value, Value)> = Vec::new();
        for item in self.iterate(at)? {
            let key = self.evaluate(of, &item)?.into_iter().map(|it| it.value.into_owned());
            let key: Value = key.collect();
            self.pay(weight(&key) + weight(&item.value))?;
            keyed.push((key, item.value.into_owned()));
        }
        // As many comparisons as a sort of so many takes.
        let comparisons = usize::try_from(keyed.len().max(1).ilog2()).unwrap_or(1);
        self.pay(keyed.iter().map(|(key, _)| weight(key)).sum::<usize>() * comparisons)?;
        let by_key = |left: &(Value, Value), right: &(Value, Value)| order(&left.0, &right.0);
        let values = |keyed: Vec<(Value, Value)>| keyed.into_iter().map(|(_, value)| value);
        let answer = match by {
            By::Smallest => {
                keyed.into_iter().min_by(by_key).map(|(_, value)| value).unwrap_or_default()
            }
            By::Largest => {
                keyed.into_iter().max_by(by_key).map(|(_, value)| value).unwrap_or_default()
            }
            By::Sort => {
                keyed.sort_by(by_key);
                values(keyed).collect()
            }
            By::Unique => {
                keyed.sort_by(by_key);
                keyed.dedup_by(|left, right| by_key(left, right) == Ordering::Equal);
                values(keyed).collect()
            }
            By::Group => {
                keyed.sort_by(by_key);
                let groups = keyed.chunk_by(|left, right| by_key(left, right).is_eq());
                groups.map(|group| values(group.to_vec()).collect::<Value>()).collect()
            }
        };
        self.make(answer)
    }
}

fn steps_of(path: &[Step]) -> Value {
    path.iter()
        .map(|step| match step {
            Step::Index(index) => Value::from(*index),
            Step::Name(name) => Value::from(name.as_str()),
        })
        .collect()
}
