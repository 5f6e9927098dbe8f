//! Token embedding.

/// Copies row `ids[t]` of `table` `[vocab, dim]` to row `t` of `out` `[ids.len(), dim]`.
///
/// # Panics
/// If an id is not below `vocab`.
pub fn embedding_gather(table: &[f32], dim: usize, ids: &[u32], out: &mut [f32]) {
	assert_eq!(out.len(), ids.len() * dim, "output");
	for (&id, out) in ids.iter().zip(out.chunks_exact_mut(dim)) {
		let at = id as usize * dim;
		out.copy_from_slice(&table[at..at + dim]);
	}
}

/// Adds row `t` of `dy` `[ids.len(), dim]` to row `ids[t]` of `grad` `[vocab, dim]`, tokens ascending, on top of what `grad` holds.
///
/// # Panics
/// If an id is not below `vocab`.
pub fn embedding_scatter_add(dy: &[f32], dim: usize, ids: &[u32], grad: &mut [f32]) {
	assert_eq!(dy.len(), ids.len() * dim, "gradient");
	for (&id, dy) in ids.iter().zip(dy.chunks_exact(dim)) {
		let at = id as usize * dim;
		super::add_assign(&mut grad[at..at + dim], dy);
	}
}
