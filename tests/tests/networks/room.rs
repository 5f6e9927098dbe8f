//! How many networks run at a time. Most wait for blocks more than they compute, so that three share two cores well; of those in which everybody checks all that
//! the others did, or a larger model is trained, two are enough.

use neuroshard_e2e::pace;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Room for two heavy networks, for a heavy and two light ones, or for three light ones.
static ROOM: Semaphore = Semaphore::const_new(7);

/// What a network takes of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Load {
	/// It waits most of the time.
	Light = 2,
	/// It computes most of the time.
	Heavy = 3,
}

impl Load {
	/// Waits until there is room for it, which it has as long as what is returned is there.
	pub(crate) async fn room(self) -> SemaphorePermit<'static> {
		// Before any of them runs: whoever came later would measure it beside the others.
		pace();
		ROOM.acquire_many(self as u32).await.unwrap()
	}
}
