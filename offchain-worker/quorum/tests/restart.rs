//! An interval that was interrupted is taken again by members that start from the last state that all have.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use common::{
	network::{first, leader, led, place, theta, Network},
	tokens, Stamp,
};
use neuroshard_compute::exec::Exec;
use neuroshard_graph::{ModelConfig, TrainConfig};
use neuroshard_quorum::{member::JoinError, Fault, Keep, Leader, Member, Place, Start};
use proptest::prelude::*;
use std::{path::Path, sync::Arc};
use tempfile::TempDir;

fn setting() -> Place {
	let model = ModelConfig { layers: 2, tied: false, ..ModelConfig::tiny() };
	let train = TrainConfig { batch: 2, inner_steps: 6, commit_interval: 3, ..TrainConfig::tiny() };
	place(&model, &train, &[2, 1, 1], (1, 2))
}

fn keep(folder: &Path, member: usize) -> Keep {
	Keep::new(folder.join(member.to_string())).unwrap()
}

/// Members of new processes: all that they have is in files.
fn restarted(place: &Place, folder: &Path, first: u32) -> Network {
	let member = |number: usize| {
		let (place, keep) = (Place { member: number, ..place.clone() }, keep(folder, number));
		let state = keep.kept(first).unwrap().pop().unwrap().start(&place).unwrap();
		let state = (first, state.each_ref().map(Vec::as_slice));
		Member::from_state(place, Arc::new(Exec::new(1).unwrap()), Stamp(number), state, None).unwrap().with_keep(keep)
	};
	Network::of((0..place.spans.len()).map(member).collect())
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(24))]

	#[test]
	fn an_interval_that_was_interrupted_anywhere_has_the_same_records_and_bits_when_it_is_taken_again(
		interval in 0u32..2,
		turns in 0usize..120,
		order in any::<u64>(),
	) {
		let (place, folder) = (setting(), TempDir::new().unwrap());
		let theta = theta(&place);
		let of = |step| tokens(&place.train, place.model.vocab, step);
		let mut alone = (Network::new(&place, &theta), leader(&place, &theta));
		let expected: Vec<_> = [0..3, 3..6].map(|steps| led(&mut alone.1, steps.clone(), alone.0.interval(&place, steps))).into();

		let members = Network::new(&place, &theta).members.into_iter().enumerate();
		let mut network = Network::of(members.map(|(number, member)| member.with_keep(keep(folder.path(), number))).collect());
		let mut leads = leader(&place, &theta);
		if interval == 1 {
			led(&mut leads, 0..3, network.interval(&place, 0..3));
		}
		let (steps, mut at) = (3 * interval..3 * interval + 3, order);
		let is_over = network.run_until(turns + 1, steps.clone(), of, |below| {
			at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
			(at >> 40) as usize % below
		});
		prop_assume!(!is_over);
		drop(network);

		let mut network = restarted(&place, folder.path(), steps.start);
		let mut leads = match interval {
			0 => leader(&place, &theta),
			_ => Leader::new(&place, Start::State { root: expected[0].root, steps: 3 }).unwrap(),
		};
		prop_assert_eq!(&led(&mut leads, steps.clone(), network.interval(&place, steps)), &expected[interval as usize]);
		for (member, other) in network.members.iter().zip(&alone.0.members) {
			prop_assert!(interval == 0 || member.outcome() == other.outcome());
		}
		// What is kept of the second attempt is all that a defence needs.
		for member in 0..place.spans.len() {
			let kept = keep(folder.path(), member).kept(3 * interval).unwrap();
			prop_assert_eq!(kept.iter().map(|kept| kept.has_ended()).collect::<Vec<_>>(), [true]);
			prop_assert_eq!(&kept[0].record().unwrap(), &expected[interval as usize].records.records[member]);
		}
		if interval == 0 {
			prop_assert_eq!(&led(&mut leads, 3..6, network.interval(&place, 3..6)), &expected[1]);
		}
	}
}

#[test]
fn a_member_takes_no_other_step_than_the_next_one_and_no_vectors_of_another_span() {
	let place = setting();
	let theta = theta(&place);
	let mut network = Network::new(&place, &theta);
	let batch = tokens(&place.train, place.model.vocab, 0);
	assert_eq!(network.members[0].begin(1, &batch), Err(Fault::Order { next: 0, asked: 1 }));
	network.members[0].begin(0, &batch).unwrap();
	assert_eq!(network.members[0].begin(0, &batch), Err(Fault::Order { next: 0, asked: 0 }));

	let mut network = Network::new(&place, &theta);
	network.run(0..3, |step| tokens(&place.train, place.model.vocab, step), first);
	assert_eq!(network.members[1].begin(0, &[]), Err(Fault::Order { next: 3, asked: 0 }));

	let of = |member, vectors: [&[f32]; 3]| {
		let (place, exec) = (Place { member, ..place.clone() }, Arc::new(Exec::new(1).unwrap()));
		Member::from_state(place, exec, Stamp(member), (3, vectors), None).err()
	};
	let expected = neuroshard_graph::span::Held::new(&place.model, None, place.spans[1]).unwrap().layout.len();
	let own = vec![0.0; expected];
	assert_eq!(of(1, [&own, &own, &own]), None);
	assert_eq!(of(1, [&own, &own, &theta]), Some(JoinError::Length { expected, found: theta.len() }));
	assert_eq!(of(1, [&own, &[], &own]), Some(JoinError::Length { expected, found: 0 }));
	assert_eq!(of(1, [&[], &own, &own]), Some(JoinError::Length { expected, found: 0 }));
	assert_eq!(of(7, [&own, &own, &own]), Some(JoinError::Member(7)));
}
