//! Whom repositories are trusted by: `certificate.CertificateService`.
//!
//! Certificates of https servers are in argocd-tls-certs-cm, by server; keys of
//! ssh hosts are lines of argocd-ssh-known-hosts-cm. Reading either is in
//! `certificate/tls.rs` and `certificate/known_hosts.rs`.

mod known_hosts;
mod tls;

use ::settings::names;
use gocompat::glob::filepath_match;
use rbac::{action, resource};
use wire::Status;
use wire::message::certificate::{
    RepositoryCertificate, RepositoryCertificateCreateRequest, RepositoryCertificateList,
    RepositoryCertificateQuery,
};

use crate::config_map::{self, Data};
use crate::methods::Call;
use known_hosts::HostKey;

/// The key of argocd-ssh-known-hosts-cm.
const KNOWN_HOSTS: &str = "ssh_known_hosts";
/// No answer, and no request, has more entries.
const ENTRY_LIMIT: usize = 256;

pub(crate) async fn list(
    call: Call,
    query: RepositoryCertificateQuery,
) -> Result<RepositoryCertificateList, Status> {
    call.require(resource::CERTIFICATES, action::GET, "")?;
    let mut items = Vec::new();
    if query_is_about(&query, SSH) {
        let hosts = config_map::read(&call.server, names::KNOWN_HOSTS).await?;
        let keys = host_keys(&hosts)?;
        items.extend(keys.iter().filter(|it| is_asked_key(&query, it)).map(shown_key));
    }
    if query_is_about(&query, HTTPS) {
        let certificates = config_map::read(&call.server, names::TLS_CERTS).await?;
        for (server, text) in certificates.iter().filter(|(it, _)| is_asked_host(&query, it)) {
            let parts = tls::blocks(text).unwrap_or_default();
            items.extend(parts.iter().map(|it| shown_certificate(server, it)));
        }
    }
    Ok(RepositoryCertificateList { items, ..RepositoryCertificateList::default() })
}

pub(crate) async fn create(
    call: Call,
    request: RepositoryCertificateCreateRequest,
) -> Result<RepositoryCertificateList, Status> {
    call.require(resource::CERTIFICATES, action::CREATE, "")?;
    let wanted = request.certificates.unwrap_or_default().items;
    if wanted.len() > ENTRY_LIMIT {
        let message = format!("a request may have at most {ENTRY_LIMIT} certificates");
        return Err(Status::invalid_argument(message));
    }
    for item in &wanted {
        check(item)?;
    }
    let of_kind = |kind: &str| wanted.iter().filter(|it| it.cert_type == kind).collect::<Vec<_>>();
    let (keys, certificates) = (of_kind(SSH), of_kind(HTTPS));
    // What would fail is found before the first of the two is written.
    let current = config_map::read(&call.server, names::TLS_CERTS).await?;
    added_certificates(&mut current.clone(), &certificates, request.upsert)?;
    let mut items = Vec::new();
    if !keys.is_empty() {
        let change = |data: &mut Data| added_keys(data, &keys, request.upsert);
        items.extend(config_map::change(&call.server, names::KNOWN_HOSTS, change).await?);
    }
    if !certificates.is_empty() {
        let change = |data: &mut Data| added_certificates(data, &certificates, request.upsert);
        items.extend(config_map::change(&call.server, names::TLS_CERTS, change).await?);
    }
    call.server.ports.sources.credentials_changed().await;
    Ok(RepositoryCertificateList { items, ..RepositoryCertificateList::default() })
}

