//! Products with weights that are packed once and used for every token, and attention over pages: what a model that answers computes with.

use super::{scratch::Scratch, share, Exec};
use crate::{
	pool::lock,
	simd::{
		few::few_rows,
		paged,
		product::{multiply_rows, pack_lines, spaced, Operand, Output, KC, MC, SLACK},
		Level,
	},
};
use neuroshard_kernels::shape::{AttentionDims, MatDims, Start};

pub use crate::simd::paged::PAGE;

/// A matrix `[n, k]` of weights, packed for one instruction set.
pub struct Packed {
	level: Level,
	n: usize,
	k: usize,
	/// Panels as wide as a tile; no load of them crosses a line of the cache.
	data: Scratch,
}

impl Packed {
	/// Copies row `row` of the matrix to `out`, which has its length.
	///
	/// # Panics
	/// If there is no such row.
	pub fn row(&self, row: usize, out: &mut [f32]) {
		assert!(row < self.n && out.len() == self.k, "row");
		let width = self.level.tile_cols();
		let panel = &self.data.taken()[row / width * width * self.k..];
		for (out, line) in out.iter_mut().zip(panel.chunks_exact(width)) {
			*out = line[row % width];
		}
	}
}

/// A query's place: what it sees.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
	/// The pages of its text, each of [`Exec::page_len`] elements or more.
	pub pages: &'a [&'a [f32]],
	/// Tokens that it sees, its own included.
	pub keys: usize,
}

impl Exec {
	/// Packs `weights`, `[n, k]`.
	///
	/// # Panics
	/// If that is not the length of `weights`.
	pub fn pack(&self, n: usize, k: usize, weights: &[f32]) -> Packed {
		assert_eq!(weights.len(), n * k, "weights");
		let width = self.level.tile_cols();
		let mut data = Scratch::default();
		let panels = super::Parts::new(data.take(n.next_multiple_of(width) * k + SLACK));
		let operand = Operand::new(weights, 0, k, true);
		let threads = self.threads_for(n * k);
		self.run(threads, |t| {
			let mine = share(n, width, t, threads);
			// SAFETY: whole panels, and only this thread's; panels are multiples of a vector wide, so stores stay inside.
			let part = unsafe { panels.get(mine.start * k..mine.end.next_multiple_of(width) * k) };
			if !part.is_empty() {
				pack_lines(self.level, operand, mine, 0..k, width, part);
			}
		});
		Packed { level: self.level, n, k, data }
	}

	/// `c = a b^T`, or `c + a b^T`: as [`neuroshard_kernels::scalar::matmul_nt`] with the matrix that was packed into `b`, for `c.len() / n` rows.
	///
	/// # Panics
	/// If the slices do not have the rows of a product, or `b` was packed by an executor of another instruction set.
	pub fn matmul_packed(&self, a: &[f32], b: &Packed, c: &mut [f32], start: Start) {
		let (n, k) = (b.n, b.k);
		assert!(b.level == self.level && n > 0 && k > 0 && c.len().is_multiple_of(n), "shape");
		let m = c.len() / n;
		assert_eq!(a.len(), m * k, "left operand");
		if m == 0 {
			return;
		}
		let threads = self.threads_for_product(m * n * k, n * k * size_of::<f32>());
		let (width, data) = (self.level.tile_cols(), b.data.taken());
		let c = Output { at: c.as_mut_ptr(), stride: n };
		if m <= self.level.few() {
			let load = start == Start::Existing;
			return self.run(threads, |t| few_rows(self.level, a, m, k, share(n, width, t, threads), data, c, load));
		}
		self.run(threads, |t| {
			let mut scratch = lock(&self.scratch[t]);
			let buffer = scratch.take(MC * spaced(KC.min(k)) + SLACK);
			let lines = share(n, width, t, threads);
			if lines.is_empty() {
				return;
			}
			// SAFETY: the first column exists.
			let c = unsafe { c.from(lines.start) };
			let panels = &data[lines.start * k..];
			for first in (0..k).step_by(KC) {
				let depth = KC.min(k - first);
				let load = start == Start::Existing || first > 0;
				let dims = MatDims { m, n: lines.len(), k: depth };
				multiply_rows(self.level, Operand::new(a, first, k, true), 0..m, dims, (&panels[first * width..], k), c, load, buffer);
			}
		});
	}

	/// Elements of a page for a model with so many layers.
	pub fn page_len(layers: usize, dims: AttentionDims) -> usize {
		layers * dims.kv_heads * paged::part(dims.head_dim)
	}

	/// Writes a token's keys and values of a layer, `[kv_heads * head_dim]`, to place `slot` of a page.
	///
	/// # Panics
	/// If the page has no such place.
	pub fn page_token(dims: AttentionDims, layer: usize, slot: usize, keys: &[f32], values: &[f32], page: &mut [f32]) {
		let (hd, part) = (dims.head_dim, paged::part(dims.head_dim));
		assert!(slot < PAGE && keys.len() == dims.key_width() && values.len() == keys.len(), "shape");
		let layer = &mut page[layer * dims.kv_heads * part..(layer + 1) * dims.kv_heads * part];
		let width = (part - PAGE * hd) / PAGE;
		for ((page, keys), values) in layer.chunks_exact_mut(part).zip(keys.chunks_exact(hd)).zip(values.chunks_exact(hd)) {
			let (lines, rows) = page.split_at_mut(PAGE * hd);
			for (line, &key) in lines.chunks_exact_mut(PAGE).zip(keys) {
				line[slot] = key;
			}
			rows[slot * width..slot * width + hd].copy_from_slice(values);
		}
	}

	/// Attention of one query row for each of `seen`, in a layer: each as [`neuroshard_kernels::scalar::attention_decode`] over the tokens that it sees.
	///
	/// `q` and `o` are `[seen, heads * head_dim]`; `batch` and `seq` of `dims` are not used.
	///
	/// # Panics
	/// If a query sees nothing, or more than its pages hold.
	pub fn attention_paged(&self, dims: AttentionDims, layer: usize, seen: &[Seen], q: &[f32], o: &mut [f32]) {
		assert!(q.len() == seen.len() * dims.query_width() && o.len() == q.len(), "query shape");
		assert!(seen.iter().all(|seen| seen.keys > 0 && seen.keys <= seen.pages.len() * PAGE), "pages");
		let most = seen.iter().map(|seen| seen.keys).max().unwrap_or(0);
		let all: usize = seen.iter().map(|seen| seen.keys).sum();
		let (group, part) = (dims.group() * dims.head_dim, paged::part(dims.head_dim));
		let end = (layer + 1) * dims.kv_heads * part;
		assert!(seen.iter().all(|seen| seen.pages.iter().all(|page| page.len() >= end)), "page length");
		let o = super::Parts::new(o);
		let units = seen.len() * dims.kv_heads;
		let work = all.div_ceil(seen.len().max(1)) * group * 2;
		self.units((units, work), paged::buffer(most, dims.head_dim), |unit, buffer| {
			let (row, head) = (unit / dims.kv_heads, unit % dims.kv_heads);
			let Seen { pages, keys } = seen[row];
			let at = (layer * dims.kv_heads + head) * part;
			let heads = row * dims.query_width() + head * group..row * dims.query_width() + (head + 1) * group;
			// SAFETY: each unit has outputs of its own.
			let o = unsafe { o.get(heads.clone()) };
			paged::attend(self.level, dims.head_dim, at, keys, &q[heads], pages, o, buffer);
		});
	}
}
