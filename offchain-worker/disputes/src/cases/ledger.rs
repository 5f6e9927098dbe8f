//! Ledger of the claims that were checked, so that a restart does not check them again, and the secret that decides which are.

use neuroshard_atomic_write::write_private;
use neuroshard_chain_client::ChainError;
use neuroshard_types::{dispute::ClaimId, BlockNumber};
use rand::{rngs::OsRng, RngCore};
use serde::{Deserialize, Serialize};
use std::{
	collections::BTreeMap,
	io,
	path::{Path, PathBuf},
};

/// File name below the base folder.
const FILE: &str = "audits.json";

/// Result of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Finding {
	/// The claim is right.
	Right,
	/// It is false, and was challenged.
	Challenged,
	/// It could not be checked any more: what was revealed is in no state that the node still has.
	Unknown,
	/// There is no such claim: nothing was revealed or attested.
	NoClaim,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Entry {
	claim: ClaimId,
	finding: Finding,
	/// Block from which nobody asks for it any more.
	until: BlockNumber,
}

/// Content of the file.
#[derive(Default, Serialize, Deserialize)]
struct Content {
	secret: [u8; 32],
	entries: Vec<Entry>,
}

/// The claims that were checked and can still be disputed.
pub struct Ledger {
	path: PathBuf,
	secret: [u8; 32],
	entries: BTreeMap<ClaimId, Entry>,
}

impl Ledger {
	/// The ledger in `base`. One that cannot be read is begun anew: claims are then checked again, which costs time only.
	pub fn open(base: &Path) -> Self {
		let path = base.join(FILE);
		let read = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Content>(&bytes).ok());
		let Content { secret, entries } = read.unwrap_or_else(|| {
			let mut secret = [0; 32];
			OsRng.fill_bytes(&mut secret);
			Content { secret, entries: Vec::new() }
		});
		Self { path, secret, entries: entries.into_iter().map(|entry| (entry.claim.clone(), entry)).collect() }
	}

	/// Returns the secret that decides which work is checked: nobody must know it before the work is done.
	pub fn secret(&self) -> &[u8; 32] {
		&self.secret
	}

	/// Returns the result of checking a claim, if that is known.
	pub fn finding(&self, claim: &ClaimId) -> Option<Finding> {
		self.entries.get(claim).map(|entry| entry.finding)
	}

	/// Notes a finding until block `until`, and forgets what is older than `now`.
	///
	/// # Errors
	/// The file system's; the finding is known until the end of the process then.
	pub fn note(&mut self, claim: ClaimId, finding: Finding, until: BlockNumber, now: BlockNumber) -> io::Result<()> {
		self.entries.retain(|_, entry| entry.until >= now);
		self.entries.insert(claim.clone(), Entry { claim, finding, until });
		let content = Content { secret: self.secret, entries: self.entries.values().cloned().collect() };
		write_private(&self.path, &serde_json::to_vec(&content)?)
	}
}

/// Returns the finding that follows from the failure of a challenge for good; `None` if it may succeed later.
pub fn verdict(error: &ChainError) -> Option<Finding> {
	match error {
		error if error.is_dispatch("Disputes::AlreadyOpen") => Some(Finding::Challenged),
		error if error.is_dispatch("Disputes::TooManyGames") => None,
		// What else pallet `Disputes` refuses once, such as a claim that fell meanwhile, it refuses again. Money and room may come.
		ChainError::Dispatch { name, .. } if name.starts_with("Disputes::") => Some(Finding::Unknown),
		_ => None,
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_chain_client::Neuro;
	use neuroshard_types::{dispute::ClaimKind, AccountId};

	fn claim(round: u32) -> ClaimId {
		ClaimId { run: 0, round, kind: ClaimKind::Work, who: AccountId::new([1; 32]) }
	}

	#[test]
	fn findings_survive_a_restart_until_nobody_asks_for_them() {
		let base = tempfile::tempdir().unwrap();
		let mut ledger = Ledger::open(base.path());
		ledger.note(claim(1), Finding::Right, 10, 5).unwrap();
		ledger.note(claim(2), Finding::Challenged, 20, 5).unwrap();
		let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(base.path().join(FILE)).unwrap().permissions());
		assert_eq!(mode & 0o777, 0o600);
		let mut again = Ledger::open(base.path());
		assert_eq!(again.secret(), ledger.secret());
		assert_ne!(*ledger.secret(), [0; 32]);
		assert_eq!(again.finding(&claim(1)), Some(Finding::Right));
		again.note(claim(3), Finding::Unknown, 30, 11).unwrap();
		let last = Ledger::open(base.path());
		assert_eq!([1, 2, 3].map(|round| last.finding(&claim(round))), [None, Some(Finding::Challenged), Some(Finding::Unknown)]);
	}

	#[test]
	fn a_damaged_ledger_is_begun_anew() {
		let base = tempfile::tempdir().unwrap();
		std::fs::write(base.path().join(FILE), "{").unwrap();
		assert_eq!(Ledger::open(base.path()).finding(&claim(1)), None);
	}

	#[test]
	fn only_what_the_chain_says_of_the_claim_itself_is_final() {
		let refused = |name: &str| verdict(&ChainError::Dispatch { call: String::new(), name: name.into(), advice: String::new() });
		assert_eq!(refused("Disputes::Condemned"), Some(Finding::Unknown));
		assert_eq!(refused("Disputes::WindowOver"), Some(Finding::Unknown));
		assert_eq!(refused("Disputes::AlreadyOpen"), Some(Finding::Challenged), "sent before, and given up too early");
		assert_eq!(refused("Disputes::TooManyGames"), None, "others will be over");
		assert_eq!(refused("Token::FundsUnavailable"), None);
		assert_eq!(refused("Balances::TooManyHolds"), None);
		let pool = ChainError::Pool { call: String::new(), reason: "full".into() };
		assert_eq!((verdict(&pool), verdict(&ChainError::Stopped)), (None, None));
		let poor = ChainError::Unfunded { address: String::new(), free: Neuro(0) };
		assert_eq!(verdict(&poor), None);
	}
}
