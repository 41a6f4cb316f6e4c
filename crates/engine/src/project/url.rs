//! A URL as Go's `net/url` takes it apart and puts it together again: what is
//! refused and what comes out escaped decides which repositories are the same.

use std::fmt;
use std::net::Ipv6Addr;

/// The parts of a URL, escapes undone where Go undoes them.
#[derive(Debug, Default)]
pub(super) struct Url {
    scheme: String,
    /// What follows the scheme of `mailto:somebody`.
    opaque: Option<String>,
    user: Option<User>,
    /// Whether `//` stands before the host.
    has_authority: bool,
    host: Vec<u8>,
    path: Vec<u8>,
    raw_path: String,
    query: Option<String>,
    fragment: Vec<u8>,
    raw_fragment: String,
}

#[derive(Debug)]
struct User {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

/// Where a character stands decides whether it must be escaped.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    User,
    Host,
    Zone,
    Path,
    Fragment,
}

impl Url {
    /// Takes `text` apart; `None` where Go has an error.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return None;
        }
        let mut url = Self { fragment: unescape(fragment, Part::Fragment)?, ..Self::default() };
        url.raw_fragment = fragment.to_owned();
        if text == "*" {
            url.path = b"*".to_vec();
            return Some(url);
        }
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        url.query = query;
        url.read_hierarchy(rest)?;
        Some(url)
    }

    fn read_hierarchy(&mut self, rest: &str) -> Option<()> {
        if !rest.starts_with('/') {
            if !self.scheme.is_empty() {
                self.opaque = Some(rest.to_owned());
                return Some(());
            }
            let first_segment = rest.split('/').next().unwrap_or_default();
            if first_segment.contains(':') {
                return None;
            }
        }
        let mut path = rest;
        let may_have_authority = !self.scheme.is_empty() || !rest.starts_with("///");
        if may_have_authority && let Some(after) = rest.strip_prefix("//") {
            let (authority, after) = after.split_at(after.find('/').unwrap_or(after.len()));
            self.has_authority = true;
            self.read_authority(authority)?;
            path = after;
        }
        self.path = unescape(path, Part::Path)?;
        self.raw_path = path.to_owned();
        Some(())
    }

    fn read_authority(&mut self, authority: &str) -> Option<()> {
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        self.host = read_host(&self.scheme, host)?;
        let Some(user) = user else { return Some(()) };
        let is_user_char =
            |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
        if !user.bytes().all(is_user_char) {
            return None;
        }
        let (name, password) = match user.split_once(':') {
            Some((name, password)) => (name, Some(password)),
            None => (user, None),
        };
        let password = match password {
            Some(password) => Some(unescape(password, Part::User)?),
            None => None,
        };
        self.user = Some(User { name: unescape(name, Part::User)?, password });
        Some(())
    }

    pub(super) fn has_user(&self) -> bool {
        self.user.is_some()
    }

    pub(super) fn without_user(self) -> Self {
        Self { user: None, ..self }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        match &self.opaque {
            Some(opaque) => f.write_str(opaque)?,
            None => self.write_hierarchy(f)?,
        }
        if let Some(query) = &self.query {
            write!(f, "?{query}")?;
        }
        if !self.fragment.is_empty() {
            write!(f, "#{}", written(&self.fragment, &self.raw_fragment, Part::Fragment))?;
        }
        Ok(())
    }
}

impl Url {
    fn write_hierarchy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_place = !self.host.is_empty() || self.user.is_some();
        let keeps_slashes = self.has_authority && !self.scheme.is_empty() && !self.path.is_empty();
        if has_place || keeps_slashes {
            f.write_str("//")?;
        }
        if let Some(User { name, password }) = &self.user {
            f.write_str(&escape(name, Part::User))?;
            if let Some(password) = password {
                write!(f, ":{}", escape(password, Part::User))?;
            }
            f.write_str("@")?;
        }
        f.write_str(&escape(&self.host, Part::Host))?;
        f.write_str(&self.written_path())
    }

    fn written_path(&self) -> String {
        if self.path == b"*" {
            return "*".to_owned();
        }
        written(&self.path, &self.raw_path, Part::Path)
    }
}

/// As it was written, if that was a proper way to write it.
fn written(part: &[u8], raw: &str, place: Part) -> String {
    let is_proper =
        raw.bytes().all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || !must_escape(byte, place));
    if is_proper { raw.to_owned() } else { escape(part, place) }
}

/// `None` for a text that begins with a colon.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return None,
            b':' => return Some((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

fn read_host(scheme: &str, host: &str) -> Option<Vec<u8>> {
    match host.rfind('[') {
        Some(0) => read_ip_literal(host),
        Some(_) => None,
        None => {
            // Hosts of http have one colon at most, before the port.
            let is_http = matches!(scheme, "http" | "https");
            let colon = if is_http { host.find(':') } else { host.rfind(':') };
            if let Some(colon) = colon
                && !is_port(&host[colon..])
            {
                return None;
            }
            unescape(host, Part::Host)
        }
    }
}

/// `[fe80::1%25en0]:8080`.
fn read_ip_literal(host: &str) -> Option<Vec<u8>> {
    let (literal, port) = host.strip_prefix('[')?.rsplit_once(']')?;
    if !is_port(port) {
        return None;
    }
    let (address, zone) = literal.split_at(literal.find("%25").unwrap_or(literal.len()));
    let address = unescape(address, Part::Host)?;
    let zone = unescape(zone, Part::Zone)?;
    let text = std::str::from_utf8(&address).ok()?;
    let (text, inline_zone) = text.split_once('%').unwrap_or((text, "-"));
    text.parse::<Ipv6Addr>().ok()?;
    if inline_zone.is_empty() || zone == b"%" {
        return None;
    }
    Some([b"[", &address[..], &zone[..], b"]", port.as_bytes()].concat())
}

/// Nothing, or a colon and digits.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|it| it.is_ascii_digit()))
}

fn unescape(text: &str, part: Part) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            let in_host = matches!(part, Part::Host | Part::Zone);
            if in_host && byte.is_ascii() && must_escape(byte, part) {
                return None;
            }
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let decoded = u8::from_str_radix(digits, 16).ok()?;
        let is_allowed = match part {
            Part::Host => !decoded.is_ascii() || decoded == b'%',
            Part::Zone => decoded == b'%' || decoded == b' ' || !must_escape(decoded, Part::Host),
            Part::User | Part::Path | Part::Fragment => true,
        };
        if !is_allowed {
            return None;
        }
        bytes.push(decoded);
        rest = after;
    }
    Some(bytes)
}

fn escape(bytes: &[u8], part: Part) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if must_escape(byte, part) {
            text.push_str(&format!("%{byte:02X}"));
        } else {
            text.push(char::from(byte));
        }
    }
    text
}

fn must_escape(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    let allowed: &[u8] = match part {
        Part::User => b"$&+,;=",
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"",
        Part::Path => b"$&+,/:;=@",
        Part::Fragment => b"$&+,/:;=?@!()*",
    };
    !allowed.contains(&byte)
}
