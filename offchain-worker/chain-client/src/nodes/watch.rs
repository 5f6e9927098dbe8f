//! Asks all nodes at short intervals what they have, and says which one is used from then on.

use super::{
	choice::{choose, fit, obstacle, Choice, Contradiction, NodeView},
	link::{Link, Look},
};
use crate::error::ChainError;
use futures::future::join_all;
use neuroshard_types::{BlockNumber, H256};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

/// Pause between two looks at all nodes.
const INTERVAL: Duration = Duration::from_secs(2);
/// A node that has not answered for so long is away.
pub(super) const PATIENCE: Duration = Duration::from_secs(4);
/// Pause until a node that is away is asked again: what it is asked meanwhile waits for it to come back.
const AWAY_INTERVAL: Duration = Duration::from_secs(10);
/// A node whose finalized block is the same for so long stands still.
const STANDING_STILL: Duration = Duration::from_secs(60);
/// Finalized blocks that are remembered of each node.
const REMEMBERED: usize = 256;
/// Pause until it is said again that nodes contradict each other.
const REMINDER: Duration = Duration::from_secs(60);

/// Report of a node, for people.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NodeReport {
	/// Its address.
	pub url: String,
	/// True if the worker uses it now.
	pub used: bool,
	/// Its best block; `None` while it does not answer.
	pub best_block: Option<BlockNumber>,
	/// Its finalized block.
	pub finalized_block: Option<BlockNumber>,
	/// Version of the runtime after its best block.
	pub spec_version: u32,
	/// Why it would not be used.
	pub problem: Option<String>,
}

/// Reports of the nodes, and what follows from them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Watched {
	pub(super) choice: Choice,
	/// One report for every node, in the order in which they were named. Nothing if there is only one.
	pub nodes: Vec<NodeReport>,
	/// Point that nodes contradict each other about, with the answer of each.
	pub contradiction: Option<String>,
	/// Time at which another node came into use.
	pub(super) changed: Option<Instant>,
}

/// Looks at all nodes and watches them from then on, until `stop` is cancelled.
///
/// # Errors
/// [`ChainError::OtherChain`] if two of them are on different chains.
pub(super) async fn start(links: Arc<[Link]>, stop: CancellationToken) -> Result<watch::Receiver<Watched>, ChainError> {
	let mut watcher = Watcher::new(links);
	watcher.look().await?;
	// Now it is known what they can be compared by.
	watcher.look().await?;
	watcher.is_started = true;
	let (sender, receiver) = watch::channel(watcher.decide(Instant::now()));
	tokio::spawn(async move {
		let watching = async {
			loop {
				tokio::time::sleep(INTERVAL).await;
				// Once it has started, nothing is an error.
				let _ = watcher.look().await;
				let now = watcher.decide(Instant::now());
				sender.send_if_modified(|before| {
					*before != now && {
						*before = now;
						true
					}
				});
			}
		};
		stop.run_until_cancelled(watching).await
	});
	Ok(receiver)
}

/// Times that are remembered of a node beside its view.
#[derive(Default)]
struct Times {
	/// Time at which it was asked last.
	asked: Option<Instant>,
	/// Time at which its finalized block was another one first.
	moved: Option<Instant>,
	/// Since when it is fit to be used.
	fit: Option<Instant>,
}

struct Watcher {
	links: Arc<[Link]>,
	views: Vec<NodeView>,
	times: Vec<Times>,
	/// Genesis hash of the first node that answered, and its place.
	chain: Option<(usize, H256)>,
	choice: Option<Choice>,
	changed: Option<Instant>,
	contradicted: Option<Instant>,
	reminded: Option<Instant>,
	is_started: bool,
}

impl Watcher {
	fn new(links: Arc<[Link]>) -> Self {
		let views = links.iter().map(|_| NodeView::default()).collect();
		let times = links.iter().map(|_| Times::default()).collect();
		Self { links, views, times, chain: None, choice: None, changed: None, contradicted: None, reminded: None, is_started: false }
	}

