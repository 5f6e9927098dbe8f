//! Checks of what a provider registers.

use crate::Error;
use neuroshard_types::provider::{ProviderInfo, MAX_GFLOPS};

/// Problem of what a provider wants to register.
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
	} else if !(1..=MAX_GFLOPS).contains(&info.hardware.gflops) || info.hardware.memory_mib == 0 {
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

/// Returns whether `bytes` are a peer id as the libp2p specification defines it: a multihash that holds the key itself, if that
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
