//! The credentials of a repository, lent to the git of a plugin that works on
//! it (`provideGitCreds`), for as long as its command runs.
//!
//! A password is asked for over a socket and stands nowhere; keys and
//! certificates are files that go with the loan.

use std::io;

use plugins::{AskPass, Grant};
use tempfile::NamedTempFile;
use tokio::runtime::Handle;

use crate::RepoCredentials;
use crate::credentials::Trust;
use crate::ssh::{key_file, private_file};

/// What servers want as a user beside a token.
const ANY_USER: &str = "x-access-token";

/// A loan; over when it is dropped.
#[derive(Default)]
pub(crate) struct Lent {
    /// What the plugin's commands are told.
    pub(crate) variables: Vec<(String, String)>,
    credentials: RepoCredentials,
    grant: Option<Grant>,
    files: Vec<NamedTempFile>,
}

impl Lent {
    /// In Argo CD's order: password or token, else the ssh key.
    pub(crate) fn of(trust: &Trust, ask_pass: &AskPass, runtime: &Handle) -> io::Result<Self> {
        let credentials = &trust.credentials;
        let mut lent = Self { credentials: credentials.clone(), ..Self::default() };
        if !credentials.password.is_empty() || !credentials.bearer_token.is_empty() {
            lent.over_http(ask_pass, runtime)?;
        } else if !credentials.ssh_private_key.is_empty() {
            lent.over_ssh(&trust.known_hosts)?;
        }
        Ok(lent)
    }

    /// The text without what was lent.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.credentials.hide(text)
    }

    fn over_http(&mut self, ask_pass: &AskPass, runtime: &Handle) -> io::Result<()> {
        let RepoCredentials { username, password, bearer_token, .. } = self.credentials.clone();
        if self.credentials.insecure {
            self.tell("GIT_SSL_NO_VERIFY", "true");
        }
        let RepoCredentials { tls_client_cert, tls_client_key, .. } = self.credentials.clone();
        if !tls_client_cert.is_empty() && !tls_client_key.is_empty() {
            self.tell_file("GIT_SSL_CERT", &tls_client_cert)?;
            self.tell_file("GIT_SSL_KEY", &tls_client_key)?;
        }
        if !bearer_token.is_empty() {
            // Git asks nobody for a header: `git --config-env=http.extraHeader=…` takes it from here.
            let header = format!("Authorization: Bearer {bearer_token}");
            self.tell("ARGOCD_BEARER_AUTH_HEADER", &header);
        }
        let user = if username.is_empty() { ANY_USER } else { &username };
        let grant = ask_pass.grant(user, &password, runtime)?;
        self.variables.extend(grant.variables());
        self.grant = Some(grant);
        Ok(())
    }

    fn over_ssh(&mut self, known_hosts: &str) -> io::Result<()> {
        let key = key_file(&self.credentials.ssh_private_key)?;
        let trusted = if self.credentials.insecure {
            "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null".to_owned()
        } else {
            let hosts = private_file(known_hosts)?;
            let option = format!(
                "-o StrictHostKeyChecking=yes -o UserKnownHostsFile={}",
                hosts.path().display()
            );
            self.files.push(hosts);
            option
        };
        // Plugins look for the key behind `-i`.
        let command = format!("ssh -i {} {trusted}", key.path().display());
        self.files.push(key);
        self.tell("GIT_SSH_COMMAND", &command);
        Ok(())
    }

    fn tell(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    fn tell_file(&mut self, name: &str, content: &str) -> io::Result<()> {
        let file = private_file(content)?;
        self.tell(name, &file.path().display().to_string());
        self.files.push(file);
        Ok(())
    }
}
