//! Roles of a project: their policies as RBAC reads them, and their tokens.

use api::{AppProject, JwtToken};

/// All policies of the project's roles, a line each. Every role may see its
/// project; a group has the role it is named in.
#[must_use]
pub fn policies(project: &AppProject) -> String {
    let name = &project.metadata.name;
    let mut lines = Vec::new();
    for role in &project.spec.roles {
        let subject = format!("proj:{name}:{}", role.name);
        lines.push(format!("p, {subject}, projects, get, {name}, allow"));
        lines.extend(role.policies.iter().cloned());
        lines.extend(role.groups.iter().map(|group| format!("g, {group}, {subject}")));
    }
    lines.join("\n")
}

/// The token of a role, by its id or, for tokens from before ids, by when it was
/// issued. A token that is not found was revoked.
#[must_use]
pub fn token<'p>(
    project: &'p AppProject,
    role: &str,
    id: &str,
    issued_at: Option<i64>,
) -> Option<&'p JwtToken> {
    let tokens = &project.status.jwt_tokens_by_role.get(role)?.items;
    let by_id = tokens.iter().find(|token| !id.is_empty() && token.id == id);
    by_id.or_else(|| tokens.iter().find(|token| Some(token.iat) == issued_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> AppProject {
        serde_json::from_str(
            r#"{"metadata":{"name":"shop"},
                "spec":{"roles":[{"name":"ci","groups":["builders"],
                    "policies":["p, proj:shop:ci, applications, sync, shop/*, allow"]}]},
                "status":{"jwtTokensByRole":{"ci":{"items":[{"iat":7},{"iat":9,"id":"nine"}]}}}}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_role_may_see_its_project_and_what_its_policies_say() {
        assert_eq!(
            policies(&project()),
            "p, proj:shop:ci, projects, get, shop, allow\n\
             p, proj:shop:ci, applications, sync, shop/*, allow\n\
             g, builders, proj:shop:ci"
        );
    }

    #[test]
    fn a_token_is_found_by_its_id_or_by_its_time() {
        let project = project();
        let issued = |role, id, at| token(&project, role, id, at).map(|token| token.iat);
        assert_eq!(issued("ci", "nine", None), Some(9));
        assert_eq!(issued("ci", "", Some(7)), Some(7));
        assert_eq!(issued("ci", "", None), None);
        assert_eq!(issued("ci", "gone", Some(8)), None);
        assert_eq!(issued("cd", "nine", None), None);
    }
}
