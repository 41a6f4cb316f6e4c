//! The order in which goyaml writes keys: `a2` before `a10`, letters after the rest.

use std::cmp::Ordering;

/// `keys` in natural order.
///
/// The order is not transitive for every odd mix of digits, so this is a merge
/// sort of our own: the one of the standard library may panic on such input.
pub(super) fn sorted<'k>(keys: impl Iterator<Item = &'k String>) -> Vec<&'k String> {
    let mut runs: Vec<Vec<&String>> = keys.map(|key| vec![key]).collect();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(left) = pairs.next() {
            merged.push(match pairs.next() {
                Some(right) => merge(left, right),
                None => left,
            });
        }
        runs = merged;
    }
    runs.pop().unwrap_or_default()
}

fn merge<'k>(left: Vec<&'k String>, right: Vec<&'k String>) -> Vec<&'k String> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(ahead), Some(other)) = (left.peek(), right.peek()) {
        let take_right = compare(other, ahead) == Ordering::Less;
        merged.extend(if take_right { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

fn compare(left: &str, right: &str) -> Ordering {
    let mut seen_nonzero_digit = false;
    let mut left_rest = left.chars();
    let mut right_rest = right.chars();
    loop {
        let (left_here, right_here) = (left_rest.clone(), right_rest.clone());
        match (left_rest.next(), right_rest.next()) {
            (Some(a), Some(b)) if a == b => {
                seen_nonzero_digit = match a {
                    '0' => seen_nonzero_digit,
                    '1'..='9' => true,
                    _ => false,
                };
            }
            (Some(a), Some(b)) => {
                let inside_number = (a == '0' || b == '0') && seen_nonzero_digit;
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
