//! `helm template` as a function.

use template::{Facts, Functions, Limits, Map, MissingKey, Templates, Value};

use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::coalesce::{self, Nulls};
use crate::dependencies;
use crate::engine;
use crate::error::Error;
use crate::manifests::{self, Rendered};
use crate::schema;
use crate::values::ValueOptions;

/// What is asked of a render.
#[derive(Clone, Debug)]
pub struct Options {
    /// `.Release.Name`.
    pub release_name: String,
    /// `.Release.Namespace`.
    pub namespace: String,
    /// Values over the chart's own.
    pub values: ValueOptions,
    /// Kubernetes' version and API versions.
    pub capabilities: Capabilities,
    /// `.Release.IsUpgrade` instead of `.Release.IsInstall`.
    pub is_upgrade: bool,
    /// Print the files below crds/ too.
    pub include_crds: bool,
    /// Leave hooks out.
    pub no_hooks: bool,
    /// Leave hooks out that are tests.
    pub skip_tests: bool,
    /// Do not check values against values.schema.json.
    pub skip_schema_validation: bool,
    /// How far the templates may go.
    pub limits: Limits,
}

impl Options {
    /// Everything as `helm template NAME --namespace NAMESPACE` has it.
    pub fn new(release_name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            release_name: release_name.into(),
            namespace: namespace.into(),
            values: ValueOptions::default(),
            capabilities: Capabilities::default(),
            is_upgrade: false,
            include_crds: false,
            no_hooks: false,
            skip_tests: false,
            skip_schema_validation: false,
            limits: Limits::default(),
        }
    }
}

/// Renders a chart.
pub fn template(chart: &Chart, options: &Options, facts: &dyn Facts) -> Result<Rendered, Error> {
    let given = options.values.merged()?;
    if !matches!(chart.metadata.chart_type.as_str(), "" | "application") {
        return Err(Error::NotInstallable(chart.metadata.chart_type.clone()));
    }
    let missing = chart.missing_dependencies();
    if !missing.is_empty() {
        let names = missing.iter().map(|dependency| dependency.name.clone()).collect();
        return Err(Error::MissingDependencies(names));
    }
    if chart.metadata.api_version == "v3" {
        return Err(Error::FutureApiVersion);
    }
    check_release_name(&options.release_name)?;
    let root = dependencies::resolve(chart, &given).map_err(|error| match error {
        Error::Coalesce(reason) => {
            Error::Coalesce(format!("chart dependencies processing failed: {reason}"))
        }
        other => other,
    })?;
    let values = coalesce::coalesce_values(&root, &given, Nulls::Delete)?;
    if !options.skip_schema_validation {
        schema::check(&root, &values).map_err(Error::Schema)?;
    }
    check_kube_version(chart, &options.capabilities)?;
    let outputs = engine::render(
        &root,
        &values,
        &release(options),
        &options.capabilities.to_value(),
        options.limits,
        facts,
    )?;
    let mut rendered = manifests::sort(&outputs)?;
    if options.include_crds {
        manifests::crds(&root, None, &mut rendered.crds);
    }
    if options.no_hooks {
        rendered.hooks.clear();
    }
    if options.skip_tests {
        rendered.hooks.retain(|hook| !hook.events.iter().any(|event| event == "test"));
    }
    Ok(rendered)
}

fn release(options: &Options) -> Value {
    Value::Map(Map::new([
        ("Name", Value::string(options.release_name.as_str())),
        ("Namespace", Value::string(options.namespace.as_str())),
        ("IsUpgrade", Value::Bool(options.is_upgrade)),
        ("IsInstall", Value::Bool(!options.is_upgrade)),
        ("Revision", Value::int(1)),
        ("Service", Value::from("Helm")),
    ]))
}

fn check_kube_version(chart: &Chart, capabilities: &Capabilities) -> Result<(), Error> {
    let required = &chart.metadata.kube_version;
    let actual = &capabilities.kube_version;
    if required.is_empty() || dependencies::is_compatible(required, actual.normalized()) {
        return Ok(());
    }
    Err(Error::IncompatibleKubeVersion {
        required: required.clone(),
        actual: actual.version.clone(),
    })
}

fn check_release_name(name: &str) -> Result<(), Error> {
    const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
    let refuse = |reason: String| Err(Error::ReleaseName { name: name.to_owned(), reason });
    if name.is_empty() {
        return refuse("no name provided".into());
    }
    let is_label = |label: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        label.starts_with(fits)
            && label.ends_with(fits)
            && label.chars().all(|c| fits(c) || c == '-')
    };
    if name.len() > 53 || !name.split('.').all(is_label) {
        return refuse(format!(
            r"invalid release name, must match regex ^{LABEL}(\.{LABEL})*$ and the length must not be longer than 53"
        ));
    }
    Ok(())
}

/// `--name-template`: a release name out of a template.
pub fn template_name(text: &str, facts: &dyn Facts) -> Result<String, Error> {
    let failed = |error: template::Error| Error::NameTemplate(error.to_string());
    let functions = Functions::sprig();
    let mut templates = Templates::new();
    templates.parse("name-template", text.as_bytes(), &functions).map_err(failed)?;
    let engine = template::Engine {
        functions: &functions,
        missing_key: MissingKey::Nothing,
        limits: Limits::default(),
        facts,
    };
    let name = engine
        .execute(&std::rc::Rc::new(templates), "name-template", &Value::Nothing)
        .map_err(failed)?;
    Ok(String::from_utf8_lossy(&name).into_owned())
}
