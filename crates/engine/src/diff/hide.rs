//! Hides what Secrets hold before anybody outside sees them.
//!
//! Equal values get equal signs and different values signs of different length,
//! so that a reader still sees that something changed, and nothing more.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use object::Object;
use serde_json::{Map, Value};

use super::normalise::fold_string_data;
use super::three_way::LAST_APPLIED;

const SIGNS: &str = "++++++++";
const MORE_SIGNS: &str = "++++";

/// Masks the data of a Secret, and the annotations named, in git's and the live
/// object alike, also in what either remembers as last applied. Other kinds are
/// left as they are.
pub fn hide_secrets(
    want: Option<&mut Object>,
    live: Option<&mut Object>,
    annotations: &BTreeSet<String>,
) {
    let mut sides: Vec<&mut Object> = want.into_iter().chain(live).collect();
    sides.retain(|it| it.group_kind().is("", "Secret"));
    let mut remembered: Vec<Remembered> =
        sides.iter().map(|it| Remembered::read(it, annotations)).collect();
    let mut objects: Vec<&mut Map<String, Value>> = Vec::new();
    for side in &mut sides {
        objects.push(side.fields_mut());
    }
    for it in &mut remembered {
        if let Remembered::Object(object) = it {
            objects.push(object);
        }
    }
    objects.iter_mut().for_each(|it| fold_string_data(it));
    let keys: BTreeSet<String> = objects
        .iter()
        .filter_map(|it| it.get("data")?.as_object())
        .flat_map(|it| it.keys().cloned())
        .collect();
    keys.iter().for_each(|key| mask(&mut objects, "/data", key));
    annotations.iter().for_each(|key| mask(&mut objects, "/metadata/annotations", key));
    for (side, remembered) in sides.iter_mut().zip(remembered) {
        match remembered {
            Remembered::Nothing => {}
            Remembered::Unspeakable => side.set_annotation(LAST_APPLIED, SIGNS),
            Remembered::Object(object) => {
                side.set_annotation(LAST_APPLIED, &Value::Object(object).to_string());
            }
        }
    }
}

/// A text about an object, such as an API server's refusal, which may quote it:
/// without the values of a Secret, in whatever form it was written.
#[must_use]
pub fn hide_in_text(object: &Object, text: String) -> String {
    if !object.group_kind().is("", "Secret") {
        return text;
    }
    let mut hidden: Vec<String> = Vec::new();
    for values in ["data", "stringData"].iter().filter_map(|it| object.fields().get(*it)) {
        for value in values.as_object().into_iter().flat_map(Map::values) {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let decoded = STANDARD.decode(&shown).ok().and_then(|it| String::from_utf8(it).ok());
            hidden.push(STANDARD.encode(&shown));
            hidden.extend(decoded);
            hidden.push(shown);
        }
    }
    // The longest first: one value may be part of another.
    hidden.sort_by_key(|it| std::cmp::Reverse(it.len()));
    let values = hidden.iter().filter(|it| !it.is_empty());
    values.fold(text, |text, value| text.replace(value.as_str(), SIGNS))
}

/// What the last-applied annotation of a Secret says.
enum Remembered {
    Nothing,
    Object(Map<String, Value>),
    /// Not readable, so nobody knows what it would give away; or to be masked.
    Unspeakable,
}

impl Remembered {
    fn read(object: &Object, masked: &BTreeSet<String>) -> Self {
        let Some(text) = object.annotation(LAST_APPLIED) else { return Self::Nothing };
        if masked.contains(LAST_APPLIED) {
            return Self::Unspeakable;
        }
        serde_json::from_str(text).map_or(Self::Unspeakable, Self::Object)
    }
}

fn mask(objects: &mut [&mut Map<String, Value>], parent: &str, key: &str) {
    let mut signs = BTreeMap::<String, String>::new();
    for object in objects.iter_mut() {
        let steps: Vec<&str> = parent.split('/').skip(1).collect();
        let mut fields: Option<&mut Map<String, Value>> = Some(object);
        for step in steps {
            fields = fields.and_then(|it| it.get_mut(step)?.as_object_mut());
        }
        let Some(value) = fields.and_then(|it| it.get_mut(key)) else { continue };
        let text = match &*value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let next = format!("{SIGNS}{}", MORE_SIGNS.repeat(signs.len()));
        *value = Value::String(signs.entry(text).or_insert(next).clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_get_equal_signs_and_others_signs_of_another_length() {
        let secret = |data: Value| {
            let mut value = json!({"apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": "s", "annotations": {"token": "hush"}}});
            value["data"] = data;
            Object::from_value(value).expect("an object")
        };
        let mut want = secret(json!({"same": "YQ==", "changed": "Yg=="}));
        let mut live = secret(json!({"same": "YQ==", "changed": "Yw==", "extra": "ZA=="}));
        live.set_annotation(LAST_APPLIED, &want.as_value().to_string());
        hide_secrets(Some(&mut want), Some(&mut live), &BTreeSet::from(["token".to_owned()]));
        let signs = |it: &Object| it.at(&["data"]).cloned();
        assert_eq!(signs(&want), Some(json!({"same": "++++++++", "changed": "++++++++"})));
        let expect = json!({"same": "++++++++", "changed": "++++++++++++", "extra": "++++++++"});
        assert_eq!(signs(&live), Some(expect));
        assert_eq!(live.annotation("token"), Some("++++++++"));
        let remembered = live.annotation(LAST_APPLIED).expect("what was applied last");
        assert!(!remembered.contains("YQ==") && !remembered.contains("hush"), "{remembered}");
    }

    #[test]
    fn a_refusal_that_quotes_a_secret_shows_none_of_it() {
        let object = |kind: &str| {
            let value = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "s"},
                "data": {"a": 12345, "b": "aHVudGVy"}, "stringData": {"c": "hush"}});
            Object::from_value(value).expect("an object")
        };
        let said = "map[data:map[a:12345 b:aHVudGVy]] or hunter, hush, aHVzaA==".to_owned();
        let expect = "map[data:map[a:++++++++ b:++++++++]] or ++++++++, ++++++++, ++++++++";
        assert_eq!(hide_in_text(&object("Secret"), said.clone()), expect);
        assert_eq!(hide_in_text(&object("ConfigMap"), said.clone()), said);
    }
}
