//! Jsonnet files of a directory: evaluated inside the tree, within a stack limit.

use std::collections::BTreeMap;

use api::{ApplicationSourceJsonnet, JsonnetVar};
use bytes::Bytes;
use object::Object;
use rsjsonnet_lang::arena::Arena;
use rsjsonnet_lang::interner::InternedStr;
use rsjsonnet_lang::program::{
    Callbacks, EvalError, EvalStackTraceItem, ImportError, LoadError, NativeError, Program, Thunk,
    Value,
};
use rsjsonnet_lang::span::{SpanContextId, SpanId};
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::jsonnet_error::{Problem, of_evaluation, of_text};
use crate::manifest::Found;
use crate::tree::{self, EntryKind, Tree, TreePath};
use crate::{Outside, RenderContext, RenderError};

/// Calls inside each other, as in go-jsonnet.
const MAX_STACK: usize = 500;
/// Files that one evaluation may import.
const MAX_IMPORTS: usize = 10_000;
/// Bytes of them together.
const MAX_IMPORTED_BYTES: usize = 64 << 20;

/// The functions of the standard library that are ours.
const STD: &str = include_str!("jsonnet_std.libsonnet");
/// Under which name they are imported.
const STD_NAME: &str = "<std>";
/// Stands before every text, on its first line; places are told without it.
const PRELUDE: &str = "local std_ = std; local std = (import '<std>')(std_); ";

/// How the Jsonnet files of a source are evaluated.
pub(crate) struct Jsonnet<'s> {
    tree: &'s dyn Tree,
    outside: &'s dyn Outside,
    /// Where imports are looked for after the importing file's own directory, in this order.
    library: Vec<TreePath>,
    external: BTreeMap<String, JsonnetVariable>,
    arguments: BTreeMap<String, JsonnetVariable>,
    max_file: u64,
}

/// One file to evaluate, wherever that happens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonnetTask {
    /// Its path.
    pub file: String,
    /// What it holds.
    #[serde(skip)]
    pub content: Bytes,
    /// External variables.
    pub external: BTreeMap<String, JsonnetVariable>,
    /// Arguments of the function that the file may be.
    pub arguments: BTreeMap<String, JsonnetVariable>,
}

/// A text, or the code of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonnetVariable {
    /// A text.
    Text(String),
    /// The code of a value.
    Code(String),
}

/// The files that an evaluation may import.
pub trait JsonnetImports {
    /// The path of the file that `path` means in the file `importing`, and its
    /// content.
    ///
    /// # Errors
    /// When there is none, or it may not be read; in words for the user.
    fn find(&mut self, importing: &str, path: &str) -> Result<(String, Bytes), String>;
}

impl<'s> Jsonnet<'s> {
    pub(crate) fn new(
        tree: &'s dyn Tree,
        outside: &'s dyn Outside,
        path: &TreePath,
        options: &ApplicationSourceJsonnet,
        context: &RenderContext,
        environment: &Environment<'_>,
    ) -> Result<Self, RenderError> {
        let mut library = vec![path.clone()];
        for lib in &options.libs {
            let relative = lib.trim_start_matches('/');
            library.push(TreePath::parse(relative).map_err(|_| RenderError::Jsonnet {
                file: path.clone(),
                problem: format!("file '{lib}' resolved to outside repository root"),
            })?);
        }
        // The last one that was named is looked at first, as in Jsonnet.
        library.reverse();
        let variables = |variables: &[JsonnetVar]| {
            let read = variables.iter().map(|JsonnetVar { name, value, code }| {
                let value = environment.substitute(value);
                let value = match code {
                    true => JsonnetVariable::Code(value),
                    false => JsonnetVariable::Text(value),
                };
                (name.clone(), value)
            });
            read.collect()
        };
        Ok(Self {
            tree,
            outside,
            library,
            external: variables(&options.ext_vars),
            arguments: variables(&options.tlas),
            max_file: context.limits.max_file,
        })
    }

    /// The object, or the list of objects, that a file stands for.
    pub(crate) fn objects(
        &self,
        file: &TreePath,
        content: &Bytes,
    ) -> Result<Vec<Found<Object>>, RenderError> {
        let fail = |problem: String| RenderError::Jsonnet { file: file.clone(), problem };
        let task = JsonnetTask {
            file: file.as_str().to_owned(),
            content: content.clone(),
            external: self.external.clone(),
            arguments: self.arguments.clone(),
        };
        let mut imports = TreeImports { jsonnet: self, files: 0, bytes: 0 };
        let json = self.outside.evaluate_jsonnet(&task, &mut imports).map_err(fail)?;
        let value: serde_json::Value = serde_json::from_str(&json)
            .map_err(|error| fail(format!("failed to unmarshal generated json: {error}")))?;
        let values = match value {
            serde_json::Value::Array(items) => items,
            other => vec![other],
        };
        let objects = values.into_iter().map(|value| match Object::from_value(value) {
            Ok(what) => Ok(Found { what, file: file.clone(), position: None }),
            Err(error) => Err(fail(format!("failed to unmarshal generated json: {error}"))),
        });
        objects.collect()
    }
}

