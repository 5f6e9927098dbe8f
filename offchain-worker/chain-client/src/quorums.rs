//! Quorums of a run: who holds what of a place, the calls that propose it and agree to it, and what must stay free for disputes about their work.

use crate::{
	call::{Call, Signature},
	client::ChainAt,
	disputes,
	error::ChainError,
	query::View,
};
use neuroshard_graph::game::{Contents, Move, Position, Records};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	quorum::{self, Seat, Span},
	run::RunConfig,
	AccountId, Balance, RoundIndex, RunId,
};
use subxt::metadata::Metadata;

const PALLET: &str = "Training";
/// Who holds what, by number.
type Holders = Vec<(AccountId, Span)>;
const FORM: Signature<(RunId, Holders)> = Signature::new(PALLET, "form_quorum");
const AGREE: Signature<(RunId, AccountId, Holders)> = Signature::new(PALLET, "agree_quorum");

const QUORUMS: View<(RunId,), Vec<Seat>> = View::new(PALLET, "quorums");
const QUORUMS_OF: View<(RunId, RoundIndex), Vec<Seat>> = View::new(PALLET, "quorums_of");

/// Checks that the chain has these calls and view functions with the same types.
///
/// # Errors
/// The first one that is missing or differs.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	FORM.check(metadata)?;
	AGREE.check(metadata)?;
	QUORUMS.check(metadata)?;
	QUORUMS_OF.check(metadata)
}

/// Proposes a quorum that the caller leads, in place of the one that it has proposed before: who holds what, by number. With nobody, it leads none.
pub fn form(run: RunId, holders: Vec<(AccountId, Span)>) -> Call {
	FORM.with((run, holders))
}

/// Agrees to exactly what `leader` has proposed.
pub fn agree(run: RunId, leader: AccountId, holders: Vec<(AccountId, Span)>) -> Call {
	AGREE.with((run, leader, holders))
}

/// Seats of the quorum that `leader` leads among these, by number.
pub fn led_by(seats: Vec<Seat>, leader: &AccountId) -> Vec<Seat> {
	quorum::led_by(&seats, leader).cloned().collect()
}

impl ChainAt {
	/// Seats of the quorums of an active run, those of each by number, also of those that not all have agreed to.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn quorums(&self, run: RunId) -> Result<Vec<Seat>, ChainError> {
		self.view(&QUORUMS, (run,)).await
	}

	/// Seats of the quorums that hold places in the round under way, or held them in an adopted one.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn quorums_of(&self, run: RunId, round: RoundIndex) -> Result<Vec<Seat>, ChainError> {
		self.view(&QUORUMS_OF, (run, round)).await
	}

	/// Returns the amount that must stay free on the account of a member of a quorum with these spans, in planck: as [`Self::reserve`], with the fees of who
	/// posts what all members have signed, and defends its own part itself. Whoever does not lead posts less.
	///
	/// # Errors
	/// As [`Self::fee`], and for spans of another model.
	pub async fn quorum_reserve(&self, config: &RunConfig, spans: &[Span]) -> Result<Balance, ChainError> {
		let refused = |reason: String| ChainError::BadAnswer { what: "the run's configuration".into(), reason };
		let bytes = Records::most_bytes(&config.model, &config.train, spans).map_err(|error| refused(error.to_string()))?;
		let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: AccountId::new([0; 32]) };
		let posted = disputes::play(claim.clone(), claim.who, &Position::Checkpoints { count: 0 }, records(bytes));
		let games = Balance::from(self.games_at_most()?);
		Ok(self.reserve(config).await?.saturating_add(self.fee(&posted).await?.saturating_mul(games)))
	}
}

