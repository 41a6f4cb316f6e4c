//! The checked-in CustomResourceDefinitions are those the types give.

#![expect(clippy::disallowed_methods, reason = "a test may read files")]

#[test]
fn the_checked_in_definitions_are_current() {
    for (name, expected) in api::crds::yaml() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/crds/").to_owned() + &name;
        let actual = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(actual == expected, "crates/api/crds/{name} is stale: run cargo xtask codegen");
    }
}
