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
use crate::rules::{Objects, Question, Rules, Ruling, SubjectRules};

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

/// How many of a project's objects somebody may do something with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// None of them.
    Nothing,
    /// That depends on their names: ask about each.
    Parts,
    /// All of them.
    All,
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
        self.asked_by(*who).may(request, project)
    }

    /// Somebody who will ask more than once.
    #[must_use]
    pub fn asked_by<'a>(&'a self, who: Who<'a>) -> Asker<'a> {
        let subject = |name: &'a str| Subject {
            name,
            known: self.known.as_ref().and_then(|it| it.get(name)),
        };
        let group = |name: &'a String| {
            (subject(name), self.rules.iter().any(|rules| rules.is_member(name)))
        };
        Asker {
            policy: self,
            default_role: Some(self.options.default_role.as_str())
                .filter(|it| !it.is_empty())
                .map(subject),
            own: subject(who.name),
            groups: who.groups.iter().map(group).collect(),
            everybody: subject(""),
        }
    }
}

/// Somebody, with what the policy says of them found once for all their requests.
#[derive(Debug)]
pub struct Asker<'a> {
    policy: &'a Policy,
    default_role: Option<Subject<'a>>,
    own: Subject<'a>,
    /// With whether a `g` line of the policy names the group.
    groups: Vec<(Subject<'a>, bool)>,
    /// Rules whose subject is left empty are for everybody.
    everybody: Subject<'a>,
}

#[derive(Clone, Copy, Debug)]
struct Subject<'a> {
    name: &'a str,
    known: Option<&'a Known>,
}

impl Asker<'_> {
    /// May they? `project` finds the policy of the project that the request is about.
    pub fn may(
        &self,
        request: &Request<'_>,
        project: impl FnOnce(&str) -> Option<Arc<ProjectPolicy>>,
    ) -> bool {
        let Request { resource, action, object } = *request;
        let question = Question { resource, action, objects: Objects::One(object) };
        self.decided(&question, project_of(request), project) == Reach::All
    }

    /// With how many objects of a project may they? `start` is the project with a slash behind.
    pub fn reach(
        &self,
        resource: &str,
        action: &str,
        start: &str,
        project: impl FnOnce(&str) -> Option<Arc<ProjectPolicy>>,
    ) -> Reach {
        let project_name = project_of(&Request { resource, action, object: start });
        let question = Question { resource, action, objects: Objects::Below(start) };
        self.decided(&question, project_name, project)
    }

    fn decided(
        &self,
        question: &Question<'_>,
        project_name: Option<&str>,
        project: impl FnOnce(&str) -> Option<Arc<ProjectPolicy>>,
    ) -> Reach {
        if !self.policy.options.is_enforced {
            return Reach::All;
        }
        let default = |project| {
            let role = self.default_role.as_ref();
            role.map_or(Reach::Nothing, |role| self.of(role, project, question))
        };
        let mut reach = default(None);
        if reach == Reach::All {
            return reach;
        }
        let project = project_name.and_then(project);
        let with_project = project.as_ref().map(|it| &it.rules);
        // A project's token counts in its own project only.
        let is_foreign = project.is_some()
            && role_subject(self.own.name).is_some_and(|(own, _)| Some(own) != project_name);
        if !is_foreign {
            if project.is_some() {
                reach = reach.max(default(with_project));
            }
            // A group that no `g` line names is not asked about, whatever its `p` lines say.
            let groups = self.groups.iter().filter(|(group, is_member)| {
                *is_member || with_project.is_some_and(|it| it.is_member(group.name))
            });
            for subject in std::iter::once(&self.own).chain(groups.map(|(group, _)| group)) {
                if reach == Reach::All {
                    return reach;
                }
                reach = reach.max(self.of(subject, with_project, question));
            }
        }
        reach.max(self.of(&self.everybody, None, question))
    }

    /// What the rules about one subject and its roles say.
    fn of(&self, subject: &Subject<'_>, project: Option<&Rules>, question: &Question<'_>) -> Reach {
        if self.policy.known.is_none() {
            return self.found(subject.name, project, question);
        }
        let known = subject.known;
        let mut ruling = Ruling::default();
        if let Some(project) = project {
            let roles = known.into_iter().flat_map(|it| &it.names).map(|it| &**it);
            let names = std::iter::once(subject.name).chain(roles.filter(|it| *it != subject.name));
            // Where the project adds a role, they are more than those that are known.
            if names.clone().any(|it| project.is_member(it)) {
                return self.found(subject.name, Some(project), question);
            }
            ruling.hear(names.filter_map(|it| project.about(it)), question);
        }
        ruling.hear(known.into_iter().flat_map(|it| &it.rules), question);
        ruling.reach()
    }

    /// The same the long way: finds the roles first.
    fn found(&self, subject: &str, project: Option<&Rules>, question: &Question<'_>) -> Reach {
        let sheets: Vec<&Rules> = self.policy.rules.iter().chain(project).collect();
        let names = subjects_of(&sheets, subject);
        let about =
            names.iter().flat_map(|name| sheets.iter().filter_map(|rules| rules.about(name)));
        let mut ruling = Ruling::default();
        ruling.hear(about, question);
        ruling.reach()
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
