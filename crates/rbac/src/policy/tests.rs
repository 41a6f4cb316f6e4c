//! Who is allowed what, and what is told about a policy.

use super::*;

const TEAM: &str = "
p, role:dev, applications, *, dev-*/*, allow
p, role:dev, applications, delete, dev-*/*, deny
p, role:root, *, *, *, allow
g, ann, role:dev
g, sales, role:dev
p, unbound, applications, get, */*, allow
";

fn options(default_role: &str) -> Options {
    Options { default_role: default_role.into(), ..Options::default() }
}

/// `request` is `resource action object`.
#[track_caller]
fn check(policy: &str, default_role: &str, who: (&str, &[&str]), request: &str, expect: bool) {
    let policy = Policy::new(policy, options(default_role)).0;
    let groups: Vec<String> = who.1.iter().map(|it| (*it).to_owned()).collect();
    let shop = "p, proj:shop:ci, projects, get, shop, allow\n\
                p, proj:shop:ci, applications, sync, shop/*, allow\n\
                g, builders, proj:shop:ci";
    let [resource, action, object] = request.split(' ').collect::<Vec<_>>()[..] else {
        panic!("three words")
    };
    let project = |name: &str| policy.project(shop).0.filter(|_| name == "shop").map(Arc::new);
    let request = Request { resource, action, object };
    let allowed = policy.allows(&Who { name: who.0, groups: &groups }, &request, project);
    assert_eq!(allowed, expect);
}

#[test]
fn a_deny_cancels_allows_of_the_same_subject_only() {
    check(TEAM, "", ("ann", &[]), "applications get dev-1/web", true);
    check(TEAM, "", ("ann", &[]), "applications delete dev-1/web", false);
    check(TEAM, "role:root", ("ann", &[]), "applications delete dev-1/web", true);
}

#[test]
fn a_group_counts_when_it_has_a_role() {
    check(TEAM, "", ("bob", &["sales"]), "applications sync dev-1/web", true);
    check(TEAM, "", ("bob", &["unbound"]), "applications get dev-1/web", false);
    check(TEAM, "", ("unbound", &[]), "applications get dev-1/web", true);
}

#[test]
fn the_admin_may_everything_but_call_extensions() {
    check("", "", ("admin", &[]), "applications action/apps/Deployment/restart a/b", true);
    check("", "", ("admin", &[]), "clusters get https://x", true);
    check("", "", ("admin", &[]), "extensions invoke metrics", false);
    check("", "", ("ann", &[]), "applications get a/b", false);
    check("", "role:readonly", ("ann", &[]), "applications get a/b", true);
}

#[test]
fn project_roles_count_in_their_project() {
    check("", "", ("proj:shop:ci", &[]), "applications sync shop/web", true);
    check("", "", ("proj:shop:ci", &[]), "projects get shop", true);
    check("", "", ("proj:shop:ci", &[]), "applications sync other/web", false);
    check("", "", ("proj:other:ci", &[]), "applications sync shop/web", false);
    check("", "", ("bob", &["builders"]), "applications sync shop/web", true);
    check("", "", ("bob", &["builders"]), "applications delete shop/web", false);
}

#[test]
fn a_deny_of_the_operator_beats_a_project_role() {
    let policy = "p, proj:shop:ci, applications, sync, shop/web, deny";
    check(policy, "", ("proj:shop:ci", &[]), "applications sync shop/web", false);
    check(policy, "", ("proj:shop:ci", &[]), "applications sync shop/api", true);
}

#[test]
fn roles_of_roles_are_followed_ten_levels_deep_and_circles_end() {
    use std::fmt::Write as _;
    let mut chain = String::from("g, r0, r0\ng, r3, r1\n");
    for level in 0..11 {
        let _ = writeln!(chain, "g, r{level}, r{}", level + 1);
    }
    let with = |last: &str| format!("{chain}p, {last}, logs, get, a/b, allow");
    check(&with("r10"), "", ("r0", &[]), "logs get a/b", true);
    check(&with("r11"), "", ("r0", &[]), "logs get a/b", false);
}

#[test]
fn rules_without_a_subject_are_for_everybody() {
    check("p, , logs, get, a/b, allow", "", ("ann", &[]), "logs get a/b", true);
}

#[test]
fn nothing_is_refused_where_policies_are_switched_off() {
    let options = Options { is_enforced: false, ..Options::default() };
    let request = Request { resource: "clusters", action: "delete", object: "x" };
    assert!(Policy::new("", options).0.allows(&Who::default(), &request, |_| None));
}

#[track_caller]
fn check_findings(policy: &str, expect: &[&str]) {
    let (_, findings) = Policy::new(policy, options(""));
    let told: Vec<String> =
        findings.iter().map(|it| format!("{}: {}", it.line, it.message)).collect();
    assert_eq!(told, expect);
}

#[test]
fn mistakes_are_told_with_their_line() {
    check_findings(
        "p, ann, aplications, get, */*, allow",
        &["1: there is no resource \"aplications\""],
    );
    check_findings("\np, ann, logs, read, */*, allow", &["2: there is no action \"read\""]);
    check_findings(
        "p, ann, logs, get, [, maybe",
        &[
            "1: the effect is neither allow nor deny, so the line does nothing",
            "1: the pattern \"[\" cannot be read and matches nothing",
        ],
    );
    check_findings("g, ann, role:ghost", &["0: no line says what role:ghost may do"]);
    check_findings("g, ann, role:admin", &[]);
}

