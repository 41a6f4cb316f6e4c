//! The order in which goyaml writes keys: `a2` before `a10`, letters after the rest.

use std::cmp::Ordering;

/// The two versions of the library disagree about a letter and a sign that follow a
/// digit: version 3 has `a1b` before `a1-`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Two,
    Three,
}

/// The entries in the natural order of their keys.
///
/// The order is not transitive for every odd mix of digits, so this is a merge
/// sort of our own: the one of the standard library may panic on such input.
pub(super) fn sorted<'k, V: Copy>(
    entries: impl Iterator<Item = (&'k String, V)>,
    version: Version,
) -> Vec<(&'k str, V)> {
    let mut runs: Vec<(&str, V)> = entries.map(|(key, value)| (key.as_str(), value)).collect();
    // Most keys come in order already. Without digits the order is transitive,
    // so that neighbours in order are all in order.
    let is_in_order = |pair: &[(&str, V)]| compare(pair[1].0, pair[0].0, version) != Ordering::Less;
    let has_digits = |(key, _): &(&str, V)| key.bytes().any(|byte| byte.is_ascii_digit());
    if runs.windows(2).all(is_in_order) && !runs.iter().any(has_digits) {
        return runs;
    }
    let mut merged = Vec::with_capacity(runs.len());
    let mut width = 1;
    while width < runs.len() {
        merged.clear();
        for pair in runs.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, version, &mut merged);
        }
        std::mem::swap(&mut runs, &mut merged);
        width *= 2;
    }
    runs
}

fn merge<'k, V: Copy>(
    mut left: &[(&'k str, V)],
    mut right: &[(&'k str, V)],
    version: Version,
    merged: &mut Vec<(&'k str, V)>,
) {
    while let ([ahead, left_rest @ ..], [other, right_rest @ ..]) = (left, right) {
        if compare(other.0, ahead.0, version) == Ordering::Less {
            merged.push(*other);
            right = right_rest;
        } else {
            merged.push(*ahead);
            left = left_rest;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
}

fn compare(left: &str, right: &str, version: Version) -> Ordering {
    let mut seen_nonzero_digit = false;
    let mut after_digit = false;
    let mut left_rest = left.chars();
    let mut right_rest = right.chars();
    loop {
        let (left_here, right_here) = (left_rest.clone(), right_rest.clone());
        match (left_rest.next(), right_rest.next()) {
            (Some(a), Some(b)) if a == b => {
                after_digit = a.is_ascii_digit();
                seen_nonzero_digit = match a {
                    '0' => seen_nonzero_digit,
                    '1'..='9' => true,
                    _ => false,
                };
            }
            (Some(a), Some(b)) => {
                let inside_number = (a == '0' || b == '0') && seen_nonzero_digit;
                if version == Version::Three && after_digit {
                    match (a.is_alphabetic(), b.is_alphabetic()) {
                        (true, false) => return Ordering::Less,
                        (false, true) => return Ordering::Greater,
                        _ => {}
                    }
                }
                return compare_from(left_here.as_str(), right_here.as_str(), inside_number);
            }
            (left, right) => return left.is_some().cmp(&right.is_some()),
        }
    }
}

/// Compares two texts that differ in their first character.
fn compare_from(left: &str, right: &str, inside_number: bool) -> Ordering {
    let (a, b) = (left.chars().next(), right.chars().next());
    let is_letter = |character: Option<char>| character.is_some_and(char::is_alphabetic);
    match (is_letter(a), is_letter(b)) {
        (true, true) => return a.cmp(&b),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (left_number, left_digits) = leading_number(left, inside_number);
    let (right_number, right_digits) = leading_number(right, inside_number);
    left_number.cmp(&right_number).then(left_digits.cmp(&right_digits)).then(a.cmp(&b))
}

/// The number `text` begins with and the count of its digits. Inside a number
/// whose beginning is common to both texts, a digit in front stands for it.
fn leading_number(text: &str, inside_number: bool) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((i64::from(inside_number), 0), |(number, count), digit| {
        (number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')), count + 1)
    })
}
