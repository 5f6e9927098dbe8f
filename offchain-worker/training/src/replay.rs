//! Recomputing adopted rounds: every included delta with its state roots, every checkpoint and its validation loss.

use super::{
	checkpoint::{decode_delta, Checkpoint, CheckpointError},
	files::FilesError,
	outer::{apply_outer, apply_outer_steps, attest, Included, OuterError},
	redo::Redo,
	round::{TrainError, Trained, Training},
};
use crate::engine::{Device, Engine, EngineError};
use neuroshard_data::loader::Loader;
use neuroshard_graph::ParamLayout;
use neuroshard_types::{
	assignment::Draw,
	dispute::OuterJob,
	run::{zeros_root, RoundRecord, RunConfig, RunStart, Work},
	AccountId, RoundIndex, RunId, H256,
};
use std::{path::PathBuf, sync::atomic::AtomicBool};

/// An adopted round, as the chain has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdoptedRound {
	/// Its record, with what was found of it since.
	pub record: RoundRecord,
	/// Outer steps that its Checkpointing took.
	pub job: OuterJob,
	/// Work that was revealed in it, at least that of included providers.
	pub works: Vec<(AccountId, Work)>,
}

/// Progress of a replay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Progress<'a> {
	/// The checkpoint of round 0 is what the run says.
	Genesis(H256),
	/// A provider's round is about to be trained.
	Provider(RoundIndex, &'a AccountId),
	/// So many inner steps of the provider's round are taken, of at most so many.
	Step(RoundIndex, &'a AccountId, [u32; 2]),
	/// A provider claimed what is not so, or what has no result, and the chain has left its delta out since.
	Excluded(RoundIndex, &'a AccountId),
	/// The round's checkpoint is not what its deltas give, and the chain does not count on it any more.
	Fallen(RoundIndex, H256),
	/// A round agrees; its checkpoint and validation loss in nats per token.
	Round(RoundIndex, H256, f32),
}

/// The first difference between a record and its recomputation, or why there is none to be had.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
	/// Nothing to compare.
	#[error("no round of the run is adopted: there is nothing to recompute, and nothing to say of it")]
	NoRounds,
	/// The run does not start from what its seed gives.
	#[error("the run's seed gives checkpoint {found:?} for round 0, the chain says {expected:?}")]
	Genesis {
		/// Recomputed.
		found: H256,
		/// On chain.
		expected: H256,
	},
	/// The run starts from a checkpoint that was given, and is not here.
	#[error("the run starts from checkpoint {0:?}, which follows from nothing on chain: name the base path of a worker that has it with --base-path")]
	NoStart(H256),
	/// The model that the run's adapter is beside is not here.
	#[error("the run's adapter is beside model {0:?}, which follows from nothing on chain: name the base path of a worker that has it with --base-path")]
	NoModel(H256),
	/// The run's model cannot be set up here.
	#[error("the run's first checkpoint cannot be computed: {0}")]
	Setup(Box<CheckpointError>),
	/// The run's model cannot be trained here.
	#[error(transparent)]
	Engine(#[from] EngineError),
	/// An included provider's work was never revealed.
	#[error("round {round}: {account} is included without having revealed its work")]
	NotRevealed {
		/// Round.
		round: RoundIndex,
		/// Provider.
		account: AccountId,
	},
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
		/// Part that differs, in words.
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
	/// Data that was proven false is needed to go on, and follows from nothing.
	#[error("round {round}: the chain has found since that {what} is not what the work gives. Its bytes are in no block: name the base path of a worker that still has them with --base-path")]
	Absent {
		/// Round.
		round: RoundIndex,
		/// The data, in words.
		what: String,
	},
	/// The result of another run is needed to go on.
	#[error("round {round}: {what} is needed. Name with --base-path the base path of a worker that has it: the one that started from it, or one that checked its work (with --check 1 all), for as long as that can be disputed")]
	Elsewhere {
		/// Round.
		round: RoundIndex,
		/// The result, in words.
		what: String,
	},
	/// Data that is needed again later cannot be set aside, or read back.
	#[error("round {round}: {source}")]
	Redo {
		/// Round.
		round: RoundIndex,
		/// Why.
		source: Box<CheckpointError>,
	},
	/// A delta that was just computed cannot be read back.
	#[error("round {round}: {source}")]
	Decode {
		/// Round.
		round: RoundIndex,
		/// Why.
		source: Box<CheckpointError>,
	},
	/// A round could not be recomputed in files.
	#[error("round {round}: {source}")]
	Files {
		/// Round.
		round: RoundIndex,
		/// Why.
		source: Box<FilesError>,
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

impl ReplayError {
	/// Returns whether chain and recomputation contradict each other, so that somebody reported what was not computed. Otherwise there is
	/// no answer.
	pub fn is_difference(&self) -> bool {
		match self {
			Self::Genesis { .. }
			| Self::NotRevealed { .. }
			| Self::Stranger { .. }
			| Self::Delta { .. }
			| Self::Work { .. }
			| Self::Checkpoint { .. }
			| Self::ValidationLoss { .. } => true,
			Self::NoRounds
			| Self::Setup(_)
			| Self::Engine(_)
			| Self::Train { .. }
			| Self::Absent { .. }
			| Self::NoStart(_)
			| Self::NoModel(_)
			| Self::Elsewhere { .. }
			| Self::Redo { .. }
			| Self::Decode { .. }
			| Self::Files { .. }
			| Self::Outer { .. } => false,
		}
	}

	/// Returns whether a provider's work is not what it revealed.
	fn is_of_work(&self) -> bool {
		match self {
			Self::Delta { .. } | Self::Work { .. } => true,
			Self::Train { source, .. } => matches!(**source, TrainError::Diverged(_)),
			_ => false,
		}
	}
}

/// Passes over what is wrong with the work of `account` if that was left out of its round.
///
/// # Errors
/// What is wrong with it, otherwise.
pub(crate) fn left_out(record: &RoundRecord, account: &AccountId, error: ReplayError) -> Result<(), ReplayError> {
	// Of such work, nobody may have what it began with.
	let lost = matches!(error, ReplayError::Absent { .. } | ReplayError::Elsewhere { .. });
	match (error.is_of_work() || lost) && record.excluded.contains(account) {
		true => Ok(()),
		false => Err(error),
	}
}

/// Recomputes the `rounds` of a run from its first checkpoint on, compares each with what the chain has, and returns the last
/// checkpoint. A device computes, and so many threads what is left for the CPU. `progress` hears how far it is. What the chain has found to be false since is no difference; its bytes, with which it went
/// on until then, are taken from the content store in `store`.
///
/// # Errors
/// [`ReplayError`]: the first difference, or what kept the replay from an answer.
pub fn replay_run(
	run: RunId,
	config: &RunConfig,
	rounds: &[AdoptedRound],
	loader: &Loader,
	store: Option<PathBuf>,
	(device, threads): (Device, usize),
	mut progress: impl FnMut(Progress<'_>),
) -> Result<Checkpoint, ReplayError> {
	if rounds.is_empty() {
		return Err(ReplayError::NoRounds);
	}
	let earlier = rounds.iter().map(|round| &round.record).filter(|record| record.inner_start != record.start);
	let redo = Redo::new(rounds.iter().map(|round| &round.job), earlier.map(|record| record.inner_start), store);
	let mut redo = redo.map_err(|source| ReplayError::Redo { round: 0, source: Box::new(source) })?;
	let mut checkpoint = first_checkpoint(run, config, &redo, threads)?;
	progress(Progress::Genesis(config.genesis_root));
	let mut engine = Engine::on(device, &config.model, &config.train, threads, None)?;
	if let Some(adapter) = config.train.adapter {
		let layout = ParamLayout::new(&config.model).map_err(|error| ReplayError::Setup(Box::new(CheckpointError::Config(error))))?;
		engine.load_model(&redo.vector(H256(adapter.base), &layout).ok_or(ReplayError::NoModel(H256(adapter.base)))?)?;
	}
	for adopted in rounds {
		let draw = Draw::new(config, (run, checkpoint.header.round), adopted.record.seed, &loader.shape());
		checkpoint = replay_round(&mut engine, &checkpoint, (adopted, draw), loader, &mut redo, &mut progress)?;
	}
	Ok(checkpoint)
}

/// The checkpoint that round 0 starts from: derived from the seed, or, where it is given, as the content store has it.
fn first_checkpoint(run: RunId, config: &RunConfig, redo: &Redo, threads: usize) -> Result<Checkpoint, ReplayError> {
	let setup = |source| ReplayError::Setup(Box::new(source));
	let expected = config.genesis_root;
	if config.start != RunStart::Seed {
		let layout = ParamLayout::trained(&config.model, &config.train).map_err(|error| setup(CheckpointError::Config(error)))?;
		let given = redo.checkpoint(run, expected, &layout, threads).map_err(setup)?;
		return given.ok_or(ReplayError::NoStart(expected));
	}
	let checkpoint = Checkpoint::genesis(run, &config.model, &config.train, threads).map_err(setup)?;
	match checkpoint.header.root() {
		found if found == expected => Ok(checkpoint),
		found => Err(ReplayError::Genesis { found, expected }),
	}
}

/// Recomputes the round whose outer step starts from `previous`, with its draw, and compares it with its record: the delta of every included
/// provider in the record's order, which must be that of its revealed work, and with what the rounds before have left on the `redo`, then the checkpoint that the outer steps of its
/// Checkpointing give and its validation loss. Returns the checkpoint. `progress` hears of every provider before its round is trained, and of its steps.
///
/// # Errors
/// [`ReplayError`]: the first difference, or what kept the replay from an answer.
pub fn replay_round(
	engine: &mut Engine,
	previous: &Checkpoint,
	(adopted, draw): (&AdoptedRound, Draw),
	loader: &Loader,
	redo: &mut Redo,
	mut progress: impl FnMut(Progress<'_>),
) -> Result<Checkpoint, ReplayError> {
	let (round, threads) = (previous.header.round, engine.exec().threads());
	let AdoptedRound { record, job, .. } = adopted;
	let set_aside = |source| ReplayError::Redo { round, source: Box::new(source) };
	redo.keep_checkpoint(previous, engine.layout()).map_err(set_aside)?;
	let mut deltas = Vec::with_capacity(record.included.len());
	let earlier = match record.inner_start == record.start {
		true => None,
		false => {
			let found = redo.checkpoint(previous.header.run, record.inner_start, engine.layout(), threads).map_err(set_aside)?;
			let absent = || ReplayError::Absent { round, what: format!("checkpoint {:?}", record.inner_start) };
			Some(found.ok_or_else(absent)?)
		}
	};
	let start = earlier.as_ref().unwrap_or(previous);
	for (account, expected) in &record.included {
		progress(Progress::Provider(round, account));
		let crossed = started_elsewhere((round, previous.header.run), record, account, redo, (engine.layout(), threads));
		let trained = crossed.and_then(|crossed| {
			let starts = crossed.as_ref().map_or((start, None), |crossed| (crossed, Some(previous)));
			train_provider(engine, (round, starts), (adopted, draw), loader, account, redo, &mut progress)
		});
		let (delta, doubt) = match trained {
			Ok((trained, revealed)) => {
				let doubt = compare(round, account, &trained.work, *expected, revealed).err();
				redo.keep_residual(&trained).map_err(set_aside)?;
				((trained.work.delta_root == *expected).then_some(trained.delta), doubt)
			}
			Err(error) => (None, Some(error)),
		};
		if let Some(error) = doubt {
			left_out(record, account, error)?;
			progress(Progress::Excluded(round, account));
		}
		let absent = || ReplayError::Absent { round, what: format!("the delta of {account}") };
		let delta = delta.or_else(|| redo.revealed(*expected)).ok_or_else(absent)?;
		redo.keep_delta(*expected, &delta).map_err(set_aside)?;
		let delta = decode_delta(engine, &delta, *expected);
		deltas.push((*expected, delta.map_err(|source| ReplayError::Decode { round, source: Box::new(source) })?));
	}
	// What the next round may begin with: what this one has left, or began with where it was not included.
	let residuals = adopted.works.iter().filter_map(|(_, work)| work.residuals(engine.train_config()));
	redo.keep_residuals(&residuals.flatten().collect());
	let outer = |source| ReplayError::Outer { round, source: Box::new(source) };
	let run = previous.header.run;
	let behind = |step: usize| job.inner_steps.get(step).cloned().unwrap_or_default();
	// Where outer steps are redone, the last one may take fewer than were included.
	// Two may be equal, and one of them left out.
	let mut taken: Vec<H256> = job.steps.last().into_iter().flatten().copied().collect();
	let mut takes = |root: H256| taken.iter().position(|one| *one == root).map(|place| taken.swap_remove(place));
	let deltas = deltas.into_iter().filter_map(|(root, delta)| takes(root).map(|_| delta)).collect();
	let last = Included { deltas, inner_steps: behind(job.steps.len().saturating_sub(1)) };
	let next = match job.steps.split_last().filter(|(_, redone)| !redone.is_empty()) {
		Some((_, redone)) => {
			let start = redo.checkpoint(run, job.start, engine.layout(), threads).map_err(set_aside)?;
			let start = start.ok_or_else(|| ReplayError::Absent { round, what: format!("checkpoint {:?}", job.start) })?;
			let before = (0..).zip(redone).map(|(number, step)| {
				let deltas = step.iter().map(|root| redo.delta(engine, *root));
				Ok::<_, OuterError>(Included { deltas: deltas.collect::<Result<_, _>>()?, inner_steps: behind(number) })
			});
			apply_outer_steps(engine, &start, before.chain([Ok(last)])).map_err(outer)?
		}
		None => apply_outer(engine, previous, &last).map_err(outer)?,
	};
	let (found, expected) = (next.header.root(), record.checkpoint);
	if found != expected {
		if !record.fallen {
			return Err(ReplayError::Checkpoint { round, found, expected });
		}
		progress(Progress::Fallen(round, expected));
		let fallen = redo.checkpoint(run, expected, engine.layout(), threads).map_err(set_aside)?;
		return fallen.ok_or_else(|| ReplayError::Absent { round, what: format!("checkpoint {expected:?}") });
	}
	let attested = attest(engine, &next, loader).map_err(|source| outer(source.into()))?;
	if attested.validation_loss != record.validation_loss {
		let (found, expected) = (attested.validation_loss.get(), record.validation_loss.get());
		return Err(ReplayError::ValidationLoss { round, found, expected });
	}
	progress(Progress::Round(round, expected, record.validation_loss.get()));
	Ok(next)
}

/// The checkpoint of another cohort that the work of `account` started from, if it did.
fn started_elsewhere(
	(round, run): (RoundIndex, RunId),
	record: &RoundRecord,
	account: &AccountId,
	redo: &Redo,
	(layout, threads): (&ParamLayout, usize),
) -> Result<Option<Checkpoint>, ReplayError> {
	let Some(bridge) = record.bridged(account) else { return Ok(None) };
	// One that cannot be read is as good as none.
	let found = redo.checkpoint(run, bridge.checkpoint, layout, threads).ok().flatten();
	let what = || format!("checkpoint {:?} of run {}, another cohort, from which {account} started,", bridge.checkpoint, bridge.run);
	found.map(Some).ok_or_else(|| ReplayError::Elsewhere { round, what: what() })
}

/// Trains the round of `account` anew from the checkpoint `start`, with a delta from `base` if it is a bridge; with what it revealed.
fn train_provider<'a>(
	engine: &mut Engine,
	(round, (start, base)): (RoundIndex, (&Checkpoint, Option<&Checkpoint>)),
	(adopted, draw): (&'a AdoptedRound, Draw),
	loader: &Loader,
	account: &AccountId,
	redo: &Redo,
	progress: &mut impl FnMut(Progress<'_>),
) -> Result<(Trained, &'a Work), ReplayError> {
	let AdoptedRound { record, works, .. } = adopted;
	let Some(position) = record.position(account) else { return Err(ReplayError::Stranger { round, account: account.clone() }) };
	let revealed = works.iter().find(|(other, _)| other == account);
	let Some((_, revealed)) = revealed else { return Err(ReplayError::NotRevealed { round, account: account.clone() }) };
	let tiles = u32::try_from(engine.layout().tile_count()).unwrap_or(u32::MAX);
	let before = revealed.residuals(engine.train_config()).map(|[before, _]| before).filter(|before| *before != zeros_root(tiles));
	let absent = |before| ReplayError::Absent { round, what: format!("the residual {before:?} of {account}") };
	let residual = before.map(|before| redo.residual(engine.layout(), before).ok_or_else(|| absent(before))).transpose()?;
	let steps = revealed.steps(engine.train_config()).unwrap_or(u32::MAX);
	let most = steps.min(engine.train_config().inner_steps);
	let trained = Training::start(engine, start, loader, position, draw)
		.map(|training| {
			training.with_base(base.map(|base| base.params.as_slice())).with_residual(residual).ending(move |done| done >= steps)
		})
		.and_then(|training| training.run(&AtomicBool::new(false), |taken| progress(Progress::Step(round, account, [taken.step, most]))))
		.map_err(|source| ReplayError::Train { round, account: account.clone(), source: Box::new(source) })?;
	Ok((trained, revealed))
}

/// The first difference between what the chain has of a provider's work and what a replay gives.
pub(crate) fn compare(round: RoundIndex, account: &AccountId, work: &Work, expected: H256, revealed: &Work) -> Result<(), ReplayError> {
	let found = work.delta_root;
	if found != expected {
		return Err(ReplayError::Delta { round, account: account.clone(), found, expected });
	}
	compare_work(round, account, work, revealed)
}

/// The first difference between what was revealed and what a replay gives.
fn compare_work(round: RoundIndex, account: &AccountId, found: &Work, revealed: &Work) -> Result<(), ReplayError> {
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
