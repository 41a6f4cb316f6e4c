//! Events about an Application, or about one of its objects.

use wire::Status;
use wire::message::application::ApplicationResourceEventsQuery;
use wire::message::events::EventList;

use super::{find, live};
use crate::events::{self, About};
use crate::methods::Call;

pub(crate) async fn list(
    call: Call,
    query: ApplicationResourceEventsQuery,
) -> Result<EventList, Status> {
    let namespace = query.app_namespace.as_deref();
    let app = find(&call, &query.name, namespace, query.project.as_deref()).await?;
    let name = query.resource_name.unwrap_or_default();
    let uid = query.resource_uid.unwrap_or_default();
    if name.is_empty() && uid.is_empty() {
        let metadata = &app.metadata;
        let about =
            About { namespace: &metadata.namespace, name: &metadata.name, uid: &metadata.uid };
        return events::list(call.server.store.client(), &about).await;
    }
    let namespace = query.resource_namespace.unwrap_or_default();
    let tree = live::tree_of(&call, &app).await?;
    let mut nodes = tree.nodes.iter().chain(&tree.orphaned_nodes).map(|it| &it.resource_ref);
    if !nodes.any(|it| it.uid == uid && it.name == name && it.namespace == namespace) {
        let message = format!("{name} not found as part of application {}", query.name);
        return Err(Status::invalid_argument(message));
    }
    let destination = call.server.ports.control.destination_of(&app);
    let destination = destination.map_err(|why| {
        Status::unknown(format!("error getting application cluster config: {why}"))
    })?;
    let about = About { namespace: &namespace, name: &name, uid: &uid };
    events::list(destination.cluster.client(), &about).await
}
