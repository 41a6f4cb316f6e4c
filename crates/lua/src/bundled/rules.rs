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
//! that is meant by a star. A line is a test, a colon and a verdict. A block
//! without a line that holds has no opinion.
//!
//! Tests, joined by ` & `, each negated by a leading `!`:
//! - `Type=Status`, `Type=Status/Reason` or `Type=Status/Reason/Message`: there
//!   is such an entry in `status.conditions` (alternatives separated by `|`, `*`
//!   for any, `+` for any that is not empty, `!` before them for any other)
//! - `.path`: it is there and not empty; `.path?`: it is there; `.path=a|b`,
//!   `.path!=a`: its text. A name with dots stands in brackets: `.labels.[a.b/c]`
//! - `.path<.path`, also `<=`: both are numbers and the first is smaller;
//!   `.path>1`: it is a number above; `.path==.path`: both are the same, also
//!   where both are missing
//! - `stale`: the status says that it was written for another generation;
//!   `unobserved`: it does not say that it was written for this one
//! - `outdated`: the condition says that it was written for another generation
//! - `else`: always
//!
//! A verdict is a status and a message, in which `{message}` and `{reason}` are
//! those of the last condition that the tests found, `{.path}` is a value (the
//! elements of a list with commas between them) and `{kind}` the kind; in
//! `{message|reason|a text}` the first that is there.
//!
//! Each line looks through all conditions. Lines that begin with `- ` are
//! asked together: the first condition in the order of the object for which one
//! of them holds decides. Lines that begin with `~ ` begin with the last condition.
//!
//! `code name` instead of lines hands the kind to a function.

mod read;

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
    Groups(Vec<Group>),
    Code(special::Judge),
}

/// Lines that are asked together.
#[derive(Debug)]
pub(super) struct Group {
    walk: Walk,
    lines: Vec<Line>,
}

/// In which order the conditions of an object are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    /// Each line looks through all of them.
    ByLine,
    /// Each condition is held against all lines, the first one first.
    FromFirst,
    /// Each condition is held against all lines, the last one first.
    FromLast,
}

#[derive(Debug)]
struct Line {
    tests: Vec<Test>,
    status: Status,
    message: Vec<Piece>,
}

#[derive(Debug)]
struct Test {
    negated: bool,
    question: Question,
}

type Path = Vec<String>;

#[derive(Debug)]
enum Question {
    Always,
    Stale,
    Unobserved,
    Outdated,
    NotEmpty(Path),
    Exists(Path),
    Equals(Path, Vec<String>),
    Same(Path, Path),
    Smaller { left: Path, right: Path, or_equal: bool },
    Above(Path, f64),
    Condition(ConditionPattern),
}

/// What an entry of `status.conditions` must look like.
#[derive(Debug)]
struct ConditionPattern {
    kinds: Words,
    statuses: Words,
    reasons: Words,
    messages: Words,
}

/// Texts that are meant, or all others.
#[derive(Debug)]
struct Words {
    others: bool,
    words: Vec<String>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    /// The first of these that is there.
    FirstOf(Vec<Source>),
}

#[derive(Debug)]
enum Source {
    Literal(String),
    Path(Path),
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
}

impl Block {
    pub(super) fn judge(&self, object: &Object) -> Option<Health> {
        match self {
            Self::Code(judge) => judge(object),
            Self::Groups(groups) => groups.iter().find_map(|group| group.judge(object)),
        }
    }
}

impl Group {
    fn judge(&self, object: &Object) -> Option<Health> {
        let conditions = object.list(&["status", "conditions"]);
        let of_one = |condition: &Value| {
            let condition = std::slice::from_ref(condition);
            self.lines.iter().find_map(|line| line.judge(object, condition))
        };
        match self.walk {
            Walk::ByLine => self.lines.iter().find_map(|line| line.judge(object, conditions)),
            Walk::FromFirst => conditions.iter().find_map(of_one),
            Walk::FromLast => conditions.iter().rev().find_map(of_one),
        }
    }
}

impl Line {
    fn judge(&self, object: &Object, conditions: &[Value]) -> Option<Health> {
        let mut condition = None;
        for test in &self.tests {
            let holds = test.question.holds(object, conditions, &mut condition);
            if holds == test.negated {
                return None;
            }
        }
        let message = self.message.iter().map(|piece| piece.render(object, condition));
        Some(Health { status: self.status, message: message.collect() })
    }
}

impl Piece {
    fn render(&self, object: &Object, condition: Option<&Value>) -> String {
        let sources = match self {
            Self::Text(text) => return text.clone(),
            Self::FirstOf(sources) => sources,
        };
        let found = sources.iter().find_map(|source| match source {
            Source::Literal(text) => Some(text.clone()),
            Source::Kind => Some(object.kind().to_owned()),
            Source::Path(path) => at(object, path).map(text_of),
            Source::OfCondition(field) => {
                condition?.get(field).filter(|it| !it.is_null()).map(text_of)
            }
        });
        found.unwrap_or_default()
    }
}

