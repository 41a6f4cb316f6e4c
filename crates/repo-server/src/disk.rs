//! Rendered sources on disk, so that a restart renders nothing again.
//!
//! `entries` holds results by a digest of what they were made from: what was
//! read, every parameter, our version. `sources` says for a source which tree it
//! was last rendered from and which entry came of it. An entry carries a hash of
//! itself; one that does not fit is a miss. Everything here can be made again:
//! whatever goes wrong, a full disk included, is told in the log and costs time.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use gix::ObjectId;
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::rendered::{Outcome, SourceKey};

const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");
const SOURCES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("sources");
/// Entries in the order in which they were written, with their sizes.
const ORDER: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("order");
const TOTALS: TableDefinition<'_, &str, u64> = TableDefinition::new("totals");

/// What may wait to be written; more is not worth waiting for.
const MAX_WAITING: usize = 512;
/// Written together.
const BATCH: usize = 64;
/// What writes an entry in another form, or renders otherwise, has another version.
const VERSION: &str = concat!("1 ", env!("CARGO_PKG_VERSION"));
const HASH: usize = 32;

/// The results on disk.
pub(crate) struct Disk {
    database: Arc<Database>,
    forgotten: Arc<Forgotten>,
    /// There until the end.
    writer: Option<(SyncSender<Write>, JoinHandle<()>)>,
}

/// Rows that are to be forgotten and still there: nobody may read them.
#[derive(Default)]
struct Forgotten(Mutex<HashSet<[u8; HASH]>>);

impl Forgotten {
    fn lock(&self) -> MutexGuard<'_, HashSet<[u8; HASH]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Write {
    row: [u8; HASH],
    what: What,
}

enum What {
    /// This came of this tree.
    Keep(ObjectId, Arc<Outcome>),
    /// The same came of another tree.
    Move(ObjectId),
    /// A hard refresh.
    Forget,
}

/// A source's row: which tree, which entry.
#[derive(Serialize, Deserialize)]
struct Row {
    root: Vec<u8>,
    entry: Vec<u8>,
}

impl Disk {
    /// Opens or makes the file; one that cannot be read is begun anew.
    pub(crate) fn open(folder: &Path, budget: u64) -> Option<Self> {
        if budget == 0 {
            return None;
        }
        let path = folder.join("rendered.redb");
        let database = match open(&path) {
            Ok(database) => database,
            Err(error @ redb::Error::DatabaseAlreadyOpen) => {
                tracing::warn!(%error, "another process has it: renders are not kept on disk");
                return None;
            }
            Err(error) => {
                tracing::warn!(%error, file = %path.display(), "the cache of renders begins anew");
                std::fs::remove_file(&path).ok();
                let opened = open(&path).inspect_err(|error| {
                    tracing::warn!(%error, "renders are not kept on disk");
                });
                opened.ok()?
            }
        };
        let database = Arc::new(database);
        let (writes, waiting) = sync_channel(MAX_WAITING);
        let forgotten = Arc::new(Forgotten::default());
        let (writer, forgets) = (Arc::clone(&database), Arc::clone(&forgotten));
        let writer = std::thread::spawn(move || write_all(&writer, &forgets, &waiting, budget));
        Some(Self { database, forgotten, writer: Some((writes, writer)) })
    }

    /// The last result of a source, and the tree it was made from. Blocks.
    pub(crate) fn get(&self, source: SourceKey) -> Option<(ObjectId, Outcome)> {
        if self.forgotten.lock().contains(&row_key(source)) {
            return None;
        }
        let read = || -> Result<Option<(ObjectId, Outcome)>, redb::Error> {
            let transaction = self.database.begin_read()?;
            let sources = transaction.open_table(SOURCES)?;
            let Some(row) = sources.get(row_key(source).as_slice())? else { return Ok(None) };
            let Ok(row) = serde_json::from_slice::<Row>(row.value()) else { return Ok(None) };
            let entries = transaction.open_table(ENTRIES)?;
            let Some(entry) = entries.get(row.entry.as_slice())? else { return Ok(None) };
            Ok(unsealed(entry.value()).and_then(|payload| {
                let root = ObjectId::try_from(row.root.as_slice()).ok()?;
                Some((root, Outcome::from_bytes(payload)?))
            }))
        };
        read().unwrap_or_else(|error| {
            tracing::warn!(%error, "could not read the cache of renders");
            None
        })
    }

    /// Writes a result, in its own time.
    pub(crate) fn put(&self, source: SourceKey, root: ObjectId, outcome: &Arc<Outcome>) {
        self.write(source, What::Keep(root, Arc::clone(outcome)));
    }

    /// The last result of a source is that of another tree, too.
    pub(crate) fn moved(&self, source: SourceKey, root: ObjectId) {
        self.write(source, What::Move(root));
    }

