//! Codes of tiles: what deltas are made smaller by on their way.
//!
//! A code is a list of numbers like any other, so that it is hashed, proven and disputed as they are. It holds whole numbers of 30 bits as the floats
//! with these bits, all of them finite and in canonical form; in 8 bits, four signs and magnitudes of which the last is never 127.
//!
//! Sums are of plain products, each rounded: a fused multiply-add would cost a chain, which has to emulate it, ten times as much.

use crate::{num::canon_bits, shape::TILE};
use alloc::vec::Vec;

/// Numbers of a tile.
const NUMBERS: usize = TILE * TILE;
/// Numbers of the code of a tile in 8 bits, beside its scale.
pub const INT8_CODE: usize = NUMBERS / 4;
/// Largest magnitude in 8 bits: with 127 a code could be no number.
const INT8_MOST: f32 = 126.0;
/// Bits of a code's number that are used.
const BITS: usize = 30;
/// Bits of an entry: 10 of its place, one for the larger level, one of the sign.
const ENTRY_BITS: usize = 12;
/// Bits of a level: those of an `f32` but for its sign and the 16 last.
const LEVEL_BITS: usize = 15;

/// cos(pi j / 64) for j from 0 to 32.
const COSINES: [u32; TILE + 1] = [
	0x3f80_0000,
	0x3f7f_b10f,
	0x3f7e_c46d,
	0x3f7d_3aac,
	0x3f7b_14be,
	0x3f78_53f8,
	0x3f74_fa0b,
	0x3f71_0908,
	0x3f6c_835e,
	0x3f67_6bd8,
	0x3f61_c598,
	0x3f5b_941a,
	0x3f54_db31,
	0x3f4d_9f02,
	0x3f45_e403,
	0x3f3d_aef9,
	0x3f35_04f3,
	0x3f2b_eb4a,
	0x3f22_6799,
	0x3f18_7fc0,
	0x3f0e_39da,
	0x3f03_9c3d,
	0x3ef1_5aea,
	0x3eda_e880,
	0x3ec3_ef15,
	0x3eac_7cd4,
	0x3e94_a031,
	0x3e78_cfcc,
	0x3e47_c5c2,
	0x3e16_4083,
	0x3dc8_bd36,
	0x3d48_fb30,
	0x0000_0000,
];

/// Element (k, n) of [`TRANSFORM`].
const fn cosine(k: usize, n: usize) -> f32 {
	let turn = if k == 0 { 16 } else { k * (2 * n + 1) % 128 };
	// cos repeats after 128, is even, and changes its sign half a turn on.
	let turn = if turn > 64 { 128 - turn } else { turn };
	let (turn, negative) = if turn > 32 { (64 - turn, true) } else { (turn, false) };
	let value = f32::from_bits(COSINES[turn]) * 0.25;
	if negative {
		-value
	} else {
		value
	}
}

/// The orthonormal cosine transform of 32 numbers, row by row: element (k, n) is cos(pi k (2 n + 1) / 64) / 4, for k = 0 divided by sqrt(2) once more.
pub const TRANSFORM: [[f32; TILE]; TILE] = {
	let mut rows = [[0.0; TILE]; TILE];
	let mut k = 0;
	while k < TILE {
		let mut n = 0;
		while n < TILE {
			rows[k][n] = cosine(k, n);
			n += 1;
		}
		k += 1;
	}
	rows
};

/// `out += factor * row`.
fn add_times(out: &mut [f32], factor: f32, row: &[f32]) {
	out.iter_mut().zip(row).for_each(|(out, &x)| *out += factor * x);
}

/// Coefficients of a tile in the orthonormal cosine transform of its columns and rows: `C x C^T`, sums in ascending order from +0.
///
/// # Panics
/// If `tile` or `out` is no tile.
pub fn cosine_forward(tile: &[f32], out: &mut [f32]) {
	assert!(tile.len() == NUMBERS && out.len() == NUMBERS, "tiles");
	let mut columns = [0.0; NUMBERS];
	for (row, line) in TRANSFORM.iter().zip(columns.chunks_exact_mut(TILE)) {
		row.iter().zip(tile.chunks_exact(TILE)).for_each(|(&factor, values)| add_times(line, factor, values));
	}
	out.fill(0.0);
	for (line, out) in columns.chunks_exact(TILE).zip(out.chunks_exact_mut(TILE)) {
		for (n, &value) in line.iter().enumerate() {
			out.iter_mut().zip(&TRANSFORM).for_each(|(out, row)| *out += value * row[n]);
		}
	}
}

