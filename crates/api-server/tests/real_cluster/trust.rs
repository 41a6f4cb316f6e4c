//! Host keys, certificates, keys of signers.

use serde_json::{Value, json};

use crate::client::Rest;

pub(crate) async fn host_keys_and_certificates_are_added_listed_and_removed(rest: &Rest) {
    let all = "/api/v1/certificates";
    assert_eq!(rest.get(all).await, json!({"items": [], "metadata": {}}));
    let key = "AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB";
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, key);
    let item = json!({"serverName": "git.example.org", "certType": "ssh",
                      "certSubType": "ssh-ed25519", "certData": encoded, "certInfo": ""});
    let body = json!({"items": [item]});
    let (status, told) = rest.ask("POST", all, body.clone()).await;
    let print = "RXm/ruZ0eTzRXKwi1AQEDynB0VgHQ2ac9KPSFdf/YnA";
    assert_eq!((status, &told["items"][0]["certInfo"]), (200, &print.into()), "{told}");
    let (status, told) = rest.ask("POST", all, body).await;
    assert_eq!((status, &told["items"]), (200, &json!([])), "known already: {told}");
    let listed = rest.get(&format!("{all}?hostNamePattern=git.*&certType=ssh")).await;
    let expect = json!([{"serverName": "git.example.org", "certType": "ssh",
        "certSubType": "ssh-ed25519", "certData": "", "certInfo": format!("SHA256:{print}")}]);
    assert_eq!(listed["items"], expect);
    assert_eq!(rest.get(&format!("{all}?certType=https")).await["items"], json!([]));
    let nonsense = json!({"items": [{"serverName": "a", "certType": "https", "certData": ""}]});
    rest.refuses("POST", all, nonsense, (500, 2, "no valid PEM data received")).await;
    let path = format!("{all}?hostNamePattern=git.example.org");
    let (status, removed) = rest.ask("DELETE", &path, Value::Null).await;
    assert_eq!((status, removed["items"].as_array().map(Vec::len)), (200, Some(1)));
    assert_eq!(rest.get(all).await["items"], json!([]));
}

pub(crate) async fn keys_of_signers_are_added_listed_and_removed(rest: &Rest) {
    let all = "/api/v1/gpgkeys";
    let body = json!({"keyData": include_str!("../../src/gpgkey/keys.asc")});
    let (status, told) = rest.ask("POST", all, body.clone()).await;
    assert_eq!((status, told["created"]["items"].as_array().map(Vec::len)), (200, Some(3)));
    let (_, told) = rest.ask("POST", all, body).await;
    assert_eq!(told["skipped"].as_array().map(Vec::len), Some(3), "{told}");
    let listed = rest.get(all).await;
    assert_eq!(listed["items"][0]["keyID"], "2337DBF43947B17C", "{listed}");
    assert!(listed["items"][0]["keyData"].is_null(), "{listed}");
    let one = rest.get(&format!("{all}/D10999377F4DBD40CB3AE4ED2337DBF43947B17C")).await;
    assert_eq!(one["owner"], "Ada <ada@example.org>");
    assert!(one["keyData"].as_str().is_some_and(|it| it.contains("BEGIN PGP PUBLIC KEY")));
    let path = format!("{all}?keyID=2337DBF43947B17C");
    assert_eq!(rest.ask("DELETE", &path, Value::Null).await, (200, json!({})));
    let expect = (500, 2, "no such key configured: 2337DBF43947B17C");
    rest.refuses("DELETE", &path, Value::Null, expect).await;
    rest.refuses("POST", all, json!({"keyData": " "}), (500, 2, "submitted key data is empty"))
        .await;
}
