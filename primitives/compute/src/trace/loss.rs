//! Logits and their gradient in the trace of a step: they exist for some rows at a time, in which they are hashed, and whoever asks for a tile of them gets
//! its row of tiles computed again.

use super::{written_hashes, Batch, Trace};
use crate::exec::{add_to_weights_of, blocks};
use neuroshard_graph::{
	graph::{Op, Origin, TensorId},
	merkle::Hash,
	plan::Plan,
	resume::SIDE,
	tiles::{tile_count, write_tile},
};
use neuroshard_kernels::{
	schedule::reciprocal_count,
	shape::{MatDims, Start, SEGMENT},
};
use std::{
	ops::Range,
	sync::{Arc, PoisonError},
};

/// A row of tiles, by its number.
pub(super) type Band = (u32, Arc<Vec<f32>>);

/// The stages of a training step that read or write logits or their gradient.
#[derive(Clone, Copy)]
pub(super) struct Streamed {
	/// Number of the stage that writes logits; RowMax, ExpSum and LossRows follow.
	first: usize,
	/// Number of LossBack; the gradients of activations and of the head follow.
	pub(super) back: usize,
	/// Whether the head has a gradient.
	head: bool,
	/// Logits and their gradient.
	tensors: [TensorId; 2],
	/// Most rows at a time.
	pub(super) rows: usize,
}

impl Streamed {
	/// Those of a plan; `None` if it has no gradient of logits.
	pub(super) fn of(plan: &Plan) -> Option<Self> {
		let rows = usize::try_from(plan.job?.logits.rows).ok()?;
		let back = plan.stages().iter().position(|stage| stage.op == Op::LossBack)?;
		let stage = plan.stages().get(back)?;
		let (&(logits, _), &gradient) = (plan.inputs(stage).first()?, plan.outputs(stage).first()?);
		let Some(Origin::Stage { stage, .. }) = plan.origin(logits) else { return None };
		let head = plan.stages().get(back + 2).is_some_and(|stage| matches!(stage.op, Op::Product(_)));
		Some(Self { first: usize::try_from(stage).ok()?, back, head, tensors: [logits, gradient], rows })
	}

	/// Whether stage `index` is computed together with the logits, before its turn.
	pub(super) fn covers(&self, index: usize) -> bool {
		(self.first + 1..=self.first + 3).contains(&index)
			|| (self.back..=self.back + 1).contains(&index)
			|| self.head && index == self.back + 2
	}

	/// Whether stage `index` is computed in the turn of the logits.
	pub(super) fn computes(&self, index: usize) -> bool {
		self.begins(index) || self.covers(index)
	}

	/// Whether all of it is computed in the turn of stage `index`.
	pub(super) fn begins(&self, index: usize) -> bool {
		index == self.first
	}

	/// Those of its stages whose output is kept.
	fn kept_stages(&self) -> impl Iterator<Item = usize> {
		let head = self.head.then_some(self.back + 2);
		[self.first + 1, self.first + 2, self.first + 3, self.back + 1].into_iter().chain(head)
	}

	/// What is kept: maxima, sums, losses, and the gradients of activations and, if it is trained, of the head.
	pub(super) fn kept(&self, plan: &Plan) -> Vec<TensorId> {
		let stages = self.kept_stages().filter_map(|index| plan.stages().get(index));
		stages.filter_map(|stage| plan.outputs(stage).first().copied()).collect()
	}

	/// Which of logits and their gradient a tensor is.
	fn index(&self, id: TensorId) -> Option<usize> {
		self.tensors.iter().position(|&tensor| tensor == id)
	}
}

impl Trace {
	/// Makes the mistake, if it is one of stage `index`, in a part of what that writes, `values` from element `first` of `len` on.
	fn mistaken(&self, index: usize, len: usize, first: usize, values: &mut [f32]) {
		if let Some(mistake) = self.mistake.filter(|mistake| mistake.stage as usize == index && mistake.output == 0) {
			mistake.happen_within(len, first, values);
		}
	}

	/// Rows `at` of the logits of activations `h` with the head `w`.
	fn logits_of(&self, streamed: Streamed, at: &Range<usize>, [h, w]: [&[f32]; 2], tokens: usize, logits: &mut [f32]) {
		let (m, dim) = (at.len(), h.len() / tokens);
		let vocab = w.len() / dim;
		self.exec.matmul_nt(MatDims { m, n: vocab, k: dim }, &h[at.start * dim..at.end * dim], w, logits, Start::Zero);
		self.mistaken(streamed.first, tokens * vocab, at.start * vocab, logits);
	}

	/// Makes the gradient of rows `at` of the logits, from their maxima and sums.
	fn logits_back(
		&self,
		streamed: Streamed,
		(batch, inverse_count): (&Batch, f32),
		at: &Range<usize>,
		[max, sum]: [&[f32]; 2],
		logits: &mut [f32],
	) {
		let (targets, vocab) = (&batch.targets[at.clone()], logits.len() / at.len());
		self.exec.cross_entropy_backward(logits, vocab, targets, max, sum, inverse_count);
		self.mistaken(streamed.back, batch.targets.len() * vocab, at.start * vocab, logits);
	}

