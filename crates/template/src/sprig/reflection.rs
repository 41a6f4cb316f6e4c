//! Kinds, types, defaults and choices.

use super::{add_fixed, add_variadic};
use crate::arguments::text;
use crate::call::{Functions, Parameter};
use crate::value::Value;

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Any, Bool, String};
    add_fixed(
        functions,
        &[
            ("typeOf", &[Any], |_, a| Ok(Value::string(a[0].type_name()))),
            ("typeIs", &[String, Any], |_, a| Ok(Value::Bool(text(&a[0]) == a[1].type_name()))),
            ("typeIsLike", &[String, Any], |_, a| {
                let name = a[1].type_name();
                let wanted = text(&a[0]);
                Ok(Value::Bool(name == wanted || name.strip_prefix('*') == Some(&*wanted)))
            }),
            ("kindOf", &[Any], |_, a| Ok(Value::string(a[0].kind().name()))),
            ("kindIs", &[String, Any], |_, a| Ok(Value::Bool(text(&a[0]) == a[1].kind().name()))),
            ("deepEqual", &[Any, Any], |_, a| Ok(Value::Bool(a[0].deep_equal(&a[1])))),
            ("empty", &[Any], |_, a| Ok(Value::Bool(!a[0].is_true()))),
            ("ternary", &[Any, Any, Bool], |_, a| Ok(a[usize::from(!a[2].is_true())].clone())),
        ],
    );
    add_variadic(
        functions,
        &[
            ("default", &[Any, Any], |_, a| {
                Ok(a.get(1).filter(|given| given.is_true()).unwrap_or(&a[0]).clone())
            }),
            ("coalesce", &[Any], |_, a| {
                Ok(a.iter().find(|value| value.is_true()).cloned().unwrap_or(Value::Nil))
            }),
            ("all", &[Any], |_, a| Ok(Value::Bool(a.iter().all(Value::is_true)))),
            ("any", &[Any], |_, a| Ok(Value::Bool(a.iter().any(Value::is_true)))),
        ],
    );
}
