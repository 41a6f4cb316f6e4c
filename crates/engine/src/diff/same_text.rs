//! Whether a text of JSON says what a tree says, without making a tree of it.
//!
//! The last-applied annotation of every live object is compared with git at
//! every look, and nearly always it says the same.

use std::fmt;

use object::Object;
use object::typed::Step;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// Is `text` the object `want`, but for a namespace that one of them leaves out?
/// None if the text is no JSON. Keys in another order, or twice, are a no: the
/// reader of a no looks more closely.
pub(super) fn is_object(text: &str, want: &Object) -> Option<bool> {
    let mut found = Found::default();
    let outcome = read(text, want, &mut found);
    match outcome {
        Ok(()) => Some(true),
        Err(_) if found.stopped => Some(false),
        Err(_) => None,
    }
}

/// Where `text` has other texts than `want`, if it is an object with the same
/// fields and elements that differs in nothing else. Empty texts are not let
/// pass, nor texts that are elements of lists: they may be as good as absent.
pub(super) fn differing_texts<'v>(text: &str, want: &'v Object) -> Option<Vec<Vec<Step<'v>>>> {
    let texts = Some(Texts::default());
    let mut found = Found { stopped: false, texts };
    read(text, want, &mut found).ok()?;
    found.texts.map(|it| it.differing)
}

fn read<'v>(text: &str, want: &'v Object, found: &mut Found<'v>) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let like = Like { want: want.as_value(), place: Place::Top, found };
    like.deserialize(&mut reader)?;
    reader.end()
}

/// What was found out while reading.
#[derive(Default)]
struct Found<'v> {
    /// Was a difference the reason to stop?
    stopped: bool,
    /// Texts that differ, where those are no reason to.
    texts: Option<Texts<'v>>,
}

#[derive(Default)]
struct Texts<'v> {
    /// The way to the value that is read now.
    path: Vec<Step<'v>>,
    differing: Vec<Vec<Step<'v>>>,
}

impl<'v> Found<'v> {
    fn enter(&mut self, step: Step<'v>) {
        if let Some(texts) = &mut self.texts {
            texts.path.push(step);
        }
    }

    fn leave(&mut self) {
        if let Some(texts) = &mut self.texts {
            texts.path.pop();
        }
    }

    /// Notes that a text differs here, if that is no reason to stop.
    fn lets_pass(&mut self, want: &Value, value: &str) -> bool {
        let Some(texts) = &mut self.texts else { return false };
        let both_say_something =
            want.as_str().is_some_and(|it| !it.is_empty()) && !value.is_empty();
        let is_field = matches!(texts.path.last(), Some(Step::Field(_)));
        let passes = both_say_something && is_field;
        if passes {
            texts.differing.push(texts.path.clone());
        }
        passes
    }
}

/// Where in the object a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Metadata,
    Below,
}

/// A value that must be like `want`.
struct Like<'v, 'f> {
    want: &'v Value,
    place: Place,
    found: &'f mut Found<'v>,
}

impl Like<'_, '_> {
    fn check<E: serde::de::Error>(self, is_same: bool) -> Result<(), E> {
        if is_same {
            return Ok(());
        }
        self.found.stopped = true;
        Err(E::custom("differs"))
    }
}

impl<'de> DeserializeSeed<'de> for Like<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Like<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the same value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        let is_same = self.want.is_null();
        self.check(is_same)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        let is_same = *self.want == Value::Bool(value);
        self.check(is_same)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        let is_same = *self.want == Value::Number(value.into());
        self.check(is_same)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        let is_same = *self.want == Value::Number(value.into());
        self.check(is_same)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        let is_same = Number::from_f64(value).map(Value::Number).as_ref() == Some(self.want);
        self.check(is_same)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        let is_same = self.want.as_str() == Some(value) || self.found.lets_pass(self.want, value);
        self.check(is_same)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Value::Array(want) = self.want else { return self.check(false) };
        for want in want {
            self.found.enter(Step::Element);
            let like = Like { want, place: Place::Below, found: &mut *self.found };
            if items.next_element_seed(like)?.is_none() {
                return self.check(false);
            }
            self.found.leave();
        }
        // One more would have to be read before it could be refused.
        let is_end = items.next_element::<IgnoredAny>()?.is_none();
        self.check(is_end)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Value::Object(want) = self.want else { return self.check(false) };
        let mut wanted = want.iter().filter(|(name, _)| !self.place.is_free(name)).peekable();
        loop {
            let expected = wanted.peek().map(|(name, _)| name.as_str());
            let place = self.place;
            match entries.next_key_seed(Name { expected, place })? {
                None => {
                    let is_end = wanted.peek().is_none();
                    return self.check(is_end);
                }
                // Other than a text it would not fit where it stands.
                Some(Key::Free) if self.found.texts.is_some() => {
                    drop(entries.next_value::<String>()?);
                }
                Some(Key::Free) => drop(entries.next_value::<IgnoredAny>()?),
                Some(Key::Other) => return self.check(false),
                Some(Key::Expected) => {
                    let Some((name, want)) = wanted.next() else { return self.check(false) };
                    let place = place.below(name);
                    self.found.enter(Step::Field(name));
                    entries.next_value_seed(Like { want, place, found: &mut *self.found })?;
                    self.found.leave();
                }
            }
        }
    }
}

