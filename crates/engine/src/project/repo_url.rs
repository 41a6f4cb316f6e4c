//! Which addresses mean the same repository, as Argo CD tells them apart.
//!
//! Case does not count, nor does `.git` at the end, and `git@host:path` is
//! `ssh://git@host/path`.

use super::url::Url;

/// The address in the form in which addresses are compared; `None` if it is no URL.
#[must_use]
pub fn normalise(address: &str) -> Option<String> {
    let mut address = address.trim().to_lowercase();
    if is_ssh(&address) && !address.starts_with("ssh://") {
        address = format!("ssh://{}", address.replacen(':', "/", 1));
    }
    let address = address.strip_suffix(".git").unwrap_or(&address);
    let normal = Url::parse(address)?.to_string();
    Some(normal.strip_prefix("ssh://").map_or(normal.clone(), str::to_owned))
}

/// Do two addresses mean the same repository? One that is no URL is the same
/// only as itself.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    let known = |address: &str| normalise(address).filter(|it| !it.is_empty());
    let one = known(one).unwrap_or_else(|| one.to_owned());
    let other = known(other).unwrap_or_else(|| other.to_owned());
    !one.is_empty() && one == other
}

/// The address for showing: without a user's name and password.
#[must_use]
pub fn without_credentials(address: &str) -> String {
    match Url::parse(address) {
        Some(url) if url.has_user() => url.without_user().to_string(),
        _ => address.to_owned(),
    }
}

/// What patterns of a project are compared with. Argo CD takes all addresses
/// that are no URL for one and the same; here they are compared as written, so
/// that permitting one does not permit all others.
pub(super) fn comparable(address: &str) -> String {
    normalise(address).unwrap_or_else(|| {
        let address = address.trim().to_lowercase();
        address.strip_suffix(".git").map_or(address.clone(), str::to_owned)
    })
}

/// Other spellings of the address: without a user, the usual port and slashes at
/// the end, and that of a registry with and without its scheme.
pub(super) fn spellings(address: &str) -> Vec<String> {
    let plain = plain(comparable(address.trim().trim_end_matches('/')));
    match plain.split_once("://") {
        None => vec![format!("oci://{plain}"), plain],
        Some(("oci", bare)) => vec![bare.to_owned(), plain],
        Some(_) => vec![plain],
    }
}

fn plain(address: String) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address };
    let port = match scheme {
        "https" | "oci" => ":443",
        "http" => ":80",
        _ => return address,
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{}{path}", host.strip_suffix(port).unwrap_or(host))
}

/// Does the path go up again somewhere? Clients take backslashes and escaped
/// dots for the same.
pub(super) fn is_roundabout(address: &str) -> bool {
    let address = address.trim().to_lowercase().replace("%2e", ".");
    address.split(['/', '\\', ':']).any(|it| it == "." || it == "..")
}

/// `user@host…`, with or without `ssh://`: no slash or colon before the `@`.
fn is_ssh(address: &str) -> bool {
    let rest = address.strip_prefix("ssh://").unwrap_or(address);
    rest.split_once('@').is_some_and(|(user, host)| {
        !user.contains(['/', ':']) && !host.is_empty() && !host.contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expect: Option<&str>) {
        assert_eq!(normalise(address).as_deref(), expect, "{address}");
    }

    #[test]
    fn spellings_of_one_address_become_one() {
        for spelling in [
            "git@host.example:team/app.git",
            "ssh://git@host.example/team/app",
            " SSH://git@HOST.example/Team/App.git",
        ] {
            check(spelling, Some("git@host.example/team/app"));
        }
    }

    #[test]
    fn port_user_and_final_slash_tell_addresses_apart() {
        check("https://host.example:8443/a/", Some("https://host.example:8443/a/"));
        check("https://me@host.example/a", Some("https://me@host.example/a"));
    }

    #[test]
    fn what_is_no_url_has_no_normal_form() {
        check("ssh://git@host.example:team/app", None);
        check("https://host.example/%zz", None);
        check("https://[::1/a", None);
        check("https://[fe80::g]/a", None);
    }

    #[test]
    fn patterns_keep_their_stars() {
        check("https://*.host.example/team/**", Some("https://*.host.example/team/**"));
        check("*", Some("*"));
    }

    #[test]
    fn what_may_not_stand_in_a_path_is_escaped() {
        check("https://host.example/a b", Some("https://host.example/a%20b"));
        check("https://host.example/{a,b}", Some("https://host.example/%7Ba,b%7D"));
        check("https://host.example/ä", Some("https://host.example/%C3%A4"));
    }

    #[test]
    fn credentials_are_not_shown() {
        assert_eq!(without_credentials("https://me:pw@h.example/a"), "https://h.example/a");
        assert_eq!(without_credentials("git@h.example:a"), "git@h.example:a");
    }
}
