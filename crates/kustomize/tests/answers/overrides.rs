//! What an Application changes: as values for us, and as the edits that
//! Argo CD makes for the real program.

use kustomize::{Overrides, PatchOverride, PatchTarget, ReplicaOverride};
use serde_json::Value;
use testkit::kustomize::Edit;

/// Reads the overrides of a case.
pub(crate) fn read(text: &str) -> Overrides {
    let value: Value = match text {
        "" => Value::Null,
        text => serde_json::from_str(text).expect("overrides are JSON"),
    };
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let flag = |name: &str| value[name].as_bool().unwrap_or_default();
    let list = |name: &str| {
        let items = value[name].as_array().into_iter().flatten();
        items.map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
    };
    let map = |name: &str| {
        let entries = value[name].as_object().into_iter().flatten();
        entries.map(|(key, it)| (key.clone(), it.as_str().unwrap_or_default().to_owned())).collect()
    };
    let replicas = value["replicas"].as_array().into_iter().flatten();
    Overrides {
        name_prefix: text("namePrefix"),
        name_suffix: text("nameSuffix"),
        namespace: text("namespace"),
        images: list("images"),
        replicas: replicas
            .map(|it| ReplicaOverride {
                name: it["name"].as_str().unwrap_or_default().to_owned(),
                count: it["count"].as_i64().unwrap_or_default(),
            })
            .collect(),
        common_labels: map("commonLabels"),
        force_common_labels: flag("forceCommonLabels"),
        label_without_selector: flag("labelWithoutSelector"),
        label_include_templates: flag("labelIncludeTemplates"),
        common_annotations: map("commonAnnotations"),
        force_common_annotations: flag("forceCommonAnnotations"),
        patches: value["patches"].as_array().into_iter().flatten().map(patch).collect(),
        components: list("components"),
        ignore_missing_components: flag("ignoreMissingComponents"),
    }
}

fn patch(value: &Value) -> PatchOverride {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let options = value["options"].as_object().into_iter().flatten();
    PatchOverride {
        path: text(value, "path"),
        patch: text(value, "patch"),
        target: value.get("target").map(|target| PatchTarget {
            group: text(target, "group"),
            version: text(target, "version"),
            kind: text(target, "kind"),
            name: text(target, "name"),
            namespace: text(target, "namespace"),
            label_selector: text(target, "labelSelector"),
            annotation_selector: text(target, "annotationSelector"),
        }),
        options: options
            .map(|(name, flag)| (name.clone(), flag.as_bool().unwrap_or_default()))
            .collect(),
    }
}

/// What Argo CD does to the kustomization file, in its order.
pub(crate) fn edits(it: &Overrides) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut run = |words: &[&str], more: &[String]| {
        if !more.is_empty() {
            let words = words.iter().map(|word| (*word).to_owned());
            edits.push(Edit::Command(words.chain(more.iter().cloned()).collect()));
        }
    };
    let one = |text: &String| if text.is_empty() { vec![] } else { vec![text.clone()] };
    run(&["set", "nameprefix", "--"], &one(&it.name_prefix));
    run(&["set", "namesuffix", "--"], &one(&it.name_suffix));
    run(&["set", "image"], &it.images);
    let replicas = it.replicas.iter().map(|it| format!("{}={}", it.name, it.count));
    run(&["set", "replicas"], &replicas.collect::<Vec<_>>());
    let mut label = vec!["add", "label"];
    label.extend(it.force_common_labels.then_some("--force"));
    label.extend(it.label_without_selector.then_some("--without-selector"));
    label.extend(it.label_include_templates.then_some("--include-templates"));
    let pairs = |map: &std::collections::BTreeMap<String, String>| {
        map.iter().map(|(key, value)| format!("{key}:{value}")).collect::<Vec<_>>()
    };
    run(&label, &pairs(&it.common_labels));
    let mut annotation = vec!["add", "annotation"];
    annotation.extend(it.force_common_annotations.then_some("--force"));
    run(&annotation, &pairs(&it.common_annotations));
    run(&["set", "namespace", "--"], &one(&it.namespace));
    if !it.patches.is_empty() {
        let patches = it.patches.clone();
        edits.push(Edit::Text(Box::new(move |text| with_patches(text, &patches))));
    }
    let components = it.components.clone();
    if !components.is_empty() {
        let words = ["add", "component"].map(str::to_owned);
        edits.push(Edit::Command(words.into_iter().chain(components).collect()));
    }
    edits
}

fn with_patches(text: &str, patches: &[PatchOverride]) -> String {
    let mut value = gocompat::yaml::to_value(text).expect("the kustomization is YAML");
    let list = &mut value["patches"];
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    let list = list.as_array_mut().expect("patches are a list");
    list.extend(patches.iter().map(printed));
    gocompat::yaml::from_value(&value)
}

fn printed(patch: &PatchOverride) -> Value {
    let mut value = serde_json::Map::new();
    let mut put = |name: &str, text: &str| {
        if !text.is_empty() {
            value.insert(name.to_owned(), text.into());
        }
    };
    put("path", &patch.path);
    put("patch", &patch.patch);
    if let Some(target) = &patch.target {
        let mut fields = serde_json::Map::new();
        for (name, text) in [
            ("group", &target.group),
            ("version", &target.version),
            ("kind", &target.kind),
            ("name", &target.name),
            ("namespace", &target.namespace),
            ("labelSelector", &target.label_selector),
            ("annotationSelector", &target.annotation_selector),
        ] {
            if !text.is_empty() {
                fields.insert(name.to_owned(), text.as_str().into());
            }
        }
        value.insert("target".to_owned(), fields.into());
    }
    if !patch.options.is_empty() {
        value.insert("options".to_owned(), serde_json::to_value(&patch.options).expect("a map"));
    }
    Value::Object(value)
}
