//! What anybody can send before they have proven anything, for the fuzz targets.
//!
//! Each function reads bytes and panics when a promise is broken; the product
//! does not call them.

use ::settings::{Secret, Webhooks};
use http::Method;
use jiff::Timestamp;
use serde_json::Value;

use crate::methods::table;
use crate::token;
use crate::webhook::event::{self, Event};

/// Headers, an empty line and a body. Nobody acts without the secret; without any set, everything
/// may be said.
pub fn webhook(bytes: &[u8]) {
    let end = bytes.windows(2).position(|it| it == b"\n\n");
    let (head, body) = end.map_or((bytes, &[][..]), |it| (&bytes[..it], &bytes[it + 2..]));
    let head = String::from_utf8_lossy(head);
    let pairs: Vec<(&str, &str)> = head.lines().filter_map(|it| it.split_once(": ")).collect();
    let header = |name: &str| {
        let found = pairs.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value)
    };
    let read = |secrets: &Webhooks| event::read(true, &header, body, secrets);
    drop(read(&secrets("")));
    let acted = read(&secrets("a secret that nobody can guess"));
    assert!(!matches!(acted, Ok(Event::Push(_) | Event::Published(_))), "{acted:?}");
}

fn secrets(text: &str) -> Webhooks {
    let secret = || Secret::from(text);
    Webhooks {
        github: secret(),
        gitlab: secret(),
        bitbucket_uuid: secret(),
        bitbucket_server: secret(),
        gogs: secret(),
        harbor: secret(),
        azure_username: secret(),
        azure_password: secret(),
        max_payload: 1 << 20,
        jitter: std::time::Duration::ZERO,
        jitter_threshold: 0,
    }
}

/// A token that we did not sign is never good.
pub fn session_token(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let now = Timestamp::UNIX_EPOCH;
    let read = token::verify(text, b"a key that nobody can guess", now);
    assert!(read.is_err(), "{read:?}");
}

/// Verb, path, query and body, one per line. Whatever finds a method makes a message that is a
/// JSON object, or is refused.
pub fn rest_request(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.splitn(4, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (verb, path, query, body) = (next(), next(), next(), next());
    let Ok(verb) = Method::from_bytes(verb.as_bytes()) else { return };
    let Some(routed) = table().rest(&verb, path) else { return };
    let Ok(message) = routed.message(query, body.as_bytes()) else { return };
    let read: Value = serde_json::from_str(&message).expect("a message is JSON");
    assert!(read.is_object(), "{message}");
}
