//! What the user interface shows besides the data.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::reader::Reader;

const SYSTEMS: [&str; 7] = [
    "darwin-amd64",
    "darwin-arm64",
    "linux-amd64",
    "linux-arm64",
    "linux-ppc64le",
    "linux-s390x",
    "windows-amd64",
];

/// Settings of the user interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Ui {
    /// A style sheet.
    pub css_url: String,
    /// The text of the banner; empty for none.
    pub banner_content: String,
    /// Where it leads.
    pub banner_url: String,
    /// It cannot be closed.
    pub banner_is_permanent: bool,
    /// `top`, `bottom` or `both`; empty is top.
    pub banner_position: String,
    /// Is there a view of all managed resources?
    pub shows_resources: bool,
    /// What the button for single sign-on says.
    pub login_button_text: String,
    /// An account of Google Analytics.
    pub analytics_id: String,
    /// User names are hashed before they are sent there.
    pub analytics_are_anonymous: bool,
    /// Where users find help.
    pub chat_url: String,
    /// What that link says.
    pub chat_text: String,
    /// Where the command line program can be had, by system.
    pub downloads: BTreeMap<String, String>,
    /// Are status badges shown without login?
    pub badges_enabled: bool,
    /// The address in badges, where it differs from ours.
    pub badge_url: String,
    /// Links beside Applications.
    pub application_links: Vec<DeepLink>,
    /// Links beside projects.
    pub project_links: Vec<DeepLink>,
    /// Links beside resources.
    pub resource_links: Vec<DeepLink>,
}

/// A link that is filled in for an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DeepLink {
    /// The address, as a Go template.
    pub url: String,
    /// What the link says.
    pub title: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its icon.
    #[serde(rename = "icon.class")]
    pub icon_class: Option<String>,
    /// When it is shown, as an expression.
    #[serde(rename = "if")]
    pub condition: Option<String>,
}

pub(crate) fn read(reader: &mut Reader<'_>) -> Ui {
    let downloads = SYSTEMS.iter().filter_map(|system| {
        let url = reader.data.get(&format!("help.download.{system}"))?;
        Some(((*system).to_owned(), url.clone()))
    });
    let downloads = downloads.collect();
    Ui {
        css_url: reader.owned("ui.cssurl"),
        banner_content: reader.owned("ui.bannercontent"),
        banner_url: reader.owned("ui.bannerurl"),
        banner_is_permanent: reader.is_true("ui.bannerpermanent"),
        banner_position: reader.owned("ui.bannerposition"),
        shows_resources: !reader.is_true("ui.view.resources.disabled"),
        login_button_text: reader.owned("ui.loginButtonText"),
        analytics_id: reader.owned("ga.trackingid"),
        analytics_are_anonymous: reader.text("ga.anonymizeusers") != "false",
        chat_url: reader.owned("help.chatUrl"),
        chat_text: reader.owned("help.chatText"),
        downloads,
        badges_enabled: reader.is_true("statusbadge.enabled"),
        badge_url: reader.owned("statusbadge.url"),
        application_links: reader.yaml("application.links"),
        project_links: reader.yaml("project.links"),
        resource_links: reader.yaml("resource.links"),
    }
}
