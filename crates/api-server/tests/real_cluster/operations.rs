//! No operation is left out: each was answered well in this story, or stands here with the reason.

use std::collections::BTreeSet;

use crate::client::{Rest, all_answered};

/// Operations that were not answered well, and why.
const EXCUSED: &[(&str, &str, &str)] = &[
    (
        "post",
        "/api/v1/applicationsets/generate",
        "there is no generator of ApplicationSets in this process (docs/shortcomings.md)",
    ),
    (
        "get",
        "/api/v1/applications/{applicationName}/why",
        "only a controller knows, and here is none: the product's tests ask it",
    ),
];

pub(crate) async fn each_was_answered(rest: &Rest) {
    let document = rest.get("/swagger.json").await;
    let answered = all_answered();
    let mut missing = BTreeSet::new();
    for (path, verbs) in document["paths"].as_object().expect("paths") {
        for verb in verbs.as_object().expect("verbs").keys() {
            let is_it = |(asked_verb, asked): &(String, String)| {
                asked_verb.eq_ignore_ascii_case(verb) && fits(path, asked)
            };
            if !answered.iter().any(is_it) {
                missing.insert((verb.as_str(), path.as_str()));
            }
        }
    }
    let excused: BTreeSet<_> = EXCUSED.iter().map(|(verb, path, _)| (*verb, *path)).collect();
    let untried: Vec<_> = missing.difference(&excused).collect();
    assert!(untried.is_empty(), "{} operations were not tried: {untried:#?}", untried.len());
    let stale: Vec<_> = excused.difference(&missing).collect();
    assert!(stale.is_empty(), "excused although they were answered: {stale:?}");
    // The one method without a form over REST.
    let upload = "/application.ApplicationService/GetManifestsWithFiles".to_owned();
    assert!(answered.contains(&("gRPC".to_owned(), upload)), "no files were sent");
}

/// Is this a path of the template? A literal one of the same length is another operation's.
fn fits(template: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some("{subresource}"), _) => return true,
            (Some(wanted), Some(given)) if wanted.starts_with('{') || wanted == given => {}
            _ => return false,
        }
    }
}
