//! Functions of templates: what they take, and what they may ask of the running execution.
//!
//! Go checks the arguments of a call against the function's declared parameter types and words its
//! complaints after them, so every [`Function`] declares its [`Parameter`]s.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::error::Error;
use crate::run::Run;
use crate::template_set::Templates;
use crate::value::{ElementType, IntType, Map, Value};

/// What a function's body is.
pub type PlainBody = fn(&mut Call<'_>, &[Value]) -> Result<Value, Error>;

/// A body that carries state, such as a bound method.
pub type BoundBody = Rc<dyn Fn(&mut Call<'_>, &[Value]) -> Result<Value, Error>>;

/// A function that templates can call.
#[derive(Clone)]
pub struct Function {
    pub(crate) parameters: &'static [Parameter],
    pub(crate) is_variadic: bool,
    pub(crate) body: Body,
}

#[derive(Clone)]
pub(crate) enum Body {
    Plain(PlainBody),
    Bound(BoundBody),
}

impl Function {
    /// A function of exactly these parameters.
    pub fn new(parameters: &'static [Parameter], body: PlainBody) -> Self {
        Self { parameters, is_variadic: false, body: Body::Plain(body) }
    }

    /// A function whose last parameter may be given any number of times.
    pub fn variadic(parameters: &'static [Parameter], body: PlainBody) -> Self {
        Self { parameters, is_variadic: true, body: Body::Plain(body) }
    }

    /// A function that carries state.
    pub fn bound(
        parameters: &'static [Parameter],
        body: impl Fn(&mut Call<'_>, &[Value]) -> Result<Value, Error> + 'static,
    ) -> Self {
        Self { parameters, is_variadic: false, body: Body::Bound(Rc::new(body)) }
    }

    pub(crate) fn run(&self, call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
        match &self.body {
            Body::Plain(body) => body(call, arguments),
            Body::Bound(body) => body(call, arguments),
        }
    }

    /// The parameter that argument number `index` is checked against.
    pub(crate) fn parameter(&self, index: usize) -> Parameter {
        let last = self.parameters.len().saturating_sub(1);
        self.parameters.get(index.min(last)).copied().unwrap_or(Parameter::Any)
    }
}

/// The declared type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// `interface {}`: anything; nil arrives as [`Value::Nil`].
    Any,
    /// `reflect.Value`: anything, and nothing stays [`Value::Nothing`].
    Reflect,
    /// `string`
    String,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `int64`
    Int64,
    /// `float64`
    Float,
    /// `map[string]interface {}`
    Map,
    /// `[]interface {}`
    List,
    /// `[]string`
    Strings,
    /// A struct or pointer type by its name, such as `time.Time`.
    Object(&'static str),
}

impl Parameter {
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Reflect => "reflect.Value",
            Self::String => "string",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Float => "float64",
            Self::Map => "map[string]interface {}",
            Self::List => "[]interface {}",
            Self::Strings => "[]string",
            Self::Object(name) => name,
        }
    }

    /// What an untyped nil becomes, where the type has a nil.
    pub(crate) fn nil(self) -> Option<Value> {
        match self {
            Self::Any => Some(Value::Nil),
            Self::Reflect => Some(Value::Nothing),
            Self::Map => Some(Value::Map(Map::new::<&str>([]))),
            Self::List => Some(Value::list(Vec::new())),
            Self::Strings => Some(Value::strings::<&str>([])),
            Self::Object(name) if name.starts_with('*') => Some(Value::Nil),
            _ => None,
        }
    }

    /// Whether Go would assign the value to the parameter as it is.
    pub(crate) fn accepts(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any | Self::Reflect, _)
            | (Self::String, Value::String(_))
            | (Self::Bool, Value::Bool(_))
            | (Self::Int, Value::Int(IntType::Int, _))
            | (Self::Int64, Value::Int(IntType::Int64, _))
            | (Self::Float, Value::Float(_)) => true,
            (Self::Map, Value::Map(map)) => map.class().holds_any(),
            (Self::List, Value::List(list)) => list.element_type() == ElementType::Any,
            (Self::Strings, Value::List(list)) => list.element_type() == ElementType::String,
            (Self::Object(name), Value::Object(object)) => object.type_name() == name,
            _ => false,
        }
    }
}

/// The functions of a template set by name.
#[derive(Clone, Default)]
pub struct Functions(BTreeMap<&'static str, Function>);

impl Functions {
    /// Go's own: `and`, `eq`, `index`, `len`, `printf` and so on.
    pub fn builtin() -> Self {
        let mut functions = Self::default();
        crate::builtin::register(&mut functions);
        functions
    }

    /// Adds or replaces a function.
    pub fn add(&mut self, name: &'static str, function: Function) {
        self.0.insert(name, function);
    }

    /// Takes a function away.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// The function of that name.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.0.get(name)
    }

    /// All names in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}

/// What a function may ask of the execution that called it.
pub struct Call<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) templates: &'a Rc<Templates>,
}

impl Call<'_> {
    /// Executes the named template on `data`, as `include` does.
    pub fn execute(&mut self, name: &str, data: &Value) -> Result<Vec<u8>, Error> {
        crate::exec::execute(self.run, self.templates, name, data)
    }

    /// Parses `text` as a template called `name` that sees all templates known here, and executes
    /// it on `data`, as `tpl` does. What it defines is gone afterwards.
    pub fn execute_text(
        &mut self,
        name: &str,
        text: &[u8],
        data: &Value,
    ) -> Result<Result<Vec<u8>, Error>, Error> {
        let mut templates = Templates::above(self.templates);
        let tree = templates.parse_body(name, text, self.run.functions)?;
        let templates = Rc::new(templates);
        Ok(crate::exec::execute_tree(self.run, &templates, &tree, data))
    }

    /// What the world is like: the time, and randomness.
    pub fn facts(&self) -> &dyn Facts {
        self.run.facts
    }

    /// Counts work against the limit on steps. Functions whose work is not bounded by the size of
    /// their arguments call this with its amount.
    pub fn charge(&self, steps: usize) -> Result<(), Error> {
        self.run.charge(steps)
    }

    /// Must be told before a value is put into a map that was there before: it may close a circle,
    /// which the end of the run has to open again, or its memory would never be freed.
    pub fn note_stored(&self, target: &Map, value: &Value) {
        if matches!(value, Value::Map(_) | Value::List(_)) {
            self.run.changed.note(target);
        }
    }

    /// Refuses a text that would be longer than the limit on output.
    pub fn check_size(&self, bytes: usize) -> Result<(), Error> {
        self.run.check_size(bytes)
    }
}

/// What templates may know of the world. Given from outside, so that a render is a function of its
/// arguments.
pub trait Facts {
    /// Nanoseconds since the Unix epoch.
    fn now(&self) -> i128;

    /// Fills the buffer with random bytes.
    fn random(&self, buffer: &mut [u8]);
}