/// The tile with these coefficients: `C^T y C`, sums in ascending order from +0 without those that are 0.
///
/// # Panics
/// If `coefficients` or `out` is no tile.
pub fn cosine_inverse(coefficients: &[f32], out: &mut [f32]) {
	assert!(coefficients.len() == NUMBERS && out.len() == NUMBERS, "tiles");
	out.fill(0.0);
	for (coefficients, row) in coefficients.chunks_exact(TILE).zip(&TRANSFORM) {
		if coefficients.iter().all(|&value| value == 0.0) {
			continue;
		}
		let mut line = [0.0; TILE];
		for (&value, across) in coefficients.iter().zip(&TRANSFORM).filter(|(value, _)| **value != 0.0) {
			add_times(&mut line, value, across);
		}
		row.iter().zip(out.chunks_exact_mut(TILE)).for_each(|(&factor, out)| add_times(out, factor, &line));
	}
}

/// What the magnitudes of a tile are multiples of in 8 bits: the largest divided by 126.
pub fn int8_scale(tile: &[f32]) -> f32 {
	tile.iter().fold(0.0f32, |most, &x| if x.abs() > most { x.abs() } else { most }) / INT8_MOST
}

/// A tile in 8 bits a number: sign and nearest multiple of `scale`, four in each number of the code.
///
/// # Panics
/// If `tile` is no tile, or `code` not [`INT8_CODE`] long.
pub fn int8_encode(tile: &[f32], scale: f32, code: &mut [f32]) {
	assert!(tile.len() == NUMBERS && code.len() == INT8_CODE, "tile and code");
	for (code, values) in code.iter_mut().zip(tile.chunks_exact(4)) {
		let bytes = [0, 1, 2, 3].map(|place: usize| {
			let value: f32 = values[place];
			let steps = if scale > 0.0 { (value.abs() / scale + 0.5).min(INT8_MOST) as u8 } else { 0 };
			if steps > 0 && value < 0.0 {
				steps | 0x80
			} else {
				steps
			}
		});
		*code = f32::from_bits(u32::from_le_bytes(bytes));
	}
}

/// The tile that a code in 8 bits stands for.
///
/// # Panics
/// If `code` is not [`INT8_CODE`] long, or `out` no tile.
pub fn int8_decode(code: &[f32], scale: f32, out: &mut [f32]) {
	assert!(out.len() == NUMBERS && code.len() == INT8_CODE, "tile and code");
	for (code, out) in code.iter().zip(out.chunks_exact_mut(4)) {
		for (out, byte) in out.iter_mut().zip(code.to_bits().to_le_bytes()) {
			let value = f32::from(byte & 0x7f) * scale;
			*out = if byte & 0x80 == 0 { value } else { -value };
		}
	}
}

/// Largest numbers of a tile that a code of `len` numbers holds.
pub const fn top_entries(len: usize) -> usize {
	len.saturating_sub(1) * BITS / ENTRY_BITS
}

/// The mean of some magnitudes, added in order, with the bits of a level.
fn level(magnitudes: impl Iterator<Item = f32>) -> u32 {
	let (sum, count) = magnitudes.fold((0.0, 0u16), |(sum, count), magnitude| (sum + magnitude, count + 1));
	let mean: f32 = if count == 0 { 0.0 } else { sum / f32::from(count) };
	canon_bits(mean).saturating_add(1 << 15) >> 16
}