    /// Forgets a source: a hard refresh.
    pub(crate) fn remove(&self, source: SourceKey) {
        self.forgotten.lock().insert(row_key(source));
        self.write(source, What::Forget);
    }

    /// Where too much waits, this is not kept: it can be made again.
    fn write(&self, source: SourceKey, what: What) {
        if let Some((writes, _)) = &self.writer {
            writes.try_send(Write { row: row_key(source), what }).ok();
        }
    }
}

impl Drop for Disk {
    /// What waits is written before the file is closed.
    fn drop(&mut self) {
        if let Some((writes, writer)) = self.writer.take() {
            drop(writes);
            writer.join().ok();
        }
    }
}

/// Under what a source's row is kept.
fn row_key(source: SourceKey) -> [u8; HASH] {
    Sha256::new().chain_update(VERSION).chain_update(source.bytes()).finalize().into()
}

fn open(path: &PathBuf) -> Result<Database, redb::Error> {
    let database = Database::create(path)?;
    let transaction = database.begin_write()?;
    transaction.open_table(ENTRIES)?;
    transaction.open_table(SOURCES)?;
    transaction.open_table(ORDER)?;
    transaction.open_table(TOTALS)?;
    transaction.commit()?;
    Ok(database)
}

/// An entry is its hash and what it is a hash of.
fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut entry = Sha256::digest(payload).to_vec();
    entry.extend_from_slice(payload);
    entry
}

fn unsealed(entry: &[u8]) -> Option<&[u8]> {
    let (hash, payload) = entry.split_at_checked(HASH)?;
    (Sha256::digest(payload).as_slice() == hash).then_some(payload)
}

/// Writes what comes, several at once, until nobody can send any more.
fn write_all(database: &Database, forgotten: &Forgotten, waiting: &Receiver<Write>, budget: u64) {
    let mut told = false;
    while let Ok(first) = waiting.recv() {
        let batch = std::iter::once(first).chain(waiting.try_iter().take(BATCH));
        let batch: Vec<Write> = batch.collect();
        match write(database, &batch, budget) {
            Ok(()) => {
                told = false;
                let mut forgotten = forgotten.lock();
                for write in batch.iter().filter(|it| matches!(it.what, What::Forget)) {
                    forgotten.remove(&write.row);
                }
            }
            // A full disk stays full for a while: it is told once.
            Err(error) if !told => {
                tracing::warn!(%error, "could not keep renders on disk; they are rendered again");
                told = true;
            }
            Err(_) => {}
        }
    }
}

fn write(database: &Database, batch: &[Write], budget: u64) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut entries = transaction.open_table(ENTRIES)?;
        let mut sources = transaction.open_table(SOURCES)?;
        let mut order = transaction.open_table(ORDER)?;
        let mut totals = transaction.open_table(TOTALS)?;
        let mut bytes = totals.get("bytes")?.map_or(0, |it| it.value());
        let mut next = totals.get("next")?.map_or(0, |it| it.value());
        for Write { row, what } in batch {
            let (root, outcome) = match what {
                What::Forget => {
                    sources.remove(row.as_slice())?;
                    continue;
                }
                What::Move(root) => {
                    let known = sources.get(row.as_slice())?.map(|it| it.value().to_vec());
                    let known = known.and_then(|it| serde_json::from_slice::<Row>(&it).ok());
                    if let Some(Row { entry, .. }) = known {
                        let moved = row_of(*root, &entry);
                        sources.insert(row.as_slice(), moved.as_slice())?;
                    }
                    continue;
                }
                What::Keep(root, outcome) => (*root, outcome),
            };
            let Some(payload) = outcome.to_bytes() else { continue };
            let size = payload.len() as u64;
            if size > budget {
                continue;
            }
            let key = Sha256::new().chain_update(row).chain_update(&payload).finalize();
            sources.insert(row.as_slice(), row_of(root, &key).as_slice())?;
            if entries.insert(key.as_slice(), sealed(&payload).as_slice())?.is_none() {
                order.insert(next, key.as_slice())?;
                next += 1;
                bytes += size;
            }
        }
        while bytes > budget {
            let Some((_, key)) = order.pop_first()? else { break };
            if let Some(gone) = entries.remove(key.value())? {
                bytes = bytes.saturating_sub((gone.value().len() - HASH) as u64);
            }
        }
        totals.insert("bytes", bytes)?;
        totals.insert("next", next)?;
    }
    transaction.commit()?;
    Ok(())
}

fn row_of(root: ObjectId, entry: &[u8]) -> Vec<u8> {
    let row = Row { root: root.as_slice().to_vec(), entry: entry.to_vec() };
    serde_json::to_vec(&row).expect("a row is plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_was_changed_is_none() {
        let mut entry = sealed(b"payload");
        assert_eq!(unsealed(&entry), Some(&b"payload"[..]));
        entry[HASH] ^= 1;
        assert_eq!(unsealed(&entry), None);
        assert_eq!(unsealed(b"short"), None);
    }
}
