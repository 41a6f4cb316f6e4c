//! Rendered sources on disk, so that a restart renders nothing again.
//!
//! `entries` holds results by a digest of what they were made from: what was
//! read, every parameter, our version. `sources` says for a source which tree it
//! was last rendered from and which entry came of it. An entry carries a hash of
//! itself; one that does not fit is a miss. Everything here can be made again:
//! whatever goes wrong, a full disk included, is told in the log and costs time.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use gix::ObjectId;
use redb::{Database, ReadableDatabase as _, ReadableTable as _, Table, TableDefinition};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::rendered::{Outcome, SourceKey};

const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");
const SOURCES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("sources");
/// Entries in the order in which they were written, with their sizes.
const ORDER: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("order");
const TOTALS: TableDefinition<'_, &str, u64> = TableDefinition::new("totals");

/// Bytes of results that may wait to be written; more is not worth its memory.
const MAX_WAITING: usize = 32 << 20;
/// Written together: so many, or so many bytes.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 4 << 20;
/// What one write costs beside the result.
const WRITE_OVERHEAD: usize = 256;
/// Pages of the file in memory; the results are there already, and the system has the pages too.
const PAGE_CACHE: usize = 1 << 20;
/// What writes an entry in another form, or renders otherwise, has another version.
const VERSION: &str = concat!("2 ", env!("CARGO_PKG_VERSION"));
const HASH: usize = 32;

/// The results on disk.
pub(crate) struct Disk {
    database: Arc<Database>,
    forgotten: Arc<Forgotten>,
    /// There until the end.
    writer: Option<(Sender<Write>, JoinHandle<()>)>,
    /// Bytes that wait to be written.
    waiting: Arc<AtomicUsize>,
}

/// Rows that are to be forgotten and still there: nobody may read them.
#[derive(Default)]
struct Forgotten(Mutex<HashSet<[u8; HASH]>>);

impl Forgotten {
    fn lock(&self) -> MutexGuard<'_, HashSet<[u8; HASH]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Write {
    /// This came of a source's tree.
    Keep { row: [u8; HASH], root: ObjectId, outcome: Arc<Outcome> },
    /// What came of other trees of these sources comes of this one, too.
    Move { sources: Vec<(SourceKey, ObjectId)>, to: ObjectId },
    /// A hard refresh.
    Forget { row: [u8; HASH] },
}