impl Place {
    /// May the entry of this name be another?
    fn is_free(self, name: &str) -> bool {
        self == Self::Metadata && name == "namespace"
    }

    fn below(self, name: &str) -> Self {
        if self == Self::Top && name == "metadata" { Self::Metadata } else { Self::Below }
    }
}

/// The next key of a mapping.
enum Key {
    Expected,
    Free,
    Other,
}

/// Reads a key. Trees and encoders have keys in the same order, so that only one
/// key can come next; who writes them in another order is looked at more closely.
struct Name<'n> {
    expected: Option<&'n str>,
    place: Place,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Key, E> {
        Ok(match name {
            _ if self.expected == Some(name) => Key::Expected,
            _ if self.place.is_free(name) => Key::Free,
            _ => Key::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<bool>) {
        let want = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "n", "labels": {"x": "<é>"}},
            "data": {"a": 1, "b": [true, null, 1.5], "namespace": "m"}});
        let want = Object::from_value(want).expect("an object");
        assert_eq!(is_object(text, &want), expect, "{text}");
    }

    const SAME: &str = r#"{"apiVersion":"v1","data":{"a":1,"b":[true,null,1.5],"namespace":"m"},"kind":"ConfigMap","metadata":{"labels":{"x":"\u003cé\u003e"},"name":"a","namespace":"n"}}
"#;

    #[test]
    fn the_same_however_it_is_spelled() {
        check(SAME, Some(true));
        check(&SAME.replace(',', ", "), Some(true));
    }

    #[test]
    fn a_namespace_may_be_left_out_or_another() {
        check(&SAME.replace(",\"namespace\":\"n\"", ""), Some(true));
        check(&SAME.replace("\"n\"", "\"other\""), Some(true));
        check(&SAME.replace("\"m\"", "\"other\""), Some(false));
    }

    #[test]
    fn any_other_difference_counts() {
        for (from, to) in [
            ("\"a\":1", "\"a\":2"),
            ("\"a\":1", "\"a\":1.0"),
            ("true,", ""),
            ("1.5", "1.5,2"),
            ("null", "0"),
            ("\"a\":1,", ""),
            ("\"a\":1", "\"a\":1,\"aa\":1"),
            ("\"a\":1", "\"a\":1,\"a\":1"),
            ("[true,null,1.5]", "{}"),
            ("{\"x\"", "{\"y\""),
        ] {
            assert!(SAME.contains(from), "{from}");
            check(&SAME.replacen(from, to, 1), Some(false));
        }
    }

    #[track_caller]
    fn check_texts(from: &str, to: &str, expect: Option<&[&[Step<'_>]]>) {
        let want = json!({"apiVersion": "v1", "kind": "A", "metadata": {"namespace": "n"},
            "spec": {"a": "x", "empty": "", "list": [{"b": "y"}, "z"]}});
        let want = Object::from_value(want).expect("an object");
        let text = want.as_value().to_string();
        assert!(text.contains(from), "{from}");
        let found = differing_texts(&text.replacen(from, to, 1), &want);
        let found: Option<Vec<&[Step<'_>]>> =
            found.as_ref().map(|it| it.iter().map(Vec::as_slice).collect());
        assert_eq!(found.as_deref(), expect, "{from} {to}");
    }

    #[test]
    fn texts_may_differ_where_they_are_fields() {
        use Step::{Element, Field};
        check_texts("x", "x", Some(&[]));
        check_texts("x", "other", Some(&[&[Field("spec"), Field("a")]]));
        let inside = [Field("spec"), Field("list"), Element, Field("b")];
        check_texts("\"y\"", "\"other\"", Some(&[&inside]));
        check_texts("\"n\"", "\"other\"", Some(&[]));
    }

    #[test]
    fn what_may_be_as_good_as_absent_may_not_differ() {
        check_texts("\"x\"", "\"\"", None);
        check_texts("\"x\"", "null", None);
        check_texts("\"x\"", "1", None);
        check_texts("\"\"", "\"other\"", None);
        check_texts("\"z\"", "\"other\"", None);
        check_texts(",\"z\"", "", None);
        check_texts("\"a\"", "\"aa\"", None);
        check_texts("\"n\"", "1", None);
    }

    #[test]
    fn what_is_no_json_says_nothing() {
        check("", None);
        check("{\"apiVersion\":", None);
        check(&(SAME.to_owned() + "x"), None);
    }
}
