//! Runs a script of a user: on its own, on a budget, and with nothing to break.
//!
//! Every evaluation has a fresh machine; nothing of one script remains for the
//! next. The machine has tables, texts, numbers and the time it is told, and
//! no files, processes, modules, coroutines or compiled code. Three budgets
//! end a script that does not end: instructions, memory, and steps of pattern
//! matching (the matcher of the machine itself runs in one instruction, however
//! long it takes, and is replaced by ours).

mod convert;
mod date;
mod pattern;
mod texts;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) use date::rfc3339;

use mlua::chunk::ChunkMode;
use mlua::{HookTriggers, Lua, LuaOptions, StdLib, Value as LuaValue, VmState};
use object::{NotAnObject, Object};
use serde_json::Value;

/// What a script may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of the machine. The default is about what the interpreter
    /// of Argo CD gets through in the second it allows.
    pub instructions: u64,
    /// Bytes of memory.
    pub memory: usize,
    /// Steps of pattern matching.
    pub pattern_steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { instructions: 50_000_000, memory: 64 << 20, pattern_steps: 10_000_000 }
    }
}

/// What a script learns about the world.
#[derive(Clone)]
pub struct Surroundings {
    /// Seconds since 1970 in UTC: what `os.time` and `os.date` go by.
    pub now: i64,
    /// What the script may use up.
    pub limits: Limits,
    /// Asked now and then: must the script end? One instruction may take a
    /// long time (copying a long text), so that who has a clock should use it.
    pub is_time_up: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl Surroundings {
    /// The usual limits at a given time, and no clock.
    #[must_use]
    pub fn at(now: i64) -> Self {
        Self { now, limits: Limits::default(), is_time_up: None }
    }
}

/// Why a script gave no answer. The author of the script reads it.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is no Lua.
    #[error("cannot read the Lua script: {0}")]
    Syntax(String),
    /// It failed, or called `error`.
    #[error("{0}")]
    Failed(String),
    /// It went over one of its budgets.
    #[error("the Lua script was stopped: {0}")]
    Stopped(&'static str),
    /// It returned something else than it should.
    #[error("the script returned {found}; it must return {expected}")]
    WrongResult {
        /// What it must return.
        expected: &'static str,
        /// What it returned.
        found: String,
    },
    /// It returned a table that is no Kubernetes object.
    #[error("the script returned a table that is no Kubernetes object")]
    NotAnObject {
        /// What is missing.
        source: NotAnObject,
    },
}

impl ScriptError {
    pub(crate) fn wrong_result(expected: &'static str, found: &Value) -> Self {
        let mut found = found.to_string();
        if found.len() > 80 {
            let end = (0..=80).rev().find(|end| found.is_char_boundary(*end)).unwrap_or(0);
            found.truncate(end);
            found.push('…');
        }
        Self::WrongResult { expected, found }
    }
}

const TOO_LONG: &str = "it ran for too many instructions";
const TOO_MANY_STEPS: &str = "its text patterns need too many steps";
const TIME_IS_UP: &str = "its time is up";
const TOO_BIG: &str = "it used too much memory";

/// How often the budget of instructions is looked at.
const INSTRUCTIONS_BETWEEN_CHECKS: u32 = 1_000;

/// Runs `script` with `obj` (and `actionParams`) and returns what it returned.
pub(crate) fn evaluate(
    script: &str,
    object: &Object,
    parameters: Option<&BTreeMap<String, String>>,
    surroundings: &Surroundings,
) -> Result<Value, ScriptError> {
    let stopped = Rc::new(Cell::new(None));
    let outcome = run(script, object, parameters, surroundings, &stopped);
    match (stopped.get(), outcome) {
        // Whatever the script made of it: it was stopped.
        (Some(reason), _) => Err(ScriptError::Stopped(reason)),
        (None, Ok(value)) => Ok(value),
        (None, Err(error)) => Err(explain(&error)),
    }
}

/// Why the script has to end, once it has to.
type Stop = Rc<Cell<Option<&'static str>>>;

fn run(
    script: &str,
    object: &Object,
    parameters: Option<&BTreeMap<String, String>>,
    surroundings: &Surroundings,
    stopped: &Stop,
) -> mlua::Result<Value> {
    // Not the library that switches the compiler on: compiled code does not
    // count its instructions.
    let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::BIT;
    let lua = Lua::new_with(libraries, LuaOptions::default())?;
    close_doors(&lua)?;
    texts::replace_pattern_functions(&lua, surroundings.limits.pattern_steps, stopped)?;
    date::provide_os(&lua, surroundings.now)?;
    provide_require(&lua)?;
    let_no_script_catch_its_end(&lua, stopped)?;
    let globals = lua.globals();
    globals.set("obj", convert::mapping_to_lua(&lua, object.fields())?)?;
    if let Some(parameters) = parameters {
        let table = lua.create_table()?;
        for (name, value) in parameters {
            table.set(name.as_str(), value.as_str())?;
        }
        globals.set("actionParams", table)?;
    }
    lua.set_memory_limit(surroundings.limits.memory)?;
    count_instructions(&lua, surroundings, stopped)?;
    let result: LuaValue = lua.load(script).set_mode(ChunkMode::Text).set_name("=script").eval()?;
    lua.remove_global_hook();
    convert::from_lua(&result)
}

/// Takes away what could read files, load code, or undo what is done here.
fn close_doors(lua: &Lua) -> mlua::Result<()> {
    const DOORS: [&str; 14] = [
        "collectgarbage",
        "coroutine",
        "debug",
        "dofile",
        "gcinfo",
        "getfenv",
        "jit",
        "load",
        "loadfile",
        "loadstring",
        "module",
        "newproxy",
        "package",
        "setfenv",
    ];
    for door in DOORS {
        lua.globals().set(door, LuaValue::Nil)?;
    }
    let string: mlua::Table = lua.globals().get("string")?;
    string.set("dump", LuaValue::Nil)?;
    // Scripts may print for their author's sake; nobody is there to read it.
    lua.globals().set("print", lua.create_function(|_, _: mlua::MultiValue| Ok(()))?)
}

/// `require` knows the libraries that are there anyway.
fn provide_require(lua: &Lua) -> mlua::Result<()> {
    let require = lua.create_function(|lua, name: String| match name.as_str() {
        "os" | "string" | "table" | "math" => lua.globals().get::<LuaValue>(name),
        _ => Err(mlua::Error::runtime(format!("module {name:?} is not available to scripts"))),
    })?;
    lua.globals().set("require", require)
}

fn count_instructions(lua: &Lua, surroundings: &Surroundings, stopped: &Stop) -> mlua::Result<()> {
    let left = Cell::new(surroundings.limits.instructions);
    let is_time_up = surroundings.is_time_up.clone();
    let stopped = Rc::clone(stopped);
    let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_BETWEEN_CHECKS);
    lua.set_global_hook(triggers, move |_, _| {
        let remaining = left.get().saturating_sub(u64::from(INSTRUCTIONS_BETWEEN_CHECKS));
        left.set(remaining);
        if stopped.get().is_none() {
            if remaining == 0 {
                stopped.set(Some(TOO_LONG));
            } else if is_time_up.as_ref().is_some_and(|is_time_up| is_time_up()) {
                stopped.set(Some(TIME_IS_UP));
            }
        }
        match stopped.get() {
            None => Ok(VmState::Continue),
            Some(reason) => Err(mlua::Error::runtime(reason)),
        }
    })
}

