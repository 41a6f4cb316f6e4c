//! `version.VersionService`.

use wire::Status;
use wire::message::version::{Nothing, VersionMessage};

use crate::methods::Call;

/// The Argo CD whose API this is; clients compare it with their own.
pub(crate) const VERSION: &str = concat!("v3.6.0+argosy.", env!("CARGO_PKG_VERSION"));

/// Whoever is not logged in learns the version and nothing else.
pub(crate) async fn version(call: Call, _: Nothing) -> Result<VersionMessage, Status> {
    let mut message = VersionMessage { version: VERSION.into(), ..VersionMessage::default() };
    if call.caller.is_some() {
        message.platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    }
    Ok(message)
}
