//! `cargo xtask fuzz`: searches each fuzz target for inputs that break it.
//!
//! Coverage-guided by libFuzzer on the stable toolchain. What it finds is kept in
//! `fuzz/found`, of which the inputs worth keeping belong in the corpus.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

use crate::shell::{cargo, output, root, stage};

/// What LLVM must insert for libFuzzer to see which code an input reaches.
const INSTRUMENT: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// `fuzz [TARGET…] [--seconds N]`: all targets, a minute each, unless said otherwise.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (wanted, seconds) = read(arguments)?;
    let corpus = root().join("fuzz/corpus");
    let known = targets(&corpus)?;
    if let Some(unknown) = wanted.iter().find(|it| !known.contains(it)) {
        bail!("there is no target {unknown:?}, only {}", known.join(", "));
    }
    let explorer = build()?;
    let found = root().join("fuzz/found");
    let mut broken = Vec::new();
    for name in known.iter().filter(|it| wanted.is_empty() || wanted.contains(it)) {
        let discoveries = found.join(name);
        std::fs::create_dir_all(&discoveries)
            .with_context(|| format!("could not make {}", discoveries.display()))?;
        let mut explorer = std::process::Command::new(&explorer);
        explorer
            .env("FUZZ_TARGET", name)
            // Where it writes what it learns, then where it learns from.
            .args([&discoveries, &corpus.join(name)])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-artifact_prefix={}/broken-{name}-", found.display()))
            .args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-verbosity=0"])
            .arg("-print_final_stats=1");
        // What one target finds is no reason to leave the others alone.
        if let Err(error) = stage(&format!("fuzz {name}"), &mut explorer) {
            println!("{error:#}");
            broken.push(name.as_str());
        }
    }
    if !broken.is_empty() {
        let found = found.display();
        bail!("broken: {}; the inputs that did it are {found}/broken-*", broken.join(", "));
    }
    Ok(())
}

fn read(arguments: &[String]) -> anyhow::Result<(Vec<String>, u32)> {
    let (mut wanted, mut seconds) = (Vec::new(), 60);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            let number = arguments.next().context("--seconds needs a number")?;
            seconds = number.parse().with_context(|| format!("{number:?} is no number"))?;
        } else {
            wanted.push(argument.clone());
        }
    }
    Ok((wanted, seconds))
}

/// A folder of the corpus is a target; a test sees to it that none is missing.
fn targets(corpus: &std::path::Path) -> anyhow::Result<Vec<String>> {
    let folders = std::fs::read_dir(corpus)
        .with_context(|| format!("could not read {}", corpus.display()))?;
    let mut names: Vec<String> =
        folders.flatten().map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn build() -> anyhow::Result<PathBuf> {
    let manifest = root().join("fuzz/explore/Cargo.toml");
    let manifest = manifest.display().to_string();
    let target = root().join("fuzz/explore/target");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or(target, |it| PathBuf::from(it).join("fuzz"));
    // With a target named, build scripts and macros stay without instruments.
    let host = host()?;
    let build = ["build", "--release", "--manifest-path", &manifest, "--target", &host];
    let mut build = cargo(&build);
    build.env("RUSTFLAGS", INSTRUMENT.join(" ")).env("CARGO_TARGET_DIR", &target);
    stage("build with coverage", &mut build)?;
    Ok(target.join(host).join("release/explore"))
}

fn host() -> anyhow::Result<String> {
    let said = output(std::process::Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say for what it compiles")
}
