//! JSON values as YAML in plain block style, keys sorted.
//!
//! Writes what we generate; manifests of users are read and written elsewhere.

use std::fmt::Write as _;

use serde_json::Value;

/// One document, ending in a newline.
pub(crate) fn write(value: &Value) -> String {
    let mut text = String::new();
    write_block(&mut text, value, 0);
    text
}

/// Writes a value whose first line begins at the cursor and whose other lines are
/// indented by `indent`.
fn write_block(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (position, (key, entry)) in entries.iter().enumerate() {
                start_line(text, position, indent);
                text.push_str(&scalar_text(key));
                text.push(':');
                match entry {
                    // A list in a map is not indented, as kubectl prints it.
                    Value::Array(items) if !items.is_empty() => nested(text, entry, indent),
                    Value::Object(entries) if !entries.is_empty() => {
                        nested(text, entry, indent + 2);
                    }
                    scalar => inline(text, scalar),
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (position, item) in items.iter().enumerate() {
                start_line(text, position, indent);
                text.push_str("- ");
                write_block(text, item, indent + 2);
            }
        }
        scalar => {
            text.push_str(&inline_text(scalar));
            text.push('\n');
        }
    }
}

fn start_line(text: &mut String, position: usize, indent: usize) {
    if position > 0 {
        text.extend(std::iter::repeat_n(' ', indent));
    }
}

fn nested(text: &mut String, value: &Value, indent: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indent));
    write_block(text, value, indent);
}

fn inline(text: &mut String, scalar: &Value) {
    writeln!(text, " {}", inline_text(scalar)).expect("writing to a String cannot fail");
}

fn inline_text(value: &Value) -> String {
    match value {
        Value::String(string) => scalar_text(string),
        // Empty maps and lists, numbers, booleans and null are the same in JSON and YAML.
        other => other.to_string(),
    }
}

/// Plain where no reader could take it for something else, JSON-quoted otherwise.
fn scalar_text(string: &str) -> String {
    if is_plain(string) { string.to_owned() } else { Value::from(string).to_string() }
}

fn is_plain(string: &str) -> bool {
    const RESERVED: [&str; 11] =
        ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    let starts_plain =
        string.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '_' | '/'));
    let plain_throughout = string.chars().all(|character| {
        character == ' ' || character.is_ascii_graphic() && !matches!(character, '#')
    });
    starts_plain
        && plain_throughout
        && !string.ends_with(' ')
        && !string.ends_with(':')
        && !string.contains(": ")
        && !RESERVED.contains(&string.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &Value, expect: &str) {
        assert_eq!(write(value), expect);
    }

    #[test]
    fn maps_nest_and_lists_align_with_their_key() {
        check(
            &json!({"b": {"c": 1, "d": []}, "a": ["x", {"y": true, "z": ["w"]}]}),
            "a:\n- x\n- \"y\": true\n  z:\n  - w\nb:\n  c: 1\n  d: []\n",
        );
    }

    #[test]
    fn texts_that_a_reader_could_take_for_something_else_are_quoted() {
        for text in ["", "true", "No", "1", "-", "*", "a: b", "a #b", "ends ", "ü", "$ref", ".spec"]
        {
            check(&json!(text), &format!("{}\n", json!(text)));
        }
        for text in
            ["string", "x-kubernetes-map-type", "v1alpha1", "date-time", "a:b", "Sync Status"]
        {
            check(&json!(text), &format!("{text}\n"));
        }
    }
}
