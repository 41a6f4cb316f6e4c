//! Where an API server is and who we are to it.
//!
//! An [`Access`] is read once from a kubeconfig or from the pod's service
//! account and handed to [`Client::connect`](crate::Client::connect). It holds
//! credentials: printing it shows the address and nothing else.

use std::fmt;
use std::path::{Path, PathBuf};

use hyper_util::client::proxy::matcher::Intercept;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::proxy;

/// The address of an API server with the credentials to use there.
#[derive(Clone)]
pub struct Access {
    pub(crate) config: kube::Config,
    pub(crate) proxy: Option<Intercept>,
    pub(crate) streams_lists: bool,
}

/// Why there is no usable [`Access`].
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The file is missing, is no YAML, or is no kubeconfig.
    #[error("could not read the kubeconfig {}", shown(path.as_ref()))]
    ReadKubeconfig {
        /// The file, or `None` for the usual places (`KUBECONFIG`, `~/.kube/config`).
        path: Option<PathBuf>,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The kubeconfig has no such context, or the context names what is not there.
    #[error("could not use the context {} of the kubeconfig", context.as_deref().unwrap_or("(current)"))]
    UseContext {
        /// The context asked for; `None` for the current one.
        context: Option<String>,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// We are not in a pod, or the pod has no service account token.
    #[error("could not use the service account of this pod")]
    UseServiceAccount {
        /// What is missing.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn shown(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| "(from KUBECONFIG or ~/.kube/config)".into(), |it| it.display().to_string())
}

impl Access {
    /// Reads a kubeconfig: the file given, else those that kubectl would read.
    ///
    /// # Errors
    /// When there is none, it cannot be read, or it lacks the context.
    pub async fn from_kubeconfig(
        path: Option<&Path>,
        context: Option<&str>,
    ) -> Result<Self, AccessError> {
        let kubeconfig = path.map_or_else(Kubeconfig::read, Kubeconfig::read_from);
        let kubeconfig = kubeconfig.map_err(|source| AccessError::ReadKubeconfig {
            path: path.map(Path::to_owned),
            source: source.into(),
        })?;
        let options = KubeConfigOptions {
            context: context.map(str::to_owned),
            ..KubeConfigOptions::default()
        };
        let proxy = proxy::named_in(&kubeconfig, context);
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let access = config.map(|it| Self::with_our_habits(it, proxy.as_deref()));
        access.map_err(|source| AccessError::UseContext {
            context: context.map(str::to_owned),
            source: source.into(),
        })
    }

    /// Uses a kubeconfig that is already in memory.
    ///
    /// # Errors
    /// When it is none, or its credentials cannot be used.
    pub async fn from_kubeconfig_value(kubeconfig: serde_json::Value) -> Result<Self, AccessError> {
        let unusable = |source| AccessError::UseContext { context: None, source };
        let kubeconfig: Kubeconfig =
            serde_json::from_value(kubeconfig).map_err(|source| unusable(source.into()))?;
        let options = KubeConfigOptions::default();
        let proxy = proxy::named_in(&kubeconfig, None);
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let access = config.map(|it| Self::with_our_habits(it, proxy.as_deref()));
        access.map_err(|source| unusable(source.into()))
    }

    /// The service account of the pod we run in.
    ///
    /// # Errors
    /// When this process does not run in a pod.
    pub fn in_cluster() -> Result<Self, AccessError> {
        kube::Config::incluster()
            .map(|it| Self::with_our_habits(it, None))
            .map_err(|source| AccessError::UseServiceAccount { source: source.into() })
    }

    /// The pod's service account when there is one, else the usual kubeconfig.
    ///
    /// # Errors
    /// When neither is there.
    pub async fn infer() -> Result<Self, AccessError> {
        match Self::in_cluster() {
            Ok(access) => Ok(access),
            Err(_) => Self::from_kubeconfig(None, None).await,
        }
    }

    /// The same access, acting as somebody else. Our own user needs the permission to impersonate.
    #[must_use]
    pub fn impersonating(mut self, user: &str, groups: &[&str]) -> Self {
        self.config.auth_info.impersonate = Some(user.to_owned());
        self.config.auth_info.impersonate_groups =
            (!groups.is_empty()).then(|| groups.iter().map(|it| (*it).to_owned()).collect());
        self
    }

    /// The same access for a server, or a proxy before it, that should not be asked to stream lists.
    #[must_use]
    pub fn with_paged_lists(mut self) -> Self {
        self.streams_lists = false;
        self
    }

    /// The URL of the API server.
    #[must_use]
    pub fn server(&self) -> String {
        self.config.cluster_url.to_string().trim_end_matches('/').to_owned()
    }

    /// The namespace of the context or of the pod; `default` where none is set.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.config.default_namespace
    }

    /// Retries are decided by whoever knows what the request is for.
    fn with_our_habits(mut config: kube::Config, proxy: Option<&str>) -> Self {
        config.default_retry = false;
        config.connect_timeout = Some(crate::client::CONNECT_TIMEOUT);
        let proxy = proxy::before(&config.cluster_url, proxy);
        Self { config, proxy, streams_lists: true }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("server", &self.server()).finish_non_exhaustive()
    }
}
