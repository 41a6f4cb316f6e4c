//! Turns what goes wrong below into what the client is told.

use ::cluster::RequestError;
use serde_json::Value;
use wire::{Code, Status};

/// The API server's no, with the code Argo CD gives it: the message is its own.
pub(crate) fn refused(doing: &str, error: &RequestError) -> Status {
    let Some(refusal) = error.refusal() else {
        return Status::unavailable(format!("{doing}: {}", error.in_one_line()));
    };
    let code = match refusal.code {
        400 | 422 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        409 if refusal.reason == "AlreadyExists" => Code::AlreadyExists,
        409 => Code::Aborted,
        _ => Code::Unknown,
    };
    Status::new(code, format!("{doing}: {}", refusal.message))
}

/// What everybody is told who asks for what they may not see, or what is not there.
pub(crate) fn permission_denied() -> Status {
    Status::permission_denied("permission denied")
}

/// Somebody wants to make what is there already, but otherwise.
pub(crate) fn different(what: &str, there: &Value, wanted: &Value) -> Status {
    let fields = |it: &Value| it.as_object().cloned().unwrap_or_default();
    let (there, wanted) = (fields(there), fields(wanted));
    let mut keys: Vec<String> = there
        .keys()
        .chain(wanted.keys())
        .filter(|key| there.get(*key) != wanted.get(*key))
        .map(|key| capitalised(key))
        .collect();
    keys.sort();
    keys.dedup();
    let keys = keys.join(",");
    Status::invalid_argument(format!(
        "existing {what} spec is different; use upsert flag to force update; difference in keys {keys:?}"
    ))
}

fn capitalised(key: &str) -> String {
    let mut rest = key.chars();
    let first = rest.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_different_is_named() {
        let status = different("project", &json!({"a": 1, "b": 2}), &json!({"a": 2, "c": 3}));
        assert_eq!(
            status.message(),
            "existing project spec is different; use upsert flag to force update; difference in keys \"A,B,C\""
        );
    }
}
