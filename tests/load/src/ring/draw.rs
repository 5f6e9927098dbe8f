//! What is drawn: the same in every run.

use neuroshard_e2e::Question;

/// Numbers that look drawn (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Draw(u64);

/// What a client does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
	/// Asks, and reads the answer as it comes.
	Steady,
	/// Asks for a stream, and reads it slowly.
	Slow,
	/// Asks for a stream, and goes away in the middle.
	Leaves,
	/// Sends half a request.
	Half,
	/// Sends a body that is too large.
	Oversize,
	/// Sends a body that is no UTF-8.
	Broken,
}

impl Draw {
	pub(super) fn new(seed: u64) -> Self {
		Self(seed)
	}

	/// A number below `limit`.
	pub(super) fn below(&mut self, limit: u32) -> u32 {
		self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
		let mut mixed = self.0;
		mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
		mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
		mixed ^= mixed >> 31;
		// The remainder is below the limit.
		u32::try_from(mixed % u64::from(limit.max(1))).unwrap_or_default()
	}

	pub(super) fn way(&mut self) -> Way {
		match self.below(100) {
			0..72 => Way::Steady,
			72..80 => Way::Slow,
			80..88 => Way::Leaves,
			88..93 => Way::Half,
			93..96 => Way::Oversize,
			_ => Way::Broken,
		}
	}

	/// Question number `number`: short and long, of all kinds.
	pub(super) fn question(&mut self, number: u32) -> Question {
		let words = ["let ", "mut x = ", "fn ", "0; ", "self.", "\n", "Grüße ", "世界 ", "if a < b { ", "} "];
		let length = [1, 5, 20, 60][usize::try_from(self.below(4)).unwrap_or_default()];
		let word = |draw: &mut Self| words[usize::try_from(draw.below(10)).unwrap_or_default()];
		let prompt = (0..1 + self.below(length)).map(|_| word(self)).collect();
		Question {
			prompt,
			chat: self.below(4) == 0,
			stream: self.below(3) > 0,
			n: if self.below(6) == 0 { 2 } else { 1 },
			tokens: 8 + self.below(240),
			seed: u64::from(number) * 100,
			temperature: if self.below(4) == 0 { 0.0 } else { 1.0 },
			receipt: false,
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn all_ways_and_kinds_of_questions_are_drawn_and_the_same_each_time() {
		let ways = || {
			let mut draw = Draw::new(3);
			(0..300).map(|_| draw.way()).collect::<Vec<_>>()
		};
		assert_eq!(ways(), ways());
		for way in [Way::Steady, Way::Slow, Way::Leaves, Way::Half, Way::Oversize, Way::Broken] {
			assert!(ways().contains(&way), "{way:?}");
		}
		let mut draw = Draw::new(0);
		let questions: Vec<Question> = (0..96).map(|number| draw.question(number)).collect();
		let some = |is: fn(&Question) -> bool| assert!(questions.iter().any(is) && !questions.iter().all(is));
		some(|question| question.chat);
		some(|question| question.stream);
		some(|question| question.n == 2);
		some(|question| question.temperature == 0.0);
		assert!(questions.iter().all(|question| question.prompt.len() + usize::try_from(question.tokens).unwrap() < 1_000));
	}
}
