//! The sprig functions, with Go's results.
//!
//! One file per subject; each adds its functions to the table. Time and randomness come through
//! [`crate::Facts`]. Functions of the operating system and the network (`env`, `expandenv`,
//! `getHostByName`) are absent: a template must not learn anything of the machine it runs on.

mod cases;
mod certificates;
mod crypto;
mod dates;
mod der;
mod durations;
mod encoding;
mod layout;
mod lists;
mod maps;
mod numbers;
mod paths;
mod reflection;
mod regex_syntax;
mod regexes;
mod strings;
mod time_numbers;
mod urls;
mod versions;

use crate::call::{Function, Functions, Parameter, PlainBody};

pub(crate) use dates::time_of_toml;
pub(crate) use regexes::Regexes;
pub(crate) use strings::string_value;
pub(crate) use time_numbers::{method_of_int, text_of_int};

/// A row of a function table.
type Row = (&'static str, &'static [Parameter], PlainBody);

impl Functions {
    /// Go's own functions and all of sprig's that do not touch the machine.
    pub fn sprig() -> Self {
        let mut functions = Self::builtin();
        for register in [
            certificates::register,
            crypto::register,
            dates::register,
            encoding::register,
            lists::register,
            maps::register,
            numbers::register,
            paths::register,
            reflection::register,
            regexes::register,
            strings::register,
            urls::register,
            versions::register,
        ] {
            register(&mut functions);
        }
        functions
    }
}

fn add_fixed(functions: &mut Functions, rows: &[Row]) {
    for (name, parameters, body) in rows {
        functions.add(name, Function::new(parameters, *body));
    }
}

fn add_variadic(functions: &mut Functions, rows: &[Row]) {
    for (name, parameters, body) in rows {
        functions.add(name, Function::variadic(parameters, *body));
    }
}
