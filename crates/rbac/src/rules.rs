//! The lines of a policy, laid out by whom and what they concern.
//!
//! A decision looks at the rules of one subject at a time, and among these only
//! at those whose object pattern begins as the object does.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use regex::RegexSet;

use crate::line::{Effect, Finding, Line, read};
use crate::pattern::{Extent, Fit, MatchMode, Pattern, one_machine};
use crate::policy::Reach;
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
    anywhere: Anywhere,
}

/// Rules whose object is a regular expression that does not say what a text begins with. Where they
/// are many, one machine finds those that fit an object.
#[derive(Clone, Debug, Default)]
struct Anywhere {
    rules: Vec<Rule>,
    machine: Option<RegexSet>,
}

/// Fewer are as quickly asked one by one.
const WORTH_A_MACHINE: usize = 8;

#[derive(Clone, Debug)]
struct Rule {
    resource: Pattern,
    action: Pattern,
    object: Pattern,
    effect: Effect,
}

/// What is asked for, of one object or of all in a project.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) resource: &'a str,
    pub(crate) action: &'a str,
    pub(crate) objects: Objects<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Objects<'a> {
    One(&'a str),
    /// All whose names begin so.
    Below(&'a str),
}

/// What the rules about one subject and its roles come to: a deny outweighs all allows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ruling {
    allowed: Extent,
    denied: Extent,
}

impl Ruling {
    pub(crate) fn hear<'r>(
        &mut self,
        rules: impl Iterator<Item = &'r Arc<SubjectRules>>,
        question: &Question<'_>,
    ) {
        for rules in rules {
            rules.rule(question, self);
            if self.denied == Extent::All {
                return;
            }
        }
    }

    pub(crate) fn reach(self) -> Reach {
        match (self.allowed, self.denied) {
            (_, Extent::All) | (Extent::Nothing, _) => Reach::Nothing,
            (Extent::All, Extent::Nothing) => Reach::All,
            _ => Reach::Parts,
        }
    }
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
        for rules in rules.by_subject.values_mut() {
            Arc::make_mut(rules).anywhere.build();
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
        !self.roles.is_empty() && self.roles.contains_key(name)
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
    fn rule(&self, question: &Question<'_>, ruling: &mut Ruling) {
        let start = match question.objects {
            Objects::One(text) | Objects::Below(text) => text,
        };
        for rule in self.beginning_of(start) {
            rule.add_to(ruling, question, self.mode);
        }
        self.anywhere.rule(question, ruling, self.mode);
        if matches!(question.objects, Objects::Below(_)) {
            for rule in self.below(start) {
                rule.add_to(ruling, question, self.mode);
            }
        }
    }

    fn add(&mut self, rule: Rule, mode: MatchMode) {
        self.mode = mode;
        if rule.object.is_found_anywhere()
            && !rule.resource.is_unreadable()
            && !rule.action.is_unreadable()
        {
            self.anywhere.rules.push(rule);
            return;
        }
        let prefix = rule.object.prefix();
        if let Err(place) = self.lengths.binary_search(&prefix.len()) {
            self.lengths.insert(place, prefix.len());
        }
        self.by_prefix.entry(prefix.into()).or_default().push(rule);
    }

    /// The rules whose prefix the text begins with.
    fn beginning_of<'s>(&'s self, text: &'s str) -> impl Iterator<Item = &'s Rule> {
        let prefixes = self.lengths.iter().map_while(|length| match text.get(..*length) {
            Some(prefix) => Some(Some(prefix)),
            None if *length < text.len() => Some(None), // inside of a character
            None => None,
        });
        prefixes.flatten().filter_map(|prefix| self.by_prefix.get(prefix)).flatten()
    }

    /// The rules whose prefix begins with the text and is longer.
    fn below<'s>(&'s self, text: &'s str) -> impl Iterator<Item = &'s Rule> {
        let longer = self.by_prefix.range::<str, _>((Bound::Excluded(text), Bound::Unbounded));
        longer.take_while(move |(prefix, _)| prefix.starts_with(text)).flat_map(|(_, it)| it)
    }
}

impl Anywhere {
    fn build(&mut self) {
        if self.rules.len() >= WORTH_A_MACHINE {
            self.machine = one_machine(self.rules.iter().map(|it| &it.object));
        }
    }

    fn rule(&self, question: &Question<'_>, ruling: &mut Ruling, mode: MatchMode) {
        match (&question.objects, &self.machine) {
            (Objects::One(object), Some(machine)) => {
                for place in machine.matches(object) {
                    self.rules[place].add_to(ruling, question, mode);
                }
            }
            (Objects::One(_), None) => {
                for rule in &self.rules {
                    rule.add_to(ruling, question, mode);
                }
            }
            // None of them fits all objects for sure, so that one for each effect tells enough.
            (Objects::Below(_), _) => {
                for rule in &self.rules {
                    let told = match rule.effect {
                        Effect::Allow => ruling.allowed,
                        Effect::Deny => ruling.denied,
                        Effect::Nothing => continue,
                    };
                    if told < Extent::Parts {
                        rule.add_to(ruling, question, mode);
                    }
                }
            }
        }
    }
}

impl Rule {
    /// Resource, action and object are asked in this order, as a pattern that is
    /// broken counts only when it is reached.
    fn add_to(&self, ruling: &mut Ruling, question: &Question<'_>, mode: MatchMode) {
        for (pattern, text) in
            [(&self.resource, question.resource), (&self.action, question.action)]
        {
            match pattern.fits(text, mode) {
                Fit::Yes => {}
                Fit::No => return,
                Fit::Broken => {
                    ruling.denied = Extent::All;
                    return;
                }
            }
        }
        let extent = match question.objects {
            Objects::One(object) => match self.object.fits(object, mode) {
                Fit::Yes => Some(Extent::All),
                Fit::No => Some(Extent::Nothing),
                Fit::Broken => None,
            },
            Objects::Below(start) => self.object.extent(start, mode),
        };
        match (extent, self.effect) {
            (None, _) => ruling.denied = Extent::All,
            (Some(extent), Effect::Allow) => ruling.allowed = ruling.allowed.max(extent),
            (Some(extent), Effect::Deny) => ruling.denied = ruling.denied.max(extent),
            (Some(_), Effect::Nothing) => {}
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
