//! Would applying a manifest change anything? Often the answer needs no server.
//!
//! If every leaf of the manifest already has its value in the live object, and
//! our manager owns exactly the fields of the manifest, then a server-side
//! apply finds nothing to set, nothing to remove and no ownership to move. The
//! reverse does not hold: defaulting and conversion on the server may make
//! equal what looks different here, so "unsettled" means "ask", not "differs".

use serde_json::Value;

use super::of_object::{NotKeyed, Trail, are_one_element, check_element};
use super::{FieldSet, Path};
use crate::schema::{Granularity, Type};

/// Why a server must be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsettled {
    /// The live object has another value here, or none.
    Differs(Path),
    /// The manifest has this field, but our manager does not own it.
    NotOwned(Path),
    /// Our manager owns this field, but the manifest does not have it.
    NotWanted(Path),
}

/// The first reason why applying `want` could change `live`, where `owned` is
/// the set that our manager has in `live` for the version `want` is written in.
///
/// # Errors
/// When list elements cannot be told apart.
pub fn unsettled(
    want: &Value,
    live: &Value,
    owned: &FieldSet,
    of: Type<'_>,
) -> Result<Option<Unsettled>, NotKeyed> {
    if let Some(path) = differing_leaf(want, live, of)? {
        return Ok(Some(Unsettled::Differs(path)));
    }
    let wanted = FieldSet::applied(want, of)?;
    if wanted == *owned {
        return Ok(None);
    }
    let first = |set: FieldSet| set.paths().into_iter().next();
    let not_owned = first(wanted.difference(owned)).map(Unsettled::NotOwned);
    Ok(not_owned.or_else(|| first(owned.difference(&wanted)).map(Unsettled::NotWanted)))
}

/// The first leaf of `want` that `live` does not have with the same value.
///
/// # Errors
/// When list elements cannot be told apart.
pub fn differing_leaf(want: &Value, live: &Value, of: Type<'_>) -> Result<Option<Path>, NotKeyed> {
    difference(want, live, of, &Trail::Root)
}

fn difference(
    want: &Value,
    live: &Value,
    of: Type<'_>,
    trail: &Trail<'_>,
) -> Result<Option<Path>, NotKeyed> {
    match (of.granularity(want), want, live) {
        (Granularity::Map, Value::Object(want), Value::Object(live)) => {
            for (name, want) in want {
                let trail = Trail::Field(trail, name);
                let Some(live) = live.get(name) else { return Ok(Some(trail.to_path())) };
                if let Some(path) = difference(want, live, of.entry(name), &trail)? {
                    return Ok(Some(path));
                }
            }
            Ok(None)
        }
        (Granularity::List(kind, items), Value::Array(want), Value::Array(live)) => {
            let problem = |problem| NotKeyed { list: trail.to_path(), problem };
            for element in want.iter().chain(live) {
                check_element(element, kind, items).map_err(problem)?;
            }
            // Walking `live` once checks the order too: a manifest that moves
            // elements is for the server to judge.
            let mut candidates = live.iter();
            for want in want {
                let trail = Trail::Item(trail, want, kind, items);
                let found = candidates.by_ref().find(|it| are_one_element(want, it, kind, items));
                let Some(live) = found else { return Ok(Some(trail.to_path())) };
                if let Some(path) = difference(want, live, items, &trail)? {
                    return Ok(Some(path));
                }
            }
            Ok(None)
        }
        _ if want == live => Ok(None),
        _ => Ok(Some(trail.to_path())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::GroupVersionKind;
    use crate::schema::Schema;

    #[track_caller]
    fn check(want: &Value, live: &Value, owned: &Value, expect: &str) {
        let kind = GroupVersionKind::parse("v1", "Service");
        let of = Schema::builtin().of_kind(&kind).expect("a core kind");
        let owned = FieldSet::from_json(owned).expect("a field set");
        let found = match unsettled(want, live, &owned, of).expect("lists with keys") {
            None => "settled".to_owned(),
            Some(Unsettled::Differs(path)) => format!("differs at {path}"),
            Some(Unsettled::NotOwned(path)) => format!("does not own {path}"),
            Some(Unsettled::NotWanted(path)) => format!("owns but does not want {path}"),
        };
        assert_eq!(found, expect);
    }

    fn want() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}},
        })
    }

    fn live() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "uid": "1", "labels": {"theirs": "1"}},
            "spec": {
                "clusterIP": "10.0.0.1",
                "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
                "selector": {"app": "web"},
            },
        })
    }

    fn owned() -> Value {
        json!({"f:spec": {
            "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
            "f:selector": {},
        }})
    }

    #[test]
    fn defaults_and_the_fields_of_others_do_not_matter() {
        check(&want(), &live(), &owned(), "settled");
    }

    #[test]
    fn a_changed_value_is_found() {
        let mut live = live();
        live["spec"]["selector"] = json!({"app": "web", "extra": "x"});
        check(&want(), &live, &owned(), "differs at .spec.selector");
    }

    #[test]
    fn a_missing_element_is_found() {
        let mut live = live();
        live["spec"]["ports"] = json!([{"port": 80, "protocol": "UDP"}]);
        check(&want(), &live, &owned(), "differs at .spec.ports[port=80,protocol=\"TCP\"]");
    }

    #[test]
    fn a_field_that_git_dropped_is_found() {
        let mut owned = owned();
        owned["f:spec"]["f:type"] = json!({});
        check(&want(), &live(), &owned, "owns but does not want .spec.type");
    }

    #[test]
    fn a_field_that_another_manager_wrote_first_is_found() {
        let owned = json!({"f:spec": {"f:selector": {}}});
        check(&want(), &live(), &owned, "does not own .spec.ports[port=80,protocol=\"TCP\"]");
    }

    #[test]
    fn a_changed_order_is_for_the_server_to_judge() {
        let mut want = want();
        want["spec"]["ports"] = json!([{"port": 81, "name": "b"}, {"port": 80, "name": "a"}]);
        let mut live = live();
        live["spec"]["ports"] = json!([
            {"port": 80, "name": "a", "protocol": "TCP"}, {"port": 81, "name": "b", "protocol": "TCP"},
        ]);
        check(&want, &live, &owned(), "differs at .spec.ports[port=80,protocol=\"TCP\"]");
    }
}
