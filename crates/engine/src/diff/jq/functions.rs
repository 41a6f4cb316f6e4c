//! The functions that an expression may call. None of them runs longer than what
//! it looks at is large, and each pays for that.

use serde_json::{Value, json};

use super::values::{from_entries, plain, to_entries, with};
use super::{Expression, Found, Results, Run, RunError, field, kind, order, truth, weight, wrong};

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
