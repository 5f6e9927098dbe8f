//! The training step against an independent f64 model, and what a step and a round promise.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "common/reference.rs"]
mod reference;

use common::{every_code, lively_theta, random_tokens, sent_as, small::other_families, tiny_model, tiny_train};
use core::{convert::Infallible, ops::ControlFlow};
use neuroshard_compute::{
	exec::{decode_delta, Arena, Exec, StepError, Trainer, ValidationError, Validator},
	round::{run_round, InnerState, Progress, Reached, RoundError, RoundOutcome, RoundStart, Stop},
};
use neuroshard_graph::{commit, init::theta_0, Aggregator, ModelConfig, ParamLayout, Robust, Rule, TrainConfig, F32};
use reference::Reference;
use std::sync::Arc;

fn trainer(model: &ModelConfig, train: &TrainConfig, threads: usize) -> (Trainer, Arena) {
	let trainer = Trainer::new(Arc::new(Exec::new(threads).unwrap()), model, train).unwrap();
	let arena = Arena::new(trainer.arena_len());
	(trainer, arena)
}

fn bits(values: &[f32]) -> Vec<u32> {
	values.iter().map(|value| value.to_bits()).collect()
}

/// `||a - b|| / ||b||`.
fn relative_error(pairs: &[(f64, f64)]) -> f64 {
	let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
	norm(&mut pairs.iter().map(|(a, b)| a - b)) / norm(&mut pairs.iter().map(|(_, b)| *b))
}

fn gradients_agree(model: &ModelConfig) {
	let train = tiny_train();
	let (mut trainer, mut arena) = trainer(model, &train, 2);
	let layout = ParamLayout::new(model).unwrap();
	let theta = lively_theta(&layout, 3);
	let tokens = random_tokens(trainer.batch_tokens(), model.vocab, 4);
	trainer.theta_mut(&mut arena).copy_from_slice(&theta);
	let outcome = trainer.gradients(&mut arena, &tokens).unwrap();
	let gradient: Vec<f64> = trainer.gradient(&arena).iter().map(|&g| g.into()).collect();

	let reference = Reference::new(model);
	let mut theta: Vec<f64> = theta.iter().map(|&v| v.into()).collect();
	let seq = train.seq_len as usize;
	let loss = reference.loss(&theta, &tokens, seq);
	assert!((f64::from(outcome.loss) - loss).abs() < 1e-5 * loss, "loss {} against {loss}", outcome.loss);
	let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
	assert!((f64::from(outcome.grad_norm) - norm).abs() < 1e-5 * norm);

	const STEP: f64 = 1e-4;
	for tensor in layout.tensors() {
		let at = tensor.range();
		// Single elements, with the largest gradient among them so that the comparison has a scale.
		let largest = at.clone().max_by(|&a, &b| gradient[a].abs().total_cmp(&gradient[b].abs())).unwrap();
		let stride = tensor.len() / 7 + 1;
		let mut pairs = Vec::new();
		for element in at.clone().step_by(stride).chain([largest]) {
			let old = theta[element];
			theta[element] = old + STEP;
			let above = reference.loss(&theta, &tokens, seq);
			theta[element] = old - STEP;
			let below = reference.loss(&theta, &tokens, seq);
			theta[element] = old;
			pairs.push((gradient[element], (above - below) / (2.0 * STEP)));
		}
		let error = relative_error(&pairs);
		assert!(error < 1e-3, "{}: elements differ by {error:e}", tensor.name);

		// The whole tensor at once: along its gradient the loss rises by the gradient's norm.
		let norm = gradient[at.clone()].iter().map(|g| g * g).sum::<f64>().sqrt();
		let along = |step: f64| {
			let mut moved = theta.clone();
			for (value, g) in moved[at.clone()].iter_mut().zip(&gradient[at.clone()]) {
				*value += step * g / norm;
			}
			reference.loss(&moved, &tokens, seq)
		};
		let slope = (along(STEP) - along(-STEP)) / (2.0 * STEP);
		assert!((norm - slope).abs() < 1e-3 * slope, "{}: norm {norm:e} against slope {slope:e}", tensor.name);
	}
}

#[test]
fn gradients_of_a_tied_model_agree_with_finite_differences() {
	gradients_agree(&tiny_model());
}

#[test]
fn gradients_of_an_untied_model_agree_with_finite_differences() {
	gradients_agree(&ModelConfig { tied: false, kv_heads: 4, ..tiny_model() });
}

