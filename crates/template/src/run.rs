//! A run: executions that share their functions, facts and limits.
//!
//! [`Engine`] is what a caller fills in; [`Run`] keeps account of what was spent.

use std::cell::Cell;
use std::rc::Rc;

use crate::call::{Facts, Functions};
use crate::circles::ChangedMaps;
use crate::error::Error;
use crate::exec::execute;
use crate::print;
use crate::sprig::Regexes;
use crate::stack::StackBase;
use crate::template_set::Templates;
use crate::value::Value;

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
    pub(crate) missing_key: MissingKey,
    pub(crate) limits: Limits,
    pub(crate) facts: &'a dyn Facts,
    steps: Cell<u64>,
    pub(crate) base: StackBase,
    pub(crate) changed: ChangedMaps,
    pub(crate) depth: Cell<usize>,
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
