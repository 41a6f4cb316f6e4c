//! Health as data: conditions on an object, each with a verdict.
//!
//! ```text
//! cert-manager.io/Issuer cert-manager.io/ClusterIssuer     the kinds of this block
//!   Ready=True: Healthy {message}                          first line that holds decides
//!   Ready=False/Pending|Retry: Progressing {reason}
//!   .spec.paused=true & .status.phase!=Failed: Suspended Paused
//!   else: Progressing Waiting for {kind}
//! ```
//!
//! A block names kinds as group/kind, where `*` may stand for a kind and
//! `*.example.com` for every group below; a kind named exactly goes before one
//! that is meant by a star. A line is a test, a colon and a verdict.
//!
//! Tests, joined by ` & `, each negated by a leading `!`:
//! - `Type=Status` or `Type=Status/Reason`: there is such an entry in
//!   `status.conditions` (alternatives separated by `|`, `*` for any, `+` for
//!   any that is not empty)
//! - `.path`: it is there and not empty; `.path=a|b`, `.path!=a`: its text
//! - `.path<.path`, also `<=`: both are numbers and the first is smaller
//! - `stale`: the status was written for another generation; `conditions-stale`:
//!   one of its conditions was
//! - `else`: always
//!
//! A verdict is a status and a message, in which `{message}` and `{reason}` are
//! those of the last condition that the tests found, `{.path}` is a value and
//! `{kind}` the kind. `code name` instead of lines hands the kind to a function.

use std::collections::BTreeMap;

use object::Object;
use serde_json::Value;

use super::special;
use crate::{Health, Status};

/// All blocks, by kind.
#[derive(Debug)]
pub(super) struct RuleBook {
    /// By group, then by kind.
    exact: BTreeMap<String, BTreeMap<String, usize>>,
    /// Group (without its star) and kind, in the order of the file.
    patterns: Vec<(GroupPattern, String, usize)>,
    blocks: Vec<Block>,
}

#[derive(Debug)]
enum GroupPattern {
    Exact(String),
    Below(String),
}

#[derive(Debug)]
pub(super) enum Block {
    Lines(Vec<Line>),
    Code(special::Judge),
}

#[derive(Debug)]
pub(super) struct Line {
    tests: Vec<Test>,
    status: Status,
    message: Vec<Piece>,
}

#[derive(Debug)]
struct Test {
    negated: bool,
    question: Question,
}

#[derive(Debug)]
enum Question {
    Always,
    Stale,
    ConditionsStale,
    Exists(Vec<String>),
    Equals(Vec<String>, Vec<String>),
    Smaller { left: Vec<String>, right: Vec<String>, or_equal: bool },
    Condition { kind: String, statuses: Vec<String>, reasons: Vec<String> },
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Path(Vec<String>),
    Kind,
    OfCondition(&'static str),
}

/// A line of the rules that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read line {line} of the health rules: {text:?}")]
pub(super) struct BadRule {
    line: usize,
    text: String,
}

impl RuleBook {
    pub(super) fn parse(text: &str) -> Result<Self, BadRule> {
        let mut book = Self { exact: BTreeMap::new(), patterns: Vec::new(), blocks: Vec::new() };
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let read = match line.strip_prefix("  ") {
                Some(rule) => book.read_rule(rule),
                None => book.read_kinds(line),
            };
            read.ok_or_else(|| BadRule { line: number + 1, text: line.to_owned() })?;
        }
        Ok(book)
    }

    /// The block of a kind: one that names it, else the first that means it.
    pub(super) fn find(&self, group: &str, kind: &str) -> Option<&Block> {
        let exact = self.exact.get(group).and_then(|kinds| kinds.get(kind));
        let meant = || {
            let found = self.patterns.iter().find(|(pattern, of_kind, _)| {
                (of_kind == "*" || of_kind == kind)
                    && match pattern {
                        GroupPattern::Exact(name) => name == group,
                        GroupPattern::Below(suffix) => group.ends_with(suffix.as_str()),
                    }
            });
            found.map(|(_, _, index)| index)
        };
        exact.or_else(meant).and_then(|index| self.blocks.get(*index))
    }

    fn read_kinds(&mut self, line: &str) -> Option<()> {
        let index = self.blocks.len();
        for name in line.split_whitespace() {
            let (group, kind) = name.split_once('/')?;
            if let Some(suffix) = group.strip_prefix('*') {
                let pattern = GroupPattern::Below(suffix.to_owned());
                self.patterns.push((pattern, kind.to_owned(), index));
            } else if kind == "*" {
                let pattern = GroupPattern::Exact(group.to_owned());
                self.patterns.push((pattern, kind.to_owned(), index));
            } else {
                let kinds = self.exact.entry(group.to_owned()).or_default();
                kinds.insert(kind.to_owned(), index);
            }
        }
        self.blocks.push(Block::Lines(Vec::new()));
        Some(())
    }

