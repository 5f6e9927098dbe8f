//! Compute providers: who they are and what they can do.

use crate::{Balance, BlockNumber, H256, NEURO};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;
use sp_core::{bounded::BoundedVec, ConstU32};

/// Compressed secp256k1 public key that signs Proofs of Neural Work.
pub type PonwKey = [u8; 33];
/// libp2p peer id, as its multihash bytes.
pub type PeerIdBytes = BoundedVec<u8, ConstU32<64>>;
/// A libp2p multiaddress in its binary form.
pub type Address = BoundedVec<u8, ConstU32<128>>;
/// The addresses a provider announces.
pub type Addresses = BoundedVec<Address, ConstU32<8>>;

/// Role that a provider offers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Role {
	/// Holds the embedding and drives inference sessions.
	Driver,
	/// Trains and computes shards.
	Worker,
	/// Audits the work of others.
	Verifier,
	/// Holds the output head.
	Predictor,
}

impl Role {
	/// All of them, in the order of their bits.
	pub const ALL: [Self; 4] = [Self::Driver, Self::Worker, Self::Verifier, Self::Predictor];

	/// Its bit in a set.
	const fn bit(self) -> u8 {
		match self {
			Self::Driver => 1,
			Self::Worker => 2,
			Self::Verifier => 4,
			Self::Predictor => 8,
		}
	}
}

/// A set of [`Role`]s as bits: driver 1, worker 2, verifier 4, predictor 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Roles(pub u8);

impl Roles {
	/// The set that holds `role` alone.
	pub const fn only(role: Role) -> Self {
		Self(role.bit())
	}
	/// This set with `role` added.
	pub const fn with(self, role: Role) -> Self {
		Self(self.0 | role.bit())
	}
	/// This set without `role`.
	pub const fn without(self, role: Role) -> Self {
		Self(self.0 & !role.bit())
	}
	/// Returns whether `role` is in the set.
	pub const fn contains(self, role: Role) -> bool {
		self.0 & role.bit() != 0
	}
	/// Returns whether the set is non-empty and has no unknown bits.
	pub const fn is_valid(self) -> bool {
		self.0 != 0 && self.0 < 16
	}
}

/// Measured performance of the worker's machine. It bounds the plausibility of claimed work and never pays by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct HardwareProfile {
	/// Sustained exact-f32 matrix-product speed, GFLOP/s: at least 1, and at most [`MAX_GFLOPS`].
	pub gflops: u32,
	/// Memory the worker may use, MiB.
	pub memory_mib: u32,
	/// Network bandwidth, KiB/s.
	pub bandwidth_kib_s: u32,
}

/// The largest speed that can be registered, GFLOP/s: more than any one machine has in exact f32.
pub const MAX_GFLOPS: u32 = 1_000_000;

/// Class of a machine by its measured speed. Nothing is paid or allowed by it: it tells wallets and sponsors whom they deal with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Tier {
	/// From 20 TFLOP/s on.
	A,
	/// From 5 TFLOP/s on.
	B,
	/// Everything slower.
	C,
}

impl Tier {
	/// The class of a machine with so many GFLOP/s.
	pub const fn of(gflops: u32) -> Self {
		match gflops {
			20_000.. => Self::A,
			5_000.. => Self::B,
			_ => Self::C,
		}
	}
}

/// Least active bond of a verifier, in planck, by how many verifiers are active.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
// Genesis is read by the runtime itself, without the standard library.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifierBonds {
	/// Most verifiers that a bond holds for, and the bond; both ascending.
	pub steps: [(u32, Balance); 4],
	/// The bond with more verifiers than that.
	pub above: Balance,
}

impl Default for VerifierBonds {
	fn default() -> Self {
		Self { steps: [(10, 100 * NEURO), (50, 250 * NEURO), (200, 500 * NEURO), (1_000, 1_000 * NEURO)], above: 2_500 * NEURO }
	}
}

impl VerifierBonds {
	/// Least bond of each of so many verifiers.
	pub fn least(&self, verifiers: u32) -> Balance {
		self.step(verifiers).map_or(self.above, |(_, bond)| bond)
	}

	/// Most verifiers that the least bond of so many holds for; `None` if it rises no more.
	pub fn holds_to(&self, verifiers: u32) -> Option<u32> {
		self.step(verifiers).map(|(most, _)| most)
	}

	/// Returns whether the least bond never falls with more verifiers.
	pub fn ascends(&self) -> bool {
		let [.., (_, last)] = self.steps;
		self.steps.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1) && last <= self.above
	}

	fn step(&self, verifiers: u32) -> Option<(u32, Balance)> {
		self.steps.into_iter().find(|(most, _)| verifiers <= *most)
	}
}

/// Bond that a verifier needs now, as the view function `Staking::verifier_terms` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct VerifierTerms {
	/// Active providers with the verifier role.
	pub verifiers: u32,
	/// Active bond below which one of them loses the role, in planck.
	pub least_bond: Balance,
	/// Active bond that the next one needs, in planck.
	pub next_bond: Balance,
	/// Most verifiers for which [`Self::least_bond`] holds; `None` if it rises no more.
	pub holds_to: Option<u32>,
}

