//! A member of a quorum.

use crate::message::{Message, Rows, Sums};
use neuroshard_compute::exec::{Arena, Exec, SetupError, SpanTrainer, StepError, StepOutcome};
use neuroshard_graph::{
	game::{Record, Signature, StepRecord},
	merkle::{merkle_root, Hash},
	span::{check_cut, gave, given, row_tiles, trained_units, units, CutError, Seam, Span},
	ModelConfig, TrainConfig,
};
use neuroshard_kernels::num::canon_bits;
use std::{
	collections::{BTreeMap, VecDeque},
	ops::Range,
	sync::Arc,
};

/// Signs for a member, and checks what others have signed.
pub trait Signer: Send {
	/// The own signature of a statement.
	fn sign(&self, statement: Hash) -> Signature;
	/// Whether member `member` has signed a statement.
	fn has_signed(&self, member: usize, statement: Hash, signature: &Signature) -> bool;
}

/// What a member is in a quorum.
#[derive(Clone, Debug)]
pub struct Place {
	/// The model.
	pub model: ModelConfig,
	/// How it is trained.
	pub train: TrainConfig,
	/// What each member holds: a cut of the model.
	pub spans: Vec<Span>,
	/// Number of this one.
	pub member: usize,
	/// Sequences of a micro-batch.
	pub micro_batch: u32,
	/// Micro-batches that are between forward and backward pass at most.
	pub flying: usize,
	/// Round, which counts inner steps of the schedule.
	pub round: u32,
}