#[test]
fn gradients_of_models_with_biases_and_with_norms_of_heads_agree_with_finite_differences() {
	for model in other_families() {
		gradients_agree(&model);
	}
}

#[test]
fn one_step_is_adamw_on_the_clipped_gradient() {
	let model = tiny_model();
	let train = TrainConfig { clip: F32::new(0.05), ..tiny_train() };
	let (mut trainer, mut arena) = trainer(&model, &train, 1);
	let theta = lively_theta(trainer.layout(), 5);
	let tokens = random_tokens(trainer.batch_tokens(), model.vocab, 6);
	trainer.theta_mut(&mut arena).copy_from_slice(&theta);
	let outcome = trainer.train_step(&mut arena, &tokens, 1, 1).unwrap();
	assert!(outcome.grad_norm > 0.05);
	let scale = 0.05 / f64::from(outcome.grad_norm);
	// Second step of a warm-up of four to 3e-3; the first step's corrected moments are the gradient itself.
	let lr = 3e-3 * 2.0 / 4.0;
	for ((&new, &old), &g) in trainer.theta(&arena).iter().zip(&theta).zip(trainer.gradient(&arena)) {
		let (old, g) = (f64::from(old), f64::from(g) * scale);
		let expected = old * (1.0 - lr * 0.1) - lr * g / (g.abs() + 1e-8);
		assert!((f64::from(new) - expected).abs() < 2e-7 + 1e-4 * lr, "{new} against {expected}");
	}
}

#[test]
fn loss_falls_on_a_repeating_pattern() {
	let model = tiny_model();
	let train = tiny_train();
	let (mut trainer, mut arena) = trainer(&model, &train, 2);
	let theta = theta_0(&model, trainer.layout(), &train.seed);
	trainer.theta_mut(&mut arena).copy_from_slice(&theta);
	let tokens: Vec<u32> = (0..trainer.batch_tokens()).map(|i| u32::try_from(i * 5 % 11).unwrap()).collect();
	let losses: Vec<f32> = (0..50).map(|step| trainer.train_step(&mut arena, &tokens, step, step + 1).unwrap().loss).collect();
	assert!((losses[0] - 64f32.ln()).abs() < 0.1, "a new model guesses: {}", losses[0]);
	assert!(losses[49] < 0.2 * losses[0], "{losses:?}");
}

fn round(threads: usize, adopted: u32) -> RoundOutcome {
	let (model, train) = (tiny_model(), tiny_train());
	let (mut trainer, mut arena) = trainer(&model, &train, threads);
	let theta = theta_0(&model, trainer.layout(), &train.seed);
	// Whatever an earlier job left in the arena must not matter.
	arena.fill(if threads == 1 { 0.0 } else { f32::NAN });
	let tokens = |step: u32, sequence: u32, buffer: &mut [u32]| {
		buffer.copy_from_slice(&random_tokens(buffer.len(), 64, u64::from(step * 2 + sequence)));
		Ok::<_, Infallible>(())
	};
	run_round(&mut trainer, &mut arena, RoundStart::new(&theta, adopted), tokens, |_| ControlFlow::Continue(()), |_| {}).unwrap()
}

#[test]
fn a_round_has_the_same_bits_with_one_and_two_threads() {
	let (one, two) = (round(1, 0), round(2, 0));
	assert_eq!(bits(&one.delta), bits(&two.delta));
	assert_eq!(one, two);
	assert_eq!(one.state_roots.len(), 3);
	assert_eq!(one.losses.len(), 6);
}

#[test]
fn a_later_round_is_further_in_the_schedule() {
	let (first, second) = (round(1, 0), round(1, 1));
	// The first forward pass is the same; warm-up is over in the second round, so it moves further.
	assert_eq!(first.losses[0], second.losses[0]);
	let length = |delta: &[f32]| delta.iter().map(|d| d * d).sum::<f32>();
	assert!(length(&second.delta) > length(&first.delta));
}

