//! One state of all settings.

use std::collections::BTreeMap;
use std::time::Duration;

use api::LabelSelector;
use rbac::{MatchMode, Options, Policy};
use serde::Deserialize;

use crate::accounts::{self, Account};
use crate::clusters::{self, ClusterSettings};
use crate::extensions::{self, Extension};
use crate::reader::{Reader, boolean, duration};
use crate::rendering::{self, Rendering};
use crate::repositories::{self, Repositories};
use crate::resources::{self, Resources};
use crate::sso::{self, Sso};
use crate::trust::{self, Trust};
use crate::ui::{self, Ui};
use crate::{Finding, Secret, Sources, names};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const DEFAULT_SHELLS: [&str; 4] = ["bash", "sh", "powershell", "cmd"];
const DEFAULT_PASSWORD_PATTERN: &str = "^.{8,32}$";

/// One state of all settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Local accounts by name.
    pub accounts: BTreeMap<String, Account>,
    /// How sessions work.
    pub session: Session,
    /// Who may do what.
    pub policies: Policies,
    /// What the API server offers.
    pub server: Server,
    /// The API server's certificate, if there is one.
    pub certificate: Option<ServerCertificate>,
    /// Single sign-on.
    pub sso: Sso,
    /// Shared secrets and limits of webhooks.
    pub webhooks: Webhooks,
    /// How objects are known to belong to an Application.
    pub tracking: Tracking,
    /// How often things are looked at.
    pub timeouts: Timeouts,
    /// How kinds are treated.
    pub resources: Resources,
    /// How sources are rendered.
    pub rendering: Rendering,
    /// Projects whose rules hold in others.
    pub global_projects: Vec<GlobalProject>,
    /// Clusters to deploy to, besides our own.
    pub clusters: Vec<ClusterSettings>,
    /// May our own cluster be deployed to?
    pub in_cluster_enabled: bool,
    /// Repositories.
    pub repositories: Repositories,
    /// Whom we believe.
    pub trust: Trust,
    /// What the user interface shows.
    pub ui: Ui,
    /// Services that requests are passed on to.
    pub extensions: Vec<Extension>,
    /// Flags of the processes.
    pub params: Params,
    /// Is there an argocd-cm at all?
    pub are_written: bool,
    /// What is wrong with any of it.
    pub findings: Vec<Finding>,
}

/// How sessions work.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// What tokens are signed with.
    pub signing_key: Secret,
    /// How long a login lasts.
    pub lasts: Duration,
    /// Requests without a login are let through, with the default role.
    pub anonymous_enabled: bool,
    /// What passwords must look like, as a regular expression.
    pub password_pattern: String,
}

/// Who may do what.
#[derive(Clone, Debug)]
pub struct Policies {
    /// The policy.
    pub policy: Policy,
    /// Claims that hold groups.
    pub scopes: Vec<String>,
    /// A rollback needs a permission of its own.
    pub rollback_is_separate: bool,
    /// `update` and `delete` of an Application do not extend to its objects.
    pub objects_are_separate: bool,
    /// A sync to another revision needs `override`.
    pub revision_needs_override: bool,
}

/// What the API server offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Where users reach us.
    pub url: String,
    /// Where else.
    pub additional_urls: Vec<String>,
    /// Are terminals offered?
    pub exec_enabled: bool,
    /// Shells to try, in this order.
    pub exec_shells: Vec<String>,
    /// Logs of at most this many pods at once.
    pub max_pod_logs: i64,
    /// Are syncs carried out as the service accounts that projects name?
    pub impersonation_enabled: bool,
    /// Must there be one then?
    pub impersonation_enforced: bool,
}

/// The certificate of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCertificate {
    /// Certificates, as PEM.
    pub chain: Secret,
    /// The key, as PEM.
    pub key: Secret,
    /// The Secret it comes from.
    pub secret: String,
}

/// Shared secrets and limits of webhooks. An empty secret is not asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhooks {
    /// GitHub, and packages of it.
    pub github: Secret,
    /// GitLab.
    pub gitlab: Secret,
    /// Bitbucket Cloud's hook id.
    pub bitbucket_uuid: Secret,
    /// Bitbucket Server.
    pub bitbucket_server: Secret,
    /// Gogs.
    pub gogs: Secret,
    /// Harbor.
    pub harbor: Secret,
    /// Azure DevOps: user.
    pub azure_username: Secret,
    /// Azure DevOps: password.
    pub azure_password: Secret,
    /// The largest body, in bytes.
    pub max_payload: u64,
    /// Up to how long a refresh waits, where many are affected.
    pub jitter: Duration,
    /// How many that is.
    pub jitter_threshold: i64,
}

