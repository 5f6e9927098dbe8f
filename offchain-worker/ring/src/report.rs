//! Reports of a driver about the members of its ring. Clones share them.

use super::liars::Liars;
use neuroshard_support::printable::printable_line;
use prometheus_client::metrics::counter::Counter;
use std::{
	collections::VecDeque,
	sync::{Arc, Mutex, MutexGuard, PoisonError},
	time::Duration,
};
use tokio_util::sync::CancellationToken;

/// Reports that are kept.
const KEPT: usize = 1_000;

/// Characters of what another worker says that are kept.
const WORDS: usize = 200;

/// Something that a member did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
	/// It holds its span from now on.
	Joined(String),
	/// Its connection has ended.
	Gone(String),
	/// It did not answer in time.
	Late(String),
	/// It could not do what it was asked to.
	Refused(String, String),
	/// It told wrong rows, as a computation here showed, and is not asked again.
	Lied(String, String),
}

/// The last reports.
#[derive(Clone, Default, Debug)]
pub struct Reports(Arc<Inner>);

#[derive(Default, Debug)]
struct Inner {
	last: Mutex<VecDeque<Report>>,
	/// Microseconds that each replacement took, of the last ones.
	replacements: Mutex<VecDeque<u64>>,
	read_again: Counter,
	liars: Mutex<Option<Liars>>,
	lie: CancellationToken,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
	// There is nothing half done about a list.
	of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reports {
	/// Reports that keep on disk who lied.
	pub(super) fn keeping(liars: Liars) -> Self {
		Self(Arc::new(Inner { liars: Mutex::new(Some(liars)), ..Inner::default() }))
	}

	/// Cancelled as soon as somebody was found to have lied.
	pub fn lie(&self) -> &CancellationToken {
		&self.0.lie
	}

	fn push(&self, report: Report) {
		let mut last = locked(&self.0.last);
		if last.len() == KEPT {
			// Who is not asked again is not forgotten for who comes and goes.
			let first = last.iter().position(|report| !matches!(report, Report::Lied(..)));
			last.remove(first.unwrap_or_default());
		}
		last.push_back(report);
	}

	/// All that are kept, the oldest first.
	pub fn all(&self) -> Vec<Report> {
		locked(&self.0.last).iter().cloned().collect()
	}

	/// Microseconds from the first question to the answer, of the last passes in which a holder was replaced.
	pub fn replacements(&self) -> Vec<u64> {
		locked(&self.0.replacements).iter().copied().collect()
	}

	/// Returns whether somebody was found to have lied, now or before.
	pub(super) fn is_liar(&self, name: &str) -> bool {
		locked(&self.0.liars).as_ref().is_some_and(|liars| liars.what(name).is_some())
	}

	pub(super) fn joined(&self, name: &str) {
		tracing::info!("{name} holds its span");
		self.push(Report::Joined(name.to_owned()));
	}

	pub(super) fn gone(&self, name: &str) {
		tracing::warn!("{name} is gone; it is used again when it is back at the address that it had");
		self.push(Report::Gone(name.to_owned()));
	}

	pub(super) fn late(&self, name: &str) {
		tracing::warn!("{name} is late; another holder takes its place");
		self.push(Report::Late(name.to_owned()));
	}

	pub(super) fn refused(&self, name: &str, words: &str) {
		let words: String = printable_line(words).chars().take(WORDS).collect();
		tracing::warn!("{name} cannot do what it is asked to: {words}");
		self.push(Report::Refused(name.to_owned(), words));
	}

	pub(super) fn lied(&self, name: &str, words: String) {
		tracing::error!("{name} {words}; it is not asked again");
		if let Some(liars) = &mut *locked(&self.0.liars) {
			if let Err(error) = liars.note(name, &words) {
				tracing::error!(
					"that {name} has lied cannot be kept in {}, so that it is asked again after a restart: {error}",
					liars.path().display()
				);
			}
		}
		self.0.lie.cancel();
		self.push(Report::Lied(name.to_owned(), words));
	}

	pub(super) fn unsettled(&self, words: &str) {
		tracing::error!("holders contradict each other, and answers are lost: this driver cannot compute itself who is wrong: {words}");
	}

	pub(super) fn replaced(&self, took: Duration) {
		let mut replacements = locked(&self.0.replacements);
		if replacements.len() == KEPT {
			replacements.pop_front();
		}
		replacements.push_back(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
	}

	pub(super) fn read_again(&self, tokens: usize) {
		self.0.read_again.inc_by(u64::try_from(tokens).unwrap_or(u64::MAX));
	}
}
