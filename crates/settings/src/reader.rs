//! Reads typed values out of a ConfigMap; what does not fit becomes a finding
//! and the default stands.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Finding;

pub(crate) struct Reader<'a> {
    pub(crate) object: &'a str,
    pub(crate) data: &'a BTreeMap<String, String>,
    pub(crate) findings: &'a mut Vec<Finding>,
}

impl<'a> Reader<'a> {
    pub(crate) fn find(&mut self, key: &str, message: impl Into<String>) {
        let (object, key) = (self.object.to_owned(), key.to_owned());
        self.findings.push(Finding { object, key, message: message.into() });
    }

    /// A text; empty when it is not set.
    pub(crate) fn text(&self, key: &str) -> &'a str {
        self.data.get(key).map_or("", String::as_str)
    }

    pub(crate) fn owned(&self, key: &str) -> String {
        self.text(key).to_owned()
    }

    /// A text, or this one where it is not set.
    pub(crate) fn text_or(&self, key: &str, default: &str) -> String {
        let text = self.text(key);
        if text.is_empty() { default } else { text }.to_owned()
    }

    /// A flag that counts only as the word `true`.
    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.text(key) == "true"
    }

    /// A flag in any of the spellings of Go.
    pub(crate) fn flag(&mut self, key: &str, default: bool) -> bool {
        let text = self.text(key);
        if text.is_empty() {
            return default;
        }
        boolean(text).unwrap_or_else(|| {
            self.find(key, format!("{text:?} is neither true nor false"));
            default
        })
    }

    pub(crate) fn number(&mut self, key: &str, default: i64) -> i64 {
        let text = self.text(key);
        if text.is_empty() {
            return default;
        }
        text.parse().unwrap_or_else(|_| {
            self.find(key, format!("{text:?} is no whole number"));
            default
        })
    }

    pub(crate) fn duration(&mut self, key: &str, default: Duration) -> Duration {
        let text = self.text(key).trim();
        if text.is_empty() {
            return default;
        }
        duration(text).unwrap_or_else(|| {
            self.find(key, format!("{text:?} is no duration such as 90s, 5m or 1d"));
            default
        })
    }

    /// A list with commas; blanks and empty entries do not count.
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        commas(self.text(key))
    }

    /// A value written in YAML.
    pub(crate) fn yaml<T: DeserializeOwned + Default>(&mut self, key: &str) -> T {
        let text = self.text(key);
        self.yaml_of(key, text)
    }

    pub(crate) fn yaml_of<T: DeserializeOwned + Default>(&mut self, key: &str, text: &str) -> T {
        if text.trim().is_empty() {
            return T::default();
        }
        let value = match gocompat::yaml::to_value(text) {
            Ok(Value::Null) => return T::default(),
            Ok(value) => value,
            Err(error) => {
                self.find(key, format!("this is no YAML: {error}"));
                return T::default();
            }
        };
        serde_json::from_value(value).unwrap_or_else(|error| {
            self.find(key, format!("this does not have the expected form: {error}"));
            T::default()
        })
    }
}

pub(crate) fn commas(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// As Go's `strconv.ParseBool`.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// A Go duration, a number of days, or a bare number of seconds.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    use gocompat::duration::Duration as GoDuration;
    let read = GoDuration::parse(text).or_else(|_| GoDuration::parse_with_days(text)).ok();
    read.and_then(GoDuration::to_std).or_else(|| text.parse().ok().map(Duration::from_secs))
}
