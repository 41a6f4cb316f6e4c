//! Why an Application is as it is: its decision record.

use wire::Status;
use wire::message::application::ResourcesQuery;
use wire::message::decision::DecisionRecord;

use super::find;
use crate::methods::Call;

pub(crate) async fn get(call: Call, query: ResourcesQuery) -> Result<DecisionRecord, Status> {
    let (namespace, project) = (query.app_namespace.as_deref(), query.project.as_deref());
    let app = find(&call, &query.application_name, namespace, project).await?;
    let explained = call.server.ports.control.explain(&app).await.map_err(Status::unknown)?;
    let record =
        serde_json::to_string(&explained).map_err(|it| Status::internal(it.to_string()))?;
    Ok(DecisionRecord { record, text: explained.to_string() })
}
