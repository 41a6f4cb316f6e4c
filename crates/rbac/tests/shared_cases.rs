//! The tables of expected answers that live outside the project: `rbac.tsv` and
//! `rbac-policies.tsv`, read from the folder that `ARGOSY_CASES` names.

use std::collections::BTreeMap;
use std::sync::Arc;

use rbac::{
    MatchMode, Options, Policy, ProjectPolicy, Request, Who, builtin_policy, joined, validate,
};
use testkit::cases;

/// The texts of a policy: built-in, operator's, project's.
type Texts = [String; 3];

#[test]
fn every_decision_is_argo_cds() {
    let (Some(table), Some(policies)) = (cases::read("rbac.tsv"), cases::read("rbac-policies.tsv"))
    else {
        return;
    };
    let policies: BTreeMap<String, Texts> = cases::rows(&policies)
        .into_iter()
        .map(|row| {
            let cell = |index: usize| row.get(index).cloned().unwrap_or_default();
            (cell(0), [1, 2, 3].map(|it| text(&cell(it))))
        })
        .collect();
    let rows = cases::rows(&table);
    let mut prepared = BTreeMap::new();
    let failures: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let ours = answer(row, &policies, &mut prepared);
            (ours != row[8]).then(|| format!("{row:?}: ours {ours}"))
        })
        .collect();
    cases::report("rbac.tsv", rows.len() - failures.len(), &failures);
}

/// Our own table stands in for the built-in policy.
fn text(cell: &str) -> String {
    if cell.starts_with('@') { builtin_policy() } else { cell.to_owned() }
}

/// Policies by the cells that make them: reading the same one a thousand times takes a minute.
type Prepared = BTreeMap<[String; 4], (Policy, Option<Arc<ProjectPolicy>>)>;

fn answer(row: &[String], policies: &BTreeMap<String, Texts>, prepared: &mut Prepared) -> String {
    match row[6].as_str() {
        "validate" => validate(&row[7]).map_or("error", |()| "valid").to_owned(),
        "policy-csv" => joined(&serde_json::from_str(&row[7]).expect("the data of a config map")),
        _ => {
            let cells = [0, 1, 2, 3].map(|it| row[it].clone());
            let policy = prepared.entry(cells).or_insert_with(|| prepare(row, &policies[&row[0]]));
            decision(row, policy).to_string()
        }
    }
}

fn prepare(
    row: &[String],
    [builtin, operators, project]: &Texts,
) -> (Policy, Option<Arc<ProjectPolicy>>) {
    let options = Options {
        default_role: row[1].clone(),
        match_mode: if row[2] == "regex" { MatchMode::Regex } else { MatchMode::Glob },
        is_enforced: row[3] == "true",
    };
    let policy = Policy::of_texts(&[builtin, operators], options).0;
    let project = policy.project(project).0.map(Arc::new);
    (policy, project)
}

fn decision(row: &[String], (policy, project): &(Policy, Option<Arc<ProjectPolicy>>)) -> bool {
    let request = Request { resource: &row[5], action: &row[6], object: &row[7] };
    policy.allows(&Who { name: &row[4], groups: &[] }, &request, |_| project.clone())
}
