//! Answers on a device: weights that stay there, rows in 8 bits, and keys and values in pages.

use crate::{
	backend::{
		check, existing, number,
		Argument::{self, Float, Memory, Offset},
		Held, ITEMS, ROW, SCRATCH, SIDE,
	},
	handle::Handle,
	Arena, OpenCl,
};
use neuroshard_compute::exec::{At, Backend, Beside, Decoding, DeviceError, Pages, Piece, Tokens, PAGE_TOKENS};
use neuroshard_graph::{config::Projection, graph::Product, Class};
use neuroshard_kernels::{
	schedule::attention_scale,
	shape::{AttentionDims, MatDims, Start, GROUP},
};
use opencl3::{
	memory::{Buffer, ClMem},
	types::cl_char,
};

/// Rows in groups of 8-bit numbers.
struct Groups {
	values: Held<cl_char>,
	scales: Held<f32>,
	/// Groups that there is room for.
	room: usize,
}

/// What a matrix is kept as.
enum Kept {
	F32(Held<f32>),
	Int8(Groups),
}

/// A matrix of weights, `[n, k]`, on a device.
pub struct Weight {
	n: usize,
	k: usize,
	kept: Kept,
}

/// Rows that were quantized.
#[derive(Default)]
pub struct Rows(Option<Groups>);

/// Where the tokens of a pass are in pages; nothing if that failed, or there is no token.
pub struct Places {
	/// The place of each token, counted through all pages.
	tokens: Option<Handle<Buffer<u32>>>,
	/// The pages of all texts, one after the other.
	pages: Option<Handle<Buffer<u32>>>,
	/// Of each token, where the pages of its text begin in these, and how many tokens it sees.
	seen: Option<Handle<Buffer<u32>>>,
	/// Tokens of the pass, and that the one that sees most sees.
	rows: usize,
	most: usize,
}

/// Memory for pages.
struct Kv {
	held: Held<f32>,
	/// Elements of a page.
	page_len: usize,
	/// Which device it is of.
	device: usize,
}

impl OpenCl {
	/// Room for groups.
	fn groups(&self, groups: usize) -> Result<Groups, DeviceError> {
		Ok(Groups { values: self.hold(groups.saturating_mul(GROUP))?, scales: self.hold(groups)?, room: groups })
	}

	/// Quantizes rows of `k` elements, of a memory from an offset on.
	fn quantize(&self, [from, at]: [Argument; 2], (rows, k): (usize, usize), into: &Groups) {
		let groups = k.div_ceil(GROUP);
		let memory = [from, at, Memory(into.values.buffer.get()), Memory(into.scales.buffer.get())];
		self.each("quantize_rows", rows * groups, &[&memory[..], &[number(k), number(groups)]].concat());
	}

	/// A product of rows that were quantized.
	fn multiply_groups(&self, arena: &mut Arena, MatDims { m, n, k }: MatDims, [a, b]: [&Groups; 2], c: &At, start: Start) {
		let memory = [a, b].map(|groups| [Memory(groups.values.buffer.get()), Memory(groups.scales.buffer.get())]).concat();
		let shape = [number(m), number(n), number(k.div_ceil(GROUP)), existing(start)];
		let sides = [n.div_ceil(SIDE) * ITEMS, m.div_ceil(SIDE) * ITEMS];
		self.launch("matmul_int8", sides, [ITEMS, ITEMS], &[&memory[..], &[arena.memory(), arena.at(c)], &shape].concat());
	}

	/// A product of operands in the arena that are quantized first.
	pub(crate) fn quantized_product(&self, arena: &mut Arena, dims: MatDims, [a, b]: [At; 2], c: At, start: Start) {
		let MatDims { m, n, k } = dims;
		let groups = [m, n].map(|rows| self.groups(rows * k.div_ceil(GROUP)));
		let [Ok(left), Ok(right)] = groups else { return self.give_up() };
		for (at, rows, groups) in [(&a, m, &left), (&b, n, &right)] {
			self.quantize([arena.memory(), arena.at(at)], (rows, k), groups);
		}
		self.multiply_groups(arena, dims, [&left, &right], &c, start);
	}
}

impl Decoding for OpenCl {
	type Memory = Arena;
	type Weight = Weight;
	type Rows = Rows;
	type Places = Places;
	const ADAPTERS: bool = false;

	fn memory(&self, len: usize) -> Result<Arena, DeviceError> {
		self.zeros(len)
	}

	fn weight(&self, class: Class, n: usize, k: usize, values: &[f32]) -> Result<Weight, DeviceError> {
		assert_eq!(values.len(), n * k, "weights");
		let mut plain = self.hold(values.len())?;
		self.write_to(&mut plain.buffer, 0, values);
		let kept = match class {
			Class::ExactF32 => Kept::F32(plain),
			Class::ExactInt8 => {
				let groups = self.groups(n * k.div_ceil(GROUP))?;
				self.quantize([Memory(plain.buffer.get()), Offset(0)], (n, k), &groups);
				// No more than one matrix is there in f32 at a time.
				self.settled()?;
				Kept::Int8(groups)
			}
		};
		Ok(Weight { n, k, kept })
	}

	fn look_up(&self, arena: &mut Arena, table: &Weight, ids: &[u32], out: At) {
		check(ids, table.n);
		assert_eq!(out.len(), ids.len() * table.k, "rows");
		let (Kept::F32(plain), Some(ids)) = (&table.kept, self.upload(ids)) else { return };
		let from = [arena.memory(), Memory(plain.buffer.get()), Offset(0), Memory(ids.get())];
		self.each("gather", out.len(), &[&from[..], &[arena.at(&out), number(table.k)]].concat());
	}

