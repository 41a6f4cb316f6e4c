//! The build as a whole: accumulate, finish names and references, sort, print.

use serde_json::Value;

use crate::config::Config;
use crate::error::{BuildError, Context as _, Result};
use crate::files::{Files, Limit, Limits};
use crate::hash;
use crate::helm::HelmOptions;
use crate::loader::{LoadRestrictions, Loader, World};
use crate::origin::{ORIGIN, Origin, TRANSFORMATIONS};
use crate::overrides::Overrides;
use crate::references;
use crate::remote::Remote;
use crate::resource::parse::validate;
use crate::resources::Resources;
use crate::schema::{Schemas, Scopes};
use crate::sort;
use crate::target::{Accumulated, Shared, Target};
use crate::transform::labels::MapTransformer;
use crate::transform::metadata_labels;
use crate::transform::replacements::Copies;
use crate::yaml::json::into_value;

const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The release whose behavior and name this crate has.
const VERSION: &str = "kustomize-v5.8.1";

/// How to build: the flags of `kustomize build`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'h> {
    /// `--load-restrictor`.
    pub load_restrictions: LoadRestrictions,
    /// `--reorder`.
    pub reorder: Reorder,
    /// `--enable-managedby-label`.
    pub managed_by_label: bool,
    /// `--enable-helm`: who inflates charts; without it they are refused.
    pub helm: Option<HelmOptions<'h>>,
    /// How much may be read and made.
    pub limits: Limits,
}

/// The order of the result, if the kustomization says nothing about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reorder {
    /// By kind, so that what others need comes first.
    #[default]
    Legacy,
    /// As accumulated.
    None,
}

/// The result of a build.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// The manifests, byte for byte as `kustomize build` prints them.
    pub text: String,
    /// The same manifests as values.
    pub objects: Vec<Value>,
    /// Deprecated fields and the like, in Kustomize's words.
    pub warnings: Vec<String>,
}

/// Builds the kustomization in the directory `root` of the tree.
///
/// Nothing but the tree, the overrides and the answers of `remote` decides
/// about the result; no file is changed.
///
/// # Errors
/// What Kustomize would refuse, and what goes over the limits.
pub fn build(
    tree: &dyn Files,
    root: &str,
    overrides: &Overrides,
    options: &Options<'_>,
    remote: &dyn Remote,
) -> Result<Output, BuildError> {
    let world = World::new(remote, options.helm, options.limits);
    let loader = Loader::at(&world, tree, root, options.load_restrictions)?;
    let mut target = Target::load(loader)?;
    let loader = std::rc::Rc::clone(&target.loader);
    overrides.apply(&mut target.kustomization, &loader)?;
    let mut shared = Shared {
        schemas: Schemas::default(),
        warnings: Vec::new(),
        resource_limit: options.limits.resources,
        copies: Copies::new(options.limits.output),
    };
    target.set_schema(&mut shared.schemas)?;
    let metadata = BuildMetadata::of(&target, options);
    if metadata.is_tracked {
        target.origin = Some(Origin::default());
    }
    let sort_options = target.kustomization.sort_options.clone();
    let accumulated = target.accumulate(Accumulated::default(), &mut shared)?;
    let mut resources = finish_names(accumulated, &shared.schemas)?;
    drop_local(&mut resources, &shared.schemas)?;
    match (sort_options, options.reorder) {
        (Some(sort_options), _) => {
            sort::sort(resources.as_mut(), &sort_options)?;
        }
        (None, Reorder::Legacy) => {
            sort::sort_by_default(resources.as_mut());
        }
        (None, Reorder::None) => {}
    }
    metadata.finish(&mut resources)?;
    let mut output = print_all(resources, options.limits.output)?;
    output.warnings = shared.warnings;
    Ok(output)
}

/// What `buildMetadata` asks for.
struct BuildMetadata {
    is_tracked: bool,
    origin: bool,
    transformations: bool,
    managed_by: bool,
}

impl BuildMetadata {
    fn of(target: &Target<'_>, options: &Options<'_>) -> Self {
        let list = &target.kustomization.build_metadata;
        let has = |name: &str| list.iter().any(|it| it == name);
        Self {
            is_tracked: !list.is_empty(),
            origin: has("originAnnotations"),
            transformations: has("transformerAnnotations"),
            managed_by: options.managed_by_label || has("managedByLabel"),
        }
    }

    fn finish(&self, resources: &mut Resources) -> Result<()> {
        if self.managed_by {
            let labels = MapTransformer {
                entries: [(MANAGED_BY.to_owned(), VERSION.to_owned())].into(),
                fields: vec![metadata_labels()],
            };
            labels.run(resources)?;
        }
        let mut unwanted = Vec::new();
        if !self.origin {
            unwanted.push(ORIGIN);
        }
        if !self.transformations {
            unwanted.push(TRANSFORMATIONS);
        }
        for resource in resources.as_mut() {
            resource.finish_annotations(&unwanted)?;
        }
        Ok(())
    }
}

/// Hashes, then the references to renamed resources, then variables.
fn finish_names(accumulated: Accumulated, schemas: &Schemas) -> Result<Resources> {
    let Accumulated { mut resources, config, vars } = accumulated;
    let config = config.unwrap_or_else(Config::defaults);
    hash::add_to_names(&mut resources, &schemas.scopes)?;
    references::fix(&mut resources, &config, &schemas.scopes)?;
    vars.resolve(&mut resources, &config.var_references)?;
    Ok(resources)
}

/// Resources for local use are not printed. What is left must still be
/// resources, no two of them the same.
fn drop_local(resources: &mut Resources, schemas: &Schemas) -> Result<()> {
    resources.drop_empty();
    for resource in resources.iter() {
        validate(&resource.node)?;
    }
    resources
        .as_mut()
        .retain(|resource| resource.annotation(LOCAL_CONFIG).is_none_or(|value| value == "false"));
    resources.check_ids(&schemas.scopes)
}

fn print_all(resources: Resources, limit: usize) -> Result<Output> {
    let mut output = Output::default();
    for resource in resources.into_list() {
        if !output.text.is_empty() {
            output.text.push_str("---\n");
        }
        let id = resource.id(&Scopes::default());
        let value = into_value(resource.node).context(|| format!("printing {id}"))?;
        output.text.push_str(&gocompat::yaml::from_value(&value));
        if output.text.len() > limit {
            return Err(BuildError::TooLarge(Limit::Output(limit)));
        }
        output.objects.push(value);
    }
    Ok(output)
}