#[test]
fn an_unreadable_line_voids_the_operators_policy_but_not_the_built_in_one() {
    let policy = "p, ann, logs, get, a/b, allow\nthis is no line";
    check(policy, "", ("ann", &[]), "logs get a/b", false);
    check(policy, "", ("admin", &[]), "logs get a/b", true);
}

/// What is kept ready and what is found at the time come to the same.
#[test]
fn known_roles_decide_as_found_ones_do() {
    let text = "g, ann, role:a\ng, role:a, role:b\ng, team, role:b\np, role:b, applications, get, x/*, allow\np, ann, applications, get, x/secret, deny\np, proj:x:ci, applications, *, x/*, allow";
    let quick = Policy::of_texts(&[text], Options::default()).0;
    let mut slow = quick.clone();
    slow.known = None;
    let plain = quick.project("p, proj:x:ci, applications, sync, x/web, allow").0.map(Arc::new);
    let giving =
        quick.project("g, role:b, proj:x:ci\np, proj:x:ci, applications, sync, x/*, allow");
    let giving = giving.0.map(Arc::new);
    let groups = ["team".to_owned(), "other".to_owned()];
    for name in ["ann", "bob", "proj:x:ci", "role:a", ""] {
        for groups in [&groups[..], &[]] {
            for action in ["get", "sync"] {
                for object in ["x/web", "x/secret", "y/web"] {
                    for project in [None, plain.clone(), giving.clone()] {
                        let who = Who { name, groups };
                        let request = Request { resource: "applications", action, object };
                        let decide = |it: &Policy| it.allows(&who, &request, |_| project.clone());
                        assert_eq!(decide(&quick), decide(&slow), "{name} {action} {object}");
                    }
                }
            }
        }
    }
}

#[test]
fn many_with_many_roles_do_not_fill_the_memory() {
    let mut text = String::new();
    for number in 0..2_000 {
        text.push_str(&format!("g, member-{number}, role:all\ng, role:all, role:{number}\n"));
    }
    text.push_str("p, role:7, applications, get, x/*, allow\n");
    let policy = Policy::of_texts(&[&text], Options::default()).0;
    assert!(policy.known.is_none());
    let who = Who { name: "member-9", groups: &[] };
    let request = Request { resource: "applications", action: "get", object: "x/web" };
    assert!(policy.allows(&who, &request, |_| None));
}

#[track_caller]
fn check_reach(policy: &str, who: (&str, &[&str]), project: &str, expect: Reach) {
    let policy = Policy::new(policy, Options::default()).0;
    let groups: Vec<String> = who.1.iter().map(|it| (*it).to_owned()).collect();
    let shop = "p, proj:shop:ci, applications, get, shop/*, allow\ng, builders, proj:shop:ci";
    let own = |name: &str| policy.project(shop).0.filter(|_| name == "shop").map(Arc::new);
    let asker = policy.asked_by(Who { name: who.0, groups: &groups });
    assert_eq!(asker.reach("applications", "get", &format!("{project}/"), own), expect);
}

