//! `argosy crds`: the custom resource definitions this binary was built with.

use std::io::Write as _;

pub(crate) fn print() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for (_, definition) in api::crds::yaml() {
        writeln!(out, "---\n{definition}")?;
    }
    Ok(())
}
