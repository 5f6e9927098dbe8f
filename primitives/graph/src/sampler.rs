//! Choosing the next token: the same logits, text, settings and seed give the same token on every machine (`docs/spec/arithmetic.md`, section 7).

use crate::merkle::blake2_256;
use alloc::{collections::BTreeMap, vec::Vec};
use core::cmp::Ordering;
use neuroshard_kernels::{
	math::{exp, ln},
	num::order_key,
	scalar::cross_entropy_stats,
};

/// How tokens are chosen. The default draws from the model's own distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampling {
	/// Logits are divided by it; 0 takes the likeliest token.
	pub temperature: f32,
	/// Only so many of the likeliest tokens are drawn from; 0 for all.
	pub top_k: u32,
	/// Only the likeliest tokens that have this share of the probability together are drawn from; 1 for all.
	pub top_p: f32,
	/// Only tokens with at least this share of the likeliest one's probability are drawn from; 0 for all.
	pub min_p: f32,
	/// Logits of tokens that are in the text are divided by it if positive, else multiplied; 1 for none (CTRL, arXiv 1909.05858).
	pub repetition: f32,
	/// Taken off the logits of tokens that were generated before.
	pub presence: f32,
	/// Taken off the logits of tokens that were generated before, each time.
	pub frequency: f32,
	/// Of the random choices.
	pub seed: u64,
}

impl Default for Sampling {
	fn default() -> Self {
		Self { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, repetition: 1.0, presence: 0.0, frequency: 0.0, seed: 0 }
	}
}

/// A setting that is out of range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{setting} must be {range}")]
pub struct SamplingError {
	/// Its name.
	pub setting: &'static str,
	/// What it may be.
	pub range: &'static str,
}

impl Sampling {
	/// Checks the ranges: outside of them, nobody can claim that tokens were chosen so. Within them the choice is the model's: each token is the one that
	/// some logits lead to, whatever the text. Without bounds, large numbers or those that are none would choose in its place.
	///
	/// # Errors
	/// [`SamplingError`] names the first setting that is out of its range.
	pub fn validate(&self) -> Result<(), SamplingError> {
		let checks = [
			(self.temperature == 0.0 || (0.01..=10.0).contains(&self.temperature), "temperature", "0, or a number from 0.01 to 10"),
			(self.top_p > 0.0 && self.top_p <= 1.0, "top_p", "a number above 0, and 1 at most"),
			((0.0..=1.0).contains(&self.min_p), "min_p", "a number from 0 to 1"),
			((0.1..=10.0).contains(&self.repetition), "repetition_penalty", "a number from 0.1 to 10"),
			((-2.0..=2.0).contains(&self.presence), "presence_penalty", "a number from -2 to 2"),
			((-2.0..=2.0).contains(&self.frequency), "frequency_penalty", "a number from -2 to 2"),
		];
		match checks.into_iter().find(|(holds, ..)| !holds) {
			Some((_, setting, range)) => Err(SamplingError { setting, range }),
			None => Ok(()),
		}
	}
}

/// The tokens of a text, as far as penalties ask for them: how often each was generated; 0 for those of the prompt alone.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Counts(BTreeMap<u32, u32>);

impl Counts {
	/// Notes the tokens of a prompt.
	pub fn prompt(&mut self, tokens: &[u32]) {
		for &token in tokens {
			self.0.entry(token).or_default();
		}
	}

	/// Notes a token that was generated.
	pub fn generated(&mut self, token: u32) {
		let count = self.0.entry(token).or_default();
		*count = count.saturating_add(1);
	}
}

