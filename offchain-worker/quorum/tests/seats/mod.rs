//! Seats of a quorum on threads, linked by queues in memory, and the same round on one machine.
#![allow(dead_code, clippy::unwrap_used, reason = "each test compiles this module and uses a part of it")]

use super::common::{tokens, Stamp};
use neuroshard_compute::{
	exec::{Exec, StepMemory},
	round::{RoundStart, Sent},
};
use neuroshard_graph::{
	commit::tensors_root,
	config::Projections,
	init::theta_0,
	span::{cut, Span},
	tiles, Adapter, Aggregator, ModelConfig, ParamLayout, TrainConfig, F32,
};
use neuroshard_quorum::{run::room, Conduct, Mail, Message, Place, Placed, Seat, SeatError, Sources};
use neuroshard_support::frames::FrameError;
use neuroshard_training::{
	checkpoint::{decode_delta, Checkpoint},
	engine::Engine,
	files::{FiledCheckpoint, TileFile, TileWriter},
	outer::{apply_outer, Included},
	round::Trained,
};
use neuroshard_types::run::Work;
use std::{
	collections::BTreeMap,
	convert::Infallible,
	fs,
	ops::{ControlFlow, Range},
	path::{Path, PathBuf},
	sync::Arc,
	time::Duration,
};
use tempfile::TempDir;
use tokio::{runtime::Runtime, sync::mpsc::channel};

pub const LEADER: usize = 0;
const FLYING: usize = 2;

/// What is trained, by three members.
pub struct Setting {
	pub model: ModelConfig,
	pub train: TrainConfig,
	pub spans: Vec<Span>,
	/// Of an adapter.
	pub base: Option<Vec<f32>>,
	pub folder: TempDir,
	/// The batch of a round's step.
	pub batches: Batches,
}

/// The batch of a round (first) and a step.
pub type Batches = Arc<dyn Fn(u32, u32) -> Vec<u32> + Send + Sync>;

impl Setting {
	/// Intervals of 2, 2 and 1 steps.
	pub fn new(aggregator: Aggregator, adapted: bool) -> Self {
		let model = ModelConfig { layers: 3, tied: false, ..ModelConfig::tiny() };
		let whole = ParamLayout::new(&model).unwrap();
		let base = adapted.then(|| theta_0(&model, &whole, &[7; 32]));
		let adapter = base.as_ref().map(|base| Adapter {
			base: tensors_root(&whole, base, 1),
			rank: 8,
			alpha: F32::new(4.0),
			projections: Projections::ALL,
		});
		let train = TrainConfig { batch: 2, inner_steps: 5, commit_interval: 2, adapter, aggregator, ..TrainConfig::tiny() };
		train.validate(&model).unwrap();
		let (of, vocab) = (train.clone(), model.vocab);
		let batches: Batches = Arc::new(move |round, step| tokens(&of, vocab, 100 * round + step));
		Self::of((&model, &train), cut(&model, &[2, 2, 1]).unwrap(), base, batches)
	}

	/// A quorum with these spans, before its first round.
	pub fn of((model, train): (&ModelConfig, &TrainConfig), spans: Vec<Span>, base: Option<Vec<f32>>, batches: Batches) -> Self {
		let whole = ParamLayout::new(model).unwrap();
		let (model, train, folder) = (model.clone(), train.clone(), TempDir::new().unwrap());
		let setting = Self { spans, model, train, base, folder, batches };
		FiledCheckpoint::genesis(&setting.path("checkpoint-0"), 0, &setting.model, &setting.train, 1).unwrap();
		if let Some(base) = &setting.base {
			let mut writer = TileWriter::create(&setting.path("base"), &whole, 1).unwrap();
			writer.write(&tiles::encode(&whole, base)).unwrap();
			writer.finish().unwrap();
		}
		setting
	}

	pub fn path(&self, name: &str) -> PathBuf {
		self.folder.path().join(name)
	}

	pub fn layout(&self) -> ParamLayout {
		ParamLayout::trained(&self.model, &self.train).unwrap()
	}

