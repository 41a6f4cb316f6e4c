//! A command line of `helm template`, carried out by ours.

use std::path::{Path, PathBuf};

use helm::{Chart, Files, KubeVersion, Options, Rendered};

use crate::corpus::{Answer, read_folder};
use crate::world::world;

/// What a command line asks for.
pub(crate) struct Command {
    pub(crate) options: Options,
    chart: Option<PathBuf>,
    show_only: Vec<String>,
}

impl Command {
    /// Reads the words after `helm template`; files are looked for in `folder`.
    pub(crate) fn parse(words: &[String], folder: &Path) -> Result<Self, String> {
        let mut command = Self {
            options: Options::new("release-name", "default"),
            chart: None,
            show_only: Vec::new(),
        };
        let mut positional = Vec::new();
        let mut name_template = None;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (flag, inline) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
                _ => (word.as_str(), None),
            };
            let mut value = || inline.or_else(|| words.next().map(String::as_str)).unwrap_or("");
            match flag {
                "--name-template" => name_template = Some(value().to_owned()),
                "--show-only" => command.show_only.push(value().to_owned()),
                _ if flag.starts_with('-') => command.flag(flag, value, folder)?,
                _ => positional.push(word.clone()),
            }
        }
        if let Some(text) = name_template {
            command.options.release_name =
                helm::template_name(&text, &world()).map_err(|error| error.to_string())?;
        }
        command.chart = positional.pop().map(|path| folder.join(path));
        if let Some(name) = positional.pop() {
            command.options.release_name = name;
        }
        Ok(command)
    }

    fn flag<'w>(
        &mut self,
        flag: &str,
        mut value: impl FnMut() -> &'w str,
        folder: &Path,
    ) -> Result<(), String> {
        let options = &mut self.options;
        let values = &mut options.values;
        let text = |error: helm::Error| error.to_string();
        match flag {
            "--namespace" => value().clone_into(&mut options.namespace),
            "--include-crds" => options.include_crds = true,
            "--no-hooks" => options.no_hooks = true,
            "--skip-tests" => options.skip_tests = true,
            "--skip-schema-validation" => options.skip_schema_validation = true,
            "--is-upgrade" => options.is_upgrade = true,
            "--kube-version" => {
                options.capabilities.kube_version = KubeVersion::parse(value()).map_err(text)?;
            }
            "--api-versions" => {
                let versions = value().split(',').map(str::to_owned);
                options.capabilities.api_versions.extend(versions);
            }
            "--set" => values.set.push(value().to_owned()),
            "--set-string" => values.set_string.push(value().to_owned()),
            "--set-json" => values.json.push(value().to_owned()),
            "--set-literal" => values.set_literal.push(value().to_owned()),
            "--set-file" => {
                let setting = value().to_owned();
                // Whatever may be the name of a file in it.
                for path in setting.split(['=', ',', '{', '}']) {
                    if let Ok(content) = std::fs::read(folder.join(path)) {
                        values.file_contents.insert(path.to_owned(), content);
                    }
                }
                values.set_file.push(setting);
            }
            "-f" | "--values" => {
                let path = value().to_owned();
                let content =
                    std::fs::read(folder.join(&path)).map_err(|error| error.to_string())?;
                values.files.push((path, content));
            }
            _ => return Err(format!("unknown flag {flag}")),
        }
        Ok(())
    }

    /// Renders the chart that the command line names.
    pub(crate) fn run(&self) -> Answer {
        let chart = self.chart.as_ref().ok_or("no chart")?;
        let rendered = render(&read_folder(chart), &self.options)?;
        if self.show_only.is_empty() {
            return Ok(rendered.text());
        }
        rendered.show_only(&self.show_only).map_err(|error| error.to_string())
    }
}

pub(crate) fn render(files: &dyn Files, options: &Options) -> Result<Rendered, String> {
    let chart = Chart::load(files).map_err(|error| error.to_string())?;
    helm::template(&chart, options, &world()).map_err(|error| error.to_string())
}

/// Splits a command line the way a shell does.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
