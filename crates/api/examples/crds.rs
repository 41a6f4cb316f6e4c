//! Writes the CustomResourceDefinitions into `crds/` of this crate.

#[expect(clippy::disallowed_methods, reason = "an example is not part of the pure crate")]
fn main() -> std::io::Result<()> {
    for (name, text) in api::crds::yaml() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/crds/").to_owned() + &name, text)?;
    }
    Ok(())
}