/// The numbers of a tile with the largest magnitudes, as many as [`top_entries`], equal ones from the first on: place, sign, and which of two levels.
/// Levels are the means of the magnitudes up to the mean of all that are held, and of those above it. If fewer are not 0, the last is repeated.
///
/// The first number of the code is the two levels, the upper one in its higher bits; the entries follow by place, 12 bits each, without gaps.
///
/// # Panics
/// If `tile` is no tile.
pub fn top_encode(tile: &[f32], code: &mut [f32]) {
	assert_eq!(tile.len(), NUMBERS, "tile");
	// One NaN is as good as another.
	let magnitude = |x: f32| canon_bits(x) & 0x7fff_ffff;
	// By magnitude, then by place from the last on: all different.
	let key = |place: usize, x: f32| u64::from(magnitude(x)) << 16 | (NUMBERS - 1 - place) as u64;
	let mut keys: Vec<u64> = (0..).zip(tile).filter(|(_, x)| magnitude(**x) != 0).map(|(place, &x)| key(place, x)).collect();
	let most = top_entries(code.len());
	if keys.len() > most {
		let left_out = keys.len() - most;
		keys.select_nth_unstable(left_out);
		keys.drain(..left_out);
	}
	let mut places: Vec<usize> = keys.into_iter().map(|key| NUMBERS - 1 - (key & 0xffff) as usize).collect();
	places.sort_unstable();
	let held = || places.iter().map(|&place| tile[place].abs());
	let mean = if places.is_empty() { 0.0 } else { held().fold(0.0, |sum, x| sum + x) / places.len() as f32 };
	let levels = [level(held().filter(|&x| x > mean)), level(held().filter(|&x| x <= mean))];
	let entry = |&place: &usize| {
		let x = tile[place];
		place as u32 | u32::from(x.abs() > mean) << 10 | u32::from(x < 0.0) << 11
	};
	let last = places.last().map_or(0, entry);
	let entries = places.iter().map(entry).chain(core::iter::repeat(last)).take(most);

	code.fill(0.0);
	let Some((first, rest)) = code.split_first_mut() else { return };
	*first = f32::from_bits(levels[0] << LEVEL_BITS | levels[1]);
	let (mut waiting, mut bits) = (0u64, 0);
	let mut rest = rest.iter_mut();
	for entry in entries {
		waiting |= u64::from(entry) << bits;
		bits += ENTRY_BITS;
		if bits >= BITS {
			if let Some(number) = rest.next() {
				*number = f32::from_bits((waiting & ((1 << BITS) - 1)) as u32);
			}
			waiting >>= BITS;
			bits -= BITS;
		}
	}
	if let Some(number) = rest.next().filter(|_| bits > 0) {
		*number = f32::from_bits(waiting as u32);
	}
}

