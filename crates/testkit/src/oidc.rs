//! A small OpenID Connect provider: real sockets, real signatures, one user who
//! always agrees.
//!
//! It gives a code for every login that is begun properly, and tokens for a code
//! that comes back once, from the client it was made for, with the proof key it
//! was asked for with. [`Provider::mint`] makes tokens of any kind besides.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

/// Who the clients are.
pub const CLIENT: &str = "argosy";
/// How they prove it.
pub const SECRET: &str = "a secret+/ of the client";

/// A provider that answers until it is dropped.
pub struct Provider {
    state: Arc<State>,
    address: SocketAddr,
}

struct State {
    issuer: String,
    /// Where another stands before it.
    place: OnceLock<Place>,
    key: Mutex<EcdsaKeyPair>,
    user: Mutex<Value>,
    codes: Mutex<BTreeMap<String, Login>>,
    is_closed: Mutex<bool>,
}

/// How a provider behind another is known.
struct Place {
    issuer: String,
    /// What its paths begin with.
    path: String,
    client: String,
    secret: String,
}

struct Login {
    redirect: String,
    challenge: Option<String>,
}

struct Asked {
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: BTreeMap<String, String>,
}

impl Provider {
    /// Starts one on a free port of this machine.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            issuer: format!("http://{address}"),
            key: Mutex::new(new_key()),
            user: Mutex::new(
                json!({"sub": "ann", "email": "ann@example.org", "groups": ["sales"]}),
            ),
            place: OnceLock::new(),
            codes: Mutex::default(),
            is_closed: Mutex::new(false),
        });
        let answering = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if *locked(&answering.is_closed) {
                    return;
                }
                let state = Arc::clone(&answering);
                if let Ok(stream) = stream {
                    thread::spawn(move || state.answer(stream));
                }
            }
        });
        Self { state, address }
    }

    /// How it calls itself.
    #[must_use]
    pub fn issuer(&self) -> &str {
        self.state.issuer()
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stands behind another from now on, as Dex does: it is called `origin` and `path`, answers
    /// below that path, and knows one client.
    pub fn stand_behind(&self, origin: &str, path: &str, client: &str, secret: &str) {
        let issuer = format!("{origin}{path}");
        let (path, client, secret) = (path.to_owned(), client.to_owned(), secret.to_owned());
        drop(self.state.place.set(Place { issuer, path, client, secret }));
    }

    /// What it says about its user from now on.
    pub fn set_user(&self, claims: Value) {
        *locked(&self.state.user) = claims;
    }

    /// Signs with another key from now on, as providers do now and then.
    pub fn change_keys(&self) {
        *locked(&self.state.key) = new_key();
    }

    /// A token with these claims, signed.
    #[must_use]
    pub fn mint(&self, claims: &Value) -> String {
        self.state.signed(claims)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        *locked(&self.state.is_closed) = true;
        // Wakes the listener, which then ends.
        drop(TcpStream::connect(self.address));
    }
}

impl State {
    fn issuer(&self) -> &str {
        self.place.get().map_or(&self.issuer, |it| &it.issuer)
    }

    fn client(&self) -> (&str, &str) {
        self.place.get().map_or((CLIENT, SECRET), |it| (&it.client, &it.secret))
    }

