//! Presence of holders: the parts of a model that somebody holds now, as others than the engine's thread see it.

use std::sync::{
	atomic::{AtomicBool, Ordering},
	Arc,
};

/// Holders that are connected and hold their spans. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Presence(Arc<Inner>);

#[derive(Debug)]
struct Inner {
	/// Members of each span.
	spans: Vec<Vec<usize>>,
	here: Vec<AtomicBool>,
}

/// A member is here until this is dropped.
pub(super) struct Here {
	presence: Presence,
	member: usize,
}

impl Presence {
	/// Nobody of these spans yet, whose members have numbers below `members`.
	pub(super) fn new(spans: Vec<Vec<usize>>, members: usize) -> Self {
		Self(Arc::new(Inner { spans, here: (0..members).map(|_| AtomicBool::new(false)).collect() }))
	}

	/// A member is here.
	pub(super) fn enter(&self, member: usize) -> Here {
		self.set(member, true);
		Here { presence: self.clone(), member }
	}

	fn set(&self, member: usize, is_here: bool) {
		if let Some(here) = self.0.here.get(member) {
			here.store(is_here, Ordering::Release);
		}
	}

	/// Returns whether each span has a holder here.
	pub(super) fn is_complete(&self) -> bool {
		let is_here = |member: &usize| self.0.here.get(*member).is_some_and(|here| here.load(Ordering::Acquire));
		self.0.spans.iter().all(|members| members.iter().any(is_here))
	}
}

impl Drop for Here {
	fn drop(&mut self) {
		self.presence.set(self.member, false);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_model_is_complete_while_each_span_has_somebody() {
		let presence = Presence::new(vec![vec![0, 1], vec![2]], 3);
		assert!(!presence.is_complete());
		let (one, two) = (presence.enter(1), presence.enter(2));
		assert!(presence.is_complete());
		let other = presence.enter(0);
		drop(one);
		assert!(presence.is_complete());
		drop((two, other));
		assert!(!presence.is_complete());
	}
}
