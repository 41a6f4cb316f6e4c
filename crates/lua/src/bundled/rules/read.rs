//! Reads the notation of the rules.

use std::collections::BTreeMap;

use super::{
    BadRule, Block, ConditionPattern, Group, GroupPattern, Line, Path, Piece, Question, RuleBook,
    Source, Test, Walk, Words,
};
use crate::Status;
use crate::bundled::special;

impl RuleBook {
    pub(in crate::bundled) fn parse(text: &str) -> Result<Self, BadRule> {
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
        self.blocks.push(Block::Groups(Vec::new()));
        Some(())
    }

    fn read_rule(&mut self, rule: &str) -> Option<()> {
        let block = self.blocks.last_mut()?;
        if let Some(name) = rule.strip_prefix("code ") {
            *block = Block::Code(special::named(name)?);
            return Some(());
        }
        let Block::Groups(groups) = block else { return None };
        let (walk, rule) = match (rule.strip_prefix("- "), rule.strip_prefix("~ ")) {
            (Some(rule), _) => (Walk::FromFirst, rule),
            (_, Some(rule)) => (Walk::FromLast, rule),
            _ => (Walk::ByLine, rule),
        };
        let line = read_line(rule)?;
        match groups.last_mut() {
            Some(group) if group.walk == walk => group.lines.push(line),
            _ => groups.push(Group { walk, lines: vec![line] }),
        }
        Some(())
    }
}

fn read_line(rule: &str) -> Option<Line> {
    let (tests, verdict) = rule.split_once(": ").or_else(|| Some((rule.strip_suffix(':')?, "")))?;
    let (status, message) = verdict.split_once(' ').unwrap_or((verdict, ""));
    Some(Line {
        tests: tests.split(" & ").map(read_test).collect::<Option<_>>()?,
        status: Status::parse(status)?,
        message: read_message(message)?,
    })
}

fn read_test(text: &str) -> Option<Test> {
    let (negated, text) = match text.strip_prefix('!') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let question = match text {
        "else" => Question::Always,
        "stale" => Question::Stale,
        "unobserved" => Question::Unobserved,
        "outdated" => Question::Outdated,
        _ if text.starts_with('.') => return read_path_test(text, negated),
        _ => {
            let (kinds, rest) = text.split_once('=')?;
            let mut parts = rest.splitn(3, '/');
            let mut part = || words(parts.next().unwrap_or("*"));
            Question::Condition(ConditionPattern {
                kinds: words(kinds),
                statuses: part(),
                reasons: part(),
                messages: part(),
            })
        }
    };
    Some(Test { negated, question })
}

fn read_path_test(text: &str, negated: bool) -> Option<Test> {
    if let Some((left, right)) = text.split_once("!=") {
        let question = Question::Equals(path(left)?, alternatives(right));
        return Some(Test { negated: !negated, question });
    }
    let question = if let Some((left, right)) = text.split_once("==") {
        Question::Same(path(left)?, path(right)?)
    } else if let Some((left, right)) = text.split_once("<=") {
        Question::Smaller { left: path(left)?, right: path(right)?, or_equal: true }
    } else if let Some((left, right)) = text.split_once('<') {
        Question::Smaller { left: path(left)?, right: path(right)?, or_equal: false }
    } else if let Some((left, right)) = text.split_once('>') {
        Question::Above(path(left)?, right.parse().ok()?)
    } else if let Some((left, right)) = text.split_once('=') {
        Question::Equals(path(left)?, alternatives(right))
    } else if let Some(left) = text.strip_suffix('?') {
        Question::Exists(path(left)?)
    } else {
        Question::NotEmpty(path(text)?)
    };
    Some(Test { negated, question })
}

fn words(text: &str) -> Words {
    match text.strip_prefix('!') {
        Some(text) => Words { others: true, words: alternatives(text) },
        None => Words { others: false, words: alternatives(text) },
    }
}

fn alternatives(text: &str) -> Vec<String> {
    text.split('|').map(str::to_owned).collect()
}

/// Names with a dot before each; one that has dots itself stands in brackets.
fn path(text: &str) -> Option<Path> {
    let mut names = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.')?;
        let (name, after) = match rest.strip_prefix('[') {
            Some(bracketed) => bracketed.split_once(']')?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        names.push(name.to_owned());
        rest = after;
    }
    Some(names)
}

fn read_message(text: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (names, after) = after.split_once('}')?;
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(Piece::FirstOf(names.split('|').map(source).collect::<Option<_>>()?));
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Some(pieces)
}

fn source(name: &str) -> Option<Source> {
    Some(match name {
        "message" => Source::OfCondition("message"),
        "reason" => Source::OfCondition("reason"),
        "kind" => Source::Kind,
        _ if name.starts_with('.') => Source::Path(path(name)?),
        text => Source::Literal(text.to_owned()),
    })
}
