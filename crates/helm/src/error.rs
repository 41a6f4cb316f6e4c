//! Why a chart could not be rendered, in the words Helm uses, so that users find what they know.

/// A failed load or render.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The folder holds no chart.
    #[error("Chart.yaml file is missing")]
    NoChart,
    /// A file of the chart cannot be read as what it should be.
    #[error("cannot load {file}: {reason}")]
    File {
        /// Its path in the chart.
        file: String,
        /// Why.
        reason: String,
    },
    /// A file of the chart is too large.
    #[error("chart file {file:?} is larger than the maximum file size {limit}")]
    FileTooLarge {
        /// Its path in the chart.
        file: String,
        /// The most bytes a file may have.
        limit: u64,
    },
    /// The chart has too many files, or its parts are nested too deeply.
    #[error("{0}")]
    TooMuch(String),
    /// An archive is malformed, hostile or too large.
    #[error("{0}")]
    Archive(String),
    /// Chart.yaml is of an API version that is not known.
    #[error("unsupported chart version")]
    ApiVersion,
    /// A chart of API v3, which Helm 4.2 loads and does not render.
    #[error("invalid chart apiVersion")]
    FutureApiVersion,
    /// Chart.yaml says something impossible.
    #[error("validation: {0}")]
    Validation(String),
    /// A subchart cannot be loaded.
    #[error("error unpacking subchart {subchart} in {chart}: {cause}")]
    Subchart {
        /// The name below `charts/`.
        subchart: String,
        /// The chart that contains it.
        chart: String,
        /// Why. Part of the message, as in Helm.
        cause: Box<Self>,
    },
    /// A line of .helmignore cannot be understood.
    #[error("{0}")]
    Ignore(String),
    /// Dependencies of Chart.yaml are not in `charts/`.
    #[error(
        "an error occurred while checking for chart dependencies. You may need to run 'helm \
         dependency build' to fetch missing dependencies: found in Chart.yaml, but missing in \
         charts/ directory: {}", .0.join(", ")
    )]
    MissingDependencies(Vec<String>),
    /// A library chart cannot be rendered by itself.
    #[error("{0} charts are not installable")]
    NotInstallable(String),
    /// A release name that Kubernetes would refuse.
    #[error("release name check failed: release name {name:?}: {reason}")]
    ReleaseName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The name template cannot be rendered.
    #[error("{0}")]
    NameTemplate(String),
    /// A `--kube-version` that is no version.
    #[error("invalid kube version '{version}': {reason}")]
    KubeVersion {
        /// As given.
        version: String,
        /// Why.
        reason: String,
    },
    /// The chart does not support this Kubernetes.
    #[error(
        "chart requires kubeVersion: {required} which is incompatible with Kubernetes {actual}"
    )]
    IncompatibleKubeVersion {
        /// The constraint in Chart.yaml.
        required: String,
        /// The version asked for.
        actual: String,
    },
    /// Given values cannot be understood.
    #[error("{0}")]
    Values(String),
    /// The values of a subchart are not a table.
    #[error("{0}")]
    Coalesce(String),
    /// The values break the chart's JSON schema.
    #[error(
        "values don't meet the specifications of the schema(s) in the following chart(s):\n{0}"
    )]
    Schema(String),
    /// A template cannot be parsed or executed.
    #[error("{0}")]
    Template(String),
    /// A template's output is no manifest.
    #[error("YAML parse error on {path}: {reason}")]
    Manifest {
        /// The template.
        path: String,
        /// Why.
        reason: String,
    },
}
