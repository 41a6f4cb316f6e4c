//! How long it takes to judge the health of one object: by a rule of ours and by
//! a user's script.
//!
//! `cargo bench -p lua`. Goals: a rule in 20 µs, a script in 300 µs.

use divan::{Bencher, black_box};
use lua::Surroundings;
use object::Object;
use serde_json::json;

fn main() {
    divan::main();
}

/// The usual script: look for a condition, tell its message.
const SCRIPT: &str = r#"
local hs = {}
if obj.status ~= nil and obj.status.conditions ~= nil then
  for i, condition in ipairs(obj.status.conditions) do
    if condition.type == "Issuing" and condition.status == "True" then
      hs.status = "Progressing"
      hs.message = condition.message
      return hs
    end
    if condition.type == "Ready" and condition.status == "False" then
      hs.status = "Degraded"
      hs.message = condition.message
      return hs
    end
    if condition.type == "Ready" and condition.status == "True" then
      hs.status = "Healthy"
      hs.message = condition.message
      return hs
    end
  end
end
hs.status = "Progressing"
hs.message = "Waiting for certificate"
return hs
"#;

fn certificate() -> Object {
    Object::from_value(json!({
        "apiVersion": "cert-manager.io/v1", "kind": "Certificate",
        "metadata": {"name": "web", "namespace": "shop", "generation": 2,
            "labels": {"app": "web"}, "annotations": {"owner": "ann"}},
        "spec": {"secretName": "web-tls", "dnsNames": ["web.example.com", "www.example.com"],
            "issuerRef": {"kind": "ClusterIssuer", "name": "letsencrypt"}},
        "status": {"notAfter": "2027-01-01T00:00:00Z", "revision": 3, "conditions": [
            {"type": "Ready", "status": "True", "reason": "Ready", "observedGeneration": 2,
                "message": "Certificate is up to date and has not expired",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    }))
    .expect("an object")
}

#[divan::bench]
fn by_a_bundled_rule(bencher: Bencher<'_, '_>) {
    let certificate = certificate();
    bencher.bench(|| lua::bundled::health(black_box(&certificate)));
}

#[divan::bench]
fn by_a_users_script(bencher: Bencher<'_, '_>) {
    let certificate = certificate();
    let surroundings = Surroundings::at(0);
    bencher.bench(|| lua::health(SCRIPT, black_box(&certificate), &surroundings));
}