    fn answer(&self, mut stream: TcpStream) {
        let Some(asked) = read(&mut stream) else { return };
        let before = self.place.get().map_or("", |it| &it.path);
        let (status, extra, body) = match asked.path.strip_prefix(before).unwrap_or_default() {
            "/.well-known/openid-configuration" => self.doors(),
            "/keys" => self.keys(),
            "/authorize" => self.authorize(&asked),
            "/token" => self.token(&asked),
            "/userinfo" => self.user_info(&asked),
            _ => (404, String::new(), json!({"error": "not found"})),
        };
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nConnection: close\r\n{extra}Content-Length: {}\r\n\r\n",
            body.len()
        );
        // Whoever asked may be gone.
        drop(stream.write_all(format!("{head}{body}").as_bytes()));
    }

    fn doors(&self) -> (u16, String, Value) {
        let issuer = self.issuer();
        let doors = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
            "userinfo_endpoint": format!("{issuer}/userinfo"),
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["ES256"],
        });
        (200, String::new(), doors)
    }

    fn keys(&self) -> (u16, String, Value) {
        let key = locked(&self.key);
        let point = key.public_key().as_ref();
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let key = json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256",
            "kid": key_id(point), "x": encode(&point[1..33]), "y": encode(&point[33..])});
        (200, String::new(), json!({ "keys": [key] }))
    }

    /// The user agrees at once.
    fn authorize(&self, asked: &Asked) -> (u16, String, Value) {
        let field = |name: &str| asked.query.get(name).cloned().unwrap_or_default();
        let is_proper = field("client_id") == self.client().0
            && field("response_type") == "code"
            && field("scope").split(' ').any(|it| it == "openid")
            && !field("state").is_empty();
        if !is_proper {
            return (400, String::new(), json!({"error": "invalid_request"}));
        }
        let code = random();
        let challenge = asked.query.get("code_challenge").cloned();
        let redirect = field("redirect_uri");
        let location = format!("{redirect}?code={code}&state={}", field("state"));
        locked(&self.codes).insert(code, Login { redirect, challenge });
        (302, format!("Location: {location}\r\n"), Value::Null)
    }

    fn token(&self, asked: &Asked) -> (u16, String, Value) {
        let refuse = |why: &str| (400, String::new(), json!({ "error": why }));
        let field = |name: &str| asked.body.get(name).map(String::as_str).unwrap_or_default();
        if !self.is_client(asked) {
            return (401, String::new(), json!({"error": "invalid_client"}));
        }
        match field("grant_type") {
            "authorization_code" => {
                // A code is good once.
                let Some(login) = locked(&self.codes).remove(field("code")) else {
                    return refuse("invalid_grant");
                };
                let proof = digest::digest(&digest::SHA256, field("code_verifier").as_bytes());
                let proof = URL_SAFE_NO_PAD.encode(proof);
                let is_proven = login.challenge.is_none_or(|it| it == proof);
                if login.redirect != field("redirect_uri") || !is_proven {
                    return refuse("invalid_grant");
                }
            }
            "refresh_token" if field("refresh_token") == "refresh" => {}
            _ => return refuse("unsupported_grant_type"),
        }
        let mut claims = locked(&self.user).clone();
        claims["iss"] = self.issuer().into();
        claims["aud"] = self.client().0.into();
        claims["jti"] = random().into();
        if claims["exp"].is_null() {
            claims["exp"] = 4_000_000_000_u64.into();
        }
        let tokens = json!({"id_token": self.signed(&claims), "access_token": "access",
            "refresh_token": "refresh", "token_type": "Bearer"});
        (200, String::new(), tokens)
    }

    fn user_info(&self, asked: &Asked) -> (u16, String, Value) {
        if asked.headers.get("authorization").is_none_or(|it| it != "Bearer access") {
            return (401, String::new(), Value::Null);
        }
        let sub = locked(&self.user)["sub"].clone();
        (200, String::new(), json!({"sub": sub, "groups": ["from-user-info"]}))
    }

    fn is_client(&self, asked: &Asked) -> bool {
        let (own_id, own_secret) = self.client();
        let basic = asked.headers.get("authorization").and_then(|it| it.strip_prefix("Basic "));
        let basic = basic.and_then(|it| String::from_utf8(STANDARD.decode(it).ok()?).ok());
        if let Some((id, secret)) = basic.as_deref().and_then(|it| it.split_once(':')) {
            return unescaped(id) == own_id && unescaped(secret) == own_secret;
        }
        // Who shows a proof key needs no secret.
        let field = |name: &str| asked.body.get(name).map(String::as_str).unwrap_or_default();
        field("client_id") == own_id
            && (field("client_secret") == own_secret || !field("code_verifier").is_empty())
    }

    fn signed(&self, claims: &Value) -> String {
        let key = locked(&self.key);
        let header = json!({"alg": "ES256", "kid": key_id(key.public_key().as_ref())});
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn new_key() -> EcdsaKeyPair {
    let (how, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
    let document = EcdsaKeyPair::generate_pkcs8(how, &random).expect("a key");
    EcdsaKeyPair::from_pkcs8(how, document.as_ref(), &random).expect("a key")
}

fn key_id(point: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(&digest::digest(&digest::SHA256, point).as_ref()[..8])
}

fn random() -> String {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).expect("random numbers");
    URL_SAFE_NO_PAD.encode(bytes)
}

fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            let target = lines.next()?.split(' ').nth(1)?;
            let headers: BTreeMap<String, String> = lines
                .filter_map(|it| it.split_once(':'))
                .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
                .collect();
            let length = headers.get("content-length").and_then(|it| it.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                let (path, query) = target.split_once('?').unwrap_or((target, ""));
                let (path, query) = (path.to_owned(), fields(query));
                return Some(Asked { path, query, headers, body: fields(body) });
            }
        }
        match stream.read(&mut chunk) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&chunk[..count]),
            _ => return None,
        }
    }
}

fn fields(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|it| it.split_once('='));
    pairs.map(|(name, value)| (unescaped(name), unescaped(value))).collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                let digits = String::from_utf8_lossy(&digits).into_owned();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap_or(b'?'));
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
