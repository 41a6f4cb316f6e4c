//! The values a user gives: files, then single settings, in Helm's order.

use std::collections::BTreeMap;

use serde_json::{Map as JsonMap, Value as Json};
use template::{Map, Value};

use crate::error::Error;
use crate::{strvals, yaml};

/// Values as given to `helm template`. Files are contents, already read.
#[derive(Clone, Debug, Default)]
pub struct ValueOptions {
    /// `--values`: name for messages, and content; later ones win.
    pub files: Vec<(String, Vec<u8>)>,
    /// `--set-json`.
    pub json: Vec<String>,
    /// `--set`.
    pub set: Vec<String>,
    /// `--set-string`.
    pub set_string: Vec<String>,
    /// `--set-file`: the values are paths.
    pub set_file: Vec<String>,
    /// What the files of `set_file` hold, by path.
    pub file_contents: BTreeMap<String, Vec<u8>>,
    /// `--set-literal`.
    pub set_literal: Vec<String>,
}

impl ValueOptions {
    /// All of them merged.
    pub(crate) fn merged(&self) -> Result<Map, Error> {
        let mut base = JsonMap::new();
        for (name, content) in &self.files {
            let values = parse_documents(content)
                .map_err(|reason| Error::Values(format!("failed to parse {name}: {reason}")))?;
            base = merge_maps(base, values);
        }
        let base = match Value::from_json(&Json::Object(base)) {
            Value::Map(map) => map,
            _ => Map::new::<&str>([]),
        };
        for setting in &self.json {
            set_json(&base, setting)?;
        }
        for setting in &self.set {
            strvals::parse(&base, setting, strvals::Reading::Typed)
                .map_err(|reason| failed("--set", &reason))?;
        }
        for setting in &self.set_string {
            strvals::parse(&base, setting, strvals::Reading::Text)
                .map_err(|reason| failed("--set-string", &reason))?;
        }
        for setting in &self.set_file {
            strvals::parse(&base, setting, strvals::Reading::Files(&self.file_contents))
                .map_err(|reason| failed("--set-file", &reason))?;
        }
        for setting in &self.set_literal {
            strvals::parse_literal(&base, setting)
                .map_err(|reason| failed("--set-literal", &reason))?;
        }
        Ok(base)
    }
}

fn failed(flag: &str, reason: &str) -> Error {
    Error::Values(format!("failed parsing {flag} data: {reason}"))
}

fn set_json(base: &Map, setting: &str) -> Result<(), Error> {
    let trimmed = setting.trim();
    if !trimmed.starts_with('{') {
        return strvals::parse(base, setting, strvals::Reading::Json)
            .map_err(|_| Error::Values(format!("failed parsing --set-json data {setting}")));
    }
    let parsed: Json = serde_json::from_str(trimmed)
        .map_err(|_| Error::Values(format!("failed parsing --set-json data JSON: {setting}")))?;
    if let Value::Map(map) = Value::from_json(&parsed) {
        merge_into(base, &map);
    }
    Ok(())
}

/// `MergeMaps` in place: tables are merged, everything else is replaced.
fn merge_into(base: &Map, over: &Map) {
    let incoming: Vec<_> =
        over.entries().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    for (key, value) in incoming {
        match (base.get(key.as_bytes()), &value) {
            (Some(Value::Map(below)), Value::Map(above)) => merge_into(&below, above),
            _ => base.set(key, value),
        }
    }
}

/// The documents of a values file, later ones over earlier ones.
pub(crate) fn parse_documents(text: &[u8]) -> Result<JsonMap<String, Json>, String> {
    let text = String::from_utf8_lossy(text);
    let mut merged = JsonMap::new();
    for document in gocompat::yaml::split_documents(&text) {
        let values = yaml::parse_mapping(document.text.as_bytes(), "map[string]interface {}")
            .map_err(|reason| format!("cannot unmarshal yaml document: {reason}"))?;
        merged = merge_maps(merged, values);
    }
    Ok(merged)
}

fn merge_maps(base: JsonMap<String, Json>, over: JsonMap<String, Json>) -> JsonMap<String, Json> {
    let mut out = base;
    for (key, value) in over {
        match (out.remove(&key), value) {
            (Some(Json::Object(below)), Json::Object(above)) => {
                out.insert(key, Json::Object(merge_maps(below, above)));
            }
            (_, value) => {
                out.insert(key, value);
            }
        }
    }
    out
}
