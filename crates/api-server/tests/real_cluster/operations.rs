//! No operation is left out: each was answered well in this story, or stands here with the reason.

use std::collections::BTreeSet;

use api_server::forms;

use crate::client::{Over, Rest, all_answered};

/// Methods that were not answered well, and why.
const EXCUSED: &[(&str, &str)] = &[
    (
        "/applicationset.ApplicationSetService/Generate",
        "there is no generator of ApplicationSets in this process (docs/shortcomings.md)",
    ),
    (
        "/argosy.DecisionService/GetRecord",
        "only a controller knows, and here is none: the product's tests ask it",
    ),
];

pub(crate) async fn each_was_answered(rest: &Rest) {
    let answered = all_answered();
    let mut wanted: BTreeSet<(String, String, &str)> = BTreeSet::new();
    match rest.over {
        Over::Rest => wanted.extend(forms::operations()),
        Over::Grpc => wanted
            .extend(forms::methods().into_iter().map(|it| ("gRPC".to_owned(), it.to_owned(), it))),
    }
    let was_answered = |verb: &str, path: &str| {
        answered.iter().any(|(asked_verb, asked)| asked_verb == verb && fits(path, asked))
    };
    let missing: Vec<_> =
        wanted.into_iter().filter(|(verb, path, _)| !was_answered(verb, path)).collect();
    let is_excused = |method: &str| EXCUSED.iter().any(|(it, _)| *it == method);
    let untried: Vec<_> = missing.iter().filter(|(.., method)| !is_excused(method)).collect();
    assert!(untried.is_empty(), "{} operations were not tried: {untried:#?}", untried.len());
    let stale: Vec<_> = EXCUSED
        .iter()
        .filter(|(excused, _)| !missing.iter().any(|(.., method)| method == excused))
        .collect();
    assert!(stale.is_empty(), "excused although they were answered: {stale:?}");
}

/// Is this a path of the template? A literal one of the same length is another operation's.
fn fits(template: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some("{subresource=**}"), _) => return true,
            (Some(wanted), Some(given)) if wanted.starts_with('{') || wanted == given => {}
            _ => return false,
        }
    }
}
