//! Building one kustomization: its resources, bases, components, generators
//! and transformers, in Kustomize's order.

use std::rc::Rc;
use std::sync::Arc;

use crate::config::{Config, crds};
use crate::error::{BuildError, Context as _, Result, invalid};
use crate::files::Limit;
use crate::generate;
use crate::helm::Inflation;
use crate::kustomization::parts::GeneratorOptions;
use crate::kustomization::{FILE_NAMES, Kustomization, config_value};
use crate::loader::Loader;
use crate::origin::Origin;
use crate::resource::Resource;
use crate::resource::parse::{resources, resources_from_bytes};
use crate::resources::Resources;
use crate::schema::Schemas;
use crate::transform::replacements::Copies;
use crate::transform::{self, Context, Transformer};
use crate::vars::Vars;

/// What a kustomization adds up to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accumulated {
    pub(crate) resources: Resources,
    pub(crate) config: Option<Arc<Config>>,
    pub(crate) vars: Vars,
}

impl Accumulated {
    fn merge_config(&mut self, config: &Arc<Config>) -> Result<()> {
        self.config = Some(match &self.config {
            None => Arc::clone(config),
            Some(mine) => Config::merged(mine, config)?,
        });
        Ok(())
    }

    /// Takes in what a base added up to.
    fn absorb(&mut self, other: Self, schemas: &Schemas) -> Result<()> {
        self.resources.append_all(other.resources.into_list(), &schemas.scopes)?;
        if let Some(config) = &other.config {
            self.merge_config(config)?;
        }
        self.vars.absorb(other.vars)
    }
}

/// What the targets of one build share and collect.
pub(crate) struct Shared {
    pub(crate) schemas: Schemas,
    pub(crate) warnings: Vec<String>,
    pub(crate) resource_limit: usize,
    pub(crate) copies: Copies,
}

/// A kustomization about to be built.
pub(crate) struct Target<'w> {
    pub(crate) kustomization: Kustomization,
    pub(crate) file_name: &'static str,
    pub(crate) loader: Rc<Loader<'w>>,
    pub(crate) origin: Option<Origin>,
    /// The namespace of the kustomization that this one is a base of, for charts.
    helm_namespace: String,
}

impl<'w> Target<'w> {
    /// Reads the kustomization file of the loader's directory.
    pub(crate) fn load(loader: Rc<Loader<'w>>) -> Result<Self> {
        let mut found = Vec::new();
        for name in FILE_NAMES {
            match loader.load(name) {
                Ok(bytes) => found.push((name, bytes)),
                Err(error) if error.is_final() => return Err(error),
                Err(_) => {}
            }
        }
        let (file_name, bytes) = match found.as_slice() {
            [(name, bytes)] => (*name, bytes.clone()),
            [] => {
                return Err(invalid(format!(
                    "unable to find one of 'kustomization.yaml', 'kustomization.yml' or \
                     'Kustomization' in directory '{}'",
                    loader.root()
                )));
            }
            _ => {
                return Err(invalid(format!(
                    "Found multiple kustomization files under: {}\n",
                    loader.root()
                )));
            }
        };
        let kustomization = Kustomization::read(&bytes, &loader.root())?;
        Ok(Self { kustomization, file_name, loader, origin: None, helm_namespace: String::new() })
    }

    /// Puts the schema that the kustomization names in force.
    pub(crate) fn set_schema(&self, schemas: &mut Schemas) -> Result<()> {
        let openapi = &self.kustomization.openapi;
        let document = match openapi.get("path") {
            Some(path) => Some(config_value(&self.loader.load(path)?)?),
            None => None,
        };
        schemas.set(openapi.get("version").map(String::as_str), document)
    }

