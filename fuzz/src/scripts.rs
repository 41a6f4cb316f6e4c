//! Languages that users program in: jq paths and Lua.

use engine::diff::jq::{self, PathExpression};
use lua::{Limits, Surroundings};
use object::Object;
use serde_json::{Value, json};

use crate::{text, two_texts};

/// An expression ends, and deletes nothing from a copy that it left alone.
pub(crate) fn jq(bytes: &[u8]) {
    let Some((expression, value)) = two_texts(bytes) else { return };
    let Ok(expression) = PathExpression::parse(expression) else { return };
    let Ok(value) = serde_json::from_str::<Value>(value) else { return };
    drop(jq::delete(&value, &expression));
}

/// A script ends within its budgets, whatever it returns.
pub(crate) fn lua(bytes: &[u8]) {
    let Some(script) = text(bytes) else { return };
    let object = json!({
        "apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"},
        "status": {"phase": "Ready", "conditions": [{"type": "A", "status": "True"}]},
    });
    let object = Object::from_value(object).expect("an object");
    let limits = Limits { instructions: 200_000, memory: 8 << 20, pattern_steps: 100_000 };
    let surroundings = Surroundings { limits, ..Surroundings::at(0) };
    drop(lua::health(script, &object, &surroundings));
    drop(lua::discover_actions(&[script], &object, &surroundings));
}
