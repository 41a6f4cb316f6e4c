//! `project-permissions.tsv`, and the addresses of `git-urls.tsv`.

use api::{AppProject, ObjectMeta};
use engine::project::{
    Cluster, Denied, Gate, Invalid, InvalidClass, Place, ProjectClusters, repo_url, validate,
};
use object::GroupKind;
use serde_json::Value;
use testkit::cases;

#[test]
fn project_permissions() {
    let Some(table) = cases::read("project-permissions.tsv") else { return };
    let mut failures = Vec::new();
    let mut passed = 0;
    for row in cases::rows(&table) {
        let found = answer(&row);
        // Argo CD adds an internal number to this one message.
        let error = row[4].split(" (hash=").next().unwrap_or_default();
        if found == (row[3].clone(), error.to_owned()) {
            passed += 1;
        } else {
            failures.push(format!("{row:?}\n  found {found:?}"));
        }
    }
    cases::report("project-permissions", passed, &failures);
}

fn answer(row: &[String]) -> (String, String) {
    let fields: Value = serde_json::from_str(&row[1]).expect("a project");
    let input: Value = serde_json::from_str(&row[2]).unwrap_or_default();
    let text = |field: &str| input[field].as_str().unwrap_or_default();
    if row[0] == "validate" {
        return validity(validate(&project(&fields["name"], &fields["spec"])));
    }
    let gate = Gate::new(&project(&Value::Null, &fields), own_clusters(row, &input));
    match row[0].as_str() {
        "source" => permitted(gate.permits_source(text("repoURL"))),
        "destination" => {
            let cluster = Cluster { server: text("server").into(), name: text("cluster").into() };
            permitted(gate.permits_destination(&cluster, text("namespace")))
        }
        "kind" => {
            let namespaced = input["namespaced"] == true;
            let place = if namespaced { Place::Namespace("any") } else { Place::ClusterWide };
            let kind = GroupKind::new(text("group"), text("kind"));
            permitted(gate.permits_kind(&kind, text("name"), place))
        }
        "app-namespace" => permitted(gate.permits_application_namespace(
            "any",
            text("application namespace"),
            text("control-plane namespace"),
        )),
        other => panic!("unknown op {other}"),
    }
}

fn project(name: &Value, spec: &Value) -> AppProject {
    let name = name.as_str().unwrap_or_default().to_owned();
    let spec = serde_json::from_value(spec.clone()).expect("rules");
    let metadata = ObjectMeta { name, ..ObjectMeta::default() };
    AppProject { metadata, spec, ..AppProject::default() }
}

/// Clusters are listed by URL; in one case listing them fails.
fn own_clusters(row: &[String], input: &Value) -> ProjectClusters {
    if let Some(why) = row[4].strip_prefix("could not retrieve project clusters: ") {
        return ProjectClusters::Unknown(why.to_owned());
    }
    let servers = input["projectClusters"].as_array().cloned().unwrap_or_default();
    let cluster = |server: &Value| Cluster {
        server: server.as_str().unwrap_or_default().to_owned(),
        name: "registered for the project".to_owned(),
    };
    ProjectClusters::Known(servers.iter().map(cluster).collect())
}

fn permitted(answer: Result<(), Denied>) -> (String, String) {
    let error = match &answer {
        Err(unknown @ Denied::ProjectClustersUnknown(_)) => unknown.to_string(),
        _ => String::new(),
    };
    (answer.is_ok().to_string(), error)
}

fn validity(answer: Result<(), Invalid>) -> (String, String) {
    let Err(invalid) = answer else { return ("valid".to_owned(), String::new()) };
    let code = match invalid.class() {
        InvalidClass::InvalidArgument => "InvalidArgument",
        InvalidClass::AlreadyExists => "AlreadyExists",
        InvalidClass::OutOfRange => "OutOfRange",
        InvalidClass::Unknown => "Unknown",
    };
    ("invalid".to_owned(), format!("rpc error: code = {code} desc = {invalid}"))
}

#[test]
fn addresses_of_repositories() {
    let Some(table) = cases::read("git-urls.tsv") else { return };
    let mut failures = Vec::new();
    let mut passed = 0;
    for row in cases::rows(&table) {
        let found = match row[0].as_str() {
            "normalise" => repo_url::normalise(&row[1]).unwrap_or_default(),
            "same-url" => repo_url::is_same(&row[1], &row[2]).to_string(),
            "sanitise" => repo_url::without_credentials(&row[1]),
            _ => continue,
        };
        if found == row[3] {
            passed += 1;
        } else {
            failures.push(format!("{row:?}\n  found {found:?}"));
        }
    }
    cases::report("git-urls (normalise, same-url, sanitise)", passed, &failures);
}
