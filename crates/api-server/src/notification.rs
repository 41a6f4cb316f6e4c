//! What notifications are made of, by name: `notification.NotificationService`.

use std::collections::BTreeSet;

use serde_json::Value;
use wire::Status;
use wire::message::notification::{
    Service, ServiceList, ServicesListRequest, Template, TemplateList, TemplatesListRequest,
    Trigger, TriggerList, TriggersListRequest,
};

use crate::failure::refused;
use crate::methods::Call;
use crate::store::CONFIG_MAPS;

const CONFIG_MAP: &str = "argocd-notifications-cm";

pub(crate) async fn triggers(call: Call, _: TriggersListRequest) -> Result<TriggerList, Status> {
    let names = names(&call, "trigger.").await?;
    Ok(TriggerList { items: names.into_iter().map(|name| Trigger { name }).collect() })
}

pub(crate) async fn services(call: Call, _: ServicesListRequest) -> Result<ServiceList, Status> {
    let names = names(&call, "service.").await?;
    // `service.webhook.ours` is named `ours`, `service.slack` is `slack`.
    let names = names.into_iter().map(|it| match it.split_once('.') {
        Some((_, name)) => name.to_owned(),
        None => it,
    });
    let names: BTreeSet<String> = names.collect();
    Ok(ServiceList { items: names.into_iter().map(|name| Service { name }).collect() })
}

pub(crate) async fn templates(call: Call, _: TemplatesListRequest) -> Result<TemplateList, Status> {
    let names = names(&call, "template.").await?;
    Ok(TemplateList { items: names.into_iter().map(|name| Template { name }).collect() })
}

/// The rest of every key that begins so.
async fn names(call: &Call, prefix: &str) -> Result<Vec<String>, Status> {
    let config = call.server.store.get::<Value>(&CONFIG_MAPS, CONFIG_MAP).await;
    let config = config.map_err(|error| refused("could not read the settings", &error))?;
    let data = config.as_ref().and_then(|it| it.get("data")).and_then(Value::as_object);
    let keys = data.into_iter().flatten().map(|(key, _)| key);
    Ok(keys.filter_map(|key| key.strip_prefix(prefix)).map(str::to_owned).collect())
}
