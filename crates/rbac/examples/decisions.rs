//! How long a decision takes: `cargo run --release -p rbac --example decisions`.
#![expect(clippy::print_stdout, reason = "the figures are the point")]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "this one measures")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use rbac::{MatchMode, Options, Policy, Request, Who};

const LINES: usize = 1_000;
const ROUNDS: u32 = 200_000;

fn main() {
    let mut one_role = String::from("g, ann, role:team\n");
    let mut many_roles = String::new();
    let mut expressions = String::from("g, ann, role:team\n");
    let mut anywhere = String::from("g, ann, role:team\n");
    for number in 0..LINES {
        let _ = writeln!(one_role, "p, role:team, applications, *, team-{number}/*, allow");
        let _ = writeln!(expressions, "p, role:team, applications, .*, ^team-{number}/.*, allow");
        let _ = writeln!(anywhere, "p, role:team, applications, .*, team-{number}/[a-z]+, allow");
        let half = number / 2;
        let _ =
            writeln!(many_roles, "p, role:team-{half}, applications, get, team-{half}/*, allow");
        let _ = writeln!(many_roles, "g, group-{half}, role:team-{half}");
    }
    let groups: Vec<String> = (0..10).map(|it| format!("group-{}", it * 40)).collect();
    measure("one role with 1,000 lines", &one_role, MatchMode::Glob, &[]);
    measure("1,000 lines in 500 roles, a user in 10", &many_roles, MatchMode::Glob, &groups);
    measure("1,000 regular expressions of one role", &expressions, MatchMode::Regex, &[]);
    measure("1,000 that say nothing of the beginning", &anywhere, MatchMode::Regex, &[]);
}

fn measure(what: &str, policy: &str, match_mode: MatchMode, groups: &[String]) {
    let options = Options { match_mode, default_role: "role:readonly".into(), is_enforced: true };
    let policy = Policy::new(policy, options).0;
    let who = Who { name: "ann", groups };
    for (answer, object) in [("yes", "team-360/web"), ("no", "other/web")] {
        let request = Request { resource: "applications", action: "sync", object };
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            black_box(policy.allows(black_box(&who), black_box(&request), |_| None));
        }
        println!("{what}, {answer}: {:?} a decision", begin.elapsed() / ROUNDS);
    }
}
