//! What must exist before anybody can log in: a signing key, the admin's
//! password; and before anything is deployed, the project `default`. What is
//! there already is left alone.

use std::time::Duration;

use ::cluster::{ApiKind, Client, Disposition, RequestError};
use ::settings::SettingsStore;
use ::settings::accounts::{ADMIN, password_changed_key, password_key};
use ::settings::names::SECRET;
use api::AppProject;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::logins::passwords::COST;
use crate::store::{PROJECTS, SECRETS, Store};

/// The Secret that tells the first password of the admin.
const INITIAL_PASSWORD_SECRET: &str = "argocd-initial-admin-secret";
const PASSWORD_LENGTH: usize = 16;
const PASSWORD_ALPHABET: &[u8; 64] =
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
const KEY_LENGTH: usize = 32;
/// So often another replica may be faster.
const MOST_TRIES: u32 = 10;
/// How long a control plane that does not answer is left alone.
const RETRY: Duration = Duration::from_secs(1);

/// Why the API server could not start.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// The control plane did not give or take an object.
    #[error("could not prepare {what}")]
    Store {
        /// Which object.
        what: &'static str,
        /// Why.
        source: RequestError,
    },
    /// The machine gives no random numbers.
    #[error("could not make a key: the system gives no random numbers")]
    Random,
    /// A certificate of our own could not be made.
    #[error("could not make a certificate")]
    Certificate(#[source] rcgen::Error),
    /// The first password could not be hashed.
    #[error("could not hash the first password of the admin")]
    Hash(#[source] bcrypt::BcryptError),
    /// The process is ending, and nothing new is begun.
    #[error("could not hash the first password of the admin: the process is ending")]
    Ending,
}

/// Makes what is missing.
pub(crate) async fn bootstrap(
    store: &Store,
    settings: &SettingsStore,
) -> Result<(), BootstrapError> {
    let mut tries = 0;
    let mut made = None;
    let secret = loop {
        match write_missing(store, &mut made).await? {
            Ok(secret) => break secret,
            // Another replica starts too and was faster: what it made is as good.
            Err(error) if error.is_conflict() && tries < MOST_TRIES => tries += 1,
            Err(source) => rest(BootstrapError::Store { what: SECRET, source }).await?,
        }
    };
    settings.see_secret(&secret);
    // A password counts if its hash is the one that is stored, whoever heard that it was.
    let is_stored = |made: &First| secret["data"][password_key(ADMIN)] == made.hash;
    if let Some(First { password, .. }) = made.filter(is_stored) {
        let data = Map::from_iter([("password".to_owned(), encoded(password.as_bytes()))]);
        let object = labelled(INITIAL_PASSWORD_SECRET, data);
        make(store, &SECRETS, &object, INITIAL_PASSWORD_SECRET).await?;
    }
    Ok(())
}

/// The first password of the admin, and what is stored of it.
struct First {
    password: String,
    hash: Value,
}

/// Writes what is missing in argocd-secret, unless somebody writes it at the same time;
/// the Secret then. A password that had to be made is in `made`.
async fn write_missing(
    store: &Store,
    made: &mut Option<First>,
) -> Result<Result<Value, RequestError>, BootstrapError> {
    let secret = match store.get::<Value>(&SECRETS, SECRET).await {
        Ok(secret) => secret,
        Err(error) => return Ok(Err(error)),
    };
    let Missing { data, password } = missing_data(secret.as_ref()).await?;
    if let Some(password) = password {
        *made = Some(First { password, hash: data[&password_key(ADMIN)].clone() });
    }
    Ok(match secret {
        None => store.create(&SECRETS, &labelled(SECRET, data)).await,
        Some(secret) if data.is_empty() => Ok(secret),
        Some(secret) => {
            let version = &secret["metadata"]["resourceVersion"];
            let patch = json!({ "metadata": {"resourceVersion": version}, "data": data });
            store.merge(&SECRETS, SECRET, &patch).await
        }
    })
}

/// Makes an object, if it is not there, as soon as the control plane answers.
async fn make<T: Serialize + DeserializeOwned>(
    store: &Store,
    kind: &ApiKind,
    object: &T,
    what: &'static str,
) -> Result<(), BootstrapError> {
    loop {
        match ignore_existing(store.create(kind, object).await) {
            Ok(()) => return Ok(()),
            Err(source) => rest(BootstrapError::Store { what, source }).await?,
        }
    }
}

/// Waits a moment where a control plane is away, which says nothing against going on: it
/// may go away while we start as well as later. Any other error is handed back.
async fn rest(error: BootstrapError) -> Result<(), BootstrapError> {
    let BootstrapError::Store { source, .. } = &error else { return Err(error) };
    if source.disposition() != Disposition::RetrySoon {
        return Err(error);
    }
    tracing::warn!(error = %source.in_one_line(), next = ?RETRY, "{error}, it is tried again");
    tokio::time::sleep(RETRY).await;
    Ok(())
}

/// Makes the project `default`, which Applications can do nothing without.
///
/// # Errors
/// When the control plane refuses to store it.
pub async fn make_default_project(
    control_plane: &Client,
    namespace: &str,
) -> Result<(), BootstrapError> {
    let store = Store::new(control_plane.clone(), namespace);
    make(&store, &PROJECTS, &default_project(namespace), "the project default").await
}

/// A certificate that we vouch for ourselves, until somebody brings a better one.
pub(crate) async fn make_certificate(
    store: &Store,
    settings: &SettingsStore,
) -> Result<(), BootstrapError> {
    let made = crate::tls::self_signed(store.namespace()).map_err(BootstrapError::Certificate)?;
    let (chain, key) = made;
    let data = json!({ "tls.crt": encoded(chain.as_bytes()), "tls.key": encoded(key.as_bytes()) });
    let patch = json!({ "data": data });
    let written = loop {
        match store.merge::<Value>(&SECRETS, SECRET, &patch).await {
            Ok(written) => break written,
            Err(source) => rest(BootstrapError::Store { what: SECRET, source }).await?,
        }
    };
    settings.see_secret(&written);
    Ok(())
}

struct Missing {
    data: Map<String, Value>,
    password: Option<String>,
}

async fn missing_data(secret: Option<&Value>) -> Result<Missing, BootstrapError> {
    let has =
        |key: &str| secret.and_then(|it| it["data"][key].as_str()).is_some_and(|it| !it.is_empty());
    let mut missing = Missing { data: Map::new(), password: None };
    if !has("server.secretkey") {
        let key = STANDARD.encode(random::<KEY_LENGTH>()?);
        missing.data.insert("server.secretkey".into(), encoded(key.as_bytes()));
    }
    if !has(&password_key(ADMIN)) {
        let password = random_password()?;
        let hash = hash(password.clone()).await?;
        missing.data.insert(password_key(ADMIN), encoded(hash.as_bytes()));
        missing
            .data
            .insert(password_changed_key(ADMIN), encoded(seconds(Timestamp::now()).as_bytes()));
        missing.password = Some(password);
    }
    Ok(missing)
}

/// Off the async workers: bcrypt takes a tenth of a second on purpose.
async fn hash(password: String) -> Result<String, BootstrapError> {
    let hashing = tokio::task::spawn_blocking(|| bcrypt::hash(password, COST));
    hashing.await.map_err(|_| BootstrapError::Ending)?.map_err(BootstrapError::Hash)
}

/// A time as argocd-secret has it: RFC 3339, whole seconds.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(crate) fn encoded(bytes: &[u8]) -> Value {
    STANDARD.encode(bytes).into()
}

