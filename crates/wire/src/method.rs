//! The table of methods, and the two ways into each.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt as _, Stream, StreamExt as _, TryFutureExt as _};
use http::{Method, Request, Response};
use prost::Message;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use tonic::Status;

use crate::answer::{Answer, AnswerCodec, Encoded};
use crate::go_json::go_json;
use crate::request::{Gathered, RequestError, request_json};
use crate::rest::{Body, Rest};
use crate::swagger::Shapes;
use crate::template::{Match, Template};
use crate::{HttpBody, MESSAGE_LIMIT};

/// The methods of an API. `C` is what a handler gets besides the message: the
/// server and the caller.
pub struct Table<C> {
    methods: BTreeMap<&'static str, Arc<Endpoint<C>>>,
    routes: Vec<Route<C>>,
}

pub(crate) struct Route<C> {
    pub(crate) verb: Method,
    pub(crate) template: Template,
    pub(crate) body: Body,
    pub(crate) endpoint: Arc<Endpoint<C>>,
}

/// One method, and the ways into it.
pub struct Endpoint<C> {
    path: &'static str,
    shapes: fn(&mut SchemaGenerator) -> Option<Shapes>,
    forms: Option<Forms>,
    grpc: Box<Grpc<C>>,
    json: Box<Json<C>>,
}

/// A method's messages from one form into the other.
#[derive(Clone, Copy)]
struct Forms {
    protobuf_of_request: fn(&str) -> Result<Vec<u8>, Status>,
    json_of_answer: fn(&[u8]) -> Result<Vec<u8>, Status>,
}

type Grpc<C> = dyn Fn(C, Request<HttpBody>) -> BoxFuture<'static, Response<HttpBody>> + Send + Sync;
type Json<C> = dyn Fn(C, String) -> BoxFuture<'static, Result<Reply, Status>> + Send + Sync;

impl<C> Endpoint<C> {
    /// Its gRPC path.
    #[must_use]
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// Answers a gRPC request.
    pub fn grpc(
        &self,
        context: C,
        request: Request<HttpBody>,
    ) -> BoxFuture<'static, Response<HttpBody>> {
        (self.grpc)(context, request)
    }

    /// Answers a message given as JSON.
    pub fn json(&self, context: C, request: String) -> BoxFuture<'static, Result<Reply, Status>> {
        (self.json)(context, request)
    }

    /// The request over gRPC that says what this JSON says over REST.
    ///
    /// # Errors
    /// When the message is none of this method's, or there is no such form of it.
    pub fn protobuf_of_request(&self, request: &str) -> Result<Vec<u8>, Status> {
        (self.forms()?.protobuf_of_request)(request)
    }

    /// What REST tells where gRPC answers with this.
    ///
    /// # Errors
    /// When the message is none of this method's, or there is no such form of it.
    pub fn json_of_answer(&self, answer: &[u8]) -> Result<Vec<u8>, Status> {
        (self.forms()?.json_of_answer)(answer)
    }

    fn forms(&self) -> Result<&Forms, Status> {
        let absent = || Status::unimplemented(format!("{} is for gRPC alone", self.path));
        self.forms.as_ref().ok_or_else(absent)
    }

    /// What goes in and out over REST; nothing where it cannot be called so.
    pub(crate) fn shapes(&self, generator: &mut SchemaGenerator) -> Option<Shapes> {
        (self.shapes)(generator)
    }
}

/// What comes in pieces.
pub type Pieces<Piece> = BoxStream<'static, Result<Piece, Status>>;

/// An answer as JSON.
pub enum Reply {
    /// One message.
    One(Vec<u8>),
    /// Messages as they come.
    Many(BoxStream<'static, Result<Vec<u8>, Status>>),
}

/// A REST request that found its method.
pub struct Routed<C> {
    /// The method.
    pub endpoint: Arc<Endpoint<C>>,
    body: Body,
    found: Match,
}

impl<C> Routed<C> {
    /// Whether the body matters.
    #[must_use]
    pub fn has_body(&self) -> bool {
        self.body != Body::None
    }

    /// Whether the body is several messages.
    #[must_use]
    pub fn is_in_pieces(&self) -> bool {
        self.body == Body::Pieces
    }

    /// The message of the request as JSON.
    ///
    /// # Errors
    /// When the body is not JSON.
    pub fn message(&self, query: &str, body: &[u8]) -> Result<String, RequestError> {
        request_json(self.body, body, &self.found.variables, query)
    }
}

impl<C: Clone + Send + Sync + 'static> Default for Table<C> {
    fn default() -> Self {
        Self { methods: BTreeMap::new(), routes: Vec::new() }
    }
}

