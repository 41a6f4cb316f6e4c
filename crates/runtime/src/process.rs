//! What the kernel says of this process, under the names that Prometheus' own
//! libraries use. Read when somebody looks; nothing where there is no `/proc`.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// A collector of `process_…`.
#[derive(Debug)]
pub struct ProcessMetrics;

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(seen) = Seen::now() else { return Ok(()) };
        let help = "Total user and system CPU time spent in seconds";
        // The endpoint's format adds `_total` to the name of a counter.
        let series =
            encoder.encode_descriptor("process_cpu_seconds", help, None, MetricType::Counter)?;
        ConstCounter::new(seen.cpu_seconds).encode(series)?;
        let gauges = [
            (
                "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds",
                seen.started_at,
            ),
            ("process_resident_memory_bytes", "Resident memory size in bytes", seen.resident),
            ("process_virtual_memory_bytes", "Virtual memory size in bytes", seen.virtual_size),
            ("process_open_fds", "Number of open file descriptors", seen.open_files),
            ("process_max_fds", "Maximum number of open file descriptors", seen.most_files),
        ];
        for (name, help, value) in gauges {
            let series = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(series)?;
        }
        Ok(())
    }
}

struct Seen {
    cpu_seconds: f64,
    started_at: f64,
    resident: f64,
    virtual_size: f64,
    open_files: f64,
    most_files: f64,
}

impl Seen {
    fn now() -> Option<Self> {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let booted_at = read("/proc/stat")?
            .lines()
            .find_map(|it| it.strip_prefix("btime "))
            .and_then(|it| it.trim().parse::<f64>().ok())?;
        let open_files = std::fs::read_dir("/proc/self/fd").ok()?.count();
        Self::read(&read("/proc/self/stat")?, &read("/proc/self/limits")?, booted_at, open_files)
    }

    fn read(stat: &str, limits: &str, booted_at: f64, open_files: usize) -> Option<Self> {
        // Clock ticks and pages are what they are on every Linux that we run on.
        const TICKS: f64 = 100.0;
        const PAGE: f64 = 4096.0;
        // The second field is a name in parentheses and may hold anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        let most_files = limits.lines().find_map(|it| it.strip_prefix("Max open files"));
        Some(Self {
            cpu_seconds: (field(14)? + field(15)?) / TICKS,
            started_at: booted_at + field(22)? / TICKS,
            virtual_size: field(23)?,
            resident: field(24)? * PAGE,
            open_files: f64::from(u32::try_from(open_files).unwrap_or(u32::MAX)),
            most_files: most_files?.split_whitespace().next()?.parse().unwrap_or(f64::INFINITY),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_confuse() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 9 0 400 8192 3 1 0";
        let limits = "Limit  Soft  Hard\nMax open files            1024      4096      files\n";
        let seen = Seen::read(stat, limits, 1000.0, 5).expect("it reads");
        assert_eq!(
            (seen.cpu_seconds, seen.started_at, seen.virtual_size, seen.resident),
            (3.0, 1004.0, 8192.0, 12288.0)
        );
        assert_eq!((seen.open_files, seen.most_files), (5.0, 1024.0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_and_files() {
        let seen = Seen::now().expect("Linux tells");
        assert!(seen.resident > 0.0 && seen.open_files > 0.0 && seen.started_at > 0.0);
    }
}