	/// One by the number of targets that count.
	fn inverse_count(&self, streamed: Streamed, arena: &[f32]) -> f32 {
		let count = self.plan.stages().get(streamed.back).and_then(|stage| self.plan.inputs(stage).get(4));
		let count = count.and_then(|&(id, _)| self.values(id, arena).first());
		count.map_or(self.parameters.inverse_tokens, |&count| reciprocal_count(count))
	}

	/// Activations and weights that logits are made of.
	fn head<'a>(&'a self, streamed: Streamed, arena: &'a [f32]) -> [&'a [f32]; 2] {
		let inputs = self.plan.stages().get(streamed.first).map_or(&[][..], |stage| self.plan.inputs(stage));
		[0, 1].map(|number| inputs.get(number).map_or(&[][..], |&(id, _)| self.values(id, arena)))
	}

	/// Computes [`Streamed::kept`], with `arena` as far as it is written, and hashes logits and their gradient.
	pub(super) fn losses(&self, streamed: Streamed, batch: &Batch, arena: &[f32], outputs: &mut [&mut [f32]]) {
		let [max, sum, loss, dh, head @ ..] = outputs else { return };
		let dw: &mut [f32] = head.first_mut().map_or(&mut [], |dw| dw);
		let (exec, tokens, stages) = (&self.exec, batch.targets.len(), streamed.kept_stages().collect::<Vec<_>>());
		let [h, w] = self.head(streamed, arena);
		let batch_of = (batch, self.inverse_count(streamed, arena));
		let dim = h.len() / tokens;
		let vocab = w.len() / dim;
		let mut block = vec![0.0; streamed.rows.min(tokens) * vocab];
		let mut later = vec![0.0; if tokens > SEGMENT { dw.len() } else { 0 }];
		let mut hashes: [Vec<Hash>; 2] = Default::default();
		for at in blocks(0..tokens, streamed.rows) {
			let (wide, targets, logits) = (at.start * dim..at.end * dim, &batch.targets[at.clone()], &mut block[..at.len() * vocab]);
			let (max, sum, loss) = (&mut max[at.clone()], &mut sum[at.clone()], &mut loss[at.clone()]);
			self.logits_of(streamed, &at, [h, w], tokens, logits);
			hashes[0].extend(self.band_hashes(logits, vocab));
			exec.row_max(logits, vocab, false, max);
			self.mistaken(stages[0], tokens, at.start, max);
			exec.exp_sum(logits, vocab, false, max, sum);
			self.mistaken(stages[1], tokens, at.start, sum);
			exec.cross_entropy_loss(logits, vocab, targets, max, sum, loss);
			self.mistaken(stages[2], tokens, at.start, loss);
			self.logits_back(streamed, batch_of, &at, [max, sum], logits);
			hashes[1].extend(self.band_hashes(logits, vocab));
			let (h, dh) = (&h[wide.clone()], &mut dh[wide]);
			exec.matmul_nn(MatDims { m: at.len(), n: dim, k: vocab }, logits, w, dh, Start::Zero);
			self.mistaken(stages[3], tokens * dim, at.start * dim, dh);
			if streamed.head {
				add_to_weights_of(exec, (&at, tokens), [logits, h], dw, &mut later);
			}
		}
		if let Some(&head) = stages.get(4) {
			self.mistaken(head, dw.len(), 0, dw);
		}
		for (id, hashes) in streamed.tensors.into_iter().zip(hashes) {
			if let Some(known) = self.hashes.get(id.0 as usize) {
				let _ = known.set(hashes);
			}
		}
	}

	/// Hashes of the tiles of some rows.
	fn band_hashes(&self, values: &[f32], cols: usize) -> Vec<Hash> {
		let (rows, width) = (values.len() / cols, cols.div_ceil(SIDE));
		let write = |tile: usize, leaf: &mut [u8]| write_tile(values, [rows, cols], tile / width, tile % width, leaf);
		written_hashes(&self.exec, tile_count(rows, cols), write)
	}

	/// Row `row` of tiles of logits or their gradient, 32 rows; `None` for another tensor, or beyond the last.
	pub(super) fn band(&self, id: TensorId, row: u32) -> Option<Arc<Vec<f32>>> {
		let (streamed, batch) = (self.streamed?, self.batch.as_ref()?);
		let index = streamed.index(id)?;
		let known = |bands: &[Option<Band>; 2]| bands[index].as_ref().filter(|(known, _)| *known == row).map(|(_, band)| band.clone());
		if let Some(band) = known(&self.bands.lock().unwrap_or_else(PoisonError::into_inner)) {
			return Some(band);
		}
		let (first, tokens) = (row as usize * SIDE, batch.targets.len());
		let at = first..tokens.min(first + SIDE);
		if at.is_empty() {
			return None;
		}
		let [logits, _] = streamed.tensors;
		let band = if id == logits {
			let head = self.head(streamed, &self.arena);
			let mut band = vec![0.0; at.len() * self.shape(id).1];
			self.logits_of(streamed, &at, head, tokens, &mut band);
			band
		} else {
			let mut band = self.band(logits, row)?.to_vec();
			let kept = streamed.kept(&self.plan);
			let [max, sum] = [0, 1].map(|number| kept.get(number).map(|&id| &self.tensor(id)[at.clone()]).unwrap_or_default());
			self.logits_back(streamed, (batch, self.inverse_count(streamed, &self.arena)), &at, [max, sum], &mut band);
			band
		};
		let band = Arc::new(band);
		self.bands.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some((row, band.clone()));
		Some(band)
	}
}

