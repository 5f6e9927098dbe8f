//! Disputes about work of quorums: who lied in its part loses, and nobody else.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "quorum/world.rs"]
mod world;

use common::{random_tokens, Lcg};
use neuroshard_compute::{
	player::{GaveStep, Player, QuorumStory, SpanStory},
	recorder::Library,
	trace::Mistake,
};
use neuroshard_graph::{
	game::{open_work, sums_hash, Doubt, GameError, Move, Outcome, Position, Record, Records, Ruling, Side},
	merkle::Hash,
	span::{trained_units, units},
};
use std::collections::BTreeMap;
use world::{defends, drawn, games, honest, referee, signature, signed, End, World};

#[test]
fn a_member_with_a_mistake_in_any_stage_loses_and_nobody_else_does() {
	let (mut decided, mut silent, mut harmless) = (0, 0, 0);
	for seed in 0..games() {
		let world = World::new(seed);
		let mut random = Lcg(seed + 1);
		let number = random.next() % world.train.state_roots_after(world.train.inner_steps);
		let (state, mut roots) = world.before(number);
		let first = number * world.train.commit_interval;
		let truth = world.interval(first, &state, None).unwrap();
		let (liar, mistake) = drawn(&world, first, &mut random);
		// The loss is reported, and nothing is computed from it; some bits are rounded away.
		let Some(work) = world.interval(first, &state, Some((liar, mistake))).filter(|work| work.end != truth.end) else {
			harmless += 1;
			continue;
		};
		roots.push(work.end);
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &roots, Hash::default(), Doubt::Interval(number)).unwrap();
		assert!(matches!(opened, Position::Records { .. }));
		let mut defender = Player::new(setting, Side::Defender, work.story, Some(&world.text as &dyn Library));
		let mut challenger = Player::new(setting, Side::Challenger, truth.story, Some(&world.text as &dyn Library));
		let end = referee(&setting, opened, &mut defends(&work.records, &mut defender), &mut honest(&mut challenger));
		match end {
			End::Ruled(Ruling::Fraud, Some(member)) if member as usize == liar => decided += 1,
			End::Silent(Side::Defender, Some(member)) if member as usize == liar => silent += 1,
			_ => panic!("seed {seed}: {end:?}, and member {liar} of {:?} lied by {mistake:?}", world.spans),
		}
	}
	println!("{decided} decided, {silent} by silence, {harmless} mistakes without a consequence");
	assert!(decided > 0 && silent == 0 && harmless * 3 < games());
}

#[test]
fn who_computes_the_round_on_one_machine_finds_the_liar_of_a_quorum_also_if_it_begins_anew_with_every_move() {
	let mut decided = 0;
	for seed in 0..games().min(40) {
		let world = World::new(seed);
		let mut random = Lcg(seed + 4);
		let number = random.next() % world.train.state_roots_after(world.train.inner_steps);
		let (state, mut roots) = world.before(number);
		let first = number * world.train.commit_interval;
		let (liar, mistake) = drawn(&world, first, &mut random);
		let Some(work) = world.interval(first, &state, Some((liar, mistake))) else { continue };
		roots.push(work.end);
		if world.story().doubt(&roots, Hash::default()).unwrap() != Some(Doubt::Interval(number)) {
			continue;
		}
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &roots, Hash::default(), Doubt::Interval(number)).unwrap();
		let mut defender = Player::new(setting, Side::Defender, work.story, Some(&world.text as &dyn Library));
		let mut challenger = |position: &Position, defence: &[Move]| {
			let story = world.story().of_quorum(world.spans.clone());
			let mut player = Player::new(world.setting(&signed), Side::Challenger, story, Some(&world.text as &dyn Library));
			Some(player.play(position, defence).unwrap())
		};
		let end = referee(&setting, opened, &mut defends(&work.records, &mut defender), &mut challenger);
		assert_eq!(end, End::Ruled(Ruling::Fraud, Some(liar as u32)), "seed {seed}: {mistake:?} in {:?}", world.spans);
		decided += 1;
	}
	assert!(decided * 2 > games().min(40), "{decided}");
}

