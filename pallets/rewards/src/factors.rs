//! Factors of points that depend on who works when: reputation, and how scarce its role is. Integers only, in thousandths.

use crate::points::RATE_ONE;

/// Reputation from which work counts in full.
const FULL: u32 = 100;
/// Highest reputation.
const HIGHEST: u32 = 1_000;

/// Factor of a reputation of 0 to 1,000, in thousandths, rounded down: 500 at 0, rising to 1,000 at 100 and from there to 1,500 at 1,000.
pub fn of_reputation(reputation: u32) -> u32 {
	let reputation = reputation.min(HIGHEST);
	match reputation.checked_sub(FULL) {
		// 0.5 + reputation / 100 * 0.5
		None => reputation.saturating_mul(5).saturating_add(500),
		// 1 + (reputation - 100) / 900 * 0.5
		Some(above) => (above.saturating_mul(500) / HIGHEST.saturating_sub(FULL)).saturating_add(RATE_ONE),
	}
}

/// Factor of a role that `active` providers offer where `target` are wanted, in thousandths, rounded down: 1,000 from `target` on, and up to
/// `bonus` more the fewer there are. A target of 0 asks for none.
pub fn of_scarcity(bonus: u32, target: u32, active: u32) -> u32 {
	let missing = target.saturating_sub(active);
	let more = u64::from(bonus).saturating_mul(missing.into()).checked_div(target.into()).unwrap_or_default();
	// Not more than the bonus, since what is missing is not more than the target.
	RATE_ONE.saturating_add(u32::try_from(more).unwrap_or(bonus))
}
