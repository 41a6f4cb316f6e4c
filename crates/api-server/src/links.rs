//! Links beside Applications, projects and resources, as argocd-cm defines them.
//!
//! An address is a Go template over the objects that the link is about; a
//! condition (`links/condition.rs`) says whether there is a link at all. A link
//! that cannot be made is left out and told in the log: the others stand.

mod condition;

use std::rc::Rc;

use ::settings::ui::DeepLink;
use api::{AppProject, Application};
use serde_json::{Map, Value, json};
use template::{Engine, Functions, Limits, MissingKey, Still, Templates};
use wire::message::application::{LinkInfo, LinksResponse};
use wire::message::cluster::Cluster;

/// An address takes no more than this to make.
const LIMITS: Limits =
    Limits { depth: 20, steps: 100_000, output: 16 << 10, stack: 1 << 20, made: 1 << 20 };
const MANAGED_BY: &str = "argocd.argoproj.io/managed-by-url";

/// The objects that a link may speak of.
#[derive(Default)]
pub(crate) struct About {
    objects: Map<String, Value>,
}

impl About {
    pub(crate) fn application(mut self, app: &Application, own_url: &str) -> Self {
        let managed_by = app
            .annotation(MANAGED_BY)
            .filter(|it| it.starts_with("https://") || it.starts_with("http://"));
        if let Some(url) = managed_by.or(Some(own_url)).filter(|it| !it.is_empty()) {
            self.objects.insert("managedByURL".into(), url.into());
        }
        self.objects.insert("application".into(), json!(app));
        self.objects.insert("app".into(), json!(app));
        self
    }

    /// Without the tokens of its roles.
    pub(crate) fn project(mut self, project: &AppProject) -> Self {
        let mut project = json!(project);
        if let Some(fields) = project.as_object_mut() {
            fields.remove("status");
        }
        self.objects.insert("project".into(), project);
        self
    }

    /// Without what it takes to enter it.
    pub(crate) fn cluster(mut self, cluster: &Cluster) -> Self {
        let shown = json!({
            "server": cluster.server,
            "name": cluster.name,
            "namespaces": cluster.namespaces,
            "shard": cluster.shard,
            "project": cluster.project,
            "labels": cluster.labels,
            "annotations": cluster.annotations,
        });
        self.objects.insert("cluster".into(), shown);
        self
    }

    pub(crate) fn resource(mut self, resource: Value) -> Self {
        self.objects.insert("resource".into(), resource);
        self
    }

    /// The links that there are.
    pub(crate) fn links(&self, links: &[DeepLink]) -> LinksResponse {
        let made = links.iter().filter_map(|link| match self.link(link) {
            Ok(link) => link,
            Err(why) => {
                tracing::warn!(title = link.title, why, "could not make a link");
                None
            }
        });
        LinksResponse { items: made.collect() }
    }

    fn link(&self, link: &DeepLink) -> Result<Option<LinkInfo>, String> {
        if let Some(condition) = &link.condition
            && !condition::holds(condition, &self.objects)?
        {
            return Ok(None);
        }
        Ok(Some(LinkInfo {
            title: link.title.clone(),
            url: self.filled(&link.url)?,
            description: link.description.clone(),
            icon_class: link.icon_class.clone(),
        }))
    }

    fn filled(&self, text: &str) -> Result<String, String> {
        let functions = Functions::sprig();
        let mut templates = Templates::new();
        let parsed = templates.parse("deep-link", text.as_bytes(), &functions);
        parsed.map_err(|error| error.to_string())?;
        let engine = Engine {
            functions: &functions,
            missing_key: MissingKey::default(),
            limits: LIMITS,
            facts: &Still,
        };
        let data = template::Value::from_json(&Value::Object(self.objects.clone()));
        let made = engine.execute(&Rc::new(templates), "deep-link", &data);
        let made = made.map_err(|error| error.to_string())?;
        String::from_utf8(made).map_err(|_| "the address is not text".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(url: &str, condition: Option<&str>) -> DeepLink {
        DeepLink {
            url: url.into(),
            title: "logs".into(),
            condition: condition.map(str::to_owned),
            ..DeepLink::default()
        }
    }

    #[track_caller]
    fn check(url: &str, condition: Option<&str>, expect: Option<&str>) {
        let mut app = Application::named("argocd", "web");
        app.spec.project = "shop".into();
        let about = About::default().application(&app, "https://argo.example.org");
        let made = about.links(&[link(url, condition)]).items;
        assert_eq!(made.first().map(|it| it.url.as_str()), expect);
    }

    #[test]
    fn an_address_is_filled_in() {
        check("https://x/{{.app.metadata.name}}", None, Some("https://x/web"));
        check(
            "{{.managedByURL}}/{{ .application.spec.project | upper }}",
            Some(r#"app.spec.project == "shop""#),
            Some("https://argo.example.org/SHOP"),
        );
    }

    #[test]
    fn what_does_not_hold_or_cannot_be_made_is_left_out() {
        check("https://x", Some(r#"app.spec.project == "other""#), None);
        check("https://x", Some("any(app, true)"), None);
        check("{{ .app", None, None);
        check(r#"{{ env "HOME" }}"#, None, None);
    }

    #[test]
    fn tokens_of_a_project_are_not_told() {
        let project = AppProject::named("argocd", "shop");
        let about = About::default().project(&project);
        assert!(about.objects["project"].get("status").is_none());
    }
}
