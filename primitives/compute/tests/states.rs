//! Defending with states that were kept while training.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{lively_theta, random_tokens, tiny_model, tiny_train};
use core::{convert::Infallible, ops::ControlFlow};
use neuroshard_compute::{
	exec::{Arena, Exec, Trainer},
	player::{Player, Story, WorkStory},
	round::{run_round, RoundStart},
};
use neuroshard_graph::{
	commit::{checkpoint_root, tensors_root},
	corpus::{Corpus, TokenWidth},
	game::{Anchor, Move, Position, Setting, Side, Subject},
	TrainConfig,
};
use std::{
	collections::BTreeMap,
	sync::{Arc, Mutex},
};

#[test]
fn a_kept_state_saves_the_steps_before_it_and_those_of_other_intervals() {
	let model = tiny_model();
	let train = TrainConfig { inner_steps: 12, commit_interval: 3, ..tiny_train() };
	let exec = Arc::new(Exec::new(1).unwrap());
	let mut trainer = Trainer::new(exec.clone(), &model, &train).unwrap();
	let mut arena = Arena::new(trainer.arena_len());
	let theta = lively_theta(trainer.layout(), 1);
	let momentum = tensors_root(trainer.layout(), &vec![0.0; theta.len()], 1);
	let all = random_tokens(12 * trainer.batch_tokens(), model.vocab, 2);
	let per_sequence = trainer.batch_tokens() / train.batch as usize;
	let tokens = |step: u32, sequence: u32, buffer: &mut [u32]| {
		let at = (step * train.batch + sequence) as usize * per_sequence;
		buffer.copy_from_slice(&all[at..at + per_sequence]);
		Ok::<_, Infallible>(())
	};
	let mut kept = BTreeMap::new();
	run_round(
		&mut trainer,
		&mut arena,
		RoundStart::new(&theta, 0),
		tokens,
		|_| ControlFlow::Continue(()),
		|state| {
			// Every other one, and one of another model.
			match state.step {
				3 | 9 => kept.insert(state.step, state.vectors.map(<[f32]>::to_vec).unwrap()),
				6 => kept.insert(6, [vec![], vec![], vec![]]),
				_ => None,
			};
		},
	)
	.unwrap();

	let ran = Arc::new(Mutex::new(Vec::new()));
	let story = || {
		let ran = ran.clone();
		WorkStory::new(exec.clone(), &model, &train, 0, (theta.clone(), momentum), move |step, sequence, buffer: &mut [u32]| {
			if sequence == 0 {
				ran.lock().unwrap().push(step);
			}
			tokens(step, sequence, buffer)
		})
		.unwrap()
	};
	// What is of another model counts for nothing, and hides what is before it.
	for (first, expected) in [(9, 9..12), (6, 0..9), (3, 3..6), (0, 0..3)] {
		let roots = story().roots(first, 3).unwrap();
		ran.lock().unwrap().clear();
		let states = kept.clone();
		let last = move |known: u32, most: u32| states.range(known + 1..=most).next_back().map(|(step, state)| (*step, state.clone()));
		assert_eq!(story().with_states(Box::new(last)).roots(first, 3).unwrap(), roots, "from step {first}");
		assert_eq!(*ran.lock().unwrap(), expected.collect::<Vec<_>>(), "from step {first}");
	}

	// A defence from a kept state: the interval but for its last step, whose end was claimed, and the one step that is traced.
	let start = checkpoint_root(&tensors_root(trainer.layout(), &theta, 1), &momentum, 0, 0);
	let corpus = Corpus { root: [0; 32], shards: 1, tokens_per_shard: 1, width: TokenWidth::Two };
	let setting = Setting {
		model: &model,
		train: &train,
		round: 0,
		start,
		subject: Subject::Work { corpus, window: &|_, _| None, steps: train.inner_steps, base: None, quorum: None },
	};
	let roots: Vec<_> = story().roots(0, 12).unwrap();
	for step in 3..6 {
		ran.lock().unwrap().clear();
		let mut defender = Player::new(setting, Side::Defender, story().with_state(3, kept[&3].clone()).unwrap(), None);
		let interval = Position::Steps { first: 3, count: 3, start: Anchor::State(roots[2]), end: roots[5] };
		assert_eq!(defender.play(&interval, &[]).unwrap(), Move::Steps(roots[3..6].to_vec()));
		assert_eq!(*ran.lock().unwrap(), [3, 4]);
		let before = Anchor::State(roots[step as usize - 1]);
		defender.play(&Position::Nodes { step, before, after: roots[step as usize] }, &[]).unwrap();
		assert_eq!(*ran.lock().unwrap(), [3, 4, step]);
	}
}