#[test]
fn a_round_commits_to_the_states_that_single_steps_reach() {
	let (model, train) = (tiny_model(), tiny_train());
	let expected = round(1, 2);
	let (mut trainer, mut arena) = trainer(&model, &train, 2);
	let theta = theta_0(&model, trainer.layout(), &train.seed);
	trainer.theta_mut(&mut arena).copy_from_slice(&theta);
	for step in 0..6u64 {
		let tokens: Vec<u32> = (0..2).flat_map(|sequence| random_tokens(33, 64, step * 2 + sequence)).collect();
		trainer.train_step(&mut arena, &tokens, 12 + step, step + 1).unwrap();
	}
	let root = |values| commit::tensors_root(trainer.layout(), values, 1);
	let moments = (root(trainer.first_moment(&arena)), root(trainer.second_moment(&arena)));
	let state = commit::state_root(&root(trainer.theta(&arena)), &moments.0, &moments.1, 6, 12);
	assert_eq!(expected.state_roots[2], state);
	let delta: Vec<f32> = theta.iter().zip(trainer.theta(&arena)).map(|(a, b)| a - b).collect();
	assert_eq!(bits(&expected.delta), bits(&delta));
	assert_eq!(expected.delta_root, root(&delta));
}

#[test]
fn what_a_code_does_not_say_is_added_to_the_next_delta() {
	let model = tiny_model();
	for code in every_code() {
		let train = sent_as(code);
		let (mut trainer, mut arena) = trainer(&model, &train, 2);
		let (exec, layout) = (trainer.exec().clone(), trainer.layout().clone());
		let theta = theta_0(&model, &layout, &train.seed);
		let mut coded = |residual: Option<&[f32]>, adopted: u32| {
			let tokens = |step: u32, sequence: u32, buffer: &mut [u32]| {
				buffer.copy_from_slice(&random_tokens(buffer.len(), 64, u64::from(step * 2 + sequence)));
				Ok::<_, Infallible>(())
			};
			let start = RoundStart { residual, ..RoundStart::new(&theta, adopted) };
			run_round(&mut trainer, &mut arena, start, tokens, |_| ControlFlow::Continue(()), |_| {}).unwrap()
		};
		let plain = round(1, 2).delta;
		let first = coded(None, 2);
		let said = decode_delta(&train, &*exec, &layout, first.delta.clone()).unwrap();
		let root = |values: &[f32]| commit::tensors_root(&layout, values, 1);
		assert_eq!(first.delta_root, commit::tensors_root(&ParamLayout::of_deltas(&model, &train).unwrap(), &first.delta, 1));
		let Some(decay) = code.decay() else {
			assert_eq!(first.residual, None);
			let most = plain.iter().map(|x| x.abs()).fold(0.0, f32::max);
			assert!(plain.iter().zip(&said).all(|(x, said)| (x - said).abs() <= most / 250.0), "half a step of the largest tile");
			continue;
		};
		let residual = first.residual.unwrap();
		assert_eq!(residual.roots, [root(&vec![0.0; layout.len()]), root(&residual.after)]);
		assert!(plain.iter().zip(&said).zip(&residual.after).all(|((x, said), rest)| x - said == *rest));
		let second = coded(Some(&residual.after), 2);
		let encoded: Vec<f32> = plain.iter().zip(&residual.after).map(|(x, e)| decay.get().mul_add(*e, *x)).collect();
		let said = decode_delta(&train, &*exec, &layout, second.delta).unwrap();
		let after = second.residual.unwrap();
		assert!(encoded.iter().zip(&said).zip(&after.after).all(|((x, said), rest)| x - said == *rest));
		assert_eq!(after.roots, [root(&residual.after), root(&after.after)]);
	}
}

