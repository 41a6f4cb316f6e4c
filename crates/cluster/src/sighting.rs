//! One object as a watch shows it, read without building a tree.
//!
//! [`Sighting::read`] looks at the metadata through borrowed slices, asks the
//! tracking rule who owns the object, and copies the body only if somebody
//! does: the other nine tenths of a cluster leave nothing but a few numbers.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::field_sets::{FieldSets, WishCount};
use crate::kinds::ApiKind;
use crate::packing::{Body, Patterns};

/// Tells which application an object belongs to, from its labels and annotations.
pub trait Tracking: Send + Sync + 'static {
    /// The application, or `None` when the object is nobody's.
    fn application(&self, object: &Tagged<'_>) -> Option<String>;
}

impl<F> Tracking for F
where
    F: Fn(&Tagged<'_>) -> Option<String> + Send + Sync + 'static,
{
    fn application(&self, object: &Tagged<'_>) -> Option<String> {
        self(object)
    }
}

/// What a tracking rule may look at.
#[derive(Debug)]
pub struct Tagged<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The namespace; empty for what is cluster-scoped.
    pub namespace: &'a str,
    /// The name.
    pub name: &'a str,
    labels: &'a Fields<'a>,
    annotations: &'a Fields<'a>,
}

impl Tagged<'_> {
    /// One annotation.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<String> {
        self.annotations.text(name)
    }

    /// One label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<String> {
        self.labels.text(name)
    }
}

/// The identity that outlives a name: an object deleted and created again has another one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Uid {
    Absent,
    Uuid([u8; 16]),
    Other(Arc<str>),
}

impl Uid {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "" => Self::Absent,
            _ => parse_uuid(text).map_or_else(|| Self::Other(text.into()), Self::Uuid),
        }
    }
}

