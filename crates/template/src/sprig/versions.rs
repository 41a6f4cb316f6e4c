//! Semantic versions, as Masterminds' library has them.

use std::any::Any;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;

use gocompat::semver::{Constraint, Version};

use super::add_fixed;
use crate::arguments::text;
use crate::call::{Call, Function, Functions, Parameter};
use crate::error::Error;
use crate::value::{JsonForm, Kind, Marshals, Member, Object, Text, UintType, Value};

const VERSION: &str = "*semver.Version";

pub(super) fn register(functions: &mut Functions) {
    use Parameter::String;
    add_fixed(
        functions,
        &[
            ("semver", &[String], |_, a| Ok(Value::Object(Rc::new(parse(&text(&a[0]))?)))),
            ("semverCompare", &[String, String], compare),
        ],
    );
}

fn parse(text: &str) -> Result<SemanticVersion, Error> {
    let version = Version::parse(text).map_err(|error| Error::function(error.to_string()))?;
    Ok(SemanticVersion(version))
}

fn compare(_: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let written = text(&arguments[0]);
    let constraint = Constraint::parse(&written).map_err(|error| {
        let message = error.to_string();
        match message.strip_prefix("improper constraint: ") {
            Some(part) if !part.starts_with('"') => {
                let part = crate::strconv::quote(part.as_bytes());
                Error::function(format!("improper constraint: {part}"))
            }
            _ => Error::function(message),
        }
    })?;
    let version = parse(&text(&arguments[1]))?;
    Ok(Value::Bool(constraint.check(&version.0)))
}

#[derive(Clone)]
struct SemanticVersion(Version);

fn version_of(value: &Value) -> Option<&SemanticVersion> {
    match value {
        Value::Object(object) => object.as_any().downcast_ref(),
        _ => None,
    }
}

impl SemanticVersion {
    fn ordering_method(&self, wanted: fn(Ordering) -> Value) -> Member {
        let this = self.clone();
        Member::Method(Function::bound(&[Parameter::Object(VERSION)], move |_, arguments| {
            let other = version_of(&arguments[0])
                .ok_or_else(|| Error::function("comparison with a nil version"))?;
            Ok(wanted(this.0.precedence(&other.0)))
        }))
    }
}

impl Object for SemanticVersion {
    fn type_name(&self) -> Cow<'static, str> {
        VERSION.into()
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn member(&self, name: &str) -> Option<Member> {
        let constant =
            |value: Value| Member::Method(Function::bound(&[], move |_, _| Ok(value.clone())));
        let number = |number: u64| constant(Value::Uint(UintType::Uint64, number));
        Some(match name {
            "Major" => number(self.0.major),
            "Minor" => number(self.0.minor),
            "Patch" => number(self.0.patch),
            "Prerelease" => constant(Value::string(self.0.pre.as_str())),
            "Metadata" => constant(Value::string(self.0.metadata.as_str())),
            "Original" => constant(Value::string(self.0.original())),
            "String" => constant(Value::string(self.0.to_string())),
            "Compare" => self.ordering_method(|ordering| Value::int(ordering as i64)),
            "Equal" => self.ordering_method(|ordering| Value::Bool(ordering.is_eq())),
            "LessThan" => self.ordering_method(|ordering| Value::Bool(ordering.is_lt())),
            "GreaterThan" => self.ordering_method(|ordering| Value::Bool(ordering.is_gt())),
            "LessThanEqual" => self.ordering_method(|ordering| Value::Bool(ordering.is_le())),
            "GreaterThanEqual" => self.ordering_method(|ordering| Value::Bool(ordering.is_ge())),
            _ => return None,
        })
    }

    fn text(&self) -> Option<Text> {
        Some(Text::from(self.0.to_string()))
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn json(&self) -> JsonForm {
        JsonForm::Value(Value::string(self.0.to_string()))
    }

    fn marshals(&self) -> Marshals {
        Marshals::Text(self.0.to_string())
    }

    fn deep_equal(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| other.0 == self.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
