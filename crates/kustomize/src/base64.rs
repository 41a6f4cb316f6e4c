//! Base64 in the standard alphabet, as generated Secrets need it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Go's YAML libraries break encoded data into lines of this length.
const LINE: usize = 70;

/// Encodes without line breaks.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let block = chunk.iter().fold(0u32, |block, byte| (block << 8) | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for position in 0..4 {
            if position <= chunk.len() {
                let index = (block >> (18 - 6 * position)) & 0x3f;
                text.push(char::from(ALPHABET[index as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Encodes in lines of 70 letters, each ended, once there is more than one.
pub(crate) fn encode_in_lines(bytes: &[u8]) -> String {
    let text = encode(bytes);
    if text.len() / LINE + 1 == 1 {
        return text;
    }
    let mut lines = String::with_capacity(text.len() + text.len() / LINE + 1);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        lines.push_str(line);
        lines.push('\n');
        rest = after;
    }
    lines
}

/// Decodes, ignoring line breaks; `None` if the text is no base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let letters: Vec<u8> = text.bytes().filter(|letter| !matches!(letter, b'\n' | b'\r')).collect();
    if !letters.len().is_multiple_of(4) {
        return None;
    }
    let padding = letters.iter().rev().take_while(|letter| **letter == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3);
    let body = &letters[..letters.len() - padding];
    for chunk in body.chunks(4) {
        let mut block = 0u32;
        for letter in chunk {
            let index = ALPHABET.iter().position(|candidate| candidate == letter)?;
            block = (block << 6) | u32::try_from(index).ok()?;
        }
        block <<= 6 * (4 - chunk.len());
        let octets = block.to_be_bytes();
        bytes.extend_from_slice(&octets[1..chunk.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode, encode_in_lines};

    #[test]
    fn padding_follows_the_length() {
        for (bytes, text) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj")] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decode("YQ="), None);
        assert_eq!(decode("Y!=="), None);
    }

    #[test]
    fn long_data_is_broken_into_lines() {
        assert_eq!(encode_in_lines(b"short"), "c2hvcnQ=");
        let text = encode_in_lines(&[b'x'; 60]);
        assert_eq!(text.lines().map(str::len).collect::<Vec<_>>(), [70, 10]);
        assert!(text.ends_with('\n'));
    }
}
