//! Compute providers: who they are and what they can do.

use crate::{Balance, BlockNumber, H256};
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

/// What a provider offers to do.
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
}

/// A set of [`Role`]s as bits: driver 1, worker 2, verifier 4, predictor 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Roles(pub u8);

impl Roles {
	/// The set that holds `role` alone.
	pub const fn only(role: Role) -> Self {
		Self(1 << role as u8)
	}
	/// This set with `role` added.
	pub const fn with(self, role: Role) -> Self {
		Self(self.0 | 1 << role as u8)
	}
	/// This set without `role`.
	pub const fn without(self, role: Role) -> Self {
		Self(self.0 & !(1 << role as u8))
	}
	/// Whether `role` is in the set.
	pub const fn contains(self, role: Role) -> bool {
		self.0 & (1 << role as u8) != 0
	}
	/// Whether the set is non-empty and has no unknown bits.
	pub const fn is_valid(self) -> bool {
		self.0 != 0 && self.0 < 16
	}
}

/// What the worker measured of its machine. It bounds the plausibility of claimed work and never pays by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct HardwareProfile {
	/// Sustained exact-f32 matrix-product speed, GFLOP/s.
	pub gflops: u32,
	/// Memory the worker may use, MiB.
	pub memory_mib: u32,
	/// Network bandwidth, KiB/s.
	pub bandwidth_kib_s: u32,
}

/// What a provider registers.
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
	/// Where peers reach it.
	pub addresses: Addresses,
}

/// Whether a provider takes part.
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
	/// What it registered.
	pub info: ProviderInfo,
	/// Whether it takes part.
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
}
