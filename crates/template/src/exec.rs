//! Executes parsed templates: Go's walk over the tree, with limits that Go does not have.
//!
//! Start with [`Engine::execute`], then `State::walk`. An error names the template, the line and
//! the column of the node the walk stood on, in Go's words.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use crate::ast::{
    Branch, Command, Node, NodeList, Number, Operand, Pipe, TemplateCall, Term, Tree,
};
use crate::call::{Call, Facts, Function, Functions, Parameter};
use crate::circles::ChangedMaps;
use crate::error::Error;
use crate::print;
use crate::sprig::Regexes;
use crate::stack::StackBase;
use crate::strconv::quote;
use crate::template_set::Templates;
use crate::value::{ElementType, Member, Text, UintType, Value};

/// What a missing map key gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// Nothing, and so on for its fields: `missingkey=default`.
    #[default]
    Nothing,
    /// The zero of the map's element type: `missingkey=zero`.
    Zero,
    /// An error: `missingkey=error`.
    Error,
}

/// How far an execution may go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Templates inside templates, by `template`, `include` or `tpl`.
    pub depth: usize,
    /// Nodes, calls and units of work of expensive functions.
    pub steps: u64,
    /// Bytes of one text: the output, or what a function returns. At most 32 MiB.
    pub output: usize,
    /// Bytes of the thread's stack. Half of what threads usually have is the default.
    pub stack: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 1000, steps: 50_000_000, output: 16 << 20, stack: 1 << 20 }
    }
}

/// Everything an execution needs beside the templates and their data.
pub struct Engine<'a> {
    /// The functions that templates may call.
    pub functions: &'a Functions,
    /// What a missing map key gives.
    pub missing_key: MissingKey,
    /// How far an execution may go.
    pub limits: Limits,
    /// Time and randomness.
    pub facts: &'a dyn Facts,
}

impl Engine<'_> {
    /// Begins a run: executions that share one budget.
    pub fn start(&self) -> Run<'_> {
        Run {
            functions: self.functions,
            missing_key: self.missing_key,
            limits: Limits { output: self.limits.output.min(print::MAX_TEXT - 1), ..self.limits },
            facts: self.facts,
            steps: Cell::new(0),
            base: StackBase::here(),
            changed: ChangedMaps::default(),
            regexes: Regexes::default(),
            depth: Cell::new(0),
        }
    }

    /// Executes one template in a run of its own.
    pub fn execute(
        &self,
        templates: &Rc<Templates>,
        name: &str,
        data: &Value,
    ) -> Result<Vec<u8>, Error> {
        self.start().execute(templates, name, data)
    }
}

/// Executions that share one budget of steps.
pub struct Run<'a> {
    pub(crate) functions: &'a Functions,
    missing_key: MissingKey,
    limits: Limits,
    pub(crate) facts: &'a dyn Facts,
    steps: Cell<u64>,
    base: StackBase,
    pub(crate) changed: ChangedMaps,
    depth: Cell<usize>,
    pub(crate) regexes: Regexes,
}

impl Run<'_> {
    /// Executes the named template on `data`.
    pub fn execute(
        &self,
        templates: &Rc<Templates>,
        name: &str,
        data: &Value,
    ) -> Result<Vec<u8>, Error> {
        execute(self, templates, name, data)
    }

    pub(crate) fn charge(&self, steps: usize) -> Result<(), Error> {
        let spent = self.steps.get().saturating_add(steps as u64);
        self.steps.set(spent);
        if spent > self.limits.steps {
            let limit = self.limits.steps;
            return Err(Error::limit(format!("template takes more than {limit} steps")));
        }
        Ok(())
    }

    pub(crate) fn check_size(&self, bytes: usize) -> Result<(), Error> {
        if bytes > self.limits.output {
            let limit = self.limits.output;
            return Err(Error::limit(format!("text is longer than {limit} bytes")));
        }
        Ok(())
    }
}

