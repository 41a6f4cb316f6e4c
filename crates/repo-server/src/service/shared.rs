//! Manifests in Redis, in Argo CD's form: shared with other repo servers, its
//! own among them. A Redis that is away or holds nonsense is a miss.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::SourceRepos;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use runtime::redis::{CACHE_VERSION, Redis};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use wire::go_json;
use wire::message::repo_server::{ManifestRequest, RefTarget, UpdateRevisionForPathsRequest};
use wire::message::repository::ManifestResponse;

/// What a manifest depends on beside its revision, as both requests tell it.
pub(super) struct Keyed<'k> {
    pub(super) app_label_key: &'k str,
    pub(super) tracking_method: &'k str,
    pub(super) app_name: &'k str,
    pub(super) namespace: &'k str,
    pub(super) installation_id: &'k str,
    pub(super) source: &'k api::ApplicationSource,
    pub(super) refs: &'k BTreeMap<String, RefTarget>,
    pub(super) kube_version: &'k str,
    pub(super) api_versions: &'k [String],
    /// What the project permits, as far as the request says so.
    pub(super) source_repos: &'k [String],
}

impl<'k> Keyed<'k> {
    /// `None` for what is not shared: where commits must prove something, and
    /// where other sources' files were read.
    pub(super) fn of(asked: &'k ManifestRequest) -> Option<Self> {
        let source = asked.application_source.as_ref()?;
        let is_plain = asked.source_integrity.is_none() && !refers_to_others(source);
        is_plain.then_some(Self {
            app_label_key: &asked.app_label_key,
            tracking_method: &asked.tracking_method,
            app_name: &asked.app_name,
            namespace: &asked.namespace,
            installation_id: &asked.installation_id,
            source,
            refs: &asked.ref_sources,
            kube_version: &asked.kube_version,
            api_versions: &asked.api_versions,
            source_repos: &asked.project_source_repos,
        })
    }

    pub(super) fn of_update(asked: &'k UpdateRevisionForPathsRequest) -> Option<Self> {
        let source = asked.application_source.as_ref()?;
        let is_plain = asked.source_integrity.is_none() && !refers_to_others(source);
        is_plain.then_some(Self {
            app_label_key: &asked.app_label_key,
            tracking_method: &asked.tracking_method,
            app_name: &asked.app_name,
            namespace: &asked.namespace,
            installation_id: &asked.installation_id,
            source,
            refs: &asked.ref_sources,
            kube_version: &asked.kube_version,
            api_versions: &asked.api_versions,
            source_repos: &[],
        })
    }

    /// Argo CD's key. Where a project does not permit everything it has more to
    /// it, or whoever permits less would still be shown what was permitted before.
    pub(super) fn key(&self, revision: &str) -> String {
        let tracking = match self.tracking_method {
            "" | "label" => self.app_label_key.to_owned(),
            method => format!("{method}:{}", self.app_label_key),
        };
        let hash = fnv32a(&self.source_json()).wrapping_add(fnv32a(&self.destination()));
        let Self { app_name, namespace, installation_id, .. } = self;
        // Go prints a policy that is not there as `nil`.
        let mut key = format!("mfst|{tracking}|{app_name}|{revision}|{namespace}|{hash}|nil");
        if !installation_id.is_empty() {
            key = format!("{key}|{installation_id}");
        }
        if let Some(bounds) = self.bounds() {
            key = format!("{key}|{bounds}");
        }
        format!("{key}|{CACHE_VERSION}")
    }

    fn bounds(&self) -> Option<String> {
        let entries = self.source_repos;
        if entries.is_empty() || SourceRepos::new(entries).are_all() {
            return None;
        }
        let digest = Sha256::digest(go_json(&entries));
        Some(digest[..8].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn source_json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Source<'s> {
            app_src: &'s api::ApplicationSource,
            src_refs: BTreeMap<&'s str, Reference<'s>>,
        }
        #[derive(Serialize)]
        struct Reference<'s> {
            #[serde(rename = "repoURL")]
            repo_url: &'s str,
            project: &'s str,
            #[serde(rename = "targetRevision")]
            target_revision: &'s str,
            chart: &'s str,
        }
        let mut source = self.source.clone();
        // The commit stands for both.
        if source.chart.is_empty() {
            source.repo_url = String::new();
            source.target_revision = String::new();
        }
        let reference = |(name, target): (&'k String, &'k RefTarget)| {
            let (repo_url, project) = (target.repo.repo.as_str(), target.repo.project.as_str());
            // Nobody reads it: then Argo CD does not say where it stands.
            (
                name.as_str(),
                Reference { repo_url, project, target_revision: "", chart: &target.chart },
            )
        };
        let src_refs = self.refs.iter().map(reference).collect();
        go_json(&Source { app_src: &source, src_refs })
    }

    fn destination(&self) -> Vec<u8> {
        let mut versions: Vec<&str> = self.api_versions.iter().map(String::as_str).collect();
        versions.sort_unstable();
        format!("{}|{}", self.kube_version, versions.join(",")).into_bytes()
    }
}

