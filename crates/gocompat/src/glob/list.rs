//! Lists of patterns as settings hold them: application namespaces, label keys.

use super::matches;

/// How the entries of a list are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Entries are names.
    Exact,
    /// Entries are glob patterns.
    Glob,
    /// Entries between slashes are regular expressions, others glob patterns.
    Regexp,
}

/// How often a regular expression may try another way before it counts as no match.
const BACKTRACK_LIMIT: usize = 100_000;

/// Whether any entry of `list` matches `item`. An entry that cannot be read
/// matches nothing.
pub fn contains<S: AsRef<str>>(list: &[S], item: &str, mode: Mode) -> bool {
    list.iter().map(AsRef::as_ref).any(|entry| match mode {
        Mode::Exact => entry == item,
        Mode::Glob => matches(entry, item, &[]),
        Mode::Regexp => matches_regexp(entry, item) || matches(entry, item, &[]),
    })
}

/// These expressions may look ahead and behind (the Go side uses a .NET-like
/// engine here, not RE2), so matching needs a limit.
fn matches_regexp(entry: &str, item: &str) -> bool {
    let Some(expression) = entry.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) else {
        return false;
    };
    fancy_regex::RegexBuilder::new(expression)
        .backtrack_limit(BACKTRACK_LIMIT)
        .build()
        .is_ok_and(|regex| regex.is_match(item).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(list: &[&str], item: &str, expect: [bool; 3]) {
        let modes = [Mode::Exact, Mode::Glob, Mode::Regexp];
        assert_eq!(modes.map(|mode| contains(list, item, mode)), expect, "{list:?} {item}");
    }

    #[test]
    fn each_mode_reads_entries_its_own_way() {
        check(&["team-a", "team-b"], "team-b", [true, true, true]);
        check(&["team-*"], "team-b", [false, true, true]);
        check(&["/^team-[ab]$/"], "team-b", [false, false, true]);
        check(&["/^(?!kube-).*$/"], "kube-system", [false, false, false]);
        check(&["/^(?!kube-).*$/"], "default", [false, false, true]);
    }

    #[test]
    fn an_entry_that_cannot_be_read_matches_nothing() {
        check(&["[a", "/(/", "/"], "a", [false, false, false]);
    }

    #[test]
    fn an_expression_that_would_try_forever_gives_up() {
        let item = "a".repeat(64);
        check(&["/^(?=(a+)+$)(a+)+\\1b$/"], &item, [false, false, false]);
    }
}
