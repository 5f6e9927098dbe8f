//! A quorum in words: who holds what, what share of the pay falls to it, and what it takes.

use neuroshard_compute::exec::Exec;
use neuroshard_quorum::{needed_bytes, Place};
use neuroshard_types::{
	quorum::{split, Seat, Span},
	run::RunConfig,
	AccountId, ModelConfig,
};
use std::sync::Arc;

/// Parts of a whole that shares are told in: hundredths of a percent.
const PARTS: u128 = 10_000;

/// What a span holds.
pub(super) fn span(model: &ModelConfig, span: Span) -> String {
	let end = model.layers.saturating_add(1);
	let mut parts = Vec::new();
	let mut ranges: Vec<_> = span.ranges(model).collect();
	// A span that goes on behind the end begins there.
	ranges.sort_by_key(|range| range.start < span.first);
	for range in ranges {
		if range.contains(&0) {
			parts.push("the embedding".to_owned());
		}
		match (range.start.max(1), range.end.min(end)) {
			(first, behind) if first.saturating_add(1) == behind => parts.push(format!("layer {}", first.saturating_sub(1))),
			(first, behind) if first < behind => parts.push(format!("layers {} to {}", first.saturating_sub(1), behind.saturating_sub(2))),
			_ => {}
		}
		if range.contains(&end) {
			parts.push("the end".to_owned());
		}
	}
	match parts.split_last() {
		Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
		_ => parts.concat(),
	}
}

/// A line for each seat of a quorum.
pub(super) fn seats(config: &RunConfig, seats: &[Seat], own: &AccountId) -> Vec<String> {
	let spans: Vec<Span> = seats.iter().map(|seat| seat.span).collect();
	let shares = split(PARTS, &config.model, &config.train, spans.iter().copied());
	let exec = Exec::new(1).map(Arc::new).ok();
	let line = |(number, (seat, share)): (usize, (&Seat, u128))| {
		let place = Place::usual((&config.model, &config.train), spans.clone(), number, 0);
		let bytes = exec.clone().and_then(|exec| needed_bytes(&place, exec).ok());
		let bytes = bytes.map_or_else(|| "memory that is not known".into(), |bytes| format!("{} MiB of memory", bytes.div_ceil(1 << 20)));
		let who = match (seat.who == *own, seat.who == seat.leader) {
			(true, true) => " (this account, which leads)",
			(true, false) => " (this account)",
			(false, true) => " (leads)",
			(false, false) => "",
		};
		let agreed = if seat.key.is_some() { "has agreed" } else { "has not agreed" };
		let held = span(&config.model, seat.span);
		format!("  {number}  {}{who}  {held}; {}.{:02}% of the pay, {bytes}; {agreed}", seat.who, share / 100, share % 100)
	};
	seats.iter().zip(shares).enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_fixtures::run_in_training;
	use neuroshard_types::TrainConfig;

	#[test]
	fn spans_are_told_by_what_they_hold_in_their_order() {
		let model = ModelConfig { layers: 4, ..ModelConfig::tiny() };
		for (first, count, words) in [
			(0, 6, "the embedding, layers 0 to 3 and the end"),
			(5, 2, "the end and the embedding"),
			(5, 1, "the end"),
			(1, 1, "layer 0"),
			(1, 4, "layers 0 to 3"),
			(4, 4, "layer 3, the end, the embedding and layer 0"),
			(0, 3, "the embedding and layers 0 to 1"),
		] {
			assert_eq!(span(&model, Span { first, count }), words);
		}
	}

	#[test]
	fn each_seat_is_told_with_its_share_and_whether_it_has_agreed() {
		let (_, view, _) = run_in_training();
		let config =
			RunConfig { model: ModelConfig { layers: 2, tied: false, ..ModelConfig::tiny() }, train: TrainConfig::tiny(), ..view.config };
		let [leader, member] = [1, 2].map(|number| AccountId::new([number; 32]));
		let seat = |who: &AccountId, first, key| Seat { leader: leader.clone(), who: who.clone(), span: Span { first, count: 1 }, key };
		let of = |who: &AccountId, first, count, key| Seat { span: Span { first, count }, ..seat(who, first, key) };
		let lines = seats(&config, &[of(&leader, 3, 3, Some([7; 33])), of(&member, 2, 1, None)], &member);
		assert!(lines[0].contains("(leads)  the end, the embedding and layer 0;") && lines[0].ends_with("has agreed"), "{}", lines[0]);
		assert!(lines[1].contains("(this account)  layer 1;") && lines[1].ends_with("; has not agreed"), "{}", lines[1]);
		let share = |line: &str| line.split("; ").nth(1).unwrap().split('%').next().unwrap().parse::<f64>().unwrap();
		let sum = share(&lines[0]) + share(&lines[1]);
		assert!((99.97..=100.0).contains(&sum) && share(&lines[0]) > share(&lines[1]), "{lines:?}");
		assert!(lines.iter().all(|line| line.contains(" MiB of memory")));
	}
}
