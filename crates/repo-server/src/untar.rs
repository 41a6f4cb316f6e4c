//! An archive as a tree. Nothing is written to a disk.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use render::tree::{MemoryTree, TreePath};
use tar::EntryType;

/// Entries of one archive.
const MAX_ENTRIES: usize = 100_000;
/// Headers, padding and long names beside the files.
const MAX_OVERHEAD: u64 = 64 << 20;

enum Leaf {
    File { content: Vec<u8>, executable: bool },
    Link(String),
}

/// The files and links of an archive that unpacks to at most `max` bytes.
///
/// # Errors
/// When it is malformed, too large, or holds anything that does not belong
/// into a tree: what is wrong, in words for the user.
pub(crate) fn unpack(archive: &[u8], max: u64) -> Result<MemoryTree, String> {
    if archive.starts_with(&[0x1f, 0x8b]) {
        unpack_tar(MultiGzDecoder::new(archive), max)
    } else {
        unpack_tar(archive, max)
    }
}

fn unpack_tar(archive: impl Read, max: u64) -> Result<MemoryTree, String> {
    let unreadable = |error: std::io::Error| format!("error reading the archive: {error}");
    let bounded = archive.take(max.saturating_mul(2).saturating_add(MAX_OVERHEAD));
    let mut archive = tar::Archive::new(bounded);
    let mut leaves: BTreeMap<TreePath, Leaf> = BTreeMap::new();
    let mut remaining = max;
    for (number, entry) in archive.entries().map_err(unreadable)?.enumerate() {
        let mut entry = entry.map_err(unreadable)?;
        if number == MAX_ENTRIES {
            return Err(format!("the archive has more than {MAX_ENTRIES} entries"));
        }
        let name = text(&entry.path_bytes())?;
        let path = inside(&name)?;
        let leaf = match entry.header().entry_type() {
            // Directories exist because something is in them.
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            EntryType::Regular | EntryType::Continuous => {
                let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
                let mut content = Vec::new();
                entry.by_ref().take(remaining + 1).read_to_end(&mut content).map_err(unreadable)?;
                let size = content.len() as u64;
                remaining = remaining
                    .checked_sub(size)
                    .ok_or_else(|| format!("the archive unpacks to more than {max} bytes"))?;
                Leaf::File { content, executable }
            }
            EntryType::Symlink => {
                Leaf::Link(link_target(&path, &entry.link_name_bytes().unwrap_or_default())?)
            }
            EntryType::Link => {
                let target = text(&entry.link_name_bytes().unwrap_or_default())?;
                match leaves.get(&inside(&target)?) {
                    Some(Leaf::File { content, executable }) => {
                        let (content, executable) = (content.clone(), *executable);
                        remaining =
                            remaining.checked_sub(content.len() as u64).ok_or_else(|| {
                                format!("the archive unpacks to more than {max} bytes")
                            })?;
                        Leaf::File { content, executable }
                    }
                    _ => return Err(format!("{name} is a link to {target}, which is no file")),
                }
            }
            kind => return Err(format!("{name} is neither file, directory nor link ({kind:?})")),
        };
        if path.is_root() {
            return Err(format!("illegal filepath in archive: {name}"));
        }
        leaves.insert(path, leaf);
    }
    planted(leaves)
}

fn planted(leaves: BTreeMap<TreePath, Leaf>) -> Result<MemoryTree, String> {
    // What lies below a file or a link would be written through it.
    for path in leaves.keys() {
        let mut above = path.prefixes().filter(|it| it != path);
        if let Some(above) = above.find(|it| leaves.contains_key(it)) {
            let (path, above) = (path.as_str(), above.as_str());
            return Err(format!("{path} is below {above}, which is no directory"));
        }
    }
    Ok(leaves.into_iter().fold(MemoryTree::new(), |tree, (path, leaf)| match leaf {
        Leaf::File { content, executable: false } => tree.file(path.as_str(), content),
        Leaf::File { content, executable: true } => tree.program(path.as_str(), content),
        Leaf::Link(target) => tree.link(path.as_str(), &target),
    }))
}

