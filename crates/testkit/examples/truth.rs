//! Holds what Applications say of themselves against git and the API server, until its input ends.
//!
//! `truth KUBECTL SECONDS`: a program that is kubectl for the cluster, and how long a status may be
//! wrong. Prints every lie and fails if there was one.

#![expect(clippy::print_stdout, reason = "what it found is the result")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use testkit::truth::Checker;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let kubectl = arguments.next().map(PathBuf::from);
    let patience = arguments.next().and_then(|it| it.parse().ok()).map(Duration::from_secs);
    let (Some(kubectl), Some(patience)) = (kubectl, patience) else {
        println!("usage: truth KUBECTL SECONDS");
        return ExitCode::from(2);
    };
    let checker = Checker::start(kubectl, patience);
    // However reading ends, whoever asked has seen enough.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).ok();
    let lies = checker.lies();
    for lie in &lies {
        println!("{} said {:?}, but {}", lie.app, lie.claim, lie.truth);
    }
    if lies.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
