//! Is a source one of the plugin's? Names and patterns, as the config has them.

use std::path::Path;

/// Files to look at; a repository that has more is not searched further.
const MAX_FILES: usize = 500_000;

/// Does a path below the folder fit the pattern, as Go's `filepath.Glob`?
/// A star does not pass a slash.
pub(crate) fn has_file(folder: &Path, pattern: &str) -> bool {
    any_below(folder, pattern)
}

/// The same, where `**` stands for any number of folders.
pub(crate) fn has_match(folder: &Path, pattern: &str) -> bool {
    any_below(folder, pattern)
        || pattern.strip_prefix("**/").is_some_and(|rest| any_below(folder, rest))
}

fn any_below(folder: &Path, pattern: &str) -> bool {
    let pattern = pattern.trim_start_matches("./");
    let mut folders = vec![folder.to_owned()];
    let mut looked_at = 0;
    while let Some(current) = folders.pop() {
        for entry in std::fs::read_dir(&current).into_iter().flatten().filter_map(Result::ok) {
            looked_at += 1;
            if looked_at > MAX_FILES {
                return false;
            }
            let path = entry.path();
            let below = path.strip_prefix(folder).ok().and_then(|it| it.to_str());
            if below.is_some_and(|it| gocompat::glob::matches(pattern, it, &['/'])) {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_globs_are_found_below_the_source() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(folder.path().join("a/b")).expect("a folder");
        std::fs::write(folder.path().join("a/b/some.yaml"), "").expect("a file");
        std::fs::write(folder.path().join("top.yaml"), "").expect("a file");
        let has = |pattern: &str| has_file(folder.path(), pattern);
        assert!(has("a/b/s*.yaml") && has("./top.yaml") && has("*.yaml") && has("a"));
        assert!(!has("s*.yaml") && !has("a/*.yaml"));
        let found = |pattern: &str| has_match(folder.path(), pattern);
        assert!(found("**/some.yaml") && found("**/top.yaml") && found("a/**/some.yaml"));
        assert!(!found("**/other.yaml"));
    }
}
