//! Strategic merge patch: an overlay that merges lists too.
//!
//! [`create_two_way`] and [`create_three_way`] make one, [`apply`] lays it over
//! an object. What a list is (elements told apart by a field, by value, or not
//! at all) comes from the [`Type`] of the object. The patch language has a few
//! directives that ordinary overlays lack:
//!
//! - `$patch: delete | replace` in a mapping or in an element of a list
//! - `$retainKeys: [...]` in a mapping: clear all other fields
//! - `$setElementOrder/field: [...]` beside a list: the order after merging
//! - `$deleteFromPrimitiveList/field: [...]` beside a list of scalars
//!
//! Results are those of the Go library that API servers and kubectl use
//! (k8s.io/apimachinery), whose answers `tests/golden` records; where it would
//! crash (null or nested lists among the elements) there is an error here.

mod create;
mod elements;
mod overlay;

use std::fmt;

use serde_json::{Map, Value};

use crate::schema::Type;

use create::Wanted;
use overlay::Mode;

pub(crate) const PATCH: &str = "$patch";
pub(crate) const RETAIN_KEYS: &str = "$retainKeys";
pub(crate) const SET_ELEMENT_ORDER: &str = "$setElementOrder";
pub(crate) const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

/// The patch that turns `original` into `modified`; empty when there is nothing to do.
///
/// # Errors
/// When a list that is merged by a key has elements without it, or elements
/// of several types, or when a field that differs is unknown to the type.
pub fn create_two_way(
    original: &Map<String, Value>,
    modified: &Map<String, Value>,
    of: Type<'_>,
) -> Result<Map<String, Value>, PatchError> {
    create::difference(original, modified, of, Wanted::Everything)
}

/// The patch that brings `current` (live) to `modified` (wanted), removing
/// only what was in `original` (last applied).
///
/// Fields that others changed and `modified` also sets are overwritten.
///
/// # Errors
/// As [`create_two_way`].
pub fn create_three_way(
    original: &Map<String, Value>,
    modified: &Map<String, Value>,
    current: &Map<String, Value>,
    of: Type<'_>,
) -> Result<Map<String, Value>, PatchError> {
    let additions = create::difference(current, modified, of, Wanted::ChangesAndAdditions)?;
    let deletions = create::difference(original, modified, of, Wanted::Deletions)?;
    overlay::merge_maps(deletions, additions, of, Mode::JoinPatches)
}

/// Lays `patch` over `original`.
///
/// # Errors
/// When a directive is malformed or contradicts the rest of the patch, or
/// when lists cannot be merged (see [`create_two_way`]).
pub fn apply(
    original: &Map<String, Value>,
    patch: &Map<String, Value>,
    of: Type<'_>,
) -> Result<Map<String, Value>, PatchError> {
    overlay::merge_maps(original.clone(), patch.clone(), of, Mode::Apply)
}

/// Why a strategic merge patch could not be made or applied, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot merge {}: {problem}", Place(path))]
pub struct PatchError {
    /// Field names from the inside out.
    path: Vec<String>,
    /// What is wrong there.
    pub problem: PatchProblem,
}

/// What is wrong with an object or a patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchProblem {
    /// The type has no such field, so how to merge it is not known.
    #[error("the kind has no field {0:?}")]
    UnknownField(String),
    /// An element of a list that is merged by key has no such key.
    #[error("an element of the list has no {0:?}, by which elements are told apart")]
    MissingMergeKey(String),
    /// The list holds mappings, but nothing says how to tell them apart.
    #[error("the kind does not say by which field the elements of the list are told apart")]
    NoMergeKey,
    /// There is an order for it, but it is no list.
    #[error("$setElementOrder is about lists, and this is none")]
    NotAList,
    /// Some elements are mappings, others scalars of different types.
    #[error("the elements of the list are not all of one type")]
    MixedList,
    /// A list directly inside a list.
    #[error("a list inside a list cannot be merged")]
    ListInList,
    /// A list with an empty element.
    #[error("the list has an empty element")]
    NullElement,
    /// An order is asked for a list that has no elements on either side.
    #[error("an order is given for a list without elements")]
    NothingToOrder,
    /// The order names fewer elements than the patch has, or in another order.
    #[error("the elements of the patch are not in the order that $setElementOrder gives")]
    OrderMismatch,
    /// A directive whose value is not what it must be.
    #[error("the directive {0:?} is malformed")]
    Malformed(String),
    /// A value of `$patch` that means nothing here.
    #[error("{0} is not a value of $patch here; use delete or replace")]
    UnknownDirective(String),
    /// The patch sets a field that its own `$retainKeys` clears.
    #[error("the patch sets {0:?}, which its $retainKeys does not list")]
    NotRetained(String),
    /// Two patches that are joined retain different fields.
    #[error("two different $retainKeys lists meet")]
    RetainKeysDiffer,
}

impl PatchError {
    fn under(mut self, field: &str) -> Self {
        self.path.push(field.to_owned());
        self
    }
}

impl From<PatchProblem> for PatchError {
    fn from(problem: PatchProblem) -> Self {
        Self { path: Vec::new(), problem }
    }
}

struct Place<'a>(&'a [String]);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("the object");
        }
        for (position, field) in self.0.iter().rev().enumerate() {
            let separator = if position == 0 { "" } else { "." };
            write!(f, "{separator}{field}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::GroupVersionKind;
    use crate::schema::Schema;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().expect("a mapping").clone()
    }

    #[track_caller]
    fn check_refused(original: &Value, patch: &Value, expect: &str) {
        let pod = GroupVersionKind::parse("v1", "Pod");
        let of = Schema::builtin().of_kind(&pod).expect("a core kind");
        let refused = apply(&map(original), &map(patch), of).expect_err("a bad patch");
        assert_eq!(refused.to_string(), expect);
    }

    #[test]
    fn errors_say_where_and_what() {
        check_refused(
            &json!({"spec": {"containers": [{"name": "a"}]}}),
            &json!({"spec": {"containers": [{"image": "b"}]}}),
            "cannot merge spec.containers: an element of the list has no \"name\", \
             by which elements are told apart",
        );
        check_refused(
            &json!({"spec": {"containers": [{"name": "a"}]}}),
            &json!({"spec": {"containers": [{"name": "a", "$patch": "remove"}]}}),
            "cannot merge spec.containers: \"remove\" is not a value of $patch here; \
             use delete or replace",
        );
        check_refused(
            &json!({"spek": {"a": {}}}),
            &json!({"spek": {"a": {}}}),
            "cannot merge the object: the kind has no field \"spek\"",
        );
    }
}