/// Why a member cannot be set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JoinError {
	/// The spans.
	#[error(transparent)]
	Cut(#[from] CutError),
	/// No micro-batch may be under way.
	#[error("at least one micro-batch has to be between forward and backward pass")]
	Flying,
	/// There is no such member.
	#[error("the quorum has no member number {0}")]
	Member(usize),
	/// The configuration.
	#[error(transparent)]
	Setup(#[from] SetupError),
}

/// Why a step does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
	/// Somebody sent what it should not have.
	#[error("member {member} {what}")]
	Member {
		/// Who.
		member: usize,
		/// What it did.
		what: &'static str,
	},
	/// The step itself.
	#[error(transparent)]
	Step(#[from] StepError),
}

/// The step under way.
#[derive(Default)]
struct Under {
	/// Rows and gradients that have arrived, by the seam that they pass; in order of micro-batches.
	arrived: BTreeMap<Seam, VecDeque<Vec<f32>>>,
	/// Micro-batches of a seam that have arrived, and hashes of their tiles.
	given: BTreeMap<Seam, (u32, Vec<Hash>)>,
	gave: BTreeMap<Seam, Vec<Hash>>,
	/// By segment: micro-batches whose forward, and whose backward pass is done.
	forward: Vec<usize>,
	backward: Vec<usize>,
	/// Of each member that has told them, this one's own included.
	sums: BTreeMap<usize, Sums>,
}

/// A member, with its parameters and moments in memory.
pub struct Member<S> {
	place: Place,
	signer: S,
	trainer: SpanTrainer,
	arena: Arena,
	/// Numbers of a row.
	width: usize,
	/// The inner step under way, and whether one is.
	step: u32,
	is_under_way: bool,
	under: Under,
	/// What has come for the next step already.
	early: Vec<(usize, Message)>,
	/// What it says about the interval so far.
	record: Record,
	/// Where each seam leads: who is given what passes there.
	holders: BTreeMap<Seam, usize>,
	outcome: Option<StepOutcome>,
}

/// What is to be sent, and to whom.
pub type Out = Vec<(usize, Message)>;

impl<S: Signer> Member<S> {
	/// A member that begins with parameters of its span, moments of zero, and of an adapter its part of the base.
	///
	/// # Errors
	/// [`JoinError`].
	///
	/// # Panics
	/// If there are other numbers of them than [`neuroshard_graph::span::Held`] says.
	pub fn new(place: Place, exec: Arc<Exec>, signer: S, theta: &[f32], base: Option<&[f32]>) -> Result<Self, JoinError> {
		let Place { model, train, spans, member, micro_batch, flying, .. } = &place;
		check_cut(model, spans)?;
		if *flying == 0 {
			return Err(JoinError::Flying);
		}
		let span = *spans.get(*member).ok_or(JoinError::Member(*member))?;
		let trainer = SpanTrainer::new(exec, model, train, span, (*micro_batch, *flying))?;
		let mut arena = Arena::new(trainer.arena_len());
		trainer.set_vector(&mut arena, 0, theta);
		trainer.reset_moments(&mut arena);
		if let Some(base) = base {
			trainer.set_base(&mut arena, base);
		}
		let own_base = trainer.base().zip(base).map(|(held, base)| held.roots(base, 1));
		let record = Record::new(0, &trainer.state_roots(&arena), own_base.as_deref());
		let adapter = train.adapter.is_some();
		let holders =
			spans.iter().enumerate().flat_map(|(member, &span)| given(model, adapter, span).into_iter().map(move |seam| (seam, member)));
		Ok(Self {
			width: usize::try_from(model.dim).unwrap_or(usize::MAX),
			holders: holders.collect(),
			place,
			signer,
			trainer,
			arena,
			step: 0,
			is_under_way: false,
			under: Under::default(),
			early: Vec::new(),
			record,
			outcome: None,
		})
	}

	fn span(&self) -> Span {
		self.place.spans[self.place.member]
	}

	/// Whether a member has the end of the model.
	fn has_end(&self, member: usize) -> bool {
		let last = units(&self.place.model).saturating_sub(1);
		self.place.spans.get(member).is_some_and(|span| span.has(&self.place.model, last))
	}

	fn adapter(&self) -> bool {
		self.place.train.adapter.is_some()
	}

	/// Whether it reads tokens: for the embedding, or for the targets of the loss.
	pub fn reads_tokens(&self) -> bool {
		self.has_end(self.place.member) || self.span().has(&self.place.model, 0)
	}

	/// Begins inner step `step` on a batch; who reads no tokens gives none.
	///
	/// # Errors
	/// [`Fault`].
	pub fn begin(&mut self, step: u32, tokens: &[u32]) -> Result<(), Fault> {
		let nothing = vec![0; if tokens.is_empty() { self.trainer.batch_tokens() } else { 0 }];
		self.trainer.begin_step(&self.arena, if tokens.is_empty() { &nothing } else { tokens })?;
		let segments = self.trainer.segments().len();
		self.under = Under { forward: vec![0; segments], backward: vec![0; segments], ..Under::default() };
		(self.step, self.is_under_way, self.outcome) = (step, true, None);
		if self.record.steps.is_empty() {
			self.record.first = step;
		}
		for (from, message) in core::mem::take(&mut self.early) {
			self.take(from, message)?;
		}
		Ok(())
	}

	/// What the step came to, once it is over.
	pub fn outcome(&self) -> Option<StepOutcome> {
		self.outcome
	}

	/// Takes in a message. What comes for the next step waits until that has begun.
	///
	/// # Errors
	/// [`Fault::Member`] for what its sender should not have sent; nothing is taken then.
	pub fn take(&mut self, from: usize, message: Message) -> Result<(), Fault> {
		let fault = |what| Fault::Member { member: from, what };
		let step = match &message {
			Message::Rows(Rows { step, .. }) | Message::Sums(Sums { step, .. }) => *step,
			Message::Record { .. } => return Err(fault("sent a record to one that does not lead")),
		};
		if step == self.step.wrapping_add(1) || (!self.is_under_way && step == self.step) {
			// No more than what a step has of each member: rows and gradients of two seams, and sums.
			let most = self.trainer.micro_batches().saturating_mul(4).saturating_add(1);
			let fits = match &message {
				Message::Rows(rows) => rows.numbers.len() == self.width.saturating_mul(self.trainer.micro_tokens()),
				Message::Sums(sums) => sums.squares.len() <= self.trainer.sums(),
				Message::Record { .. } => false,
			};
			if !fits || self.early.iter().filter(|(sender, _)| *sender == from).count() >= most {
				return Err(fault("sent more than a step has"));
			}
			self.early.push((from, message));
			return Ok(());
		}
		if step != self.step || !self.is_under_way {
			return Err(fault("sent something for another step"));
		}
		match message {
			Message::Rows(rows) => self.take_rows(from, rows),
			Message::Sums(sums) => {
				let span = *self.place.spans.get(from).ok_or(fault("is no member"))?;
				let units = trained_units(&self.place.model, self.adapter(), span).len();
				if sums.squares.len() != units || self.under.sums.contains_key(&from) {
					return Err(fault("sent sums that are not one for each of its units, or twice"));
				}
				if sums.squares.iter().any(|&sum| canon_bits(sum) != sum.to_bits()) {
					return Err(fault("sent sums that are not in canonical form"));
				}
				if sums.loss.is_some() != self.has_end(from) {
					return Err(fault("sent a loss that is not its to tell, or none that is"));
				}
				self.under.sums.insert(from, sums);
				Ok(())
			}
			Message::Record { .. } => Ok(()),
		}
	}

	fn take_rows(&mut self, from: usize, rows: Rows) -> Result<(), Fault> {
		let fault = |what| Fault::Member { member: from, what };
		let (model, adapter) = (&self.place.model, self.adapter());
		let sends = self.place.spans.get(from).is_some_and(|&span| gave(model, adapter, span).contains(&rows.seam));
		if !sends || self.holders.get(&rows.seam) != Some(&self.place.member) {
			return Err(fault("sent rows of a seam that it has not with this one"));
		}
		let len = self.width.saturating_mul(self.trainer.micro_tokens());
		let next = self.next_micro(rows.seam);
		if rows.micro != next || rows.numbers.len() != len || usize::try_from(next).is_ok_and(|next| next >= self.trainer.micro_batches()) {
			return Err(fault("sent rows of another micro-batch or length than is next"));
		}
		let tiles = rows.tiles(self.width);
		if !self.signer.has_signed(from, Rows::statement(rows.step, rows.micro, rows.seam, &tiles), &rows.signature) {
			return Err(fault("sent rows that it has not signed"));
		}
		let (next, hashes) = self.under.given.entry(rows.seam).or_default();
		*next = next.saturating_add(1);
		hashes.extend(tiles);
		self.under.arrived.entry(rows.seam).or_default().push_back(rows.numbers);
		Ok(())
	}

	/// Does the next piece of work, if there is one: a backward pass of a micro-batch, else a forward pass, else what ends the step. Returns what is to be sent; `None`
	/// while there is nothing to do until something arrives, and after the end of the step.
	///
	/// # Errors
	/// [`Fault::Step`].
	pub fn work(&mut self) -> Result<Option<Out>, Fault> {
		if !self.is_under_way {
			return Ok(None);
		}
		let all = self.trainer.micro_batches();
		for (number, segment) in self.trainer.segments().iter().enumerate().rev() {
			let micro = self.under.backward[number];
			let seam = segment.gradient_in.map(|_| Seam::Gradient(segment.units.end));
			// The end has its gradient from its own forward pass, and of an adapter the embedding waits for nobody.
			if micro < all && micro < self.under.forward[number] && self.has_arrived(seam) {
				return self.backward(number, micro, seam).map(Some);
			}
		}
		for (number, segment) in self.trainer.segments().iter().enumerate() {
			let micro = self.under.forward[number];
			let seam = segment.rows_in.map(|_| Seam::Rows(segment.units.start));
			// A place in memory is free when the backward pass is through.
			if micro < all && micro < self.oldest_flying().saturating_add(self.place.flying) && self.has_arrived(seam) {
				return self.forward(number, micro, seam).map(Some);
			}
		}
		if self.under.backward.iter().any(|&done| done < all) {
			return Ok(None);
		}
		self.end()
	}

	/// The first micro-batch whose memory is in use.
	fn oldest_flying(&self) -> usize {
		self.under.backward.iter().copied().min().unwrap_or_default()
	}

	/// Members without whose messages it cannot go on; none while it has work, or no step is under way.
	pub fn waits_for(&self) -> Vec<usize> {
		if !self.is_under_way {
			return Vec::new();
		}
		let (model, adapter, all) = (&self.place.model, self.adapter(), self.trainer.micro_batches());
		if self.has_told() {
			return (0..self.place.spans.len()).filter(|member| !self.under.sums.contains_key(member)).collect();
		}
		let missing = given(model, adapter, self.span())
			.into_iter()
			.filter(|seam| usize::try_from(self.next_micro(*seam)).is_ok_and(|next| next < all) && !self.has_arrived(Some(*seam)));
		let mut senders: Vec<usize> =
			missing.filter_map(|seam| self.place.spans.iter().position(|&span| gave(model, adapter, span).contains(&seam))).collect();
		senders.sort_unstable();
		senders.dedup();
		senders
	}

	/// Whether what a pass goes on from has arrived; it may need nothing.
	fn has_arrived(&self, seam: Option<Seam>) -> bool {
		seam.is_none_or(|seam| self.under.arrived.get(&seam).is_some_and(|rows| !rows.is_empty()))
	}

	/// The micro-batch that is next to arrive at a seam.
	fn next_micro(&self, seam: Seam) -> u32 {
		self.under.given.get(&seam).map_or(0, |(next, _)| *next)
	}

	/// Whether it has told its sums: all of its passes are through.
	fn has_told(&self) -> bool {
		self.under.sums.contains_key(&self.place.member)
	}

	/// What a pass of a micro-batch goes on from, and the memory that it has.
	fn next_rows(&mut self, seam: Option<Seam>, micro: usize) -> (Vec<f32>, usize) {
		let rows = seam.and_then(|seam| self.under.arrived.get_mut(&seam)?.pop_front()).unwrap_or_default();
		(rows, micro % self.place.flying)
	}

	fn forward(&mut self, segment: usize, micro: usize, seam: Option<Seam>) -> Result<Out, Fault> {
		let (rows, slot) = self.next_rows(seam, micro);
		let out = self.trainer.forward(&mut self.arena, segment, (micro, slot), &rows).into_owned();
		self.under.forward[segment] = micro.saturating_add(1);
		let end = self.trainer.segments()[segment].units.end;
		Ok(self.send_rows(Seam::Rows(end), micro, out))
	}

	fn backward(&mut self, segment: usize, micro: usize, seam: Option<Seam>) -> Result<Out, Fault> {
		let (gradient, slot) = self.next_rows(seam, micro);
		let out = self.trainer.backward(&mut self.arena, segment, (micro, slot), &gradient).into_owned();
		self.under.backward[segment] = micro.saturating_add(1);
		let start = self.trainer.segments()[segment].units.start;
		Ok(self.send_rows(Seam::Gradient(start), micro, out))
	}

	/// Signs rows, notes them in the record, and sends them to whoever is given them.
	fn send_rows(&mut self, seam: Seam, micro: usize, numbers: Vec<f32>) -> Out {
		let Some(&to) = self.holders.get(&seam).filter(|_| !numbers.is_empty()) else { return Vec::new() };
		let tiles = row_tiles(&numbers, self.width);
		let micro = u32::try_from(micro).unwrap_or(u32::MAX);
		let signature = self.signer.sign(Rows::statement(self.step, micro, seam, &tiles));
		self.under.gave.entry(seam).or_default().extend(tiles);
		let rows = Rows { step: self.step, micro, seam, numbers, signature };
		vec![(to, Message::Rows(rows))]
	}

	/// Tells the own sums; once all others have told theirs, the update.
	fn end(&mut self) -> Result<Option<Out>, Fault> {
		let (model, adapter, own) = (self.place.model.clone(), self.adapter(), self.place.member);
		if !self.has_told() {
			let mut all = vec![0.0; self.trainer.sums()];
			self.trainer.squares(&mut self.arena, &mut all);
			let places = trained_units(&model, adapter, self.span());
			let squares = places.into_iter().filter_map(|place| all.get(usize::try_from(place).ok()?).copied()).collect();
			let sums = Sums { step: self.step, squares, loss: self.trainer.loss(&mut self.arena) };
			let others = (0..self.place.spans.len()).filter(|&member| member != own);
			let out = others.map(|member| (member, Message::Sums(sums.clone()))).collect();
			self.under.sums.insert(own, sums);
			return Ok(Some(out));
		}
		if self.under.sums.len() < self.place.spans.len() {
			return Ok(None);
		}
		let mut all = vec![0.0; self.trainer.sums()];
		let mut loss = f32::NAN;
		for (member, sums) in &self.under.sums {
			let places = trained_units(&model, adapter, self.place.spans[*member]);
			for (place, &square) in places.into_iter().zip(&sums.squares) {
				usize::try_from(place).ok().and_then(|place| all.get_mut(place)).into_iter().for_each(|slot| *slot = square);
			}
			if self.has_end(*member) {
				loss = sums.loss.unwrap_or(loss);
			}
		}
		let index = u64::from(self.place.round).saturating_mul(self.place.train.inner_steps.into()).saturating_add(self.step.into());
		let outcome = self.trainer.end_step(&mut self.arena, (&all, loss), index, u64::from(self.step).saturating_add(1))?;
		self.note(&all);
		(self.is_under_way, self.outcome) = (false, Some(outcome));
		self.step = self.step.saturating_add(1);
		Ok(Some(Vec::new()))
	}

	/// Notes the step in the record.
	fn note(&mut self, sums: &[f32]) {
		let (model, adapter, span) = (&self.place.model, self.adapter(), self.span());
		let root = |hashes: Option<&Vec<Hash>>| hashes.map(|hashes| merkle_root(hashes)).unwrap_or_default();
		let given = given(model, adapter, span).iter().map(|seam| root(self.under.given.get(seam).map(|(_, hashes)| hashes))).collect();
		let gave = gave(model, adapter, span).iter().map(|seam| root(self.under.gave.get(seam))).collect();
		let squares = self.under.sums.get(&self.place.member).map_or(&[][..], |own| &own.squares);
		self.record.steps.push(StepRecord::new(given, gave, squares, sums));
	}

	/// Its number.
	pub fn number(&self) -> usize {
		self.place.member
	}

	/// Members of the quorum.
	pub fn members(&self) -> usize {
		self.place.spans.len()
	}

	/// Checks that a record is signed by its member, and of the steps of an interval. Whether those of all members fit together shows
	/// [`neuroshard_graph::game::Records::check`], which whoever leads asks before anything is revealed.
	///
	/// # Errors
	/// [`Fault::Member`].
	pub fn check_record(&self, from: usize, steps: &Range<u32>, record: &Record, signature: &Signature) -> Result<(), Fault> {
		let fault = |what| Err(Fault::Member { member: from, what });
		let end = u32::try_from(record.steps.len()).ok().and_then(|count| record.first.checked_add(count));
		if record.first != steps.start || end != Some(steps.end) {
			return fault("sent a record of another interval");
		}
		match self.signer.has_signed(from, record.statement(), signature) {
			true => Ok(()),
			false => fault("sent a record that it has not signed"),
		}
	}

	/// Ends the interval: what this member says about it, signed. The next step begins another one.
	pub fn record(&mut self) -> (Record, Signature) {
		let mut record = core::mem::take(&mut self.record);
		record.state = self.trainer.state_roots(&self.arena);
		self.record = Record { before: record.after(), base: record.base, ..Record::default() };
		let signature = self.signer.sign(record.statement());
		(record, signature)
	}
}