/// Imports from the tree: beside the importing file, or from a library.
struct TreeImports<'i, 's> {
    jsonnet: &'i Jsonnet<'s>,
    files: usize,
    bytes: usize,
}

impl JsonnetImports for TreeImports<'_, '_> {
    fn find(&mut self, importing: &str, path: &str) -> Result<(String, Bytes), String> {
        let beside = TreePath::parse(importing).ok().and_then(|it| it.parent());
        let Jsonnet { tree, library, max_file, .. } = self.jsonnet;
        for directory in beside.iter().chain(library) {
            let Ok(candidate) = directory.resolve_relative(path) else { continue };
            let resolved = tree::resolve(*tree, &candidate).map_err(|it| it.to_string())?;
            let Some((target, entry)) = resolved else { continue };
            if entry.kind != EntryKind::File {
                continue;
            }
            let read = tree.read(&target, *max_file).map_err(|it| it.to_string())?;
            let content = read.unwrap_or_default();
            self.files += 1;
            self.bytes += content.len();
            if self.bytes > MAX_IMPORTED_BYTES || self.files > MAX_IMPORTS {
                return Err(format!(
                    "imports more than {MAX_IMPORTS} files or {MAX_IMPORTED_BYTES} bytes"
                ));
            }
            return Ok((candidate.as_str().to_owned(), content));
        }
        Err(format!(
            "couldn't open import {path:?}: no match locally or in the Jsonnet library paths"
        ))
    }
}

impl JsonnetTask {
    /// The JSON text that the file evaluates to; otherwise what is wrong.
    ///
    /// The stack is bounded, time and memory are not: give that to somebody who
    /// can be stopped.
    ///
    /// # Errors
    /// When the program is wrong, in words for the user.
    pub fn evaluate(&self, files: &mut dyn JsonnetImports) -> Result<String, String> {
        let arena = Arena::new();
        let mut program = Program::new(&arena);
        program.set_max_stack(MAX_STACK);
        let mut imports = Imports::new(files);
        for (name, variable) in &self.external {
            let thunk = imports.variable(&mut program, variable, &format!("<extvar:{name}>"));
            // A variable that nobody asks for may be wrong.
            let thunk = thunk.or_else(|problem| {
                let text = serde_json::Value::String(problem).to_string();
                imports.load(&mut program, "<extvar>", Bytes::from(format!("error {text}")))
            })?;
            let name = program.intern_str(name);
            program.add_ext_var(name, &thunk);
        }
        let mut arguments = Vec::new();
        for (name, variable) in &self.arguments {
            let thunk =
                imports.variable(&mut program, variable, &format!("<top-level-arg:{name}>"))?;
            arguments.push((program.intern_str(name), thunk));
        }
        let main = imports.load(&mut program, &self.file, self.content.clone())?;
        let result = program.eval_value(&main, &mut imports);
        let mut value = result.map_err(|error| imports.explain(&program, error))?;
        if value.is_function() {
            let function = program.value_to_thunk(&value);
            let result = program.eval_call(&function, &[], &arguments, &mut imports);
            value = result.map_err(|error| imports.explain(&program, error))?;
        }
        let result = program.manifest_json(&value, false);
        result.map_err(|error| imports.explain(&program, error))
    }
}

/// What an evaluation loaded so far, and why an import failed.
struct Imports<'p, 'f> {
    files: &'f mut dyn JsonnetImports,
    sources: Vec<(SpanContextId, String, Bytes)>,
    loaded: BTreeMap<String, Thunk<'p>>,
    failure: Option<String>,
}

impl<'p, 'f> Imports<'p, 'f> {
    fn new(files: &'f mut dyn JsonnetImports) -> Self {
        let (sources, loaded) = (Vec::new(), BTreeMap::new());
        Self { files, sources, loaded, failure: None }
    }

