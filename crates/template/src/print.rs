//! Go's `fmt`: how a value becomes text in a template's output, in `print` and in `printf`.
//!
//! [`append`] is what `{{ value }}` writes; [`format`] is `Sprintf`, with every verb and flag a
//! template can use and with Go's complaints (`%!d(string=x)`) inside the text.

use crate::strconv::{format_exponent, format_fixed, format_general, is_printable, quote_with};
use crate::value::{Kind, List, Map, Object, Value};

/// A value nested deeper than this contains itself.
const MAX_DEPTH: usize = 200;

/// No single text grows beyond this. What is cut off here is refused by the executor, whose own limit
/// is never higher.
pub(crate) const MAX_TEXT: usize = 32 << 20;

/// Go refuses wider fields.
const MAX_WIDTH: i64 = 1_000_000;

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
    Directives { format, position: 0, arguments, next: 0, reordered: false }.run(&mut out);
    out
}

/// Walks a format string.
struct Directives<'a> {
    format: &'a [u8],
    position: usize,
    arguments: &'a [Value],
    next: usize,
    reordered: bool,
}

impl Directives<'_> {
    fn run(mut self, out: &mut Vec<u8>) {
        while self.position < self.format.len() && out.len() < MAX_TEXT {
            let rest = &self.format[self.position..];
            let literal = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
            out.extend_from_slice(&rest[..literal]);
            self.position += literal;
            if self.position >= self.format.len() {
                break;
            }
            self.position += 1;
            if !self.directive(out) {
                break;
            }
        }
        self.report_extra(out);
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.position).copied()
    }

    /// Prints one directive; false when the format ended inside it.
    fn directive(&mut self, out: &mut Vec<u8>) -> bool {
        let mut flags = self.flags();
        let mut good_index = true;
        let mut after_index = self.argument_index(&mut good_index);
        if self.peek() == Some(b'*') {
            self.position += 1;
            match self.integer_argument() {
                Some(width) => {
                    flags.minus |= width < 0;
                    flags.zero &= width >= 0;
                    flags.width = Some(width.unsigned_abs() as usize);
                }
                None => out.extend_from_slice(b"%!(BADWIDTH)"),
            }
            after_index = false;
        } else {
            flags.width = self.number();
            good_index &= !(after_index && flags.width.is_some());
        }
        if self.peek() == Some(b'.') && self.position + 1 < self.format.len() {
            self.position += 1;
            good_index &= !after_index;
            after_index = self.argument_index(&mut good_index);
            if self.peek() == Some(b'*') {
                self.position += 1;
                flags.precision =
                    self.integer_argument().and_then(|width| usize::try_from(width).ok());
                if flags.precision.is_none() {
                    out.extend_from_slice(b"%!(BADPREC)");
                }
                after_index = false;
            } else {
                flags.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !after_index {
            self.argument_index(&mut good_index);
        }
        let Some((verb, size)) = crate::lex::decode(&self.format[self.position..]) else {
            out.extend_from_slice(b"%!(NOVERB)");
            return false;
        };
        self.position += size;
        if verb == '%' {
            out.push(b'%');
        } else if !good_index {
            out.extend_from_slice(std::format!("%!{verb}(BADINDEX)").as_bytes());
        } else if let Some(argument) = self.arguments.get(self.next) {
            self.next += 1;
            if verb == 'v' {
                flags.go_syntax = std::mem::take(&mut flags.sharp);
                flags.plus_fields = std::mem::take(&mut flags.plus);
            }
            Printer { out, flags, complaining: false }.argument(argument, verb);
        } else {
            out.extend_from_slice(std::format!("%!{verb}(MISSING)").as_bytes());
        }
        true
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => break,
            }
            self.position += 1;
        }
        flags
    }

    fn number(&mut self) -> Option<usize> {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        let digits = std::str::from_utf8(&self.format[start..self.position]).ok()?;
        if digits.is_empty() {
            return None;
        }
        let number = digits.parse::<usize>().ok().filter(|number| *number <= MAX_WIDTH as usize);
        if number.is_none() {
            // Go gives up on the rest of the format.
            self.position = self.format.len();
        }
        number
    }

    fn integer_argument(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?;
        self.next += 1;
        let number = match argument {
            Value::Int(_, number) => *number,
            Value::Uint(_, number) => i64::try_from(*number).ok()?,
            _ => return None,
        };
        (number.abs() <= MAX_WIDTH).then_some(number)
    }

    /// Reads `[n]` if it is there, and makes argument n the next one.
    fn argument_index(&mut self, good: &mut bool) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let rest = &self.format[self.position..];
        let Some(close) = rest.iter().position(|byte| *byte == b']') else {
            self.position += 1;
            *good = false;
            return false;
        };
        let number =
            std::str::from_utf8(&rest[1..close]).ok().and_then(|t| t.parse::<usize>().ok());
        self.position += close + 1;
        match number {
            Some(number) if (1..=self.arguments.len()).contains(&number) => {
                self.next = number - 1;
                true
            }
            _ => {
                *good = false;
                number.is_some()
            }
        }
    }

    fn report_extra(&self, out: &mut Vec<u8>) {
        if self.reordered || self.next >= self.arguments.len() {
            return;
        }
        out.extend_from_slice(b"%!(EXTRA ");
        for (index, argument) in self.arguments[self.next..].iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            if argument.is_nil() {
                out.extend_from_slice(b"<nil>");
            } else {
                out.extend_from_slice(argument.type_name().as_bytes());
                out.push(b'=');
                append(out, argument);
            }
        }
        out.push(b')');
    }
}

