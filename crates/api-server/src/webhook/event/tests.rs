//! What each provider's requests come to, with and without secrets.

use std::time::Duration;

use testkit::cases;

use super::*;

fn no_secrets() -> Webhooks {
    Webhooks {
        github: Secret::default(),
        gitlab: Secret::default(),
        bitbucket_uuid: Secret::default(),
        bitbucket_server: Secret::default(),
        gogs: Secret::default(),
        harbor: Secret::default(),
        azure_username: Secret::default(),
        azure_password: Secret::default(),
        max_payload: 1 << 20,
        jitter: Duration::ZERO,
        jitter_threshold: 10,
    }
}

fn read_with(headers: &[(&str, &str)], body: &str, secrets: &Webhooks) -> Result<Event, Refused> {
    let header =
        |name: &str| headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|it| it.1);
    read(true, &header, body.as_bytes(), secrets)
}

#[track_caller]
fn check(headers: &[(&str, &str)], body: &str, expect: Result<&str, Refused>) {
    let told = read_with(headers, body, &no_secrets()).map(|it| shown(&it));
    assert_eq!(told.as_deref().map_err(|it| *it), expect);
}

fn shown(event: &Event) -> String {
    match event {
        Event::Push(push) => {
            let urls = push.web_urls.join(" and ");
            format!("{urls} {} {}", push.revision, push.touched_head)
        }
        Event::Published(it) => format!("{}:{}", it.repository, it.tag),
        Event::Nothing => "nothing".into(),
    }
}

const GITHUB: &str = r#"{"ref":"refs/heads/a/b","repository":{"html_url":"https://h/o/r",
    "default_branch":"a/b"},"commits":[{"added":["x"],"modified":[],"removed":["y",7]}]}"#;

#[test]
fn github_tells_branch_and_files() {
    check(&[("X-GitHub-Event", "push")], GITHUB, Ok("https://h/o/r a/b true"));
    let read = read_with(&[("X-GitHub-Event", "push")], GITHUB, &no_secrets());
    let Ok(Event::Push(push)) = read else { panic!("a push") };
    assert_eq!(push.changed_files, ["x", "y"]);
    check(&[("X-GitHub-Event", "ping")], "{}", Ok("nothing"));
    check(&[("X-GitHub-Event", "issues")], "{}", Err(Refused::Event));
}

#[test]
fn gogs_comes_before_github_whose_headers_it_also_sends() {
    let headers = [("X-Gogs-Event", "push"), ("X-GitHub-Event", "create")];
    check(&headers, GITHUB, Ok("https://h/o/r a/b true"));
}

#[test]
fn gitlab_tells_pushes_in_three_kinds_of_hooks() {
    let body = r#"{"object_kind":"tag_push","ref":"refs/tags/v1",
        "project":{"web_url":"https://l/g/n","default_branch":"main"}}"#;
    for hook in ["Push Hook", "Tag Push Hook", "System Hook"] {
        check(&[("X-Gitlab-Event", hook)], body, Ok("https://l/g/n v1 false"));
    }
    let other = r#"{"event_name":"user_create"}"#;
    check(&[("X-Gitlab-Event", "System Hook")], other, Err(Refused::Event));
}

#[test]
fn bitbucket_does_not_tell_the_default_branch() {
    let body = r#"{"repository":{"links":{"html":{"href":"https://b/o/r"}}},
        "push":{"changes":[{"new":{"name":"dev"}}]}}"#;
    let headers = [("X-Hook-UUID", "u"), ("X-Event-Key", "repo:push")];
    check(&headers, body, Ok("https://b/o/r dev true"));
    let body = r#"{"repository":{"links":{"clone":[{"name":"http","href":"https://s/scm/p/r.git"},
        {"name":"other","href":"x"}, 7]}},"changes":[{"ref":{"id":"refs/heads/dev"}}]}"#;
    let headers = [("X-Event-Key", "repo:refs_changed")];
    check(&headers, body, Ok("https://s/scm/p/r.git dev true"));
    check(&[("X-Event-Key", "diagnostics:ping")], "", Ok("nothing"));
}

#[test]
fn azure_tells_the_first_ref() {
    let body = r#"{"eventType":"git.push","resource":{"refUpdates":[{"name":"refs/heads/main"}],
        "repository":{"remoteUrl":"https://a/p/_git/r","defaultBranch":"refs/heads/main"}}}"#;
    check(&[("X-Vss-Activityid", "1")], body, Ok("https://a/p/_git/r main true"));
}

#[test]
fn registries_tell_images() {
    let body = r#"{"action":"published","package":{"name":"r","package_type":"CONTAINER",
        "owner":{"login":"o"},"package_version":{"container_metadata":{"tag":{"name":"1.0"}}}}}"#;
    check(&[("X-GitHub-Event", "package")], body, Ok("ghcr.io/o/r:1.0"));
    check(&[("X-GitHub-Event", "package")], r#"{"action":"updated"}"#, Ok("nothing"));
    let body = r#"{"type":"PUSH_ARTIFACT","event_data":{"repository":{"repo_full_name":"p/r"},
        "resources":[{"tag":"","resource_url":"h/p/r@sha256:1"},{"tag":"2","resource_url":"h/p/r:2"}]}}"#;
    let secrets = Webhooks { harbor: "s3".into(), ..no_secrets() };
    let read = |given| read_with(&[("Authorization", given)], body, &secrets);
    assert_eq!(read("s3").map(|it| shown(&it)).as_deref(), Ok("h/p/r:2"));
    assert_eq!(read("other"), Err(Refused::UnknownProvider));
    check(&[("Authorization", "")], body, Err(Refused::UnknownProvider));
}

