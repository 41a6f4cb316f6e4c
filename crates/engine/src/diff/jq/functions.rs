//! The functions that an expression may call. None of them runs longer than what
//! it looks at is large, and each pays for that.

use std::cmp::Ordering;

use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::values::{from_entries, plain, text, to_entries, with};
use super::{
    Expression, Found, Results, Run, RunError, Step, field, kind, made, order, truth, weight, wrong,
};

/// What reading a pattern costs: about as much as so many other steps.
const STEPS_PER_PATTERN: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Function {
    Select,
    Map,
    MapEntries,
    Any,
    All,
    In,
    First,
    Last,
    Limit,
    Nth,
    IsEmpty,
    Range,
    GetPath,
    Path,
    Paths,
    MapValues,
    /// Orders or groups elements by what an expression makes of them.
    By(By),
    /// One that makes one value of one value.
    Plain(Plain),
    /// One that makes one value of a value and an argument.
    With(With),
    /// Passes on what is of one of these types.
    Only(&'static [&'static str]),
    Not,
    Empty,
    Test,
    /// Replaces the first match of a pattern, or all.
    Replace {
        all: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum By {
    Sort,
    Group,
    Unique,
    Smallest,
    Largest,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Plain {
    Length,
    Type,
    Keys,
    Downcase,
    Upcase,
    ToString,
    ToNumber,
    ToEntries,
    FromEntries,
    ToJson,
    FromJson,
    Bytes,
    Trim,
    TrimLeft,
    TrimRight,
    Floor,
    Ceil,
    Round,
    Abs,
    Reverse,
    Add,
    Smallest,
    Largest,
    Flatten,
    Sort,
    Unique,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum With {
    Has,
    HasKey,
    Contains,
    Inside,
    Begins,
    Ends,
    TrimStart,
    TrimEnd,
    Split,
    Join,
    Index,
    Flatten,
}

impl Function {
    pub(super) fn named(name: &str, arguments: usize) -> Option<Self> {
        let plain = |it| Some(Self::Plain(it));
        let with = |it| Some(Self::With(it));
        match (name, arguments) {
            ("select", 1) => Some(Self::Select),
            ("map", 1) => Some(Self::Map),
            ("with_entries", 1) => Some(Self::MapEntries),
            ("any", 0..=2) => Some(Self::Any),
            ("all", 0..=2) => Some(Self::All),
            ("IN", 1) => Some(Self::In),
            ("first", 0 | 1) => Some(Self::First),
            ("last", 0 | 1) => Some(Self::Last),
            ("limit", 2) => Some(Self::Limit),
            ("nth", 1 | 2) => Some(Self::Nth),
            ("isempty", 1) => Some(Self::IsEmpty),
            ("range", 1..=3) => Some(Self::Range),
            ("getpath", 1) => Some(Self::GetPath),
            ("path", 1) => Some(Self::Path),
            ("paths", 0 | 1) => Some(Self::Paths),
            ("map_values", 1) => Some(Self::MapValues),
            ("sort_by", 1) => Some(Self::By(By::Sort)),
            ("group_by", 1) => Some(Self::By(By::Group)),
            ("unique_by", 1) => Some(Self::By(By::Unique)),
            ("min_by", 1) => Some(Self::By(By::Smallest)),
            ("max_by", 1) => Some(Self::By(By::Largest)),
            ("sub" | "gsub", 2 | 3) => Some(Self::Replace { all: name == "gsub" }),
            ("not", 0) => Some(Self::Not),
            ("empty", 0) => Some(Self::Empty),
            ("test", 1 | 2) => Some(Self::Test),
            ("length", 0) => plain(Plain::Length),
            ("type", 0) => plain(Plain::Type),
            ("keys" | "keys_unsorted", 0) => plain(Plain::Keys),
            ("ascii_downcase", 0) => plain(Plain::Downcase),
            ("ascii_upcase", 0) => plain(Plain::Upcase),
            ("tostring", 0) => plain(Plain::ToString),
            ("tonumber", 0) => plain(Plain::ToNumber),
            ("to_entries", 0) => plain(Plain::ToEntries),
            ("from_entries", 0) => plain(Plain::FromEntries),
            ("tojson" | "@json", 0) => plain(Plain::ToJson),
            ("fromjson", 0) => plain(Plain::FromJson),
            ("@text", 0) => plain(Plain::ToString),
            ("utf8bytelength", 0) => plain(Plain::Bytes),
            ("trim", 0) => plain(Plain::Trim),
            ("ltrim", 0) => plain(Plain::TrimLeft),
            ("rtrim", 0) => plain(Plain::TrimRight),
            ("floor", 0) => plain(Plain::Floor),
            ("ceil", 0) => plain(Plain::Ceil),
            ("round", 0) => plain(Plain::Round),
            ("abs" | "fabs", 0) => plain(Plain::Abs),
            ("reverse", 0) => plain(Plain::Reverse),
            ("add", 0) => plain(Plain::Add),
            ("min", 0) => plain(Plain::Smallest),
            ("max", 0) => plain(Plain::Largest),
            ("flatten", 0) => plain(Plain::Flatten),
            ("flatten", 1) => with(With::Flatten),
            ("sort", 0) => plain(Plain::Sort),
            ("unique", 0) => plain(Plain::Unique),
            ("has", 1) => with(With::Has),
            ("in", 1) => with(With::HasKey),
            ("contains", 1) => with(With::Contains),
            ("inside", 1) => with(With::Inside),
            ("startswith", 1) => with(With::Begins),
            ("endswith", 1) => with(With::Ends),
            ("ltrimstr", 1) => with(With::TrimStart),
            ("rtrimstr", 1) => with(With::TrimEnd),
            ("split", 1) => with(With::Split),
            ("join", 1) => with(With::Join),
            ("index", 1) => with(With::Index),
            ("values", 0) => Some(Self::Only(&["boolean", "number", "string", "array", "object"])),
            ("nulls", 0) => Some(Self::Only(&["null"])),
            ("booleans", 0) => Some(Self::Only(&["boolean"])),
            ("numbers", 0) => Some(Self::Only(&["number"])),
            ("strings", 0) => Some(Self::Only(&["string"])),
            ("arrays", 0) => Some(Self::Only(&["array"])),
            ("objects", 0) => Some(Self::Only(&["object"])),
            ("iterables", 0) => Some(Self::Only(&["array", "object"])),
            ("scalars", 0) => Some(Self::Only(&["null", "boolean", "number", "string"])),
            _ => None,
        }
    }
}

impl Run {
    pub(super) fn call<'v>(
        &mut self,
        function: Function,
        arguments: &[Expression],
        at: &Found<'v>,
    ) -> Results<'v> {
        let value = &*at.value;
        match function {
            Function::Empty => Ok(Vec::new()),
            Function::Not => self.make(Value::Bool(!truth(value))),
            Function::Only(kinds) => {
                self.pay_for_copy(at)?;
                Ok(kinds.contains(&kind(value)).then(|| at.clone()).into_iter().collect())
            }
            Function::Select => {
                let mut results = Vec::new();
                for found in self.evaluate(&arguments[0], at)? {
                    self.pay_for_copy(at)?;
                    results.extend(truth(&found.value).then(|| at.clone()));
                }
                Ok(results)
            }
            Function::Map => {
                let mapped = self.map(&arguments[0], at)?;
                self.make(Value::Array(mapped))
            }
            Function::MapEntries => {
                let entries = self.make(to_entries(value)?)?;
                let mut results = Vec::new();
                for entries in entries {
                    let mapped = self.map(&arguments[0], &entries)?;
                    results.extend(self.make(from_entries(&Value::Array(mapped))?)?);
                }
                Ok(results)
            }
            Function::Any | Function::All => {
                let wanted = function == Function::Any;
                let found = self.is_any(wanted, arguments, at)?;
                self.make(Value::Bool(found == wanted))
            }
            Function::In => {
                let mut is_in = false;
                for candidate in self.evaluate(&arguments[0], at)? {
                    self.pay(weight(value).min(weight(&candidate.value)))?;
                    is_in |= order(value, &candidate.value).is_eq();
                }
                self.make(Value::Bool(is_in))
            }
            Function::First | Function::Last => self.end(function, arguments, at),
            Function::Limit | Function::Nth => self.some(function, arguments, at),
            Function::IsEmpty => {
                let is_empty = self.evaluate(&arguments[0], at)?.is_empty();
                self.make(Value::Bool(is_empty))
            }
            Function::Range => self.range(arguments, at),
            Function::GetPath => self.get_path(&arguments[0], at),
            Function::Path => self.path(&arguments[0], at),
            Function::Paths => self.paths(arguments.first(), at),
            Function::MapValues => self.map_values(&arguments[0], at),
            Function::By(by) => self.by(by, &arguments[0], at),
            Function::Test => self.test(arguments, at),
            Function::Replace { all } => self.replace(all, arguments, at),
            Function::Plain(function) => {
                self.pay(weight(value))?;
                let answer = plain(function, value)?;
                self.make(answer)
            }
            Function::With(function) => {
                let mut results = Vec::new();
                for argument in self.evaluate(&arguments[0], at)? {
                    self.pay_for_pairs(function, value, &argument.value)?;
                    let answer = with(function, value, &argument.value)?;
                    results.extend(self.make(answer)?);
                }
                Ok(results)
            }
        }
    }

    /// What an expression makes of each element.
    fn map(&mut self, expression: &Expression, at: &Found<'_>) -> Result<Vec<Value>, RunError> {
        let mut mapped = Vec::new();
        for item in self.iterate(at)? {
            let made = self.evaluate(expression, &item)?;
            mapped.extend(made.into_iter().map(|it| it.value.into_owned()));
        }
        Ok(mapped)
    }

    /// `any`, `any(condition)` and `any(generator; condition)`: does a condition
    /// come out as `wanted`? If none does, the answer is the opposite.
    fn is_any(
        &mut self,
        wanted: bool,
        arguments: &[Expression],
        at: &Found<'_>,
    ) -> Result<bool, RunError> {
        let (items, condition) = match arguments {
            [generator, condition] => (self.evaluate(generator, at)?, Some(condition)),
            arguments => (self.iterate(at)?, arguments.first()),
        };
        for item in items {
            let holds = match condition {
                Some(condition) => self.is_true(condition, &item)?,
                None => truth(&item.value),
            };
            if holds == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first or last element of a list, or of what an expression yields.
    fn end<'v>(
        &mut self,
        function: Function,
        arguments: &[Expression],
        at: &Found<'v>,
    ) -> Results<'v> {
        let is_first = function == Function::First;
        let Some(of) = arguments.first() else {
            self.pay_for_copy(at)?;
            return Ok(vec![field(at, &json!(if is_first { 0 } else { -1 }))?]);
        };
        let mut found = self.evaluate(of, at)?;
        if is_first {
            found.truncate(1);
        } else if let Some(last) = found.pop() {
            found = vec![last];
        }
        Ok(found)
    }

    /// `limit(count; generator)`, `nth(position)` and `nth(position; generator)`.
    fn some<'v>(
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
                Function::Limit => (0, super::arithmetic::times(&wanted.value)),
                _ if count < 0.0 => return Err(wrong("count to", &wanted.value)),
                _ => (super::arithmetic::times(&wanted.value), 1),
            };
            results.extend(found.into_iter().skip(skipped).take(taken));
        }
        Ok(results)
    }

    /// Numbers from one (or zero) to below another, each of which is paid for.
    fn range<'v>(&mut self, arguments: &[Expression], at: &Found<'v>) -> Results<'v> {
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
            results.extend(self.make(super::arithmetic::number(next)?)?);
            next += by;
        }
        Ok(results)
    }

    /// Where an expression leads to, as a list of names and positions.
    fn path<'v>(&mut self, of: &Expression, at: &Found<'v>) -> Results<'v> {
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
    fn paths<'v>(&mut self, condition: Option<&Expression>, at: &Found<'v>) -> Results<'v> {
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
    fn map_values<'v>(&mut self, of: &Expression, at: &Found<'v>) -> Results<'v> {
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

    fn by<'v>(&mut self, by: By, of: &Expression, at: &Found<'v>) -> Results<'v> {
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

    /// `sub(pattern; replacement)`: the replacement sees the named parts of the match.
    fn replace<'v>(&mut self, all: bool, arguments: &[Expression], at: &Found<'v>) -> Results<'v> {
        let subject = text(&at.value, "match")?;
        let flags = match arguments.get(2) {
            Some(flags) => self.evaluate(flags, at)?.into_iter().next(),
            None => None,
        };
        let flags = flags.map(|it| it.value.into_owned()).unwrap_or_default();
        let all = all || flags.as_str().is_some_and(|flags| flags.contains('g'));
        let mut results = Vec::new();
        for pattern in self.evaluate(&arguments[0], at)? {
            self.pay(1 + subject.len() / 64)?;
            let pattern = self.pattern(&pattern.value, &flags)?.clone();
            let mut replaced = String::new();
            let mut copied = 0;
            for found in pattern.captures_iter(subject).take(if all { usize::MAX } else { 1 }) {
                self.pay(1)?;
                let names = pattern.capture_names().flatten();
                let parts = names.map(|name| {
                    let part = found.name(name).map(|it| Value::from(it.as_str()));
                    (name.to_owned(), part.unwrap_or_default())
                });
                let parts = made(Value::Object(parts.collect()));
                let Some(whole) = found.get(0) else { continue };
                replaced.push_str(&subject[copied..whole.start()]);
                if let Some(instead) = self.evaluate(&arguments[1], &parts)?.first() {
                    let instead = text(&instead.value, "replace by")?;
                    self.pay(1 + instead.len() / 64)?;
                    replaced.push_str(instead);
                }
                copied = whole.end();
            }
            replaced.push_str(&subject[copied..]);
            results.extend(self.make(Value::from(replaced))?);
        }
        Ok(results)
    }

    fn get_path<'v>(&mut self, path: &Expression, at: &Found<'v>) -> Results<'v> {
        let mut results = Vec::new();
        for path in self.evaluate(path, at)? {
            let Value::Array(steps) = &*path.value else {
                return Err(wrong("take as a path", &path.value));
            };
            let mut reached = at.clone();
            for step in steps {
                self.pay_for_copy(&reached)?;
                self.pay(1)?;
                reached = field(&reached, step)?;
            }
            results.push(reached);
        }
        Ok(results)
    }

    fn test<'v>(&mut self, arguments: &[Expression], at: &Found<'v>) -> Results<'v> {
        let subject = text(&at.value, "match")?;
        let flags = match arguments.get(1) {
            Some(flags) => self.evaluate(flags, at)?,
            None => vec![made(Value::Null)],
        };
        let mut results = Vec::new();
        for argument in self.evaluate(&arguments[0], at)? {
            for flags in &flags {
                self.pay(1 + subject.len() / 64)?;
                let is_match = self.pattern(&argument.value, &flags.value)?.is_match(subject);
                results.push(made(Value::Bool(is_match)));
            }
        }
        Ok(results)
    }

    fn pattern(&mut self, pattern: &Value, flags: &Value) -> Result<&Regex, RunError> {
        let written = text(pattern, "match with")?;
        let flags = if flags.is_null() { "" } else { text(flags, "match with")? };
        let key = format!("{flags}/{written}");
        if !self.patterns.contains_key(&key) {
            self.pay(STEPS_PER_PATTERN)?;
            let mut builder = RegexBuilder::new(written);
            builder.size_limit(1 << 20);
            for flag in flags.chars() {
                match flag {
                    'i' => builder.case_insensitive(true),
                    'x' => builder.ignore_whitespace(true),
                    's' => builder.dot_matches_new_line(true),
                    // Which matches there are makes no difference to whether there is one.
                    'g' | 'n' => &mut builder,
                    _ => return Err(wrong("match with", pattern)),
                };
            }
            let read = builder.build().map_err(|_| wrong("match with", pattern))?;
            self.patterns.insert(key.clone(), read);
        }
        self.patterns.get(&key).ok_or(wrong("match with", pattern))
    }

    /// What lies in what is found by trying every pair.
    fn pay_for_pairs(
        &mut self,
        function: With,
        value: &Value,
        argument: &Value,
    ) -> Result<(), RunError> {
        let (value, argument) = (weight(value), weight(argument));
        self.pay(match function {
            With::Contains | With::Inside | With::Index => value.saturating_mul(argument),
            _ => value.saturating_add(argument),
        })
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