    /// Builds on what is accumulated already: nothing for a kustomization, all
    /// of the parent's resources for a component.
    pub(crate) fn accumulate(
        &mut self,
        accumulated: Accumulated,
        shared: &mut Shared,
    ) -> Result<Accumulated> {
        shared.warnings.append(&mut self.kustomization.warnings);
        let mut it = accumulated;
        let paths = std::mem::take(&mut self.kustomization.resources);
        self.add_resources(&mut it, &paths, shared)
            .context(|| "accumulating resources".to_owned())?;
        self.add_config(&mut it)?;
        self.generate(&mut it, shared)?;
        let components = std::mem::take(&mut self.kustomization.components);
        for path in &components {
            it = self.add_component(it, path, shared)?;
        }
        if it.resources.len() > shared.resource_limit {
            return Err(BuildError::TooLarge(Limit::Resources(shared.resource_limit)));
        }
        self.transform(&mut it, shared)?;
        self.validate(&it, shared)?;
        let vars = &self.kustomization.vars;
        it.vars.define(vars, &mut it.resources, &shared.schemas.scopes).context(|| {
            let vars: Vec<String> =
                vars.iter().map(|it| it.shown(&it.written_gvk, &it.written_path)).collect();
            format!("merging vars [{}]", vars.join(" "))
        })?;
        Ok(it)
    }

    /// Adds what each path names: a file of resources, or a base.
    fn add_resources(
        &mut self,
        it: &mut Accumulated,
        paths: &[String],
        shared: &mut Shared,
    ) -> Result<()> {
        for path in paths {
            let Err(file_error) = self.add_file(it, path, shared) else { continue };
            if file_error.is_final() || is_http_error(&file_error) {
                return Err(file_error);
            }
            let loader = match self.loader.descend(path) {
                Ok(loader) => loader,
                Err(error) if error.is_final() => return Err(error),
                Err(_) if file_error.is_malformed_yaml() => return Err(file_error),
                Err(error) => {
                    return Err(error).context(|| accumulation(&file_error));
                }
            };
            self.add_base(it, loader, path, shared).context(|| accumulation(&file_error))?;
        }
        Ok(())
    }

    fn add_file(&self, it: &mut Accumulated, path: &str, shared: &Shared) -> Result<()> {
        let scopes = &shared.schemas.scopes;
        let loaded = self.loader.load(path).and_then(|bytes| {
            let list = resources_from_bytes(&bytes).map_err(|error| in_file(error, path))?;
            Resources::from_list(list, scopes)
        });
        let mut loaded =
            loaded.context(|| format!("accumulating resources from '{path}'"))?.into_list();
        if let Some(origin) = &self.origin {
            let origin = origin.append(path);
            for resource in &mut loaded {
                origin.annotate_read(resource)?;
            }
        }
        if it.resources.len() + loaded.len() > shared.resource_limit {
            return Err(BuildError::TooLarge(Limit::Resources(shared.resource_limit)));
        }
        it.resources
            .append_all(loaded, scopes)
            .context(|| format!("merging resources from '{path}'"))
    }

    fn add_base(
        &self,
        it: &mut Accumulated,
        loader: Rc<Loader<'w>>,
        path: &str,
        shared: &mut Shared,
    ) -> Result<()> {
        let root = loader.root();
        let mut target = self.child(loader, path, shared)?;
        if target.kustomization.is_component() {
            return Err(invalid(format!("expected kind != 'Component' for path '{root}'")));
        }
        let base = target
            .accumulate(Accumulated::default(), shared)
            .context(|| format!("recursed accumulation of path '{root}'"))?;
        it.absorb(base, &shared.schemas).context(|| format!("recursed merging from path '{root}'"))
    }

    fn add_component(
        &self,
        it: Accumulated,
        path: &str,
        shared: &mut Shared,
    ) -> Result<Accumulated> {
        let outer = |text: String| BuildError::Step {
            step: "accumulating components".to_owned(),
            source: Box::new(invalid(text)),
        };
        let loader = self.loader.descend(path).map_err(|error| {
            if error.is_final() { error } else { outer(format!("loader.New {:?}", error.chain())) }
        })?;
        let root = loader.root();
        let added = self.child(loader, path, shared).and_then(|mut target| {
            if !target.kustomization.is_component() {
                return Err(invalid(format!(
                    "expected kind 'Component' for path '{root}' but got '{}'",
                    target.kustomization.kind
                )));
            }
            target
                .accumulate(it, shared)
                .context(|| format!("recursed accumulation of path '{root}'"))
        });
        added.map_err(|error| {
            if error.is_final() {
                error
            } else {
                outer(format!("accumulateDirectory: {:?}", error.chain()))
            }
        })
    }

