//! REST bindings of methods, and JSON as Go prints it.

use http::Method;

/// One way to reach a method over REST.
#[derive(Clone, Debug)]
pub struct Rest {
    pub(crate) verb: Method,
    pub(crate) template: &'static str,
    pub(crate) body: Body,
}

/// What the body of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Not looked at.
    None,
    /// The whole message.
    Whole,
    /// One field of the message.
    Field(&'static str),
}

impl Rest {
    /// With a body.
    #[must_use]
    pub fn body(self, body: Body) -> Self {
        Self { body, ..self }
    }
}

/// `GET` this path.
#[must_use]
pub fn get(template: &'static str) -> Rest {
    Rest { verb: Method::GET, template, body: Body::None }
}

/// `POST` the whole message to this path.
#[must_use]
pub fn post(template: &'static str) -> Rest {
    Rest { verb: Method::POST, template, body: Body::Whole }
}

/// `PUT` the whole message to this path.
#[must_use]
pub fn put(template: &'static str) -> Rest {
    Rest { verb: Method::PUT, template, body: Body::Whole }
}

/// `PATCH` with the whole message.
#[must_use]
pub fn patch(template: &'static str) -> Rest {
    Rest { verb: Method::PATCH, template, body: Body::Whole }
}

/// `DELETE` this path.
#[must_use]
pub fn delete(template: &'static str) -> Rest {
    Rest { verb: Method::DELETE, template, body: Body::None }
}

/// JSON with `<`, `>`, `&` and the two line separators escaped inside texts, as Go prints it.
#[must_use]
pub fn go_json(value: &impl serde::Serialize) -> Vec<u8> {
    let text = serde_json::to_string(value).expect("messages have only text for keys");
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text.into_bytes();
    }
    let mut escaped = String::with_capacity(text.len() + 32);
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            other => escaped.push(other),
        }
    }
    escaped.into_bytes()
}
