//! Quorums: work that several machines did, each a span, and signed.
//!
//! A member signs, for each interval of inner steps, what it was given and what it gave in each step, and what its part of the state is after them. The
//! leader of the quorum posts these records when an interval is disputed. They fit together, or are not taken: what one gave the next one was given,
//! all were given the same sums, and the parts of the state make up the states before and after. So if the state after is wrong, the record of somebody
//! is. The challenger names the first thing in them that is false, and the game goes on against its signer.

use super::{
	position::{entry_before, expect, expect_len},
	Anchor, Contents, Entry, GameError, Setting, Site, SpanNodes, Target,
};
use crate::{
	config::{Adapter, ModelConfig, TrainConfig},
	cover::{merge, Cover},
	merkle::{blake2_256, merkle_root, verify, Hash},
	plan::Plan,
	span::{check_cut, cover, gave, given, put_sums, sums, trained_units, Seam, Span},
	tiles::{bytes_of, leaf_hash, LEAF_BYTES},
};
use alloc::{collections::BTreeMap, vec::Vec};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_kernels::num::canon_bits;
use scale_info::TypeInfo;

/// Most tensors that a span is given: rows and gradients of two segments, and the sums.
pub(super) const MAX_GIVEN: usize = 5;
/// Most members of a quorum.
pub const MAX_MEMBERS: u32 = 32;

/// Most bytes of a move that has the records of an interval.
pub const MAX_RECORDS: usize = 1 << 19;

/// A signature of a member's key for proofs: secp256k1 ECDSA (r, s, v).
pub type Signature = [u8; 65];

/// The members of a quorum.
#[derive(Clone, Copy)]
pub struct Quorum<'a> {
	/// What each holds: a cut of the model.
	pub spans: &'a [Span],
	/// Whether a member has signed a statement.
	pub signed: &'a dyn Fn(u32, Hash, &Signature) -> bool,
}

/// What a member says about an inner step.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, TypeInfo)]
pub struct StepRecord {
	/// Roots over the tiles of the rows and gradients that it was given, in the order of [`given`].
	pub given: Vec<Hash>,
	/// Roots over the tiles of those that it gave, in the order of [`gave`].
	pub gave: Vec<Hash>,
	/// Bits of the sums of the squares of the gradients of its units that are trained, in canonical form.
	pub squares: Vec<u32>,
	/// [`sums_hash`] of those of all units.
	pub sums: Hash,
}

impl StepRecord {
	/// Of the roots of what was given and gave, and the sums of the own units and of all.
	pub fn new(given: Vec<Hash>, gave: Vec<Hash>, squares: &[f32], sums: &[f32]) -> Self {
		Self { given, gave, squares: canonical(squares), sums: sums_hash(&canonical(sums)) }
	}

	fn hash(&self) -> Hash {
		blake2_256(&self.encode())
	}

	/// The root of result `result` of the span's plan: what was given, or a sum; `None` if there is none.
	pub fn result(&self, result: u32) -> Option<Hash> {
		let place = usize::try_from(result.checked_sub(3)?).ok()?;
		match place.checked_sub(self.gave.len()) {
			None => self.gave.get(place).copied(),
			Some(sum) => self.squares.get(sum).map(|&bits| sums_root(&[bits])),
		}
	}
}

/// What a member says about an interval of inner steps.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, TypeInfo)]
pub struct Record {
	/// First inner step of the interval.
	pub first: u32,
	/// The member's part of the state before it: see [`state_of`].
	pub before: Hash,
	/// Root over its subtrees of the model that an adapter is beside; zero without one.
	pub base: Hash,
	/// Each step.
	pub steps: Vec<StepRecord>,
	/// Roots of its subtrees of parameters, first and second moments after them.
	pub state: [Vec<Hash>; 3],
}

impl Record {
	/// Of an interval that begins with inner step `first`, from the roots of the member's subtrees of each vector of the state before, and of the base of an
	/// adapter: before anything is said about a step.
	pub fn new(first: u32, before: &[Vec<Hash>; 3], base: Option<&[Hash]>) -> Self {
		Self { first, before: state_of_subtrees(before), base: base.map(merkle_root).unwrap_or_default(), ..Self::default() }
	}

	/// Root over what it says about each step.
	pub fn steps_root(&self) -> Hash {
		merkle_root(&self.steps.iter().map(StepRecord::hash).collect::<Vec<_>>())
	}

	/// The member's part of the state after them.
	pub fn after(&self) -> Hash {
		state_of_subtrees(&self.state)
	}

