//! Asks an API server what it serves.
//!
//! Since Kubernetes 1.26 two requests tell everything (aggregated discovery),
//! and a server that has nothing new says so in a few bytes. Older servers are
//! asked group by group. A group whose own server is down keeps the kinds it
//! had: an unanswered question is no news of removal.

use std::sync::Arc;

use futures::stream::{self, StreamExt as _};
use http::StatusCode;
use serde::Deserialize;

use crate::ask::Ask;
use crate::client::Client;
use crate::kinds::{ApiKind, Kinds};
use crate::refusal::RequestError;

const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
/// How many group versions an old server is asked about at a time.
const GROUPS_AT_ONCE: usize = 8;

/// The answer of one discovery, with what makes the next one cheap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Discovered {
    pub(crate) kinds: Arc<Kinds>,
    etags: Option<[String; 2]>,
}

/// Asks again. Returns `None` when nothing has changed since `last`.
pub(crate) async fn discover(
    client: &Client,
    last: &Discovered,
) -> Result<Option<Discovered>, RequestError> {
    let [core_tag, groups_tag] = match &last.etags {
        Some([core, groups]) => [Some(core.as_str()), Some(groups.as_str())],
        None => [None, None],
    };
    let (core, groups) = futures::try_join!(
        endpoint(client, "/api", core_tag),
        endpoint(client, "/apis", groups_tag)
    )?;
    if core.is_none() && groups.is_none() {
        return Ok(None);
    }
    // One half is unchanged: ask for it in full, so that the snapshot is made from one time.
    let core = match core {
        Some(answer) => answer,
        None => fresh(client, "/api").await?,
    };
    let groups = match groups {
        Some(answer) => answer,
        None => fresh(client, "/apis").await?,
    };
    match (core, groups) {
        (Endpoint::Aggregated(core, core_tag), Endpoint::Aggregated(groups, groups_tag)) => {
            let listings = core.items.into_iter().chain(groups.items).flat_map(GroupItem::listings);
            let etags = core_tag.zip(groups_tag).map(<[String; 2]>::from);
            Ok(Some(Discovered { kinds: Arc::new(kinds(listings.collect(), &last.kinds)), etags }))
        }
        _ => {
            let kinds = Arc::new(kinds(classic(client).await?, &last.kinds));
            Ok(Some(Discovered { kinds, etags: None }))
        }
    }
}

enum Endpoint {
    Aggregated(GroupList, Option<String>),
    Classic,
}

async fn fresh(client: &Client, path: &str) -> Result<Endpoint, RequestError> {
    Ok(endpoint(client, path, None).await?.unwrap_or(Endpoint::Classic))
}

async fn endpoint(
    client: &Client,
    path: &str,
    etag: Option<&str>,
) -> Result<Option<Endpoint>, RequestError> {
    let ask = Ask { accept: ACCEPT, etag, ..Ask::get(path.to_owned()) };
    let answer = client.ask(ask).await?;
    if answer.status == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    let header = |name| answer.headers.get(name).and_then(|it| it.to_str().ok());
    if !header("content-type").is_some_and(|it| it.contains("as=APIGroupDiscoveryList")) {
        return Ok(Some(Endpoint::Classic));
    }
    let list = parse(path, &answer.body)?;
    Ok(Some(Endpoint::Aggregated(list, header("etag").map(str::to_owned))))
}

fn parse<'a, T: Deserialize<'a>>(path: &str, body: &'a [u8]) -> Result<T, RequestError> {
    serde_json::from_slice(body).map_err(|source| RequestError::Unreadable {
        request: format!("GET {path}"),
        source: source.into(),
    })
}

/// One group version as a server told it; listings come in order of preference.
#[derive(Debug, PartialEq)]
struct Listing {
    api_version: String,
    /// `None` when the server behind this group version did not answer.
    kinds: Option<Vec<ApiKind>>,
}

fn kinds(listings: Vec<Listing>, last: &Kinds) -> Kinds {
    let mut kinds = Kinds::default();
    for listing in listings {
        let served = listing.kinds.unwrap_or_else(|| {
            kinds.unavailable.push(listing.api_version.clone());
            last.served_by(&listing.api_version)
        });
        for kind in served {
            kinds.add(kind);
        }
    }
    kinds
}

#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    items: Vec<GroupItem>,
}

