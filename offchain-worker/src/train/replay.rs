//! Recomputing a finished round from its record: every included delta, the next checkpoint and its validation loss.

use super::{
	checkpoint::{decode_delta, Checkpoint, CheckpointError},
	outer::{apply_outer, attest, OuterError},
	round::{TrainError, Trained, Training},
};
use crate::{data::loader::Loader, engine::Engine};
use neuroshard_types::{
	run::{RoundRecord, Work},
	AccountId, RoundIndex, H256,
};
use std::sync::atomic::AtomicBool;

/// The first difference between a record and its recomputation, or why there is none to be had.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
	/// An included provider is not among the round's participants.
	#[error("round {round}: {account} is included but did not take part")]
	Stranger {
		/// Round.
		round: RoundIndex,
		/// Provider.
		account: AccountId,
	},
	/// A provider's delta is another one.
	#[error("round {round}: the delta of {account} has root {found:?}, the chain says {expected:?}")]
	Delta {
		/// Round.
		round: RoundIndex,
		/// Provider.
		account: AccountId,
		/// Recomputed.
		found: H256,
		/// On chain.
		expected: H256,
	},
	/// A provider's revealed work differs elsewhere than in its delta.
	#[error("round {round}: {account} revealed {what} that a replay does not give")]
	Work {
		/// Round.
		round: RoundIndex,
		/// Provider.
		account: AccountId,
		/// What differs, in words.
		what: String,
	},
	/// The adopted checkpoint is another one.
	#[error("round {round} ends with checkpoint {found:?}, the chain says {expected:?}")]
	Checkpoint {
		/// Round.
		round: RoundIndex,
		/// Recomputed.
		found: H256,
		/// On chain.
		expected: H256,
	},
	/// The adopted validation loss is another one.
	#[error("round {round} ends with a validation loss of {found}, the chain says {expected}")]
	ValidationLoss {
		/// Round.
		round: RoundIndex,
		/// Recomputed.
		found: f32,
		/// On chain.
		expected: f32,
	},
	/// A provider's round could not be recomputed.
	#[error("round {round}, {account}: {source}")]
	Train {
		/// Round.
		round: RoundIndex,
		/// Provider.
		account: AccountId,
		/// Why.
		source: Box<TrainError>,
	},
	/// A delta that was just computed cannot be read back.
	#[error("round {round}: {source}")]
	Decode {
		/// Round.
		round: RoundIndex,
		/// Why.
		source: Box<CheckpointError>,
	},
	/// The outer step could not be recomputed.
	#[error("round {round}: {source}")]
	Outer {
		/// Round.
		round: RoundIndex,
		/// Why.
		source: Box<OuterError>,
	},
}

/// Recomputes the round that starts from `previous` and compares it with `record`: the delta of every included
/// provider in the record's order, then the next checkpoint and its validation loss, which it returns. `works` are
/// reveals found in block bodies: those of included providers are compared as a whole. `progress` hears of every
/// provider before its round is trained.
///
/// # Errors
/// [`ReplayError`]: the first difference, or what kept the replay from an answer.
pub fn replay_round(
	engine: &mut Engine,
	previous: &Checkpoint,
	record: &RoundRecord,
	works: &[(AccountId, Work)],
	loader: &Loader,
	mut progress: impl FnMut(&AccountId),
) -> Result<Checkpoint, ReplayError> {
	let round = previous.header.round;
	let mut deltas = Vec::with_capacity(record.included.len());
	for (account, expected) in &record.included {
		let position = (0u32..).zip(&record.participants).find(|(_, other)| *other == account);
		let Some((position, _)) = position else { return Err(ReplayError::Stranger { round, account: account.clone() }) };
		progress(account);
		let trained = Training::start(engine, previous, loader, position, record.seed)
			.and_then(|training| training.run(&AtomicBool::new(false), |_| ()))
			.map_err(|source| ReplayError::Train { round, account: account.clone(), source: Box::new(source) })?;
		let found = trained.work.delta_root;
		if found != *expected {
			return Err(ReplayError::Delta { round, account: account.clone(), found, expected: *expected });
		}
		if let Some((_, revealed)) = works.iter().find(|(other, _)| other == account) {
			compare_work(round, account, &trained, revealed)?;
		}
		let delta = decode_delta(engine.layout(), &trained.delta, found, engine.exec().threads());
		deltas.push((account.clone(), delta.map_err(|source| ReplayError::Decode { round, source: Box::new(source) })?));
	}
	let outer = |source| ReplayError::Outer { round, source: Box::new(source) };
	let next = apply_outer(engine, previous, &deltas).map_err(outer)?;
	let (found, expected) = (next.header.root(), record.checkpoint);
	if found != expected {
		return Err(ReplayError::Checkpoint { round, found, expected });
	}
	let attested = attest(engine, &next, loader).map_err(|source| outer(source.into()))?;
	if attested.validation_loss != record.validation_loss {
		let (found, expected) = (attested.validation_loss.get(), record.validation_loss.get());
		return Err(ReplayError::ValidationLoss { round, found, expected });
	}
	Ok(next)
}

/// The first difference between what was revealed and what a replay gives.
fn compare_work(round: RoundIndex, account: &AccountId, trained: &Trained, revealed: &Work) -> Result<(), ReplayError> {
	let found = &trained.work;
	if found == revealed {
		return Ok(());
	}
	let different = (1..).zip(found.state_roots.iter().zip(&revealed.state_roots)).find(|(_, (a, b))| a != b);
	let what = match different {
		Some((number, _)) => format!("a state root (number {number} of {})", found.state_roots.len()),
		None if found.state_roots.len() != revealed.state_roots.len() => "a number of state roots".into(),
		None => "a number of bytes or tokens".into(),
	};
	Err(ReplayError::Work { round, account: account.clone(), what })
}