    fn child(&self, loader: Rc<Loader<'w>>, path: &str, shared: &mut Shared) -> Result<Self> {
        let root = loader.root();
        let mut target =
            Self::load(loader).context(|| format!("couldn't make target for path '{root}'"))?;
        target.kustomization.build_metadata.clone_from(&self.kustomization.build_metadata);
        target.origin = self.origin.as_ref().map(|origin| origin.append(path));
        self.namespace_for_helm().clone_into(&mut target.helm_namespace);
        target.set_schema(&mut shared.schemas)?;
        Ok(target)
    }

    fn add_config(&self, it: &mut Accumulated) -> Result<()> {
        let mut config = Config::defaults();
        for path in &self.kustomization.configurations {
            let read = Arc::new(Config::read(&self.loader.load(path)?)?);
            config = Config::merged(&config, &read)?;
        }
        it.merge_config(&config)?;
        for path in &self.kustomization.crds {
            let read = crds::read(&self.loader.load(path)?, path)
                .context(|| format!("loading CRDs [{}]", self.kustomization.crds.join(" ")))?;
            it.merge_config(&Arc::new(read))?;
        }
        Ok(())
    }

    /// The namespace that charts are released into if they name none.
    fn namespace_for_helm(&self) -> &str {
        let own = &self.kustomization.namespace;
        if own.is_empty() { &self.helm_namespace } else { own }
    }

