//! Parts of vectors in files: what spans hold, read and written.

use super::{filed_delta, handed, tests::write, FilesError, PartError, PartsWriter, TileFile};
use neuroshard_compute::{
	exec::{CodeError, Exec},
	round::Sent,
};
use neuroshard_graph::{
	span::{cut, Held},
	tiles::{self, LEAF_BYTES},
	Aggregator, Code, Compressed, ModelConfig, ParamLayout, Robust, Rule, TopK, TrainConfig, F32,
};
use neuroshard_types::H256;
use std::path::Path;

/// Spans of which the first goes on behind the end with the embedding, and tensors of one row, whose tiles are not whole.
fn setting() -> (ModelConfig, ParamLayout, Vec<Held>) {
	let model = ModelConfig { layers: 3, tied: false, vocab: 96, ..ModelConfig::tiny() };
	let layout = ParamLayout::new(&model).unwrap();
	let held = cut(&model, &[2, 1, 2]).unwrap().into_iter().map(|span| Held::new(&model, None, span).unwrap());
	(model.clone(), layout, held.collect())
}

fn numbers(layout: &ParamLayout) -> Vec<f32> {
	(0..layout.len()).map(|at| (at * 37 % 1_009) as f32 / 64.0 - 7.0).collect()
}

fn filed(folder: &Path) -> (ModelConfig, ParamLayout, Vec<Held>, Vec<f32>, TileFile) {
	let (model, layout, held) = setting();
	let values = numbers(&layout);
	let file = write(folder, "vector", &layout, &values);
	(model, layout, held, values, file)
}

#[test]
fn a_span_reads_its_part_of_a_file_and_no_part_with_other_roots() {
	let folder = tempfile::tempdir().unwrap();
	let (_, _, held, values, file) = filed(folder.path());
	let covers: Vec<_> = held.iter().map(Held::cover).collect();
	let parts = file.parts(&covers, 1).unwrap();
	for (held, roots) in held.iter().zip(&parts) {
		let own = held.of(&values);
		assert_eq!(roots, &held.roots(&own, 1));
		assert_eq!(file.held(held, roots, 2).unwrap(), own);
	}
	// Two spans are no cut, and no part is that of another span.
	assert!(matches!(file.parts(&covers[1..], 1), Err(FilesError::Root { .. })));
	assert!(matches!(file.held(&held[1], &parts[2], 1), Err(FilesError::Part(path)) if path == file.path()));

	// A number of the second span changes after the file was opened: who reads the other parts has the same as before.
	let mut bytes = std::fs::read(file.path()).unwrap();
	bytes[held[1].tiles[0].start as usize * LEAF_BYTES] ^= 1;
	std::fs::write(file.path(), bytes).unwrap();
	assert!(matches!(file.held(&held[1], &parts[1], 1), Err(FilesError::Part(_))));
	assert_eq!(file.held(&held[0], &parts[0], 1).unwrap(), held[0].of(&values));
	assert!(matches!(file.parts(&covers, 1), Err(FilesError::Root { expected, .. }) if expected == file.root()));
}

