//! Departure of the worker's [`Conduct`](crate::Conduct) from training.

use super::{
	round::{hand_out, residual},
	Effect, Moment, Tasks,
};
use crate::{
	actor::blocking::blocking, conduct::Due, content::rounds::round_label, journal::Pending, participant::decide::task::Drawn, WorkerError,
};
use neuroshard_data::loader::Assignment;
use neuroshard_training::round::Trained;
use neuroshard_types::assignment::Draw;

impl Tasks {
	/// Returns the work that is committed to in place of work that is trained as it should be, if the worker's conduct has such work.
	pub(super) async fn departure(&self, moment: &Moment, drawn: Drawn) -> Result<Option<Effect>, WorkerError> {
		let state = moment.run()?;
		let Drawn { round: index, attempt, seed, position, .. } = drawn;
		if !self.conduct.departs_in(index) {
			return Ok(None);
		}
		let (run, config) = (state.id, state.view.config.clone());
		tracing::warn!("departing from honest work in round {index}: {:?}", self.conduct);
		let (store, label) = (self.content.store.clone(), round_label(run, index));
		if let Some(made) = self.conduct.made(run, index, seed) {
			let (work, delta) = made.await?;
			blocking(move || Ok(store.put_pinned(&delta, &label)?)).await?;
			return Ok(Some(Effect::Trained(Pending::new(run, (index, attempt), seed, work))));
		}
		let dataset = self.dataset(moment).await?;
		let shape = dataset.loader.shape();
		let draw = Draw::new(&config, (run, index), self.conduct.window_seed(run, index, seed), &shape);
		let assignment = Assignment::new(&config.train, position, draw);
		let shards = dataset.loader.round_shards(&assignment)?;
		self.content.shards(&dataset, &shards, &moment.book.all()).await?;
		let left = self.left_unsaid(moment, run, &config).await?;
		let conduct = self.conduct.clone();
		let job = self.compute.run(move |state| {
			let mut prepared = state.prepare(run, &config)?;
			let (engine, checkpoint, base) = prepared.starting_at((run, &config), &drawn, &store)?;
			let residual = left.and_then(|root| residual(&store, engine.layout(), root));
			let due = Due { run, round: index, draw: Draw { seed, ..draw }, position, residual };
			let Some(trained) = conduct.work(due, engine, checkpoint, base, &dataset.loader)? else { return Ok(None) };
			hand_out(&store, (run, index), left, &trained)?;
			let Trained { work, .. } = trained;
			Ok(Some(Pending::new(run, (index, attempt), seed, work).bridged(drawn.bridged())))
		});
		Ok(job.await?.map(Effect::Trained))
	}
}
