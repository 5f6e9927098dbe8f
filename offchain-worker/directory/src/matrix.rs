//! The matrix: ways between members, by what both ends have measured.

use crate::members::Directory;
use neuroshard_types::{AccountId, Moment};
use std::collections::BTreeMap;

/// Bandwidth of a way whose ends have not measured any, in bytes a second: that of a slow line, so that ways that were measured come first.
pub const ASSUMED_BANDWIDTH: f64 = 1_048_576.0;

/// A way from one member to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Route {
	/// Seconds that the first byte takes, one way.
	pub latency: f64,
	/// Bytes a second.
	pub bandwidth: f64,
	/// True if one of its ends has measured it, false if it is an estimate by way of a third member.
	pub measured: bool,
}

/// Ways between some members. They are the same in both directions.
///
/// Where both ends have measured a way, the longer time and the lower bandwidth count: rows of a ring go both ways, and nobody can make itself look nearer
/// than the other end says. Where one end has, that counts. Where none has, but both have a way to a third member, the shortest sum of two times and the
/// lower bandwidth of those two ways are taken: no way is much longer than by way of somebody else. All others are not known.
#[derive(Clone, Debug)]
pub struct Matrix {
	size: usize,
	routes: Vec<Option<Route>>,
}

impl Matrix {
	/// Number of members.
	pub fn size(&self) -> usize {
		self.size
	}

	/// The way between two members by their places in the list; `None` if it is not known, for a member to itself, and for places that are not in it.
	pub fn get(&self, from: usize, to: usize) -> Option<Route> {
		let inside = from < self.size && to < self.size;
		inside.then(|| self.routes.get(from * self.size + to).copied().flatten()).flatten()
	}
}

/// A way that was measured, with nothing assumed.
#[derive(Clone, Copy)]
struct Edge {
	rtt_us: u64,
	bandwidth: Option<u64>,
}

impl Edge {
	fn worse(self, other: Self) -> Self {
		let bandwidth = match (self.bandwidth, other.bandwidth) {
			(Some(a), Some(b)) => Some(a.min(b)),
			(a, b) => a.or(b),
		};
		Self { rtt_us: self.rtt_us.max(other.rtt_us), bandwidth }
	}

	fn then(self, next: Self) -> Self {
		let assumed = |edge: Self| edge.bandwidth.unwrap_or(ASSUMED_BANDWIDTH as u64);
		Self { rtt_us: self.rtt_us.saturating_add(next.rtt_us), bandwidth: Some(assumed(self).min(assumed(next))) }
	}

	fn route(self, measured: bool) -> Route {
		// Both are far below 2^53: a day is 10^11 microseconds.
		let bandwidth = self.bandwidth.map_or(ASSUMED_BANDWIDTH, |bytes| bytes as f64);
		Route { latency: self.rtt_us as f64 / 2e6, bandwidth, measured }
	}
}

impl Directory {
	/// The ways between the members with these accounts, in their order. Whoever is not there has no ways.
	pub fn matrix(&self, accounts: &[AccountId], now: Moment) -> Matrix {
		let there: Vec<_> = self.members(now).collect();
		let places: BTreeMap<&AccountId, usize> = there.iter().enumerate().map(|(place, member)| (member.account(), place)).collect();
		let mut edges: Vec<BTreeMap<usize, Edge>> = vec![BTreeMap::new(); there.len()];
		for (here, member) in there.iter().enumerate() {
			for way in &member.holdings.ways {
				let Some(other) = self.tagged(&way.to).and_then(|account| places.get(account)).copied().filter(|other| *other != here)
				else {
					continue;
				};
				let edge = Edge { rtt_us: way.rtt_us(), bandwidth: way.bytes_per_second() };
				for (a, b) in [(here, other), (other, here)] {
					edges[a].entry(b).and_modify(|known| *known = known.worse(edge)).or_insert(edge);
				}
			}
		}
		let listed: Vec<Option<usize>> = accounts.iter().map(|account| places.get(account).copied()).collect();
		let mut routes = Vec::with_capacity(accounts.len().saturating_mul(accounts.len()));
		for from in &listed {
			let reached = from.map_or_else(Vec::new, |from| reached(&edges, from));
			routes.extend(listed.iter().map(|to| (*to).filter(|to| Some(*to) != *from).and_then(|to| reached.get(to).copied().flatten())));
		}
		Matrix { size: accounts.len(), routes }
	}
}

/// The ways of one member to all others.
fn reached(edges: &[BTreeMap<usize, Edge>], from: usize) -> Vec<Option<Route>> {
	let mut indirect: Vec<Option<Edge>> = vec![None; edges.len()];
	for (middle, first) in &edges[from] {
		for (to, second) in &edges[*middle] {
			let edge = first.then(*second);
			if indirect[*to].is_none_or(|known| edge.rtt_us < known.rtt_us) {
				indirect[*to] = Some(edge);
			}
		}
	}
	let routes = indirect.into_iter().enumerate();
	routes
		.map(|(to, indirect)| edges[from].get(&to).map_or_else(|| indirect.map(|edge| edge.route(false)), |edge| Some(edge.route(true))))
		.collect()
}
