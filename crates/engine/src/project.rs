//! What a project lets its applications do: the one gate before every write.
//!
//! A [`Gate`] is made once per project, with its patterns compiled, and asked
//! about sources, destinations and objects. Each "no" is a [`Denied`] whose text
//! is the one users of Argo CD know. An entry that starts with `!` forbids, and
//! one entry that forbids outweighs all that permit.
//!
//! The other files: [`validate()`] reads a project that somebody writes,
//! [`inherit`] merges global projects into it, [`roles`] has its policies and
//! tokens, [`service_account`] whose rights a sync has, [`orphans`] which
//! resources may be nobody's, [`repo_url`] tells repositories apart, [`SourceRepos`]
//! which of them may be used.

pub mod inherit;
pub mod orphans;
mod pattern;
pub mod repo_url;
pub mod roles;
mod service_account;
mod source_repos;
mod url;
mod validate;

pub use service_account::{Impersonation, NoServiceAccount, acting_account, service_account};
pub use source_repos::SourceRepos;
pub use validate::{GroupProblem, Invalid, InvalidClass, PolicyProblem, validate};

use api::{AppProject, ApplicationSpec, ClusterResourceRestrictionItem};
use gocompat::glob::filepath_match;
use gocompat::glob::list::{self, Mode};
use object::GroupKind;

use pattern::Pattern;

/// A project, ready to be asked.
#[derive(Clone, Debug)]
pub struct Gate {
    project: String,
    sources: SourceRepos,
    destinations: Vec<DestinationRule>,
    application_namespaces: Vec<String>,
    namespaced: KindRules,
    cluster_wide: KindRules,
    /// The clusters registered for this project, if only those will do.
    own_clusters: Option<ProjectClusters>,
}

/// A destination cluster as it is registered.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Cluster {
    /// Its URL.
    pub server: String,
    /// Its name.
    pub name: String,
}

/// The clusters registered for one project: a fact that somebody had to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectClusters {
    /// These.
    Known(Vec<Cluster>),
    /// They could not be listed, for this reason.
    Unknown(String),
}

/// Where an object lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// It belongs to the cluster as a whole.
    ClusterWide,
    /// In this namespace.
    Namespace(&'a str),
}

/// Why the project says no.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Not from this repository.
    #[error("application repo {repo} is not permitted in project '{project}'")]
    Source {
        /// Its address without credentials.
        repo: String,
        /// The project.
        project: String,
    },
    /// The repository that rendered manifests are pushed to and deployed from.
    #[error("sync source repo {repo} is not permitted in project '{project}'")]
    SyncSource {
        /// Its address without credentials.
        repo: String,
        /// The project.
        project: String,
    },
    /// Not to this cluster and namespace.
    #[error(
        "application destination server '{cluster}' and namespace '{namespace}' do not match any of the allowed destinations in project '{project}'"
    )]
    Destination {
        /// The cluster, by name if the application goes by it, else by URL.
        cluster: String,
        /// The namespace.
        namespace: String,
        /// The project.
        project: String,
    },
    /// Objects of this kind, or of this name, may not be deployed.
    #[error("resource {}:{} is not permitted in project {project}", kind.group, kind.kind)]
    Kind {
        /// The kind.
        kind: GroupKind,
        /// The project.
        project: String,
    },
    /// The object names a namespace that is no permitted destination.
    #[error("namespace {namespace} is not permitted in project '{project}'")]
    Namespace {
        /// The namespace.
        namespace: String,
        /// The project.
        project: String,
    },
    /// Applications of this namespace may not use the project.
    #[error(
        "application '{application}' in namespace '{namespace}' is not permitted to use project '{project}'"
    )]
    ApplicationNamespace {
        /// The application.
        application: String,
        /// Where it lives.
        namespace: String,
        /// The project.
        project: String,
    },
    /// Only the project's own clusters are permitted, and they are not known.
    #[error("could not retrieve project clusters: {0}")]
    ProjectClustersUnknown(String),
}

/// An entry of `destinations`.
#[derive(Clone, Debug)]
struct DestinationRule {
    server: Pattern,
    name: Pattern,
    namespace: Pattern,
}

/// What one entry says about a destination.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    Permitted,
    Forbidden,
    Nothing,
}

/// The kinds that may and may not be deployed.
#[derive(Clone, Debug)]
struct KindRules {
    /// Nothing but these; anything when absent.
    only: Option<Vec<KindPattern>>,
    never: Vec<KindPattern>,
}

#[derive(Clone, Debug)]
struct KindPattern {
    group: String,
    kind: String,
    /// Any when empty.
    name: String,
}

