//! Lua patterns, matched step by counted step.
//!
//! A pattern is a small regular language with captures: classes (`%a`, `[x-z]`,
//! `.`), repetitions of one class (`*`, `+`, `-`, `?`), balanced pairs (`%b()`),
//! frontiers (`%f[...]`), back references (`%1`) and anchors. Matching may
//! backtrack without end, which is why every step costs.

use std::cell::Cell;

/// Captures of one match; positions are bytes from the start of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capture {
    Text { start: usize, end: usize },
    Position(usize),
}

/// Where a pattern matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) captures: Vec<Capture>,
}

/// Why there is neither a match nor none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternError {
    /// The pattern makes no sense.
    Malformed(&'static str),
    /// The budget is used up.
    OutOfSteps,
}

type Result<T> = std::result::Result<T, PatternError>;

const MAX_CAPTURES: usize = 32;
/// Groups and optional items recurse; repetitions do not.
const MAX_DEPTH: usize = 200;

/// The first match at or behind `from`. A pattern that begins with `^` matches
/// at `from` only.
pub(super) fn find(
    text: &[u8],
    pattern: &[u8],
    from: usize,
    steps: &Cell<u64>,
) -> Result<Option<Match>> {
    let (anchored, pattern) = match pattern.strip_prefix(b"^") {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    for start in from..=text.len() {
        let mut matcher = Matcher { text, pattern, steps, captures: Vec::new(), depth: 0 };
        if let Some(end) = matcher.matches(start, 0)? {
            let captures = matcher.finished_captures()?;
            return Ok(Some(Match { start, end, captures }));
        }
        if anchored {
            break;
        }
    }
    Ok(None)
}

struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    steps: &'a Cell<u64>,
    captures: Vec<Group>,
    depth: usize,
}

#[derive(Clone, Copy)]
struct Group {
    start: usize,
    state: GroupState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupState {
    Open,
    Position,
    Closed { end: usize },
}

impl Matcher<'_> {
    /// Matches the pattern from `at` against the text from `position`; the end
    /// of the match, if there is one.
    fn matches(&mut self, position: usize, at: usize) -> Result<Option<usize>> {
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH {
            Err(PatternError::Malformed("pattern too complex"))
        } else {
            self.matches_here(position, at)
        };
        self.depth -= 1;
        result
    }

    fn matches_here(&mut self, mut position: usize, mut at: usize) -> Result<Option<usize>> {
        loop {
            self.pay()?;
            let Some(first) = self.pattern.get(at) else { return Ok(Some(position)) };
            match (first, self.pattern.get(at + 1)) {
                (b'(', Some(b')')) => {
                    return self.open(position, at + 2, GroupState::Position);
                }
                (b'(', _) => return self.open(position, at + 1, GroupState::Open),
                (b')', _) => return self.close(position, at + 1),
                (b'$', None) => {
                    return Ok((position == self.text.len()).then_some(position));
                }
                (b'%', Some(b'b')) => match self.balanced(position, at + 2)? {
                    Some(end) => (position, at) = (end, at + 4),
                    None => return Ok(None),
                },
                (b'%', Some(b'f')) => {
                    let end = self.class_end(at + 2)?;
                    if self.pattern.get(at + 2) != Some(&b'[') {
                        return Err(PatternError::Malformed("missing '[' after '%f' in pattern"));
                    }
                    let before = position.checked_sub(1).map_or(0, |before| self.text[before]);
                    let here = self.text.get(position).copied().unwrap_or(0);
                    let set = &self.pattern[at + 2..end];
                    if in_set(set, before) || !in_set(set, here) {
                        return Ok(None);
                    }
                    at = end;
                }
                (b'%', Some(digit @ b'0'..=b'9')) => match self.repeated(position, *digit)? {
                    Some(end) => (position, at) = (end, at + 2),
                    None => return Ok(None),
                },
                _ => {
                    let end = self.class_end(at)?;
                    match self.pattern.get(end) {
                        Some(b'?') => {
                            if self.single(position, at, end)
                                && let Some(found) = self.matches(position + 1, end + 1)?
                            {
                                return Ok(Some(found));
                            }
                            at = end + 1;
                        }
                        Some(b'+') => {
                            if !self.single(position, at, end) {
                                return Ok(None);
                            }
                            return self.greedy(position + 1, position, at, end);
                        }
                        Some(b'*') => return self.greedy(position, position, at, end),
                        Some(b'-') => return self.lazy(position, at, end),
                        _ => {
                            if !self.single(position, at, end) {
                                return Ok(None);
                            }
                            (position, at) = (position + 1, end);
                        }
                    }
                }
            }
        }
    }

