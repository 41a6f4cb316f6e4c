//! Turns what goes wrong below into what the client is told.

use ::cluster::RequestError;
use wire::{Code, Status};

/// The API server's no, with the code Argo CD gives it: the message is its own.
pub(crate) fn refused(doing: &str, error: &RequestError) -> Status {
    let Some(refusal) = error.refusal() else {
        return Status::unavailable(format!("{doing}: {}", error.in_one_line()));
    };
    let code = match refusal.code {
        400 | 422 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        409 if refusal.reason == "AlreadyExists" => Code::AlreadyExists,
        409 => Code::Aborted,
        _ => Code::Unknown,
    };
    Status::new(code, format!("{doing}: {}", refusal.message))
}

/// What everybody is told who asks for what they may not see, or what is not there.
pub(crate) fn permission_denied() -> Status {
    Status::permission_denied("permission denied")
}