	/// What the member signs, together with whose work it is: from which state it went on, and what it says about how many steps. So it stands for no other
	/// attempt at the interval, which may have begun with another state.
	pub fn statement(&self) -> Hash {
		let steps = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
		let from = (self.first, steps, self.before, self.base);
		blake2_256(&(b"neuroshard/span-record/1", from, self.steps_root(), self.after()).encode())
	}

	/// Proof for what it says about step `step`.
	pub fn prove(&self, step: u32) -> Option<Vec<Hash>> {
		crate::merkle::prove(&self.steps.iter().map(StepRecord::hash).collect::<Vec<_>>(), step)
	}
}

/// Bits of numbers in canonical form.
pub fn canonical(numbers: &[f32]) -> Vec<u32> {
	numbers.iter().map(|&number| canon_bits(number)).collect()
}

/// Hash of the sums of all units: of the bits of each, ascending.
pub fn sums_hash(bits: &[u32]) -> Hash {
	blake2_256(&bits.encode())
}

/// Root over the tiles of the row of sums.
pub fn sums_root(bits: &[u32]) -> Hash {
	/// Columns of a tile.
	const SIDE: usize = 32;
	let tile = |numbers: &[u32]| leaf_hash(&bytes_of(&numbers.iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>()));
	merkle_root(&bits.chunks(SIDE).map(tile).collect::<Vec<_>>())
}

/// A member's part of a state, of the roots over its subtrees of each vector.
pub fn state_of(roots: &[Hash; 3]) -> Hash {
	blake2_256(&(b"neuroshard/span-state/1", roots).encode())
}

/// A member's part of a state, of the roots of its subtrees of each vector.
fn state_of_subtrees(vectors: &[Vec<Hash>; 3]) -> Hash {
	state_of(&vectors.each_ref().map(|roots| merkle_root(roots)))
}

/// What of a record a game goes on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Part {
	/// What the member holds.
	pub span: Span,
	/// Its part of the state before the interval: see [`state_of`].
	pub before: Hash,
	/// Root over its subtrees of the model that an adapter is beside; zero without one.
	pub base: Hash,
	/// [`Record::steps_root`].
	pub steps: Hash,
	/// [`Record::after`].
	pub after: Hash,
}

impl Part {
	/// The leaf of the list of parts.
	pub fn hash(&self) -> Hash {
		blake2_256(&self.encode())
	}
}

/// What the members say about an interval, and the state that it begins with.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, TypeInfo)]
pub struct Records {
	/// What the state before consists of.
	pub contents: Contents,
	/// Of each member the roots of its subtrees of that state's vectors, of a checkpoint of the parameters only; then of the base of an adapter.
	pub before: Vec<Vec<Vec<Hash>>>,
	/// What each member has signed.
	pub records: Vec<(Record, Signature)>,
}

impl Records {
	/// Most bytes of what the members have to say about an interval.
	///
	/// # Errors
	/// [`GameError`] for spans of another model.
	pub fn most_bytes(model: &ModelConfig, train: &TrainConfig, spans: &[Span]) -> Result<usize, GameError> {
		/// Of a record with its signature, and of a step in it, without lists.
		const RECORD: usize = 256;
		const STEP: usize = 64;
		let (adapter, hash) = (train.adapter.is_some(), Hash::default().len());
		let steps = usize::try_from(train.commit_interval).unwrap_or(usize::MAX);
		let mut all = 0usize;
		for &span in spans {
			let trained = cover(model, train.adapter, span)?.subtrees().len();
			let base = if adapter { cover(model, None, span)?.subtrees().len() } else { 0 };
			let seams = given(model, adapter, span).len().saturating_add(gave(model, adapter, span).len());
			let squares = trained_units(model, adapter, span).len().saturating_mul(4);
			let step = seams.saturating_mul(hash).saturating_add(squares).saturating_add(STEP);
			let lists = trained.saturating_mul(6).saturating_add(base).saturating_mul(hash);
			all = all.saturating_add(lists).saturating_add(steps.saturating_mul(step)).saturating_add(RECORD);
		}
		Ok(all)
	}

	/// Hashes in it.
	pub fn volume(&self) -> usize {
		let before: usize = self.before.iter().flatten().map(Vec::len).sum();
		let of = |record: &Record| -> usize {
			let steps: usize = record.steps.iter().map(|step| step.given.len() + step.gave.len() + 2 + step.squares.len() / 8).sum();
			steps + record.state.iter().map(Vec::len).sum::<usize>()
		};
		before + self.records.iter().map(|(record, _)| of(record) + 2).sum::<usize>()
	}

