//! The index of a chart repository, read chart by chart.
//!
//! An index names every version of every chart with all that its `Chart.yaml`
//! says; some have gigabytes. Only what finds an archive is kept, and only one
//! chart is in memory as it is written.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::{FetchError, RepoUrl, TargetRevision};

/// All versions of one chart, as the index has them; and an index that does not
/// stand chart by chart, as a whole.
const MAX_PIECE: usize = 32 << 20;
/// What is kept of all of them.
const MAX_KEPT: usize = 256 << 20;
/// What a version costs beside its texts.
const VERSION_OVERHEAD: usize = 128;

/// What an index says of one version of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChartVersion {
    pub(crate) version: String,
    pub(crate) urls: Vec<String>,
    /// Of the archive, in hexadecimal; empty when the index has none.
    pub(crate) digest: String,
}

/// The charts of a repository, each with its versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index(BTreeMap<String, Vec<ChartVersion>>);

impl Index {
    /// Reads an index of at most `max` bytes, until it is over.
    ///
    /// # Errors
    /// When it is none or too large, in words for the user.
    pub(crate) fn read(source: impl Read, max: u64, over: &AtomicBool) -> Result<Self, String> {
        let mut lines = Lines { source: BufReader::new(source), read: 0, max, line: Vec::new() };
        let mut reading = Reading::default();
        while lines.next()? {
            if over.load(Ordering::Relaxed) {
                return Err("nobody waits for it any more".to_owned());
            }
            reading.take(&lines.line)?;
        }
        reading.finish()
    }

    fn parse_whole(text: &str) -> Result<Self, String> {
        let value = gocompat::yaml::to_value(text).map_err(|error| error.to_string())?;
        let entries = value["entries"].as_object().ok_or("it has no entries")?;
        Ok(Self(entries.iter().map(|(name, it)| (name.clone(), versions(it))).collect()))
    }

    /// The charts with their versions, as the index lists them.
    pub(crate) fn charts(&self) -> BTreeMap<String, Vec<String>> {
        let charts = self.0.iter().map(|(name, versions)| {
            (name.clone(), versions.iter().map(|it| it.version.clone()).collect())
        });
        charts.collect()
    }

    fn versions(&self, repo: &RepoUrl, chart: &str) -> Result<&[ChartVersion], FetchError> {
        self.0.get(chart).map(Vec::as_slice).ok_or_else(|| FetchError::ChartNotFound {
            repo: repo.clone(),
            chart: chart.to_owned(),
        })
    }

    /// The version that a version or a range stands for.
    pub(crate) fn resolve(
        &self,
        repo: &RepoUrl,
        chart: &str,
        target: &TargetRevision,
    ) -> Result<String, FetchError> {
        let wanted = if target.0.is_empty() { "*" } else { &target.0 };
        let versions: Vec<&str> =
            self.versions(repo, chart)?.iter().map(|it| it.version.as_str()).collect();
        gocompat::semver::highest_tag(wanted, &versions, "").map_err(|_| {
            FetchError::ChartVersionNotFound {
                repo: repo.clone(),
                chart: chart.to_owned(),
                version: wanted.to_owned(),
            }
        })
    }

    pub(crate) fn find(
        &self,
        repo: &RepoUrl,
        chart: &str,
        version: &str,
    ) -> Result<&ChartVersion, FetchError> {
        let bare = |text: &str| text.trim_start_matches('v').to_owned();
        let mut versions = self.versions(repo, chart)?.iter();
        versions.find(|it| bare(&it.version) == bare(version) && !it.urls.is_empty()).ok_or_else(
            || FetchError::ChartVersionNotFound {
                repo: repo.clone(),
                chart: chart.to_owned(),
                version: version.to_owned(),
            },
        )
    }
}

