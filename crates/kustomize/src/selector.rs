//! Choosing resources: by regular expressions on their ids ([`SelectorMatcher`]),
//! by labels and annotations ([`LabelSelector`]).

use std::collections::BTreeMap;

use regex::Regex;

use crate::error::{Result, invalid};
use crate::kustomization::parts::Selector;
use crate::resource::Resource;
use crate::resource::id::{ResourceId, effective_namespace};
use crate::schema::Scopes;

/// A [`Selector`] made ready.
pub(crate) struct SelectorMatcher {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    labels: LabelSelector,
    annotations: LabelSelector,
    /// The selector says nothing about ids.
    pub(crate) names_no_id: bool,
    /// The selector says something about labels or annotations.
    pub(crate) names_labels: bool,
}

impl SelectorMatcher {
    pub(crate) fn new(selector: &Selector) -> Result<Self> {
        Ok(Self {
            group: Pattern::new(&selector.id.gvk.group)?,
            version: Pattern::new(&selector.id.gvk.version)?,
            kind: Pattern::new(&selector.id.gvk.kind)?,
            name: Pattern::new(&selector.id.name)?,
            namespace: Pattern::new(&selector.id.namespace)?,
            labels: LabelSelector::parse(&selector.labels)?,
            annotations: LabelSelector::parse(&selector.annotations)?,
            names_no_id: selector.id == ResourceId::default(),
            names_labels: !selector.labels.is_empty() || !selector.annotations.is_empty(),
        })
    }

    /// Does it choose the resource by the names it has or was read with?
    pub(crate) fn matches_resource(&self, resource: &Resource, scopes: &Scopes) -> Result<bool> {
        let original = resource.history.previous.first();
        let name_fits = original.is_some_and(|original| self.name.matches(&original.name))
            || self.name.matches(resource.name());
        if !name_fits {
            return Ok(false);
        }
        let (group, version) = resource.group_version();
        if !self.matches_kind(group, version, resource.kind()) {
            return Ok(false);
        }
        let is_cluster_scoped = scopes.is_cluster_scoped(resource.api_version(), resource.kind());
        let current = effective_namespace(resource.namespace(), is_cluster_scoped);
        let namespace_fits = self.namespace.matches(current)
            || original.is_some_and(|original| self.namespace.matches(&original.namespace));
        Ok(namespace_fits && self.matches_labels(resource))
    }

    pub(crate) fn matches_labels(&self, resource: &Resource) -> bool {
        (self.labels.is_empty() || self.labels.matches(&resource.labels()))
            && (self.annotations.is_empty() || self.annotations.matches(&resource.annotations()))
    }

    /// Does it choose this kind?
    pub(crate) fn matches_kind(&self, group: &str, version: &str, kind: &str) -> bool {
        self.kind.matches(kind) && self.group.matches(group) && self.version.matches(version)
    }

    /// Does it choose this name in this namespace?
    pub(crate) fn matches_name(&self, name: &str, namespace: &str) -> bool {
        self.name.matches(name) && self.namespace.matches(namespace)
    }
}

/// A regular expression that must match a whole text; most are plain words.
enum Pattern {
    Anything,
    Word(String),
    Expression(Regex),
}

impl Pattern {
    fn new(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Ok(Self::Anything);
        }
        if is_word(text) {
            return Ok(Self::Word(text.to_owned()));
        }
        Ok(Self::Expression(expression(&format!("^(?:{text})$"))?))
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Anything => true,
            Self::Word(word) => word == text,
            Self::Expression(expression) => expression.is_match(text),
        }
    }
}

fn is_word(text: &str) -> bool {
    text.bytes()
        .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_' | b'/'))
}

/// A regular expression in RE2's syntax, which ours shares in all that matters.
pub(crate) fn expression(text: &str) -> Result<Regex> {
    Regex::new(text).map_err(|error| {
        let reason = error.to_string();
        let last = reason.lines().last().unwrap_or_default();
        invalid(format!("error parsing regexp: {last}: `{text}`"))
    })
}

