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
    let version = Version::parse(text).map_err(|error| {
        let words = error.to_string();
        let large = text.trim_start_matches('v').split(['.', '-', '+']).find(|part| {
            part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u64>().is_err()
        });
        match (words.strip_suffix("value out of range"), large) {
            (Some(start), Some(number)) => {
                let number = crate::strconv::quote(number.as_bytes());
                let reason = format!("strconv.ParseUint: parsing {number}: value out of range");
                Error::function(format!("{start}{reason}"))
            }
            _ => Error::function(words),
        }
    })?;
    Ok(SemanticVersion { version, is_value: false })
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
    Ok(Value::Bool(constraint.check(&version.version)))
}

/// A version, by reference or as a value of its own: methods that want the first are missing on the
/// second.
#[derive(Clone)]
struct SemanticVersion {
    version: Version,
    is_value: bool,
}

fn version_of(value: &Value) -> Option<&SemanticVersion> {
    match value {
        Value::Object(object) => object.as_any().downcast_ref(),
        _ => None,
    }
}

/// The version with another prerelease and metadata, as it would be written.
fn with_parts(version: &Version, pre: &str, metadata: &str) -> String {
    let prefix = if version.original().starts_with('v') { "v" } else { "" };
    let mut text = format!("{prefix}{}.{}.{}", version.major, version.minor, version.patch);
    for (sign, part) in [('-', pre), ('+', metadata)] {
        if !part.is_empty() {
            text.push(sign);
            text.push_str(part);
        }
    }
    text
}

impl SemanticVersion {
    /// The version with other numbers and nothing behind them.
    fn raised(&self, numbers: fn(&Version) -> (u64, u64, u64)) -> Value {
        let (major, minor, patch) = numbers(&self.version);
        let mut version = self.version.clone();
        (version.major, version.minor, version.patch) = (major, minor, patch);
        let version = Version::parse(&with_parts(&version, "", "")).unwrap_or(version);
        Value::Object(Rc::new(Self { version, is_value: true }))
    }

    /// A method that makes a version with another part from its argument.
    fn changed(&self, part: &'static str, make: fn(&Version, &str) -> String) -> Member {
        let this = self.version.clone();
        Member::Method(Function::bound(&[Parameter::String], move |_, arguments| {
            let changed = make(&this, &text(&arguments[0]));
            let version = Version::parse(&changed)
                .map_err(|_| Error::function(format!("invalid {part} string")))?;
            Ok(Value::Object(Rc::new(Self { version, is_value: true })))
        }))
    }

    fn ordering_method(&self, wanted: fn(Ordering) -> Value) -> Member {
        let this = self.clone();
        Member::Method(Function::bound(&[Parameter::Object(VERSION)], move |_, arguments| {
            let other = version_of(&arguments[0])
                .ok_or_else(|| Error::function("comparison with a nil version"))?;
            Ok(wanted(this.version.precedence(&other.version)))
        }))
    }
}

impl Object for SemanticVersion {
    fn type_name(&self) -> Cow<'static, str> {
        if self.is_value { "semver.Version" } else { VERSION }.into()
    }

    fn kind(&self) -> Kind {
        if self.is_value { Kind::Struct } else { Kind::Pointer }
    }

    fn member(&self, name: &str) -> Option<Member> {
        let constant =
            |value: Value| Member::Method(Function::bound(&[], move |_, _| Ok(value.clone())));
        let number = |number: u64| constant(Value::Uint(UintType::Uint64, number));
        let of_references = [
            "Original",
            "Compare",
            "Equal",
            "LessThan",
            "GreaterThan",
            "LessThanEqual",
            "GreaterThanEqual",
        ];
        if self.is_value && of_references.contains(&name) {
            return None;
        }
        Some(match name {
            "IncMajor" => constant(self.raised(|v| (v.major + 1, 0, 0))),
            "IncMinor" => constant(self.raised(|v| (v.major, v.minor + 1, 0))),
            // What is on its way to a patch becomes that patch.
            "IncPatch" if !self.version.pre.is_empty() => {
                constant(self.raised(|v| (v.major, v.minor, v.patch)))
            }
            "IncPatch" => constant(self.raised(|v| (v.major, v.minor, v.patch + 1))),
            "SetPrerelease" => self.changed("prerelease", |version, text| {
                with_parts(version, text, &version.metadata)
            }),
            "SetMetadata" => {
                self.changed("metadata", |version, text| with_parts(version, &version.pre, text))
            }
            "Major" => number(self.version.major),
            "Minor" => number(self.version.minor),
            "Patch" => number(self.version.patch),
            "Prerelease" => constant(Value::string(self.version.pre.as_str())),
            "Metadata" => constant(Value::string(self.version.metadata.as_str())),
            "Original" => constant(Value::string(self.version.original())),
            "String" => constant(Value::string(self.version.to_string())),
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
        Some(Text::from(self.version.to_string()))
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let number = |number: u64| Value::Uint(UintType::Uint64, number);
        let version = &self.version;
        vec![
            ("major", number(version.major)),
            ("minor", number(version.minor)),
            ("patch", number(version.patch)),
            ("pre", Value::string(version.pre.as_str())),
            ("metadata", Value::string(version.metadata.as_str())),
            ("original", Value::string(version.original())),
        ]
    }

    fn json(&self) -> JsonForm {
        JsonForm::Value(Value::string(self.version.to_string()))
    }

    fn marshals(&self) -> Marshals {
        Marshals::Text(self.version.to_string())
    }

    fn deep_equal(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| other.version == self.version)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
