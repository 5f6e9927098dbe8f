//! Disputes: what is open, what was posted, and the calls to take part.

use crate::{
	call::{Call, Signature},
	client::{BlockId, ChainAt, ChainClient, Heads},
	error::ChainError,
	query::View,
	submit::Submitter,
};
use codec::DecodeAll;
use neuroshard_graph::game::{Doubt, Move, Position};
use neuroshard_types::{
	dispute::{AnswerClaim, AttestationClaim, ClaimId, ClaimKind, GameView, Terms, WorkClaim, PAGE},
	inference::Receipt,
	proof::ProofSignature,
	run::Work,
	AccountId, Balance, RoundIndex, RunId, H256,
};
use subxt::metadata::Metadata;
use tokio::sync::watch;

/// A game by claim and challenger.
type GameId = (ClaimId, AccountId);
/// A receipt, its signature, and the choice that is doubted.
type AnswerFields = (Receipt, ProofSignature, u32);

const PALLET: &str = "Disputes";
const CHALLENGE_WORK: Signature<(RunId, RoundIndex, AccountId, Work, Doubt)> = Signature::new(PALLET, "challenge_work");
const CHALLENGE_ATTESTATION: Signature<(RunId, RoundIndex, AccountId)> = Signature::new(PALLET, "challenge_attestation");
const CHALLENGE_ANSWER: Signature<AnswerFields> = Signature::new(PALLET, "challenge_answer");
const PLAY: Signature<(ClaimId, AccountId, H256, Move)> = Signature::new(PALLET, "play");

const GAME: View<(ClaimId, AccountId), Option<GameView>> = View::new(PALLET, "game");
const GAMES_OF: View<(AccountId, Option<GameId>), Vec<GameId>> = View::new(PALLET, "games_of");
const TERMS: View<(), Terms> = View::new(PALLET, "terms");
const BOND_AGAINST: View<(ClaimId, AccountId), Option<Balance>> = View::new(PALLET, "bond_against");
const WORK_CLAIM: View<(RunId, RoundIndex, AccountId), Option<WorkClaim>> = View::new("Training", "work_claim");
const ATTESTATION_CLAIM: View<(RunId, RoundIndex, AccountId), Option<AttestationClaim>> = View::new("Training", "attestation_claim");
const ANSWER_CLAIM: View<(ClaimId,), Option<AnswerClaim>> = View::new(PALLET, "answer_claim");
const IS_CONDEMNED: View<(ClaimId,), bool> = View::new("Training", "claim_condemned");

/// Checks that the chain has these calls and view functions with the same types.
///
/// # Errors
/// The first one that is missing or differs.
pub(super) fn check(metadata: &Metadata) -> Result<(), ChainError> {
	CHALLENGE_WORK.check(metadata)?;
	CHALLENGE_ATTESTATION.check(metadata)?;
	CHALLENGE_ANSWER.check(metadata)?;
	PLAY.check(metadata)?;
	GAME.check(metadata)?;
	GAMES_OF.check(metadata)?;
	TERMS.check(metadata)?;
	BOND_AGAINST.check(metadata)?;
	WORK_CLAIM.check(metadata)?;
	ATTESTATION_CLAIM.check(metadata)?;
	ANSWER_CLAIM.check(metadata)?;
	IS_CONDEMNED.check(metadata)
}

/// Disputes the work that `who` revealed in an adopted round.
pub fn challenge_work(run: RunId, round: RoundIndex, who: AccountId, work: Work, doubt: Doubt) -> Call {
	CHALLENGE_WORK.with((run, round, who, work, doubt))
}

/// Disputes the checkpoint that `who` attested in an adopted round.
pub fn challenge_attestation(run: RunId, round: RoundIndex, who: AccountId) -> Call {
	CHALLENGE_ATTESTATION.with((run, round, who))
}

/// Disputes the answer of this receipt from choice `doubt` on.
pub fn challenge_answer(receipt: Receipt, signature: ProofSignature, doubt: u32) -> Call {
	CHALLENGE_ANSWER.with((receipt, signature, doubt))
}

/// Makes a move in answer to `position`.
pub fn play(claim: ClaimId, challenger: AccountId, position: &Position, action: Move) -> Call {
	PLAY.with((claim, challenger, H256(position.hash()), action))
}

