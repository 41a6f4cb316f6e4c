//! A repository as one archive, the way plugins get it.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use tar::{EntryType, Header};

/// A repository, packed, and where in it the source is.
#[derive(Clone, Debug)]
pub struct Package {
    pub(crate) archive: Bytes,
    pub(crate) checksum: String,
    pub(crate) path: String,
}

impl Package {
    /// The archive (`tar.gz`), and its SHA-256 in hexadecimal digits.
    #[must_use]
    pub fn into_archive(self) -> (Bytes, String) {
        (self.archive, self.checksum)
    }
}

/// Packs files one by one.
pub struct Packer {
    tar: tar::Builder<GzEncoder<Vec<u8>>>,
    remaining: u64,
    files: usize,
}

impl Packer {
    /// Begins an archive of files that have at most `max` bytes together.
    #[must_use]
    pub fn new(max: u64) -> Self {
        let tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        Self { tar, remaining: max, files: 0 }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// When it is too much: what to do about it.
    pub fn file(&mut self, path: &str, content: &[u8], executable: bool) -> Result<(), String> {
        self.remaining = self.remaining.checked_sub(content.len() as u64).ok_or_else(|| {
            format!("the repository is too large to be sent to a plugin, at {path}; exclude files")
        })?;
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(if executable { 0o755 } else { 0o644 });
        self.files += 1;
        self.tar
            .append_data(&mut header, path, content)
            .map_err(|error| format!("could not pack {path}: {error}"))
    }

    /// Adds a symbolic link.
    ///
    /// # Errors
    /// When its target cannot stand in an archive.
    pub fn link(&mut self, path: &str, target: &str) -> Result<(), String> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Symlink);
        header.set_size(0);
        header.set_mode(0o777);
        self.files += 1;
        self.tar
            .append_link(&mut header, path, target)
            .map_err(|error| format!("could not pack {path}: {error}"))
    }

    /// The archive, for the source in the directory `path`.
    ///
    /// # Errors
    /// When there is nothing in it.
    pub fn finish(self, path: &str) -> Result<Package, String> {
        if self.files == 0 {
            return Err("there are no files to send to a plugin".to_owned());
        }
        let archive = self.tar.into_inner().and_then(|mut packed| {
            packed.flush()?;
            packed.finish()
        });
        let archive = archive.map_err(|error| format!("could not pack the repository: {error}"))?;
        let digest = Sha256::digest(&archive);
        let checksum = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = if path.is_empty() { "." } else { path };
        Ok(Package { archive: archive.into(), checksum, path: path.to_owned() })
    }
}