impl<C: Clone + Send + Sync + 'static> Table<C> {
    /// A method with one answer.
    pub fn unary<Asked, Out, F, Fut>(
        &mut self,
        path: &'static str,
        rest: impl IntoIterator<Item = Rest>,
        handler: F,
    ) where
        Asked: Message + Default + DeserializeOwned + JsonSchema + 'static,
        Out: Answer + JsonSchema,
        F: Fn(C, Asked) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, Status>> + Send + 'static,
    {
        let over_json = handler.clone();
        let json = move |context: C, request: String| {
            let handler = over_json.clone();
            async move { Ok(Reply::One(handler(context, asked(&request)?).await?.json())) }.boxed()
        };
        let shapes =
            |generator: &mut SchemaGenerator| Some(Shapes::of::<Asked, Out>(generator, false));
        let forms = Some(forms::<Asked, Out>());
        let json = Box::new(json);
        self.add(Endpoint { path, shapes, forms, grpc: unary(handler), json }, rest);
    }

    /// A method that answers as long as somebody listens.
    pub fn stream<Asked, Out, F, Fut, Answers>(
        &mut self,
        path: &'static str,
        rest: impl IntoIterator<Item = Rest>,
        handler: F,
    ) where
        Asked: Message + Default + DeserializeOwned + JsonSchema + 'static,
        Out: Answer + JsonSchema,
        F: Fn(C, Asked) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Answers, Status>> + Send + 'static,
        Answers: Stream<Item = Result<Out, Status>> + Send + 'static,
    {
        let over_json = handler.clone();
        let json = move |context: C, request: String| {
            let handler = over_json.clone();
            async move {
                let answers = handler(context, asked(&request)?).await?;
                let answers = answers.map(|it| it.map(|answer| answer.json()));
                Ok(Reply::Many(answers.boxed()))
            }
            .boxed()
        };
        let grpc = move |context: C, request: Request<HttpBody>| {
            let service = service(&handler, context);
            async move { server::<Asked, Out>().server_streaming(service, request).await }.boxed()
        };
        let shapes =
            |generator: &mut SchemaGenerator| Some(Shapes::of::<Asked, Out>(generator, true));
        let forms = Some(forms::<Asked, Out>());
        let (grpc, json) = (Box::new(grpc), Box::new(json));
        self.add(Endpoint { path, shapes, forms, grpc, json }, rest);
    }

    /// A method whose request comes in pieces, over REST one after the other in its body.
    pub fn gathered<Piece, Out, F, Fut>(
        &mut self,
        path: &'static str,
        rest: impl IntoIterator<Item = Rest>,
        handler: F,
    ) where
        Piece: Message + Default + DeserializeOwned + JsonSchema + 'static,
        Out: Answer + JsonSchema,
        F: Fn(C, Pieces<Piece>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, Status>> + Send + 'static,
    {
        let over_json = handler.clone();
        let json = move |context: C, request: String| {
            let handler = over_json.clone();
            async move {
                let Gathered { pieces } = asked(&request)?;
                let pieces = futures::stream::iter(pieces.into_iter().map(Ok)).boxed();
                Ok(Reply::One(handler(context, pieces).await?.json()))
            }
            .boxed()
        };
        let over_grpc =
            move |context: C, pieces: tonic::Streaming<Piece>| handler(context, pieces.boxed());
        let grpc = move |context: C, request: Request<HttpBody>| {
            let service = service(&over_grpc, context);
            async move { server::<Piece, Out>().client_streaming(service, request).await }.boxed()
        };
        let shapes =
            |generator: &mut SchemaGenerator| Some(Shapes::of::<Piece, Out>(generator, false));
        let forms = Some(forms::<Piece, Out>());
        let (grpc, json) = (Box::new(grpc), Box::new(json));
        self.add(Endpoint { path, shapes, forms, grpc, json }, rest);
    }

    /// A method whose request comes in pieces, and over gRPC only.
    pub fn upload<Piece, Out, F, Fut>(&mut self, path: &'static str, handler: F)
    where
        Piece: Message + Default + 'static,
        Out: Encoded,
        F: Fn(C, tonic::Streaming<Piece>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, Status>> + Send + 'static,
    {
        let grpc = move |context: C, request: Request<HttpBody>| {
            let service = service(&handler, context);
            async move { server::<Piece, Out>().client_streaming(service, request).await }.boxed()
        };
        let json = grpc_only("this method takes a stream: call it over gRPC");
        let grpc = Box::new(grpc);
        self.add(Endpoint { path, shapes: |_| None, forms: None, grpc, json }, []);
    }

    /// A method with one answer that is called over gRPC only.
    pub fn internal<Asked, Out, F, Fut>(&mut self, path: &'static str, handler: F)
    where
        Asked: Message + Default + 'static,
        Out: Encoded,
        F: Fn(C, Asked) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, Status>> + Send + 'static,
    {
        let json = grpc_only("this method is for other servers: call it over gRPC");
        let grpc = unary(handler);
        self.add(Endpoint { path, shapes: |_| None, forms: None, grpc, json }, []);
    }

    fn add(&mut self, endpoint: Endpoint<C>, rest: impl IntoIterator<Item = Rest>) {
        let endpoint = Arc::new(endpoint);
        for Rest { verb, template, body } in rest {
            let template = Template::parse(template);
            self.routes.push(Route { verb, template, body, endpoint: Arc::clone(&endpoint) });
        }
        drop(self.methods.insert(endpoint.path(), endpoint));
    }

    /// Every way over REST.
    pub(crate) fn routes(&self) -> impl Iterator<Item = &Route<C>> {
        self.routes.iter()
    }

    /// Every way over REST: verb, template of the path, and the gRPC path of the method.
    pub fn operations(&self) -> impl Iterator<Item = (&Method, &str, &'static str)> {
        self.routes.iter().map(|it| (&it.verb, it.template.text(), it.endpoint.path()))
    }

    /// The gRPC paths of all methods.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.methods.keys().copied()
    }

    /// The method of a gRPC path.
    #[must_use]
    pub fn grpc(&self, path: &str) -> Option<Arc<Endpoint<C>>> {
        self.methods.get(path).cloned()
    }

    /// The method of a REST request; the most literal path wins.
    #[must_use]
    pub fn rest(&self, verb: &Method, path: &str) -> Option<Routed<C>> {
        let routes = self.routes.iter().filter(|route| route.verb == *verb);
        let found = routes.filter_map(|route| Some((route, route.template.matches(path)?)));
        let (route, found) = found.max_by_key(|(_, found)| found.literals)?;
        Some(Routed { endpoint: Arc::clone(&route.endpoint), body: route.body, found })
    }
}

/// The way over gRPC into a method with one answer.
fn unary<C, F, Fut, Asked, Out>(handler: F) -> Box<Grpc<C>>
where
    C: Clone + Send + Sync + 'static,
    Asked: Message + Default + 'static,
    Out: Encoded,
    F: Fn(C, Asked) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Out, Status>> + Send + 'static,
{
    Box::new(move |context, request| {
        let service = service(&handler, context);
        async move { server::<Asked, Out>().unary(service, request).await }.boxed()
    })
}

/// No way over REST.
fn grpc_only<C: 'static>(why: &'static str) -> Box<Json<C>> {
    Box::new(move |_, _| async move { Err(Status::unimplemented(why)) }.boxed())
}

/// A handler as tonic calls it.
fn service<C, F, Fut, Asked, Out>(
    handler: &F,
    context: C,
) -> impl tower::Service<
    tonic::Request<Asked>,
    Response = tonic::Response<Out>,
    Error = Status,
    Future = impl Future<Output = Result<tonic::Response<Out>, Status>>
             + Send
             + use<C, F, Fut, Asked, Out>,
> + Send
+ use<C, F, Fut, Asked, Out>
where
    C: Clone + Send + 'static,
    F: Fn(C, Asked) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<Out, Status>> + Send + 'static,
{
    let handler = handler.clone();
    tower::service_fn(move |request: tonic::Request<Asked>| {
        handler(context.clone(), request.into_inner()).map_ok(tonic::Response::new)
    })
}

fn server<Asked, Out>() -> tonic::server::Grpc<AnswerCodec<Out, Asked>>
where
    Asked: Message + Default + 'static,
    Out: Encoded,
{
    tonic::server::Grpc::new(AnswerCodec::default())
        .max_decoding_message_size(MESSAGE_LIMIT)
        .max_encoding_message_size(MESSAGE_LIMIT)
}

fn forms<Asked, Out>() -> Forms
where
    Asked: Message + Default + DeserializeOwned + 'static,
    Out: Answer,
{
    Forms {
        protobuf_of_request: |request| Ok(asked::<Asked>(request)?.encode_to_vec()),
        json_of_answer: |answer| {
            let answer = <Out::Message as Message>::decode(answer);
            Ok(go_json(&answer.map_err(|error| Status::internal(error.to_string()))?))
        },
    }
}

fn asked<Asked: DeserializeOwned>(request: &str) -> Result<Asked, Status> {
    serde_json::from_str(request).map_err(|error| Status::invalid_argument(error.to_string()))
}
