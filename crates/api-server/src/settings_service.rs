//! What clients may know of the settings: `cluster.SettingsService`.

use ::settings::Settings as Current;
use ::settings::resources::{IgnoredFields, ResourceOverride as CurrentOverride};
use wire::Status;
use wire::message::settings::{
    Claim, Connector, DexConfig, GoogleAnalyticsConfig, Help, KnownTypeField, OidcConfig,
    OverrideIgnoreDiff, ResourceOverride, Settings, SettingsPluginsResponse, SettingsQuery,
};

use crate::methods::Call;

pub(crate) async fn get(call: Call, _: SettingsQuery) -> Result<Settings, Status> {
    let settings = call.server.settings.current();
    let is_known = call.caller.as_ref().is_some_and(|it| !it.name.is_empty());
    let mut shown = for_everybody(&settings);
    shown.controller_namespace = call.server.options.namespace.clone();
    if is_known {
        shown.installation_id = settings.tracking.installation_id.clone();
        let versions = settings.rendering.kustomize_versions.keys();
        shown.kustomize_versions = versions.cloned().collect();
        // `argocd app diff` compares by itself and needs them. One that says nothing
        // would go without a value on the wire, at which that program panics.
        let says_something = |it: &CurrentOverride| *it != CurrentOverride::default();
        let overrides = settings.resources.overrides.iter().filter(|(_, it)| says_something(it));
        shown.resource_overrides =
            overrides.map(|(kind, it)| (kind.clone(), resource_override(it))).collect();
    }
    Ok(shown)
}

fn resource_override(current: &CurrentOverride) -> ResourceOverride {
    let ignored = |it: &IgnoredFields| OverrideIgnoreDiff {
        json_pointers: it.json_pointers.clone(),
        jq_path_expressions: it.jq_path_expressions.clone(),
        managed_fields_managers: it.managed_fields_managers.clone(),
    };
    let typed = current.known_type_fields.iter();
    ResourceOverride {
        health_lua: current.health_lua.clone(),
        use_open_libs: current.uses_open_libs,
        actions: current.actions.clone(),
        ignore_differences: ignored(&current.ignore_differences),
        ignore_resource_updates: ignored(&current.ignore_updates),
        known_type_fields: typed
            .map(|it| KnownTypeField { field: it.field.clone(), type_: it.kind.clone() })
            .collect(),
    }
}

/// The login page needs these before anybody is logged in.
fn for_everybody(settings: &Current) -> Settings {
    let ui = &settings.ui;
    Settings {
        url: settings.server.url.clone(),
        additional_urls: settings.server.additional_urls.clone(),
        app_label_key: settings.tracking.label_key.clone(),
        tracking_method: settings.tracking.method.name().to_owned(),
        status_badge_enabled: ui.badges_enabled,
        status_badge_root_url: ui.badge_url.clone(),
        google_analytics: Some(GoogleAnalyticsConfig {
            tracking_id: ui.analytics_id.clone(),
            anonymize_users: ui.analytics_are_anonymous,
        }),
        help: Some(Help {
            chat_url: ui.chat_url.clone(),
            chat_text: ui.chat_text.clone(),
            binary_urls: ui.downloads.clone(),
        }),
        user_logins_disabled: settings.accounts.values().all(|it| !it.is_enabled),
        password_pattern: settings.session.password_pattern.clone(),
        ui_css_url: ui.css_url.clone(),
        ui_banner_content: ui.banner_content.clone(),
        ui_banner_url: ui.banner_url.clone(),
        ui_banner_permanent: ui.banner_is_permanent,
        ui_banner_position: ui.banner_position.clone(),
        ui_login_button_text: ui.login_button_text.clone(),
        resource_view_enabled: ui.shows_resources,
        exec_enabled: settings.server.exec_enabled,
        impersonation_enabled: settings.server.impersonation_enabled,
        sync_with_replace_allowed: true,
        dex_config: dex(settings),
        oidc_config: oidc(settings),
        ..Settings::default()
    }
}

fn dex(settings: &Current) -> Option<DexConfig> {
    let connectors =
        settings.sso.dex["connectors"].as_array().filter(|_| settings.sso.has_dex())?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let connectors = connectors.iter().map(|it| Connector {
        name: text(&it["name"]),
        type_: text(&it["type"]),
        id: text(&it["id"]),
    });
    Some(DexConfig {
        connectors: connectors.collect(),
        dex_auth_connector_id: settings.sso.dex_connector.clone(),
    })
}

fn oidc(settings: &Current) -> Option<OidcConfig> {
    let oidc = settings.sso.oidc.as_ref()?;
    Some(OidcConfig {
        name: oidc.name.clone(),
        issuer: oidc.issuer.clone(),
        client_id: oidc.client_id.clone(),
        cli_client_id: oidc.cli_client_id.clone(),
        scopes: oidc.requested_scopes.clone(),
        id_token_claims: oidc
            .requested_id_token_claims
            .iter()
            .map(|(name, it)| (name.clone(), claim(it)))
            .collect(),
        enable_pkce_authentication: oidc.uses_pkce,
    })
}

fn claim(wish: &serde_json::Value) -> Claim {
    let values = wish["values"].as_array().into_iter().flatten();
    Claim {
        essential: wish["essential"].as_bool().unwrap_or(false),
        value: wish["value"].as_str().unwrap_or_default().to_owned(),
        values: values.filter_map(|it| it.as_str()).map(str::to_owned).collect(),
    }
}

pub(crate) async fn plugins(_: Call, _: SettingsQuery) -> Result<SettingsPluginsResponse, Status> {
    Ok(SettingsPluginsResponse::default())
}
