//! Functions of templates: what they take, and what they may ask of the running execution.
//!
//! Go checks the arguments of a call against the function's declared parameter types and words its
//! complaints after them, so every [`Function`] declares its [`Parameter`]s.

use std::rc::Rc;
use std::sync::Arc;

use crate::error::Error;
use crate::run::Run;
use crate::template_set::Templates;
use crate::value::{ElementType, IntType, List, Map, MapClass, Value};

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
    /// `uint32`
    Uint32,
    /// `time.Duration`
    Duration,
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
            Self::Uint32 => "uint32",
            Self::Duration => "time.Duration",
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
            Self::Map => Some(Value::Map(Map::nil(MapClass::Any))),
            Self::List => Some(Value::List(List::nil(ElementType::Any))),
            Self::Strings => Some(Value::List(List::nil(ElementType::String))),
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
            | (Self::Duration, Value::Int(IntType::Duration, _))
            | (Self::Float, Value::Float(_)) => true,
            (Self::Map, Value::Map(map)) => map.class().holds_any(),
            (Self::List, Value::List(list)) => list.element_type() == ElementType::Any,
            (Self::Strings, Value::List(list)) => list.element_type() == ElementType::String,
            (Self::Object(name), Value::Object(object)) => object.type_name() == name,
            _ => false,
        }
    }
}

/// The functions of a template set, in the order of their names.
#[derive(Clone, Default)]
pub struct Functions(Vec<(&'static str, Function)>);

impl Functions {
    /// Go's own: `and`, `eq`, `index`, `len`, `printf` and so on.
    pub fn builtin() -> Self {
        let mut functions = Self::default();
        crate::builtin::register(&mut functions);
        functions
    }

    /// Adds or replaces a function.
    pub fn add(&mut self, name: &'static str, function: Function) {
        match self.position(name) {
            Ok(slot) => self.0[slot].1 = function,
            Err(slot) => self.0.insert(slot, (name, function)),
        }
    }

    /// Takes a function away.
    pub fn remove(&mut self, name: &str) {
        if let Ok(slot) = self.position(name) {
            self.0.remove(slot);
        }
    }

    /// The function of that name.
    pub fn get(&self, name: &str) -> Option<&Function> {
        let slot = self.slot_of(name)?;
        Some(&self.0[slot].1)
    }

    /// All names in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }

    /// Where the function of that name stands, as long as none is added or taken away.
    pub(crate) fn slot_of(&self, name: &str) -> Option<usize> {
        self.position(name).ok()
    }

    /// The function that stood there when the name was looked up, or else the one of that name.
    pub(crate) fn at(&self, slot: usize, name: &str) -> Option<&Function> {
        match self.0.get(slot) {
            Some((known, function)) if *known == name => Some(function),
            _ => self.get(name),
        }
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (*known).cmp(name))
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
        let tree = crate::exec::find(self.templates, name)?;
        self.run.executed.borrow_mut().push(Arc::clone(&tree.name));
        let output = crate::exec::execute_tree(self.run, self.templates, tree, data);
        self.run.executed.borrow_mut().pop();
        output
    }

    /// How often the named template stands inside itself by now, counting what was executed by
    /// [`Call::execute`].
    pub fn nesting(&self, name: &str) -> usize {
        let executed = self.run.executed.borrow();
        executed.iter().filter(|known| known.as_ref() == name).count()
    }

    /// Parses `text` as a template called `name` that sees all templates known here, and executes
    /// it on `data`, as `tpl` does. What it defines is gone afterwards.
    pub fn execute_text(
        &mut self,
        name: &str,
        text: &[u8],
        data: &Value,
    ) -> Result<Result<Vec<u8>, Error>, Error> {
        let parsed = self.run.parsed(name, text)?;
        let mut templates = Templates::above(self.templates);
        templates.add(&parsed);
        let templates = Rc::new(templates);
        Ok(crate::exec::execute_tree(self.run, &templates, parsed.body(name), data))
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

    /// Whether nobody waits for the result any more: the run then ends in an error. Asked every few
    /// thousand steps.
    fn is_over(&self) -> bool {
        false
    }
}