	pub fn place(&self, member: usize, round: u32) -> Place {
		let Self { model, train, spans, .. } = self;
		Place { model: model.clone(), train: train.clone(), spans: spans.clone(), member, micro_batch: 1, flying: FLYING, round }
	}

	pub fn checkpoint(&self, round: u32) -> FiledCheckpoint {
		FiledCheckpoint::open(&self.path(&format!("checkpoint-{round}")), &self.layout(), 1).unwrap().unwrap()
	}

	pub fn sources(&self, folder: PathBuf, round: u32) -> Sources {
		let whole = ParamLayout::new(&self.model).unwrap();
		let adapter = self.train.adapter;
		let base = adapter.map(|adapter| TileFile::open(&self.path("base"), 0, &whole, adapter.base.into(), 1).unwrap());
		Sources { checkpoint: self.checkpoint(round), base, residual: None, folder }
	}

	/// Who has this folder for the round, with what is in there.
	pub fn seat(&self, member: usize, round: u32, folder: &str, residual: Option<&TileFile>) -> Seat<Stamp> {
		let sources = Sources { residual: residual.cloned(), ..self.sources(self.path(folder), round) };
		Seat::new(self.place(member, round), LEADER, Stamp(member), Arc::new(Exec::new(1).unwrap()), sources).unwrap()
	}

	/// All three, with folders of their own.
	pub fn seats(&self, round: u32, residual: Option<&TileFile>) -> Vec<Seat<Stamp>> {
		(0..self.spans.len()).map(|member| self.seat(member, round, &format!("round-{round}-member-{member}"), residual)).collect()
	}

	fn batch(&self, round: u32, step: u32) -> Vec<u32> {
		(self.batches)(round, step)
	}
}

/// A round of one machine, and the checkpoint behind it.
pub struct Alone {
	pub engine: Engine,
	pub checkpoint: Checkpoint,
	pub residual: Option<Vec<f32>>,
}

impl Alone {
	pub fn new(setting: &Setting) -> Self {
		let memory = StepMemory { micro_batch: Some(1), recompute: false };
		let mut engine = Engine::with_memory(&setting.model, &setting.train, 1, memory).unwrap();
		if let Some(base) = &setting.base {
			engine.load_model(base).unwrap();
		}
		Self { engine, checkpoint: Checkpoint::genesis(0, &setting.model, &setting.train, 1).unwrap(), residual: None }
	}

	/// The next round, after which the checkpoint is that behind it.
	pub fn round(&mut self, setting: &Setting) -> Trained {
		let round = self.checkpoint.header.round;
		let start = RoundStart { residual: self.residual.as_deref(), ..RoundStart::new(&self.checkpoint.params, round) };
		let read = |step: u32, sequence: u32, tokens: &mut [u32]| {
			let (len, batch) = (tokens.len(), setting.batch(round, step));
			tokens.copy_from_slice(&batch[sequence as usize * len..][..len]);
			Ok::<_, Infallible>(())
		};
		let outcome = self.engine.run_round(start, read, |_| ControlFlow::Continue(()), |_| {}).unwrap();
		let sent = Sent { delta: outcome.delta, delta_root: outcome.delta_root, residual: outcome.residual };
		self.residual = sent.residual.as_ref().map(|residual| residual.after.clone());
		let trained = Trained::new(&self.engine, setting.train.inner_steps, outcome.state_roots, sent, outcome.losses).unwrap();
		let delta = decode_delta(&self.engine, &trained.delta, trained.work.delta_root).unwrap();
		self.checkpoint = apply_outer(&self.engine, &self.checkpoint, &Included::from(vec![delta])).unwrap();
		trained
	}
}

/// What becomes of messages on their way: from whom, the how manieth of that sender, and the message. A link ends where there is none left.
pub type Way = Arc<dyn Fn(usize, usize, Message) -> Option<Message> + Send + Sync>;

pub fn honest() -> Way {
	Arc::new(|_, _, message| Some(message))
}

/// The links of one member end once it has sent so many messages.
pub fn gone(member: usize, after: usize) -> Way {
	Arc::new(move |from, number, message| (from != member || number < after).then_some(message))
}