/// The token at `position` of a text, counted from 0 at its beginning, after which come `logits`.
///
/// Only tokens below `usable` are chosen.
pub fn sample(logits: &[f32], usable: usize, counts: &Counts, settings: &Sampling, position: u32) -> u32 {
	let mut logits = logits.get(..usable).unwrap_or(logits).to_vec();
	penalize(&mut logits, counts, settings);
	if settings.temperature == 0.0 {
		return likeliest(&logits);
	}
	logits.iter_mut().for_each(|logit| *logit /= settings.temperature);
	let all = || (0u32..).zip(logits.iter().copied());
	let mut kept: Vec<(u32, f32)> = all().collect();
	if let Some(last) = usize::try_from(settings.top_k).ok().and_then(|k| k.checked_sub(1)).filter(|last| *last < kept.len()) {
		kept.select_nth_unstable_by(last, order);
		kept.truncate(last.saturating_add(1));
	}
	let max = kept.iter().map(|(_, logit)| *logit).reduce(neuroshard_kernels::num::max).unwrap_or_default();
	if settings.top_p < 1.0 {
		kept.sort_unstable_by(order);
	}
	// The exponentials take longest.
	let mut kept: Vec<(u32, f32)> = kept.into_iter().map(|(token, logit)| (token, exp(logit - max))).collect();
	let sum_of = |kept: &[(u32, f32)]| kept.iter().fold(0.0f32, |sum, (_, weight)| sum + weight);
	if settings.top_p < 1.0 {
		let needed = settings.top_p * sum_of(&kept);
		let mut sum = 0.0f32;
		let enough = kept.iter().position(|(_, weight)| {
			sum += weight;
			sum >= needed
		});
		kept.truncate(enough.map_or(kept.len(), |last| last.saturating_add(1)));
	}
	kept.retain(|(_, weight)| weight.partial_cmp(&settings.min_p) != Some(Ordering::Less));
	kept.sort_unstable_by_key(|(token, _)| *token);
	let total = sum_of(&kept);
	let threshold = uniform(settings.seed, position) * total;
	let mut sum = 0.0f32;
	let drawn = kept.iter().find(|(_, weight)| {
		sum += weight;
		sum > threshold
	});
	drawn.or(kept.last()).map_or_else(|| likeliest(&logits), |(token, _)| *token)
}

/// Natural logarithms of the probabilities that the model itself gives to tokens.
pub struct LogProbabilities<'a> {
	logits: &'a [f32],
	/// `max + ln(sum)`, as in the loss.
	norm: f32,
}

impl<'a> LogProbabilities<'a> {
	/// Of a row of logits.
	pub fn new(logits: &'a [f32]) -> Self {
		let (mut max, mut sum) = ([0.0], [0.0]);
		cross_entropy_stats(logits, logits.len(), &mut max, &mut sum);
		let ([max], [sum]) = (max, sum);
		Self { logits, norm: max + ln(sum) }
	}

	/// That of one token; minus infinity for one that the model does not have.
	pub fn of(&self, token: u32) -> f32 {
		let logit = usize::try_from(token).ok().and_then(|token| self.logits.get(token));
		logit.map_or(f32::NEG_INFINITY, |logit| logit - self.norm)
	}

	/// The `count` likeliest tokens below `usable`, the likeliest first, the lower number first of equals.
	pub fn top(&self, usable: usize, count: usize) -> Vec<(u32, f32)> {
		let mut all: Vec<(u32, f32)> = (0u32..).zip(self.logits.iter().copied().take(usable)).collect();
		let count = count.min(all.len());
		if count < all.len() {
			all.select_nth_unstable_by(count, order);
		}
		all.truncate(count);
		all.sort_unstable_by(order);
		all.into_iter().map(|(token, logit)| (token, logit - self.norm)).collect()
	}
}

/// The larger logit first, in the total order; of equals the lower number.
fn order(a: &(u32, f32), b: &(u32, f32)) -> Ordering {
	order_key(b.1).cmp(&order_key(a.1)).then(a.0.cmp(&b.0))
}

fn likeliest(logits: &[f32]) -> u32 {
	(0u32..).zip(logits.iter().copied()).min_by(order).map_or(0, |(token, _)| token)
}

fn penalize(logits: &mut [f32], counts: &Counts, settings: &Sampling) {
	if (settings.repetition, settings.presence, settings.frequency) == (1.0, 0.0, 0.0) {
		return;
	}
	for (&token, &count) in &counts.0 {
		let Some(logit) = usize::try_from(token).ok().and_then(|token| logits.get_mut(token)) else { continue };
		*logit = if *logit > 0.0 { *logit / settings.repetition } else { *logit * settings.repetition };
		if count > 0 {
			// Texts are shorter than 2^24 tokens: the conversion is exact.
			*logit -= settings.presence + count as f32 * settings.frequency;
		}
	}
}

