//! Obstacles that keep a worker from taking part, and what to do about them, in words.

use neuroshard_chain_client::Neuro;
use neuroshard_types::{Balance, BlockNumber, RunId, NEURO};
use std::fmt;

/// Why a worker that would train gets no place in a round, or one that would audit is drawn for nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Obstacle {
	/// The registration has ended.
	Unregistered,
	/// The chain has not tested the machine's arithmetic yet.
	Unproven,
	/// The machine failed the chain's test of arithmetic.
	WrongArithmetic,
	/// Not tested yet, and the bond is below the chain's minimum.
	UnprovenBond {
		/// Active bond, in planck.
		bond: Balance,
		/// The chain's minimum, in planck.
		least: Balance,
	},
	/// The provider does not offer the worker role.
	NoWorkerRole,
	/// Banned for good.
	Banned,
	/// Suspended after an offence.
	Suspended {
		/// First block in which it can be activated.
		until: BlockNumber,
	},
	/// Chilled with a bond that would do.
	Chilled,
	/// Chilled, and the bond is below the chain's minimum.
	BondGone {
		/// Active bond, in planck.
		bond: Balance,
		/// The chain's minimum, in planck.
		least: Balance,
	},
	/// The run asks for more than this bond.
	BondTooSmall {
		/// The run.
		run: RunId,
		/// Active bond, in planck.
		bond: Balance,
		/// Least bond of the run, in planck.
		least: Balance,
	},
	/// A dispute could cost more fees than the account has.
	Short {
		/// Free balance, in planck.
		free: Balance,
		/// Amount that must be free, in planck.
		reserve: Balance,
	},
	/// The same of an account that would audit.
	ShortForAudits {
		/// Free balance, in planck.
		free: Balance,
		/// Amount that must be free, in planck.
		reserve: Balance,
	},
	/// A round that it could be drawn for takes longer here than there is time to seal a report on it.
	SlowForAudits {
		/// Of this run.
		run: RunId,
		/// Milliseconds that it takes.
		takes_ms: u64,
		/// Milliseconds that there are.
		has_ms: u64,
	},
	/// There is no memory for a round that it could be drawn for.
	LargeForAudits {
		/// Of this run.
		run: RunId,
		/// Bytes that it takes.
		needed: u64,
		/// Bytes that are available.
		available: u64,
	},
	/// It has left the list of auditors.
	OffTheList {
		/// First block in which it enrolls again.
		until: BlockNumber,
	},
	/// It missed deadlines in a row.
	CoolingOff {
		/// The run.
		run: RunId,
		/// First block in which it may join.
		until: BlockNumber,
	},
	/// Nobody else is taken in.
	Full {
		/// The run.
		run: RunId,
	},
}

impl fmt::Display for Obstacle {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self {
			Self::Unregistered => formatter.write_str("takes no part: this account is no provider any more; `neuroshard-worker register`"),
			Self::Unproven => formatter
				.write_str("takes no part yet: the chain tests this machine's arithmetic first, and the worker answers that by itself"),
			Self::WrongArithmetic => formatter.write_str(
				"takes no part: this machine failed the chain's test of arithmetic, so its work would be judged wrong; undo overclocking and start \
				the worker again, or use another machine with the same keys; `neuroshard-worker leave` takes the bond out",
			),
			Self::UnprovenBond { bond, least } => write!(
				formatter,
				"takes no part: before the chain tests this machine's arithmetic, the bond of {} must reach the minimum of {}; \
				`neuroshard-worker bond-extra --amount {}`",
				Neuro(*bond),
				Neuro(*least),
				missing(*bond, *least)
			),
			Self::NoWorkerRole => formatter
				.write_str("takes no part: this provider does not offer the role worker; `neuroshard-worker update --roles worker`"),
			Self::Banned => formatter.write_str("takes no part: this provider is banned for good"),
			Self::Suspended { until } => write!(
				formatter,
				"takes no part: this provider is suspended after an offence; `neuroshard-worker activate` ends that from block {until} on"
			),
			Self::Chilled => formatter.write_str("takes no part: this provider is chilled; `neuroshard-worker activate` ends that"),
			Self::BondGone { bond, least } => write!(
				formatter,
				"takes no part: this provider is chilled, and its bond is {}, less than the chain's minimum of {}; \
				`neuroshard-worker bond-extra --amount {}`, then `neuroshard-worker activate`",
				Neuro(*bond),
				Neuro(*least),
				missing(*bond, *least)
			),
			Self::BondTooSmall { run, bond, least } => write!(
				formatter,
				"takes no part: run {run} asks for a bond of {}, and this provider's is {}; `neuroshard-worker bond-extra --amount {}`",
				Neuro(*least),
				Neuro(*bond),
				missing(*bond, *least)
			),
			Self::Short { free, reserve } => write!(
				formatter,
				"takes no part: {} are free, and the fees of a dispute can come to {}; who cannot pay for a move loses its whole bond: send this \
				account {} NEURO",
				Neuro(*free),
				Neuro(*reserve),
				missing(*free, *reserve)
			),
			Self::ShortForAudits { free, reserve } => write!(
				formatter,
				"is drawn for no more audits: {} are free, and the fees of a dispute about what an auditor reports can come to {}; who cannot \
				pay for a move loses its whole bond: send this account {} NEURO",
				Neuro(*free),
				Neuro(*reserve),
				missing(*free, *reserve)
			),
			Self::SlowForAudits { run, takes_ms, has_ms } => write!(
				formatter,
				"is drawn for no audits: running a round of run {run} again takes this machine about {} s, and an auditor has {} s; if the machine was busy \
				when it was measured, `neuroshard-worker update` measures it again",
				takes_ms.div_ceil(1_000),
				has_ms / 1_000
			),
			Self::LargeForAudits { run, needed, available } => write!(
				formatter,
				"is drawn for no audits: running a round of run {run} again takes {} MiB of memory, and {} MiB are available; \
				with --audit-in-files it is done in files",
				needed.div_ceil(1 << 20),
				available >> 20
			),
			Self::OffTheList { until } => write!(formatter, "is not on the list of auditors: enrolls again at block {until}"),
			Self::CoolingOff { run, until } => {
				write!(formatter, "missed deadlines of run {run} several times in a row: may join again at block {until}")
			}
			Self::Full { run } => write!(formatter, "waits for a place: run {run} has as many members as it takes"),
		}
	}
}

/// Returns the amount that has to be added to a bond or a balance, as the option takes it: rounded up to a millionth.
fn missing(bond: Balance, least: Balance) -> String {
	let micro = least.saturating_sub(bond).div_ceil(NEURO / 1_000_000);
	Neuro(micro.saturating_mul(NEURO / 1_000_000)).to_string().trim_end_matches(" NEURO").to_owned()
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn what_is_missing_is_rounded_up_to_what_can_be_named() {
		assert_eq!(missing(NEURO - 1, 3 * NEURO), "2.000001");
		assert_eq!(missing(NEURO / 2, NEURO), "0.5");
	}
}
