//! Brings the last voucher to the provider, beside the requests, which bring it as well; and hears which answers are not paid for, if receipts were lost.

use super::{asker::Asker, at_most::AtMost, book::Book, Gateway, Inner};
use axum::{
	body::{to_bytes, Body, Bytes},
	http::{
		header::{HeaderMap, HeaderValue, CONTENT_TYPE},
		uri::PathAndQuery,
		Method, StatusCode,
	},
};
use neuroshard_disputes::answers::provider::{Endpoint, Provider};
use neuroshard_inference::receipt::Transcript;
use neuroshard_payments::{written, Signed, ASK};
use neuroshard_support::printable::printable_line;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use tokio::{
	sync::watch,
	time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// Number of attempts to deliver one voucher, and the pause after the first one; each is twice the one before.
const TIMES: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);
/// For one time.
const ONCE: Duration = Duration::from_secs(10);
/// For the last voucher, when the gateway stops.
const LAST: Duration = Duration::from_secs(20);
/// Bytes of an answer that are told.
const TOLD: usize = 4 << 10;
/// Interval at which the provider is asked for receipts that were lost and that it has not told, and the interval if it does not want the last voucher.
const AGAIN: Duration = Duration::from_secs(30);
const SELDOM: Duration = Duration::from_secs(600);
/// Bytes of all receipts that a provider tells, and how many there may be: providers give fewer answers without a voucher.
const MOST: usize = 32 << 20;
const MOST_RECEIPTS: usize = 64;

/// Delivers vouchers.
pub(super) struct VoucherSender {
	gateway: Gateway,
	vouchers: watch::Receiver<Signed>,
}

/// Answer of a provider to a voucher.
#[derive(Default, Deserialize)]
struct Told {
	/// Receipts of answers that are not paid for.
	#[serde(default)]
	receipts: AtMost<Transcript, MOST_RECEIPTS>,
}

/// Result of a delivery.
enum Brought {
	/// The provider has it, and tells this.
	Taken(Body),
	/// The provider does not want it.
	Refused,
	/// It may take it later.
	Later,
}

/// State of the vouchers at the provider.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Has {
	/// The last one.
	Last,
	/// It does not want it.
	NotWanted,
	/// It may take the last one later.
	Not,
}

impl VoucherSender {
	/// Brings `vouchers`: also the first one, if it is for something, since the provider may not have got it before a restart.
	pub(super) fn new(gateway: Gateway, mut vouchers: watch::Receiver<Signed>) -> Self {
		if vouchers.borrow().0.answers > 0 {
			vouchers.mark_changed();
		}
		Self { gateway, vouchers }
	}

	/// Brings each voucher, unless a later one is there before, until `done` is cancelled; and then the last one, if the provider does not have it. While
	/// receipts are missing, it is brought again and again.
	pub(super) async fn run(mut self, done: CancellationToken) {
		let (mut left, mut wanted) = (false, true);
		loop {
			let mut times = TIMES;
			tokio::select! {
				biased;
				() = done.cancelled() => break,
				changed = self.vouchers.changed() => if changed.is_err() { break },
				() = self.gateway.0.loses.notified() => {}
				() = sleep(if wanted { AGAIN } else { SELDOM }), if self.gateway.lost() > 0 => times = 1,
			}
			left = true;
			tokio::select! {
				biased;
				() = done.cancelled() => break,
				brought = self.bring(times) => (left, wanted) = (brought == Has::Not, brought != Has::NotWanted),
			}
		}
		let changed = self.vouchers.has_changed().unwrap_or(false);
		let asks = wanted && self.gateway.lost() > 0;
		// Once for what is lost: what the provider has not told by now, it has not.
		if (left || changed || asks)
			&& timeout(LAST, self.bring(if left || changed { TIMES } else { 1 })).await.unwrap_or(Has::Not) == Has::Not
		{
			tracing::warn!("the provider did not take the last voucher: it gets it with the first request of the next start");
		}
	}

