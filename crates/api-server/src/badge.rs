//! `/api/badge`: how an Application or a project does, as a small picture for a README.
//!
//! It needs no login, so it is off unless `statusbadge.enabled` says otherwise:
//! then it tells nothing but Unknown.

use api::Application;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL};
use http::{HeaderValue, Response, StatusCode};
use wire::HttpBody;

use crate::ApiServer;
use crate::address::field;
use crate::port::plain;

const HEALTHY: &str = "Healthy";
const DEGRADED: &str = "Degraded";
const SYNCED: &str = "Synced";
const OUT_OF_SYNC: &str = "OutOfSync";
const UNKNOWN: &str = "Unknown";
/// A commit is shown by this many of its digits.
const SHORT_REVISION: usize = 7;
const NAME_LIMIT: usize = 253;
const WIDTH_LIMIT: usize = 2_000;
/// Widths of the parts, in pixels.
const LEFT: usize = 77;
const BOTH: usize = 131;
const PER_LETTER: usize = 6;
const ROW: usize = 20;

pub(crate) fn answer(server: &ApiServer, query: &str) -> Response<HttpBody> {
    let Some(badge) = badge(server, query) else {
        return plain(StatusCode::BAD_REQUEST, "text/plain", Vec::new());
    };
    let mut response = plain(StatusCode::OK, "image/svg+xml", drawn(&badge).into_bytes());
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// What a badge shows.
#[derive(Debug, PartialEq, Eq)]
struct Badge {
    health: String,
    /// None where there is no such Application.
    sync: Option<String>,
    revision: String,
    title: String,
    width: Option<usize>,
}

/// None where the question makes no sense.
fn badge(server: &ApiServer, query: &str) -> Option<Badge> {
    let mut badge = Badge {
        health: UNKNOWN.into(),
        sync: Some(UNKNOWN.into()),
        revision: String::new(),
        title: String::new(),
        width: None,
    };
    if !server.settings.current().ui.badges_enabled {
        return Some(badge);
    }
    let is_true = |name: &str| field(query, name).is_some_and(|it| it.eq_ignore_ascii_case("true"));
    let own = &server.options.namespace;
    let namespace = field(query, "namespace").unwrap_or_else(|| own.clone());
    let projects: Vec<String> = query
        .split('&')
        .filter_map(|it| it.strip_prefix("project="))
        .map(wire::unescaped_query)
        .collect();
    if !is_name(&namespace) || !projects.iter().all(|it| it.is_empty() || is_name(it)) {
        return None;
    }
    let apps = server.apps.all();
    let mut here = apps.iter().filter(|it| it.metadata.namespace == namespace);
    let not_found = |badge: &mut Badge| {
        badge.health = "Not Found".into();
        badge.sync = None;
    };
    if !server.options.holds(&namespace) {
        not_found(&mut badge);
        return Some(badge);
    }
    if let Some(name) = field(query, "name") {
        if !is_name(&name) {
            return None;
        }
        match here.find(|it| it.metadata.name == name) {
            None => not_found(&mut badge),
            Some(app) => {
                badge.health.clone_from(&app.status.health.status);
                badge.sync = Some(app.status.sync.status.clone());
                if is_true("revision") {
                    badge.revision = revision(app, is_true("keepFullRevision"));
                }
                if is_true("showAppName") {
                    badge.title = name;
                }
            }
        }
    } else if !projects.is_empty() {
        let members = here.filter(|it| projects.iter().any(|name| name == it.spec.project_name()));
        of_project(&mut badge, members.map(|it| &**it));
    }
    badge.width = field(query, "width").and_then(|it| it.parse().ok());
    Some(badge)
}

/// The worst of its Applications.
fn of_project<'a>(badge: &mut Badge, members: impl Iterator<Item = &'a Application>) {
    let members: Vec<&Application> = members.collect();
    if members.is_empty() {
        return;
    }
    let all = |is: &dyn Fn(&Application) -> bool| members.iter().all(|it| is(it));
    let is_healthy = all(&|it| it.status.health.status == HEALTHY);
    let is_synced = all(&|it| it.status.sync.status == SYNCED);
    badge.health = if is_healthy { HEALTHY } else { DEGRADED }.into();
    badge.sync = Some(if is_synced { SYNCED } else { OUT_OF_SYNC }.into());
}

fn revision(app: &Application, whole: bool) -> String {
    let result = app.status.operation_state.as_ref().and_then(|it| it.sync_result.as_ref());
    let Some(result) = result else { return String::new() };
    let revision = result.revisions.first().unwrap_or(&result.revision);
    let shown = if whole { usize::MAX } else { SHORT_REVISION };
    revision.chars().take(shown).collect()
}

