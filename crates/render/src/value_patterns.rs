//! Patterns of value files, read as Argo CD reads them: `*` within a name, `**` for any
//! directories, `{a,b/c}` for alternatives, which may span directories.
//!
//! The order counts, because later files override earlier ones: a directory's own files go before
//! those of the directories in it, and what alternatives stand for goes by its path.

use std::cell::Cell;
use std::collections::BTreeSet;

use gocompat::glob::Glob;

use crate::RenderError;
use crate::tree::{self, EntryKind, Tree, TreePath};

/// Directories inside each other that `**` looks into, and alternatives inside each other.
const MAX_DEPTH: usize = 64;
/// Files, or directories on the way to them, that one pattern may stand for.
const MAX_MATCHES: usize = 1000;
/// Directories that one pattern may make us look into.
const MAX_LOOKS: usize = 100_000;

/// The files that a pattern stands for below a directory, each once.
pub(crate) fn matching(
    tree: &dyn Tree,
    directory: &TreePath,
    pattern: &str,
) -> Result<Vec<TreePath>, RenderError> {
    let search = Search { tree, pattern, looks: Cell::new(0) };
    search.glob(directory, pattern, Wanted::Files, MAX_DEPTH)
}

struct Search<'s> {
    tree: &'s dyn Tree,
    /// The whole of it, for messages.
    pattern: &'s str,
    looks: Cell<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Files,
    Directories,
}

impl Search<'_> {
    fn glob(
        &self,
        directory: &TreePath,
        pattern: &str,
        wanted: Wanted,
        depth: usize,
    ) -> Result<Vec<TreePath>, RenderError> {
        let parts = self.parts(pattern)?;
        let mut current = vec![directory.clone()];
        for (number, part) in parts.iter().enumerate() {
            let wanted = if number + 1 == parts.len() { wanted } else { Wanted::Directories };
            let mut next = Vec::new();
            let mut known = BTreeSet::new();
            for directory in &current {
                let found = self.part(directory, part, wanted, depth)?;
                next.extend(found.into_iter().filter(|it| known.insert(it.clone())));
            }
            if next.len() > MAX_MATCHES {
                return Err(RenderError::ValueFiles {
                    problem: format!(
                        "a pattern of helm.valueFiles matches more than {MAX_MATCHES} files"
                    ),
                });
            }
            current = next;
        }
        Ok(current)
    }

    fn part(
        &self,
        directory: &TreePath,
        part: &str,
        wanted: Wanted,
        depth: usize,
    ) -> Result<Vec<TreePath>, RenderError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(RenderError::TooDeep { path: directory.clone() });
        };
        if part == "**" {
            let mut found = Vec::new();
            self.below(directory, wanted, depth, &mut found)?;
            return Ok(found);
        }
        if let Some(alternatives) = spanning_alternatives(part) {
            let mut found = Vec::new();
            for alternative in alternatives {
                found.extend(self.glob(directory, &alternative, wanted, depth)?);
            }
            found.sort_by(|a, b| a.as_str().cmp(b.as_str()));
            found.dedup();
            return Ok(found);
        }
        let glob = Glob::new(part, &[]).map_err(|error| self.bad(&error.to_string()))?;
        let mut found = Vec::new();
        for (name, kind) in self.list(directory)? {
            if !glob.is_match(&name) {
                continue;
            }
            let child = directory.child(&name);
            let is_directory = match kind {
                EntryKind::Directory => true,
                EntryKind::Symlink => tree::resolve(self.tree, &child)?
                    .is_some_and(|(_, entry)| entry.kind == EntryKind::Directory),
                EntryKind::File => false,
                EntryKind::Submodule | EntryKind::Unnameable => continue,
            };
            if is_directory == (wanted == Wanted::Directories) {
                found.push(child);
            }
        }
        Ok(found)
    }

    /// Everything below a directory; directories with itself. Links are not followed, or it might
    /// never end.
    fn below(
        &self,
        directory: &TreePath,
        wanted: Wanted,
        depth: usize,
        found: &mut Vec<TreePath>,
    ) -> Result<(), RenderError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(RenderError::TooDeep { path: directory.clone() });
        };
        if wanted == Wanted::Directories {
            found.push(directory.clone());
        }
        for (name, kind) in self.list(directory)? {
            let child = directory.child(&name);
            match kind {
                EntryKind::Directory => self.below(&child, wanted, depth, found)?,
                EntryKind::File | EntryKind::Symlink if wanted == Wanted::Files => {
                    found.push(child);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What is in a directory, in the order of the names.
    fn list(&self, directory: &TreePath) -> Result<Vec<(String, EntryKind)>, RenderError> {
        self.looks.set(self.looks.get() + 1);
        if self.looks.get() > MAX_LOOKS {
            return Err(self.bad("it leads into too many directories"));
        }
        let Some((resolved, _)) = tree::resolve(self.tree, directory)? else {
            return Ok(Vec::new());
        };
        let mut names = self.tree.list(&resolved)?.unwrap_or_default();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(names)
    }

    /// The pattern, cut at the slashes outside of braces.
    fn parts<'p>(&self, pattern: &'p str) -> Result<Vec<&'p str>, RenderError> {
        let mut parts = Vec::new();
        let (mut start, mut open) = (0, 0usize);
        for (at, letter) in unescaped(pattern) {
            match letter {
                '{' => open += 1,
                '}' => open = open.saturating_sub(1),
                '/' if open == 0 => {
                    parts.push(&pattern[start..at]);
                    start = at + 1;
                }
                _ => {}
            }
        }
        if open > 0 {
            return Err(self.bad("syntax error in pattern"));
        }
        parts.push(&pattern[start..]);
        Ok(parts)
    }

    fn bad(&self, problem: &str) -> RenderError {
        RenderError::BadPattern {
            option: "helm.valueFiles",
            pattern: self.pattern.to_owned(),
            problem: problem.to_owned(),
        }
    }
}

