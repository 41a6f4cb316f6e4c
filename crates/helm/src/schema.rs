//! values.schema.json: what a chart accepts as values.

use boon::{Compiler, ErrorKind, InstanceLocation, InstanceToken, Schemas, ValidationError};
use serde_json::Value as Json;
use template::{Map, Value};

use crate::dependencies::Node;

/// Where the schema pretends to be; nobody sees it.
const LOCATION: &str = "file:///values.schema.json";

/// Checks the values of a chart and of those below it; the text is Helm's.
pub(crate) fn check(node: &Node<'_>, values: &Map) -> Result<(), String> {
    let mut problems = String::new();
    if let Some(schema) = &node.chart.schema
        && let Err(problem) = check_one(schema, values)
    {
        problems.push_str(&format!("{}:\n{problem}", node.name()));
    }
    for child in &node.children {
        match values.get(child.name().as_bytes()) {
            None | Some(Value::Nil | Value::Nothing) => {}
            Some(Value::Map(inner)) => {
                if let Err(problem) = check(child, &inner) {
                    problems.push_str(&problem);
                }
            }
            Some(other) => problems.push_str(&format!(
                "{}:\ninvalid type for values: expected object (map), got {}\n",
                child.name(),
                other.type_name()
            )),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn check_one(schema: &[u8], values: &Map) -> Result<(), String> {
    let schema: Json = serde_json::from_slice(schema).map_err(|_| template::json_error(schema))?;
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    // Nothing is fetched: a schema that refers elsewhere is refused.
    compiler.use_loader(Box::new(NoLoader));
    compiler.add_resource(LOCATION, schema).map_err(|error| error.to_string())?;
    let index = compiler.compile(LOCATION, &mut schemas).map_err(|error| error.to_string())?;
    let values = Value::Map(values.clone()).to_json().map_err(|error| error.to_string())?;
    schemas.validate(&values, index).map_err(|error| {
        let mut lines = Vec::new();
        // The outermost error only names the schema.
        for cause in &error.causes {
            describe(cause, 0, &mut lines);
        }
        lines.join("\n") + "\n"
    })
}

struct NoLoader;

impl boon::UrlLoader for NoLoader {
    fn load(&self, url: &str) -> Result<Json, Box<dyn std::error::Error>> {
        Err(format!("a schema of a chart cannot refer to {url}: put what it needs into the file")
            .into())
    }
}

/// One line per complaint, each below the one it explains.
fn describe(error: &ValidationError<'_, '_>, level: usize, lines: &mut Vec<String>) {
    let is_mere_reference =
        matches!(error.kind, ErrorKind::Reference { .. }) && error.causes.len() == 1;
    let mut level = level;
    if !is_mere_reference {
        let place = pointer(&error.instance_location);
        lines.push(format!("{}- at '{place}': {}", "  ".repeat(level), words(&error.kind)));
        level += 1;
    }
    for cause in &error.causes {
        describe(cause, level, lines);
    }
}

fn pointer(location: &InstanceLocation<'_>) -> String {
    let mut out = String::new();
    for token in &location.tokens {
        match token {
            InstanceToken::Prop(name) => {
                out.push('/');
                out.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            InstanceToken::Item(index) => out.push_str(&format!("/{index}")),
        }
    }
    out
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

fn all_quoted<T: AsRef<str>>(names: &[T]) -> String {
    names.iter().map(|name| quoted(name.as_ref())).collect::<Vec<_>>().join(", ")
}

fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn counts(keyword: &str, got: impl std::fmt::Display, want: impl std::fmt::Display) -> String {
    format!("{keyword}: got {}, want {}", grouped(&got.to_string()), grouped(&want.to_string()))
}

/// A number as English has it: `70,000`.
fn grouped(number: &str) -> String {
    let (whole, fraction) = match number.find(['.', 'e']) {
        Some(at) => number.split_at(at),
        None => (number, ""),
    };
    let digits = whole.trim_start_matches('-');
    let mut out = whole[..whole.len() - digits.len()].to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if fraction != ".0" {
        out.push_str(fraction);
    }
    out
}

/// The complaint in the words of the library Helm uses.
fn words(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
        ErrorKind::Type { got, want } => {
            let want: Vec<String> = want.iter().map(|kind| kind.to_string()).collect();
            format!("got {got}, want {}", want.join(" or "))
        }
        ErrorKind::Enum { want } => {
            if want.iter().any(|item| item.is_array() || item.is_object()) {
                return "'enum' failed".into();
            }
            let all: Vec<String> = want.iter().map(shown).collect();
            match all.as_slice() {
                [only] => format!("value must be {only}"),
                _ => format!("value must be one of {}", all.join(", ")),
            }
        }
        ErrorKind::Const { want } if want.is_array() || want.is_object() => "'const' failed".into(),
        ErrorKind::Const { want } => format!("value must be {}", shown(want)),
        ErrorKind::Format { got, want, err } => {
            format!("{} is not valid {want}: {err}", shown(got))
        }
        ErrorKind::MinProperties { got, want } => counts("minProperties", got, want),
        ErrorKind::MaxProperties { got, want } => counts("maxProperties", got, want),
        ErrorKind::MinItems { got, want } => counts("minItems", got, want),
        ErrorKind::MaxItems { got, want } => counts("maxItems", got, want),
        ErrorKind::MinLength { got, want } => counts("minLength", got, want),
        ErrorKind::MaxLength { got, want } => counts("maxLength", got, want),
        ErrorKind::Minimum { got, want } => counts("minimum", got, want),
        ErrorKind::Maximum { got, want } => counts("maximum", got, want),
        ErrorKind::ExclusiveMinimum { got, want } => counts("exclusiveMinimum", got, want),
        ErrorKind::ExclusiveMaximum { got, want } => counts("exclusiveMaximum", got, want),
        ErrorKind::MultipleOf { got, want } => counts("multipleOf", got, want),
        ErrorKind::AdditionalProperties { got } => {
            format!("additional properties {} not allowed", all_quoted(got))
        }
        ErrorKind::AdditionalItems { got } => format!("last {got} additionalItem(s) not allowed"),
        ErrorKind::Required { want } => match want.as_slice() {
            [only] => format!("missing property {}", quoted(only)),
            _ => format!("missing properties {}", all_quoted(want)),
        },
        ErrorKind::Dependency { prop, missing }
        | ErrorKind::DependentRequired { prop, missing } => {
            format!("properties {} required, if {} exists", all_quoted(missing), quoted(prop))
        }
        ErrorKind::PropertyName { prop } => format!("invalid propertyName {}", quoted(prop)),
        ErrorKind::Pattern { got, want } => {
            format!("{} does not match pattern {}", quoted(got), quoted(want))
        }
        ErrorKind::Not => "'not' failed".into(),
        ErrorKind::AllOf => "'allOf' failed".into(),
        ErrorKind::AnyOf => "'anyOf' failed".into(),
        ErrorKind::OneOf(None) => "'oneOf' failed, none matched".into(),
        ErrorKind::OneOf(Some((first, second))) => {
            format!("'oneOf' failed, subschemas {first}, {second} matched")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, expect) in [
            ("7", "7"),
            ("70000", "70,000"),
            ("-1234567", "-1,234,567"),
            ("1234.5", "1,234.5"),
            ("100.0", "100"),
        ] {
            assert_eq!(grouped(number), expect);
        }
    }
}
