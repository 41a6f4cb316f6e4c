//! A commit's tree with the repositories it refers to in their places.

use std::collections::BTreeMap;

use bytes::Bytes;
use render::tree::{ContentId, Entry, EntryKind, Tree, TreeError, TreePath};

use crate::git_tree::GitTree;
use crate::{CommitSha, RepoUrl};

/// No list of submodules is larger.
const MAX_LIST: u64 = 1 << 20;
/// Submodules of one repository.
const MAX_SUBMODULES: usize = 200;

/// A place in a tree where another repository's commit belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Submodule {
    pub(crate) path: TreePath,
    pub(crate) url: RepoUrl,
    pub(crate) commit: CommitSha,
}

/// The submodules of a commit: those that `.gitmodules` names and the tree has.
pub(crate) fn listed(tree: &GitTree, repo: &RepoUrl) -> Result<Vec<Submodule>, TreeError> {
    let Some(text) = tree.read(&TreePath::root().child(".gitmodules"), MAX_LIST)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (path, url) in parse(&String::from_utf8_lossy(&text)) {
        let Ok(path) = TreePath::parse(&path) else { continue };
        let Some(commit) = tree.submodule(&path)? else { continue };
        let url = RepoUrl::new(&resolved(repo.to_connect(), &url));
        // As git does: a repository on a server cannot point to our disk.
        if url.is_local() && !repo.is_local() {
            continue;
        }
        found.push(Submodule { path, url, commit: CommitSha::from(commit) });
        if found.len() == MAX_SUBMODULES {
            break;
        }
    }
    Ok(found)
}

/// Paths and addresses of a `.gitmodules`.
fn parse(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (mut path, mut url) = (None, None);
    for line in text.lines().map(str::trim).chain(["["]) {
        if line.starts_with('[') {
            if let (Some(path), Some(url)) = (path.take(), url.take()) {
                found.push((path, url));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = value.trim().trim_matches('"').to_owned();
        match key.trim() {
            "path" => path = Some(value),
            "url" => url = Some(value),
            _ => {}
        }
    }
    found
}

/// An address that may be seen from the repository's own: `../other.git`.
fn resolved(repo: &str, url: &str) -> String {
    if !url.starts_with("./") && !url.starts_with("../") {
        return url.to_owned();
    }
    let mut base = repo.trim_end_matches('/');
    let mut rest = url;
    let mut separator = '/';
    loop {
        if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix("../") {
            rest = after;
            match base.rfind(['/', ':']) {
                Some(at) => {
                    separator = if base[at..].starts_with(':') { ':' } else { '/' };
                    base = &base[..at];
                }
                None => return rest.to_owned(),
            }
        } else {
            return format!("{base}{separator}{rest}");
        }
    }
}

/// See the module's comment.
pub(crate) struct WithSubmodules {
    pub(crate) main: Box<dyn Tree>,
    pub(crate) modules: BTreeMap<TreePath, Box<dyn Tree>>,
}

impl WithSubmodules {
    /// The submodule that a path leads into, and the rest of the path.
    fn module(&self, path: &TreePath) -> Option<(&dyn Tree, TreePath)> {
        path.prefixes().find_map(|prefix| {
            let module = self.modules.get(&prefix)?;
            Some((module.as_ref(), path.below(&prefix)?))
        })
    }
}

impl Tree for WithSubmodules {
    fn entry(&self, path: &TreePath) -> Result<Option<Entry>, TreeError> {
        match self.module(path) {
            Some((_, below)) if below.is_root() => {
                let id = ContentId::from_digest(&[]);
                Ok(Some(Entry { kind: EntryKind::Directory, id, executable: false }))
            }
            Some((module, below)) => module.entry(&below),
            None => self.main.entry(path),
        }
    }

    fn list(&self, path: &TreePath) -> Result<Option<Vec<(String, EntryKind)>>, TreeError> {
        if let Some((module, below)) = self.module(path) {
            return module.list(&below);
        }
        let Some(names) = self.main.list(path)? else { return Ok(None) };
        let names = names.into_iter().map(|(name, kind)| {
            let is_here = self.modules.contains_key(&path.child(&name));
            (name, if is_here { EntryKind::Directory } else { kind })
        });
        Ok(Some(names.collect()))
    }

    fn read(&self, path: &TreePath, limit: u64) -> Result<Option<Bytes>, TreeError> {
        match self.module(path) {
            Some((module, below)) => module.read(&below, limit),
            None => self.main.read(path, limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_as_git_writes_it() {
        let text = "[submodule \"a\"]\n\tpath = libs/a\n\turl = ../a.git\n[submodule \"b\"]\n\turl = \"https://example.com/b\"\n\tpath = b\n\tbranch = main\n[submodule \"no url\"]\n\tpath = c\n";
        let expect = [("libs/a", "../a.git"), ("b", "https://example.com/b")];
        let expect = expect.map(|(path, url)| (path.to_owned(), url.to_owned()));
        assert_eq!(parse(text), expect);
    }

    #[test]
    fn addresses_are_seen_from_the_repository() {
        for (repo, url, expect) in [
            ("https://example.com/org/repo.git", "../a.git", "https://example.com/org/a.git"),
            ("https://example.com/org/repo", "../../x/a", "https://example.com/x/a"),
            ("https://example.com/org/repo", "./a", "https://example.com/org/repo/a"),
            ("git@example.com:org/repo.git", "../a.git", "git@example.com:org/a.git"),
            ("git@example.com:repo.git", "../a.git", "git@example.com:a.git"),
            ("https://example.com/r", "https://other.com/a", "https://other.com/a"),
        ] {
            assert_eq!(resolved(repo, url), expect);
        }
    }
}
