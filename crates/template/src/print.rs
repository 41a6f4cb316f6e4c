//! Go's `fmt`: how a value becomes text in a template's output, in `print` and in `printf`.
//!
//! [`append`] is what `{{ value }}` writes; [`format()`] is `Sprintf`, with every verb and flag a
//! template can use and with Go's complaints (`%!d(string=x)`) inside the text: `directives` reads the format,
//! `printer` and `numbers` write the values.

mod directives;
mod numbers;
mod printer;

use self::directives::Directives;
use self::printer::Printer;
use crate::value::Value;

/// No single text grows beyond this. What is cut off here is refused by the executor, whose own limit
/// is never higher.
pub(crate) const MAX_TEXT: usize = 32 << 20;

/// Writes `value` as `fmt.Fprint` does.
pub fn append(out: &mut Vec<u8>, value: &Value) {
    Printer::new(out).argument(value, 'v');
}

/// `fmt.Sprint` of one value.
pub fn to_bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    append(&mut out, value);
    out
}

/// `fmt.Sprint`: a space between two operands when neither is a string.
pub fn sprint(arguments: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut after_string = true;
    for (index, argument) in arguments.iter().enumerate() {
        let is_string = matches!(argument, Value::String(_));
        if index > 0 && !is_string && !after_string {
            out.push(b' ');
        }
        append(&mut out, argument);
        after_string = is_string;
    }
    out
}

/// `fmt.Sprintln`.
pub fn sprintln(arguments: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        append(&mut out, argument);
    }
    out.push(b'\n');
    out
}

/// `fmt.Sprintf`.
pub fn format(format: &[u8], arguments: &[Value]) -> Vec<u8> {
    let mut out = Vec::with_capacity(format.len());
    Directives::new(format, arguments).run(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Map;

    #[track_caller]
    fn check(text: &str, arguments: &[Value], expect: &str) {
        let printed = format(text.as_bytes(), arguments);
        assert_eq!(String::from_utf8_lossy(&printed), expect, "{text}");
    }

    #[test]
    fn more_digits_than_a_number_has_are_zeros() {
        for verb in ["f", "e", "g"] {
            let text = format(format!("%.949993{verb}").as_bytes(), &[Value::Float(1.5)]);
            assert!(text.starts_with(b"1.5"), "{verb}");
        }
        assert_eq!(format(b"%.70000f", &[Value::Float(0.5)]).len(), 70_002);
    }

    #[test]
    fn verbs_and_flags_print_as_in_go() {
        let (n, f, s) = (Value::int(42), Value::Float(1.61803), Value::from("ab"));
        check(
            "%05d|%+d|%x|%X|%o|%b|%#x",
            &[
                n.clone(),
                n.clone(),
                Value::int(255),
                Value::int(255),
                n.clone(),
                n.clone(),
                Value::int(255),
            ],
            "00042|+42|ff|FF|52|101010|0xff",
        );
        check(
            "%-5s|%5s|%.1s|%q|%x",
            &[s.clone(), s.clone(), s.clone(), s.clone(), s.clone()],
            "ab   |   ab|a|\"ab\"|6162",
        );
        check(
            "%5.2f|%e|%g|%08.3f|%v",
            &[f.clone(), f.clone(), f.clone(), f.clone(), f],
            " 1.62|1.618030e+00|1.61803|0001.618|1.61803",
        );
        check(
            "%c|%U|%q|%t|%T",
            &[Value::int(0x41), Value::int(0x1F600), Value::int(65), Value::Bool(true), n],
            "A|U+1F600|'A'|true|int",
        );
        check(
            "%06.2f|%+.1e|%6d|%-6d|",
            &[Value::Float(-1.5), Value::Float(12345.0), Value::int(-7), Value::int(-7)],
            "-01.50|+1.2e+04|    -7|-7    |",
        );
    }

    #[test]
    fn complaints_stand_in_the_text() {
        check("%d", &[Value::from("x")], "%!d(string=x)");
        check("%s", &[Value::int(5)], "%!s(int=5)");
        check("%s", &[Value::list(vec![Value::int(1)])], "[%!s(int=1)]");
        check("%d %d", &[Value::int(1)], "1 %!d(MISSING)");
        check("%d", &[Value::int(1), Value::int(2)], "1%!(EXTRA int=2)");
        check("%", &[], "%!(NOVERB)");
        check("%s", &[Value::Nil], "%!s(<nil>)");
        check("%[3]d", &[Value::int(1)], "%!d(BADINDEX)");
    }

    #[test]
    fn arguments_can_be_named_and_widths_given_as_arguments() {
        check("%[2]d %[1]d", &[Value::int(1), Value::int(2)], "2 1");
        check(
            "%*d|%-*d|%.*f",
            &[
                Value::int(4),
                Value::int(7),
                Value::int(4),
                Value::int(7),
                Value::int(2),
                Value::Float(1.0),
            ],
            "   7|7   |1.00",
        );
    }

    #[test]
    fn no_width_is_too_large_to_be_refused() {
        check("%*d", &[Value::int(i64::MIN), Value::int(1)], "%!(BADWIDTH)1");
        check("%*d", &[Value::int(i64::MAX), Value::int(1)], "%!(BADWIDTH)1");
        check("%99999999999999999999d", &[Value::int(1)], "%!(NOVERB)%!(EXTRA int=1)");
    }

    #[test]
    fn containers_print_in_brackets_and_go_syntax() {
        let map = Value::map([
            ("b", Value::int(1)),
            ("a", Value::list(vec![Value::Nil, Value::from("x")])),
        ]);
        check("%v", std::slice::from_ref(&map), "map[a:[<nil> x] b:1]");
        check(
            "%#v",
            &[map],
            "map[string]interface {}{\"a\":[]interface {}{interface {}(nil), \"x\"}, \"b\":1}",
        );
        check("%v", &[Value::Bytes("hi".into())], "[104 105]");
        check("%s", &[Value::Bytes("hi".into())], "hi");
    }

    #[test]
    fn operands_of_print_are_spaced_unless_strings() {
        let printed =
            sprint(&[Value::int(1), Value::int(2), "a".into(), "b".into(), Value::int(3)]);
        assert_eq!(printed, b"1 2ab3");
    }

    #[test]
    fn a_map_that_holds_itself_ends() {
        let map = Map::new::<&str>([]);
        map.set("self", Value::Map(map.clone()));
        assert!(to_bytes(&Value::Map(map.clone())).len() < 10_000);
        map.entries_mut().clear();
    }
}
