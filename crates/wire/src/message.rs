//! Requests and answers that are not resources, by service.
//!
//! Field numbers and JSON names are Argo CD's. In JSON an empty field is left
//! out, as Go's `omitempty` does it; the fields under `@always` are not. Reading
//! is lenient, because a REST request carries numbers, flags and lists as text
//! in its query: see [`read`].

pub mod account;
pub mod application;
pub mod applicationset;
pub mod certificate;
pub mod cluster;
pub mod decision;
pub mod events;
pub mod gpgkey;
pub mod notification;
pub mod project;
pub mod repo_server;
pub mod repocreds;
pub mod repository;
pub mod session;
pub mod settings;
pub mod version;

mod base64_text;
mod micro_time;
mod read;

pub use micro_time::MicroTime;
pub(crate) use read::{Lenient, read};

use std::collections::BTreeMap;

/// Is this what Go's `omitempty` leaves out? A struct never is.
pub(crate) trait Empty {
    fn is_empty(&self) -> bool;
}

impl Empty for String {
    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }
}

impl Empty for bool {
    fn is_empty(&self) -> bool {
        !self
    }
}

impl Empty for i64 {
    fn is_empty(&self) -> bool {
        *self == 0
    }
}

impl Empty for i32 {
    fn is_empty(&self) -> bool {
        *self == 0
    }
}

impl<T> Empty for Option<T> {
    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

impl<T> Empty for Vec<T> {
    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }
}

impl<K, V> Empty for BTreeMap<K, V> {
    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }
}

/// Messages in the shape all of them have.
macro_rules! messages {
    ($(
        $(#[$doc:meta])*
        $message:ident {
            $(@always { $($(#[$always_attribute:meta])* $always:ident: $always_type:ty,)* })?
            $($(#[$attribute:meta])* $field:ident: $type:ty,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, PartialEq, prost::Message, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[schemars(extend("x-message" = [module_path!(), stringify!($message)]))]
        #[serde(default, rename_all = "camelCase")]
        pub struct $message {
            $($(
                $(#[$always_attribute])*
                #[serde(deserialize_with = "crate::message::read")]
                pub $always: $always_type,
            )*)?
            $(
                $(#[$attribute])*
                #[serde(
                    deserialize_with = "crate::message::read",
                    skip_serializing_if = "crate::message::Empty::is_empty"
                )]
                pub $field: $type,
            )*
        }

        crate::message::lenient!($message);
    )*};
}

/// Read as they are; `null` is the empty one.
macro_rules! lenient {
    ($($type:ty),* $(,)?) => {$(
        impl crate::message::Lenient for $type {
            fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(<Option<Self> as serde::Deserialize>::deserialize(deserializer)?.unwrap_or_default())
            }
        }

        impl crate::message::Empty for $type {
            fn is_empty(&self) -> bool {
                false
            }
        }
    )*};
}

pub(crate) use {lenient, messages};

lenient!(
    api::AppProject,
    api::Application,
    api::ApplicationSet,
    api::ApplicationSource,
    api::ApplicationSpec,
    api::HelmFileParameter,
    api::HelmParameter,
    api::Info,
    api::ListMeta,
    api::ObjectMeta,
    api::RawExtension,
    api::ResourceDiff,
    api::RetryStrategy,
    api::SourceIntegrityCheckResult,
    api::SyncOperationResource,
    api::SyncStrategy,
    api::SyncWindow,
    api::Time,
    MicroTime,
);
