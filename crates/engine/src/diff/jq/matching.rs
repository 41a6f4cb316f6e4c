//! Regular expressions: does a text match, and with what is that replaced.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::values::text;
use super::{Expression, Found, Results, Run, RunError, made, wrong};

/// What reading a pattern costs: about as much as so many other steps.
const STEPS_PER_PATTERN: usize = 500;

impl Run {
    pub(super) fn test<'v>(&mut self, arguments: &[Expression], at: &Found<'v>) -> Results<'v> {
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

    /// `sub(pattern; replacement)`: the replacement sees the named parts of the match.
    pub(super) fn replace<'v>(
        &mut self,
        all: bool,
        arguments: &[Expression],
        at: &Found<'v>,
    ) -> Results<'v> {
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
}
