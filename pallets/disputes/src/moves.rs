//! Moves: who may make one, and what becomes of it.

use crate::{grounds, Clock, Config, Error, Event, Fallen, Game, Games, Pallet};
use alloc::vec::Vec;
use codec::Encode;
use frame_support::ensure;
use neuroshard_graph::{
	game::{Entry, GameError, Move, Outcome, Position, SpanNodes, MAX_LIST, MAX_RECORDS},
	witness::{MAX_CHOICE, MAX_WITNESS},
	Hash,
};
use neuroshard_types::{
	dispute::{ClaimId, MoveKind},
	AccountId, H256,
};
use sp_runtime::DispatchError;

/// Most hashes of a proof: of an entry of the longest list.
const MAX_PROOF: usize = 14;
const _: () = assert!(1 << MAX_PROOF == MAX_LIST);

/// Why a move or a report is not even looked at. Transactions with such a call are invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
	/// There is no such game.
	NoGame,
	/// The sender is not the account whose turn it is.
	NotYourTurn,
	/// Its time is over.
	TooLate,
	/// Another game has proven the claim false.
	ClaimFell,
	/// A list, proof or witness is longer than any may be.
	TooLong,
	/// The move is carried by another call. Moves are extrinsics of their own, where the other side looks for them.
	Carried,
	/// The game stands elsewhere than where the move answers.
	OtherPosition,
	/// The sender has no report about this round to seal, or to open, now; or the report is not the sealed one.
	NotToReport,
	/// Nobody demands this answer of the sender now; or it is not what was paid for.
	NotToDeliver,
}

impl Refusal {
	/// The code of [`sp_runtime::transaction_validity::InvalidTransaction::Custom`] that nodes answer with.
	pub fn code(self) -> u8 {
		match self {
			Self::NoGame => 100,
			Self::NotYourTurn => 101,
			Self::TooLate => 102,
			Self::ClaimFell => 103,
			Self::TooLong => 104,
			Self::Carried => 105,
			Self::OtherPosition => 106,
			Self::NotToReport => 107,
			Self::NotToDeliver => 108,
		}
	}
}

impl<T> From<Refusal> for Error<T> {
	fn from(refusal: Refusal) -> Self {
		match refusal {
			Refusal::NoGame => Self::NoGame,
			Refusal::NotYourTurn | Refusal::Carried => Self::NotYourTurn,
			Refusal::TooLate => Self::TooLate,
			Refusal::ClaimFell => Self::ClaimFell,
			Refusal::TooLong => Self::TooLong,
			Refusal::OtherPosition => Self::OtherPosition,
			Refusal::NotToReport => Self::NotDrawn,
			Refusal::NotToDeliver => Self::NotDemanded,
		}
	}
}

impl<T> From<GameError> for Error<T> {
	fn from(error: GameError) -> Self {
		match error {
			GameError::WrongMove => Self::WrongMove,
			GameError::Length { .. } => Self::WrongLength,
			GameError::Root => Self::WrongRoot,
			GameError::Entry => Self::WrongEntry,
			GameError::Place => Self::NoSuchPlace,
			GameError::Witness(_) => Self::BadWitness,
			GameError::Config(_) | GameError::OtherClaim | GameError::Text | GameError::Settings => Self::Unjudgeable,
			GameError::Signature(_) => Self::NotSigned,
			GameError::Seam(_) => Self::OpenSeam,
		}
	}
}

