//! What models that answer are computed with, beside the operators of a training step.

use super::{
	beside::Beside,
	kv_pages::{Pages, Sequence},
	weight::Weight,
	Arena, At, Backend, DeviceError, Exec, Piece,
};
use crate::native::{Quantized, Seen, PAGE};
use neuroshard_graph::{class::Class, config::Projection};
use neuroshard_kernels::shape::{AttentionDims, Start};
use std::borrow::BorrowMut;

/// The tokens of a pass.
pub struct Tokens<'a, 'b, B: Decoding> {
	/// The pieces that they come in.
	pub pieces: &'a mut [Piece<'b>],
	/// Where they are in pages: see [`Decoding::places`].
	pub places: &'a B::Places,
}

/// Executes what a model that answers needs: products with weights that stay, and attention over keys and values in pages.
pub trait Decoding: Backend + Sized {
	/// An arena that it owns.
	type Memory: BorrowMut<Self::Arena>;
	/// A matrix of weights, `[n, k]`, as the products of a class read it.
	type Weight;
	/// What is made of rows for the products of a class, in memory that is used again and again.
	type Rows: Default;
	/// Where the tokens of a pass are in pages, as keys and values of every layer are kept and read.
	type Places;
	/// Whether texts can be read beside adapters.
	const ADAPTERS: bool;

	/// An arena of `len` elements.
	///
	/// # Errors
	/// [`DeviceError`] if there is not so much memory.
	fn memory(&self, len: usize) -> Result<Self::Memory, DeviceError>;
	/// Keeps the weights `values`, `[n, k]`, for products of `class`.
	///
	/// # Errors
	/// [`DeviceError`] if there is not so much memory.
	fn weight(&self, class: Class, n: usize, k: usize, values: &[f32]) -> Result<Self::Weight, DeviceError>;
	/// Copies the rows `ids` of a matrix that is kept in exact f32.
	fn look_up(&self, arena: &mut Self::Arena, table: &Self::Weight, ids: &[u32], out: At);
	/// `out = x weight^T` of rows of `k` elements, or `out + x weight^T`, for each of `products`, whose weights are kept for the same class.
	fn multiply(&self, arena: &mut Self::Arena, x: (At, usize), products: &[(&Self::Weight, At)], rows: &mut Self::Rows, start: Start);
	/// Adds to `out`, products of the rows `x` with a projection of a layer, what adapters add to it.
	fn add_beside(&self, arena: &mut Self::Arena, beside: &mut Beside, which: (usize, Projection), x: At, out: At);

	/// Whether it has failed, and computes nothing any more.
	fn is_lost(&self) -> bool;
	/// Elements of a page of a model with so many layers.
	fn page_len(&self, layers: usize, dims: AttentionDims) -> usize;
	/// Room for at most `limit` pages of `len` elements, or for as many as there is memory for.
	fn pages(&self, limit: usize, len: usize) -> Pages;
	/// Whether pages are what [`Decoding::pages`] gives for this length.
	fn holds(&self, pages: &Pages, len: usize) -> bool;
	/// Where the tokens of the pieces are, which have the pages for them.
	fn places(&self, pieces: &[Piece]) -> Self::Places;
	/// Keeps keys and values of the tokens, `[tokens, kv_heads * head_dim]`, of a layer.
	fn keep(&self, arena: &Self::Arena, pages: &Pages, at: (AttentionDims, usize), tokens: Tokens<Self>, rows: [At; 2]);
	/// Attention of every token over what its text has up to it, in a layer: see
	/// [`neuroshard_kernels::scalar::attention_decode`]. Queries and outputs are `[tokens, heads * head_dim]`.
	fn attend(&self, arena: &mut Self::Arena, pages: &Pages, at: (AttentionDims, usize), tokens: Tokens<Self>, rows: [At; 2]);
}

impl Decoding for Exec {
	type Memory = Arena;
	type Weight = Weight;
	type Rows = Quantized;
	type Places = ();
	const ADAPTERS: bool = true;

	fn memory(&self, len: usize) -> Result<Arena, DeviceError> {
		Ok(Arena::new(len))
	}

	fn weight(&self, class: Class, n: usize, k: usize, values: &[f32]) -> Result<Weight, DeviceError> {
		Ok(Weight::pack(self, class, n, k, values))
	}

	fn look_up(&self, arena: &mut [f32], table: &Weight, ids: &[u32], out: At) {
		let rows = &mut arena[out];
		let width = rows.len() / ids.len().max(1);
		for (&id, row) in ids.iter().zip(rows.chunks_exact_mut(width.max(1))) {
			// Below the vocabulary, which fits.
			table.row(id as usize, row);
		}
	}

	fn multiply(&self, arena: &mut [f32], (x, k): (At, usize), products: &[(&Weight, At)], rows: &mut Quantized, start: Start) {
		if products.iter().any(|(weight, _)| weight.reads_quantized()) {
			self.quantize(k, &arena[x.clone()], rows);
		}
		for (weight, out) in products {
			let [x, out] = super::backend::parts(arena, [x.clone(), out.clone()]);
			weight.times(self, x, rows, out, start);
		}
	}

	fn add_beside(&self, arena: &mut [f32], beside: &mut Beside, which: (usize, Projection), x: At, out: At) {
		let [x, out] = super::backend::parts(arena, [x, out]);
		beside.add(self, which, x, out);
	}

	fn is_lost(&self) -> bool {
		false
	}

	fn page_len(&self, layers: usize, dims: AttentionDims) -> usize {
		Self::page_len(layers, dims)
	}

	fn pages(&self, limit: usize, _len: usize) -> Pages {
		Pages::new(limit)
	}

	fn holds(&self, pages: &Pages, _len: usize) -> bool {
		!pages.are_on_device()
	}

	fn places(&self, _pieces: &[Piece]) {}

	fn keep(&self, arena: &[f32], _pages: &Pages, (dims, layer): (AttentionDims, usize), tokens: Tokens<Self>, [keys, values]: [At; 2]) {
		let width = dims.key_width();
		let mut rows = arena[keys].chunks_exact(width).zip(arena[values].chunks_exact(width));
		for piece in tokens.pieces {
			let first = piece.sequence.len();
			for (position, (keys, values)) in (first..first + piece.tokens.len()).zip(&mut rows) {
				if let Some(page) = piece.sequence.page_mut(position) {
					Self::page_token(dims, layer, position % PAGE, keys, values, &mut page.data);
				}
			}
		}
	}

	fn attend(&self, arena: &mut [f32], _pages: &Pages, (dims, layer): (AttentionDims, usize), tokens: Tokens<Self>, rows: [At; 2]) {
		let pieces = tokens.pieces;
		let texts: Vec<Vec<&[f32]>> = pieces.iter().map(|piece| Sequence::pages(piece.sequence)).collect();
		let seen = pieces.iter().zip(&texts).flat_map(|(piece, pages)| {
			let first = piece.sequence.len() + 1;
			(first..first + piece.tokens.len()).map(|keys| Seen { pages, keys })
		});
		let [q, o] = super::backend::parts(arena, rows);
		self.attention_paged(dims, layer, &seen.collect::<Vec<_>>(), q, o);
	}
}
