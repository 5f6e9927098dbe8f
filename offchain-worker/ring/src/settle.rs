//! Comparison of holders: what those of the same span have computed is compared, and so is what is sent into a span with what was sent into it
//! before. A difference is settled by computing the text here: who was given right rows and has told wrong ones has lied, whatever it says later.

use super::{
	driver::{Answered, Failure, Ring, Rows, Stopped, PORTION},
	history::Tellers,
	message::{by_text, root, wanted_of, Kind, TextPart},
};
use neuroshard_compute::exec::{InferenceError, Input, Output, Piece, Sequence, Stage, Wanted, PAGE_TOKENS};
use neuroshard_inference::Part;
use neuroshard_types::H256;
use std::collections::{BTreeSet, HashMap};

/// Results of a pass.
pub(super) struct Computed<'a> {
	pub(super) texts: &'a [TextPart],
	pub(super) kind: Kind,
}

/// A text, computed here from its tokens up to a span.
struct Truth {
	/// Its last page.
	last: u64,
	tokens: Vec<u32>,
	/// The rows that go into the span.
	rows: Vec<f32>,
	/// Hashes of the rows that go into each span up to that one; none for the first one, which gets them from here.
	entering: Vec<Vec<H256>>,
}

impl Ring {
	/// Notes that these rows go into a span, and compares them with what went into it before.
	///
	/// # Errors
	/// [`Stopped::Contradiction`] once who told wrong rows is banned; [`InferenceError::Lost`] if it could not be found out who that is.
	pub(super) fn enter(&mut self, span: usize, texts: &[TextPart], rows: &Rows) -> Result<(), Stopped> {
		if span == 0 {
			return Ok(());
		}
		let size = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
		let counts: Vec<usize> = texts.iter().map(|text| size(text.count)).collect();
		let width = self.embedding.dim().max(1);
		for ((text, rows), by) in texts.iter().zip(by_text(&rows.values, &counts, width)).zip(&rows.by) {
			let hashes = hashes(rows, width);
			if self.history.enter(span, &text.pages, size(text.first), &hashes, by) {
				continue;
			}
			let truth = match self.truth(span, text) {
				Ok(truth) => truth,
				Err(words) => {
					self.reports.unsettled(&words);
					self.members.iter_mut().for_each(|member| member.known.clear());
					self.history.forget_entered(0);
					return Err(InferenceError::Lost.into());
				}
			};
			// If what went in before is right, and all before that, then these rows are wrong, although who told them was given right ones.
			if !self.judge(span, &truth) {
				by.iter().for_each(|member| self.lied(span - 1, *member));
			}
			return Err(Stopped::Contradiction);
		}
		Ok(())
	}

	/// Compares what others have computed of the same with what was answered, and settles a difference.
	pub(super) fn compare(
		&mut self,
		span: usize,
		computed: &Computed,
		answered: Answered,
		partly: &HashMap<usize, Vec<usize>>,
		hashes: &HashMap<usize, Vec<H256>>,
	) -> Result<Rows, Failure> {
		let mut by: Vec<Vec<usize>> = vec![vec![answered.by]; computed.texts.len()];
		let mut differs = None;
		for (other, known) in partly {
			let Some(roots) = hashes.get(other) else { continue };
			if roots.len() != known.len() {
				self.ban(span, *other, "told other hashes than those of the texts that it got".to_owned());
				continue;
			}
			for (text, root) in known.iter().zip(roots) {
				match (answered.roots.get(*text) == Some(root), by.get_mut(*text)) {
					(true, Some(by)) => by.push(*other),
					_ => differs = Some(*text),
				}
			}
		}
		let Some(text) = differs else {
			return Ok(Rows { values: answered.rows, by: by.into_iter().map(Tellers::from).collect() });
		};
		// What each has told of this text.
		let of_others = partly.iter().filter_map(|(other, known)| {
			let place = known.iter().position(|known| *known == text)?;
			Some((*other, hashes.get(other)?.get(place).copied()))
		});
		let told: Vec<(usize, Option<H256>)> = of_others.chain([(answered.by, answered.roots.get(text).copied())]).collect();
		let part = &computed.texts[text];
		let settled = self.truth(span, part).and_then(|truth| Ok((self.out(span, part, computed.kind, &truth)?, truth)));
		let (out, truth) = match settled {
			Ok(settled) => settled,
			Err(words) => {
				// What somebody contradicts is not given: who signs it answers for it.
				self.reports.unsettled(&words);
				told.iter().for_each(|(member, _)| self.members[*member].known.clear());
				return Err(Failure::Stopped(InferenceError::Lost.into()));
			}
		};
		if self.judge(span, &truth) {
			// They were given wrong rows themselves.
			return Err(Failure::Stopped(Stopped::Contradiction));
		}
		told.into_iter().filter(|(_, told)| *told != Some(out)).for_each(|(member, _)| self.lied(span, member));
		Err(Failure::Again)
	}

	/// Bans who has told rows of a text which went into the first span where they are not the truth: they were given right ones. Whether there is
	/// such a span, up to `span`.
	fn judge(&mut self, span: usize, truth: &Truth) -> bool {
		for span in 1..=span {
			let wrong = truth.entering.get(span).map(|hashes| self.history.wrong(span, truth.last, hashes)).unwrap_or_default();
			if !wrong.is_empty() {
				wrong.into_iter().for_each(|member| self.lied(span - 1, member));
				return true;
			}
		}
		false
	}

