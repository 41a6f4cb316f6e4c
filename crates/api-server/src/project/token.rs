//! Tokens of the roles of a project.

use api::{AppProject, JwtToken};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rbac::{action, resource};
use serde_json::{Value, json};
use wire::Status;
use wire::message::project::{
    EmptyResponse, ProjectTokenCreateRequest, ProjectTokenDeleteRequest, ProjectTokenResponse,
};

use super::{checked, find, replacing};
use crate::audit::{Reason, note_project};
use crate::bootstrap::uuid;
use crate::failure::refused;
use crate::methods::Call;
use crate::session;
use crate::store::PROJECTS;

/// How often a write tries again after losing against another.
const ATTEMPTS: usize = 10;

pub(crate) async fn create(
    call: Call,
    request: ProjectTokenCreateRequest,
) -> Result<ProjectTokenResponse, Status> {
    let (project, role) = (&request.project, &request.role);
    let id = match request.id.as_str() {
        "" => uuid().ok_or_else(|| Status::internal("the system gives no random numbers"))?,
        id => id.to_owned(),
    };
    for _ in 0..ATTEMPTS {
        let before = entered(&call, project, role).await?;
        if !before.spec.roles.iter().any(|it| it.name == *role) {
            let message = format!("project '{project}' does not have role '{role}'");
            return Err(Status::not_found(message));
        }
        let mut tokens = tokens(&before, role);
        if tokens.iter().any(|it| it.id == id) {
            let message =
                format!("Token id '{id}' has been used. Please specify a unique token id");
            return Err(Status::invalid_argument(message));
        }
        let subject = format!("proj:{project}:{role}");
        let signed = session::issue(&call.server, subject, request.expires_in, id.clone())?;
        let (iat, exp) =
            times(&signed).ok_or_else(|| Status::internal("could not read a token of our own"))?;
        tokens.push(JwtToken { iat, exp, id: id.clone() });
        if write(&call, &before, role, tokens, (Reason::ResourceCreated, "created token")).await? {
            return Ok(ProjectTokenResponse { token: signed });
        }
    }
    Err(Status::internal("Failed to create the token. Too many conflicts"))
}

/// The project, for those who may make tokens of this role: whoever may change the project, and
/// the members of the role's groups. Others are not told whether there is one.
async fn entered(call: &Call, project: &str, role: &str) -> Result<AppProject, Status> {
    let may_change = call.require(resource::PROJECTS, action::UPDATE, project);
    let found = read(call, project).await;
    match (may_change, found) {
        (Ok(()), found) => found,
        (Err(_), Ok(found)) if is_member(&found, role, call.groups()) => Ok(found),
        (Err(refusal), _) => Err(refusal),
    }
}

fn is_member(project: &AppProject, role: &str, groups: &[String]) -> bool {
    let role = project.spec.roles.iter().find(|it| it.name == role);
    role.is_some_and(|it| it.groups.iter().any(|group| groups.contains(group)))
}

pub(crate) async fn delete(
    call: Call,
    request: ProjectTokenDeleteRequest,
) -> Result<EmptyResponse, Status> {
    for _ in 0..ATTEMPTS {
        let before = entered(&call, &request.project, &request.role).await?;
        let mut tokens = tokens(&before, &request.role);
        let count = tokens.len();
        tokens.retain(|it| {
            let is_meant =
                if request.id.is_empty() { it.iat == request.iat } else { it.id == request.id };
            !is_meant
        });
        // What is not there need not be deleted.
        if tokens.len() == count {
            return Ok(EmptyResponse {});
        }
        let what = (Reason::ResourceDeleted, "deleted token");
        if write(&call, &before, &request.role, tokens, what).await? {
            return Ok(EmptyResponse {});
        }
    }
    Err(Status::internal("Failed to delete the token. Too many conflicts"))
}

/// When a token of ours was issued and when it ends; 0 is never.
fn times(token: &str) -> Option<(i64, i64)> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "whole seconds of this age")]
    let time = |name: &str| claims.get(name).and_then(Value::as_f64).map(|it| it as i64);
    Some((time("iat")?, time("exp").unwrap_or(0)))
}

async fn read(call: &Call, name: &str) -> Result<AppProject, Status> {
    let project = find(&call.server.store, name).await?;
    checked(&project).map_err(|status| {
        Status::new(status.code(), format!("error validating project: {}", status.message()))
    })?;
    Ok(project)
}

/// The tokens of a role. Old ones are only in the specification, new ones in the status too.
fn tokens(project: &AppProject, role: &str) -> Vec<JwtToken> {
    let mut tokens: Vec<JwtToken> =
        project.status.jwt_tokens_by_role.get(role).map(|it| it.items.clone()).unwrap_or_default();
    let specified = project.spec.roles.iter().filter(|it| it.name == role);
    for token in specified.flat_map(|it| &it.jwt_tokens) {
        if !tokens.iter().any(|it| it.iat == token.iat && it.id == token.id) {
            tokens.push(token.clone());
        }
    }
    tokens
}

/// The roles of a changed project keep the tokens they have: those are not the client's to change.
pub(super) fn keep(existing: &AppProject, changed: &mut AppProject) {
    for role in &mut changed.spec.roles {
        role.jwt_tokens = tokens(existing, &role.name);
    }
}

/// Writes the tokens into specification and status, as Argo CD keeps them; `false`
/// when somebody else was faster.
async fn write(
    call: &Call,
    before: &AppProject,
    role: &str,
    tokens: Vec<JwtToken>,
    (reason, what): (Reason, &str),
) -> Result<bool, Status> {
    let mut after = before.clone();
    for it in after.spec.roles.iter_mut().filter(|it| it.name == role) {
        it.jwt_tokens.clone_from(&tokens);
    }
    after.status.jwt_tokens_by_role.entry(role.to_owned()).or_default().items = tokens;
    let patch = json!({
        "metadata": { "resourceVersion": before.metadata.resource_version },
        "spec": replacing(&json!(before.spec), &json!(after.spec)),
        "status": replacing(&json!(before.status), &json!(after.status)),
    });
    match call.server.store.merge::<AppProject>(&PROJECTS, &before.metadata.name, &patch).await {
        Ok(written) => {
            note_project(call, &written, reason, what).await;
            Ok(true)
        }
        Err(error) if error.is_conflict() => Ok(false),
        Err(error) => Err(refused("could not update the project", &error)),
    }
}
