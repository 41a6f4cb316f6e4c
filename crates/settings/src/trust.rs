//! Whom we believe: certificate authorities, host keys, signing keys.

use std::collections::BTreeMap;

use crate::{Sources, names};

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// PEM certificates by the name of the server they are for.
    pub certificates: BTreeMap<String, String>,
    /// Host keys, in the format of `known_hosts`.
    pub known_hosts: String,
    /// Armoured public keys by their 16 digit id.
    pub gpg_keys: BTreeMap<String, String>,
}

pub(crate) fn read(sources: &Sources) -> Trust {
    let known_hosts = sources.config_map(names::KNOWN_HOSTS).get("ssh_known_hosts");
    Trust {
        certificates: sources.config_map(names::TLS_CERTS).clone(),
        known_hosts: known_hosts.cloned().unwrap_or_default(),
        gpg_keys: sources.config_map(names::GPG_KEYS).clone(),
    }
}