/// Returns whether no list, proof or witness of `action` is longer than any may be.
fn fits(action: &Move) -> bool {
	let list = |list: &Vec<Hash>| u32::try_from(list.len()).is_ok_and(|len| len <= MAX_LIST);
	let entry = |entry: &Entry| entry.proof.len() <= MAX_PROOF;
	let entries = |pair: [&Option<Entry>; 2]| pair.into_iter().flatten().all(entry);
	match action {
		Move::Steps(hashes) | Move::Checkpoints(hashes) | Move::Hashes(hashes) | Move::States(hashes) => list(hashes),
		Move::Nodes { nodes, .. } | Move::Read { nodes, .. } | Move::Aggregate { nodes, .. } => list(nodes),
		Move::Ends { .. } | Move::Outer { .. } | Move::Vector(_) => true,
		Move::Step { before, after, .. } => entries([before, &None]) && entry(after),
		Move::Node { root, .. } => entry(root),
		Move::Hash { entry: one, .. } => entry(one),
		Move::Piece { before, after, witness, .. } => entries([before, after]) && witness.len() <= MAX_WITNESS,
		Move::Choice { witness, .. } => witness.len() <= MAX_CHOICE,
		Move::Records(_) => action.encoded_size() <= MAX_RECORDS,
		Move::Record { proof, .. } => proof.len() <= MAX_PROOF,
		Move::SpanNodes(SpanNodes { record, proof, sums, nodes, .. }) => {
			let few = |len: usize| u32::try_from(len).is_ok_and(|len| len <= MAX_LIST);
			let of_record = few(record.given.len()) && few(record.gave.len()) && few(record.squares.len());
			list(nodes) && proof.len() <= MAX_PROOF && of_record && few(sums.len())
		}
	}
}

impl<T: Config> Pallet<T> {
	/// The game in which `who` may make this move now. `position` is the hash of the one that it answers.
	pub(crate) fn admit(who: &AccountId, claim: &ClaimId, challenger: &AccountId, position: H256, action: &Move) -> Result<Game, Refusal> {
		ensure!(fits(action), Refusal::TooLong);
		let game = Games::<T>::get(claim, challenger).ok_or(Refusal::NoGame)?;
		ensure!(game.player(claim, challenger, game.position.turn()) == who, Refusal::NotYourTurn);
		ensure!(Self::now() <= game.deadline, Refusal::TooLate);
		ensure!(!Fallen::<T>::contains_key(claim), Refusal::ClaimFell);
		ensure!(H256(game.position.hash()) == position, Refusal::OtherPosition);
		// The largest move of all takes half of a block's room for moves: it is let in only where it can be one.
		let choosing = matches!(game.position, Position::PickRow { .. });
		ensure!(choosing || !matches!(action, Move::Choice { .. }), Refusal::OtherPosition);
		Ok(game)
	}

	/// See [`crate::Call::play`]. Returns how many records the claim is judged by, and how many members of a quorum stand behind it.
	pub(crate) fn do_play(
		who: &AccountId,
		claim: ClaimId,
		challenger: AccountId,
		position: H256,
		action: &Move,
	) -> Result<(u32, u32), DispatchError> {
		let mut game = Self::admit(who, &claim, &challenger, position, action).map_err(Error::<T>::from)?;
		let grounds = grounds::of::<T>(&claim).ok_or(Error::<T>::RecordGone)?;
		let members = u32::try_from(game.members.len()).unwrap_or(u32::MAX);
		let outcome = grounds.judge(|setting| game.position.play(setting, action)).map_err(Error::<T>::from)?;
		match outcome {
			Outcome::Next(position) => {
				let (by, before) = (game.position.turn(), game.deadline);
				let gain = Self::gain(position.turn(), game.defender_at(&claim, &position));
				game.advance(&claim, position, Self::now(), (gain, Clock::<T>::get()));
				let (turn, deadline) = (position.turn(), game.deadline);
				Self::keep(&claim, &challenger, game, before);
				let (kind, bytes) = (MoveKind::from(action), u32::try_from(action.encoded_size()).unwrap_or(u32::MAX));
				Self::deposit_event(Event::Played { claim, challenger, by, kind, bytes, turn, deadline });
			}
			Outcome::Decided(ruling) => {
				game.note_move(Self::now());
				let witness = if let Move::Piece { witness, .. } | Move::Choice { witness, .. } = action { witness.len() } else { 0 };
				Self::decide(claim, challenger, game, ruling.into(), u32::try_from(witness).unwrap_or(u32::MAX));
			}
		}
		Ok((grounds.records(), members))
	}
}
