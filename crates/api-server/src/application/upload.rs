//! Files that a client sends: a compressed archive in pieces.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use futures::TryStreamExt as _;
use ring::digest::{SHA256, digest};
use wire::message::application::{ApplicationManifestQueryWithFilesWrapper, ManifestPart};
use wire::{Pieces, Status};

/// What is sent may not be larger; as Argo CD's default.
const ARCHIVE_LIMIT: usize = 100 << 20;
/// What it unpacks to may not be larger.
const FILES_LIMIT: u64 = 1 << 30;
const COUNT_LIMIT: usize = 100_000;

/// All pieces together, if they are what the client says it sends.
pub(super) async fn archive(
    mut pieces: Pieces<ApplicationManifestQueryWithFilesWrapper>,
    checksum: &str,
) -> Result<Vec<u8>, Status> {
    let mut archive = Vec::new();
    while let Some(piece) = pieces.try_next().await? {
        let Some(ManifestPart::Chunk(chunk)) = piece.part else {
            return Err(Status::unknown("error getting stream chunk: chunk is nil"));
        };
        if archive.len() + chunk.chunk.len() > ARCHIVE_LIMIT {
            return Err(Status::resource_exhausted("the files are larger than 100 MiB"));
        }
        archive.extend(chunk.chunk);
    }
    let found: String =
        digest(&SHA256, &archive).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    if found != checksum {
        return Err(Status::invalid_argument(format!(
            "the files did not arrive whole: their checksum is {found}, not {checksum}"
        )));
    }
    Ok(archive)
}

/// The files of an archive. Links and whatever would lie outside are left out.
pub(super) fn unpacked(archive: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, Status> {
    let refuse = |error: std::io::Error| {
        Status::invalid_argument(format!("could not unpack the files: {error}"))
    };
    let mut reader = tar::Archive::new(GzDecoder::new(archive).take(FILES_LIMIT));
    let mut files = BTreeMap::new();
    for entry in reader.entries().map_err(refuse)? {
        let mut entry = entry.map_err(refuse)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = path.trim_start_matches("./").trim_start_matches('/').to_owned();
        let is_inside = path.split('/').all(|it| !matches!(it, "" | "." | ".."));
        if !entry.header().entry_type().is_file() || !is_inside {
            continue;
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(refuse)?;
        files.insert(path, content);
        if files.len() > COUNT_LIMIT {
            return Err(Status::resource_exhausted("there are more than 100,000 files"));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_archive_is_refused() {
        assert!(unpacked(b"no archive").is_err());
        assert!(unpacked(&[]).is_err());
    }

    #[test]
    fn files_keep_their_paths() {
        let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(
            Vec::new(),
            flate2::Compression::fast(),
        ));
        for path in ["web/a.yaml", "b.yaml"] {
            let mut header = tar::Header::new_gnu();
            header.set_size(2);
            header.set_mode(0o644);
            header.set_cksum();
            archive.append_data(&mut header, path, b"{}".as_slice()).expect("appended");
        }
        let bytes = archive.into_inner().and_then(|it| it.finish()).expect("an archive");
        let files = unpacked(&bytes).expect("files");
        assert_eq!(files.keys().collect::<Vec<_>>(), ["b.yaml", "web/a.yaml"]);
    }
}
