//! Reads fields of requests: JSON as it is, and text where the query of a URL
//! has nothing better.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// A type whose fields may come as text or as `null`.
pub(crate) trait Lenient: Sized {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

pub(crate) fn read<'de, T: Lenient, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::read(deserializer)
}

struct Read<T>(T);

impl<'de, T: Lenient> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Self)
    }
}

impl Lenient for String {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or_default())
    }
}

impl<T: Lenient> Lenient for Option<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Read<T>>::deserialize(deserializer)?.map(|it| it.0))
    }
}

impl<T: Lenient> Lenient for BTreeMap<String, T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Option::<BTreeMap<String, Read<T>>>::deserialize(deserializer)?;
        Ok(entries.unwrap_or_default().into_iter().map(|(key, it)| (key, it.0)).collect())
    }
}

/// A flag or a number, or the text of one.
struct Scalar<T>(PhantomData<T>);

impl<T: FromStr + Default + TryFrom<i64> + From<bool>> Visitor<'_> for Scalar<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a flag or a number")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<T, E> {
        Ok(T::from(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let signed = i64::try_from(number).ok().and_then(|it| T::try_from(it).ok());
        signed.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }
}

/// `bool` with what [`Scalar`] asks for; a number is no flag.
#[derive(Default)]
struct Flag(bool);

impl From<bool> for Flag {
    fn from(flag: bool) -> Self {
        Self(flag)
    }
}

impl TryFrom<i64> for Flag {
    type Error = ();

    fn try_from(_: i64) -> Result<Self, ()> {
        Err(())
    }
}

/// As Go's `strconv.ParseBool`, which the REST gateway uses.
impl FromStr for Flag {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Self(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Self(false)),
            _ => Err(()),
        }
    }
}

impl Lenient for bool {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(deserializer.deserialize_any(Scalar::<Flag>(PhantomData))?.0)
    }
}

impl Lenient for i64 {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar::<Self>(PhantomData))
    }
}

impl Lenient for i32 {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar::<Self>(PhantomData))
    }
}

struct List<T>(PhantomData<T>);

impl<'de, T: Lenient> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Read<T>>()? {
            list.push(item.0);
        }
        Ok(list)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
        let item = T::read(serde_json::Value::from(text)).map_err(E::custom)?;
        Ok(vec![item])
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }
}

impl<T: Lenient> Lenient for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(List(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use crate::message::application::{ApplicationQuery, ApplicationSyncRequest};

    #[test]
    fn a_query_gives_flags_numbers_and_lists_as_text() {
        let json = r#"{"project":"a","projects":["b","c"],"name":null,"refresh":"hard"}"#;
        let query: ApplicationQuery = serde_json::from_str(json).expect("a query");
        assert_eq!((query.project, query.projects.len()), (vec!["a".to_owned()], 2));
        assert_eq!((query.name, query.refresh.as_deref()), (None, Some("hard")));
        let json = r#"{"prune":"true","dryRun":false,"sourcePositions":["1",2]}"#;
        let sync: ApplicationSyncRequest = serde_json::from_str(json).expect("a request");
        assert_eq!((sync.prune, sync.dry_run), (Some(true), Some(false)));
        assert_eq!(sync.source_positions, [1, 2]);
    }

    #[test]
    fn what_is_no_flag_or_number_is_refused() {
        for json in [r#"{"prune":"yes"}"#, r#"{"prune":1}"#, r#"{"sourcePositions":"x"}"#] {
            assert!(serde_json::from_str::<ApplicationSyncRequest>(json).is_err(), "{json}");
        }
    }
}