/// A script may catch errors, but not the one that stops it: what catches
/// looks first whether there is an end to be made.
fn let_no_script_catch_its_end(lua: &Lua, stopped: &Stop) -> mlua::Result<()> {
    const WRAP: &str = "local pcall, xpcall, is_stopped, fail = ...
        local function pass(...)
          if is_stopped() then fail() end
          return ...
        end
        return function(...) return pass(pcall(...)) end,
          function(call, handler, ...)
            local function handle(problem)
              if is_stopped() then return problem end
              return handler(problem)
            end
            return pass(xpcall(call, handle, ...))
          end";
    let stop = Rc::clone(stopped);
    let is_stopped = lua.create_function(move |_, ()| Ok(stop.get().is_some()))?;
    let stop = Rc::clone(stopped);
    let fail = lua.create_function(move |_, ()| -> mlua::Result<()> {
        Err(mlua::Error::runtime(stop.get().unwrap_or_default()))
    })?;
    let globals = lua.globals();
    let (pcall, xpcall): (LuaValue, LuaValue) = (globals.get("pcall")?, globals.get("xpcall")?);
    let (pcall, xpcall): (LuaValue, LuaValue) =
        lua.load(WRAP).call((pcall, xpcall, is_stopped, fail))?;
    globals.set("pcall", pcall)?;
    globals.set("xpcall", xpcall)
}

