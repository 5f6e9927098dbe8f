//! Asking peers what a root that names no blob is made of.

use crate::{message::Answer, score::Conduct, FetchError, Handle, PeerAddress, PeerFailure, PeerId, Request};
use futures::StreamExt;
use neuroshard_types::H256;
use std::collections::{HashMap, HashSet};

/// Peers asked at the same time: one that does not answer holds nobody up.
const AT_A_TIME: usize = 4;

impl Handle {
	/// Asks `peers`, best first, then all others of the address book, then the mirrors, for their note on `root`, until `accept` takes one. A note that is
	/// not accepted counts as corrupt: whoever has one has checked it.
	///
	/// # Errors
	/// [`FetchError::NoPeers`], or [`FetchError::NoNote`] if nobody has an acceptable note; [`FetchError::Nowhere`] if no mirror has one either.
	pub async fn note<T>(&self, root: H256, peers: &[PeerAddress], accept: impl Fn(&[u8]) -> Option<T>) -> Result<T, FetchError> {
		let mut failures = Vec::new();
		if let Some(accepted) = self.note_of(root, peers.to_vec(), &accept, &mut failures).await? {
			return Ok(accepted);
		}
		let asked: HashSet<PeerId> = peers.iter().map(|peer| peer.peer).collect();
		let mut others = self.book().await?;
		others.retain(|other| !asked.contains(&other.peer));
		if let Some(accepted) = self.note_of(root, others, &accept, &mut failures).await? {
			return Ok(accepted);
		}
		let peers = match failures.is_empty() {
			true => FetchError::NoPeers { root },
			false => FetchError::NoNote { root, failures },
		};
		if self.mirrors.is_empty() {
			return Err(peers);
		}
		self.mirrors.note(root, accept).await.map_err(|mirrors| FetchError::Nowhere { peers: Box::new(peers), mirrors })
	}

	/// The first note of `peers` that `accept` takes; why the others gave none.
	async fn note_of<T>(
		&self,
		root: H256,
		mut peers: Vec<PeerAddress>,
		accept: &impl Fn(&[u8]) -> Option<T>,
		failures: &mut Vec<(PeerId, PeerFailure)>,
	) -> Result<Option<T>, FetchError> {
		peers.retain(|peer| peer.peer != self.peer_id());
		let ranking = self.rank(peers.iter().map(|peer| peer.peer).collect(), None, root).await?;
		failures.extend(ranking.banned.into_iter().map(|(peer, rest)| (peer, PeerFailure::Banned(rest))));
		let addresses: HashMap<PeerId, PeerAddress> = peers.into_iter().map(|peer| (peer.peer, peer)).collect();
		let addresses = ranking.usable.iter().filter_map(|peer| addresses.get(peer)).cloned();
		let asked = addresses.map(|address| async move { (address.peer, self.ask(address, Request::Note { root }).await) });
		let mut answers = futures::stream::iter(asked).buffer_unordered(AT_A_TIME);
		while let Some((peer, answer)) = answers.next().await {
			let failure = match answer? {
				Ok(Answer::Data(note)) => match accept(&note) {
					Some(accepted) => {
						self.judge(peer, Conduct::Good).await?;
						return Ok(Some(accepted));
					}
					None => PeerFailure::Malformed("a note that does not belong to the root".into()),
				},
				Ok(Answer::Refused(refusal)) => PeerFailure::Refused(refusal),
				Err(failure) => failure,
			};
			self.judge_failure(peer, &failure).await?;
			failures.push((peer, failure));
		}
		Ok(None)
	}
}
