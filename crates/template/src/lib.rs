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
//! Read in this order: `value` (what templates compute with), `lex`, `parse` and `ast` (text to
//! trees), `exec` (trees to text), `call` and `builtin` (functions), `print` (Go's `fmt`).
//!
//! Nothing here reads a clock, a file or the environment: time and randomness come through
//! [`Facts`], so that a render is a function of its arguments.

#![warn(missing_docs)]

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
pub mod print;
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
pub use exec::{Engine, Limits, MissingKey, Run};
pub use facts::Still;
pub use formats::to_yaml;
pub use template_set::{ParsedText, Templates};
pub use value::{
    ElementType, IntType, JsonForm, Kind, List, Map, MapClass, Member, NamedList, NamedMap, Object,
    Text, UintType, Value,
};
pub use yaml_error::yaml_error_text;
