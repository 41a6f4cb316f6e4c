//! How Helm shows a template's failure: one block per template on the way to it.

use template::Error;

/// What `fail` and `required` put around their message, so that it can be found again.
pub(crate) const START: &str = "HELM_ERR_START";
/// The other end of it.
pub(crate) const END: &str = "HELM_ERR_END";

/// A parse error, without the internals of the parser.
pub(crate) fn parse_error(file: &str, error: &Error) -> String {
    let text = error.to_string();
    let parts: Vec<&str> = text.split(": ").collect();
    match parts.as_slice() {
        [_, location, .., reason] => format!("parse error at ({location}): {reason}"),
        [_, location] => format!("parse error at ({location}): {location}"),
        _ => format!("parse error in ({file}): {text}"),
    }
}

/// An execution error as a trace, innermost last.
pub(crate) fn execution_error(file: &str, error: &Error) -> String {
    let text = error.to_string();
    let mut parts = text.splitn(3, ": ");
    let (Some(_), Some(location), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return format!("execution error in ({file}): {text}");
    };
    if let (Some(start), Some(end)) = (rest.find(START), rest.rfind(END))
        && start + START.len() <= end
    {
        let message = &rest[start + START.len()..end];
        return format!("execution error at ({location}): {message}");
    }
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for link in error.chain() {
        // A cause that is not about templates: the sentence as a whole says it better.
        let Some(block) = Block::parse(link) else { return text };
        if blocks.last() != Some(&block) {
            blocks.push(block);
        }
    }
    let shown: String = blocks.iter().map(Block::show).collect();
    shown.trim().to_owned()
}

#[derive(PartialEq, Default)]
struct Block<'a> {
    location: &'a str,
    function: String,
    message: &'a str,
}

impl<'a> Block<'a> {
    fn parse(link: &'a str) -> Option<Self> {
        let rest = link.strip_prefix("template: ")?;
        if rest.starts_with("no template ") {
            return Some(Self { message: link, ..Self::default() });
        }
        Self::parse_executing(rest).or_else(|| {
            let (location, message) = rest.rsplit_once(": ")?;
            Some(Self { location, message: without_next(message), ..Self::default() })
        })
    }

    fn parse_executing(rest: &'a str) -> Option<Self> {
        let (location, after) = rest.split_once(": executing ")?;
        let (name, after) = after.strip_prefix('"')?.split_once('"')?;
        let (place, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
        let function = format!("executing \"{name}\" at <{place}>:");
        Some(Self { location, function, message: without_next(message) })
    }

    fn show(&self) -> String {
        let mut out = String::new();
        if !self.location.is_empty() {
            out.push_str(&format!("{}\n  ", self.location));
        }
        if !self.function.is_empty() {
            out.push_str(&format!("{}\n    ", self.function));
        }
        if !self.message.is_empty() {
            out.push_str(&format!("{}\n", self.message));
        }
        out
    }
}

/// Cuts the next template's error off, which has a block of its own.
fn without_next(message: &str) -> &str {
    message.find(" template:").map_or(message, |at| &message[..at])
}
