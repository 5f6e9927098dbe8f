//! Choice of the checkpoint that outer steps are redone from after a fraud. All pure.
//!
//! Round q starts from checkpoint q. A false delta of round q, or an attestation that falls, is in checkpoint q + 1 and in all that
//! were computed from it, until a Checkpointing redoes the outer steps since: that of round R, from checkpoint f on. Then checkpoint
//! R + 1 is good again, while f + 1 to R stay what they are: inner steps started from them, and are judged by them. So a fraud that is
//! found later in a round q with f < q <= R cannot be redone from checkpoint q, but from checkpoint f, which was good.

use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{traits::ConstU32, BoundedVec};
use neuroshard_types::RoundIndex;
use scale_info::TypeInfo;

/// Most spans of a run that are remembered one by one; the two oldest become one when there are more.
pub const MAX_SPANS: u32 = 16;

/// Outer steps that were redone in one Checkpointing: those of rounds `from` to `until`, its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Span {
	/// First round; the checkpoint that it started from is good.
	pub from: RoundIndex,
	/// Last round, larger than the first one. Rounds in between and this one started from checkpoints that are not good.
	pub until: RoundIndex,
}

/// Spans by rounds ascending; none overlaps another.
pub type Spans = BoundedVec<Span, ConstU32<MAX_SPANS>>;

/// The last round at or before `round` that started from a good checkpoint, as far as `spans` are remembered.
pub fn good_start(spans: &[Span], round: RoundIndex) -> RoundIndex {
	spans.iter().find(|span| span.from < round && round <= span.until).map_or(round, |span| span.from)
}

/// Notes that outer steps were redone, which began at a [`good_start`], and forgets spans that end before round `oldest`.
pub fn note(spans: &mut Spans, span: Span, oldest: RoundIndex) {
	// Those that are not over before this one lie within it: else it had begun where they did.
	spans.retain(|other| other.until < span.from && other.until >= oldest);
	if spans.is_full() {
		let second = spans.remove(1);
		if let Some(first) = spans.iter_mut().next() {
			first.until = second.until;
		}
	}
	// There is room: at least one place was made.
	let _ = spans.try_push(span);
}

#[cfg(test)]
mod tests {
	use super::*;

	fn span(from: RoundIndex, until: RoundIndex) -> Span {
		Span { from, until }
	}

	#[test]
	fn a_round_within_a_span_starts_where_the_span_did_and_any_other_where_it_did_itself() {
		let spans = [span(2, 5), span(8, 9)];
		let starts: Vec<_> = (0..11).map(|round| good_start(&spans, round)).collect();
		assert_eq!(starts, [0, 1, 2, 2, 2, 2, 6, 7, 8, 8, 10]);
	}

	#[test]
	fn a_span_swallows_those_within_it() {
		let mut spans = Spans::default();
		[span(2, 5), span(7, 9), span(6, 12)].into_iter().for_each(|span| note(&mut spans, span, 0));
		assert_eq!(spans.to_vec(), [span(2, 5), span(6, 12)]);
		note(&mut spans, span(2, 13), 0);
		assert_eq!(spans.to_vec(), [span(2, 13)]);
	}

	#[test]
	fn old_spans_are_forgotten_and_too_many_become_one() {
		let mut spans = Spans::default();
		(0..MAX_SPANS + 1).for_each(|number| note(&mut spans, span(10 * number, 10 * number + 2), 0));
		assert!(spans.is_full());
		assert_eq!(spans.first(), Some(&span(0, 12)));
		note(&mut spans, span(500, 501), 152);
		assert_eq!(spans.to_vec(), [span(150, 152), span(160, 162), span(500, 501)]);
	}
}
