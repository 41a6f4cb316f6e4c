//! What a comparison does not look at: `ignoreDifferences` of the application
//! and of the settings.
//!
//! A rule names objects (group and kind by glob, name and namespace exactly) and
//! fields: by JSON pointer, by jq path expression, or by who set them. A rule
//! that cannot be read is a finding beside the others, which still hold.

use gocompat::glob;
use object::Object;
use object::fields::{FieldSet, project, remove};
use object::schema::{Schema, Type};
use serde_json::Value;

use super::jq::{self, PathExpression};
use super::structured::type_of;
use crate::finding::{Concern, Finding};

/// All rules that concern one application.
#[derive(Clone, Debug, Default)]
pub struct Ignoring {
    /// Those that somebody asked for, then those that always hold.
    rules: Vec<Rule>,
    /// How many of them somebody asked for.
    asked_for: usize,
}

/// A manager whose fields are not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedManager<'r> {
    /// On objects of this API group, as a glob.
    pub group: &'r str,
    /// On objects of this kind, as a glob.
    pub kind: &'r str,
    /// Its name.
    pub manager: &'r str,
}

/// Which objects' status the cluster alone decides on
/// (`ignoreResourceStatusField`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusOf {
    /// That of all objects.
    #[default]
    All,
    /// That of CustomResourceDefinitions.
    Definitions,
    /// That of none.
    None,
}

#[derive(Clone, Debug)]
struct Rule {
    group: String,
    kind: String,
    /// Empty means any.
    namespace: String,
    name: String,
    pointers: Vec<Vec<String>>,
    expressions: Vec<PathExpression>,
    managers: Vec<String>,
}

impl Ignoring {
    /// What holds without any setting: no status is compared.
    #[must_use]
    pub fn status_of_all() -> Self {
        Self::of(&[], &[], StatusOf::All).0
    }

    /// Reads the rules of an application and those of the settings, where the
    /// group and kind `*` mean all.
    #[must_use]
    pub fn of(
        of_app: &[api::ResourceIgnoreDifferences],
        of_settings: &[api::ResourceIgnoreDifferences],
        status: StatusOf,
    ) -> (Self, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut rules: Vec<Rule> =
            of_app.iter().chain(of_settings).map(|it| Rule::read(it, &mut findings)).collect();
        let asked_for = rules.len();
        let pointers = |paths: &[&[&str]]| -> Vec<Vec<String>> {
            paths.iter().map(|path| path.iter().map(|it| (*it).to_owned()).collect()).collect()
        };
        let bare = |group: &str, kind: &str, pointers| Rule {
            group: group.into(),
            kind: kind.into(),
            namespace: String::new(),
            name: String::new(),
            pointers,
            expressions: Vec::new(),
            managers: Vec::new(),
        };
        match status {
            StatusOf::All => rules.push(bare("*", "*", pointers(&[&["status"]]))),
            StatusOf::Definitions => rules.push(bare(
                "apiextensions.k8s.io",
                "CustomResourceDefinition",
                pointers(&[&["status"], &["spec", "preserveUnknownFields"]]),
            )),
            StatusOf::None => {}
        }
        (Self { rules, asked_for }, findings)
    }

    /// What holds whoever asks for what; none if nobody asked for anything more.
    pub(super) fn always(&self) -> Option<Self> {
        let always = || Self { rules: self.rules[self.asked_for..].to_vec(), asked_for: 0 };
        self.is_asked_for().then(always)
    }

    /// Did anybody ask for anything?
    pub(super) fn is_asked_for(&self) -> bool {
        self.asked_for > 0
    }

