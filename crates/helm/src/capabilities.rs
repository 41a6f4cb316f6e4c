//! What the cluster can do, as templates see it.

use std::any::Any;
use std::borrow::Cow;
use std::rc::Rc;

use template::{
    ElementType, Function, JsonForm, Kind, List, Member, NamedList, Object, Parameter, Text, Value,
};

use crate::error::Error;

/// The version of Helm whose behaviour this is.
const HELM_VERSION: &str = "v4.2.4";

/// A Kubernetes version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeVersion {
    /// As given, with a `v` in front.
    pub version: String,
    /// Without what follows the numbers.
    normalized: String,
    major: String,
    minor: String,
}

impl KubeVersion {
    /// Reads a version such as `1.33`, `v1.33.2` or `v1.33.2-gke.100`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |reason: String| Error::KubeVersion { version: text.to_owned(), reason };
        let bare = text.trim().strip_prefix('v').unwrap_or(text.trim());
        let end = bare.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(bare.len());
        let numbers = bare[..end].trim_end_matches('.');
        let parts: Vec<&str> = numbers.split('.').collect();
        if parts.len() < 2 {
            return Err(invalid(format!("could not parse {text:?} as version")));
        }
        for part in &parts {
            if part.is_empty() || part.parse::<u32>().is_err() {
                return Err(invalid(format!("could not parse {text:?} as version")));
            }
            if part.len() > 1 && part.starts_with('0') {
                return Err(invalid(format!(
                    "illegal zero-prefixed version component {part:?} in {text:?}"
                )));
            }
        }
        let version = if text.starts_with('v') { text.to_owned() } else { format!("v{text}") };
        Ok(Self {
            version,
            normalized: format!("v{}", parts.join(".")),
            major: parts[0].to_owned(),
            minor: parts[1].to_owned(),
        })
    }

    /// The version constraints are checked against.
    pub(crate) fn normalized(&self) -> &str {
        &self.normalized
    }
}

impl Default for KubeVersion {
    /// What Helm 4.2 assumes.
    fn default() -> Self {
        Self {
            version: "v1.36.0".into(),
            normalized: "v1.36.0".into(),
            major: "1".into(),
            minor: "36".into(),
        }
    }
}

/// What the cluster can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The version of Kubernetes.
    pub kube_version: KubeVersion,
    /// API versions beside those that Helm knows: `group/version` or `group/version/Kind`.
    pub api_versions: Vec<String>,
}

impl Capabilities {
    pub(crate) fn to_value(&self) -> Value {
        let known = KNOWN_API_VERSIONS.iter().copied();
        let versions = known.chain(self.api_versions.iter().map(String::as_str));
        let items = versions.map(Value::string).collect();
        let api_versions = List::new(ElementType::String, items).named(&VERSION_SET);
        let kube_version = Value::Object(Rc::new(KubeVersionObject(self.kube_version.clone())));
        let helm_version = Value::Object(Rc::new(HelmVersion));
        Value::Object(Rc::new(CapabilitiesObject { kube_version, api_versions, helm_version }))
    }
}

static VERSION_SET: NamedList = NamedList {
    type_name: "common.VersionSet",
    method: |list, name| {
        let list = list.clone();
        (name == "Has").then(|| {
            Function::bound(&[Parameter::String], move |_, arguments| {
                Ok(Value::Bool(list.iter().any(|item| item.deep_equal(&arguments[0]))))
            })
        })
    },
};

struct CapabilitiesObject {
    kube_version: Value,
    api_versions: List,
    helm_version: Value,
}

impl Object for CapabilitiesObject {
    fn type_name(&self) -> Cow<'static, str> {
        "*common.Capabilities".into()
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn member(&self, name: &str) -> Option<Member> {
        Some(Member::Field(match name {
            "KubeVersion" => self.kube_version.clone(),
            "APIVersions" => Value::List(self.api_versions.clone()),
            "HelmVersion" => self.helm_version.clone(),
            _ => return None,
        }))
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("KubeVersion", self.kube_version.clone()),
            ("APIVersions", Value::List(self.api_versions.clone())),
            ("HelmVersion", self.helm_version.clone()),
        ]
    }

    fn deep_equal(&self, other: &dyn Object) -> bool {
        other.as_any().is::<Self>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct KubeVersionObject(KubeVersion);

impl Object for KubeVersionObject {
    fn type_name(&self) -> Cow<'static, str> {
        "common.KubeVersion".into()
    }

    fn kind(&self) -> Kind {
        Kind::Struct
    }

    fn member(&self, name: &str) -> Option<Member> {
        let version = &self.0;
        let constant = |text: &str| {
            let value = Value::string(text);
            Member::Method(Function::bound(&[], move |_, _| Ok(value.clone())))
        };
        Some(match name {
            "Version" => Member::Field(Value::string(version.version.as_str())),
            "Major" => Member::Field(Value::string(version.major.as_str())),
            "Minor" => Member::Field(Value::string(version.minor.as_str())),
            "GitVersion" => constant(&version.version),
            "String" => constant(&version.normalized),
            _ => return None,
        })
    }

    fn addressed_text(&self) -> Option<Text> {
        Some(Text::from(self.0.normalized.as_str()))
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let version = &self.0;
        vec![
            ("Version", Value::string(version.version.as_str())),
            ("normalizedVersion", Value::string(version.normalized.as_str())),
            ("Major", Value::string(version.major.as_str())),
            ("Minor", Value::string(version.minor.as_str())),
        ]
    }

    fn json(&self) -> JsonForm {
        let mut fields = self.fields();
        fields.retain(|(name, _)| *name != "normalizedVersion");
        JsonForm::Fields(fields)
    }

    fn deep_equal(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| other.0 == self.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct HelmVersion;

impl Object for HelmVersion {
    fn type_name(&self) -> Cow<'static, str> {
        "version.BuildInfo".into()
    }

    fn kind(&self) -> Kind {
        Kind::Struct
    }

    fn member(&self, name: &str) -> Option<Member> {
        let (_, value) = self.fields().into_iter().find(|(field, _)| *field == name)?;
        Some(Member::Field(value))
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Version", Value::from(HELM_VERSION)),
            ("GitCommit", Value::from("")),
            ("GitTreeState", Value::from("clean")),
            ("GoVersion", Value::from("go1.26")),
            ("KubeClientVersion", Value::from("v1.36")),
        ]
    }

    fn json(&self) -> JsonForm {
        JsonForm::Fields(vec![
            ("version", Value::from(HELM_VERSION)),
            ("git_tree_state", Value::from("clean")),
            ("go_version", Value::from("go1.26")),
            ("kube_client_version", Value::from("v1.36")),
        ])
    }

    fn deep_equal(&self, other: &dyn Object) -> bool {
        other.as_any().is::<Self>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The API versions Helm 4.2 knows without asking a cluster.
const KNOWN_API_VERSIONS: &[&str] = &[
    "v1",
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "internal.apiserver.k8s.io/v1alpha1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha2",
    "scheduling.k8s.io/v1beta1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storagemigration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
];
