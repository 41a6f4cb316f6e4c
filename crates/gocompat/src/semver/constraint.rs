//! Ranges of versions: `>=1.2, <2`, `1.2 - 1.5`, `^0.3 || ~1`.

use super::version::{Version, compare_prerelease};

/// A range of versions: alternatives, each a list of conditions that must all hold.
#[derive(Debug, Clone)]
pub struct Constraint {
    alternatives: Vec<Vec<Condition>>,
}

/// Why a text is not a constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// Not of the form.
    #[error("improper constraint: {0}")]
    Improper(String),
    /// Of the form, but with a version that is none, like `1x`.
    #[error("constraint parser error")]
    BadVersion,
    /// More text than any constraint needs.
    #[error("the constraint is longer than {MAX_BYTES} bytes")]
    TooLong,
}

#[derive(Debug, Clone)]
struct Condition {
    operator: Operator,
    version: Version,
    given: Given,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// How many numbers of the version were written; the rest is `x` or missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Nothing,
    Major,
    Minor,
    Full,
}

const MAX_BYTES: usize = 4096;

impl Constraint {
    /// Reads a constraint as `NewConstraint` does.
    ///
    /// # Errors
    /// Where Go has one.
    pub fn parse(text: &str) -> Result<Self, ConstraintError> {
        if text.len() > MAX_BYTES {
            return Err(ConstraintError::TooLong);
        }
        let alternatives = text.split("||").map(parse_conditions).collect::<Result<_, _>>()?;
        Ok(Self { alternatives })
    }

    /// Whether `version` is within the range.
    #[must_use]
    pub fn check(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|conditions| {
            let wants_prereleases = conditions.iter().any(|it| !it.version.pre.is_empty());
            (version.pre.is_empty() || wants_prereleases)
                && conditions.iter().all(|condition| condition.check(version))
        })
    }
}

/// Reads conditions with blanks, or a comma and any blanks, between them.
fn parse_conditions(text: &str) -> Result<Vec<Condition>, ConstraintError> {
    let improper = || ConstraintError::Improper(text.to_owned());
    let mut reader = Reader { rest: text };
    let mut conditions = Vec::new();
    // Go takes no range after a condition that only blanks separate from it.
    let mut range_allowed = true;
    reader.blanks();
    loop {
        let operator = reader.operator();
        reader.blanks();
        let version = reader.version().ok_or_else(improper)?;
        let range_end = if operator.is_none() && range_allowed { reader.range_end() } else { None };
        match &range_end {
            Some(end) => {
                conditions.push(version.condition(Operator::GreaterOrEqual)?);
                conditions.push(end.condition(Operator::LessOrEqual)?);
            }
            None => conditions.push(version.condition(operator.unwrap_or(Operator::Equal))?),
        }
        let separated = reader.blanks() || range_end.is_some();
        if reader.rest.is_empty() {
            return Ok(conditions);
        }
        let comma = reader.take(",");
        reader.blanks();
        if !separated && !comma {
            return Err(improper());
        }
        range_allowed = comma || range_end.is_some();
    }
}

/// Reads the pieces of a constraint from the left.
#[derive(Clone, Copy)]
struct Reader<'t> {
    rest: &'t str,
}

/// A version in a constraint, number by number; `x` and `*` are not read yet.
struct Written<'t> {
    whole: &'t str,
    numbers: [Option<&'t str>; 3],
    pre: Option<&'t str>,
}

/// Longer ones first, so that the first that fits is the one that was meant.
const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("=", Operator::Equal),
];

impl<'t> Reader<'t> {
    /// Whether there were any.
    fn blanks(&mut self) -> bool {
        let rest = self.rest.trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
        let found = rest.len() < self.rest.len();
        self.rest = rest;
        found
    }

    fn take(&mut self, expected: &str) -> bool {
        let rest = self.rest.strip_prefix(expected);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// As many characters of a kind as there are, but at least one.
    fn run(&mut self, belongs: impl Fn(char) -> bool) -> Option<&'t str> {
        let end = self.rest.find(|character| !belongs(character)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!run.is_empty()).then_some(run)
    }

    fn operator(&mut self) -> Option<Operator> {
        OPERATORS.iter().find(|(text, _)| self.take(text)).map(|(_, operator)| *operator)
    }

