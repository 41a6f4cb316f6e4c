//! `string.find`, `match`, `gmatch` and `gsub` on our own matcher.

use std::cell::Cell;
use std::rc::Rc;

use mlua::{IntoLua as _, Lua, LuaString, MultiValue, Table, Value as LuaValue};

use super::pattern::{self, Capture, Match, PatternError};
use super::{Stop, TOO_MANY_STEPS};

/// Steps left, and where to say that there are none.
#[derive(Clone)]
struct Budget {
    steps: Rc<Cell<u64>>,
    stopped: Stop,
}

impl Budget {
    fn find(&self, text: &[u8], pattern: &[u8], from: usize) -> mlua::Result<Option<Match>> {
        pattern::find(text, pattern, from, &self.steps).map_err(|error| match error {
            PatternError::Malformed(reason) => mlua::Error::runtime(reason),
            PatternError::OutOfSteps => {
                self.stopped.set(Some(TOO_MANY_STEPS));
                mlua::Error::runtime(TOO_MANY_STEPS)
            }
        })
    }
}

pub(super) fn replace_pattern_functions(lua: &Lua, steps: u64, stopped: &Stop) -> mlua::Result<()> {
    let budget = Budget { steps: Rc::new(Cell::new(steps)), stopped: Rc::clone(stopped) };
    let string: Table = lua.globals().get("string")?;

    let own = budget.clone();
    type FindArguments = (LuaString, LuaString, Option<i64>, Option<bool>);
    let find = lua.create_function(move |lua, (text, pattern, init, plain): FindArguments| {
        find(lua, &own, &text, &pattern, init, plain.unwrap_or(false))
    })?;
    string.set("find", find)?;

    let own = budget.clone();
    type MatchArguments = (LuaString, LuaString, Option<i64>);
    let match_ = lua.create_function(move |lua, (text, pattern, init): MatchArguments| {
        let text = text.as_bytes();
        let Some(from) = start(init, text.len()) else { return Ok(nothing()) };
        match own.find(&text, &pattern.as_bytes(), from)? {
            None => Ok(nothing()),
            Some(found) => captures_or_whole(lua, &text, &found),
        }
    })?;
    string.set("match", match_)?;

    let own = budget.clone();
    let gmatch = lua.create_function(move |lua, (text, pattern): (LuaString, LuaString)| {
        gmatch(lua, own.clone(), text.as_bytes().to_vec(), pattern.as_bytes().to_vec())
    })?;
    string.set("gmatch", gmatch.clone())?;
    string.set("gfind", gmatch)?;

    type GsubArguments = (LuaString, LuaString, LuaValue, Option<i64>);
    let gsub =
        lua.create_function(move |lua, (text, pattern, replacement, most): GsubArguments| {
            gsub(lua, &budget, &text, &pattern, &replacement, most)
        })?;
    string.set("gsub", gsub)
}

/// The position at which to begin; positions count from 1, negative ones from
/// the end. `None` when that is behind the end.
fn start(init: Option<i64>, length: usize) -> Option<usize> {
    let init = init.unwrap_or(1);
    let from = match usize::try_from(init) {
        Ok(position) => position.saturating_sub(1),
        Err(_) => {
            let back = usize::try_from(init.unsigned_abs()).unwrap_or(usize::MAX);
            length.saturating_sub(back)
        }
    };
    (from <= length).then_some(from)
}

fn nothing() -> MultiValue {
    MultiValue::from_iter([LuaValue::Nil])
}

fn find(
    lua: &Lua,
    budget: &Budget,
    text: &LuaString,
    pattern: &LuaString,
    init: Option<i64>,
    plain: bool,
) -> mlua::Result<MultiValue> {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let Some(from) = start(init, text.len()) else { return Ok(nothing()) };
    let found = if plain {
        let quoted: Vec<u8> = pattern.iter().flat_map(|byte| quote(*byte)).collect();
        budget.find(&text, &quoted, from)?
    } else {
        budget.find(&text, &pattern, from)?
    };
    let Some(found) = found else { return Ok(nothing()) };
    let mut values = vec![(found.start + 1).into_lua(lua)?, found.end.into_lua(lua)?];
    for capture in &found.captures {
        values.push(captured(lua, &text, capture)?);
    }
    Ok(MultiValue::from_iter(values))
}

