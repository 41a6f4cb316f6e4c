//! The health of an object, and how a script tells it.

use std::fmt;

use object::Object;
use serde_json::Value;

use crate::sandbox::{self, ScriptError, Surroundings};

/// How well an object does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The verdict.
    pub status: Status,
    /// Why; may be empty.
    pub message: String,
}

/// The six verdicts, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// All is well.
    Healthy,
    /// Stopped on purpose.
    Suspended,
    /// Not there yet.
    Progressing,
    /// Not in the cluster.
    Missing,
    /// Failed, or not getting there in time.
    Degraded,
    /// Could not be told.
    Unknown,
}

impl Health {
    /// Joins a verdict and its reason.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

impl Status {
    const ALL: [Self; 6] = [
        Self::Healthy,
        Self::Suspended,
        Self::Progressing,
        Self::Missing,
        Self::Degraded,
        Self::Unknown,
    ];

    /// The word that stands in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "Healthy",
            Self::Suspended => "Suspended",
            Self::Progressing => "Progressing",
            Self::Missing => "Missing",
            Self::Degraded => "Degraded",
            Self::Unknown => "Unknown",
        }
    }

    /// Reads the word that stands in the API.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Asks a health script about an object.
///
/// The script finds the object in the global `obj` and returns a table with
/// `status` and `message`. Nothing, or an empty table, means that the script
/// has no opinion; a status that is none of the six is [`Status::Unknown`].
///
/// # Errors
/// When the script is no Lua, fails, exceeds its budget or returns something
/// other than a table.
pub fn health(
    script: &str,
    object: &Object,
    surroundings: &Surroundings,
) -> Result<Option<Health>, ScriptError> {
    let result = sandbox::evaluate(script, object, None, surroundings)?;
    let fields = match &result {
        Value::Null => return Ok(None),
        Value::Array(list) if list.is_empty() => return Ok(None),
        Value::Object(fields) if fields.is_empty() => return Ok(None),
        Value::Object(fields) => fields,
        other => return Err(ScriptError::wrong_result("a table with status and message", other)),
    };
    let text = |field: &str| match fields.get(field) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(ScriptError::wrong_result("texts in status and message", other)),
    };
    let (status, message) = (text("status")?, text("message")?);
    Ok(Some(match Status::parse(&status) {
        Some(status) => Health { status, message },
        None => Health::new(Status::Unknown, "Lua returned an invalid health status"),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(script: &str, expect: &str) {
        let object = json!({
            "apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "empty": {}},
            "status": {"phase": "Ready", "count": 3, "ratio": 0.5, "none": null,
                "conditions": [{"type": "A"}, {"type": "B", "status": "True"}]},
        });
        let object = Object::from_value(object).expect("an object");
        let found = match health(script, &object, &Surroundings::at(0)) {
            Ok(None) => "no opinion".to_owned(),
            Ok(Some(health)) => format!("{}: {}", health.status, health.message),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn a_script_reads_the_object_and_returns_a_table() {
        check(
            r#"local hs = {status = "Progressing", message = "waiting"}
            if obj.status ~= nil and obj.status.conditions ~= nil then
              for i, condition in ipairs(obj.status.conditions) do
                if condition.type == "B" and condition.status == "True" then
                  hs.status = "Healthy"
                  hs.message = "condition " .. i .. " of " .. #obj.status.conditions
                end
              end
            end
            return hs"#,
            "Healthy: condition 2 of 2",
        );
    }

    #[test]
    fn nulls_are_absent_and_numbers_are_numbers() {
        check(
            r#"return {status = "Healthy", message = tostring(obj.status.none) .. " " ..
                tostring(obj.status.count + 1) .. " " .. tostring(obj.status.ratio)}"#,
            "Healthy: nil 4 0.5",
        );
    }

    #[test]
    fn a_script_may_have_no_opinion() {
        check("return nil", "no opinion");
        check("return {}", "no opinion");
        check("", "no opinion");
    }

    #[test]
    fn a_word_that_is_no_status_is_unknown() {
        check("return {status = 'Fine'}", "Unknown: Lua returned an invalid health status");
        check("return {message = 'x'}", "Unknown: Lua returned an invalid health status");
    }

    #[test]
    fn other_results_are_refused() {
        check("return 1", "the script returned 1; it must return a table with status and message");
        check(
            "return {status = {}}",
            "the script returned {}; it must return texts in status and message",
        );
    }

    #[test]
    fn go_to_and_labels_work_as_in_the_lua_that_users_know() {
        check(
            "for i = 1, 3 do if i == 2 then goto next end last = i ::next:: end \
             return {status = 'Healthy', message = tostring(last)}",
            "Healthy: 3",
        );
    }
}
