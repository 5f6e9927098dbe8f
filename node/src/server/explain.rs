//! What to do about errors of which the SDK says too little: added to their `data`.

use futures::{future::Map, FutureExt};
use jsonrpsee::{
	server::middleware::rpc::RpcServiceT,
	types::{ErrorObject, ErrorObjectOwned, Id, Request},
	MethodResponse,
};
use sc_rpc_api::UnsafeRpcError;
use serde::Deserialize;

/// Code of an extrinsic whose place in the pool another one has (`sc_rpc_api::author::error`).
const TOO_LOW_PRIORITY: i32 = 1014;
/// Bytes of the longest error that is explained.
const MOST: usize = 4_096;

// Clients show no more than the first 250 characters.
const PLACE: &str = "The account has another extrinsic with this nonce. To send several at once, read system_accountNextIndex once and count up: a nonce of \
	-1 gives the same number to all that are signed together. To replace the other one, raise the tip.";
const UNSAFE: &str = "A web page (a request with an Origin header) is served safe methods only. So is, unless --rpc-methods says otherwise, who comes over a \
	proxy or from another machine. Call this one on the machine of the node, without a browser.";

/// An error as it is answered.
#[derive(Deserialize)]
struct Said<'a> {
	#[serde(borrow)]
	id: Id<'a>,
	#[serde(borrow)]
	error: ErrorObject<'a>,
}

fn advice(error: &ErrorObject<'_>) -> Option<&'static str> {
	match error.code() {
		TOO_LOW_PRIORITY => Some(PLACE),
		_ if error.message() == UnsafeRpcError.to_string() => Some(UNSAFE),
		_ => None,
	}
}

/// A service whose errors come with advice.
#[derive(Clone)]
pub struct Explained<S>(pub S);

impl<'a, S: RpcServiceT<'a>> RpcServiceT<'a> for Explained<S> {
	type Future = Map<S::Future, fn(MethodResponse) -> MethodResponse>;

	fn call(&self, request: Request<'a>) -> Self::Future {
		self.0.call(request).map(explained as fn(MethodResponse) -> MethodResponse)
	}
}

/// An answer, with advice if it is an error that needs some. What a subscription answers was sent before.
fn explained(response: MethodResponse) -> MethodResponse {
	let needs = response.is_error() && !response.is_subscription();
	needs.then(|| with_advice(response.as_result())).flatten().unwrap_or(response)
}

fn with_advice(text: &str) -> Option<MethodResponse> {
	let said: Said<'_> = (text.len() <= MOST).then(|| serde_json::from_str(text).ok()).flatten()?;
	let advice = advice(&said.error)?;
	Some(MethodResponse::error(said.id, ErrorObjectOwned::owned(said.error.code(), said.error.message(), Some(advice))))
}

#[cfg(test)]
mod tests {
	use super::*;
	use sc_rpc_api::author::error::Error;

	fn taken() -> ErrorObjectOwned {
		Error::Pool(sc_transaction_pool_api::error::Error::TooLowPriority { old: 2, new: 1 }).into()
	}

	#[test]
	fn a_place_that_is_taken_is_explained_by_nonces() {
		let told = explained(MethodResponse::error(Id::Number(7), taken())).into_result();
		let told: serde_json::Value = serde_json::from_str(&told).unwrap();
		assert_eq!((&told["id"], &told["error"]["code"]), (&7.into(), &1014.into()));
		assert_eq!(told["error"]["message"], "Priority is too low: (2 vs 1)");
		let advice = told["error"]["data"].as_str().unwrap();
		assert!(advice.len() <= 250, "{advice}");
		assert!(["nonce", "system_accountNextIndex", "tip"].iter().all(|word| advice.contains(word)), "{advice}");
	}

	#[test]
	fn a_method_that_pages_are_not_served_says_so() {
		let told = explained(MethodResponse::error(Id::Null, UnsafeRpcError)).into_result();
		assert!(told.contains("-32601") && told.contains("Origin"), "{told}");
	}

	#[test]
	fn all_else_is_passed_on_as_it_is() {
		let other: ErrorObjectOwned = Error::Pool(sc_transaction_pool_api::error::Error::ImmediatelyDropped).into();
		let said = MethodResponse::error(Id::Number(1), other).into_result();
		assert!(with_advice(&said).is_none());
		// A refused subscription stays one, so that it is not sent a second time.
		assert!(explained(MethodResponse::subscription_error(Id::Number(7), taken())).is_subscription());
	}
}
