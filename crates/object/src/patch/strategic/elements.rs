//! Lists seen as collections of elements that can be told apart.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{PATCH, PatchProblem};

/// What tells the elements of one list apart: a field of theirs, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By<'k> {
    Key(&'k str),
    Value,
}

/// Mappings or scalars; the two are merged differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementType {
    Mapping,
    Scalar,
}

/// The one type of all elements of both lists; `None` when there are none.
pub(super) fn element_type(
    left: &[Value],
    right: &[Value],
) -> Result<Option<ElementType>, PatchProblem> {
    let mut elements = left.iter().chain(right);
    let Some(first) = elements.next() else { return Ok(None) };
    let found = match first {
        Value::Null => return Err(PatchProblem::NullElement),
        Value::Array(_) => return Err(PatchProblem::ListInList),
        Value::Object(_) => ElementType::Mapping,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => ElementType::Scalar,
    };
    if elements.all(|element| same_type(first, element)) {
        Ok(Some(found))
    } else {
        Err(PatchProblem::MixedList)
    }
}

/// Are two values of one type? Integers and other numbers are two types.
pub(super) fn same_type(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.is_f64() == right.is_f64(),
        _ => std::mem::discriminant(left) == std::mem::discriminant(right),
    }
}

/// Complains about the first element without the merge key.
pub(super) fn require_key(list: &[Value], key: &str) -> Result<(), PatchProblem> {
    list.iter().try_for_each(|element| key_of(element, key).map(|_| ()))
}

/// The value of the merge key in one element.
pub(super) fn key_of<'v>(element: &'v Value, key: &str) -> Result<&'v Value, PatchProblem> {
    mapping(element)?.get(key).ok_or_else(|| PatchProblem::MissingMergeKey(key.to_owned()))
}

/// The element of a list that should hold mappings only.
pub(super) fn mapping(element: &Value) -> Result<&Map<String, Value>, PatchProblem> {
    element.as_object().ok_or(PatchProblem::MixedList)
}

/// Equal for two elements exactly if they are the same one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Identity<'v> {
    Text(&'v str),
    /// Anything but a text, as JSON.
    Other(String),
}

impl By<'_> {
    pub(super) fn identity(self, element: &Value) -> Identity<'_> {
        let value = match self {
            By::Key(key) => element.get(key).unwrap_or(&Value::Null),
            By::Value => element,
        };
        match value {
            Value::String(text) => Identity::Text(text),
            other => Identity::Other(other.to_string()),
        }
    }

    pub(super) fn identities(self, list: &[Value]) -> BTreeSet<Identity<'_>> {
        list.iter().map(|element| self.identity(element)).collect()
    }

    /// The elements, reduced to what tells them apart: enough to remember
    /// their order while they are changed.
    pub(super) fn keys(self, list: &[Value]) -> Vec<Value> {
        let reduced = |element: &Value| match (self, element) {
            (By::Key(key), Value::Object(fields)) => {
                let key = fields.get_key_value(key);
                Value::Object(key.into_iter().map(|(k, v)| (k.clone(), v.clone())).collect())
            }
            _ => element.clone(),
        };
        list.iter().map(reduced).collect()
    }

    /// Fails if some element cannot be told apart.
    pub(super) fn require(self, list: &[Value]) -> Result<(), PatchProblem> {
        match self {
            By::Key(key) => require_key(list, key),
            By::Value => Ok(()),
        }
    }

    /// The elements of `merged` in their final order: those that `listed`
    /// names in its order, the others as they were in `before`, woven together.
    pub(super) fn arrange(
        self,
        merged: Vec<Value>,
        listed: &[Value],
        before: &[Value],
    ) -> Result<Vec<Value>, PatchProblem> {
        self.require(&merged)?;
        let names = self.identities(listed);
        let (named, others) =
            merged.into_iter().partition(|element| names.contains(&self.identity(element)));
        Ok(self.weave(self.sort(others, before)?, self.sort(named, listed)?, before))
    }

    /// Sorts `list` as `order` has its elements; deletions go last.
    pub(super) fn sort(
        self,
        list: Vec<Value>,
        order: &[Value],
    ) -> Result<Vec<Value>, PatchProblem> {
        self.require(&list)?;
        self.require(order)?;
        let positions = self.positions(order);
        let is_deletion = |element: &Value| {
            self != By::Value && element.get(PATCH).and_then(Value::as_str) == Some("delete")
        };
        let (deletions, kept): (Vec<_>, Vec<_>) = list.into_iter().partition(is_deletion);
        let mut placed: Vec<(Option<usize>, Value)> = kept
            .into_iter()
            .map(|element| (positions.get(&self.identity(&element)).copied(), element))
            .collect();
        if placed.iter().all(|(position, _)| position.is_some()) {
            placed.sort_by_key(|(position, _)| *position);
        } else {
            bring_forward(&mut placed);
        }
        Ok(placed.into_iter().map(|(_, element)| element).chain(deletions).collect())
    }

    /// Where each element stands first.
    pub(super) fn positions(self, list: &[Value]) -> BTreeMap<Identity<'_>, usize> {
        let mut positions = BTreeMap::new();
        for (position, element) in list.iter().enumerate() {
            positions.entry(self.identity(element)).or_insert(position);
        }
        positions
    }

    /// Weaves `others` into `listed`, keeping both orders. An element of
    /// `others` goes before the first listed one that it preceded in `before`.
    fn weave(self, others: Vec<Value>, listed: Vec<Value>, before: &[Value]) -> Vec<Value> {
        let positions = self.positions(before);
        let position = |element: &Value| positions.get(&self.identity(element)).copied();
        let precedes = |other: &Value, here: Option<usize>| match (position(other), here) {
            (Some(other), Some(here)) => other < here,
            _ => false,
        };
        let mut woven = Vec::with_capacity(others.len() + listed.len());
        let mut others = others.into_iter().peekable();
        for element in listed {
            let here = position(&element);
            while let Some(other) = others.next_if(|other| precedes(other, here)) {
                woven.push(other);
            }
            woven.push(element);
        }
        woven.extend(others);
        woven
    }
}

