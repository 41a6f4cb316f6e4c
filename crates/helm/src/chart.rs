//! A chart as loaded: metadata, default values, templates, files and the charts inside it.
//!
//! Loaded once, a [`Chart`] can be rendered any number of times and from several threads; rendering
//! changes nothing in it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Map, Value as Json};
use template::{Functions, ParsedText, Text};

use crate::archive::{self, Limits};
use crate::error::Error;
use crate::files::Files;
use crate::ignore::Rules;
use crate::metadata::Metadata;
use crate::values;

/// Charts inside charts beyond this depth are refused.
const MAX_DEPTH: usize = 20;

/// What Chart.yaml of the outermost chart may call itself.
const API_VERSIONS: [&str; 3] = ["v1", "v2", "v3"];

/// A loaded chart.
#[derive(Debug)]
pub struct Chart {
    /// Chart.yaml.
    pub metadata: Metadata,
    /// values.yaml.
    pub(crate) values: Map<String, Json>,
    /// values.schema.json.
    pub(crate) schema: Option<Vec<u8>>,
    /// Everything below templates/.
    pub(crate) templates: Vec<Template>,
    /// Every other file, as templates see them.
    pub(crate) files: Vec<File>,
    /// The charts below charts/, in the order of their names.
    pub(crate) subcharts: Vec<Self>,
}

/// A file of a chart.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path in the chart.
    pub name: String,
    /// Its content.
    pub content: Text,
}

/// A template, parsed.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) name: String,
    content: Text,
    /// The full name it was first parsed under, and the result: the same chart is usually rendered
    /// again and again in the same place.
    parsed: OnceLock<(String, ParsedText)>,
}

impl Template {
    fn new(name: String, content: Vec<u8>) -> Self {
        Self { name, content: Text::from(content), parsed: OnceLock::new() }
    }

    /// The template parsed under the name it has within the outermost chart.
    pub(crate) fn parsed(
        &self,
        full_name: &str,
        functions: &Functions,
    ) -> Result<ParsedText, template::Error> {
        match self.parsed.get() {
            Some((name, parsed)) if name == full_name => return Ok(parsed.clone()),
            _ => {}
        }
        let parsed = ParsedText::parse_shared(full_name, &self.content, functions)?;
        // Under another name already: this one is an alias and is parsed each time.
        let _kept = self.parsed.set((full_name.to_owned(), parsed.clone()));
        Ok(parsed)
    }
}

impl Chart {
    /// Loads the chart that a folder holds, without what its .helmignore names.
    pub fn load(files: &dyn Files) -> Result<Self, Error> {
        let limits = Limits::default();
        let rules = Rules::parse(&files.read(".helmignore").unwrap_or_default())?;
        let mut paths = files.paths();
        paths.sort();
        let mut loaded = Vec::new();
        let mut total = 0;
        for path in paths {
            if rules.ignore(&path) {
                continue;
            }
            let Some(content) = files.read(&path) else { continue };
            let size = content.len() as u64;
            total += size;
            if size > limits.file {
                return Err(Error::FileTooLarge { file: path, limit: limits.file });
            }
            if total > limits.total || loaded.len() >= limits.files {
                return Err(Error::TooMuch(format!(
                    "the chart has more than {} files or {} bytes; list what it does not need in \
                     .helmignore",
                    limits.files, limits.total
                )));
            }
            loaded.push((path, content));
        }
        Self::from_files(loaded, 0, &mut Budget::default())
    }

    /// Loads a chart archive.
    pub fn load_archive(archive: &[u8]) -> Result<Self, Error> {
        Self::load_archive_within(archive, Limits::default())
    }

    /// Loads a chart archive that may unpack to no more than `limits`.
    pub fn load_archive_within(archive: &[u8], limits: Limits) -> Result<Self, Error> {
        Self::from_files(archive::unpack(archive, limits)?, 0, &mut Budget::default())
    }

    /// The chart's name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The chart's default values.
    pub fn default_values(&self) -> &Map<String, Json> {
        &self.values
    }

    /// The charts below charts/.
    pub fn subcharts(&self) -> &[Self] {
        &self.subcharts
    }

    /// Dependencies of Chart.yaml that charts/ does not hold: what a caller would have to fetch.
    pub fn missing_dependencies(&self) -> Vec<&crate::metadata::Dependency> {
        let present = |name: &str| self.subcharts.iter().any(|chart| chart.name() == name);
        self.metadata.dependencies.iter().filter(|wanted| !present(&wanted.name)).collect()
    }

    /// Adds a chart that was fetched, as if it had been below charts/.
    pub fn add_subchart(&mut self, subchart: Self) {
        self.subcharts.push(subchart);
    }