/// A byte as a pattern that matches only itself.
fn quote(byte: u8) -> impl Iterator<Item = u8> {
    let escape = byte.is_ascii_punctuation().then_some(b'%');
    escape.into_iter().chain([byte])
}

fn captured(lua: &Lua, text: &[u8], capture: &Capture) -> mlua::Result<LuaValue> {
    match capture {
        Capture::Text { start, end } => {
            Ok(LuaValue::String(lua.create_string(&text[*start..*end])?))
        }
        Capture::Position(position) => (position + 1).into_lua(lua),
    }
}

/// The captures; the whole match if the pattern has none.
fn captures_or_whole(lua: &Lua, text: &[u8], found: &Match) -> mlua::Result<MultiValue> {
    let whole = [Capture::Text { start: found.start, end: found.end }];
    let captures = if found.captures.is_empty() { &whole[..] } else { &found.captures };
    captures.iter().map(|capture| captured(lua, text, capture)).collect()
}

fn gmatch(
    lua: &Lua,
    budget: Budget,
    text: Vec<u8>,
    pattern: Vec<u8>,
) -> mlua::Result<mlua::Function> {
    let next = Cell::new(Some(0));
    lua.create_function(move |lua, ()| {
        let Some(from) = next.get() else { return Ok(nothing()) };
        let Some(found) = budget.find(&text, &pattern, from)? else {
            next.set(None);
            return Ok(nothing());
        };
        // An empty match must not be found again.
        let behind = if found.end == found.start { found.end + 1 } else { found.end };
        next.set((behind <= text.len()).then_some(behind));
        captures_or_whole(lua, &text, &found)
    })
}

fn gsub(
    lua: &Lua,
    budget: &Budget,
    text: &LuaString,
    pattern: &LuaString,
    replacement: &LuaValue,
    most: Option<i64>,
) -> mlua::Result<(LuaString, i64)> {
    let (text, pattern) = (text.as_bytes().to_vec(), pattern.as_bytes().to_vec());
    let anchored = pattern.first() == Some(&b'^');
    let mut result = Vec::new();
    let (mut position, mut count) = (0, 0);
    while most.is_none_or(|most| count < most) {
        let Some(found) = budget.find(&text, &pattern, position)? else { break };
        result.extend_from_slice(&text[position..found.start]);
        let whole = &text[found.start..found.end];
        match replace(lua, &text, &found, replacement)? {
            Some(replaced) => result.extend_from_slice(&replaced),
            None => result.extend_from_slice(whole),
        }
        count += 1;
        position = found.end;
        if whole.is_empty() {
            result.extend(text.get(position));
            position += 1;
        }
        if anchored || position > text.len() {
            break;
        }
    }
    result.extend_from_slice(text.get(position..).unwrap_or_default());
    Ok((lua.create_string(result)?, count))
}

/// What takes the place of a match; `None` keeps it.
fn replace(
    lua: &Lua,
    text: &[u8],
    found: &Match,
    replacement: &LuaValue,
) -> mlua::Result<Option<Vec<u8>>> {
    let replaced = match replacement {
        LuaValue::Function(function) => {
            let values: MultiValue = function.call(captures_or_whole(lua, text, found)?)?;
            values.into_iter().next().unwrap_or(LuaValue::Nil)
        }
        LuaValue::Table(table) => {
            let key = captures_or_whole(lua, text, found)?.into_iter().next();
            table.get(key.unwrap_or(LuaValue::Nil))?
        }
        LuaValue::String(template) => {
            return expand(lua, text, found, &template.as_bytes()).map(Some);
        }
        LuaValue::Integer(_) | LuaValue::Number(_) => {
            return Ok(Some(replacement.to_string()?.into_bytes()));
        }
        _ => return Err(mlua::Error::runtime("string/function/table expected")),
    };
    match replaced {
        LuaValue::Nil | LuaValue::Boolean(false) => Ok(None),
        LuaValue::String(text) => Ok(Some(text.as_bytes().to_vec())),
        LuaValue::Integer(_) | LuaValue::Number(_) => Ok(Some(replaced.to_string()?.into_bytes())),
        other => {
            let kind = other.type_name();
            Err(mlua::Error::runtime(format!("invalid replacement value (a {kind})")))
        }
    }
}

