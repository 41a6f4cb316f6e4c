//! The functions every Go template has.

use crate::call::{Body, Call, Function, Functions, Parameter, PlainBody};
use crate::error::Error;
use crate::print;
use crate::strconv::is_printable;
use crate::value::{Kind, List, Text, UintType, Value};

pub(crate) fn register(functions: &mut Functions) {
    use Parameter::{Any, Reflect, String};
    let fixed: [(&'static str, &'static [Parameter], PlainBody); 7] = [
        ("ge", &[Reflect, Reflect], |_, a| Ok(Value::Bool(!less(&a[0], &a[1])?))),
        ("gt", &[Reflect, Reflect], |_, a| Ok(Value::Bool(!less_or_equal(&a[0], &a[1])?))),
        ("le", &[Reflect, Reflect], |_, a| Ok(Value::Bool(less_or_equal(&a[0], &a[1])?))),
        ("len", &[Reflect], length),
        ("lt", &[Reflect, Reflect], |_, a| Ok(Value::Bool(less(&a[0], &a[1])?))),
        ("ne", &[Reflect, Reflect], |_, a| Ok(Value::Bool(!equals_any(&a[0], &a[1..])?))),
        ("not", &[Reflect], |_, a| Ok(Value::Bool(!a[0].is_true()))),
    ];
    for (name, parameters, body) in fixed {
        functions.add(name, Function::new(parameters, body));
    }
    let variadic: [(&'static str, &'static [Parameter], PlainBody); 12] = [
        ("and", &[Reflect, Reflect], never_called),
        ("call", &[Reflect, Reflect], call),
        ("eq", &[Reflect, Reflect], |_, a| Ok(Value::Bool(equals_any(&a[0], &a[1..])?))),
        ("html", &[Any], html),
        ("index", &[Reflect, Reflect], index),
        ("js", &[Any], |_, a| Ok(Value::string(escape_js(&joined(a))))),
        ("or", &[Reflect, Reflect], never_called),
        ("print", &[Any], |_, a| Ok(Value::string(print::sprint(a)))),
        ("printf", &[String, Any], printf),
        ("println", &[Any], |_, a| Ok(Value::string(print::sprintln(a)))),
        ("slice", &[Reflect, Reflect], slice),
        ("urlquery", &[Any], |_, a| Ok(Value::string(escape_query(&joined(a))))),
    ];
    for (name, parameters, body) in variadic {
        functions.add(name, Function::variadic(parameters, body));
    }
}

/// `and` and `or` are evaluated by the executor itself, which stops at the deciding argument.
pub(crate) fn short_circuits(function: &Function) -> bool {
    matches!(function.body, Body::Plain(body) if std::ptr::fn_addr_eq(body, never_called as PlainBody))
}

fn never_called(_: &mut Call<'_>, _: &[Value]) -> Result<Value, Error> {
    Err(Error::function("evaluated by the executor"))
}

fn printf(_: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let format = arguments[0].as_text().map(Text::as_bytes).unwrap_or_default();
    Ok(Value::string(print::format(format, &arguments[1..])))
}

fn length(_: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let length = match &arguments[0] {
        Value::Nothing => {
            return Err(Error::function("reflect: call of reflect.Value.Type on zero Value"));
        }
        Value::Nil => return Err(Error::function("len of nil pointer")),
        Value::String(text) | Value::Bytes(text) => text.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.entries().len(),
        other => {
            // Go looks at what a pointer points to.
            let name = other.type_name();
            return Err(Error::function(format!("len of type {}", name.trim_start_matches('*'))));
        }
    };
    Ok(Value::int(length as i64))
}

/// Whether this is the function `call`, whose complaints name what was called.
pub(crate) fn is_call(function: &Function) -> bool {
    matches!(function.body, Body::Plain(body) if std::ptr::fn_addr_eq(body, call as PlainBody))
}

fn call(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    call_named(call, "", arguments)
}

/// Calls the function that is the first argument; `name` is how it was written.
pub(crate) fn call_named(
    call: &mut Call<'_>,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    match &arguments[0] {
        Value::Nothing | Value::Nil => Err(Error::function("call of nil")),
        Value::Function(function) => {
            let declared = function.parameters.len();
            let given = arguments.len() - 1;
            if !function.is_variadic && given != declared {
                return Err(Error::function(format!(
                    "wrong number of args for {name}: got {given} want {declared}"
                )));
            }
            for (index, argument) in arguments[1..].iter().enumerate() {
                let parameter = function.parameter(index);
                if !parameter.accepts(argument) {
                    return Err(Error::function(format!(
                        "arg {index}: value has type {}; should be {}",
                        argument.type_name(),
                        parameter.type_name()
                    )));
                }
            }
            function.run(call, &arguments[1..])
        }
        other => Err(Error::function(format!("non-function {name} of type {}", other.type_name()))),
    }
}