#[test]
fn honest_members_lose_to_no_challenger_whatever_it_believes() {
	let mut ends = BTreeMap::new();
	for seed in 0..games() {
		let world = World::new(seed);
		let mut random = Lcg(seed + 2);
		let number = random.next() % world.train.state_roots_after(world.train.inner_steps);
		let (state, mut roots) = world.before(number);
		let first = number * world.train.commit_interval;
		let work = world.interval(first, &state, None).unwrap();
		let Some(accuser) = world.interval(first, &state, Some(drawn(&world, first, &mut random))) else { continue };
		roots.push(work.end);
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &roots, Hash::default(), Doubt::Interval(number)).unwrap();
		let mut defender = Player::new(setting, Side::Defender, work.story, Some(&world.text as &dyn Library));
		let mut challenger = Player::new(setting, Side::Challenger, accuser.story, Some(&world.text as &dyn Library));
		let end = referee(&setting, opened, &mut defends(&work.records, &mut defender), &mut honest(&mut challenger));
		assert!(matches!(end, End::Ruled(Ruling::Unfounded, _) | End::Silent(Side::Challenger, _)), "seed {seed}: {end:?}");
		*ends.entry(format!("{end:?}")).or_insert(0) += 1;
	}
	assert!(ends.keys().any(|end| end.contains("Unfounded")), "{ends:?}");
}

#[test]
fn a_leader_cannot_post_what_its_members_have_not_signed_or_what_does_not_fit_together() {
	for seed in 0..games().min(40) {
		let world = World::new(seed);
		let (state, mut roots) = world.before(0);
		let work = world.interval(0, &state, None).unwrap();
		roots.push(work.end);
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &roots, Hash::default(), Doubt::Interval(0)).unwrap();
		let post = |records: &Records| opened.play(&setting, &Move::Records(records.clone()));
		assert!(matches!(post(&work.records), Ok(Outcome::Next(Position::PickRecord { .. }))));
		let mut random = Lcg(seed + 3);
		let member = random.next() as usize % world.spans.len();
		let with = |change: &dyn Fn(&mut Records)| {
			let mut records = work.records.clone();
			change(&mut records);
			post(&records)
		};
		// Another word in a record, which nobody has signed.
		let changed = with(&|records| records.records[member].0.steps[0].sums[0] ^= 1);
		assert_eq!(changed, Err(GameError::Root), "seed {seed}");
		let state_changed = with(&|records| records.records[member].0.state[0].iter_mut().take(1).for_each(|root| root[3] ^= 1));
		assert!(state_changed.is_err() || work.records.records[member].0.state[0].is_empty(), "seed {seed}");
		let unsigned = with(&|records| records.records[member].1[0] ^= 1);
		assert_eq!(unsigned, Err(GameError::Signature(member as u32)), "seed {seed}");
		// A sum that is not in canonical form: told to all, and signed by all.
		if !work.records.records[member].0.steps[0].squares.is_empty() {
			let sums = |records: &Records| -> Vec<u32> {
				let adapter = world.train.adapter.is_some();
				let mut all = vec![0; neuroshard_graph::span::sums(&world.model, adapter) as usize];
				for (span, (record, _)) in world.spans.iter().zip(&records.records) {
					let places = trained_units(&world.model, adapter, *span);
					places.into_iter().zip(&record.steps[0].squares).for_each(|(place, &bits)| all[place as usize] = bits);
				}
				all
			};
			let told = |bits: u32| {
				with(&|records| {
					records.records[member].0.steps[0].squares[0] = bits;
					let all: Vec<u32> = sums(records);
					for (number, (record, given)) in records.records.iter_mut().enumerate() {
						record.steps[0].sums = sums_hash(&all);
						*given = signature(number as u32, record.statement());
					}
				})
			};
			assert!(told(0x3f80_0000).is_ok(), "seed {seed}");
			assert_eq!([0x8000_0000, 0x7fc0_0001].map(told), [const { Err(GameError::Root) }; 2], "seed {seed}");
		}
		// A record of another attempt at the interval, which began with another state.
		let other_attempt = with(&|records| {
			let (record, given) = &mut records.records[member];
			record.before[0] ^= 1;
			*given = signature(member as u32, record.statement());
		});
		assert_eq!(other_attempt, Err(GameError::Root), "seed {seed}");
		// A result that the member's plan does not have.
		let Ok(Outcome::Next(picks)) = post(&work.records) else { panic!("they are taken") };
		let parts = work.records.parts(&world.spans);
		let hashes: Vec<Hash> = parts.iter().map(|part| part.hash()).collect();
		let pick = |out| {
			let proof = neuroshard_graph::merkle::prove(&hashes, member as u32).unwrap();
			picks.play(&setting, &Move::Record { member: member as u32, part: parts[member], proof, step: 0, out: Some(out) })
		};
		let said = &work.records.records[member].0.steps[0];
		let results = 3 + (said.gave.len() + said.squares.len()) as u32;
		assert!((3..results).all(|out| pick(out).is_ok()), "seed {seed}");
		assert_eq!([0, 2, results, 1_000, u32::MAX].map(pick), [const { Err(GameError::Place) }; 5], "seed {seed}");
		// Rows that another one did not send, signed by who says it was given them.
		if !work.records.records[member].0.steps[0].given.is_empty() {
			let other_rows = with(&|records| {
				let (record, given) = &mut records.records[member];
				record.steps[0].given[0][0] ^= 1;
				*given = signature(member as u32, record.statement());
			});
			assert!(matches!(other_rows, Err(GameError::Seam(_))), "seed {seed}: {other_rows:?}");
		}
		// A state before that is not the one agreed on, and a member left out.
		let other_start = with(&|records| records.before[member].iter_mut().flatten().take(1).for_each(|root| root[0] ^= 1));
		let has_any = work.records.before[member].iter().flatten().next().is_some();
		assert!(!has_any || other_start == Err(GameError::Root), "seed {seed}");
		assert!(with(&|records| drop(records.records.remove(member))).is_err());
		assert!(with(&|records| drop(records.before.remove(member))).is_err());
		assert!(with(&|records| drop(records.records[member].0.steps.pop())).is_err());
	}
}

