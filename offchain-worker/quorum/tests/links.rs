//! Members on threads, linked by streams of bytes on this machine, have the bits of one machine; who is gone or late is named.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use common::{connection, tokens, Stamp};
use neuroshard_compute::exec::{Arena, Exec, StepMemory, Trainer};
use neuroshard_graph::{
	commit::{checkpoint_root, state_root, tensors_root},
	init::theta_0,
	span::{cut, Held, Span},
	ModelConfig, ParamLayout, TrainConfig,
};
use neuroshard_quorum::{
	link::{longest, read, write},
	run::room,
	work, Beginning, Handed, Interval, Leader, Mail, Member, Message, Place, QuorumError, Role, Start, Task,
};
use neuroshard_training::files::HANDED_TILES;
use neuroshard_types::{run::Work, H256};
use std::{collections::BTreeMap, sync::Arc, thread::JoinHandle, time::Duration};
use tokio::{runtime::Runtime, sync::mpsc::channel};
use tokio_util::sync::CancellationToken;

const FLYING: usize = 2;

fn setting() -> (ModelConfig, TrainConfig, Vec<Span>, Vec<f32>) {
	let model = ModelConfig { layers: 3, tied: false, ..ModelConfig::tiny() };
	let train = TrainConfig { batch: 4, inner_steps: 4, commit_interval: 2, ..TrainConfig::tiny() };
	let theta = theta_0(&model, &ParamLayout::new(&model).unwrap(), &[5; 32]);
	let spans = cut(&model, &[2, 2, 1]).unwrap();
	(model, train, spans, theta)
}

/// Mail of so many members, each linked with every other one; and what ends a member's links.
fn linked(runtime: &Runtime, members: usize) -> Vec<(Mail, CancellationToken)> {
	let mut mail: Vec<_> = (0..members)
		.map(|_| {
			let (sender, inbox) = channel(1);
			(sender, Mail::new(inbox, BTreeMap::new(), runtime.handle().clone()), CancellationToken::new())
		})
		.collect();
	for (low, high) in (0..members).flat_map(|low| (low + 1..members).map(move |high| (low, high))) {
		let ends = runtime.block_on(connection());
		for ((own, other), stream) in [(low, high), (high, low)].into_iter().zip(ends) {
			let (reads, writes) = stream.into_split();
			let (outbox, queue) = channel(room(FLYING));
			let (sender, mail, cancel) = &mut mail[own];
			runtime.spawn(write(writes, queue, cancel.clone()));
			runtime.spawn(read((other, longest(1 << 16)), reads, sender.clone(), cancel.clone()));
			mail.outboxes.insert(other, outbox);
		}
	}
	mail.into_iter().map(|(_, mail, cancel)| (mail, cancel)).collect()
}

type Worked = (Member<Stamp>, Vec<Result<Interval, QuorumError>>);

/// A member at work on the intervals of a round, until one of them fails.
fn member(number: usize, mut mail: Mail, steps: u32, patience: Duration) -> JoinHandle<Worked> {
	std::thread::spawn(move || {
		let (model, train, spans, theta) = setting();
		let own = Held::new(&model, None, spans[number]).unwrap().of(&theta);
		let place = Place { model: model.clone(), train: train.clone(), spans, member: number, micro_batch: 1, flying: FLYING, round: 0 };
		let layout = ParamLayout::new(&model).unwrap();
		let [params, momentum] = [&theta, &vec![0.0; layout.len()]].map(|vector| tensors_root(&layout, vector, 1));
		let start = Start::Checkpoint { root: checkpoint_root(&params, &momentum, 0, 0), momentum };
		let mut leader = Leader::new(&place, start).unwrap();
		let mut member = Member::new(place, Arc::new(Exec::new(1).unwrap()), Stamp(number), &own, None).unwrap();
		let mut intervals = Vec::new();
		for first in (0..steps).step_by(2) {
			let mut tokens = |step| Ok(tokens(&train, model.vocab, step));
			let role = if number == 0 { Role::Leads(&mut leader) } else { Role::Follows(0) };
			let mut task = Task { steps: first..steps.min(first + 2), tokens: &mut tokens, role, patience };
			intervals.push(work(&mut member, &mut mail, &mut task));
			if intervals.last().is_some_and(Result::is_err) {
				break;
			}
		}
		(member, intervals)
	})
}