/// How objects are known to belong to an Application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracking {
    /// By what.
    pub method: TrackingMethod,
    /// The label that carries the name.
    pub label_key: String,
    /// Tells installations apart that share a cluster.
    pub installation_id: String,
}

/// By what objects are known to belong to an Application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackingMethod {
    /// An annotation.
    Annotation,
    /// A label.
    Label,
    /// An annotation; the label is set for others to see.
    AnnotationAndLabel,
}

impl TrackingMethod {
    /// As settings have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Annotation => "annotation",
            Self::Label => "label",
            Self::AnnotationAndLabel => "annotation+label",
        }
    }
}

/// How often things are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// How often repositories are asked; zero is never.
    pub reconciliation: Duration,
    /// Up to how much is added to that.
    pub reconciliation_jitter: Duration,
    /// How often everything is rendered anew; zero is never.
    pub hard_reconciliation: Duration,
}

/// A project whose rules hold in every project that the selector matches.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlobalProject {
    /// Its name.
    pub project_name: String,
    /// Where its rules hold.
    pub label_selector: LabelSelector,
}

/// Flags of the processes, from argocd-cmd-params-cm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(BTreeMap<String, String>);

impl Params {
    /// A text, if it is set.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|it| !it.is_empty())
    }

    /// A flag, if it is set to one.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        boolean(self.text(key)?)
    }

    /// A number, if it is set to one.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<i64> {
        self.text(key)?.parse().ok()
    }

    /// A duration, if it is set to one.
    #[must_use]
    pub fn duration(&self, key: &str) -> Option<Duration> {
        duration(self.text(key)?)
    }

    /// A list with commas.
    #[must_use]
    pub fn list(&self, key: &str) -> Vec<String> {
        self.text(key).map(crate::reader::commas).unwrap_or_default()
    }
}

impl Settings {
    /// Reads everything. Depends on its argument alone.
    #[must_use]
    pub fn read(sources: &Sources) -> Self {
        let mut findings = Vec::new();
        let policies = policies(sources, &mut findings);
        let clusters = clusters::read(sources, &mut findings);
        let repositories = repositories::read(sources, &mut findings);
        let data = sources.config_map(names::CONFIG);
        let mut reader = Reader { object: names::CONFIG, data, findings: &mut findings };
        let mut settings = Self {
            accounts: accounts::read(&mut reader, sources),
            session: session(&mut reader, sources),
            policies: Policies {
                rollback_is_separate: reader.flag("server.rbac.rollback.enforce.enable", false),
                objects_are_separate: reader
                    .flag("server.rbac.disableApplicationFineGrainedRBACInheritance", true),
                revision_needs_override: reader
                    .flag("application.sync.requireOverridePrivilegeForRevisionSync", false),
                ..policies
            },
            server: server(&mut reader),
            certificate: certificate(sources),
            sso: sso::read(&mut reader, sources),
            webhooks: webhooks(&mut reader, sources),
            tracking: tracking(&mut reader),
            timeouts: Timeouts {
                reconciliation: reader.duration("timeout.reconciliation", Duration::from_secs(120)),
                reconciliation_jitter: reader
                    .duration("timeout.reconciliation.jitter", Duration::from_secs(60)),
                hard_reconciliation: reader.duration("timeout.hard.reconciliation", Duration::ZERO),
            },
            resources: resources::read(&mut reader),
            rendering: rendering::read(&mut reader),
            global_projects: reader.yaml("globalProjects"),
            clusters,
            in_cluster_enabled: reader.text("cluster.inClusterEnabled") != "false",
            repositories,
            trust: trust::read(sources),
            ui: ui::read(&mut reader),
            extensions: extensions::read(&mut reader, sources),
            params: Params(sources.config_map(names::PARAMS).clone()),
            are_written: sources.config_maps.contains_key(names::CONFIG),
            findings: Vec::new(),
        };
        settings.findings = findings;
        settings
    }

    /// A local account.
    #[must_use]
    pub fn account(&self, name: &str) -> Option<&Account> {
        self.accounts.get(name)
    }
}

fn session(reader: &mut Reader<'_>, sources: &Sources) -> Session {
    const PATTERN: &str = "passwordPattern";
    let mut password_pattern = reader.text_or(PATTERN, DEFAULT_PASSWORD_PATTERN);
    if regex::Regex::new(&password_pattern).is_err() {
        reader.find(PATTERN, "this is no regular expression; the default stands");
        DEFAULT_PASSWORD_PATTERN.clone_into(&mut password_pattern);
    }
    let key = sources.secret(names::SECRET, "server.secretkey");
    Session {
        signing_key: key.cloned().unwrap_or_default(),
        lasts: reader.duration("users.session.duration", DAY),
        anonymous_enabled: reader.is_true("users.anonymous.enabled"),
        password_pattern,
    }
}