fn text(bytes: &[u8]) -> Result<String, String> {
    let name = std::str::from_utf8(bytes);
    name.map(str::to_owned)
        .map_err(|_| format!("the name {:?} is not UTF-8", String::from_utf8_lossy(bytes)))
}

/// Argo CD's words, which users search for.
fn inside(name: &str) -> Result<TreePath, String> {
    TreePath::parse(name).map_err(|_| format!("illegal filepath in archive: {name}"))
}

fn link_target(path: &TreePath, target: &[u8]) -> Result<String, String> {
    let target = text(target)?;
    let folder = path.parent().unwrap_or_default();
    folder
        .resolve_relative(&target)
        .map_err(|_| format!("illegal filepath in symlink: {} -> {target}", path.as_str()))?;
    Ok(target)
}

#[cfg(test)]
mod tests {
    use render::tree::Tree as _;

    use super::*;

    /// An archive of (name, kind, content or link target).
    fn archive(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            // `append_data` refuses what we want to try.
            let field = &mut header.as_old_mut().name;
            field[..name.len()].copy_from_slice(name.as_bytes());
            let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
            if is_link {
                header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
            }
            let content = if is_link { "" } else { content };
            header.set_size(content.len() as u64);
            header.set_mode(0o755);
            header.set_cksum();
            tar.append(&header, content.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap()
    }

    #[track_caller]
    fn check_refused(entries: &[(&str, EntryType, &str)], expect: &str) {
        assert_eq!(unpack(&archive(entries), 100).unwrap_err(), expect);
    }

    #[test]
    fn files_and_links_inside_are_kept() {
        use EntryType::{Directory, Link, Regular, Symlink};
        let archive = archive(&[
            ("./", Directory, ""),
            ("./a/b.yaml", Regular, "x"),
            ("a/c.yaml", Link, "a/b.yaml"),
            ("d", Symlink, "a/b.yaml"),
        ]);
        let tree = unpack(&archive, 100).unwrap();
        let read = |path: &str| tree.read(&TreePath::parse(path).unwrap(), 100).unwrap().unwrap();
        assert_eq!(
            (&read("a/b.yaml")[..], &read("a/c.yaml")[..], &read("d")[..]),
            (&b"x"[..], &b"x"[..], &b"a/b.yaml"[..])
        );
        assert!(tree.entry(&TreePath::parse("a/b.yaml").unwrap()).unwrap().unwrap().executable);
    }

    #[test]
    fn what_leads_out_or_is_no_file_is_refused() {
        use EntryType::{Char, Link, Regular, Symlink};
        check_refused(&[("../x", Regular, "")], "illegal filepath in archive: ../x");
        check_refused(&[("/etc/x", Regular, "")], "illegal filepath in archive: /etc/x");
        check_refused(
            &[("a/l", Symlink, "../../x")],
            "illegal filepath in symlink: a/l -> ../../x",
        );
        check_refused(&[("l", Symlink, "/etc")], "illegal filepath in symlink: l -> /etc");
        check_refused(
            &[("l", Symlink, "a"), ("l/x", Regular, "")],
            "l/x is below l, which is no directory",
        );
        check_refused(&[("l", Link, "a")], "l is a link to a, which is no file");
        check_refused(&[("null", Char, "")], "null is neither file, directory nor link (Char)");
    }

    #[test]
    fn a_bomb_is_stopped_by_what_it_unpacks_to() {
        let content = "0".repeat(101);
        check_refused(
            &[("a", EntryType::Regular, &content)],
            "the archive unpacks to more than 100 bytes",
        );
        let half = "0".repeat(60);
        check_refused(
            &[("a", EntryType::Regular, &half), ("b", EntryType::Link, "a")],
            "the archive unpacks to more than 100 bytes",
        );
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(
            &mut bomb,
            &archive(&[("a", EntryType::Regular, &"0".repeat(10 << 20))]),
        )
        .unwrap();
        let bomb = bomb.finish().unwrap();
        assert!(bomb.len() < 20_000);
        assert_eq!(
            unpack(&bomb, 1 << 20).unwrap_err(),
            "the archive unpacks to more than 1048576 bytes"
        );
    }
}
