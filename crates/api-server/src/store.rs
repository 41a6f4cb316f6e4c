//! The objects the API server reads and writes in the control plane.

use std::sync::LazyLock;

use ::cluster::{ApiKind, Client, RequestError, Selector};
use api::{AppProject, Application, ApplicationSet};
use object::{GroupVersionKind, Object};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Who we are in managedFields of what we write.
pub(crate) const FIELD_MANAGER: &str = "argocd-server";

fn kind(api_version: &str, kind: &str, plural: &str) -> ApiKind {
    ApiKind::known(&GroupVersionKind::parse(api_version, kind), plural, true)
}

pub(crate) static APPLICATIONS: LazyLock<ApiKind> =
    LazyLock::new(|| kind(api::API_VERSION, Application::KIND, "applications"));
pub(crate) static PROJECTS: LazyLock<ApiKind> =
    LazyLock::new(|| kind(api::API_VERSION, AppProject::KIND, "appprojects"));
pub(crate) static APPLICATION_SETS: LazyLock<ApiKind> =
    LazyLock::new(|| kind(api::API_VERSION, ApplicationSet::KIND, "applicationsets"));
pub(crate) static SECRETS: LazyLock<ApiKind> = LazyLock::new(|| kind("v1", "Secret", "secrets"));
pub(crate) static CONFIG_MAPS: LazyLock<ApiKind> =
    LazyLock::new(|| kind("v1", "ConfigMap", "configmaps"));
pub(crate) static EVENTS: LazyLock<ApiKind> = LazyLock::new(|| kind("v1", "Event", "events"));

/// Typed access to one namespace: that of the control plane, or of an Application.
#[derive(Clone)]
pub(crate) struct Store {
    client: Client,
    namespace: String,
}

impl Store {
    pub(crate) fn new(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned() }
    }

    /// The same in another namespace.
    pub(crate) fn at(&self, namespace: &str) -> Self {
        Self::new(self.client.clone(), namespace)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        kind: &ApiKind,
        name: &str,
    ) -> Result<Option<T>, RequestError> {
        // No object is called so, and the address would be that of others.
        if matches!(name, "" | "." | "..") {
            return Ok(None);
        }
        self.client.get(kind, &self.namespace, name).await?.map(typed).transpose()
    }

    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        kind: &ApiKind,
    ) -> Result<Vec<T>, RequestError> {
        let objects = self.client.list(kind, &self.namespace, &Selector::everything()).await?;
        objects.into_iter().map(typed).collect()
    }

    pub(crate) async fn create<T: Serialize + DeserializeOwned>(
        &self,
        kind: &ApiKind,
        object: &T,
    ) -> Result<T, RequestError> {
        let mut value = serde_json::to_value(object).expect("resources have only text for keys");
        value["apiVersion"] = kind.api_version().into();
        value["kind"] = kind.kind.clone().into();
        let object = Object::from_value(value).expect("apiVersion and kind were set just now");
        typed(self.client.create(kind, &self.namespace, &object, FIELD_MANAGER).await?)
    }

    /// Merges `patch` into an object; see [`Client::merge_patch`].
    pub(crate) async fn merge<T: DeserializeOwned>(
        &self,
        kind: &ApiKind,
        name: &str,
        patch: &Value,
    ) -> Result<T, RequestError> {
        typed(self.client.merge_patch(kind, &self.namespace, name, None, patch).await?)
    }

    pub(crate) async fn delete(&self, kind: &ApiKind, name: &str) -> Result<bool, RequestError> {
        self.client.delete(kind, &self.namespace, name).await
    }
}

fn typed<T: DeserializeOwned>(object: Object) -> Result<T, RequestError> {
    let request = format!("{} {}", object.kind(), object.name());
    serde_json::from_value(object.into_value())
        .map_err(|source| RequestError::Unreadable { request, source: source.into() })
}
