//! Presence of holders: the parts of a model that somebody holds now, as others than the engine's thread see it.

use std::{
	collections::BTreeMap,
	sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Holders that are connected and hold their spans. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Presence(Arc<Inner>);

#[derive(Debug)]
struct Inner {
	/// Number of spans.
	spans: usize,
	/// Of each member that was ever here its span, and whether it is here.
	members: Mutex<BTreeMap<usize, (usize, bool)>>,
}

/// A member is here until this is dropped.
pub(super) struct Here {
	presence: Presence,
	member: usize,
}

impl Presence {
	/// Nobody of so many spans yet.
	pub(super) fn new(spans: usize) -> Self {
		Self(Arc::new(Inner { spans, members: Mutex::default() }))
	}

	fn members(&self) -> MutexGuard<'_, BTreeMap<usize, (usize, bool)>> {
		// There is nothing half done about a map.
		self.0.members.lock().unwrap_or_else(PoisonError::into_inner)
	}

	/// A member is here, and holds this span.
	pub(super) fn enter(&self, member: usize, span: usize) -> Here {
		self.members().insert(member, (span, true));
		Here { presence: self.clone(), member }
	}

	/// Returns whether a member is here.
	pub(super) fn has(&self, member: usize) -> bool {
		self.members().get(&member).is_some_and(|(_, is_here)| *is_here)
	}

	/// Returns the number of holders of a span that are here.
	pub(super) fn of(&self, span: usize) -> usize {
		self.members().values().filter(|member| **member == (span, true)).count()
	}

	/// Returns whether each span has a holder here.
	pub(super) fn is_complete(&self) -> bool {
		(0..self.0.spans).all(|span| self.of(span) > 0)
	}
}

impl Drop for Here {
	fn drop(&mut self) {
		if let Some((_, is_here)) = self.presence.members().get_mut(&self.member) {
			*is_here = false;
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_model_is_complete_while_each_span_has_somebody() {
		let presence = Presence::new(2);
		assert!(!presence.is_complete());
		let (one, two) = (presence.enter(1, 0), presence.enter(2, 1));
		assert!(presence.is_complete());
		let other = presence.enter(0, 0);
		assert_eq!([0, 1].map(|span| presence.of(span)), [2, 1]);
		drop(one);
		assert!(presence.is_complete());
		drop((two, other));
		assert!(!presence.is_complete());
	}
}
