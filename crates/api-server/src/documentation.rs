//! `/swagger.json`, and the same for people at `/swagger-ui`.

use http::{HeaderValue, Response, StatusCode};
use serde_json::Value;
use wire::{HttpBody, Table};

use crate::methods::Call;
use crate::port::plain;

/// The document and its page, made once.
pub(crate) struct Documentation {
    json: Vec<u8>,
    page: Vec<u8>,
}

impl Documentation {
    pub(crate) fn of(table: &Table<Call>) -> Self {
        let document = table.swagger("Argosy", "v1alpha1");
        Self { json: document.to_string().into_bytes(), page: page(&document).into_bytes() }
    }

    pub(crate) fn json(&self) -> Response<HttpBody> {
        unframed(plain(StatusCode::OK, "application/json", self.json.clone()))
    }

    pub(crate) fn page(&self) -> Response<HttpBody> {
        unframed(plain(StatusCode::OK, "text/html; charset=utf-8", self.page.clone()))
    }
}

/// Not to be shown inside of other sites, whatever the settings say; there is nothing to run in it.
fn unframed(mut response: Response<HttpBody>) -> Response<HttpBody> {
    let headers = response.headers_mut();
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    let policy = "default-src 'none'; frame-ancestors 'none'";
    headers.insert("content-security-policy", HeaderValue::from_static(policy));
    response
}

/// A plain list of the operations; no script, nothing from elsewhere.
fn page(document: &Value) -> String {
    let mut page = String::from(
        "<!doctype html><title>Argosy API</title><h1>Argosy API</h1><p><a href=\"swagger.json\">swagger.json</a></p>",
    );
    for (path, verbs) in document["paths"].as_object().into_iter().flatten() {
        for (verb, operation) in verbs.as_object().into_iter().flatten() {
            let name = operation["operationId"].as_str().unwrap_or_default();
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let parameters = parameters.map(|it| {
                let text = |key: &str| escaped(it[key].as_str().unwrap_or_default());
                format!(
                    "<li><code>{}</code> ({}) {}</li>",
                    text("name"),
                    text("in"),
                    text("description")
                )
            });
            let parameters: String = parameters.collect();
            page.push_str(&format!(
                "<h3><code>{} {}</code></h3><p>{}</p><ul>{parameters}</ul>",
                verb.to_uppercase(),
                escaped(path),
                escaped(name)
            ));
        }
    }
    page
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::methods::table;

    #[test]
    fn every_operation_is_on_the_page_and_every_reference_leads_somewhere() {
        let document = table().swagger("Test", "1");
        let page = page(&document);
        let paths = document["paths"].as_object().expect("paths");
        let count: usize = paths.values().filter_map(|it| it.as_object()).map(|it| it.len()).sum();
        assert_eq!(page.matches("<h3>").count(), count);
        // Argo CD's, and the decision record.
        assert_eq!(count, 106 + 1);
        let ids: BTreeSet<&str> = paths
            .values()
            .filter_map(|it| it.as_object())
            .flat_map(|verbs| verbs.values().filter_map(|it| it["operationId"].as_str()))
            .collect();
        assert_eq!(ids.len(), count, "each has an id of its own");
        let text = document.to_string();
        for reference in text.split("#/definitions/").skip(1) {
            let name = reference.split('"').next().expect("an end");
            assert!(document["definitions"][name].is_object(), "{name}");
        }
    }

    /// Names that a client generated from Argo CD's document has types and functions for.
    #[test]
    fn clients_that_were_generated_for_argo_cd_find_their_names() {
        let document = table().swagger("Test", "1");
        for name in [
            "accountEmptyResponse",
            "applicationApplicationSyncRequest",
            "applicationLogEntry",
            "applicationResourceActionRunRequestV2",
            "applicationsetApplicationSetGenerateRequest",
            "applicationv1alpha1EnvEntry",
            "clusterOIDCConfig",
            "clusterSettings",
            "eventsEventList",
            "gpgkeyGnuPGPublicKeyResponse",
            "intstrIntOrString",
            "notificationServiceList",
            "oidcClaim",
            "projectEmptyResponse",
            "repocredsRepoCredsResponse",
            "repositoryManifestResponse",
            "runtimeError",
            "runtimeRawExtension",
            "sessionSessionCreateRequest",
            "v1GroupKind",
            "v1JSON",
            "v1ListMeta",
            "v1MicroTime",
            "v1ObjectMeta",
            "v1OwnerReference",
            "v1Time",
            "v1alpha1AWSAuthConfig",
            "v1alpha1AppProject",
            "v1alpha1Application",
            "v1alpha1ApplicationTree",
            "v1alpha1Cluster",
            "v1alpha1JWTToken",
            "v1alpha1Repository",
            "v1alpha1SCMProviderGenerator",
            "v1alpha1TLSClientConfig",
            "versionVersionMessage",
        ] {
            assert!(document["definitions"][name].is_object(), "{name}");
        }
        let application = &document["definitions"]["v1alpha1Application"]["properties"];
        assert_eq!(application["metadata"]["$ref"], "#/definitions/v1ObjectMeta");
        let logs = |path: &str| document["paths"][path]["get"]["operationId"].clone();
        let pods = "/api/v1/applications/{name}/pods/{podName}/logs";
        assert_eq!(logs(pods), "ApplicationService_PodLogs");
        assert_eq!(logs("/api/v1/applications/{name}/logs"), "ApplicationService_PodLogs2");
        let parameters = &document["paths"][pods]["get"]["parameters"];
        let parameters = parameters.as_array().expect("parameters");
        let lines = parameters.iter().find(|it| it["name"] == "tailLines").expect("a parameter");
        assert_eq!((&lines["type"], &lines["format"]), (&"string".into(), &"int64".into()));
        assert!(!document.to_string().contains("x-message"));
    }
}
