//! libFuzzer on one target, which the variable `FUZZ_TARGET` names.
//!
//! `cargo xtask fuzz` builds it with the instrumentation that libFuzzer needs
//! (LLVM's coverage counters, which the stable compiler can be told to insert)
//! and without sanitizers, which it cannot: our code has no `unsafe`.

#![no_main]

use std::sync::LazyLock;

use fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    fuzz::target(&name).unwrap_or_else(|| panic!("FUZZ_TARGET={name:?} names no target"))
});

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