    fn version(&mut self) -> Option<Written<'t>> {
        let start = self.rest;
        self.take("v");
        let major = self.number()?;
        let minor = self.optional(".", Self::number);
        let patch = minor.and_then(|_| self.optional(".", Self::number));
        let pre = self.optional("-", Self::identifiers);
        self.optional("+", Self::identifiers);
        let whole = &start[..start.len() - self.rest.len()];
        Some(Written { whole, numbers: [Some(major), minor, patch], pre })
    }

    /// The second version of `1.2 - 1.5`, if the hyphen is there.
    fn range_end(&mut self) -> Option<Written<'t>> {
        let mut ahead = *self;
        if !(ahead.blanks() && ahead.take("-") && ahead.blanks()) {
            return None;
        }
        let end = ahead.version()?;
        *self = ahead;
        Some(end)
    }

    /// Something after `mark`; nothing is taken if either is missing.
    fn optional(
        &mut self,
        mark: &str,
        read: impl Fn(&mut Self) -> Option<&'t str>,
    ) -> Option<&'t str> {
        let mut ahead = *self;
        let found = if ahead.take(mark) { read(&mut ahead) } else { None };
        if found.is_some() {
            *self = ahead;
        }
        found
    }

    /// Looser than a number: what else stands here is a mistake in the version,
    /// not in the form.
    fn number(&mut self) -> Option<&'t str> {
        self.run(|character| character.is_ascii_digit() || "xX*|".contains(character))
    }

    /// `alpha.1`
    fn identifiers(&mut self) -> Option<&'t str> {
        let start = self.rest;
        let belongs = |character: char| character.is_ascii_alphanumeric() || character == '-';
        self.run(belongs)?;
        while self.optional(".", |ahead| ahead.run(belongs)).is_some() {}
        Some(&start[..start.len() - self.rest.len()])
    }
}

impl Written<'_> {
    fn condition(&self, operator: Operator) -> Result<Condition, ConstraintError> {
        let given = self.given();
        let version = if given == Given::Full { self.whole } else { &self.lowest(given) };
        let version = Version::parse(version).map_err(|_| ConstraintError::BadVersion)?;
        Ok(Condition { operator, version, given })
    }

    /// Up to the first number that is open.
    fn given(&self) -> Given {
        let is_open = |number: &Option<&str>| matches!(number, None | Some("x" | "X" | "*"));
        match self.numbers.iter().position(is_open) {
            Some(0) => Given::Nothing,
            Some(1) => Given::Major,
            Some(_) => Given::Minor,
            None => Given::Full,
        }
    }

    /// The version with zeros for what was not given.
    fn lowest(&self, given: Given) -> String {
        let number = |index: usize| match self.numbers[index] {
            Some(number) if index < given as usize => number,
            _ => "0",
        };
        let numbers = format!("{}.{}.{}", number(0), number(1), number(2));
        self.pre.map_or(numbers.clone(), |pre| format!("{numbers}-{pre}"))
    }
}

impl Condition {
    fn check(&self, version: &Version) -> bool {
        let bound = &self.version;
        let order = version.precedence(bound);
        match self.operator {
            Operator::Equal if self.given == Given::Full => order.is_eq(),
            Operator::Equal | Operator::Tilde => order.is_ge() && self.is_within_tilde(version),
            Operator::NotEqual => self.is_different(version),
            Operator::Greater => match self.given {
                Given::Full => order.is_gt(),
                Given::Major => version.major > bound.major,
                Given::Minor => (version.major, version.minor) > (bound.major, bound.minor),
                Given::Nothing => version.major > bound.major || order.is_gt(),
            },
            Operator::Less => order.is_lt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::LessOrEqual => match self.given {
                Given::Full => order.is_le(),
                Given::Major => version.major <= bound.major,
                Given::Minor | Given::Nothing => {
                    (version.major, version.minor) <= (bound.major, bound.minor)
                }
            },
            Operator::Caret => order.is_ge() && self.is_within_caret(version),
        }
    }

    /// Everything up to the last number but one that was given stays.
    fn is_within_tilde(&self, version: &Version) -> bool {
        let kept = match self.given {
            Given::Nothing => 0,
            Given::Full if self.version.numbers() == [0, 0, 0] => 0,
            Given::Major => 1,
            Given::Minor | Given::Full => 2,
        };
        self.shares_numbers(version, kept)
    }

    /// Everything up to the first number that is not zero stays.
    fn is_within_caret(&self, version: &Version) -> bool {
        let last = match self.given {
            Given::Major => 0,
            Given::Minor => 1,
            Given::Nothing | Given::Full => 2,
        };
        let first_above_zero = self.version.numbers().iter().position(|number| *number > 0);
        self.shares_numbers(version, 1 + first_above_zero.map_or(last, |first| first.min(last)))
    }

    fn shares_numbers(&self, version: &Version, count: usize) -> bool {
        version.numbers()[..count] == self.version.numbers()[..count]
    }

    fn is_different(&self, version: &Version) -> bool {
        let bound = &self.version;
        match self.given {
            Given::Full => version.precedence(bound).is_ne(),
            _ if version.major != bound.major => true,
            Given::Major => false,
            _ if version.minor != bound.minor => true,
            Given::Minor => {
                let releases = version.pre.is_empty() && bound.pre.is_empty();
                !releases && compare_prerelease(&version.pre, &bound.pre).is_ne()
            }
            Given::Nothing => version.patch != bound.patch || version.precedence(bound).is_ne(),
        }
    }
}