/// What the reference library does with elements that the order does not
/// name: each step of its insertion sort takes such a pair as out of order,
/// so that later elements travel to the front.
fn bring_forward(placed: &mut [(Option<usize>, Value)]) {
    for start in 1..placed.len() {
        for position in (1..=start).rev() {
            let in_order = matches!(
                (placed[position].0, placed[position - 1].0),
                (Some(this), Some(previous)) if this >= previous
            );
            if in_order {
                break;
            }
            placed.swap(position, position - 1);
        }
    }
}

/// Sorted by text. Elements of equal text end up in reverse, as in the
/// reference library; with duplicate keys the pairing depends on it.
pub(super) fn sorted_by_text<'v>(
    elements: &'v [Value],
    text: impl Fn(&'v Value) -> Cow<'v, str>,
) -> Vec<(Cow<'v, str>, &'v Value)> {
    let mut sorted: Vec<_> = elements.iter().rev().map(|it| (text(it), it)).collect();
    sorted.sort_by(|left, right| left.0.cmp(&right.0));
    sorted
}

/// How Go prints a value with `%v`: the order of keys in a patch depends on it.
pub(super) fn go_text(value: &Value) -> Cow<'_, str> {
    let text = match value {
        Value::String(text) => return Cow::Borrowed(text),
        Value::Null => return Cow::Borrowed("<nil>"),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => go_float(float),
            _ => number.to_string(),
        },
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    Cow::Owned(text)
}

/// Go's shortest form: an exponent below 1e-4 and from 1e21 on.
fn go_float(float: f64) -> String {
    if float == 0.0 || (1e-4..1e21).contains(&float.abs()) {
        return format!("{float}");
    }
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_printed_as_go_prints_them() {
        let check = |value: Value, expect: &str| assert_eq!(go_text(&value), expect);
        check(json!(80), "80");
        check(json!(1.5), "1.5");
        check(json!(2.0), "2");
        check(json!(1e21), "1e+21");
        check(json!(1e20), "100000000000000000000");
        check(json!(1.5e-7), "1.5e-07");
        check(json!(null), "<nil>");
        check(json!(true), "true");
    }

    #[test]
    fn live_elements_keep_their_place_among_the_listed_ones() {
        let list = |names: &str| -> Vec<Value> {
            names.chars().map(|name| json!(name.to_string())).collect()
        };
        let check = |others: &str, listed: &str, before: &str, expect: &str| {
            let woven = By::Value.weave(list(others), list(listed), &list(before));
            assert_eq!(woven, list(expect), "{others} into {listed}");
        };
        check("x", "ab", "axb", "axb");
        check("x", "ab", "xab", "xab");
        check("x", "ba", "axb", "xba");
        check("xy", "a", "xay", "xay");
        check("x", "ab", "x", "abx");
    }
}