	/// Checks that all members have signed, and that what they say fits together and leads from `start` to the state root `end`, over the steps `first..first + count`.
	/// Returns their parts.
	///
	/// # Errors
	/// [`GameError`].
	pub fn check(&self, setting: &Setting<'_>, (first, count): (u32, u32), start: Anchor, end: Hash) -> Result<Vec<Part>, GameError> {
		let Quorum { spans, signed } = setting.quorum()?;
		let (model, train) = (setting.model, setting.train);
		let length = |found: usize| match found == spans.len() {
			true => Ok(()),
			false => Err(GameError::Length {
				expected: u32::try_from(spans.len()).unwrap_or(u32::MAX),
				found: u32::try_from(found).unwrap_or(u32::MAX),
			}),
		};
		length(self.before.len())?;
		length(self.records.len())?;
		check_cut(model, spans).map_err(|_| GameError::Place)?;
		expect(u32::try_from(spans.len()).is_ok_and(|members| members <= MAX_MEMBERS), GameError::Root)?;

		let trained = covers(model, train.adapter, spans)?;
		let done = first.checked_add(count).ok_or(GameError::Place)?;
		let mut after = [Hash::default(); 3];
		for (vector, root) in after.iter_mut().enumerate() {
			let lists = self.records.iter().map(|(record, _)| record.state.get(vector));
			*root = together(&trained, lists).ok_or(GameError::Root)?;
		}
		expect(setting.state(&after, done) == end, GameError::Root)?;
		for ((record, _), (state, base)) in self.records.iter().zip(self.before(setting, &trained, first, start)?) {
			expect(record.first == first && record.before == state && record.base == base, GameError::Root)?;
		}
		self.fit(model, train, spans, count)?;
		for (number, (record, signature)) in (0u32..).zip(&self.records) {
			expect(signed(number, record.statement(), signature), GameError::Signature(number))?;
		}
		Ok(self.parts(spans))
	}

	/// The members' parts, of records that [fit together](Self::check).
	pub fn parts(&self, spans: &[Span]) -> Vec<Part> {
		let part = |(&span, (record, _)): (&Span, &(Record, _))| {
			let Record { before, base, .. } = *record;
			Part { span, before, base, steps: record.steps_root(), after: record.after() }
		};
		spans.iter().zip(&self.records).map(part).collect()
	}

	/// The members' parts of the state before, and of the base, if they make up what is agreed on.
	fn before(&self, setting: &Setting<'_>, trained: &[Cover], first: u32, start: Anchor) -> Result<Vec<(Hash, Hash)>, GameError> {
		let agreed = match (start, &self.contents) {
			(Anchor::State(root), Contents::State(vectors)) => {
				expect(setting.state(vectors, first) == root, GameError::Root)?;
				vectors.to_vec()
			}
			(Anchor::Checkpoint, Contents::Checkpoint(vectors)) => {
				expect(setting.checkpoint(vectors, 0)? == setting.start, GameError::Root)?;
				let &[params, _] = vectors;
				alloc::vec![params]
			}
			_ => return Err(GameError::Root),
		};
		let lists = |place: usize| self.before.iter().map(move |lists| lists.get(place));
		for (place, root) in agreed.iter().enumerate() {
			expect(together(trained, lists(place)) == Some(*root), GameError::Root)?;
		}
		if let Some(adapter) = setting.train.adapter {
			let bases = covers(setting.model, None, setting.quorum()?.spans)?;
			expect(together(&bases, lists(agreed.len())) == Some(adapter.base), GameError::Root)?;
		}
		let given = agreed.len().saturating_add(setting.train.adapter.is_some().into());
		let zero = leaf_hash(&[0; LEAF_BYTES]);
		let mut found = Vec::new();
		for (lists, cover) in self.before.iter().zip(trained) {
			expect(lists.len() == given, GameError::Root)?;
			let root = |place: usize| match lists.get(place).filter(|_| place < agreed.len()) {
				Some(roots) => merkle_root(roots),
				None => merkle_root(&cover.uniform(zero)),
			};
			let base = lists.get(agreed.len()).map(|roots| merkle_root(roots)).unwrap_or_default();
			found.push((state_of(&[root(0), root(1), root(2)]), base));
		}
		Ok(found)
	}

