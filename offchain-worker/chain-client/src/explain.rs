//! The chain's and the pool's errors in words that say what to do.

use crate::error::ChainError;
use subxt::{
	error::{DispatchError, TokenError},
	rpcs::UserError,
};

/// Reason for which the pool did not take an extrinsic, by what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
	/// It is in the pool already.
	Known,
	/// The account cannot pay the fee.
	Unfunded,
	/// Nonce or birth block are used up: sign anew.
	Outdated,
	/// The pool has another extrinsic for this place, and does not give it up for this one.
	Occupied(String),
	/// The pool will not take these bytes for a long time: sign anew.
	Banned(String),
	/// The pool will take it later.
	Later(String),
	/// It will never be taken.
	Never(String),
}

/// Codes of `sc_rpc_api::author::error`.
const BAD_FORMAT: i32 = 1001;
const INVALID: i32 = 1010;
const BANNED: i32 = 1012;
const ALREADY_IMPORTED: i32 = 1013;
const TOO_LOW_PRIORITY: i32 = 1014;
const CYCLE: i32 = 1015;
const IMMEDIATELY_DROPPED: i32 = 1016;
const UNACTIONABLE: i32 = 1018;
const NO_TAGS: i32 = 1019;
const FUTURE: i32 = 1021;
/// Codes of JSON-RPC for a request that no node understands.
const NO_JSON: i32 = -32700;
const NO_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
const NO_PARAMETERS: i32 = -32602;

/// Explains a pool error. What is not known to be for good, as that the node answers no more calls for now, passes.
pub(super) fn refusal(error: &UserError) -> Refusal {
	let data = error.data.as_ref().map(|data| data.get().trim_matches('"').to_owned()).unwrap_or_default();
	let said = if data.is_empty() { error.message.clone() } else { format!("{}: {data}", error.message) };
	match error.code {
		ALREADY_IMPORTED => Refusal::Known,
		INVALID if data.contains("Inability to pay") => Refusal::Unfunded,
		INVALID if data.contains("outdated") || data.contains("ancient birth block") || data.contains("bad signature") => Refusal::Outdated,
		INVALID if data.contains("exhaust the block limits") => Refusal::Later("the block is full".into()),
		BANNED => Refusal::Banned("the node has put it aside after a failed attempt".into()),
		TOO_LOW_PRIORITY => Refusal::Occupied("the node has another extrinsic of this account for the same place".into()),
		IMMEDIATELY_DROPPED => Refusal::Later("the node's pool is full".into()),
		FUTURE => Refusal::Later("the node does not take it before the extrinsics with lower nonces".into()),
		BAD_FORMAT | INVALID | CYCLE | UNACTIONABLE | NO_TAGS | NO_JSON | NO_REQUEST | NO_METHOD | NO_PARAMETERS => Refusal::Never(said),
		_ => Refusal::Later(said),
	}
}

/// Returns the text of a connection's error, without the names of the layers that it came through and the system's number.
pub(super) fn reason(error: &impl std::error::Error) -> String {
	let text = error.to_string();
	let mut rest = text.as_str();
	while let Some((layer, inner)) = rest.split_once(": ") {
		let layer = layer.to_lowercase();
		if !layer.ends_with("error") && !layer.starts_with("error ") {
			break;
		}
		rest = inner;
	}
	rest.split(" (os error ").next().unwrap_or(rest).trim_end().to_owned()
}

