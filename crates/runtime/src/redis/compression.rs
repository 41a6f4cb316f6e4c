//! Values as they are stored: Argo CD's gzip, or as they are.

use std::io::{Read as _, Write as _};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// How values are stored (`--redis-compress`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Compressed; keys end in `.gz`.
    #[default]
    Gzip,
    /// As they are.
    None,
}

impl std::str::FromStr for Compression {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "gzip" => Ok(Self::Gzip),
            "none" => Ok(Self::None),
            other => Err(format!("unknown compression type: {other}; gzip and none are known")),
        }
    }
}

impl Compression {
    /// What keys end in.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Gzip => ".gz",
            Self::None => "",
        }
    }

    pub(crate) fn write(self, value: &[u8]) -> Vec<u8> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(value).expect("memory takes everything");
                encoder.finish().expect("memory takes everything")
            }
            Self::None => value.to_vec(),
        }
    }

    /// What was stored, unless it has more than `limit` bytes.
    pub(crate) fn read(self, stored: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        let mut value = Vec::new();
        match self {
            Self::Gzip => {
                let decoder = MultiGzDecoder::new(stored);
                let mut bounded = decoder.take(limit as u64 + 1);
                bounded.read_to_end(&mut value).map_err(|error| error.to_string())?;
            }
            Self::None => value.extend_from_slice(stored),
        }
        if value.len() > limit {
            return Err(format!("it has more than {limit} bytes"));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        for compression in [Compression::Gzip, Compression::None] {
            let stored = compression.write(b"{}\n");
            assert_eq!(compression.read(&stored, 100), Ok(b"{}\n".to_vec()));
        }
    }

    #[test]
    fn a_value_that_unpacks_to_too_much_is_refused() {
        let stored = Compression::Gzip.write(&[0; 1000]);
        assert!(stored.len() < 100);
        let told = Compression::Gzip.read(&stored, 100);
        assert_eq!(told, Err("it has more than 100 bytes".to_owned()));
    }

    #[test]
    fn what_is_not_compressed_is_not_read_as_if_it_were() {
        assert!(Compression::Gzip.read(b"{}", 100).is_err());
    }
}
