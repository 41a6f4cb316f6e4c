//! Byte order marks in the middle of a text: letters like any other to goyaml, and
//! to our parser something to skip at the start of a line and an error elsewhere.
//!
//! So the parser is given a letter in their place that the text does not have, and
//! whoever reads what it found puts them back.

use std::borrow::Cow;

const MARK: char = '\u{feff}';

/// The letter that stands for the marks of one text, if it has any.
#[derive(Clone, Copy, Debug)]
pub(super) struct StandIn(Option<char>);

impl StandIn {
    /// The text with another letter for each mark, as long as a mark is.
    pub(super) fn put_into(text: Cow<'_, str>) -> (Cow<'_, str>, Self) {
        if !text.contains(MARK) {
            return (text, Self(None));
        }
        let unused = ('\u{e000}'..='\u{f8ff}').find(|letter| !text.contains(*letter));
        match unused {
            Some(letter) => {
                let replaced = text.replace(MARK, letter.encode_utf8(&mut [0; 4]));
                (Cow::Owned(replaced), Self(Some(letter)))
            }
            None => (text, Self(None)),
        }
    }

    /// What was found, with the marks in their places again.
    pub(super) fn put_back(self, found: String) -> String {
        match self.0 {
            Some(letter) if found.contains(letter) => found.replace(letter, "\u{feff}"),
            _ => found,
        }
    }
}