	/// Asks every node, also for the blocks that others call finalized.
	async fn look(&mut self) -> Result<(), ChainError> {
		let begun = Instant::now();
		let newest: Vec<_> = self.views.iter().filter_map(|view| view.heads).map(|heads| heads.finalized.number).collect();
		let asked = self.links.iter().zip(&self.views).zip(&self.times).map(|((link, view), times)| {
			let rests = view.heads.is_none() && times.asked.is_some_and(|asked| begun.duration_since(asked) < AWAY_INTERVAL);
			let is_new = |number: &BlockNumber| !view.said.iter().any(|(known, _)| known == number);
			let heights: Vec<_> = newest.iter().copied().filter(is_new).collect();
			async move {
				if rests {
					return None;
				}
				let asking = async {
					link.connect().await.ok()?;
					link.look(&heights).await?.ok()
				};
				Some(tokio::time::timeout(PATIENCE, asking).await.ok().flatten())
			}
		});
		let looks = join_all(asked).await;
		let now = Instant::now();
		for (place, look) in looks.into_iter().enumerate() {
			match look {
				None => {}
				Some(look) => self.note(place, look, now)?,
			}
		}
		let fit = fit(&self.views);
		for ((view, times), fit) in self.views.iter_mut().zip(&mut self.times).zip(fit) {
			times.fit = fit.then(|| times.fit.unwrap_or(now));
			view.fit_for = times.fit.map(|since| now.duration_since(since)).unwrap_or_default();
			view.moving = times.moved.is_some_and(|moved| now.duration_since(moved) < STANDING_STILL);
		}
		Ok(())
	}

	/// Notes what the node at `place` said; nothing, if it did not answer.
	fn note(&mut self, place: usize, look: Option<Look>, now: Instant) -> Result<(), ChainError> {
		let (Some(view), Some(times)) = (self.views.get_mut(place), self.times.get_mut(place)) else { return Ok(()) };
		times.asked = Some(now);
		let Some(look) = look else {
			view.heads = None;
			return Ok(());
		};
		let (first, genesis) = *self.chain.get_or_insert((place, look.genesis));
		if look.genesis != genesis {
			view.heads = None;
			view.fault = Some(format!("is on another chain, with the genesis block {:?}", look.genesis));
			let url = |place: usize| self.links.get(place).map_or_else(String::new, |link| link.url().to_owned());
			return match self.is_started {
				true => Ok(()),
				false => Err(ChainError::OtherChain {
					first: url(first),
					second: url(place),
					hashes: [format!("{genesis:?}"), format!("{:?}", look.genesis)],
				}),
			};
		}
		let before = view.heads.map(|heads| heads.finalized);
		if before != Some(look.heads.finalized) {
			times.moved = Some(now);
		}
		view.fault = None;
		(view.heads, view.syncing, view.spec) = (Some(look.heads), look.syncing, look.spec);
		view.said.extend(look.finalized.iter().map(|block| (block.number, block.hash)));
		while view.said.len() > REMEMBERED {
			view.said.pop_first();
		}
		Ok(())
	}

	/// Chooses, and says what changes by it.
	fn decide(&mut self, now: Instant) -> Watched {
		let for_so_long = self.contradicted.map(|since| now.duration_since(since)).unwrap_or_default();
		let choice = choose(&self.views, self.choice.as_ref(), for_so_long);
		let name = |place: usize| self.links.get(place).map_or("", Link::url);
		let contradiction = choice.contradiction.as_ref().map(|found| words(found, name));
		if let Some(words) = &contradiction {
			self.contradicted.get_or_insert(now);
			if self.reminded.is_none_or(|last| now.duration_since(last) >= REMINDER) {
				self.reminded = Some(now);
				tracing::error!("{words}");
			}
		}
		if let Some(before) = self.choice.as_ref().map(|before| before.used).filter(|before| *before != choice.used) {
			let why = self.views.get(before).and_then(|view| obstacle(view, &self.views));
			match (why, &contradiction) {
				(Some(why), None) => tracing::warn!("node {} {why}: using {} instead", name(before), name(choice.used)),
				_ => tracing::info!("using node {} again", name(choice.used)),
			}
			self.changed = Some(now);
		}
		let nodes = self.links.iter().zip(&self.views).enumerate().map(|(place, (link, view))| NodeReport {
			url: link.url().to_owned(),
			used: place == choice.used,
			best_block: view.heads.map(|heads| heads.best.number),
			finalized_block: view.heads.map(|heads| heads.finalized.number),
			spec_version: view.spec,
			problem: obstacle(view, &self.views),
		});
		let nodes = nodes.collect();
		self.choice = Some(choice.clone());
		Watched { choice, nodes, contradiction, changed: self.changed }
	}
}

/// Describes who says what, and what to do.
fn words<'a>(found: &Contradiction, name: impl Fn(usize) -> &'a str) -> String {
	let said: Vec<_> = found.said.iter().map(|(place, hash)| format!("{} says {hash:?}", name(*place))).collect();
	format!(
		"nodes contradict each other about the finalized block {}: {}. Nothing becomes final for this worker any more: it reveals and claims \
		 nothing, and only defends what it has claimed, on each node in turn. Find out which node is wrong, and start the worker again without it",
		found.number,
		said.join(", ")
	)
}
