//! From JSON Schema to the form Kubernetes accepts.
//!
//! A structural schema has one `type` per node, no references, no `null` types
//! and says in `x-kubernetes-…` what JSON Schema has no word for.

use serde_json::{Map, Value};

/// Whether the definition explains its fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Descriptions {
    Keep,
    Drop,
}

/// Rewrites a schema whose references are already inlined.
pub(crate) fn from_json_schema(schema: Value, descriptions: Descriptions) -> Value {
    match schema {
        Value::Object(schema) => node(schema, descriptions),
        // `true`: anything goes.
        other => other,
    }
}

fn node(mut schema: Map<String, Value>, descriptions: Descriptions) -> Value {
    take_the_alternative_that_is_not_null(&mut schema);
    drop_null_from_the_type(&mut schema);
    for keyword in ["$schema", "title", "default"] {
        schema.remove(keyword);
    }
    if descriptions == Descriptions::Drop {
        schema.remove("description");
    } else if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            rewrite(property, descriptions);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(keyword) {
            rewrite(inner, descriptions);
        }
    }
    sort_required(&mut schema);
    Value::Object(schema)
}

fn rewrite(schema: &mut Value, descriptions: Descriptions) {
    *schema = from_json_schema(schema.take(), descriptions);
}

/// An optional struct is `anyOf: [struct, null]`; absence says the same.
fn take_the_alternative_that_is_not_null(schema: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = schema.get("anyOf") else { return };
    let is_null = |alternative: &&Value| alternative["type"] == "null";
    if !alternatives.iter().any(|alternative| is_null(&alternative)) {
        return;
    }
    let kept = alternatives.iter().find(|alternative| !is_null(alternative)).cloned();
    schema.remove("anyOf");
    if let Some(Value::Object(kept)) = kept {
        for (keyword, value) in kept {
            // What the field says about itself wins over what its type says.
            schema.entry(keyword).or_insert(value);
        }
    }
}

fn drop_null_from_the_type(schema: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = schema.get("type") else { return };
    if let Some(kept) = types.iter().find(|name| *name != "null").cloned() {
        schema.insert("type".to_owned(), kept);
    }
}

fn sort_required(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.sort_by(|left, right| left.as_str().cmp(&right.as_str()));
    }
}
