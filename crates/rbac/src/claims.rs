//! Who a token is about, from its claims.

use serde_json::{Map, Value};

/// The user: what an upstream identity provider calls them, else the subject.
#[must_use]
pub fn user(claims: &Map<String, Value>) -> &str {
    let federated = claims.get("federated_claims").and_then(|it| it.get("user_id"));
    let named = federated.and_then(Value::as_str).filter(|it| !it.is_empty());
    named.or_else(|| claims.get("sub")?.as_str()).unwrap_or_default()
}

/// The groups: every text in the claims that `scopes` names.
#[must_use]
pub fn groups<S: AsRef<str>>(claims: &Map<String, Value>, scopes: &[S]) -> Vec<String> {
    let values = scopes.iter().filter_map(|scope| claims.get(scope.as_ref()));
    let mut groups = Vec::new();
    for value in values {
        match value {
            Value::String(group) => groups.push(group.clone()),
            Value::Array(several) => {
                groups.extend(several.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => {}
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(claims: &str, expect_user: &str, expect_groups: &[&str]) {
        let claims: Map<String, Value> = serde_json::from_str(claims).unwrap();
        assert_eq!(user(&claims), expect_user);
        assert_eq!(groups(&claims, &["groups", "email"]), expect_groups);
    }

    #[test]
    fn groups_come_from_every_scope() {
        check(r#"{"sub":"a","groups":["x",1,"y"],"email":"a@b"}"#, "a", &["x", "y", "a@b"]);
        check(r#"{"groups":7}"#, "", &[]);
    }

    #[test]
    fn the_name_of_the_upstream_provider_comes_first() {
        check(r#"{"sub":"opaque","federated_claims":{"user_id":"ann"}}"#, "ann", &[]);
        check(r#"{"sub":"opaque","federated_claims":{"user_id":""}}"#, "opaque", &[]);
    }
}
