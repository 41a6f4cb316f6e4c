//! Sync windows that concern an Application.

use engine::windows::{Target, Trigger, Windows, is_open};
use jiff::Timestamp;
use wire::Status;
use wire::message::application::{
    ApplicationSyncWindow, ApplicationSyncWindowsQuery, ApplicationSyncWindowsResponse,
};

use super::find;
use crate::methods::Call;

pub(crate) async fn get(
    call: Call,
    query: ApplicationSyncWindowsQuery,
) -> Result<ApplicationSyncWindowsResponse, Status> {
    let namespace = query.app_namespace.as_deref();
    let app = find(&call, &query.name, namespace, query.project.as_deref()).await?;
    let project = crate::project::of(&call, &app).await?;
    let windows = Windows::applying_to(&project.spec.sync_windows, &Target::from(&app));
    let now = Timestamp::now();
    let mut active = Vec::new();
    for window in windows.as_slice() {
        let is_open = is_open(window, now, now)
            .map_err(|error| Status::unknown(format!("invalid sync windows: {error}")))?;
        if is_open {
            active.push(shown(window));
        }
    }
    Ok(ApplicationSyncWindowsResponse {
        active_windows: active,
        assigned_windows: windows.as_slice().iter().map(|it| shown(it)).collect(),
        can_sync: windows.can_sync(Trigger::Manual, now).is_ok(),
    })
}

fn shown(window: &api::SyncWindow) -> ApplicationSyncWindow {
    ApplicationSyncWindow {
        kind: window.kind.clone(),
        schedule: window.schedule.clone(),
        duration: window.duration.clone(),
        manual_sync: window.manual_sync,
    }
}
