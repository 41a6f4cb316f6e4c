//! Where a role sends its traces: flags, or the role's own variables.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use clap::Args;
use runtime::{TraceOptions, Traces};

/// Flags keep Argo CD's names.
#[derive(Args)]
pub(crate) struct TraceFlags {
    /// Host and port of the OpenTelemetry collector that traces are sent to
    #[arg(long)]
    otlp_address: Option<String>,
    /// Send traces without TLS [default: true]
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    otlp_insecure: Option<bool>,
    /// Headers for the collector, as name=value
    #[arg(long, value_delimiter = ',')]
    otlp_headers: Vec<String>,
    /// What is told of every span, as name:value
    #[arg(long, value_delimiter = ',')]
    otlp_attrs: Vec<String>,
    /// The share of traces that is sent, from 0 to 1
    #[arg(long, default_value_t = 1.0)]
    otlp_sample_ratio: f64,
}

impl TraceFlags {
    /// The way to the collector, if one was named; variables begin with `prefix`.
    /// Wants to be called within a runtime.
    pub(crate) fn start(
        &self,
        prefix: &str,
        service: &'static str,
    ) -> anyhow::Result<Option<Traces>> {
        let variable = |name: &str| std::env::var(format!("{prefix}_OTLP_{name}")).ok();
        let options = self.options(variable, service)?;
        Ok(options.as_ref().map(Traces::start).transpose()?)
    }

    fn options(
        &self,
        variable: impl Fn(&str) -> Option<String>,
        service: &'static str,
    ) -> anyhow::Result<Option<TraceOptions>> {
        let address = self.otlp_address.clone().or_else(|| variable("ADDRESS"));
        let Some(address) = address.filter(|it| !it.is_empty()) else { return Ok(None) };
        ensure!(
            (0.0..=1.0).contains(&self.otlp_sample_ratio),
            "--otlp-sample-ratio must be between 0 and 1, not {}",
            self.otlp_sample_ratio
        );
        let insecure = match variable("INSECURE") {
            _ if self.otlp_insecure.is_some() => self.otlp_insecure.unwrap_or(true),
            Some(text) => text.parse().with_context(|| format!("{text} is not true or false"))?,
            None => true,
        };
        let list = |flag: &[String], name: &str| {
            let given = variable(name).filter(|_| flag.is_empty()).unwrap_or_default();
            let given = given.split(',').filter(|it| !it.is_empty()).map(str::to_owned);
            flag.iter().cloned().chain(given).collect::<Vec<_>>()
        };
        Ok(Some(TraceOptions {
            address,
            insecure,
            headers: pairs(&list(&self.otlp_headers, "HEADERS"), '=')?,
            attributes: pairs(&list(&self.otlp_attrs, "ATTRS"), ':')?,
            sample_ratio: self.otlp_sample_ratio,
            service,
        }))
    }
}

/// Values may be credentials, so a pair that is none is named by its place.
fn pairs(texts: &[String], between: char) -> anyhow::Result<BTreeMap<String, String>> {
    let read = |(index, text): (usize, &String)| {
        let pair = text.split_once(between);
        let pair = pair.with_context(|| {
            format!("header or attribute {} for traces lacks its {between:?}", index + 1)
        })?;
        Ok((pair.0.trim().to_owned(), pair.1.trim().to_owned()))
    };
    texts.iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> TraceFlags {
        TraceFlags {
            otlp_address: None,
            otlp_insecure: None,
            otlp_headers: Vec::new(),
            otlp_attrs: Vec::new(),
            otlp_sample_ratio: 1.0,
        }
    }

    #[test]
    fn without_an_address_nothing_is_sent() {
        assert_eq!(nothing().options(|_| None, "argosy").expect("good flags"), None);
    }

    #[test]
    fn flags_go_before_variables() {
        let variable = |name: &str| match name {
            "ADDRESS" => Some("variable:4317".to_owned()),
            "INSECURE" => Some("false".to_owned()),
            "HEADERS" => Some("team=sea,key=a=b".to_owned()),
            "ATTRS" => Some("env:test".to_owned()),
            _ => None,
        };
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let from_variables = TraceOptions {
            address: "variable:4317".into(),
            insecure: false,
            headers: map(&[("team", "sea"), ("key", "a=b")]),
            attributes: map(&[("env", "test")]),
            sample_ratio: 1.0,
            service: "argosy",
        };
        let read = nothing().options(variable, "argosy").expect("good variables");
        assert_eq!(read, Some(from_variables.clone()));

        let flags = TraceFlags {
            otlp_address: Some("flag:4317".into()),
            otlp_insecure: Some(true),
            otlp_headers: vec!["team=land".into()],
            ..nothing()
        };
        let from_flags = TraceOptions {
            address: "flag:4317".into(),
            insecure: true,
            headers: map(&[("team", "land")]),
            ..from_variables
        };
        assert_eq!(flags.options(variable, "argosy").expect("good flags"), Some(from_flags));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_without_telling_a_value() {
        let wrong = TraceFlags { otlp_address: Some("a:1".into()), ..nothing() };
        let refused = |flags: TraceFlags| {
            flags.options(|_| None, "argosy").expect_err("it is refused").to_string()
        };
        let flags = TraceFlags { otlp_headers: vec!["secret".into()], ..wrong };
        assert_eq!(refused(flags), "header or attribute 1 for traces lacks its '='");
        let wrong = TraceFlags { otlp_address: Some("a:1".into()), ..nothing() };
        let flags = TraceFlags { otlp_sample_ratio: 2.0, ..wrong };
        assert_eq!(refused(flags), "--otlp-sample-ratio must be between 0 and 1, not 2");
    }
}
