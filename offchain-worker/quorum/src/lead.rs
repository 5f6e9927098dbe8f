//! What the leader of a quorum checks before it reveals anything: that what all members have signed fits together, and what the chain would take.
//!
//! Records that do not fit together would be the leader's own loss in a game. So it names whose they are while nothing is revealed yet.

use crate::{
	member::{Fault, Place, Signer},
	message::Told,
};
use neuroshard_graph::{
	commit::{checkpoint_root, state_root},
	config::ConfigError,
	corpus::{Corpus, TokenWidth},
	cover::Cover,
	game::{together, Anchor, Contents, Discord, GameError, Quorum, Record, Records, Setting, Signature, Subject},
	merkle::Hash,
	span::{gave, given, own_sums, trained_units, Seam, Span},
	tiles::{leaf_hash, LEAF_BYTES},
	ModelConfig, TrainConfig,
};
use std::{collections::BTreeMap, ops::Range};

/// The state that an interval begins with, as it is agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
	/// The checkpoint that the round starts from.
	Checkpoint {
		/// Its root.
		root: Hash,
		/// Root of its outer momentum.
		momentum: Hash,
	},
	/// An inner state.
	State {
		/// Its root.
		root: Hash,
		/// Inner steps of the round that it is after.
		steps: u32,
	},
}

/// What all members say about an interval, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Led {
	/// The move that is the leader's in a game about the interval.
	pub records: Records,
	/// Root of the state after it.
	pub root: Hash,
}

/// Why what members say about an interval does not fit together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LeadError {
	/// Another interval than the one that follows.
	#[error(
		"the leader knows the state after {known} inner steps, and an interval is to begin after {asked}; begin where the state is known"
	)]
	Interval {
		/// Steps behind the known state.
		known: u32,
		/// First step asked for.
		asked: u32,
	},
	/// Records that have not come.
	#[error("no record has come from members {0:?}; wait for them, or replace them and begin the interval again")]
	Missing(Vec<usize>),
	/// What members hold is not the state that is agreed on.
	#[error("the parts that members {0:?} say they began with are not those of the state that the interval begins with; have each of them load it again")]
	Start(Vec<usize>),
	/// One says that it was given something else than the other says it gave.
	#[error(
		"in step {step} member {given} says that it was given other rows at {seam:?} than member {gave} says it gave; \
		 ask the former for the signatures of what it was given, and replace who has lied"
	)]
	Seam {
		/// The inner step.
		step: u32,
		/// Where.
		seam: Seam,
		/// Who gave them.
		gave: usize,
		/// Who was given them.
		given: usize,
	},
	/// One signed other sums of its units in its record than it told.
	#[error("in step {step} member {member} says in its record that its sums are others than it told; replace it")]
	Squares {
		/// The inner step.
		step: u32,
		/// Who.
		member: usize,
	},
	/// One says that it was told other sums than the leader was.
	#[error(
		"in step {step} member {member} says that it was told other sums than the leader; \
		 ask it for the signatures of what it was told, and replace who has lied"
	)]
	Sums {
		/// The inner step.
		step: u32,
		/// Who.
		member: usize,
	},
	/// The chain would not take them.
	#[error("the chain would not take the records: {0}; do not reveal the interval")]
	Refused(#[from] GameError),
}

impl LeadError {
	/// Members of whom at least one is at fault, as far as that shows to leader `leader`, who did nothing wrong itself.
	pub fn members(&self, leader: usize) -> Vec<usize> {
		let named = match self {
			Self::Missing(members) | Self::Start(members) => members.clone(),
			Self::Seam { gave, given, .. } => vec![*gave, *given],
			Self::Squares { member, .. } | Self::Sums { member, .. } => vec![*member],
			Self::Refused(GameError::Signature(member)) => usize::try_from(*member).into_iter().collect(),
			Self::Refused(_) | Self::Interval { .. } => Vec::new(),
		};
		named.into_iter().filter(|&member| member != leader).collect()
	}
}

/// The leader of a quorum, besides what it does as a member.
#[derive(Clone)]
pub struct Leader {
	model: ModelConfig,
	train: TrainConfig,
	spans: Vec<Span>,
	round: u32,
	/// Of each member, what it holds of trained vectors, and of the base of an adapter.
	covers: Vec<Cover>,
	bases: Vec<Cover>,
	start: Start,
	/// Roots of each member's subtrees of that state, once they are known.
	parts: Option<Vec<[Vec<Hash>; 3]>>,
	/// Steps of the interval under way.
	steps: Range<u32>,
	told: BTreeMap<usize, Told>,
}

