//! Members of a quorum, whose messages arrive in any order that links allow, have the bits of one machine; and their records are taken by the game.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use common::{tokens, Stamp};
use neuroshard_compute::exec::{Arena, Exec, StepMemory, Trainer};
use neuroshard_graph::{
	commit::{checkpoint_root, state_root, tensors_root},
	corpus::{Corpus, TokenWidth},
	cover::merge,
	game::{open_work, Contents, Doubt, Move, Outcome, Position, Quorum, Records, Setting, Signature, Subject},
	init::theta_0,
	merkle::Hash,
	span::{cut, units, Held, Span},
	ModelConfig, ParamLayout, TrainConfig,
};
use neuroshard_quorum::{Fault, Member, Message, Place, Signer};
use proptest::prelude::*;
use std::{
	collections::{BTreeMap, VecDeque},
	sync::Arc,
};

/// Members, and the messages that are on their way: in order between each two.
struct Network {
	members: Vec<Member<Stamp>>,
	links: BTreeMap<(usize, usize), VecDeque<Message>>,
	/// Most messages that waited on a link.
	longest: usize,
}

impl Network {
	fn new(model: &ModelConfig, train: &TrainConfig, spans: &[Span], (micro_batch, flying): (u32, usize), theta: &[f32]) -> Self {
		let member = |number: usize| {
			let place =
				Place { model: model.clone(), train: train.clone(), spans: spans.to_vec(), member: number, micro_batch, flying, round: 0 };
			let own = Held::new(model, None, spans[number]).unwrap().of(theta);
			Member::new(place, Arc::new(Exec::new(1).unwrap()), Stamp(number), &own, None).unwrap()
		};
		Self { members: (0..spans.len()).map(member).collect(), links: BTreeMap::new(), longest: 0 }
	}

	/// Takes steps `0..steps`, with members and links chosen by `choose`, and each member beginning its next step as soon as it can.
	fn run(&mut self, steps: u32, tokens: impl Fn(u32) -> Vec<u32>, mut choose: impl FnMut(usize) -> usize) {
		let mut begun = vec![0u32; self.members.len()];
		loop {
			let mut moved = false;
			let count = self.members.len();
			let first = choose(count);
			for member in (0..count).map(|offset| (first + offset) % count) {
				if begun[member] < steps && (begun[member] == 0 || self.members[member].outcome().is_some()) {
					let batch = if self.members[member].reads_tokens() { tokens(begun[member]) } else { Vec::new() };
					self.members[member].begin(begun[member], &batch).unwrap();
					begun[member] += 1;
					moved = true;
				}
				// One piece of work, or one message that has arrived.
				if choose(2) == 0 {
					if let Some(out) = self.members[member].work().unwrap() {
						moved = true;
						for (to, message) in out {
							let link = self.links.entry((member, to)).or_default();
							link.push_back(message);
							self.longest = self.longest.max(link.len());
						}
					}
				}
				let waiting: Vec<_> =
					self.links.iter().filter(|((_, to), link)| *to == member && !link.is_empty()).map(|(key, _)| *key).collect();
				if !waiting.is_empty() {
					let key = waiting[choose(waiting.len())];
					let message = self.links.get_mut(&key).unwrap().pop_front().unwrap();
					self.members[member].take(key.0, message).unwrap();
					moved = true;
				}
			}
			let over = begun.iter().all(|&begun| begun == steps) && self.members.iter().all(|member| member.outcome().is_some());
			if over && self.links.values().all(VecDeque::is_empty) {
				return;
			}
			// Nobody waits for ever: work is only not chosen for a while.
			let _ = moved;
		}
	}
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(24))]

	#[test]
	fn members_have_the_bits_of_one_machine_in_whatever_order_messages_arrive(
		layers in 1u32..5,
		tied in any::<bool>(),
		batch in prop::sample::select(vec![2u32, 4]),
		micro in prop::sample::select(vec![1u32, 2]),
		flying in 1usize..4,
		cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
		order in prop::collection::vec(any::<u16>(), 64),
	) {
		let model = ModelConfig { layers, tied, ..ModelConfig::tiny() };
		let train = TrainConfig { batch, inner_steps: 3, commit_interval: 3, ..TrainConfig::tiny() };
		let theta = theta_0(&model, &ParamLayout::new(&model).unwrap(), &[5; 32]);
		let all = units(&model);
		let least = if tied { 2 } else { 1 };
		let mut ends: Vec<u32> = cuts.iter().map(|cut| least + u32::try_from(cut.index((all - least) as usize)).unwrap()).collect();
		ends.sort_unstable();
		ends.dedup();
		let bounds: Vec<u32> = core::iter::once(0).chain(ends).chain([all]).collect();
		let spans = cut(&model, &bounds.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()).unwrap();

		let mut trainer = Trainer::with_memory(Arc::new(Exec::new(1).unwrap()), &model, &train, StepMemory::default()).unwrap();
		let mut arena = Arena::new(trainer.arena_len());
		trainer.begin(&mut arena, &theta);
		let outcomes: Vec<_> =
			(0..3).map(|step| trainer.train_step(&mut arena, &tokens(&train, model.vocab, step), step.into(), u64::from(step) + 1).unwrap()).collect();

		let mut network = Network::new(&model, &train, &spans, (micro, flying), &theta);
		let mut at = 0;
		network.run(3, |step| tokens(&train, model.vocab, step), |below| {
			at += 1;
			(order[at % order.len()] as usize).wrapping_add(at / order.len()) % below
		});
		// What waits between two members is bounded by what is between forward and backward pass.
		prop_assert!(network.longest <= 2 * flying + 1, "{}", network.longest);
		for member in &network.members {
			prop_assert_eq!(member.outcome(), outcomes.last().copied());
		}
		let records: Vec<_> = network.members.iter_mut().map(Member::record).collect();
		let held: Vec<_> = spans.iter().map(|&span| Held::new(&model, None, span).unwrap()).collect();
		let covers: Vec<_> = held.iter().map(Held::cover).collect();
		let roots = [0, 1, 2].map(|vector| {
			let parts: Vec<_> = covers.iter().zip(&records).map(|(cover, (record, _))| (cover, record.state[vector].as_slice())).collect();
			merge(held[0].all_tiles, &parts).unwrap()
		});
		prop_assert_eq!(roots, trainer.state_roots(&arena));

		// The game takes what they have signed.
		let layout = ParamLayout::new(&model).unwrap();
		let params = tensors_root(&layout, &theta, 1);
		let momentum = tensors_root(&layout, &vec![0.0; layout.len()], 1);
		let signed = |member: u32, statement: Hash, signature: &Signature| Stamp(0).has_signed(member as usize, statement, signature);
		let setting = Setting {
			model: &model,
			train: &train,
			round: 0,
			start: checkpoint_root(&params, &momentum, 0, 0),
			subject: Subject::Work {
				corpus: Corpus { root: [0; 32], shards: 1, tokens_per_shard: 1, width: TokenWidth::Two },
				window: &|_, _| None,
				steps: 3,
				base: None,
				quorum: Some(Quorum { spans: &spans, signed: &signed }),
			},
		};
		let [a, b, c] = roots;
		let end = state_root(&a, &b, &c, 3, 3 * u64::from(batch));
		let opened = open_work(&setting, &[end], Hash::default(), Doubt::Interval(0)).unwrap();
		let before = held.iter().map(|held| vec![held.roots(&held.of(&theta), 1)]).collect();
				let posted = Move::Records(Records { contents: Contents::Checkpoint([params, momentum]), before, records });
		let taken = matches!(opened.play(&setting, &posted), Ok(Outcome::Next(Position::PickRecord { .. })));
		prop_assert!(taken);
	}
}

