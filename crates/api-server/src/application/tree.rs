//! The resource tree of an Application and both sides of its objects.

use api::{Application, ApplicationTree, ResourceDiff};
use futures::{Stream, stream};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use wire::Status;
use wire::message::application::{ManagedResourcesResponse, ResourcesQuery};

use super::{find, live};
use crate::apps::{Event, Turn};
use crate::methods::Call;

pub(crate) async fn resource_tree(
    call: Call,
    query: ResourcesQuery,
) -> Result<ApplicationTree, Status> {
    live::tree_of(&call, &asked(&call, &query).await?).await
}

/// The tree, and again whenever it changed.
pub(crate) async fn watch(
    call: Call,
    query: ResourcesQuery,
) -> Result<impl Stream<Item = Result<ApplicationTree, Status>> + Send + 'static, Status> {
    let app = asked(&call, &query).await?;
    let (_, events) = call.server.apps.subscribe();
    let destination = call.server.ports.control.destination(&app.spec.destination);
    let destination = destination.map_err(Status::unknown)?;
    let cluster = destination.cluster.attended();
    let changes = cluster.changes();
    let watch = TreeWatch { call, app, events, changes, told: None, _cluster: cluster };
    Ok(stream::unfold(watch, |mut watch| async {
        let tree = watch.next().await?;
        Some((tree, watch))
    }))
}

struct TreeWatch {
    call: Call,
    app: Application,
    events: Receiver<Event>,
    changes: ::cluster::Changes,
    told: Option<ApplicationTree>,
    /// Watched for as long as somebody watches the tree.
    _cluster: ::cluster::Cluster,
}

impl TreeWatch {
    async fn next(&mut self) -> Option<Result<ApplicationTree, Status>> {
        loop {
            if self.told.is_some() {
                self.news().await?;
            }
            match live::tree_of(&self.call, &self.app).await {
                Err(status) => return Some(Err(status)),
                Ok(tree) if self.told.as_ref() == Some(&tree) => {}
                Ok(tree) => {
                    self.told = Some(tree.clone());
                    return Some(Ok(tree));
                }
            }
        }
    }

    /// Waits until the tree may be another; `None` when it will not be any more.
    async fn news(&mut self) -> Option<()> {
        let instance = self.app.instance_name(&self.call.server.options.namespace);
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Ok(event) if event.entry.key != self.app.key() => {}
                    Ok(Event { turn: Turn::Deleted, .. }) | Err(RecvError::Closed) => return None,
                    Ok(event) => {
                        self.app = (*event.entry.app).clone();
                        return Some(());
                    }
                    Err(RecvError::Lagged(_)) => return Some(()),
                },
                changes = self.changes.next() => {
                    if changes.is_empty() {
                        return None;
                    }
                    let concerns = |it: &::cluster::Change| match it {
                        ::cluster::Change::Object { applications, .. } => {
                            applications.iter().any(|it| **it == *instance)
                        }
                        ::cluster::Change::Kind { .. } => false,
                    };
                    if changes.iter().any(concerns) {
                        return Some(());
                    }
                }
            }
        }
    }
}

/// Both sides of the objects that the query names.
pub(crate) async fn managed(
    call: Call,
    query: ResourcesQuery,
) -> Result<ManagedResourcesResponse, Status> {
    let app = asked(&call, &query).await?;
    let compared = call.server.ports.control.compared(&app).await;
    let mut items = compared.map_err(|why| {
        Status::unknown(format!("error getting cached app managed resources: {why}"))
    })?;
    items.retain(|it| is_asked(&query, it));
    Ok(ManagedResourcesResponse { items })
}

fn is_asked(query: &ResourcesQuery, item: &ResourceDiff) -> bool {
    let fits = |wanted: &Option<String>, value: &str| {
        wanted.as_deref().is_none_or(|it| it.is_empty() || it == value)
    };
    fits(&query.name, &item.name)
        && fits(&query.namespace, &item.namespace)
        && fits(&query.group, &item.group)
        && fits(&query.kind, &item.kind)
}

async fn asked(call: &Call, query: &ResourcesQuery) -> Result<Application, Status> {
    let name = &query.application_name;
    find(call, name, query.app_namespace.as_deref(), query.project.as_deref()).await
}