impl Write {
    fn bytes(&self) -> usize {
        WRITE_OVERHEAD
            + match self {
                Self::Keep { outcome, .. } => outcome.bytes(),
                Self::Move { sources, .. } => size_of_val(&sources[..]),
                Self::Forget { .. } => 0,
            }
    }
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
        let (writes, arriving) = channel();
        let forgotten = Arc::new(Forgotten::default());
        let waiting = Arc::new(AtomicUsize::new(0));
        let queue = Queue { arriving, waiting: Arc::clone(&waiting) };
        let (writer, forgets) = (Arc::clone(&database), Arc::clone(&forgotten));
        let writer = std::thread::spawn(move || write_all(&writer, &forgets, &queue, budget));
        Some(Self { database, forgotten, writer: Some((writes, writer)), waiting })
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
        let (row, outcome) = (row_key(source), Arc::clone(outcome));
        self.write(Write::Keep { row, root, outcome });
    }

    /// The results of these sources for other trees are those for one more.
    pub(crate) fn moved(&self, sources: Vec<(SourceKey, ObjectId)>, to: ObjectId) {
        if !sources.is_empty() {
            self.write(Write::Move { sources, to });
        }
    }

    /// Forgets a source: a hard refresh.
    pub(crate) fn remove(&self, source: SourceKey) {
        let row = row_key(source);
        self.forgotten.lock().insert(row);
        self.write(Write::Forget { row });
    }

    /// Where too much waits, a result is not kept: it can be made again. That
    /// one is to be forgotten must not be lost.
    fn write(&self, write: Write) {
        let Some((writes, _)) = &self.writer else { return };
        let must_be = matches!(write, Write::Forget { .. });
        if must_be || self.waiting.load(Ordering::Relaxed) < MAX_WAITING {
            self.waiting.fetch_add(write.bytes(), Ordering::Relaxed);
            // An error only says that the writer is gone.
            writes.send(write).ok();
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
    let database = Database::builder().set_cache_size(PAGE_CACHE).create(path)?;
    let transaction = database.begin_write()?;
    transaction.open_table(ENTRIES)?;
    transaction.open_table(SOURCES)?;
    transaction.open_table(ORDER)?;
    transaction.open_table(TOTALS)?;
    transaction.commit()?;
    Ok(database)
}

/// An entry is its hash and what it is a hash of, which `write` writes.
fn sealed(write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<Vec<u8>> {
    let mut entry = vec![0; HASH];
    write(&mut entry)?;
    let hash = Sha256::digest(&entry[HASH..]);
    entry[..HASH].copy_from_slice(&hash);
    Some(entry)
}

fn unsealed(entry: &[u8]) -> Option<&[u8]> {
    let (hash, payload) = entry.split_at_checked(HASH)?;
    (Sha256::digest(payload).as_slice() == hash).then_some(payload)
}

/// What waits to be written, and how many bytes it is.
struct Queue {
    arriving: Receiver<Write>,
    waiting: Arc<AtomicUsize>,
}

impl Queue {
    /// What is written next, and how many bytes it is; `None` when nobody can
    /// send any more.
    fn batch(&self) -> Option<(Vec<Write>, usize)> {
        let first = self.arriving.recv().ok()?;
        let (mut bytes, mut batch) = (first.bytes(), vec![first]);
        while batch.len() < BATCH
            && bytes < BATCH_BYTES
            && let Ok(next) = self.arriving.try_recv()
        {
            bytes += next.bytes();
            batch.push(next);
        }
        Some((batch, bytes))
    }
}

/// Writes what comes, several at once, until nobody can send any more.
fn write_all(database: &Database, forgotten: &Forgotten, queue: &Queue, budget: u64) {
    let mut told = false;
    while let Some((batch, bytes)) = queue.batch() {
        let written = write(database, &batch, budget);
        queue.waiting.fetch_sub(bytes, Ordering::Relaxed);
        match written {
            Ok(()) => {
                told = false;
                let mut forgotten = forgotten.lock();
                for write in &batch {
                    if let Write::Forget { row } = write {
                        forgotten.remove(row);
                    }
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
        for write in batch {
            let (row, root, outcome) = match write {
                Write::Forget { row } => {
                    sources.remove(row.as_slice())?;
                    continue;
                }
                Write::Move { sources: moved, to } => {
                    for (source, from) in moved {
                        move_row(&mut sources, row_key(*source), *from, *to)?;
                    }
                    continue;
                }
                Write::Keep { row, root, outcome } => (row, *root, outcome),
            };
            let Some(entry) = sealed(|out| outcome.write_to(out)) else { continue };
            let (hash, payload) = entry.split_at(HASH);
            let size = payload.len() as u64;
            if size > budget {
                continue;
            }
            // The hash stands for the payload: what was read, and what came of it.
            let key = Sha256::new().chain_update(row).chain_update(hash).finalize();
            sources.insert(row.as_slice(), row_of(root, &key).as_slice())?;
            if entries.insert(key.as_slice(), entry.as_slice())?.is_none() {
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

/// A result that was not kept leaves an older one here, which is another tree's.
fn move_row(
    sources: &mut Table<'_, &'static [u8], &'static [u8]>,
    row: [u8; HASH],
    from: ObjectId,
    to: ObjectId,
) -> Result<(), redb::Error> {
    let known = sources.get(row.as_slice())?.map(|it| it.value().to_vec());
    let known = known.and_then(|it| serde_json::from_slice::<Row>(&it).ok());
    if let Some(Row { entry, .. }) = known.filter(|it| it.root == from.as_slice()) {
        sources.insert(row.as_slice(), row_of(to, &entry).as_slice())?;
    }
    Ok(())
}

fn row_of(root: ObjectId, entry: &[u8]) -> Vec<u8> {
    let row = Row { root: root.as_slice().to_vec(), entry: entry.to_vec() };
    serde_json::to_vec(&row).expect("a row is plain data")
}

#[cfg(test)]
mod tests {
    use render::Record;

    use super::*;

    fn tree(digit: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[digit; 20])
    }

    fn outcome(text: &str) -> Arc<Outcome> {
        let stored = serde_json::json!({
            "manifests": [text], "source_type": null, "record": Record::default(),
            "revision": null, "capabilities": null, "refs": {},
        });
        Arc::new(Outcome::from_bytes(stored.to_string().as_bytes()).expect("an outcome"))
    }

    /// The tree and the text that are on disk after these writes and a restart.
    #[track_caller]
    fn check(writes: impl FnOnce(&Disk, SourceKey), expect: Option<(u8, &str)>) {
        let folder = tempfile::tempdir().expect("a folder");
        let key = SourceKey::of(
            "a",
            &Default::default(),
            &render::RenderContext::new("a", "b"),
            &crate::SourceRepos::all(),
        );
        let disk = Disk::open(folder.path(), 1 << 20).expect("a file");
        writes(&disk, key);
        drop(disk);
        let disk = Disk::open(folder.path(), 1 << 20).expect("a file");
        let found = disk.get(key).map(|(root, outcome)| {
            (root, outcome.result.as_ref().expect("a result").manifests[0].to_string())
        });
        assert_eq!(found, expect.map(|(root, text)| (tree(root), text.to_owned())));
    }

    #[test]
    fn a_result_moves_to_the_tree_that_has_it_and_no_other() {
        check(
            |disk, key| {
                disk.put(key, tree(1), &outcome("one"));
                disk.moved(vec![(key, tree(1))], tree(2));
            },
            Some((2, "one")),
        );
        check(
            |disk, key| {
                disk.put(key, tree(1), &outcome("one"));
                // The result of tree 2 was not kept: too much waited.
                disk.moved(vec![(key, tree(2))], tree(3));
            },
            Some((1, "one")),
        );
    }

    #[test]
    fn what_is_to_be_forgotten_is_however_much_waits() {
        check(
            |disk, key| {
                disk.put(key, tree(1), &outcome("one"));
                disk.waiting.fetch_add(2 * MAX_WAITING, Ordering::Relaxed);
                disk.put(key, tree(2), &outcome("two"));
                disk.remove(key);
                disk.waiting.fetch_sub(2 * MAX_WAITING, Ordering::Relaxed);
            },
            None,
        );
    }

    #[test]
    fn an_entry_that_was_changed_is_none() {
        let write = |out: &mut Vec<u8>| {
            out.extend_from_slice(b"payload");
            Some(())
        };
        let mut entry = sealed(write).unwrap();
        assert_eq!(unsealed(&entry), Some(&b"payload"[..]));
        entry[HASH] ^= 1;
        assert_eq!(unsealed(&entry), None);
        assert_eq!(unsealed(b"short"), None);
    }
}