#[derive(Deserialize)]
struct GroupItem {
    #[serde(default)]
    metadata: GroupName,
    #[serde(default)]
    versions: Vec<VersionItem>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GroupName {
    name: String,
}

#[derive(Deserialize)]
struct VersionItem {
    version: String,
    #[serde(default)]
    freshness: String,
    #[serde(default)]
    resources: Vec<ResourceItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceItem {
    resource: String,
    #[serde(default)]
    response_kind: Option<KindName>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct KindName {
    kind: String,
}

impl GroupItem {
    fn listings(self) -> Vec<Listing> {
        let group = self.metadata.name;
        self.versions.into_iter().map(|version| version.listing(&group)).collect()
    }
}

impl VersionItem {
    fn listing(self, group: &str) -> Listing {
        let stale = self.freshness == "Stale";
        let kinds = self.resources.into_iter().filter_map(|it| it.kind(group, &self.version));
        let kinds: Vec<ApiKind> = kinds.collect();
        // A stale listing that still tells something is the server's own memory.
        let kinds = if stale && kinds.is_empty() { None } else { Some(kinds) };
        Listing { api_version: api_version(group, &self.version), kinds }
    }
}

impl ResourceItem {
    /// The group and version are those of the listing; the response kind's own are mostly empty.
    fn kind(self, group: &str, version: &str) -> Option<ApiKind> {
        let kind = self.response_kind.map(|it| it.kind).filter(|it| !it.is_empty())?;
        Some(ApiKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind,
            plural: self.resource,
            namespaced: self.scope == "Namespaced",
            verbs: self.verbs,
        })
    }
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Discovery group version by group version, as before Kubernetes 1.26.
async fn classic(client: &Client) -> Result<Vec<Listing>, RequestError> {
    let core = client.ask(Ask::get("/api".into())).await?;
    let core: CoreVersions = parse("/api", &core.body)?;
    let groups = client.ask(Ask::get("/apis".into())).await?;
    let groups: Groups = parse("/apis", &groups.body)?;
    let core = core.versions.into_iter().map(|version| (String::new(), version));
    let named = groups.groups.into_iter().flat_map(ClassicGroup::in_order_of_preference);
    let listings = stream::iter(core.chain(named).collect::<Vec<_>>())
        .map(|(group, version)| classic_listing(client, group, version))
        .buffered(GROUPS_AT_ONCE);
    Ok(listings.collect().await)
}

async fn classic_listing(client: &Client, group: String, version: String) -> Listing {
    let root = if group.is_empty() { "/api" } else { "/apis" };
    let api_version = api_version(&group, &version);
    let path = format!("{root}/{api_version}");
    let answer = client.ask(Ask::get(path.clone())).await;
    let list = answer.and_then(|answer| parse::<ResourceList>(&path, &answer.body));
    let kinds = list.ok().map(|list| {
        let resources = list.resources.into_iter().filter(|it| !it.name.contains('/'));
        resources.map(|it| it.kind(&group, &version)).collect()
    });
    Listing { api_version, kinds }
}

#[derive(Deserialize)]
struct CoreVersions {
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct Groups {
    #[serde(default)]
    groups: Vec<ClassicGroup>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClassicGroup {
    name: String,
    #[serde(default)]
    versions: Vec<ClassicVersion>,
    #[serde(default)]
    preferred_version: Option<ClassicVersion>,
}

#[derive(Deserialize)]
struct ClassicVersion {
    version: String,
}

impl ClassicGroup {
    fn in_order_of_preference(self) -> Vec<(String, String)> {
        let preferred = self.preferred_version.map(|it| it.version);
        let mut versions: Vec<String> = self.versions.into_iter().map(|it| it.version).collect();
        versions.sort_by_key(|it| preferred.as_ref() != Some(it));
        versions.into_iter().map(|version| (self.name.clone(), version)).collect()
    }
}

#[derive(Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Vec<ClassicResource>,
}

#[derive(Deserialize)]
struct ClassicResource {
    name: String,
    kind: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
}

impl ClassicResource {
    fn kind(self, group: &str, version: &str) -> ApiKind {
        ApiKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: self.kind,
            plural: self.name,
            namespaced: self.namespaced,
            verbs: self.verbs,
        }
    }
}

#[cfg(test)]
mod tests {
    use object::GroupKind;

    use super::*;

    fn aggregated(json: &str, last: &Kinds) -> Kinds {
        let list: GroupList = serde_json::from_str(json).expect("a listing");
        kinds(list.items.into_iter().flat_map(GroupItem::listings).collect(), last)
    }

    const WIDGETS: &str = r#"{"items":[{"metadata":{"name":"example.org"},"versions":[
        {"version":"v2","freshness":"Current","resources":[{"resource":"widgets","scope":"Namespaced",
          "responseKind":{"group":"","version":"","kind":"Widget"},"verbs":["list","watch"]}]},
        {"version":"v1","freshness":"Current","resources":[{"resource":"widgets","scope":"Namespaced",
          "responseKind":{"group":"","version":"","kind":"Widget"},"verbs":["list"]},
          {"resource":"gone","responseKind":null}]}]}]}"#;

    #[test]
    fn the_first_version_listed_is_preferred_and_a_resource_without_kind_is_no_kind() {
        let kinds = aggregated(WIDGETS, &Kinds::default());
        let widget = kinds.preferred(&GroupKind::new("example.org", "Widget")).expect("served");
        assert_eq!((widget.version.as_str(), widget.namespaced), ("v2", true));
        assert!(widget.is_watchable());
        assert_eq!(kinds.iter().count(), 1);
    }

    #[test]
    fn a_group_whose_server_is_down_keeps_its_kinds_and_is_named() {
        let before = aggregated(WIDGETS, &Kinds::default());
        let down = r#"{"items":[{"metadata":{"name":"example.org"},"versions":[
            {"version":"v2","freshness":"Stale"},{"version":"v1","freshness":"Stale"}]}]}"#;
        let now = aggregated(down, &before);
        assert_eq!(now.unavailable(), ["example.org/v2", "example.org/v1"]);
        assert_eq!(
            now.preferred(&GroupKind::new("example.org", "Widget")).expect("kept").version,
            "v2"
        );
    }

    #[test]
    fn a_group_that_is_no_longer_listed_is_gone() {
        let before = aggregated(WIDGETS, &Kinds::default());
        assert_eq!(aggregated(r#"{"items":[]}"#, &before), Kinds::default());
    }

    #[test]
    fn the_preferred_version_of_an_old_server_comes_first() {
        let group: ClassicGroup = serde_json::from_str(
            r#"{"name":"a","versions":[{"version":"v1"},{"version":"v2"}],"preferredVersion":{"version":"v2"}}"#,
        )
        .expect("a group");
        let versions: Vec<_> =
            group.in_order_of_preference().into_iter().map(|(_, version)| version).collect();
        assert_eq!(versions, ["v2", "v1"]);
    }
}
