//! The decision.
//!
//! Somebody is judged as several subjects, one after another: the default role,
//! the name, then each group that has a role. The first that is allowed decides,
//! so a deny cancels allows of the same subject only. This is how Argo CD
//! decides, and why a deny never takes away what the default role gives.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::builtin::builtin_policy;
use crate::line::Finding;
use crate::pattern::MatchMode;
use crate::resource;
use crate::rules::{Rules, Verdict};

/// Roles of roles are followed this far.
const ROLE_DEPTH: usize = 10;

/// How a policy decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How patterns are read.
    pub match_mode: MatchMode,
    /// The role that everybody has; empty for none.
    pub default_role: String,
    /// Without it every request passes.
    pub is_enforced: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { match_mode: MatchMode::Glob, default_role: String::new(), is_enforced: true }
    }
}

/// Who asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Who<'a> {
    /// The account, the user of a token, or `proj:<project>:<role>`.
    pub name: &'a str,
    /// The groups that an identity provider vouches for.
    pub groups: &'a [String],
}

/// What they ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// One of [`crate::resource`].
    pub resource: &'a str,
    /// One of [`crate::action`], possibly with a tail.
    pub action: &'a str,
    /// `project/name` for what lives in a project, else a name.
    pub object: &'a str,
}

/// The built-in policy and the operator's, ready to decide.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    options: Options,
    rules: Vec<Rules>,
}

/// What the roles of one project add to a [`Policy`].
#[derive(Clone, Debug)]
pub struct ProjectPolicy {
    rules: Rules,
}

impl Policy {
    /// The built-in policy with the operator's. While a line of the latter cannot
    /// be read, none of it counts: to skip the line could skip a deny.
    #[must_use]
    pub fn new(operators: &str, options: Options) -> (Self, Vec<Finding>) {
        Self::of_texts(&[&builtin_policy(), operators], options)
    }

    /// A policy of these texts alone.
    #[must_use]
    pub fn of_texts(texts: &[&str], options: Options) -> (Self, Vec<Finding>) {
        let mut policy = Self { options, rules: Vec::new() };
        let mut findings = Vec::new();
        for text in texts {
            let (rules, found) = Rules::parse(text, policy.options.match_mode);
            policy.rules.extend(rules);
            findings.extend(found);
        }
        findings.extend(policy.unfounded_roles());
        (policy, findings)
    }

    fn unfounded_roles(&self) -> Vec<Finding> {
        let roles = self.rules.iter().flat_map(Rules::roles);
        let default = Some(self.options.default_role.as_str()).filter(|it| !it.is_empty());
        let unfounded = roles.chain(default).filter(|role| !self.is_founded(role));
        let findings = unfounded.map(|role| Finding {
            line: 0,
            is_fatal: false,
            message: format!("no line says what {role} may do"),
        });
        findings.collect()
    }

    fn is_founded(&self, role: &str) -> bool {
        let sheets: Vec<&Rules> = self.rules.iter().collect();
        subjects_of(&sheets, role).iter().any(|it| sheets.iter().any(|rules| rules.knows(it)))
    }

    /// How this policy decides.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Reads the policies of a project's roles. One line that cannot be read
    /// makes all of them void, as in Argo CD.
    #[must_use]
    pub fn project(&self, text: &str) -> (Option<ProjectPolicy>, Vec<Finding>) {
        let (rules, findings) = Rules::parse(text, self.options.match_mode);
        (rules.map(|rules| ProjectPolicy { rules }), findings)
    }

