//! How Go's `encoding/json` reads and prints the fields of a struct.
//!
//! Reading: `null` leaves a field at its zero value, also inside lists and
//! maps, so every field that is not an `Option` is read by [`value`], [`list`]
//! or [`map`].
//!
//! Printing: `omitempty` drops empty strings, zeros, `false`, nil pointers,
//! empty lists and maps, and nothing else. On a struct value it has no effect
//! (Go prints `"status":{}`); such a field is marked with [`never`], which also
//! tells the CRD schema that the field is not required.
//!
//! One difference on purpose: a list without `omitempty` that was never set is
//! `null` in Go and `[]` here, because a CRD does not allow `null` there.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// Reads a field that is not a pointer in Go.
pub(crate) fn value<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a slice.
pub(crate) fn list<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    let items = Option::<Vec<Option<T>>>::deserialize(deserializer)?.unwrap_or_default();
    let mut items: Vec<T> = items.into_iter().map(Option::unwrap_or_default).collect();
    // Read one by one, a list has room for up to twice as many, and Applications are kept for long.
    items.shrink_to_fit();
    Ok(items)
}

/// Reads a map with string keys.
pub(crate) fn map<'de, T, D>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    let entries = Option::<BTreeMap<String, Option<T>>>::deserialize(deserializer)?;
    let entries = entries.unwrap_or_default().into_iter();
    Ok(entries.map(|(key, value)| (key, value.unwrap_or_default())).collect())
}

/// Reads a field that means something by being there at all, be it as `null`.
pub(crate) fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    value(deserializer).map(Some)
}

/// `omitempty` of a bool.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

/// `omitempty` of a number.
pub(crate) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// `omitempty` of a struct value, which Go prints all the same.
pub(crate) fn never<T>(_: &T) -> bool {
    false
}