/// Only the spelling that printing gives back counts as a UUID.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.as_bytes();
    if text.len() != 36 || [8, 13, 18, 23].iter().any(|dash| text[*dash] != b'-') {
        return None;
    }
    let mut digits = text.iter().filter(|it| **it != b'-').map(|it| match it {
        b'0'..=b'9' => Some(it - b'0'),
        b'a'..=b'f' => Some(it - b'a' + 10),
        _ => None,
    });
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        *byte = digits.next()?? << 4 | digits.next()??;
    }
    digits.next().is_none().then_some(bytes)
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => Ok(()),
            Self::Other(text) => f.write_str(text),
            Self::Uuid(bytes) => {
                for (index, byte) in bytes.iter().enumerate() {
                    if matches!(index, 4 | 6 | 8 | 10) {
                        f.write_str("-")?;
                    }
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What the store learns from one sight of an object.
#[derive(Debug)]
pub(crate) struct Sighting {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: Uid,
    /// Compared as a number only between states of one kind, to know which write is newer.
    pub(crate) version: u64,
    pub(crate) generation: i64,
    pub(crate) deleting: bool,
    pub(crate) owners: Vec<Uid>,
    pub(crate) application: Option<String>,
    /// Present for tracked objects.
    pub(crate) body: Option<Body>,
    /// How many wishes for field sets the body fulfils.
    pub(crate) wishes: WishCount,
    /// What a Pod runs, each image once; empty for other kinds.
    pub(crate) images: Box<[Box<str>]>,
}

/// How the store looks at objects.
pub(crate) struct Lens {
    pub(crate) tracking: Arc<dyn Tracking>,
    /// Whose entries in managedFields are kept.
    pub(crate) field_sets: FieldSets,
    /// What the bodies of each kind have in common.
    pub(crate) patterns: Patterns,
}

impl Lens {
    pub(crate) fn new(tracking: Arc<dyn Tracking>, own_manager: String) -> Self {
        Self { tracking, field_sets: FieldSets::of(own_manager), patterns: Patterns::default() }
    }
}

impl Sighting {
    pub(crate) fn read(kind: &ApiKind, bytes: &[u8], lens: &Lens) -> serde_json::Result<Self> {
        let top: Top<'_> = serde_json::from_slice(bytes)?;
        let meta = Meta::of(&top.metadata)?;
        let labels = meta.labels.unwrap_or_default();
        let annotations = meta.annotations.unwrap_or_default();
        let application = lens.tracking.application(&Tagged {
            group: &kind.group,
            kind: &kind.kind,
            namespace: &meta.namespace,
            name: &meta.name,
            labels: &labels,
            annotations: &annotations,
        });
        let kept = lens.field_sets.kept();
        let managers = || kept.managers(&kind.group, &kind.kind);
        let body = application.as_ref().map(|_| body(kind, &top, &managers()));
        let pack = |body: Vec<u8>| lens.patterns.pack(&kind.group_kind(), &body);
        let owners = meta.owner_references.unwrap_or_default();
        let account = account_of_token(kind, &top, &annotations);
        Ok(Self {
            uid: Uid::parse(&meta.uid),
            version: meta.resource_version.parse().unwrap_or(0),
            generation: meta.generation.unwrap_or(0),
            deleting: meta.deletion_timestamp.is_some(),
            owners: owners.iter().map(|it| Uid::parse(&it.uid)).chain(account).collect(),
            namespace: meta.namespace.into_owned(),
            name: meta.name.into_owned(),
            application,
            body: body.transpose()?.map(pack),
            wishes: kept.count(),
            images: match (kind.group.as_str(), kind.kind.as_str()) {
                ("", "Pod") => images(&top),
                _ => Box::default(),
            },
        })
    }
}

/// A token belongs to its service account, which it names by an annotation only.
fn account_of_token(kind: &ApiKind, top: &Top<'_>, annotations: &Fields<'_>) -> Option<Uid> {
    if (kind.group.as_str(), kind.kind.as_str()) != ("", "Secret")
        || top.others.text("type")? != "kubernetes.io/service-account-token"
    {
        return None;
    }
    annotations.text("kubernetes.io/service-account.uid").map(|it| Uid::parse(&it))
}

/// The images of a Pod. One that cannot be read has none.
fn images(pod: &Top<'_>) -> Box<[Box<str>]> {
    #[derive(Deserialize, Default)]
    #[serde(default, rename_all = "camelCase")]
    struct Spec<'a> {
        #[serde(borrow)]
        containers: Vec<Container<'a>>,
        #[serde(borrow)]
        init_containers: Option<Vec<Container<'a>>>,
    }
    #[derive(Deserialize)]
    struct Container<'a> {
        #[serde(borrow, default)]
        image: Cow<'a, str>,
    }
    let spec =
        pod.others.get("spec").and_then(|it| serde_json::from_str::<Spec<'_>>(it.get()).ok());
    let Spec { containers, init_containers } = spec.unwrap_or_default();
    let all = containers.into_iter().chain(init_containers.unwrap_or_default());
    let images: BTreeSet<Box<str>> = all.map(|it| it.image.into()).collect();
    images.into_iter().filter(|it| !it.is_empty()).collect()
}

/// Makes the bytes of any object compact, as the store would keep it.
pub(crate) fn compact_body(kind: &ApiKind, bytes: &[u8], lens: &Lens) -> serde_json::Result<Body> {
    let kept = lens.field_sets.kept();
    let managers = kept.managers(&kind.group, &kind.kind);
    let body = body(kind, &serde_json::from_slice(bytes)?, &managers)?;
    Ok(lens.patterns.pack(&kind.group_kind(), &body))
}

/// The object without the field sets of other managers than these, which are half of it and which nobody reads.
fn body(kind: &ApiKind, top: &Top<'_>, managers: &[&str]) -> serde_json::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(1024);
    out.push(b'{');
    // Items of a typed list do not say what they are.
    for (name, value) in [("apiVersion", kind.api_version()), ("kind", kind.kind.clone())] {
        if top.others.get(name).is_none() {
            push_field(&mut out, name, &serde_json::to_string(&value)?)?;
        }
    }
    push_name(&mut out, "metadata")?;
    out.push(b'{');
    for (name, value) in &top.metadata.0 {
        if name == "managedFields" {
            let kept = entries_of(value, managers)?;
            if !kept.is_empty() {
                push_field(&mut out, name, &format!("[{}]", kept.join(",")))?;
            }
        } else {
            push_field(&mut out, name, value.get())?;
        }
    }
    out.push(b'}');
    for (name, value) in &top.others.0 {
        push_field(&mut out, name, value.get())?;
    }
    out.push(b'}');
    Ok(out)
}

fn push_name(out: &mut Vec<u8>, name: &str) -> serde_json::Result<()> {
    if !out.ends_with(b"{") {
        out.push(b',');
    }
    serde_json::to_writer(&mut *out, name)?;
    out.push(b':');
    Ok(())
}

fn push_field(out: &mut Vec<u8>, name: &str, value: &str) -> serde_json::Result<()> {
    push_name(out, name)?;
    out.extend_from_slice(value.as_bytes());
    Ok(())
}

fn entries_of<'a>(managed: &'a RawValue, managers: &[&str]) -> serde_json::Result<Vec<&'a str>> {
    let entries: Option<Vec<&RawValue>> = serde_json::from_str(managed.get())?;
    let is_theirs =
        |entry: &&RawValue| manager_of(entry).is_some_and(|it| managers.contains(&it.as_ref()));
    Ok(entries.unwrap_or_default().into_iter().filter(is_theirs).map(RawValue::get).collect())
}

