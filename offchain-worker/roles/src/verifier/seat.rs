//! Disputes about work of a quorum that this account has a part in: what it says follows from the files that it keeps of the round, and takes the memory of its span.

use super::Verifier;
use crate::{
	actor::blocking::blocking,
	content::{filed::layout, Content},
	quorum::{attempt::Attempt, seat_folder},
	WorkerError,
};
use neuroshard_chain_client::ChainAt;
use neuroshard_disputes::cases::case::CaseError;
use neuroshard_graph::{
	game::{Move, Position},
	ParamLayout,
};
use neuroshard_quorum::Defence;
use neuroshard_training::{files::TileFile, priority::Priority};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind, GameView},
	grounds::Grounds,
	H256,
};

/// This account's side in disputes about a round of its quorum.
pub(super) struct Seat {
	grounds: Grounds,
	defence: Defence,
}

impl Seat {
	/// The move; `None` where it does not follow from what a member keeps.
	fn respond(&mut self, position: &Position, sent: Option<TileFile>) -> Result<Option<Move>, WorkerError> {
		let defence = &mut self.defence;
		Ok(self.grounds.judge(|setting| defence.respond(setting, position, sent.as_ref()))?)
	}
}

impl Verifier {
	/// The move of this account in a game about a claim that it defends, if that is of a quorum; `None` for any other claim, and where it takes the whole model to
	/// say something about a delta.
	pub(super) async fn as_member(&mut self, at: &ChainAt, claim: &ClaimId, view: &GameView) -> Result<Option<Move>, WorkerError> {
		let held = self.seat.take().filter(|(known, _)| known == claim).map(|(_, seat)| seat);
		let seat = match held {
			Some(seat) => Some(seat),
			None => self.seat_of(at, claim).await?,
		};
		let Some(mut seat) = seat else { return Ok(None) };
		let sent = self.sent(&seat, view.position)?;
		let (content, threads, position) = (self.content.clone(), self.threads, view.position);
		// What has failed is looked up anew: the chain may have changed its branch.
		let (seat, action) = blocking(move || {
			let sent = sent.map(|(root, layout)| content.filed(root, &layout, threads)).transpose()?;
			let action = seat.respond(&position, sent)?;
			Ok((seat, action))
		})
		.await?;
		self.seat = Some((claim.clone(), seat));
		Ok(action)
	}

	/// Root and layout of the file that a position of this account's delta is about, if it is about one.
	fn sent(&self, seat: &Seat, position: Position) -> Result<Option<(H256, ParamLayout)>, WorkerError> {
		let Grounds::Work { claim, .. } = &seat.grounds else { return Ok(None) };
		let Some((vector, root)) = seat.defence.sent(&position)? else { return Ok(None) };
		let layout = match vector {
			0 => ParamLayout::of_deltas(&claim.config.model, &claim.config.train).map_err(CaseError::from)?,
			_ => layout(&claim.config)?,
		};
		Ok(Some((root, layout)))
	}

	/// The part of this account in the work that is claimed; `None` if it has none, or no quorum has done it.
	async fn seat_of(&self, at: &ChainAt, claim: &ClaimId) -> Result<Option<Seat>, WorkerError> {
		let ClaimId { run, round, who, kind: ClaimKind::Work } = claim else { return Ok(None) };
		let Some(judged) = at.work_claim(*run, *round, who).await? else { return Ok(None) };
		let place = judged.quorum.as_ref().and_then(|quorum| Some((Attempt::place(&judged.config, quorum, &self.me)?, quorum.work.seed)));
		let Some((place, seed)) = place else { return Ok(None) };
		let folder = seat_folder(&self.base_folder, *run, *round, seed);
		let slip = self.conduct.slip(*run, *round, &judged.config.train);
		let (content, run, threads) = (self.content.clone(), *run, self.threads);
		let (exec, round) = (self.exec(Priority::Low)?, *round);
		blocking(move || {
			let base = content.filed_base(&judged.config, threads)?;
			let header = Content::stored_header(&content.store, run, judged.start)?;
			let start = header.map(|header| [header.params.0, header.momentum.0]);
			let defence = Defence::new(place, folder, exec, base, start).with_slip(slip);
			Ok(Some(Seat { grounds: Grounds::Work { round, claim: judged }, defence }))
		})
		.await
	}
}
