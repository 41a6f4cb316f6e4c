//! A repository's objects on disk: one bare store, shared by all its users.
//!
//! The store holds what a fetch brought, and nothing that cannot be fetched
//! again; so whatever is wrong with it, the cure is to begin anew.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix::ThreadSafeRepository;

use crate::consolidate::consolidate;
use crate::remote::COMMIT_REFS;
use crate::{FetchError, RepoUrl};

/// More refs than this to single commits only make fetches slower.
const MAX_COMMIT_REFS: usize = 64;

/// One repository's object store.
#[derive(Debug)]
pub(crate) struct Store {
    repo: RepoUrl,
    folder: PathBuf,
    /// Bytes of one object.
    max_object: u64,
    /// Held for a look only.
    current: Mutex<Option<Opened>>,
    /// Held by the one who opens or rebuilds, so that nobody sweeps away what
    /// another is writing.
    preparing: Mutex<()>,
}

/// An open store. Its number changes with every rebuild, so that only the
/// first of several unlucky readers rebuilds.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) repository: ThreadSafeRepository,
    pub(crate) generation: u64,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "generation {}", self.generation)
    }
}

impl Store {
    pub(crate) fn new(repo: RepoUrl, parent: &Path, max_object: u64) -> Self {
        let folder = parent.join(repo.folder_name());
        Self { repo, folder, max_object, current: Mutex::default(), preparing: Mutex::default() }
    }

    /// The store, opened or made. Blocks.
    pub(crate) fn open(&self) -> Result<Opened, FetchError> {
        if let Some(opened) = self.opened() {
            return Ok(opened);
        }
        let _one_at_a_time = self.prepare();
        if let Some(opened) = self.opened() {
            return Ok(opened);
        }
        self.sweep();
        let repository = match open_bare(&self.folder, self.max_object) {
            Ok(repository) if holds_what_it_refers_to(&repository) => repository,
            _ => self.create()?,
        };
        Ok(self.set(repository, 0))
    }

    /// Takes notice of packs that a fetch brought. Blocks.
    pub(crate) fn reload(&self) -> Result<Opened, FetchError> {
        self.consolidate();
        let repository =
            open_bare(&self.folder, self.max_object).map_err(|error| self.broken(error))?;
        self.forget_old_commits();
        Ok(self.set(repository, self.generation()))
    }

    /// The number of the store that is open; see [`Opened`].
    pub(crate) fn generation(&self) -> u64 {
        self.opened().map_or(0, |it| it.generation)
    }

    /// Throws the store of this generation away and begins with an empty one.
    /// Of several unlucky readers the first does it. Blocks.
    pub(crate) fn rebuild(&self, generation: u64) -> Result<(), FetchError> {
        let _one_at_a_time = self.prepare();
        if self.generation() == generation {
            tracing::warn!(repo = %self.repo, "the local copy is damaged, beginning anew");
            self.set(self.create()?, generation + 1);
        }
        Ok(())
    }

    fn prepare(&self) -> MutexGuard<'_, ()> {
        // Whoever panicked while preparing left a folder that the next one checks.
        self.preparing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> Option<Opened> {
        self.current.lock().expect("nobody panics while looking up").clone()
    }

    fn set(&self, repository: ThreadSafeRepository, generation: u64) -> Opened {
        let opened = Opened { repository, generation };
        let mut current = self.current.lock().expect("nobody panics while looking up");
        *current = Some(opened.clone());
        opened
    }

    /// Makes an empty store in the place of whatever is there.
    fn create(&self) -> Result<ThreadSafeRepository, FetchError> {
        make_empty(&self.folder, self.max_object).map_err(|error| {
            match error.downcast_ref::<io::Error>() {
                Some(io) if io.kind() == io::ErrorKind::StorageFull => {
                    FetchError::DiskFull { repo: self.repo.clone() }
                }
                _ => FetchError::Store { repo: self.repo.clone(), source: Arc::from(error) },
            }
        })
    }

    fn broken(&self, error: gix::Error) -> FetchError {
        FetchError::Store { repo: self.repo.clone(), source: Arc::new(error) }
    }

    /// Removes what a killed process left behind: half-written packs, packs
    /// without an index, locks. One process owns a data directory, so nothing
    /// of it is in use when it is opened.
    fn sweep(&self) {
        for file in files_below(&self.folder.join("refs")) {
            if file.extension().is_some_and(|it| it == "lock") {
                remove(&file);
            }
        }
        for file in files_below(&self.folder.join("objects/pack")) {
            let complete = match file.extension().and_then(|it| it.to_str()) {
                Some("idx" | "keep" | "rev") => file.with_extension("pack").exists(),
                Some("pack") => file.with_extension("idx").exists(),
                _ => false,
            };
            if !complete {
                remove(&file);
            }
        }
    }

    /// Joins packs if there are many, unless somebody does already.
    fn consolidate(&self) {
        let (Ok(_one_at_a_time), Some(opened)) = (self.preparing.try_lock(), self.opened()) else {
            return;
        };
        let kind = opened.repository.to_thread_local().object_hash();
        let folder = self.folder.join("objects/pack");
        if let Err(error) = consolidate(&folder, kind, self.max_object) {
            tracing::warn!(repo = %self.repo, %error, "could not join the packs of a repository");
        }
    }

    /// Drops the oldest refs to single commits; the objects stay.
    fn forget_old_commits(&self) {
        let mut refs: Vec<_> = files_below(&self.folder.join(COMMIT_REFS))
            .into_iter()
            .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file)))
            .collect();
        if refs.len() <= MAX_COMMIT_REFS {
            return;
        }
        refs.sort_unstable();
        for (_, file) in &refs[..refs.len() - MAX_COMMIT_REFS] {
            remove(file);
        }
    }
}

fn open_bare(folder: &Path, max_object: u64) -> Result<ThreadSafeRepository, gix::Error> {
    // Isolated: what is in the machine's or the user's git configuration is
    // not ours to obey.
    gix::open::Options::isolated()
        .open_path_as_is(true)
        // An object is inflated as a whole; this is asked before.
        .config_overrides([format!("gitoxide.objects.allocLimit={max_object}")])
        .open(folder)
}

/// A ref whose object is lost would make every later fetch leave the object
/// out, because we say that we have it.
fn holds_what_it_refers_to(repository: &ThreadSafeRepository) -> bool {
    let repository = repository.to_thread_local();
    let Ok(references) = repository.references() else { return false };
    let Ok(mut all) = references.all() else { return false };
    all.all(|reference| match reference {
        Ok(reference) => reference.try_id().is_none_or(|id| repository.has_object(id)),
        Err(_) => false,
    })
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The folder appears whole or not at all.
fn make_empty(folder: &Path, max_object: u64) -> Result<ThreadSafeRepository, AnyError> {
    let fresh = folder.with_extension("new");
    let old = folder.with_extension("old");
    for leftover in [&fresh, &old] {
        if leftover.exists() {
            fs::remove_dir_all(leftover)?;
        }
    }
    fs::create_dir_all(&fresh)?;
    gix::create::into(&fresh, gix::create::Kind::Bare, gix::create::Options::default())?;
    if folder.exists() {
        fs::rename(folder, &old)?;
    }
    fs::rename(&fresh, folder)?;
    if old.exists() {
        fs::remove_dir_all(&old)?;
    }
    Ok(open_bare(folder, max_object)?)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn remove(file: &Path) {
    if let Err(error) = fs::remove_file(file) {
        tracing::warn!(file = %file.display(), %error, "could not remove a leftover file");
    }
}
