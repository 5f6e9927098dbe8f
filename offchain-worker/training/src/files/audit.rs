//! Judging the work of others in files: the first thing in it that is false, and the state after a step that was drawn.

use super::{delta::SentFiles, shelf::check_room, FileEngine, FileJobError, FileStart};
use neuroshard_compute::{exec::StepError, round::RoundError};
use neuroshard_graph::game::Doubt;
use neuroshard_types::{run::Work, H256};
use std::path::Path;

impl FileEngine {
	/// The first thing in revealed `work` that the round of `steps` inner steps from `start` does not give, and the root of the state after inner step `sampled`,
	/// counted from 0, whatever was revealed: as [`neuroshard_compute::player::WorkStory::audit`]. Without work there is nothing to doubt. Files that are made for
	/// it go from `folder` again. Where the round diverges, no state follows, and none of the roots that were revealed is right.
	///
	/// # Errors
	/// [`FileJobError`] for what keeps it from an answer, so also for a delta that is not finite behind states that are right.
	pub fn audit<E>(
		&mut self,
		start: FileStart<'_>,
		(steps, sampled): (u32, Option<u32>),
		work: Option<&Work>,
		folder: &Path,
		mut tokens: impl FnMut(u32, u32, &mut [u32]) -> Result<(), E>,
	) -> Result<(Option<Doubt>, Option<H256>), FileJobError<E>> {
		let until = sampled.map(|step| step.saturating_add(1)).filter(|&until| until <= steps);
		check_room(folder, self.need.delta)?;
		self.begin(start.theta)?;
		let mut claimed = work.into_iter().flat_map(|work| &work.state_roots).take(self.train.state_roots_after(steps) as usize);
		let (mut doubt, mut sample, mut number) = (None, None, 0);
		for step in 0..steps {
			let done = step + 1;
			if (doubt.is_some() || work.is_none()) && until.is_none_or(|until| until < done) {
				return Ok((doubt, sample));
			}
			match self.inner_step(start.adopted_rounds, step, &mut tokens) {
				Err(FileJobError::Round(RoundError::Step { source: StepError::Diverged, .. })) => {
					return Ok((doubt.or(claimed.next().map(|_| Doubt::Interval(number))), sample));
				}
				taken => taken?,
			};
			// The last state is committed wherever a round ends.
			let commits = done == steps || self.train.commits_after(done);
			let claim = if commits && doubt.is_none() { claimed.next() } else { None };
			if claim.is_some() || until == Some(done) {
				let root = H256(self.state_root(done)?);
				sample = sample.or((until == Some(done)).then_some(root));
				doubt = doubt.or(claim.filter(|&&claim| claim != root).map(|_| Doubt::Interval(number)));
				number += u32::from(claim.is_some());
			}
		}
		let (None, Some(work)) = (doubt, work) else { return Ok((doubt, sample)) };
		let SentFiles { delta, residual } = self.sent(start.base.unwrap_or(start.theta), start.residual, folder)?;
		// After the states come the residual before the round, which is agreed on, and the one after it.
		let after = work.state_roots.iter().skip(self.train.state_roots_after(steps) as usize).nth(1).copied();
		let differs = delta.root() != work.delta_root || residual.as_ref().map(|(_, after)| after.root()) != after;
		for file in [Some(&delta), residual.as_ref().map(|(_, after)| after)].into_iter().flatten() {
			// One that stays only costs space.
			let _ = std::fs::remove_file(file.path());
		}
		Ok((differs.then_some(Doubt::Delta), sample))
	}
}

#[cfg(test)]
mod tests {
	use super::super::{
		tests::{draw, fill, least, write},
		FiledCheckpoint, TileFile,
	};
	use super::*;
	use crate::checkpoint::Checkpoint;
	use neuroshard_compute::{
		exec::Exec,
		player::{Story, WorkStart, WorkStory},
	};
	use neuroshard_graph::ParamLayout;
	use std::{ops::ControlFlow, sync::Arc};

