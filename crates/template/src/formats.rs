//! The functions Helm adds to sprig for YAML, TOML and JSON.

use gocompat::yaml;

use crate::arguments::{bytes, text};
use crate::call::{Function, Functions, Parameter, PlainBody};
use crate::error::{Error, Origin};
use crate::json::{self, Layout, Target};
use crate::pretty_yaml;
use crate::toml;
use crate::value::Value;
use crate::yaml_error::yaml_error_text;

impl Functions {
    /// Adds `toYaml`, `fromYaml`, `toToml`, `fromJson` and their like, as Helm has them: those
    /// without `must` never fail, they return an empty text or the complaint.
    pub fn add_helm_formats(&mut self) {
        use Parameter::{Any, String};
        type Text = std::string::String;
        let rows: [(&'static str, &'static [Parameter], PlainBody); 13] = [
            ("toYaml", &[Any], |_, a| {
                Ok(Value::string(Error::swallow(to_yaml(&a[0]), |_| Text::new())?))
            }),
            ("mustToYaml", &[Any], |_, a| Ok(Value::string(to_yaml(&a[0])?))),
            ("toYamlPretty", &[Any], |_, a| {
                Ok(Value::string(Error::swallow(pretty_yaml::encode(&a[0]), |_| Text::new())?))
            }),
            ("fromYaml", &[String], |_, a| {
                Ok(or_error_entry(from_yaml(&text(&a[0]), Target::Map)))
            }),
            ("fromYamlArray", &[String], |_, a| {
                Ok(or_error_item(from_yaml(&text(&a[0]), Target::List)))
            }),
            ("toToml", &[Any], |_, a| {
                let text = toml::encode(some(&a[0])?);
                Ok(Value::string(Error::swallow(text, |error| error.to_string())?))
            }),
            ("mustToToml", &[Any], |_, a| Ok(Value::string(toml::encode(some(&a[0])?)?))),
            ("fromToml", &[String], |_, a| {
                Error::swallow(toml::decode(bytes(&a[0])), |error| or_error_entry(Err(error)))
            }),
            ("toJson", &[Any], |_, a| {
                Ok(Value::string(Error::swallow(
                    json::encode(&a[0], Layout::Compact, true),
                    |_| Vec::new(),
                )?))
            }),
            ("mustToJson", &[Any], |_, a| {
                Ok(Value::string(json::encode(&a[0], Layout::Compact, true)?))
            }),
            ("fromJson", &[String], |_, a| {
                let decoded = json::decode_partly(bytes(&a[0]), Target::Map);
                let (value, problem) = match decoded {
                    Ok((value, problem)) => (Ok(value), problem),
                    Err(error) => (Err(error), None),
                };
                let value = or_error_entry(value);
                if let (Value::Map(map), Some(problem)) = (&value, problem) {
                    map.set("Error", Value::string(problem.to_string()));
                }
                Ok(value)
            }),
            ("fromJsonArray", &[String], |_, a| {
                Ok(or_error_item(json::decode(bytes(&a[0]), Target::List)))
            }),
            ("mustFromJson", &[String], |_, a| json::decode(bytes(&a[0]), Target::Any)),
        ];
        for (name, parameters, body) in rows {
            self.add(name, Function::new(parameters, body));
        }
    }
}

/// A value as YAML, without the last line break.
pub fn to_yaml(value: &Value) -> Result<String, Error> {
    let json = value.to_json().map_err(|error| match error.origin() {
        Origin::Limit => error,
        _ => Error::function(format!("error marshaling into JSON: {error}")),
    })?;
    Ok(without_last_line_break(yaml::from_value(&json)))
}

fn without_last_line_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    text
}

/// Deeper than any document, and shallow enough for every stack.
const LIMITS: yaml::Limits =
    yaml::Limits { max_bytes: 64 << 20, max_depth: 150, max_values: 4_000_000 };

pub(crate) fn from_yaml(text: &str, target: Target) -> Result<Value, Error> {
    let document = yaml::to_value_within(text, LIMITS)
        .map_err(|error| Error::function(yaml_error_text(text, &error)))?;
    let value = Value::from_json(&document);
    json::check_target(&value, target).map_err(|error| {
        Error::function(format!("error unmarshaling JSON: while decoding JSON: {error}"))
    })?;
    Ok(match (value, target) {
        // The library leaves what was there before in place, unlike that of JSON.
        (Value::Nil, Target::Map) => Value::map::<&str>([]),
        (Value::Nil, Target::List) => Value::list(Vec::new()),
        (value, _) => value,
    })
}

/// Go's library for TOML panics where there is no value, which no template survives.
fn some(value: &Value) -> Result<&Value, Error> {
    if value.is_nil() {
        return Err(Error::function("reflect: call of reflect.Value.Type on zero Value"));
    }
    Ok(value)
}

fn or_error_entry(result: Result<Value, Error>) -> Value {
    match result {
        Ok(Value::Nil) => Target::Map.nil(),
        Ok(value) => value,
        Err(error) => Value::map([("Error", Value::string(error.to_string()))]),
    }
}

fn or_error_item(result: Result<Value, Error>) -> Value {
    match result {
        Ok(Value::Nil) => Target::List.nil(),
        Ok(value) => value,
        Err(error) => Value::list(vec![Value::string(error.to_string())]),
    }
}
