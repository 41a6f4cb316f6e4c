//! Flow collections of simple things, on one line.

use serde_json::{Map, Value};

use super::{MAX_KEY_BYTES, Reader, plain_key, plain_value};

impl<'t> Reader<'t> {
    /// `[…]` or `{…}` on one line.
    pub(super) fn flow(&mut self, depth: usize) -> Option<Value> {
        if depth >= self.max_depth {
            return None;
        }
        self.count()?;
        let is_list = self.byte() == Some(b'[');
        let close = if is_list { b']' } else { b'}' };
        self.at += 1;
        self.skip_spaces();
        let (mut items, mut entries) = (Vec::new(), Map::new());
        while self.byte()? != close {
            if is_list {
                items.push(self.flow_value(depth)?);
            } else {
                let key = self.flow_key()?;
                let value = self.flow_value(depth)?;
                self.insert(&mut entries, key, value)?;
            }
            self.skip_spaces();
            match self.byte()? {
                b',' => {
                    self.at += 1;
                    self.skip_spaces();
                    // What a comma at the end means is not for us to say.
                    if self.byte() == Some(close) {
                        return None;
                    }
                }
                byte if byte == close => {}
                _ => return None,
            }
        }
        self.at += 1;
        Some(if is_list { Value::Array(items) } else { Value::Object(entries) })
    }

    pub(super) fn flow_value(&mut self, depth: usize) -> Option<Value> {
        match self.byte()? {
            b'[' | b'{' => self.flow(depth + 1),
            b'"' => self.text_value(Self::double_quoted),
            b'\'' => self.text_value(Self::single_quoted),
            _ => {
                self.count()?;
                plain_value(self.flow_word()?)
            }
        }
    }

    pub(super) fn flow_key(&mut self) -> Option<String> {
        self.count()?;
        let key = match self.byte()? {
            b'"' => self.double_quoted()?,
            b'\'' => self.single_quoted()?,
            _ => plain_key(self.flow_word()?)?,
        };
        if !self.text[self.at..].starts_with(": ") || key.len() > MAX_KEY_BYTES {
            return None;
        }
        self.at += 1;
        self.skip_spaces();
        Some(key)
    }

    /// A plain scalar of letters, digits and a few signs.
    pub(super) fn flow_word(&mut self) -> Option<&'t str> {
        let rest = &self.text[self.at..];
        let is_part =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
        let length = rest.bytes().take_while(|byte| is_part(*byte)).count();
        let word = &rest[..length];
        self.at += length;
        (length > 0 && !matches!(word, "-" | "--" | "---")).then_some(word)
    }
}
