//! Rounds in files have the bits of those in memory.

use super::{vector::pieces, FileEngine, FileJobError, FileShelf, FileStart, FiledCheckpoint, FilesError, FilesNeed, TileFile, TileWriter};
use crate::{
	checkpoint::{decode_delta, Checkpoint},
	engine::Engine,
	outer::{apply_outer, Included},
	round::Trained,
};
use neuroshard_compute::{
	exec::{OutOfCoreError, Shelf, Shelved, StepMemory},
	round::{RoundError, RoundStart, Sent, Stop},
};
use neuroshard_graph::{
	commit::{state_root, tensors_root},
	config::{Family, Products},
	corpus::MASK,
	tiles, Adapter, Aggregator, Code, Compressed, ModelConfig, Optimizer, ParamLayout, Projections, Robust, Rule, TopK, TrainConfig, F32,
};
use neuroshard_types::H256;
use std::{convert::Infallible, ops::ControlFlow, os::unix::fs::PermissionsExt, path::Path};

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
	fn below(&mut self, count: u32) -> u32 {
		self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
		((self.0 >> 33) % u64::from(count)) as u32
	}
}

fn robust(rule: Rule, clip: f32) -> Robust {
	Robust { clip: F32::new(clip), rule }
}

fn aggregators() -> Vec<Aggregator> {
	let (radius, floor) = (F32::new(1.0), F32::new(0.5));
	let top = |numbers, cosine| Code::TopK(TopK { numbers, decay: F32::new(0.9), cosine });
	let coded = |code, rule| Aggregator::Compressed(Compressed { code, robust: robust(rule, 0.0) });
	vec![
		Aggregator::Mean,
		Aggregator::TrimmedMean { trim: 1 },
		Aggregator::Robust(robust(Rule::Median, 0.0)),
		Aggregator::Robust(robust(Rule::TrimmedMean { trim: 1 }, 1.0)),
		Aggregator::Robust(robust(Rule::WeightedMean { least_steps: 2 }, 0.0)),
		Aggregator::Robust(robust(Rule::MixedKrum { liars: 2 }, 0.0)),
		Aggregator::Robust(robust(Rule::MultiKrum { liars: 1 }, 1.0)),
		Aggregator::Robust(robust(Rule::CentredClipping { liars: 1, radius, steps: 2 }, 0.0)),
		Aggregator::Robust(robust(Rule::GeometricMedian { liars: 1, floor, steps: 2 }, 0.0)),
		coded(Code::Int8, Rule::Mean),
		coded(top(8, false), Rule::Mean),
		coded(top(64, true), Rule::MixedKrum { liars: 1 }),
	]
}

pub(super) fn draw(seed: u64) -> (ModelConfig, TrainConfig) {
	let mut numbers = Numbers(seed * 31 + 5);
	let mut below = |count| numbers.below(count);
	let family = [Family::Llama, Family::Qwen2, Family::Qwen3][below(3) as usize];
	let model = ModelConfig {
		family,
		head_dim: (family == Family::Qwen3).then_some(32),
		dim: 64,
		heads: 4,
		kv_heads: 2,
		layers: 1 + below(4),
		ffn: 32 * (1 + below(3)),
		vocab: [64, 96, 320][below(3) as usize],
		tied: below(2) == 0,
		max_seq: 64,
		..ModelConfig::tiny()
	};
	let all = aggregators();
	let aggregator = all[seed as usize % all.len()];
	let adapter = Adapter { base: [0; 32], rank: 8, alpha: F32::new(12.0), projections: Projections::ALL };
	let adapter = (below(4) == 0).then_some(adapter);
	let muon = Optimizer::Muon { momentum: F32::new(0.95) };
	let train = TrainConfig {
		seed: [seed as u8; 32],
		batch: [2, 4][below(2) as usize],
		inner_steps: 4,
		commit_interval: 2,
		lr: F32::new(3e-3),
		outer_lr: F32::new(0.7),
		outer_beta: F32::new(0.5),
		validation_sequences: 1 + below(6),
		masked: below(3) == 0,
		products: if below(3) == 0 { Products::Int8 } else { Products::F32 },
		optimizer: if adapter.is_none() && below(3) == 0 { muon } else { Optimizer::AdamW },
		adapter,
		aggregator,
		..TrainConfig::tiny()
	};
	train.validate(&model).unwrap_or_else(|error| panic!("{error}: {model:?} {train:?}"));
	(model, train)
}

