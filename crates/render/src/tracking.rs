//! Which application an object belongs to, written on the object itself.
//!
//! The annotation holds the application and the object's own key, so that a
//! copy made by someone else (an operator that copies annotations) is told
//! from the original. The label is what older versions used, and what people
//! select by. Start at [`set`].

use std::fmt;
use std::str::FromStr;

use object::{Object, ResourceKey};
use serde_json::{Map, Value};

/// The annotation that names the application and the object.
pub const TRACKING_ANNOTATION: &str = "argocd.argoproj.io/tracking-id";
/// The annotation that tells several installations on one cluster apart.
pub const INSTALLATION_ANNOTATION: &str = "argocd.argoproj.io/installation-id";
/// The label used when the settings name none.
pub const DEFAULT_LABEL: &str = "app.kubernetes.io/instance";
/// The label of the first versions, which is put on pod templates as well.
const LEGACY_LABEL: &str = "applications.argoproj.io/app-name";
/// The longest value Kubernetes allows in a label.
const LABEL_MAX: usize = 63;

/// How objects are marked: setting `application.resourceTrackingMethod`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrackingMethod {
    /// By annotation; the default.
    #[default]
    Annotation,
    /// By label alone.
    Label,
    /// By annotation; the label is there for people.
    AnnotationAndLabel,
}

impl TrackingMethod {
    /// Reads the setting. Anything unknown, and nothing at all, is the annotation.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "label" => Self::Label,
            "annotation+label" => Self::AnnotationAndLabel,
            _ => Self::Annotation,
        }
    }

    /// The setting's own spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Annotation => "annotation",
            Self::Label => "label",
            Self::AnnotationAndLabel => "annotation+label",
        }
    }
}

/// The settings that decide how objects are marked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tracking {
    /// By annotation, label or both.
    pub method: TrackingMethod,
    /// The label's key; usually [`DEFAULT_LABEL`].
    pub label_key: String,
    /// The id of this installation; empty when it is the only one.
    pub installation_id: String,
}

impl Default for Tracking {
    fn default() -> Self {
        Self {
            method: TrackingMethod::default(),
            label_key: DEFAULT_LABEL.to_owned(),
            installation_id: String::new(),
        }
    }
}

/// The content of the annotation: `guestbook:apps/Deployment:web/ui`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackingId {
    /// The application's instance name.
    pub app: String,
    /// The object the annotation was written for.
    pub key: ResourceKey,
}

/// Why an object cannot be marked. Shown to the author of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrackingError {
    /// A label or annotation is no string: `port: 80` instead of `port: "80"`.
    #[error("metadata.{map} of {key} must be strings, but {name:?} is {found}; put it in quotes")]
    NotAString {
        /// The object.
        key: Box<ResourceKey>,
        /// `labels` or `annotations`.
        map: &'static str,
        /// The name of the label or annotation.
        name: String,
        /// What stands there instead.
        found: String,
    },
    /// `labels` or `annotations` is not a mapping at all.
    #[error("metadata.{map} of {key} must be a mapping of names to strings")]
    NotAMapping {
        /// The object.
        key: Box<ResourceKey>,
        /// `labels` or `annotations`.
        map: &'static str,
    },
    /// The application's name has no cut that is a legal label.
    #[error("unable to truncate label to not end with a special character")]
    Label,
    /// The text of an annotation is not ours.
    #[error(
        "wrong resource tracking format, should be <application-name>:<group>/<kind>:<namespace>/<name>"
    )]
    Format,
}

/// Marks `object` as part of `app`. `namespace` is the destination's, used for
/// objects that name none.
///
/// # Errors
/// When the object's labels or annotations are not strings.
pub fn set(
    object: &mut Object,
    app: &str,
    namespace: &str,
    tracking: &Tracking,
) -> Result<(), TrackingError> {
    match tracking.method {
        // Label tracking reads the application's name back from the label, so
        // a cut name would be another application's: Kubernetes refuses it instead.
        TrackingMethod::Label => set_label(object, &tracking.label_key, app),
        TrackingMethod::Annotation => set_annotation(object, app, namespace, tracking),
        TrackingMethod::AnnotationAndLabel => {
            set_annotation(object, app, namespace, tracking)?;
            set_label(object, &tracking.label_key, truncate_label(app)?)
        }
    }
}

/// Takes the marks of `method` away.
///
/// # Errors
/// When the object's labels or annotations are not strings.
pub fn remove(object: &mut Object, method: TrackingMethod) -> Result<(), TrackingError> {
    if method != TrackingMethod::Label {
        remove_from(object, "annotations", TRACKING_ANNOTATION)?;
        remove_from(object, "annotations", INSTALLATION_ANNOTATION)?;
    }
    if method != TrackingMethod::Annotation {
        remove_from(object, "labels", DEFAULT_LABEL)?;
    }
    Ok(())
}

