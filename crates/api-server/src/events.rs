//! Kubernetes events about our own objects and about those of Applications.

use ::cluster::{Client, Selector};
use wire::Status;
use wire::message::events::{Event, EventList};

use crate::failure::refused;
use crate::store::EVENTS;

/// What events are about.
pub(crate) struct About<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
}

pub(crate) async fn list(client: &Client, about: &About<'_>) -> Result<EventList, Status> {
    let About { namespace, name, uid } = about;
    let fields = format!(
        "involvedObject.name={name},involvedObject.namespace={namespace},involvedObject.uid={uid}"
    );
    let selector = Selector { fields, ..Selector::default() };
    let events = client.list(&EVENTS, namespace, &selector).await;
    let events = events.map_err(|error| refused("error listing resource events", &error))?;
    let items = events.into_iter().filter_map(|event| {
        let read: serde_json::Result<Event> = serde_json::from_value(event.into_value());
        read.map_err(|error| tracing::warn!(%error, "could not read an event")).ok()
    });
    Ok(EventList { items: items.collect(), ..EventList::default() })
}
