//! The real Helm, which `cargo xtask oracle helm` installs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::corpus::Answer;

/// Runs of Helm at a time.
const AT_ONCE: usize = 2;

pub(crate) struct RealHelm {
    program: PathBuf,
}

impl RealHelm {
    pub(crate) fn from_environment() -> Self {
        let program = std::env::var_os("HELM").expect("HELM names the program");
        Self { program: program.into() }
    }

    /// `helm template WORDS`, run in `folder`.
    pub(crate) fn template(&self, folder: &Path, words: &[String]) -> Answer {
        let run = Command::new(&self.program)
            .arg("template")
            .args(words)
            .current_dir(folder)
            // No settings or plugins of whoever runs this.
            .env("HELM_CONFIG_HOME", folder.join(".no-helm"))
            .env("HELM_DATA_HOME", folder.join(".no-helm"))
            .output()
            .expect("Helm runs");
        if run.status.success() {
            return Ok(String::from_utf8_lossy(&run.stdout).into_owned());
        }
        Err(message(&String::from_utf8_lossy(&run.stderr)).to_owned())
    }

    /// Asks about many things, several at a time; the answers are in the order of the questions.
    pub(crate) fn each<Question: Sync>(
        &self,
        questions: &[Question],
        ask: impl Fn(&Self, usize, &Question) -> Answer + Sync,
    ) -> Vec<Answer> {
        let pending = Mutex::new(questions.iter().enumerate());
        let answers = Mutex::new(vec![Ok(String::new()); questions.len()]);
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    loop {
                        let next = pending.lock().expect("no asker panics").next();
                        let Some((number, question)) = next else { return };
                        let answer = ask(self, number, question);
                        answers.lock().expect("no asker panics")[number] = answer;
                    }
                });
            }
        });
        answers.into_inner().expect("no asker panics")
    }
}

/// Whether the answers are to be recorded.
pub(crate) fn is_blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// The message alone: without what the command line puts around it.
pub(crate) fn message(text: &str) -> &str {
    let start = text.find("Error: ").map_or(0, |at| at + "Error: ".len());
    let text = text[start..].trim();
    text.strip_suffix("\n\nUse --debug flag to render out invalid YAML").unwrap_or(text)
}
