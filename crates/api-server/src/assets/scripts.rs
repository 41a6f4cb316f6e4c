//! Scripts that extend a user interface: every `extension*.js` below a folder, where init
//! containers put them, in the order of their names.
//!
//! Links are not followed, as in Argo CD. A ConfigMap that is mounted into the folder is read all
//! the same: its files are links to a folder beside them.

use std::fs;
use std::io;
use std::path::Path;

use super::kept::Stamp;
use super::read_limited;

/// All scripts together.
const LIMIT: u64 = 16 << 20;
/// Files and folders that are looked at.
const MAX_ENTRIES: usize = 10_000;
const MAX_DEPTH: usize = 16;

/// The scripts and their states; none where there is no such folder.
pub(super) fn list(folder: &Path) -> io::Result<Stamp> {
    let mut walk = Walk::default();
    match folder.metadata() {
        Ok(about) if about.is_dir() => walk.folder(folder, 0)?,
        Ok(_) => return Err(io::Error::other(format!("{} is no folder", folder.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(about(folder, &error)),
    }
    Ok(walk.found)
}

#[derive(Default)]
struct Walk {
    found: Stamp,
    entries: usize,
    size: u64,
}

impl Walk {
    fn folder(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            let told = format!("{}: folders are nested too deep", folder.display());
            return Err(io::Error::other(told));
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).map_err(|error| about(folder, &error))? {
            entries.push(entry.map_err(|error| about(folder, &error))?);
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                let told = format!("there are more than {MAX_ENTRIES} files: remove some");
                return Err(io::Error::other(told));
            }
        }
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            // Of the link itself, where it is one.
            let file = entry.metadata().map_err(|error| about(&path, &error))?;
            if file.is_dir() {
                self.folder(&path, depth + 1)?;
            } else if file.is_file() && is_script(&entry.file_name().to_string_lossy()) {
                self.size = self.size.saturating_add(file.len());
                if self.size > LIMIT {
                    let limit = LIMIT >> 20;
                    let told = format!("they are larger than {limit} MiB together: remove some");
                    return Err(io::Error::other(told));
                }
                self.found.push((path, file.modified().ok(), file.len()));
            }
        }
        Ok(())
    }
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn is_script(name: &str) -> bool {
    name.strip_prefix("extension").is_some_and(|it| it.ends_with(".js"))
}

/// One script of all. One that fails, or that cannot be read, does not keep the others from
/// running.
pub(super) fn joined(folder: &Path, files: &Stamp) -> io::Result<Vec<u8>> {
    let mut joined = Vec::new();
    for (path, ..) in files {
        let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
        let name = serde_json::to_string(&name)?;
        match read_limited(path, LIMIT) {
            Ok(content) => {
                joined.extend(format!("// {name}\ntry {{\n").into_bytes());
                joined.extend(content);
                let told = format!("console.error(\"extension failed:\", {name}, error);");
                joined.extend(format!("\n}} catch (error) {{ {told} }}\n").into_bytes());
            }
            Err(error) => {
                tracing::warn!(%error, file = %path.display(), "could not read an extension");
                let told = format!("console.error(\"extension could not be read:\", {name});\n");
                joined.extend(told.into_bytes());
            }
        }
    }
    Ok(joined)
}
