//! `urlParse` and `urlJoin`: Go's `net/url`, as far as they show it.

use super::add_fixed;
use crate::arguments::{map, text};
use crate::call::{Call, Functions, Parameter};
use crate::error::Error;
use crate::strconv::quote;
use crate::value::{Map, Value};

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Map, String};
    add_fixed(
        functions,
        &[("urlParse", &[String], parse), ("urlJoin", &[Map], |_, a| join(&map(&a[0])))],
    );
}

fn parse(_: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let whole = text(&arguments[0]);
    let url = Url::parse(&whole).map_err(|Unreadable { url, problem }| {
        let shown = quote(url.as_bytes());
        Error::function(format!("unable to parse url: parse {shown}: {problem}"))
    })?;
    Ok(Value::map([
        ("scheme", Value::string(url.scheme)),
        ("host", Value::string(url.host.clone())),
        ("hostname", Value::string(hostname(&url.host))),
        ("path", Value::string(url.path)),
        ("query", Value::string(url.query)),
        ("opaque", Value::string(url.opaque)),
        ("fragment", Value::string(url.fragment)),
        ("userinfo", Value::string(url.user.unwrap_or_default())),
    ]))
}

#[derive(Default)]
struct Url {
    scheme: String,
    opaque: String,
    user: Option<String>,
    host: String,
    path: String,
    query: String,
    fragment: String,
}

/// What cannot be read of an address, and why.
struct Unreadable<'a> {
    url: &'a str,
    problem: String,
}

impl Url {
    fn parse(whole: &str) -> Result<Self, Unreadable<'_>> {
        let (before, fragment) = whole.split_once('#').unwrap_or((whole, ""));
        let mut url = Self::parse_before_fragment(before)
            .map_err(|problem| Unreadable { url: before, problem })?;
        url.fragment = unescape(fragment).map_err(|problem| Unreadable { url: whole, problem })?;
        Ok(url)
    }

    fn parse_before_fragment(whole: &str) -> Result<Self, String> {
        let mut url = Self::default();
        if whole.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".into());
        }
        let (scheme, mut rest) = split_scheme(whole)?;
        url.scheme = scheme.to_ascii_lowercase();
        if let Some((before, query)) = rest.split_once('?') {
            rest = before;
            url.query = query.into();
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                url.opaque = rest.into();
                return Ok(url);
            }
            if rest.split('/').next().is_some_and(|first| first.contains(':')) {
                return Err("first path segment in URL cannot contain colon".into());
            }
        }
        if let Some(after) = rest.strip_prefix("//")
            && !(url.scheme.is_empty() && rest.starts_with("///"))
        {
            let slash = after.find('/').unwrap_or(after.len());
            url.authority(&after[..slash])?;
            rest = &after[slash..];
        }
        url.path = unescape(rest)?;
        Ok(url)
    }

    fn authority(&mut self, authority: &str) -> Result<(), String> {
        let host = match authority.rsplit_once('@') {
            Some((user, host)) => {
                let belongs =
                    |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
                if !user.chars().all(belongs) {
                    return Err("net/url: invalid userinfo".into());
                }
                let (name, password) = match user.split_once(':') {
                    Some((name, password)) => (name, Some(password)),
                    None => (user, None),
                };
                let mut shown = escape(&unescape(name)?, "-_.~$&+,;=");
                if let Some(password) = password {
                    shown.push(':');
                    shown.push_str(&escape(&unescape(password)?, "-_.~$&+,;="));
                }
                self.user = Some(shown);
                host
            }
            None => authority,
        };
        self.host = unescaped_host(host)?;
        Ok(())
    }
}

fn unescaped_host(host: &str) -> Result<String, String> {
    let port = if host.starts_with('[') {
        let end = host.rfind(']').ok_or("missing ']' in host")?;
        &host[end + 1..]
    } else {
        &host[host.find(':').unwrap_or(host.len())..]
    };
    let is_port = |port: &str| {
        port.strip_prefix(':').is_some_and(|it| it.bytes().all(|b| b.is_ascii_digit()))
    };
    if !port.is_empty() && !is_port(port) {
        return Err(format!("invalid port {} after host", quote(port.as_bytes())));
    }
    if host.starts_with('[')
        && let Some(zone) = host.find("%25")
    {
        let end = host.rfind(']').unwrap_or(host.len());
        let (address, zone, rest) = (&host[..zone], unescape(&host[zone..end])?, &host[end..]);
        let inside = format!("{}{zone}", &address[1..]);
        check_address(&inside)?;
        return Ok(format!("{address}{zone}{rest}"));
    }
    let belongs = |c: char| c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    if let Some(bad) = host.chars().find(|c| c.is_ascii() && !belongs(*c)) {
        let shown = quote(bad.to_string().as_bytes());
        return Err(format!("invalid character {shown} in host name"));
    }
    // What needs no escape must not have one.
    for (at, _) in host.match_indices('%') {
        let escape = host.get(at..at + 3).unwrap_or(&host[at..]);
        let is_plain = escape.as_bytes().get(1).is_some_and(|digit| (b'0'..b'8').contains(digit));
        if is_plain && escape != "%25" {
            return Err(format!("invalid URL escape {}", quote(escape.as_bytes())));
        }
    }
    let plain = unescape(host)?;
    if let Some(inside) = plain.strip_prefix('[') {
        check_address(inside.split(']').next().unwrap_or_default())?;
    }
    Ok(plain)
}

