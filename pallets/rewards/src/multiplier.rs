//! Stake multiplier `1 + log2(1 + stake / 1000 NEURO) / 10` in fixed point, by integers only.

use neuroshard_types::{Balance, NEURO};
use sp_core::U256;

/// 1 in units of 2^-32.
pub const ONE: u64 = 1 << FRACTION_BITS;
/// Stake that doubles the logarithm's argument, in planck.
pub const STAKE_UNIT: Balance = 1_000 * NEURO;

/// Fractional bits of the result.
const FRACTION_BITS: u32 = 32;
/// Fractional bits of the mantissa while its logarithm is taken: a square still fits into 256 bits, and 32 squarings, each of which doubles the
/// error before it, leave an error below 2^-90.
const MANTISSA_BITS: u32 = 127;

/// Multiplier of points at an active bond of `stake` planck, in units of 2^-32, rounded down. From [`ONE`] at nothing to 8.8 at `u128::MAX`.
pub fn stake_multiplier(stake: Balance) -> u64 {
	ONE.saturating_add(log2_of_one_plus(stake) / 10)
}

/// `log2(1 + stake / STAKE_UNIT)` in units of 2^-32, rounded down.
fn log2_of_one_plus(stake: Balance) -> u64 {
	let unit = U256::from(STAKE_UNIT);
	// At most 129 bits: shifted by the mantissa's 127 it just fits.
	let sum = unit.saturating_add(stake.into());
	// The whole part: how often the unit doubles within the sum. At most 79.
	let mut whole = 0u32;
	while (unit << whole.saturating_add(1)) <= sum {
		whole = whole.saturating_add(1);
	}
	// The mantissa sum / (unit * 2^whole) is in [1, 2): its square is in [1, 4), and whether it reaches 2 is the next bit.
	let two = U256::one() << MANTISSA_BITS.saturating_add(1);
	let mut mantissa = (sum << MANTISSA_BITS) / (unit << whole);
	let mut bits = u64::from(whole);
	for _ in 0..FRACTION_BITS {
		mantissa = mantissa.saturating_mul(mantissa) >> MANTISSA_BITS;
		let bit = mantissa >= two;
		if bit {
			mantissa >>= 1;
		}
		bits = (bits << 1) | u64::from(bit);
	}
	bits
}