#[test]
fn what_a_member_should_not_send_is_refused_and_nothing_is_lost() {
	let model = ModelConfig { layers: 2, tied: false, ..ModelConfig::tiny() };
	let train = TrainConfig { batch: 2, ..TrainConfig::tiny() };
	let theta = theta_0(&model, &ParamLayout::new(&model).unwrap(), &[5; 32]);
	let spans = cut(&model, &[2, 2]).unwrap();
	let mut network = Network::new(&model, &train, &spans, (1, 2), &theta);
	for member in &mut network.members {
		member.begin(0, &tokens(&train, model.vocab, 0)).unwrap();
	}
	let (to, message) = network.members[0].work().unwrap().unwrap().remove(0);
	assert_eq!(to, 1);
	let Message::Rows(rows) = message else { panic!("rows come first") };
	let what = |network: &mut Network, from: usize, message| match network.members[1].take(from, message) {
		Err(Fault::Member { member, what }) => {
			assert_eq!(member, from);
			what
		}
		other => panic!("{other:?}"),
	};
	let mut forged = rows.clone();
	forged.numbers[3] += 1.0;
	assert_eq!(what(&mut network, 0, Message::Rows(forged)), "sent rows that it has not signed");
	let mut later = rows.clone();
	later.micro = 1;
	assert_eq!(what(&mut network, 0, Message::Rows(later)), "sent rows of another micro-batch or length than is next");
	let mut short = rows.clone();
	short.numbers.pop();
	assert_eq!(what(&mut network, 0, Message::Rows(short)), "sent rows of another micro-batch or length than is next");
	assert_eq!(what(&mut network, 1, Message::Rows(rows.clone())), "sent rows of a seam that it has not with this one");
	assert_eq!(what(&mut network, 7, Message::Rows(rows.clone())), "sent rows of a seam that it has not with this one");
	let mut old = rows.clone();
	old.step = 9;
	assert_eq!(what(&mut network, 0, Message::Rows(old)), "sent something for another step");
	// The right ones are taken after all that, once.
	network.members[1].take(0, Message::Rows(rows.clone())).unwrap();
	assert_eq!(what(&mut network, 0, Message::Rows(rows)), "sent rows of another micro-batch or length than is next");
}
