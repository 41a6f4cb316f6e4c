//! `.helmignore`: which files of a folder are not part of the chart.

use crate::error::Error;
use crate::path_match::path_match;

/// The rules of one chart.
pub(crate) struct Rules(Vec<Rule>);

struct Rule {
    pattern: String,
    /// The pattern applies to whole paths, not to the last part only.
    is_path: bool,
    is_negated: bool,
    only_folders: bool,
}

impl Rules {
    /// Reads the file, if there is one, and adds what Helm always ignores.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Error> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut rules = Self(Vec::new());
        for line in String::from_utf8_lossy(text).lines() {
            rules.add(line)?;
        }
        rules.add("templates/.?*")?;
        Ok(rules)
    }

    fn add(&mut self, line: &str) -> Result<(), Error> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.contains("**") {
            return Err(Error::Ignore("double-star (**) syntax is not supported".into()));
        }
        if path_match(line, "abc").is_none() {
            return Err(Error::Ignore("syntax error in pattern".into()));
        }
        let (line, is_negated) = match line.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        let (line, only_folders) = match line.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        let (pattern, is_path) = match line.strip_prefix('/') {
            Some(rest) => (rest, true),
            None => (line, line.contains('/')),
        };
        self.0.push(Rule { pattern: pattern.to_owned(), is_path, is_negated, only_folders });
        Ok(())
    }

    /// Whether a file, or a folder above it, is ignored.
    pub(crate) fn ignore(&self, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(slash, _)| &path[..slash]);
        for folder in folders {
            if self.ignore_one(folder, true) {
                return true;
            }
        }
        self.ignore_one(path, false)
    }

    fn ignore_one(&self, path: &str, is_folder: bool) -> bool {
        for rule in &self.0 {
            let matches = rule.matches(path);
            // A negated rule ignores everything that it does not match, as Helm has it.
            if rule.is_negated {
                if (rule.only_folders && !is_folder) || !matches {
                    return true;
                }
                continue;
            }
            if rule.only_folders && !is_folder {
                continue;
            }
            if matches {
                return true;
            }
        }
        false
    }
}

impl Rule {
    fn matches(&self, path: &str) -> bool {
        let subject = if self.is_path { path } else { path.rsplit('/').next().unwrap_or(path) };
        path_match(&self.pattern, subject).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_apply_to_names_paths_and_folders() {
        let rules =
            Rules::parse(b"# comment\n*.bak\n/top.txt\nscripts/\ndocs/*.md\n").expect("valid");
        for (path, expect) in [
            ("a/b.bak", true),
            ("top.txt", true),
            ("sub/top.txt", false),
            ("scripts/x/y", true),
            ("docs/a.md", true),
            ("docs/sub/a.md", false),
            ("templates/.hidden", true),
            ("templates/a.yaml", false),
        ] {
            assert_eq!(rules.ignore(path), expect, "{path}");
        }
        assert!(Rules::parse(b"a/**").is_err());
    }
}
