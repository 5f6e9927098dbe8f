//! Quorums: work that several machines did, each a span, and signed.
//!
//! A member signs, for each interval of inner steps, what it was given and what it gave in each step, and what its part of the state is after them. The
//! leader of the quorum posts these records when an interval is disputed. They fit together, or are not taken: what one gave the next one was given,
//! all were given the same sums, and the parts of the state make up the states before and after. So if the state after is wrong, the record of somebody
//! is. The challenger names the first thing in them that is false, and the game goes on against its signer.

use super::{Anchor, Contents, GameError, Setting};
use crate::{
	config::{ModelConfig, TrainConfig},
	cover::{merge, Cover},
	merkle::{blake2_256, merkle_root, verify, Hash},
	span::{check_cut, gave, given, sums, tiles, trained_units, Seam, Span},
	tiles::{bytes_of, leaf_hash, LEAF_BYTES},
};
use alloc::{collections::BTreeMap, vec::Vec};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_kernels::num::canon_bits;
use scale_info::TypeInfo;

/// Most members of a quorum.
pub const MAX_MEMBERS: u32 = 32;

/// A signature of a member's key for proofs.
pub type Signature = [u8; 64];

/// The members of a quorum.
#[derive(Clone, Copy)]
pub struct Quorum<'a> {
	/// What each holds: a cut of the model.
	pub spans: &'a [Span],
	/// Whether a member has signed a statement about the interval that begins with a step.
	pub signed: &'a dyn Fn(u32, u32, Hash, &Signature) -> bool,
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
	/// Root over what it says about each step.
	pub fn steps_root(&self) -> Hash {
		merkle_root(&self.steps.iter().map(StepRecord::hash).collect::<Vec<_>>())
	}

	/// The member's part of the state after them.
	pub fn after(&self) -> Hash {
		state_of(&self.state.each_ref().map(|roots| merkle_root(roots)))
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

/// Covers of what a member holds of vectors that are trained, and of the base.
struct Covers {
	trained: Cover,
	base: Option<Cover>,
}

impl Covers {
	fn new(model: &ModelConfig, train: &TrainConfig, span: Span) -> Result<Self, GameError> {
		let trained = tiles(model, train.adapter, span)?;
		let base = train.adapter.map(|_| tiles(model, None, span)).transpose()?;
		Ok(Self { trained, base })
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
		let covers = spans.iter().map(|&span| Covers::new(model, train, span)).collect::<Result<Vec<_>, _>>()?;

		let done = first.checked_add(count).ok_or(GameError::Place)?;
		let states: Vec<_> = self.records.iter().map(|(record, _)| &record.state).collect();
		let after = merged(&covers, |member, vector| states.get(member)?.get(vector).map(Vec::as_slice))?;
		expect(setting.state(&after, done) == end)?;
		check_cut(model, spans).map_err(|_| GameError::Place)?;
		expect(u32::try_from(spans.len()).is_ok_and(|members| members <= MAX_MEMBERS))?;
		let before = self.before(setting, &covers, first, start)?;
		for ((record, _), (state, base)) in self.records.iter().zip(before) {
			expect(record.first == first && record.before == state && record.base == base)?;
		}
		self.fit(model, train, spans, count)?;
		for (number, (record, signature)) in (0u32..).zip(&self.records) {
			if !signed(number, first, record.statement(), signature) {
				return Err(GameError::Signature(number));
			}
		}
		self.parts(setting, (first, count))
	}

	/// The members' parts, of records that were taken for the interval.
	///
	/// # Errors
	/// [`GameError`].
	pub fn parts(&self, setting: &Setting<'_>, (first, _): (u32, u32)) -> Result<Vec<Part>, GameError> {
		let spans = setting.quorum()?.spans;
		let covers = spans.iter().map(|&span| Covers::new(setting.model, setting.train, span)).collect::<Result<Vec<_>, _>>()?;
		let start = match &self.contents {
			Contents::Checkpoint(_) => Anchor::Checkpoint,
			Contents::State(vectors) => Anchor::State(setting.state(vectors, first)),
		};
		let before = self.before(setting, &covers, first, start)?;
		let mut parts = Vec::new();
		for ((&span, (record, _)), (before, base)) in spans.iter().zip(&self.records).zip(before) {
			parts.push(Part { span, before, base, steps: record.steps_root(), after: record.after() });
		}
		Ok(parts)
	}

	/// The members' parts of the state before, and of the base, if they make up what is agreed on.
	fn before(&self, setting: &Setting<'_>, covers: &[Covers], first: u32, start: Anchor) -> Result<Vec<(Hash, Hash)>, GameError> {
		let list = |member: usize, place: usize| self.before.get(member)?.get(place).map(Vec::as_slice);
		let agreed = match (start, &self.contents) {
			(Anchor::State(root), Contents::State(vectors)) => {
				expect(setting.state(vectors, first) == root)?;
				vectors.to_vec()
			}
			(Anchor::Checkpoint, Contents::Checkpoint(vectors)) => {
				expect(setting.checkpoint(vectors, 0)? == setting.start)?;
				let &[params, _] = vectors;
				alloc::vec![params]
			}
			_ => return Err(GameError::Root),
		};
		for (place, root) in agreed.iter().enumerate() {
			let parts: Vec<_> =
				covers.iter().enumerate().filter_map(|(member, covers)| Some((&covers.trained, list(member, place)?))).collect();
			expect(merge(leaves(covers), &parts) == Some(*root))?;
		}
		let adapter = setting.train.adapter;
		if let Some(adapter) = adapter {
			let bases = covers.iter().enumerate();
			let parts: Vec<_> = bases.filter_map(|(member, covers)| Some((covers.base.as_ref()?, list(member, agreed.len())?))).collect();
			let all = parts.first().map_or(0, |(cover, _)| cover.all());
			expect(merge(all, &parts) == Some(adapter.base))?;
		}
		let given = agreed.len().saturating_add(adapter.is_some().into());
		let zero = leaf_hash(&[0; LEAF_BYTES]);
		let mut found = Vec::new();
		for (lists, covers) in self.before.iter().zip(covers) {
			expect(lists.len() == given)?;
			let root = |place: usize| match lists.get(place).filter(|_| place < agreed.len()) {
				Some(roots) => merkle_root(roots),
				None => merkle_root(&covers.trained.uniform(zero)),
			};
			let base = lists.get(agreed.len()).map(|roots| merkle_root(roots)).unwrap_or_default();
			found.push((state_of(&[root(0), root(1), root(2)]), base));
		}
		Ok(found)
	}

	/// Whether what one gave is what the other was given, in each of `count` steps, and all were given the same sums.
	fn fit(&self, model: &ModelConfig, train: &TrainConfig, spans: &[Span], count: u32) -> Result<(), GameError> {
		let adapter = train.adapter.is_some();
		let seams: Vec<_> = spans.iter().map(|&span| (given(model, adapter, span), gave(model, adapter, span))).collect();
		let units: Vec<_> = spans.iter().map(|&span| trained_units(model, adapter, span)).collect();
		let all = usize::try_from(sums(model, adapter)).map_err(|_| GameError::Place)?;
		let steps = usize::try_from(count).map_err(|_| GameError::Place)?;
		if self.records.iter().any(|(record, _)| record.steps.len() != steps) {
			return Err(GameError::Length { expected: count, found: 0 });
		}
		for step in 0..steps {
			let (mut hashes, mut squares) = (BTreeMap::<Seam, Hash>::new(), alloc::vec![0u32; all]);
			let of = |member: usize| self.records.get(member).and_then(|(record, _)| record.steps.get(step)).ok_or(GameError::Place);
			for (member, ((_, gave), units)) in seams.iter().zip(&units).enumerate() {
				let said = of(member)?;
				expect(said.gave.len() == gave.len() && said.squares.len() == units.len())?;
				// Tiles are hashed in canonical form: in another one, two sums that differ would have the same root.
				expect(said.squares.iter().all(|&bits| canon_bits(f32::from_bits(bits)) == bits))?;
				hashes.extend(gave.iter().copied().zip(said.gave.iter().copied()));
				for (&unit, &bits) in units.iter().zip(&said.squares) {
					*usize::try_from(unit).ok().and_then(|unit| squares.get_mut(unit)).ok_or(GameError::Place)? = bits;
				}
			}
			let sums = sums_hash(&squares);
			for (member, (given, _)) in seams.iter().enumerate() {
				let said = of(member)?;
				expect(said.given.len() == given.len() && said.sums == sums)?;
				for (seam, hash) in given.iter().zip(&said.given) {
					if hashes.get(seam) != Some(hash) {
						return Err(GameError::Seam(*seam));
					}
				}
			}
		}
		Ok(())
	}
}

fn expect(holds: bool) -> Result<(), GameError> {
	if holds {
		Ok(())
	} else {
		Err(GameError::Root)
	}
}

/// Leaves of the tree of a vector that is trained.
fn leaves(covers: &[Covers]) -> u32 {
	covers.first().map_or(0, |covers| covers.trained.all())
}

/// Roots of three vectors, of the members' subtrees of each.
fn merged<'a>(covers: &'a [Covers], list: impl Fn(usize, usize) -> Option<&'a [Hash]>) -> Result<[Hash; 3], GameError> {
	let mut roots = [Hash::default(); 3];
	for (vector, root) in roots.iter_mut().enumerate() {
		let parts: Vec<_> =
			covers.iter().enumerate().filter_map(|(member, covers)| Some((&covers.trained, list(member, vector)?))).collect();
		*root = merge(leaves(covers), &parts).ok_or(GameError::Root)?;
	}
	Ok(roots)
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
	/// States that the member posts: those after each step up to the disputed one.
	pub fn states(&self) -> u32 {
		match self.out {
			Some(_) => self.step,
			None => self.step.saturating_add(1),
		}
	}

	/// Whether `record` is what the member says about the disputed step.
	pub(super) fn says(&self, record: &StepRecord, proof: &[Hash]) -> bool {
		verify(&self.part.steps, proof, self.count, self.step, record.hash())
	}
}