/// Whose entry of managedFields this is. API servers say it first: what follows is long, and left unread.
fn manager_of<'a>(entry: &'a RawValue) -> Option<Cow<'a, str>> {
    struct Manager<'m, 'a>(&'m mut Option<Cow<'a, str>>);
    impl<'de> Visitor<'de> for Manager<'_, 'de> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an entry of managedFields")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(Text(name)) = map.next_key()? {
                if name == "manager" {
                    *self.0 = Some(map.next_value::<Text<'_>>()?.0);
                    return Ok(());
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut manager = None;
    // It fails where it stops early, and has the answer then.
    serde_json::Deserializer::from_str(entry.get()).deserialize_map(Manager(&mut manager)).ok();
    manager
}

/// A text, borrowed where it has no escapes.
#[derive(Deserialize, Default)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// What the store reads of the metadata.
#[derive(Default)]
struct Meta<'a> {
    namespace: Cow<'a, str>,
    name: Cow<'a, str>,
    uid: Cow<'a, str>,
    resource_version: Cow<'a, str>,
    generation: Option<i64>,
    deletion_timestamp: Option<&'a RawValue>,
    owner_references: Option<Vec<Owner<'a>>>,
    labels: Option<Fields<'a>>,
    annotations: Option<Fields<'a>>,
}

impl<'a> Meta<'a> {
    fn of(metadata: &Fields<'a>) -> serde_json::Result<Self> {
        fn read<'a, T: Deserialize<'a>>(value: &'a RawValue) -> serde_json::Result<T> {
            serde_json::from_str(value.get())
        }
        let mut meta = Self::default();
        for (name, value) in &metadata.0 {
            let text = || read::<Text<'_>>(value).map(|Text(it)| it);
            match name.as_ref() {
                "namespace" => meta.namespace = text()?,
                "name" => meta.name = text()?,
                "uid" => meta.uid = text()?,
                "resourceVersion" => meta.resource_version = text()?,
                "generation" => meta.generation = read(value)?,
                "deletionTimestamp" if value.get() != "null" => {
                    meta.deletion_timestamp = Some(value);
                }
                "ownerReferences" => meta.owner_references = read(value)?,
                "labels" => meta.labels = read(value)?,
                "annotations" => meta.annotations = read(value)?,
                _ => {}
            }
        }
        Ok(meta)
    }
}

#[derive(Deserialize)]
struct Owner<'a> {
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
}

/// An object, whose metadata are opened and whose other fields are left as text: each byte is looked at once.
#[derive(Default)]
struct Top<'a> {
    metadata: Fields<'a>,
    others: Fields<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Top<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TopVisitor;
        impl<'de> Visitor<'de> for TopVisitor {
            type Value = Top<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut top = Top::default();
                while let Some(Text(name)) = map.next_key()? {
                    if name == "metadata" {
                        top.metadata = map.next_value()?;
                    } else {
                        top.others.0.push((name, map.next_value()?));
                    }
                }
                Ok(top)
            }
        }
        deserializer.deserialize_map(TopVisitor)
    }
}