/// The tile that a code of [`top_encode`] stands for: 0 but for the entries. Of entries at one place the last counts.
///
/// # Panics
/// If `out` is no tile.
pub fn top_decode(code: &[f32], out: &mut [f32]) {
	assert_eq!(out.len(), NUMBERS, "tile");
	out.fill(0.0);
	let Some((first, rest)) = code.split_first() else { return };
	let mask = (1 << LEVEL_BITS) - 1;
	let levels = [first.to_bits() & mask, first.to_bits() >> LEVEL_BITS & mask].map(|level| f32::from_bits(level << 16));
	let (mut waiting, mut bits) = (0u64, 0);
	let mut rest = rest.iter();
	for _ in 0..top_entries(code.len()) {
		if bits < ENTRY_BITS {
			let number = rest.next().map_or(0, |number| number.to_bits() & ((1 << BITS) - 1));
			waiting |= u64::from(number) << bits;
			bits += BITS;
		}
		let entry = (waiting & ((1 << ENTRY_BITS) - 1)) as usize;
		waiting >>= ENTRY_BITS;
		bits -= ENTRY_BITS;
		let value = levels[entry >> 10 & 1];
		out[entry & (NUMBERS - 1)] = if entry >> 11 == 0 { value } else { -value };
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use alloc::vec;

	/// Numbers of all magnitudes.
	fn tile(seed: u32) -> Vec<f32> {
		let mut state = u64::from(seed) + 1;
		let next = || {
			state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
			let unit = (state >> 40) as f32 / 16_777_216.0 - 0.5;
			unit * unit * unit
		};
		core::iter::repeat_with(next).take(NUMBERS).collect()
	}

	fn canonical(code: &[f32]) -> bool {
		code.iter().all(|x| x.is_finite() && canon_bits(*x) == x.to_bits())
	}

	#[test]
	fn the_cosine_transform_is_that_of_its_formula_and_undone_by_its_inverse() {
		let (x, mut y, mut back) = (tile(1), vec![0.0; NUMBERS], vec![0.0; NUMBERS]);
		cosine_forward(&x, &mut y);
		for (k, l) in [(0, 0), (0, 5), (3, 0), (7, 30), (31, 31)] {
			let mut sum = 0.0f64;
			for (i, row) in x.chunks_exact(TILE).enumerate() {
				for (j, &value) in row.iter().enumerate() {
					let turn = |k: usize, n: usize| (core::f64::consts::PI * k as f64 * (2 * n + 1) as f64 / 64.0).cos();
					let norm = |k: usize| if k == 0 { (1.0f64 / 32.0).sqrt() } else { 0.25 };
					sum += norm(k) * norm(l) * turn(k, i) * turn(l, j) * f64::from(value);
				}
			}
			assert!((sum - f64::from(y[k * TILE + l])).abs() < 1e-6, "{k} {l}");
		}
		cosine_inverse(&y, &mut back);
		assert!(x.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-6));
	}

	#[test]
	fn eight_bits_hold_every_number_to_half_a_step() {
		let x = tile(2);
		let (scale, mut code, mut back) = (int8_scale(&x), vec![0.0; INT8_CODE], vec![0.0; NUMBERS]);
		assert_eq!(scale, x.iter().map(|x| x.abs()).fold(0.0, f32::max) / 126.0);
		int8_encode(&x, scale, &mut code);
		int8_decode(&code, scale, &mut back);
		assert!(canonical(&code));
		assert!(x.iter().zip(&back).all(|(a, b)| (a - b).abs() <= scale * 0.50001));
		// Nothing, and what is too small to have a scale.
		for value in [0.0, -0.0, f32::from_bits(1), -f32::from_bits(60)] {
			let x = vec![value; NUMBERS];
			int8_encode(&x, int8_scale(&x), &mut code);
			int8_decode(&code, int8_scale(&x), &mut back);
			assert!(canonical(&code) && back.iter().all(|&x| x.to_bits() == 0), "{value}");
		}
	}

	#[test]
	fn the_largest_numbers_come_back_with_their_signs_as_one_of_two_means() {
		for (len, entries) in [(2, 2), (4, 7), (8, 17), (16, 37), (32, 77)] {
			assert_eq!(top_entries(len), entries);
			let (x, mut code, mut back) = (tile(3), vec![0.0; len], vec![0.0; NUMBERS]);
			top_encode(&x, &mut code);
			top_decode(&code, &mut back);
			assert!(canonical(&code));
			let mut order: Vec<usize> = (0..NUMBERS).collect();
			order.sort_by(|&a, &b| x[b].abs().total_cmp(&x[a].abs()).then(a.cmp(&b)));
			let (held, rest) = order.split_at(entries);
			assert!(rest.iter().all(|&place| back[place] == 0.0));
			let mean = held.iter().map(|&place| f64::from(x[place].abs())).sum::<f64>() / entries as f64;
			for high in [false, true] {
				let group: Vec<usize> = held.iter().copied().filter(|&place| (f64::from(x[place].abs()) > mean) == high).collect();
				let level = group.iter().map(|&place| f64::from(x[place].abs())).sum::<f64>() / group.len() as f64;
				for place in group {
					assert!(back[place].signum() == x[place].signum() && (f64::from(back[place].abs()) / level - 1.0).abs() < 0.005);
				}
			}
		}
	}

	#[test]
	fn equal_numbers_are_held_from_the_first_on_and_nothing_beside_what_is_not_zero() {
		let (mut code, mut back) = (vec![0.0; 4], vec![0.0; NUMBERS]);
		top_encode(&[1.0; NUMBERS], &mut code);
		top_decode(&code, &mut back);
		assert!(back[..7].iter().all(|&x| x == 1.0) && back[7..].iter().all(|&x| x == 0.0));
		let mut few = vec![0.0; NUMBERS];
		(few[40], few[1023]) = (-2.0, 4.0);
		top_encode(&few, &mut code);
		top_decode(&code, &mut back);
		assert_eq!(back, few);
		top_encode(&[-0.0; NUMBERS], &mut code);
		top_decode(&code, &mut back);
		assert!(code.iter().chain(&back).all(|x| x.to_bits() == 0));
	}

	#[test]
	fn any_numbers_stand_for_a_tile() {
		for seed in 0..50 {
			let code: Vec<f32> = tile(seed).iter().map(|x| f32::from_bits(x.to_bits().wrapping_mul(2_654_435_761))).collect();
			let mut out = vec![0.0; NUMBERS];
			for len in [0, 1, 2, 4, 8, 16, 32] {
				top_decode(&code[..len], &mut out);
			}
			int8_decode(&code[..INT8_CODE], code[300], &mut out);
		}
	}
}