    /// May they? `project` finds the policy of the project that the request is about.
    pub fn allows(
        &self,
        who: &Who<'_>,
        request: &Request<'_>,
        project: impl FnOnce(&str) -> Option<Arc<ProjectPolicy>>,
    ) -> bool {
        if !self.options.is_enforced {
            return true;
        }
        let alone: Vec<&Rules> = self.rules.iter().collect();
        if self.allows_default_role(&alone, request) {
            return true;
        }
        let project_name = project_of(request);
        let project = project_name.and_then(project);
        let mut with_project = alone.clone();
        with_project.extend(project.as_ref().map(|it| &it.rules));
        // A project's token counts in its own project only.
        let is_foreign = project.is_some()
            && role_subject(who.name).is_some_and(|(own, _)| Some(own) != project_name);
        let allowed = !is_foreign
            && ((project.is_some() && self.allows_default_role(&with_project, request))
                || allows_subject(&with_project, who.name, request)
                || groups_with_roles(&with_project, who)
                    .any(|group| allows_subject(&with_project, group, request)));
        // Rules whose subject is left empty are for everybody.
        allowed || allows_subject(&alone, "", request)
    }

    fn allows_default_role(&self, sheets: &[&Rules], request: &Request<'_>) -> bool {
        let role = &self.options.default_role;
        !role.is_empty() && allows_subject(sheets, role, request)
    }
}

/// Project and role of a subject `proj:<project>:<role>`.
fn role_subject(subject: &str) -> Option<(&str, &str)> {
    let (project, role) = subject.strip_prefix("proj:")?.split_once(':')?;
    (!role.contains(':')).then_some((project, role))
}

/// A group that no `g` line names is not asked about, whatever its `p` lines say.
fn groups_with_roles<'a>(sheets: &[&Rules], who: &Who<'a>) -> impl Iterator<Item = &'a str> {
    let groups = who.groups.iter().map(String::as_str);
    groups.filter(|group| sheets.iter().any(|rules| rules.is_member(group)))
}

fn allows_subject(sheets: &[&Rules], subject: &str, request: &Request<'_>) -> bool {
    let mut is_allowed = false;
    for name in subjects_of(sheets, subject) {
        for rules in sheets {
            match rules.judge(name, request) {
                Verdict::Denied => return false,
                Verdict::Allowed => is_allowed = true,
                Verdict::Silent => {}
            }
        }
    }
    is_allowed
}

/// The subject, its roles, their roles, and so on.
fn subjects_of<'r>(sheets: &[&'r Rules], subject: &'r str) -> Vec<&'r str> {
    let mut names = vec![subject];
    let mut level = 0..1;
    for _ in 0..ROLE_DEPTH {
        for index in level.clone() {
            let name = names[index];
            for role in sheets.iter().flat_map(|rules| rules.roles_of(name)) {
                if !names.contains(&&**role) {
                    names.push(role);
                }
            }
        }
        level = level.end..names.len();
        if level.is_empty() {
            break;
        }
    }
    names
}

/// The project that a request is about, whose roles therefore have a say.
#[must_use]
pub fn project_of<'a>(request: &Request<'a>) -> Option<&'a str> {
    match request.resource {
        resource::APPLICATIONS
        | resource::APPLICATION_SETS
        | resource::REPOSITORIES
        | resource::CLUSTERS
        | resource::LOGS
        | resource::EXEC => request.object.split_once('/').map(|(project, _)| project),
        resource::PROJECTS => Some(request.object),
        _ => None,
    }
}

/// Can these lines be read? Tells the first that cannot.
///
/// # Errors
/// The finding about that line.
pub fn validate(text: &str) -> Result<(), Finding> {
    let (_, findings) = crate::line::read(text);
    findings.into_iter().next().map_or(Ok(()), Err)
}

/// The policy that argocd-rbac-cm holds: `policy.csv`, then every
/// `policy.<anything>.csv` by name.
#[must_use]
pub fn joined(data: &BTreeMap<String, String>) -> String {
    const MAIN: &str = "policy.csv";
    let is_more = |key: &str| key != MAIN && key.starts_with("policy.") && key.ends_with(".csv");
    let mut text = data.get(MAIN).cloned().unwrap_or_default();
    for (_, more) in data.iter().filter(|(key, _)| is_more(key)) {
        text.push('\n');
        text.push_str(more);
    }
    text
}

#[cfg(test)]
mod tests;