pub(crate) async fn delete(
    call: Call,
    query: RepositoryCertificateQuery,
) -> Result<RepositoryCertificateList, Status> {
    call.require(resource::CERTIFICATES, action::DELETE, "")?;
    let mut items = Vec::new();
    if query_is_about(&query, SSH) {
        let change = |data: &mut Data| removed_keys(data, &query);
        items.extend(config_map::change(&call.server, names::KNOWN_HOSTS, change).await?);
    }
    if query_is_about(&query, HTTPS) {
        let change = |data: &mut Data| removed_certificates(data, &query);
        items.extend(config_map::change(&call.server, names::TLS_CERTS, change).await?);
    }
    call.server.ports.sources.credentials_changed().await;
    Ok(RepositoryCertificateList { items, ..RepositoryCertificateList::default() })
}

const SSH: &str = "ssh";
const HTTPS: &str = "https";

fn query_is_about(query: &RepositoryCertificateQuery, kind: &str) -> bool {
    match query.cert_type.as_str() {
        "" | "*" => true,
        "tls" => kind == HTTPS,
        asked => asked == kind,
    }
}

/// Brackets of a pattern are those of `[host]:port`, not of a set.
fn is_asked_host(query: &RepositoryCertificateQuery, host: &str) -> bool {
    let pattern = query.host_name_pattern.replace('[', "\\[").replace(']', "\\]");
    pattern.is_empty() || filepath_match(&pattern, host).unwrap_or(false)
}

fn is_asked_key(query: &RepositoryCertificateQuery, key: &HostKey) -> bool {
    let kind = query.cert_sub_type.as_str();
    is_asked_host(query, &key.host) && (matches!(kind, "" | "*") || kind == key.kind)
}

/// Refuses what could never work, before anything is stored.
fn check(item: &RepositoryCertificate) -> Result<(), Status> {
    let host = match item.cert_type.as_str() {
        HTTPS => item.server_name.as_str(),
        SSH => known_hosts::without_port(&item.server_name),
        other => return Err(Status::unknown(format!("unknown certificate type: {other}"))),
    };
    if !known_hosts::is_host(host) {
        return Err(Status::unknown(format!("invalid hostname in request: {host}")));
    }
    Ok(())
}

fn host_keys(data: &Data) -> Result<Vec<HostKey>, Status> {
    let keys = known_hosts::read(data.get(KNOWN_HOSTS).map_or("", String::as_str));
    if keys.len() > ENTRY_LIMIT {
        return Err(Status::unknown("limit exceeded"));
    }
    Ok(keys)
}

fn added_keys(
    data: &mut Data,
    wanted: &[&RepositoryCertificate],
    upsert: bool,
) -> Result<Vec<RepositoryCertificate>, Status> {
    let mut keys = host_keys(data)?;
    let mut added = Vec::new();
    for item in wanted {
        let key = HostKey {
            host: item.server_name.clone(),
            kind: item.cert_sub_type.clone(),
            data: String::from_utf8_lossy(&item.cert_data).trim().to_owned(),
        };
        let print = key.fingerprint().map_err(|why| {
            Status::unknown(format!("could not read the key of {}: {why}", key.host))
        })?;
        match keys.iter_mut().find(|it| it.host == key.host && it.kind == key.kind) {
            Some(there) if there.data == key.data => continue,
            Some(_) if !upsert => {
                return Err(Status::unknown(format!(
                    "key for '{}' (subtype: '{}') already exists, and upsert was not specified",
                    key.host, key.kind
                )));
            }
            Some(there) => *there = key,
            None => keys.push(key),
        }
        added.push(RepositoryCertificate { cert_info: print, ..(*item).clone() });
    }
    store_keys(data, &keys);
    Ok(added)
}

fn removed_keys(
    data: &mut Data,
    query: &RepositoryCertificateQuery,
) -> Result<Vec<RepositoryCertificate>, Status> {
    let keys = host_keys(data)?;
    let (removed, kept): (Vec<_>, Vec<_>) =
        keys.into_iter().partition(|it| is_asked_key(query, it));
    if !removed.is_empty() {
        store_keys(data, &kept);
    }
    let told = removed.into_iter().map(|it| RepositoryCertificate {
        server_name: it.host,
        cert_type: SSH.into(),
        cert_sub_type: it.kind,
        cert_data: it.data.into_bytes(),
        cert_info: String::new(),
    });
    Ok(told.collect())
}