fn labelled(name: &str, data: Map<String, Value>) -> Value {
    let labels = json!({
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/part-of": "argocd",
    });
    json!({ "metadata": { "name": name, "labels": labels }, "type": "Opaque", "data": data })
}

fn default_project(namespace: &str) -> AppProject {
    let mut project = AppProject::named(namespace, api::names::DEFAULT_PROJECT);
    let anything = || "*".to_owned();
    project.spec.source_repos = vec![anything()];
    project.spec.destinations = vec![api::ApplicationDestination {
        server: anything(),
        namespace: anything(),
        name: String::new(),
    }];
    project.spec.cluster_resource_whitelist = vec![api::ClusterResourceRestrictionItem {
        group: anything(),
        kind: anything(),
        name: String::new(),
    }];
    project
}

fn ignore_existing<T>(created: Result<T, RequestError>) -> Result<(), RequestError> {
    match created {
        Err(error) if !error.is_conflict() => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn random<const N: usize>() -> Result<[u8; N], BootstrapError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| BootstrapError::Random)?;
    Ok(bytes)
}

fn random_password() -> Result<String, BootstrapError> {
    // 64 letters: six bits of a byte pick one without bias.
    let pick = |byte: u8| char::from(PASSWORD_ALPHABET[usize::from(byte & 63)]);
    Ok(random::<PASSWORD_LENGTH>()?.into_iter().map(pick).collect())
}

/// A random UUID (version 4).
pub(crate) fn uuid() -> Option<String> {
    let mut bytes = random::<16>().ok()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Some(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_there_is_left_alone() {
        let there = json!({"data": {"server.secretkey": "eA==", "admin.password": "eA=="}});
        let missing = missing_data(Some(&there)).await.expect("random numbers");
        assert!(missing.data.is_empty() && missing.password.is_none());
    }

    #[tokio::test]
    async fn a_new_password_is_told_and_only_its_hash_is_kept() {
        let there = json!({"data": {"server.secretkey": "eA=="}});
        let missing = missing_data(Some(&there)).await.expect("random numbers");
        let password = missing.password.expect("a new one");
        let data = missing.data;
        let store = SettingsStore::new(::settings::Sources::default());
        store.see_secret(&json!({ "metadata": { "name": SECRET }, "data": data }));
        let settings = store.current();
        let admin = settings.account(ADMIN).expect("there");
        assert!(bcrypt::verify(&password, admin.password_hash.text()).expect("a hash"));
        assert!(admin.password_changed_at.is_some());
    }

    #[test]
    fn a_uuid_says_its_version() {
        let uuid = uuid().expect("random numbers");
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
    }
}