pub(crate) fn execute(
    run: &Run<'_>,
    templates: &Rc<Templates>,
    name: &str,
    data: &Value,
) -> Result<Vec<u8>, Error> {
    let Some(tree) = templates.get(name) else {
        let (name, root) = (quote(name.as_bytes()), quote(b"gotpl"));
        return Err(Error::function(format!(
            "template: no template {name} associated with template {root}"
        )));
    };
    execute_tree(run, templates, tree, data)
}

pub(crate) fn execute_tree(
    run: &Run<'_>,
    templates: &Rc<Templates>,
    tree: &Tree,
    data: &Value,
) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let dot = Slot::concrete(data.clone());
    let mut state = State {
        run,
        templates,
        tree,
        out: &mut out,
        variables: vec![(Arc::from("$"), dot.clone())],
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
    position: usize,
    shown: &'t dyn fmt::Display,
}

struct State<'t, 'r> {
    run: &'r Run<'r>,
    templates: &'t Rc<Templates>,
    tree: &'t Tree,
    out: &'r mut Vec<u8>,
    variables: Vec<(Arc<str>, Slot)>,
    at: Option<At<'t>>,
}

/// The arguments of a call: its operands, the first being the function itself, and what comes
/// through the pipe.
#[derive(Clone, Copy)]
struct Arguments<'t, 'p> {
    operands: &'t [Operand],
    piped: Option<&'p Slot>,
}

impl Arguments<'_, '_> {
    const NONE: Self = Self { operands: &[], piped: None };

    fn are_given(&self) -> bool {
        self.operands.len() > 1 || self.piped.is_some()
    }
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

