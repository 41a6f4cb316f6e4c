//! Files that were read, kept as long as they stay the same: each is in memory once,
//! however many ask for it and however slowly they read.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use ring::digest::{SHA256, digest};
use tokio::sync::Semaphore;

use crate::compress::{WORTH_IT, gzip};

/// Together; past it, all are forgotten.
const ROOM: usize = 64 << 20;
/// So many files are read at once.
const READERS: usize = 2;

/// Which files in which state: names, times and sizes.
pub(super) type Stamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// A file as it is sent.
pub(super) struct Asset {
    plain: Bytes,
    gzip: Option<Bytes>,
    tag: String,
}

impl Asset {
    fn new(content: Vec<u8>) -> Self {
        let mut tag = String::from("W/\"");
        for byte in &digest(&SHA256, &content).as_ref()[..16] {
            // Writing to a text cannot fail.
            _ = write!(tag, "{byte:02x}");
        }
        tag.push('"');
        let is_worth_it = content.len() as u64 >= WORTH_IT;
        let gzip = if is_worth_it { gzip(&content) } else { None };
        let gzip = gzip.filter(|it| it.len() < content.len()).map(Bytes::from);
        Self { plain: Bytes::from(content), gzip, tag }
    }

    pub(super) fn plain(&self) -> &Bytes {
        &self.plain
    }

    /// None where it would not be smaller.
    pub(super) fn gzip(&self) -> Option<&Bytes> {
        self.gzip.as_ref()
    }

    /// Names the content, for browsers that have it.
    pub(super) fn tag(&self) -> &str {
        &self.tag
    }

    fn size(&self) -> usize {
        self.plain.len() + self.gzip.as_ref().map_or(0, Bytes::len)
    }
}

pub(super) struct Kept {
    assets: Mutex<HashMap<PathBuf, (Stamp, Arc<Asset>)>>,
    readers: Semaphore,
}

impl Default for Kept {
    fn default() -> Self {
        Self { assets: Mutex::default(), readers: Semaphore::new(READERS) }
    }
}

impl Kept {
    /// What was read when the files were in this state, or is read now.
    pub(super) async fn get(
        &self,
        name: PathBuf,
        stamp: Stamp,
        read: impl FnOnce() -> io::Result<Vec<u8>> + Send + 'static,
    ) -> io::Result<Arc<Asset>> {
        if let Some(known) = self.known(&name, &stamp) {
            return Ok(known);
        }
        let _turn = self.readers.acquire().await.map_err(io::Error::other)?;
        // Whoever waited for a turn may find it read.
        if let Some(known) = self.known(&name, &stamp) {
            return Ok(known);
        }
        let made = tokio::task::spawn_blocking(move || read().map(Asset::new)).await;
        let made = Arc::new(made.map_err(io::Error::other)??);
        let mut assets = self.assets();
        let size: usize = assets.values().map(|(_, it)| it.size()).sum();
        if size + made.size() > ROOM {
            assets.clear();
        }
        assets.insert(name, (stamp, Arc::clone(&made)));
        Ok(made)
    }

    fn known(&self, name: &PathBuf, stamp: &Stamp) -> Option<Arc<Asset>> {
        let assets = self.assets();
        let (read_at, asset) = assets.get(name)?;
        (read_at == stamp).then(|| Arc::clone(asset))
    }

    fn assets(&self) -> MutexGuard<'_, HashMap<PathBuf, (Stamp, Arc<Asset>)>> {
        self.assets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
