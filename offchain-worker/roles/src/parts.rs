//! Parts of a worker: what its operator decides, what it works with, and what its roles share.

use super::{
	conduct::Conduct,
	content::{supply::Cached, Content},
};
use crate::status::Reporter;
use neuroshard_chain_client::{keys::Keys, ChainClient, Submitter};
use neuroshard_network::Handle;
use neuroshard_store::Store;
use neuroshard_training::engine::Device;
use neuroshard_types::{AccountId, Balance, RunId};
use std::{path::PathBuf, sync::Arc};
use tokio::sync::Mutex;

/// Mode of the worker: it trains, or only hands out what others ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
	/// Trains.
	Train,
	/// Keeps the newest checkpoint and serves it.
	ServeOnly,
}

/// Options of the operator.
#[derive(Clone, Debug)]
pub struct Options {
	/// Trains or only serves.
	pub mode: Mode,
	/// Run to take part in; chosen by the worker if not given.
	pub run: Option<RunId>,
	/// Folder of the run's dataset; its shards come from peers if not given.
	pub dataset: Option<PathBuf>,
	/// True if that dataset is attested on chain; if not, what was attested of it is withdrawn.
	pub attest: bool,
	/// Compute threads.
	pub threads: usize,
	/// What takes inner steps and measures losses.
	pub device: Device,
	/// Earnings below this are not claimed.
	pub claim_from: Balance,
	/// Conduct of the worker.
	pub conduct: Arc<dyn Conduct>,
	/// Share of the others' work that is checked, from 0 to 1. With any at all, checkpoints that others attested are checked too.
	pub check: f64,
	/// True if this account is to be drawn for audits that there is no memory for, which are done in files.
	pub audit_in_files: bool,
}

/// Parts that a worker works with.
pub struct Parts {
	/// Base folder.
	pub base: PathBuf,
	/// Keys.
	pub keys: Keys,
	/// The account that it works for: that of the keys, or the one that this is the operator of.
	pub owner: AccountId,
	/// Chain.
	pub client: ChainClient,
	/// Content store.
	pub store: Store,
	/// Network, running.
	pub net: Handle,
	/// Reporter of the status.
	pub reporter: Reporter,
}

/// Parts that the roles of one worker share, each a clone of its own.
#[derive(Clone)]
pub(super) struct Shared {
	pub(super) base: PathBuf,
	pub(super) client: ChainClient,
	pub(super) submitter: Submitter,
	pub(super) content: Content,
	/// The dataset that was used last.
	pub(super) dataset: Arc<Mutex<Cached>>,
	pub(super) reporter: Reporter,
}

impl Shared {
	/// Starts to send extrinsics. The keys are for the role that signs with them.
	pub(super) fn new(parts: Parts, options: &Options) -> (Self, Keys) {
		let Parts { base, keys, owner, client, store, net, reporter } = parts;
		let content = Content::new(store, net, &base, options.dataset.clone());
		let submitter = Submitter::spawn_for(client.clone(), keys.account.clone(), owner);
		(Self { base, client, submitter, content, dataset: Default::default(), reporter }, keys)
	}
}
