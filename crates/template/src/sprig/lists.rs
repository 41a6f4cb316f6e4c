//! Lists.

use super::strings::elements;
use super::{add_fixed, add_variadic, numbers};
use crate::arguments::int;
use crate::call::{Call, Functions, Parameter};
use crate::error::Error;
use crate::value::{ElementType, List, Text, Value};

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Any, Int};
    add_fixed(
        functions,
        &[
            ("append", &[Any, Any], |_, a| push(a)),
            ("push", &[Any, Any], |_, a| push(a)),
            ("mustAppend", &[Any, Any], |_, a| push(a)),
            ("mustPush", &[Any, Any], |_, a| push(a)),
            ("prepend", &[Any, Any], |_, a| prepend(a)),
            ("mustPrepend", &[Any, Any], |_, a| prepend(a)),
            ("first", &[Any], |_, a| first(a)),
            ("mustFirst", &[Any], |_, a| first(a)),
            ("last", &[Any], |_, a| last(a)),
            ("mustLast", &[Any], |_, a| last(a)),
            ("rest", &[Any], |_, a| rest(a)),
            ("mustRest", &[Any], |_, a| rest(a)),
            ("initial", &[Any], |_, a| initial(a)),
            ("mustInitial", &[Any], |_, a| initial(a)),
            ("reverse", &[Any], |_, a| reverse(a)),
            ("mustReverse", &[Any], |_, a| reverse(a)),
            ("uniq", &[Any], |c, a| unique(c, a)),
            ("mustUniq", &[Any], |c, a| unique(c, a)),
            ("compact", &[Any], |_, a| compact(a)),
            ("mustCompact", &[Any], |_, a| compact(a)),
            ("has", &[Any, Any], |_, a| has(a)),
            ("mustHas", &[Any, Any], |_, a| has(a)),
            ("chunk", &[Int, Any], |_, a| chunk(a)),
            ("mustChunk", &[Int, Any], |_, a| chunk(a)),
        ],
    );
    add_variadic(
        functions,
        &[
            ("list", &[Any], |_, a| Ok(Value::list(a.to_vec()))),
            ("tuple", &[Any], |_, a| Ok(Value::list(a.to_vec()))),
            ("without", &[Any, Any], |_, a| without(a)),
            ("mustWithout", &[Any, Any], |_, a| without(a)),
            ("slice", &[Any, Any], |_, a| slice(a)),
            ("mustSlice", &[Any, Any], |_, a| slice(a)),
            ("concat", &[Any], |_, a| concat(a)),
        ],
    );
}

/// The elements, or a complaint about what was to be done with a list.
fn items(value: &Value, complaint: &str) -> Result<Vec<Value>, Error> {
    if value.is_nil() {
        return Err(Error::function(
            "runtime error: invalid memory address or nil pointer dereference",
        ));
    }
    elements(value).ok_or_else(|| Error::function(format!("{complaint} {}", value.kind().name())))
}

fn push(arguments: &[Value]) -> Result<Value, Error> {
    let mut list = items(&arguments[0], "Cannot push on type")?;
    list.push(arguments[1].clone());
    Ok(Value::list(list))
}

fn prepend(arguments: &[Value]) -> Result<Value, Error> {
    let mut list = items(&arguments[0], "Cannot prepend on type")?;
    list.insert(0, arguments[1].clone());
    Ok(Value::list(list))
}

fn first(arguments: &[Value]) -> Result<Value, Error> {
    let list = items(&arguments[0], "Cannot find first on type")?;
    Ok(list.first().cloned().unwrap_or(Value::Nil))
}

fn last(arguments: &[Value]) -> Result<Value, Error> {
    let list = items(&arguments[0], "Cannot find last on type")?;
    Ok(list.last().cloned().unwrap_or(Value::Nil))
}

/// What Go returns where it made no list at all.
fn nil_list() -> Value {
    Value::List(List::nil(ElementType::Any))
}

