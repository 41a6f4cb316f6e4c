//! Many small packs into one: each fetch leaves a pack, and every look at an
//! object asks all of them.
//!
//! A stored pack holds all that its deltas build on, and refers to it by how far
//! back it stands. So packs can be joined by writing their entries one behind the
//! other; the index is made anew, which inflates and hashes every object.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gix::hash::Kind;
use gix::odb::pack::Bundle;
use gix::odb::pack::bundle::write::Options;
use gix::progress;

/// More packs than this are joined.
pub(crate) const MAX_PACKS: usize = 24;
/// The largest are left as they are: nobody gains much by copying them.
const KEPT: usize = 8;
/// `PACK`, the version, the number of entries.
const HEADER: u64 = 12;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// A pack and its size.
struct Pack {
    bytes: u64,
    path: PathBuf,
}

/// Joins the small packs of a folder if there are too many. Blocks.
///
/// # Errors
/// When they cannot be read or there is no room; then all stays as it was.
pub(crate) fn consolidate(folder: &Path, kind: Kind, max_object: u64) -> Result<(), AnyError> {
    let mut packs = whole_packs(folder)?;
    if packs.len() <= MAX_PACKS {
        return Ok(());
    }
    packs.sort_unstable_by_key(|it| it.bytes);
    packs.truncate(packs.len() - KEPT);
    let joined = Joined::of(&packs, kind)?;
    let options = Options {
        thread_limit: Some(1),
        alloc_limit_bytes: usize::try_from(max_object).ok(),
        ..Options::default()
    };
    let no_bases = None::<gix::odb::Handle>;
    let written = Bundle::write_to_directory(
        &mut BufReader::with_capacity(64 << 10, joined),
        Some(folder),
        &mut progress::Discard,
        &AtomicBool::new(false),
        no_bases,
        kind,
        options,
    );
    let written = written.map_err(|error| error.to_string())?;
    let new = written.data_path.ok_or("nothing was written")?;
    // Without its index a pack is not looked at, so that goes first.
    for Pack { path, .. } in packs.iter().filter(|it| it.path != new) {
        fs::remove_file(path.with_extension("idx"))?;
        fs::remove_file(path)?;
    }
    if let Some(keep) = written.keep_path {
        fs::remove_file(keep)?;
    }
    Ok(())
}

/// Packs that nobody is writing.
fn whole_packs(folder: &Path) -> io::Result<Vec<Pack>> {
    let mut packs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_whole = path.extension().is_some_and(|it| it == "pack")
            && path.with_extension("idx").exists()
            && !path.with_extension("keep").exists();
        if is_whole {
            packs.push(Pack { bytes: fs::metadata(&path)?.len(), path });
        }
    }
    Ok(packs)
}

/// The packs as one: a header, all entries, a hash of all that.
struct Joined {
    header: io::Cursor<Vec<u8>>,
    entries: VecDeque<io::Take<File>>,
    hash: Option<gix::hash::Hasher>,
    trailer: io::Cursor<Vec<u8>>,
}

impl Joined {
    fn of(packs: &[Pack], kind: Kind) -> Result<Self, AnyError> {
        let mut count = 0_u32;
        let mut entries = VecDeque::new();
        for Pack { bytes, path } in packs {
            let mut file = File::open(path)?;
            let mut header = [0; HEADER as usize];
            file.read_exact(&mut header)?;
            let [b'P', b'A', b'C', b'K', 0, 0, 0, 2, counted @ ..] = header else {
                return Err(format!("{} is no pack of version 2", path.display()).into());
            };
            count = count.checked_add(u32::from_be_bytes(counted)).ok_or("too many objects")?;
            file.seek(SeekFrom::Start(HEADER))?;
            let around = HEADER + kind.len_in_bytes() as u64;
            entries.push_back(file.take(bytes.saturating_sub(around)));
        }
        let mut header = b"PACK\0\0\0\x02".to_vec();
        header.extend_from_slice(&count.to_be_bytes());
        Ok(Self {
            header: io::Cursor::new(header),
            entries,
            hash: Some(gix::hash::hasher(kind)),
            trailer: io::Cursor::default(),
        })
    }
}

impl Read for Joined {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut count = self.header.read(buffer)?;
        while count == 0
            && let Some(entries) = self.entries.front_mut()
        {
            count = entries.read(buffer)?;
            if count == 0 {
                self.entries.pop_front();
            }
        }
        if count > 0 {
            if let Some(hash) = &mut self.hash {
                hash.update(&buffer[..count]);
            }
            return Ok(count);
        }
        if let Some(hash) = self.hash.take() {
            let hash = hash.try_finalize().map_err(|error| io::Error::other(error.to_string()))?;
            self.trailer = io::Cursor::new(hash.as_slice().to_vec());
        }
        self.trailer.read(buffer)
    }
}