/// Action of an extrinsic in a dispute. Whether it succeeded, and whose it is, is not said here: replaying the game shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(clippy::large_enum_variant, reason = "a block has a handful of them")]
pub enum Act {
	/// Opens a game about work.
	ChallengeWork {
		/// The claim.
		claim: ClaimId,
		/// Work that was revealed, as the challenger says.
		work: Work,
		/// First point that it disagrees with.
		doubt: Doubt,
	},
	/// Opens a game about an attestation.
	ChallengeAttestation(ClaimId),
	/// Opens a game about an auditor's sample.
	ChallengeAudit(ClaimId),
	/// Opens a game about an answer.
	ChallengeAnswer {
		/// The claim.
		claim: ClaimId,
		/// The choice that is doubted first.
		doubt: u32,
	},
	/// Makes a move.
	Play {
		/// The claim.
		claim: ClaimId,
		/// Challenger whose game it is.
		challenger: AccountId,
		/// [`Position::hash`] of what it answers.
		position: H256,
		/// The move.
		action: Move,
	},
}

/// The act of a call of this pallet on the chain with this first block; `None` for calls that are none, or are encoded otherwise.
fn act(genesis: H256, call: &str, mut fields: &[u8]) -> Option<Act> {
	let fields = &mut fields;
	match call {
		"challenge_work" => {
			let (run, round, who, work, doubt) = DecodeAll::decode_all(fields).ok()?;
			Some(Act::ChallengeWork { claim: ClaimId { run, round, kind: ClaimKind::Work, who }, work, doubt })
		}
		"challenge_attestation" => {
			let (run, round, who) = DecodeAll::decode_all(fields).ok()?;
			Some(Act::ChallengeAttestation(ClaimId { run, round, kind: ClaimKind::Attestation, who }))
		}
		"challenge_audit" => {
			let (run, round, who) = DecodeAll::decode_all(fields).ok()?;
			Some(Act::ChallengeAudit(ClaimId { run, round, kind: ClaimKind::Audit, who }))
		}
		"challenge_answer" => {
			let (receipt, _, doubt) = AnswerFields::decode_all(fields).ok()?;
			Some(Act::ChallengeAnswer { claim: receipt.claim(genesis)?, doubt })
		}
		"play" => {
			let (claim, challenger, position, action) = DecodeAll::decode_all(fields).ok()?;
			Some(Act::Play { claim, challenger, position, action })
		}
		_ => None,
	}
}

impl ChainClient {
	/// Sends a move in the game of a challenger about a claim, which had so many extrinsics before it. It is waited for only as long as the game waits for
	/// it: a move in a game that another one has decided meanwhile gets into no block, and neither the next move nor anything else of this account must
	/// wait for it.
	///
	/// # Errors
	/// As [`Submitter::submit_urgent`].
	pub async fn send_move(
		&self,
		submitter: &Submitter,
		mut heads: watch::Receiver<Heads>,
		(claim, challenger): &(ClaimId, AccountId),
		moves: usize,
		call: Call,
	) -> Result<(), ChainError> {
		let mut sending = std::pin::pin!(submitter.submit_urgent(call));
		let mut followed = true;
		loop {
			tokio::select! {
				sent = &mut sending => return sent.map(drop),
				changed = heads.changed(), if followed => {
					followed = changed.is_ok();
					let now = async { self.now().await?.game(claim, challenger).await };
					// Not knowing better is no reason to give a move up.
					if now.await.is_ok_and(|now| now.is_none_or(|now| now.moves.len() != moves)) {
						return Ok(());
					}
				},
			}
		}
	}

	/// Returns the actions that were posted in disputes in a block, in order. Blocks keep their bodies when their states are gone.
	///
	/// # Errors
	/// [`ChainError::Missing`] if the node does not have the block's body; the node is away.
	pub async fn posted(&self, block: BlockId) -> Result<Vec<Act>, ChainError> {
		let genesis = self.genesis();
		self.now().await?.said(block, PALLET, |call, fields| act(genesis, call, fields)).await
	}
}

