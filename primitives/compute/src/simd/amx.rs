//! Products of quantized blocks on AMX: a tile of 16x16 sums takes a whole block's depth in one instruction.

use super::{
	int8_blocks::{Packed, STRIP},
	product::Output,
	LANES,
};
use core::{
	arch::{asm, x86_64::*},
	ops::Range,
};
use neuroshard_kernels::shape::TILE;
use std::sync::OnceLock;

/// Bytes of a line of a packed block on the left, of 16 lines' quads on the right, and between the latter.
const LEFT: usize = TILE;
const RIGHT: usize = 4 * LANES;
const RIGHT_STRIDE: usize = 4 * TILE;

/// What `ldtilecfg` reads.
#[repr(C, align(64))]
struct Shapes {
	palette: u8,
	start_row: u8,
	reserved: [u8; 14],
	row_bytes: [u16; 16],
	rows: [u8; 16],
}

/// Tiles 0 to 3 are sums, 4 and 5 of the left operand, 6 and 7 of the right one.
const SHAPES: Shapes = {
	let (sums, left, right) = (4 * LANES as u16, LEFT as u16, RIGHT as u16);
	let (lines, quads) = (LANES as u8, (TILE / 4) as u8);
	Shapes {
		palette: 1,
		start_row: 0,
		reserved: [0; 14],
		row_bytes: [sums, sums, sums, sums, left, left, right, right, 0, 0, 0, 0, 0, 0, 0, 0],
		rows: [lines, lines, lines, lines, lines, lines, quads, quads, 0, 0, 0, 0, 0, 0, 0, 0],
	}
};

/// Whether this machine has AMX with AVX-512, and the system lets this process use it.
pub(super) fn available() -> bool {
	static AVAILABLE: OnceLock<bool> = OnceLock::new();
	*AVAILABLE.get_or_init(|| {
		const TILES: u32 = 1 << 24;
		const INT8: u32 = 1 << 25;
		let features = if __cpuid(0).eax < 7 { 0 } else { __cpuid_count(7, 0).edx };
		is_x86_feature_detected!("avx512f") && features & (TILES | INT8) == TILES | INT8 && allowed()
	})
}

/// Asks the system for the state of tiles, which no process has from its start.
fn allowed() -> bool {
	const ARCH_PRCTL: i64 = 158;
	const REQUEST_PERMISSION: u64 = 0x1023;
	const TILE_DATA: u64 = 18;
	let result: i64;
	// SAFETY: a system call that takes no memory; it fails where the system knows nothing of tiles.
	unsafe {
		asm!(
			"syscall",
			inlateout("rax") ARCH_PRCTL => result,
			in("rdi") REQUEST_PERMISSION,
			in("rsi") TILE_DATA,
			out("rcx") _,
			out("r11") _,
			options(nostack)
		);
	}
	result == 0
}

/// A tile of sums.
#[repr(C, align(64))]
struct Sums([[i32; LANES]; LANES]);

/// Stores the sums of 16 lines of a block and 16 of another: tile `$sums` of `$left` and `$right`.
macro_rules! dot {
	($sums:tt, $left:tt, $right:tt, $a:expr, $b:expr, $out:expr) => {
		asm!(
			concat!("tileloadd ", $left, ", [{a} + {a_stride}*1]"),
			concat!("tileloadd ", $right, ", [{b} + {b_stride}*1]"),
			concat!("tilezero ", $sums),
			concat!("tdpbssd ", $sums, ", ", $left, ", ", $right),
			concat!("tilestored [{out} + {out_stride}*1], ", $sums),
			a = in(reg) $a,
			b = in(reg) $b,
			out = in(reg) $out,
			a_stride = in(reg) LEFT,
			b_stride = in(reg) RIGHT_STRIDE,
			out_stride = in(reg) 4 * LANES,
			out($sums) _,
			out($left) _,
			out($right) _,
			options(nostack, preserves_flags)
		)
	};
}

