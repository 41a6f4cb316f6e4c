//! JSON as Go's `encoding/json` prints it: keys sorted, `<`, `>` and `&`
//! escaped. Name hashes are made from this text, so it must be exact.

use serde_json::Value;

use crate::yaml::json::json_number_text;

/// Prints without white space.
pub(crate) fn print(value: &Value, out: &mut String) {
    write(value, out, None, 0);
}

/// Prints with two spaces per level.
pub(crate) fn print_indented(value: &Value, out: &mut String) {
    write(value, out, Some("  "), 0);
}

fn write(value: &Value, out: &mut String, indent: Option<&str>, depth: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&json_number_text(number)),
        Value::String(text) => quote(text, out),
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        Value::Object(map) if map.is_empty() => out.push_str("{}"),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(out, indent, depth, at);
                write(item, out, indent, depth + 1);
            }
            line(out, indent, depth);
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                separate(out, indent, depth, at);
                quote(key, out);
                out.push_str(if indent.is_some() { ": " } else { ":" });
                write(value, out, indent, depth + 1);
            }
            line(out, indent, depth);
            out.push('}');
        }
    }
}

fn separate(out: &mut String, indent: Option<&str>, depth: usize, at: usize) {
    if at > 0 {
        out.push(',');
    }
    line(out, indent, depth + 1);
}

fn line(out: &mut String, indent: Option<&str>, depth: usize) {
    if let Some(indent) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(indent, depth));
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn markup_and_control_characters_are_escaped() {
        let mut text = String::new();
        super::print(&json!({"b": "<a>&\u{1}\u{2028}", "a": [1, null, {}]}), &mut text);
        let expect = "{\"a\":[1,null,{}],\"b\":\"\\u003ca\\u003e\\u0026\\u0001\\u2028\"}";
        assert_eq!(text, expect);
    }

    #[test]
    fn indented_text_has_a_line_per_entry() {
        let mut text = String::new();
        super::print_indented(&json!({"a": [1], "b": {}}), &mut text);
        assert_eq!(text, "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}");
    }
}
