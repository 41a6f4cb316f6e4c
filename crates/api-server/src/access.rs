//! May they? Every method asks here before it does or tells anything.

use ::settings::Settings;
use api::{Application, ResourceRef};
use rbac::{Asker, Reach, Request, Who, action, resource};
use wire::Status;

use crate::apps::{Index, Indexed};
use crate::bootstrap::seconds;
use crate::failure::permission_denied;
use crate::methods::Call;

impl Call {
    /// May the caller do this? `object` is `project/name` for what lives in a
    /// project, else a name.
    pub(crate) fn may(&self, resource: &str, action: &str, object: &str) -> bool {
        let settings = self.server.settings.current();
        let nobody = crate::caller::Caller::default();
        let caller = self.caller.as_ref().unwrap_or(&nobody);
        let who = Who { name: &caller.name, groups: &caller.groups };
        let policy = &settings.policies.policy;
        let project = |name: &str| self.server.projects.policy(name, policy);
        policy.allows(&who, &Request { resource, action, object }, project)
    }

    /// What the caller may see, where many objects are asked about at once.
    pub(crate) fn sight<'a>(&'a self, settings: &'a Settings) -> Sight<'a> {
        let (name, groups) =
            self.caller.as_ref().map_or(("", &[][..]), |it| (it.name.as_str(), &it.groups));
        let asker = settings.policies.policy.asked_by(Who { name, groups });
        Sight { call: self, settings, asker, reach: Vec::new() }
    }

    /// The groups that somebody vouches for.
    pub(crate) fn groups(&self) -> &[String] {
        self.caller.as_ref().map_or(&[], |it| &it.groups)
    }

    /// The same, as an error for the client. Argo CD names in it what was asked.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub(crate) fn require(&self, resource: &str, action: &str, object: &str) -> Result<(), Status> {
        if self.may(resource, action, object) {
            return Ok(());
        }
        let mut told = format!("permission denied: {resource}, {action}, {object}");
        if let Some(caller) = self.caller.as_ref().filter(|it| !it.issuer.is_empty()) {
            if !caller.name.is_empty() {
                told.push_str(&format!(", sub: {}", caller.name));
            }
            let issued_at = caller.issued_at.and_then(|it| jiff::Timestamp::from_second(it).ok());
            if let Some(issued_at) = issued_at {
                told.push_str(&format!(", iat: {}", seconds(issued_at)));
            }
        }
        Err(Status::permission_denied(told))
    }

    /// What the method needs on this Application. Who may not even look is told
    /// what they would be told if it did not exist.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub(crate) fn guard(&self, app: &Application) -> Result<(), Status> {
        let object = self.object_of(app);
        if !self.may(resource::APPLICATIONS, action::GET, &object) {
            return Err(permission_denied());
        }
        let settings = self.server.settings.current();
        let needed = needed_action(self.method, settings.policies.rollback_is_separate);
        self.require(resource::APPLICATIONS, needed, &object)
    }

    /// May the caller do this to an object of an Application? `verb` is `update` or `delete`.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub(crate) fn guard_object(
        &self,
        app: &Application,
        verb: &str,
        object: &ResourceRef,
    ) -> Result<(), Status> {
        let name = self.object_of(app);
        let settings = self.server.settings.current();
        // Before Argo CD 3 the right on the Application extended to its objects.
        if !settings.policies.objects_are_separate && self.may(resource::APPLICATIONS, verb, &name)
        {
            return Ok(());
        }
        let ResourceRef { group, kind, namespace, name: object_name, .. } = object;
        let fine = format!("{verb}/{group}/{kind}/{namespace}/{object_name}");
        self.require(resource::APPLICATIONS, &fine, &name)
    }

    /// What policies call an Application: its namespace is named where it is not ours.
    pub(crate) fn object_of(&self, app: &Application) -> String {
        self.object_named(app.spec.project_name(), &app.metadata.namespace, &app.metadata.name)
    }

    /// The same, from its parts; an empty namespace is ours.
    pub(crate) fn object_named(&self, project: &str, namespace: &str, name: &str) -> String {
        if namespace.is_empty() || namespace == self.server.options.namespace {
            return format!("{project}/{name}");
        }
        format!("{project}/{namespace}/{name}")
    }

    /// Keeps what the caller may see.
    pub(crate) fn visible<T>(
        &self,
        resource: &str,
        items: Vec<T>,
        object: impl Fn(&T) -> String,
    ) -> Vec<T> {
        let mut items = items;
        items.retain(|it| self.may(resource, action::GET, &object(it)));
        items
    }
}

/// Which Applications of an index a caller may see. A project that is visible or hidden as a whole
/// is decided once, and what is hidden is not looked at.
pub(crate) struct Sight<'a> {
    call: &'a Call,
    settings: &'a Settings,
    asker: Asker<'a>,
    reach: Vec<Option<Reach>>,
}

impl Sight<'_> {
    /// May this one be seen?
    pub(crate) fn takes_in(&mut self, index: &Index, indexed: &Indexed) -> bool {
        match self.reach(index, indexed.project) {
            Reach::All => true,
            Reach::Nothing => false,
            Reach::Parts => {
                let object = self.call.object_of(&indexed.entry.app);
                let (resource, action) = (resource::APPLICATIONS, action::GET);
                self.asker.may(&Request { resource, action, object: &object }, |name| {
                    self.call.server.projects.policy(name, &self.settings.policies.policy)
                })
            }
        }
    }

    fn reach(&mut self, index: &Index, project: usize) -> Reach {
        self.reach.resize(index.projects.len(), None);
        *self.reach[project].get_or_insert_with(|| {
            let start = format!("{}/", index.projects[project]);
            self.asker.reach(resource::APPLICATIONS, action::GET, &start, |name| {
                self.call.server.projects.policy(name, &self.settings.policies.policy)
            })
        })
    }
}

/// What a method of `application.ApplicationService` needs besides a look. The
/// rights on single objects are asked for by their methods.
fn needed_action(method: &str, rollback_is_separate: bool) -> &'static str {
    match method.rsplit('/').next().unwrap_or_default() {
        "Update" | "UpdateSpec" | "Patch" => action::UPDATE,
        "Delete" => action::DELETE,
        "Sync" | "TerminateOperation" => action::SYNC,
        "Rollback" if rollback_is_separate => action::ROLLBACK,
        "Rollback" => action::SYNC,
        _ => action::GET,
    }
}

/// What lives in a project, or in none, as policies call it.
pub(crate) fn scoped(project: &str, name: &str) -> String {
    if project.is_empty() { name.to_owned() } else { format!("{project}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changing_needs_more_than_looking() {
        let needed = |method| needed_action(method, false);
        assert_eq!(needed("/application.ApplicationService/Get"), "get");
        assert_eq!(needed("/application.ApplicationService/PodLogs"), "get");
        assert_eq!(needed("/application.ApplicationService/UpdateSpec"), "update");
        assert_eq!(needed("/application.ApplicationService/Delete"), "delete");
        assert_eq!(needed("/application.ApplicationService/TerminateOperation"), "sync");
        assert_eq!(needed("/application.ApplicationService/Rollback"), "sync");
        assert_eq!(needed_action("/application.ApplicationService/Rollback", true), "rollback");
    }

    #[test]
    fn what_belongs_to_a_project_says_so() {
        assert_eq!(scoped("", "https://x"), "https://x");
        assert_eq!(scoped("shop", "https://x"), "shop/https://x");
    }
}
