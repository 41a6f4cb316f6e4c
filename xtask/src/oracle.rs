//! `cargo xtask oracle NAME`: holds ours against the real program.
//!
//! Each oracle installs the real one, pinned, outside of the checkout, gives both the same input and
//! prints what differs. `--bless` records the real one's answers; ordinary tests read the record and
//! need neither Go nor the program.

mod helm;
mod kustomize;

use anyhow::bail;

struct Oracle {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

const ORACLES: &[Oracle] = &[
    Oracle {
        name: "helm",
        about: "charts, expressions, broken and generated templates, by Helm 4.2.4 [--bless | --bench]",
        run: helm::run,
    },
    Oracle {
        name: "kustomize",
        about: "trees, overrides, random overlays and charts, by Kustomize 5.8.1 [--bless | --bench | --random N]",
        run: kustomize::run,
    },
];

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        for oracle in ORACLES {
            println!("cargo xtask oracle {:<10} {}", oracle.name, oracle.about);
        }
        return Ok(());
    };
    match ORACLES.iter().find(|oracle| oracle.name == name) {
        Some(oracle) => (oracle.run)(rest),
        None => bail!("there is no oracle {name:?}; `cargo xtask oracle` lists them"),
    }
}
