//! What comes packed: charts of chart repositories, and artifacts of
//! registries. Fetched once for everyone who asks, and kept unpacked.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use gix::ObjectId;
use render::tree::{MemoryTree, TreePath};
use sha2::{Digest as _, Sha256};

use crate::credentials::Reach;
use crate::flight::Flights;
use crate::{FetchError, RepoUrl};

/// Packages to keep.
const MAX_KEPT: usize = 256;
/// Bytes of packages to keep, as they are unpacked.
const MAX_KEPT_BYTES: u64 = 256 << 20;

/// A chart or an artifact that is here, unpacked.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) repo: RepoUrl,
    /// A chart's version, or an artifact's digest.
    pub(crate) revision: String,
    /// A digest of the archive.
    pub(crate) root: ObjectId,
    pub(crate) tree: MemoryTree,
    /// As it came; empty for an artifact that is no chart.
    pub(crate) archive: bytes::Bytes,
}

/// Which package it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PackageKey {
    pub(crate) repo: String,
    pub(crate) name: String,
    pub(crate) revision: String,
    /// What one fetch may bring, another with less reach may not.
    pub(crate) reach: Reach,
}

/// Packages here and on their way.
#[derive(Default)]
pub(crate) struct Packages {
    fetches: Flights<PackageKey, Result<Arc<Package>, FetchError>>,
    kept: Arc<Mutex<Kept>>,
}

/// The most recently used last.
#[derive(Default)]
struct Kept {
    packages: Vec<(PackageKey, Arc<Package>)>,
    bytes: u64,
}

impl Package {
    /// A chart from its archive.
    ///
    /// # Errors
    /// When the archive is malformed, hostile or too large: what is wrong with it.
    pub(crate) fn chart(repo: &RepoUrl, revision: &str, archive: Vec<u8>) -> Result<Self, String> {
        let mut tree = MemoryTree::new();
        for (name, content) in render::unpack_chart(&archive)? {
            if TreePath::parse(&name).is_err() {
                return Err(format!("the archive holds the path {name:?}"));
            }
            tree = tree.file(&name, content);
        }
        Ok(Self {
            repo: repo.clone(),
            revision: revision.to_owned(),
            root: root_of(&archive),
            tree,
            archive: archive.into(),
        })
    }

    fn bytes(&self) -> u64 {
        self.tree.bytes() + self.archive.len() as u64
    }
}

/// An id for the tree that an archive unpacks to.
pub(crate) fn root_of(archive: &[u8]) -> ObjectId {
    ObjectId::from_bytes_or_panic(&Sha256::digest(archive)[..20])
}

impl Packages {
    /// The package, which `fetch` brings if it is not here and not on its way.
    pub(crate) async fn get(
        &self,
        key: PackageKey,
        fetch: impl FnOnce() -> BoxFuture<'static, Result<Package, FetchError>>,
    ) -> Result<Arc<Package>, FetchError> {
        if let Some(package) = self.kept().find(&key) {
            return Ok(package);
        }
        let start = || -> BoxFuture<'static, _> {
            let (kept, key, fetch) = (Arc::clone(&self.kept), key.clone(), fetch());
            Box::pin(async move {
                let package = Arc::new(fetch.await?);
                let mut kept = kept.lock().expect("nobody panics while looking up");
                kept.keep(key, Arc::clone(&package));
                Ok(package)
            })
        };
        self.fetches.join(key.clone(), start).await
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().expect("nobody panics while looking up")
    }
}

impl Kept {
    fn find(&mut self, key: &PackageKey) -> Option<Arc<Package>> {
        let at = self.packages.iter().position(|(it, _)| it == key)?;
        let entry = self.packages.remove(at);
        let package = Arc::clone(&entry.1);
        self.packages.push(entry);
        Some(package)
    }

    fn keep(&mut self, key: PackageKey, package: Arc<Package>) {
        self.bytes += package.bytes();
        self.packages.push((key, package));
        // The newest stays whatever its size: somebody is about to use it.
        while self.packages.len() > 1
            && (self.packages.len() > MAX_KEPT || self.bytes > MAX_KEPT_BYTES)
        {
            self.bytes -= self.packages.remove(0).1.bytes();
        }
    }
}
