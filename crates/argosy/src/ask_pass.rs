//! `argocd-git-ask-pass`: answers the git of a plugin, which asks for a user or
//! a password. Git starts it with its question as the only argument.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use plugins::{ASK_PASS_BINARY, ASK_PASS_SOCKET, BINARY_VARIABLE, NONCE_VARIABLE, SOCKET_VARIABLE};

/// Were we started by git? Argo CD's repo server and ours say so in a variable;
/// a link of that name says it too.
pub(crate) fn is_asked() -> bool {
    let called = std::env::args_os().next();
    let name = called.as_deref().and_then(|it| Path::new(it).file_name()?.to_str());
    name == Some(ASK_PASS_BINARY)
        || std::env::var(BINARY_VARIABLE).is_ok_and(|it| it == ASK_PASS_BINARY)
}

/// Prints what git wants to know.
pub(crate) fn answer() -> anyhow::Result<()> {
    let question = std::env::args().nth(1).context("git asked no question")?;
    let socket = std::env::var_os(SOCKET_VARIABLE).filter(|it| !it.is_empty());
    let socket = socket.map_or_else(|| PathBuf::from(ASK_PASS_SOCKET), PathBuf::from);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let nonce = std::env::var(NONCE_VARIABLE).ok();
    let answer = runtime.block_on(plugins::answer_git(&question, nonce, &socket))?;
    Ok(writeln!(std::io::stdout(), "{answer}")?)
}
