//! Whom a push or a new image concerns.

use api::{Application, ApplicationSource};
use gocompat::glob::filepath_match;
use gocompat::semver::{Constraint, Version};
use regex::{Regex, RegexBuilder};

use super::event::{Published, Push, short_name};

/// What an Application shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refresh {
    /// Look again.
    Only,
    /// Look again, and hydrate: its dry source changed.
    AndHydrate,
}

/// What a push asks of an Application; nothing, if it is about something else.
pub(crate) fn refresh_after_push(app: &Application, push: &Push) -> Option<Refresh> {
    let mut concerns = concerns(app, push).into_iter();
    concerns.find(|it| files_matter(&it.paths, &push.changed_files)).map(|it| it.refresh)
}

/// A source of an Application that a push is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Concern {
    pub(crate) refresh: Refresh,
    /// Where changes matter; none is everywhere.
    pub(crate) paths: Vec<String>,
}

/// Every source of an Application that a push is about, whatever files it changed.
pub(crate) fn concerns(app: &Application, push: &Push) -> Vec<Concern> {
    let patterns: Vec<Regex> = push.web_urls.iter().filter_map(|it| same_repository(it)).collect();
    let sources = sources(app).into_iter().filter(|(source, _)| {
        patterns.iter().any(|it| it.is_match(&source.repo_url))
            && follows(&source.target_revision, &push.revision, push.touched_head)
    });
    let concern = |(source, role): (ApplicationSource, Role)| Concern {
        refresh: role.refresh(),
        paths: refresh_paths(app, &source, role),
    };
    sources.map(concern).collect()
}

/// The source of an Application that a push is about, and the revision that it
/// was last compared at.
pub(crate) fn pushed_source(app: &Application, push: &Push) -> Option<(ApplicationSource, String)> {
    let patterns: Vec<Regex> = push.web_urls.iter().filter_map(|it| same_repository(it)).collect();
    let (index, (source, _)) = sources(app).into_iter().enumerate().find(|(_, (source, _))| {
        patterns.iter().any(|it| it.is_match(&source.repo_url))
            && follows(&source.target_revision, &push.revision, push.touched_head)
    })?;
    let compared = &app.status.sync;
    let since = compared.revisions.get(index).unwrap_or(&compared.revision);
    Some((source, since.clone()))
}

/// What a new image or chart asks of an Application.
pub(crate) fn refresh_after_publishing(app: &Application, news: &Published) -> Option<Refresh> {
    let wanted = normalized(&news.repository);
    sources(app).into_iter().find_map(|(source, _)| {
        let with_chart = format!("{}/{}", source.repo_url.trim_end_matches('/'), source.chart);
        let is_same = normalized(&source.repo_url) == wanted
            || (!source.chart.is_empty() && normalized(&with_chart) == wanted);
        let concerns = is_same && is_revision(&news.tag, &source.target_revision);
        concerns.then_some(Refresh::AndHydrate)
    })
}

/// What a source is to its Application.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Plain,
    /// Where hydrated manifests are.
    Sync,
    /// Where they are made from.
    Dry,
}

impl Role {
    fn refresh(self) -> Refresh {
        if self == Self::Dry { Refresh::AndHydrate } else { Refresh::Only }
    }
}

fn sources(app: &Application) -> Vec<(ApplicationSource, Role)> {
    let hydrator = app.spec.source_hydrator.as_ref();
    let role = if hydrator.is_some() { Role::Sync } else { Role::Plain };
    let mut sources: Vec<_> = app.sources().iter().map(|it| (it.clone(), role)).collect();
    if let Some(hydrator) = hydrator {
        let dry = ApplicationSource {
            repo_url: hydrator.dry_source.repo_url.clone(),
            target_revision: hydrator.dry_source.target_revision.clone(),
            path: hydrator.dry_source.path.clone(),
            ..ApplicationSource::default()
        };
        sources.push((dry, Role::Dry));
    }
    sources
}

/// The addresses that mean the same repository as this one in a browser:
/// with another protocol, port or user, with `.git`, on the host's ssh name.
pub(crate) fn same_repository(web_url: &str) -> Option<Regex> {
    let (_, rest) = web_url.split_once("://")?;
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let user = r"[\w.][\w.-]{0,30}[\w.$-]?";
    let pattern = format!(
        r"^((https?|ssh)://)?({user}@)?((alt)?ssh\.)?{}(:\d+)?[:/]{}(\.git)?$",
        regex::escape(host),
        regex::escape(path)
    );
    RegexBuilder::new(&pattern).case_insensitive(true).build().ok()
}

/// Does a source that follows `target` follow what was pushed?
pub(crate) fn follows(target: &str, pushed: &str, touched_head: bool) -> bool {
    let name = short_name(target);
    if name.is_empty() || name == "HEAD" {
        return touched_head;
    }
    let is_full = target.starts_with("refs/heads/") || target.starts_with("refs/tags/");
    is_revision(pushed, if is_full { name } else { target })
}

/// The same name, or a version that fits the range.
fn is_revision(pushed: &str, target: &str) -> bool {
    pushed == target
        || match (Constraint::parse(target), Version::parse(pushed)) {
            (Ok(range), Ok(version)) => range.check(&version),
            _ => false,
        }
}

fn normalized(url: &str) -> String {
    let url = url.strip_prefix("oci://").unwrap_or(url);
    url.strip_suffix('/').unwrap_or(url).to_lowercase()
}

/// Where changes matter: the annotation, relative to the source's path. None is everywhere.
fn refresh_paths(app: &Application, source: &ApplicationSource, role: Role) -> Vec<String> {
    if role == Role::Sync {
        return vec![source.path.clone()];
    }
    let annotation = app.annotation(api::names::ANNOTATION_MANIFEST_GENERATE_PATHS);
    source.generate_paths(annotation.unwrap_or_default())
}

fn files_matter(paths: &[String], changed: &[String]) -> bool {
    let matters = |path: &str, file: &str| {
        let path = api::clean_path(path);
        let is_inside = path.is_empty()
            || api::clean_path(file) == path
            || api::clean_path(file).strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'));
        is_inside || filepath_match(&format!("/{path}"), &format!("/{file}")).unwrap_or(false)
    };
    changed.is_empty()
        || paths.is_empty()
        || changed.iter().any(|file| paths.iter().any(|path| matters(path, file)))
}

#[cfg(test)]
mod tests;