/// A label selector such as `app=web,tier in (front, back),!old`.
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

struct Requirement {
    key: String,
    test: Test,
}

enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut requirements = Vec::new();
        if !text.trim().is_empty() {
            for part in split_requirements(text) {
                requirements.push(Requirement::parse(part.trim(), text)?);
            }
        }
        Ok(Self { requirements })
    }

    fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels))
    }
}

/// Commas inside of parentheses do not separate.
fn split_requirements(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

impl Requirement {
    fn parse(text: &str, whole: &str) -> Result<Self> {
        let problem = || invalid(format!("unable to parse requirement: {text:?} in {whole:?}"));
        if let Some(key) = text.strip_prefix('!') {
            let key = key.trim();
            if !is_key(key) {
                return Err(problem());
            }
            return Ok(Self { key: key.to_owned(), test: Test::Missing });
        }
        let end = text
            .find(|letter: char| letter.is_whitespace() || matches!(letter, '=' | '!' | '<' | '>'))
            .unwrap_or(text.len());
        let (key, rest) = text.split_at(end);
        if !is_key(key) {
            return Err(problem());
        }
        let rest = rest.trim();
        let value = |text: &str| text.trim().to_owned();
        let test = if rest.is_empty() {
            Test::Exists
        } else if let Some(rest) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
            Test::In(vec![value(rest)])
        } else if let Some(rest) = rest.strip_prefix("!=") {
            Test::NotIn(vec![value(rest)])
        } else if let Some(rest) = rest.strip_prefix('>') {
            Test::Greater(rest.trim().parse().map_err(|_| problem())?)
        } else if let Some(rest) = rest.strip_prefix('<') {
            Test::Less(rest.trim().parse().map_err(|_| problem())?)
        } else if let Some(rest) = rest.strip_prefix("notin") {
            Test::NotIn(values(rest).ok_or_else(problem)?)
        } else if let Some(rest) = rest.strip_prefix("in") {
            Test::In(values(rest).ok_or_else(problem)?)
        } else {
            return Err(problem());
        };
        if let Test::In(values) | Test::NotIn(values) = &test
            && !values.iter().all(|value| is_value(value))
        {
            return Err(problem());
        }
        Ok(Self { key: key.to_owned(), test })
    }

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let label = labels.get(&self.key);
        let number = || label.and_then(|label| label.parse::<i64>().ok());
        match &self.test {
            Test::Exists => label.is_some(),
            Test::Missing => label.is_none(),
            Test::In(values) => label.is_some_and(|label| values.contains(label)),
            Test::NotIn(values) => label.is_none_or(|label| !values.contains(label)),
            Test::Greater(limit) => number().is_some_and(|number| number > *limit),
            Test::Less(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

fn values(text: &str) -> Option<Vec<String>> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    Some(inner.split(',').map(|value| value.trim().to_owned()).collect())
}

fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key.bytes().all(|letter| {
            letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_' | b'.' | b'/')
        })
}

fn is_value(value: &str) -> bool {
    value.len() <= 63
        && value
            .bytes()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::LabelSelector;

    #[track_caller]
    fn check(selector: &str, expect: bool) {
        let labels = [("app", "web"), ("tier", "front"), ("n", "5")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let selector = LabelSelector::parse(selector).expect("the selector is valid");
        assert_eq!(selector.matches(&labels), expect);
    }

    #[test]
    fn selectors_compare_labels() {
        for chosen in [
            "app=web",
            "app==web,tier!=back",
            "tier in (front, back)",
            "app notin (api),!old",
            "app",
            "n>4,n<6",
            "missing!=x",
        ] {
            check(chosen, true);
        }
        for not_chosen in ["app=api", "!app", "old", "app in ()", "n>5", "tier notin (front)"] {
            check(not_chosen, false);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for selector in ["app in web", "=x", "app~web", "n>many", "a b"] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
    }
}
