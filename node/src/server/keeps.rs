//! What a call leaves behind when its client goes.

use super::connection::Connection;
use futures::{future::BoxFuture, FutureExt};
use jsonrpsee::{server::middleware::rpc::RpcServiceT, types::Request, MethodResponse};
use std::sync::Arc;
use tower::Layer;

/// Keeps a connection, with its place and its memory, as long as one of its calls is executed: calls go on without their client.
#[derive(Debug, Clone)]
pub struct Keeps<S = ()> {
	connection: Arc<Connection>,
	service: S,
}

impl Keeps {
	/// The layer for a connection.
	pub fn new(connection: Arc<Connection>) -> Self {
		Self { connection, service: () }
	}
}

impl<S> Layer<S> for Keeps {
	type Service = Keeps<S>;

	fn layer(&self, service: S) -> Keeps<S> {
		Keeps { connection: self.connection.clone(), service }
	}
}

impl<'a, S: RpcServiceT<'a> + Clone + Send + Sync + 'static> RpcServiceT<'a> for Keeps<S> {
	type Future = BoxFuture<'a, MethodResponse>;

	fn call(&self, request: Request<'a>) -> Self::Future {
		let Self { connection, service } = self.clone();
		async move {
			let answer = service.call(request).await;
			drop(connection);
			answer
		}
		.boxed()
	}
}
