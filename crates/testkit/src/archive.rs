//! Archives as charts and artifacts come in.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// A packed archive of files.
#[must_use]
pub fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, path, content.as_bytes()).expect("a file");
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&tar.into_inner().expect("an archive")).expect("memory");
    packed.finish().expect("memory")
}

/// The archive of a chart: files are named as they are below it.
#[must_use]
pub fn chart(name: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let paths: Vec<String> = files.iter().map(|(path, _)| format!("{name}/{path}")).collect();
    let named = paths.iter().zip(files).map(|(path, (_, content))| (path.as_str(), *content));
    packed(&named.collect::<Vec<_>>())
}
