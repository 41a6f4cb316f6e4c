//! Fakes of those who issue tokens for repositories: GitHub for its Apps,
//! Google for service accounts, Azure's directory, and a registry of Azure.
//! They check what the real ones check of a request: signatures, times, names.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use crate::answering::{Answer, Answering, Asked};

/// The App that the fake of GitHub knows.
pub const GITHUB_APP: i64 = 4711;
/// Where it is installed: in the organization [`GITHUB_ORGANIZATION`].
pub const GITHUB_INSTALLATION: i64 = 99;
/// The organization.
pub const GITHUB_ORGANIZATION: &str = "acme";
/// The token it gives out.
pub const GITHUB_TOKEN: &str = "ghs_t0ken-of-the-app";
/// The account that the fake of Google knows.
pub const GOOGLE_ACCOUNT: &str = "robot@project.iam.gserviceaccount.com";
/// The token it gives out.
pub const GOOGLE_TOKEN: &str = "ya29.t0ken-of-google";
/// Whom the fake of Azure's directory knows.
pub const AZURE_TENANT: &str = "a-tenant";
/// Whom the fake of Azure's directory knows.
pub const AZURE_CLIENT: &str = "a-client";
/// How a service principal proves who it is.
pub const AZURE_SECRET: &str = "az+s3cret&word";
/// How a pod proves who it is.
pub const AZURE_ASSERTION: &str = "the.cluster.says";
/// The token that Azure gives out for git.
pub const AZURE_TOKEN: &str = "eyJ.t0ken-of.azure";
/// The token that Azure gives out for registries.
pub const AZURE_REGISTRY_TOKEN: &str = "eyJ.t0ken-for.registries";

/// An RSA key, made by `ssh-keygen`.
pub struct RsaKey {
    /// `BEGIN RSA PRIVATE KEY`, as GitHub hands them out.
    pub pkcs1: String,
    /// `BEGIN PRIVATE KEY`, as Google hands them out.
    pub pkcs8: String,
}

impl Default for RsaKey {
    fn default() -> Self {
        Self::new()
    }
}

impl RsaKey {
    /// A new one.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("key");
        keygen(&file, &["-t", "rsa", "-b", "2048", "-m", "PEM"]);
        let pkcs1 = std::fs::read_to_string(&file).expect("a key");
        keygen(&file, &["-p", "-m", "PKCS8"]);
        let pkcs8 = std::fs::read_to_string(&file).expect("a key");
        Self { pkcs1, pkcs8 }
    }

    fn public(&self) -> Vec<u8> {
        let key = PrivateKeyDer::from_pem_slice(self.pkcs8.as_bytes()).expect("a key");
        let PrivateKeyDer::Pkcs8(key) = key else { panic!("ssh-keygen wrote another form") };
        let pair = ring::signature::RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).expect("a key");
        pair.public_key().as_ref().to_vec()
    }
}

