//! What a user may do to an object, and how a script does it.

use std::collections::BTreeMap;

use object::Object;
use serde_json::{Map, Value};

use crate::sandbox::{self, ScriptError, Surroundings};

/// An action as a user sees it before choosing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionOffer {
    /// Its name, such as `restart`.
    pub name: String,
    /// Shown, but not possible in the object's present state.
    pub disabled: bool,
    /// A name for people, if it differs.
    pub display_name: String,
    /// The class of its icon.
    pub icon_class: String,
    /// What the user is asked for.
    pub params: Vec<Parameter>,
}

/// Something that an action asks the user for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it is when the user says nothing.
    pub default: String,
}

/// What an action does to the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Impact {
    /// Whether [`Impact::object`] is new.
    pub operation: Operation,
    /// The object as it should be.
    pub object: Object,
}

/// How an action changes the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Make a new object.
    Create,
    /// Bring an object to the given state.
    Patch,
}

/// Asks discovery scripts which actions an object has.
///
/// The first script that names an action defines it. Actions come sorted by name.
///
/// # Errors
/// When a script fails or returns no table of actions.
pub fn discover_actions(
    scripts: &[&str],
    object: &Object,
    surroundings: &Surroundings,
) -> Result<Vec<ActionOffer>, ScriptError> {
    let mut offers = BTreeMap::new();
    for script in scripts {
        let result = sandbox::evaluate(script, object, None, surroundings)?;
        let actions = match result {
            Value::Object(actions) => actions,
            Value::Array(list) if list.is_empty() => continue,
            other => return Err(ScriptError::wrong_result("a table of actions", &other)),
        };
        for (name, definition) in actions {
            let offer = read_offer(&name, &definition)?;
            offers.entry(name).or_insert(offer);
        }
    }
    Ok(offers.into_values().collect())
}

fn read_offer(name: &str, definition: &Value) -> Result<ActionOffer, ScriptError> {
    let mut offer = ActionOffer { name: name.to_owned(), ..ActionOffer::default() };
    let definition = match definition {
        Value::Object(definition) => definition,
        Value::Array(list) if list.is_empty() => return Ok(offer),
        other => return Err(ScriptError::wrong_result("a table for each action", other)),
    };
    offer.disabled = definition.get("disabled") == Some(&Value::Bool(true));
    offer.display_name = text(definition, "displayName");
    offer.icon_class = text(definition, "iconClass");
    for parameter in definition.get("params").and_then(Value::as_array).into_iter().flatten() {
        if let Value::Object(parameter) = parameter {
            let (name, default) = (text(parameter, "name"), text(parameter, "default"));
            offer.params.push(Parameter { name, default });
        }
    }
    Ok(offer)
}

