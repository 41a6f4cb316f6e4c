//! What methods answer with, in the two forms it goes out in.
//!
//! A message is printed when it is asked for. A resource that many ask for is
//! [`Printed`] already, and a list of thousands is copied together from these.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use api::{ApplicationList, ApplicationWatchEvent, ListMeta};
use prost::Message;
use prost::bytes::BufMut;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use tonic::Status;
use tonic::codec::{Codec, EncodeBuf, Encoder};
use tonic_prost::ProstDecoder;

use crate::go_json::{go_json, go_json_of_size};

/// What a method answers with over gRPC.
pub trait Encoded: Send + 'static {
    /// How long it is as protobuf.
    fn encoded_len(&self) -> usize;
    /// As protobuf.
    fn encode(&self, buffer: &mut impl BufMut);
}

impl<M: Message + 'static> Encoded for M {
    fn encoded_len(&self) -> usize {
        Message::encoded_len(self)
    }

    fn encode(&self, buffer: &mut impl BufMut) {
        self.encode_raw(buffer);
    }
}

/// What a method answers with over REST as well.
pub trait Answer: Encoded {
    /// What it is to those who read it.
    type Message: Message + Default + Serialize;
    /// As JSON, the way Go prints it.
    fn json(&self) -> Vec<u8>;
}

impl<M: Message + Default + Serialize + 'static> Answer for M {
    type Message = Self;

    fn json(&self) -> Vec<u8> {
        go_json(self)
    }
}

/// An Application in the forms it is told in.
pub trait Printed: Send + Sync + 'static {
    /// As JSON, the way Go prints it.
    fn json(&self) -> &RawValue;
    /// As protobuf.
    fn protobuf(&self) -> &[u8];
}

/// An [`ApplicationList`] of what is printed already.
pub struct PrintedList<P> {
    /// Version and page.
    pub metadata: ListMeta,
    /// The Applications.
    pub items: Vec<Arc<P>>,
}

/// An [`ApplicationWatchEvent`] about what is printed already.
pub struct PrintedEvent<P> {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub type_: &'static str,
    /// The Application after the change.
    pub application: Arc<P>,
}

/// Around the resources of an answer.
const ROOM: usize = 512;

impl<P: Printed> Answer for PrintedList<P> {
    type Message = ApplicationList;

    fn json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct List<'a, I> {
            metadata: &'a ListMeta,
            items: I,
        }
        struct Items<'a, P>(&'a [Arc<P>]);
        impl<P: Printed> Serialize for Items<'_, P> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.0.iter().map(|it| it.json()))
            }
        }
        let size: usize = self.items.iter().map(|it| it.json().get().len() + 1).sum();
        go_json_of_size(&List { metadata: &self.metadata, items: Items(&self.items) }, size + ROOM)
    }
}

impl<P: Printed> Encoded for PrintedList<P> {
    fn encoded_len(&self) -> usize {
        let items = self.items.iter().map(|it| length_of_bytes(2, it.protobuf()));
        prost::encoding::message::encoded_len(1, &self.metadata) + items.sum::<usize>()
    }

    fn encode(&self, buffer: &mut impl BufMut) {
        prost::encoding::message::encode(1, &self.metadata, buffer);
        for item in &self.items {
            put_bytes(2, item.protobuf(), buffer);
        }
    }
}

impl<P: Printed> Answer for PrintedEvent<P> {
    type Message = ApplicationWatchEvent;

    fn json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Event<'a> {
            r#type: &'a str,
            application: &'a RawValue,
        }
        let application = self.application.json();
        let size = application.get().len() + ROOM;
        go_json_of_size(&Event { r#type: self.type_, application }, size)
    }
}

impl<P: Printed> Encoded for PrintedEvent<P> {
    fn encoded_len(&self) -> usize {
        length_of_bytes(1, self.type_.as_bytes()) + length_of_bytes(2, self.application.protobuf())
    }

    fn encode(&self, buffer: &mut impl BufMut) {
        put_bytes(1, self.type_.as_bytes(), buffer);
        put_bytes(2, self.application.protobuf(), buffer);
    }
}

