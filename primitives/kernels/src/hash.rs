//! Blake2b-256 of many inputs of one length, eight at a time in the lanes of 512-bit registers.

/// Hashes consecutive `inputs` of `len` bytes each, a multiple of 64, into consecutive 32 bytes of `out`, and returns how many of them: all but
/// the last few, or none on a machine without AVX-512 and for another length. The rest is left to the caller.
///
/// # Panics
/// If `out` has less than 32 bytes for each input.
pub fn blake2b_256(inputs: &[u8], len: usize, out: &mut [u8]) -> usize {
	#[cfg(target_arch = "x86_64")]
	if len > 0 && len.is_multiple_of(64) && is_x86_feature_detected!("avx512f") {
		let (eights, outs) = (inputs.chunks_exact(8 * len), out.chunks_exact_mut(8 * 32));
		let done = 8 * eights.len();
		assert!(outs.len() >= eights.len(), "room for hashes");
		// SAFETY: this machine has AVX-512F.
		eights.zip(outs).for_each(|(inputs, out)| unsafe { avx512::eight(inputs, len, out) });
		return done;
	}
	let _ = (inputs, len, out);
	0
}

/// Hashes of the quarters of two 32x32 tiles of tensors, from the tiles' first elements in `values` and the lengths of the tensors' rows: those of 8 rows of
/// canonical numbers each. Whether there are any: there are none on a machine without AVX-512. Asks for the tiles that come `next` meanwhile, as there is less
/// to compute than memory takes to answer.
///
/// # Panics
/// If a tile is not within `values`.
pub fn quarters(values: &[f32], tiles: [(usize, usize); 2], next: [(usize, usize); 2], out: &mut [u8; 256]) -> bool {
	#[cfg(target_arch = "x86_64")]
	if is_x86_feature_detected!("avx512f") {
		// SAFETY: this machine has AVX-512F.
		unsafe { avx512::of_tiles(values, tiles, next, out) };
		return true;
	}
	let _ = (values, tiles, next, out);
	false
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
	use crate::{num::NAN, shape::TILE};
	use core::arch::x86_64::*;

	const IV: [u64; 8] = [
		0x6a09_e667_f3bc_c908,
		0xbb67_ae85_84ca_a73b,
		0x3c6e_f372_fe94_f82b,
		0xa54f_f53a_5f1d_36f1,
		0x510e_527f_ade6_82d1,
		0x9b05_688c_2b3e_6c1f,
		0x1f83_d9ab_fb41_bd6b,
		0x5be0_cd19_137e_2179,
	];
	/// Order in which a round reads the words of a block; rounds 10 and 11 are as 0 and 1.
	const SIGMA: [[usize; 16]; 10] = [
		[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
		[14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
		[11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
		[7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
		[9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
		[2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
		[12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
		[13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
		[6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
		[10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
	];
	/// Digest of 32 bytes, no key, no tree.
	const PARAMETERS: u64 = 0x0101_0020;

	/// Where an input lies: the bytes at which its first 128 begin, and from there to the next 128.
	#[derive(Clone, Copy)]
	struct Input {
		first: usize,
		stride: usize,
	}

	/// Hashes of eight inputs of `len` bytes.
	#[target_feature(enable = "avx512f")]
	pub(super) fn eight(inputs: &[u8], len: usize, out: &mut [u8]) {
		let each = core::array::from_fn(|input| Input { first: input * len, stride: 128 });
		hash::<false>(inputs, len, &each, &each, out);
	}

	/// See [`super::quarters`]. 128 bytes are a row of a tile.
	#[target_feature(enable = "avx512f")]
	pub(super) fn of_tiles(values: &[f32], tiles: [(usize, usize); 2], next: [(usize, usize); 2], out: &mut [u8; 256]) {
		/// Rows of a quarter.
		const ROWS: usize = TILE / 4;
		let [inputs, next] = [tiles, next].map(|tiles| {
			core::array::from_fn(|quarter| {
				let (first, cols) = tiles[quarter / 4];
				Input { first: 4 * (first + quarter % 4 * ROWS * cols), stride: 4 * cols }
			})
		});
		// SAFETY: four bytes for each number, any of which can be read.
		let bytes = unsafe { core::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) };
		hash::<true>(bytes, 4 * TILE * ROWS, &inputs, &next, out);
	}

	/// Hashes of eight inputs of `len` bytes, of numbers that are made `CANONICAL` or of bytes as they are. Asks for those of `next` meanwhile.
	#[inline]
	#[target_feature(enable = "avx512f")]
	fn hash<const CANONICAL: bool>(bytes: &[u8], len: usize, inputs: &[Input; 8], next: &[Input; 8], out: &mut [u8]) {
		let mut h = IV.map(|word| _mm512_set1_epi64(word as i64));
		h[0] = _mm512_xor_si512(h[0], _mm512_set1_epi64(PARAMETERS as i64));
		for block in 0..len.div_ceil(128) {
			let mut words = [_mm512_setzero_si512(); 16];
			let end = len.min(128 * (block + 1));
			for half in 0..(end - 128 * block) / 64 {
				let mut rows = [_mm512_setzero_si512(); 8];
				for ((row, input), next) in rows.iter_mut().zip(inputs).zip(next) {
					let place = |input: &Input| input.first + block * input.stride + 64 * half;
					if CANONICAL {
						_mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(place(next)).cast());
					}
					*row = load(&bytes[place(input)..][..64]);
					if CANONICAL {
						*row = canonical(*row);
					}
				}
				words[8 * half..8 * half + 8].copy_from_slice(&transposed(rows));
			}
			compress(&mut h, &words, end as u64, end == len);
		}
		for (word, h) in h.into_iter().take(4).enumerate() {
			let mut lanes = [0u64; 8];
			// SAFETY: the array has 64 bytes.
			unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), h) };
			for (out, lane) in out.chunks_exact_mut(32).zip(lanes) {
				out[8 * word..8 * word + 8].copy_from_slice(&lane.to_le_bytes());
			}
		}
	}

	/// Bits of 16 numbers as they are hashed: see [`crate::num::canon_bits`].
	#[inline]
	#[target_feature(enable = "avx512f")]
	fn canonical(numbers: __m512i) -> __m512i {
		/// By kind of a number, four bits each, lowest first: quiet and signalling NaNs are replaced, zeros lose their sign, and ones, infinities, negative and
		/// positive numbers stay.
		const KINDS: i32 = 0x1111_1800;
		_mm512_castps_si512(_mm512_fixupimm_ps::<0>(_mm512_set1_ps(NAN), _mm512_castsi512_ps(numbers), _mm512_set1_epi32(KINDS)))
	}

	#[inline]
	#[target_feature(enable = "avx512f")]
	fn load(bytes: &[u8]) -> __m512i {
		assert_eq!(bytes.len(), 64);
		// SAFETY: 64 bytes are readable.
		unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
	}

	/// Word `w` of every row.
	#[target_feature(enable = "avx512f")]
	fn transposed(rows: [__m512i; 8]) -> [__m512i; 8] {
		let [a, b, c, d, e, f, g, h] = rows;
		let even = [_mm512_unpacklo_epi64(a, b), _mm512_unpacklo_epi64(c, d), _mm512_unpacklo_epi64(e, f), _mm512_unpacklo_epi64(g, h)];
		let odd = [_mm512_unpackhi_epi64(a, b), _mm512_unpackhi_epi64(c, d), _mm512_unpackhi_epi64(e, f), _mm512_unpackhi_epi64(g, h)];
		let ([w0, w2, w4, w6], [w1, w3, w5, w7]) = (quarters(even), quarters(odd));
		[w0, w1, w2, w3, w4, w5, w6, w7]
	}

	/// 128-bit quarter `q` of every row.
	#[target_feature(enable = "avx512f")]
	fn quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
		let (ab_even, ab_odd) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
		let (cd_even, cd_odd) = (_mm512_shuffle_i64x2::<0x88>(c, d), _mm512_shuffle_i64x2::<0xdd>(c, d));
		[
			_mm512_shuffle_i64x2::<0x88>(ab_even, cd_even),
			_mm512_shuffle_i64x2::<0x88>(ab_odd, cd_odd),
			_mm512_shuffle_i64x2::<0xdd>(ab_even, cd_even),
			_mm512_shuffle_i64x2::<0xdd>(ab_odd, cd_odd),
		]
	}

	/// The compression function, on a block that ends at byte `count`.
	#[target_feature(enable = "avx512f")]
	fn compress(h: &mut [__m512i; 8], words: &[__m512i; 16], count: u64, last: bool) {
		let mut v = [_mm512_setzero_si512(); 16];
		v[..8].copy_from_slice(h);
		v[8..].copy_from_slice(&IV.map(|word| _mm512_set1_epi64(word as i64)));
		v[12] = _mm512_xor_si512(v[12], _mm512_set1_epi64(count as i64));
		if last {
			v[14] = _mm512_xor_si512(v[14], _mm512_set1_epi64(-1));
		}
		round::<0>(&mut v, words);
		round::<1>(&mut v, words);
		round::<2>(&mut v, words);
		round::<3>(&mut v, words);
		round::<4>(&mut v, words);
		round::<5>(&mut v, words);
		round::<6>(&mut v, words);
		round::<7>(&mut v, words);
		round::<8>(&mut v, words);
		round::<9>(&mut v, words);
		round::<10>(&mut v, words);
		round::<11>(&mut v, words);
		for (h, (a, b)) in h.iter_mut().zip(v[..8].iter().zip(&v[8..])) {
			*h = _mm512_xor_si512(*h, _mm512_xor_si512(*a, *b));
		}
	}

	/// One round: columns, then diagonals. A constant number leaves no index to be looked up.
	#[inline]
	#[target_feature(enable = "avx512f")]
	fn round<const R: usize>(v: &mut [__m512i; 16], words: &[__m512i; 16]) {
		let s = const { SIGMA[R % 10] };
		mix(v, [0, 4, 8, 12], words[s[0]], words[s[1]]);
		mix(v, [1, 5, 9, 13], words[s[2]], words[s[3]]);
		mix(v, [2, 6, 10, 14], words[s[4]], words[s[5]]);
		mix(v, [3, 7, 11, 15], words[s[6]], words[s[7]]);
		mix(v, [0, 5, 10, 15], words[s[8]], words[s[9]]);
		mix(v, [1, 6, 11, 12], words[s[10]], words[s[11]]);
		mix(v, [2, 7, 8, 13], words[s[12]], words[s[13]]);
		mix(v, [3, 4, 9, 14], words[s[14]], words[s[15]]);
	}

	#[inline]
	#[target_feature(enable = "avx512f")]
	fn mix(v: &mut [__m512i; 16], [a, b, c, d]: [usize; 4], x: __m512i, y: __m512i) {
		v[a] = _mm512_add_epi64(_mm512_add_epi64(v[a], v[b]), x);
		v[d] = _mm512_ror_epi64::<32>(_mm512_xor_si512(v[d], v[a]));
		v[c] = _mm512_add_epi64(v[c], v[d]);
		v[b] = _mm512_ror_epi64::<24>(_mm512_xor_si512(v[b], v[c]));
		v[a] = _mm512_add_epi64(_mm512_add_epi64(v[a], v[b]), y);
		v[d] = _mm512_ror_epi64::<16>(_mm512_xor_si512(v[d], v[a]));
		v[c] = _mm512_add_epi64(v[c], v[d]);
		v[b] = _mm512_ror_epi64::<63>(_mm512_xor_si512(v[b], v[c]));
	}
}
