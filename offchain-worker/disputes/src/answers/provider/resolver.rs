//! Names, resolved to those of their addresses that may be connected to.

use futures::{future::BoxFuture, FutureExt};
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use neuroshard_network::Reach;
use std::{
	error::Error,
	net::SocketAddr,
	task::{Context, Poll},
	vec::IntoIter,
};
use tower_service::Service;

/// An address is none of those that are connected to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("its address does not lead into the internet, and others are not asked at unless --dial-private is given")]
pub struct Elsewhere;

/// Resolves names with the system's resolver.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
	system: GaiResolver,
	reach: Reach,
}

impl Resolver {
	/// To addresses that `reach` covers.
	pub(super) fn new(reach: Reach) -> Self {
		Self { system: GaiResolver::new(), reach }
	}
}

impl Service<Name> for Resolver {
	type Response = IntoIter<SocketAddr>;
	type Error = Box<dyn Error + Send + Sync>;
	type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

	fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
		Service::poll_ready(&mut self.system, context).map_err(Into::into)
	}

	fn call(&mut self, name: Name) -> Self::Future {
		let (resolving, reach) = (self.system.call(name), self.reach);
		async move {
			let found: Vec<SocketAddr> = resolving.await?.collect();
			let covered: Vec<SocketAddr> = found.iter().copied().filter(|address| reach.covers(address.ip())).collect();
			match covered.is_empty() && !found.is_empty() {
				true => Err(Elsewhere.into()),
				false => Ok(covered.into_iter()),
			}
		}
		.boxed()
	}
}
