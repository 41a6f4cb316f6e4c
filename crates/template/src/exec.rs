//! Executes parsed templates: Go's walk over the tree, with limits that Go does not have.
//!
//! Start with `State::walk`; what stands inside an action is the subject of `evaluate`. An error names
//! the template, the line and the column of the node the walk stood on, in Go's words.

mod evaluate;

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use crate::ast::{Branch, Node, NodeList, Pipe, TemplateCall, Tree};
use crate::error::Error;
use crate::print;
use crate::run::Run;
use crate::strconv::quote;
use crate::template_set::Templates;
use crate::value::{ElementType, Text, UintType, Value};

pub(crate) fn execute(
    run: &Run<'_>,
    templates: &Rc<Templates>,
    name: &str,
    data: &Value,
) -> Result<Vec<u8>, Error> {
    execute_tree(run, templates, find(templates, name)?, data)
}

/// The template of that name, or Go's complaint.
pub(crate) fn find<'t>(templates: &'t Templates, name: &str) -> Result<&'t Tree, Error> {
    match templates.get(name) {
        Some(tree) => Ok(tree),
        None => {
            let (name, root) = (quote(name.as_bytes()), quote(b"gotpl"));
            Err(Error::function(format!(
                "template: no template {name} associated with template {root}"
            )))
        }
    }
}

pub(crate) fn execute_tree(
    run: &Run<'_>,
    templates: &Rc<Templates>,
    tree: &Tree,
    data: &Value,
) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let dot = Slot::concrete(data.clone()).unwrapped();
    let mut state = State {
        run,
        templates,
        tree,
        out: &mut out,
        root: dot.clone(),
        variables: Vec::new(),
        at: None,
    };
    state.enter(&dot)?;
    Ok(out)
}

/// A value with what Go's reflection also knows: whether it was read out of an `interface {}`.
/// Only error messages show the difference.
#[derive(Clone)]
struct Slot {
    value: Value,
    is_interface: bool,
}

impl Slot {
    fn concrete(value: Value) -> Self {
        Self { value, is_interface: false }
    }

    fn interface(value: Value) -> Self {
        Self { value, is_interface: true }
    }

    fn type_name(&self) -> String {
        if self.is_interface || matches!(self.value, Value::Nil) {
            return "interface {}".into();
        }
        self.value.type_name().into_owned()
    }

    /// What the end of a pipeline does: the thing inside the interface, or nothing.
    fn unwrapped(self) -> Self {
        match self.value {
            Value::Nil => Self::concrete(Value::Nothing),
            value => Self::concrete(value),
        }
    }
}

enum Flow {
    Next,
    Break,
    Continue,
}

/// Where the walk stands, for messages.
#[derive(Clone, Copy)]
struct At<'t> {
    position: u32,
    shown: &'t dyn fmt::Display,
}

struct State<'t, 'r> {
    run: &'r Run<'r>,
    templates: &'t Rc<Templates>,
    tree: &'t Tree,
    out: &'r mut Vec<u8>,
    /// What `$` is, unless the template declares a variable of that name.
    root: Slot,
    variables: Vec<(&'t Arc<str>, Slot)>,
    at: Option<At<'t>>,
}

impl<'t> State<'t, '_> {
    fn enter(&mut self, dot: &Slot) -> Result<(), Error> {
        let depth = self.run.depth.get();
        if depth >= self.run.limits.depth {
            let limit = self.run.limits.depth;
            return Err(self.limit(&format!("exceeded maximum template depth ({limit})")));
        }
        self.run.depth.set(depth + 1);
        let tree = self.tree;
        let result = self.walk_list(dot, &tree.root);
        self.run.depth.set(depth);
        result.map(|_| ())
    }

    fn at(&mut self, position: u32, shown: &'t dyn fmt::Display) {
        self.at = Some(At { position, shown });
    }

    fn error(&self, message: impl fmt::Display) -> Error {
        Error::template(self.located(message), None)
    }

    fn limit(&self, message: &str) -> Error {
        Error::template(self.located(message), Some(Error::limit(message)))
    }

    fn located(&self, message: impl fmt::Display) -> String {
        let name = &self.tree.name;
        match self.at {
            None => format!("template: {name}: {message}"),
            Some(at) => {
                let location = self.tree.source.location(at.position as usize);
                format!("template: {location}: executing {name:?} at <{}>: {message}", at.shown)
            }
        }
    }

