//! `RespectIgnoreDifferences`: applying without touching what is ignored.

use object::{Object, patch, typed};
use serde_json::{Map, Value};

use super::structured::type_of;
use super::{Comparing, remove};

/// Git's object with the live values in every field that is ignored, so that
/// applying it leaves those as they are. The status is never written.
#[must_use]
pub fn respecting(want: &Object, live: &Object, comparing: &Comparing) -> Object {
    let (mut normal_want, mut normal_live) = (want.clone(), live.clone());
    comparing.align(&mut normal_want, &mut normal_live);
    comparing.ignoring.drop_ignored(&mut normal_want);
    comparing.ignoring.drop_ignored(&mut normal_live);
    let mut whole_live = live.clone();
    for object in [&mut normal_live, &mut whole_live] {
        remove(object.fields_mut(), &["status"]);
    }
    let Some(kept) = ignored_part(&normal_live, &whole_live, &normal_want, comparing) else {
        return want.clone();
    };
    Object::from_value(Value::Object(kept)).unwrap_or_else(|_| want.clone())
}

/// What normalising took from the live object, laid over git's.
fn ignored_part(
    normal_live: &Object,
    live: &Object,
    normal_want: &Object,
    comparing: &Comparing,
) -> Option<Map<String, Value>> {
    let kind = live.group_version_kind();
    if typed::is_known(&kind) {
        let of = type_of(live, &comparing.schema);
        let taken =
            patch::strategic::create_two_way(normal_live.fields(), live.fields(), of).ok()?;
        return patch::strategic::apply(normal_want.fields(), &taken, of).ok();
    }
    let taken = patch::merge::create(normal_live.fields(), live.fields());
    match patch::merge::apply(normal_want.as_value(), &Value::Object(taken)) {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}
