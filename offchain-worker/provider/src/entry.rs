//! Identification of the payer from the head of a request: nobody's body is read before that.

use super::{
	bodies::{waits, Bodies},
	error::ApiError,
	http::Server,
	paid::Business,
};
use axum::{
	extract::{Request, State},
	middleware::Next,
	response::Response,
};
use std::sync::Arc;

/// Path that vouchers are delivered to.
pub(super) const VOUCHERS: &str = "/v1/vouchers";

/// Has a request answered if its head says who pays for it, or if nobody has to.
pub(super) async fn paying(
	State((server, bodies)): State<(Arc<Server>, Bodies)>,
	mut request: Request,
	next: Next,
) -> Result<Response, ApiError> {
	let Some(business) = &server.business else { return Ok(next.run(request).await) };
	if let Err(error) = enter(business, &mut request).await {
		let (parts, body) = request.into_parts();
		if !waits(&parts.headers) {
			bodies.leave(body).await;
		}
		return Err(error);
	}
	Ok(next.run(request).await)
}

/// Notes who pays with the request.
async fn enter(business: &Business, request: &mut Request) -> Result<(), ApiError> {
	let accounts = business.accounts();
	let view = |session| business.session(session);
	match request.uri().path() {
		"/v1/completions" | "/v1/chat/completions" => {
			let payer = accounts.admit(request.headers(), view).await?.still_open()?;
			request.extensions_mut().insert(payer);
		}
		// Its body has the voucher.
		VOUCHERS => {
			accounts.asks(request.headers(), view).await?;
		}
		"/v1/embeddings" => return Err(ApiError::payment("embeddings have no price here")),
		"/v1/check" => return Err(ApiError::payment("checks have no price here: `neuroshard-worker check` makes them")),
		_ => {}
	}
	Ok(())
}

#[cfg(test)]
mod tests;
