//! Migrations of stored state from earlier versions to this one.

use crate::{Config, DisputedAnswers, Game, Games, Members, Pallet};
#[cfg(feature = "try-runtime")]
use alloc::vec::Vec;
use codec::{Decode, Encode};
use core::marker::PhantomData;
use frame_support::{
	migrations::VersionedMigration,
	traits::{ConstU32, Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
	BoundedVec,
};
use neuroshard_graph::game::Position;
use neuroshard_types::{dispute::AnswerClaim, inference::Receipt, run::OldRunConfig, AccountId, Balance, BlockNumber, RoundIndex};

/// From version 4 to 5: games say which members of a quorum may have to defend the claim. Those of before are about work of one machine.
pub type MigrateV4ToV5<T> = VersionedMigration<4, 5, V4ToV5<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV4ToV5`] for a state of version 4, whatever its version is said to be.
pub struct V4ToV5<T>(PhantomData<T>);

/// A [`Game`] of version 4.
#[derive(Encode, Decode)]
pub(crate) struct GameV4 {
	pub position: Position,
	pub deadline: BlockNumber,
	pub reserve: BlockNumber,
	pub moves: BoundedVec<BlockNumber, ConstU32<11>>,
	pub bond: Balance,
	pub first_round: RoundIndex,
	pub earlier: Option<AccountId>,
	pub later: Option<AccountId>,
}

impl From<GameV4> for Game {
	fn from(game: GameV4) -> Self {
		let GameV4 { position, deadline, reserve, moves, bond, first_round, earlier, later } = game;
		let moves = BoundedVec::truncate_from(moves.into_inner());
		Self { position, deadline, reserve, moves, bond, first_round, earlier, later, members: Members::default() }
	}
}

impl<T: Config> UncheckedOnRuntimeUpgrade for V4ToV5<T> {
	/// Costs a read and a write for each open game, which each holds a bond.
	fn on_runtime_upgrade() -> Weight {
		let mut games = 0u64;
		Games::<T>::translate_values(|game: GameV4| {
			games = games.saturating_add(1);
			Some(game.into())
		});
		T::DbWeight::get().reads_writes(games.saturating_add(1), games)
	}

	#[cfg(feature = "try-runtime")]
	fn pre_upgrade() -> Result<Vec<u8>, sp_runtime::TryRuntimeError> {
		let games = Games::<T>::iter_keys().count();
		Ok(u64::try_from(games).unwrap_or(u64::MAX).encode())
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(before: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		// A value that cannot be decoded would be skipped.
		let decoded = Games::<T>::iter_values().count();
		let before = u64::decode(&mut before.as_slice()).map_err(|_| "the number of games is lost")?;
		frame_support::ensure!(u64::try_from(decoded) == Ok(before), "a game of before cannot be read");
		Pallet::<T>::do_try_state()
	}
}

/// From version 3 to 4: runs say what texts are made of, and models of which family they are, also those whose answers are disputed. Those of before
/// speak bytes, and are Llamas.
pub type MigrateV3ToV4<T> = VersionedMigration<3, 4, V3ToV4<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV3ToV4`] for a state of version 3, whatever its version is said to be.
pub struct V3ToV4<T>(PhantomData<T>);

/// An [`AnswerClaim`] of version 3.
#[derive(Encode, Decode)]
pub(crate) struct AnswerClaimV3 {
	pub config: OldRunConfig,
	pub receipt: Receipt,
}

impl<T: Config> UncheckedOnRuntimeUpgrade for V3ToV4<T> {
	/// Costs a read and a write for each answer about which games are open.
	fn on_runtime_upgrade() -> Weight {
		let mut answers = 0u64;
		DisputedAnswers::<T>::translate_values(|AnswerClaimV3 { config, receipt }| {
			answers = answers.saturating_add(1);
			Some(AnswerClaim { config: config.into(), receipt })
		});
		T::DbWeight::get().reads_writes(answers.saturating_add(1), answers)
	}

	#[cfg(feature = "try-runtime")]
	fn pre_upgrade() -> Result<Vec<u8>, sp_runtime::TryRuntimeError> {
		let answers = DisputedAnswers::<T>::iter_keys().count();
		Ok(u64::try_from(answers).unwrap_or(u64::MAX).encode())
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(before: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		// A value that cannot be decoded would be skipped.
		let decoded = DisputedAnswers::<T>::iter_values().count();
		let before = u64::decode(&mut before.as_slice()).map_err(|_| "the number of disputed answers is lost")?;
		frame_support::ensure!(u64::try_from(decoded) == Ok(before), "a disputed answer of before cannot be read");
		// The games are those of version 4 still.
		Ok(())
	}
}