fn refers_to_others(source: &api::ApplicationSource) -> bool {
    let helm = source.helm.iter();
    helm.flat_map(|it| it.value_files.iter().chain(it.file_parameters.iter().map(|it| &it.path)))
        .any(|it| it.starts_with('$'))
}

/// What stands under a key.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Entry {
    cache_entry_hash: String,
    manifest_response: Option<ManifestResponse>,
    most_recent_error: String,
    first_failure_timestamp: i64,
    number_of_consecutive_failures: i64,
    number_of_cached_responses_returned: i64,
}

impl Entry {
    fn sealed(answer: &ManifestResponse) -> Self {
        let entry = Self { manifest_response: Some(answer.clone()), ..Self::default() };
        Self { cache_entry_hash: entry.hash(), ..entry }
    }

    /// The answer, if it is one and whole.
    fn opened(mut self) -> Option<ManifestResponse> {
        let hash = std::mem::take(&mut self.cache_entry_hash);
        let is_answer = self.hash() == hash && self.first_failure_timestamp == 0;
        self.manifest_response.filter(|_| is_answer)
    }

    fn hash(&self) -> String {
        URL_SAFE.encode(fnv64a(&go_json(self)).to_be_bytes())
    }
}

/// Manifests that other repo servers share with us.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) redis: Redis,
    pub(super) expires: Duration,
}

impl Shared {
    pub(super) async fn get(&self, key: &str) -> Option<ManifestResponse> {
        match self.redis.get(key).await {
            Ok(value) => serde_json::from_slice::<Entry>(&value?).ok()?.opened(),
            Err(error) => {
                tracing::debug!(error = %runtime::Chain(&error), "no manifests from Redis");
                None
            }
        }
    }

    pub(super) async fn set(&self, key: &str, answer: &ManifestResponse) {
        let mut value = go_json(&Entry::sealed(answer));
        // As Go's encoder ends it.
        value.push(b'\n');
        if let Err(error) = self.redis.set(key, &value, self.expires).await {
            tracing::debug!(error = %runtime::Chain(&error), "no manifests into Redis");
        }
    }

    /// What counted for one revision counts for another.
    pub(super) async fn rename(&self, from: &str, to: &str) {
        if let Err(error) = self.redis.rename(from, to).await {
            tracing::debug!(error = %runtime::Chain(&error), "nothing moved in Redis");
        }
    }
}

fn fnv32a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

fn fnv64a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_published_test_vectors() {
        assert_eq!((fnv32a(b""), fnv32a(b"a")), (0x811c_9dc5, 0xe40c_292c));
        assert_eq!((fnv64a(b""), fnv64a(b"a")), (0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c));
    }

    fn asked(revision: &str) -> ManifestRequest {
        let source = api::ApplicationSource {
            repo_url: "https://example.com/repo".to_owned(),
            target_revision: revision.to_owned(),
            path: "app".to_owned(),
            ..Default::default()
        };
        ManifestRequest {
            app_name: "guestbook".to_owned(),
            namespace: "web".to_owned(),
            app_label_key: "app.kubernetes.io/instance".to_owned(),
            tracking_method: "annotation".to_owned(),
            application_source: Some(source),
            ..Default::default()
        }
    }

    #[test]
    fn the_commit_stands_for_the_branch_in_a_key() {
        let key = |asked: &ManifestRequest| Keyed::of(asked).map(|it| it.key("abc"));
        let main = key(&asked("main")).expect("a key");
        let start = "mfst|annotation:app.kubernetes.io/instance|guestbook|abc|web|";
        assert!(main.starts_with(start) && main.ends_with("|nil|1.8.3"), "{main}");
        assert_eq!(key(&asked("other")), Some(main.clone()));
        let elsewhere = ManifestRequest { api_versions: vec!["v1".to_owned()], ..asked("main") };
        assert_ne!(key(&elsewhere), Some(main));
    }

    #[test]
    fn who_may_use_less_is_not_shown_what_others_share() {
        let key = |entries: &[&str]| {
            let project_source_repos = entries.iter().map(|&it| it.to_owned()).collect();
            let asked = ManifestRequest { project_source_repos, ..asked("main") };
            Keyed::of(&asked).expect("a source").key("abc")
        };
        let (all, some) = (key(&["*"]), key(&["https://example.com/repo"]));
        assert_eq!(all, key(&[]), "Argo CD's own key");
        assert_ne!(all, some);
        assert_ne!(some, key(&["https://example.com/repo", "https://example.com/other"]));
    }

    #[test]
    fn an_entry_that_was_changed_is_a_miss() {
        let answer = ManifestResponse { revision: "abc".to_owned(), ..Default::default() };
        let entry = Entry::sealed(&answer);
        let mut text = String::from_utf8(go_json(&entry)).expect("text");
        let read = |text: &str| serde_json::from_str::<Entry>(text).ok().and_then(Entry::opened);
        assert_eq!(read(&text), Some(answer));
        text = text.replace("abc", "abd");
        assert_eq!(read(&text), None);
    }
}
