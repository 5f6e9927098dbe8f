//! A leader names whose records do not fit together before it reveals anything.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use common::{
	network::{leader, led, place, theta, Network},
	Stamp,
};
use neuroshard_graph::{
	commit::tensors_root,
	config::{Adapter, Projections},
	cover::merge,
	game::sums_hash,
	init::theta_0,
	span::{trained_units, Held},
	ModelConfig, ParamLayout, TrainConfig, F32,
};
use neuroshard_quorum::{Fault, LeadError, Leader, Place, Signer, Start, Told};

/// A quorum of three, which the first one leads.
fn setting() -> Place {
	let model = ModelConfig { layers: 2, tied: false, ..ModelConfig::tiny() };
	let train = TrainConfig { batch: 2, inner_steps: 4, commit_interval: 2, ..TrainConfig::tiny() };
	place(&model, &train, &[2, 1, 1], (1, 2))
}

fn signed(member: usize, told: &mut Told) {
	told.signature = Stamp(member).sign(told.record.statement());
}

#[test]
fn a_record_that_is_not_one_of_the_interval_or_not_signed_is_refused_and_its_member_named() {
	let (place, member) = (setting(), 1);
	let theta = theta(&place);
	let (told, sums) = Network::new(&place, &theta).interval(&place, 0..2);
	let refused = |change: &dyn Fn(&mut Told)| {
		let (mut leader, mut told) = (leader(&place, &theta), told.clone());
		leader.begin(0..2).unwrap();
		change(&mut told[member]);
		match leader.take(&Stamp(0), member, told[member].clone()) {
			Err(Fault::Member { member: named, what }) => {
				assert_eq!((named, leader.missing()), (member, vec![0, 1, 2]));
				what
			}
			other => panic!("{other:?}"),
		}
	};
	let resigned = |change: &dyn Fn(&mut Told)| {
		refused(&|told| {
			change(told);
			signed(member, told);
		})
	};
	assert_eq!(refused(&|told| told.signature[0] ^= 1), "sent a record that it has not signed");
	assert_eq!(refused(&|told| told.record.steps[1].sums[0] ^= 1), "sent a record that it has not signed");
	assert_eq!(resigned(&|told| told.record.first = 2), "sent a record of another interval");
	assert_eq!(resigned(&|told| drop(told.record.steps.pop())), "sent a record of another interval");
	let shape = "sent a record of another shape than its span's";
	assert_eq!(resigned(&|told| told.record.steps[0].given.clear()), shape);
	assert_eq!(resigned(&|told| told.record.steps[0].squares.push(0)), shape);
	assert_eq!(resigned(&|told| told.record.state[2].clear()), shape);
	assert_eq!(resigned(&|told| told.before[0].push([0; 32])), shape);
	assert_eq!(resigned(&|told| told.base.push([0; 32])), shape);
	let other_before = "sent another state before the interval than its record is about";
	assert_eq!(resigned(&|told| told.before[0][0][0] ^= 1), other_before);
	assert_eq!(resigned(&|told| told.record.before[0] ^= 1), other_before);
	// Moments that are not zero where a round starts.
	let moments = |told: &mut Told| {
		told.before[1][0][0] ^= 1;
		told.record.before = neuroshard_graph::game::Record::new(0, &told.before, None).before;
	};
	assert_eq!(resigned(&moments), "began the interval with another state than its own part of the one that is agreed on");

	let mut leader = leader(&place, &theta);
	leader.begin(0..2).unwrap();
	assert_eq!(leader.check(&Stamp(0), &sums), Err(LeadError::Missing(vec![0, 1, 2])));
	leader.take(&Stamp(0), member, told[member].clone()).unwrap();
	let twice = leader.take(&Stamp(0), member, told[member].clone());
	assert_eq!(twice, Err(Fault::Member { member, what: "sent a record twice" }));
	let stranger = leader.take(&Stamp(0), 3, told[member].clone());
	assert_eq!(stranger, Err(Fault::Member { member: 3, what: "is no member" }));
	assert_eq!(leader.begin(2..4), Err(LeadError::Interval { known: 0, asked: 2 }));
}

