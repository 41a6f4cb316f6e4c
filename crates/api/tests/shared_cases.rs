//! Compares our CustomResourceDefinitions with the tables of Argo CD's, field by
//! field, in the layout that the README of the case folder describes.
//!
//! The folder is named by `ARGOSY_CASES` (default `../shared/cases` from the root
//! of the project); without it the test says so and passes.

#![expect(clippy::print_stderr, reason = "a suite reports what it did")]
#![expect(clippy::disallowed_methods, reason = "a test may read files")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

/// path → (type, format, required, validation, list or map), tab separated.
type Rows = BTreeMap<String, String>;

#[test]
fn every_field_of_the_definitions_is_as_in_argo_cd() {
    let Some(folder) = case_folder() else { return };
    let mut failures = Vec::new();
    let mut total = 0;
    for (file, kind) in [
        ("application.tsv", "Application"),
        ("applicationset.tsv", "ApplicationSet"),
        ("appproject.tsv", "AppProject"),
    ] {
        let expected = table(&folder, file);
        let actual = rows_of(&definition(kind)["spec"]["versions"][0]);
        total += expected.len();
        failures.extend(differences(kind, &expected, &actual));
    }
    report("crd fields", total, &failures);
}

#[test]
fn names_columns_and_sub_resources_are_as_in_argo_cd() {
    let Some(folder) = case_folder() else { return };
    let text = std::fs::read_to_string(folder.join("crd/meta.tsv")).expect("meta.tsv is there");
    let expected: Vec<&str> = text.lines().skip(1).collect();
    let actual: Vec<String> =
        ["Application", "ApplicationSet", "AppProject"].into_iter().flat_map(meta_rows).collect();
    let missing = expected.iter().filter(|row| !actual.iter().any(|own| own == *row));
    let extra = actual.iter().filter(|row| !expected.contains(&row.as_str()));
    let failures: Vec<String> = missing
        .map(|row| format!("missing {row}"))
        .chain(extra.map(|row| format!("not in Argo CD: {row}")))
        .collect();
    report("crd names and columns", expected.len(), &failures);
}

fn case_folder() -> Option<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let folder = match std::env::var_os("ARGOSY_CASES") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(root).join("../shared/cases"),
    };
    if !folder.join("crd").is_dir() {
        eprintln!("notice: no folder crd in {}, nothing compared", folder.display());
        return None;
    }
    Some(folder)
}

#[track_caller]
fn report(suite: &str, total: usize, failures: &[String]) {
    for failure in failures {
        eprintln!("{suite}: {failure}");
    }
    eprintln!("{suite}: {} of {total} cases pass", total.saturating_sub(failures.len()));
    assert!(failures.is_empty(), "{} of {total} {suite} differ", failures.len());
}

fn table(folder: &std::path::Path, file: &str) -> Rows {
    let text = std::fs::read_to_string(folder.join("crd").join(file)).expect("the table is there");
    let row = |line: &str| {
        let (_version, rest) = line.split_once('\t').expect("a row has columns");
        let (path, facts) = rest.split_once('\t').expect("a row has columns");
        (path.to_owned(), facts.to_owned())
    };
    text.lines().skip(1).map(row).collect()
}

fn differences(kind: &str, expected: &Rows, actual: &Rows) -> Vec<String> {
    let wrong = expected.iter().filter_map(|(path, facts)| match actual.get(path) {
        None => Some(format!("{kind} {path}: missing")),
        Some(own) if own != facts => {
            Some(format!("{kind} {path}: expected [{facts}] but have [{own}]"))
        }
        Some(_) => None,
    });
    let extra = actual.keys().filter(|path| !expected.contains_key(*path));
    wrong.chain(extra.map(|path| format!("{kind} {path}: not in Argo CD"))).collect()
}

fn definition(kind: &str) -> Value {
    let mut crds = api::crds::crds().into_iter().map(|(_, crd)| crd);
    crds.find(|crd| crd["spec"]["names"]["kind"] == kind).expect("one definition per kind")
}

fn rows_of(version: &Value) -> Rows {
    let mut rows = Rows::new();
    flatten("", &version["schema"]["openAPIV3Schema"], &mut rows);
    rows
}

fn flatten(prefix: &str, schema: &Value, rows: &mut Rows) {
    let required = schema["required"].as_array();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let is_required = required.is_some_and(|names| names.iter().any(|own| own == name));
        let facts = [
            type_of(property),
            property["format"].as_str().unwrap_or_default().to_owned(),
            if is_required { "yes" } else { "no" }.to_owned(),
            validation(property),
            list_or_map(property),
        ];
        rows.insert(path.clone(), facts.join("\t"));
        descend(&path, property, rows);
    }
}

fn descend(path: &str, schema: &Value, rows: &mut Rows) {
    if let Some(items) = schema.get("items") {
        descend(&format!("{path}[]"), items, rows);
    } else if let Some(values) = schema.get("additionalProperties") {
        descend(&format!("{path}{{}}"), values, rows);
    } else {
        flatten(path, schema, rows);
    }
}

fn type_of(schema: &Value) -> String {
    if schema["x-kubernetes-int-or-string"] == true {
        return "int-or-string".to_owned();
    }
    match schema["type"].as_str() {
        Some("array") => format!("array<{}>", type_of(&schema["items"])),
        Some("object") if schema.get("additionalProperties").is_some() => {
            format!("map<string,{}>", type_of(&schema["additionalProperties"]))
        }
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    }
}

fn validation(schema: &Value) -> String {
    let mut rules = Vec::new();
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        rules.push(format!("enum=[{}]", words.join(", ")));
    }
    for keyword in ["default", "minLength", "maxLength", "minimum", "maximum", "pattern"] {
        if let Some(value) = schema.get(keyword) {
            rules.push(format!("{keyword}={value}"));
        }
    }
    rules.join("; ")
}

fn list_or_map(schema: &Value) -> String {
    let mut facts = Vec::new();
    for keyword in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        facts.extend(schema[keyword].as_str());
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        facts.push("preserve-unknown-fields");
    }
    if schema["x-kubernetes-int-or-string"] == true {
        facts.push("int-or-string");
    }
    facts.join("; ")
}

fn meta_rows(kind: &str) -> Vec<String> {
    let spec = &definition(kind)["spec"];
    let version = &spec["versions"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let columns = version["additionalPrinterColumns"].as_array().into_iter().flatten();
    let mut rows: Vec<String> = columns
        .map(|column| {
            format!(
                "{kind}\tv1alpha1\tprinter-column\t{}\t{}\t{}\t{}",
                text(&column["name"]),
                text(&column["type"]),
                text(&column["jsonPath"]),
                column["priority"].as_i64().unwrap_or_default()
            )
        })
        .collect();
    let sub_resources = version["subresources"].as_object().into_iter().flatten();
    let sub_resources: Vec<&str> = sub_resources.map(|(name, _)| name.as_str()).collect();
    rows.push(format!("{kind}\tv1alpha1\tsubresources\t{}\t\t\t", sub_resources.join(",")));
    let names = &spec["names"];
    let short: Vec<String> =
        names["shortNames"].as_array().into_iter().flatten().map(text).collect();
    rows.push(format!(
        "{kind}\t\tnames\tgroup={} plural={} singular={} shortNames={} scope={}\t\t\t",
        text(&spec["group"]),
        text(&names["plural"]),
        text(&names["singular"]),
        short.join(","),
        text(&spec["scope"])
    ));
    rows
}
