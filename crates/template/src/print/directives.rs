//! Reads a format string: flags, widths, precisions, named arguments and verbs.

use super::printer::{Flags, Printer};
use super::{MAX_TEXT, append};
use crate::value::Value;

/// Go refuses wider fields.
const MAX_WIDTH: i64 = 1_000_000;

/// Walks a format string.
pub(super) struct Directives<'a> {
    format: &'a [u8],
    position: usize,
    arguments: &'a [Value],
    next: usize,
    reordered: bool,
}

impl<'a> Directives<'a> {
    pub(super) fn new(format: &'a [u8], arguments: &'a [Value]) -> Self {
        Self { format, position: 0, arguments, next: 0, reordered: false }
    }

    pub(super) fn run(mut self, out: &mut Vec<u8>) {
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
            out.extend_from_slice(format!("%!{verb}(BADINDEX)").as_bytes());
        } else if let Some(argument) = self.arguments.get(self.next) {
            self.next += 1;
            if verb == 'v' {
                flags.go_syntax = std::mem::take(&mut flags.sharp);
                flags.plus_fields = std::mem::take(&mut flags.plus);
            }
            Printer { out, flags, complaining: false }.argument(argument, verb);
        } else {
            out.extend_from_slice(format!("%!{verb}(MISSING)").as_bytes());
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
        // Go looks before it reads another digit.
        let is_read = |number: &usize| *number / 10 <= MAX_WIDTH as usize;
        let number = digits.parse::<usize>().ok().filter(is_read);
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
        (-MAX_WIDTH..=MAX_WIDTH).contains(&number).then_some(number)
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
