//! The `ssh` program, told exactly whom to be and whom to trust.

use std::io::Write as _;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::credentials::Trust;

/// The files a call of ssh needs; they go when this goes. Readable by us only,
/// and never among the arguments.
pub(crate) struct SshFiles {
    key: Option<NamedTempFile>,
    known_hosts: NamedTempFile,
    /// What ssh has to say, which would go to our own standard error otherwise.
    complaints: NamedTempFile,
    insecure: bool,
    silence: Duration,
}

impl SshFiles {
    pub(crate) fn write(trust: &Trust, silence: Duration) -> std::io::Result<Self> {
        let key = &trust.credentials.ssh_private_key;
        let key = (!key.is_empty()).then(|| key_file(key)).transpose()?;
        let known_hosts = private_file(&trust.known_hosts)?;
        let (complaints, insecure) = (private_file("")?, trust.credentials.insecure);
        Ok(Self { key, known_hosts, complaints, insecure, silence })
    }

    /// What ssh said so far, in one line.
    pub(crate) fn complaints(&self) -> String {
        let text = std::fs::read_to_string(self.complaints.path()).unwrap_or_default();
        text.lines().take(10).map(str::trim).collect::<Vec<_>>().join(" ")
    }

    /// The program with its options, for a shell. Nothing of the user's or the
    /// machine's configuration counts, nothing is asked.
    pub(crate) fn command(&self) -> String {
        let complaints = quoted(&self.complaints.path().display().to_string());
        let mut words = vec![format!("ssh -F /dev/null -E {complaints}")];
        let seconds = self.silence.as_secs().max(1);
        let mut option = |text: String| words.push(format!("-o {}", quoted(&text)));
        option("BatchMode=yes".to_owned());
        option("IdentityAgent=none".to_owned());
        option("IdentitiesOnly=yes".to_owned());
        option("GlobalKnownHostsFile=/dev/null".to_owned());
        option(format!("ConnectTimeout={seconds}"));
        option(format!("ServerAliveInterval={seconds}"));
        if self.insecure {
            option("StrictHostKeyChecking=no".to_owned());
            option("UserKnownHostsFile=/dev/null".to_owned());
        } else {
            option("StrictHostKeyChecking=yes".to_owned());
            option(format!("UserKnownHostsFile={}", self.known_hosts.path().display()));
        }
        if let Some(key) = &self.key {
            words.push(format!("-i {}", quoted(&key.path().display().to_string())));
        }
        words.join(" ")
    }
}

/// An ssh key as a file. OpenSSH insists on the line feed at the end.
pub(crate) fn key_file(key: &str) -> std::io::Result<NamedTempFile> {
    private_file(&format!("{}\n", key.trim_end()))
}

/// A file that only we may read, until it is dropped: in memory, which the
/// containers of a pod share, and elsewhere only where a machine has no such folder.
pub(crate) fn private_file(content: &str) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in("/dev/shm").or_else(|_| NamedTempFile::new())?;
    file.write_all(content.as_bytes())?;
    file.flush()?;
    Ok(file)
}

pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
