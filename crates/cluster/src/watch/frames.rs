//! Cuts the endless answer of a watch into its lines.

use std::mem;

use bytes::{Buf as _, Bytes, BytesMut};

/// No watch event may be larger. etcd takes objects of 1.5 MiB; some have their limit raised to 10.
const LINE_LIMIT: usize = 32 * 1024 * 1024;
/// A buffer that has grown past this for one large event is given back.
const KEPT: usize = 16 * 1024;

/// Bytes in, lines out.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// Up to here there is no line end.
    searched: usize,
}

/// A line that never ends.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the watch is larger than {} MiB", LINE_LIMIT >> 20)]
pub(crate) struct LineTooLong;

impl Lines {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), LineTooLong> {
        if self.buffer.len() + bytes.len() > LINE_LIMIT {
            return Err(LineTooLong);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// The next whole line that is not empty, without its end.
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        loop {
            let Some(end) = self.buffer[self.searched..].iter().position(|it| *it == b'\n') else {
                self.searched = self.buffer.len();
                self.shrink();
                return None;
            };
            let line = self.buffer.split_to(self.searched + end);
            self.buffer.advance(1);
            self.searched = 0;
            if !line.is_empty() {
                return Some(line.freeze());
            }
        }
    }

    fn shrink(&mut self) {
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT {
            drop(mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[&str], expect: &[&str]) {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for chunk in chunks {
            lines.push(chunk.as_bytes()).expect("short");
            while let Some(line) = lines.next() {
                found.push(String::from_utf8(line.to_vec()).expect("text"));
            }
        }
        assert_eq!(found, expect);
    }

    #[test]
    fn lines_may_come_in_pieces_or_many_at_a_time() {
        check(&["ab", "c\nd", "e\n\nf\n", "g"], &["abc", "de", "f"]);
        check(&["a\r\n"], &["a\r"]);
        check(&["", "\n", ""], &[]);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::default();
        let chunk = vec![b'x'; LINE_LIMIT / 2 + 1];
        assert_eq!(lines.push(&chunk), Ok(()));
        assert_eq!(lines.push(&chunk), Err(LineTooLong));
    }
}