/// Explains why a call failed in its block: the pallet's error with its documentation, which says what to do.
pub(super) fn failure(call: &str, error: &DispatchError) -> ChainError {
	let (name, advice) = match error {
		DispatchError::Module(module) => match module.details() {
			Ok(details) => {
				let advice = plain(&details.variant.docs.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "));
				(format!("{}::{}", details.pallet.name(), details.variant.name), advice.trim().to_owned())
			}
			Err(_) => (module.details_string(), String::new()),
		},
		DispatchError::Token(TokenError::FundsUnavailable | TokenError::NotExpendable | TokenError::BelowMinimum) => (
			"Token::FundsUnavailable".into(),
			"The free balance is too small for this amount beside fees and the existential deposit.".into(),
		),
		DispatchError::BadOrigin | DispatchError::RootNotAllowed => {
			("BadOrigin".into(), "This account may not do this: it needs the sudo key of a development network, or governance.".into())
		}
		other => (format!("{other:?}"), other.to_string()),
	};
	ChainError::Dispatch { call: call.to_owned(), name, advice }
}

/// Documentation without the link markup of rustdoc: `[text]` and `[text](target)` become `text`.
fn plain(docs: &str) -> String {
	let mut plain = String::with_capacity(docs.len());
	let mut rest = docs;
	while let Some((before, after)) = rest.split_once('[') {
		plain.push_str(before);
		let Some((text, behind)) = after.split_once(']') else {
			plain.push('[');
			rest = after;
			continue;
		};
		plain.push_str(text);
		rest = behind.strip_prefix('(').and_then(|target| target.split_once(')')).map_or(behind, |(_, behind)| behind);
	}
	plain.push_str(rest);
	plain
}

#[cfg(test)]
mod tests {
	use super::*;

	/// As the node's `author` namespace sends them.
	fn pool(code: i32, message: &str, data: &str) -> Refusal {
		let data = serde_json::value::RawValue::from_string(format!("{data:?}")).unwrap();
		refusal(&UserError { code, message: message.into(), data: Some(data) })
	}

	#[test]
	fn pool_errors_tell_whether_to_wait_to_sign_anew_or_to_give_up() {
		let payment = "Inability to pay some fees (e.g. account balance too low)";
		assert_eq!(pool(1010, "Invalid Transaction", payment), Refusal::Unfunded);
		assert_eq!(pool(1010, "Invalid Transaction", "Transaction is outdated"), Refusal::Outdated);
		assert!(matches!(pool(1014, "Priority is too low: (1 vs 1)", "..."), Refusal::Occupied(_)));
		assert_eq!(pool(1013, "Transaction Already Imported", "0x00"), Refusal::Known);
		assert!(matches!(pool(1016, "Immediately Dropped", "..."), Refusal::Later(_)));
		assert!(matches!(pool(1012, "Transaction is temporarily banned", "..."), Refusal::Banned(_)));
		assert_eq!(
			pool(1010, "Invalid Transaction", "Transaction call is not expected"),
			Refusal::Never("Invalid Transaction: Transaction call is not expected".into())
		);
		assert_eq!(pool(-32601, "Method not found", ""), Refusal::Never("Method not found".into()));
		let busy = "limit: 1000 calls a minute";
		assert_eq!(pool(-32999, "RPC rate limit", busy), Refusal::Later(format!("RPC rate limit: {busy}")));
		assert_eq!(
			pool(1011, "Unknown Transaction Validity", "CannotLookup"),
			Refusal::Later("Unknown Transaction Validity: CannotLookup".into())
		);
	}

	#[test]
	fn advice_from_documentation_is_shown_without_link_markup() {
		let docs = "At most [`Config::Most`]. See [`X`](crate::x::X) and [the limits](limits.md), [unclosed";
		assert_eq!(plain(docs), "At most `Config::Most`. See `X` and the limits, [unclosed");
		assert_eq!(plain("Bond more, `bond_extra` (or leave)."), "Bond more, `bond_extra` (or leave).");
	}

	#[test]
	fn a_connections_error_is_one_phrase_however_many_layers_it_came_through() {
		let error = |text: &str| reason(&std::io::Error::other(text.to_owned()));
		let refused =
			"RPC error: client error: RPC error: client error: Error when opening the TCP socket: Connection refused (os error 111)";
		assert_eq!(error(refused), "Connection refused");
		assert_eq!(error("Connection rejected with status code: 404"), "Connection rejected with status code: 404");
		assert_eq!(error("RPC error: "), "");
	}

	#[test]
	fn missing_money_and_missing_rights_are_said_in_words() {
		let error = failure("Staking::register", &DispatchError::Token(TokenError::FundsUnavailable));
		assert!(error.to_string().starts_with("Staking::register failed: Token::FundsUnavailable. The free balance"), "{error}");
		let error = failure("Training::approve_run", &DispatchError::BadOrigin);
		assert!(error.to_string().contains("sudo key"), "{error}");
		assert!(error.is_dispatch("BadOrigin"));
	}
}
