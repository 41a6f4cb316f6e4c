//! Sends spans to an OpenTelemetry collector, over gRPC.
//!
//! Only spans of the target [`SPANS`] are sent, and logs do not show them: where
//! there is no collector they cost nothing.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::tonic_types::metadata::MetadataMap;
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithTonicConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

/// The target of spans that are meant for a collector.
pub const SPANS: &str = "argosy_spans";

/// Where spans go (`--otlp-…`).
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// Host and port of the collector.
    pub address: String,
    /// Without TLS?
    pub insecure: bool,
    /// Sent with every request; may hold credentials.
    pub headers: BTreeMap<String, String>,
    /// Told of every span.
    pub attributes: BTreeMap<String, String>,
    /// The share of traces that is sent, from 0 to 1.
    pub sample_ratio: f64,
    /// What we are called there.
    pub service: &'static str,
}

/// Why no spans can be sent.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A header cannot be one.
    #[error("the header {name:?} of the trace collector cannot be sent")]
    Header {
        /// Its name. Its value may be a credential.
        name: String,
    },
    /// The address or TLS cannot be used.
    #[error("could not prepare to send traces to {address}")]
    Exporter {
        /// The collector's.
        address: String,
        /// Why.
        source: opentelemetry_otlp::ExporterBuildError,
    },
}

/// The way to a collector. Spans that wait are sent when it is [ended](Self::end).
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Prepares to send; the collector need not be there. Wants to be called within a runtime.
    ///
    /// # Errors
    /// When the options cannot be used.
    pub fn start(options: &TraceOptions) -> Result<Self, TraceError> {
        let scheme = if options.insecure { "http" } else { "https" };
        let mut exporter = SpanExporter::builder()
            .with_tonic()
            .with_endpoint(format!("{scheme}://{}", options.address))
            .with_metadata(metadata(&options.headers)?);
        if !options.insecure {
            exporter = exporter.with_tls_config(ClientTlsConfig::new().with_native_roots());
        }
        let exporter = exporter
            .build()
            .map_err(|source| TraceError::Exporter { address: options.address.clone(), source })?;
        let attributes = options.attributes.iter();
        let attributes = attributes.map(|(name, value)| KeyValue::new(name.clone(), value.clone()));
        let resource = Resource::builder()
            .with_service_name(options.service)
            .with_attributes(attributes)
            .build();
        let sampler = Sampler::TraceIdRatioBased(options.sample_ratio);
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(sampler)))
            .with_resource(resource)
            .with_batch_exporter(exporter)
            .build();
        Ok(Self(provider))
    }

    /// Sends what waits, for a moment, and ends.
    pub fn end(self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }

    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("argosy"))
            .with_filter(filter_fn(|it| it.target() == SPANS))
    }
}

fn metadata(headers: &BTreeMap<String, String>) -> Result<MetadataMap, TraceError> {
    let mut metadata = HeaderMap::new();
    for (name, value) in headers {
        let refused = || TraceError::Header { name: name.clone() };
        let key = HeaderName::try_from(name).map_err(|_| refused())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| refused())?;
        value.set_sensitive(true);
        metadata.insert(key, value);
    }
    Ok(MetadataMap::from_headers(metadata))
}