/// A number from 0 to 1, 1 excluded, in steps of 2^-24.
fn uniform(seed: u64, position: u32) -> f32 {
	let hash = blake2_256(&[&b"neuroshard/sample/1"[..], &seed.to_le_bytes(), &position.to_le_bytes()].concat());
	let word = hash.as_ref().iter().take(4).rev().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
	// 24 bits: exact.
	(word >> 8) as f32 * (1.0 / 16_777_216.0)
}

#[cfg(test)]
mod tests {
	use super::*;
	use proptest::prelude::*;

	/// Numbers from `least` to `most`, the bounds and `plain` often.
	fn within(least: f32, most: f32, plain: f32) -> impl Strategy<Value = f32> {
		prop_oneof![least..=most, prop::sample::select(vec![least, most, plain])]
	}

	prop_compose! {
		/// All that can be claimed.
		fn valid()(
			temperature in prop_oneof![within(0.01, 10.0, 1.0), Just(0.0), Just(-0.0)],
			top_k in prop_oneof![0u32..20, any::<u32>()],
			top_p in within(f32::from_bits(1), 1.0, 0.9),
			min_p in within(0.0, 1.0, 0.05),
			repetition in within(0.1, 10.0, 1.0),
			presence in within(-2.0, 2.0, 0.0),
			frequency in within(-2.0, 2.0, 0.0),
			seed: u64,
		) -> Sampling {
			Sampling { temperature, top_k, top_p, min_p, repetition, presence, frequency, seed }
		}
	}

	proptest! {
		#[test]
		fn within_the_ranges_every_token_is_the_one_that_some_logits_lead_to(
			settings in valid(),
			text in prop::collection::btree_map(0u32..8, 0u32..=16_384, 0..8),
			wanted in 0u32..8,
			position: u32,
		) {
			prop_assert_eq!(settings.validate(), Ok(()));
			let mut logits = [0.0; 8];
			logits[usize::try_from(wanted).unwrap()] = 1_048_576.0;
			prop_assert_eq!(sample(&logits, 8, &Counts(text), &settings, position), wanted);
		}
	}

	#[test]
	fn settings_that_choose_in_the_models_place_are_out_of_range() {
		let mut counts = Counts::default();
		counts.generated(2);
		let plain = Sampling::default();
		for settings in [
			Sampling { temperature: 3e38, ..plain },
			Sampling { presence: -1e38, ..plain },
			Sampling { frequency: -1e38, ..plain },
			Sampling { repetition: f32::NAN, ..plain },
			Sampling { temperature: f32::NAN, ..plain },
		] {
			let chosen = |logits: [f32; 4]| sample(&logits, 4, &counts, &settings, 7);
			assert_eq!(chosen([1e6, 0.0, 0.0, -1e6]), chosen([-1e6, 0.0, 0.0, 1e6]), "{settings:?}");
			assert!(settings.validate().is_err(), "{settings:?}");
		}
	}

	fn draw(logits: &[f32], settings: &Sampling, times: u32) -> Vec<u32> {
		(0..times).map(|position| sample(logits, logits.len(), &Counts::default(), settings, position)).collect()
	}

	fn share(drawn: &[u32], token: u32) -> f64 {
		drawn.iter().filter(|other| **other == token).count() as f64 / drawn.len() as f64
	}

	/// Probabilities of 1/2, 1/4, 1/8, 1/16, 1/16.
	fn halves() -> Vec<f32> {
		[8.0f32, 4.0, 2.0, 1.0, 1.0].iter().map(|weight| weight.ln()).collect()
	}

	#[test]
	fn draws_follow_the_distribution_and_the_temperature() {
		let drawn = draw(&halves(), &Sampling::default(), 8_000);
		for (token, expected) in [(0, 0.5), (1, 0.25), (2, 0.125), (3, 0.0625), (4, 0.0625)] {
			assert!((share(&drawn, token) - expected).abs() < 0.02, "{token}: {}", share(&drawn, token));
		}
		// Weights become their squares: 64, 16, 4, 1, 1 of 86.
		let cold = draw(&halves(), &Sampling { temperature: 0.5, ..Sampling::default() }, 8_000);
		assert!((share(&cold, 0) - 64.0 / 86.0).abs() < 0.02);
		assert!(draw(&halves(), &Sampling { temperature: 0.0, ..Sampling::default() }, 10).iter().all(|token| *token == 0));
	}