/// The application an object says it belongs to.
#[must_use]
pub fn app_name(object: &Object, tracking: &Tracking) -> Option<String> {
    match tracking.method {
        TrackingMethod::Label => object.label(&tracking.label_key).map(str::to_owned),
        TrackingMethod::Annotation | TrackingMethod::AnnotationAndLabel => {
            tracking_id(object, tracking).map(|id| id.app)
        }
    }
    .filter(|app| !app.is_empty())
}

/// The annotation, if there is one of this installation.
#[must_use]
pub fn tracking_id(object: &Object, tracking: &Tracking) -> Option<TrackingId> {
    let installation = object.annotation(INSTALLATION_ANNOTATION).unwrap_or_default();
    if !tracking.installation_id.is_empty() && installation != tracking.installation_id {
        return None;
    }
    object.annotation(TRACKING_ANNOTATION)?.parse().ok()
}

/// Spares a live object the difference that a change of the tracking method
/// would make, until its next sync.
///
/// # Errors
/// When labels or annotations of either are not strings.
pub fn normalise(
    want: &Object,
    live: &mut Object,
    label_key: &str,
    method: TrackingMethod,
) -> Result<(), TrackingError> {
    if method == TrackingMethod::Label || text_in(live, "labels", label_key)?.is_empty() {
        return Ok(());
    }
    if is_custom_resource_definition(live) {
        return Ok(());
    }
    // Only a missing annotation is filled in. One that differs means that the
    // object moved to another application, which the diff must show.
    if text_in(live, "annotations", TRACKING_ANNOTATION)?.is_empty() {
        let wanted = text_in(want, "annotations", TRACKING_ANNOTATION)?.to_owned();
        live.set_annotation(TRACKING_ANNOTATION, &wanted);
    }
    if text_in(want, "labels", label_key)?.is_empty() {
        remove_from(live, "labels", label_key)?;
    }
    Ok(())
}

/// Cuts a name to what a label may hold, ending in a letter or digit.
///
/// # Errors
/// When every cut ends in something else.
pub fn truncate_label(name: &str) -> Result<&str, TrackingError> {
    if name.len() <= LABEL_MAX {
        return Ok(name);
    }
    let cut = name.floor_char_boundary(LABEL_MAX);
    let trimmed = name[..cut].trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
    if trimmed.is_empty() { Err(TrackingError::Label) } else { Ok(trimmed) }
}

/// Custom resource definitions are shared by applications and carry no marks.
#[must_use]
pub fn is_custom_resource_definition(object: &Object) -> bool {
    object.group_kind().is("apiextensions.k8s.io", "CustomResourceDefinition")
}

impl TrackingId {
    /// The id of `object` as part of `app`.
    #[must_use]
    pub fn of(object: &Object, app: &str, namespace: &str) -> Self {
        let mut key = object.key();
        if key.namespace.is_empty() {
            namespace.clone_into(&mut key.namespace);
        }
        Self { app: app.to_owned(), key }
    }
}

impl fmt::Display for TrackingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ResourceKey { group, kind, namespace, name } = &self.key;
        write!(f, "{}:{group}/{kind}:{namespace}/{name}", self.app)
    }
}

impl FromStr for TrackingId {
    type Err = TrackingError;

    fn from_str(text: &str) -> Result<Self, TrackingError> {
        let mut parts = text.splitn(3, ':');
        let (Some(app), Some(kind), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(TrackingError::Format);
        };
        let (group, kind) = halves(kind)?;
        let (namespace, name) = halves(name)?;
        let [group, kind, namespace, name] = [group, kind, namespace, name].map(str::to_owned);
        Ok(Self { app: app.to_owned(), key: ResourceKey { group, kind, namespace, name } })
    }
}

fn halves(text: &str) -> Result<(&str, &str), TrackingError> {
    match text.split_once('/') {
        Some((left, right)) if !right.contains('/') => Ok((left, right)),
        _ => Err(TrackingError::Format),
    }
}

fn set_annotation(
    object: &mut Object,
    app: &str,
    namespace: &str,
    tracking: &Tracking,
) -> Result<(), TrackingError> {
    strings_in(object, "annotations")?;
    if tracking.installation_id.is_empty() {
        remove_from(object, "annotations", INSTALLATION_ANNOTATION)?;
    } else {
        object.set_annotation(INSTALLATION_ANNOTATION, &tracking.installation_id);
    }
    let id = TrackingId::of(object, app, namespace).to_string();
    object.set_annotation(TRACKING_ANNOTATION, &id);
    Ok(())
}

fn set_label(object: &mut Object, label: &str, app: &str) -> Result<(), TrackingError> {
    strings_in(object, "labels")?;
    object.set_label(label, app);
    if label == LEGACY_LABEL && has_pod_template(object) {
        set_template_label(object, app);
    }
    Ok(())
}

