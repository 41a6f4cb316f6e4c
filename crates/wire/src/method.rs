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
use serde::Serialize;
use serde::de::DeserializeOwned;
use tonic::Status;
use tonic_prost::ProstCodec;

use crate::request::{RequestError, request_json};
use crate::rest::{Body, Rest, go_json};
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
    grpc: Box<Grpc<C>>,
    json: Box<Json<C>>,
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

    /// What goes in and out over REST; nothing where it cannot be called so.
    pub(crate) fn shapes(&self, generator: &mut SchemaGenerator) -> Option<Shapes> {
        (self.shapes)(generator)
    }
}

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
    pub fn unary<Asked, Answer, F, Fut>(
        &mut self,
        path: &'static str,
        rest: impl IntoIterator<Item = Rest>,
        handler: F,
    ) where
        Asked: Message + Default + DeserializeOwned + JsonSchema + 'static,
        Answer: Message + Serialize + JsonSchema + 'static,
        F: Fn(C, Asked) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, Status>> + Send + 'static,
    {
        let over_json = handler.clone();
        let json = move |context: C, request: String| {
            let handler = over_json.clone();
            async move { Ok(Reply::One(go_json(&handler(context, asked(&request)?).await?))) }
                .boxed()
        };
        let shapes =
            |generator: &mut SchemaGenerator| Some(Shapes::of::<Asked, Answer>(generator, false));
        self.add(Endpoint { path, shapes, grpc: unary(handler), json: Box::new(json) }, rest);
    }

    /// A method that answers as long as somebody listens.
    pub fn stream<Asked, Answer, F, Fut, Answers>(
        &mut self,
        path: &'static str,
        rest: impl IntoIterator<Item = Rest>,
        handler: F,
    ) where
        Asked: Message + Default + DeserializeOwned + JsonSchema + 'static,
        Answer: Message + Serialize + JsonSchema + 'static,
        F: Fn(C, Asked) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Answers, Status>> + Send + 'static,
        Answers: Stream<Item = Result<Answer, Status>> + Send + 'static,
    {
        let over_json = handler.clone();
        let json = move |context: C, request: String| {
            let handler = over_json.clone();
            async move {
                let answers = handler(context, asked(&request)?).await?;
                let answers = answers.map(|it| it.map(|answer| go_json(&answer)));
                Ok(Reply::Many(answers.boxed()))
            }
            .boxed()
        };
        let grpc = move |context: C, request: Request<HttpBody>| {
            let service = service(&handler, context);
            async move { server::<Asked, Answer>().server_streaming(service, request).await }
                .boxed()
        };
        let shapes =
            |generator: &mut SchemaGenerator| Some(Shapes::of::<Asked, Answer>(generator, true));
        self.add(Endpoint { path, shapes, grpc: Box::new(grpc), json: Box::new(json) }, rest);
    }

    /// A method whose request comes in pieces. Over REST there is none: it has no form there that
    /// a client uses.
    pub fn upload<Piece, Answer, F, Fut>(&mut self, path: &'static str, handler: F)
    where
        Piece: Message + Default + 'static,
        Answer: Message + 'static,
        F: Fn(C, tonic::Streaming<Piece>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, Status>> + Send + 'static,
    {
        let grpc = move |context: C, request: Request<HttpBody>| {
            let service = service(&handler, context);
            async move { server::<Piece, Answer>().client_streaming(service, request).await }
                .boxed()
        };
        let json = grpc_only("this method takes a stream: call it over gRPC");
        self.add(Endpoint { path, shapes: |_| None, grpc: Box::new(grpc), json }, []);
    }

    /// A method with one answer that is called over gRPC only.
    pub fn internal<Asked, Answer, F, Fut>(&mut self, path: &'static str, handler: F)
    where
        Asked: Message + Default + 'static,
        Answer: Message + 'static,
        F: Fn(C, Asked) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, Status>> + Send + 'static,
    {
        let json = grpc_only("this method is for other servers: call it over gRPC");
        self.add(Endpoint { path, shapes: |_| None, grpc: unary(handler), json }, []);
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
fn unary<C, F, Fut, Asked, Answer>(handler: F) -> Box<Grpc<C>>
where
    C: Clone + Send + Sync + 'static,
    Asked: Message + Default + 'static,
    Answer: Message + 'static,
    F: Fn(C, Asked) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, Status>> + Send + 'static,
{
    Box::new(move |context, request| {
        let service = service(&handler, context);
        async move { server::<Asked, Answer>().unary(service, request).await }.boxed()
    })
}

/// No way over REST.
fn grpc_only<C: 'static>(why: &'static str) -> Box<Json<C>> {
    Box::new(move |_, _| async move { Err(Status::unimplemented(why)) }.boxed())
}

/// A handler as tonic calls it.
fn service<C, F, Fut, Asked, Answer>(
    handler: &F,
    context: C,
) -> impl tower::Service<
    tonic::Request<Asked>,
    Response = tonic::Response<Answer>,
    Error = Status,
    Future = impl Future<Output = Result<tonic::Response<Answer>, Status>>
             + Send
             + use<C, F, Fut, Asked, Answer>,
> + Send
+ use<C, F, Fut, Asked, Answer>
where
    C: Clone + Send + 'static,
    F: Fn(C, Asked) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<Answer, Status>> + Send + 'static,
{
    let handler = handler.clone();
    tower::service_fn(move |request: tonic::Request<Asked>| {
        handler(context.clone(), request.into_inner()).map_ok(tonic::Response::new)
    })
}

fn server<Asked, Answer>() -> tonic::server::Grpc<ProstCodec<Answer, Asked>>
where
    Asked: Message + Default + 'static,
    Answer: Message + 'static,
{
    tonic::server::Grpc::new(ProstCodec::default())
        .max_decoding_message_size(MESSAGE_LIMIT)
        .max_encoding_message_size(MESSAGE_LIMIT)
}

fn asked<Asked: DeserializeOwned>(request: &str) -> Result<Asked, Status> {
    serde_json::from_str(request).map_err(|error| Status::invalid_argument(error.to_string()))
}