/// Tokens of a sequence: `place` says which.
pub(super) fn fill((model, train): (&ModelConfig, &TrainConfig), place: [u32; 3], tokens: &mut [u32]) -> Result<(), Infallible> {
	let mut numbers = Numbers(place.iter().fold(99, |seed, part| seed * 1_000_003 + u64::from(*part)));
	for (at, token) in tokens.iter_mut().enumerate() {
		*token = numbers.below(model.vocab) | if train.masked && at % 3 == 0 { MASK } else { 0 };
	}
	Ok(())
}

pub(super) fn write(folder: &Path, name: &str, layout: &ParamLayout, values: &[f32]) -> TileFile {
	let mut writer = TileWriter::create(&folder.join(name), layout, 1).unwrap();
	writer.write(&tiles::encode(layout, values)).unwrap();
	writer.finish().unwrap()
}

/// As little memory as the largest part of the model takes.
pub(super) fn least((model, train): (&ModelConfig, &TrainConfig), folder: &Path) -> u64 {
	match FileEngine::new(model, train, 1, 0, folder).err() {
		Some(FilesError::OutOfCore(OutOfCoreError::TooSmall { needed, .. })) => needed,
		other => panic!("{other:?}"),
	}
}

#[test]
fn rounds_deltas_and_checkpoints_of_random_models_in_files_have_the_bits_of_those_in_memory() {
	let mut spans = Vec::new();
	for seed in 0..16 {
		let (model, train) = draw(seed);
		let on = (&model, &train);
		let folder = tempfile::tempdir().unwrap();
		let path = |name: &str| folder.path().join(name);
		let layout = ParamLayout::trained(&model, &train).unwrap();
		let mut engine = Engine::new(&model, &train, 2).unwrap();
		let memory = least(on, folder.path()) * [1, 2, 50][seed as usize % 3];
		let mut files = FileEngine::new(&model, &train, 2, memory, &path("shelf")).unwrap();
		assert!(files.bytes() <= memory);
		spans.push(files.spans());

		if train.adapter.is_some() {
			let whole = ParamLayout::new(&model).unwrap();
			let base = neuroshard_graph::init::theta_0(&model, &whole, &[77; 32]);
			engine.load_model(&base).unwrap();
			files.load_model(&write(folder.path(), "base", &whole, &base)).unwrap();
		}
		let genesis = Checkpoint::genesis(3, &model, &train, 1).unwrap();
		let filed = FiledCheckpoint::genesis(&path("checkpoint"), 3, &model, &train, 1).unwrap();
		assert_eq!(filed.header, genesis.header);

		let (mut memory, mut filed) = (genesis, filed);
		let mut residuals: [Option<Vec<f32>>; 3] = Default::default();
		let mut filed_residuals: [Option<TileFile>; 3] = Default::default();
		for round in 0..2 {
			let (mut deltas, mut sent, mut behind) = (Vec::new(), Vec::new(), Vec::new());
			for provider in 0..3_u32 {
				let place = |step: u32, sequence: u32| [round * 10 + provider, step, sequence];
				// A round may be shorter where deltas weigh by steps.
				let end = if train.weighs_steps() && provider == 1 { 2 } else { 4 };
				let mut every = Vec::new();
				let start = RoundStart { residual: residuals[provider as usize].as_deref(), ..RoundStart::new(&memory.params, round) };
				let outcome = engine.run_round(
					start,
					|step, sequence, tokens| fill(on, place(step, sequence), tokens),
					|step| if step.step == end && end < 4 { ControlFlow::Break(Stop::Ends) } else { ControlFlow::Continue(()) },
					|state| {
						let roots = state.vectors.map(|vector| tensors_root(&layout, vector, 1)).unwrap();
						let samples = u64::from(state.step) * u64::from(train.batch);
						every.push(state_root(&roots[0], &roots[1], &roots[2], state.step, samples));
					},
				);
				let outcome = outcome.unwrap();
				let steps = outcome.steps();
				let parts = Sent { delta: outcome.delta, delta_root: outcome.delta_root, residual: outcome.residual };
				residuals[provider as usize] = parts.residual.as_ref().map(|residual| residual.after.clone());
				let expected = Trained::new(&engine, steps, outcome.state_roots, parts, outcome.losses).unwrap();

				let mut found_roots = Vec::new();
				let start = FileStart { residual: filed_residuals[provider as usize].as_ref(), ..FileStart::new(&filed.params, round) };
				let found = files.run_round(
					start,
					folder.path(),
					|step, sequence, tokens| fill(on, place(step, sequence), tokens),
					|_| true,
					|step| {
						found_roots.extend(step.state_root);
						if step.step == end && end < 4 {
							ControlFlow::Break(Stop::Ends)
						} else {
							ControlFlow::Continue(())
						}
					},
				);
				let found = found.unwrap();
				assert_eq!(found_roots, every, "seed {seed}");
				assert_eq!(found.work, expected.work, "seed {seed}: {:?}", train.aggregator);
				let bits = |losses: &[f32]| losses.iter().map(|loss| loss.to_bits()).collect::<Vec<_>>();
				assert_eq!(bits(&found.losses), bits(&expected.losses), "seed {seed}");
				assert_eq!(std::fs::read(found.delta.path()).unwrap(), expected.delta, "seed {seed}");
				let residual = found.residual.as_ref().map(|residual| std::fs::read(residual.path()).unwrap());
				assert_eq!(residual, expected.residual, "seed {seed}");
				filed_residuals[provider as usize] = found.residual;

				deltas.push(decode_delta(&engine, &expected.delta, expected.work.delta_root).unwrap());
				// As who has only its bytes opens it.
				let (path, root) = (found.delta.path(), found.delta.root());
				sent.push(TileFile::open(path, 0, files.delta_layout(), root, 1).unwrap());
				behind.extend(train.weighs_steps().then_some(steps));
			}
			let next = apply_outer(&engine, &memory, &Included { deltas, inner_steps: behind.clone() }).unwrap();
			let filed_next = files.take_outer_step(&filed, &sent, &behind, &path("checkpoint")).unwrap();
			assert_eq!(filed_next.header, next.header, "seed {seed}: {:?}", train.aggregator);
			let saved = Checkpoint::load(&path("checkpoint"), &layout, 1).unwrap().unwrap();
			assert_eq!(saved.header, Checkpoint { header: next.header, ..saved.clone() }.header);
			let opened = FiledCheckpoint::open(&path("checkpoint"), &layout, 1).unwrap().unwrap();

			let expected = engine.validation_loss(&next.params, |sequence, tokens| fill(on, [9, 9, sequence], tokens)).unwrap();
			let found = files.validation_loss(&opened.params, |sequence, tokens| fill(on, [9, 9, sequence], tokens)).unwrap();
			assert_eq!(found.to_bits(), expected.to_bits(), "seed {seed}: {found} and {expected}");
			// Without deltas a round is counted, and nothing else changes.
			let unchanged = apply_outer(&engine, &next, &Included::default()).unwrap().header;
			assert_eq!(files.take_outer_step(&filed_next, &[], &[], &path("other")).unwrap().header, unchanged);
			(memory, filed) = (next, opened);
		}
		let shelf = files.shelf.folder().to_path_buf();
		assert!(shelf.exists());
		drop(files);
		assert!(!shelf.exists(), "a shelf goes with its engine");
	}
	assert!(spans.contains(&1) && spans.iter().any(|&count| count > 4), "{spans:?}");
}

