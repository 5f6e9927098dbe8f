//! Members whose messages wait in queues in memory, and arrive in whatever order a test chooses.

use super::{tokens, Stamp};
use neuroshard_compute::exec::Exec;
use neuroshard_graph::{
	commit::{checkpoint_root, tensors_root},
	init::theta_0,
	span::{cut, Held},
	Hash, ModelConfig, ParamLayout, TrainConfig,
};
use neuroshard_quorum::{Leader, Led, Member, Message, Place, Start, Told};
use std::{
	collections::{BTreeMap, VecDeque},
	ops::Range,
	sync::Arc,
};

/// Members, and the messages that are on their way: in order between each two.
pub struct Network {
	pub members: Vec<Member<Stamp>>,
	pub links: BTreeMap<(usize, usize), VecDeque<Message>>,
	/// Most messages that waited on a link.
	pub longest: usize,
}

/// Member 0's place in a quorum whose members hold so many units each, with steps in micro-batches of so many sequences.
pub fn place(model: &ModelConfig, train: &TrainConfig, counts: &[u32], (micro_batch, flying): (u32, usize)) -> Place {
	let spans = cut(model, counts).unwrap();
	Place { model: model.clone(), train: train.clone(), spans, member: 0, micro_batch, flying, round: 0 }
}

/// Parameters that a round starts from.
pub fn theta(place: &Place) -> Vec<f32> {
	theta_0(&place.model, &ParamLayout::new(&place.model).unwrap(), &[5; 32])
}

/// What a member has of a trained vector.
pub fn own(place: &Place, member: usize, whole: &[f32]) -> Vec<f32> {
	Held::new(&place.model, place.train.adapter, place.spans[member]).unwrap().of(whole)
}

/// What a member has of the model that an adapter is beside.
pub fn own_base(place: &Place, member: usize, base: &[f32]) -> Vec<f32> {
	Held::new(&place.model, None, place.spans[member]).unwrap().of(base)
}

/// The checkpoint of these parameters: roots of parameters and momentum, and its own.
pub fn checkpoint(place: &Place, theta: &[f32]) -> ([Hash; 2], Hash) {
	let layout = ParamLayout::trained(&place.model, &place.train).unwrap();
	let [params, momentum] = [theta, &vec![0.0; layout.len()]].map(|vector| tensors_root(&layout, vector, 1));
	([params, momentum], checkpoint_root(&params, &momentum, 0, 0))
}

/// The leader of the quorum, at the beginning of the round.
pub fn leader(place: &Place, theta: &[f32]) -> Leader {
	let ([_, momentum], root) = checkpoint(place, theta);
	Leader::new(place, Start::Checkpoint { root, momentum }).unwrap()
}

/// The first one that is asked for.
pub fn first(_: usize) -> usize {
	0
}

impl Network {
	/// At the beginning of a round that starts from `theta`.
	pub fn new(place: &Place, theta: &[f32]) -> Self {
		Self::beside(place, theta, None)
	}

	/// The same, of an adapter beside a base.
	pub fn beside(place: &Place, theta: &[f32], base: Option<&[f32]>) -> Self {
		let member = |number: usize| {
			let (own, base) = (own(place, number, theta), base.map(|base| own_base(place, number, base)));
			let place = Place { member: number, ..place.clone() };
			Member::new(place, Arc::new(Exec::new(1).unwrap()), Stamp(number), &own, base.as_deref()).unwrap()
		};
		Self::of((0..place.spans.len()).map(member).collect())
	}

	pub fn of(members: Vec<Member<Stamp>>) -> Self {
		Self { members, links: BTreeMap::new(), longest: 0 }
	}

	/// Takes steps, with members and links chosen by `choose`, and each member beginning its next step as soon as it can.
	pub fn run(&mut self, steps: Range<u32>, tokens: impl Fn(u32) -> Vec<u32>, choose: impl FnMut(usize) -> usize) {
		assert!(self.run_until(usize::MAX, steps, tokens, choose));
	}

	/// The same, until each member has been chosen so many times. Whether all steps are then over.
	pub fn run_until(
		&mut self,
		turns: usize,
		steps: Range<u32>,
		tokens: impl Fn(u32) -> Vec<u32>,
		mut choose: impl FnMut(usize) -> usize,
	) -> bool {
		let count = self.members.len();
		let mut next = vec![steps.start; count];
		for _ in 0..turns {
			let first = choose(count);
			for member in (0..count).map(|offset| (first + offset) % count) {
				if next[member] < steps.end && (next[member] == steps.start || self.members[member].outcome().is_some()) {
					let batch = if self.members[member].reads_tokens() { tokens(next[member]) } else { Vec::new() };
					self.members[member].begin(next[member], &batch).unwrap();
					next[member] += 1;
				}
				// One piece of work, or one message that has arrived. Nobody waits for ever: work is only not chosen for a while.
				if choose(2) == 0 {
					for (to, message) in self.members[member].work().unwrap().unwrap_or_default() {
						let link = self.links.entry((member, to)).or_default();
						link.push_back(message);
						self.longest = self.longest.max(link.len());
					}
				}
				let waiting: Vec<_> =
					self.links.iter().filter(|((_, to), link)| *to == member && !link.is_empty()).map(|(key, _)| *key).collect();
				if !waiting.is_empty() {
					let key = waiting[choose(waiting.len())];
					let message = self.links.get_mut(&key).unwrap().pop_front().unwrap();
					self.members[member].take(key.0, message).unwrap();
				}
			}
			let over = next.iter().all(|&next| next == steps.end) && self.members.iter().all(|member| member.outcome().is_some());
			if over && self.links.values().all(VecDeque::is_empty) {
				return true;
			}
		}
		false
	}

	/// The same on the batches of [`tokens`], in one order; and what all members tell about it, with the sums that the first one was told.
	pub fn interval(&mut self, place: &Place, steps: Range<u32>) -> (Vec<Told>, Vec<Vec<u32>>) {
		self.run(steps, |step| tokens(&place.train, place.model.vocab, step), first);
		self.told()
	}

	pub fn told(&mut self) -> (Vec<Told>, Vec<Vec<u32>>) {
		let (told, mut sums): (Vec<_>, Vec<_>) = self.members.iter_mut().map(|member| member.record().unwrap()).unzip();
		(told, sums.remove(0))
	}
}

/// What a leader makes of what members tell about an interval.
pub fn led(leader: &mut Leader, steps: Range<u32>, (told, sums): (Vec<Told>, Vec<Vec<u32>>)) -> Led {
	leader.begin(steps).unwrap();
	told.into_iter().enumerate().for_each(|(member, told)| leader.take(&Stamp(0), member, told).unwrap());
	leader.check(&Stamp(0), &sums).unwrap()
}
