//! What the three custom resources share: name, group, version, and their
//! protobuf form.

/// The API group of all our resources.
pub const GROUP: &str = "argoproj.io";
/// The one version of that group.
pub const VERSION: &str = "v1alpha1";
/// What stands in `apiVersion`.
pub const API_VERSION: &str = "argoproj.io/v1alpha1";

/// Where one of our resources lives.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppKey {
    /// The namespace of the resource itself, not of its destination.
    pub namespace: String,
    /// Its name, unique in the namespace.
    pub name: String,
}

impl AppKey {
    /// The key of the resource `name` in `namespace`.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl std::fmt::Display for AppKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// Gives a resource its key and its protobuf form.
///
/// prost's derive insists on a number for every field, but `apiVersion` and
/// `kind` are not on the wire; hence by hand, for these few messages.
macro_rules! resource {
    (
        $name:ident,
        values { $($value_tag:literal: $value:ident),+ },
        pointers { $($pointer_tag:literal: $pointer:ident),* }
    ) => {
        impl $name {
            /// What stands in `kind`.
            pub const KIND: &'static str = stringify!($name);

            /// A resource that says what it is and is otherwise empty.
            pub fn named(namespace: impl Into<String>, name: impl Into<String>) -> Self {
                let mut resource = Self {
                    api_version: $crate::resource::API_VERSION.to_owned(),
                    kind: Self::KIND.to_owned(),
                    ..Self::default()
                };
                resource.metadata.namespace = namespace.into();
                resource.metadata.name = name.into();
                resource
            }

            /// Where the resource lives.
            pub fn key(&self) -> $crate::AppKey {
                $crate::AppKey::new(&self.metadata.namespace, &self.metadata.name)
            }
        }

        impl prost::Message for $name {
            fn encode_raw(&self, buf: &mut impl prost::bytes::BufMut) {
                $(prost::encoding::message::encode($value_tag, &self.$value, buf);)+
                $(if let Some(pointer) = &self.$pointer {
                    prost::encoding::message::encode($pointer_tag, pointer, buf);
                })*
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire_type: prost::encoding::WireType,
                buf: &mut impl prost::bytes::Buf,
                context: prost::encoding::DecodeContext,
            ) -> Result<(), prost::DecodeError> {
                match tag {
                    $($value_tag => {
                        prost::encoding::message::merge(wire_type, &mut self.$value, buf, context)
                    })+
                    $($pointer_tag => prost::encoding::message::merge(
                        wire_type,
                        self.$pointer.get_or_insert_default(),
                        buf,
                        context,
                    ),)*
                    _ => prost::encoding::skip_field(wire_type, tag, buf, context),
                }
            }

            fn encoded_len(&self) -> usize {
                let values = [
                    $(prost::encoding::message::encoded_len($value_tag, &self.$value)),+
                ];
                let pointers: &[usize] = &[$(self.$pointer.as_ref().map_or(0, |pointer| {
                    prost::encoding::message::encoded_len($pointer_tag, pointer)
                })),*];
                values.iter().chain(pointers).sum()
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        }
    };
}

pub(crate) use resource;