	#[test]
	fn audits_in_files_say_of_right_and_wrong_work_what_those_in_memory_say() {
		for seed in [0, 3, 4, 9, 10, 11, 14] {
			let (model, train) = draw(seed);
			let on = (&model, &train);
			let folder = tempfile::tempdir().unwrap();
			let mut files = FileEngine::new(&model, &train, 1, 2 * least(on, folder.path()), folder.path()).unwrap();
			let whole = ParamLayout::new(&model).unwrap();
			let base = train.adapter.map(|_| neuroshard_graph::init::theta_0(&model, &whole, &[77; 32]));
			if let Some(base) = &base {
				files.load_model(&write(folder.path(), "base", &whole, base)).unwrap();
			}
			let genesis = Checkpoint::genesis(3, &model, &train, 1).unwrap();
			let filed = FiledCheckpoint::genesis(&folder.path().join("checkpoint"), 3, &model, &train, 1).unwrap();
			let read = |step: u32, sequence: u32, tokens: &mut [u32]| fill(on, [5, step, sequence], tokens);
			// Behind a round that has left a residual.
			let first =
				files.run_round(FileStart::new(&filed.params, 0), folder.path(), read, |_| false, |_| ControlFlow::Continue(())).unwrap();
			let residual = first.residual.as_ref();
			let start = FileStart { residual, ..FileStart::new(&filed.params, 1) };
			let honest = files.run_round(start, folder.path(), read, |_| false, |_| ControlFlow::Continue(())).unwrap().work;

			let of_residual = |file: &TileFile| {
				let bytes = std::fs::read(file.path()).unwrap();
				neuroshard_graph::tiles::decode(files.layout(), &bytes).unwrap()
			};
			let before = residual.map(of_residual);
			let story = || {
				let model_beside = base.clone().map(Arc::new);
				let start = WorkStart { theta: genesis.params.clone(), momentum: genesis.header.momentum.0, model: model_beside };
				WorkStory::new(Arc::new(Exec::new(1).unwrap()), &model, &train, 1, start, read).unwrap().with_residual(before.clone())
			};
			let mut works = vec![honest.clone()];
			for place in 0..honest.state_roots.len() {
				let mut wrong = honest.clone();
				wrong.state_roots[place] = H256([9; 32]);
				works.push(wrong);
			}
			works.push(Work { delta_root: H256([9; 32]), ..honest.clone() });
			let mut doubts = 0;
			for work in &works {
				let roots: Vec<_> = work.state_roots.iter().map(|root| root.0).collect();
				for sampled in [None, Some(0), Some(2), Some(3), Some(9)] {
					let (doubt, sample) = story().audit(&roots, work.delta_root.0, sampled).unwrap();
					let found = files.audit(start, (4, sampled), Some(work), folder.path(), read).unwrap();
					assert_eq!(found, (doubt, sample.map(H256)), "seed {seed}, sample {sampled:?}, {work:?}");
					doubts += usize::from(doubt.is_some());
				}
			}
			// The residual before the round is agreed on: whatever stands there is no doubt.
			let agreed = usize::from(train.leaves_residual());
			assert_eq!(doubts, 5 * (works.len() - 1 - agreed), "seed {seed}");
			// Of work that was never revealed there is the sample alone.
			let expected = story().roots(2, 1).unwrap().first().copied().map(H256);
			assert_eq!(files.audit(start, (4, Some(2)), None, folder.path(), read).unwrap(), (None, expected));
			// Parameters that diverge give no state: all that was revealed is false.
			let huge = write(folder.path(), "huge", files.layout(), &vec![1e30; files.layout().len()]);
			let start = FileStart { residual, ..FileStart::new(&huge, 1) };
			if base.is_none() {
				let found = files.audit(start, (4, Some(0)), Some(&honest), folder.path(), read).unwrap();
				assert_eq!(found, (Some(Doubt::Interval(0)), None));
			}
		}
	}
}