#[test]
fn a_member_that_tells_other_rows_than_it_computed_loses() {
	let mut told = 0;
	for seed in 0..games().min(60) {
		let world = World::new(seed);
		let mut random = Lcg(seed + 4);
		let (state, _) = world.before(0);
		let truth = world.interval(0, &state, None).unwrap();
		let liar = random.next() as usize % world.spans.len();
		// What it tells in the first step is another number than it has, in rows, gradients or sums.
		let kind = random.next() as usize;
		let tell = |member: usize, gives: &mut GaveStep| {
			if member == liar {
				let mut numbers: Vec<&mut f32> =
					gives.rows.iter_mut().filter_map(|rows| rows.get_mut(5)).chain(gives.squares.iter_mut()).collect();
				let count = numbers.len().max(1);
				if let Some(number) = numbers.get_mut(kind % count) {
					**number = f32::from_bits(number.to_bits() ^ (1 << 20));
				}
			}
		};
		let Some(work) = world.interval_of(0, &state, tell).filter(|work| work.records != truth.records) else { continue };
		told += 1;
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &[work.end], Hash::default(), Doubt::Interval(0)).unwrap();
		let mut defender = Player::new(setting, Side::Defender, work.story, Some(&world.text as &dyn Library));
		let mut challenger = Player::new(setting, Side::Challenger, truth.story, Some(&world.text as &dyn Library));
		let end = referee(&setting, opened, &mut defends(&work.records, &mut defender), &mut honest(&mut challenger));
		let loser = match end {
			End::Ruled(Ruling::Fraud, member) | End::Silent(Side::Defender, member) => member,
			other => panic!("seed {seed}: {other:?}"),
		};
		assert_eq!(loser, Some(liar as u32), "seed {seed}: {end:?}");
	}
	assert!(told > 0);
}