#[test]
fn a_round_that_goes_on_from_any_of_its_states_gives_the_same() {
	let (model, train) = (tiny_model(), tiny_train());
	let (mut trainer, mut arena) = trainer(&model, &train, 2);
	let theta = theta_0(&model, trainer.layout(), &train.seed);
	let tokens = |step: u32, sequence: u32, buffer: &mut [u32]| {
		buffer.copy_from_slice(&random_tokens(buffer.len(), 64, u64::from(step * 2 + sequence)));
		Ok::<_, Infallible>(())
	};
	let mut states = Vec::new();
	let whole = run_round(
		&mut trainer,
		&mut arena,
		RoundStart::new(&theta, 1),
		tokens,
		|_| ControlFlow::Continue(()),
		|InnerState { step, vectors, state_roots, losses }| {
			let vectors = vectors.map(<[f32]>::to_vec).unwrap();
			states.push(Reached { step, vectors, state_roots: state_roots.to_vec(), losses: losses.to_vec() });
		},
	);
	assert_eq!(states.iter().map(|state| state.step).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
	let mut rest = |state: Reached| {
		let mut steps = Vec::new();
		arena.fill(f32::NAN);
		let outcome = run_round(
			&mut trainer,
			&mut arena,
			RoundStart { reached: Some(state), ..RoundStart::new(&theta, 1) },
			tokens,
			|progress| {
				steps.push(progress.step);
				ControlFlow::Continue(())
			},
			|_| {},
		);
		(outcome, steps)
	};
	for state in states {
		assert_eq!(rest(state.clone()), (whole.clone(), (state.step + 1..=6).collect()), "from the state after {} steps", state.step);
		let [params, first, _] = state.vectors.clone();
		let foreign = [
			Reached { step: 7, ..state.clone() },
			Reached { step: 0, ..state.clone() },
			Reached { losses: state.losses[1..].to_vec(), ..state.clone() },
			Reached { state_roots: vec![[0; 32]; 4], ..state.clone() },
			Reached { vectors: [params, first, vec![]], ..state },
		];
		for state in foreign {
			assert_eq!(rest(state.clone()), (Err(RoundError::State(state.step)), vec![]));
		}
	}
}

#[test]
fn a_round_that_ends_early_is_the_beginning_of_a_longer_one() {
	let weighted = |inner_steps| {
		let aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps: 3 } });
		TrainConfig { inner_steps, commit_interval: 2, aggregator, ..tiny_train() }
	};
	let model = tiny_model();
	let run = |train: &TrainConfig, last: u32| {
		let (mut trainer, mut arena) = trainer(&model, train, 1);
		let theta = theta_0(&model, trainer.layout(), &train.seed);
		let tokens = |step: u32, sequence: u32, buffer: &mut [u32]| {
			buffer.copy_from_slice(&random_tokens(buffer.len(), 64, u64::from(step * 2 + sequence)));
			Ok::<_, Infallible>(())
		};
		let ends = |progress: Progress| match progress.step == last {
			true => ControlFlow::Break(Stop::Ends),
			false => ControlFlow::Continue(()),
		};
		run_round(&mut trainer, &mut arena, RoundStart::new(&theta, 0), tokens, ends, |_| {})
	};
	// The first round: the place in the schedule does not depend on how many steps a round has at most.
	let [whole, early] = [weighted(4), weighted(9)].map(|train| run(&train, 4).unwrap());
	assert_eq!((early.steps(), &early), (4, &whole));
	assert_eq!(run(&weighted(9), 10).unwrap().steps(), 9);
	// What goes on after four steps may end there, or go on.
	let train = weighted(9);
	let (mut trainer, mut arena) = trainer(&model, &train, 1);
	let theta = theta_0(&model, trainer.layout(), &train.seed);
	let mut reached = None;
	let tokens = |step: u32, sequence: u32, buffer: &mut [u32]| {
		buffer.copy_from_slice(&random_tokens(buffer.len(), 64, u64::from(step * 2 + sequence)));
		Ok::<_, Infallible>(())
	};
	let keep = |state: InnerState<'_>| {
		let vectors = state.vectors.map(<[f32]>::to_vec).unwrap();
		let (state_roots, losses) = (state.state_roots.to_vec(), state.losses.to_vec());
		reached = Some(Reached { step: state.step, vectors, state_roots, losses });
	};
	let stops = |progress: Progress| match progress.step {
		4 => ControlFlow::Break(Stop::Abandoned),
		_ => ControlFlow::Continue(()),
	};
	assert_eq!(run_round(&mut trainer, &mut arena, RoundStart::new(&theta, 0), tokens, stops, keep), Err(RoundError::Stopped));
	for (ends, steps) in [(true, 4), (false, 9)] {
		let start = RoundStart { reached: reached.clone(), ends, ..RoundStart::new(&theta, 0) };
		let outcome = run_round(&mut trainer, &mut arena, start, tokens, |_| ControlFlow::Continue(()), |_| {}).unwrap();
		assert_eq!(outcome, run(&train, steps).unwrap());
	}
	// After three steps no state is committed, and two are too few.
	assert_eq!(run(&weighted(9), 3), Err(RoundError::Early(3)));
	assert_eq!(run(&weighted(9), 2), Err(RoundError::Early(2)));
}

