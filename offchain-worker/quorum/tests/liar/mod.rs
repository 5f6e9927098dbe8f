//! A member of a quorum that makes a mistake and goes on with it, among members that do not.

use crate::{
	common::{network::Network, Stamp},
	game::World,
};
use neuroshard_compute::{
	player::{GaveStep, GivenStep, SpanStory},
	trace::Mistake,
};
use neuroshard_graph::{
	merkle::Hash,
	span::{gave, given, row_tiles, sums, trained_units, units, Seam},
};
use neuroshard_kernels::num::canon;
use neuroshard_quorum::{Message, Rows, Signer, Sums, Told};
use std::collections::{BTreeMap, BTreeSet};

pub struct Liar {
	pub story: SpanStory,
	number: usize,
	before: [Vec<Hash>; 3],
	/// Of the step under way, what it was given and has given.
	known: BTreeMap<Seam, Vec<f32>>,
	gave: BTreeSet<Seam>,
	sums: BTreeMap<usize, Sums>,
}

impl Liar {
	/// In the first interval of a round.
	pub fn new(world: &World, (number, mistake): (usize, Mistake)) -> Self {
		let held = neuroshard_graph::span::Held::new(&world.model, None, world.spans[number]).unwrap();
		let before = world.start().each_ref().map(|vector| held.roots(&held.of(vector), 1));
		let story = world.part(number, 0, &world.start()).with_mistake(mistake);
		Self { story, number, before, known: BTreeMap::new(), gave: BTreeSet::new(), sums: BTreeMap::new() }
	}

	/// Takes the steps of the first interval among others, of which the one with its number does nothing. Returns what all tell about it, and the sums that the
	/// first member has been told, or the liar if it is the first.
	pub fn among(&mut self, world: &World, network: &mut Network) -> (Vec<Told>, Vec<Vec<u32>>) {
		let mut all_sums = Vec::new();
		for step in world.intervals().next().unwrap() {
			let tokens = world.tokens(step);
			let others: Vec<usize> = (0..world.spans.len()).filter(|&member| member != self.number).collect();
			for &member in &others {
				let batch = if network.members[member].reads_tokens() { tokens.clone() } else { Vec::new() };
				network.members[member].begin(step, &batch).unwrap();
			}
			let mut is_over = false;
			while !is_over || others.iter().any(|&member| network.members[member].outcome().is_none()) {
				let own = if is_over { Vec::new() } else { self.work(world, step) };
				let mut sent: Vec<(usize, usize, Message)> = own.into_iter().map(|(to, message)| (self.number, to, message)).collect();
				for &member in &others {
					let out = network.members[member].work().unwrap().unwrap_or_default();
					sent.extend(out.into_iter().map(|(to, message)| (member, to, message)));
				}
				for (from, to, message) in sent {
					match to == self.number {
						true => self.take(from, message),
						false => network.members[to].take(from, message).unwrap(),
					}
				}
				if !is_over && self.sums.len() == world.spans.len() {
					all_sums.push(self.end(world, step));
					is_over = true;
				}
			}
		}
		let mut told = Vec::new();
		for member in 0..world.spans.len() {
			if member == self.number {
				let record = self.story.record().clone();
				let signature = Stamp(member).sign(record.statement());
				told.push(Told { record, before: self.before.clone(), base: Vec::new(), signature });
			} else {
				let (of, sums) = network.members[member].record().unwrap();
				assert_eq!(sums, all_sums);
				told.push(of);
			}
		}
		(told, all_sums)
	}

	fn take(&mut self, from: usize, message: Message) {
		match message {
			Message::Rows(rows) => self.known.entry(rows.seam).or_default().extend(rows.numbers),
			Message::Sums(sums) => drop(self.sums.insert(from, sums)),
			_ => panic!("no step has that"),
		}
	}

	fn given(&self, world: &World, step: u32, sums: Vec<f32>) -> GivenStep {
		let rows =
			given(&world.model, false, world.spans[self.number]).into_iter().map(|seam| self.known.get(&seam).cloned().unwrap_or_default());
		GivenStep { tokens: world.tokens(step), rows: rows.collect(), sums }
	}

	/// Gives what follows from what it has been given whole.
	fn work(&mut self, world: &World, step: u32) -> Vec<(usize, Message)> {
		let (model, span, end) = (&world.model, world.spans[self.number], units(&world.model));
		let all = (world.train.tokens_per_step() * u64::from(model.dim)) as usize;
		let is_whole = |seam: Seam| self.known.get(&seam).is_some_and(|rows| rows.len() == all);
		let mut ready = Vec::new();
		for range in span.ranges(model) {
			let forwards = range.start == 0 || is_whole(Seam::Rows(range.start));
			let backwards = forwards && (range.end == end || is_whole(Seam::Gradient(range.end)));
			ready.extend(Some(Seam::Rows(range.end)).filter(|_| forwards && range.end < end));
			ready.extend(Some(Seam::Gradient(range.start)).filter(|_| backwards && range.start > 0));
		}
		ready.retain(|seam| !self.gave.contains(seam));
		let mut out = Vec::new();
		let outs = gave(model, false, span);
		let gives = |liar: &Self| liar.story.gives(&liar.given(world, step, Vec::new())).unwrap();
		for seam in ready {
			self.gave.insert(seam);
			let rows = gives(self).rows.swap_remove(outs.iter().position(|out| *out == seam).unwrap());
			let to = world.spans.iter().position(|&span| given(model, false, span).contains(&seam)).unwrap();
			let len = (world.micro_batch * world.train.seq_len * model.dim) as usize;
			for (micro, numbers) in (0..).zip(rows.chunks(len).map(<[f32]>::to_vec)) {
				let statement = Rows::statement(step, micro, seam, &row_tiles(&numbers, model.dim as usize));
				out.push((to, Message::Rows(Rows { step, micro, seam, numbers, signature: Stamp(self.number).sign(statement) })));
			}
		}
		let whole = given(model, false, span).into_iter().all(|seam| self.known.get(&seam).is_some_and(|rows| rows.len() == all));
		if whole && outs.iter().all(|seam| self.gave.contains(seam)) && !self.sums.contains_key(&self.number) {
			let squares: Vec<f32> = gives(self).squares.into_iter().map(canon).collect();
			let loss = span.has(model, end - 1).then_some(1.0);
			let signature = Stamp(self.number).sign(Sums::statement(step, &squares, loss));
			let sums = Sums { step, squares, loss, signature };
			out.extend((0..world.spans.len()).filter(|&member| member != self.number).map(|member| (member, Message::Sums(sums.clone()))));
			self.sums.insert(self.number, sums);
		}
		out
	}

	/// Ends the step. Returns bits of the sums of all units.
	fn end(&mut self, world: &World, step: u32) -> Vec<u32> {
		let mut all = vec![0.0; sums(&world.model, false) as usize];
		for (member, sums) in core::mem::take(&mut self.sums) {
			for (unit, square) in trained_units(&world.model, false, world.spans[member]).into_iter().zip(sums.squares) {
				all[unit as usize] = square;
			}
		}
		let given = self.given(world, step, all.clone());
		let gives: GaveStep = self.story.gives(&given).unwrap();
		self.story.take(given, &gives).unwrap();
		self.known.clear();
		self.gave.clear();
		all.into_iter().map(f32::to_bits).collect()
	}
}