#[derive(Clone, Copy, Default)]
struct Flags {
    sharp: bool,
    zero: bool,
    plus: bool,
    minus: bool,
    space: bool,
    go_syntax: bool,
    plus_fields: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

struct Printer<'a> {
    out: &'a mut Vec<u8>,
    flags: Flags,
    /// Inside a `%!x(type=value)`: methods are not consulted.
    complaining: bool,
}

impl<'a> Printer<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, flags: Flags::default(), complaining: false }
    }

    fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn argument(&mut self, value: &Value, verb: char) {
        match (value, verb) {
            (Value::Nothing | Value::Nil, 'T' | 'v') => self.pad("<nil>".as_bytes()),
            (Value::Nothing | Value::Nil, _) => self.bad_verb(value, verb),
            (_, 'T') => self.text(value.type_name().as_bytes()),
            _ => self.value(value, verb, 0),
        }
    }

    fn value(&mut self, value: &Value, verb: char, depth: usize) {
        if self.out.len() > MAX_TEXT {
            return;
        }
        if depth > MAX_DEPTH {
            return self.write("...");
        }
        match value {
            Value::Nothing | Value::Nil if self.flags.go_syntax => self.write("interface {}(nil)"),
            Value::Nothing | Value::Nil => self.write("<nil>"),
            Value::Bool(truth) => match verb {
                't' | 'v' => self.pad(truth.to_string().as_bytes()),
                _ => self.bad_verb(value, verb),
            },
            Value::Int(_, number) => {
                self.integer(value, number.unsigned_abs(), *number < 0, verb);
            }
            Value::Uint(_, number) => self.unsigned(value, *number, verb),
            Value::Float(number) => self.float(value, *number, verb),
            Value::String(text) => self.string(value, text.as_bytes(), verb),
            Value::Bytes(bytes) => self.bytes(value, bytes.as_bytes(), verb),
            Value::List(list) => self.list(list, verb, depth),
            Value::Map(map) => self.map(map, verb, depth),
            Value::Object(object) => self.object(value, object.as_ref(), verb, depth),
            Value::Function(_) => self.bad_verb(value, verb),
        }
    }

    fn list(&mut self, list: &List, verb: char, depth: usize) {
        let (open, separator, close) = if self.flags.go_syntax {
            self.write(&Value::List(list.clone()).type_name());
            ("{", ", ", "}")
        } else {
            ("[", " ", "]")
        };
        self.write(open);
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                self.write(separator);
            }
            self.value(item, verb, depth + 1);
        }
        self.write(close);
    }

    fn map(&mut self, map: &Map, verb: char, depth: usize) {
        let (separator, close) = if self.flags.go_syntax {
            self.write(map.class().type_name());
            self.write("{");
            (", ", "}")
        } else {
            self.write("map[");
            (" ", "]")
        };
        for (index, (key, item)) in map.entries().iter().enumerate() {
            if index > 0 {
                self.write(separator);
            }
            self.value(&Value::String(key.clone()), verb, depth + 1);
            self.write(":");
            self.value(item, verb, depth + 1);
        }
        self.write(close);
    }

    fn object(&mut self, value: &Value, object: &dyn Object, verb: char, depth: usize) {
        let stringable = matches!(verb, 'v' | 's' | 'x' | 'X' | 'q');
        if stringable
            && !self.flags.go_syntax
            && !self.complaining
            && let Some(text) = object.text()
        {
            return self.string(value, text.as_bytes(), verb);
        }
        if object.kind() == Kind::Pointer {
            if depth > 0 {
                // Go prints the address here, which no two runs agree on.
                return self.write("0xc000000000");
            }
            self.write("&");
        }
        if self.flags.go_syntax {
            self.write(object.type_name().trim_start_matches('*'));
        }
        self.write("{");
        for (index, (name, field)) in object.fields().iter().enumerate() {
            if index > 0 {
                self.write(if self.flags.go_syntax { ", " } else { " " });
            }
            if self.flags.plus_fields || self.flags.go_syntax {
                self.write(name);
                self.write(":");
            }
            self.value(field, verb, depth + 1);
        }
        self.write("}");
    }

    fn bad_verb(&mut self, value: &Value, verb: char) {
        self.write("%!");
        self.write(verb.encode_utf8(&mut [0; 4]));
        self.write("(");
        if value.is_nil() {
            self.write("<nil>");
        } else {
            self.write(&value.type_name());
            self.write("=");
            let complaining = std::mem::replace(&mut self.complaining, true);
            self.argument(value, if matches!(value, Value::Function(_)) { 'T' } else { 'v' });
            self.complaining = complaining;
        }
        self.write(")");
    }

    fn padding(&mut self, count: usize) {
        let byte = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
        self.out.resize(self.out.len() + count, byte);
    }

    fn pad(&mut self, text: &[u8]) {
        let missing = match self.flags.width {
            Some(width) => width.saturating_sub(rune_count(text)),
            None => 0,
        };
        if self.flags.minus {
            self.out.extend_from_slice(text);
            self.padding(missing);
        } else {
            self.padding(missing);
            self.out.extend_from_slice(text);
        }
    }

    fn pad_with_spaces(&mut self, text: &[u8]) {
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(text);
        self.flags.zero = zero;
    }

    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(precision) = self.flags.precision else { return text };
        let mut end = 0;
        for _ in 0..precision {
            match crate::lex::decode(&text[end..]) {
                Some((_, width)) => end += width,
                None => break,
            }
        }
        &text[..end]
    }

    fn text(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        self.pad(text);
    }

    fn string(&mut self, value: &Value, text: &[u8], verb: char) {
        match verb {
            'v' if self.flags.go_syntax => self.quoted(text),
            'v' | 's' => self.text(text),
            'x' | 'X' => self.hexadecimal(text, verb == 'X'),
            'q' => self.quoted(text),
            _ => self.bad_verb(value, verb),
        }
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        let can_backquote = || {
            std::str::from_utf8(text).is_ok_and(|text| {
                text.chars()
                    .all(|c| c == '\t' || (c >= ' ' && c != '`' && c != '\x7f' && c != '\u{feff}'))
            })
        };
        if self.flags.sharp && can_backquote() {
            let raw = [b"`", text, b"`"].concat();
            return self.pad(&raw);
        }
        let quoted = quote_with(text, '"', self.flags.plus);
        self.pad(quoted.as_bytes());
    }

    fn hexadecimal(&mut self, bytes: &[u8], upper: bool) {
        let bytes = match self.flags.precision {
            Some(precision) => &bytes[..bytes.len().min(precision)],
            None => bytes,
        };
        let prefix = if upper { "0X" } else { "0x" };
        let mut text = String::new();
        for (index, byte) in bytes.iter().enumerate() {
            if self.flags.space && index > 0 {
                text.push(' ');
            }
            if self.flags.sharp && (index == 0 || self.flags.space) {
                text.push_str(prefix);
            }
            text.push_str(&if upper {
                std::format!("{byte:02X}")
            } else {
                std::format!("{byte:02x}")
            });
        }
        self.pad(text.as_bytes());
    }

    fn bytes(&mut self, value: &Value, bytes: &[u8], verb: char) {
        match verb {
            's' => self.text(bytes),
            'x' | 'X' => self.hexadecimal(bytes, verb == 'X'),
            'q' => self.quoted(bytes),
            'v' if self.flags.go_syntax => {
                let items: Vec<String> =
                    bytes.iter().map(|byte| std::format!("{byte:#x}")).collect();
                self.write(&std::format!("[]byte{{{}}}", items.join(", ")));
            }
            'v' | 'd' => {
                self.write("[");
                for (index, byte) in bytes.iter().enumerate() {
                    if index > 0 {
                        self.write(" ");
                    }
                    self.digits(&byte.to_string(), false, "");
                }
                self.write("]");
            }
            _ => self.bad_verb(value, verb),
        }
    }

    fn unsigned(&mut self, value: &Value, number: u64, verb: char) {
        if verb == 'v' && self.flags.go_syntax {
            return self.write(&std::format!("{number:#x}"));
        }
        self.integer(value, number, false, verb);
    }

    fn integer(&mut self, value: &Value, magnitude: u64, negative: bool, verb: char) {
        let (digits, prefix) = match verb {
            'v' | 'd' => (magnitude.to_string(), ""),
            'b' => (std::format!("{magnitude:b}"), if self.flags.sharp { "0b" } else { "" }),
            'o' => (std::format!("{magnitude:o}"), if self.flags.sharp { "0" } else { "" }),
            'O' => (std::format!("{magnitude:o}"), "0o"),
            'x' => (std::format!("{magnitude:x}"), if self.flags.sharp { "0x" } else { "" }),
            'X' => (std::format!("{magnitude:X}"), if self.flags.sharp { "0X" } else { "" }),
            'c' => return self.pad(character(magnitude, negative).to_string().as_bytes()),
            'q' => {
                let c = character(magnitude, negative).to_string();
                let quoted = quote_with(c.as_bytes(), '\'', self.flags.plus);
                return self.pad(quoted.as_bytes());
            }
            'U' => return self.code_point(magnitude, negative),
            _ => return self.bad_verb(value, verb),
        };
        self.digits(&digits, negative, prefix);
    }

    fn digits(&mut self, digits: &str, negative: bool, prefix: &str) {
        let sign = match (negative, self.flags.plus, self.flags.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        let wanted = match (self.flags.precision, self.flags.width) {
            (Some(0), _) if digits == "0" => return self.pad_with_spaces(b""),
            (Some(precision), _) => precision,
            (None, Some(width)) if self.flags.zero && !self.flags.minus => {
                width.saturating_sub(sign.len())
            }
            _ => 0,
        };
        let zeros = "0".repeat(wanted.saturating_sub(digits.len()));
        // An octal that starts with a zero needs no other.
        let prefix =
            if prefix == "0" && (!zeros.is_empty() || digits == "0") { "" } else { prefix };
        self.pad_with_spaces(std::format!("{sign}{prefix}{zeros}{digits}").as_bytes());
    }

    fn code_point(&mut self, magnitude: u64, negative: bool) {
        let code = if negative { magnitude.wrapping_neg() } else { magnitude };
        let width = self.flags.precision.unwrap_or(4).max(4);
        let mut text = std::format!("U+{code:0width$X}");
        if self.flags.sharp {
            let c = u32::try_from(code).ok().and_then(char::from_u32);
            if let Some(c) = c.filter(|c| is_printable(*c)) {
                text.push_str(&std::format!(" '{c}'"));
            }
        }
        self.pad_with_spaces(text.as_bytes());
    }

    fn float(&mut self, value: &Value, number: f64, verb: char) {
        let precision = self.flags.precision;
        let mut text = match verb {
            'v' | 'g' => format_general(number, precision, false),
            'G' => format_general(number, precision, true),
            'e' | 'E' => format_exponent(number, Some(precision.unwrap_or(6)), verb == 'E'),
            'f' | 'F' => format_fixed(number, Some(precision.unwrap_or(6))),
            _ => return self.bad_verb(value, verb),
        };
        if !number.is_finite() {
            let text = match (number.is_nan(), self.flags.plus) {
                (true, true) => "+NaN",
                (false, false) if number > 0.0 => "+Inf",
                _ => &text,
            };
            return self.pad_with_spaces(text.as_bytes());
        }
        if self.flags.sharp {
            text = with_point(&text, verb, precision);
        }
        let negative = text.starts_with('-');
        let unsigned = text.trim_start_matches('-').to_owned();
        let sign = match (negative, self.flags.plus, self.flags.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        let length = sign.len() + unsigned.len();
        match self.flags.width {
            Some(width) if self.flags.zero && !self.flags.minus && width > length => {
                let zeros = "0".repeat(width - length);
                self.write(&std::format!("{sign}{zeros}{unsigned}"));
            }
            _ => self.pad(std::format!("{sign}{unsigned}").as_bytes()),
        }
    }
}

/// The `#` flag on floats: always a decimal point, and trailing zeros for `%g`.
fn with_point(text: &str, verb: char, precision: Option<usize>) -> String {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let mut mantissa = mantissa.to_owned();
    let significant =
        mantissa.trim_start_matches(['-', '0', '.']).bytes().filter(u8::is_ascii_digit).count();
    if !mantissa.contains('.') {
        mantissa.push('.');
    }
    if matches!(verb, 'v' | 'g' | 'G') {
        let missing = precision.unwrap_or(6).saturating_sub(significant.max(1));
        mantissa.push_str(&"0".repeat(missing));
    }
    mantissa + exponent
}

fn character(magnitude: u64, negative: bool) -> char {
    let code = if negative { None } else { u32::try_from(magnitude).ok() };
    code.and_then(char::from_u32).unwrap_or('\u{fffd}')
}

fn rune_count(text: &[u8]) -> usize {
    text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, arguments: &[Value], expect: &str) {
        let printed = format(text.as_bytes(), arguments);
        assert_eq!(String::from_utf8_lossy(&printed), expect, "{text}");
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
