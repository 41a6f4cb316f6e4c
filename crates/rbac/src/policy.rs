//! The decision.
//!
//! Somebody is judged as several subjects, one after another: the default role,
//! the name, then each group that has a role. The first that is allowed decides,
//! so a deny cancels allows of the same subject only. This is how Argo CD
//! decides, and why a deny never takes away what the default role gives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::builtin::builtin_policy;
use crate::line::Finding;
use crate::pattern::MatchMode;
use crate::resource;
use crate::rules::{Rules, SubjectRules, Verdict};

/// Roles of roles are followed this far.
const ROLE_DEPTH: usize = 10;
/// Roles of everybody together that are kept ready: a policy in which many have many would fill the
/// memory.
const KNOWN_LIMIT: usize = 200_000;

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
    /// Everybody whom some line names, with all that follows from it: what a request need not find
    /// out again. None where that would be too much to keep.
    known: Option<BTreeMap<Box<str>, Known>>,
}

/// A subject with its roles, their roles, and so on, and the rules about all of them.
#[derive(Clone, Debug, Default)]
struct Known {
    names: Vec<Box<str>>,
    rules: Vec<Arc<SubjectRules>>,
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
        let mut policy = Self { options, ..Self::default() };
        let mut findings = Vec::new();
        for text in texts {
            let (rules, found) = Rules::parse(text, policy.options.match_mode);
            policy.rules.extend(rules);
            findings.extend(found);
        }
        policy.known = known(&policy.rules);
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
        subjects_of(&sheets, role)
            .iter()
            .any(|it| sheets.iter().any(|rules| rules.about(it).is_some()))
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
        if self.allows_default_role(None, request) {
            return true;
        }
        let project_name = project_of(request);
        let project = project_name.and_then(project);
        let with_project = project.as_ref().map(|it| &it.rules);
        // A project's token counts in its own project only.
        let is_foreign = project.is_some()
            && role_subject(who.name).is_some_and(|(own, _)| Some(own) != project_name);
        let allowed = !is_foreign
            && ((project.is_some() && self.allows_default_role(with_project, request))
                || self.allows_subject(with_project, who.name, request)
                || self
                    .groups_with_roles(with_project, who)
                    .any(|group| self.allows_subject(with_project, group, request)));
        // Rules whose subject is left empty are for everybody.
        allowed || self.allows_subject(None, "", request)
    }

    fn allows_default_role(&self, project: Option<&Rules>, request: &Request<'_>) -> bool {
        let role = &self.options.default_role;
        !role.is_empty() && self.allows_subject(project, role, request)
    }

    /// A group that no `g` line names is not asked about, whatever its `p` lines say.
    fn groups_with_roles<'a>(
        &self,
        project: Option<&Rules>,
        who: &Who<'a>,
    ) -> impl Iterator<Item = &'a str> {
        who.groups.iter().map(String::as_str).filter(move |group| {
            self.rules.iter().any(|rules| rules.is_member(group))
                || project.is_some_and(|it| it.is_member(group))
        })
    }

    fn allows_subject(
        &self,
        project: Option<&Rules>,
        subject: &str,
        request: &Request<'_>,
    ) -> bool {
        let Some(known) = &self.known else {
            return self.allows_found(project, subject, request);
        };
        let known = known.get(subject);
        let roles = known.into_iter().flat_map(|it| &it.names).map(|it| &**it);
        let names = std::iter::once(subject).chain(roles.filter(|it| *it != subject));
        let mut ruling = Ruling::default();
        match project {
            None => ruling.hear(known.into_iter().flat_map(|it| &it.rules), request),
            // Where the project adds no role, they are those that are known.
            Some(project) if !names.clone().any(|it| project.is_member(it)) => {
                ruling.hear(known.into_iter().flat_map(|it| &it.rules), request);
                ruling.hear(names.filter_map(|it| project.about(it)), request);
            }
            Some(_) => return self.allows_found(project, subject, request),
        }
        ruling.is_allowed && !ruling.is_denied
    }

    /// The same the long way: finds the roles first.
    fn allows_found(&self, project: Option<&Rules>, subject: &str, request: &Request<'_>) -> bool {
        let sheets: Vec<&Rules> = self.rules.iter().chain(project).collect();
        let names = subjects_of(&sheets, subject);
        let about =
            names.iter().flat_map(|name| sheets.iter().filter_map(|rules| rules.about(name)));
        let mut ruling = Ruling::default();
        ruling.hear(about, request);
        ruling.is_allowed && !ruling.is_denied
    }
}

/// What the rules about one subject and its roles come to: one deny outweighs all allows.
#[derive(Default)]
struct Ruling {
    is_allowed: bool,
    is_denied: bool,
}

impl Ruling {
    fn hear<'r>(
        &mut self,
        rules: impl Iterator<Item = &'r Arc<SubjectRules>>,
        request: &Request<'_>,
    ) {
        for rules in rules {
            match rules.judge(request) {
                Verdict::Denied => {
                    self.is_denied = true;
                    return;
                }
                Verdict::Allowed => self.is_allowed = true,
                Verdict::Silent => {}
            }
        }
    }
}

/// Everybody whom these rules name, with their roles and the rules about these.
fn known(sheets: &[Rules]) -> Option<BTreeMap<Box<str>, Known>> {
    let sheets: Vec<&Rules> = sheets.iter().collect();
    let mut known: BTreeMap<Box<str>, Known> = BTreeMap::new();
    let mut size = 0;
    for name in sheets.iter().flat_map(|rules| rules.names()) {
        if known.contains_key(name) {
            continue;
        }
        let names = subjects_of(&sheets, name);
        size += names.len();
        if size > KNOWN_LIMIT {
            return None;
        }
        let rules = names
            .iter()
            .flat_map(|name| sheets.iter().filter_map(|rules| rules.about(name)))
            .map(Arc::clone);
        let of_name =
            Known { rules: rules.collect(), names: names.iter().map(|it| (*it).into()).collect() };
        known.insert(name.into(), of_name);
    }
    Some(known)
}

/// Project and role of a subject `proj:<project>:<role>`.
fn role_subject(subject: &str) -> Option<(&str, &str)> {
    let (project, role) = subject.strip_prefix("proj:")?.split_once(':')?;
    (!role.contains(':')).then_some((project, role))
}

/// The subject, its roles, their roles, and so on.
fn subjects_of<'r>(sheets: &[&'r Rules], subject: &'r str) -> Vec<&'r str> {
    let mut names = vec![subject];
    let mut seen = BTreeSet::from([subject]);
    let mut level = 0..1;
    for _ in 0..ROLE_DEPTH {
        for index in level.clone() {
            let name = names[index];
            for role in sheets.iter().flat_map(|rules| rules.roles_of(name)) {
                if seen.insert(role) {
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
