//! Which addresses, revisions and files concern whom.

use serde_json::{Value, json};
use testkit::cases;

use super::*;

fn app(spec: Value, paths: Option<&str>) -> Application {
    let mut app = Application::named("argocd", "web");
    app.spec = serde_json::from_value(spec).expect("a spec");
    let key = api::names::ANNOTATION_MANIFEST_GENERATE_PATHS;
    app.metadata.annotations.extend(paths.map(|it| (key.to_owned(), it.to_owned())));
    app
}

fn source(repo: &str, path: &str, revision: &str) -> Value {
    json!({"repoURL": repo, "path": path, "targetRevision": revision})
}

#[track_caller]
fn check(paths: Option<&str>, changed: &[&str], expect: Option<Refresh>) {
    let app = app(json!({"source": source("git@h:o/r.git", "apps/web", "HEAD")}), paths);
    let push = Push {
        web_urls: vec!["https://h/o/r".into()],
        revision: "main".into(),
        touched_head: true,
        changed_files: changed.iter().map(|it| (*it).to_owned()).collect(),
    };
    assert_eq!(refresh_after_push(&app, &push), expect);
}

#[test]
fn only_files_that_matter_cause_a_refresh() {
    check(None, &["README.md"], Some(Refresh::Only));
    check(Some("."), &["README.md"], None);
    check(Some("."), &["apps/web/a.yaml"], Some(Refresh::Only));
    check(Some("."), &["apps/web2/a.yaml"], None);
    check(Some(".;/shared"), &["shared/b.yaml"], Some(Refresh::Only));
    check(Some("../*.yaml"), &["apps/c.yaml"], Some(Refresh::Only));
    check(Some("."), &[], Some(Refresh::Only));
}

#[test]
fn a_new_image_concerns_those_who_follow_its_tag() {
    let concerned = |repo: &str, chart: &str, target: &str| {
        let source = json!({"repoURL": repo, "chart": chart, "targetRevision": target});
        let news = Published { repository: "ghcr.io/o/r".into(), tag: "1.2.0".into() };
        refresh_after_publishing(&app(json!({"source": source}), None), &news).is_some()
    };
    assert!(concerned("oci://GHCR.io/o/r/", "", "1.2.0"));
    assert!(concerned("ghcr.io/o", "r", "1.x"));
    assert!(!concerned("ghcr.io/o", "r", "2.x"));
    assert!(!concerned("ghcr.io/o", "other", "1.2.0"));
}

#[test]
fn shared_addresses_match_as_in_argo_cd() {
    let Some(table) = cases::read("webhooks/web-url-match.tsv") else { return };
    let rows = cases::rows(&table);
    let failures: Vec<String> = rows
        .iter()
        .filter(|row| {
            let cell = |index: usize| row.get(index).map_or("", String::as_str);
            let ours = same_repository(cell(1)).is_some_and(|it| it.is_match(cell(2)));
            ours.to_string() != cell(0)
        })
        .map(|row| format!("{row:?}"))
        .collect();
    cases::report("webhooks/web-url-match.tsv", rows.len() - failures.len(), &failures);
}

#[test]
fn shared_revisions_match_as_in_argo_cd() {
    let Some(table) = cases::read("webhooks/revision-changed.tsv") else { return };
    let rows = cases::rows(&table);
    let ours = |row: &[String]| follows(&row[0], &row[1], row[2] == "true").to_string();
    let failures: Vec<String> =
        rows.iter().filter(|row| ours(row) != row[3]).map(|row| format!("{row:?}")).collect();
    cases::report("webhooks/revision-changed.tsv", rows.len() - failures.len(), &failures);
}

#[test]
fn shared_revisions_match_as_each_provider_writes_them() {
    let Some(table) = cases::read("webhooks/revision-by-provider.tsv") else { return };
    let rows = cases::rows(&table);
    let ours = |row: &[String]| {
        // Bitbucket Cloud names branches as they are; the others write whole references.
        let reference = format!("refs/heads/{}", row[3]);
        let pushed = if row[2] == "bitbucketPush" { &row[3] } else { short_name(&reference) };
        follows(&row[1], pushed, false).to_string()
    };
    let failures: Vec<String> =
        rows.iter().filter(|row| ours(row) != row[0]).map(|row| format!("{row:?}")).collect();
    cases::report("webhooks/revision-by-provider.tsv", rows.len() - failures.len(), &failures);
}

#[test]
fn shared_changed_files_concern_whom_they_concern_in_argo_cd() {
    let Some(table) = cases::read("webhooks/changed-file.tsv") else { return };
    let rows = cases::rows(&table);
    let failures: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let paths = row[1].strip_prefix("manifest-generate-paths=");
            let push = Push {
                web_urls: vec!["https://github.com/jessesuen/test-repo".into()],
                revision: "master".into(),
                touched_head: true,
                changed_files: vec![row[3].clone()],
            };
            let ours = refresh_after_push(&app(spec_of(&row[2]), paths), &push);
            let told = (ours.is_some(), ours == Some(Refresh::AndHydrate));
            let expected = (row[4] == "true", row[5] == "true");
            (told != expected).then(|| format!("{row:?}: ours {told:?}"))
        })
        .collect();
    cases::report("webhooks/changed-file.tsv", rows.len() - failures.len(), &failures);
}

/// `repo|path|target ; …`, or the words of a hydrator.
fn spec_of(cell: &str) -> Value {
    let word = |name: &str| {
        let after = cell.split(&format!(" {name}=")).nth(1).unwrap_or_default();
        after.split(' ').next().unwrap_or_default().to_owned()
    };
    if cell.starts_with("dry ") {
        let mut paths = cell.split("Path=").skip(1).map(|it| it.split(' ').next());
        let (dry, sync) = (paths.next().flatten(), paths.next().flatten());
        return json!({"sourceHydrator": {
            "drySource": source(&word("RepoURL"), dry.unwrap_or_default(), &word("TargetRevision")),
            "syncSource": {"targetBranch": word("TargetBranch"), "path": sync},
        }});
    }
    let sources: Vec<Value> = cell
        .split(" ; ")
        .map(|one| {
            let parts: Vec<&str> = one.split('|').collect();
            source(parts[0], parts[1], parts[2])
        })
        .collect();
    if sources.len() == 1 { json!({"source": sources[0]}) } else { json!({"sources": sources}) }
}