fn store_keys(data: &mut Data, keys: &[HostKey]) {
    let lines: String = keys.iter().map(|it| format!("{it}\n")).collect();
    data.insert(KNOWN_HOSTS.into(), lines);
}

fn shown_key(key: &HostKey) -> RepositoryCertificate {
    RepositoryCertificate {
        server_name: key.host.clone(),
        cert_type: SSH.into(),
        cert_sub_type: key.kind.clone(),
        cert_data: Vec::new(),
        cert_info: format!("SHA256:{}", key.fingerprint().unwrap_or_default()),
    }
}

fn added_certificates(
    data: &mut Data,
    wanted: &[&RepositoryCertificate],
    upsert: bool,
) -> Result<Vec<RepositoryCertificate>, Status> {
    let mut added = Vec::new();
    for item in wanted {
        let text = String::from_utf8_lossy(&item.cert_data).into_owned();
        let parts = tls::blocks(&text).map_err(Status::unknown)?;
        if parts.is_empty() {
            return Err(Status::unknown("no valid PEM data received"));
        }
        for part in &parts {
            tls::facts(part).map_err(Status::unknown)?;
        }
        match data.get(&item.server_name) {
            Some(there) if *there == text => continue,
            Some(_) if !upsert => {
                return Err(Status::unknown(format!(
                    "TLS certificate for server '{}' already exists, and upsert was not specified",
                    item.server_name
                )));
            }
            _ => drop(data.insert(item.server_name.clone(), text)),
        }
        added.extend(parts.into_iter().map(|it| block_of(&item.server_name, it)));
    }
    Ok(added)
}

fn removed_certificates(
    data: &mut Data,
    query: &RepositoryCertificateQuery,
) -> Result<Vec<RepositoryCertificate>, Status> {
    let servers: Vec<String> = data.keys().filter(|it| is_asked_host(query, it)).cloned().collect();
    let mut removed = Vec::new();
    for server in servers {
        let text = data.remove(&server).unwrap_or_default();
        // What is no certificate can be removed too, though there is nothing to tell of it.
        let parts = tls::blocks(&text).unwrap_or_default();
        removed.extend(parts.into_iter().map(|it| block_of(&server, it)));
    }
    Ok(removed)
}

fn block_of(server: &str, block: String) -> RepositoryCertificate {
    RepositoryCertificate {
        server_name: server.to_owned(),
        cert_type: HTTPS.into(),
        cert_data: block.into_bytes(),
        ..RepositoryCertificate::default()
    }
}

