//! Turns path, query and body of a REST request into the JSON of one message.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::rest::Body;
use crate::template::unescaped;

/// Why a REST request is no message.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The body is not JSON, or not an object.
    #[error("could not read the body as JSON")]
    Body(#[source] serde_json::Error),
    /// A field has a value that is none of its own.
    #[error("could not read the request")]
    Field(#[source] serde_json::Error),
}

/// What the messages of a body in pieces are called in the one message that they become.
const PIECES: &str = "pieces";

/// A body in pieces, read.
#[derive(serde::Deserialize)]
#[serde(bound = "Piece: serde::de::DeserializeOwned")]
pub(crate) struct Gathered<Piece> {
    pub(crate) pieces: Vec<Piece>,
}

type Fields = BTreeMap<String, Box<RawValue>>;

/// The message as JSON. Values of the path win over the body's, the query's fill in.
pub(crate) fn request_json(
    body: Body,
    body_bytes: &[u8],
    variables: &[(&'static str, String)],
    query: &str,
) -> Result<String, RequestError> {
    let mut fields = Fields::new();
    let given = if body_bytes.trim_ascii().is_empty() { b"{}" } else { body_bytes };
    match body {
        Body::None => {}
        Body::Whole => fields = serde_json::from_slice(given).map_err(RequestError::Body)?,
        Body::Field(name) => {
            let value = serde_json::from_slice(given).map_err(RequestError::Body)?;
            drop(fields.insert(name.to_owned(), value));
        }
        Body::Pieces => {
            let pieces = serde_json::Deserializer::from_slice(body_bytes).into_iter();
            let pieces: Vec<Fields> =
                pieces.collect::<Result<_, _>>().map_err(RequestError::Body)?;
            let pieces = serde_json::value::to_raw_value(&pieces).map_err(RequestError::Body)?;
            drop(fields.insert(PIECES.to_owned(), pieces));
        }
    }
    if !matches!(body, Body::Whole | Body::Pieces) {
        for (name, texts) in query_fields(query) {
            set(&mut fields, &name, raw(&texts))?;
        }
    }
    for (name, text) in variables {
        set(&mut fields, name, raw(text))?;
    }
    Ok(serde_json::to_string(&fields).expect("a map of JSON has text for keys"))
}

/// Names with their values, one as text and several as a list.
fn query_fields(query: &str) -> BTreeMap<String, serde_json::Value> {
    let mut fields: BTreeMap<String, serde_json::Value> = BTreeMap::new();
    for pair in query.split('&').filter(|it| !it.is_empty()) {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let text = serde_json::Value::String(unescaped(text, true));
        match fields.entry(unescaped(name, true)).or_default() {
            serde_json::Value::Null => drop(fields.insert(unescaped(name, true), text)),
            serde_json::Value::Array(texts) => texts.push(text),
            first => *first = serde_json::Value::Array(vec![first.take(), text]),
        }
    }
    fields
}

fn raw(value: &impl serde::Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("text is JSON")
}

/// Sets a field by its dotted name, leaving its neighbours as they are.
fn set(fields: &mut Fields, name: &str, value: Box<RawValue>) -> Result<(), RequestError> {
    let Some((first, rest)) = name.split_once('.') else {
        drop(fields.insert(name.to_owned(), value));
        return Ok(());
    };
    let mut inner = match fields.get(first) {
        Some(inner) => serde_json::from_str(inner.get()).map_err(RequestError::Body)?,
        None => Fields::new(),
    };
    set(&mut inner, rest, value)?;
    drop(fields.insert(first.to_owned(), raw(&inner)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        body: Body,
        bytes: &str,
        variables: &[(&'static str, &str)],
        query: &str,
        expect: &str,
    ) {
        let variables: Vec<_> = variables.iter().map(|(n, t)| (*n, (*t).to_owned())).collect();
        let json = request_json(body, bytes.as_bytes(), &variables, query).expect("a request");
        assert_eq!(json, expect);
    }

    #[test]
    fn the_query_fills_fields_and_repeats_become_lists() {
        check(
            Body::None,
            "",
            &[("name", "web")],
            "refresh=hard&project=a&project=b",
            r#"{"name":"web","project":["a","b"],"refresh":"hard"}"#,
        );
    }

    #[test]
    fn a_body_may_be_one_field_or_the_whole() {
        check(
            Body::Field("spec"),
            r#"{"x":1}"#,
            &[("name", "web")],
            "validate=false",
            r#"{"name":"web","spec":{"x":1},"validate":"false"}"#,
        );
        check(
            Body::Whole,
            r#"{"name":"other","prune":true}"#,
            &[("name", "web")],
            "",
            r#"{"name":"web","prune":true}"#,
        );
    }

    #[test]
    fn a_dotted_name_goes_inside_and_big_numbers_keep_their_digits() {
        check(
            Body::Field("application"),
            r#"{"metadata":{"name":"x","n":12345678901234567890123}}"#,
            &[("application.metadata.name", "web")],
            "",
            r#"{"application":{"metadata":{"n":12345678901234567890123,"name":"web"}}}"#,
        );
    }

    #[test]
    fn a_body_that_is_no_object_is_refused() {
        assert!(request_json(Body::Whole, b"[1]", &[], "").is_err());
        assert!(request_json(Body::Whole, b"{", &[], "").is_err());
    }
}