/// A template: `%1` is the first capture, `%0` the whole match.
fn expand(lua: &Lua, text: &[u8], found: &Match, template: &[u8]) -> mlua::Result<Vec<u8>> {
    let mut expanded = Vec::with_capacity(template.len());
    let mut rest = template;
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'%', [digit @ b'0'..=b'9', tail @ ..]) => {
                let value = match (digit - b'0', found.captures.len()) {
                    (0, _) | (1, 0) => {
                        let whole = Capture::Text { start: found.start, end: found.end };
                        captured(lua, text, &whole)?
                    }
                    (index, _) => {
                        let capture = found.captures.get(usize::from(index) - 1);
                        let capture =
                            capture.ok_or_else(|| mlua::Error::runtime("invalid capture index"))?;
                        captured(lua, text, capture)?
                    }
                };
                expanded.extend_from_slice(value.to_string()?.as_bytes());
                tail
            }
            (b'%', [escaped, tail @ ..]) => {
                expanded.push(*escaped);
                tail
            }
            (byte, tail) => {
                expanded.push(*byte);
                tail
            }
        };
    }
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expect: &str) {
        let lua = Lua::new();
        replace_pattern_functions(&lua, 1_000_000, &Rc::default()).expect("a new machine");
        let values: MultiValue = lua.load(format!("return {script}")).eval().expect(script);
        let found: Vec<String> =
            values.iter().map(|value| value.to_string().expect("a printable value")).collect();
        assert_eq!(found.join(" "), expect, "{script}");
    }

    #[test]
    fn find_tells_positions_and_captures() {
        check("('hello'):find('l+')", "3 4");
        check("('hello'):find('xyz')", "nil");
        check("('a.b'):find('.', 1, true)", "2 2");
        check("('a.b'):find('', 10)", "nil");
        check("('abc'):find('', 4)", "4 3");
        check("('key=val'):find('(%w+)=(%w+)')", "1 7 key val");
        check("('abcabc'):find('b', -3)", "5 5");
    }

    #[test]
    fn match_returns_captures_or_the_whole() {
        check("('2024-01'):match('(%d+)-(%d+)')", "2024 01");
        check("('abc'):match('b.')", "bc");
        check("('abc'):match('^b')", "nil");
        check("('abc'):match('()c')", "3");
    }

    #[test]
    fn gmatch_walks_over_all_matches() {
        check(
            "(function() local t = {} for k, v in ('a=1, b=2'):gmatch('(%w)=(%w)') do \
             t[#t + 1] = k .. v end return table.concat(t, ';') end)()",
            "a1;b2",
        );
        check(
            "(function() local n = 0 for _ in ('abc'):gmatch('') do n = n + 1 end return n end)()",
            "4",
        );
    }

    #[test]
    fn gsub_takes_templates_tables_and_functions() {
        check("('hello world'):gsub('o', '0')", "hell0 w0rld 2");
        check("('hello world'):gsub('o', '0', 1)", "hell0 world 1");
        check("('abc'):gsub('%w', '%0%0')", "aabbcc 3");
        check("('abc'):gsub('(a)(b)', '%2%1')", "bac 1");
        check("('$name is'):gsub('%$(%w+)', {name = 'Lua'})", "Lua is 1");
        check("('abc'):gsub('%w', function(c) if c == 'b' then return 'B' end end)", "aBc 3");
        check("('abc'):gsub('', '-')", "-a-b-c- 4");
        check("('abc'):gsub('^a', 'x')", "xbc 1");
        check("('a%b'):gsub('%%', '%%%%')", "a%%b 1");
    }
}