/// The position in a list of the given length, as `indexArg` reads it.
fn position(index: &Value, limit: usize) -> Result<usize, Error> {
    let number = match index {
        Value::Int(_, number) => *number,
        Value::Uint(_, number) => *number as i64,
        Value::Nothing | Value::Nil => {
            return Err(Error::function("cannot index slice/array with nil"));
        }
        other => {
            let name = other.type_name();
            return Err(Error::function(format!("cannot index slice/array with type {name}")));
        }
    };
    match usize::try_from(number) {
        Ok(position) if position <= limit => Ok(position),
        _ => Err(Error::function(format!("index out of range: {number}"))),
    }
}

fn index(_: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let mut item = arguments[0].clone();
    if item.is_nil() {
        return Err(Error::function("index of untyped nil"));
    }
    for index in &arguments[1..] {
        item = index_once(&item, index)?;
    }
    Ok(item)
}

fn index_once(item: &Value, index: &Value) -> Result<Value, Error> {
    // Go lets an index equal to the length through its own check and panics in reflect.
    let beyond = |what: &str| Error::function(format!("reflect: {what} index out of range"));
    match item {
        Value::Nothing | Value::Nil => Err(Error::function("index of nil pointer")),
        Value::List(list) => {
            let at = position(index, list.len())?;
            list.get(at).cloned().ok_or_else(|| beyond("slice"))
        }
        Value::String(text) | Value::Bytes(text) => {
            let at = position(index, text.len())?;
            let byte = text.as_bytes().get(at).ok_or_else(|| {
                beyond(if matches!(item, Value::String(_)) { "string" } else { "slice" })
            })?;
            Ok(Value::Uint(UintType::Uint8, u64::from(*byte)))
        }
        Value::Map(map) => match index {
            Value::String(key) => Ok(map.get(key.as_bytes()).unwrap_or_else(|| map.class().zero())),
            Value::Nothing | Value::Nil => {
                Err(Error::function("value is nil; should be of type string"))
            }
            other => Err(Error::function(format!(
                "value has type {}; should be string",
                other.type_name()
            ))),
        },
        other => Err(Error::function(format!("can't index item of type {}", other.type_name()))),
    }
}

fn slice(_: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let (item, indexes) = (&arguments[0], &arguments[1..]);
    if item.is_nil() {
        return Err(Error::function("slice of untyped nil"));
    }
    if indexes.len() > 3 {
        return Err(Error::function(format!("too many slice indexes: {}", indexes.len())));
    }
    let length = match item {
        Value::String(_) if indexes.len() == 3 => {
            return Err(Error::function("cannot 3-index slice a string"));
        }
        Value::String(text) | Value::Bytes(text) => text.len(),
        Value::List(list) => list.len(),
        other => {
            let name = other.type_name();
            return Err(Error::function(format!("can't slice item of type {name}")));
        }
    };
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = position(index, length)?;
    }
    for pair in bounds[..indexes.len().max(2)].windows(2) {
        if pair[0] > pair[1] {
            let message = format!("invalid slice index: {} > {}", pair[0], pair[1]);
            return Err(Error::function(message));
        }
    }
    let range = bounds[0]..bounds[1];
    Ok(match item {
        Value::String(text) => Value::string(&text.as_bytes()[range]),
        Value::Bytes(bytes) => Value::Bytes(Text::from(&bytes.as_bytes()[range])),
        Value::List(list) => Value::List(List::new(list.element_type(), list[range].to_vec())),
        other => other.clone(),
    })
}

fn basic_kind(value: &Value) -> Option<Kind> {
    match value {
        Value::Bool(_) => Some(Kind::Bool),
        Value::Int(..) => Some(Kind::Int),
        Value::Uint(..) => Some(Kind::Uint64),
        Value::Float(_) => Some(Kind::Float64),
        Value::String(_) => Some(Kind::String),
        _ => None,
    }
}