impl Question {
    fn holds<'o>(
        &self,
        object: &Object,
        conditions: &'o [Value],
        condition: &mut Option<&'o Value>,
    ) -> bool {
        let number = |path: &[String]| at(object, path).and_then(Value::as_f64);
        match self {
            Self::Always => true,
            Self::Stale => is_stale(object),
            Self::Unobserved => is_unobserved(object),
            Self::Outdated => conditions.iter().any(|it| is_outdated(it, object)),
            Self::NotEmpty(path) => at(object, path).is_some_and(|value| !is_empty(value)),
            Self::Exists(path) => at(object, path).is_some(),
            Self::Equals(path, values) => {
                let text = at(object, path).map(text_of);
                text.is_some_and(|text| values.contains(&text))
            }
            Self::Same(left, right) => at(object, left) == at(object, right),
            Self::Smaller { left, right, or_equal } => match (number(left), number(right)) {
                (Some(left), Some(right)) => left < right || *or_equal && left <= right,
                _ => false,
            },
            Self::Above(path, least) => number(path).is_some_and(|number| number > *least),
            Self::Condition(pattern) => {
                let found = conditions.iter().find(|it| pattern.fits(it));
                if found.is_some() {
                    *condition = found;
                }
                found.is_some()
            }
        }
    }
}

impl ConditionPattern {
    fn fits(&self, condition: &Value) -> bool {
        let text = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
        self.kinds.mean(text("type"))
            && self.statuses.mean(text("status"))
            && self.reasons.mean(text("reason"))
            && self.messages.mean(text("message"))
    }
}

impl Words {
    fn mean(&self, text: &str) -> bool {
        let named =
            self.words.iter().any(|it| it == "*" || it == text || it == "+" && !text.is_empty());
        named != self.others
    }
}

/// Does the status say that it was written for another generation of the spec?
pub(super) fn is_stale(object: &Object) -> bool {
    let generation = object.integer(&["metadata", "generation"]);
    let observed = object.integer(&["status", "observedGeneration"]);
    matches!((generation, observed), (Some(generation), Some(observed)) if generation != observed)
}

/// Does the status fail to say that it was written for this generation?
pub(super) fn is_unobserved(object: &Object) -> bool {
    object.integer(&["metadata", "generation"]) != object.integer(&["status", "observedGeneration"])
}

/// Does a condition say that it was written for another generation?
pub(super) fn is_outdated(condition: &Value, object: &Object) -> bool {
    let observed = condition.get("observedGeneration").and_then(Value::as_i64);
    let generation = object.integer(&["metadata", "generation"]);
    matches!((generation, observed), (Some(generation), Some(observed)) if generation != observed)
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
        Value::Array(list) => list.iter().map(text_of).collect::<Vec<_>>().join(", "),
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
    fn a_path_may_be_there_and_empty() {
        let status = json!({"empty": "", "zero": 0, "list": ["a", 1], "observedGeneration": 2});
        check("  .status.empty: Healthy", &status, "none");
        check("  .status.empty?: Healthy", &status, "Healthy ");
        check("  .status.nope?: Healthy", &status, "none");
        check("  .status.zero>0: Healthy", &status, "none");
        check("  .spec.replicas>2: Healthy", &status, "Healthy ");
        check("  .status.nope==.status.nada: Healthy", &status, "Healthy ");
        check("  .status.zero==.spec.replicas: Healthy", &status, "none");
        check("  unobserved: Progressing", &status, "none");
        check("  unobserved: Progressing", &json!({}), "Progressing ");
        check("  else: Healthy {.status.list}", &status, "Healthy a, 1");
        check("  else: Healthy {.status.nope|.status.zero|none}", &status, "Healthy 0");
        check("  else: Healthy {.status.nope|nothing yet}", &status, "Healthy nothing yet");
        let labels = json!({"labels": {"a.b/c": "x"}});
        check("  .status.labels.[a.b/c]=x: Healthy {.status.labels.[a.b/c]}", &labels, "Healthy x");
    }

    #[test]
    fn a_walk_takes_the_conditions_in_their_order() {
        let condition =
            |kind: &str, status: &str| json!({"type": kind, "status": status, "message": kind});
        let status = json!({"conditions": [condition("A", "False"), condition("B", "True")]});
        check("  B=True: Healthy {message}\n  A=False: Degraded", &status, "Healthy B");
        check("  - B=True: Healthy\n  - A=False: Degraded {message}", &status, "Degraded A");
        check("  - C=*: Unknown\n  else: Healthy", &status, "Healthy ");
        check("  ~ *=*: Healthy {message}", &status, "Healthy B");
        check("  - A|B=True: Healthy {message}", &status, "Healthy B");
        check("  - A=!True: Degraded {message}", &status, "Degraded A");
        check("  - *=*/*/B: Healthy {message|reason}", &status, "Healthy B");
        check("  - *=*/+: Healthy", &status, "none");
    }

    #[test]
    fn a_condition_may_be_of_another_generation() {
        let old =
            json!({"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]});
        let rules = "  - outdated: Progressing\n  - Ready=True: Healthy";
        check(rules, &old, "Progressing ");
        let silent = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        check(rules, &silent, "Healthy ");
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
