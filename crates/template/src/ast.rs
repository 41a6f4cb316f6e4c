//! The parsed template, and how Go writes its parts in error messages.
//!
//! A [`Tree`] is immutable and free of borrowed text, so that it can be parsed once, kept and used
//! by many renders at the same time. A chart's trees are most of what a render holds in memory, so they
//! are packed: slices without spare room, names shared, texts as places in the source.

use std::fmt;
use std::sync::Arc;

use crate::strconv::quote;
use crate::value::Text;

/// One template: the body of a file, of a `define` or of a `block`.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) name: Arc<str>,
    pub(crate) source: Arc<Source>,
    pub(crate) root: NodeList,
}

impl Tree {
    /// Whether the template holds nothing but space and comments: Go keeps an older body then.
    pub(crate) fn is_empty(&self) -> bool {
        self.root.nodes.iter().all(|node| match node {
            Node::Text(text) => text.as_bytes().iter().all(u8::is_ascii_whitespace),
            _ => false,
        })
    }
}

/// The file a tree was cut from, for the line and column of messages.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: Arc<str>,
    pub(crate) text: Text,
}

impl Source {
    /// `name:line:column` of a position, counted as Go counts: lines from 1, columns in bytes from
    /// 0 (on the first line: from the start of the text).
    pub(crate) fn location(&self, position: usize) -> String {
        let before = &self.text.as_bytes()[..position.min(self.text.len())];
        let column = match before.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => position - newline - 1,
            None => position,
        };
        format!("{}:{}:{column}", self.name, self.line(position))
    }

    pub(crate) fn line(&self, position: usize) -> usize {
        let before = &self.text.as_bytes()[..position.min(self.text.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}

/// A piece of a source.
#[derive(Clone)]
pub(crate) struct Slice {
    source: Arc<Source>,
    start: u32,
    end: u32,
}

impl Slice {
    pub(crate) fn new(source: &Arc<Source>, start: usize, length: usize) -> Self {
        let source = Arc::clone(source);
        Self { source, start: narrow(start), end: narrow(start + length) }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.source.text.as_bytes()[self.start as usize..self.end as usize]
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self.as_bytes()), f)
    }
}

/// A place in a source; the parser takes none that is longer.
pub(crate) fn narrow(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// Names one after the other, as in `.Values.image.tag`.
pub(crate) type Names = Box<[Arc<str>]>;

#[derive(Debug)]
pub(crate) struct NodeList {
    pub(crate) nodes: Box<[Node]>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Text(Slice),
    Action(Action),
    If(Box<Branch>),
    With(Box<Branch>),
    Range(Box<Branch>),
    Template(Box<TemplateCall>),
    Break,
    Continue,
}

#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) position: u32,
    pub(crate) pipe: Pipe,
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) keyword: &'static str,
    pub(crate) position: u32,
    pub(crate) pipe: Pipe,
    pub(crate) list: NodeList,
    pub(crate) else_list: Option<NodeList>,
}

#[derive(Debug)]
pub(crate) struct TemplateCall {
    pub(crate) position: u32,
    pub(crate) name: Arc<str>,
    pub(crate) pipe: Option<Pipe>,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) position: u32,
    pub(crate) is_assignment: bool,
    pub(crate) declared: Names,
    pub(crate) commands: Box<[Command]>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) position: u32,
    pub(crate) operands: Box<[Operand]>,
}

#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) position: u32,
    pub(crate) term: Term,
}

#[derive(Debug)]
pub(crate) enum Term {
    Dot,
    Nil,
    Bool(bool),
    Number(Box<Number>),
    String(Box<StringConstant>),
    Identifier(Identifier),
    Field(Names),
    /// The variable's name and the fields that follow it.
    Variable(Names),
    Chain(Box<Chain>),
    Pipe(Box<Pipe>),
}

/// The name of a function.
#[derive(Debug)]
pub(crate) struct Identifier {
    pub(crate) name: Arc<str>,
    /// Where the function stood in the table when the text was parsed.
    pub(crate) slot: u32,
}

/// A string as written and as meant.
#[derive(Debug)]
pub(crate) struct StringConstant {
    pub(crate) quoted: Slice,
    pub(crate) text: Text,
}

/// Fields of what an operand stands for.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) base: Operand,
    pub(crate) fields: Names,
}

/// A number constant, under every Go type that can hold it.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) text: String,
    pub(crate) int: Option<i64>,
    pub(crate) float: Option<f64>,
}

impl Number {
    /// Whether the constant, where no type is asked for, is a `float64`.
    pub(crate) fn looks_like_float(&self) -> bool {
        let text = self.text.as_str();
        let is_hexadecimal = (text.starts_with("0x") || text.starts_with("0X"))
            && text.len() > 2
            && !text.contains(['p', 'P']);
        self.float.is_some()
            && !is_hexadecimal
            && !text.starts_with('\'')
            && text.contains(['.', 'e', 'E', 'p', 'P'])
    }
}

impl fmt::Display for NodeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.nodes.iter().try_for_each(|node| node.fmt(f))
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::Action(action) => action.fmt(f),
            Self::If(branch) | Self::With(branch) | Self::Range(branch) => branch.fmt(f),
            Self::Template(call) => call.fmt(f),
            Self::Break => f.write_str("{{break}}"),
            Self::Continue => f.write_str("{{continue}}"),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{{{}}}}}", self.pipe)
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{{{} {}}}}}{}", self.keyword, self.pipe, self.list)?;
        if let Some(else_list) = &self.else_list {
            write!(f, "{{{{else}}}}{else_list}")?;
        }
        f.write_str("{{end}}")
    }
}

impl fmt::Display for TemplateCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{{template {}", quote(self.name.as_bytes()))?;
        if let Some(pipe) = &self.pipe {
            write!(f, " {pipe}")?;
        }
        f.write_str("}}")
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.declared.is_empty() {
            f.write_str(&self.declared.join(", "))?;
            f.write_str(if self.is_assignment { " = " } else { " := " })?;
        }
        for (index, command) in self.commands.iter().enumerate() {
            if index > 0 {
                f.write_str(" | ")?;
            }
            command.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, operand) in self.operands.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            match &operand.term {
                Term::Pipe(pipe) => write!(f, "({pipe})")?,
                _ => operand.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dotted = |f: &mut fmt::Formatter<'_>, fields: &[Arc<str>]| {
            fields.iter().try_for_each(|field| write!(f, ".{field}"))
        };
        match &self.term {
            Term::Dot => f.write_str("."),
            Term::Nil => f.write_str("nil"),
            Term::Bool(truth) => truth.fmt(f),
            Term::Number(number) => f.write_str(&number.text),
            Term::String(constant) => constant.quoted.fmt(f),
            Term::Identifier(identifier) => f.write_str(&identifier.name),
            Term::Field(fields) => dotted(f, fields),
            Term::Variable(names) => {
                f.write_str(&names[0])?;
                dotted(f, &names[1..])
            }
            Term::Chain(chain) => {
                match &chain.base.term {
                    Term::Pipe(pipe) => write!(f, "({pipe})")?,
                    _ => chain.base.fmt(f)?,
                }
                dotted(f, &chain.fields)
            }
            Term::Pipe(pipe) => pipe.fmt(f),
        }
    }
}
