//! How fast charts render, on one core: `cargo bench -p helm`.
//!
//! With `HELM` naming the real program (`cargo xtask oracle helm --bench` sets it) the same chart is
//! rendered by `helm template` in between, so that the ratio holds on a busy machine too. Figures are
//! medians.
//!
//! With the arguments `only cold|parsed small|large COUNT` it does nothing but that, for a program that
//! counts instructions: those repeat on a busy machine, times do not.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark needs a clock, a process and a disk"
)]

#[path = "../tests/suite/large_chart.rs"]
mod large_chart;

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use helm::{Chart, Files as _, MemoryFiles, Options, Still};
use large_chart::large_chart;

fn main() {
    let small = large_chart(20, 3);
    let large = large_chart(60, 50);
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, only, how, which, count, ..] = arguments.as_slice()
        && only == "only"
    {
        let files = if which == "large" { &large } else { &small };
        return repeat(how, files, count.parse().expect("a count"));
    }
    // First, while the heap is still small.
    memory("60 templates", &large);
    speed("20 objects", &small);
    speed("60 templates, 2,000 lines of named parts", &large);
}

fn options() -> Options {
    Options::new("rel", "default")
}

fn render(chart: &Chart) -> String {
    helm::template(chart, &options(), &Still).expect("it renders").text()
}

fn load(files: &MemoryFiles) -> Chart {
    Chart::load(files).expect("it loads")
}

/// Renders so many times, and nothing else.
fn repeat(how: &str, files: &MemoryFiles, count: u32) {
    let chart = load(files);
    for _ in 0..count {
        match how {
            "cold" => black_box(render(&load(files))),
            _ => black_box(render(&chart)),
        };
    }
}

fn speed(name: &str, files: &MemoryFiles) {
    let cached = load(files);
    let real = RealHelm::find(files);
    let (mut cold, mut warm, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..15 {
        cold.push(each_of(20, || black_box(render(&load(files))).len()));
        warm.push(each_of(20, || black_box(render(&cached)).len()));
        if let Some(real) = &real {
            theirs.push(each_of(1, || real.render()));
        }
    }
    let (cold, warm) = (median(cold), median(warm));
    println!(
        "{name}: {cold:.2?} cold ({:.0}/s), {warm:.2?} parsed ({:.0}/s)",
        rate(cold),
        rate(warm)
    );
    match real {
        Some(_) => {
            let theirs = median(theirs);
            println!(
                "  the helm process: {theirs:.1?}, {:.0} times as long as cold",
                theirs.as_secs_f64() / cold.as_secs_f64()
            );
        }
        None => println!("  HELM names no program: not compared"),
    }
}

/// The time of one of `count` rounds.
fn each_of(count: u32, mut round: impl FnMut() -> usize) -> Duration {
    let began = Instant::now();
    for _ in 0..count {
        black_box(round());
    }
    began.elapsed() / count
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn rate(time: Duration) -> f64 {
    1.0 / time.as_secs_f64()
}

/// The highest the process stood above where it began, against chart and output together. A small
/// chart goes first, so that the pages of the program itself are not counted.
fn memory(name: &str, files: &MemoryFiles) {
    render(&load(&large_chart(6, 1)));
    let chart_bytes: usize =
        files.paths().iter().filter_map(|path| files.read(path)).map(|content| content.len()).sum();
    let Some(before) = kilobytes("VmRSS") else {
        return println!("{name}: the system does not tell how much memory is used");
    };
    let output = render(&load(files));
    let peak = kilobytes("VmHWM").unwrap_or(before).saturating_sub(before) << 10;
    let sizes = chart_bytes + output.len();
    println!(
        "{name}: chart {} KiB, output {} KiB, peak {} KiB: {:.1} times",
        chart_bytes >> 10,
        output.len() >> 10,
        peak >> 10,
        peak as f64 / sizes as f64
    );
}

fn kilobytes(field: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// `helm template` on the same chart, on disk.
struct RealHelm {
    program: std::ffi::OsString,
    folder: tempfile::TempDir,
}

impl RealHelm {
    fn find(files: &MemoryFiles) -> Option<Self> {
        let program = std::env::var_os("HELM")?;
        let folder = tempfile::tempdir().expect("a scratch folder");
        for path in files.paths() {
            let target = folder.path().join(&path);
            std::fs::create_dir_all(target.parent().expect("in a folder")).expect("a folder");
            std::fs::write(target, files.read(&path).unwrap_or_default()).expect("a file");
        }
        Some(Self { program, folder })
    }

    fn render(&self) -> usize {
        let status = Command::new(&self.program)
            .args(["template", "rel"])
            .arg(self.folder.path())
            .stdout(Stdio::null())
            .status();
        assert!(status.expect("Helm runs").success());
        0
    }
}
