//! Members of a quorum, whose messages arrive in any order that links allow, have the bits of one machine; and their records are taken by the game.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use common::{
	network::{checkpoint, leader, led, place, theta, Network},
	tokens, Stamp,
};
use neuroshard_compute::exec::{Arena, Exec, StepMemory, Trainer};
use neuroshard_graph::{
	commit::state_root,
	corpus::{Corpus, TokenWidth},
	game::{open_work, Doubt, Move, Outcome, Position, Quorum, Setting, Signature, Subject},
	merkle::Hash,
	span::units,
	ModelConfig, TrainConfig,
};
use neuroshard_quorum::{Fault, Message, Place, Signer, Sums};
use proptest::prelude::*;
use std::sync::Arc;

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
		let all = units(&model);
		let least = if tied { 2 } else { 1 };
		let mut ends: Vec<u32> = cuts.iter().map(|cut| least + u32::try_from(cut.index((all - least) as usize)).unwrap()).collect();
		ends.sort_unstable();
		ends.dedup();
		let bounds: Vec<u32> = core::iter::once(0).chain(ends).chain([all]).collect();
		let place = place(&model, &train, &bounds.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>(), (micro, flying));
		let theta = theta(&place);

		let mut trainer = Trainer::with_memory(Arc::new(Exec::new(1).unwrap()), &model, &train, StepMemory::default()).unwrap();
		let mut arena = Arena::new(trainer.arena_len());
		trainer.begin(&mut arena, &theta);
		let outcomes: Vec<_> =
			(0..3).map(|step| trainer.train_step(&mut arena, &tokens(&train, model.vocab, step), step.into(), u64::from(step) + 1).unwrap()).collect();

		let mut network = Network::new(&place, &theta);
		let mut at = 0;
		network.run(0..3, |step| tokens(&train, model.vocab, step), |below| {
			at += 1;
			(order[at % order.len()] as usize).wrapping_add(at / order.len()) % below
		});
		// What waits between two members is bounded by what is between forward and backward pass.
		prop_assert!(network.longest <= 2 * flying + 1, "{}", network.longest);
		for member in &network.members {
			prop_assert_eq!(member.outcome(), outcomes.last().copied());
		}
		let roots = trainer.state_roots(&arena);
		let led = led(&mut leader(&place, &theta), 0..3, network.told());
		let [a, b, c] = roots;
		prop_assert_eq!(led.root, state_root(&a, &b, &c, 3, 3 * u64::from(batch)));

		// The game takes what they have signed.
		let signed = |member: u32, statement: Hash, signature: &Signature| Stamp(0).has_signed(member as usize, statement, signature);
		let setting = Setting {
			model: &model,
			train: &train,
			round: 0,
			start: checkpoint(&place, &theta).1,
			subject: Subject::Work {
				corpus: Corpus { root: [0; 32], shards: 1, tokens_per_shard: 1, width: TokenWidth::Two },
				window: &|_, _| None,
				steps: 3,
				base: None,
				quorum: Some(Quorum { spans: &place.spans, signed: &signed }),
			},
		};
		let opened = open_work(&setting, &[led.root], Hash::default(), Doubt::Interval(0)).unwrap();
		let posted = Move::Records(led.records);
		let taken = matches!(opened.play(&setting, &posted), Ok(Outcome::Next(Position::PickRecord { .. })));
		prop_assert!(taken);
	}
}

#[test]
fn what_a_member_should_not_send_is_refused_and_nothing_is_lost() {
	let model = ModelConfig { layers: 2, tied: false, ..ModelConfig::tiny() };
	let train = TrainConfig { batch: 2, ..TrainConfig::tiny() };
	let place: Place = place(&model, &train, &[2, 2], (1, 2));
	let mut network = Network::new(&place, &theta(&place));
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

#[test]
fn sums_that_are_unsigned_signed_by_another_one_or_changed_are_refused() {
	let model = ModelConfig { layers: 2, tied: false, ..ModelConfig::tiny() };
	let train = TrainConfig { batch: 2, ..TrainConfig::tiny() };
	let place = place(&model, &train, &[2, 2], (1, 2));
	let mut network = Network::new(&place, &theta(&place));
	// Member 0 has the end and tells its sums last of all its work; here they arrive when 1 waits for nothing else.
	for member in &mut network.members {
		member.begin(0, &tokens(&train, model.vocab, 0)).unwrap();
	}
	let sums = loop {
		let told = [0, 1].map(|member| network.members[member].work().unwrap().unwrap_or_default());
		let mut sums = None;
		for (from, out) in told.into_iter().enumerate() {
			for (to, message) in out {
				match message {
					Message::Sums(told) if from == 0 => sums = Some(told),
					message => network.members[to].take(from, message).unwrap(),
				}
			}
		}
		if let Some(sums) = sums {
			break sums;
		}
	};
	let mut refused = |change: &dyn Fn(&mut Sums)| {
		let mut changed = sums.clone();
		change(&mut changed);
		match network.members[1].take(0, Message::Sums(changed)) {
			Err(Fault::Member { member: 0, what }) => what,
			other => panic!("{other:?}"),
		}
	};
	let resign = |sums: &mut Sums| sums.signature = Stamp(0).sign(Sums::statement(sums.step, &sums.squares, sums.loss));
	let unsigned = "sent sums that it has not signed";
	assert_eq!(refused(&|sums| sums.signature = [0; 65]), unsigned);
	assert_eq!(refused(&|sums| sums.signature = Stamp(1).sign(Sums::statement(0, &sums.squares, sums.loss))), unsigned);
	assert_eq!(refused(&|sums| sums.signature = Stamp(0).sign(Sums::statement(1, &sums.squares, sums.loss))), unsigned);
	assert_eq!(refused(&|sums| sums.squares[0] += 1.0), unsigned);
	assert_eq!(refused(&|sums| sums.loss = Some(0.5)), unsigned);
	let other_form = "sent sums that are not in canonical form";
	for bits in [0x8000_0000, 0xffc0_0000] {
		let in_squares = |sums: &mut Sums| {
			sums.squares[0] = f32::from_bits(bits);
			resign(sums);
		};
		let in_loss = |sums: &mut Sums| {
			sums.loss = Some(f32::from_bits(bits));
			resign(sums);
		};
		assert_eq!([refused(&in_squares), refused(&in_loss)], [other_form; 2]);
	}
	network.members[1].take(0, Message::Sums(sums.clone())).unwrap();
	assert!(network.members[1].take(0, Message::Sums(sums)).is_err());
}
