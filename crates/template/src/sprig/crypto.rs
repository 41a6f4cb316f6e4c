//! Hashes, password hashes, ciphers and random identifiers.

use aes::Aes256;
use cbc::cipher::block_padding::{NoPadding, Pkcs7};
use cbc::cipher::{BlockDecryptMut as _, BlockEncryptMut as _, KeyIvInit as _};
use hmac::Mac as _;
use sha2::Digest as _;

use super::add_fixed;
use crate::arguments::{bytes, int, text};
use crate::base64;
use crate::call::{Call, Functions, Parameter};
use crate::error::Error;
use crate::value::Value;

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Int, String, Uint32};
    add_fixed(
        functions,
        &[
            ("sha1sum", &[String], |_, a| Ok(hexadecimal(&sha1::Sha1::digest(bytes(&a[0]))))),
            ("sha256sum", &[String], |_, a| Ok(hexadecimal(&sha2::Sha256::digest(bytes(&a[0]))))),
            ("sha512sum", &[String], |_, a| Ok(hexadecimal(&sha2::Sha512::digest(bytes(&a[0]))))),
            ("adler32sum", &[String], |_, a| Ok(Value::string(adler32(bytes(&a[0])).to_string()))),
            ("bcrypt", &[String], |call, a| Ok(Value::string(bcrypt(call, bytes(&a[0]))?))),
            ("htpasswd", &[String, String], htpasswd),
            ("derivePassword", &[Uint32, String, String, String, String], derive_password),
            ("encryptAES", &[String, String], encrypt),
            ("decryptAES", &[String, String], |_, a| decrypt(bytes(&a[0]), bytes(&a[1]))),
            ("randBytes", &[Int], random_bytes),
            ("uuidv4", &[], |call, _| Ok(uuid(call))),
        ],
    );
}

fn hexadecimal(digest: &[u8]) -> Value {
    Value::string(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65521;
        b = (b + a) % 65521;
    }
    (b << 16) | a
}

fn bcrypt(call: &Call<'_>, password: &[u8]) -> Result<String, Error> {
    if password.len() > 72 {
        return Ok(
            "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes".into(),
        );
    }
    // As long as a few hundred thousand ordinary steps.
    call.charge(500_000)?;
    let mut salt = [0; 16];
    call.facts().random(&mut salt);
    let hashed = bcrypt::hash_with_salt(password, 10, salt);
    Ok(match hashed {
        Ok(parts) => parts.format_for_version(bcrypt::Version::TwoA),
        Err(error) => format!("failed to encrypt string with bcrypt: {error}"),
    })
}

fn htpasswd(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let user = text(&arguments[0]);
    if user.contains(':') {
        return Ok(Value::string(format!("invalid username: {user}")));
    }
    Ok(Value::string(format!("{user}:{}", bcrypt(call, bytes(&arguments[1]))?)))
}

/// The character classes of the Master Password algorithm.
fn password_letters(class: u8) -> &'static [u8] {
    match class {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'A' => b"AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// The shapes of each password type of the Master Password algorithm.
fn password_shapes(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        "long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        "medium" => &["CvcnoCvc", "CvcCvcno"],
        "short" => &["Cvcn"],
        "basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        "pin" => &["nnnn"],
        _ => return None,
    })
}

fn derive_password(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    const SEED: &[u8] = b"com.lyndir.masterpassword";
    let counter = u32::try_from(int(&arguments[0])).unwrap_or(0);
    let kind = text(&arguments[1]);
    let [password, user, site] = [2, 3, 4].map(|index| bytes(&arguments[index]));
    let Some(shapes) = password_shapes(&kind) else {
        return Ok(Value::string(format!("cannot find password template {kind}")));
    };
    call.charge(2_000_000)?;
    let salted = |name: &[u8]| [SEED, &(name.len() as u32).to_be_bytes(), name].concat();
    let mut key = [0; 64];
    let parameters = scrypt::Params::new(15, 8, 2, 64).expect("constants of the algorithm");
    scrypt::scrypt(password, &salted(user), &parameters, &mut key)
        .map_err(|error| Error::function(format!("failed to derive password: {error}")))?;
    let mut mac = <hmac::Hmac<sha2::Sha256> as hmac::Mac>::new_from_slice(&key)
        .expect("any key length will do");
    mac.update(&salted(site));
    mac.update(&counter.to_be_bytes());
    let seed = mac.finalize().into_bytes();
    let shape = shapes[usize::from(seed[0]) % shapes.len()];
    let letters = shape.bytes().zip(&seed[1..]).map(|(class, byte)| {
        let letters = password_letters(class);
        letters[usize::from(*byte) % letters.len()]
    });
    Ok(Value::string(letters.collect::<Vec<u8>>()))
}

fn aes_key(password: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    let length = password.len().min(32);
    key[..length].copy_from_slice(&password[..length]);
    key
}

fn encrypt(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let (password, plain) = (bytes(&arguments[0]), bytes(&arguments[1]));
    if plain.is_empty() {
        return Ok(Value::string(""));
    }
    let mut iv = [0; 16];
    call.facts().random(&mut iv);
    let cipher = cbc::Encryptor::<Aes256>::new(&aes_key(password).into(), &iv.into());
    let encrypted = cipher.encrypt_padded_vec_mut::<Pkcs7>(plain);
    Ok(Value::string(base64::encode(&[&iv[..], &encrypted].concat())))
}

fn decrypt(password: &[u8], encoded: &[u8]) -> Result<Value, Error> {
    if encoded.is_empty() {
        return Ok(Value::string(""));
    }
    let whole = base64::decode(encoded)
        .map_err(|at| Error::function(format!("illegal base64 data at input byte {at}")))?;
    let Some((iv, encrypted)) = whole.split_first_chunk::<16>() else {
        // The room Go made for decoding, padding included.
        let capacity = encoded.len() / 4 * 3;
        return Err(Error::function(format!(
            "runtime error: slice bounds out of range [:16] with capacity {capacity}"
        )));
    };
    if encrypted.is_empty() || encrypted.len() % 16 != 0 {
        return Err(Error::function("crypto/cipher: input not full blocks"));
    }
    let cipher = cbc::Decryptor::<Aes256>::new(&aes_key(password).into(), &(*iv).into());
    let mut plain = cipher
        .decrypt_padded_vec_mut::<NoPadding>(encrypted)
        .map_err(|_| Error::function("crypto/cipher: input not full blocks"))?;
    let padding = usize::from(plain.last().copied().unwrap_or(0));
    let Some(length) = plain.len().checked_sub(padding) else {
        let length = plain.len() as i64 - padding as i64;
        return Err(Error::function(format!(
            "runtime error: slice bounds out of range [:{length}]"
        )));
    };
    plain.truncate(length);
    Ok(Value::string(plain))
}

fn random_bytes(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let count = usize::try_from(int(&arguments[0]))
        .map_err(|_| Error::function("runtime error: makeslice: len out of range"))?;
    call.check_size(count)?;
    let mut buffer = vec![0; count];
    call.facts().random(&mut buffer);
    Ok(Value::string(base64::encode(&buffer)))
}

fn uuid(call: &Call<'_>) -> Value {
    let mut bytes = [0; 16];
    call.facts().random(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (a, b, c) = (&digits[..8], &digits[8..12], &digits[12..16]);
    Value::string(format!("{a}-{b}-{c}-{}-{}", &digits[16..20], &digits[20..]))
}
