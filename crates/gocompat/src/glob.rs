//! Glob patterns as gobwas/glob matches them.
//!
//! `*` stops at separators, `**` does not, `?` is one character that is no
//! separator, `[abc]`, `[a-z]` and `[!...]` are one character each, `{a,b*}`
//! offers alternatives, `\` takes the meaning away. A pattern becomes a list of
//! steps that are followed side by side, so the time to match grows with the
//! length of pattern times text and never worse.
//!
//! [`Glob`] is one pattern, [`list`] the lists of patterns in settings,
//! [`filepath_match`] the simpler patterns of Go's `path/filepath`.

mod filepath;
pub mod list;
mod parse;

pub use filepath::filepath_match;
pub use parse::PatternError;

use parse::{Node, parse};

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Glob {
    steps: Vec<Step>,
    separators: Vec<char>,
    quirk: Option<Quirk>,
}

/// What Go's library accepts although the pattern does not say so.
#[derive(Debug, Clone, PartialEq)]
enum Quirk {
    /// `?` or `[!a]` alone also matches the empty text.
    Empty,
    /// `ab**bc` also matches `abc`: beginning and end may overlap.
    Overlap(String, String),
}

/// One instruction; a number is the index of another.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Take(Class),
    Either(usize, usize),
    Jump(usize),
    Accept,
}

/// Which characters a step takes.
#[derive(Debug, Clone, PartialEq)]
enum Class {
    One(char),
    AnyOf { chars: Vec<char>, negated: bool },
    Range { low: char, high: char, negated: bool },
    NotSeparator,
    Anything,
}

impl Glob {
    /// Compiles `pattern`; `*` and `?` will not match any of `separators`.
    ///
    /// # Errors
    /// For a set of characters that is empty, not closed or a range upside down,
    /// and for a pattern of more than 64 KiB.
    pub fn new(pattern: &str, separators: &[char]) -> Result<Self, PatternError> {
        let nodes = parse(pattern)?;
        let mut steps = Vec::new();
        compile(&nodes, &mut steps);
        steps.push(Step::Accept);
        let quirk = find_quirk(&nodes, separators);
        Ok(Self { steps, separators: separators.to_vec(), quirk })
    }

    /// Whether the whole of `text` fits the pattern.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.quirk.as_ref().is_some_and(|quirk| quirk.accepts(text)) || self.follow(text)
    }

    fn follow(&self, text: &str) -> bool {
        let mut current = StepSet::new(self.steps.len());
        let mut next = StepSet::new(self.steps.len());
        self.reach(0, &mut current);
        for character in text.chars() {
            for step in &current.members {
                if let Step::Take(class) = &self.steps[*step]
                    && class.takes(character, &self.separators)
                {
                    self.reach(step + 1, &mut next);
                }
            }
            if next.members.is_empty() {
                return false;
            }
            std::mem::swap(&mut current, &mut next);
            next.clear();
        }
        current.members.iter().any(|step| self.steps[*step] == Step::Accept)
    }

    /// Adds `start` and all that can be reached from it without taking a character.
    fn reach(&self, start: usize, set: &mut StepSet) {
        let mut pending = vec![start];
        while let Some(step) = pending.pop() {
            if !set.insert(step) {
                continue;
            }
            match self.steps[step] {
                Step::Either(one, other) => pending.extend([one, other]),
                Step::Jump(target) => pending.push(target),
                Step::Take(_) | Step::Accept => {}
            }
        }
    }
}

/// Whether `text` matches `pattern`; a pattern that cannot be read matches nothing,
/// which is how policies and settings treat a mistyped one.
#[must_use]
pub fn matches(pattern: &str, text: &str, separators: &[char]) -> bool {
    Glob::new(pattern, separators).is_ok_and(|glob| glob.is_match(text))
}

impl Quirk {
    fn accepts(&self, text: &str) -> bool {
        match self {
            Self::Empty => text.is_empty(),
            Self::Overlap(start, end) => text.starts_with(start) && text.ends_with(end),
        }
    }
}

fn find_quirk(nodes: &[Node], separators: &[char]) -> Option<Quirk> {
    match nodes {
        [Node::Single | Node::List { negated: true, .. } | Node::Range { negated: true, .. }] => {
            Some(Quirk::Empty)
        }
        [Node::Text(start), middle, Node::Text(end)]
            if *middle == Node::Super || (*middle == Node::Any && separators.is_empty()) =>
        {
            Some(Quirk::Overlap(start.clone(), end.clone()))
        }
        _ => None,
    }
}

impl Class {
    fn takes(&self, character: char, separators: &[char]) -> bool {
        match self {
            Self::One(expected) => character == *expected,
            Self::AnyOf { chars, negated } => chars.contains(&character) != *negated,
            Self::Range { low, high, negated } => (*low..=*high).contains(&character) != *negated,
            Self::NotSeparator => !separators.contains(&character),
            Self::Anything => true,
        }
    }
}

/// A set of steps that can be emptied in the time it took to fill it.
struct StepSet {
    members: Vec<usize>,
    contains: Vec<bool>,
}

impl StepSet {
    fn new(size: usize) -> Self {
        Self { members: Vec::new(), contains: vec![false; size] }
    }

    fn insert(&mut self, step: usize) -> bool {
        let is_new = !std::mem::replace(&mut self.contains[step], true);
        if is_new {
            self.members.push(step);
        }
        is_new
    }

    fn clear(&mut self) {
        for step in self.members.drain(..) {
            self.contains[step] = false;
        }
    }
}

fn compile(nodes: &[Node], steps: &mut Vec<Step>) {
    for node in nodes {
        match node {
            Node::Text(text) => {
                steps.extend(text.chars().map(|character| Step::Take(Class::One(character))));
            }
            Node::Any => compile_repeat(Class::NotSeparator, steps),
            Node::Super => compile_repeat(Class::Anything, steps),
            Node::Single => steps.push(Step::Take(Class::NotSeparator)),
            Node::List { chars, negated } => steps.push(Step::Take(Class::AnyOf {
                chars: chars.chars().collect(),
                negated: *negated,
            })),
            Node::Range { low, high, negated } => {
                steps.push(Step::Take(Class::Range { low: *low, high: *high, negated: *negated }));
            }
            Node::AnyOf(alternatives) => compile_alternatives(alternatives, steps),
        }
    }
}

fn compile_repeat(class: Class, steps: &mut Vec<Step>) {
    let start = steps.len();
    steps.extend([Step::Either(start + 1, start + 3), Step::Take(class), Step::Jump(start)]);
}

fn compile_alternatives(alternatives: &[Vec<Node>], steps: &mut Vec<Step>) {
    let mut ends = Vec::new();
    for (index, alternative) in alternatives.iter().enumerate() {
        let choice = steps.len();
        let is_last = index + 1 == alternatives.len();
        if !is_last {
            steps.push(Step::Accept); // replaced below, when the next alternative's place is known
        }
        compile(alternative, steps);
        if !is_last {
            ends.push(steps.len());
            steps.push(Step::Accept); // likewise
            steps[choice] = Step::Either(choice + 1, steps.len());
        }
    }
    let after = steps.len();
    for end in ends {
        steps[end] = Step::Jump(after);
    }
}