fn equals_any(first: &Value, others: &[Value]) -> Result<bool, Error> {
    if others.is_empty() {
        return Err(Error::function("missing argument for comparison"));
    }
    for other in others {
        if equal(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal(first: &Value, other: &Value) -> Result<bool, Error> {
    Ok(match (first, other) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(_, a), Value::Int(_, b)) => a == b,
        (Value::Uint(_, a), Value::Uint(_, b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Int(_, a), Value::Uint(_, b)) | (Value::Uint(_, b), Value::Int(_, a)) => {
            u64::try_from(*a) == Ok(*b)
        }
        (a, b) if a.is_nil() || b.is_nil() => a.is_or_holds_nil() && b.is_or_holds_nil(),
        (a, b) if basic_kind(a) != basic_kind(b) => return Err(incompatible(a, b)),
        (a, b) if a.kind() != b.kind() => {
            let a_text = print::format(b"%s", std::slice::from_ref(a));
            let b_text = print::to_bytes(b);
            return Err(Error::function(format!(
                "non-comparable types {}: {}, {}: {}",
                String::from_utf8_lossy(&a_text),
                a.type_name(),
                b.type_name(),
                String::from_utf8_lossy(&b_text)
            )));
        }
        (a, b) if a.is_or_holds_nil() || b.is_or_holds_nil() => {
            a.is_or_holds_nil() && b.is_or_holds_nil()
        }
        (Value::Object(a), Value::Object(b)) => a.deep_equal(b.as_ref()),
        (_, b) => {
            let text = print::format(b"%s", std::slice::from_ref(b));
            let text = String::from_utf8_lossy(&text);
            return Err(Error::function(format!("non-comparable type {text}: {}", b.type_name())));
        }
    })
}

fn incompatible(a: &Value, b: &Value) -> Error {
    Error::function(format!(
        "incompatible types for comparison: {} and {}",
        a.type_name(),
        b.type_name()
    ))
}

fn less(first: &Value, second: &Value) -> Result<bool, Error> {
    let bad = || Error::function("invalid type for comparison");
    let kinds = (basic_kind(first).ok_or_else(bad)?, basic_kind(second).ok_or_else(bad)?);
    Ok(match (first, second) {
        (Value::Int(_, a), Value::Int(_, b)) => a < b,
        (Value::Uint(_, a), Value::Uint(_, b)) => a < b,
        (Value::Float(a), Value::Float(b)) => a < b,
        (Value::String(a), Value::String(b)) => a < b,
        (Value::Int(_, a), Value::Uint(_, b)) => u64::try_from(*a).is_ok_and(|a| a < *b) || *a < 0,
        (Value::Uint(_, a), Value::Int(_, b)) => u64::try_from(*b).is_ok_and(|b| *a < b),
        _ if kinds.0 == kinds.1 => return Err(bad()),
        (a, b) => return Err(incompatible(a, b)),
    })
}

fn less_or_equal(first: &Value, second: &Value) -> Result<bool, Error> {
    Ok(less(first, second)? || equal(first, second)?)
}

fn joined(arguments: &[Value]) -> Vec<u8> {
    if let [Value::String(text)] = arguments {
        return text.as_bytes().to_vec();
    }
    let printable: Vec<Value> = arguments
        .iter()
        .map(|value| if value.is_nil() { Value::from("<no value>") } else { value.clone() })
        .collect();
    print::sprint(&printable)
}

fn html(_: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let mut out = Vec::new();
    for byte in joined(arguments) {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(other),
        }
    }
    Ok(Value::string(out))
}

fn escape_js(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' | '\'' | '"' => out.extend([b'\\', c as u8]),
                '<' | '>' | '&' | '=' => {
                    out.extend_from_slice(format!("\\u{:04X}", c as u32).as_bytes());
                }
                c if c < ' ' => out.extend_from_slice(format!("\\u{:04X}", c as u32).as_bytes()),
                c if c.is_ascii() || is_printable(c) => {
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                c => out.extend_from_slice(format!("\\u{:04X}", c as u32).as_bytes()),
            }
        }
        for _ in chunk.invalid() {
            out.extend_from_slice(b"\\uFFFD");
        }
    }
    out
}

/// `url.QueryEscape`.
pub(crate) fn escape_query(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b' ' => out.push(b'+'),
            b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            byte if byte.is_ascii_alphanumeric() => out.push(*byte),
            byte => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_key_of_a_string_map_indexes_to_an_empty_string() {
        let map = crate::value::Map::with_class::<&str>(crate::value::MapClass::Strings, []);
        let value = index_once(&Value::Map(map), &Value::from("x"));
        assert!(matches!(value, Ok(Value::String(text)) if text.is_empty()));
    }
}