#[test]
fn whole_projects_are_decided_at_once() {
    check_reach(TEAM, ("ann", &[]), "dev-1", Reach::All);
    check_reach(TEAM, ("ann", &[]), "shop", Reach::Nothing);
    check_reach(TEAM, ("bob", &["sales"]), "dev-1", Reach::All);
    check_reach(TEAM, ("bob", &["builders"]), "shop", Reach::All);
    check_reach(TEAM, ("proj:shop:ci", &[]), "shop", Reach::All);
    check_reach(TEAM, ("proj:shop:ci", &[]), "dev-1", Reach::Nothing);
    check_reach("", ("admin", &[]), "dev-1", Reach::All);
}

#[test]
fn a_project_of_which_only_parts_are_allowed_is_decided_by_name() {
    let web = "p, ann, applications, get, shop/web, allow";
    check_reach(web, ("ann", &[]), "shop", Reach::Parts);
    check_reach(web, ("ann", &[]), "other", Reach::Nothing);
    let but = "p, ann, applications, get, shop/*, allow\np, ann, applications, get, shop/x*, deny";
    check_reach(but, ("ann", &[]), "shop", Reach::Parts);
    let none = "p, ann, applications, get, shop/web, allow\np, ann, *, *, *, deny";
    check_reach(none, ("ann", &[]), "shop", Reach::Nothing);
}

/// Many expressions are asked by one machine, and with a few at a time one by one.
#[test]
fn many_expressions_decide_as_they_do_one_by_one() {
    let mut lines = Vec::new();
    for number in 0..40 {
        let effect = if number % 7 == 3 { "deny" } else { "allow" };
        let action = if number % 2 == 0 { ".*" } else { "get" };
        let object = match number % 4 {
            0 => format!("team-{number}/.*"),
            1 => format!("(team|crew)-{number}$"),
            2 => format!("^(?:x|y)-[0-9]*{number}/"),
            _ => format!("{}[a-c]+/web", number % 10),
        };
        lines.push(format!("p, ann, applications, {action}, {object}, {effect}"));
    }
    let options = Options { match_mode: MatchMode::Regex, ..Options::default() };
    let policy = |lines: &[String]| Policy::new(&lines.join("\n"), options.clone()).0;
    let all = policy(&lines);
    // A line that denies allows nothing alone: what it fits is asked of it as an allow.
    let alone =
        lines.iter().map(|it| (policy(&[it.replace(", deny", ", allow")]), it.ends_with("deny")));
    let alone: Vec<(Policy, bool)> = alone.collect();
    let who = Who { name: "ann", groups: &[] };
    let mut decided = [0, 0];
    for number in 0..40 {
        for object in [
            format!("team-{number}/web"),
            format!("shop/crew-{number}"),
            format!("x-1{number}/a"),
            format!("p{}abc/web", number % 10),
        ] {
            for action in ["get", "sync"] {
                let request = Request { resource: "applications", action, object: &object };
                let fits = |policy: &Policy| policy.allows(&who, &request, |_| None);
                let is_said = |is_deny| alone.iter().any(|it| it.1 == is_deny && fits(&it.0));
                let expect = is_said(false) && !is_said(true);
                assert_eq!(fits(&all), expect, "{action} {object}");
                decided[usize::from(expect)] += 1;
            }
        }
    }
    assert!(decided.iter().all(|it| *it > 20), "{decided:?}");
}

#[test]
fn an_unreadable_action_still_ends_the_decision_beside_a_machine() {
    let mut policy: String =
        (0..20).map(|it| format!("p, ann, applications, .*, a{it}.*, allow\n")).collect();
    let options = Options { match_mode: MatchMode::Regex, ..Options::default() };
    let may = |policy: &str| {
        let policy = Policy::new(policy, options.clone()).0;
        let request = Request { resource: "applications", action: "get", object: "a1/web" };
        policy.allows(&Who { name: "ann", groups: &[] }, &request, |_| None)
    };
    assert!(may(&policy));
    policy.push_str("p, ann, applications, *, nothing.*, allow\n");
    assert!(!may(&policy));
}
