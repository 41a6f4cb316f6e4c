//! Following Applications.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::{Stream, stream};
use rbac::{action, resource};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use wire::message::application::ApplicationQuery;
use wire::{PrintedEvent, Status};

use super::read::Filter;
use crate::apps::{Entry, Event, Told, Turn};
use crate::methods::Call;

struct Watch {
    call: Call,
    filter: Filter,
    ready: VecDeque<Event>,
    events: Receiver<Event>,
}

/// All that match as `ADDED`, then what changes. A client that names a version
/// knows the rest already, unless it names one Application: nothing about that
/// may be missed.
pub(crate) async fn watch(
    call: Call,
    query: ApplicationQuery,
) -> Result<impl Stream<Item = Result<PrintedEvent<Told>, Status>> + Send + 'static, Status> {
    let filter = Filter::new(&call, &query)?;
    let (all, events) = call.server.apps.subscribe();
    let starts_full = query.resource_version.is_none_or(|it| it.is_empty()) || filter.has_name();
    let ready = if starts_full { added(all) } else { VecDeque::new() };
    let watch = Watch { call, filter, ready, events };
    Ok(stream::unfold(watch, |mut watch| async {
        let event = watch.next().await?;
        Some((Ok(event), watch))
    }))
}

fn added(all: Vec<Arc<Entry>>) -> VecDeque<Event> {
    all.into_iter().map(|entry| Event { turn: Turn::Added, entry }).collect()
}

impl Watch {
    async fn next(&mut self) -> Option<PrintedEvent<Told>> {
        loop {
            let Event { turn, entry } = match self.ready.pop_front() {
                Some(event) => event,
                None => match self.events.recv().await {
                    Ok(event) => event,
                    // Too slow a listener: tell it everything again rather than leave a gap.
                    Err(RecvError::Lagged(_)) => {
                        let (all, events) = self.call.server.apps.subscribe();
                        (self.ready, self.events) = (added(all), events);
                        continue;
                    }
                    Err(RecvError::Closed) => return None,
                },
            };
            let object = self.call.object_of(&entry.app);
            if self.filter.admits_news(&entry.app)
                && self.call.may(resource::APPLICATIONS, action::GET, &object)
            {
                let healths = self.call.server.ports.control.healths(&entry.key);
                let application = entry.told(healths);
                return Some(PrintedEvent { type_: turn.as_str(), application });
            }
        }
    }
}
