//! The decision record of an Application, which Argo CD does not have.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};

/// Why an Application is as it is.
#[derive(Clone, PartialEq, prost::Message, Serialize, schemars::JsonSchema)]
#[schemars(extend("x-message" = [module_path!(), "DecisionRecord"]))]
pub struct DecisionRecord {
    /// The record as JSON, which it is in JSON.
    #[prost(string, tag = 1)]
    #[serde(serialize_with = "as_it_is")]
    #[schemars(with = "serde_json::Value")]
    pub record: String,
    /// The same for people.
    #[prost(string, tag = 2)]
    pub text: String,
}

fn as_it_is<S: Serializer>(json: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let value: serde_json::Value = serde_json::from_str(json).map_err(S::Error::custom)?;
    value.serialize(serializer)
}