    fn configure_charts(&mut self) -> Result<Vec<Inflation<'w>>> {
        let globals = self.kustomization.helm_globals.clone().unwrap_or_default();
        let mut inflations = Vec::new();
        for mut chart in std::mem::take(&mut self.kustomization.helm_charts) {
            if chart.namespace.is_empty() {
                self.namespace_for_helm().clone_into(&mut chart.namespace);
            }
            let config = chart.to_config(&globals);
            let inflation = Inflation::configure(chart, &globals, &self.loader);
            inflations.push(inflation.context(|| {
                format!(
                    "trouble configuring builtin HelmChartInflationGenerator with config: `\n{}`",
                    gocompat::yaml::from_value(&config)
                )
            })?);
        }
        Ok(inflations)
    }

    fn generate(&mut self, it: &mut Accumulated, shared: &mut Shared) -> Result<()> {
        let charts = self.configure_charts()?;
        let all = self.kustomization.generator_options.clone();
        for (plugin, list) in [
            ("ConfigMapGenerator", std::mem::take(&mut self.kustomization.config_map_generator)),
            ("SecretGenerator", std::mem::take(&mut self.kustomization.secret_generator)),
        ] {
            for mut generator in list {
                generator.options =
                    GeneratorOptions::completed(generator.options.as_ref(), all.as_ref());
                let made = match plugin {
                    "ConfigMapGenerator" => generate::config_map(&generator, &self.loader)?,
                    _ => generate::secret(&generator, &self.loader)?,
                };
                let origin = self.origin_of(plugin);
                absorb(it, vec![made], origin.as_ref(), shared)?;
            }
        }
        for chart in charts {
            let made = chart.run(&self.loader, &shared.schemas)?;
            absorb(it, made, self.origin_of("HelmChartInflationGenerator").as_ref(), shared)?;
        }
        let entries = std::mem::take(&mut self.kustomization.generators);
        let configs = self
            .plugin_configs(&entries, shared)
            .context(|| "loading generator plugins".to_owned())?;
        let mut made = Vec::new();
        for config in &configs {
            let list = generate::from_resource(config, &shared.schemas, &self.loader)
                .context(|| "loading generator plugins".to_owned())?;
            made.push((list, Origin::of_plugin(config)));
        }
        for (list, origin) in made {
            absorb(it, list, origin.as_ref(), shared)?;
        }
        Ok(())
    }

    fn origin_of(&self, plugin: &str) -> Option<Origin> {
        self.origin.as_ref().map(|origin| origin.of_builtin(self.file_name, plugin))
    }

    /// The resources that configure plugins: inline, or in files and bases.
    fn plugin_configs(&mut self, entries: &[String], shared: &mut Shared) -> Result<Vec<Resource>> {
        let mut it = Accumulated::default();
        let mut paths = Vec::new();
        for entry in entries {
            let inline = resources(entry)
                .and_then(|list| Resources::from_list(list, &shared.schemas.scopes));
            let Ok(inline) = inline else {
                paths.push(entry.clone());
                continue;
            };
            let mut inline = inline.into_list();
            if let Some(origin) = &self.origin {
                let origin = origin.append(self.file_name);
                for resource in &mut inline {
                    origin.annotate(resource)?;
                }
            }
            it.resources.append_all(inline, &shared.schemas.scopes)?;
        }
        self.add_resources(&mut it, &paths, shared)?;
        Ok(it.resources.into_list())
    }

    fn transform(&mut self, it: &mut Accumulated, shared: &mut Shared) -> Result<()> {
        let config = it.config.clone().unwrap_or_else(Config::defaults);
        let builtin = transform::from_kustomization(&self.kustomization, &config, &self.loader)?;
        let mut list: Vec<(Transformer, Option<Origin>)> = builtin
            .into_iter()
            .map(|transformer| {
                let origin = self.origin_of(transformer.plugin());
                (transformer, origin)
            })
            .collect();
        let entries = std::mem::take(&mut self.kustomization.transformers);
        list.extend(self.plugin_transformers(&entries, shared)?);
        let schemas = &shared.schemas;
        let context = Context { schemas, scopes: &schemas.scopes, copies: &shared.copies };
        for (transformer, origin) in list {
            transformer.run(&mut it.resources, &context)?;
            if let Some(origin) = origin {
                origin.annotate_transformed(&mut it.resources)?;
            }
            it.resources.drop_empty();
        }
        Ok(())
    }

    fn plugin_transformers(
        &mut self,
        entries: &[String],
        shared: &mut Shared,
    ) -> Result<Vec<(Transformer, Option<Origin>)>> {
        let configs = self.plugin_configs(entries, shared)?;
        let scopes = &shared.schemas.scopes;
        configs
            .iter()
            .map(|config| {
                let transformer = transform::from_resource(config, scopes, &self.loader)?;
                Ok((transformer, Origin::of_plugin(config)))
            })
            .collect()
    }

    /// Validators are transformers that must not change anything.
    fn validate(&mut self, it: &Accumulated, shared: &mut Shared) -> Result<()> {
        let entries = std::mem::take(&mut self.kustomization.validators);
        for (validator, _) in self.plugin_transformers(&entries, shared)? {
            let schemas = &shared.schemas;
            let context = Context { schemas, scopes: &schemas.scopes, copies: &shared.copies };
            let mut copy = it.resources.clone();
            validator.run(&mut copy, &context)?;
            let unchanged = copy.len() == it.resources.len()
                && copy.iter().zip(it.resources.iter()).all(|(a, b)| a.node == b.node);
            if !unchanged {
                return Err(invalid("validator shouldn't modify the resource map"));
            }
        }
        Ok(())
    }
}

fn absorb(
    it: &mut Accumulated,
    list: Vec<Resource>,
    origin: Option<&Origin>,
    shared: &Shared,
) -> Result<()> {
    for mut resource in list {
        if let Some(origin) =
            origin.filter(|_| resource.annotation(crate::origin::ORIGIN).is_none())
        {
            origin.annotate(&mut resource)?;
        }
        it.resources
            .absorb(resource, &shared.schemas.scopes)
            .context(|| "merging from generator".to_owned())?;
    }
    Ok(())
}

fn accumulation(file_error: &BuildError) -> String {
    format!("accumulation err='{}'", file_error.chain())
}

fn is_http_error(error: &BuildError) -> bool {
    match error {
        BuildError::Step { source, .. } => is_http_error(source),
        BuildError::Remote { url, .. } => crate::remote::RemoteBase::parse(url).is_none(),
        _ => false,
    }
}

/// Adds the file to the message of a YAML error.
pub(crate) fn in_file(error: BuildError, path: &str) -> BuildError {
    match error {
        BuildError::MalformedYaml(problem) => {
            BuildError::MalformedYaml(format!("{problem} in File: {path}"))
        }
        other => other,
    }
}
