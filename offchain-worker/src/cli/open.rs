//! What most commands begin with.

use super::{owner, CliError, Common};
use neuroshard_chain_client::{
	keys::{Account, Keys},
	Call, ChainAt, ChainClient, Submitter,
};
use neuroshard_types::{provider::ProviderInfo, AccountId};
use std::{
	fs::{File, TryLockError},
	os::unix::fs::DirBuilderExt,
	path::{Path, PathBuf},
};

/// The account at hand, and the chain.
pub(super) struct Opened {
	pub(super) base: PathBuf,
	pub(super) account: Account,
	/// The account that it works for: itself, or the provider that it is the operator of.
	pub(super) who: AccountId,
	pub(super) client: ChainClient,
	pub(super) submitter: Submitter,
}

/// Account first: without one there is no reason to disturb a node.
pub(super) async fn open(common: &Common) -> Result<Opened, CliError> {
	let base = common.base()?;
	let account = Account::load(&base, common.suri.as_deref(), &common.unlock())?;
	let client = ChainClient::connect_all(&common.node).await?;
	let who = owner::of(&client.now().await?, &account).await?;
	let submitter = Submitter::spawn_for(client.clone(), account.clone(), who.clone());
	Ok(Opened { base, account, who, client, submitter })
}

impl Opened {
	/// Has the owner sign `call`, which moves its money or ends its registration; an operator is told how, and `false` is returned.
	pub(super) fn may_sign(&self, at: &ChainAt, call: &Call) -> Result<bool, CliError> {
		if self.submitter.is_operator() {
			owner::print_call(at, &self.who, call)?;
		}
		Ok(!self.submitter.is_operator())
	}
}

/// Creates the base folder, for its owner alone: it holds keys and salts.
pub(super) fn create_base(base: &Path) -> Result<(), CliError> {
	std::fs::DirBuilder::new().recursive(true).mode(0o700).create(base).map_err(CliError::file(base))
}

/// Held while a worker runs in a base folder. The system releases it with the process, however that ends.
#[derive(Debug)]
pub(super) struct RunLock {
	_file: File,
}

impl RunLock {
	/// Takes the lock, or says that another process holds it.
	pub(super) fn take(base: &Path) -> Result<Self, CliError> {
		let path = base.join("worker.lock");
		let file = File::create(&path).map_err(CliError::file(&path))?;
		match file.try_lock() {
			Ok(()) => Ok(Self { _file: file }),
			Err(TryLockError::WouldBlock) => Err(CliError::AlreadyRunning { path: base.to_path_buf() }),
			Err(TryLockError::Error(source)) => Err(CliError::File { path, source }),
		}
	}
}

/// What `keys` register, without hardware and addresses.
pub(super) fn identity(keys: &Keys) -> Result<ProviderInfo, CliError> {
	let peer = neuroshard_network::keypair_from_secret(&mut keys.network.expose().clone())?.public().to_peer_id();
	let peer_id = peer.to_bytes().try_into().map_err(|_| CliError::Invalid("the peer id is longer than the chain takes".into()))?;
	Ok(ProviderInfo {
		roles: Default::default(),
		hardware: Default::default(),
		ponw_key: keys.ponw.public(),
		peer_id,
		addresses: Default::default(),
	})
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn one_folder_serves_one_worker_at_a_time() {
		let base = tempfile::tempdir().unwrap();
		let first = RunLock::take(base.path()).unwrap();
		let error = RunLock::take(base.path()).unwrap_err();
		assert!(error.to_string().contains("--base-path"), "{error}");
		drop(first);
		RunLock::take(base.path()).unwrap();
	}
}