	/// Whether what one gave is what the other was given, in each of `count` steps, and all were given the same sums.
	fn fit(&self, model: &ModelConfig, train: &TrainConfig, spans: &[Span], count: u32) -> Result<(), GameError> {
		let adapter = train.adapter.is_some();
		let steps = usize::try_from(count).map_err(|_| GameError::Place)?;
		if self.records.iter().any(|(record, _)| record.steps.len() != steps) {
			return Err(GameError::Length { expected: count, found: 0 });
		}
		for (&span, (record, _)) in spans.iter().zip(&self.records) {
			let lengths = [given(model, adapter, span).len(), gave(model, adapter, span).len(), trained_units(model, adapter, span).len()];
			for said in &record.steps {
				expect([said.given.len(), said.gave.len(), said.squares.len()] == lengths, GameError::Root)?;
				// Tiles are hashed in canonical form: in another one, two sums that differ would have the same root.
				expect(said.squares.iter().all(|&bits| canon_bits(f32::from_bits(bits)) == bits), GameError::Root)?;
			}
		}
		match self.discord(model, adapter, spans) {
			None => Ok(()),
			Some(Discord::Sums { .. }) => Err(GameError::Root),
			Some(Discord::Seam { seam, .. }) => Err(GameError::Seam(seam)),
		}
	}

	/// The first thing that one member says and that another one contradicts, in records that have the shape of these spans; `None` if they fit together.
	pub fn discord(&self, model: &ModelConfig, adapter: bool, spans: &[Span]) -> Option<Discord> {
		let seams: Vec<_> = spans.iter().map(|&span| (given(model, adapter, span), gave(model, adapter, span))).collect();
		let all = usize::try_from(sums(model, adapter)).unwrap_or_default();
		let steps = self.records.first().map_or(0, |(record, _)| record.steps.len());
		for step in 0..steps {
			let said = || self.records.iter().filter_map(move |(record, _)| record.steps.get(step)).enumerate();
			let (mut hashes, mut squares) = (BTreeMap::<Seam, (usize, Hash)>::new(), alloc::vec![0u32; all]);
			for ((member, said), ((_, gave), &span)) in said().zip(seams.iter().zip(spans)) {
				hashes.extend(gave.iter().copied().zip(said.gave.iter().map(|&hash| (member, hash))));
				put_sums(model, adapter, span, &said.squares, &mut squares);
			}
			let sums = sums_hash(&squares);
			for ((member, said), (given, _)) in said().zip(&seams) {
				if said.sums != sums {
					return Some(Discord::Sums { step, member });
				}
				for (&seam, hash) in given.iter().zip(&said.given) {
					match hashes.get(&seam) {
						Some((_, gave)) if gave == hash => {}
						found => return Some(Discord::Seam { step, seam, gave: found.map_or(member, |(gave, _)| *gave), given: member }),
					}
				}
			}
		}
		None
	}
}

/// What two members contradict each other in. Steps are counted from the interval's first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discord {
	/// One says that it was given something else at a seam than another one says it gave.
	Seam {
		/// The step.
		step: usize,
		/// Where.
		seam: Seam,
		/// Who gave it.
		gave: usize,
		/// Who was given it.
		given: usize,
	},
	/// One says that it was given other sums than all say of their units.
	Sums {
		/// The step.
		step: usize,
		/// Who.
		member: usize,
	},
}

/// Covers of what members hold of the parameters of `model`, or of those of `adapter` beside it.
fn covers(model: &ModelConfig, adapter: Option<Adapter>, spans: &[Span]) -> Result<Vec<Cover>, GameError> {
	Ok(spans.iter().map(|&span| cover(model, adapter, span)).collect::<Result<_, _>>()?)
}

/// Root of a vector, of the roots of all members' subtrees; `None` if some are missing, or too many.
pub fn together<'a>(covers: &[Cover], lists: impl Iterator<Item = Option<&'a Vec<Hash>>>) -> Option<Hash> {
	let lists: Vec<&Vec<Hash>> = lists.collect::<Option<_>>()?;
	let parts: Vec<_> = covers.iter().zip(&lists).map(|(cover, roots)| (cover, roots.as_slice())).collect();
	merge(covers.first()?.all(), &parts)
}

/// What is disputed of a member's record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Stand {
	/// Number of the member.
	pub member: u32,
	/// Its part; `before` and `after` are those of the steps that are left.
	pub part: Part,
	/// First inner step of the interval.
	pub first: u32,
	/// Its steps.
	pub count: u32,
	/// The disputed one, from 0.
	pub step: u32,
	/// Which result of the span's plan is said to be false in that step; `None` for the state after it.
	pub out: Option<u32>,
}

