//! ConfigMaps of the control plane that hold lists users manage through the API:
//! read, changed, and written back unless somebody else was faster.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wire::Status;

use crate::ApiServer;
use crate::failure::refused;
use crate::project::replacing;
use crate::store::CONFIG_MAPS;

/// How often a write tries again after losing against another.
const ATTEMPTS: usize = 10;

/// The data of a ConfigMap; one that does not exist is empty.
pub(crate) type Data = BTreeMap<String, String>;

/// The data as it is stored now.
pub(crate) async fn read(server: &ApiServer, name: &str) -> Result<Data, Status> {
    Ok(stored(server, name).await?.map(|it| data_of(&it)).unwrap_or_default())
}

/// Lets `change` change the data and stores the result. What `change` refuses is not stored; it is
/// asked anew where somebody else wrote meanwhile.
pub(crate) async fn change<T>(
    server: &ApiServer,
    name: &str,
    change: impl Fn(&mut Data) -> Result<T, Status>,
) -> Result<T, Status> {
    for _ in 0..ATTEMPTS {
        let there = stored(server, name).await?;
        let before = there.as_ref().map(data_of).unwrap_or_default();
        let mut after = before.clone();
        let answer = change(&mut after)?;
        if after == before {
            return Ok(answer);
        }
        let written = match &there {
            Some(there) => {
                let patch = json!({
                    "metadata": { "resourceVersion": there["metadata"]["resourceVersion"] },
                    "data": replacing(&json!(before), &json!(after)),
                });
                server.store.merge::<Value>(&CONFIG_MAPS, name, &patch).await
            }
            None => {
                let labels = json!({ "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "argocd" });
                let object =
                    json!({ "metadata": { "name": name, "labels": labels }, "data": after });
                server.store.create(&CONFIG_MAPS, &object).await
            }
        };
        match written {
            Ok(written) => {
                server.settings.see_config_map(&written);
                return Ok(answer);
            }
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(refused(&format!("could not write {name}"), &error)),
        }
    }
    Err(Status::aborted(format!("could not write {name}: others write it at the same time")))
}

async fn stored(server: &ApiServer, name: &str) -> Result<Option<Value>, Status> {
    let found = server.store.get(&CONFIG_MAPS, name).await;
    found.map_err(|error| refused(&format!("could not read {name}"), &error))
}

fn data_of(config_map: &Value) -> Data {
    let data = config_map["data"].as_object().into_iter().flatten();
    data.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned()))).collect()
}
