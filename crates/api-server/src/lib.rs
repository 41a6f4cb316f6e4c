//! The API server: gRPC, gRPC-web and REST on one port.
//!
//! `methods.rs` is the table of everything it answers; each service has a file
//! of its own with one async function per method. `serve.rs` takes connections,
//! `port.rs` requests; `caller.rs` and `sso.rs` say who is calling, `access.rs`
//! whether they may. Roles elsewhere
//! in the program are reached through [`Sources`] and [`Control`].

#![warn(missing_docs)]

mod access;
mod account;
mod address;
mod application;
mod application_set;
mod apps;
mod assets;
mod audit;
mod badge;
mod bootstrap;
mod caller;
mod certificate;
mod cluster_service;
mod compress;
mod config_map;
mod cookie;
mod credential;
mod documentation;
mod events;
mod extension;
mod failure;
mod fields;
#[doc(hidden)]
pub mod forms;
mod gpgkey;
mod grpc_message;
#[doc(hidden)]
pub mod hostile;
mod links;
mod logins;
mod methods;
mod metrics;
mod names;
mod notification;
mod patience;
mod port;
mod ports;
mod project;
mod projects;
mod repocreds;
mod repository;
mod revocations;
mod secret;
mod serve;
mod session;
mod settings_service;
mod sso;
mod store;
mod terminal;
mod tls;
mod token;
mod version;
mod web;
mod webhook;

use std::sync::Arc;

use ::cluster::{Client, Randomness, Scope};
use ::settings::SettingsStore;
use api::{AppKey, Application};
use gocompat::glob::list::{self, Mode};
use prometheus_client::registry::Registry;
use runtime::OneCopy;
use tokio::net::TcpListener;

pub use engine::Sides;

pub use bootstrap::{BootstrapError, make_default_project};
pub use logins::LoginLimits;
pub use ports::{
    Charts, Control, Destination, Details, Refs, RenderRequest, Rendered, SourceError, Sources,
};
pub use runtime::Shutdown;
pub use web::Web;

use apps::Apps;
use logins::Logins;
use metrics::Metrics;
use projects::Projects;
use revocations::Revocations;
use sso::Sso;
use store::Store;

/// How an API server works.
#[derive(Clone)]
pub struct Options {
    /// The namespace of Applications, projects and settings.
    pub namespace: String,
    /// Other namespaces that may hold Applications: names, globs, or regular
    /// expressions between slashes (`--application-namespaces`).
    pub application_namespaces: Vec<String>,
    /// Serve with TLS; without it, everything goes over the wire as it is.
    pub tls: bool,
    /// How it looks to browsers.
    pub web: Web,
    /// How often somebody may try to log in.
    pub login_limits: LoginLimits,
    /// The source of jitter.
    pub random: Randomness,
}

impl Options {
    /// May this namespace hold Applications?
    fn holds(&self, namespace: &str) -> bool {
        namespace == self.namespace
            || list::contains(&self.application_namespaces, namespace, Mode::Regexp)
    }

    /// Where to look for Applications.
    fn scope(&self) -> Scope {
        if self.application_namespaces.is_empty() {
            Scope::Namespace(self.namespace.clone())
        } else {
            Scope::Everywhere
        }
    }
}

/// Whom the API server talks to.
#[derive(Clone)]
pub struct Ports {
    /// Where manifests come from.
    pub sources: Arc<dyn Sources>,
    /// The cluster that holds Applications and settings.
    pub control_plane: Client,
    /// The controller: both sides of Applications and their clusters.
    pub control: Arc<dyn Control>,
    /// The settings, followed by whoever made the store.
    pub settings: Arc<SettingsStore>,
    /// The Applications that others in this process hold too.
    pub copies: Arc<OneCopy<AppKey, Application>>,
}

/// See the module's comment. Shared by all requests.
pub struct ApiServer {
    options: Options,
    ports: Ports,
    store: Store,
    apps: Apps,
    projects: Projects,
    settings: Arc<SettingsStore>,
    logins: Logins,
    sso: Sso,
    metrics: Metrics,
    revocations: Revocations,
}

impl ApiServer {
    /// Makes sure that the signing key and the admin's password exist, and learns which tokens are
    /// revoked. What it counts is in the registry.
    ///
    /// # Errors
    /// When the control plane refuses to say or to store them.
    pub async fn start(
        options: Options,
        ports: Ports,
        registry: &mut Registry,
    ) -> Result<Self, BootstrapError> {
        let store = Store::new(ports.control_plane.clone(), &options.namespace);
        let settings = Arc::clone(&ports.settings);
        bootstrap::bootstrap(&store, &settings).await?;
        if options.tls && settings.current().certificate.is_none() {
            bootstrap::make_certificate(&store, &settings).await?;
        }
        let revocations = revocations::load(&store)
            .await
            .map_err(|source| BootstrapError::Store { what: "the list of logouts", source })?;
        let logins = Logins::new(options.login_limits);
        Ok(Self {
            options,
            apps: Apps::new(Arc::clone(&ports.copies)),
            ports,
            store,
            projects: Projects::default(),
            settings,
            logins,
            sso: Sso::default(),
            metrics: Metrics::new(registry),
            revocations,
        })
    }

    /// Where browsers send our cookies. Behind a proxy that ends TLS, the address of the settings
    /// tells that browsers speak it.
    fn cookie_scope(&self) -> cookie::Scope {
        let is_https = self.settings.current().server.url.starts_with("https://");
        let path = self.options.web.cookie_path();
        cookie::Scope { path, is_secure: self.options.tls || is_https }
    }

    /// Answers on this socket until shutdown.
    pub async fn run(self, listener: TcpListener, shutdown: &Shutdown) {
        let server = Arc::new(self);
        tokio::join!(
            shutdown.or_end(apps::follow(&server)),
            shutdown.or_end(projects::follow(&server)),
            shutdown.or_end(revocations::follow(&server)),
            serve::serve(&server, listener, shutdown),
        );
    }
}