impl Gate {
    /// Reads the rules of a project, after [`inherit`] has had its say.
    /// `project_clusters` count if only the project's own are permitted.
    #[must_use]
    pub fn new(project: &AppProject, project_clusters: ProjectClusters) -> Self {
        let spec = &project.spec;
        let namespaced = |list: &[api::GroupKind]| list.iter().map(KindPattern::from).collect();
        let cluster_wide =
            |list: &[ClusterResourceRestrictionItem]| list.iter().map(KindPattern::from).collect();
        let allowed = &spec.namespace_resource_whitelist;
        Self {
            project: project.metadata.name.clone(),
            sources: SourceRepos::new(&spec.source_repos),
            destinations: spec
                .destinations
                .iter()
                .map(|entry| DestinationRule {
                    server: Pattern::new(&entry.server),
                    name: Pattern::new(&entry.name),
                    namespace: Pattern::new(&entry.namespace),
                })
                .collect(),
            application_namespaces: spec.source_namespaces.clone(),
            namespaced: KindRules {
                // A list that was written as an empty one permits nothing.
                only: (!allowed.is_empty() || project.permits_no_namespaced_kind)
                    .then(|| namespaced(allowed)),
                never: namespaced(&spec.namespace_resource_blacklist),
            },
            cluster_wide: KindRules {
                only: Some(cluster_wide(&spec.cluster_resource_whitelist)),
                never: cluster_wide(&spec.cluster_resource_blacklist),
            },
            own_clusters: spec.permit_only_project_scoped_clusters.then_some(project_clusters),
        }
    }

    /// Everything that keeps an application from being deployed at all: its
    /// sources and its destination. `cluster` is the destination as registered.
    #[must_use]
    pub fn objections(&self, spec: &ApplicationSpec, cluster: &Cluster) -> Vec<Denied> {
        let mut objections = self.source_objections(spec);
        let destination = &spec.destination;
        if let Err(mut denied) = self.permits_destination(cluster, &destination.namespace) {
            if let Denied::Destination { cluster: shown, .. } = &mut denied
                && !destination.name.is_empty()
            {
                shown.clone_from(&cluster.name);
            }
            objections.push(denied);
        }
        objections
    }

    fn source_objections(&self, spec: &ApplicationSpec) -> Vec<Denied> {
        let denied = |url: &str| self.permits_source(url).err();
        if let Some(hydrator) = &spec.source_hydrator {
            let (dry, sync) = (&hydrator.dry_source.repo_url, &hydrator.sync_source.repo_url);
            let is_another = !sync.is_empty() && sync != dry;
            let sync = if is_another { self.permits_sync_source(sync).err() } else { None };
            return denied(dry).into_iter().chain(sync).collect();
        }
        if spec.sources.is_empty() {
            let url = spec.source.as_ref().map_or("", |source| &source.repo_url);
            return denied(url).into_iter().collect();
        }
        spec.sources.iter().filter_map(|source| denied(&source.repo_url)).collect()
    }

    /// May an application live in `namespace`? That of the control plane is
    /// always permitted, and stands for a namespace that is not named yet.
    ///
    /// # Errors
    /// If not.
    pub fn permits_application_namespace(
        &self,
        application: &str,
        namespace: &str,
        control_plane: &str,
    ) -> Result<(), Denied> {
        let permitted = namespace.is_empty()
            || namespace == control_plane
            || list::contains(&self.application_namespaces, namespace, Mode::Regexp);
        permitted.then_some(()).ok_or_else(|| Denied::ApplicationNamespace {
            application: application.to_owned(),
            namespace: namespace.to_owned(),
            project: self.project.clone(),
        })
    }

    /// May manifests come from this repository?
    ///
    /// # Errors
    /// If not.
    pub fn permits_source(&self, url: &str) -> Result<(), Denied> {
        self.sources.permits(url).then_some(()).ok_or_else(|| Denied::Source {
            repo: repo_url::without_credentials(url),
            project: self.project.clone(),
        })
    }

    fn permits_sync_source(&self, url: &str) -> Result<(), Denied> {
        self.sources.permits(url).then_some(()).ok_or_else(|| Denied::SyncSource {
            repo: repo_url::without_credentials(url),
            project: self.project.clone(),
        })
    }

    /// The repositories that manifests may come from.
    #[must_use]
    pub fn sources(&self) -> &SourceRepos {
        &self.sources
    }

