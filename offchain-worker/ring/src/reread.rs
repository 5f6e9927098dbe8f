//! Holders that lack the KV cache have texts read again, from their tokens.

use super::{
	driver::{Failed, Ring, Rows, Stopped, PORTION},
	message::{root, wanted_code, Kind, Pass, TextPart},
};
use neuroshard_compute::exec::{InferenceError, Input, Output, Pages, Piece, Sequence, Wanted, PAGE_TOKENS};
use std::time::{Duration, Instant};

/// Between two texts that holders who lack them are given again.
const MEND: Duration = Duration::from_secs(1);
/// Longer than any of that takes.
const LONG: Duration = Duration::from_secs(3_600);

impl Ring {
	/// Has a holder beside the first one read a text that it lacks: one now and then, so that all are compared again after a while.
	///
	/// # Errors
	/// [`Stopped::Contradiction`].
	pub(super) fn mend(&mut self, span: usize, first: usize, texts: &[TextPart]) -> Result<(), Stopped> {
		if self.mended.is_some_and(|at| at.elapsed() < MEND) {
			return Ok(());
		}
		let others = self.spans[span].members.iter().copied().filter(|other| *other != first);
		let lacking = others.filter(|other| self.members[*other].usable() && !self.members[*other].silent).find_map(|other| {
			let text = texts.iter().find(|text| !self.members[other].knows(text))?;
			Some((other, text.clone()))
		});
		let Some((other, text)) = lacking else { return Ok(()) };
		// Spans before this one come to it as well: one at a time.
		self.mended = Some(Instant::now() + LONG);
		let warmed = self.warm(span, other, &[text]);
		self.mended = Some(Instant::now());
		match warmed {
			Err(Stopped::Inference(error)) => tracing::debug!("a holder could not be brought up to date: {error}"),
			Err(Stopped::Contradiction) => return Err(Stopped::Contradiction),
			Ok(_) => {}
		}
		Ok(())
	}

	/// Has the texts read again by a member that lacks the KV cache; whether it has them now.
	///
	/// # Errors
	/// [`Stopped`]; [`Stopped::Contradiction`] also if somebody of an earlier span was found to have lied meanwhile: other rows may be what that has told.
	pub(super) fn warm(&mut self, span: usize, member: usize, texts: &[TextPart]) -> Result<bool, Stopped> {
		let before = self.banned(0..span);
		let lacking: Vec<&TextPart> = texts.iter().filter(|text| !self.members[member].knows(text)).collect();
		for text in lacking {
			let Some(last) = text.pages.last() else { continue };
			// With the tokens of this pass: spans before this one have read them already, and pages are written whole.
			let Some((pages, tokens)) = self.history.text(*last) else { return Err(InferenceError::Lost.into()) };
			let (mut sequence, scratch) = (Sequence::default(), Pages::new(usize::MAX));
			let mut at = 0u32;
			for portion in tokens.chunks(PORTION) {
				let piece = Piece { sequence: &mut sequence, tokens: portion, wanted: Wanted::Nothing };
				let rows = self.embedding.pass(&scratch, &mut [piece], Input::Tokens, Output::Rows)?.to_vec();
				let count = u32::try_from(portion.len()).unwrap_or(u32::MAX);
				let end = usize::try_from(at.saturating_add(count)).unwrap_or(usize::MAX);
				let pages = pages[..end.div_ceil(PAGE_TOKENS).min(pages.len())].to_vec();
				let part = TextPart { first: at, count, tokens: Vec::new(), wanted: wanted_code(Wanted::Nothing), pages };
				let part = std::slice::from_ref(&part);
				let rows = self.through(span, part, &Rows::own(rows, 1), Kind::Rows)?;
				if self.banned(0..span) > before {
					return Err(Stopped::Contradiction);
				}
				self.enter(span, part, &rows)?;
				if self.single(span, member, &part[0], &rows.values).is_err() {
					return Ok(false);
				}
				at = at.saturating_add(count);
			}
			self.reports.read_again(tokens.len());
		}
		Ok(true)
	}

	/// Has one member alone compute a part of a text.
	fn single(&mut self, span: usize, member: usize, text: &TextPart, rows: &[f32]) -> Result<(), ()> {
		self.passes += 1;
		let kind = Kind::Rows;
		let pass = Pass { number: self.passes, kind, told: false, given_up: Vec::new(), texts: vec![text.clone()], rows: Some(root(rows)) };
		let until = Instant::now() + self.patience.unknown;
		if self.members[member].send(&pass, rows) {
			loop {
				match self.reply(pass.number, until) {
					Ok((by, ..)) if by == member => return Ok(()),
					Err((by, failed)) if by.is_none_or(|by| by == member) => {
						self.demote(span, member, &failed);
						return Err(());
					}
					_ => {}
				}
			}
		}
		self.demote(span, member, &Failed::Late);
		Err(())
	}
}