	fn multiply(&self, arena: &mut Arena, (x, k): (At, usize), products: &[(&Weight, At)], rows: &mut Rows, start: Start) {
		let m = x.len() / k.max(1);
		if products.iter().any(|(weight, _)| matches!(weight.kept, Kept::Int8(_))) {
			let needed = m * k.div_ceil(GROUP);
			if rows.0.as_ref().is_none_or(|groups| groups.room < needed) {
				rows.0 = None;
				let Ok(groups) = self.groups(needed) else { return self.give_up() };
				rows.0 = Some(groups);
			}
			if let Some(groups) = &rows.0 {
				self.quantize([arena.memory(), arena.at(&x)], (m, k), groups);
			}
		}
		for (weight, out) in products {
			assert!(weight.k == k && out.len() == m * weight.n, "shape");
			let dims = MatDims { m, n: weight.n, k };
			match (&weight.kept, &rows.0) {
				(Kept::F32(plain), _) => {
					let left = [arena.memory(), arena.at(&x)];
					let operands = [left[0], left[1], Memory(plain.buffer.get()), Offset(0), arena.memory(), arena.at(out)];
					self.multiply_tiles(Product::Nt, &operands, dims, k, start);
				}
				(Kept::Int8(groups), Some(rows)) => self.multiply_groups(arena, dims, [rows, groups], out, start),
				_ => {}
			}
		}
	}

	fn add_beside(&self, _arena: &mut Arena, _beside: &mut Beside, _which: (usize, Projection), _x: At, _out: At) {}

	fn is_lost(&self) -> bool {
		self.has_failed()
	}

	fn page_len(&self, layers: usize, dims: AttentionDims) -> usize {
		layers * dims.kv_heads * 2 * PAGE_TOKENS * dims.head_dim
	}

	fn pages(&self, limit: usize, len: usize) -> Pages {
		let most = usize::try_from(self.room_for_buffer()).unwrap_or(usize::MAX) / (len.max(1) * size_of::<f32>());
		// Places of tokens are counted in 32 bits.
		let mut places = limit.min(most).min((1 << 31) / PAGE_TOKENS);
		// A driver may have less to give than it says; without any no text is read.
		while places > 0 {
			if let Ok(held) = self.hold(places * len) {
				let memory = Kv { held, page_len: len, device: self.identity() };
				return Pages::on_device(u32::try_from(places).unwrap_or(0), memory);
			}
			places /= 2;
		}
		Pages::on_device(0, ())
	}

	fn holds(&self, pages: &Pages, len: usize) -> bool {
		let own = |kv: &Kv| kv.page_len == len && kv.device == self.identity();
		pages.device_memory().is_some_and(own) || (pages.are_on_device() && pages.limit() == 0)
	}

	fn places(&self, pieces: &[Piece]) -> Places {
		let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
		let (mut tokens, mut pages, mut seen, mut most) = (Vec::new(), Vec::new(), Vec::new(), 0);
		for piece in pieces {
			let begin = pages.len();
			pages.extend(piece.sequence.places().map(Option::unwrap_or_default));
			let end = piece.sequence.len() + piece.tokens.len();
			for token in piece.sequence.len()..end {
				let page = pages.get(begin + token / PAGE_TOKENS).copied().unwrap_or(0);
				tokens.push(page * number(PAGE_TOKENS) + number(token % PAGE_TOKENS));
				seen.extend([number(begin), number(token + 1)]);
			}
			most = most.max(end);
		}
		Places { rows: tokens.len(), most, tokens: self.upload(&tokens), pages: self.upload(&pages), seen: self.upload(&seen) }
	}

	fn keep(&self, arena: &Arena, pages: &Pages, (dims, layer): (AttentionDims, usize), tokens: Tokens<Self>, [keys, values]: [At; 2]) {
		let (Some(Kv { held, page_len, .. }), Some(places)) = (pages.device_memory(), &tokens.places.tokens) else { return };
		assert_eq!(keys.len(), tokens.places.rows * dims.key_width(), "keys");
		let from = [arena.memory(), arena.at(&keys), arena.at(&values), Memory(held.buffer.get()), Memory(places.get())];
		let shape = [Offset(*page_len as u64), number(layer), number(dims.kv_heads), number(dims.head_dim)];
		self.each("keep", keys.len(), &[&from[..], &shape].concat());
	}

	fn attend(&self, arena: &mut Arena, pages: &Pages, (dims, layer): (AttentionDims, usize), tokens: Tokens<Self>, [q, o]: [At; 2]) {
		let Places { pages: table, seen, rows, most, .. } = tokens.places;
		let (Some(Kv { held, page_len, .. }), Some(table), Some(seen)) = (pages.device_memory(), table, seen) else { return };
		let (rows, most) = (rows * dims.heads, *most);
		assert!(q.len() == rows * dims.head_dim && o.len() == q.len(), "queries");
		let mut kept = self.scratch();
		let share = (SCRATCH / most.max(1)).clamp(1, rows.max(1));
		let Some(scratch) = self.scratch_room(&mut kept[0], share * most) else { return };
		let operands = [arena.memory(), arena.at(&q), arena.at(&o), Memory(held.buffer.get()), Memory(table.get()), Memory(seen.get())];
		for first in (0..rows).step_by(share) {
			let at = [Memory(scratch), Offset(first as u64), number(most), Offset(*page_len as u64), number(layer)];
			let shape = [number(dims.heads), number(dims.kv_heads), number(dims.head_dim), Float(attention_scale(dims.head_dim))];
			let groups = share.min(rows - first);
			self.launch("attention_paged", [groups * ROW], [ROW], &[&operands[..], &at, &shape].concat());
		}
	}
}
