//! Hides what Secrets hold before anybody outside sees them.
//!
//! Equal values get equal signs and different values signs of different length,
//! so that a reader still sees that something changed, and nothing more.

use std::collections::{BTreeMap, BTreeSet};

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
