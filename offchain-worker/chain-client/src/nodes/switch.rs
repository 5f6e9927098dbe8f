//! A connection that leads to whichever node is in use.

use super::{link::Link, watch::Watched};
use futures::FutureExt;
use std::sync::Arc;
use subxt::rpcs::{
	client::{RawRpcFuture, RawRpcSubscription, RawValue, RpcClientT},
	Error,
};
use tokio::sync::watch;

/// Asks the node in use. A question that is not answered yet when another node comes into use ends as if the connection were lost: it is to be
/// asked again, there.
pub(super) struct Switch {
	links: Arc<[Link]>,
	watched: watch::Receiver<Watched>,
}

impl Switch {
	pub(super) fn new(links: Arc<[Link]>, watched: watch::Receiver<Watched>) -> Self {
		Self { links, watched }
	}

	async fn ask<'a, T>(&'a self, question: impl FnOnce(&'a dyn RpcClientT) -> RawRpcFuture<'a, T> + Send) -> Result<T, Error> {
		let mut watched = self.watched.clone();
		let used = watched.borrow_and_update().choice.used;
		let client = self.links.get(used).and_then(Link::client);
		let client = client.ok_or_else(|| Error::Client("the connection was lost: there is none yet".into()))?;
		tokio::select! {
			answer = question(&**client) => answer,
			() = changes(&mut watched, used) => Err(Error::DisconnectedWillReconnect("another node is in use now".into())),
		}
	}
}

/// Until another node than `used` is in use.
async fn changes(watched: &mut watch::Receiver<Watched>, used: usize) {
	if watched.wait_for(|now| now.choice.used != used).await.is_err() {
		// Nobody watches: it stays in use.
		std::future::pending::<()>().await;
	}
}

impl RpcClientT for Switch {
	fn request_raw<'a>(&'a self, method: &'a str, params: Option<Box<RawValue>>) -> RawRpcFuture<'a, Box<RawValue>> {
		self.ask(move |client| client.request_raw(method, params)).boxed()
	}

	fn subscribe_raw<'a>(&'a self, sub: &'a str, params: Option<Box<RawValue>>, unsub: &'a str) -> RawRpcFuture<'a, RawRpcSubscription> {
		self.ask(move |client| client.subscribe_raw(sub, params, unsub)).boxed()
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use subxt::rpcs::client::RpcClient;

	/// Takes every question and answers none.
	struct Silent;

	impl RpcClientT for Silent {
		fn request_raw<'a>(&'a self, _: &'a str, _: Option<Box<RawValue>>) -> RawRpcFuture<'a, Box<RawValue>> {
			std::future::pending().boxed()
		}

		fn subscribe_raw<'a>(&'a self, _: &'a str, _: Option<Box<RawValue>>, _: &'a str) -> RawRpcFuture<'a, RawRpcSubscription> {
			std::future::pending().boxed()
		}
	}

	#[tokio::test]
	async fn a_question_that_is_not_answered_is_given_back_when_another_node_comes_into_use() {
		let links = [Link::connected("ws://first", RpcClient::new(Silent)), Link::new("ws://second").unwrap()];
		let (sender, watched) = watch::channel(Watched::default());
		let switch = Switch::new(links.into(), watched);
		let mut asked = Box::pin(switch.request_raw("chain_getFinalizedHead", None));
		assert!(futures::poll!(asked.as_mut()).is_pending());
		sender.send_modify(|watched| watched.choice.used = 1);
		assert!(matches!(asked.await, Err(Error::DisconnectedWillReconnect(_))));
		// That one was not reached yet.
		let error = switch.request_raw("chain_getFinalizedHead", None).await.unwrap_err();
		assert!(error.to_string().contains("connection was lost"), "{error}");
	}
}
