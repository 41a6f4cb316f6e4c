//! What every reader of outside text must survive: any bytes at all.
//!
//! A [`Target`] is a function that reads bytes and panics when a promise is
//! broken: a reader must not panic, must end, and what it accepted must obey its
//! laws. `tests/corpus.rs` runs the corpus (`corpus/<target>/*`), as part of the
//! ordinary tests; `cargo xtask fuzz` searches for new inputs with libFuzzer,
//! guided by coverage (`explore/`, outside the workspace so that the product
//! does not depend on it). To add a target: a function, a line in [`TARGETS`],
//! and a few inputs in its folder of the corpus.

mod charts;
mod kustomizations;
mod objects;
mod policies;
mod scripts;
mod texts;

/// Reads bytes; panics when a promise is broken.
pub type Target = fn(&[u8]);

/// All targets by name; the name is also that of the folder in the corpus.
pub const TARGETS: [(&str, Target); 22] = [
    ("chart-archive", charts::chart_archive),
    ("cron", texts::cron),
    ("date-layout", charts::date_layout),
    ("fields-v1", objects::fields_v1),
    ("glob", texts::glob),
    ("go-template", charts::go_template),
    ("jq", scripts::jq),
    ("kustomization", kustomizations::kustomization),
    ("kustomize-field-path", kustomizations::field_path),
    ("kustomize-patch", kustomizations::patch),
    ("kustomize-replacement", kustomizations::replacement),
    ("lua", scripts::lua),
    ("printf", charts::printf),
    ("quantity", texts::quantity),
    ("rbac-policy", policies::policy),
    ("rest-request", api_server::hostile::rest_request),
    ("semver", texts::semver),
    ("session-token", api_server::hostile::session_token),
    ("strategic-merge", objects::strategic_merge),
    ("strvals", charts::strvals),
    ("webhook", api_server::hostile::webhook),
    ("yaml", texts::yaml),
];

/// The target of this name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}

/// Texts only: what is no UTF-8 is refused before any of our readers sees it.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Two texts, with a line break between them.
fn two_texts(bytes: &[u8]) -> Option<(&str, &str)> {
    text(bytes)?.split_once('\n')
}