	/// Brings the last voucher, and those after it that receipts make which the provider tells: so many times at most.
	async fn bring(&mut self, times: u32) -> Has {
		let (mut pause, mut has) = (PAUSE, false);
		let mut time = 0;
		while time < times {
			if time > 0 {
				sleep(pause).await;
				pause = pause.saturating_mul(2);
			}
			has &= !self.vouchers.has_changed().unwrap_or(false);
			let signed = self.vouchers.borrow_and_update().clone();
			let Inner { provider, asker, .. } = &*self.gateway.0;
			has = match timeout(ONCE, bring(provider, &signed, asker)).await {
				Ok(Brought::Refused) => return Has::NotWanted,
				Ok(Brought::Taken(told)) => {
					let told = if self.gateway.lost() > 0 { read(told).await } else { Told::default() };
					self.gateway.recover(&told.receipts.0).await;
					!self.vouchers.has_changed().unwrap_or(false)
				}
				Ok(Brought::Later) | Err(_) => has,
			};
			// The provider may not know yet that an answer broke off, and tell its receipt then.
			if has && self.gateway.lost() == 0 {
				return Has::Last;
			}
			// A voucher that was made meanwhile is brought at once.
			time += u32::from(!self.vouchers.has_changed().unwrap_or(false));
		}
		if !has {
			tracing::debug!("the provider takes no vouchers now: the next request brings the last one");
			return Has::Not;
		}
		Has::Last
	}
}

/// Brings the last voucher of a session that is to be closed, as far as that is possible.
pub async fn bring_last(book: &Book, endpoint: Endpoint, asker: &Asker) {
	let (Ok(Some(signed)), Ok(provider)) = (book.read(), Provider::new(endpoint)) else { return };
	if !matches!(timeout(ONCE, bring(&provider, &signed, asker)).await, Ok(Brought::Taken(_) | Brought::Refused)) {
		tracing::warn!("the provider does not take the last voucher: it can claim what it has");
	}
}

/// Brings a voucher once.
async fn bring(provider: &Provider, signed: &Signed, asker: &Asker) -> Brought {
	let mut headers = HeaderMap::new();
	headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
	let Some(ask) = asker.header() else { return Brought::Later };
	headers.insert(ASK, ask);
	let body = Bytes::from(json!({ "voucher": written(signed) }).to_string());
	let asked = provider.ask(Method::POST, PathAndQuery::from_static("/v1/vouchers"), headers, body).await;
	let Ok(response) = asked else { return Brought::Later };
	let status = response.status();
	if status.is_success() {
		return Brought::Taken(Body::new(response.into_body()));
	}
	// Others of these codes say that it is asked too much, or come from who stands between.
	if !matches!(status, StatusCode::BAD_REQUEST | StatusCode::PAYMENT_REQUIRED) {
		return Brought::Later;
	}
	let words = to_bytes(Body::new(response.into_body()), TOLD).await.unwrap_or_default();
	let words = String::from_utf8_lossy(&words);
	tracing::warn!("the provider does not take a voucher ({status}): {}", printable_line(&words));
	Brought::Refused
}

/// Reads the answer of a provider. What cannot be read is an empty answer.
async fn read(told: Body) -> Told {
	let bytes = timeout(ONCE, to_bytes(told, MOST)).await.ok().and_then(Result::ok).unwrap_or_default();
	serde_json::from_slice(&bytes).unwrap_or_else(|error| {
		tracing::warn!("the provider tells no receipts that can be read: {}", printable_line(&error.to_string()));
		Told::default()
	})
}

#[cfg(test)]
mod tests {
	use super::{super::testing::given, *};

	#[tokio::test]
	async fn a_provider_tells_no_more_receipts_than_it_gives_answers_on_credit() {
		let told = |count: usize| json!({ "receipts": vec![&given(0).transcript; count] }).to_string();
		assert_eq!(read(told(MOST_RECEIPTS).into()).await.receipts.0.len(), MOST_RECEIPTS);
		assert!(read(told(MOST_RECEIPTS + 1).into()).await.receipts.0.is_empty());
	}
}
