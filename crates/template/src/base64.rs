//! Base64 and base32 with Go's standard alphabets and Go's complaints.

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// `base64.StdEncoding.EncodeToString`.
pub fn encode(bytes: &[u8]) -> String {
    encode_with(bytes, BASE64, 6, 4)
}

/// `base32.StdEncoding.EncodeToString`.
pub(crate) fn encode_base32(bytes: &[u8]) -> String {
    encode_with(bytes, BASE32, 5, 8)
}

fn encode_with(bytes: &[u8], alphabet: &[u8], bits: u32, group: usize) -> String {
    let mut out = String::new();
    let (mut pending, mut count) = (0u32, 0);
    for byte in bytes {
        pending = (pending << 8) | u32::from(*byte);
        count += 8;
        while count >= bits {
            count -= bits;
            out.push(alphabet[(pending >> count) as usize & (alphabet.len() - 1)] as char);
        }
        pending &= (1 << count) - 1;
    }
    if count > 0 {
        out.push(alphabet[(pending << (bits - count)) as usize & (alphabet.len() - 1)] as char);
    }
    while !out.len().is_multiple_of(group) {
        out.push('=');
    }
    out
}

/// `base64.StdEncoding.DecodeString`; the error is where the input stops being base64.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    decode_with(text, BASE64, 6, 4)
}

/// `base32.StdEncoding.DecodeString`.
pub(crate) fn decode_base32(text: &[u8]) -> Result<Vec<u8>, usize> {
    decode_with(text, BASE32, 5, 8)
}

fn decode_with(text: &[u8], alphabet: &[u8], bits: u32, group: usize) -> Result<Vec<u8>, usize> {
    let is_letter = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    // Line breaks do not count; in the positions of errors those of base64 do.
    let letters: Vec<(usize, u8)> = if bits == 6 {
        text.iter().copied().enumerate().filter(|(_, byte)| is_letter(byte)).collect()
    } else {
        text.iter().copied().filter(is_letter).enumerate().collect()
    };
    let data = letters.iter().take_while(|(_, letter)| *letter != b'=').count();
    let mut out = Vec::with_capacity(data);
    let (mut pending, mut count) = (0u32, 0);
    for (position, letter) in &letters[..data] {
        let value = alphabet.iter().position(|known| known == letter).ok_or(*position)?;
        pending = (pending << bits) | value as u32;
        count += bits;
        if count >= 8 {
            count -= 8;
            out.push((pending >> count) as u8);
        }
        pending &= (1 << count) - 1;
    }
    let padding = &letters[data..];
    if let Some((position, _)) = padding.first()
        && bits == 6
        && data % group == 1
    {
        // One letter alone can be no byte: it is the padding that comes too soon.
        return Err(*position);
    }
    let wanted = (group - data % group) % group;
    let end = text.len();
    if padding.len() < wanted {
        // Go points behind the last whole group, or at the end.
        return Err(if padding.is_empty() { end - data % group } else { end });
    }
    if let Some((position, _)) = padding.iter().take(wanted).find(|(_, letter)| *letter != b'=') {
        return Err(*position);
    }
    // Go's base32 does not look behind the padding.
    if let Some((position, _)) = padding.get(wanted)
        && (bits == 6 || wanted == 0)
    {
        return Err(*position);
    }
    let leftover = data % group;
    let possible = if bits == 6 { leftover != 1 } else { !matches!(leftover, 1 | 3 | 6) };
    if possible { Ok(out) } else { Err(letters[data - 1].0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_and_decoding_are_inverse() {
        for text in ["", "f", "fo", "foo", "foob", "fooba", "foobar"] {
            assert_eq!(decode(encode(text.as_bytes()).as_bytes()).as_deref(), Ok(text.as_bytes()));
            let base32 = encode_base32(text.as_bytes());
            assert_eq!(decode_base32(base32.as_bytes()).as_deref(), Ok(text.as_bytes()));
        }
        assert_eq!(encode(b"Test string"), "VGVzdCBzdHJpbmc=");
        assert_eq!(encode_base32(b"Test string"), "KRSXG5BAON2HE2LOM4======");
    }

    #[test]
    fn what_is_not_base64_is_pointed_at() {
        assert_eq!(decode(b"!!"), Err(0));
        assert_eq!(decode(b"VGVz!!"), Err(4));
        assert_eq!(decode(b"VGVzd"), Err(4));
        assert_eq!(decode(b"OJSWY==="), Err(5));
        assert_eq!(decode(b"\n!"), Err(1));
        assert_eq!(decode_base32(b"\n!"), Err(0));
    }
}