fn keygen(file: &Path, arguments: &[&str]) {
    let mut command = Command::new("ssh-keygen");
    let flag = if arguments.contains(&"-p") { "-P" } else { "-q" };
    command.args(arguments).args(["-N", ""]).arg(flag);
    if flag == "-P" {
        command.arg("");
    }
    let output = command.arg("-f").arg(file).output().expect("ssh-keygen comes with ssh");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A fake of GitHub's API at `/api/v3`, as an own installation has it.
#[must_use]
pub fn github(key: &RsaKey) -> Answering {
    let public = key.public();
    Answering::start(move |_| {
        move |asked: &Asked| {
            let token = asked.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
            let Some(claims) = claims_of(token, &public) else {
                return said(401, &json!({"message": "A JSON web token could not be decoded"}));
            };
            let (now, iat, exp) = (now(), claims["iat"].as_u64(), claims["exp"].as_u64());
            let is_timely = iat.is_some_and(|it| it <= now)
                && exp.is_some_and(|it| it > now && it <= now + 600);
            if claims["iss"] != GITHUB_APP.to_string().as_str() || !is_timely {
                return said(401, &json!({"message": "Bad credentials"}));
            }
            let tokens = format!("/api/v3/app/installations/{GITHUB_INSTALLATION}/access_tokens");
            match (asked.method.as_str(), asked.path.as_str()) {
                ("POST", path) if path == tokens => {
                    said(201, &json!({"token": GITHUB_TOKEN, "expires_at": "2999-01-01T00:00:00Z"}))
                }
                ("GET", path) if path.starts_with("/api/v3/app/installations?") => said(
                    200,
                    &json!([
                        {"id": 1, "account": {"login": "someone-else"}},
                        {"id": GITHUB_INSTALLATION, "account": {"login": "ACME"}},
                    ]),
                ),
                _ => said(404, &json!({"message": "Not Found"})),
            }
        }
    })
}

/// A fake of Google's token endpoint, and the key of an account that points to it.
#[must_use]
pub fn google(key: &RsaKey) -> (Answering, String) {
    let (public, private) = (key.public(), key.pkcs8.clone());
    let server = Answering::start(move |address| {
        move |asked: &Asked| {
            let claims = claims_of(&asked.field("assertion"), &public).unwrap_or_default();
            let is_good = asked.field("grant_type")
                == "urn:ietf:params:oauth:grant-type:jwt-bearer"
                && claims["iss"] == GOOGLE_ACCOUNT
                && claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"
                && claims["aud"] == format!("http://{address}/token").as_str()
                && claims["exp"].as_u64().is_some_and(|it| it > now() && it <= now() + 3600);
            if is_good {
                said(200, &json!({"access_token": GOOGLE_TOKEN, "expires_in": 3599}))
            } else {
                said(400, &json!({"error": "invalid_grant", "error_description": "Bad assertion"}))
            }
        }
    });
    let key = json!({
        "type": "service_account", "client_email": GOOGLE_ACCOUNT, "private_key_id": "k1",
        "private_key": private, "token_uri": format!("{}/token", server.url()),
    });
    (server, key.to_string())
}

/// A fake of Azure's directory.
#[must_use]
pub fn azure() -> Answering {
    Answering::start(|_| {
        |asked: &Asked| {
            let proof = (asked.field("client_secret"), asked.field("client_assertion"));
            let is_proven = proof == (AZURE_SECRET.to_owned(), String::new())
                || proof == (String::new(), AZURE_ASSERTION.to_owned())
                    && asked.field("client_assertion_type")
                        == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
            let is_good = asked.path == format!("/{AZURE_TENANT}/oauth2/v2.0/token")
                && asked.field("grant_type") == "client_credentials"
                && asked.field("client_id") == AZURE_CLIENT
                && is_proven;
            match asked.field("scope").as_str() {
                "499b84ac-1321-427f-aa17-267ca6975798/.default" if is_good => {
                    said(200, &json!({"access_token": AZURE_TOKEN, "expires_in": 3599}))
                }
                "https://management.core.windows.net/.default" if is_good => {
                    said(200, &json!({"access_token": AZURE_REGISTRY_TOKEN, "expires_in": 3599}))
                }
                _ => {
                    said(401, &json!({"error_description": "AADSTS7000215: Invalid client secret"}))
                }
            }
        }
    })
}

fn said(status: u16, content: &Value) -> Answer {
    (status, content.to_string().into_bytes())
}

/// What a token claims, if the signature is good.
fn claims_of(token: &str, public: &[u8]) -> Option<Value> {
    let (text, signature) = token.rsplit_once('.')?;
    let (header, claims) = text.split_once('.')?;
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public);
    key.verify(text.as_bytes(), &signature).ok().filter(|()| header["alg"] == "RS256")?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("a clock after 1970").as_secs()
}

/// What basic authentication sends.
#[must_use]
pub fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}
