//! Go's `text/template` in Rust, with the sprig functions: the same text, the same errors, bounded.
//!
//! ```
//! use std::rc::Rc;
//! use template::{Engine, Functions, Limits, MissingKey, Still, Templates, Value};
//!
//! let functions = Functions::builtin();
//! let mut templates = Templates::new();
//! templates.parse("greeting", b"Hello, {{ .name | printf \"%q\" }}!", &functions)?;
//!
//! let engine = Engine {
//!     functions: &functions,
//!     missing_key: MissingKey::Error,
//!     limits: Limits::default(),
//!     facts: &Still,
//! };
//! let data = Value::map([("name", Value::from("world"))]);
//! let text = engine.execute(&Rc::new(templates), "greeting", &data)?;
//! assert_eq!(text, b"Hello, \"world\"!");
//! # Ok::<(), template::Error>(())
//! ```
//!
//! # Functions
//!
//! [`Functions::builtin`] has Go's own, [`Functions::sprig`] sprig's too (without those that read the
//! machine); [`Functions::add_helm_formats`] and [`Functions::add_argo`] add what Helm and Argo CD's
//! ApplicationSets have. A function of yours declares its parameters, because Go checks arguments
//! against them and words its complaints after them:
//!
//! ```
//! use std::rc::Rc;
//! use template::{
//!     Engine, Function, Functions, Limits, MissingKey, Parameter, Still, Templates, Value,
//! };
//!
//! let mut functions = Functions::sprig();
//! functions.add(
//!     "shout",
//!     Function::new(&[Parameter::String], |_, arguments| {
//!         let text = arguments[0].as_text().expect("declared as a string");
//!         Ok(Value::string(text.as_str().to_uppercase() + "!"))
//!     }),
//! );
//! let mut templates = Templates::new();
//! templates.parse("a", b"{{ shout .who }}", &functions)?;
//! templates.parse("b", b"{{ list 1 2 | join \"-\" }} {{ shout 5 }}", &functions)?;
//! let templates = Rc::new(templates);
//! let engine = Engine {
//!     functions: &functions,
//!     missing_key: MissingKey::Zero,
//!     limits: Limits::default(),
//!     facts: &Still,
//! };
//! let data = Value::map([("who", Value::from("you"))]);
//! assert_eq!(engine.execute(&templates, "a", &data)?, b"YOU!");
//! let error = engine.execute(&templates, "b", &data).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "template: b:1:35: executing \"b\" at <5>: expected string; found 5"
//! );
//! # Ok::<(), template::Error>(())
//! ```
//!
//! # Values
//!
//! [`Value`] keeps what Go's reflection sees: sized integers and floats are different types, maps and
//! lists are shared and maps can be changed in place (`set`), nil is not nothing. [`Value::from_json`]
//! and [`Value::to_json`] lead in and out. Objects with methods are [`Object`]s.
//!
//! # Limits
//!
//! Every loop, call and large text counts against [`Limits`], so an endless or hostile template ends in
//! an [`Error`] whose [`Origin`] is `Limit`. The same happens when [`Facts::is_over`] says that nobody
//! waits any more: that is how to give a run a deadline.
//!
//! ```
//! use std::rc::Rc;
//! use template::{Engine, Functions, Limits, MissingKey, Origin, Still, Templates, Value};
//!
//! let functions = Functions::sprig();
//! let mut templates = Templates::new();
//! templates.parse("endless", b"{{ range 1000000000 }}{{ end }}", &functions)?;
//! let engine = Engine {
//!     functions: &functions,
//!     missing_key: MissingKey::Nothing,
//!     limits: Limits { steps: 10_000, ..Limits::default() },
//!     facts: &Still,
//! };
//! let error = engine.execute(&Rc::new(templates), "endless", &Value::Nothing).unwrap_err();
//! assert_eq!(error.origin(), Origin::Limit);
//! # Ok::<(), template::Error>(())
//! ```
//!
//! # Templates of ApplicationSets
//!
//! ```
//! use std::rc::Rc;
//! use template::{Engine, Functions, Limits, MissingKey, Still, Templates, Value};
//!
//! let mut functions = Functions::sprig();
//! functions.add_argo();
//! let mut templates = Templates::new();
//! templates.parse("name", b"{{ .branch | slugify 20 | printf \"preview-%s\" }}", &functions)?;
//! let engine = Engine {
//!     functions: &functions,
//!     missing_key: MissingKey::Error,
//!     limits: Limits::default(),
//!     facts: &Still,
//! };
//! let data = Value::map([("branch", Value::from("feature/Login_with_a_passkey"))]);
//! let name = engine.execute(&Rc::new(templates), "name", &data)?;
//! assert_eq!(name, b"preview-feature-login-with-a");
//! # Ok::<(), template::Error>(())
//! ```
//!
//! # Reading the code
//!
//! Read in this order: `value` (what templates compute with), `lex`, `parse` and `ast` (text to
//! trees), `run` and `exec` (trees to text), `call` and `builtin` (functions), `print` (Go's `fmt`).
//!
//! Nothing here reads a clock, a file or the environment: time and randomness come through
//! [`Facts`], so that a render is a function of its arguments.

#![warn(missing_docs)]

mod argo;
mod arguments;
mod ast;
mod base64;
mod builtin;
mod call;
mod circles;
mod error;
mod exec;
mod facts;
mod formats;
mod json;
mod lex;
mod parse;
mod pretty_yaml;
pub mod print;
mod run;
mod sprig;
mod stack;
mod strconv;
mod template_set;
mod toml;
mod value;
mod yaml_error;

pub use base64::encode as base64_encode;
pub use call::{BoundBody, Call, Facts, Function, Functions, Parameter, PlainBody};
pub use error::{Error, Origin};
pub use facts::Still;
pub use formats::to_yaml;
pub use json::json_error;
pub use run::{Engine, Limits, MissingKey, Run};
pub use template_set::{ParsedText, Templates};
pub use value::{
    ElementType, IntType, JsonForm, Kind, List, Map, MapClass, Marshals, Member, NamedList,
    NamedMap, Object, Text, UintType, Value,
};
pub use yaml_error::yaml_error_text;
