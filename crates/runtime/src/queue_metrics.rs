//! What a queue tells about itself, under the names that Kubernetes' own queues use.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::Queue;
use crate::queue::Merge;

/// Counted as it happens.
pub(crate) struct QueueMetrics {
    pub(crate) adds: Counter,
    pub(crate) retries: Counter,
    pub(crate) waited: Histogram,
    pub(crate) worked: Histogram,
}

impl Default for QueueMetrics {
    fn default() -> Self {
        // From ten nanoseconds to a quarter of an hour, as Kubernetes has it.
        let buckets = || Histogram::new(exponential_buckets(1e-8, 10.0, 12));
        Self {
            adds: Counter::default(),
            retries: Counter::default(),
            waited: buckets(),
            worked: buckets(),
        }
    }
}

impl<K, W> Queue<K, W>
where
    K: Ord + Clone + Send + Sync + 'static,
    W: Merge + Clone + Send + Sync + 'static,
{
    /// Tells about this queue under a name.
    pub fn register(&self, name: &'static str, registry: &mut Registry) {
        registry.register_collector(Box::new(Told { queue: self.clone(), name }));
    }
}

struct Told<K, W> {
    queue: Queue<K, W>,
    name: &'static str,
}

impl<K, W> fmt::Debug for Told<K, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({})", self.name)
    }
}

impl<K, W> Collector for Told<K, W>
where
    K: Ord + Clone + Send + Sync + 'static,
    W: Merge + Clone + Send + Sync + 'static,
{
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let labels = [("controller", self.name), ("name", self.name)];
        let busy = self.queue.busy_for();
        let gauges = [
            (
                "workqueue_depth",
                "Current depth of workqueue",
                f64::from(u32::try_from(self.queue.depth()).unwrap_or(u32::MAX)),
            ),
            (
                "workqueue_unfinished_work_seconds",
                "How many seconds of work has been done that is in progress",
                busy.iter().map(|(_, it)| it.as_secs_f64()).sum(),
            ),
            (
                "workqueue_longest_running_processor_seconds",
                "How many seconds has the longest running processor been running",
                busy.iter().map(|(_, it)| it.as_secs_f64()).fold(0.0, f64::max),
            ),
        ];
        for (name, help, value) in gauges {
            let mut series = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(series.encode_family(&labels)?)?;
        }
        let QueueMetrics { adds, retries, waited, worked } = self.queue.metrics();
        // The endpoint's format adds `_total` to the name of a counter.
        let counters = [
            ("workqueue_adds", "Total number of adds handled by workqueue", adds),
            ("workqueue_retries", "Total number of retries handled by workqueue", retries),
        ];
        for (name, help, counter) in counters {
            let mut series = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            counter.encode(series.encode_family(&labels)?)?;
        }
        let histograms = [
            (
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested",
                waited,
            ),
            (
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes",
                worked,
            ),
        ];
        for (name, help, histogram) in histograms {
            let mut series = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
            histogram.encode(series.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