#[test]
fn a_secret_must_be_proven() {
    let secrets = Webhooks {
        github: "s".into(),
        gitlab: "s".into(),
        azure_username: "u".into(),
        azure_password: "p".into(),
        ..no_secrets()
    };
    let refused = |headers: &[(&str, &str)], body: &str| read_with(headers, body, &secrets).err();
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"s");
    let signature = hmac::sign(&key, GITHUB.as_bytes());
    let hex: String = signature.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let good = format!("sha256={hex}");
    let event = ("X-GitHub-Event", "push");
    assert_eq!(refused(&[event, ("X-Hub-Signature-256", &good)], GITHUB), None);
    assert_eq!(refused(&[event, ("X-Hub-Signature-256", &hex)], GITHUB), Some(Refused::Secret));
    assert_eq!(
        refused(&[event, ("X-Hub-Signature-256", "sha256=é")], GITHUB),
        Some(Refused::Secret)
    );
    assert_eq!(refused(&[event], GITHUB), Some(Refused::Secret));
    let package = [("X-GitHub-Event", "package")];
    assert_eq!(refused(&package, GITHUB), Some(Refused::Registry));
    let event = ("X-Gitlab-Event", "Push Hook");
    assert_eq!(refused(&[event, ("X-Gitlab-Token", "t")], "{}"), Some(Refused::Secret));
    assert_eq!(refused(&[event, ("X-Gitlab-Token", "s")], "{}"), Some(Refused::Incomplete));
    let event = ("X-Vss-Activityid", "1");
    assert_eq!(refused(&[event, ("Authorization", "Basic dTpw")], "[]"), Some(Refused::Corrupt));
    assert_eq!(refused(&[event, ("Authorization", "Basic dTpx")], "[]"), Some(Refused::Secret));
}

#[test]
fn no_body_ends_more_than_its_request() {
    let headers = [
        [("X-Vss-Activityid", "1"), ("", "")],
        [("X-Gogs-Event", "push"), ("", "")],
        [("X-GitHub-Event", "push"), ("", "")],
        [("X-GitHub-Event", "package"), ("", "")],
        [("X-Gitlab-Event", "Push Hook"), ("", "")],
        [("X-Hook-UUID", "1"), ("X-Event-Key", "repo:push")],
        [("X-Event-Key", "repo:refs_changed"), ("", "")],
    ];
    let bodies = [
        "",
        "null",
        "[]",
        "7",
        "{",
        "{}",
        r#"{"repository":7,"project":[]}"#,
        r#"{"repository":{"links":{"clone":{"x":1}}},"resource":{"refUpdates":[]}}"#,
        r#"{"eventType":"git.push","resource":{"refUpdates":{}}}"#,
        r#"{"ref":7,"commits":[7,{"added":"x"}],"repository":{"html_url":"https://x"}}"#,
    ];
    for headers in &headers {
        for body in bodies {
            drop(read_with(headers, body, &no_secrets()));
        }
    }
    assert_eq!(read_with(&headers[2], "", &no_secrets()), Err(Refused::Corrupt));
}

#[test]
fn shared_payloads_come_to_what_argo_cd_makes_of_them() {
    let Some(table) = cases::read("webhooks/index.tsv") else { return };
    let mut passed = 0;
    let mut failures = Vec::new();
    for row in cases::rows(&table).iter().filter(|it| it[0] == "application") {
        let body = match row[4].as_str() {
            "" if row[3] == "diagnostics:ping" => r#"{"test": true}"#.to_owned(),
            "" => String::new(),
            file => cases::read(&format!("webhooks/{file}")).unwrap_or_default(),
        };
        let is_post = row[5] != "405";
        let header = |name: &str| row[2].eq_ignore_ascii_case(name).then_some(row[3].as_str());
        let told = match read(is_post, &header, body.as_bytes(), &no_secrets()) {
            Ok(event) => ("200", shown(&event)),
            Err(Refused::Method) => ("405", String::new()),
            Err(_) => ("400", String::new()),
        };
        let word = |name: &str| {
            let found = row[6].split(name).nth(1)?;
            Some(found.split(" revision=").next()?.split(" touchedHead").next()?.to_owned())
        };
        let push = word("repo=").or_else(|| word("repos="));
        let expected = push.map(|urls| {
            let revision = row[6].split("revision=").nth(1).unwrap_or_default();
            let mut words = revision.split(" touchedHead=");
            let (revision, touched) = (words.next(), words.next());
            format!("{urls} {} {}", revision.unwrap_or_default(), touched.unwrap_or_default())
        });
        let is_good = told.0 == row[5] && expected.is_none_or(|it| it == told.1);
        if is_good {
            passed += 1;
        } else {
            failures.push(format!("{row:?}: ours {told:?}"));
        }
    }
    cases::report("webhooks/index.tsv (application)", passed, &failures);
}
