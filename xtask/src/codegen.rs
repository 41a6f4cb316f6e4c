//! `cargo xtask codegen`: files that come from the code.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::shell::root;

pub(crate) fn run(_: &[String]) -> anyhow::Result<()> {
    for (path, content) in generated() {
        std::fs::write(&path, content)
            .with_context(|| format!("could not write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Every generated file with what it must contain.
pub(crate) fn generated() -> Vec<(PathBuf, String)> {
    let folder = root().join("crates/api/crds");
    api::crds::yaml().into_iter().map(|(name, content)| (folder.join(name), content)).collect()
}