fn versions(value: &Value) -> Vec<ChartVersion> {
    let texts = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(|it| it.as_str().map(str::to_owned)).collect()
    };
    let items = value.as_array().into_iter().flatten();
    items
        .map(|it| ChartVersion {
            version: it["version"].as_str().unwrap_or_default().to_owned(),
            urls: texts(&it["urls"]),
            digest: it["digest"].as_str().unwrap_or_default().to_owned(),
        })
        .collect()
}

/// The lines of a text of at most `max` bytes.
struct Lines<R> {
    source: BufReader<R>,
    read: u64,
    max: u64,
    line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// Is there another line?
    fn next(&mut self) -> Result<bool, String> {
        self.line.clear();
        let bound = (self.max - self.read + 1).min(MAX_PIECE as u64);
        let read = (&mut self.source).take(bound).read_until(b'\n', &mut self.line);
        let read =
            read.map_err(|error| format!("it broke off: {}", crate::http::with_causes(&error)))?;
        self.read += read as u64;
        if self.read > self.max {
            return Err(format!("it has more than {} bytes", self.max));
        }
        if read == MAX_PIECE {
            return Err(format!("it has a line of more than {MAX_PIECE} bytes"));
        }
        Ok(read > 0)
    }
}

/// How far we are.
#[derive(Default)]
struct Reading {
    /// All of it, while that is not much: for an index of another shape.
    whole: Option<Vec<u8>>,
    is_long: bool,
    place: Place,
    /// The chart that is being read.
    chart: Vec<u8>,
    charts: BTreeMap<String, Vec<ChartVersion>>,
    kept: usize,
    /// What stands in the way of reading it chart by chart.
    obstacle: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    /// Below `entries:`, whose charts are indented so far; 0 for not yet known.
    Entries(usize),
    After,
}

