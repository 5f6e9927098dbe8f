//! Which calls are executed, and what one leaves behind when its client goes.

use super::connection::Connection;
use futures::{future::BoxFuture, FutureExt};
use jsonrpsee::{
	server::middleware::rpc::RpcServiceT,
	types::{error::ErrorCode, ErrorObjectOwned, Params, Request},
	MethodCallback, MethodResponse, Methods,
};
use serde::Deserialize;
use sp_core::storage::StorageKey;
use std::{collections::BTreeSet, sync::Arc};
use tower::Layer;

/// The SDK sends the first values of such a subscription in one message, however many there are, and does not mind keys that are named again.
const OF_STORAGE: &str = "state_subscribeStorage";
/// Most keys of a subscription to storage.
const KEYS: usize = 1_024;

/// Refuses calls whose answers have no bound, and keeps a connection, with its place and its memory, as long as one of its calls is executed:
/// calls go on without their client.
#[derive(Debug, Clone)]
pub struct Calls<S = ()> {
	connection: Arc<Connection>,
	methods: Methods,
	service: S,
}

impl Calls {
	/// The layer for a connection over which these methods are called.
	pub fn new(connection: Arc<Connection>, methods: Methods) -> Self {
		Self { connection, methods, service: () }
	}
}

impl<S> Layer<S> for Calls {
	type Service = Calls<S>;

	fn layer(&self, service: S) -> Calls<S> {
		Calls { connection: self.connection.clone(), methods: self.methods.clone(), service }
	}
}

/// Keys of storage that a subscription names, in a list of parameters or by name, as the SDK reads them. None if it refuses them.
fn keys(parameters: &Params<'_>) -> Vec<StorageKey> {
	#[derive(Default, Deserialize)]
	struct Named {
		keys: Option<Vec<StorageKey>>,
	}
	let keys = match parameters.is_object() {
		true => parameters.parse::<Named>().unwrap_or_default().keys,
		false => parameters.sequence().optional_next().unwrap_or_default(),
	};
	keys.unwrap_or_default()
}

impl<S> Calls<S> {
	/// Why a call is not executed, if it is not.
	fn refusal(&self, request: &Request<'_>) -> Option<ErrorObjectOwned> {
		let error = |code: ErrorCode, message: &str| Some(ErrorObjectOwned::owned(code.code(), message, None::<()>));
		let callback = self.methods.method(request.method_name());
		// The SDK answers it beside the batch, which is executed meanwhile.
		if matches!(callback, Some(MethodCallback::Subscription(_))) && self.connection.is_websocket() && !self.connection.is_single() {
			return error(ErrorCode::InvalidRequest, "a subscription is no part of a batch: send it as a message that begins with {");
		}
		if request.method_name() == OF_STORAGE {
			let keys = keys(&request.params());
			if keys.len() > KEYS || keys.iter().collect::<BTreeSet<_>>().len() < keys.len() {
				return error(ErrorCode::InvalidParams, "name at most 1,024 keys, and each of them once");
			}
		}
		None
	}
}

impl<'a, S: RpcServiceT<'a> + Clone + Send + Sync + 'static> RpcServiceT<'a> for Calls<S> {
	type Future = BoxFuture<'a, MethodResponse>;

	fn call(&self, request: Request<'a>) -> Self::Future {
		if let Some(error) = self.refusal(&request) {
			return futures::future::ready(MethodResponse::error(request.id, error)).boxed();
		}
		let Self { connection, service, .. } = self.clone();
		async move {
			let answer = service.call(request).await;
			drop(connection);
			answer
		}
		.boxed()
	}
}
