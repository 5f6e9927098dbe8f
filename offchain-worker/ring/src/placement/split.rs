//! Split of the layers over nodes whose order is given.

use super::{
	cost::wide,
	table::{Found, Stage, Table, NEVER},
	PlacementError,
};

/// Splits `layers` layers over nodes in proportion to `memory`, in bytes: the plain ring split by weights of memory. Returns how many layers
/// each node has, at least one.
///
/// A node whose share of the layers is one or less has one. The others share what is left: each has the whole part of its share, and what then
/// remains goes one by one to the largest fractions; where fractions are alike, to the larger memory, and then to the one before. Computed in
/// whole numbers.
///
/// # Errors
/// [`PlacementError::NoNodes`] without nodes, [`PlacementError::TooManyNodes`] where there are more of them than layers.
pub fn memory_weighted(layers: usize, memory: &[u64]) -> Result<Vec<usize>, PlacementError> {
	if memory.is_empty() {
		return Err(PlacementError::NoNodes);
	}
	if memory.len() > layers {
		return Err(PlacementError::TooManyNodes { nodes: memory.len(), layers });
	}
	let mut split = vec![1; memory.len()];
	let mut sharing: Vec<usize> = (0..memory.len()).collect();
	// A layer for a small node leaves less for the others, of which one may be small then, too.
	let (left, sum) = loop {
		let left = u128::from(wide(layers - (memory.len() - sharing.len())));
		let sum: u128 = sharing.iter().map(|node| u128::from(memory[*node])).sum();
		let before = sharing.len();
		sharing.retain(|node| left * u128::from(memory[*node]) > sum);
		if sharing.len() == before {
			break (left, sum);
		}
	};
	if sharing.is_empty() {
		// All shares are exactly one, or nobody has any memory: then they are alike.
		let (each, more) = (layers / memory.len(), layers % memory.len());
		return Ok((0..memory.len()).map(|node| each + usize::from(node < more)).collect());
	}
	let mut given: usize = memory.len() - sharing.len();
	for node in &sharing {
		let whole = left * u128::from(memory[*node]) / sum;
		split[*node] = usize::try_from(whole).unwrap_or(layers);
		given += split[*node];
	}
	let fraction = |node: usize| left * u128::from(memory[node]) % sum;
	sharing.sort_by_key(|node| (std::cmp::Reverse((fraction(*node), memory[*node])), *node));
	sharing.iter().take(layers.saturating_sub(given)).for_each(|node| split[*node] += 1);
	Ok(split)
}

/// The cheapest ring whose nodes come in `order`, each at most once, and in which the first one has the first blocks. Others may have none.
/// Exact, by dynamic programming over who comes last and how many blocks are placed; of rings that cost the same, the first one found.
pub(super) fn in_order(table: &Table, order: &[usize]) -> Option<Found> {
	let width = table.blocks + 1;
	let first = *order.first()?;
	let mut costs = vec![NEVER; order.len() * width];
	// Who came before, and with how many blocks done.
	let mut parents = vec![(0usize, 0usize); order.len() * width];
	let mut best: Option<(f64, usize)> = None;
	for (place, node) in order.iter().enumerate() {
		let (done, rest) = costs.split_at_mut(place * width);
		let (own, own_parents) = (&mut rest[..width], &mut parents[place * width..(place + 1) * width]);
		for from in 0..table.blocks {
			let (mut before, mut who) = (if place == 0 && from == 0 { 0.0 } else { NEVER }, 0);
			for (other, previous) in order.iter().take(place).enumerate() {
				let cost = table.join.join(done[other * width + from], table.hop(*previous, *node));
				if cost < before {
					(before, who) = (cost, other);
				}
			}
			if before == NEVER {
				continue;
			}
			let ends = own.iter_mut().zip(own_parents.iter_mut()).skip(from + 1);
			for (stage, (cost, parent)) in table.stages_from(*node, from).iter().zip(ends) {
				let sum = table.join.join(before, *stage);
				if sum < *cost {
					(*cost, *parent) = (sum, (who, from));
				}
			}
		}
		let cost = table.join.join(own[table.blocks], table.back(*node, first));
		if cost < best.map_or(NEVER, |(cost, _)| cost) {
			best = Some((cost, place));
		}
	}
	let (cost, mut place) = best?;
	let (mut to, mut stages) = (table.blocks, Vec::new());
	while to > 0 {
		let (who, from) = parents[place * width + to];
		stages.push(Stage { node: order[place], from, to });
		(place, to) = (who, from);
	}
	stages.reverse();
	Some(Found { cost, stages })
}