    fn variable(
        &mut self,
        program: &mut Program<'p>,
        variable: &JsonnetVariable,
        name: &str,
    ) -> Result<Thunk<'p>, String> {
        match variable {
            JsonnetVariable::Text(text) => Ok(program.value_to_thunk(&Value::string(text))),
            JsonnetVariable::Code(code) => self.load(program, name, Bytes::from(code.clone())),
        }
    }

    fn load(
        &mut self,
        program: &mut Program<'p>,
        name: &str,
        content: Bytes,
    ) -> Result<Thunk<'p>, String> {
        let text = [PRELUDE.as_bytes(), &content].concat();
        let (context, _) = program.span_manager_mut().insert_source_context(text.len());
        self.sources.push((context, name.to_owned(), content));
        program
            .load_source(context, &text, true, name)
            .map_err(|error: LoadError| self.locate(program, of_text(&error)))
    }

    /// What is ours of the standard library.
    fn load_std(&mut self, program: &mut Program<'p>) -> Result<Thunk<'p>, ImportError> {
        if let Some(thunk) = self.loaded.get(STD_NAME) {
            return Ok(thunk.clone());
        }
        let (context, _) = program.span_manager_mut().insert_source_context(STD.len());
        let loaded = program.load_source(context, STD.as_bytes(), false, STD_NAME);
        let thunk = loaded.map_err(|_| ImportError)?;
        self.loaded.insert(STD_NAME.to_owned(), thunk.clone());
        Ok(thunk)
    }

    /// Does a place lie in a text of the user's?
    fn is_known(&self, program: &Program<'p>, span: SpanId) -> bool {
        let (context, _, _) = program.span_manager().get_span(span);
        self.sources.iter().any(|it| it.0 == context)
    }

    /// What went wrong in an evaluation, and where.
    fn explain(&self, program: &Program<'p>, error: EvalError) -> String {
        let mut problem = of_evaluation(&error.kind);
        if let Some(failure) = &self.failure {
            problem.text.clone_from(failure);
        }
        // Most errors know their place; for the others the caller's will do.
        let callers = error.stack_trace.iter().rev().filter_map(|item| match item {
            EvalStackTraceItem::Expr { span }
            | EvalStackTraceItem::Variable { span, .. }
            | EvalStackTraceItem::Import { span } => Some(*span),
            EvalStackTraceItem::Call { span, .. }
            | EvalStackTraceItem::ArrayItem { span, .. }
            | EvalStackTraceItem::ObjectField { span, .. } => *span,
            EvalStackTraceItem::CompareArrayItem { .. }
            | EvalStackTraceItem::CompareObjectField { .. }
            | EvalStackTraceItem::ManifestArrayItem { .. }
            | EvalStackTraceItem::ManifestObjectField { .. } => None,
        });
        let mut places = problem.span.into_iter().chain(callers);
        problem.span = places.find(|span| self.is_known(program, *span));
        problem.text.insert_str(0, "RUNTIME ERROR: ");
        self.locate(program, problem)
    }

    /// `apps/web.jsonnet, line 3, column 7: …`
    fn locate(&self, program: &Program<'p>, problem: Problem) -> String {
        let Some((context, start)) = problem.span.map(|span| {
            let (context, start, _) = program.span_manager().get_span(span);
            (context, start)
        }) else {
            return problem.text;
        };
        let Some((_, name, content)) = self.sources.iter().find(|it| it.0 == context) else {
            return problem.text;
        };
        let before = &content[..start.saturating_sub(PRELUDE.len()).min(content.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        format!("{name}, line {line}, column {column}: {}", problem.text)
    }

    /// The file that an import means.
    fn find(
        &mut self,
        program: &Program<'p>,
        from: SpanId,
        path: &str,
    ) -> Result<(String, Bytes), ImportError> {
        let (context, _, _) = program.span_manager().get_span(from);
        let importing = self.sources.iter().find(|it| it.0 == context);
        let importing = importing.map_or("", |(_, name, _)| name);
        let found = self.files.find(importing, path);
        found.map_err(|failure| {
            self.failure = Some(failure);
            ImportError
        })
    }
}

impl<'p> Callbacks<'p> for Imports<'p, '_> {
    fn import(
        &mut self,
        program: &mut Program<'p>,
        from: SpanId,
        path: &str,
    ) -> Result<Thunk<'p>, ImportError> {
        if path == STD_NAME {
            return self.load_std(program);
        }
        let (file, content) = self.find(program, from, path)?;
        if let Some(thunk) = self.loaded.get(&file) {
            return Ok(thunk.clone());
        }
        match self.load(program, &file, content) {
            Ok(thunk) => {
                self.loaded.insert(file, thunk.clone());
                Ok(thunk)
            }
            Err(failure) => {
                self.failure = Some(failure);
                Err(ImportError)
            }
        }
    }

    fn import_str(
        &mut self,
        program: &mut Program<'p>,
        from: SpanId,
        path: &str,
    ) -> Result<String, ImportError> {
        let (_, content) = self.find(program, from, path)?;
        Ok(String::from_utf8_lossy(&content).into_owned())
    }

    fn import_bin(
        &mut self,
        program: &mut Program<'p>,
        from: SpanId,
        path: &str,
    ) -> Result<Vec<u8>, ImportError> {
        self.find(program, from, path).map(|(_, content)| content.to_vec())
    }

    fn trace(&mut self, _: &mut Program<'p>, _: &str, _: &[EvalStackTraceItem]) {}

    fn native_call(
        &mut self,
        _: &mut Program<'p>,
        _: InternedStr<'p>,
        _: &[Value<'p>],
    ) -> Result<Value<'p>, NativeError> {
        Err(NativeError)
    }
}