#[test]
fn parts_that_come_side_by_side_make_up_the_file_of_the_whole_vector() {
	let folder = tempfile::tempdir().unwrap();
	let (_, layout, held, values, _) = filed(folder.path());
	let own: Vec<_> = held.iter().map(|held| held.of(&values)).collect();
	let parts = || held.iter().zip(&own).map(|(held, own)| (held, held.roots(own, 1))).collect::<Vec<_>>();
	let path = folder.path().join("together");
	let mut writer = PartsWriter::create(&path, parts(), 1).unwrap();
	assert_eq!(writer.missing(), [0, 1, 2]);
	let mut handing: Vec<_> = held.iter().zip(&own).map(|(held, own)| handed(held, own)).collect();
	// A few tiles of each in turn, the last part first.
	while !writer.missing().is_empty() {
		for part in (0..3).rev() {
			if let Some((first, tiles)) = handing[part].next() {
				writer.write(part, first, &tiles).unwrap();
			}
		}
	}
	let file = writer.finish().unwrap();
	let encoded = tiles::encode(&layout, &values);
	assert_eq!(std::fs::read(&path).unwrap(), encoded);
	assert_eq!(file.root(), H256(tiles::content_id(&encoded, 1)));

	let mut writer = PartsWriter::create(&path, parts(), 1).unwrap();
	let (first, tiles) = handed(&held[1], &own[1]).next().unwrap();
	let refused = |result: Result<(), PartError>| matches!(result.unwrap_err(), PartError::Order(1));
	assert!(refused(writer.write(1, first + 1, &tiles)));
	assert!(refused(writer.write(1, first, &tiles[1..])));
	assert!(refused(writer.write(1, first, &[])));
	assert!(refused(writer.write(1, first, &vec![0; (held[1].tiles[0].len() + 1) * LEAF_BYTES])));
	assert!(matches!(writer.write(3, 0, &tiles), Err(PartError::Order(3))));
	writer.write(1, first, &tiles).unwrap();
	assert!(refused(writer.write(1, first, &tiles)));
	assert!(matches!(writer.finish(), Err(FilesError::Unfinished { .. })));

	// One bit is another part.
	let mut writer = PartsWriter::create(&path, parts(), 1).unwrap();
	let mut written = handed(&held[1], &own[1]).map(|(first, mut tiles)| {
		tiles[5] ^= 1;
		writer.write(1, first, &tiles)
	});
	assert!(matches!(written.find_map(Result::err), Some(PartError::Root(1))));
}

#[test]
fn what_is_sent_of_two_files_is_what_one_machine_sends() {
	let folder = tempfile::tempdir().unwrap();
	let (model, layout, _, base, filed_base) = filed(folder.path());
	let end: Vec<f32> = base.iter().enumerate().map(|(at, value)| value + (at % 13) as f32 * 0.01 - 0.05).collect();
	let left: Vec<f32> = (0..layout.len()).map(|at| (at % 7) as f32 * 1e-3).collect();
	let filed_end = write(folder.path(), "end", &layout, &end);
	let filed_left = write(folder.path(), "left", &layout, &left);
	let exec = Exec::new(1).unwrap();
	let delta: Vec<f32> = base.iter().zip(&end).map(|(base, end)| base - end).collect();
	let coded = |code| Aggregator::Compressed(Compressed { code, robust: Robust { clip: F32::new(0.0), rule: Rule::Mean } });
	let top = Code::TopK(TopK { numbers: 16, decay: F32::new(0.9), cosine: false });
	for (aggregator, leaves) in [(Aggregator::Mean, false), (coded(Code::Int8), false), (coded(top), true)] {
		let train = TrainConfig { aggregator, ..TrainConfig::tiny() };
		for (left, filed_left) in [(None, None), (Some(&left[..]), Some(&filed_left))].into_iter().take(if leaves { 2 } else { 1 }) {
			let expected = Sent::new(&exec, &layout, &train, &delta, left).unwrap();
			let found = filed_delta(&exec, (&model, &train), [&filed_base, &filed_end], filed_left, folder.path()).unwrap();
			assert_eq!(found.delta.root(), H256(expected.delta_root));
			let encoded = tiles::encode(&ParamLayout::of_deltas(&model, &train).unwrap(), &expected.delta);
			assert_eq!(std::fs::read(found.delta.path()).unwrap(), encoded);
			let roots = expected.residual.map(|residual| residual.roots.map(H256));
			assert_eq!(found.residual.map(|(before, after)| [before, after.root()]), roots);
		}
	}
	// An end that is not finite is a divergence, not a damaged file.
	let mut infinite = end;
	infinite[70] = f32::INFINITY;
	let infinite = write(folder.path(), "infinite", &layout, &infinite);
	let train = TrainConfig { aggregator: Aggregator::Mean, ..TrainConfig::tiny() };
	let diverged = filed_delta(&exec, (&model, &train), [&filed_base, &infinite], None, folder.path());
	assert!(matches!(diverged, Err(FilesError::Code(CodeError::Value))));
}
