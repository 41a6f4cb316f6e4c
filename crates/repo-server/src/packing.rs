//! A repository for a plugin, packed: everything in it, or what the annotation
//! `manifest-generate-paths` names.

use std::sync::Arc;

use plugins::{Package, Packer};
use render::PluginRequest;
use render::tree::{EntryKind, Tree, TreeError, TreePath};

/// Files of a repository together; they are packed in memory.
const MAX_BYTES: u64 = 512 << 20;
/// Folders inside each other.
const MAX_DEPTH: usize = 256;

/// Packs the repository, or its part that holds the source and all of
/// `generate_paths`, without what the globs exclude (`--plugin-tar-exclude`).
///
/// # Errors
/// When it cannot be read or is too large.
pub(crate) fn pack(
    request: &PluginRequest<'_>,
    generate_paths: &str,
    excluded: &[String],
) -> Result<Package, String> {
    let top = common_folder(request.path, generate_paths);
    let mut packing = Packing { top: &top, excluded, packer: Packer::new(MAX_BYTES) };
    packing.add(request.tree, &top, MAX_DEPTH)?;
    let source = request.path.below(&top).expect("the source lies below");
    packing.packer.finish(source.as_str())
}

/// The deepest folder that holds the source and all these paths, which stand as
/// in the annotation: relative to the source, or from the top with a slash.
fn common_folder(source: &TreePath, generate_paths: &str) -> TreePath {
    let paths = generate_paths.split(';').map(str::trim).filter(|it| !it.is_empty());
    let cleaned = paths.map(|it| match it.strip_prefix('/') {
        Some(absolute) => api::clean_path(absolute),
        None => api::clean_path(&format!("{source}/{it}")),
    });
    let cleaned: Vec<String> = cleaned.collect();
    if cleaned.is_empty() {
        return TreePath::root();
    }
    let mut common: Vec<&str> = source.as_str().split('/').filter(|it| !it.is_empty()).collect();
    for path in &cleaned {
        let parts = path.split('/').filter(|it| !it.is_empty());
        let same = common.iter().zip(parts).take_while(|(one, other)| *one == other).count();
        common.truncate(same);
    }
    common.iter().fold(TreePath::root(), |folder, name| folder.child(name))
}

struct Packing<'p> {
    top: &'p TreePath,
    excluded: &'p [String],
    packer: Packer,
}

impl Packing<'_> {
    fn add(&mut self, tree: &dyn Tree, folder: &TreePath, depth: usize) -> Result<(), String> {
        let unreadable = |error: TreeError| crate::http::with_causes(&error);
        for (name, kind) in tree.list(folder).map_err(unreadable)?.unwrap_or_default() {
            let path = folder.child(&name);
            let below = path.below(self.top).expect("the walk starts there");
            let text = below.as_str();
            if self.excluded.iter().any(|it| gocompat::glob::matches(it, text, &['/'])) {
                continue;
            }
            match kind {
                EntryKind::Directory => {
                    let depth = depth.checked_sub(1).ok_or("folders are nested too deeply")?;
                    self.add(tree, &path, depth)?;
                }
                EntryKind::File => {
                    let entry = tree.entry(&path).map_err(unreadable)?;
                    let content =
                        tree.read(&path, MAX_BYTES).map_err(unreadable)?.unwrap_or_default();
                    self.packer.file(text, &content, entry.is_some_and(|it| it.executable))?;
                }
                EntryKind::Symlink => {
                    let target = tree.read(&path, 4096).map_err(unreadable)?.unwrap_or_default();
                    // A link that is not text leads nowhere.
                    if let Ok(target) = std::str::from_utf8(&target) {
                        self.packer.link(text, target)?;
                    }
                }
                EntryKind::Submodule | EntryKind::Unnameable => {}
            }
        }
        Ok(())
    }
}

/// Where plugins are, and what they are not sent.
#[derive(Clone, Debug)]
pub struct PluginOptions {
    /// The folder of their sockets (`ARGOCD_PLUGINSOCKFILEPATH`).
    pub sockets: std::path::PathBuf,
    /// Globs of files that are not sent (`--plugin-tar-exclude`).
    pub excluded: Arc<[String]>,
    /// Where their git asks for passwords (`ARGOCD_ASK_PASS_SOCK`).
    pub ask_pass_socket: std::path::PathBuf,
    /// Are they sent only what the annotation `manifest-generate-paths` names
    /// (`--plugin-use-manifest-generate-paths`)?
    pub use_generate_paths: bool,
}

impl Default for PluginOptions {
    fn default() -> Self {
        Self {
            sockets: "/home/argocd/cmp-server/plugins".into(),
            excluded: Arc::default(),
            ask_pass_socket: plugins::ASK_PASS_SOCKET.into(),
            use_generate_paths: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, paths: &str, expect: &str) {
        let source = TreePath::parse(source).expect("a path");
        assert_eq!(common_folder(&source, paths).as_str(), expect);
    }

    #[test]
    fn a_plugin_is_sent_the_folder_that_holds_all_it_needs() {
        check("apps/shop/prod", "", "");
        check("apps/shop/prod", ".", "apps/shop/prod");
        check("apps/shop/prod", ".;../base", "apps/shop");
        check("apps/shop/prod", " /apps/lib ; .", "apps");
        check("apps/shop/prod", "/other", "");
        check("apps/shop/prod", "sub/*.yaml", "apps/shop/prod");
        check("", ".", "");
    }
}
