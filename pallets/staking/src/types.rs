//! What the pallet stores of a provider, and the arithmetic of its bond.

use crate::{Error, INITIAL_REPUTATION, MAX_UNBONDING_CHUNKS};
use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{traits::ConstU32, BoundedVec};
use neuroshard_types::{
	provider::{ProviderInfo, ProviderStatus, ProviderView, Role, Roles, UnbondingChunk},
	Balance, BlockNumber, H256,
};
use scale_info::TypeInfo;

/// A registered provider.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Provider {
	/// What it registered.
	pub info: ProviderInfo,
	/// Whether it takes part.
	pub status: ProviderStatus,
	/// What it has at stake.
	pub bond: Bond,
	/// Claims that keep every withdrawal back.
	pub open_claims: u32,
	/// First block in which nothing that it claimed in adopted rounds can be disputed any more. It keeps every withdrawal back, and the
	/// registration, so that whoever attested something can be challenged about it.
	pub disputable_until: BlockNumber,
	/// Successes minus failures, within 0 and [`MAX_REPUTATION`](crate::MAX_REPUTATION).
	pub reputation: u32,
}

impl Provider {
	/// A new provider with `bond` planck that has to answer `challenge` first.
	pub fn new(info: ProviderInfo, bond: Balance, challenge: H256) -> Self {
		Self {
			info,
			status: ProviderStatus::Unproven { challenge },
			bond: Bond { active: bond, unbonding: BoundedVec::new() },
			open_claims: 0,
			disputable_until: 0,
			reputation: INITIAL_REPUTATION,
		}
	}

	/// Roles that it takes part in now: what it offers, while it is active.
	pub fn active_roles(&self) -> Roles {
		match self.status {
			ProviderStatus::Active => self.info.roles,
			ProviderStatus::Chilled | ProviderStatus::Unproven { .. } => Roles::default(),
		}
	}
}

/// How many active providers offer each role, in the order of [`Role::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct RoleCounts([u32; Role::ALL.len()]);

impl RoleCounts {
	/// Those that offer `role`.
	pub fn of(&self, role: Role) -> u32 {
		Role::ALL.into_iter().zip(self.0).find(|(each, _)| *each == role).map_or(0, |(_, count)| count)
	}

	/// Moves one provider from the roles that it took part in to those that it takes part in now.
	pub fn change(&mut self, before: Roles, after: Roles) {
		for (role, count) in Role::ALL.into_iter().zip(&mut self.0) {
			match (before.contains(role), after.contains(role)) {
				(false, true) => *count = count.saturating_add(1),
				(true, false) => *count = count.saturating_sub(1),
				_ => {}
			}
		}
	}
}

impl From<Provider> for ProviderView {
	fn from(provider: Provider) -> Self {
		Self {
			info: provider.info,
			status: provider.status,
			bonded: provider.bond.active,
			unbonding: provider.bond.unbonding.into_inner(),
			open_claims: provider.open_claims,
			disputable_until: provider.disputable_until,
			reputation: provider.reputation,
		}
	}
}

/// Money at stake. Its total equals what is on hold for the provider, so no sum here exceeds the total issuance;
/// saturating arithmetic never saturates.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Bond {
	/// Part that counts as stake.
	pub active: Balance,
	/// Parts on their way out, by `unlocks_at` strictly ascending, none of them zero.
	pub unbonding: BoundedVec<UnbondingChunk, ConstU32<MAX_UNBONDING_CHUNKS>>,
}

/// Why a part of a bond cannot start to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BondError {
	/// More than the active part.
	ExceedsActive,
	/// The list of chunks is full.
	TooManyChunks,
}

impl Bond {
	/// Active and unbonding parts together: all that can be slashed.
	pub fn total(&self) -> Balance {
		self.unbonding.iter().fold(self.active, |sum, chunk| sum.saturating_add(chunk.amount))
	}

	/// Moves `amount` from the active part into a chunk that unlocks at `unlocks_at`, which is not before the last
	/// chunk's. On an error nothing changes.
	pub fn unbond(&mut self, amount: Balance, unlocks_at: BlockNumber) -> Result<(), BondError> {
		let rest = self.active.checked_sub(amount).ok_or(BondError::ExceedsActive)?;
		match self.unbonding.last_mut() {
			Some(last) if last.unlocks_at == unlocks_at => last.amount = last.amount.saturating_add(amount),
			_ => self.unbonding.try_push(UnbondingChunk { amount, unlocks_at }).map_err(|_| BondError::TooManyChunks)?,
		}
		self.active = rest;
		Ok(())
	}

	/// Removes the chunks that are unlocked at block `now` and returns their sum.
	pub fn take_unlocked(&mut self, now: BlockNumber) -> Balance {
		let before = self.total();
		self.unbonding.retain(|chunk| chunk.unlocks_at > now);
		before.saturating_sub(self.total())
	}

	/// Removes `amount`, or everything if that is less: from the latest chunk back to the earliest, then from the active
	/// part. Returns what was removed.
	pub fn slash(&mut self, amount: Balance) -> Balance {
		let mut rest = amount;
		for chunk in self.unbonding.iter_mut().rev() {
			let taken = rest.min(chunk.amount);
			chunk.amount = chunk.amount.saturating_sub(taken);
			rest = rest.saturating_sub(taken);
		}
		self.unbonding.retain(|chunk| chunk.amount > 0);
		let taken = rest.min(self.active);
		self.active = self.active.saturating_sub(taken);
		amount.saturating_sub(rest.saturating_sub(taken))
	}
}

/// What is wrong with what a provider wants to register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InfoProblem {
	Roles,
	Hardware,
	PonwKey,
	PeerId,
	Address,
}

impl<T> From<InfoProblem> for Error<T> {
	fn from(problem: InfoProblem) -> Self {
		match problem {
			InfoProblem::Roles => Error::InvalidRoles,
			InfoProblem::Hardware => Error::InvalidHardware,
			InfoProblem::PonwKey => Error::InvalidPonwKey,
			InfoProblem::PeerId => Error::InvalidPeerId,
			InfoProblem::Address => Error::InvalidAddress,
		}
	}
}

/// The first thing that is wrong with `info`, if anything is.
pub(crate) fn info_problem(info: &ProviderInfo) -> Option<InfoProblem> {
	if !info.roles.is_valid() {
		Some(InfoProblem::Roles)
	} else if info.hardware.gflops == 0 || info.hardware.memory_mib == 0 {
		Some(InfoProblem::Hardware)
	} else if !matches!(info.ponw_key[0], 2 | 3) {
		Some(InfoProblem::PonwKey)
	} else if !is_peer_id(&info.peer_id) {
		Some(InfoProblem::PeerId)
	} else if info.addresses.iter().any(|address| address.is_empty()) {
		Some(InfoProblem::Address)
	} else {
		None
	}
}

/// Multihash code of the identity function.
const IDENTITY: u8 = 0x00;
/// Multihash code of SHA2-256.
const SHA2_256: u8 = 0x12;

/// Whether `bytes` are a peer id as the libp2p specification defines it: a multihash that holds the key itself, if that
/// has at most 42 bytes, or else its SHA2-256 digest. Codes and lengths are below 128, so a varint is one byte.
fn is_peer_id(bytes: &[u8]) -> bool {
	match bytes {
		[code, length, digest @ ..] if usize::from(*length) == digest.len() => match *code {
			IDENTITY => (1..=42).contains(&digest.len()),
			SHA2_256 => digest.len() == 32,
			_ => false,
		},
		_ => false,
	}
}