/// 16 rows and 16 columns of the product, of blocks of 32 lines from line `i` of `a` and line `j` of `b` on.
///
/// # Safety
/// AMX with [`SHAPES`] and AVX-512F; `groups` blocks; `c` has 16 rows of 16 elements.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn tile((a, i): (*const Packed, usize), (b, j): (*const Packed, usize), groups: usize, c: Output, load: bool) {
	let mut waiting = [const { Sums([[0; LANES]; LANES]) }; 2];
	let [even, odd] = waiting.each_mut().map(|sums| sums.0.as_mut_ptr());
	// SAFETY: as for this function; the sums of one block are computed while those of the one before are added.
	unsafe {
		let mut acc = [_mm512_setzero_ps(); LANES];
		if load {
			for (r, acc) in acc.iter_mut().enumerate() {
				*acc = _mm512_loadu_ps(c.at.add(r * c.stride));
			}
		}
		let operands = |group: usize| ((*a.add(group)).values.as_ptr().add(i * LEFT), (*b.add(group)).values.as_ptr().add(j * 4));
		let mut add = |group: usize, sums: *const [i32; LANES]| {
			let scale = _mm512_set1_ps((*a.add(group)).scale * (*b.add(group)).scale);
			for (r, acc) in acc.iter_mut().enumerate() {
				*acc = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(_mm512_load_si512(sums.add(r).cast())), *acc);
			}
		};
		let mut group = 0;
		while group + 2 <= groups {
			let (left, right) = operands(group);
			dot!("tmm0", "tmm4", "tmm6", left, right, even);
			let (left, right) = operands(group + 1);
			dot!("tmm1", "tmm5", "tmm7", left, right, odd);
			add(group, even);
			add(group + 1, odd);
			group += 2;
		}
		if group < groups {
			let (left, right) = operands(group);
			dot!("tmm0", "tmm4", "tmm6", left, right, even);
			add(group, even);
		}
		for (r, acc) in acc.into_iter().enumerate() {
			_mm512_storeu_ps(c.at.add(r * c.stride), acc);
		}
	}
}

/// [`tile`] with as many rows and columns as there are.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn edge(a: (*const Packed, usize), b: (*const Packed, usize), groups: usize, [rows, columns]: [usize; 2], c: Output, load: bool) {
	let mut whole = [[0.0f32; LANES]; LANES];
	// SAFETY: as for the tile; `c` has these rows and columns.
	unsafe {
		if load {
			for (r, row) in whole.iter_mut().enumerate().take(rows) {
				core::ptr::copy_nonoverlapping(c.at.add(r * c.stride), row.as_mut_ptr(), columns);
			}
		}
		tile(a, b, groups, Output { at: whole.as_mut_ptr().cast(), stride: LANES }, load);
		for (r, row) in whole.iter().enumerate().take(rows) {
			core::ptr::copy_nonoverlapping(row.as_ptr(), c.at.add(r * c.stride), columns);
		}
	}
}

/// As [`super::int8_blocks::multiply`].
///
/// # Safety
/// [`available`]; as [`super::int8_blocks::multiply`].
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn product(a: &[Packed], m: usize, groups: usize, lines: Range<usize>, b: &[Packed], c: Output, load: bool) {
	// SAFETY: as for this function; blocks are whole ones, with zeros beyond the edges.
	unsafe {
		asm!("ldtilecfg [{}]", in(reg) &SHAPES, options(nostack, preserves_flags, readonly));
		for first in lines.clone().step_by(STRIP) {
			for row in (0..m).step_by(LANES) {
				for column in (first..lines.end.min(first + STRIP)).step_by(LANES) {
					let a = (a.as_ptr().add(row / TILE * groups), row % TILE);
					let b = (b.as_ptr().add(column / TILE * groups), column % TILE);
					let c = Output { at: c.at.add(row * c.stride + column), stride: c.stride };
					match [LANES.min(m - row), LANES.min(lines.end - column)] {
						[LANES, LANES] => tile(a, b, groups, c, load),
						size => edge(a, b, groups, size, c, load),
					}
				}
			}
		}
		// Without tiles in use, there is less to be kept when threads take turns.
		asm!("tilerelease", options(nostack, preserves_flags, nomem));
	}
}
