//! What a request asks for: which calls are executed, in how many threads and with what memory, and what one leaves behind when its client goes.
//!
//! The SDK's server executes all calls of a connection at once, and keeps every answer until it is read.

use super::{
	budget::{Kind, Share},
	coming::{slow, Coming},
	explain::explained,
	Limits, LOGGED,
};
use futures::{future::BoxFuture, FutureExt};
use jsonrpsee::{
	core::traits::IdProvider,
	server::{
		middleware::rpc::{RpcLoggerLayer, RpcServiceT},
		prepare_error, BatchRequestConfig, BatchResponseBuilder, BoundedSubscriptions, ConnectionId, MethodResponseNotifyTx, MethodSink,
		SubscriptionState,
	},
	types::{
		error::{
			reject_too_big_batch_request, reject_too_many_subscriptions, ErrorCode, BATCHES_NOT_SUPPORTED_CODE, BATCHES_NOT_SUPPORTED_MSG,
		},
		ErrorObjectOwned, Id, InvalidRequest, Notification, Params, Request,
	},
	Extensions, MethodCallback, MethodResponse, Methods,
};
use sc_rpc_server::MiddlewareLayer;
use serde::{
	de::{SeqAccess, Visitor},
	Deserialize, Deserializer,
};
use serde_json::value::RawValue;
use sp_core::storage::StorageKey;
use std::{collections::BTreeSet, fmt, io, sync::Arc};
use tokio::{
	sync::{Mutex, OwnedSemaphorePermit},
	time::timeout,
};
use tower::Layer;

/// The SDK sends the first values of such a subscription in one message, however many there are, and does not mind keys that are named again.
const OF_STORAGE: &str = "state_subscribeStorage";
/// Most keys of a subscription to storage.
const KEYS: usize = 1_024;

/// Makes the calls of a connection.
pub struct Caller {
	/// All methods.
	pub methods: Methods,
	/// What its client shares with others.
	pub kind: Kind,
	/// What a call may take.
	pub limits: Limits,
	/// Calls of a batch.
	pub batches: BatchRequestConfig,
	/// The SDK's limit of the rate, and its metrics.
	pub layer: MiddlewareLayer,
	/// What methods are told about the connection.
	pub extensions: Extensions,
	/// Its number.
	pub id: ConnectionId,
	/// Where subscriptions go. HTTP has none.
	pub subscriptions: Option<Subscriptions>,
	/// Its place among all connections.
	pub _place: Arc<OwnedSemaphorePermit>,
}

/// Subscriptions of a connection.
pub struct Subscriptions {
	/// How many there may be.
	pub bound: BoundedSubscriptions,
	/// What they say goes here.
	pub sink: MethodSink,
	/// Names them.
	pub ids: Box<dyn IdProvider>,
}

/// An answer, which has its memory until it is dropped.
pub struct Answer {
	text: String,
	notified: Option<MethodResponseNotifyTx>,
	success: bool,
	_share: Share,
}

impl AsRef<[u8]> for Answer {
	fn as_ref(&self) -> &[u8] {
		self.text.as_bytes()
	}
}

impl Answer {
	/// Tells the method, if it wants to know, that the answer was sent: what it says next comes behind.
	pub fn sent(self) {
		if let Some(notified) = self.notified {
			notified.notify(self.success);
		}
	}
}

impl Caller {
	/// The answer to a request. None if it has no call with an `id`, or if a subscription has sent it.
	///
	/// # Errors
	/// It takes too long. What is executed goes on.
	pub async fn answer(self: &Arc<Self>, request: Coming) -> io::Result<Option<Answer>> {
		timeout(self.limits.call, self.execute(request.text())).await.map_err(|_| slow())
	}

