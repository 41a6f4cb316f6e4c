//! Chart archives: `.tgz` files with everything below one folder.

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::error::Error;

/// How much an archive may unpack to. The defaults are Helm's, and a bound on the number of files.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All files together, in bytes.
    pub total: u64,
    /// One file, in bytes.
    pub file: u64,
    /// How many files.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { total: 100 << 20, file: 5 << 20, files: 50_000 }
    }
}

/// The files of an archive, named without the folder they are in.
///
/// # Errors
/// When it is malformed, hostile or over the limits.
pub fn unpack(archive: &[u8], limits: Limits) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let refuse = |message: String| Error::Archive(message);
    if !archive.starts_with(&[0x1f, 0x8b]) {
        return Err(refuse("gzip: invalid header".into()));
    }
    // One byte more than allowed, so that reaching it shows an archive that is too large.
    let bounded = GzDecoder::new(archive).take(limits.total.saturating_mul(2) + (64 << 20));
    let mut reader = tar::Archive::new(bounded);
    let entries = reader.entries().map_err(|error| refuse(error.to_string()))?;
    let too_large =
        || refuse(format!("decompressed chart is larger than the maximum size {}", limits.total));
    let mut files = Vec::new();
    let mut remaining = limits.total;
    for entry in entries {
        let mut entry = entry.map_err(|error| refuse(error.to_string()))?;
        let kind = entry.header().entry_type();
        if !(kind.is_file() || kind.is_symlink() || kind.is_hard_link()) {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if path.ends_with('/') {
            continue;
        }
        let name = name_inside(&path)?;
        let size = entry.header().size().map_err(|error| refuse(error.to_string()))?;
        if size > remaining {
            return Err(too_large());
        }
        if size > limits.file {
            return Err(refuse(format!(
                "decompressed chart file {path:?} is larger than the maximum file size {}",
                limits.file
            )));
        }
        if files.len() >= limits.files {
            return Err(refuse(format!("chart archive has more than {} files", limits.files)));
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(|error| refuse(error.to_string()))?;
        remaining -= content.len() as u64;
        files.push((name, content));
    }
    if files.is_empty() {
        return Err(refuse("no files in chart archive".into()));
    }
    Ok(files)
}

/// The path below the archive's top folder, refused where it points elsewhere.
fn name_inside(path: &str) -> Result<String, Error> {
    let refuse = |message: &str| Error::Archive(message.to_owned());
    let separator = if path.contains('\\') { '\\' } else { '/' };
    let (top, inside) = path.split_once(separator).unwrap_or((path, ""));
    let inside = inside.replace(separator, "/");
    if inside.starts_with('/') {
        return Err(refuse("chart illegally contains absolute paths"));
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in inside.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Err(refuse("chart illegally references parent directory"));
                }
            }
            part => parts.push(part),
        }
    }
    if top == "Chart.yaml" {
        return Err(refuse("chart yaml not in base directory"));
    }
    if parts.is_empty() {
        return Err(Error::Archive(format!(
            "chart illegally contains content outside the base directory: {path:?}"
        )));
    }
    let is_drive = |part: &str| part.len() == 2 && part.ends_with(':') && parts.len() > 1;
    if is_drive(parts[0]) || parts[0].starts_with("..") {
        return Err(refuse("chart contains illegally named files"));
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_chart() {
        assert_eq!(name_inside("web/templates/a.yaml").as_deref(), Ok("templates/a.yaml"));
        assert_eq!(name_inside("web\\templates\\a.yaml").as_deref(), Ok("templates/a.yaml"));
        for path in ["web/../../etc/passwd", "web//etc/passwd", "web/..", "Chart.yaml", "web/c:/x"]
        {
            assert!(name_inside(path).is_err(), "{path}");
        }
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        assert!(unpack(b"plain text", Limits::default()).is_err());
        assert!(unpack(&[0x1f, 0x8b, 8, 0], Limits::default()).is_err());
    }
}