	#[test]
	fn cuts_leave_only_what_they_say() {
		let tokens = |settings: Sampling| {
			let mut drawn = draw(&halves(), &settings, 400);
			drawn.sort_unstable();
			drawn.dedup();
			drawn
		};
		let plain = Sampling::default();
		assert_eq!(tokens(Sampling { top_k: 2, ..plain }), [0, 1]);
		// Of the two last, which are alike, the lower number.
		assert_eq!(tokens(Sampling { top_k: 4, ..plain }), [0, 1, 2, 3]);
		assert_eq!(tokens(Sampling { top_p: 0.5, ..plain }), [0]);
		assert_eq!(tokens(Sampling { top_p: 0.51, ..plain }), [0, 1]);
		assert_eq!(tokens(Sampling { min_p: 0.25, ..plain }), [0, 1, 2]);
		assert_eq!(tokens(Sampling { top_k: 3, top_p: 0.8, ..plain }), [0, 1]);
	}

	#[test]
	fn penalties_are_those_of_the_formulas() {
		let mut counts = Counts::default();
		counts.prompt(&[0, 1]);
		counts.generated(1);
		counts.generated(1);
		counts.generated(2);
		let penalized = |settings: Sampling| {
			let mut logits = [2.0, 2.0, -2.0, 2.0];
			penalize(&mut logits, &counts, &settings);
			logits
		};
		let plain = Sampling::default();
		assert_eq!(penalized(plain), [2.0, 2.0, -2.0, 2.0]);
		assert_eq!(penalized(Sampling { repetition: 2.0, ..plain }), [1.0, 1.0, -4.0, 2.0]);
		assert_eq!(penalized(Sampling { presence: 0.5, ..plain }), [2.0, 1.5, -2.5, 2.0]);
		assert_eq!(penalized(Sampling { frequency: 0.5, ..plain }), [2.0, 1.0, -2.5, 2.0]);
	}

	#[test]
	fn unusable_tokens_are_never_chosen_and_seeds_and_positions_differ() {
		let logits = [0.0, 0.0, 100.0];
		let chosen = |settings: Sampling, position| sample(&logits, 2, &Counts::default(), &settings, position);
		assert!((0..100).all(|position| chosen(Sampling::default(), position) < 2));
		assert_eq!(chosen(Sampling { temperature: 0.0, ..Sampling::default() }, 0), 0);
		let text = |seed| (0..32).map(|position| chosen(Sampling { seed, ..Sampling::default() }, position)).collect::<Vec<_>>();
		assert_eq!(text(1), text(1));
		assert_ne!(text(1), text(2));
	}

	#[test]
	fn log_probabilities_add_up_to_one() {
		let logits = halves();
		let log = LogProbabilities::new(&logits);
		assert_eq!(log.top(5, 2).iter().map(|(token, _)| *token).collect::<Vec<_>>(), [0, 1]);
		assert!((f64::from(log.of(0)) - 0.5f64.ln()).abs() < 1e-6 && (f64::from(log.of(4)) - 0.0625f64.ln()).abs() < 1e-6);
		let sum: f64 = log.top(5, 9).iter().map(|(_, log)| f64::from(*log).exp()).sum();
		assert!((sum - 1.0).abs() < 1e-6);
	}

	#[test]
	fn settings_out_of_range_are_named() {
		let error = |settings: Sampling| settings.validate().unwrap_err().to_string();
		let plain = Sampling::default();
		assert_eq!(plain.validate(), Ok(()));
		assert_eq!(error(Sampling { temperature: f32::NAN, ..plain }), "temperature must be 0, or a number from 0.01 to 10");
		assert_eq!(error(Sampling { top_p: 0.0, ..plain }), "top_p must be a number above 0, and 1 at most");
		assert_eq!(error(Sampling { presence: -3.0, ..plain }), "presence_penalty must be a number from -2 to 2");
	}
}
