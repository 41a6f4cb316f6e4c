//! What `sigs.k8s.io/yaml` says about a text it cannot read.

use gocompat::yaml::{Error, Problem};

/// The complaint in Go's words.
pub fn yaml_error_text(error: &Error) -> String {
    const PREFIX: &str = "error converting YAML to JSON: ";
    let reason = match &error.problem {
        Problem::Syntax(text) => syntax(text, error.position.map_or(1, |at| at.line)),
        Problem::NotANumber(written) => {
            let shown = match *written {
                text if text.starts_with('-') => "-Inf",
                text if text.to_ascii_lowercase().contains("nan") => "NaN",
                _ => "+Inf",
            };
            return format!("{PREFIX}json: unsupported value: {shown}");
        }
        Problem::UnknownAnchor(name) => format!("unknown anchor '{name}' referenced"),
        Problem::SelfReference(name) => format!("anchor '{name}' value contains itself"),
        Problem::ExcessiveAliasing => "document contains excessive aliasing".into(),
        Problem::MergeOfNonMapping => {
            "map merge requires map or sequence of maps as the value".into()
        }
        other => other.to_string(),
    };
    format!("{PREFIX}yaml: {reason}")
}

/// goyaml counts lines from zero, adds one for the scanner's complaints only, and leaves the first
/// line out.
fn syntax(text: &str, line: u32) -> String {
    let (problem, context) = text.split_once(" while ").unwrap_or((text, ""));
    let is_parser = context.starts_with("parsing") || problem.starts_with("did not find expected");
    let line = if is_parser && !context.starts_with("scanning") {
        line.saturating_sub(1)
    } else if line == 1 {
        0
    } else {
        line
    };
    match line {
        0 => problem.to_owned(),
        line => format!("line {line}: {problem}"),
    }
}
