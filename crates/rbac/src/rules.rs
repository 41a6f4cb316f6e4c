//! The lines of a policy, laid out by whom and what they concern.
//!
//! A decision looks at the rules of one subject at a time, and among these only
//! at those whose object pattern begins as the object does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::line::{Effect, Finding, Line, read};
use crate::pattern::{Fit, MatchMode, Pattern};
use crate::policy::Request;
use crate::{action, resource};

#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    mode: MatchMode,
    by_subject: BTreeMap<Box<str>, Arc<SubjectRules>>,
    /// The roles that `g` lines give, by who has them.
    roles: BTreeMap<Box<str>, Vec<Box<str>>>,
}

/// The rules of one subject, by the literal text their object pattern begins with.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubjectRules {
    mode: MatchMode,
    by_prefix: BTreeMap<Box<str>, Vec<Rule>>,
    /// The lengths that occur among the prefixes, shortest first.
    lengths: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Rule {
    resource: Pattern,
    action: Pattern,
    object: Pattern,
    effect: Effect,
}

/// What the rules of a subject say about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    Denied,
    Silent,
}

impl Rules {
    /// Reads a policy. It counts as a whole or not at all: with a line that
    /// cannot be read there are no rules, only findings.
    pub(crate) fn parse(text: &str, mode: MatchMode) -> (Option<Self>, Vec<Finding>) {
        let (lines, mut findings) = read(text);
        if !findings.is_empty() {
            return (None, findings);
        }
        let mut rules = Self { mode, ..Self::default() };
        for (number, line) in lines {
            rules.add(number, line, &mut findings);
        }
        (Some(rules), findings)
    }

    fn add(&mut self, number: usize, line: Line, findings: &mut Vec<Finding>) {
        match line {
            Line::Nothing => {}
            Line::Member { name, role } => {
                self.roles.entry(name.into()).or_default().push(role.into());
            }
            Line::Rule { subject, resource, action, object, effect } => {
                let mut find =
                    |message| findings.push(Finding { line: number, is_fatal: false, message });
                if effect == Effect::Nothing {
                    find("the effect is neither allow nor deny, so the line does nothing".into());
                }
                if let Some(unknown) = unknown_word(&resource, &action) {
                    find(unknown);
                }
                let rule = Rule {
                    resource: Pattern::new(&resource, self.mode),
                    action: Pattern::new(&action, self.mode),
                    object: Pattern::new(&object, self.mode),
                    effect,
                };
                for (pattern, text) in
                    [(&rule.resource, resource), (&rule.action, action), (&rule.object, object)]
                {
                    if pattern.is_unreadable() {
                        find(format!("the pattern {text:?} cannot be read{}", self.consequence()));
                    }
                }
                let rules = self.by_subject.entry(subject.into()).or_default();
                Arc::make_mut(rules).add(rule, self.mode);
            }
        }
    }

    fn consequence(&self) -> &'static str {
        match self.mode {
            MatchMode::Glob => " and matches nothing",
            MatchMode::Regex => " and denies what it is asked about",
        }
    }

    pub(crate) fn roles_of(&self, name: &str) -> &[Box<str>] {
        self.roles.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn is_member(&self, name: &str) -> bool {
        self.roles.contains_key(name)
    }

    /// Every role that some `g` line gives.
    pub(crate) fn roles(&self) -> BTreeSet<&str> {
        self.roles.values().flatten().map(|it| &**it).collect()
    }

    /// Everybody whom a line names: who has a role, is one, or is spoken of.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let named = self.by_subject.keys().chain(self.roles.keys());
        named.chain(self.roles.values().flatten()).map(|it| &**it)
    }

    /// The rules about one subject.
    pub(crate) fn about(&self, subject: &str) -> Option<&Arc<SubjectRules>> {
        self.by_subject.get(subject)
    }
}

impl SubjectRules {
    pub(crate) fn judge(&self, request: &Request<'_>) -> Verdict {
        let mut verdict = Verdict::Silent;
        for rule in self.concerning(request.object) {
            match rule.judge(request, self.mode) {
                Verdict::Denied => return Verdict::Denied,
                Verdict::Allowed => verdict = Verdict::Allowed,
                Verdict::Silent => {}
            }
        }
        verdict
    }

    fn add(&mut self, rule: Rule, mode: MatchMode) {
        self.mode = mode;
        let prefix = rule.object.prefix();
        if let Err(place) = self.lengths.binary_search(&prefix.len()) {
            self.lengths.insert(place, prefix.len());
        }
        self.by_prefix.entry(prefix.into()).or_default().push(rule);
    }

    fn concerning<'s>(&'s self, object: &'s str) -> impl Iterator<Item = &'s Rule> {
        let prefixes = self.lengths.iter().map_while(|length| match object.get(..*length) {
            Some(prefix) => Some(Some(prefix)),
            None if *length < object.len() => Some(None), // inside of a character
            None => None,
        });
        prefixes.flatten().filter_map(|prefix| self.by_prefix.get(prefix)).flatten()
    }
}

impl Rule {
    /// Resource, action and object are asked in this order, as a pattern that is
    /// broken counts only when it is reached.
    fn judge(&self, request: &Request<'_>, mode: MatchMode) -> Verdict {
        let parts = [
            (&self.resource, request.resource),
            (&self.action, request.action),
            (&self.object, request.object),
        ];
        for (pattern, text) in parts {
            match pattern.fits(text, mode) {
                Fit::Yes => {}
                Fit::No => return Verdict::Silent,
                Fit::Broken => return Verdict::Denied,
            }
        }
        match self.effect {
            Effect::Allow => Verdict::Allowed,
            Effect::Deny => Verdict::Denied,
            Effect::Nothing => Verdict::Silent,
        }
    }
}

/// A plain word that is in no vocabulary: most likely mistyped.
fn unknown_word(resource: &str, action: &str) -> Option<String> {
    let is_plain = |text: &str| text.chars().all(|it| it.is_ascii_alphanumeric() || it == '-');
    if is_plain(resource) && !resource::ALL.contains(&resource) {
        return Some(format!("there is no resource {resource:?}"));
    }
    let verb = action.split('/').next().unwrap_or_default();
    (is_plain(verb) && !action::ALL.contains(&verb)).then(|| format!("there is no action {verb:?}"))
}
