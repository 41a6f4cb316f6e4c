//! What definitions are called: as in Argo CD's document, because programs that generate clients make
//! the names of their types from them.
//!
//! A message is named after its package (`applicationApplicationSyncRequest`), a resource of Argo
//! CD after its version (`v1alpha1Application`), and so are Kubernetes' own types (`v1ObjectMeta`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The note of a message on its module and its own name, for here alone.
const NOTE: &str = "x-message";
const REFERENCE: &str = "#/definitions/";
const RESOURCES: &str = "v1alpha1";

/// Messages of our services that are resources to Argo CD.
const KEPT_WITH_RESOURCES: [&str; 22] = [
    "AwsAuthConfig",
    "Cluster",
    "ClusterCacheInfo",
    "ClusterConfig",
    "ClusterInfo",
    "ClusterList",
    "ConnectionState",
    "ExecProviderConfig",
    "GnuPgPublicKey",
    "GnuPgPublicKeyList",
    "KnownTypeField",
    "KustomizeOptions",
    "KustomizeVersion",
    "RepoCreds",
    "RepoCredsList",
    "Repository",
    "RepositoryCertificate",
    "RepositoryCertificateList",
    "RepositoryList",
    "ResourceAction",
    "ResourceActionParam",
    "ResourceOverride",
];

/// Types that are not Argo CD's own, and packages of one message.
const ELSEWHERE: [(&str, &str); 22] = [
    ("Claim", "oidc"),
    ("FieldsV1", "v1"),
    ("GroupKind", "v1"),
    ("IntOrString", "intstr"),
    ("Json", "v1"),
    ("LabelSelector", "v1"),
    ("LabelSelectorRequirement", "v1"),
    ("ListMeta", "v1"),
    ("LoadBalancerIngress", "v1"),
    ("ManagedFieldsEntry", "v1"),
    ("MicroTime", "v1"),
    ("NodeSwapStatus", "v1"),
    ("NodeSystemInfo", "v1"),
    ("ObjectMeta", "v1"),
    ("OwnerReference", "v1"),
    ("PortStatus", "v1"),
    ("RawExtension", "runtime"),
    ("ShardInfo", "v1"),
    ("Time", "v1"),
    ("TlsClientConfig", RESOURCES),
    // There are others of these names behind Argo CD's API, so that its generator says more.
    ("EnvEntry", "applicationv1alpha1"),
    ("ResourceStatus", "applicationv1alpha1"),
];

/// Words that Go writes in capitals.
const CAPITALS: [&str; 10] = ["Aws", "Gpg", "Id", "Json", "Jwt", "Oci", "Oidc", "Pg", "Scm", "Tls"];

/// The new names of definitions.
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// Read off the definitions, which lose their notes.
    pub(super) fn of(definitions: &mut Map<String, Value>) -> Self {
        let name = |(key, schema): (&String, &mut Value)| {
            let note = schema.as_object_mut().and_then(|it| it.remove(NOTE));
            let text = |index: usize| note.as_ref().and_then(|it| it[index].as_str());
            (key.clone(), definition(text(0), text(1).unwrap_or(key)))
        };
        Self(definitions.iter_mut().map(name).collect())
    }

    pub(super) fn rename(&self, definitions: Map<String, Value>) -> Map<String, Value> {
        let named = definitions.into_iter().map(|(key, mut schema)| {
            self.refer(&mut schema);
            (self.0.get(&key).cloned().unwrap_or(key), schema)
        });
        named.collect()
    }

    /// References by the new names.
    pub(super) fn refer(&self, schema: &mut Value) {
        match schema {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get_mut("$ref")
                    && let Some(name) = reference.strip_prefix(REFERENCE)
                    && let Some(name) = self.0.get(name)
                {
                    *reference = format!("{REFERENCE}{name}");
                }
                fields.values_mut().for_each(|it| self.refer(it));
            }
            Value::Array(items) => items.iter_mut().for_each(|it| self.refer(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn definition(module: Option<&str>, name: &str) -> String {
    let elsewhere = ELSEWHERE.iter().find(|it| it.0 == name).map(|it| it.1);
    let package = module.and_then(|it| it.rsplit("::").next()).map(|it| match it {
        _ if KEPT_WITH_RESOURCES.contains(&name) => RESOURCES,
        // Argo CD's settings came out of the same package as its clusters.
        "settings" => "cluster",
        package => package,
    });
    format!("{}{}", elsewhere.or(package).unwrap_or(RESOURCES), as_in_go(name))
}

/// `JwtToken` is `JWTToken`.
fn as_in_go(name: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        match words.last_mut() {
            Some(word) if !letter.is_ascii_uppercase() => word.push(letter),
            _ => words.push(letter.to_string()),
        }
    }
    let capital = |it: String| if CAPITALS.contains(&it.as_str()) { it.to_uppercase() } else { it };
    words.into_iter().map(capital).collect()
}

/// Definitions that something refers to, directly or by way of others.
pub(super) fn used(definitions: Map<String, Value>, by: &Value) -> Map<String, Value> {
    let mut used = BTreeSet::new();
    let mut open = references(by);
    while let Some(name) = open.pop() {
        if let Some(schema) = definitions.get(&name)
            && used.insert(name)
        {
            open.extend(references(schema));
        }
    }
    definitions.into_iter().filter(|(name, _)| used.contains(name)).collect()
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str);
            let own = own.and_then(|it| it.strip_prefix(REFERENCE)).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(module: Option<&str>, name: &str, expect: &str) {
        let module = module.map(|it| format!("wire::message::{it}"));
        assert_eq!(definition(module.as_deref(), name), expect);
    }

    #[test]
    fn definitions_are_called_as_in_argo_cd() {
        check(None, "Application", "v1alpha1Application");
        check(Some("application"), "ApplicationSyncRequest", "applicationApplicationSyncRequest");
        check(Some("account"), "EmptyResponse", "accountEmptyResponse");
        check(Some("project"), "EmptyResponse", "projectEmptyResponse");
        check(Some("settings"), "OidcConfig", "clusterOIDCConfig");
        check(Some("settings"), "Claim", "oidcClaim");
        check(Some("cluster"), "Cluster", "v1alpha1Cluster");
        check(Some("cluster"), "ClusterResponse", "clusterClusterResponse");
        check(Some("cluster"), "ClusterId", "clusterClusterID");
        check(Some("gpgkey"), "GnuPgPublicKeyResponse", "gpgkeyGnuPGPublicKeyResponse");
        check(Some("events"), "EventList", "eventsEventList");
        check(None, "ObjectMeta", "v1ObjectMeta");
        check(None, "Json", "v1JSON");
        check(None, "RawExtension", "runtimeRawExtension");
        check(None, "EnvEntry", "applicationv1alpha1EnvEntry");
        check(
            None,
            "ScmProviderGeneratorAwsCodeCommit",
            "v1alpha1SCMProviderGeneratorAWSCodeCommit",
        );
    }

    #[test]
    fn what_nothing_refers_to_is_left_out() {
        let reference = |name: &str| json!({"items": [{"$ref": format!("{REFERENCE}{name}")}]});
        let definitions = json!({"a": reference("b"), "b": reference("a"), "c": reference("a")});
        let definitions = definitions.as_object().expect("definitions").clone();
        let names: Vec<String> =
            used(definitions, &reference("a")).into_iter().map(|it| it.0).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