    fn at(&mut self, position: usize, shown: &'t dyn fmt::Display) {
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
                let location = self.tree.source.location(at.position);
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
                let items = list.iter().enumerate().map(|(index, item)| {
                    let item = Slot { value: item.clone(), is_interface };
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
            match pipe.declared.as_slice() {
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
            variables: vec![(Arc::from("$"), data.clone())],
            at: self.at,
        };
        inner.enter(&data)
    }

    fn assign(&mut self, name: &str, value: Slot) -> Result<(), Error> {
        let slot = self.variables.iter_mut().rev().find(|(known, _)| known.as_ref() == name);
        match slot {
            Some((_, slot)) => {
                *slot = value;
                Ok(())
            }
            None => Err(self.error(format_args!("undefined variable: {name}"))),
        }
    }

    fn pipeline(&mut self, dot: &Slot, pipe: &'t Pipe) -> Result<Slot, Error> {
        self.at(pipe.position, pipe);
        self.check_stack()?;
        let mut piped: Option<Slot> = None;
        for command in &pipe.commands {
            let value = self.command(dot, command, piped.as_ref())?;
            piped = Some(value.unwrapped());
        }
        let value = piped.unwrap_or_else(|| Slot::concrete(Value::Nothing));
        for name in &pipe.declared {
            if pipe.is_assignment {
                self.assign(name, value.clone())?;
            } else {
                self.variables.push((Arc::clone(name), value.clone()));
            }
        }
        Ok(value)
    }

    fn command(
        &mut self,
        dot: &Slot,
        command: &'t Command,
        piped: Option<&Slot>,
    ) -> Result<Slot, Error> {
        let first = &command.operands[0];
        let given = Arguments { operands: &command.operands, piped };
        match &first.term {
            Term::Field(fields) => {
                self.at(first.position, first);
                self.fields(dot, dot.clone(), first, fields, given)
            }
            Term::Chain { base, fields } => self.chain(dot, first, base, fields, given),
            Term::Identifier(name) => {
                self.at(first.position, first);
                self.call_named(dot, name, (command.position, command), given)
            }
            Term::Pipe(pipe) => {
                self.refuse_arguments(first, &given)?;
                self.pipeline(dot, pipe)
            }
            Term::Variable { name, fields } => self.variable(dot, first, name, fields, given),
            _ => {
                self.at(first.position, first);
                self.refuse_arguments(first, &given)?;
                match &first.term {
                    Term::Nil => Err(self.error("nil is not a command")),
                    _ => self.literal(dot, first),
                }
            }
        }
    }

    fn refuse_arguments(&self, operand: &Operand, given: &Arguments<'_, '_>) -> Result<(), Error> {
        if given.are_given() {
            // Inside a command a parenthesised pipeline prints bare.
            return Err(self.error(format_args!("can't give argument to non-function {operand}")));
        }
        Ok(())
    }

    fn literal(&mut self, dot: &Slot, operand: &'t Operand) -> Result<Slot, Error> {
        Ok(match &operand.term {
            Term::Bool(truth) => Slot::concrete(Value::Bool(*truth)),
            Term::Dot => dot.clone(),
            Term::String { text, .. } => Slot::concrete(Value::String(text.clone())),
            Term::Number(number) => {
                self.at(operand.position, operand);
                Slot::concrete(self.ideal_constant(number)?)
            }
            _ => {
                let shown = quote(operand.to_string().as_bytes());
                return Err(self.error(format_args!("can't evaluate command {shown}")));
            }
        })
    }

    fn ideal_constant(&self, number: &Number) -> Result<Value, Error> {
        match (number.float, number.int) {
            (Some(float), _) if number.looks_like_float() => Ok(Value::Float(float)),
            (_, Some(int)) => Ok(Value::int(int)),
            _ => Err(self.error(format_args!("{} overflows int", number.text))),
        }
    }

    fn chain(
        &mut self,
        dot: &Slot,
        operand: &'t Operand,
        base: &'t Operand,
        fields: &'t [Arc<str>],
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        self.at(operand.position, operand);
        let receiver = match &base.term {
            Term::Nil => {
                let message = format!("indirection through explicit nil in {operand}");
                return Err(self.error(message));
            }
            _ => self.operand(dot, base)?,
        };
        self.fields(dot, receiver, operand, fields, given)
    }

    fn variable(
        &mut self,
        dot: &Slot,
        operand: &'t Operand,
        name: &str,
        fields: &'t [Arc<str>],
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        self.at(operand.position, operand);
        let found = self.variables.iter().rev().find(|(known, _)| known.as_ref() == name);
        let Some((_, value)) = found else {
            return Err(self.error(format_args!("undefined variable: {name}")));
        };
        let value = value.clone();
        if fields.is_empty() {
            self.refuse_arguments(operand, &given)?;
            return Ok(value);
        }
        self.fields(dot, value, operand, fields, given)
    }

    /// The value of an operand for which no type is asked.
    fn operand(&mut self, dot: &Slot, operand: &'t Operand) -> Result<Slot, Error> {
        match &operand.term {
            Term::Field(fields) => {
                self.at(operand.position, operand);
                self.fields(dot, dot.clone(), operand, fields, Arguments::NONE)
            }
            Term::Variable { name, fields } => {
                self.variable(dot, operand, name, fields, Arguments::NONE)
            }
            Term::Pipe(pipe) => {
                self.at(operand.position, operand);
                self.pipeline(dot, pipe)
            }
            Term::Identifier(name) => {
                self.at(operand.position, operand);
                self.call_named(dot, name, (operand.position, operand), Arguments::NONE)
            }
            Term::Chain { base, fields } => self.chain(dot, operand, base, fields, Arguments::NONE),
            _ => self.literal(dot, operand),
        }
    }

    fn fields(
        &mut self,
        dot: &Slot,
        mut receiver: Slot,
        node: &'t Operand,
        fields: &'t [Arc<str>],
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        let (last, leading) = fields.split_last().expect("the parser makes no empty field chain");
        for name in leading {
            receiver = self.field(dot, &receiver, node, name, Arguments::NONE)?;
        }
        self.field(dot, &receiver, node, last, given)
    }

    fn field(
        &mut self,
        dot: &Slot,
        receiver: &Slot,
        node: &'t Operand,
        name: &'t str,
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        match &receiver.value {
            Value::Nothing if self.run.missing_key == MissingKey::Error => {
                let name = quote(name.as_bytes());
                return Err(self.error(format_args!("nil data; no entry for key {name}")));
            }
            Value::Nothing => return Ok(Slot::concrete(Value::Nothing)),
            Value::Nil => {
                let message = format!("nil pointer evaluating interface {{}}.{name}");
                return Err(self.error(message));
            }
            Value::Map(map) => {
                if let crate::value::MapClass::Named(named) = map.class()
                    && let Some(method) = (named.method)(map, name)
                {
                    return self.call(dot, &method, name, (node.position, node), given);
                }
                if given.are_given() {
                    let message = format!("{name} is not a method but has arguments");
                    return Err(self.error(message));
                }
                let is_interface = map.class().holds_any();
                if let Some(value) = map.get(name.as_bytes()) {
                    return Ok(Slot { value, is_interface });
                }
                return match self.run.missing_key {
                    MissingKey::Nothing => Ok(Slot::concrete(Value::Nothing)),
                    MissingKey::Zero => Ok(Slot { value: map.class().zero(), is_interface }),
                    MissingKey::Error => {
                        let name = quote(name.as_bytes());
                        Err(self.error(format_args!("map has no entry for key {name}")))
                    }
                };
            }
            Value::List(list) => {
                if let Some(method) = list.method(name) {
                    return self.call(dot, &method, name, (node.position, node), given);
                }
            }
            Value::Object(object) => match object.member(name) {
                Some(Member::Method(method)) => {
                    return self.call(dot, &method, name, (node.position, node), given);
                }
                Some(Member::Field(_)) if given.are_given() => {
                    let message = format!("{name} has arguments but cannot be invoked as function");
                    return Err(self.error(message));
                }
                Some(Member::Field(value)) => return Ok(Slot::concrete(value)),
                None => {}
            },
            _ => {}
        }
        let type_name = receiver.type_name();
        Err(self.error(format_args!("can't evaluate field {name} in type {type_name}")))
    }

    fn call_named(
        &mut self,
        dot: &Slot,
        name: &'t str,
        node: (usize, &'t dyn fmt::Display),
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        let run = self.run;
        match run.functions.get(name) {
            Some(function) => self.call(dot, function, name, node, given),
            None => {
                let name = quote(name.as_bytes());
                Err(self.error(format_args!("{name} is not a defined function")))
            }
        }
    }

    fn call(
        &mut self,
        dot: &Slot,
        function: &Function,
        name: &'t str,
        node: (usize, &'t dyn fmt::Display),
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        self.charge(1)?;
        let operands = given.operands.get(1..).unwrap_or_default();
        self.check_count(function, name, operands.len(), given.piped.is_some())?;
        if crate::builtin::short_circuits(function) {
            return self.short_circuit(dot, name == "or", operands, given.piped);
        }
        let mut arguments = Vec::with_capacity(operands.len() + 1);
        for (index, operand) in operands.iter().enumerate() {
            let value = self.argument(dot, function.parameter(index), operand)?;
            arguments.push(value);
        }
        if let Some(piped) = given.piped {
            let parameter = function.parameter(operands.len());
            arguments.push(self.validate(piped, parameter)?);
        }
        let mut call = Call { run: self.run, templates: self.templates };
        let result = if crate::builtin::is_call(function) {
            let callee = operands.first().map(ToString::to_string).unwrap_or_default();
            crate::builtin::call_named(&mut call, &callee, &arguments)
        } else {
            function.run(&mut call, &arguments)
        };
        let result = result.and_then(|value| {
            if let Value::String(text) | Value::Bytes(text) = &value {
                self.run.check_size(text.len())?;
            }
            Ok(value)
        });
        result.map(Slot::interface).map_err(|error| {
            self.at(node.0, node.1);
            self.wrapped(&format!("error calling {name}: {error}"), error)
        })
    }

    fn check_count(
        &self,
        function: &Function,
        name: &str,
        written: usize,
        piped: bool,
    ) -> Result<(), Error> {
        let given = written + usize::from(piped);
        let declared = function.parameters.len();
        if function.is_variadic {
            if given < declared - 1 {
                return Err(self.error(format_args!(
                    "wrong number of args for {name}: want at least {} got {written}",
                    declared - 1
                )));
            }
        } else if given != declared {
            return Err(self.error(format_args!(
                "wrong number of args for {name}: want {declared} got {given}"
            )));
        }
        Ok(())
    }

    /// `and` and `or` evaluate only as far as they must.
    fn short_circuit(
        &mut self,
        dot: &Slot,
        stop_at: bool,
        operands: &'t [Operand],
        piped: Option<&Slot>,
    ) -> Result<Slot, Error> {
        let mut value = Value::Nothing;
        for operand in operands {
            value = self.argument(dot, Parameter::Reflect, operand)?;
            if value.is_true() == stop_at {
                return Ok(Slot::concrete(value));
            }
        }
        if let Some(piped) = piped {
            value = self.validate(piped, Parameter::Reflect)?;
        }
        Ok(Slot::concrete(value))
    }

    fn argument(
        &mut self,
        dot: &Slot,
        parameter: Parameter,
        operand: &'t Operand,
    ) -> Result<Value, Error> {
        self.at(operand.position, operand);
        match &operand.term {
            Term::Nil => parameter.nil().ok_or_else(|| {
                self.error(format_args!("cannot assign nil to {}", parameter.type_name()))
            }),
            Term::Bool(_) | Term::Number(_) | Term::String { .. } => {
                self.literal_argument(dot, parameter, operand)
            }
            _ => {
                let value = self.operand(dot, operand)?;
                self.validate(&value, parameter)
            }
        }
    }

    fn literal_argument(
        &mut self,
        dot: &Slot,
        parameter: Parameter,
        operand: &'t Operand,
    ) -> Result<Value, Error> {
        let found = |kind: &str| self.error(format_args!("expected {kind}; found {operand}"));
        match (parameter, &operand.term) {
            (Parameter::Any | Parameter::Reflect, _) => Ok(self.literal(dot, operand)?.value),
            (Parameter::Bool, Term::Bool(truth)) => Ok(Value::Bool(*truth)),
            (Parameter::Bool, _) => Err(found("bool")),
            (Parameter::String, Term::String { text, .. }) => Ok(Value::String(text.clone())),
            (Parameter::String, _) => Err(found("string")),
            (Parameter::Int, Term::Number(Number { int: Some(int), .. })) => Ok(Value::int(*int)),
            (Parameter::Int64, Term::Number(Number { int: Some(int), .. })) => {
                Ok(Value::int64(*int))
            }
            (Parameter::Int | Parameter::Int64, _) => Err(found("integer")),
            (Parameter::Float, Term::Number(Number { float: Some(float), .. })) => {
                Ok(Value::Float(*float))
            }
            (Parameter::Float, _) => Err(found("float")),
            (other, _) => Err(self.error(format_args!(
                "can't handle {operand} for arg of type {}",
                other.type_name()
            ))),
        }
    }

    /// Checks a value against a declared type as Go's `validateType` does.
    fn validate(&self, slot: &Slot, parameter: Parameter) -> Result<Value, Error> {
        let expected = parameter.type_name();
        match &slot.value {
            Value::Nothing => parameter
                .nil()
                .ok_or_else(|| self.error(format_args!("invalid value; expected {expected}"))),
            value if parameter.accepts(value) => Ok(value.clone()),
            value => {
                let got = match value {
                    Value::Nil => "interface {}".into(),
                    value => value.type_name(),
                };
                Err(self
                    .error(format_args!("wrong type for value; expected {expected}; got {got}")))
            }
        }
    }
}

/// Whether a range had anything to iterate over.
enum Ran {
    Never,
    Once,
}