#[test]
fn records_that_do_not_fit_together_name_members_and_the_interval_can_be_begun_again() {
	let place = setting();
	let theta = theta(&place);
	let (told, sums) = Network::new(&place, &theta).interval(&place, 0..2);
	let checked = |leader: &mut Leader, liar: usize, change: &dyn Fn(&mut Told)| {
		let mut told = told.clone();
		change(&mut told[liar]);
		signed(liar, &mut told[liar]);
		leader.begin(0..2).unwrap();
		told.into_iter().enumerate().for_each(|(member, told)| leader.take(&Stamp(0), member, told).unwrap());
		leader.check(&Stamp(0), &sums)
	};
	let mut same = leader(&place, &theta);
	let mut named = |liar: usize, change: &dyn Fn(&mut Told)| checked(&mut same, liar, change).unwrap_err();

	// The first one has the end and the embedding: rows go from each to the next one around the ring, and gradients back.
	let error = named(1, &|told| told.record.steps[1].given[0][0] ^= 1);
	assert!(matches!(error, LeadError::Seam { step: 1, gave: 0, given: 1, .. }), "{error}");
	assert_eq!(error.members(0), [1]);
	let error = named(2, &|told| told.record.steps[0].gave[0][0] ^= 1);
	assert!(matches!(error, LeadError::Seam { step: 0, gave: 2, given: 0, .. }), "{error}");
	assert_eq!(error.members(0), [2]);
	let error = named(2, &|told| told.record.steps[0].gave[1][0] ^= 1);
	assert!(matches!(error, LeadError::Seam { step: 0, gave: 2, given: 1, .. }), "{error}");
	assert_eq!(error.members(0), [2, 1]);
	// Sums in its record that it has not told, also if all sums are then said to be these.
	let error = named(1, &|told| told.record.steps[0].squares[0] ^= 1);
	assert_eq!((error.clone(), error.members(0)), (LeadError::Squares { step: 0, member: 1 }, vec![1]));
	let error = named(1, &|told| {
		let unit = trained_units(&place.model, false, place.spans[1])[0] as usize;
		let mut all = sums[0].clone();
		all[unit] ^= 1;
		told.record.steps[0].squares[0] ^= 1;
		told.record.steps[0].sums = sums_hash(&all);
	});
	assert_eq!(error, LeadError::Squares { step: 0, member: 1 });
	let error = named(2, &|told| told.record.steps[1].sums[5] ^= 1);
	assert_eq!((error.clone(), error.members(0)), (LeadError::Sums { step: 1, member: 2 }, vec![2]));

	// A false state after the steps fits: it is its member's loss in a game, not the leader's. And honest records are taken after all that.
	let honest = checked(&mut same.clone(), 0, &|_| ()).unwrap();
	let false_state = checked(&mut same.clone(), 1, &|told| told.record.state[0][0][0] ^= 1).unwrap();
	assert_ne!(honest.root, false_state.root);
	assert_eq!(honest, checked(&mut leader(&place, &theta), 0, &|_| ()).unwrap());
}

