//! A browser in a few lines: keeps cookies, follows redirects, fills in forms.

use std::collections::BTreeMap;

use http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, Url};

/// Nobody is sent on more often than this.
const MAX_REDIRECTS: usize = 20;

pub(crate) struct Browser {
    http: Client,
    /// As browsers do: by host, whatever the port.
    cookies: BTreeMap<String, BTreeMap<String, String>>,
}

/// Where somebody ended up.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) address: Url,
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Browser {
    /// One that trusts every certificate: what the server trusts is the question.
    pub(crate) fn new() -> Self {
        let http = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .tls_danger_accept_invalid_certs(true)
            .no_proxy()
            .build();
        Self { http: http.expect("a client"), cookies: BTreeMap::new() }
    }

    pub(crate) async fn open(&mut self, address: &str) -> Page {
        self.follow(address.parse().expect("an address"), None).await
    }

    /// Fills in the page's form and sends it with what it holds already.
    pub(crate) async fn submit(&mut self, page: &Page, fields: &[(&str, &str)]) -> Page {
        let action = page.elements("<form").find_map(|it| attribute(it, "action"));
        let action = action.unwrap_or_else(|| panic!("no form: {page:?}"));
        let address = page.address.join(&action).expect("an address");
        let hidden = page.elements("<input").filter(|it| it.contains("type=\"hidden\""));
        let hidden =
            hidden.filter_map(|it| Some((attribute(it, "name")?, attribute(it, "value")?)));
        let hidden: Vec<(String, String)> = hidden.collect();
        let hidden = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let fields: Vec<(&str, &str)> = hidden.chain(fields.iter().copied()).collect();
        self.follow(address, Some(form(&fields))).await
    }

    /// Goes where the first link goes that holds this text.
    pub(crate) async fn click(&mut self, page: &Page, holds: &str) -> Page {
        let links = page.body.split("href=\"").skip(1).filter_map(|it| it.split('"').next());
        let link = links.map(unescaped).find(|it| it.contains(holds));
        let link = link.unwrap_or_else(|| panic!("no link to {holds:?}: {page:?}"));
        self.follow(page.address.join(&link).expect("an address"), None).await
    }

    /// The value of a cookie that this host set.
    pub(crate) fn cookie(&self, host: &str, name: &str) -> Option<String> {
        self.cookies.get(host)?.get(name).cloned()
    }

    /// Until there is a page, or a redirect to a port where nobody can be asked: the command line
    /// program would listen there.
    async fn follow(&mut self, mut address: Url, mut body: Option<String>) -> Page {
        for _ in 0..MAX_REDIRECTS {
            let host = address.host_str().unwrap_or_default().to_owned();
            let asked = match body.take() {
                Some(body) => self
                    .http
                    .post(address.clone())
                    .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(body),
                None => self.http.get(address.clone()),
            };
            let cookies = self.cookies.entry(host).or_default();
            let sent: Vec<String> =
                cookies.iter().map(|(name, it)| format!("{name}={it}")).collect();
            let answer = asked.header(COOKIE, sent.join("; ")).send().await.expect("an answer");
            for line in answer.headers().get_all(SET_COOKIE) {
                let line = line.to_str().expect("a cookie");
                let (name, value) =
                    line.split(';').next().and_then(|it| it.split_once('=')).expect("a cookie");
                // Nothing but an end is set to nothing.
                if value.is_empty() {
                    cookies.remove(name);
                } else {
                    cookies.insert(name.to_owned(), value.to_owned());
                }
            }
            let status = answer.status().as_u16();
            let location = answer.headers().get(LOCATION).map(|it| it.to_str().expect("text"));
            let Some(location) = location.filter(|_| (300..400).contains(&status)) else {
                let body = answer.text().await.expect("a body");
                return Page { address, status, body };
            };
            address = address.join(location).expect("an address");
            if address.host_str() == Some("localhost") {
                return Page { address, status, body: String::new() };
            }
        }
        panic!("sent on and on, at last to {address}");
    }
}

impl Page {
    /// A parameter of the address.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = self.address.query_pairs();
        pairs.find(|(it, _)| it == name).map(|(_, value)| value.into_owned())
    }

    fn elements(&self, begin: &'static str) -> impl Iterator<Item = &str> {
        self.body.split(begin).skip(1).filter_map(|it| it.split('>').next())
    }
}

fn attribute(element: &str, name: &str) -> Option<String> {
    let (_, rest) = element.split_once(&format!("{name}=\""))?;
    rest.split('"').next().map(unescaped)
}

/// Fields as forms send them.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let mut address: Url = "http://x".parse().expect("an address");
    address.query_pairs_mut().extend_pairs(fields);
    address.query().unwrap_or_default().to_owned()
}

fn unescaped(text: &str) -> String {
    text.replace("&#43;", "+").replace("&amp;", "&")
}
