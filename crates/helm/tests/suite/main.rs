//! Ours beside Helm 4.2.4: the same bytes, the same messages.
//!
//! Every answer of Helm is on record in `corpus`, so these tests need no Helm. Where a module also
//! has a test that ends in `by_the_real_helm`, that one asks the real program, which
//! `cargo xtask oracle helm` installs and names in `HELM`; with `BLESS` set it writes the record.
//!
//! - `charts`: whole charts, in the style of what people publish
//! - `expressions`: every function and construct, one line each
//! - `broken`: charts and templates that must fail, and in which words
//! - `generated`: templates that nobody wrote
//! - `settings`: what is given on the command line, and the values it makes
//! - `shared_cases`: the folder of cases beside the project, where there is one
//! - `hostile`: what must end soon, in little memory

#![expect(clippy::print_stdout, reason = "counts and differences are what these tests are for")]
#![expect(clippy::disallowed_methods, reason = "tests read their corpus from disk")]
#![expect(clippy::disallowed_types, reason = "the oracle is a process")]

mod broken;
mod charts;
mod command;
mod corpus;
mod expressions;
mod generated;
mod hostile;
mod large_chart;
mod real_helm;
mod settings;
mod shared_cases;
mod world;