fn has_pod_template(object: &Object) -> bool {
    let kind = object.group_kind();
    match kind.group.as_str() {
        "apps" | "extensions" => {
            matches!(kind.kind.as_str(), "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        }
        "batch" => kind.kind == "Job",
        _ => false,
    }
}

fn set_template_label(object: &mut Object, app: &str) {
    // Beta workloads without a selector got one from the template's labels;
    // ours must not become part of it, so the selector is written out.
    let defaults_selector = matches!(object.api_version(), "apps/v1beta1" | "extensions/v1beta1")
        && object.at(&["spec", "selector"]).and_then(Value::as_object).is_none_or(Map::is_empty);
    let Some(spec) = object.fields_mut().get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let labels = ["template", "metadata", "labels"].iter().fold(&mut *spec, |map, field| {
        let slot = map.entry(*field).or_insert(Value::Null);
        if !slot.is_object() {
            *slot = Value::Object(Map::new());
        }
        slot.as_object_mut().expect("was just made a mapping")
    });
    let before = labels.clone();
    labels.insert(LEGACY_LABEL.to_owned(), Value::String(app.to_owned()));
    if defaults_selector {
        spec.insert("selector".to_owned(), serde_json::json!({ "matchLabels": before }));
    }
}

/// The entries of `metadata.labels` or `metadata.annotations`, all strings.
fn strings_in<'o>(
    object: &'o Object,
    map: &'static str,
) -> Result<Option<&'o Map<String, Value>>, TrackingError> {
    let entries = match object.at(&["metadata", map]) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(entries)) => entries,
        Some(_) => return Err(TrackingError::NotAMapping { key: Box::new(object.key()), map }),
    };
    match entries.iter().find(|(_, value)| !value.is_string()) {
        None => Ok(Some(entries)),
        Some((name, value)) => Err(TrackingError::NotAString {
            key: Box::new(object.key()),
            map,
            name: name.clone(),
            found: value.to_string(),
        }),
    }
}

fn text_in<'o>(
    object: &'o Object,
    map: &'static str,
    name: &str,
) -> Result<&'o str, TrackingError> {
    let entries = strings_in(object, map)?;
    Ok(entries.and_then(|it| it.get(name)).and_then(Value::as_str).unwrap_or_default())
}

/// Takes one entry away, and the mapping with it when it was the last.
fn remove_from(object: &mut Object, map: &'static str, name: &str) -> Result<(), TrackingError> {
    if strings_in(object, map)?.is_none_or(|entries| !entries.contains_key(name)) {
        return Ok(());
    }
    if let Some(Value::Object(metadata)) = object.fields_mut().get_mut("metadata")
        && let Some(Value::Object(entries)) = metadata.get_mut(map)
    {
        entries.remove(name);
        if entries.is_empty() {
            metadata.remove(map);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tracked(value: Value, tracking: &Tracking) -> Value {
        let mut object = Object::from_value(value).unwrap();
        set(&mut object, "guestbook", "web", tracking).unwrap();
        object.into_value()
    }

    fn by(method: &str) -> Tracking {
        Tracking { method: TrackingMethod::parse(method), ..Tracking::default() }
    }

    #[test]
    fn the_annotation_names_the_object_with_the_destination_namespace() {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "ui"}});
        let marked = tracked(service, &by("annotation"));
        assert_eq!(
            marked["metadata"]["annotations"],
            json!({TRACKING_ANNOTATION: "guestbook:/Service:web/ui"})
        );
    }

    #[test]
    fn an_object_with_a_generated_name_is_marked_without_name() {
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "migrate-"}});
        let marked = tracked(job, &by("annotation"));
        assert_eq!(
            marked["metadata"]["annotations"][TRACKING_ANNOTATION],
            "guestbook:batch/Job:web/"
        );
    }

    #[test]
    fn a_number_among_annotations_is_refused_with_its_name() {
        let mut object = Object::from_value(json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "ui", "namespace": "web", "annotations": {"port": 80}},
        }))
        .unwrap();
        let error = set(&mut object, "guestbook", "", &by("annotation")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "metadata.annotations of Service web/ui must be strings, but \"port\" is 80; put it in quotes"
        );
    }

    #[test]
    fn the_label_of_the_first_versions_reaches_pod_templates_but_no_defaulted_selector() {
        let legacy = Tracking { label_key: LEGACY_LABEL.to_owned(), ..by("label") };
        let deployment = |version: &str| {
            json!({
                "apiVersion": version, "kind": "Deployment", "metadata": {"name": "ui"},
                "spec": {"template": {"metadata": {"labels": {"app": "ui"}}}},
            })
        };
        let marked = tracked(deployment("apps/v1"), &legacy);
        let labels = json!({"app": "ui", LEGACY_LABEL: "guestbook"});
        assert_eq!(marked["spec"]["template"]["metadata"]["labels"], labels);
        let marked = tracked(deployment("apps/v1beta1"), &legacy);
        assert_eq!(marked["spec"]["selector"], json!({"matchLabels": {"app": "ui"}}));
        assert_eq!(marked["spec"]["template"]["metadata"]["labels"], labels);
    }
}