/// Registration of a provider.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct ProviderInfo {
	/// Roles offered.
	pub roles: Roles,
	/// Measured hardware.
	pub hardware: HardwareProfile,
	/// Key of its Proofs of Neural Work.
	pub ponw_key: PonwKey,
	/// libp2p identity.
	pub peer_id: PeerIdBytes,
	/// Addresses that peers reach it at.
	pub addresses: Addresses,
}

/// Participation status of a provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum ProviderStatus {
	/// May join runs. Left by `chill`, `unbond` below the minimum, or a slash below it.
	Active,
	/// Takes no new work. Left by `activate`, or by withdrawing everything.
	Chilled,
	/// New: takes no work before it has shown that its machine computes what the chain computes. Left by `prove_arithmetic`, or by
	/// withdrawing everything.
	Unproven {
		/// Seed of the inputs that the operators are tested with.
		challenge: H256,
	},
}

/// A part of a bond on its way out; still slashable until withdrawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct UnbondingChunk {
	/// Amount in planck.
	pub amount: Balance,
	/// First block at which it may be withdrawn.
	pub unlocks_at: BlockNumber,
}

/// A provider as the view function `Staking::provider` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct ProviderView {
	/// Its registration.
	pub info: ProviderInfo,
	/// Its participation status.
	pub status: ProviderStatus,
	/// Active bond in planck, without unbonding parts.
	pub bonded: Balance,
	/// Parts on their way out, by `unlocks_at` ascending.
	pub unbonding: Vec<UnbondingChunk>,
	/// Claims (pending proofs, and disputes about anything that it claims) that keep every withdrawal back.
	pub open_claims: u32,
	/// First block in which nothing that it claimed in adopted rounds can be disputed any more; no withdrawal before it.
	pub disputable_until: BlockNumber,
	/// Successes minus failures, saturating at 0 and 1,000; starts at 100.
	pub reputation: u32,
	/// Class of its machine.
	pub tier: Tier,
	/// First block in which unbonding may start.
	pub locked_until: BlockNumber,
	/// First block in which it may take part again after an offence; [`BlockNumber::MAX`] if it is banned.
	pub suspended_until: BlockNumber,
	/// Audits in a row that it was drawn for and did not report.
	pub missed_audits: u32,
}

/// For how long an offence keeps a provider from taking part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suspension {
	/// It is banned.
	Forever,
	/// It may take part again from this block on.
	Until(BlockNumber),
}

impl ProviderView {
	/// Everything that can be slashed, in planck: active bond and unbonding parts.
	pub fn slashable(&self) -> Balance {
		self.unbonding.iter().fold(self.bonded, |sum, chunk| sum.saturating_add(chunk.amount))
	}

	/// For how long an offence keeps it from taking part, from block `now` on; `None` if nothing does.
	pub fn suspension(&self, now: BlockNumber) -> Option<Suspension> {
		match self.suspended_until {
			BlockNumber::MAX => Some(Suspension::Forever),
			until => (until > now).then_some(Suspension::Until(until)),
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn tiers_begin_at_5_and_20_tflops() {
		let tiers = [0, 4_999, 5_000, 19_999, 20_000, u32::MAX].map(Tier::of);
		assert_eq!(tiers, [Tier::C, Tier::C, Tier::B, Tier::B, Tier::A, Tier::A]);
	}

	/// Verifiers, the least bond of each in NEURO, and the number to which it holds.
	#[test]
	fn the_least_bond_of_verifiers_rises_with_their_number() {
		let table = [
			(0, 100, Some(10)),
			(1, 100, Some(10)),
			(10, 100, Some(10)),
			(11, 250, Some(50)),
			(50, 250, Some(50)),
			(51, 500, Some(200)),
			(200, 500, Some(200)),
			(201, 1_000, Some(1_000)),
			(1_000, 1_000, Some(1_000)),
			(1_001, 2_500, None),
			(u32::MAX, 2_500, None),
		];
		let bonds = VerifierBonds::default();
		for (verifiers, neuro, holds_to) in table {
			assert_eq!((bonds.least(verifiers), bonds.holds_to(verifiers)), (neuro * NEURO, holds_to), "with {verifiers}");
		}
	}

	#[test]
	fn bonds_that_fall_with_more_verifiers_do_not_ascend() {
		let good = VerifierBonds::default();
		assert!(good.ascends());
		assert!(!VerifierBonds { above: 999 * NEURO, ..good }.ascends());
		let with = |step| VerifierBonds { steps: [good.steps[0], step, good.steps[2], good.steps[3]], ..good };
		assert!(with((50, 100 * NEURO)).ascends());
		assert!(!with((50, 99 * NEURO)).ascends() && !with((10, 250 * NEURO)).ascends() && !with((200, 250 * NEURO)).ascends());
	}

	#[test]
	fn a_role_can_be_taken_out_of_a_set() {
		let both = Roles::only(Role::Worker).with(Role::Verifier);
		assert_eq!(both.without(Role::Verifier), Roles::only(Role::Worker));
		assert_eq!(both.without(Role::Driver), both);
	}
}