impl ChainAt {
	/// All open games in which `who` defends or challenges: claims and challengers, in their order.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn games_of(&self, who: &AccountId) -> Result<Vec<(ClaimId, AccountId)>, ChainError> {
		let mut games = self.pages(&GAMES_OF, PAGE, |last| (who.clone(), last.cloned())).await?;
		games.sort();
		Ok(games)
	}

	/// An open game.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn game(&self, claim: &ClaimId, challenger: &AccountId) -> Result<Option<GameView>, ChainError> {
		self.view(&GAME, (claim.clone(), challenger.clone())).await
	}

	/// Returns the rules that hold for all games.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn dispute_terms(&self) -> Result<Terms, ChainError> {
		self.view(&TERMS, ()).await
	}

	/// Returns the amount that must be free for a challenge of `claim` by `challenger` beside its fee, in planck: the bond that it holds, and what keeps
	/// the account alive. `None` while as many disputes are open against the claim's account as can be, unless the challenger was drawn to audit it.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn needed_against(&self, claim: &ClaimId, challenger: &AccountId) -> Result<Option<Balance>, ChainError> {
		let (bond, least) = (self.view(&BOND_AGAINST, (claim.clone(), challenger.clone())).await?, self.existential_deposit()?);
		Ok(bond.map(|bond| bond.saturating_add(least)))
	}

	/// Returns the grounds that a claim about work is judged by; `None` if there is none.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn work_claim(&self, run: RunId, round: RoundIndex, who: &AccountId) -> Result<Option<WorkClaim>, ChainError> {
		self.view(&WORK_CLAIM, (run, round, who.clone())).await
	}

	/// Returns the grounds that a claim about a checkpoint is judged by; `None` if there is none.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn attestation_claim(&self, run: RunId, round: RoundIndex, who: &AccountId) -> Result<Option<AttestationClaim>, ChainError> {
		self.view(&ATTESTATION_CLAIM, (run, round, who.clone())).await
	}

	/// Returns the grounds that a claim about an answer is judged by; `None` if no game about it is open.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn answer_claim(&self, claim: &ClaimId) -> Result<Option<AnswerClaim>, ChainError> {
		self.view(&ANSWER_CLAIM, (claim.clone(),)).await
	}

	/// Returns whether a claim about training was proven false, or not defended.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub async fn is_condemned(&self, claim: &ClaimId) -> Result<bool, ChainError> {
		self.view(&IS_CONDEMNED, (claim.clone(),)).await
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::Encode;
	use neuroshard_graph::sampler::Sampling;
	use neuroshard_types::inference::{Class, Ending, Tokens};

	const GENESIS: H256 = H256([6; 32]);

	#[test]
	fn acts_are_read_back_and_anything_else_is_none() {
		let who = AccountId::new([7; 32]);
		let claim = ClaimId { run: 1, round: 2, kind: ClaimKind::Attestation, who: who.clone() };
		let (position, action) = (H256([3; 32]), Move::Vector(2));
		let fields = (claim.clone(), who.clone(), position, action.clone()).encode();
		assert_eq!(act(GENESIS, "play", &fields), Some(Act::Play { claim: claim.clone(), challenger: who.clone(), position, action }));
		assert_eq!(
			act(GENESIS, "challenge_attestation", &(1u32, 2u32, who.clone()).encode()),
			Some(Act::ChallengeAttestation(claim.clone()))
		);
		assert_eq!(act(GENESIS, "play", &fields[1..]), None);
		assert_eq!(act(GENESIS, "other", &fields), None);
		let sample = ClaimId { kind: ClaimKind::Audit, ..claim };
		assert_eq!(act(GENESIS, "challenge_audit", &(1u32, 2u32, who).encode()), Some(Act::ChallengeAudit(sample)));
	}
	#[test]
	fn who_opens_a_game_about_an_answer_names_it_by_its_receipt() {
		let receipt = Receipt {
			provider: Some(AccountId::new([7; 32])),
			paid: Some((3, 4)),
			parameters: H256([5; 32]),
			checkpoint: Some((1, 2)),
			class: Class::ExactF32,
			usable: 257,
			prompt: Tokens::of(&[1]),
			answer: Tokens::of(&[2, 3]),
			ending: Ending::Cut,
			sampling: Sampling::default().into(),
			price: 9,
		};
		let fields = |receipt: &Receipt| (receipt.clone(), [8u8; 65], 1u32).encode();
		let claim = ClaimId { run: 1, round: 2, kind: ClaimKind::Answer(receipt.hash(GENESIS)), who: AccountId::new([7; 32]) };
		let read = |receipt: &Receipt| act(GENESIS, "challenge_answer", &fields(receipt));
		assert_eq!(read(&receipt), Some(Act::ChallengeAnswer { claim, doubt: 1 }));
		assert_eq!(read(&Receipt { provider: None, ..receipt.clone() }), None);
		assert_eq!(act(GENESIS, "challenge_answer", &fields(&receipt)[1..]), None);
	}
}
