//! Addresses as browsers and providers write them: escaping, queries, and whether
//! one is below another.

/// Escapes what may not stand in a query, as forms do.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            other => escaped.push_str(&format!("%{other:02X}")),
        }
    }
    escaped
}

/// Fields as a query.
pub(crate) fn query(fields: &[(&str, &str)]) -> String {
    let pairs = fields.iter().map(|(name, text)| format!("{}={}", escaped(name), escaped(text)));
    pairs.collect::<Vec<_>>().join("&")
}

/// A field of a query.
pub(crate) fn field(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let found = pairs.into_iter().find(|(it, _)| wire::unescaped_query(it) == name);
    found.map(|(_, text)| wire::unescaped_query(text))
}

/// An absolute http address, taken apart as far as comparisons need.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Scheme, host and port.
    pub(crate) origin: String,
    /// The path, at least `/`.
    pub(crate) path: String,
}

impl Address {
    /// None for anything that a browser could read otherwise than we do.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_odd = |it: char| it.is_control() || it.is_whitespace() || it == '\\';
        if text.contains(is_odd) || text.to_ascii_lowercase().contains("%0") {
            return None;
        }
        let (scheme, rest) = text.split_once("://")?;
        if !matches!(scheme, "http" | "https") {
            return None;
        }
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() || host.contains('@') {
            return None;
        }
        Some(Self {
            origin: format!("{scheme}://{}", host.to_lowercase()),
            path: format!("/{path}"),
        })
    }

    /// Is this at or below that path? One that goes up is below nothing.
    pub(crate) fn is_below(&self, path: &str) -> bool {
        if self.path.split('/').any(|it| it == ".." || it.eq_ignore_ascii_case("%2e%2e")) {
            return false;
        }
        let path = path.trim_end_matches('/');
        self.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_it_is_written() {
        let written = query(&[("a b", "c&d=é"), ("e", "")]);
        assert_eq!(written, "a%20b=c%26d%3D%C3%A9&e=");
        assert_eq!(field(&written, "a b").as_deref(), Some("c&d=é"));
        assert_eq!(field(&written, "e").as_deref(), Some(""));
        assert_eq!(field(&written, "f"), None);
    }

    #[test]
    fn an_address_has_an_origin_and_a_path() {
        let parsed = |text: &str| Address::parse(text).map(|it| (it.origin, it.path));
        let expect = Some(("https://a:8080".to_owned(), "/b/c".to_owned()));
        assert_eq!(parsed("https://A:8080/b/c?d#e"), expect);
        assert_eq!(parsed("https://a").map(|it| it.1).as_deref(), Some("/"));
        for odd in ["a/b", "ftp://a", "https://", "https://b@a/", "https://a/\n", "https:\\\\a"] {
            assert_eq!(parsed(odd), None, "{odd}");
        }
    }
}
