//! As much of DER as a certificate needs: writing all of it, reading a few fields.

/// A tag with its content.
pub(super) fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let significant = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
            out.push(0x80 | significant.len() as u8);
            out.extend_from_slice(significant);
        }
    }
    out.extend_from_slice(content);
    out
}

pub(super) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tagged(0x30, &parts.concat())
}

pub(super) fn set(parts: &[Vec<u8>]) -> Vec<u8> {
    tagged(0x31, &parts.concat())
}

/// An unsigned integer of any size.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let zeros =
        bytes.iter().take_while(|byte| **byte == 0).count().min(bytes.len().saturating_sub(1));
    let significant = &bytes[zeros..];
    let mut content = Vec::with_capacity(significant.len() + 1);
    if significant.first().is_none_or(|byte| *byte >= 0x80) {
        content.push(0);
    }
    content.extend_from_slice(significant);
    tagged(0x02, &content)
}

pub(super) fn object_identifier(arcs: &[u32]) -> Vec<u8> {
    let mut content = vec![(arcs[0] * 40 + arcs[1]) as u8];
    for arc in &arcs[2..] {
        let mut groups = vec![(arc & 0x7f) as u8];
        let mut rest = arc >> 7;
        while rest > 0 {
            groups.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        groups.reverse();
        content.extend(groups);
    }
    tagged(0x06, &content)
}

pub(super) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    tagged(0x03, &[&[0], bytes].concat())
}

pub(super) fn octet_string(bytes: &[u8]) -> Vec<u8> {
    tagged(0x04, bytes)
}

pub(super) fn truth() -> Vec<u8> {
    tagged(0x01, &[0xff])
}

pub(super) fn null() -> Vec<u8> {
    tagged(0x05, &[])
}

/// The first element of the input: its tag, its content, its whole encoding, and what follows.
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    pub(super) whole: &'a [u8],
    pub(super) rest: &'a [u8],
}

pub(super) fn read(input: &[u8]) -> Option<Element<'_>> {
    let (&tag, after) = input.split_first()?;
    let (&first, mut after) = after.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let count = usize::from(first & 0x7f);
        if count == 0 || count > 4 {
            return None;
        }
        let digits = after.get(..count)?;
        length = digits.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        after = &after[count..];
    }
    let content = after.get(..length)?;
    let rest = &after[length..];
    Some(Element { tag, content, whole: &input[..input.len() - rest.len()], rest })
}
