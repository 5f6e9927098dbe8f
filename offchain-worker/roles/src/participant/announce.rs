//! Registration of this worker's addresses.

use super::{observe::Observed, tasks::Tasks, Participant};
use crate::WorkerError;
use neuroshard_chain_client::{staking, ChainError, Submitter};
use neuroshard_network::Multiaddr;
use neuroshard_types::{
	provider::{Addresses, ProviderInfo},
	BlockNumber,
};
use std::time::Duration;

/// Blocks that an address must stay before it is registered: those that come and go are of no use to anybody.
const STEADY: BlockNumber = 10;
/// Blocks between two registrations, each of which costs a fee.
const REST: BlockNumber = 100;
/// Blocks until what got into no block in time is tried again.
const LATE_REST: BlockNumber = 10;
/// Longest attempt of a registration: the account's next extrinsic, which may have a deadline, waits for it.
const GIVE_WAY: Duration = Duration::from_secs(20);

/// Decides when what this worker registered is replaced: something new at its start at once, everything else when it has stayed for a
/// while. An address that is missing at the start may be one that takes some time, such as a relay's.
#[derive(Debug, Default)]
pub(super) struct Announcer {
	/// Registration that the newest look found, and the block since which it is so.
	found: Option<(ProviderInfo, BlockNumber)>,
	/// First block at which the next registration may be sent.
	next_at: BlockNumber,
}

impl Announcer {
	/// Returns whether to register `current` in place of `registered`, at block `best`.
	pub(super) fn is_due(&mut self, current: &ProviderInfo, registered: &ProviderInfo, best: BlockNumber) -> bool {
		let since = match &self.found {
			Some((found, since)) if found == current => *since,
			// It has stayed for as long as anybody knows.
			None if tells_more(current, registered) => 0,
			_ => best,
		};
		let steady = since == 0 || best.saturating_sub(since) >= STEADY;
		self.found = Some((current.clone(), since));
		current != registered && steady && best >= self.next_at
	}

	/// Notes at block `best` how a registration ended.
	pub(super) fn note(&mut self, outcome: &Outcome, best: BlockNumber) {
		let rest = match outcome {
			// What the chain refused costs a fee every time.
			Outcome::Sent | Outcome::Failed(ChainError::Dispatch { .. }) => REST,
			// It may get into a block yet.
			Outcome::Late => LATE_REST,
			// Everything else, such as an empty account, may pass.
			Outcome::Failed(_) => return,
		};
		self.next_at = best.saturating_add(rest);
	}
}

/// Result of a registration.
#[derive(Debug)]
pub(super) enum Outcome {
	/// It is in a block.
	Sent,
	/// It got into no block while it did not hold up anything else.
	Late,
	/// The chain or the node refused it.
	Failed(ChainError),
}

/// Registers `info` in place of what is registered.
async fn register(submitter: Submitter, info: ProviderInfo) -> Outcome {
	// What expired is decided anew: the addresses may be others by then.
	match tokio::time::timeout(GIVE_WAY, submitter.submit_once(staking::update_info(info))).await {
		Ok(Ok(_)) => Outcome::Sent,
		Ok(Err(error)) => Outcome::Failed(error),
		Err(_) => Outcome::Late,
	}
}

impl Participant {
	/// Tells the chain where this worker is now, if that is not what it registered. That goes on beside the loop, which has deadlines.
	pub(super) async fn announce(&mut self, seen: &Observed) {
		let best = seen.chain.best;
		match self.registration.take().await {
			None => {}
			Some(Ok(outcome)) => {
				self.announcer.note(&outcome, best);
				match outcome {
					Outcome::Sent => tracing::info!("registered this worker's present addresses"),
					Outcome::Late => tracing::debug!("this worker's present addresses got into no block yet"),
					Outcome::Failed(error) => self.report(&error.into()),
				}
			}
			Some(Err(error)) => self.report(&error),
		}
		if self.registration.is_busy() {
			return;
		}
		let Some(provider) = seen.provider.as_ref().filter(|_| !self.leaving && !seen.chain.is_short()) else { return };
		let current = match current_info(&self.tasks, &provider.info).await {
			Ok(current) => current,
			Err(error) => return self.report(&error),
		};
		if self.announcer.is_due(&current, &provider.info, best) {
			self.registration.start(register(self.tasks.submitter.clone(), current));
		}
	}
}

/// Returns whether `current` is more than `registered` without some addresses.
fn tells_more(current: &ProviderInfo, registered: &ProviderInfo) -> bool {
	let keys = |info: &ProviderInfo| (info.ponw_key, info.peer_id.clone());
	keys(current) != keys(registered) || current.addresses.iter().any(|address| !registered.addresses.contains(address))
}

