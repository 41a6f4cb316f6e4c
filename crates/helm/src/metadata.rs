//! Chart.yaml.

use std::collections::BTreeMap;

use gocompat::semver::Version;
use serde_json::{Map, Value as Json};

use crate::error::Error;
use crate::yaml;

/// What Chart.yaml says.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "each is the field of Chart.yaml of that name")]
pub struct Metadata {
    pub name: String,
    pub home: String,
    pub sources: Vec<String>,
    pub version: String,
    pub description: String,
    pub keywords: Vec<String>,
    pub maintainers: Vec<Maintainer>,
    pub icon: String,
    pub api_version: String,
    pub condition: String,
    pub tags: String,
    pub app_version: String,
    pub deprecated: bool,
    pub annotations: Option<BTreeMap<String, String>>,
    pub kube_version: String,
    pub dependencies: Vec<Dependency>,
    pub chart_type: String,
}

/// Who looks after a chart.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "each is the field of Chart.yaml of that name")]
pub struct Maintainer {
    pub name: String,
    pub email: String,
    pub url: String,
}

/// A chart that another one needs.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "each is the field of Chart.yaml of that name")]
pub struct Dependency {
    pub name: String,
    pub version: String,
    pub repository: String,
    pub condition: String,
    pub tags: Vec<String>,
    pub enabled: bool,
    pub import_values: Vec<Json>,
    pub alias: String,
}

/// Reads the fields of one mapping, and remembers the first that has the wrong type.
struct Reader<'a> {
    map: &'a Map<String, Json>,
    type_name: &'static str,
    problem: Option<String>,
}

impl Reader<'_> {
    fn complain(&mut self, found: &Json, field: &str, type_name: &str) {
        let place = format!("struct field {}.{field}", self.type_name);
        self.problem.get_or_insert_with(|| yaml::mismatch(found, &place, type_name));
    }

    fn text(&mut self, field: &str) -> String {
        match self.map.get(field) {
            None | Some(Json::Null) => String::new(),
            Some(value) => yaml::string_of(value).unwrap_or_else(|| {
                self.complain(value, field, "string");
                String::new()
            }),
        }
    }

    fn texts(&mut self, field: &str) -> Vec<String> {
        match self.map.get(field) {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(items)) => items.iter().filter_map(yaml::string_of).collect(),
            Some(value) => {
                self.complain(value, field, "[]string");
                Vec::new()
            }
        }
    }

    fn truth(&mut self, field: &str) -> bool {
        match self.map.get(field) {
            None | Some(Json::Null) => false,
            Some(Json::Bool(truth)) => *truth,
            Some(value) => {
                self.complain(value, field, "bool");
                false
            }
        }
    }

    fn items(&mut self, field: &str, type_name: &str) -> Vec<Json> {
        match self.map.get(field) {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(items)) => items.clone(),
            Some(value) => {
                self.complain(value, field, type_name);
                Vec::new()
            }
        }
    }

    fn text_map(&mut self, field: &str) -> Option<BTreeMap<String, String>> {
        match self.map.get(field)? {
            Json::Null => None,
            Json::Object(entries) => {
                let texts = entries
                    .iter()
                    .filter_map(|(key, value)| Some((key.clone(), yaml::string_of(value)?)));
                Some(texts.collect())
            }
            value => {
                self.complain(value, field, "map[string]string");
                None
            }
        }
    }
}