impl Reading {
    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        if !self.is_long {
            let whole = self.whole.get_or_insert_default();
            whole.extend_from_slice(line);
            if whole.len() > MAX_PIECE {
                self.whole = None;
                self.is_long = true;
                if let Some(obstacle) = &self.obstacle {
                    return Err(obstacle.clone());
                }
            }
        }
        if self.obstacle.is_some() {
            return Ok(());
        }
        let text = line.trim_ascii();
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        if text.is_empty() || text.starts_with(b"#") && self.chart.is_empty() {
            self.add(line)?;
            return Ok(());
        }
        match self.place {
            Place::Before if indent == 0 && text == b"entries:" => self.place = Place::Entries(0),
            Place::Before | Place::After => {}
            Place::Entries(_) if indent == 0 => {
                self.end_chart()?;
                self.place = Place::After;
            }
            Place::Entries(depth) if depth == 0 || indent == depth && text[0] != b'-' => {
                self.end_chart()?;
                self.place = Place::Entries(indent);
                self.add(line)?;
            }
            Place::Entries(_) => self.add(line)?,
        }
        Ok(())
    }

    /// A line of the chart that is being read.
    fn add(&mut self, line: &[u8]) -> Result<(), String> {
        if matches!(self.place, Place::Entries(_)) {
            self.chart.extend_from_slice(line);
            if self.chart.len() > MAX_PIECE {
                return Err(format!("a chart has more than {MAX_PIECE} bytes of versions"));
            }
        }
        Ok(())
    }

    fn end_chart(&mut self) -> Result<(), String> {
        let text = std::mem::take(&mut self.chart);
        if text.trim_ascii().is_empty() {
            return Ok(());
        }
        let text = String::from_utf8(text).map_err(|_| "it is not UTF-8")?;
        let read = match gocompat::yaml::to_value(&text) {
            Ok(Value::Object(read)) => read,
            Ok(_) => return self.stop("a chart without a name".to_owned()),
            Err(error) => return self.stop(error.to_string()),
        };
        for (name, value) in read {
            let versions = versions(&value);
            let bytes = |it: &ChartVersion| {
                let urls: usize = it.urls.iter().map(String::len).sum();
                it.version.len() + urls + it.digest.len() + VERSION_OVERHEAD
            };
            self.kept += name.len() + versions.iter().map(bytes).sum::<usize>();
            if self.kept > MAX_KEPT {
                return Err(format!("its versions and addresses have more than {MAX_KEPT} bytes"));
            }
            self.charts.insert(name, versions);
        }
        Ok(())
    }

    /// It does not stand chart by chart; a short one can be read as a whole.
    fn stop(&mut self, obstacle: String) -> Result<(), String> {
        if self.is_long {
            return Err(obstacle);
        }
        self.obstacle = Some(obstacle);
        Ok(())
    }

    fn finish(mut self) -> Result<Index, String> {
        if self.obstacle.is_none() {
            self.end_chart()?;
        }
        let is_read = self.obstacle.is_none() && !self.charts.is_empty();
        match self.whole {
            _ if is_read => Ok(Index(self.charts)),
            Some(whole) => {
                let text = String::from_utf8(whole).map_err(|_| "it is not UTF-8")?;
                Index::parse_whole(&text)
            }
            None if self.is_long => Err("it has no entries".to_owned()),
            None => Err("it is empty".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Index {
        read("apiVersion: v1\nentries:\n  web:\n  - {version: 2.0.0-rc1, urls: [a]}\n  - {version: 1.10.0, urls: [b]}\n  - {version: 1.9.0, urls: [c]}\n").unwrap()
    }

    #[track_caller]
    fn check(chart: &str, target: &str, expect: &str) {
        let repo = RepoUrl::new("https://charts.example.com");
        let answer = index().resolve(&repo, chart, &TargetRevision(target.to_owned()));
        assert_eq!(answer.unwrap_or_else(|error| error.to_string()), expect);
    }

    #[test]
    fn versions_and_ranges_resolve() {
        check("web", "", "1.10.0");
        check("web", "*", "1.10.0");
        check("web", "1.9.x", "1.9.0");
        check("web", "1.9.0", "1.9.0");
        check("web", ">=2.0.0-0", "2.0.0-rc1");
        check(
            "web",
            "3.x",
            "chart web has no version that fits '3.x' in https://charts.example.com; check targetRevision",
        );
        check("api", "*", "chart 'api' not found in index of https://charts.example.com");
    }

    fn read(text: &str) -> Result<Index, String> {
        Index::read(text.as_bytes(), 10_000, &AtomicBool::new(false))
    }

    /// Charts and versions, or what is wrong.
    #[track_caller]
    fn reads_as(text: &str, expect: &str) {
        let shown = match read(text) {
            Ok(index) => format!("{:?}", index.charts()),
            Err(problem) => problem,
        };
        assert_eq!(shown, expect, "{text}");
    }

    #[test]
    fn every_shape_of_an_index_is_read() {
        let expect = r#"{"api": ["2"], "web": ["1", "0"]}"#;
        // As Helm writes it.
        reads_as(
            "apiVersion: v1\nentries:\n  api:\n  - version: \"2\"\n    description: |\n      entries:\n\n      web:\n    urls:\n    - a\n  # a comment\n  web:\n  - version: \"1\"\n  - version: \"0\"\ngenerated: \"now\"\nentriess: x\n",
            expect,
        );
        // With lists further in, and something below.
        reads_as(
            "entries:\n    api:\n      - {version: '2'}\n    web:\n      - {version: '1'}\n      - {version: '0'}\nserverInfo: {}\n",
            expect,
        );
        reads_as(
            r#"{"entries":{"api":[{"version":"2"}],"web":[{"version":"1"},{"version":"0"}]}}"#,
            expect,
        );
        // An anchor of one chart that another uses.
        reads_as(
            "entries:\n  api: [&a {version: '2'}]\n  same: [*a]\n",
            r#"{"api": ["2"], "same": ["2"]}"#,
        );
    }

    #[test]
    fn what_is_no_index_is_told() {
        reads_as("", "it is empty");
        reads_as("<html>", "it has no entries");
        reads_as("entries: {}\n", "{}");
        reads_as(&"x".repeat(20_000), "it has more than 10000 bytes");
    }
}