	async fn execute(self: &Arc<Self>, text: &[u8]) -> Option<Answer> {
		let memory = Arc::new(Mutex::new(Share::none(self.kind.answers.clone())));
		let calls = Calls { caller: self.clone(), in_batch: text.starts_with(b"["), memory: memory.clone() };
		let service = RpcLoggerLayer::new(LOGGED).layer(self.layer.layer(calls));
		let response = match text.first() {
			Some(b'{') => self.single(text, &service).await,
			Some(b'[') => self.batch(text, &service).await,
			_ => Some(MethodResponse::error(Id::Null, ErrorCode::ParseError)),
		};
		let response = response.filter(|response| !response.is_subscription())?;
		let success = response.is_success();
		let (text, notified) = response.into_parts();
		let mut share = std::mem::replace(&mut *memory.lock().await, Share::none(self.kind.answers.clone()));
		share.shrink(text.len() as u64);
		Some(Answer { text, notified, success, _share: share })
	}

	async fn single<'a>(&self, text: &'a [u8], service: &impl RpcServiceT<'a>) -> Option<MethodResponse> {
		if let Ok(request) = serde_json::from_slice::<Request<'a>>(text) {
			return Some(service.call(Request { extensions: self.extensions.clone(), ..request }).await);
		}
		if serde_json::from_slice::<Notification<'_, Option<&RawValue>>>(text).is_ok() {
			return None;
		}
		let (id, error) = prepare_error(text);
		Some(MethodResponse::error(id, error))
	}

	async fn batch<'a>(&self, text: &'a [u8], service: &impl RpcServiceT<'a>) -> Option<MethodResponse> {
		let refused = |error: ErrorObjectOwned| Some(MethodResponse::error(Id::Null, error));
		let most = match self.batches {
			BatchRequestConfig::Disabled => {
				return refused(ErrorObjectOwned::borrowed(BATCHES_NOT_SUPPORTED_CODE, BATCHES_NOT_SUPPORTED_MSG, None));
			}
			BatchRequestConfig::Limit(most) => most as usize,
			BatchRequestConfig::Unlimited => usize::MAX,
		};
		let Ok((calls, more)) = listed(text, most) else { return refused(ErrorCode::ParseError.into()) };
		if more {
			return refused(reject_too_big_batch_request(most));
		}
		let (mut answers, mut unanswered) = (BatchResponseBuilder::new_with_limit(self.limits.answer as usize), false);
		for call in calls {
			let answer = if let Ok(request) = serde_json::from_str::<Request<'a>>(call.get()) {
				service.call(Request { extensions: self.extensions.clone(), ..request }).await
			} else if serde_json::from_str::<Notification<'_, Option<&RawValue>>>(call.get()).is_ok() {
				unanswered = true;
				continue;
			} else {
				let id = serde_json::from_str::<InvalidRequest<'_>>(call.get()).map_or(Id::Null, |request| request.id);
				MethodResponse::error(id, ErrorCode::InvalidRequest)
			};
			if let Err(too_large) = answers.append(&answer) {
				return Some(too_large);
			}
		}
		(!unanswered || !answers.is_empty()).then(|| MethodResponse::from_batch(answers.finish()))
	}
}

/// The elements of a list, and whether there are more than `most`: those are read, and not kept.
fn listed(text: &[u8], most: usize) -> serde_json::Result<(Vec<&RawValue>, bool)> {
	struct UpTo(usize);

	impl<'a> Visitor<'a> for UpTo {
		type Value = (Vec<&'a RawValue>, bool);

		fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
			formatter.write_str("a list")
		}

		fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Self::Value, A::Error> {
			let (mut all, mut more) = (Vec::new(), false);
			while let Some(next) = list.next_element()? {
				match all.len() < self.0 {
					true => all.push(next),
					false => more = true,
				}
			}
			Ok((all, more))
		}
	}

	let mut from = serde_json::Deserializer::from_slice(text);
	let all = from.deserialize_seq(UpTo(most))?;
	from.end().map(|()| all)
}