#[test]
fn outer_steps_of_many_segments_have_the_same_bits_with_any_number_of_them_in_memory() {
	let model = ModelConfig { dim: 64, heads: 4, ffn: 512, layers: 5, tied: false, ..ModelConfig::tiny() };
	let layout = ParamLayout::new(&model).unwrap();
	// Three segments, of which the last has fewer tiles.
	assert_eq!(layout.tile_count().div_ceil(256), 3);
	let folder = tempfile::tempdir().unwrap();
	for (seed, aggregator) in (1..).zip(aggregators()) {
		let outer_beta = F32::new(0.5);
		let train = TrainConfig { inner_steps: 4, commit_interval: 2, aggregator, outer_beta, ..TrainConfig::tiny() };
		let engine = Engine::with_memory(&model, &train, 1, StepMemory { micro_batch: Some(1), recompute: true }).unwrap();
		let files = FileEngine::new(&model, &train, 2, u64::MAX, folder.path()).unwrap();
		let genesis = Checkpoint::genesis(3, &model, &train, 1).unwrap();
		let filed = FiledCheckpoint::genesis(&folder.path().join("first"), 3, &model, &train, 1).unwrap();
		let mut numbers = Numbers(seed);
		let vector = |numbers: &mut Numbers| -> Vec<f32> { (0..layout.len()).map(|_| numbers.below(2_001) as f32 / 1e5 - 0.01).collect() };
		let (mut deltas, mut sent, mut behind) = (Vec::new(), Vec::new(), Vec::new());
		for number in 0..5 {
			let delta = vector(&mut numbers);
			let coded = Sent::new(engine.exec(), &layout, &train, &delta, None).unwrap();
			sent.push(write(folder.path(), &format!("delta-{number}"), engine.delta_layout(), &coded.delta));
			assert_eq!(sent[number].root(), H256(coded.delta_root));
			let bytes = tiles::encode(engine.delta_layout(), &coded.delta);
			deltas.push(decode_delta(&engine, &bytes, H256(coded.delta_root)).unwrap());
			behind.extend(train.weighs_steps().then_some(2 + number as u32 % 2 * 2));
		}
		let expected = apply_outer(&engine, &genesis, &Included { deltas, inner_steps: behind.clone() }).unwrap();
		for segments in [0, 2, 64] {
			let found = files.outer_step_in(segments, &filed, (&sent, &behind), &folder.path().join("next")).unwrap();
			assert_eq!(found.header, expected.header, "{aggregator:?}, {segments} segments");
		}
	}
}