#[test]
fn who_begins_with_another_state_is_named_by_a_leader_that_knows_the_parts_of_that_state() {
	let place = setting();
	let theta = theta(&place);
	let mut other = theta.clone();
	let second = Held::new(&place.model, None, place.spans[1]).unwrap();
	other[second.elements[0].start + 3] += 1.0;

	// Nobody but the members knows what each of them has of the checkpoint: it is one of those that are not the leader.
	let (told, sums) = Network::new(&place, &other).interval(&place, 0..2);
	let mut unknowing = leader(&place, &theta);
	unknowing.begin(0..2).unwrap();
	told.clone().into_iter().enumerate().for_each(|(member, told)| unknowing.take(&Stamp(0), member, told).unwrap());
	let error = unknowing.check(&Stamp(0), &sums).unwrap_err();
	assert_eq!((error.clone(), error.members(0)), (LeadError::Start(vec![0, 1, 2]), vec![1, 2]));

	let part = |span| {
		let held = Held::new(&place.model, None, span).unwrap();
		let own = held.of(&theta);
		[held.roots(&own, 1), held.roots(&vec![0.0; own.len()], 1), held.roots(&vec![0.0; own.len()], 1)]
	};
	let mut knowing = leader(&place, &theta).with_parts(place.spans.iter().map(|&span| part(span)).collect());
	knowing.begin(0..2).unwrap();
	let taken: Vec<_> = told.into_iter().enumerate().map(|(member, told)| knowing.take(&Stamp(0), member, told)).collect();
	let what = "began the interval with another state than its own part of the one that is agreed on";
	assert_eq!(taken, [Ok(()), Err(Fault::Member { member: 1, what }), Ok(())]);

	// After an interval every leader knows them; and a leader can begin with a state of which it has the root.
	let mut network = Network::new(&place, &theta);
	let mut leads = leader(&place, &theta);
	let after = led(&mut leads, 0..2, network.interval(&place, 0..2));
	let (mut told, sums) = network.interval(&place, 2..4);
	let mut replaced = Leader::new(&place, Start::State { root: after.root, steps: 2 }).unwrap();
	let second = led(&mut replaced, 2..4, (told.clone(), sums.clone()));
	assert_eq!(second, led(&mut leads.clone(), 2..4, (told.clone(), sums)));
	told[1].before[2][0][0] ^= 1;
	told[1].record.before = neuroshard_graph::game::Record::new(2, &told[1].before, None).before;
	signed(1, &mut told[1]);
	leads.begin(2..4).unwrap();
	assert_eq!(leads.take(&Stamp(0), 1, told[1].clone()), Err(Fault::Member { member: 1, what }));

	// The roots in what is posted are those over the whole vectors.
	let held: Vec<_> = place.spans.iter().map(|&span| Held::new(&place.model, None, span).unwrap()).collect();
	let covers: Vec<_> = held.iter().map(Held::cover).collect();
	let lists: Vec<_> = covers.iter().zip(&second.records.before).map(|(cover, lists)| (cover, lists[0].as_slice())).collect();
	let neuroshard_graph::game::Contents::State([params, ..]) = second.records.contents else { panic!("a state") };
	assert_eq!(merge(held[0].all_tiles, &lists), Some(params));
}

#[test]
fn of_an_adapter_the_base_that_members_have_is_the_one_that_it_is_beside() {
	let place = setting();
	let base = theta(&place);
	let root = tensors_root(&ParamLayout::new(&place.model).unwrap(), &base, 1);
	let adapter = Adapter { base: root, rank: 8, alpha: F32::new(1.0), projections: Projections::ALL };
	let place = Place { train: TrainConfig { adapter: Some(adapter), ..place.train.clone() }, ..place };
	let theta = theta_0(&place.model, &ParamLayout::trained(&place.model, &place.train).unwrap(), &[5; 32]);
	let told = |base: &[f32]| Network::beside(&place, &theta, Some(base)).interval(&place, 0..2);
	let after = led(&mut leader(&place, &theta), 0..2, told(&base));
	assert!(after.records.before.iter().all(|lists| lists.len() == 2));

	let mut other = base.clone();
	other[3] += 1.0;
	let (told, sums) = told(&other);
	let mut leads = leader(&place, &theta);
	leads.begin(0..2).unwrap();
	told.into_iter().enumerate().for_each(|(member, told)| leads.take(&Stamp(0), member, told).unwrap());
	assert_eq!(leads.check(&Stamp(0), &sums), Err(LeadError::Start(vec![0, 1, 2])));
}