/// The letters that mean what they say, with their places.
fn unescaped(pattern: &str) -> impl Iterator<Item = (usize, char)> {
    let mut is_escaped = false;
    pattern.char_indices().filter(move |(_, letter)| {
        let was_escaped = std::mem::take(&mut is_escaped);
        is_escaped = !was_escaped && *letter == '\\';
        !was_escaped && !is_escaped
    })
}

/// The part with each alternative of its first braces that hold a slash, if any do.
fn spanning_alternatives(part: &str) -> Option<Vec<String>> {
    let (mut open, mut commas, mut has_slash) = (Vec::new(), Vec::new(), false);
    for (at, letter) in unescaped(part) {
        match letter {
            '{' => {
                if open.is_empty() {
                    (commas, has_slash) = (vec![at], false);
                }
                open.push(at);
            }
            ',' if open.len() == 1 => commas.push(at),
            '/' => has_slash = true,
            '}' if open.len() == 1 && has_slash => {
                let (before, after) = (&part[..open[0]], &part[at + 1..]);
                commas.push(at);
                let alternatives = commas.windows(2).map(|pair| &part[pair[0] + 1..pair[1]]);
                return Some(alternatives.map(|it| format!("{before}{it}{after}")).collect());
            }
            '}' => drop(open.pop()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    /// The answers of Argo CD's library, but for directories, which are no value files.
    #[track_caller]
    fn check(pattern: &str, expect: &str) {
        let mut tree = MemoryTree::new();
        for file in [
            "a/b/x.yaml",
            "a/b/y.yaml",
            "a/z.yaml",
            "a/a.yaml",
            "c/x.yaml",
            "c/w.yaml",
            "b.yaml",
            "c.yaml",
            "a/b/q/deep.yaml",
            "a,b.yaml",
            "{c}.yaml",
            "a-x/k.yaml",
            "a-x/b/k.yaml",
        ] {
            tree = tree.file(file, "");
        }
        let found = match matching(&tree, &TreePath::root(), pattern) {
            Ok(found) => found.iter().map(TreePath::as_str).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect, "{pattern}");
    }

    #[test]
    fn names_and_directories_match_in_order() {
        check("*{.yaml}", "a,b.yaml b.yaml c.yaml {c}.yaml");
        check(r"\{c\}.yam?", "{c}.yaml");
        check("a*/*.yaml", "a/a.yaml a/z.yaml a-x/k.yaml");
        check("a**/k.yaml", "a-x/k.yaml");
        check("a/**/*.yaml", "a/a.yaml a/z.yaml a/b/x.yaml a/b/y.yaml a/b/q/deep.yaml");
        check(
            "**/*.yaml",
            "a,b.yaml b.yaml c.yaml {c}.yaml a/a.yaml a/z.yaml a/b/x.yaml a/b/y.yaml \
             a/b/q/deep.yaml a-x/k.yaml a-x/b/k.yaml c/w.yaml c/x.yaml",
        );
        check("a/**", "a/a.yaml a/b/q/deep.yaml a/b/x.yaml a/b/y.yaml a/z.yaml");
        check("**/b/*.yaml", "a/b/x.yaml a/b/y.yaml a-x/b/k.yaml");
        check("**/**/x.yaml", "a/b/x.yaml c/x.yaml");
    }

    #[test]
    fn alternatives_may_span_directories() {
        check("{a/b,c}/*.yaml", "a/b/x.yaml a/b/y.yaml c/w.yaml c/x.yaml");
        check("{c,a/b}/*.yaml", "a/b/x.yaml a/b/y.yaml c/w.yaml c/x.yaml");
        check("{a-x,a/b}/*.yaml", "a-x/k.yaml a/b/x.yaml a/b/y.yaml");
        check("{a,a-x}/*.yaml", "a/a.yaml a/z.yaml a-x/k.yaml");
        check("*/{x,z,b/y}.yaml", "a/b/y.yaml a/z.yaml c/x.yaml");
        check("{c/*,b*}", "b.yaml c/w.yaml c/x.yaml");
        check("{c/x.yaml,b.yam?}", "b.yaml c/x.yaml");
        check("{a/{b,d},c}/x*", "a/b/x.yaml c/x.yaml");
        check("*/{b/{x,y},z}.yaml", "a/b/x.yaml a/b/y.yaml a/z.yaml");
        check(
            "{a/b,a-x}/**/*.yaml",
            "a-x/k.yaml a-x/b/k.yaml a/b/x.yaml a/b/y.yaml a/b/q/deep.yaml",
        );
        check("a/{b/x,a}.y*", "a/a.yaml a/b/x.yaml");
        check("**/{b/x,z}.yaml", "a/b/x.yaml a/z.yaml");
    }

    #[test]
    fn what_leads_nowhere_or_is_no_pattern_is_told() {
        check("{a/b,c}/{x,y}.yaml?", "");
        check("{../c,b}*", "b.yaml");
        check("a/b},c/*.yaml", "");
        let broken = "{a/b,c/*.yaml";
        check(
            broken,
            &format!("helm.valueFiles {broken:?} is no pattern: syntax error in pattern"),
        );
    }

    #[test]
    fn alternatives_of_alternatives_are_bounded() {
        let bomb = "{a/a,a/a}".repeat(40);
        let tree = MemoryTree::new().file(&format!("a{}/a", "/aa".repeat(39)), "");
        let error = matching(&tree, &TreePath::root(), &bomb).expect_err("it doubles every time");
        assert!(error.to_string().ends_with("too many directories"), "{error}");
    }
}
