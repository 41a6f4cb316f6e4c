//! A run: executions that share their functions, facts and limits.
//!
//! [`Engine`] is what a caller fills in; [`Run`] keeps account of what was spent.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::call::{Facts, Functions};
use crate::circles::ChangedMaps;
use crate::error::Error;
use crate::exec::execute;
use crate::print;
use crate::sprig::Regexes;
use crate::stack::StackBase;
use crate::template_set::{ParsedText, Templates};
use crate::value::{Text, Value};

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
    /// Bytes that functions may make in all: texts, lists and dictionaries, kept or not.
    pub made: usize,
    /// Bytes of the thread's stack. Half of what threads usually have is the default.
    pub stack: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 1000, steps: 50_000_000, output: 16 << 20, made: 1 << 30, stack: 1 << 20 }
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
            made: Cell::new(0),
            base: StackBase::here(),
            changed: ChangedMaps::default(),
            regexes: Regexes::default(),
            depth: Cell::new(0),
            executed: RefCell::default(),
            parsed: RefCell::default(),
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
    pub(crate) missing_key: MissingKey,
    pub(crate) limits: Limits,
    pub(crate) facts: &'a dyn Facts,
    steps: Cell<u64>,
    made: Cell<usize>,
    pub(crate) base: StackBase,
    pub(crate) changed: ChangedMaps,
    pub(crate) depth: Cell<usize>,
    pub(crate) regexes: Regexes,
    /// The names of the templates that functions are executing, the innermost last.
    pub(crate) executed: RefCell<Vec<Arc<str>>>,
    /// Texts that functions had parsed: `tpl` often gets the same one for every object.
    parsed: RefCell<BTreeMap<Text, (Arc<str>, ParsedText)>>,
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

    /// A text parsed as the template `name`, which was perhaps done before.
    pub(crate) fn parsed(&self, name: &str, text: &[u8]) -> Result<ParsedText, Error> {
        const MAX_KEPT: usize = 256;
        const MAX_KEPT_BYTES: usize = 4096;
        if let Some((known, parsed)) = self.parsed.borrow().get(text)
            && known.as_ref() == name
        {
            return Ok(parsed.clone());
        }
        let text = Text::from(text);
        let parsed = ParsedText::parse_shared(name, &text, self.functions)?;
        let mut kept = self.parsed.borrow_mut();
        if kept.len() < MAX_KEPT && text.len() <= MAX_KEPT_BYTES {
            kept.insert(text, (Arc::from(name), parsed.clone()));
        }
        Ok(parsed)
    }

    pub(crate) fn charge(&self, steps: usize) -> Result<(), Error> {
        /// How many steps go by between two looks at the clock.
        const BETWEEN_LOOKS: u64 = 4096;
        let before = self.steps.get();
        let spent = before.saturating_add(steps as u64);
        self.steps.set(spent);
        if spent / BETWEEN_LOOKS != before / BETWEEN_LOOKS && self.facts.is_over() {
            return Err(Error::limit("template takes too long"));
        }
        if spent > self.limits.steps {
            let limit = self.limits.steps;
            return Err(Error::limit(format!("template takes more than {limit} steps")));
        }
        Ok(())
    }

    /// Counts what a function made. Where it is kept is not looked at: what is made at all bounds it.
    pub(crate) fn note_made(&self, arguments: &[Value], result: &Value) -> Result<(), Error> {
        /// About what a list or a dictionary takes for each entry.
        const ENTRY: usize = 64;
        /// About how much larger a text is when it is taken apart.
        const PARTS: usize = 8;
        let text = |value: &Value| match value {
            Value::String(text) | Value::Bytes(text) => text.len(),
            _ => 0,
        };
        let entries = match result {
            Value::List(list) => list.len(),
            Value::Map(map) => map.entries().len(),
            other => return self.make(text(other)),
        };
        let taken_apart: usize = arguments.iter().map(text).sum();
        self.make(entries * ENTRY + taken_apart * PARTS)
    }

    pub(crate) fn make(&self, bytes: usize) -> Result<(), Error> {
        let made = self.made.get().saturating_add(bytes);
        self.made.set(made);
        if made > self.limits.made {
            let limit = self.limits.made;
            return Err(Error::limit(format!("template makes more than {limit} bytes of values")));
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
