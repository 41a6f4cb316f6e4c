//! A clock that can be set, for processes that a test starts: libfaketime stands
//! between them and the machine's. Only what tells the time of day is concerned, not what measures
//! how long something takes.

use std::path::{Path, PathBuf};

/// The time of day of the processes that are started with its [variables](Clock::variables).
pub struct Clock {
    library: PathBuf,
    file: PathBuf,
}

impl Clock {
    /// A clock that is right, kept in a file of `folder`; `None` where there is no libfaketime.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Option<Self> {
        let clock = Self { library: library()?, file: folder.join("clock") };
        clock.is_ahead_by("0");
        Some(clock)
    }

    /// From now on it is ahead of the machine's by this much: `0`, `90m`, `6h`.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn is_ahead_by(&self, ahead: &str) {
        // In one step: who reads it finds the old time or the new one.
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("+{ahead}\n")).expect("a time on disk");
        std::fs::rename(&new, &self.file).expect("a time in its place");
    }

    /// What makes a process go by this clock.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let path = |it: &Path| it.display().to_string();
        let pairs = [
            ("LD_PRELOAD", path(&self.library)),
            ("FAKETIME_TIMESTAMP_FILE", path(&self.file)),
            ("FAKETIME_NO_CACHE", "1".into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// Where Debian puts it: below the folder of the machine's kind.
fn library() -> Option<PathBuf> {
    let kinds = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    let mut places = kinds.map(|it| it.path().join("faketime/libfaketimeMT.so.1"));
    places.find(|it| it.exists())
}