/// Returns the registration that this worker should have: `registered` with its present keys and addresses.
async fn current_info(tasks: &Tasks, registered: &ProviderInfo) -> Result<ProviderInfo, WorkerError> {
	let network = tasks.content.net.status().await?;
	let known = sorted(network.external).into_iter().chain(sorted(network.listening));
	let mut addresses = Addresses::default();
	for address in known.filter_map(|address| address.to_vec().try_into().ok()) {
		// Addresses beyond what the chain takes are left out: the first ones reach furthest.
		if !addresses.contains(&address) && addresses.try_push(address).is_err() {
			break;
		}
	}
	let peer_id = network.peer.to_bytes().try_into().map_err(|_| WorkerError::Stopped)?;
	Ok(ProviderInfo { ponw_key: tasks.keys.ponw.public(), peer_id, addresses, ..registered.clone() })
}

/// Addresses in an order that a restart does not change, those that only this machine understands last.
fn sorted(mut addresses: Vec<Multiaddr>) -> Vec<Multiaddr> {
	addresses.sort_by_key(|address| {
		let text = address.to_string();
		let local = text.starts_with("/ip4/127.") || text.starts_with("/ip6/::1/");
		(local, text)
	});
	addresses
}

#[cfg(test)]
mod tests {
	use super::*;

	/// Returns the registration of a provider with this one address.
	fn at(address: u8) -> ProviderInfo {
		ProviderInfo {
			roles: Default::default(),
			hardware: Default::default(),
			ponw_key: [2; 33],
			peer_id: Default::default(),
			addresses: vec![vec![address].try_into().unwrap()].try_into().unwrap(),
		}
	}

	#[test]
	fn a_start_at_another_address_is_registered_at_once_and_one_at_the_same_not_at_all() {
		assert!(Announcer::default().is_due(&at(1), &at(0), 5));
		assert!(!Announcer::default().is_due(&at(0), &at(0), 5));
	}

	#[test]
	fn an_address_that_is_not_there_yet_at_the_start_is_waited_for() {
		let none = ProviderInfo { addresses: Default::default(), ..at(0) };
		let mut announcer = Announcer::default();
		assert!(!announcer.is_due(&none, &at(0), 50));
		assert!(!announcer.is_due(&at(0), &at(0), 53), "it came");
		let mut announcer = Announcer::default();
		let due: Vec<_> = (50..63).filter(|best| announcer.is_due(&none, &at(0), *best)).collect();
		assert_eq!(due, [60, 61, 62], "it did not come");
		let other_key = ProviderInfo { ponw_key: [3; 33], ..none };
		assert!(Announcer::default().is_due(&other_key, &at(0), 50));
	}

	#[test]
	fn what_the_account_could_not_pay_for_at_the_start_is_tried_again() {
		let mut announcer = Announcer::default();
		assert!(announcer.is_due(&at(1), &at(0), 50));
		announcer.note(&Outcome::Failed(ChainError::Stopped), 50);
		assert!(announcer.is_due(&at(1), &at(0), 51));
	}

	#[test]
	fn what_gave_way_to_more_urgent_things_is_tried_again_soon() {
		let mut announcer = Announcer::default();
		assert!(announcer.is_due(&at(1), &at(0), 50));
		announcer.note(&Outcome::Late, 50);
		let due: Vec<_> = (51..62).filter(|best| announcer.is_due(&at(1), &at(0), *best)).collect();
		assert_eq!(due, [60, 61]);
	}

	#[test]
	fn a_new_address_is_registered_once_it_has_stayed() {
		let mut announcer = Announcer::default();
		assert!(!announcer.is_due(&at(0), &at(0), 5));
		let due: Vec<_> = (200..215).filter(|best| announcer.is_due(&at(1), &at(0), *best)).collect();
		assert_eq!(due, [210, 211, 212, 213, 214]);
		announcer.note(&Outcome::Sent, 214);
		assert!(!announcer.is_due(&at(1), &at(1), 215));
	}

	#[test]
	fn an_address_that_comes_and_goes_costs_nothing() {
		let mut announcer = Announcer::default();
		announcer.is_due(&at(0), &at(0), 5);
		assert!((100..200u8).all(|best| !announcer.is_due(&at(best / 5), &at(0), best.into())));
	}

	#[test]
	fn two_registrations_are_far_apart_even_if_the_chain_refused_the_first() {
		let mut announcer = Announcer::default();
		assert!(announcer.is_due(&at(1), &at(0), 50));
		let refused = ChainError::Dispatch { call: String::new(), name: String::new(), advice: String::new() };
		announcer.note(&Outcome::Failed(refused), 50);
		let due: Vec<_> = (51..152).filter(|best| announcer.is_due(&at(1), &at(0), *best)).collect();
		assert_eq!(due, [150, 151]);
	}

	#[test]
	fn addresses_are_sorted_with_loopback_last() {
		let texts = ["/ip4/127.0.0.1/tcp/1", "/ip4/192.0.2.7/udp/1/quic-v1", "/ip4/10.0.0.1/tcp/1"];
		let addresses = texts.iter().map(|text| text.parse().unwrap()).collect();
		let sorted: Vec<String> = sorted(addresses).iter().map(ToString::to_string).collect();
		assert_eq!(sorted, ["/ip4/10.0.0.1/tcp/1", "/ip4/192.0.2.7/udp/1/quic-v1", "/ip4/127.0.0.1/tcp/1"]);
	}
}
