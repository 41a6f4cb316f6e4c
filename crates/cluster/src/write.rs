//! Brings one object to the state that is wanted, by the way that is asked for.
//!
//! [`Cluster::write`] picks the way: as `kubectl apply` ([`client_side`]), as
//! `kubectl apply --server-side` ([`Cluster::apply`]), or by putting the
//! manifest in the object's place. Where a change is refused and it may be
//! forced, the object is deleted and created anew ([`recreate`]).
//! What the server returns goes into the store before the caller hears of it.

mod client_side;
mod recreate;
mod release;
mod take_over;

use http::Method;
use object::{Object, ResourceKey};
use serde_json::Value;

use crate::apply::{ApplyError, ApplyOptions, Effect, Validation, placed};
use crate::ask::{Ask, Query};
use crate::client::{json_bytes, read_object};
use crate::cluster::Cluster;
use crate::kinds::ApiKind;
use crate::refusal::RequestError;

/// How to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// By which request.
    pub way: Way,
    /// Delete and create anew where the server refuses a change.
    pub force: bool,
    /// What the server does about fields it does not know.
    pub validation: Validation,
    /// Let the server check and answer, but keep nothing.
    pub dry_run: bool,
}

/// By which request an object is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// As `kubectl apply`: a three-way patch against the last-applied annotation.
    ClientSide,
    /// As `kubectl apply --server-side --force-conflicts`.
    ServerSide {
        /// First make the fields that this manager holds by `Update` ours.
        takes_over_from: Option<String>,
    },
    /// As `kubectl replace`, or `kubectl create` where there is nothing yet.
    Replace,
    /// Put the manifest in place of the object, which is never deleted for it.
    Update,
}

/// The outcome of a write.
#[derive(Clone, Debug)]
pub struct Written {
    /// The object as it is now (or would be, after a dry run).
    pub object: Object,
    /// What happened to it.
    pub what: Effect,
    /// In kubectl's words: `configmap/my-map created`.
    pub message: String,
}

impl Cluster {
    /// Writes one object.
    ///
    /// # Errors
    /// See [`ApplyError`]; nothing was changed, except perhaps with `Lost`.
    pub async fn write(
        &self,
        object: &Object,
        options: &WriteOptions,
    ) -> Result<Written, ApplyError> {
        let kind = self.kind_of(object).await?;
        let object = placed(object, &kind)?;
        let written = Pen { cluster: self, kind: &kind, options }.write(&object).await?;
        if !options.dry_run {
            self.until_served(&written.object).await;
        }
        Ok(written)
    }
}

/// One kind, one way, one cluster: what all requests of a write have in common.
struct Pen<'w> {
    cluster: &'w Cluster,
    kind: &'w ApiKind,
    options: &'w WriteOptions,
}

impl Pen<'_> {
    async fn write(&self, object: &Object) -> Result<Written, ApplyError> {
        if object.name().is_empty() {
            return self.create(object, "created").await;
        }
        match &self.options.way {
            Way::ClientSide => self.apply(object).await,
            Way::ServerSide { takes_over_from } => {
                if let Some(manager) = takes_over_from
                    && !self.options.dry_run
                {
                    self.take_over(&object.key(), manager).await?;
                }
                self.apply_on_server(object).await
            }
            Way::Replace => self.replace(object).await,
            Way::Update => self.update(object).await,
        }
    }

    async fn apply_on_server(&self, object: &Object) -> Result<Written, ApplyError> {
        let options = ApplyOptions {
            dry_run: self.options.dry_run,
            validation: self.options.validation,
            ..ApplyOptions::default()
        };
        let applied = self.cluster.apply(object, &options).await?;
        let message = applied.server_side_message();
        Ok(Written { object: applied.object, what: applied.what, message })
    }

    async fn replace(&self, object: &Object) -> Result<Written, ApplyError> {
        let key = object.key();
        match self.live(&key).await? {
            None => self.create(object, "created").await,
            Some(live) if self.options.force => self.recreate(&live, object, "replaced").await,
            Some(live) => self.put(object, &live, "replaced").await,
        }
    }

    async fn update(&self, object: &Object) -> Result<Written, ApplyError> {
        match self.live(&object.key()).await? {
            None => self.create(object, "created").await,
            Some(live) => {
                let written = self.put(object, &live, "updated").await?;
                let message = format!("{}/{} updated", object.kind(), object.name());
                Ok(Written { message, ..written })
            }
        }
    }

    async fn put(&self, object: &Object, live: &Object, word: &str) -> Result<Written, ApplyError> {
        let mut object = object.clone();
        if let Some(version) = live.at(&["metadata", "resourceVersion"]).cloned()
            && let Some(metadata) =
                object.fields_mut().get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.insert("resourceVersion".into(), version);
        }
        let query = self.query(self.kind.object_path(object.namespace(), object.name(), None));
        let ask = Ask { method: Method::PUT, body: json_bytes(&object), ..Ask::get(query.url) };
        self.send(object.key(), ask, Effect::Configured, word).await
    }

    async fn create(&self, object: &Object, word: &str) -> Result<Written, ApplyError> {
        let query = self.query(self.kind.collection_path(object.namespace()));
        let ask = Ask { method: Method::POST, body: json_bytes(object), ..Ask::get(query.url) };
        self.send(object.key(), ask, Effect::Created, word).await
    }

    /// The object as the server has it, with all its fields.
    async fn live(&self, key: &ResourceKey) -> Result<Option<Object>, ApplyError> {
        let found = self.cluster.client().get(self.kind, &key.namespace, &key.name).await;
        found.map_err(|error| ApplyError::from_request(key.clone(), error))
    }

    async fn send(
        &self,
        key: ResourceKey,
        ask: Ask<'_>,
        what: Effect,
        word: &str,
    ) -> Result<Written, ApplyError> {
        let method = ask.method.to_string();
        let answer = match self.cluster.client().ask(ask).await {
            Ok(answer) => answer,
            Err(error) => return Err(self.cluster.explain(self.kind, key, error)),
        };
        if !self.options.dry_run {
            self.cluster.shared.take_written(self.kind, &answer.body);
        }
        let object = read_object(&answer.body).map_err(|source| ApplyError::Lost {
            key,
            source: Box::new(RequestError::Unreadable { request: method, source }),
        })?;
        Ok(self.told(object, what, word))
    }

    fn told(&self, object: Object, what: Effect, word: &str) -> Written {
        let suffix = if self.options.dry_run { " (dry run)" } else { "" };
        let message = format!("{} {word}{suffix}", object.kubectl_name());
        Written { object, what, message }
    }

    fn query(&self, path: String) -> Query {
        let mut query = Query::new(path);
        query.add("fieldManager", crate::FIELD_MANAGER);
        query.add("fieldValidation", self.options.validation.word());
        if self.options.dry_run {
            query.add("dryRun", "All");
        }
        query
    }
}