fn rest(arguments: &[Value]) -> Result<Value, Error> {
    let list = items(&arguments[0], "Cannot find rest on type")?;
    Ok(list.get(1..).map_or_else(nil_list, |rest| Value::list(rest.to_vec())))
}

fn initial(arguments: &[Value]) -> Result<Value, Error> {
    let mut list = items(&arguments[0], "Cannot find initial on type")?;
    Ok(if list.pop().is_none() { nil_list() } else { Value::list(list) })
}

fn reverse(arguments: &[Value]) -> Result<Value, Error> {
    let mut list = items(&arguments[0], "Cannot find reverse on type")?;
    list.reverse();
    Ok(Value::list(list))
}

fn unique(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let mut kept: Vec<Value> = Vec::new();
    for item in items(&arguments[0], "Cannot find uniq on type")? {
        call.charge(kept.len())?;
        if !kept.iter().any(|known| known.deep_equal(&item)) {
            kept.push(item);
        }
    }
    Ok(Value::list(kept))
}

fn compact(arguments: &[Value]) -> Result<Value, Error> {
    let mut list = items(&arguments[0], "Cannot compact on type")?;
    list.retain(Value::is_true);
    Ok(Value::list(list))
}

fn without(arguments: &[Value]) -> Result<Value, Error> {
    let mut list = items(&arguments[0], "Cannot find without on type")?;
    list.retain(|item| !arguments[1..].iter().any(|unwanted| unwanted.deep_equal(item)));
    Ok(Value::list(list))
}

fn has(arguments: &[Value]) -> Result<Value, Error> {
    if arguments[1].is_nil() {
        return Ok(Value::Bool(false));
    }
    let list = items(&arguments[1], "Cannot find has on type")?;
    Ok(Value::Bool(list.iter().any(|item| item.deep_equal(&arguments[0]))))
}

fn slice(arguments: &[Value]) -> Result<Value, Error> {
    let list = items(&arguments[0], "list should be type of slice or array but")?;
    if list.is_empty() {
        return Ok(Value::Nil);
    }
    let length = list.len() as i64;
    let start = arguments.get(1).map_or(0, numbers::to_int);
    let end = arguments.get(2).map_or(length, numbers::to_int);
    if start < 0 || start > end || end > length {
        return Err(Error::function("reflect.Value.Slice: slice index out of bounds"));
    }
    let range = start as usize..end as usize;
    Ok(match &arguments[0] {
        Value::Bytes(bytes) => Value::Bytes(Text::from(&bytes.as_bytes()[range])),
        Value::List(whole) => Value::List(List::new(whole.element_type(), list[range].to_vec())),
        other => other.clone(),
    })
}

fn concat(arguments: &[Value]) -> Result<Value, Error> {
    let mut out = Vec::new();
    for argument in arguments {
        if argument.is_nil() {
            return items(argument, "").map(Value::list);
        }
        let complaint = || {
            let kind = argument.kind().name();
            Error::function(format!("Cannot concat type {kind} as list"))
        };
        out.extend(elements(argument).ok_or_else(complaint)?);
    }
    Ok(Value::List(List::grown(ElementType::Any, out)))
}

fn chunk(arguments: &[Value]) -> Result<Value, Error> {
    let list = items(&arguments[1], "Cannot chunk type")?;
    let size = usize::try_from(int(&arguments[0])).ok().filter(|size| *size > 0);
    // By the arithmetic of Go, a negative size that is large enough leaves nothing.
    if size.is_none()
        && list.len() > 1
        && int(&arguments[0]).unsigned_abs() as usize >= list.len() - 1
    {
        return Ok(Value::List(List::new(ElementType::List, Vec::new())));
    }
    let Some(size) = size else {
        return Err(Error::function("runtime error: makeslice: len out of range"));
    };
    let chunks = list.chunks(size).map(|chunk| Value::list(chunk.to_vec())).collect();
    Ok(Value::List(List::new(ElementType::List, chunks)))
}
