//! Objects to tables and back.

use mlua::{IntoLua as _, Lua, Table, Value as LuaValue};
use serde_json::{Map, Number, Value};

/// Tables nested deeper than this are refused; a table may contain itself.
const MAX_DEPTH: usize = 100;

/// Integers up to here survive being a Lua number.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

pub(super) fn mapping_to_lua(lua: &Lua, fields: &Map<String, Value>) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, fields.len())?;
    for (name, value) in fields {
        table.raw_set(name.as_str(), to_lua(lua, value)?)?;
    }
    Ok(table)
}

fn to_lua(lua: &Lua, value: &Value) -> mlua::Result<LuaValue> {
    Ok(match value {
        Value::Null => LuaValue::Nil,
        Value::Bool(bool) => LuaValue::Boolean(*bool),
        Value::Number(number) => LuaValue::Number(number.as_f64().unwrap_or_default()),
        Value::String(text) => text.as_str().into_lua(lua)?,
        Value::Object(fields) => LuaValue::Table(mapping_to_lua(lua, fields)?),
        Value::Array(list) => {
            let table = lua.create_table_with_capacity(list.len(), 0)?;
            for (index, value) in list.iter().enumerate() {
                table.raw_set(index + 1, to_lua(lua, value)?)?;
            }
            LuaValue::Table(table)
        }
    })
}

/// What a script returned. An empty table is an empty mapping.
pub(super) fn from_lua(value: &LuaValue) -> mlua::Result<Value> {
    convert(value, 0)
}

fn convert(value: &LuaValue, depth: usize) -> mlua::Result<Value> {
    if depth > MAX_DEPTH {
        return Err(mlua::Error::runtime("the script returned a table that is nested too deeply"));
    }
    Ok(match value {
        LuaValue::Nil => Value::Null,
        LuaValue::Boolean(bool) => Value::Bool(*bool),
        LuaValue::Integer(integer) => Value::from(*integer),
        LuaValue::Number(number) => number_from_lua(*number),
        LuaValue::String(text) => Value::String(text.to_string_lossy()),
        LuaValue::Table(table) => table_from_lua(table, depth)?,
        other => {
            let kind = other.type_name();
            return Err(mlua::Error::runtime(format!("the script returned a {kind}")));
        }
    })
}

fn table_from_lua(table: &Table, depth: usize) -> mlua::Result<Value> {
    let length = table.raw_len();
    if length > 0 {
        let list = (1..=length).map(|index| convert(&table.raw_get(index)?, depth + 1));
        return Ok(Value::Array(list.collect::<mlua::Result<_>>()?));
    }
    let mut fields = Map::new();
    for pair in table.pairs::<LuaValue, LuaValue>() {
        let (name, value) = pair?;
        let name = match name {
            LuaValue::String(name) => name.to_string_lossy(),
            other => other.to_string()?,
        };
        fields.insert(name, convert(&value, depth + 1)?);
    }
    Ok(Value::Object(fields))
}

fn number_from_lua(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < MAX_EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be a small integer")]
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}
