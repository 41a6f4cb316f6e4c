//! A source tree as the renderers see it: a snapshot that answers questions.
//!
//! [`Tree`] is raw, like `lstat`: it follows no symbolic link, so an
//! implementation has nothing to get wrong. Following links happens in one
//! place, [`resolve`], which never leaves the root. [`Recorder`] writes down
//! what was asked, so that a later commit can be told apart from one that
//! would give the same answers ([`Reads`], [`Changes`]).

mod memory;
mod path;
mod recorder;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

pub use memory::MemoryTree;
pub use path::{PathError, TreePath};
pub use recorder::{Changes, ListingId, Reads, Recorder};

/// How many symbolic links one path may pass through; Linux allows as many.
const MAX_LINKS: usize = 40;
/// A link's target is a path; nothing longer than this is one.
const MAX_LINK_BYTES: u64 = 4096;

/// One snapshot of a source tree, following no symbolic links.
pub trait Tree {
    /// What stands at `path`; `None` when nothing does.
    ///
    /// # Errors
    /// When the snapshot itself cannot be read.
    fn entry(&self, path: &TreePath) -> Result<Option<Entry>, TreeError>;

    /// The names in the directory at `path`, in byte order; `None` when there
    /// is no directory.
    ///
    /// # Errors
    /// When the snapshot itself cannot be read.
    fn list(&self, path: &TreePath) -> Result<Option<Vec<(String, EntryKind)>>, TreeError>;

    /// The content of the file at `path`, or the target of the symbolic link;
    /// `None` when there is neither.
    ///
    /// # Errors
    /// When the content is larger than `limit`, or cannot be read.
    fn read(&self, path: &TreePath, limit: u64) -> Result<Option<Bytes>, TreeError>;
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// A file, a directory, a link…
    pub kind: EntryKind,
    /// The same content has the same id.
    pub id: ContentId,
    /// May the file be executed?
    pub executable: bool,
}

/// The sort of thing that stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Another repository's commit, whose files are not here.
    Submodule,
    /// Something whose name is not UTF-8: listed, but no path leads to it.
    Unnameable,
}

/// A digest that names a content; for git, the object id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContentId([u8; 32]);

impl ContentId {
    /// Takes the bytes of a digest of at most 32 bytes.
    #[must_use]
    pub fn from_digest(digest: &[u8]) -> Self {
        let mut id = [0; 32];
        let length = digest.len().min(id.len());
        id[..length].copy_from_slice(&digest[..length]);
        Self(id)
    }
}

/// Why a question to a tree has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TreeError {
    /// A symbolic link leads out of the repository. Argo CD's words come first:
    /// users search for them.
    #[error(
        "repository contains out-of-bounds symlinks. file: {link} (it points to {target:?}; replace it by a link inside the repository or by the file itself)"
    )]
    LinkOutside {
        /// Where the link stands.
        link: TreePath,
        /// What it says.
        target: String,
    },
    /// Links that lead to each other.
    #[error("{path}: too many levels of symbolic links")]
    LinkLoop {
        /// The path that was asked for.
        path: TreePath,
    },
    /// A file over the limit.
    #[error("{path}: the file has {size} bytes, more than the {limit} that may be read")]
    TooLarge {
        /// The file.
        path: TreePath,
        /// Its size in bytes.
        size: u64,
        /// The most that may be read.
        limit: u64,
    },
    /// A content that is kept outside of the repository cannot be had.
    #[error("could not get the content of {path}, which is kept outside of git (LFS): {problem}")]
    Elsewhere {
        /// The path that was asked for.
        path: TreePath,
        /// What is in the way.
        problem: String,
    },
    /// The store of the tree is broken or unreachable.
    #[error("could not read {path} from the repository")]
    Store {
        /// The path that was asked for.
        path: TreePath,
        /// What the store said.
        source: std::sync::Arc<dyn std::error::Error + Send + Sync>,
    },
}

