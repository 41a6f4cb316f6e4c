//! Slash-separated paths: Go's `path`, and `path/filepath` on Unix, which is the same.

use super::add_fixed;
use crate::arguments::text;
use crate::call::{Functions, Parameter};
use crate::value::Value;

pub(super) fn register(functions: &mut Functions) {
    use Parameter::String;
    add_fixed(
        functions,
        &[
            ("base", &[String], |_, a| Ok(Value::string(base(&text(&a[0]))))),
            ("osBase", &[String], |_, a| Ok(Value::string(base(&text(&a[0]))))),
            ("dir", &[String], |_, a| Ok(Value::string(dir(&text(&a[0]))))),
            ("osDir", &[String], |_, a| Ok(Value::string(dir(&text(&a[0]))))),
            ("clean", &[String], |_, a| Ok(Value::string(clean(&text(&a[0]))))),
            ("osClean", &[String], |_, a| Ok(Value::string(clean(&text(&a[0]))))),
            ("ext", &[String], |_, a| Ok(Value::string(ext(&text(&a[0]))))),
            ("osExt", &[String], |_, a| Ok(Value::string(ext(&text(&a[0]))))),
            ("isAbs", &[String], |_, a| Ok(Value::Bool(text(&a[0]).starts_with('/')))),
            ("osIsAbs", &[String], |_, a| Ok(Value::Bool(text(&a[0]).starts_with('/')))),
        ],
    );
}

fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit('/').next() {
        Some("") | None => "/",
        Some(last) => last,
    }
}

fn dir(path: &str) -> String {
    match path.rfind('/') {
        Some(slash) => clean(&path[..=slash]),
        None => ".".into(),
    }
}

fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".into(),
        (false, false) => joined,
    }
}

fn ext(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rfind('.').map_or("", |dot| &name[dot..])
}