fn explain(error: &mlua::Error) -> ScriptError {
    match error {
        mlua::Error::MemoryError(_) => ScriptError::Stopped(TOO_BIG),
        mlua::Error::SyntaxError { message, .. } => ScriptError::Syntax(message.clone()),
        mlua::Error::CallbackError { cause, .. } => explain(cause),
        mlua::Error::RuntimeError(message) => {
            // The trace behind the message names our internals, not the script.
            let message = message.split("\nstack traceback:").next().unwrap_or(message);
            ScriptError::Failed(message.to_owned())
        }
        other => ScriptError::Failed(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run_with(script: &str, limits: Limits) -> Result<Value, ScriptError> {
        let object = json!({"apiVersion": "v1", "kind": "Thing"});
        let object = Object::from_value(object).expect("an object");
        evaluate(script, &object, None, &Surroundings { limits, ..Surroundings::at(0) })
    }

    #[track_caller]
    fn check_stopped(script: &str, expect: &str) {
        let limits = Limits { instructions: 2_000_000, memory: 16 << 20, pattern_steps: 100_000 };
        let error = run_with(script, limits).expect_err("a script that must be stopped");
        assert_eq!(error.to_string(), format!("the Lua script was stopped: {expect}"), "{script}");
    }

    #[test]
    fn a_script_that_does_not_end_is_ended() {
        for script in [
            "while true do end",
            "while true do pcall(function() while true do end end) end",
            "local function f() pcall(f) end while true do f() end",
            "local f f = function() xpcall(function() while true do end end, f) end f()",
            "for i = 1, 1e12 do end",
            "local s = '' while true do s = s .. '' end",
            "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) \
             while true do pcall(function() return t[1] end) end",
            "table.sort({3, 2, 1}, function(a, b) while true do end end)",
        ] {
            check_stopped(script, TOO_LONG);
        }
    }

    #[test]
    fn who_has_a_clock_may_stop_a_script() {
        let calls = std::sync::atomic::AtomicU32::new(0);
        let third_time = move || calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 2;
        let surroundings =
            Surroundings { is_time_up: Some(Arc::new(third_time)), ..Surroundings::at(0) };
        let object = json!({"apiVersion": "v1", "kind": "Thing"});
        let object = Object::from_value(object).expect("an object");
        let error = evaluate("while true do end", &object, None, &surroundings).unwrap_err();
        assert_eq!(error.to_string(), "the Lua script was stopped: its time is up");
    }

    #[test]
    fn a_script_that_wants_all_memory_does_not_get_it() {
        for script in [
            "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
            "return ('x'):rep(1e9)",
            "local s = 'x' while true do s = s .. s end",
        ] {
            check_stopped(script, TOO_BIG);
        }
    }

    #[test]
    fn a_pattern_that_would_take_years_is_ended() {
        for script in [
            "return (('a'):rep(50)):find(('a*'):rep(25) .. 'b')",
            "while true do pcall(string.find, ('a'):rep(50), ('a*'):rep(25) .. 'b') end",
            "return (('a'):rep(50)):gsub(('a-'):rep(25) .. 'b', '')",
            "for x in (('a'):rep(50)):gmatch(('a?'):rep(50) .. ('a'):rep(50) .. 'b') do end",
        ] {
            check_stopped(script, TOO_MANY_STEPS);
        }
    }

    #[test]
    fn deep_recursion_is_an_error_and_not_the_end_of_the_program() {
        let error = run_with("local function f() return 1 + f() end return f()", Limits::default());
        assert!(error.unwrap_err().to_string().contains("stack overflow"));
        let nested = "local t = {} for i = 1, 1e5 do t = {t} end return t";
        assert!(run_with(nested, Limits::default()).is_err());
        let circle = "local t = {} t.t = t return t";
        assert!(run_with(circle, Limits::default()).is_err());
    }

    #[test]
    fn there_is_nothing_dangerous_within_reach() {
        for name in [
            "io",
            "debug",
            "package",
            "load",
            "loadstring",
            "dofile",
            "loadfile",
            "coroutine",
            "jit",
            "ffi",
            "os.execute",
            "os.exit",
            "os.getenv",
            "os.remove",
            "string.dump",
            "getfenv",
            "setfenv",
            "newproxy",
            "collectgarbage",
            "module",
        ] {
            let script = format!("return {{found = tostring({name})}}");
            assert_eq!(
                run_with(&script, Limits::default()).unwrap(),
                json!({"found": "nil"}),
                "{name}"
            );
        }
        assert!(run_with("require('io')", Limits::default()).is_err());
        assert!(run_with("\u{1b}LJ\u{2}", Limits::default()).is_err());
    }

    #[test]
    fn nothing_of_a_script_remains_for_the_next() {
        run_with("string.len = function() return 0 end leak = 1", Limits::default()).unwrap();
        let result = run_with("return {a = ('xyz'):len(), b = tostring(leak)}", Limits::default());
        assert_eq!(result.unwrap(), json!({"a": 3, "b": "nil"}));
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        let check = |script: &str, expect: &str| {
            assert_eq!(run_with(script, Limits::default()).unwrap_err().to_string(), expect);
        };
        check(
            "local x = 1\nreturn obj.status.phase",
            "script:2: attempt to index field 'status' (a nil value)",
        );
        check("return {", "cannot read the Lua script: script:1: unexpected symbol near '<eof>'");
    }
}