impl Stand {
	/// The disputed record: what a challenger picks of records over the steps `first..first + count`, whose parts have the root `list`.
	///
	/// # Errors
	/// [`GameError::Place`] for a member, step or result that there is not, [`GameError::Entry`] for a part that is not the member's.
	pub(super) fn pick(
		setting: &Setting<'_>,
		(first, count, list): (u32, u32, Hash),
		(member, part, proof): (u32, &Part, &[Hash]),
		(step, out): (u32, Option<u32>),
	) -> Result<Self, GameError> {
		let members = u32::try_from(setting.quorum()?.spans.len()).map_err(|_| GameError::Place)?;
		expect(member < members, GameError::Place)?;
		expect(verify(&list, proof, members, member, part.hash()), GameError::Entry)?;
		let (model, adapter) = (setting.model, setting.train.adapter.is_some());
		let results = gave(model, adapter, part.span).len().saturating_add(trained_units(model, adapter, part.span).len());
		let is_result = |out: u32| out.checked_sub(3).and_then(|out| usize::try_from(out).ok()).is_some_and(|out| out < results);
		expect(step < count && out.is_none_or(is_result), GameError::Place)?;
		// A state is said to be false after all steps.
		expect(out.is_some() || step.checked_add(1) == Some(count), GameError::Place)?;
		Ok(Self { member, part: *part, first, count, step, out })
	}

	/// What is left when a challenger picks entry `index` of the states that the member has posted, whose list has the root `list`: the first that is false; or the
	/// disputed step behind all of them.
	///
	/// # Errors
	/// [`GameError::Place`], [`GameError::Entry`].
	pub(super) fn narrowed(self, list: &Hash, index: u32, before: Option<&Entry>, after: &Entry) -> Result<Self, GameError> {
		let count = self.states();
		let before = entry_before(before, list, count, index)?.unwrap_or(self.part.before);
		let (after, out) = match self.out.is_some() && index == count {
			true => (Hash::default(), self.out),
			false => (after.at(list, count, index)?, None),
		};
		Ok(Self { part: Part { before, after, ..self.part }, step: index, out, ..self })
	}

	/// The member's part of the disputed step as it has posted it, and the roots of what is disputed of it: of the vectors after it, or first that of the result.
	///
	/// # Errors
	/// [`GameError`] if it is not what both sides agree on.
	pub(super) fn site(&self, setting: &Setting<'_>, posted: &SpanNodes) -> Result<(Site, [Hash; 3]), GameError> {
		let SpanNodes { before, after, record, proof, sums, nodes } = posted;
		expect_len(nodes, Plan::span(setting.model, setting.train, self.part.span)?.listed_nodes())?;
		let says = verify(&self.part.steps, proof, self.count, self.step, record.hash());
		expect(state_of(before) == self.part.before && says && sums_hash(sums) == record.sums, GameError::Root)?;
		let results = match self.out {
			None => {
				expect(state_of(after) == self.part.after, GameError::Root)?;
				*after
			}
			Some(out) => [record.result(out).ok_or(GameError::Place)?, Hash::default(), Hash::default()],
		};
		expect(record.given.len() < MAX_GIVEN, GameError::Place)?;
		let mut given = [Hash::default(); MAX_GIVEN];
		let roots = record.given.iter().copied().chain([sums_root(sums)]);
		given.iter_mut().zip(roots).for_each(|(place, root)| *place = root);
		let &[params, first, second] = before;
		let site = Site::Span {
			member: self.member,
			span: self.part.span,
			step: self.first.checked_add(self.step).ok_or(GameError::Place)?,
			vectors: [params, first, second, self.part.base],
			given,
			nodes: merkle_root(nodes),
			out: self.out,
		};
		Ok((site, results))
	}

	/// States that the member posts: those after each step up to the disputed one.
	pub fn states(&self) -> u32 {
		match self.out {
			Some(_) => self.step,
			None => self.step.saturating_add(1),
		}
	}
}

/// The subtrees that a list is of, where it is of a whole vector of a span that has several.
pub fn subtrees(plan: &Plan, target: Target, first: u32, count: u32) -> Option<&Cover> {
	let Target::Vector(vector) = target else { return None };
	plan.result_cover(vector).filter(|cover| cover.subtrees().len() > 1 && first == 0 && count == cover.len())
}