/// What stands in brackets is an address, of version six unless it is none at all.
fn check_address(inside: &str) -> Result<(), String> {
    let (address, zone) = inside.split_once('%').unwrap_or((inside, "-"));
    let problem = match address.parse::<std::net::IpAddr>() {
        Ok(_) if zone.is_empty() => "zone must be a non-empty string",
        Ok(std::net::IpAddr::V6(_)) => return Ok(()),
        Ok(std::net::IpAddr::V4(_)) => return Err("invalid IP-literal".into()),
        Err(_) => "unable to parse IP",
    };
    Err(format!("invalid host: ParseAddr({}): {problem}", quote(inside.as_bytes())))
}

fn split_scheme(whole: &str) -> Result<(&str, &str), String> {
    for (index, c) in whole.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if index > 0 => {}
            '0'..='9' | '+' | '-' | '.' => return Ok(("", whole)),
            ':' if index == 0 => return Err("missing protocol scheme".into()),
            ':' => return Ok((&whole[..index], &whole[index + 1..])),
            _ => return Ok(("", whole)),
        }
    }
    Ok(("", whole))
}

fn hostname(host: &str) -> String {
    if let Some(inside) = host.strip_prefix('[') {
        return inside.split(']').next().unwrap_or_default().into();
    }
    host.split(':').next().unwrap_or_default().into()
}

fn unescape(text: &str) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        if bytes[index] != b'%' {
            out.push(bytes[index]);
            index += 1;
            continue;
        }
        let digits = text.get(index + 1..index + 3);
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => out.push(byte),
            None => {
                let end = bytes.len().min(index + 3);
                let shown = quote(&bytes[index..end]);
                return Err(format!("invalid URL escape {shown}"));
            }
        }
        index += 3;
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn escape(text: &str, also_plain: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || also_plain.as_bytes().contains(&byte) {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn join(parts: &Map) -> Result<Value, Error> {
    let part = |key: &str| match parts.get(key.as_bytes()) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.as_str().into_owned()),
        Some(Value::Nil | Value::Nothing) => {
            Err(Error::function("runtime error: invalid memory address or nil pointer dereference"))
        }
        Some(other) => Err(Error::function(format!(
            "unable to parse {key} key, must be of type string, but {} found",
            other.kind().name()
        ))),
    };
    let (scheme, host, path) = (part("scheme")?, part("host")?, part("path")?);
    let (query, opaque, fragment) = (part("query")?, part("opaque")?, part("fragment")?);
    let user = part("userinfo")?;
    let user = if user.is_empty() {
        user
    } else {
        let whole = format!("proto://{user}@host");
        let parsed = Url::parse(&whole).map_err(|Unreadable { url, problem }| {
            let shown = quote(url.as_bytes());
            Error::function(format!("unable to parse userinfo in dict: parse {shown}: {problem}"))
        })?;
        parsed.user.unwrap_or_default()
    };
    let mut out = String::new();
    if !scheme.is_empty() {
        out.push_str(&scheme);
        out.push(':');
    }
    if !opaque.is_empty() {
        out.push_str(&opaque);
    } else {
        if !scheme.is_empty() || !host.is_empty() || !user.is_empty() {
            if !host.is_empty() || !path.is_empty() || !user.is_empty() {
                out.push_str("//");
            }
            if !user.is_empty() {
                out.push_str(&user);
                out.push('@');
            }
            out.push_str(&escape(&host, "-_.~$&+,;=:[]!'()*<>\""));
        }
        let escaped = escape(&path, "-_.~$&+,/:;=@!'()*");
        if !escaped.is_empty() && !escaped.starts_with('/') && !host.is_empty() {
            out.push('/');
        }
        // Else the first part would be taken for a scheme.
        if out.is_empty() && escaped.split('/').next().is_some_and(|first| first.contains(':')) {
            out.push_str("./");
        }
        out.push_str(&escaped);
    }
    if !query.is_empty() {
        out.push('?');
        out.push_str(&query);
    }
    if !fragment.is_empty() {
        out.push('#');
        out.push_str(&escape(&fragment, "-_.~$&+,/:;=?@!()*'"));
    }
    Ok(Value::string(out))
}