#[cfg(test)]
mod tests {
	use crate::{
		exec::{Arena, Exec},
		trace::{Mistake, Trace},
	};
	use neuroshard_graph::{corpus::MASK, graph::TensorId, init::theta_0, layout::ParamLayout, ModelConfig, TrainConfig};
	use std::sync::Arc;

	/// A traced step with logits of so many rows at a time, or all of them kept.
	fn trace(model: &ModelConfig, train: &TrainConfig, rows: Option<usize>, mistake: Option<Mistake>) -> Trace {
		let (exec, layout) = (Arc::new(Exec::new(2).unwrap()), ParamLayout::new(model).unwrap());
		let state = [theta_0(model, &layout, &train.seed), vec![0.0; layout.len()], vec![0.0; layout.len()]].map(Arc::new);
		let places = 0..train.batch * (train.seq_len + 1);
		let masked = |place: u32| train.masked && (place < 40 || place.is_multiple_of(3));
		let mask = |place| if masked(place) { MASK } else { 0 };
		let tokens: Vec<_> = places.map(|place| (place * 7_919 % 1_009 % model.vocab) | mask(place)).collect();
		let mut trace = Trace::of_step(&exec, model, train, state.to_vec(), &tokens, (0, 0), mistake).unwrap();
		trace.streamed = trace.streamed.and_then(|streamed| rows.map(|rows| super::Streamed { rows, ..streamed }));
		trace.computed(Arena::new(2_000), 0)
	}

	fn same(one: &Trace, other: &Trace) -> bool {
		let tiles = |trace: &Trace| -> Vec<Vec<u32>> {
			let rows = (0..)
				.map(TensorId)
				.zip(trace.plan().tensors())
				.flat_map(|(id, info)| (0..info.rows.div_ceil(32)).map(move |row| (id, row)));
			let tiles = rows.filter_map(|(id, row)| trace.tile_values(id, row, 0));
			tiles.map(|tile| tile.iter().map(|value| value.to_bits()).collect()).collect()
		};
		(one.node_roots(), one.all_result_roots(), tiles(one)) == (other.node_roots(), other.all_result_roots(), tiles(other))
	}

	#[test]
	fn a_step_is_traced_alike_with_logits_of_any_number_of_rows_at_a_time_and_none_are_kept() {
		let cases = [(3, 320, true, false), (3, 64, false, true), (130, 64, true, false), (130, 64, true, true), (264, 64, false, false)];
		for (batch, vocab, tied, masked) in cases {
			let model = ModelConfig { vocab, tied, ..ModelConfig::tiny() };
			let train = TrainConfig { batch, masked, ..TrainConfig::tiny() };
			let kept = trace(&model, &train, None, None);
			for rows in [32, 64, 96, 4_096] {
				let streamed = trace(&model, &train, Some(rows), None);
				assert!(same(&kept, &streamed), "batch {batch}, {rows} rows at a time");
				for id in streamed.streamed.unwrap().tensors {
					let index = id.0 as usize;
					assert!(streamed.places[index].is_empty() && streamed.tensors[index].get().is_none(), "kept");
					let rows = streamed.shape(id).0 / 32;
					assert!(streamed.tile_values(id, u32::try_from(rows).unwrap(), 0).is_none(), "beyond the last row");
					assert!(streamed.tensors[index].get().is_none(), "a tile takes its row of tiles, not all of them");
				}
			}
		}
	}

	#[test]
	fn a_mistake_with_logits_has_the_same_consequences_with_any_number_of_rows_at_a_time() {
		let model = ModelConfig { vocab: 96, ..ModelConfig::tiny() };
		for masked in [false, true] {
			mistakes_have_the_same_consequences(&model, &TrainConfig { batch: 3, masked, ..TrainConfig::tiny() });
		}
	}

	fn mistakes_have_the_same_consequences(model: &ModelConfig, train: &TrainConfig) {
		let right = trace(model, train, Some(32), None);
		let streamed = right.streamed.unwrap();
		for stage in streamed.kept_stages().chain([streamed.first, streamed.back]) {
			// Of the second block, and modulo the length.
			for element in [40, 33 * 96 + 5, u64::MAX / 3] {
				let mistake = Mistake { step: 0, stage: u32::try_from(stage).unwrap(), output: 0, element, mask: 1 << 22 };
				let kept = trace(model, train, None, Some(mistake));
				assert!(!same(&kept, &right), "stage {stage}: a mistake is seen");
				for rows in [32, 96] {
					assert!(same(&kept, &trace(model, train, Some(rows), Some(mistake))), "stage {stage}, {rows} rows at a time");
				}
			}
		}
	}
}
