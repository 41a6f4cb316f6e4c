//! `filepath.Match` of Go on Unix: `*` and `?` within one path element, `[^a-z]`.
//!
//! A pattern is read into sections between stars first; then every section takes
//! the leftmost place where it fits.

use super::PatternError;

/// Whether the whole of `name` matches the shell pattern.
///
/// # Errors
/// For a malformed pattern, if matching gets as far as the malformed section.
pub fn filepath_match(pattern: &str, name: &str) -> Result<bool, PatternError> {
    let sections = Reader { rest: pattern.chars() }.sections();
    let mut rest = name;
    for (index, section) in sections.iter().enumerate() {
        let items = section.items.as_ref().map_err(Clone::clone)?;
        let is_last = index + 1 == sections.len();
        if is_last && items.is_empty() {
            return Ok(!rest.contains('/'));
        }
        let reach = if section.after_star { usize::MAX } else { 1 };
        let found = starts(rest)
            .take(reach)
            .filter_map(|start| after(items, start))
            .find(|left| !is_last || left.is_empty());
        match found {
            Some(left) => rest = left,
            None => return Ok(false),
        }
    }
    Ok(rest.is_empty())
}

/// What stands between two stars, or is malformed there.
struct Section {
    after_star: bool,
    items: Result<Vec<Item>, PatternError>,
}

/// What stands for one character.
enum Item {
    Character(char),
    /// `?`
    AnyButSlash,
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Item {
    fn is_match(&self, character: char) -> bool {
        match self {
            Self::Character(expected) => character == *expected,
            Self::AnyButSlash => character != '/',
            Self::Set { negated, ranges } => {
                let is_in = ranges.iter().any(|(low, high)| (*low..=*high).contains(&character));
                is_in != *negated
            }
        }
    }
}

/// The places a star can reach: `name` itself and whatever follows its
/// characters up to the first slash.
fn starts(name: &str) -> impl Iterator<Item = &str> {
    let reach = name.find('/').unwrap_or(name.len());
    name.char_indices()
        .map(|(at, _)| at)
        .chain([name.len()])
        .filter(move |at| *at <= reach)
        .map(|at| &name[at..])
}

/// What is left of `text` after `items`.
fn after<'t>(items: &[Item], text: &'t str) -> Option<&'t str> {
    let mut characters = text.chars();
    let all = items.iter().all(|item| characters.next().is_some_and(|next| item.is_match(next)));
    all.then_some(characters.as_str())
}

struct Reader<'p> {
    rest: std::str::Chars<'p>,
}

impl Reader<'_> {
    /// All sections up to the first that is malformed.
    fn sections(mut self) -> Vec<Section> {
        let mut sections = Vec::new();
        while !self.rest.as_str().is_empty() {
            let mut after_star = false;
            while self.take('*') {
                after_star = true;
            }
            let items = self.items();
            let is_malformed = items.is_err();
            sections.push(Section { after_star, items });
            if is_malformed {
                break;
            }
        }
        sections
    }

    fn items(&mut self) -> Result<Vec<Item>, PatternError> {
        let mut items = Vec::new();
        while !self.rest.as_str().is_empty() && !self.rest.as_str().starts_with('*') {
            items.push(if self.take('[') {
                self.set()?
            } else if self.take('?') {
                Item::AnyButSlash
            } else {
                Item::Character(self.character()?)
            });
        }
        Ok(items)
    }

    /// Reads what follows `[`.
    fn set(&mut self) -> Result<Item, PatternError> {
        let negated = self.take('^');
        let mut ranges = Vec::new();
        while ranges.is_empty() || !self.take(']') {
            let low = self.range_end()?;
            let high = if self.take('-') { self.range_end()? } else { low };
            ranges.push((low, high));
        }
        Ok(Item::Set { negated, ranges })
    }

    /// One end of a range, which something must follow.
    fn range_end(&mut self) -> Result<char, PatternError> {
        if self.rest.as_str().starts_with(['-', ']']) {
            return Err(PatternError::BadFilepathPattern);
        }
        let end = self.character()?;
        if self.rest.as_str().is_empty() { Err(PatternError::BadFilepathPattern) } else { Ok(end) }
    }

    fn character(&mut self) -> Result<char, PatternError> {
        self.take('\\');
        self.rest.next().ok_or(PatternError::BadFilepathPattern)
    }

    fn take(&mut self, expected: char) -> bool {
        let found = self.rest.as_str().starts_with(expected);
        if found {
            self.rest.next();
        }
        found
    }
}