    /// Whose fields are trusted on which kinds: `managedFields` of these must be
    /// at hand to compare.
    pub fn trusted(&self) -> impl Iterator<Item = TrustedManager<'_>> {
        self.rules.iter().flat_map(|rule| {
            rule.managers.iter().map(|manager| TrustedManager {
                group: &rule.group,
                kind: &rule.kind,
                manager,
            })
        })
    }

    /// Takes what is ignored by pointer or expression out of one side.
    pub(crate) fn drop_ignored(&self, object: &mut Object) {
        for rule in self.rules.iter().filter(|it| it.concerns(object)).collect::<Vec<_>>() {
            for pointer in &rule.pointers {
                remove_at(object.fields_mut(), pointer);
            }
            for expression in &rule.expressions {
                // An expression that fails on this object says nothing about it.
                if let Ok(cut) = jq::delete(object.as_value(), expression)
                    && let Ok(cut) = Object::from_value(cut)
                {
                    *object = cut;
                }
            }
        }
    }

    /// Takes fields that a trusted manager set, and that differ, out of both
    /// sides.
    pub(super) fn drop_fields_of_managers(
        &self,
        want: &mut Object,
        live: &mut Object,
        schema: &Schema,
    ) {
        let trusted: Vec<&String> = self
            .rules
            .iter()
            .filter(|rule| !rule.managers.is_empty() && rule.concerns(want))
            .flat_map(|rule| &rule.managers)
            .collect();
        if trusted.is_empty() {
            return;
        }
        let of = type_of(live, schema);
        for entry in live.list(&["metadata", "managedFields"]).to_vec() {
            let manager = entry["manager"].as_str().unwrap_or_default();
            if !trusted.iter().any(|it| it.as_str() == manager) {
                continue;
            }
            let Ok(theirs) = FieldSet::from_json(&entry["fieldsV1"]) else { continue };
            if !differ_within(&theirs, want, live, of) {
                continue;
            }
            for side in [&mut *want, &mut *live] {
                if let Ok(cut) = Object::from_value(remove(side.as_value(), &theirs, of)) {
                    *side = cut;
                }
            }
        }
    }
}

/// Has a field of the set another value on either side? One that only one side
/// has is no quarrel about its value.
fn differ_within(set: &FieldSet, want: &Object, live: &Object, of: Type<'_>) -> bool {
    let (want, live) = (want.as_value(), live.as_value());
    let (Ok(wanted), Ok(found)) = (FieldSet::of(want, of), FieldSet::of(live, of)) else {
        return false;
    };
    let shared = set.intersection(&wanted).intersection(&found);
    project(want, &shared, of) != project(live, &shared, of)
}

impl Rule {
    fn read(rule: &api::ResourceIgnoreDifferences, findings: &mut Vec<Finding>) -> Self {
        let mut pointers = Vec::new();
        for text in &rule.json_pointers {
            match pointer(text) {
                Some(pointer) => pointers.push(pointer),
                None => findings.push(unreadable(text, "a JSON pointer begins with a slash")),
            }
        }
        let mut expressions = Vec::new();
        for text in &rule.jq_path_expressions {
            match PathExpression::parse(text) {
                Ok(expression) => expressions.push(expression),
                Err(error) => findings.push(unreadable(text, &error.to_string())),
            }
        }
        Self {
            group: rule.group.clone(),
            kind: rule.kind.clone(),
            namespace: rule.namespace.clone(),
            name: rule.name.clone(),
            pointers,
            expressions,
            managers: rule.managed_fields_managers.clone(),
        }
    }

    fn concerns(&self, object: &Object) -> bool {
        let kind = object.group_kind();
        let is_any_or = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        glob::matches(&self.group, &kind.group, &[])
            && glob::matches(&self.kind, &kind.kind, &[])
            && is_any_or(&self.namespace, object.namespace())
            && is_any_or(&self.name, object.name())
    }
}

fn unreadable(text: &str, why: &str) -> Finding {
    Finding::new(Concern::InvalidSpec, format!("ignoreDifferences: cannot use {text:?}: {why}"))
}

/// The steps of a JSON pointer (RFC 6901).
fn pointer(text: &str) -> Option<Vec<String>> {
    let steps = text.strip_prefix('/')?.split('/');
    Some(steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect())
}

fn remove_at(fields: &mut serde_json::Map<String, Value>, pointer: &[String]) {
    let Some((last, parents)) = pointer.split_last() else { return };
    let Some((first, parents)) = parents.split_first() else {
        fields.remove(last);
        return;
    };
    let Some(mut value) = fields.get_mut(first) else { return };
    for step in parents {
        let next = match value {
            Value::Object(fields) => fields.get_mut(step),
            Value::Array(items) => step.parse().ok().and_then(|index: usize| items.get_mut(index)),
            _ => None,
        };
        let Some(next) = next else { return };
        value = next;
    }
    match value {
        Value::Object(fields) => drop(fields.remove(last)),
        Value::Array(items) => {
            if let Some(index) = last.parse().ok().filter(|index| *index < items.len()) {
                drop(items.remove(index));
            }
        }
        _ => {}
    }
}