/// Follows symbolic links from `path` to what it stands for.
///
/// The answer's path contains no link. `None` when nothing is there, or a link
/// dangles inside the tree.
///
/// # Errors
/// When a link leads out of the tree, links form a loop, or the tree fails.
pub fn resolve(tree: &dyn Tree, path: &TreePath) -> Result<Option<(TreePath, Entry)>, TreeError> {
    let mut current = path.clone();
    for _ in 0..=MAX_LINKS {
        match tree.entry(&current)? {
            Some(entry) if entry.kind != EntryKind::Symlink => return Ok(Some((current, entry))),
            _ => match follow_first_link(tree, &current)? {
                Some(next) => current = next,
                None => return Ok(None),
            },
        }
    }
    Err(TreeError::LinkLoop { path: path.clone() })
}

/// The same place with the first link on the way replaced by its target.
fn follow_first_link(tree: &dyn Tree, path: &TreePath) -> Result<Option<TreePath>, TreeError> {
    for prefix in path.prefixes() {
        match tree.entry(&prefix)? {
            Some(entry) if entry.kind == EntryKind::Symlink => {
                let rest = path.below(&prefix).expect("a prefix of a path is above it");
                return link_target(tree, &prefix).map(|target| Some(target.join(&rest)));
            }
            Some(entry) if entry.kind == EntryKind::Directory => {}
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Where the link at `link` points, as a path of the tree.
///
/// # Errors
/// When that is outside the tree: an absolute path, or more `..` than there
/// are directories.
pub fn link_target(tree: &dyn Tree, link: &TreePath) -> Result<TreePath, TreeError> {
    let text = tree.read(link, MAX_LINK_BYTES)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    link.parent()
        .and_then(|directory| directory.resolve_relative(&text).ok())
        .ok_or(TreeError::LinkOutside { link: link.clone(), target: text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        TreePath::parse(text).unwrap()
    }

    #[track_caller]
    fn check(tree: &MemoryTree, from: &str, expect: &str) {
        let answer = match resolve(tree, &path(from)) {
            Ok(Some((path, entry))) => format!("{path} {:?}", entry.kind),
            Ok(None) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(answer, expect);
    }

    fn tree() -> MemoryTree {
        MemoryTree::new()
            .file("apps/web/deploy.yaml", "kind: Deployment")
            .link("current", "apps")
            .link("apps/api", "web")
            .link("apps/web/same.yaml", "../../current/api/deploy.yaml")
            .link("apps/web/up.yaml", "../../../etc/passwd")
            .link("apps/web/absolute.yaml", "/etc/passwd")
            .link("apps/web/chain.yaml", "absolute.yaml")
            .link("apps/web/dangling.yaml", "nowhere.yaml")
            .link("loop", "loop2")
            .link("loop2", "loop")
    }

    #[test]
    fn links_are_followed_on_the_way_and_at_the_end() {
        check(&tree(), "current/api/deploy.yaml", "apps/web/deploy.yaml File");
        check(&tree(), "apps/web/same.yaml", "apps/web/deploy.yaml File");
        check(&tree(), "current", "apps Directory");
    }

    #[test]
    fn a_dangling_link_is_nothing() {
        check(&tree(), "apps/web/dangling.yaml", "nothing");
        check(&tree(), "apps/web/deploy.yaml/below-a-file", "nothing");
        check(&tree(), "absent/deploy.yaml", "nothing");
    }

    #[test]
    fn no_link_leads_out_of_the_tree() {
        let refused = |link: &str, target: &str| {
            format!(
                "repository contains out-of-bounds symlinks. file: {link} (it points to {target:?}; replace it by a link inside the repository or by the file itself)"
            )
        };
        let outside = refused("apps/web/up.yaml", "../../../etc/passwd");
        check(&tree(), "apps/web/up.yaml", &outside);
        let absolute = refused("apps/web/absolute.yaml", "/etc/passwd");
        check(&tree(), "apps/web/absolute.yaml", &absolute);
        check(&tree(), "apps/web/chain.yaml", &absolute);
    }

    #[test]
    fn a_loop_of_links_ends() {
        check(&tree(), "loop", "loop: too many levels of symbolic links");
        check(&tree(), "loop/x", "loop/x: too many levels of symbolic links");
    }

    #[test]
    fn the_root_is_a_directory() {
        check(&tree(), ".", ". Directory");
    }
}