impl Leader {
	/// Of the quorum that `place` describes, from the state that its next interval begins with.
	///
	/// # Errors
	/// [`ConfigError`] for spans of another model.
	pub fn new(place: &Place, start: Start) -> Result<Self, ConfigError> {
		let Place { model, train, spans, round, .. } = place.clone();
		let bases = train.adapter.map_or(Ok(Vec::new()), |_| place.covers(None))?;
		let covers = place.covers(train.adapter)?;
		Ok(Self { model, train, spans, round, covers, bases, start, parts: None, steps: 0..0, told: BTreeMap::new() })
	}

	/// The same, where the roots of each member's subtrees of parameters, first and second moments of that state are known: who begins with another state is
	/// then named at once. Without them this is so from the second interval on.
	#[must_use]
	pub fn with_parts(self, parts: Vec<[Vec<Hash>; 3]>) -> Self {
		Self { parts: Some(parts), ..self }
	}

	/// Begins an interval. What was told of another one is forgotten.
	///
	/// # Errors
	/// [`LeadError::Interval`] if it does not begin with the state that is known.
	pub fn begin(&mut self, steps: Range<u32>) -> Result<(), LeadError> {
		let known = match self.start {
			Start::Checkpoint { .. } => 0,
			Start::State { steps, .. } => steps,
		};
		if steps.start != known {
			return Err(LeadError::Interval { known, asked: steps.start });
		}
		(self.steps, self.told) = (steps, BTreeMap::new());
		Ok(())
	}

	/// Members whose records have not come.
	pub fn missing(&self) -> Vec<usize> {
		(0..self.spans.len()).filter(|member| !self.told.contains_key(member)).collect()
	}

	/// Takes what a member tells about the interval, once.
	///
	/// # Errors
	/// [`Fault::Member`] for what its sender should not have sent; nothing is taken then.
	pub fn take(&mut self, signer: &impl Signer, from: usize, told: Told) -> Result<(), Fault> {
		let fault = |what| Err(Fault::Member { member: from, what });
		let (Some(&span), Some(cover)) = (self.spans.get(from), self.covers.get(from)) else { return fault("is no member") };
		if self.told.contains_key(&from) {
			return fault("sent a record twice");
		}
		let Told { record, before, base, signature } = &told;
		let count = usize::try_from(self.steps.end.saturating_sub(self.steps.start)).unwrap_or(usize::MAX);
		if record.first != self.steps.start || record.steps.len() != count {
			return fault("sent a record of another interval");
		}
		let (model, adapter) = (&self.model, self.train.adapter.is_some());
		let lengths = [given(model, adapter, span).len(), gave(model, adapter, span).len(), trained_units(model, adapter, span).len()];
		let roots = record.state.iter().chain(before).all(|roots| roots.len() == cover.subtrees().len());
		let of_base = self.bases.get(from).map_or(0, |cover| cover.subtrees().len());
		if record.steps.iter().any(|step| [step.given.len(), step.gave.len(), step.squares.len()] != lengths)
			|| !roots || base.len() != of_base
		{
			return fault("sent a record of another shape than its span's");
		}
		let beside = self.train.adapter.map(|_| base.as_slice());
		let said = Record::new(record.first, before, beside);
		if said.before != record.before || said.base != record.base {
			return fault("sent another state before the interval than its record is about");
		}
		let known = match (self.parts.as_ref().and_then(|parts| parts.get(from)), self.start) {
			(Some(known), _) => known == before,
			(None, Start::Checkpoint { .. }) => {
				let zeros = cover.uniform(leaf_hash(&[0; LEAF_BYTES]));
				before.iter().skip(1).all(|roots| *roots == zeros)
			}
			(None, Start::State { .. }) => true,
		};
		if !known {
			return fault("began the interval with another state than its own part of the one that is agreed on");
		}
		if !signer.has_signed(from, record.statement(), signature) {
			return fault("sent a record that it has not signed");
		}
		self.told.insert(from, told);
		Ok(())
	}