#[test]
fn members_give_the_same_bits_by_passes_in_memory_and_by_their_traces() {
	// 256 sequences of 32 tokens come in two micro-batches.
	for (seed, batch) in (0..12).map(|seed| (seed, 1)).chain([(1, 256), (2, 256)]) {
		let mut world = World::new(seed);
		world.train.batch = batch;
		let tokens = random_tokens((batch * (world.train.seq_len + 1)) as usize, world.model.vocab, seed);
		let state = world.before(0).0;
		let records = |mistake: Option<(usize, Mistake)>| -> Vec<Record> {
			let mut story = world.quorum(0, &state, mistake);
			story.step(&tokens, |_, _| {}).unwrap();
			story.members.iter_mut().map(|member| member.record().clone()).collect()
		};
		let in_memory = records(None);
		for member in 0..world.spans.len() {
			// It turns no bits over, but is traced.
			let traced = Mistake { step: 0, stage: 0, output: 0, element: 0, mask: 0 };
			assert_eq!(records(Some((member, traced))), in_memory, "seed {seed}, member {member}");
		}
	}
}

/// The member that loses a game about an interval in which all go on past what is not finite, and whether it has the end of the model.
fn goes_on(world: &World, number: u32) -> (u32, bool) {
	let first = number * world.train.commit_interval;
	let (state, mut roots) = world.before(number);
	let (truth, ends) = world.honest(first, world.quorum(first, &state, None));
	assert!(ends);
	let members = world.quorum(first, &state, None).members.into_iter().map(SpanStory::going_on).collect();
	let work = world.computed(first, &state, QuorumStory { members }, |_, _| {}).unwrap();
	roots.push(work.end);
	let setting = world.setting(&signed);
	let opened = open_work(&setting, &roots, Hash::default(), Doubt::Interval(number)).unwrap();
	let mut defender = Player::new(setting, Side::Defender, work.story, Some(&world.text as &dyn Library));
	let mut challenger = Player::new(setting, Side::Challenger, truth, Some(&world.text as &dyn Library));
	let end = referee(&setting, opened, &mut defends(&work.records, &mut defender), &mut honest(&mut challenger));
	let End::Ruled(Ruling::Fraud, Some(member)) = end else { panic!("{end:?}") };
	(member, world.spans[member as usize].has(&world.model, units(&world.model) - 1))
}

#[test]
fn who_goes_on_past_a_loss_that_is_not_finite_loses() {
	let mut numbers = [0; 2];
	for world in (0..games()).filter_map(World::with_a_hole) {
		// The second step of the first interval, or the only one of the second.
		let number = u32::from(world.train.commit_interval == 1);
		let (_, has_end) = goes_on(&world, number);
		assert!(has_end);
		numbers[number as usize] += 1;
	}
	assert!(numbers.iter().all(|&count| count > 0), "{numbers:?}");
}

#[test]
fn whoever_goes_on_past_a_norm_that_is_not_finite_can_be_named_for_it() {
	let named: Vec<_> = (0..games()).filter_map(World::with_a_steep_end).map(|world| goes_on(&world, 0)).collect();
	// Each has the sums of all; the first one is named, and the end is the last one's.
	assert!(!named.is_empty() && named.iter().all(|named| *named == (0, false)), "{named:?}");
}

#[test]
fn honest_members_lose_to_no_challenger_whose_own_work_is_not_finite() {
	let mut ends = 0;
	for seed in 0..games() {
		let world = World::new(seed);
		let (state, mut roots) = world.before(0);
		let work = world.interval(0, &state, None).unwrap();
		let (liar, mistake) = drawn(&world, 0, &mut Lcg(seed + 5));
		let (accuser, has_ended) = world.honest(0, world.quorum(0, &state, Some((liar, Mistake { mask: 1 << 30, ..mistake }))));
		ends += u64::from(has_ended);
		roots.push(work.end);
		let setting = world.setting(&signed);
		let opened = open_work(&setting, &roots, Hash::default(), Doubt::Interval(0)).unwrap();
		let mut defender = Player::new(setting, Side::Defender, work.story, Some(&world.text as &dyn Library));
		let mut challenger = Player::new(setting, Side::Challenger, accuser, Some(&world.text as &dyn Library));
		let end = referee(&setting, opened, &mut defends(&work.records, &mut defender), &mut honest(&mut challenger));
		assert!(matches!(end, End::Ruled(Ruling::Unfounded, _) | End::Silent(Side::Challenger, _)), "seed {seed}: {end:?}");
	}
	assert!(ends * 4 > games(), "{ends}");
}
