//! Signed statement of the user that it is the one that asks: vouchers alone get public when they are claimed.

use axum::http::HeaderValue;
use neuroshard_chain_client::keys::Account;
use neuroshard_payments::written;
use neuroshard_types::{
	inference::{Ask, SessionId},
	AccountId, Moment, H256,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// For how long it holds: providers take more, since clocks differ.
const HOLDS: Duration = Duration::from_secs(5 * 60);

/// Signer of requests: the user, the provider that is asked, and the session.
#[derive(Clone)]
pub struct Asker {
	/// The user's account.
	pub account: Account,
	/// First block of the chain.
	pub genesis: H256,
	/// The session.
	pub session: SessionId,
	/// Provider that is asked.
	pub provider: AccountId,
}

impl Asker {
	/// Returns the header that a request carries now; `None` if this machine's clock is out of all bounds.
	pub(super) fn header(&self) -> Option<HeaderValue> {
		let until = SystemTime::now().checked_add(HOLDS)?.duration_since(UNIX_EPOCH).ok()?;
		let until = Moment::try_from(until.as_millis()).ok()?;
		let ask = Ask { session: self.session, provider: self.provider.clone(), until };
		let signature = self.account.sign_ask(&ask, self.genesis);
		HeaderValue::try_from(written(&(ask, signature))).ok()
	}
}
