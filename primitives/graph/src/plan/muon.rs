//! Directions of Muon: what the weights of projections are changed by.

use super::{forward::Params, rows_and, whole, Builder, Sizes, Vector, NEWTON_SCHULZ_STEPS};
use crate::{
	config::{ConfigError, Projection},
	graph::{Op, Place, Product, TensorId, TensorInfo},
};
use alloc::vec::Vec;

/// Buffers that all matrices share, as large as the largest of them needs.
struct Scratch {
	/// A direction that is not done.
	x: Place,
	/// The products of its rows, or columns, with each other.
	a: Place,
	/// The square of these, and what becomes of it.
	aa: Place,
}

impl Builder {
	/// The orthogonalised directions of all weights of projections, in layout order; `None` for what AdamW changes.
	pub(super) fn directions(
		&mut self,
		sizes: &Sizes,
		[first, second]: [&Vector; 2],
		gradient: &[TensorId],
		clip: TensorId,
	) -> Result<Vec<Option<TensorId>>, ConfigError> {
		// Where each parameter stands in a vector.
		let params = Params::new(sizes, (0..).map(TensorId))?;
		let matrices = params.layers.iter().flatten().flat_map(|layer| Projection::ALL.map(|which| layer.projection(which)));
		let places = matrices.map(|TensorId(place)| usize::try_from(place).map_err(|_| ConfigError::TooLarge));
		let places = places.collect::<Result<Vec<_>, _>>()?;
		let (mut largest, mut square) = (0, 0);
		for &place in &places {
			let TensorInfo { rows, cols, .. } = self.info(*gradient.get(place).ok_or(ConfigError::Dimension)?)?;
			largest = u64::from(rows).saturating_mul(cols.into()).max(largest);
			square = u64::from(rows.min(cols)).saturating_mul(rows.min(cols).into()).max(square);
		}
		let [x, a, aa] = [self.room(largest)?, self.room(square)?, self.room(square)?].map(Place::Arena);
		let scratch = Scratch { x, a, aa };
		let mut directions = alloc::vec![None; gradient.len()];
		for place in places {
			let known = |id: Option<TensorId>| id.ok_or(ConfigError::Dimension);
			let (m, v, g) = (known(first.get(place))?, known(second.get(place))?, known(gradient.get(place).copied())?);
			let end = self.info(v)?.place;
			let x = self.direction([m, g, clip], &scratch, end)?;
			directions.get_mut(place).into_iter().for_each(|direction| *direction = Some(x));
		}
		Ok(directions)
	}

	/// The direction of one matrix. It ends at `end`, which is where the second moment is that nobody reads.
	fn direction(&mut self, [m, g, clip]: [TensorId; 3], at: &Scratch, end: Place) -> Result<TensorId, ConfigError> {
		let TensorInfo { rows, cols, .. } = self.info(g)?;
		// It moves from one place to the other with each step.
		let mut places = [end, at.x].into_iter().cycle().skip(usize::from(NEWTON_SCHULZ_STEPS % 2));
		let mut next = || places.next().ok_or(ConfigError::Dimension);
		let u = self.tensor(rows, cols, next()?)?;
		self.stage(Op::MuonDirection, rows_and([m, g], clip), &[u])?;
		let tiles = rows.div_ceil(super::TILE).checked_mul(cols.div_ceil(super::TILE)).ok_or(ConfigError::TooLarge)?;
		let partials = self.partials(tiles)?;
		self.stage(Op::SquareTiles, whole([u]), &[partials])?;
		let squares = self.tree_sum(partials)?;
		let mut x = self.in_place(u)?;
		self.stage(Op::MuonNormalize, rows_and([u], squares), &[x])?;
		for _ in 0..NEWTON_SCHULZ_STEPS {
			let side = rows.min(cols);
			let a = self.tensor(side, side, at.a)?;
			self.product(if rows > cols { Product::Tn } else { Product::Nt }, x, x, None, a)?;
			// What is made of it is symmetric, bit for bit: rows times rows is the square.
			let aa = self.tensor(side, side, at.aa)?;
			self.product(Product::Nt, a, a, None, aa)?;
			let b = self.in_place(aa)?;
			self.stage(Op::MuonPolynomial, super::rows([a, aa]), &[b])?;
			let after = self.tensor(rows, cols, next()?)?;
			let [left, right] = if rows > cols { [x, b] } else { [b, x] };
			x = self.product(Product::Nn, left, right, None, after)?;
		}
		Ok(x)
	}
}
