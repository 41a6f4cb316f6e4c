//! ApplicationSets, as far as they are stored objects.

use serde_json::{Value, json};

use crate::client::Rest;
use crate::world::SERVER;

pub(crate) async fn application_sets_are_stored(rest: &Rest) {
    let at = "/api/v1/applicationsets";
    let set = |path: &str| {
        json!({"metadata": {"name": "fleet"}, "spec": {
            "generators": [{"list": {"elements": [{"name": "a"}]}}],
            "template": {"metadata": {"name": "{{name}}"}, "spec": {
                "project": "default", "source": {"repoURL": "https://example.org/web.git", "path": path},
                "destination": {"server": SERVER, "namespace": "x"}}}}})
    };
    let (status, made) = rest.ask("POST", at, set("web")).await;
    assert_eq!((status, &made["metadata"]["name"]), (200, &"fleet".into()), "{made}");
    assert_eq!(rest.ask("POST", at, set("web")).await.0, 200, "the same again is no error");
    let expect =
        (400, 3, "existing ApplicationSet spec is different, use upsert flag to force update");
    rest.refuses("POST", at, set("other"), expect).await;
    assert_eq!(rest.ask("POST", &format!("{at}?upsert=true"), set("other")).await.0, 200);
    let one = rest.get("/api/v1/applicationsets/fleet").await;
    assert_eq!(one["spec"]["template"]["spec"]["source"]["path"], "other");
    assert_eq!(rest.get(at).await["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(rest.get("/api/v1/applicationsets/fleet/resource-tree").await, json!({}));
    rest.get("/api/v1/applicationsets/fleet/events").await;
    let event = rest.first_event("/api/v1/stream/applicationsets?name=fleet").await;
    assert_eq!(event["result"]["type"], "ADDED", "{event}");
    let expect = (501, 12, "generators of ApplicationSets are not supported yet");
    rest.refuses("POST", "/api/v1/applicationsets/generate", set("web"), expect).await;
    assert_eq!(rest.ask("DELETE", "/api/v1/applicationsets/fleet", Value::Null).await.0, 200);
    let expect = (403, 7, "permission denied");
    rest.refuses("GET", "/api/v1/applicationsets/fleet", Value::Null, expect).await;
}
