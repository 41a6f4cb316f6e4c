//! A node tree printed as go-yaml 3 prints it: for YAML inside of YAML, and
//! for error messages.
//!
//! Styles are kept, lines are not folded. Comments were dropped when reading.

use super::forms::{Analysis, block_hints, escape, needs_escape};
use super::scalar::resolve;
use super::{Body, Form, Node, Tag};

const INDENT: usize = 2;

/// Prints a node as a document; the text ends with a line break.
pub(crate) fn print_node(node: &Node) -> String {
    let mut out = String::new();
    block(node, 0, Start::Document, &mut out);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// Where a node begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Document,
    /// Behind `- `.
    Item,
    /// Behind `key:`.
    Value,
}

fn block(node: &Node, indent: usize, start: Start, out: &mut String) {
    match &node.body {
        Body::Mapping(entries) if !entries.is_empty() && node.style.form != Form::Flow => {
            let inner = if start == Start::Value { indent + INDENT } else { indent };
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 || start == Start::Value {
                    line(inner, out);
                }
                scalar(key, inner, true, false, out);
                out.push(':');
                entry_value(value, inner, out);
            }
        }
        Body::Sequence(items) if !items.is_empty() && node.style.form != Form::Flow => {
            // A sequence stands at the indent of its key.
            for (index, item) in items.iter().enumerate() {
                if index > 0 || start == Start::Value {
                    line(indent, out);
                }
                out.push_str("- ");
                block(item, indent + INDENT, Start::Item, out);
            }
        }
        Body::Mapping(_) | Body::Sequence(_) => flow(node, out),
        Body::Scalar(_) => scalar(node, indent, false, false, out),
    }
}

fn entry_value(value: &Node, indent: usize, out: &mut String) {
    match &value.body {
        Body::Mapping(entries) if !entries.is_empty() && value.style.form != Form::Flow => {
            block(value, indent, Start::Value, out);
        }
        Body::Sequence(items) if !items.is_empty() && value.style.form != Form::Flow => {
            block(value, indent, Start::Value, out);
        }
        Body::Scalar(text) if text.is_empty() && value.style.form == Form::Plain => {
            if value.tag == Tag::Str {
                out.push_str(" \"\"");
            }
        }
        Body::Scalar(_) => {
            out.push(' ');
            scalar(value, indent + INDENT, false, false, out);
        }
        Body::Mapping(_) | Body::Sequence(_) => {
            out.push(' ');
            flow(value, out);
        }
    }
}

fn flow(node: &Node, out: &mut String) {
    match &node.body {
        Body::Mapping(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                scalar(key, 0, true, true, out);
                out.push_str(": ");
                flow(value, out);
            }
            out.push('}');
        }
        Body::Sequence(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                flow(item, out);
            }
            out.push(']');
        }
        Body::Scalar(_) => scalar(node, 0, false, true, out),
    }
}

fn line(indent: usize, out: &mut String) {
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out.extend(std::iter::repeat_n(' ', indent));
}

fn scalar(node: &Node, indent: usize, is_key: bool, in_flow: bool, out: &mut String) {
    let text = node.text();
    let mut form = node.style.form;
    if node.style.tagged && node.tag != Tag::None {
        out.push_str(node.tag.short());
        out.push(' ');
    } else if form == Form::Plain {
        let own = resolve(text).tag();
        if text.contains('\n') {
            form = Form::Literal;
        } else if node.tag == Tag::Str && own != Tag::Str {
            form = Form::DoubleQuoted;
        } else if node.tag != Tag::None && node.tag != own && node.tag != Tag::Merge {
            out.push_str(node.tag.short());
            out.push(' ');
        }
    }
    let analysis = Analysis::of(text);
    if form == Form::Plain {
        let allowed =
            if in_flow { analysis.flow_plain_allowed } else { analysis.block_plain_allowed };
        if !allowed || (text.is_empty() && (in_flow || is_key)) {
            form = Form::SingleQuoted;
        }
    }
    if form == Form::SingleQuoted && !analysis.single_quoted_allowed {
        form = Form::DoubleQuoted;
    }
    if matches!(form, Form::Literal | Form::Folded)
        && (!analysis.block_allowed || in_flow || is_key)
    {
        form = Form::DoubleQuoted;
    }
    match form {
        Form::Plain | Form::Flow => out.push_str(text),
        Form::SingleQuoted => {
            out.push('\'');
            out.push_str(&text.replace('\'', "''"));
            out.push('\'');
        }
        Form::DoubleQuoted => {
            out.push('"');
            for letter in text.chars() {
                if needs_escape(letter) {
                    out.push_str(&escape(letter));
                } else {
                    out.push(letter);
                }
            }
            out.push('"');
        }
        Form::Literal => lines('|', text, text.split('\n').map(str::to_owned), indent, out),
        Form::Folded => lines('>', text, unfolded(text).into_iter(), indent, out),
    }
}

/// A folded block doubles every break between two lines of text.
fn unfolded(text: &str) -> Vec<String> {
    let mut result = Vec::new();
    let lines: Vec<&str> = text.split('\n').collect();
    for (index, line) in lines.iter().enumerate() {
        result.push((*line).to_owned());
        let next = lines.get(index + 1);
        let joins = |line: &str| !line.is_empty() && !line.starts_with([' ', '\t']);
        if joins(line) && next.is_some_and(|next| joins(next)) {
            result.push(String::new());
        }
    }
    result
}

fn lines(
    indicator: char,
    text: &str,
    lines: impl Iterator<Item = String>,
    indent: usize,
    out: &mut String,
) {
    out.push(indicator);
    out.push_str(&block_hints(text));
    let lines: Vec<String> = lines.collect();
    let count = if text.ends_with('\n') { lines.len() - 1 } else { lines.len() };
    for line in &lines[..count] {
        out.push('\n');
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(line);
        }
    }
    if text.ends_with('\n') {
        out.push('\n');
    }
}