/// A JSON object whose values are left as text.
#[derive(Debug, Default)]
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use object::GroupVersionKind;
    use serde_json::{Value, json};

    use super::*;
    use crate::field_sets::FieldSetWish;

    fn config_map() -> ApiKind {
        ApiKind::known(&GroupVersionKind::parse("v1", "ConfigMap"), "configmaps", true)
    }

    fn lens() -> Lens {
        let tracking = |it: &Tagged<'_>| it.annotation("app").or_else(|| it.label("app"));
        Lens::new(Arc::new(tracking), "us".into())
    }

    fn sight(value: &Value) -> Sighting {
        Sighting::read(&config_map(), value.to_string().as_bytes(), &lens()).expect("an object")
    }

    fn body_of(value: &Value) -> Value {
        serde_json::from_slice(&sight(value).body.expect("tracked").unpack()).expect("JSON")
    }

    #[test]
    fn whose_entry_it_is_may_stand_anywhere_in_it() {
        for (entry, expect) in [
            (r#"{"manager":"us","fieldsV1":{"f:data":{}}}"#, Some("us")),
            (r#"{"fieldsV1":{"manager":"they"},"manager":"us"}"#, Some("us")),
            (r#"{"operation":"Update","manager":"u\u0073"}"#, Some("us")),
            (r#"{"fieldsV1":{"manager":"they"}}"#, None),
            (r#"{"manager":7}"#, None),
            (r#"["manager"]"#, None),
        ] {
            let raw = serde_json::from_str::<&RawValue>(entry).expect("JSON");
            assert_eq!(manager_of(raw).as_deref(), expect, "{entry}");
        }
    }

    #[test]
    fn an_object_that_nobody_tracks_leaves_its_body_behind() {
        let seen = sight(&json!({"metadata": {
            "name": "a", "namespace": "n", "uid": "0123abcd-0000-4000-8000-00000000000f",
            "resourceVersion": "12", "generation": 3, "deletionTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"uid": "x", "name": "y"}]
        }, "data": {"k": "v"}}));
        assert_eq!((seen.name.as_str(), seen.namespace.as_str()), ("a", "n"));
        assert_eq!((seen.version, seen.generation, seen.deleting), (12, 3, true));
        assert_eq!(seen.owners, [Uid::parse("x")]);
        assert!(seen.application.is_none() && seen.body.is_none());
    }

    #[test]
    fn a_tracked_object_keeps_its_body_and_of_the_field_sets_only_ours() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"k\"q": 1.50},
            "metadata": {"name": "a", "annotations": {"app": "web", "last": "{\"a\":\"\\u00e9\"}"},
                "managedFields": [{"manager": "them", "f": 1}, {"manager": "us", "f": 2}]}});
        let mut expect = object.clone();
        expect["metadata"]["managedFields"] = json!([{"manager": "us", "f": 2}]);
        assert_eq!(body_of(&object), expect);
        assert_eq!(sight(&object).application.as_deref(), Some("web"));
    }

    #[test]
    fn field_sets_that_were_wished_for_are_kept_too() {
        let object = json!({"metadata": {"labels": {"app": "web"}, "managedFields": [
            {"manager": "them", "f": 1}, {"manager": "us", "f": 2}, {"manager": "trusted", "f": 3}]}});
        let lens = lens();
        let wish =
            FieldSetWish { group: "*".into(), kind: "ConfigMap".into(), manager: "trusted".into() };
        lens.field_sets.wish([wish]);
        let bytes = object.to_string();
        let seen = Sighting::read(&config_map(), bytes.as_bytes(), &lens).expect("an object");
        let body = seen.body.expect("tracked").unpack();
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let kept = json!([{"manager": "us", "f": 2}, {"manager": "trusted", "f": 3}]);
        assert_eq!((&body["metadata"]["managedFields"], seen.wishes), (&kept, 1));
    }

    #[test]
    fn field_sets_of_others_alone_leave_no_trace() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"labels": {"app": "web"}, "managedFields": [{"manager": "them"}]}});
        let expect = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"app": "web"}}});
        assert_eq!(body_of(&object), expect);
    }

    #[test]
    fn a_token_belongs_to_its_service_account() {
        let secret = ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true);
        let owners = |kind: &str| {
            let object = json!({"type": kind, "metadata": {"name": "t",
                "annotations": {"kubernetes.io/service-account.uid": "account"}}});
            let seen = Sighting::read(&secret, object.to_string().as_bytes(), &lens());
            seen.expect("an object").owners
        };
        assert_eq!(owners("kubernetes.io/service-account-token"), [Uid::parse("account")]);
        assert_eq!(owners("Opaque"), []);
    }

    #[test]
    fn of_a_pod_that_nobody_tracks_the_images_are_kept() {
        let pod = ApiKind::known(&GroupVersionKind::parse("v1", "Pod"), "pods", true);
        let object = json!({"metadata": {"name": "p"}, "spec": {
            "containers": [{"name": "a", "image": "web:1"}, {"name": "b", "image": "proxy:2"}],
            "initContainers": [{"image": "web:1"}, {"image": "setup:3"}]}});
        let images = |kind: &ApiKind| {
            let seen = Sighting::read(kind, object.to_string().as_bytes(), &lens());
            seen.expect("an object").images.join(" ")
        };
        assert_eq!(images(&pod), "proxy:2 setup:3 web:1");
        assert_eq!(images(&config_map()), "");
    }

    #[test]
    fn an_item_of_a_list_is_told_what_it_is() {
        let item = json!({"metadata": {"labels": {"app": "web"}}});
        let expect = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"app": "web"}}});
        assert_eq!(body_of(&item), expect);
    }

    #[test]
    fn null_metadata_fields_read_as_absent() {
        let seen = sight(&json!({"metadata": {"name": "a", "labels": null, "annotations": null,
            "ownerReferences": null, "deletionTimestamp": null}}));
        assert!(!seen.deleting && seen.owners.is_empty());
    }

    #[test]
    fn a_uid_prints_as_it_was_read() {
        for text in [
            "",
            "0123abcd-0000-4000-8000-00000000000f",
            "0123ABCD-0000-4000-8000-00000000000F",
            "odd",
        ] {
            assert_eq!(Uid::parse(text).to_string(), text);
        }
        assert!(matches!(Uid::parse("0123abcd-0000-4000-8000-00000000000f"), Uid::Uuid(_)));
    }
}