#[test]
fn a_round_stops_when_asked_and_says_why_it_failed() {
	let (model, train) = (tiny_model(), tiny_train());
	let (mut trainer, mut arena) = trainer(&model, &train, 1);
	let theta = theta_0(&model, trainer.layout(), &train.seed);
	let good = |_: u32, _: u32, _: &mut [u32]| Ok::<_, &str>(());
	let (mut seen, mut states) = (Vec::new(), Vec::new());
	let stopped = run_round(
		&mut trainer,
		&mut arena,
		RoundStart::new(&theta, 0),
		good,
		|progress| {
			seen.push((progress.step, progress.state_root.is_some()));
			if progress.step == 2 {
				ControlFlow::Break(Stop::Abandoned)
			} else {
				ControlFlow::Continue(())
			}
		},
		|state| states.push((state.step, state.root(&train), state.vectors.map(<[f32]>::to_vec).unwrap())),
	);
	assert_eq!(stopped, Err(RoundError::Stopped));
	assert_eq!(seen, [(1, false), (2, true)]);
	let [(1, None, _), (step, root, vectors)] = states.as_slice() else { panic!("the second one is committed") };
	let [params, first, second] = vectors.each_ref().map(|values| commit::tensors_root(trainer.layout(), values, 1));
	assert_eq!((*step, *root), (2, Some(commit::state_root(&params, &first, &second, 2, 2 * u64::from(train.batch)))));

	let missing = run_round(
		&mut trainer,
		&mut arena,
		RoundStart::new(&theta, 0),
		|step, _, _| if step == 1 { Err("gone") } else { Ok(()) },
		|_| ControlFlow::Continue(()),
		|_| {},
	);
	assert_eq!(missing, Err(RoundError::Source { step: 1, source: "gone" }));

	let short = run_round(&mut trainer, &mut arena, RoundStart::new(&theta[1..], 0), good, |_| ControlFlow::Continue(()), |_| {});
	assert_eq!(short, Err(RoundError::Length { expected: theta.len(), found: theta.len() - 1 }));

	let mut broken = theta.clone();
	broken[0] = f32::INFINITY;
	let diverged = run_round(&mut trainer, &mut arena, RoundStart::new(&broken, 0), good, |_| ControlFlow::Continue(()), |_| {});
	assert_eq!(diverged, Err(RoundError::Step { step: 0, source: StepError::Diverged }));
}

#[test]
fn a_step_refuses_bad_input() {
	let (model, train) = (tiny_model(), tiny_train());
	let (mut trainer, mut arena) = trainer(&model, &train, 1);
	let tokens = vec![0; trainer.batch_tokens()];
	let short = StepError::Tokens { expected: 66, found: 65 };
	assert_eq!(trainer.gradients(&mut arena, &tokens[1..]), Err(short));
	let len = arena.len();
	let small = StepError::Arena { expected: len, found: len - 1 };
	assert_eq!(trainer.gradients(&mut arena[1..], &tokens), Err(small));
}

#[test]
fn validation_loss_is_the_mean_over_all_held_out_tokens_however_grouped() {
	let model = tiny_model();
	let layout = ParamLayout::new(&model).unwrap();
	let theta = lively_theta(&layout, 8);
	let tokens = random_tokens(6 * 33, model.vocab, 9);
	let exact: Vec<f64> = theta.iter().map(|&v| v.into()).collect();
	let expected = Reference::new(&model).loss(&exact, &tokens, 32);
	let mut losses = Vec::new();
	for (batch, group) in [(1, 1), (2, 2), (4, 3), (6, 6)] {
		let train = TrainConfig { batch, validation_sequences: 6, ..tiny_train() };
		assert_eq!(train.validation_batch(), group);
		let mut validator = Validator::new(Arc::new(Exec::new(2).unwrap()), &model, &train).unwrap();
		let (_, mut arena) = trainer(&model, &train, 1);
		assert!(validator.arena_len() <= arena.len());
		arena[..theta.len()].copy_from_slice(&theta);
		let loss = validator.loss(&mut arena, |sequence, buffer| {
			let at = sequence as usize * 33;
			buffer.copy_from_slice(&tokens[at..at + 33]);
			Ok::<_, Infallible>(())
		});
		losses.push(loss.unwrap());
	}
	assert!((f64::from(losses[0]) - expected).abs() < 1e-5 * expected);
	assert!(losses.iter().all(|loss| loss.to_bits() == losses[0].to_bits()), "{losses:?}");
}

#[test]
fn validation_says_which_sequence_is_missing() {
	let (model, train) = (tiny_model(), tiny_train());
	let mut validator = Validator::new(Arc::new(Exec::new(1).unwrap()), &model, &train).unwrap();
	let mut arena = Arena::new(validator.arena_len());
	let lost = validator.loss(&mut arena, |sequence, _| if sequence == 3 { Err("lost") } else { Ok(()) });
	assert_eq!(lost, Err(ValidationError::Source { sequence: 3, source: "lost" }));
}
