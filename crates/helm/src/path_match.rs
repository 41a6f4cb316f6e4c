//! Go's `filepath.Match`: `*` and `?` stop at slashes, `[a-z]` are classes, `\` escapes.

/// Whether the whole name matches, or nothing if the pattern is malformed.
pub(crate) fn path_match(pattern: &str, name: &str) -> Option<bool> {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    well_formed(&pattern)?;
    matches(&pattern, &name)
}

fn matches(pattern: &[char], name: &[char]) -> Option<bool> {
    // The place to return to when a star must take one character more.
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p + 1, n));
            p += 1;
            continue;
        }
        if p == pattern.len() && n == name.len() {
            return Some(true);
        }
        if p < pattern.len()
            && n < name.len()
            && let Some(width) = one(&pattern[p..], name[n])
        {
            p += width;
            n += 1;
            continue;
        }
        match star {
            Some((after, taken)) if taken < name.len() && name[taken] != '/' => {
                star = Some((after, taken + 1));
                p = after;
                n = taken + 1;
            }
            _ => return Some(false),
        }
    }
}

/// The length of the pattern's first element, if it matches the character.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern[0] {
        '?' => (c != '/').then_some(1),
        '[' => {
            let (included, width) = class(pattern, c)?;
            included.then_some(width)
        }
        '\\' => (*pattern.get(1)? == c).then_some(2),
        literal => (literal == c).then_some(1),
    }
}

/// Whether the class at the start contains the character, and the length of the class.
fn class(pattern: &[char], c: char) -> Option<(bool, usize)> {
    let mut at = 1;
    let negated = pattern.get(1) == Some(&'^');
    at += usize::from(negated);
    let mut included = false;
    let mut is_first = true;
    loop {
        if pattern.get(at) == Some(&']') && !is_first {
            return Some((included != negated, at + 1));
        }
        is_first = false;
        let (low, next) = class_char(pattern, at)?;
        at = next;
        let mut high = low;
        if pattern.get(at) == Some(&'-') {
            (high, at) = class_char(pattern, at + 1)?;
        }
        included |= (low..=high).contains(&c);
    }
}

fn class_char(pattern: &[char], at: usize) -> Option<(char, usize)> {
    match pattern.get(at)? {
        '-' | ']' => None,
        '\\' => Some((*pattern.get(at + 1)?, at + 2)),
        c => Some((*c, at + 1)),
    }
}

fn well_formed(pattern: &[char]) -> Option<()> {
    let mut at = 0;
    while at < pattern.len() {
        at += match pattern[at] {
            '[' => class(&pattern[at..], 'a')?.1,
            '\\' => {
                pattern.get(at + 1)?;
                2
            }
            _ => 1,
        };
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stop_at_slashes_and_classes_have_ranges() {
        for (pattern, name, expect) in [
            ("*.yaml", "a.yaml", Some(true)),
            ("*.yaml", "a/b.yaml", Some(false)),
            ("templates/sub*/role*", "templates/subdir/role.yaml", Some(true)),
            ("a?c", "abc", Some(true)),
            ("[a-c]x", "bx", Some(true)),
            ("[^a-c]x", "bx", Some(false)),
            (r"\*", "*", Some(true)),
            ("[", "a", None),
            ("*a*b*", "xaxxbx", Some(true)),
        ] {
            assert_eq!(path_match(pattern, name), expect, "{pattern} {name}");
        }
    }
}
