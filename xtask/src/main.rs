//! The project's chores. `cargo xtask` with no argument lists them.

#![expect(clippy::print_stdout, reason = "a command-line program talks on the terminal")]

mod bench;
mod bless;
mod codegen;
mod demo;
mod dev;
mod fuzz;
mod guestbook;
mod oracle;
mod product;
mod programs;
mod shell;
mod test;
mod tidy;

use anyhow::bail;

struct Chore {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

const CHORES: [Chore; 9] = [
    Chore { name: "test", about: "everything a change must pass", run: test::run },
    Chore {
        name: "demo",
        about: "a first application, from git to Synced [--once] [--context NAME]",
        run: demo::run,
    },
    Chore {
        name: "bench",
        about: "measure against the raw floor, write docs/benchmarks.md; `bench api` the API",
        run: bench::run,
    },
    Chore {
        name: "tidy",
        about: "arrows between crates, module comments, licences, generated files",
        run: tidy::run,
    },
    Chore { name: "codegen", about: "write the generated files (CRDs)", run: codegen::run },
    Chore { name: "bless", about: "record the answers of the Go libraries anew", run: bless::run },
    Chore {
        name: "oracle",
        about: "hold ours against the real program: `oracle helm` [--bless | --bench]",
        run: oracle::run,
    },
    Chore {
        name: "fuzz",
        about: "search for inputs that break a reader [TARGET…] [--seconds N]",
        run: fuzz::run,
    },
    Chore {
        name: "dev",
        about: "`dev cluster`: a local Kubernetes cluster, until Ctrl-C",
        run: dev::run,
    },
];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        for chore in &CHORES {
            println!("cargo xtask {:<8} {}", chore.name, chore.about);
        }
        return Ok(());
    };
    match CHORES.iter().find(|chore| chore.name == name) {
        Some(chore) => (chore.run)(rest),
        None => bail!("there is no chore {name:?}; `cargo xtask` lists them"),
    }
}