    fn pay(&self) -> Result<()> {
        let left = self.steps.get().checked_sub(1).ok_or(PatternError::OutOfSteps)?;
        self.steps.set(left);
        Ok(())
    }

    /// As many as possible, then fewer, but not fewer than up to `least`.
    fn greedy(
        &mut self,
        least: usize,
        from: usize,
        at: usize,
        end: usize,
    ) -> Result<Option<usize>> {
        let mut position = from;
        while self.single(position, at, end) {
            self.pay()?;
            position += 1;
        }
        while position >= least {
            if let Some(found) = self.matches(position, end + 1)? {
                return Ok(Some(found));
            }
            let Some(fewer) = position.checked_sub(1) else { break };
            position = fewer;
        }
        Ok(None)
    }

    /// As few as possible, then more.
    fn lazy(&mut self, mut position: usize, at: usize, end: usize) -> Result<Option<usize>> {
        loop {
            if let Some(found) = self.matches(position, end + 1)? {
                return Ok(Some(found));
            }
            if !self.single(position, at, end) {
                return Ok(None);
            }
            position += 1;
        }
    }

    fn open(&mut self, position: usize, at: usize, state: GroupState) -> Result<Option<usize>> {
        if self.captures.len() >= MAX_CAPTURES {
            return Err(PatternError::Malformed("too many captures"));
        }
        self.captures.push(Group { start: position, state });
        let found = self.matches(position, at)?;
        if found.is_none() {
            self.captures.pop();
        }
        Ok(found)
    }

    fn close(&mut self, position: usize, at: usize) -> Result<Option<usize>> {
        let open = self.captures.iter().rposition(|group| group.state == GroupState::Open);
        let open = open.ok_or(PatternError::Malformed("invalid pattern capture"))?;
        self.captures[open].state = GroupState::Closed { end: position };
        let found = self.matches(position, at)?;
        if found.is_none() {
            self.captures[open].state = GroupState::Open;
        }
        Ok(found)
    }

    /// `%bxy`: from an x to the y that balances it.
    fn balanced(&self, position: usize, at: usize) -> Result<Option<usize>> {
        let (Some(open), Some(close)) = (self.pattern.get(at), self.pattern.get(at + 1)) else {
            return Err(PatternError::Malformed("unbalanced pattern"));
        };
        if self.text.get(position) != Some(open) {
            return Ok(None);
        }
        let mut nesting = 1_usize;
        for (offset, byte) in self.text[position + 1..].iter().enumerate() {
            self.pay()?;
            if byte == close {
                nesting -= 1;
                if nesting == 0 {
                    return Ok(Some(position + offset + 2));
                }
            } else if byte == open {
                nesting += 1;
            }
        }
        Ok(None)
    }

    /// `%1`: what the first group matched, again.
    fn repeated(&self, position: usize, digit: u8) -> Result<Option<usize>> {
        let group = usize::from(digit).checked_sub(usize::from(b'1'));
        let group = group.and_then(|index| self.captures.get(index));
        let Some(Group { start, state: GroupState::Closed { end } }) = group else {
            return Err(PatternError::Malformed("invalid capture index"));
        };
        let again = &self.text[*start..*end];
        Ok(self.text[position..].starts_with(again).then(|| position + again.len()))
    }

    /// Does the class at `at..end` match the one byte at `position`?
    fn single(&self, position: usize, at: usize, end: usize) -> bool {
        let Some(byte) = self.text.get(position) else { return false };
        match self.pattern[at] {
            b'.' => true,
            b'%' => in_class(self.pattern[at + 1], *byte),
            b'[' => in_set(&self.pattern[at..end], *byte),
            literal => literal == *byte,
        }
    }

    /// Where the class that begins at `at` ends.
    fn class_end(&self, at: usize) -> Result<usize> {
        match self.pattern.get(at) {
            Some(b'%') if at + 1 >= self.pattern.len() => {
                Err(PatternError::Malformed("malformed pattern (ends with '%')"))
            }
            Some(b'%') => Ok(at + 2),
            Some(b'[') => self.set_end(at),
            Some(_) => Ok(at + 1),
            None => Err(PatternError::Malformed("malformed pattern")),
        }
    }

