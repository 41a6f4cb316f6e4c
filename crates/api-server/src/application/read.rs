//! Reading Applications: list, and get with refresh.

use std::sync::Arc;

use api::{Application, ListMeta, RefreshType, names};
use serde_json::json;
use tokio::sync::broadcast;
use wire::message::application::{ApplicationQuery, LinksResponse, ListAppLinksRequest};
use wire::{PrintedList, Status};

use super::page::Paging;
use super::selector::LabelSelector;
use super::{checked_namespace, find, shown, store_of};
use crate::ApiServer;
use crate::apps::{Event, Told, Turn, version};
use crate::failure::refused;
use crate::methods::Call;
use crate::store::APPLICATIONS;
use crate::{cluster_service, links};

/// Which Applications a query is about.
pub(crate) struct Filter {
    name: Option<String>,
    namespace: Option<String>,
    projects: Vec<String>,
    repo: Option<String>,
    selector: LabelSelector,
    /// Part of the name, in lower case.
    search: String,
    health: Vec<String>,
    sync: Vec<String>,
    clusters: Vec<String>,
    /// Only states newer than this.
    newer_than: u64,
}

impl Filter {
    pub(crate) fn new(call: &Call, query: &ApplicationQuery) -> Result<Self, Status> {
        let namespace = query.app_namespace.clone().filter(|it| !it.is_empty());
        if namespace.is_some() {
            checked_namespace(call, namespace.as_deref())?;
        }
        let selector = LabelSelector::parse(query.selector.as_deref().unwrap_or_default())
            .map_err(|why| {
                Status::invalid_argument(format!("error parsing the selector: {why}"))
            })?;
        let named = |text: &Option<String>| text.clone().filter(|it| !it.is_empty());
        let projects = query.project.iter().chain(&query.projects);
        Ok(Self {
            name: named(&query.name),
            namespace,
            projects: projects.filter(|it| !it.is_empty()).cloned().collect(),
            repo: named(&query.repo),
            selector,
            search: query.search.as_deref().unwrap_or_default().to_lowercase(),
            health: query.health.clone(),
            sync: query.sync.clone(),
            clusters: query.cluster.clone(),
            newer_than: query
                .resource_version
                .as_deref()
                .and_then(|it| it.parse().ok())
                .unwrap_or(0),
        })
    }

    pub(crate) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    pub(crate) fn admits(&self, app: &Application) -> bool {
        self.name.as_ref().is_none_or(|name| app.metadata.name == *name)
            && self.namespace.as_ref().is_none_or(|it| app.metadata.namespace == *it)
            && (self.projects.is_empty()
                || self.projects.iter().any(|it| it == app.spec.project_name()))
            && self
                .repo
                .as_ref()
                .is_none_or(|repo| app.sources().iter().any(|source| source.repo_url == *repo))
            && self.selector.matches(&app.metadata.labels)
            && (self.search.is_empty() || app.metadata.name.contains(&self.search))
            && is_one_of(&self.health, &app.status.health.status)
            && is_one_of(&self.sync, &app.status.sync.status)
            && (self.clusters.is_empty() || {
                let destination = &app.spec.destination;
                self.clusters.iter().any(|it| {
                    !it.is_empty() && (*it == destination.server || *it == destination.name)
                })
            })
    }

    /// As a watch has it: what is older than the version asked for is known already.
    pub(crate) fn admits_news(&self, app: &Application) -> bool {
        version(app) > self.newer_than && self.admits(app)
    }
}

/// Nothing named is no wish.
fn is_one_of(wanted: &[String], word: &str) -> bool {
    wanted.is_empty() || wanted.iter().any(|it| it == word)
}

pub(crate) async fn list(call: Call, query: ApplicationQuery) -> Result<PrintedList<Told>, Status> {
    let filter = Filter::new(&call, &query)?;
    let paging = Paging::read(&query).map_err(Status::invalid_argument)?;
    let index = call.server.apps.index();
    let settings = call.server.settings.current();
    let mut sight = call.sight(&settings);
    let visible = index.apps.iter().filter(|it| sight.takes_in(&index, it));
    let page = paging.page(visible.map(|it| &it.entry).filter(|it| filter.admits(&it.app)));
    let control = &call.server.ports.control;
    let items = page.entries.into_iter().map(|it| it.told(control.healths(&it.key))).collect();
    let metadata = ListMeta {
        resource_version: index.newest.map(|it| it.to_string()).unwrap_or_default(),
        continue_: page.next.unwrap_or_default(),
        ..ListMeta::default()
    };
    Ok(PrintedList { metadata, items })
}

pub(crate) async fn get(call: Call, query: ApplicationQuery) -> Result<Application, Status> {
    let mut projects = query.project.iter().chain(&query.projects);
    let project = projects.next().map(String::as_str);
    if projects.next().is_some() {
        return Err(Status::invalid_argument(
            "multiple projects specified - the get endpoint accepts either zero or one project",
        ));
    }
    let name = query.name.as_deref().unwrap_or_default();
    let app = find(&call, name, query.app_namespace.as_deref(), project).await?;
    let Some(refresh) = query.refresh else { return Ok(shown(&call.server, app)) };
    // Listening starts before the wish is written, so that its fulfilment cannot be missed.
    let (_, events) = call.server.apps.subscribe();
    let refresh = RefreshType::parse(&refresh).unwrap_or(RefreshType::Normal);
    let patch =
        json!({ "metadata": { "annotations": { names::ANNOTATION_REFRESH: refresh.as_str() } } });
    let asked = store_of(&call, &app).merge::<Application>(&APPLICATIONS, name, &patch).await;
    let asked = asked.map_err(|error| refused("error refreshing the app", &error))?;
    refreshed(&call.server, asked, events).await
}

/// Waits until the controller has taken the wish back; the client's patience is the limit.
async fn refreshed(
    server: &ApiServer,
    asked: Application,
    mut events: broadcast::Receiver<Event>,
) -> Result<Application, Status> {
    let is_done = |app: &Application| {
        app.key() == asked.key()
            && version(app) > version(&asked)
            && app.annotation(names::ANNOTATION_REFRESH).is_none()
    };
    loop {
        match events.recv().await {
            Ok(Event { turn: Turn::Deleted, entry }) if entry.key == asked.key() => {
                return Err(Status::not_found("the application was deleted meanwhile"));
            }
            Ok(Event { entry, .. }) if is_done(&entry.app) => {
                return Ok(shown(server, (*entry.app).clone()));
            }
            Ok(_) => {}
            Err(broadcast::error::RecvError::Lagged(_)) => {
                let all = server.apps.all();
                if let Some(app) = all.into_iter().find(|app| is_done(app)) {
                    return Ok(shown(server, Arc::unwrap_or_clone(app)));
                }
            }
            Err(broadcast::error::RecvError::Closed) => {
                return Err(Status::unavailable("the server is shutting down"));
            }
        }
    }
}

/// The links beside an Application.
pub(crate) async fn links(
    call: Call,
    request: ListAppLinksRequest,
) -> Result<LinksResponse, Status> {
    let namespace = request.namespace.as_deref();
    let app = find(&call, &request.name, namespace, request.project.as_deref()).await?;
    let settings = call.server.settings.current();
    if settings.ui.application_links.is_empty() {
        return Ok(LinksResponse::default());
    }
    let about = links::About::default().application(&app, &settings.server.url);
    let about = match cluster_service::of(&call.server, &app.spec.destination).await {
        Some(cluster) => about.cluster(&cluster),
        None => about,
    };
    Ok(about.links(&settings.ui.application_links))
}
