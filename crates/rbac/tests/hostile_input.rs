//! Policies that nobody would write. None may panic or take long.

use proptest::prelude::*;
use rbac::{MatchMode, Options, Policy, Reach, Request, Who};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_text_makes_a_policy_panic(
        text in "([pg#\"x]?[, \"*a-c\\n\\[\\]{}()|\\\\?+^$/:é]{0,30}){0,6}",
        object in "[a-c/é*]{0,8}",
        is_regex: bool,
    ) {
        let match_mode = if is_regex { MatchMode::Regex } else { MatchMode::Glob };
        let options = Options { match_mode, default_role: "a".into(), is_enforced: true };
        let policy = Policy::new(&text, options).0;
        let project = policy.project(&text).0.map(std::sync::Arc::new);
        let groups = ["b".to_owned()];
        let request = Request { resource: "applications", action: "get", object: &object };
        policy.allows(&Who { name: "c", groups: &groups }, &request, |_| project);
    }

    /// What is said of a whole project holds for each of its objects.
    #[test]
    fn a_project_is_decided_as_its_objects_are(
        text in "((p, [abc], \\*, \\*, [ab*^]{0,2}/?[ab*.|$]{0,3}, (allow|deny)|g, [abc], [abc])\n){0,6}",
        tail in "[ab/é*]{0,4}",
        is_regex: bool,
    ) {
        let match_mode = if is_regex { MatchMode::Regex } else { MatchMode::Glob };
        let options = Options { match_mode, default_role: "a".into(), is_enforced: true };
        let policy = Policy::new(&text, options).0;
        let project = policy.project(&text).0.map(std::sync::Arc::new);
        let groups = ["b".to_owned()];
        let asker = policy.asked_by(Who { name: "c", groups: &groups });
        let reach = asker.reach("applications", "get", "a/", |_| project.clone());
        let object = format!("a/{tail}");
        let request = Request { resource: "applications", action: "get", object: &object };
        let may = asker.may(&request, |_| project);
        prop_assert!(reach == Reach::Parts || may == (reach == Reach::All), "{:?} {}", reach, may);
    }

    /// Where a role stands among others makes no difference.
    #[test]
    fn the_order_of_lines_makes_no_difference(order in Just(lines()).prop_shuffle()) {
        let text = order.join("\n");
        let policy = Policy::new(&text, Options::default()).0;
        for (action, expect) in [("get", true), ("delete", false)] {
            let request = Request { resource: "applications", action, object: "dev/web" };
            prop_assert_eq!(policy.allows(&Who { name: "ann", groups: &[] }, &request, |_| None), expect);
        }
    }
}

fn lines() -> Vec<&'static str> {
    vec![
        "g, ann, role:dev",
        "p, role:dev, applications, *, dev/*, allow",
        "p, role:dev, applications, delete, dev/*, deny",
        "p, ann, applications, delete, dev/*, allow",
        "# a comment",
    ]
}