fn is_name(text: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-.".contains(&it);
    !text.is_empty() && text.len() <= NAME_LIMIT && text.to_lowercase().bytes().all(is_letter)
}

fn color(word: &str) -> &'static str {
    match word {
        HEALTHY | SYNCED => "#18be94",
        "Progressing" => "#0dadea",
        DEGRADED => "#e96d76",
        OUT_OF_SYNC => "#f4c030",
        "Missing" => "#f4c030",
        "Suspended" => "#766f94",
        _ => "#848484",
    }
}

/// Texts are words of ours or names that hold no markup; they are escaped all the same.
fn drawn(badge: &Badge) -> String {
    let sync = badge.sync.as_deref().unwrap_or_default();
    let revision = match badge.revision.as_str() {
        "" => String::new(),
        revision => format!("({revision})"),
    };
    let natural = BOTH + if revision.is_empty() { 0 } else { revision.len() * PER_LETTER + 10 };
    let title = badge.title.len() * PER_LETTER + 10;
    let title = if badge.title.is_empty() { 0 } else { title };
    let width = badge.width.unwrap_or(natural).clamp(BOTH, WIDTH_LIMIT).max(title);
    let (height, top) = if title > 0 { (2 * ROW, ROW) } else { (ROW, 0) };
    let right = if revision.is_empty() { width - LEFT } else { BOTH - LEFT };
    let text = |x: usize, row: usize, words: &str| {
        let (y, words) = (row + 14, escaped(words));
        format!("<text x=\"{x}\" y=\"{y}\">{words}</text>")
    };
    let rect = |x: usize, y: usize, width: usize, fill: &str| {
        format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{ROW}\" fill=\"{fill}\"/>")
    };
    let mut svg = format!(
        "<svg width=\"{width}\" height=\"{height}\" xmlns=\"http://www.w3.org/2000/svg\"><clipPath id=\"round\"><rect width=\"100%\" height=\"100%\" rx=\"3\"/></clipPath><g clip-path=\"url(#round)\">"
    );
    if title > 0 {
        svg.push_str(&rect(0, 0, width, "#29343d"));
    }
    svg.push_str(&rect(0, top, LEFT, color(&badge.health)));
    svg.push_str(&rect(LEFT, top, right, color(sync)));
    if !revision.is_empty() {
        svg.push_str(&rect(BOTH, top, width - BOTH, color(sync)));
    }
    svg.push_str("</g><g fill=\"#fff\" text-anchor=\"middle\" font-family=\"DejaVu Sans, sans-serif\" font-size=\"10\">");
    if title > 0 {
        svg.push_str(&text(width / 2, 0, &badge.title));
    }
    svg.push_str(&text(LEFT / 2, top, &badge.health));
    svg.push_str(&text(LEFT + right / 2, top, sync));
    if !revision.is_empty() {
        svg.push_str(&text(BOTH + (width - BOTH) / 2, top, &revision));
    }
    svg.push_str("</g></svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(health: &str, sync: &str) -> Application {
        let mut app = Application::named("argocd", "web");
        app.status.health.status = health.into();
        app.status.sync.status = sync.into();
        app
    }

    fn empty() -> Badge {
        Badge {
            health: UNKNOWN.into(),
            sync: Some(UNKNOWN.into()),
            revision: String::new(),
            title: String::new(),
            width: None,
        }
    }

    #[test]
    fn a_project_is_as_good_as_its_worst_application() {
        let judged = |apps: &[Application]| {
            let mut badge = empty();
            of_project(&mut badge, apps.iter());
            (badge.health, badge.sync.unwrap_or_default())
        };
        let is = |health: &str, sync: &str| (health.to_owned(), sync.to_owned());
        assert_eq!(judged(&[]), is(UNKNOWN, UNKNOWN));
        assert_eq!(judged(&[app(HEALTHY, SYNCED)]), is(HEALTHY, SYNCED));
        let mixed = [app(HEALTHY, SYNCED), app("Progressing", SYNCED)];
        assert_eq!(judged(&mixed), is(DEGRADED, SYNCED));
    }

    #[test]
    fn a_picture_holds_its_words_and_nothing_that_acts() {
        let badge = Badge {
            revision: "<script>".into(),
            title: "web".into(),
            width: Some(usize::MAX),
            ..empty()
        };
        let svg = drawn(&badge);
        assert!(svg.contains(">web</text>") && svg.contains("width=\"2000\""), "{svg}");
        assert!(!svg.contains("<script"), "{svg}");
    }

    #[test]
    fn names_hold_no_markup() {
        assert!(is_name("web-1.prod") && is_name("Web"));
        assert!(!is_name("") && !is_name("a b") && !is_name("<a>") && !is_name(&"a".repeat(300)));
    }
}