	/// A text from its tokens, computed here up to where it goes into a span. What keeps it from being computed is the driver's own, and says nothing
	/// of any member.
	fn truth(&mut self, span: usize, text: &TextPart) -> Result<Truth, String> {
		let last = *text.pages.last().ok_or("a text without pages")?;
		let (_, tokens) = self.history.text(last).ok_or("a text whose beginning is not known")?;
		let width = self.embedding.dim().max(1);
		let mut rows = through(&mut *self.embedding, &tokens, None)?;
		let mut entering = vec![Vec::new()];
		// One layer at a time: the driver need not have room for more.
		for before in 0..span {
			for layer in self.spans[before].hold.stage().layers {
				rows = self.after(layer, &tokens, rows)?;
			}
			entering.push(hashes(&rows, width));
		}
		Ok(Truth { last, tokens, rows, entering })
	}

	/// Hash of what a span makes of a part of a text, computed here.
	fn out(&self, span: usize, text: &TextPart, kind: Kind, truth: &Truth) -> Result<H256, String> {
		let Truth { tokens, rows, .. } = truth;
		let hold = self.spans[span].hold.stage();
		let width = rows.len() / tokens.len().max(1);
		let first = usize::try_from(text.first).map_err(|error| error.to_string())?.min(tokens.len());
		let last = hold.layers.end.saturating_sub(1).max(hold.layers.start);
		let mut rows = rows.clone();
		for layer in hold.layers.start..last {
			rows = self.after(layer, tokens, rows)?;
		}
		let mut own = self.source.load(&Stage { embedding: false, layers: last..hold.layers.end, head: hold.head })?;
		let (pages, mut sequence) = (own.pages(tokens.len().div_ceil(PAGE_TOKENS)), Sequence::default());
		let (mut rows, mut out) = (&rows[..], H256::default());
		let portions = tokens[..first].chunks(PORTION).map(|portion| (portion, Wanted::Nothing, Kind::Rows));
		for (portion, wanted, kind) in portions.chain([(&tokens[first..], wanted_of(text.wanted), kind)]) {
			let (entering, rest) = rows.split_at(portion.len() * width);
			let mut piece = [Piece { sequence: &mut sequence, tokens: portion, wanted }];
			let made = own.pass(&pages, &mut piece, Input::Rows(entering), kind.into()).map_err(|error| error.to_string())?;
			(out, rows) = (root(made), rest);
		}
		Ok(out)
	}

	/// Computes a layer on the rows of a text.
	fn after(&self, layer: usize, tokens: &[u32], rows: Vec<f32>) -> Result<Vec<f32>, String> {
		let mut layer = self.source.load(&Stage { embedding: false, layers: layer..layer.saturating_add(1), head: false })?;
		through(&mut *layer, tokens, Some(&rows))
	}

	/// A member has told wrong rows, although it was given right ones.
	fn lied(&mut self, span: usize, member: usize) {
		let layers = &self.spans[span].hold;
		let words = format!("told wrong rows of layers {} to {}", layers.first, layers.first.saturating_add(layers.layers));
		self.ban(span, member, words);
	}

	/// Asks a member of a span no more, since it has lied.
	pub(super) fn ban(&mut self, span: usize, member: usize, words: String) {
		let liar = &self.members[member];
		if !liar.banned.is_cancelled() {
			self.reports.lied(&liar.name, words);
		}
		self.dismiss(span, member);
	}

	/// Asks a member of a span no more. What others have computed from what it said before is computed anew.
	fn dismiss(&mut self, span: usize, member: usize) {
		self.members[member].banned.cancel();
		self.members[member].lose();
		let later: BTreeSet<usize> = self.spans[span + 1..].iter().flat_map(|span| span.members.iter().copied()).collect();
		later.into_iter().for_each(|member| self.members[member].known.clear());
		self.history.forget_entered(span + 1);
	}
}

/// Hash of each row.
fn hashes(rows: &[f32], width: usize) -> Vec<H256> {
	rows.chunks_exact(width).map(root).collect()
}

/// Computes a part of the model on the rows of a text; without rows, on its tokens.
fn through(part: &mut dyn Part, tokens: &[u32], rows: Option<&[f32]>) -> Result<Vec<f32>, String> {
	let width = part.dim();
	let (pages, mut sequence) = (part.pages(tokens.len().div_ceil(PAGE_TOKENS)), Sequence::default());
	let mut out = Vec::with_capacity(tokens.len().saturating_mul(width));
	for (index, tokens) in tokens.chunks(PORTION).enumerate() {
		let first = index * PORTION;
		let input = rows.map_or(Input::Tokens, |rows| Input::Rows(&rows[first * width..(first + tokens.len()) * width]));
		let mut piece = [Piece { sequence: &mut sequence, tokens, wanted: Wanted::All }];
		out.extend_from_slice(part.pass(&pages, &mut piece, input, Output::Rows).map_err(|error| error.to_string())?);
	}
	Ok(out)
}
