//! Asking peers what a root that names no blob is made of.

use super::{message::Answer, score::Conduct, FetchError, Handle, PeerAddress, PeerFailure, Request};
use futures::StreamExt;
use neuroshard_types::H256;

/// Peers asked at the same time: one that does not answer holds nobody up.
const AT_A_TIME: usize = 4;

impl Handle {
	/// Asks `peers` (all of the address book if there are none), best first, for their note on `root`, until `accept` takes
	/// one. A note that is not accepted counts as corrupt: whoever has one has checked it.
	///
	/// # Errors
	/// [`FetchError::NoPeers`], or [`FetchError::NoNote`] if nobody has an acceptable note.
	pub async fn note<T>(&self, root: H256, peers: &[PeerAddress], accept: impl Fn(&[u8]) -> Option<T>) -> Result<T, FetchError> {
		let peers = if peers.is_empty() { self.book().await? } else { peers.to_vec() };
		let others = peers.into_iter().filter(|peer| peer.peer != self.peer_id()).collect::<Vec<_>>();
		let ranking = self.rank(others.iter().map(|peer| peer.peer).collect(), None, root).await?;
		let mut failures: Vec<_> = ranking.banned.into_iter().map(|(peer, rest)| (peer, PeerFailure::Banned(rest))).collect();
		let addresses = ranking.usable.iter().filter_map(|peer| others.iter().find(|other| other.peer == *peer)).cloned();
		let asked = addresses.map(|address| async move { (address.peer, self.ask(address, Request::Note { root }).await) });
		let mut answers = futures::stream::iter(asked).buffer_unordered(AT_A_TIME);
		while let Some((peer, answer)) = answers.next().await {
			let failure = match answer? {
				Ok(Answer::Data(note)) => match accept(&note) {
					Some(accepted) => {
						self.judge(peer, Conduct::Good).await?;
						return Ok(accepted);
					}
					None => PeerFailure::Malformed("a note that does not belong to the root".into()),
				},
				Ok(Answer::Refused(refusal)) => PeerFailure::Refused(refusal),
				Err(failure) => failure,
			};
			self.judge_failure(peer, &failure).await?;
			failures.push((peer, failure));
		}
		match failures.is_empty() {
			true => Err(FetchError::NoPeers { root }),
			false => Err(FetchError::NoNote { root, failures }),
		}
	}
}