    fn from_files(
        files: Vec<(String, Vec<u8>)>,
        depth: usize,
        budget: &mut Budget,
    ) -> Result<Self, Error> {
        if depth > MAX_DEPTH {
            return Err(Error::TooMuch("charts are nested too deeply".into()));
        }
        let failed = |file: &str| {
            let file = file.to_owned();
            move |reason: String| Error::File { file, reason }
        };
        let without_mark = |content: Vec<u8>| match content.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => rest.to_vec(),
            None => content,
        };
        let files: Vec<(String, Vec<u8>)> =
            files.into_iter().map(|(name, content)| (name, without_mark(content))).collect();
        let mut metadata = None;
        for (name, content) in &files {
            if name == "Chart.yaml" {
                metadata = Some(Metadata::parse(content).map_err(failed(name))?);
            }
        }
        if let Some(metadata) = &metadata
            && depth == 0
            && !API_VERSIONS.contains(&metadata.api_version.as_str())
        {
            return Err(Error::ApiVersion);
        }
        let has_metadata = metadata.is_some();
        let mut chart = Self {
            metadata: metadata.unwrap_or_default(),
            values: Map::new(),
            schema: None,
            templates: Vec::new(),
            files: Vec::new(),
            subcharts: Vec::new(),
        };
        let mut inner: BTreeMap<String, Vec<(String, Vec<u8>)>> = BTreeMap::new();
        for (name, content) in files {
            match name.as_str() {
                "Chart.yaml" | "Chart.lock" => {}
                "values.yaml" => {
                    chart.values = values::parse_documents(&content).map_err(failed(&name))?;
                }
                "values.schema.json" => chart.schema = Some(content),
                "requirements.yaml" => {
                    chart.metadata.add_requirements(&content).map_err(failed(&name))?;
                    chart.keep_if_v1(name, content);
                }
                "requirements.lock" => chart.keep_if_v1(name, content),
                path if path.starts_with("templates/") => {
                    chart.templates.push(Template::new(name, content));
                }
                path if path.starts_with("charts/") && !path.ends_with(".prov") => {
                    let inside = path["charts/".len()..].to_owned();
                    let first = inside.split('/').next().unwrap_or_default().to_owned();
                    inner.entry(first).or_default().push((inside, content));
                }
                _ => chart.files.push(File { name, content: Text::from(content) }),
            }
        }
        if !has_metadata {
            return Err(Error::NoChart);
        }
        chart.metadata.validate()?;
        for (name, files) in inner {
            if name.starts_with(['_', '.']) {
                continue;
            }
            let subchart =
                load_inner(&name, files, chart.name(), depth, budget).map_err(|cause| {
                    let chart = chart.name().to_owned();
                    Error::Subchart { subchart: name.clone(), chart, cause: Box::new(cause) }
                })?;
            chart.subcharts.push(subchart);
        }
        Ok(chart)
    }

    fn keep_if_v1(&mut self, name: String, content: Vec<u8>) {
        if self.metadata.api_version == "v1" {
            self.files.push(File { name, content: Text::from(content) });
        }
    }
}

/// What the archives below charts/ may unpack to, all together: each may be as large as any, but an
/// archive of archives of archives is small and without end.
struct Budget {
    total: u64,
    files: usize,
}

impl Default for Budget {
    fn default() -> Self {
        let each = Limits::default();
        Self { total: 2 * each.total, files: 2 * each.files }
    }
}

impl Budget {
    fn unpack(&mut self, archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let each = Limits::default();
        let files = archive::unpack(
            archive,
            Limits { total: each.total.min(self.total), files: each.files.min(self.files), ..each },
        )?;
        self.total -= files.iter().map(|(_, content)| content.len() as u64).sum::<u64>();
        self.files -= files.len();
        Ok(files)
    }
}

fn load_inner(
    name: &str,
    files: Vec<(String, Vec<u8>)>,
    chart: &str,
    depth: usize,
    budget: &mut Budget,
) -> Result<Chart, Error> {
    if name.ends_with(".tgz") {
        let Some((path, archive)) = files.into_iter().next() else { return Err(Error::NoChart) };
        if path != name {
            return Err(Error::Archive(format!(
                "error unpacking subchart tar in {chart}: expected {name}, got {path}"
            )));
        }
        return Chart::from_files(budget.unpack(&archive)?, depth + 1, budget);
    }
    let inside = files.into_iter().filter_map(|(path, content)| {
        let (_, rest) = path.split_once('/')?;
        Some((rest.to_owned(), content))
    });
    Chart::from_files(inside.collect(), depth + 1, budget)
}
