//! Rules of ours for the kinds of widespread projects.
//!
//! A kind whose health is a plain reading of its status stands in
//! `bundled/health.rules`, one block of conditions and verdicts; `rules.rs`
//! explains the notation. A kind that needs counting or walking has a function
//! in `special.rs`, which its block names.
//!
//! Objects that are being deleted, and kinds that Kubernetes itself defines,
//! are judged before anybody asks here.
//!
//! What users may do to objects is in [`actions`].

pub mod actions;

mod rules;
mod special;

use std::sync::LazyLock;

use object::Object;

use crate::Health;
use rules::RuleBook;

static RULES: LazyLock<RuleBook> = LazyLock::new(|| {
    RuleBook::parse(include_str!("bundled/health.rules")).expect("the rules we ship are readable")
});

/// The health of an object of a kind that has a bundled rule.
#[must_use]
pub fn health(object: &Object) -> Option<Health> {
    let kind = object.group_kind();
    RULES.find(&kind.group, &kind.kind)?.judge(object)
}

/// Is there a bundled rule for this kind?
#[must_use]
pub fn judges(group: &str, kind: &str) -> bool {
    RULES.find(group, kind).is_some()
}