/// Calls the methods that one request names.
#[derive(Clone)]
struct Calls {
	caller: Arc<Caller>,
	in_batch: bool,
	/// Memory for the answer.
	memory: Arc<Mutex<Share>>,
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

impl Calls {
	/// Why a subscription, whose first answers would have no bound, is not made, if it is not.
	fn refusal(&self, method: &str, parameters: &Params<'_>) -> Option<ErrorObjectOwned> {
		let error = |code: ErrorCode, message: &str| Some(ErrorObjectOwned::owned(code.code(), message, None::<()>));
		// The SDK answers it beside the batch, which is executed meanwhile.
		if self.in_batch {
			return error(ErrorCode::InvalidRequest, "a subscription is no part of a batch: send it as a message that begins with {");
		}
		if method == OF_STORAGE {
			let keys = keys(parameters);
			if keys.len() > KEYS || keys.iter().collect::<BTreeSet<_>>().len() < keys.len() {
				return error(ErrorCode::InvalidParams, "name at most 1,024 keys, and each of them once");
			}
		}
		None
	}

	/// Has memory for the largest answer. All calls of a batch have the same.
	async fn room(&self) {
		self.memory.lock().await.grow(self.caller.limits.answer.into()).await;
	}

	async fn respond(self, request: Request<'_>) -> MethodResponse {
		let Request { id, method, params, extensions, .. } = request;
		let parameters = Params::new(params.as_deref().map(RawValue::get));
		let caller = &self.caller;
		let (connection, most) = (caller.id, caller.limits.answer as usize);
		match caller.methods.method(&method) {
			None => MethodResponse::error(id, ErrorCode::MethodNotFound),
			Some(MethodCallback::Sync(callback)) => {
				self.room().await;
				callback(id, parameters, most, extensions)
			}
			Some(MethodCallback::Async(callback)) => {
				self.room().await;
				let thread = caller.kind.threads.clone().acquire_owned().await;
				let (id, going_on) = (id.into_owned(), self.clone());
				let call = callback(id.clone(), parameters.into_owned(), connection, most, extensions);
				// It goes on without its client, and has its thread, its memory and the place of its connection until it ends.
				let executed = tokio::spawn(async move {
					let response = call.await;
					drop((thread, going_on));
					response
				});
				executed.await.unwrap_or_else(|_| MethodResponse::error(id, ErrorCode::InternalError))
			}
			Some(MethodCallback::Subscription(callback)) => {
				// Over HTTP, there are none.
				let Some(subscriptions) = &caller.subscriptions else { return MethodResponse::error(id, ErrorCode::InternalError) };
				if let Some(refusal) = self.refusal(&method, &parameters) {
					return MethodResponse::error(id, refusal);
				}
				let Some(subscription_permit) = subscriptions.bound.acquire() else {
					return MethodResponse::error(id, reject_too_many_subscriptions(subscriptions.bound.max()));
				};
				let state = SubscriptionState { conn_id: connection, id_provider: &*subscriptions.ids, subscription_permit };
				let accepted = callback(id, parameters, subscriptions.sink.clone(), state, extensions);
				accepted.await
			}
			Some(MethodCallback::Unsubscription(_)) if caller.subscriptions.is_none() => {
				MethodResponse::error(id, ErrorCode::InternalError)
			}
			Some(MethodCallback::Unsubscription(callback)) => callback(id, parameters, connection, most, extensions),
		}
	}
}

impl<'a> RpcServiceT<'a> for Calls {
	type Future = BoxFuture<'a, MethodResponse>;

	fn call(&self, request: Request<'a>) -> Self::Future {
		self.clone().respond(request).map(explained).boxed()
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn of_a_batch_no_more_calls_are_kept_than_it_may_have() {
		let read = |text: &'static str, most| {
			listed(text.as_bytes(), most).ok().map(|(all, more)| (all.iter().map(|raw| raw.get()).collect::<Vec<_>>(), more))
		};
		assert_eq!(read(r#"[{"a":1}, 2 ,[3]] "#, 3), Some((vec![r#"{"a":1}"#, "2", "[3]"], false)));
		assert_eq!(read("[1,2,3,4]", 2), Some((vec!["1", "2"], true)));
		assert_eq!(read("[]", 0), Some((Vec::new(), false)));
		let many = format!("[{}]", vec!["0"; 100_000].join(","));
		let (kept, more) = listed(many.as_bytes(), 10).unwrap();
		assert!(kept.capacity() < 100 && more);
		for broken in ["[1,2", "[1,2]3", "[1,2,,3]", "{}", ""] {
			assert_eq!(read(broken, 1), None, "{broken}");
		}
	}
}