#[test]
fn members_over_streams_have_the_bits_of_one_machine_and_the_leader_has_all_records() {
	let (model, train, _, theta) = setting();
	let mut trainer = Trainer::with_memory(Arc::new(Exec::new(2).unwrap()), &model, &train, StepMemory::default()).unwrap();
	let mut arena = Arena::new(trainer.arena_len());
	trainer.begin(&mut arena, &theta);
	let mut step = |step| trainer.train_step(&mut arena, &tokens(&train, model.vocab, step), step.into(), u64::from(step) + 1).unwrap();
	let outcomes: Vec<_> = (0..4).map(&mut step).collect();

	let runtime = Runtime::new().unwrap();
	let threads = linked(&runtime, 3).into_iter().enumerate();
	let threads: Vec<_> = threads.map(|(number, (mail, _))| member(number, mail, 4, Duration::from_secs(60))).collect();
	let worked: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
	for (number, (_, intervals)) in worked.iter().enumerate() {
		let intervals: Vec<_> = intervals.iter().map(|interval| interval.as_ref().unwrap()).collect();
		assert_eq!(intervals.iter().flat_map(|interval| interval.outcomes.clone()).collect::<Vec<_>>(), outcomes, "member {number}");
		assert!(intervals.iter().all(|interval| interval.led.is_some() == (number == 0)));
	}
	let [params, first, second] = trainer.state_roots(&arena);
	let led = worked[0].1[1].as_ref().unwrap().led.as_ref().unwrap();
	assert_eq!(led.root, state_root(&params, &first, &second, 4, 4 * u64::from(train.batch)));
	let posted: Vec<_> = led.records.records.iter().map(|(record, _)| record.clone()).collect();
	assert_eq!(posted, worked.iter().map(|(_, intervals)| intervals[1].as_ref().unwrap().told.record.clone()).collect::<Vec<_>>());
}

#[test]
fn a_member_whose_links_end_is_named_by_the_others() {
	let runtime = Runtime::new().unwrap();
	let mut all = linked(&runtime, 3);
	let (gone, cancel) = all.remove(1);
	cancel.cancel();
	drop(gone);
	let mut others = all.into_iter();
	let threads: Vec<_> = [0, 2].map(|number| member(number, others.next().unwrap().0, 4, Duration::from_secs(60))).into();
	let named = threads.into_iter().map(|thread| {
		let (_, intervals) = thread.join().unwrap();
		match intervals.last().unwrap().as_ref().unwrap_err() {
			QuorumError::Gone(member, _) => *member,
			error => panic!("{error}"),
		}
	});
	// Whoever gives up first names it; the other one may see first that this one is gone.
	let named: Vec<_> = named.collect();
	assert!(named.contains(&1) && named.iter().zip([0, 2]).all(|(named, own)| *named != own), "{named:?}");
}

#[test]
fn a_member_that_says_nothing_is_named_by_who_waits_for_it() {
	let runtime = Runtime::new().unwrap();
	let mut all = linked(&runtime, 3).into_iter();
	let (first, _silent) = (all.next().unwrap(), all.next().unwrap());
	// The first one waits for gradients of the rows that it has sent: nobody computes them.
	let (_, intervals) = member(0, first.0, 4, Duration::from_millis(50)).join().unwrap();
	let error = intervals.last().unwrap().as_ref().unwrap_err();
	let QuorumError::Late(members, _) = error else { panic!("{error}") };
	assert!(members.contains(&1), "{error}");
	assert!(error.to_string().starts_with("nothing came from member 1"), "{error}");
}

#[test]
fn all_that_a_round_begins_and_ends_with_arrives_as_it_was_sent_with_as_many_tiles_as_are_handed_over_at_a_time() {
	let work = Work { state_roots: vec![H256([3; 32]); 2].try_into().unwrap(), delta_root: H256([4; 32]), delta_bytes: 4_096, tokens: 77 };
	let tiles = (0..HANDED_TILES * 4_096).map(|byte| byte as u8).collect();
	let sent = vec![
		Message::Have(vec![Beginning { steps: 4, state: [1; 32] }, Beginning { steps: 0, state: [2; 32] }]),
		Message::Begin(4),
		Message::Give,
		Message::Tiles(Handed { first: 9, tiles }),
		Message::Done(Box::new(work)),
	];
	let arrived = Runtime::new().unwrap().block_on(async {
		let (near, far) = tokio::io::duplex(1 << 10);
		let ((outbox, queue), (inbox, mut arrives)) = (channel(1), channel(1));
		tokio::spawn(write(near, queue, CancellationToken::new()));
		// No rows of a micro-batch are longer.
		tokio::spawn(read((2, longest(0)), far, inbox, CancellationToken::new()));
		let messages = sent.clone();
		tokio::spawn(async move {
			for message in messages {
				outbox.send(message).await.unwrap();
			}
		});
		let mut arrived = Vec::new();
		while let Some((2, Ok(message))) = arrives.recv().await {
			arrived.push(message);
		}
		arrived
	});
	assert!(arrived == sent);
}
