//! Files whose contents are kept outside of git (Git LFS), for repositories with
//! `enableLfs`.
//!
//! [`LfsTree`] gives the content that a pointer names in the place of the
//! pointer. It is fetched when it is read, so a render costs what it reads, and
//! it is what the pointer says or an error: size and digest are checked.
//! [`crate::lfs_server`] asks for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use render::tree::{Entry, EntryKind, Tree, TreeError, TreePath};

use crate::SourceRepos;
use crate::lfs_server::LfsServer;
use crate::repository::Repository;
use crate::server::Inner;

/// No pointer is larger.
const MAX_POINTER: usize = 1024;
/// Contents to keep for the next render that reads them, in bytes.
const MAX_KEPT: usize = 64 << 20;
/// No `.lfsconfig` is larger.
const MAX_CONFIG: u64 = 64 << 10;

/// What stands in git instead of a content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pointer {
    /// Its SHA-256 in hexadecimal.
    pub(crate) id: String,
    pub(crate) size: u64,
}

impl Pointer {
    /// Reads a pointer; `None` for every other content.
    pub(crate) fn read(content: &[u8]) -> Option<Self> {
        if content.len() > MAX_POINTER {
            return None;
        }
        let mut lines = std::str::from_utf8(content).ok()?.lines();
        let version = lines.next()?.strip_prefix("version ")?;
        if !["https://git-lfs.github.com/spec/v1", "https://hawser.github.com/spec/v1"]
            .contains(&version)
        {
            return None;
        }
        let (mut id, mut size) = (None, None);
        for line in lines {
            match line.split_once(' ')? {
                ("oid", value) => id = value.strip_prefix("sha256:"),
                ("size", value) => size = value.parse().ok(),
                _ => {}
            }
        }
        let is_digest = |it: &&str| {
            it.len() == 64 && it.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
        };
        Some(Self { id: id.filter(is_digest)?.to_owned(), size: size? })
    }
}

/// Contents that were fetched, by repository: what one may see is not for another.
#[derive(Default)]
pub(crate) struct LfsContents(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    contents: HashMap<(String, Pointer), Bytes>,
    bytes: usize,
}

impl LfsContents {
    fn get(&self, key: &(String, Pointer)) -> Option<Bytes> {
        self.0.lock().expect("nobody panics while looking up").contents.get(key).cloned()
    }

    /// When there are too many, all go: what is needed comes back.
    fn insert(&self, key: (String, Pointer), content: Bytes) {
        let mut kept = self.0.lock().expect("nobody panics while looking up");
        if content.len() > MAX_KEPT {
            return;
        }
        if kept.bytes + content.len() > MAX_KEPT {
            *kept = Kept::default();
        }
        kept.bytes += content.len();
        kept.contents.insert(key, content);
    }
}

/// Whether a content could not be had, which may be otherwise the next time.
pub(crate) type Failed = Arc<AtomicBool>;

/// A commit's tree with contents in the places of pointers.
pub(crate) struct LfsTree<T> {
    tree: T,
    inner: Arc<Inner>,
    repository: Arc<Repository>,
    /// The servers whose credentials may be used beside the repository's own.
    source_repos: SourceRepos,
    over: Arc<AtomicBool>,
    failed: Failed,
}

/// The tree as it is, or with contents of LFS if the repository has them.
pub(crate) fn smudged<T: Tree + 'static>(
    tree: T,
    inner: &Arc<Inner>,
    repository: &Arc<Repository>,
    source_repos: &SourceRepos,
    over: &Arc<AtomicBool>,
    failed: &Failed,
) -> Box<dyn Tree> {
    if !repository.remote.wants_lfs() {
        return Box::new(tree);
    }
    let (inner, repository) = (Arc::clone(inner), Arc::clone(repository));
    let (over, failed) = (Arc::clone(over), Arc::clone(failed));
    let source_repos = source_repos.clone();
    Box::new(LfsTree { tree, inner, repository, source_repos, over, failed })
}

impl<T: Tree> LfsTree<T> {
    /// Where contents come from, and with whose credentials.
    fn origin(&self) -> String {
        let identity = self.repository.identity.clone();
        if self.source_repos.are_all() {
            return identity;
        }
        format!("{identity}\nfor those who may use\n{}", self.source_repos.entries().join("\n"))
    }

    fn content(&self, pointer: &Pointer) -> Result<Bytes, String> {
        let key = (self.origin(), pointer.clone());
        if let Some(content) = self.inner.lfs.get(&key) {
            return Ok(content);
        }
        if self.over.load(Ordering::Relaxed) {
            return Err("nobody waits for it any more".to_owned());
        }
        let config = self.tree.read(&TreePath::root().child(".lfsconfig"), MAX_CONFIG);
        let config = config.ok().flatten().unwrap_or_default();
        let config = String::from_utf8_lossy(&config);
        let server = LfsServer::of(&self.repository.remote, &config, &self.source_repos)?;
        let content = server.download(pointer)?;
        self.inner.lfs.insert(key, content.clone());
        Ok(content)
    }
}

impl<T: Tree> Tree for LfsTree<T> {
    fn entry(&self, path: &TreePath) -> Result<Option<Entry>, TreeError> {
        self.tree.entry(path)
    }

    fn list(&self, path: &TreePath) -> Result<Option<Vec<(String, EntryKind)>>, TreeError> {
        self.tree.list(path)
    }

    fn read(&self, path: &TreePath, limit: u64) -> Result<Option<Bytes>, TreeError> {
        let Some(content) = self.tree.read(path, limit)? else { return Ok(None) };
        let Some(pointer) = Pointer::read(&content) else { return Ok(Some(content)) };
        if self.tree.entry(path)?.is_none_or(|it| it.kind != EntryKind::File) {
            return Ok(Some(content));
        }
        if pointer.size > limit {
            return Err(TreeError::TooLarge { path: path.clone(), size: pointer.size, limit });
        }
        self.content(&pointer).map(Some).map_err(|problem| {
            self.failed.store(true, Ordering::Relaxed);
            TreeError::Elsewhere { path: path.clone(), problem }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";

    #[track_caller]
    fn check(text: &str, expect: Option<u64>) {
        let pointer = Pointer::read(text.as_bytes());
        let expect = expect.map(|size| Pointer { id: ID.to_owned(), size });
        assert_eq!(pointer, expect, "{text}");
    }

    #[test]
    fn a_pointer_is_read_and_nothing_else() {
        let version = "version https://git-lfs.github.com/spec/v1";
        check(&format!("{version}\noid sha256:{ID}\nsize 12345\n"), Some(12345));
        check(&format!("{version}\next-0-x sha256:0\noid sha256:{ID}\nsize 1\n"), Some(1));
        check(&format!("{version}\noid sha256:{ID}\n"), None);
        check(&format!("{version}\noid sha256:../../etc/passwd\nsize 1\n"), None);
        check(&format!("{version}\noid sha256:{}\nsize 1\n", ID.to_uppercase()), None);
        check(&format!("{version}\noid sha256:{ID}\nsize -1\n"), None);
        check("version 2\n", None);
        check("apiVersion: v1\n", None);
        check(&format!("{version}\noid sha256:{ID}\nsize 1\n{}", "x y\n".repeat(300)), None);
    }
}
