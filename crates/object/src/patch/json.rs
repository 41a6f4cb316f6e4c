//! JSON patch: a list of operations on paths (RFC 6902).

use serde_json::Value;

/// Why a JSON patch did not apply.
#[derive(Debug, thiserror::Error)]
pub enum JsonPatchError {
    /// The document is no list of operations.
    #[error("cannot read the JSON patch")]
    Read {
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// An operation does not fit the object.
    #[error("cannot apply the JSON patch")]
    Apply {
        /// Which operation, and why.
        source: json_patch::PatchError,
    },
}

/// Applies the operations in `patch` to `target`. All or none take effect.
///
/// # Errors
/// When `patch` is no list of operations, or one of them does not fit.
pub fn apply(target: &Value, patch: &Value) -> Result<Value, JsonPatchError> {
    use serde::Deserialize as _;
    let operations =
        json_patch::Patch::deserialize(patch).map_err(|source| JsonPatchError::Read { source })?;
    let mut patched = target.clone();
    json_patch::patch(&mut patched, &operations)
        .map_err(|source| JsonPatchError::Apply { source })?;
    Ok(patched)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_are_applied_in_order() {
        let patch = json!([
            {"op": "test", "path": "/spec/replicas", "value": 1},
            {"op": "replace", "path": "/spec/replicas", "value": 2},
            {"op": "add", "path": "/spec/args/-", "value": "b"},
            {"op": "remove", "path": "/metadata/labels/a~1b"},
        ]);
        let target = json!({
            "metadata": {"labels": {"a/b": "c"}},
            "spec": {"replicas": 1, "args": ["a"]},
        });
        assert_eq!(
            apply(&target, &patch).unwrap(),
            json!({"metadata": {"labels": {}}, "spec": {"replicas": 2, "args": ["a", "b"]}})
        );
    }

    #[test]
    fn a_failed_test_leaves_nothing_half_done() {
        let patch = json!([
            {"op": "remove", "path": "/a"},
            {"op": "test", "path": "/b", "value": 2},
        ]);
        let error = apply(&json!({"a": 1, "b": 1}), &patch).unwrap_err();
        assert_eq!(error.to_string(), "cannot apply the JSON patch");
    }

    #[test]
    fn what_is_no_list_of_operations_is_refused() {
        for patch in [json!({}), json!([1]), json!([{"op": "turn", "path": "/a"}])] {
            let error = apply(&json!({}), &patch).unwrap_err();
            assert!(matches!(error, JsonPatchError::Read { .. }), "{patch}");
        }
    }
}
