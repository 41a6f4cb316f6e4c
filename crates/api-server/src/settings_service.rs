//! What clients may know of the settings: `cluster.SettingsService`.

use wire::Status;
use wire::message::settings::{Help, Settings, SettingsPluginsResponse, SettingsQuery};

use crate::methods::Call;

const TRACKING_LABEL: &str = "app.kubernetes.io/instance";

pub(crate) async fn get(call: Call, _: SettingsQuery) -> Result<Settings, Status> {
    let settings = call.server.settings.current();
    let or = |key: &str, default: &str| {
        let text = settings.text(key);
        if text.is_empty() { default.to_owned() } else { text.to_owned() }
    };
    let known = call.caller.is_some();
    Ok(Settings {
        url: or("url", ""),
        app_label_key: or("application.instanceLabelKey", TRACKING_LABEL),
        status_badge_enabled: settings.text("statusbadge.enabled") == "true",
        status_badge_root_url: or("statusbadge.url", ""),
        google_analytics: Some(Default::default()),
        help: Some(Help {
            chat_url: or("help.chatUrl", ""),
            chat_text: or("help.chatText", ""),
            binary_urls: Default::default(),
        }),
        user_logins_disabled: settings.accounts().iter().all(|it| !it.enabled),
        password_pattern: or("passwordPattern", "^.{8,32}$"),
        tracking_method: or("application.resourceTrackingMethod", "annotation"),
        exec_enabled: settings.text("exec.enabled") == "true",
        controller_namespace: call.server.options.namespace.clone(),
        installation_id: if known { or("installationID", "") } else { String::new() },
        sync_with_replace_allowed: true,
        ..Settings::default()
    })
}

pub(crate) async fn plugins(_: Call, _: SettingsQuery) -> Result<SettingsPluginsResponse, Status> {
    Ok(SettingsPluginsResponse::default())
}