    fn set_end(&self, at: usize) -> Result<usize> {
        let unfinished = PatternError::Malformed("malformed pattern (missing ']')");
        let mut position = at + 1;
        if self.pattern.get(position) == Some(&b'^') {
            position += 1;
        }
        // A bracket right at the start is a member.
        let mut first = true;
        loop {
            match self.pattern.get(position).ok_or(unfinished)? {
                b']' if !first => return Ok(position + 1),
                b'%' => position += 2,
                _ => position += 1,
            }
            first = false;
        }
    }

    fn finished_captures(&self) -> Result<Vec<Capture>> {
        let captures = self.captures.iter().map(|group| match group.state {
            GroupState::Closed { end } => Ok(Capture::Text { start: group.start, end }),
            GroupState::Position => Ok(Capture::Position(group.start)),
            GroupState::Open => Err(PatternError::Malformed("unfinished capture")),
        });
        captures.collect()
    }
}

/// `%a`, `%D`, or an escaped character.
fn in_class(class: u8, byte: u8) -> bool {
    let member = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    member != class.is_ascii_uppercase()
}

/// `[...]`, with its brackets.
fn in_set(set: &[u8], byte: u8) -> bool {
    let inner = set.get(1..set.len().saturating_sub(1)).unwrap_or_default();
    let (negated, inner) = match inner.strip_prefix(b"^") {
        Some(inner) => (true, inner),
        None => (false, inner),
    };
    let mut rest = inner;
    let mut member = false;
    while let [first, tail @ ..] = rest {
        (member, rest) = match (first, tail) {
            (b'%', [class, tail @ ..]) => (member || in_class(*class, byte), tail),
            (low, [b'-', high, tail @ ..]) => (member || (*low..=*high).contains(&byte), tail),
            (literal, tail) => (member || *literal == byte, tail),
        };
    }
    member != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, pattern: &str, expect: &str) {
        let steps = Cell::new(100_000);
        let found = find(text.as_bytes(), pattern.as_bytes(), 0, &steps);
        let found = match found {
            Ok(None) => "none".to_owned(),
            Ok(Some(found)) => {
                let captures = found.captures.iter().map(|capture| match capture {
                    Capture::Text { start, end } => format!(" {:?}", &text[*start..*end]),
                    Capture::Position(position) => format!(" @{position}"),
                });
                format!("{}..{}{}", found.start, found.end, captures.collect::<String>())
            }
            Err(PatternError::Malformed(reason)) => reason.to_owned(),
            Err(PatternError::OutOfSteps) => "out of steps".to_owned(),
        };
        assert_eq!(found, expect, "{text:?} {pattern:?}");
    }

    #[test]
    fn classes_sets_and_repetitions() {
        check("hello world", "o w", "4..7");
        check("hello", "l+", "2..4");
        check("hello", "^h.-l", "0..3");
        check("hello", "^e", "none");
        check("hello", "o$", "4..5");
        check("a$b", "$b", "1..3");
        check("key = value", "^(%w+)%s*=%s*(%w+)$", "0..11 \"key\" \"value\"");
        check("2024-01-02", "(%d+)-(%d+)-(%d+)", "0..10 \"2024\" \"01\" \"02\"");
        check("abc", "[^ab]", "2..3");
        check("a]b", "[]]", "1..2");
        check("a-b", "[a%-]+", "0..2");
        check("x9", "[0-9a-c]", "1..2");
        check("THE (quick) fox", "%((%a+)%)", "4..11 \"quick\"");
        check("ab", "a?b?c?", "0..2");
        check("", "", "0..0");
        check("abc", "()b()", "1..2 @1 @2");
        check("aXb", "%u", "1..2");
        check("a.b", "%.", "1..2");
    }

    #[test]
    fn balanced_pairs_frontiers_and_back_references() {
        check("f(a(b)c)d", "%b()", "1..8");
        check("THE (quick) fox", "%f[%a]%a+%f[%A]", "0..3");
        check("\"it's\"", "([\"'])(.-)%1", "0..6 \"\\\"\" \"it's\"");
    }

    #[test]
    fn malformed_patterns_are_errors() {
        check("a", "[a", "malformed pattern (missing ']')");
        check("a", "%", "malformed pattern (ends with '%')");
        check("a", "a)", "invalid pattern capture");
        check("a", "(a", "unfinished capture");
        check("a", "%1", "invalid capture index");
        check("a", "%b", "unbalanced pattern");
        check("a", "%fa", "missing '[' after '%f' in pattern");
    }

    #[test]
    fn every_step_costs() {
        check(&"a".repeat(50), &format!("{}b", "a*".repeat(25)), "out of steps");
    }
}
