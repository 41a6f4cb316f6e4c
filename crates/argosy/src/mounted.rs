//! Whom a repo server trusts, from the files that Argo CD's manifests mount
//! beside it: certificates, host keys, signing keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use repo_server::{CredentialBook, RepoServer};
use runtime::Shutdown;

/// How often the files are looked at: kubelets take a minute to change them.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// No such file is larger.
const MAX_FILE: u64 = 4 << 20;

/// Where the files are. The variables are Argo CD's.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    /// A file per host (`ARGOCD_TLS_DATA_PATH`).
    pub(crate) certificates: PathBuf,
    /// With `ssh_known_hosts` (`ARGOCD_SSH_DATA_PATH`).
    pub(crate) ssh: PathBuf,
    /// A file per key.
    pub(crate) gpg: PathBuf,
}

impl Folders {
    pub(crate) fn of_environment() -> Self {
        let folder = |variable: &str, usual: &str| {
            let named = std::env::var_os(variable).filter(|it| !it.is_empty());
            named.map_or_else(|| PathBuf::from(usual), PathBuf::from)
        };
        Self {
            certificates: folder("ARGOCD_TLS_DATA_PATH", "/app/config/tls"),
            ssh: folder("ARGOCD_SSH_DATA_PATH", "/app/config/ssh"),
            gpg: folder("ARGOCD_GPG_DATA_PATH", "/app/config/gpg/source"),
        }
    }

    /// What is there now. A file that cannot be read is told and left out.
    pub(crate) fn read(&self) -> CredentialBook {
        let known_hosts = self.ssh.join("ssh_known_hosts");
        CredentialBook {
            certificates: texts(&self.certificates),
            known_hosts: text(&known_hosts).unwrap_or_default(),
            gpg_keys: texts(&self.gpg),
            ..CredentialBook::default()
        }
    }
}

/// Hands on what changes until the end.
pub(crate) async fn follow(folders: Folders, server: RepoServer, shutdown: Shutdown) {
    let mut last = None;
    loop {
        let reader = folders.clone();
        let read = tokio::task::spawn_blocking(move || reader.read()).await.ok();
        if read.is_some() && read != last {
            server.set_credentials(read.clone().unwrap_or_default());
            last = read;
        }
        if shutdown.or_end(tokio::time::sleep(LOOK_EVERY)).await.is_none() {
            return;
        }
    }
}

fn texts(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let files = entries.filter_map(|it| Some((it.file_name().into_string().ok()?, it.path())));
    // Kubelets keep their own things under names with dots.
    let files = files.filter(|(name, path)| !name.starts_with("..") && path.is_file());
    files.filter_map(|(name, path)| Some((name, text(&path)?))).collect()
}

fn text(path: &Path) -> Option<String> {
    let read = || {
        if std::fs::metadata(path)?.len() > MAX_FILE {
            return Err(std::io::Error::other(format!("it has more than {MAX_FILE} bytes")));
        }
        std::fs::read_to_string(path)
    };
    match read() {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(file = %path.display(), %error, "could not read a mounted file");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_host_and_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = Folders {
            certificates: folder.path().join("tls"),
            ssh: folder.path().join("ssh"),
            gpg: folder.path().join("gpg"),
        };
        assert_eq!(folders.read(), CredentialBook::default(), "nothing is mounted");
        for (path, text) in [
            ("tls/example.com", "PEM"),
            ("tls/..data/x", ""),
            ("ssh/ssh_known_hosts", "key"),
            ("gpg/4AEE", "armoured"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let book = folders.read();
        assert_eq!(book.certificates, [("example.com".to_owned(), "PEM".to_owned())].into());
        assert_eq!(book.known_hosts, "key");
        assert_eq!(book.gpg_keys.keys().collect::<Vec<_>>(), ["4AEE"]);
    }
}
