//! What a kustomization says about Helm charts: `helmGlobals`, `helmCharts`
//! and the old `helmChartInflationGenerator`.

use serde_json::{Map, Value};

use super::decode::{Place, any_object, boolean, object, string, strings};
use crate::error::Result;

/// Where charts are, for all charts of a kustomization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HelmGlobals {
    pub(crate) chart_home: String,
    /// Where a helm process would keep its settings; there is no such process.
    pub(crate) config_home: String,
}

impl HelmGlobals {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("HelmGlobals");
        let mut globals = Self::default();
        object(value, &place, &["chartHome", "configHome"], |name, value| {
            let text = string(value, &place.field(name))?;
            match name {
                "chartHome" => globals.chart_home = text,
                _ => globals.config_home = text,
            }
            Ok(())
        })?;
        Ok(globals)
    }
}

/// A chart to inflate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HelmChart {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) repository: String,
    pub(crate) release_name: String,
    pub(crate) namespace: String,
    pub(crate) additional_values_files: Vec<String>,
    pub(crate) values_file: String,
    pub(crate) values_inline: Map<String, Value>,
    pub(crate) values_merge: String,
    pub(crate) include_crds: bool,
    pub(crate) skip_hooks: bool,
    pub(crate) api_versions: Vec<String>,
    pub(crate) kube_version: String,
    pub(crate) name_template: String,
    pub(crate) skip_tests: bool,
    pub(crate) debug: bool,
    pub(crate) devel: bool,
}

const CHART: &[&str] = &[
    "name",
    "version",
    "repo",
    "releaseName",
    "namespace",
    "additionalValuesFiles",
    "valuesFile",
    "valuesInline",
    "valuesMerge",
    "includeCRDs",
    "skipHooks",
    "apiVersions",
    "kubeVersion",
    "nameTemplate",
    "skipTests",
    "debug",
    "devel",
];

impl HelmChart {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("HelmChart");
        let mut chart = Self::default();
        object(value, &place, CHART, |name, value| {
            let place = place.field(name);
            match name {
                "name" => chart.name = string(value, &place)?,
                "version" => chart.version = string(value, &place)?,
                "repo" => chart.repository = string(value, &place)?,
                "releaseName" => chart.release_name = string(value, &place)?,
                "namespace" => chart.namespace = string(value, &place)?,
                "additionalValuesFiles" => chart.additional_values_files = strings(value, &place)?,
                "valuesFile" => chart.values_file = string(value, &place)?,
                "valuesInline" => chart.values_inline = any_object(value, &place)?,
                "valuesMerge" => chart.values_merge = string(value, &place)?,
                "includeCRDs" => chart.include_crds = boolean(value, &place)?,
                "skipHooks" => chart.skip_hooks = boolean(value, &place)?,
                "apiVersions" => chart.api_versions = strings(value, &place)?,
                "kubeVersion" => chart.kube_version = string(value, &place)?,
                "nameTemplate" => chart.name_template = string(value, &place)?,
                "skipTests" => chart.skip_tests = boolean(value, &place)?,
                "debug" => chart.debug = boolean(value, &place)?,
                _ => chart.devel = boolean(value, &place)?,
            }
            Ok(())
        })?;
        Ok(chart)
    }

    /// The configuration that Kustomize shows in messages, as a mapping.
    pub(crate) fn to_config(&self, globals: &HelmGlobals) -> Value {
        let mut map = Map::new();
        for (name, text) in [
            ("chartHome", &globals.chart_home),
            ("configHome", &globals.config_home),
            ("name", &self.name),
            ("version", &self.version),
            ("repo", &self.repository),
            ("releaseName", &self.release_name),
            ("namespace", &self.namespace),
            ("valuesFile", &self.values_file),
            ("valuesMerge", &self.values_merge),
            ("kubeVersion", &self.kube_version),
            ("nameTemplate", &self.name_template),
        ] {
            if !text.is_empty() {
                map.insert(name.to_owned(), text.as_str().into());
            }
        }
        for (name, flag) in [
            ("includeCRDs", self.include_crds),
            ("skipHooks", self.skip_hooks),
            ("skipTests", self.skip_tests),
            ("debug", self.debug),
            ("devel", self.devel),
        ] {
            if flag {
                map.insert(name.to_owned(), true.into());
            }
        }
        for (name, list) in [
            ("additionalValuesFiles", &self.additional_values_files),
            ("apiVersions", &self.api_versions),
        ] {
            if !list.is_empty() {
                map.insert(name.to_owned(), list.clone().into());
            }
        }
        if !self.values_inline.is_empty() {
            map.insert("valuesInline".to_owned(), self.values_inline.clone().into());
        }
        Value::Object(map)
    }
}

/// An entry of `helmChartInflationGenerator`, in the terms of today.
#[derive(Clone, Debug, Default)]
pub(crate) struct OldChart {
    pub(crate) chart: HelmChart,
    pub(crate) globals: HelmGlobals,
}

const OLD_CHART: &[&str] = &[
    "chartName",
    "chartVersion",
    "chartRepoUrl",
    "chartHome",
    "chartRepoName",
    "helmBin",
    "helmHome",
    "values",
    "valuesLocal",
    "valuesMerge",
    "releaseName",
    "releaseNamespace",
    "extraArgs",
];

impl OldChart {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("HelmChartArgs");
        let mut old = Self::default();
        object(value, &place, OLD_CHART, |name, value| {
            let place = place.field(name);
            match name {
                "chartName" => old.chart.name = string(value, &place)?,
                "chartVersion" => old.chart.version = string(value, &place)?,
                "chartRepoUrl" => old.chart.repository = string(value, &place)?,
                "chartHome" => old.globals.chart_home = string(value, &place)?,
                "helmHome" => old.globals.config_home = string(value, &place)?,
                "values" => old.chart.values_file = string(value, &place)?,
                "valuesLocal" => old.chart.values_inline = any_object(value, &place)?,
                "valuesMerge" => old.chart.values_merge = string(value, &place)?,
                "releaseName" => old.chart.release_name = string(value, &place)?,
                "extraArgs" => drop(strings(value, &place)?),
                // Kustomize's own conversion drops these too.
                _ => drop(string(value, &place)?),
            }
            Ok(())
        })?;
        Ok(old)
    }
}
