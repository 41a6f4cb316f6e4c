//! Lines of a `known_hosts` file: a host, the kind of its key, the key.

use std::fmt;
use std::net::Ipv6Addr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ring::digest;

/// The kinds of keys that ssh hosts have.
const KINDS: [&str; 8] = [
    "ssh-rsa",
    "ssh-dss",
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];
const LABEL_LIMIT: usize = 63;

/// The key of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostKey {
    pub(super) host: String,
    pub(super) kind: String,
    /// Base64, possibly with a remark after it.
    pub(super) data: String,
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.host, self.kind, self.data)
    }
}

impl HostKey {
    /// The hash that ssh shows of a key.
    ///
    /// # Errors
    /// Why this is no key, in words for the user.
    pub(super) fn fingerprint(&self) -> Result<String, String> {
        let kind = &self.kind;
        if !KINDS.contains(&kind.as_str()) {
            return Err(format!("ssh: unknown key algorithm: {kind}"));
        }
        let encoded = self.data.split_whitespace().next().unwrap_or_default();
        let blob = STANDARD.decode(encoded).map_err(|_| "the key is not base64".to_owned())?;
        // A key begins with the length of its kind and the kind.
        let named = blob.split_first_chunk::<4>().and_then(|(length, rest)| {
            rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)
        });
        if named != Some(kind.as_bytes()) {
            return Err(format!("the key is not of the kind {kind}"));
        }
        Ok(STANDARD_NO_PAD.encode(digest::digest(&digest::SHA256, &blob)))
    }
}

/// The keys of a file; what is neither a key nor a remark is skipped, as ssh does.
pub(super) fn read(text: &str) -> Vec<HostKey> {
    let lines = text.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with('#'));
    let keys = lines.filter_map(|line| {
        let mut parts = line.splitn(3, ' ');
        Some(HostKey {
            host: parts.next()?.to_owned(),
            kind: parts.next()?.to_owned(),
            data: parts.next()?.to_owned(),
        })
    });
    keys.collect()
}

/// The host of `[host]:port`.
pub(super) fn without_port(name: &str) -> &str {
    let inner = name.strip_prefix('[').and_then(|it| it.rsplit_once("]:"));
    match inner {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit()) => {
            host
        }
        _ => name,
    }
}

/// Can a server have this name?
pub(super) fn is_host(name: &str) -> bool {
    if name.parse::<Ipv6Addr>().is_ok() {
        return true;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        !bytes.is_empty()
            && bytes.len() <= LABEL_LIMIT
            && bytes.iter().all(|it| is_word(*it) || *it == b'-')
            && bytes.first().is_some_and(|it| is_word(*it))
            && bytes.last().is_some_and(|it| is_word(*it))
    };
    name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_and_torn_lines_are_skipped() {
        let keys = read("# remark\n\nhost ssh-rsa AAAA me@there\ntorn ssh-rsa\n");
        assert_eq!(
            keys.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["host ssh-rsa AAAA me@there"]
        );
    }

    #[test]
    fn a_fingerprint_is_what_ssh_keygen_prints() {
        // `ssh-keygen -lf` told the print.
        let data = "AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB";
        let key = |kind: &str, data: &str| HostKey {
            host: "h".into(),
            kind: kind.into(),
            data: data.into(),
        };
        let print = key("ssh-ed25519", data).fingerprint().expect("a key");
        assert_eq!(print, "RXm/ruZ0eTzRXKwi1AQEDynB0VgHQ2ac9KPSFdf/YnA");
        assert_eq!(key("ssh-ed25519", &format!("{data} remark")).fingerprint(), Ok(print));
        let told = |kind, data| key(kind, data).fingerprint().expect_err("refused");
        assert_eq!(told("ssh-rsa", data), "the key is not of the kind ssh-rsa");
        assert_eq!(told("ssh-ed25519", "%"), "the key is not base64");
        assert_eq!(told("ssh-ed25519", "/////w=="), "the key is not of the kind ssh-ed25519");
        assert_eq!(told("rot13", data), "ssh: unknown key algorithm: rot13");
    }

    #[test]
    fn hosts_are_names_or_addresses() {
        for good in ["localhost", "127.0.0.1", "a-b.example.org.", "x_y", "fd00::1"] {
            assert!(is_host(good), "{good}");
        }
        for bad in ["", ".", "a..b", "-a", "a/b", "a b", "[a]:2", &"x".repeat(64)] {
            assert!(!is_host(bad), "{bad}");
        }
        assert_eq!(without_port("[a]:22"), "a");
        assert_eq!(without_port("[a]:"), "[a]:");
    }
}