/// Mail of so many members, each linked with every other one.
fn linked(runtime: &Runtime, members: usize, way: &Way) -> Vec<Mail> {
	let inboxes: Vec<_> = (0..members).map(|_| channel(1)).collect();
	let senders: Vec<_> = inboxes.iter().map(|(sender, _)| sender.clone()).collect();
	let mail = |(from, (_, inbox))| {
		let sent = Arc::new(std::sync::atomic::AtomicUsize::new(0));
		let link = |to: usize| {
			let (outbox, mut queue) = channel(room(FLYING));
			let (to_inbox, way, sent) = (senders[to].clone(), way.clone(), sent.clone());
			runtime.spawn(async move {
				while let Some(message) = queue.recv().await {
					let Some(message) = way(from, sent.fetch_add(1, std::sync::atomic::Ordering::SeqCst), message) else { break };
					if to_inbox.send((from, Ok(message))).await.is_err() {
						return;
					}
				}
				drop(queue);
				let _ = to_inbox.send((from, Err(FrameError::Malformed))).await;
			});
			(to, outbox)
		};
		let outboxes: BTreeMap<_, _> = (0..members).filter(|&to| to != from).map(link).collect();
		Mail::new(inbox, outboxes, runtime.handle().clone())
	};
	inboxes.into_iter().enumerate().map(mail).collect()
}

/// What came of a member's attempt: the seat, first steps of the intervals that it has ended, and its round.
pub type Attempt = (Seat<Stamp>, Vec<u32>, Result<Placed, SeatError>);

/// All members at work, each on a thread, over new links.
pub fn attempt(setting: &Setting, round: u32, seats: Vec<Seat<Stamp>>, way: &Way) -> Vec<Attempt> {
	let runtime = Runtime::new().unwrap();
	let mail = linked(&runtime, seats.len(), way);
	std::thread::scope(|scope| {
		let at_work = |(mut seat, mut mail): (Seat<Stamp>, Mail)| {
			scope.spawn(move || {
				let mut ended = Vec::new();
				let placed = seat.train(
					&mut mail,
					&mut Conduct {
						tokens: &mut |step| Ok(setting.batch(round, step)),
						patience: Duration::from_secs(120),
						heard: &mut |steps: &Range<u32>, _| ended.push(steps.start),
					},
				);
				(seat, ended, placed)
			})
		};
		let threads: Vec<_> = seats.into_iter().zip(mail).map(at_work).collect();
		threads.into_iter().map(|thread| thread.join().unwrap()).collect()
	})
}

/// That all members have one machine's work, and the leader its delta; which is then the leader's residual.
pub fn assert_as_alone(attempts: &[Attempt], expected: &Trained) -> Option<TileFile> {
	let mut works: Vec<&Work> = Vec::new();
	for (number, (seat, _, placed)) in attempts.iter().enumerate() {
		let placed = placed.as_ref().unwrap_or_else(|error| panic!("member {number}: {error}"));
		assert_eq!((seat.leads(), placed.sent.is_some()), (number == LEADER, number == LEADER));
		works.push(&placed.work);
	}
	assert!(works.iter().all(|work| **work == expected.work), "{works:?} {:?}", expected.work);
	let sent = attempts[LEADER].2.as_ref().unwrap().sent.as_ref().unwrap();
	assert_eq!(fs::read(sent.delta.path()).unwrap(), expected.delta);
	let residual = sent.residual.as_ref().map(|(_, after)| fs::read(after.path()).unwrap());
	assert_eq!(residual, expected.residual);
	sent.residual.as_ref().map(|(_, after)| after.clone())
}

/// Copies a folder with all that is in there.
pub fn copy(from: &Path, to: &Path) {
	fs::create_dir_all(to).unwrap();
	for entry in fs::read_dir(from).unwrap() {
		let entry = entry.unwrap();
		match entry.file_type().unwrap().is_dir() {
			true => copy(&entry.path(), &to.join(entry.file_name())),
			false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
		}
	}
}