    fn read_rule(&mut self, rule: &str) -> Option<()> {
        let block = self.blocks.last_mut()?;
        if let Some(name) = rule.strip_prefix("code ") {
            *block = Block::Code(special::named(name)?);
            return Some(());
        }
        let Block::Lines(lines) = block else { return None };
        let (tests, verdict) =
            rule.split_once(": ").or_else(|| Some((rule.strip_suffix(':')?, "")))?;
        let (status, message) = verdict.split_once(' ').unwrap_or((verdict, ""));
        lines.push(Line {
            tests: tests.split(" & ").map(read_test).collect::<Option<_>>()?,
            status: Status::parse(status)?,
            message: read_message(message)?,
        });
        Some(())
    }
}

fn read_test(text: &str) -> Option<Test> {
    let (negated, text) = match text.strip_prefix('!') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let question = match text {
        "else" => Question::Always,
        "stale" => Question::Stale,
        "conditions-stale" => Question::ConditionsStale,
        _ if text.starts_with('.') => return read_path_test(text, negated),
        _ => {
            let (kind, rest) = text.split_once('=')?;
            let (statuses, reasons) = rest.split_once('/').unwrap_or((rest, "*"));
            Question::Condition {
                kind: kind.to_owned(),
                statuses: alternatives(statuses),
                reasons: alternatives(reasons),
            }
        }
    };
    Some(Test { negated, question })
}

fn read_path_test(text: &str, negated: bool) -> Option<Test> {
    if let Some((left, right)) = text.split_once("!=") {
        let question = Question::Equals(path(left)?, alternatives(right));
        return Some(Test { negated: !negated, question });
    }
    for (operator, or_equal) in [("<=", true), ("<", false)] {
        if let Some((left, right)) = text.split_once(operator) {
            let (left, right) = (path(left)?, path(right)?);
            return Some(Test { negated, question: Question::Smaller { left, right, or_equal } });
        }
    }
    let question = match text.split_once('=') {
        Some((left, right)) => Question::Equals(path(left)?, alternatives(right)),
        None => Question::Exists(path(text)?),
    };
    Some(Test { negated, question })
}

fn alternatives(text: &str) -> Vec<String> {
    text.split('|').map(str::to_owned).collect()
}

fn path(text: &str) -> Option<Vec<String>> {
    Some(text.strip_prefix('.')?.split('.').map(str::to_owned).collect())
}

fn read_message(text: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(match name {
            "message" => Piece::OfCondition("message"),
            "reason" => Piece::OfCondition("reason"),
            "kind" => Piece::Kind,
            _ => Piece::Path(path(name)?),
        });
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Some(pieces)
}

impl Block {
    pub(super) fn judge(&self, object: &Object) -> Option<Health> {
        match self {
            Self::Code(judge) => judge(object),
            Self::Lines(lines) => lines.iter().find_map(|line| line.judge(object)),
        }
    }
}

impl Line {
    fn judge(&self, object: &Object) -> Option<Health> {
        let mut condition = None;
        for test in &self.tests {
            let holds = test.question.holds(object, &mut condition);
            if holds == test.negated {
                return None;
            }
        }
        let message = self.message.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Kind => object.kind().to_owned(),
            Piece::Path(path) => at(object, path).map(text_of).unwrap_or_default(),
            Piece::OfCondition(field) => {
                condition.and_then(|it| it.get(field)).map(text_of).unwrap_or_default()
            }
        });
        Some(Health { status: self.status, message: message.collect() })
    }
}

impl Question {
    fn holds<'o>(&self, object: &'o Object, condition: &mut Option<&'o Value>) -> bool {
        match self {
            Self::Always => true,
            Self::Stale => is_stale(object),
            Self::ConditionsStale => has_stale_condition(object),
            Self::Exists(path) => at(object, path).is_some_and(|value| !is_empty(value)),
            Self::Equals(path, values) => {
                let text = at(object, path).map(text_of);
                text.is_some_and(|text| values.contains(&text))
            }
            Self::Smaller { left, right, or_equal } => {
                let number = |path: &[String]| at(object, path).and_then(Value::as_f64);
                match (number(left), number(right)) {
                    (Some(left), Some(right)) => left < right || *or_equal && left <= right,
                    _ => false,
                }
            }
            Self::Condition { kind, statuses, reasons } => {
                let is_one_of = |value: Option<&Value>, wanted: &[String]| {
                    let text = match value {
                        Some(Value::String(text)) => text,
                        // Some writers use a boolean for the status.
                        Some(Value::Bool(true)) => "True",
                        Some(Value::Bool(false)) => "False",
                        _ => "",
                    };
                    wanted.iter().any(|wanted| {
                        wanted == "*" || wanted == text || wanted == "+" && !text.is_empty()
                    })
                };
                let found = object.list(&["status", "conditions"]).iter().find(|it| {
                    (kind == "*" || it.get("type").and_then(Value::as_str) == Some(kind.as_str()))
                        && is_one_of(it.get("status"), statuses)
                        && is_one_of(it.get("reason"), reasons)
                });
                if found.is_some() {
                    *condition = found;
                }
                found.is_some()
            }
        }
    }
}

