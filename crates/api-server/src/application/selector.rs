//! Label selectors in the notation of `kubectl -l`.

use std::collections::BTreeMap;

/// All requirements must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq)]
enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
}

impl LabelSelector {
    /// Reads `a=b,c!=d,e in (f,g),!h,i`; the error tells the part that is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parts = split_outside_parentheses(text);
        let parts = parts.into_iter().map(str::trim).filter(|it| !it.is_empty());
        parts.map(Requirement::parse).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|it| it.holds(labels))
    }
}

impl Requirement {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("unable to parse requirement: {text}");
        let key = |text: &str| {
            let key = text.trim();
            let is_key = |it: char| it.is_ascii_alphanumeric() || "-_./".contains(it);
            (!key.is_empty() && key.chars().all(is_key)).then(|| key.to_owned()).ok_or_else(wrong)
        };
        let one = |text: &str| vec![text.trim().to_owned()];
        if let Some(absent) = text.strip_prefix('!') {
            return Ok(Self::Absent(key(absent)?));
        }
        if let Some((name, value)) = text.split_once("!=") {
            return Ok(Self::NotIn(key(name)?, one(value)));
        }
        if let Some((name, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            return Ok(Self::In(key(name)?, one(value)));
        }
        let Some((head, list)) = text.split_once('(') else { return Ok(Self::Exists(key(text)?)) };
        let list = list.trim_end().strip_suffix(')').ok_or_else(wrong)?;
        let values = list.split(',').map(|it| it.trim().to_owned()).collect();
        let (name, word) = head.trim().rsplit_once(char::is_whitespace).ok_or_else(wrong)?;
        match word {
            "in" => Ok(Self::In(key(name)?, values)),
            "notin" => Ok(Self::NotIn(key(name)?, values)),
            _ => Err(wrong()),
        }
    }

    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Exists(key) => labels.contains_key(key),
            Self::Absent(key) => !labels.contains_key(key),
            Self::In(key, values) => labels.get(key).is_some_and(|it| values.contains(it)),
            Self::NotIn(key, values) => labels.get(key).is_none_or(|it| !values.contains(it)),
        }
    }
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, character) in text.char_indices() {
        match character {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(selector: &str, expect: bool) {
        let labels = [("app", "web"), ("tier", "front")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let selector = LabelSelector::parse(selector).expect("a selector");
        assert_eq!(selector.matches(&labels), expect);
    }

    #[test]
    fn every_requirement_must_hold() {
        check("", true);
        check("app=web", true);
        check("app==web,tier=front", true);
        check("app=web,tier=back", false);
        check("app in (db, web),tier notin (back)", true);
        check("app notin (db,web)", false);
        check("app!=web", false);
        check("other!=web", true);
        check("app,!other", true);
        check("!app", false);
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in ["a b", "a in (b", "a of (b)", "=b", "!", "a=b,(c)"] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }
}