    fn charge(&self, steps: usize) -> Result<(), Error> {
        self.run.charge(steps).map_err(|error| self.wrapped(&error.to_string(), error))
    }

    fn wrapped(&self, message: &str, cause: Error) -> Error {
        Error::template(self.located(message), Some(cause))
    }

    fn walk_list(&mut self, dot: &Slot, list: &'t NodeList) -> Result<Flow, Error> {
        for node in &list.nodes {
            match self.walk(dot, node)? {
                Flow::Next => {}
                stop => return Ok(stop),
            }
        }
        Ok(Flow::Next)
    }

    fn walk(&mut self, dot: &Slot, node: &'t Node) -> Result<Flow, Error> {
        self.charge(1)?;
        match node {
            Node::Text(text) => {
                self.out.extend_from_slice(text.as_bytes());
                self.check_output()?;
            }
            Node::Action(action) => {
                self.at(action.position, action);
                let value = self.pipeline(dot, &action.pipe)?.value;
                if action.pipe.declared.is_empty() {
                    self.at(action.position, action);
                    self.print(action, &value)?;
                }
            }
            Node::If(branch) => return self.walk_if(dot, branch),
            Node::With(branch) => return self.walk_with(dot, branch),
            Node::Range(branch) => return self.walk_range(dot, branch),
            Node::Template(call) => self.walk_template(dot, call)?,
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn check_stack(&self) -> Result<(), Error> {
        if self.run.base.is_exceeded(self.run.limits.stack) {
            return Err(self.limit("exceeded maximum template depth: nested too deeply"));
        }
        Ok(())
    }

    fn check_output(&self) -> Result<(), Error> {
        self.run.check_size(self.out.len()).map_err(|error| self.wrapped(&error.to_string(), error))
    }

    fn print(&mut self, node: &dyn fmt::Display, value: &Value) -> Result<(), Error> {
        match value {
            Value::Nothing => self.out.extend_from_slice(b"<no value>"),
            Value::String(text) => self.out.extend_from_slice(text.as_bytes()),
            Value::Function(_) => {
                let message = format!("can't print {node} of type {}", value.type_name());
                return Err(self.error(message));
            }
            Value::Object(object) => match object.addressed_text() {
                Some(text) => self.out.extend_from_slice(text.as_bytes()),
                None => print::append(self.out, value),
            },
            value => print::append(self.out, value),
        }
        self.check_output()
    }

    fn walk_if(&mut self, dot: &Slot, branch: &'t Branch) -> Result<Flow, Error> {
        let mark = self.variables.len();
        self.at(branch.position, branch);
        let value = self.pipeline(dot, &branch.pipe)?.value;
        let flow = match (&branch.else_list, value.is_true()) {
            (_, true) => self.walk_list(dot, &branch.list)?,
            (Some(list), false) => self.walk_list(dot, list)?,
            (None, false) => Flow::Next,
        };
        self.variables.truncate(mark);
        Ok(flow)
    }

    fn walk_with(&mut self, dot: &Slot, branch: &'t Branch) -> Result<Flow, Error> {
        let mark = self.variables.len();
        self.at(branch.position, branch);
        let value = self.pipeline(dot, &branch.pipe)?;
        let flow = match (&branch.else_list, value.value.is_true()) {
            (_, true) => self.walk_list(&value, &branch.list)?,
            (Some(list), false) => self.walk_list(dot, list)?,
            (None, false) => Flow::Next,
        };
        self.variables.truncate(mark);
        Ok(flow)
    }

    fn walk_range(&mut self, dot: &Slot, branch: &'t Branch) -> Result<Flow, Error> {
        let mark = self.variables.len();
        self.at(branch.position, branch);
        let value = self.pipeline(dot, &branch.pipe)?.value;
        let ran = self.range_over(branch, &value)?;
        self.variables.truncate(mark);
        match (&branch.else_list, ran) {
            (Some(list), Ran::Never) => self.walk_list(dot, list),
            (_, _) => Ok(Flow::Next),
        }
    }

    fn range_over(&mut self, branch: &'t Branch, value: &Value) -> Result<Ran, Error> {
        match value {
            Value::Nothing | Value::Nil => Ok(Ran::Never),
            Value::Int(kind, count) => {
                self.range_count(branch, value, *count, |n| Value::Int(*kind, n))
            }
            Value::Uint(kind, count) => {
                let count = i64::try_from(*count).unwrap_or(i64::MAX);
                self.range_count(branch, value, count, |n| Value::Uint(*kind, n.unsigned_abs()))
            }
            Value::List(list) => {
                let is_interface = list.element_type() == ElementType::Any;
                // One by one from the list itself: the loop may sort it.
                let items = (0..list.len()).map(|index| {
                    let item = Slot { value: list[index].clone(), is_interface };
                    (Slot::concrete(Value::int(index as i64)), item)
                });
                self.iterate(branch, items)
            }
            Value::Bytes(bytes) => {
                let items = bytes.as_bytes().iter().enumerate().map(|(index, byte)| {
                    let byte = Value::Uint(UintType::Uint8, u64::from(*byte));
                    (Slot::concrete(Value::int(index as i64)), Slot::concrete(byte))
                });
                self.iterate(branch, items)
            }
            Value::Map(map) => {
                let is_interface = map.class().holds_any();
                // A copy, because the body may change the map.
                let entries: Vec<(Text, Value)> =
                    map.entries().iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                let items = entries.into_iter().map(|(key, value)| {
                    (Slot::concrete(Value::String(key)), Slot { value, is_interface })
                });
                self.iterate(branch, items)
            }
            other => {
                let shown = print::to_bytes(other);
                let shown = String::from_utf8_lossy(&shown);
                Err(self.error(format_args!("range can't iterate over {shown}")))
            }
        }
    }

    fn range_count(
        &mut self,
        branch: &'t Branch,
        value: &Value,
        count: i64,
        number: impl Fn(i64) -> Value,
    ) -> Result<Ran, Error> {
        if branch.pipe.declared.len() > 1 {
            let shown = print::to_bytes(value);
            let shown = String::from_utf8_lossy(&shown);
            let message = format!("can't use {shown} to iterate over more than one variable");
            return Err(self.error(message));
        }
        let nothing = || Slot::concrete(Value::Nothing);
        self.iterate(branch, (0..count).map(|n| (nothing(), Slot::concrete(number(n)))))
    }

    fn iterate(
        &mut self,
        branch: &'t Branch,
        items: impl Iterator<Item = (Slot, Slot)>,
    ) -> Result<Ran, Error> {
        let mark = self.variables.len();
        let mut ran = Ran::Never;
        for (index, element) in items {
            ran = Ran::Once;
            self.charge(1)?;
            self.bind_iteration(&branch.pipe, index, &element)?;
            let flow = self.walk_list(&element, &branch.list)?;
            self.variables.truncate(mark);
            if let Flow::Break = flow {
                break;
            }
        }
        Ok(ran)
    }

    fn bind_iteration(&mut self, pipe: &Pipe, index: Slot, element: &Slot) -> Result<(), Error> {
        if pipe.is_assignment {
            match &*pipe.declared {
                [] => Ok(()),
                [only] => self.assign(only, element.clone()),
                [first, second, ..] => {
                    self.assign(first, index)?;
                    self.assign(second, element.clone())
                }
            }
        } else {
            let top = self.variables.len();
            match pipe.declared.len() {
                0 => {}
                1 => self.variables[top - 1].1 = element.clone(),
                _ => {
                    self.variables[top - 1].1 = element.clone();
                    self.variables[top - 2].1 = index;
                }
            }
            Ok(())
        }
    }

    fn walk_template(&mut self, dot: &Slot, call: &'t TemplateCall) -> Result<(), Error> {
        self.at(call.position, call);
        let Some(tree) = self.templates.get(&call.name) else {
            let name = quote(call.name.as_bytes());
            return Err(self.error(format_args!("template {name} not defined")));
        };
        let data = match &call.pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Slot::concrete(Value::Nothing),
        };
        let mut inner = State {
            run: self.run,
            templates: self.templates,
            tree,
            out: &mut *self.out,
            root: data.clone(),
            variables: Vec::new(),
            at: self.at,
        };
        inner.enter(&data)
    }
}

/// Whether a range had anything to iterate over.
enum Ran {
    Never,
    Once,
}