fn policies(sources: &Sources, findings: &mut Vec<Finding>) -> Policies {
    const MODE: &str = "policy.matchMode";
    let data = sources.config_map(names::RBAC);
    let mut reader = Reader { object: names::RBAC, data, findings };
    let match_mode = match reader.text(MODE) {
        "regex" => MatchMode::Regex,
        "" | "glob" => MatchMode::Glob,
        other => {
            reader.find(MODE, format!("{other:?} is neither glob nor regex; taken as glob"));
            MatchMode::Glob
        }
    };
    let scopes: Vec<String> = reader.yaml("scopes");
    let scopes = if scopes.is_empty() { vec!["groups".to_owned()] } else { scopes };
    let options =
        Options { match_mode, default_role: reader.owned("policy.default"), is_enforced: true };
    let (policy, found) = Policy::new(&rbac::joined(data), options);
    for finding in found {
        let consequence = if finding.is_fatal { "; until it is mended no line counts" } else { "" };
        let place =
            if finding.line > 0 { format!("line {}: ", finding.line) } else { String::new() };
        reader.find("policy.csv", format!("{place}{}{consequence}", finding.message));
    }
    Policies {
        policy,
        scopes,
        rollback_is_separate: false,
        objects_are_separate: true,
        revision_needs_override: false,
    }
}

fn server(reader: &mut Reader<'_>) -> Server {
    let url = |reader: &mut Reader<'_>, key: &str, url: &str| {
        if !url.is_empty() && !url.starts_with("http://") && !url.starts_with("https://") {
            reader.find(key, format!("{url:?} begins with neither http:// nor https://"));
        }
    };
    let address = reader.owned("url");
    url(reader, "url", &address);
    let additional_urls: Vec<String> = reader.yaml("additionalUrls");
    for address in &additional_urls {
        url(reader, "additionalUrls", address);
    }
    let shells = reader.list("exec.shells");
    let shells = if shells.is_empty() { DEFAULT_SHELLS.map(str::to_owned).into() } else { shells };
    Server {
        url: address,
        additional_urls,
        exec_enabled: reader.is_true("exec.enabled"),
        exec_shells: shells,
        max_pod_logs: reader.number("server.maxPodLogsToRender", 10),
        impersonation_enabled: reader.is_true("application.sync.impersonation.enabled"),
        impersonation_enforced: reader.text("application.sync.impersonation.enforced") != "false",
    }
}

/// A certificate that somebody else manages wins over our own.
fn certificate(sources: &Sources) -> Option<ServerCertificate> {
    [names::SERVER_TLS, names::SECRET].into_iter().find_map(|secret| {
        let value = |key| sources.secret(secret, key).filter(|it| !it.is_empty()).cloned();
        Some(ServerCertificate {
            chain: value("tls.crt")?,
            key: value("tls.key")?,
            secret: secret.to_owned(),
        })
    })
}

fn webhooks(reader: &mut Reader<'_>, sources: &Sources) -> Webhooks {
    const MEGABYTE: u64 = 1 << 20;
    let secret = |name: &str| {
        sources.secret(names::SECRET, &format!("webhook.{name}")).cloned().unwrap_or_default()
    };
    let megabytes = u64::try_from(reader.number("webhook.maxPayloadSizeMB", 50)).unwrap_or(50);
    let threshold = reader.number("webhook.refresh.jitter.threshold", 10);
    Webhooks {
        github: secret("github.secret"),
        gitlab: secret("gitlab.secret"),
        bitbucket_uuid: secret("bitbucket.uuid"),
        bitbucket_server: secret("bitbucketserver.secret"),
        gogs: secret("gogs.secret"),
        harbor: secret("harbor.secret"),
        azure_username: secret("azuredevops.username"),
        azure_password: secret("azuredevops.password"),
        max_payload: megabytes.saturating_mul(MEGABYTE),
        jitter: reader.duration("webhook.refresh.jitter", Duration::ZERO),
        jitter_threshold: if threshold < 0 { 10 } else { threshold },
    }
}

fn tracking(reader: &mut Reader<'_>) -> Tracking {
    const METHOD: &str = "application.resourceTrackingMethod";
    let method = match reader.text(METHOD) {
        "" | "annotation" => TrackingMethod::Annotation,
        "label" => TrackingMethod::Label,
        "annotation+label" => TrackingMethod::AnnotationAndLabel,
        other => {
            reader.find(METHOD, format!("there is no method {other:?}; taken as annotation"));
            TrackingMethod::Annotation
        }
    };
    Tracking {
        method,
        label_key: reader.text_or("application.instanceLabelKey", "app.kubernetes.io/instance"),
        installation_id: reader.owned("installationID"),
    }
}

#[cfg(test)]
mod tests;