fn text(fields: &Map<String, Value>, field: &str) -> String {
    fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Runs an action script on an object.
///
/// The script finds the object in `obj` and the user's answers in
/// `actionParams`. It returns the changed object, or a list of tables with
/// `operation` (create or patch) and `resource`.
///
/// # Errors
/// When the script fails or returns neither.
pub fn run_action(
    script: &str,
    object: &Object,
    parameters: &BTreeMap<String, String>,
    surroundings: &Surroundings,
) -> Result<Vec<Impact>, ScriptError> {
    let result = sandbox::evaluate(script, object, Some(parameters), surroundings)?;
    match result {
        Value::Array(impacts) => impacts.into_iter().map(|it| read_impact(it, object)).collect(),
        changed @ Value::Object(_) => {
            let object = read_object(restore_empty_lists(changed, object.fields()))?;
            Ok(vec![Impact { operation: Operation::Patch, object }])
        }
        other => Err(ScriptError::wrong_result("an object or a list of impacts", &other)),
    }
}

fn read_impact(mut impact: Value, source: &Object) -> Result<Impact, ScriptError> {
    let operation = match impact.get("operation").and_then(Value::as_str) {
        Some("create") => Operation::Create,
        Some("patch") => Operation::Patch,
        _ => return Err(ScriptError::wrong_result("the operation create or patch", &impact)),
    };
    let mut resource = impact.get_mut("resource").map(Value::take).unwrap_or_default();
    if operation == Operation::Patch {
        resource = restore_empty_lists(resource, source.fields());
    }
    Ok(Impact { operation, object: read_object(resource)? })
}

fn read_object(value: Value) -> Result<Object, ScriptError> {
    Object::from_value(value).map_err(|source| ScriptError::NotAnObject { source })
}

/// Lua does not tell an empty list from an empty mapping. Where the source
/// object has a list, an empty table is a list.
fn restore_empty_lists(changed: Value, source: &Map<String, Value>) -> Value {
    let Value::Object(changed) = changed else { return changed };
    let restored = changed.into_iter().map(|(name, value)| {
        let value = match source.get(&name) {
            Some(before) => restore_empty_list(value, before),
            None => value,
        };
        (name, value)
    });
    Value::Object(restored.collect())
}

fn restore_empty_list(value: Value, before: &Value) -> Value {
    match (value, before) {
        (Value::Object(fields), Value::Array(_)) if fields.is_empty() => Value::Array(Vec::new()),
        (Value::Array(list), Value::Object(_)) if list.is_empty() => Value::Object(Map::new()),
        (value @ Value::Object(_), Value::Object(before)) => restore_empty_lists(value, before),
        (Value::Array(list), Value::Array(before)) => {
            let before = before.iter().chain(std::iter::repeat(&Value::Null));
            list.into_iter().zip(before).map(|(value, it)| restore_empty_list(value, it)).collect()
        }
        (value, _) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Object {
        Object::from_value(json!({
            "apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "annotations": {}},
            "spec": {"list": [], "map": {}, "items": [{"l": [], "m": {}}], "big": 9_007_199_254_740_991_i64},
        }))
        .expect("an object")
    }

    fn run(script: &str) -> Result<Vec<Impact>, ScriptError> {
        let parameters = BTreeMap::from([("replicas".to_owned(), "3".to_owned())]);
        run_action(script, &object(), &parameters, &Surroundings::at(1_700_000_000))
    }

    #[test]
    fn an_unchanged_object_comes_back_as_it_was() {
        let impacts = run("return obj").unwrap();
        assert_eq!(impacts, [Impact { operation: Operation::Patch, object: object() }]);
    }

    #[test]
    fn parameters_and_the_time_reach_the_script() {
        let impacts = run(r#"local os = require("os")
            obj.spec.replicas = tonumber(actionParams["replicas"])
            obj.metadata.annotations["at"] = os.date("!%Y-%m-%dT%XZ")
            return obj"#)
        .unwrap();
        let changed = &impacts[0].object;
        assert_eq!(changed.integer(&["spec", "replicas"]), Some(3));
        assert_eq!(changed.annotation("at"), Some("2023-11-14T22:13:20Z"));
    }

    #[test]
    fn new_objects_are_listed_with_their_operation() {
        let impacts = run(r#"return {{operation = "create", resource =
            {apiVersion = "v1", kind = "Job", metadata = {name = "x"}, list = {1, 2}}}}"#)
        .unwrap();
        assert_eq!(impacts[0].operation, Operation::Create);
        assert_eq!(impacts[0].object.list(&["list"]), [json!(1), json!(2)]);
    }

    #[test]
    fn an_error_of_the_script_is_its_message() {
        let error = run(r#"error("invalid number: " .. actionParams["replicas"], 0)"#).unwrap_err();
        assert_eq!(error.to_string(), "invalid number: 3");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for script in
            ["return 1", "return {{operation = 'drop', resource = obj}}", "return {a = 1}"]
        {
            assert!(run(script).is_err(), "{script}");
        }
    }

    #[test]
    fn discovery_reads_names_and_properties() {
        let first = r#"actions = {}
            actions["restart"] = {disabled = obj.spec.paused == true, iconClass = "fa fa-redo"}
            actions["scale"] = {params = {{name = "replicas", default = "1"}}}
            return actions"#;
        let second = r#"return {restart = {disabled = true}, pause = {}}"#;
        let offers = discover_actions(&[first, second], &object(), &Surroundings::at(0)).unwrap();
        let summary: Vec<String> = offers
            .iter()
            .map(|it| {
                format!("{} {} {:?} {}", it.name, it.disabled, it.icon_class, it.params.len())
            })
            .collect();
        assert_eq!(
            summary,
            ["pause false \"\" 0", "restart false \"fa fa-redo\" 0", "scale false \"\" 1"]
        );
    }
}