#[test]
fn a_large_tensor_is_read_and_written_in_pieces_that_are_its_encoding() {
	let model = ModelConfig { vocab: 40_000, dim: 64, heads: 4, layers: 1, tied: true, ..ModelConfig::tiny() };
	let layout = ParamLayout::new(&model).unwrap();
	let values: Vec<f32> = (0..layout.len()).map(|at| (at % 1_013) as f32 - 500.5).collect();
	let encoded = tiles::encode(&layout, &values);
	let all = pieces(&layout);
	// 2.56 million numbers of the embedding, of which 2^20 are a piece.
	assert_eq!(all.iter().take_while(|piece| piece.elements.end <= 40_000 * 64).count(), 3);
	let folder = tempfile::tempdir().unwrap();
	let path = folder.path().join("vector");
	let mut writer = TileWriter::create(&path, &layout, 2).unwrap();
	for piece in &all {
		writer.piece(piece, &values[piece.elements.clone()]).unwrap();
	}
	let written = writer.finish().unwrap();
	assert_eq!(std::fs::read(&path).unwrap(), encoded);
	assert_eq!(written.root(), H256(tiles::content_id(&encoded, 1)));
	let opened = TileFile::open(&path, 0, &layout, written.root(), 2).unwrap();
	for piece in &all {
		assert_eq!(opened.piece(piece).unwrap(), values[piece.elements.clone()]);
	}
	assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn files_with_other_vectors_or_none_are_refused_by_name() {
	let (model, train) = (ModelConfig::tiny(), TrainConfig::tiny());
	let layout = ParamLayout::new(&model).unwrap();
	let folder = tempfile::tempdir().unwrap();
	let path = folder.path().join("vector");
	let vector = write(folder.path(), "vector", &layout, &vec![1.5; layout.len()]);
	let open = |root| TileFile::open(&path, 0, &layout, root, 1);
	assert!(open(vector.root()).is_ok());
	let error = open(H256::zero()).unwrap_err();
	assert!(matches!(error, FilesError::Root { .. }) && error.to_string().starts_with(&path.display().to_string()), "{error}");
	// An infinity in the third tile.
	let mut bytes = std::fs::read(&path).unwrap();
	bytes[2 * 4_096..][..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
	std::fs::write(&path, &bytes).unwrap();
	let error = open(H256(tiles::content_id(&bytes, 1))).unwrap_err();
	assert!(matches!(error, FilesError::Encoding { source: tiles::DecodeError::Value { tile: 2 }, .. }), "{error}");
	std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
	assert!(matches!(open(vector.root()).unwrap_err(), FilesError::Io { .. }));
	let mut unfinished = TileWriter::create(&path, &layout, 1).unwrap();
	unfinished.write(&bytes[..2 * 4_096]).unwrap();
	assert!(matches!(unfinished.finish().unwrap_err(), FilesError::Unfinished { found: 2, .. }));
	assert!(FiledCheckpoint::open(&folder.path().join("nowhere"), &layout, 1).unwrap().is_none());

	// A disk without room, and memory without any.
	let refused = FileShelf::new(folder.path(), u64::MAX).unwrap_err();
	assert!(matches!(refused, FilesError::NoRoom { needed: u64::MAX, .. }), "{refused}");
	let refused = FileEngine::new(&model, &train, 1, 1_000, folder.path()).err().unwrap();
	assert!(matches!(refused, FilesError::OutOfCore(OutOfCoreError::TooSmall { given: 1_000, .. })), "{refused}");
}

#[test]
fn what_a_round_takes_of_the_disk_is_what_its_files_have() {
	for seed in [1, 4, 10] {
		let (model, train) = draw(seed);
		let on = (&model, &train);
		let folder = tempfile::tempdir().unwrap();
		let mut files = FileEngine::new(&model, &train, 1, least(on, folder.path()), folder.path()).unwrap();
		if train.adapter.is_some() {
			let whole = ParamLayout::new(&model).unwrap();
			files.load_model(&write(folder.path(), "base", &whole, &vec![0.01; whole.len()])).unwrap();
		}
		let start = FiledCheckpoint::genesis(&folder.path().join("checkpoint"), 3, &model, &train, 1).unwrap();
		let tokens = |step: u32, sequence: u32, tokens: &mut [u32]| fill(on, [0, step, sequence], tokens);
		let round = FileStart::new(&start.params, 0);
		let round = files.run_round(round, folder.path(), tokens, |_| false, |_| ControlFlow::Continue(())).unwrap();
		files.validation_loss(&start.params, |sequence, tokens| fill(on, [9, 9, sequence], tokens)).unwrap();
		let size = |path: &Path| std::fs::metadata(path).unwrap().len();
		let shelf: u64 = std::fs::read_dir(files.shelf.folder()).unwrap().map(|entry| size(&entry.unwrap().path())).sum();
		let need = FilesNeed::new(&model, &train).unwrap();
		assert!(shelf <= need.shelf && need.shelf - shelf <= need.shelf / 2, "{shelf} of {}", need.shelf);
		let residual = round.residual.as_ref().map_or(0, |residual| size(residual.path()));
		assert_eq!(size(round.delta.path()) + residual, need.delta);
		assert_eq!(size(start.params.path()), need.checkpoint);
		assert_eq!(need.total(3), need.shelf + need.checkpoint + 3 * need.delta);
		let [read, written] = files.traffic();
		assert!(read > 0 && written > 0);
	}
}

#[test]
fn a_shelf_that_is_kept_has_what_was_written_and_says_which_file_lacks_what_is_read() {
	let folder = tempfile::tempdir().unwrap();
	let mut shelf = FileShelf::new(folder.path(), 0).unwrap();
	let values: Vec<f32> = (0..600_000).map(|at| at as f32 * 0.5).collect();
	shelf.write(Shelved::Gradient, 7, &values).unwrap();
	shelf.zero(Shelved::FirstMoment, 10).unwrap();
	assert_eq!(shelf.traffic(), [0, 2_400_000]);
	let kept = shelf.keep();
	let mut shelf = FileShelf::open(&kept);
	let mut found = vec![1.0; 600_007];
	shelf.read(Shelved::Gradient, 0, &mut found).unwrap();
	assert!(found[..7] == [0.0; 7] && found[7..] == values);
	let mut zeros = [1.0; 10];
	shelf.read(Shelved::FirstMoment, 0, &mut zeros).unwrap();
	assert_eq!(zeros, [0.0; 10]);
	let error = shelf.read(Shelved::FirstMoment, 1, &mut zeros).unwrap_err();
	assert!(error.to_string().starts_with(&kept.join("first-moment").display().to_string()), "{error}");
	let mode = |name: &str| std::fs::metadata(kept.join(name)).unwrap().permissions().mode() & 0o777;
	assert_eq!([mode("gradient"), mode("first-moment")], [0o600; 2]);
	drop(shelf);
	assert!(kept.exists());
}

#[test]
fn a_round_that_cannot_end_there_or_is_given_up_or_lacks_tokens_says_so() {
	let (model, train) = draw(0);
	let train = TrainConfig { adapter: None, ..train };
	let folder = tempfile::tempdir().unwrap();
	let mut files = FileEngine::new(&model, &train, 1, u64::MAX, folder.path()).unwrap();
	let start = FiledCheckpoint::genesis(&folder.path().join("checkpoint"), 3, &model, &train, 1).unwrap();
	let tokens = |step: u32, sequence: u32, tokens: &mut [u32]| match step {
		3 => Err("gone"),
		_ => fill((&model, &train), [0, step, sequence], tokens).map_err(|never| match never {}),
	};
	let mut run = |at: u32, stop| {
		let progress = |step: neuroshard_compute::round::Progress| match step.step == at {
			true => ControlFlow::Break(stop),
			false => ControlFlow::Continue(()),
		};
		files.run_round(FileStart::new(&start.params, 0), folder.path(), tokens, |_| false, progress).unwrap_err()
	};
	assert!(matches!(run(1, Stop::Ends), FileJobError::Round(RoundError::Early(1))));
	assert!(matches!(run(2, Stop::Abandoned), FileJobError::Round(RoundError::Stopped)));
	assert!(matches!(run(9, Stop::Ends), FileJobError::Round(RoundError::Source { step: 3, source: "gone" })));
	// Parameters so large that the loss is no number.
	let layout = files.layout().clone();
	let huge = write(folder.path(), "huge", &layout, &vec![1e30; layout.len()]);
	let filled = |step: u32, sequence: u32, tokens: &mut [u32]| fill((&model, &train), [0, step, sequence], tokens);
	let diverged = files.run_round(FileStart::new(&huge, 0), folder.path(), filled, |_| false, |_| ControlFlow::Continue(()));
	assert!(diverged.unwrap_err().is_divergence());
	// An adapter needs its model.
	let adapter = Adapter { base: [0; 32], rank: 8, alpha: F32::new(12.0), projections: Projections::ALL };
	let train = TrainConfig { adapter: Some(adapter), optimizer: Optimizer::AdamW, ..train };
	let mut files = FileEngine::new(&model, &train, 1, u64::MAX, folder.path()).unwrap();
	let start = FiledCheckpoint::genesis(&folder.path().join("other"), 3, &model, &train, 1).unwrap();
	assert!(matches!(files.begin(&start.params), Err(FilesError::NoModel)));
}
