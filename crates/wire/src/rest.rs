//! REST bindings of methods.

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
    /// Messages, one after the other.
    Pieces,
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