    /// May this namespace of this cluster be deployed to?
    ///
    /// # Errors
    /// If not, or if that depends on clusters nobody could list.
    pub fn permits_destination(&self, cluster: &Cluster, namespace: &str) -> Result<(), Denied> {
        let denied = || Denied::Destination {
            cluster: cluster.server.clone(),
            namespace: namespace.to_owned(),
            project: self.project.clone(),
        };
        if !self.has_destination(cluster, namespace) {
            return Err(denied());
        }
        match &self.own_clusters {
            None => Ok(()),
            Some(ProjectClusters::Unknown(why)) => Err(Denied::ProjectClustersUnknown(why.clone())),
            Some(ProjectClusters::Known(own)) => {
                let is_same = |it: &Cluster| it.name == cluster.name || it.server == cluster.server;
                own.iter().any(is_same).then_some(()).ok_or_else(denied)
            }
        }
    }

    fn has_destination(&self, cluster: &Cluster, namespace: &str) -> bool {
        let mut permitted = false;
        for rule in &self.destinations {
            match rule.says(cluster, namespace) {
                Says::Permitted => permitted = true,
                Says::Forbidden => return false,
                Says::Nothing => {}
            }
        }
        permitted
    }

    /// May objects of this kind be deployed, and one of this name?
    ///
    /// # Errors
    /// If not.
    pub fn permits_kind(
        &self,
        kind: &GroupKind,
        name: &str,
        place: Place<'_>,
    ) -> Result<(), Denied> {
        let rules = match place {
            Place::ClusterWide => &self.cluster_wide,
            Place::Namespace(_) => &self.namespaced,
        };
        rules
            .permit(kind, name)
            .then_some(())
            .ok_or_else(|| Denied::Kind { kind: kind.clone(), project: self.project.clone() })
    }

    /// May an application write or delete this object in this cluster?
    ///
    /// # Errors
    /// If not: for its kind, its name or its namespace.
    pub fn permits_object(
        &self,
        kind: &GroupKind,
        name: &str,
        place: Place<'_>,
        cluster: &Cluster,
    ) -> Result<(), Denied> {
        self.permits_kind(kind, name, place)?;
        let Place::Namespace(namespace) = place else { return Ok(()) };
        self.permits_destination(cluster, namespace).map_err(|denied| match denied {
            Denied::Destination { namespace, project, .. } => {
                Denied::Namespace { namespace, project }
            }
            other => other,
        })
    }
}

impl DestinationRule {
    /// The cluster must match by URL or by name, and the namespace too.
    ///
    /// A forbidden name forbids in every namespace, a forbidden URL only in those
    /// that the entry names: as in Argo CD, pinned by
    /// `a_forbidden_cluster_name_is_forbidden_in_every_namespace`.
    fn says(&self, cluster: &Cluster, namespace: &str) -> Says {
        let name = !cluster.name.is_empty() && self.name.accepts(&cluster.name);
        let server = !cluster.server.is_empty() && self.server.accepts(&cluster.server);
        let in_namespace = self.namespace.accepts(namespace);
        if (server || name) && in_namespace {
            return Says::Permitted;
        }
        let forbidden = (!name && self.name.forbids())
            || (!server && self.server.forbids() && in_namespace)
            || (!in_namespace && self.namespace.forbids() && server);
        if forbidden { Says::Forbidden } else { Says::Nothing }
    }
}

impl KindRules {
    /// A pattern that cannot be read permits nothing and forbids everything.
    fn permit(&self, kind: &GroupKind, name: &str) -> bool {
        let permitted = self.only.as_ref().is_none_or(|patterns| {
            patterns.iter().any(|pattern| pattern.matches(kind, name) == Some(true))
        });
        permitted && self.never.iter().all(|pattern| pattern.matches(kind, name) == Some(false))
    }
}

impl KindPattern {
    /// Whether the pattern fits; `None` if it cannot be read.
    fn matches(&self, kind: &GroupKind, name: &str) -> Option<bool> {
        let fits = |pattern: &str, text: &str| filepath_match(pattern, text).ok();
        let named = self.name.is_empty() || fits(&self.name, name)?;
        Some(fits(&self.kind, &kind.kind)? && fits(&self.group, &kind.group)? && named)
    }
}

impl From<&api::GroupKind> for KindPattern {
    fn from(entry: &api::GroupKind) -> Self {
        Self { group: entry.group.clone(), kind: entry.kind.clone(), name: String::new() }
    }
}

impl From<&ClusterResourceRestrictionItem> for KindPattern {
    fn from(entry: &ClusterResourceRestrictionItem) -> Self {
        Self { group: entry.group.clone(), kind: entry.kind.clone(), name: entry.name.clone() }
    }
}

#[cfg(test)]
mod tests;
