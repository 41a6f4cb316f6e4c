//! Reads the first document of a case. Cases are plain YAML: no anchors, no
//! tags; a loader for manifests is not needed, nor this one good enough to be it.

use libyaml_safer::{EventData, Parser, ScalarStyle};
use serde_json::{Map, Value};

pub(crate) fn first_document(text: &str) -> Value {
    // The scanner panics on a block scalar that the end of the file cuts off.
    let text = format!("{text}\n");
    let mut bytes = text.as_bytes();
    let mut parser = Parser::new();
    parser.set_input_string(&mut bytes);
    loop {
        match next(&mut parser) {
            EventData::StreamStart { .. } | EventData::DocumentStart { .. } => {}
            event => return value(&mut parser, event),
        }
    }
}

type Reader<'r, 'b> = Parser<&'r mut &'b [u8]>;

fn next(parser: &mut Reader<'_, '_>) -> EventData {
    parser.parse().expect("a case in YAML").data
}

fn value(parser: &mut Reader<'_, '_>, event: EventData) -> Value {
    match event {
        EventData::Scalar { value, style: ScalarStyle::Plain, .. } => plain(&value),
        EventData::Scalar { value, .. } => Value::String(value),
        EventData::SequenceStart { .. } => {
            let mut list = Vec::new();
            loop {
                match next(parser) {
                    EventData::SequenceEnd => return Value::Array(list),
                    event => list.push(value(parser, event)),
                }
            }
        }
        EventData::MappingStart { .. } => {
            let mut fields = Map::new();
            loop {
                match next(parser) {
                    EventData::MappingEnd => return Value::Object(fields),
                    EventData::Scalar { value: name, .. } => {
                        let event = next(parser);
                        fields.insert(name, value(parser, event));
                    }
                    other => panic!("a key in the place of {other:?}"),
                }
            }
        }
        other => panic!("a value in the place of {other:?}"),
    }
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => {
            if let Ok(integer) = text.parse::<i64>() {
                return Value::from(integer);
            }
            let numeric = text.starts_with(|it: char| it.is_ascii_digit() || "+-.".contains(it));
            match text.parse::<f64>() {
                Ok(float) if numeric => Value::from(float),
                _ => Value::String(text.to_owned()),
            }
        }
    }
}