impl Metadata {
    /// Reads Chart.yaml.
    ///
    /// # Errors
    /// When it is no mapping, or a field has the wrong type, in Helm's words.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let map = yaml::parse_mapping(text, "v2.Metadata")?;
        let mut reader = Reader { map: &map, type_name: "Metadata", problem: None };
        let mut metadata = Self {
            name: reader.text("name"),
            home: reader.text("home"),
            sources: reader.texts("sources"),
            version: reader.text("version"),
            description: reader.text("description"),
            keywords: reader.texts("keywords"),
            maintainers: Vec::new(),
            icon: reader.text("icon"),
            api_version: reader.text("apiVersion"),
            condition: reader.text("condition"),
            tags: reader.text("tags"),
            app_version: reader.text("appVersion"),
            deprecated: reader.truth("deprecated"),
            annotations: reader.text_map("annotations"),
            kube_version: reader.text("kubeVersion"),
            dependencies: Vec::new(),
            chart_type: reader.text("type"),
        };
        let maintainers = reader.items("maintainers", "[]*v2.Maintainer");
        let dependencies = reader.items("dependencies", "[]*v2.Dependency");
        if let Some(problem) = reader.problem {
            return Err(problem);
        }
        metadata.maintainers =
            maintainers.iter().map(Maintainer::from_json).collect::<Result<_, _>>()?;
        metadata.dependencies =
            dependencies.iter().map(Dependency::from_json).collect::<Result<_, _>>()?;
        if metadata.api_version.is_empty() {
            metadata.api_version = "v1".into();
        }
        Ok(metadata)
    }

    /// Takes the dependencies of a requirements.yaml.
    pub(crate) fn add_requirements(&mut self, text: &[u8]) -> Result<(), String> {
        let map = yaml::parse_mapping(text, "v2.Metadata")?;
        let mut reader = Reader { map: &map, type_name: "Metadata", problem: None };
        let dependencies = reader.items("dependencies", "[]*v2.Dependency");
        if let Some(problem) = reader.problem {
            return Err(problem);
        }
        if map.contains_key("dependencies") {
            self.dependencies =
                dependencies.iter().map(Dependency::from_json).collect::<Result<_, _>>()?;
        }
        Ok(())
    }

    /// Whether the chart only lends its definitions to others.
    pub fn is_library(&self) -> bool {
        self.chart_type.eq_ignore_ascii_case("library")
    }

    /// Cleans the texts and checks what must hold.
    pub(crate) fn validate(&mut self) -> Result<(), Error> {
        let invalid = |message: String| Err(Error::Validation(message));
        for text in [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ] {
            *text = sanitized(text);
        }
        for text in self.sources.iter_mut().chain(&mut self.keywords) {
            *text = sanitized(text);
        }
        for maintainer in &mut self.maintainers {
            for text in [&mut maintainer.name, &mut maintainer.email, &mut maintainer.url] {
                *text = sanitized(text);
            }
        }
        let name = &self.name;
        if name.is_empty() {
            return invalid("chart.metadata.name is required".into());
        }
        if name == "." || name == ".." {
            return invalid(format!("chart.metadata.name {name:?} is not allowed"));
        }
        if name.contains('/') {
            return invalid(format!("chart.metadata.name {name:?} is invalid"));
        }
        if self.version.is_empty() {
            return invalid("chart.metadata.version is required".into());
        }
        if Version::parse(&self.version).is_err() {
            return invalid(format!("chart.metadata.version {:?} is invalid", self.version));
        }
        if !matches!(self.chart_type.as_str(), "" | "application" | "library") {
            return invalid("chart.metadata.type must be application or library".into());
        }
        self.validate_dependencies()
    }

    fn validate_dependencies(&mut self) -> Result<(), Error> {
        let mut seen: Vec<String> = Vec::new();
        for dependency in &mut self.dependencies {
            for text in [
                &mut dependency.name,
                &mut dependency.version,
                &mut dependency.repository,
                &mut dependency.condition,
            ] {
                *text = sanitized(text);
            }
            let alias = &dependency.alias;
            if !alias.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
                return Err(Error::Validation(format!(
                    "dependency {:?} has disallowed characters in the alias",
                    dependency.name
                )));
            }
            let key = if alias.is_empty() { &dependency.name } else { alias };
            if seen.contains(key) {
                return Err(Error::Validation(format!(
                    "more than one dependency with name or alias {key:?}"
                )));
            }
            seen.push(key.clone());
        }
        Ok(())
    }
}

impl Maintainer {
    fn from_json(value: &Json) -> Result<Self, String> {
        let Json::Object(map) = value else {
            return Err("maintainers must not contain empty or null nodes".into());
        };
        let mut reader = Reader { map, type_name: "Metadata.maintainers", problem: None };
        let maintainer = Self {
            name: reader.text("name"),
            email: reader.text("email"),
            url: reader.text("url"),
        };
        reader.problem.map_or(Ok(maintainer), Err)
    }
}

impl Dependency {
    fn from_json(value: &Json) -> Result<Self, String> {
        let Json::Object(map) = value else {
            return Err("dependencies must not contain empty or null nodes".into());
        };
        let mut reader = Reader { map, type_name: "Metadata.dependencies", problem: None };
        let dependency = Self {
            name: reader.text("name"),
            version: reader.text("version"),
            repository: reader.text("repository"),
            condition: reader.text("condition"),
            tags: reader.texts("tags"),
            enabled: reader.truth("enabled"),
            import_values: reader.items("import-values", "[]interface {}"),
            alias: reader.text("alias"),
        };
        reader.problem.map_or(Ok(dependency), Err)
    }
}

/// Space of any kind is a blank, and what cannot be printed goes.
fn sanitized(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control())
        .collect()
}
