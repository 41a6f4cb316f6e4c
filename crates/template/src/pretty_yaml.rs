//! `toYamlPretty`: YAML from Go's values themselves, where `toYaml` goes by way of JSON. A large float
//! keeps its exponent, a time stands without quotes, and bytes are a list of numbers.

use gocompat::{number, yaml};
use yaml::Node;

use crate::error::Error;
use crate::value::{Marshals, Value};

/// Deeper values contain themselves, or mean no good.
const MAX_DEPTH: usize = 200;

/// As many as in JSON.
const MAX_VALUES: usize = 2_000_000;

pub(crate) fn encode(value: &Value) -> Result<String, Error> {
    let mut text = yaml::pretty(&Converter { count: 0 }.node(value, 0)?);
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

struct Converter {
    count: usize,
}

impl Converter {
    fn node(&mut self, value: &Value, depth: usize) -> Result<Node, Error> {
        // Maps that share their parts can be small in memory and endless as a tree.
        self.count += 1;
        if self.count > MAX_VALUES {
            return Err(Error::limit(format!("value has more than {MAX_VALUES} parts")));
        }
        if depth > MAX_DEPTH {
            return Err(Error::limit("value contains itself or is nested too deeply"));
        }
        let plain = |text: &dyn ToString| Node::Plain(text.to_string());
        Ok(match value {
            Value::Nothing | Value::Nil => plain(&"null"),
            Value::Bool(truth) => plain(truth),
            Value::Int(_, number) => plain(number),
            Value::Uint(_, number) => plain(number),
            Value::Float(number) => Node::Plain(float(*number)),
            Value::String(text) => Node::Text(text.as_bytes().to_vec()),
            Value::Bytes(bytes) => {
                Node::List(bytes.as_bytes().iter().map(|it| plain(it)).collect())
            }
            Value::List(list) => {
                let items = list.iter().map(|item| self.node(item, depth + 1));
                Node::List(items.collect::<Result<_, _>>()?)
            }
            Value::Map(map) => {
                let entries = map.entries();
                let entries = entries.iter().map(|(key, value)| {
                    Ok((key.as_bytes().to_vec(), self.node(value, depth + 1)?))
                });
                Node::sorted(entries.collect::<Result<_, Error>>()?)
            }
            Value::Object(object) => match object.marshals() {
                Marshals::Time(text) => Node::Plain(text),
                Marshals::Text(text) => Node::Text(text.into_bytes()),
                Marshals::Fields => {
                    let fields = object.fields().into_iter();
                    let exported = fields.filter(|(name, _)| name.starts_with(char::is_uppercase));
                    let entries = exported.map(|(name, value)| {
                        Ok((name.to_lowercase().into_bytes(), self.node(&value, depth + 1)?))
                    });
                    Node::Map(entries.collect::<Result<_, Error>>()?)
                }
            },
            Value::Function(_) => return Err(Error::function("cannot marshal type: func()")),
        })
    }
}

fn float(number: f64) -> String {
    if number.is_nan() {
        ".nan".into()
    } else if number.is_infinite() {
        if number > 0.0 { ".inf".into() } else { "-.inf".into() }
    } else {
        number::format_g(number)
    }
}