fn length_of_bytes(tag: u32, bytes: &[u8]) -> usize {
    key_len(tag) + encoded_len_varint(bytes.len() as u64) + bytes.len()
}

fn put_bytes(tag: u32, bytes: &[u8], buffer: &mut impl BufMut) {
    encode_key(tag, WireType::LengthDelimited, buffer);
    encode_varint(bytes.len() as u64, buffer);
    buffer.put_slice(bytes);
}

/// Both are described as what they are a print of.
macro_rules! described {
    ($($printed:ident as $message:ty),+) => {$(
        impl<P> JsonSchema for $printed<P> {
            fn schema_name() -> Cow<'static, str> {
                <$message>::schema_name()
            }

            fn schema_id() -> Cow<'static, str> {
                <$message>::schema_id()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$message>::json_schema(generator)
            }
        }
    )+};
}

described!(PrintedList as ApplicationList, PrintedEvent as ApplicationWatchEvent);

/// Reads messages and prints answers.
pub(crate) struct AnswerCodec<Out, Asked>(PhantomData<(Out, Asked)>);

impl<Out, Asked> Default for AnswerCodec<Out, Asked> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<Out: Encoded, Asked: Message + Default + 'static> Codec for AnswerCodec<Out, Asked> {
    type Encode = Out;
    type Decode = Asked;
    type Encoder = AnswerEncoder<Out>;
    type Decoder = ProstDecoder<Asked>;

    fn encoder(&mut self) -> Self::Encoder {
        AnswerEncoder(PhantomData)
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstDecoder::default()
    }
}

pub(crate) struct AnswerEncoder<Out>(PhantomData<Out>);

impl<Out: Encoded> Encoder for AnswerEncoder<Out> {
    type Item = Out;
    type Error = Status;

    fn encode(&mut self, item: Out, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.reserve(item.encoded_len());
        item.encode(buffer);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use api::Application;
    use prost::bytes::BytesMut;

    use super::*;

    struct Kept(Box<RawValue>, Vec<u8>);

    impl Printed for Kept {
        fn json(&self) -> &RawValue {
            &self.0
        }

        fn protobuf(&self) -> &[u8] {
            &self.1
        }
    }

    fn apps() -> Vec<Application> {
        let mut web = Application::named("argocd", "web");
        web.metadata.labels.insert("a".into(), "<b>".into());
        vec![web, Application::named("other", "db")]
    }

    fn kept(app: &Application) -> Arc<Kept> {
        let text = String::from_utf8(go_json(app)).expect("text");
        Arc::new(Kept(RawValue::from_string(text).expect("JSON"), app.encode_to_vec()))
    }

    #[track_caller]
    fn check(printed: &impl Answer, message: &impl Answer) {
        let text = |it: Vec<u8>| String::from_utf8(it).expect("text");
        assert_eq!(text(printed.json()), text(message.json()));
        let encoded = |it: &dyn Fn(&mut BytesMut)| {
            let mut buffer = BytesMut::new();
            it(&mut buffer);
            buffer.to_vec()
        };
        let (ours, theirs) = (encoded(&|it| printed.encode(it)), encoded(&|it| message.encode(it)));
        assert_eq!(ours, theirs);
        assert_eq!((printed.encoded_len(), message.encoded_len()), (ours.len(), theirs.len()));
    }

    #[test]
    fn a_list_of_prints_is_a_print_of_the_list() {
        let metadata = ListMeta { resource_version: "7".into(), ..ListMeta::default() };
        for items in [apps(), Vec::new()] {
            let prints = items.iter().map(kept).collect();
            check(
                &PrintedList { metadata: metadata.clone(), items: prints },
                &ApplicationList { metadata: metadata.clone(), items },
            );
        }
    }

    #[test]
    fn an_event_about_a_print_is_a_print_of_the_event() {
        for application in apps() {
            check(
                &PrintedEvent { type_: "ADDED", application: kept(&application) },
                &ApplicationWatchEvent { type_: "ADDED".into(), application },
            );
        }
    }
}