/// A move with so many bytes of what members have signed: a fee counts no more than how many there are.
fn records(bytes: usize) -> Move {
	let hashes = vec![[0; 32]; bytes.div_ceil(32)];
	Move::Records(Records { contents: Contents::State([[0; 32]; 3]), before: vec![vec![hashes]], records: Vec::new() })
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::testing::Connect;
	use codec::{Decode, Encode};
	use neuroshard_mock_node::{decoded_metadata, Fate, MockNode, Script};
	use neuroshard_runtime::RuntimeCall;

	fn account(number: u8) -> AccountId {
		AccountId::new([number; 32])
	}

	fn holders() -> Vec<(AccountId, Span)> {
		vec![(account(1), Span { first: 2, count: 3 }), (account(2), Span { first: 5, count: 4 })]
	}

	#[test]
	fn what_is_proposed_and_agreed_to_is_encoded_as_the_runtime_encodes_it() {
		let metadata = decoded_metadata();
		check(&metadata).unwrap();
		let encoded = holders().encode();
		for (call, index, arguments) in [
			(form(7, holders()), 15, [7u32.encode(), encoded.clone()].concat()),
			(form(7, Vec::new()), 15, [7u32.encode(), vec![0]].concat()),
			(agree(7, account(1), holders()), 16, [7u32.encode(), vec![1; 32], encoded].concat()),
		] {
			let bytes = call.encode(&metadata).unwrap();
			assert_eq!((bytes[1], &bytes[2..]), (index, &arguments[..]), "{}", call.describe());
			let decoded = RuntimeCall::decode(&mut bytes.as_slice()).unwrap();
			assert!(matches!(decoded, RuntimeCall::Training(_)) && decoded.encode() == bytes, "{decoded:?}");
		}
	}

	#[tokio::test]
	async fn seats_of_a_run_and_of_a_round_are_those_that_the_chain_answers() {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let seat = |leader: u8, who: u8, key| Seat { leader: account(leader), who: account(who), span: Span { first: 1, count: 2 }, key };
		let (proposed, held) = (vec![seat(1, 1, Some([3; 33])), seat(4, 4, Some([5; 33])), seat(1, 2, None)], vec![seat(4, 4, None)]);
		node.answer_by("Training", "quorums", {
			let proposed = proposed.clone();
			move |asked| if asked == 7u32.encode() { proposed.encode() } else { Vec::<Seat>::new().encode() }
		});
		node.answer_by("Training", "quorums_of", {
			let held = held.clone();
			move |asked| if asked == (7u32, 3u32).encode() { held.encode() } else { Vec::<Seat>::new().encode() }
		});
		let at = node.client().await.now().await.unwrap();
		assert_eq!((at.quorums(7).await.unwrap(), at.quorums(8).await.unwrap()), (proposed.clone(), Vec::new()));
		assert_eq!((at.quorums_of(7, 3).await.unwrap(), at.quorums_of(7, 4).await.unwrap()), (held, Vec::new()));
		let led = led_by(proposed.clone(), &account(1));
		assert_eq!(led, [proposed[0].clone(), proposed[2].clone()]);
	}

	#[test]
	fn a_fee_is_asked_for_as_many_bytes_as_members_can_have_to_say() {
		for bytes in [0, 1, 32, 4_096, 1 << 20] {
			let length = records(bytes).encoded_size();
			assert!((bytes..bytes + 256).contains(&length), "{length} for {bytes}");
		}
	}

	#[tokio::test]
	async fn a_member_keeps_more_free_than_who_trains_alone() {
		use neuroshard_graph::{ModelConfig, TrainConfig};
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let at = node.client().await.now().await.unwrap();
		let config = crate::fees::tests::config();
		let config = RunConfig { model: ModelConfig { layers: 2, ..ModelConfig::tiny() }, train: TrainConfig::tiny(), ..config };
		let spans = [Span { first: 0, count: 2 }, Span { first: 2, count: 2 }];
		let bytes = Records::most_bytes(&config.model, &config.train, &spans).unwrap() as u128;
		let more = at.quorum_reserve(&config, &spans).await.unwrap() - at.reserve(&config).await.unwrap();
		// Fees of the mock node are lengths of extrinsics, and as many games can be open.
		assert!((32 * bytes..32 * (bytes + 600)).contains(&more), "{more} for {bytes}");
		assert!(at.quorum_reserve(&config, &[Span { first: 9, count: 9 }]).await.is_err());
	}
}