fn shown_certificate(server: &str, block: &str) -> RepositoryCertificate {
    let (kind, info) = match tls::facts(block) {
        Ok(facts) => (facts.key_kind.to_owned(), facts.subject),
        Err(why) => ("invalid".to_owned(), why),
    };
    RepositoryCertificate {
        server_name: server.to_owned(),
        cert_type: HTTPS.into(),
        cert_sub_type: kind,
        cert_data: Vec::new(),
        cert_info: info,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(host: &str, kind: &str, sub: &str) -> RepositoryCertificateQuery {
        RepositoryCertificateQuery {
            host_name_pattern: host.into(),
            cert_type: kind.into(),
            cert_sub_type: sub.into(),
        }
    }

    /// An ed25519 key whose bytes all are `byte`.
    fn key(host: &str, byte: u8) -> RepositoryCertificate {
        use base64::Engine as _;
        let mut blob = vec![0, 0, 0, 11];
        blob.extend(b"ssh-ed25519");
        blob.extend([0, 0, 0, 32]);
        blob.extend([byte; 32]);
        RepositoryCertificate {
            server_name: host.into(),
            cert_type: SSH.into(),
            cert_sub_type: "ssh-ed25519".into(),
            cert_data: base64::engine::general_purpose::STANDARD.encode(blob).into_bytes(),
            cert_info: String::new(),
        }
    }

    #[test]
    fn a_query_may_name_a_kind_and_a_host() {
        assert!(
            query_is_about(&query("", "", ""), SSH) && query_is_about(&query("", "*", ""), SSH)
        );
        assert!(query_is_about(&query("", "tls", ""), HTTPS));
        assert!(!query_is_about(&query("", "tls", ""), SSH));
        let asked = |pattern: &str, host: &str| is_asked_host(&query(pattern, "", ""), host);
        assert!(asked("", "a.example.org") && asked("*.example.org", "a.example.org"));
        assert!(asked("[git.example.org]:2222", "[git.example.org]:2222"));
        assert!(!asked("*.example.org", "example.net"));
    }

    #[test]
    fn a_host_key_is_added_once_and_replaced_only_when_asked() {
        let mut data = Data::new();
        let (one, other) = (key("git.example.org", 1), key("git.example.org", 2));
        assert_eq!(added_keys(&mut data, &[&one], false).expect("added").len(), 1);
        assert_eq!(added_keys(&mut data, &[&one], false).expect("known").len(), 0);
        let refused = added_keys(&mut data, &[&other], false).expect_err("there is one");
        assert!(refused.message().contains("upsert was not specified"), "{refused}");
        assert_eq!(added_keys(&mut data, &[&other], true).expect("replaced").len(), 1);
        let text = String::from_utf8(other.cert_data).expect("text");
        assert_eq!(data[KNOWN_HOSTS], format!("git.example.org ssh-ed25519 {text}\n"));
        let removed = removed_keys(&mut data, &query("git.*", "ssh", "ssh-rsa")).expect("fine");
        assert!(removed.is_empty());
        let removed = removed_keys(&mut data, &query("git.*", "ssh", "")).expect("fine");
        assert_eq!((removed.len(), data[KNOWN_HOSTS].as_str()), (1, ""));
    }

    #[test]
    fn a_certificate_is_checked_before_it_is_stored() {
        let (chain, _) = crate::tls::self_signed("argocd").expect("a certificate");
        let item = |text: &str| RepositoryCertificate {
            server_name: "git.example.org".into(),
            cert_type: HTTPS.into(),
            cert_data: text.as_bytes().to_vec(),
            ..RepositoryCertificate::default()
        };
        let mut data = Data::new();
        let nonsense = item("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        assert!(added_certificates(&mut data, &[&nonsense], false).is_err() && data.is_empty());
        assert!(added_certificates(&mut data, &[&item("nothing")], false).is_err());
        let good = item(&chain);
        assert_eq!(added_certificates(&mut data, &[&good], false).expect("fine").len(), 1);
        let twice = item(&format!("{chain}{chain}"));
        assert!(added_certificates(&mut data, &[&twice], false).is_err());
        assert_eq!(added_certificates(&mut data, &[&twice], true).expect("fine").len(), 2);
        let removed = removed_certificates(&mut data, &query("", "", "")).expect("fine");
        assert_eq!((removed.len(), data.len()), (2, 0));
    }

    #[test]
    fn names_that_are_no_hosts_and_unknown_kinds_are_refused() {
        let told = |kind: &str, host: &str| {
            let item = RepositoryCertificate {
                server_name: host.into(),
                cert_type: kind.into(),
                ..RepositoryCertificate::default()
            };
            check(&item).err().map(|it| it.message().to_owned()).unwrap_or_default()
        };
        assert_eq!(told(HTTPS, "git.example.org"), "");
        assert_eq!(told(SSH, "[git.example.org]:2222"), "");
        assert_eq!(told(HTTPS, "../etc"), "invalid hostname in request: ../etc");
        assert_eq!(told("smtp", "a"), "unknown certificate type: smtp");
    }
}