	/// Checks what all members have told, as the chain would if the interval were disputed. `sums` are bits of the sums of all units in each step, as members
	/// told them the leader. Then the next interval begins with the state after this one.
	///
	/// # Errors
	/// [`LeadError`], after which the interval has to be begun again.
	pub fn check(&mut self, signer: &impl Signer, sums: &[Vec<u32>]) -> Result<Led, LeadError> {
		let missing = self.missing();
		if !missing.is_empty() {
			return Err(LeadError::Missing(missing));
		}
		let told: Vec<Told> = core::mem::take(&mut self.told).into_values().collect();
		let contents = self.contents(&told)?;
		let after = [0, 1, 2].map(|vector| together(&self.covers, told.iter().map(|told| told.record.state.get(vector))));
		let parts = told.iter().map(|told| told.record.state.clone()).collect();
		let vectors = if let Contents::Checkpoint(_) = contents { 1 } else { 3 };
		let split = |Told { record, before, base, signature }| {
			let before = before.into_iter().take(vectors).chain(self.train.adapter.map(|_| base));
			(before.collect(), (record, signature))
		};
		let (before, records) = told.into_iter().map(split).unzip();
		let records = Records { contents, before, records };
		self.fit(&records, sums)?;
		let [Some(params), Some(first), Some(second)] = after else { return Err(GameError::Root.into()) };
		let end = self.steps.end;
		let root = state_root(&params, &first, &second, end, u64::from(end).saturating_mul(self.train.batch.into()));
		self.as_the_chain_would(signer, &records, root)?;
		(self.start, self.parts) = (Start::State { root, steps: end }, Some(parts));
		Ok(Led { records, root })
	}

	/// What the state before consists of, if it is the one that is agreed on.
	fn contents(&self, told: &[Told]) -> Result<Contents, LeadError> {
		let all = || LeadError::Start((0..self.spans.len()).collect());
		let vector = |vector: usize| together(&self.covers, told.iter().map(|told| told.before.get(vector))).ok_or_else(all);
		let [params, first, second] = [vector(0)?, vector(1)?, vector(2)?];
		let batch = u64::from(self.train.batch);
		let (found, root, contents) = match self.start {
			Start::Checkpoint { root, momentum } => {
				let adopted = u64::from(self.round).saturating_mul(self.train.inner_steps.into());
				(checkpoint_root(&params, &momentum, self.round, adopted), root, Contents::Checkpoint([params, momentum]))
			}
			Start::State { root, steps } => {
				let found = state_root(&params, &first, &second, steps, u64::from(steps).saturating_mul(batch));
				(found, root, Contents::State([params, first, second]))
			}
		};
		let base = self.train.adapter.map(|adapter| (together(&self.bases, told.iter().map(|told| Some(&told.base))), adapter.base));
		match found == root && base.is_none_or(|(found, base)| found == Some(base)) {
			true => Ok(contents),
			false => Err(all()),
		}
	}

	/// Whether all have signed the sums that they told, what one gave is what another one was given, and all were told the same sums.
	fn fit(&self, records: &Records, sums_told: &[Vec<u32>]) -> Result<(), LeadError> {
		let (model, adapter) = (&self.model, self.train.adapter.is_some());
		for ((place, step), known) in self.steps.clone().enumerate().zip(sums_told) {
			for (member, (&span, (record, _))) in self.spans.iter().zip(&records.records).enumerate() {
				if record.steps.get(place).is_some_and(|said| said.squares != own_sums(model, adapter, span, known)) {
					return Err(LeadError::Squares { step, member });
				}
			}
		}
		let step = |place: usize| self.steps.start.saturating_add(u32::try_from(place).unwrap_or(u32::MAX));
		match records.discord(model, adapter, &self.spans) {
			None => Ok(()),
			Some(Discord::Seam { step: place, seam, gave, given }) => Err(LeadError::Seam { step: step(place), seam, gave, given }),
			Some(Discord::Sums { step: place, member }) => Err(LeadError::Sums { step: step(place), member }),
		}
	}

	/// What the chain asks of records.
	fn as_the_chain_would(&self, signer: &impl Signer, records: &Records, end: Hash) -> Result<(), GameError> {
		let signed = |member: u32, statement: Hash, signature: &Signature| {
			usize::try_from(member).is_ok_and(|member| signer.has_signed(member, statement, signature))
		};
		let (start, anchor) = match self.start {
			Start::Checkpoint { root, .. } => (root, Anchor::Checkpoint),
			Start::State { root, .. } => (Hash::default(), Anchor::State(root)),
		};
		let setting = Setting {
			model: &self.model,
			train: &self.train,
			round: self.round,
			start,
			subject: Subject::Work {
				// Nothing in records is about tokens.
				corpus: Corpus { root: Hash::default(), shards: 0, tokens_per_shard: 0, width: TokenWidth::Two },
				window: &|_, _| None,
				steps: self.train.inner_steps,
				base: None,
				quorum: Some(Quorum { spans: &self.spans, signed: &signed }),
			},
		};
		let count = self.steps.end.saturating_sub(self.steps.start);
		records.check(&setting, (self.steps.start, count), anchor, end).map(drop)
	}
}
