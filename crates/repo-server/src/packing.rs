//! A repository for a plugin: everything in it, packed.

use std::sync::Arc;

use plugins::{Package, Packer};
use render::PluginRequest;
use render::tree::{EntryKind, Tree, TreeError, TreePath};

/// Files of a repository together; they are packed in memory.
const MAX_BYTES: u64 = 512 << 20;
/// Folders inside each other.
const MAX_DEPTH: usize = 256;

/// Packs the repository, without what the globs exclude (`--plugin-tar-exclude`).
///
/// # Errors
/// When it cannot be read or is too large.
pub(crate) fn pack(request: &PluginRequest<'_>, excluded: &[String]) -> Result<Package, String> {
    let mut packer = Packer::new(MAX_BYTES);
    add(request.tree, &TreePath::root(), excluded, &mut packer, MAX_DEPTH)?;
    packer.finish(request.path.as_str())
}

fn add(
    tree: &dyn Tree,
    folder: &TreePath,
    excluded: &[String],
    packer: &mut Packer,
    depth: usize,
) -> Result<(), String> {
    let unreadable = |error: TreeError| crate::http::with_causes(&error);
    for (name, kind) in tree.list(folder).map_err(unreadable)?.unwrap_or_default() {
        let path = folder.child(&name);
        let text = path.as_str();
        if excluded.iter().any(|it| gocompat::glob::matches(it, text, &['/'])) {
            continue;
        }
        match kind {
            EntryKind::Directory => {
                let depth = depth.checked_sub(1).ok_or("folders are nested too deeply")?;
                add(tree, &path, excluded, packer, depth)?;
            }
            EntryKind::File => {
                let entry = tree.entry(&path).map_err(unreadable)?;
                let content = tree.read(&path, MAX_BYTES).map_err(unreadable)?.unwrap_or_default();
                packer.file(text, &content, entry.is_some_and(|it| it.executable))?;
            }
            EntryKind::Symlink => {
                let target = tree.read(&path, 4096).map_err(unreadable)?.unwrap_or_default();
                // A link that is not text leads nowhere.
                if let Ok(target) = std::str::from_utf8(&target) {
                    packer.link(text, target)?;
                }
            }
            EntryKind::Submodule | EntryKind::Unnameable => {}
        }
    }
    Ok(())
}

/// Where plugins are, and what they are not sent.
#[derive(Clone, Debug)]
pub struct PluginOptions {
    /// The folder of their sockets (`ARGOCD_PLUGINSOCKFILEPATH`).
    pub sockets: std::path::PathBuf,
    /// Globs of files that are not sent (`--plugin-tar-exclude`).
    pub excluded: Arc<[String]>,
}

impl Default for PluginOptions {
    fn default() -> Self {
        Self { sockets: "/home/argocd/cmp-server/plugins".into(), excluded: Arc::default() }
    }
}