/// Was the status written for an earlier generation of the spec?
pub(super) fn is_stale(object: &Object) -> bool {
    let generation = object.integer(&["metadata", "generation"]);
    let observed = object.integer(&["status", "observedGeneration"]);
    matches!((generation, observed), (Some(generation), Some(observed)) if generation != observed)
}

/// Was one of the conditions written for another generation of the spec?
pub(super) fn has_stale_condition(object: &Object) -> bool {
    let Some(generation) = object.integer(&["metadata", "generation"]) else { return false };
    let observed = |condition: &Value| condition.get("observedGeneration")?.as_i64();
    object
        .list(&["status", "conditions"])
        .iter()
        .filter_map(observed)
        .any(|observed| observed != generation)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn at<'o>(object: &'o Object, path: &[String]) -> Option<&'o Value> {
    let (first, rest) = path.split_first()?;
    let value = rest.iter().try_fold(object.fields().get(first)?, |value, field| match value {
        Value::Array(list) => list.get(field.parse::<usize>().ok()?),
        _ => value.get(field),
    })?;
    (!value.is_null()).then_some(value)
}

/// A value as people write it.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(rules: &str, status: &Value, expect: &str) {
        let book = RuleBook::parse(&format!("example.com/Thing\n{rules}")).expect("rules");
        let object = json!({
            "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"generation": 2},
            "spec": {"replicas": 3, "paused": true}, "status": status,
        });
        let object = Object::from_value(object).expect("an object");
        let found = book.find("example.com", "Thing").expect("the block").judge(&object);
        let found = found.map_or("none".to_owned(), |it| format!("{} {}", it.status, it.message));
        assert_eq!(found, expect);
    }

    #[test]
    fn the_first_line_that_holds_decides() {
        let rules = "  Ready=True: Healthy {message}\n  Ready=False/A|B: Degraded {reason}\n  else: Progressing Waiting for {kind}";
        let ready = |status: &str, reason: &str| json!({"conditions": [{"type": "Ready", "status": status, "reason": reason, "message": "m"}]});
        check(rules, &ready("True", "A"), "Healthy m");
        check(rules, &ready("False", "B"), "Degraded B");
        check(rules, &ready("False", "C"), "Progressing Waiting for Thing");
        check(rules, &json!(null), "Progressing Waiting for Thing");
    }

    #[test]
    fn paths_are_compared_as_text_and_as_numbers() {
        let status = json!({"phase": "Up", "ready": 2, "observedGeneration": 1});
        check(
            "  .status.phase=Down|Up: Healthy {.status.ready}/{.spec.replicas}",
            &status,
            "Healthy 2/3",
        );
        check("  .status.phase!=Up: Healthy", &status, "none");
        check("  .status.nope!=Up: Healthy", &status, "Healthy ");
        check("  .status.ready<.spec.replicas: Progressing", &status, "Progressing ");
        check("  .spec.replicas<=.status.ready: Progressing", &status, "none");
        check("  .spec.paused=true & !.status.nope: Suspended", &status, "Suspended ");
        check("  stale: Progressing", &status, "Progressing ");
        check("  !stale: Progressing", &status, "none");
    }

    #[test]
    fn a_kind_that_is_named_goes_before_one_that_is_meant() {
        let book = RuleBook::parse(
            "*.example.com/*\n  else: Healthy below\na.example.com/Thing\n  else: Healthy exact\nb.org/*\n  else: Healthy all",
        )
        .expect("rules");
        let judged = |group: &str, kind: &str| {
            let object = json!({"apiVersion": "v1", "kind": "X"});
            let object = Object::from_value(object).expect("an object");
            book.find(group, kind).and_then(|it| it.judge(&object)).map(|it| it.message)
        };
        assert_eq!(judged("a.example.com", "Thing").as_deref(), Some("exact"));
        assert_eq!(judged("a.example.com", "Other").as_deref(), Some("below"));
        assert_eq!(judged("b.org", "Any").as_deref(), Some("all"));
        assert_eq!(judged("example.com", "Any"), None);
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        for rules in [
            "a/B\n  else Healthy",
            "a/B\n  else: Fine",
            "  else: Healthy",
            "nokind",
            "a/B\n  code nope",
            "a/B\n  else: Healthy {x",
        ] {
            assert!(RuleBook::parse(rules).is_err(), "{rules}");
        }
    }
}
