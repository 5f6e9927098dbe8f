//! What holders of the same span have computed is compared, and a difference is settled by computing it here.

use super::{
	driver::{Answered, Failure, Ring, PORTION},
	message::{root, wanted_code, wanted_of, Kind, TextPart},
};
use neuroshard_graph::exec::{Inference, Input, Output, Pages, Piece, Sequence, Stage, Wanted, PAGE_TOKENS};
use neuroshard_types::H256;
use std::collections::HashMap;

/// What was computed in a pass.
pub(super) struct Computed<'a> {
	pub(super) texts: &'a [TextPart],
	pub(super) kind: Kind,
	/// Hashes of the rows that went in, by text.
	pub(super) entered: &'a [H256],
}

/// How a difference is settled.
#[derive(Default)]
struct Settled {
	/// Hash of the rows that go in.
	entered: H256,
	/// Of what comes out.
	out: H256,
	/// Of what each suspect makes of the whole text; `None` if it does not say.
	again: [Option<H256>; 2],
}

impl Ring {
	/// Compares what others have computed of the same with what was answered, and settles a difference.
	pub(super) fn compare(
		&mut self,
		span: usize,
		computed: &Computed,
		answered: Answered,
		partly: HashMap<usize, Vec<usize>>,
		hashes: &HashMap<usize, Vec<H256>>,
	) -> Result<Answered, Failure> {
		for (other, known) in partly {
			let Some(roots) = hashes.get(&other) else { continue };
			if roots.len() != known.len() {
				self.ban(span, other, "told other hashes than those of the texts that it got".to_owned());
				continue;
			}
			let differs = known.iter().zip(roots).find(|(text, root)| answered.roots.get(**text) != Some(root));
			let Some((&text, told)) = differs else { continue };
			let (answered_by, before) = (answered.by, answered.roots.get(text).copied());
			let settled = match self.truth(span, &computed.texts[text], computed.kind, [answered_by, other]) {
				Ok(settled) => settled,
				Err(words) => {
					// What somebody contradicts is not given: who signs it answers for it.
					self.reports.unsettled(&words);
					[answered_by, other].into_iter().for_each(|member| self.members[member].known.clear());
					return Err(Failure::Contradiction);
				}
			};
			if computed.entered.get(text) != Some(&settled.entered) {
				// Somebody before them was wrong, unnoticed: nothing that was computed from it can be trusted, and nobody here is to blame.
				self.reports.unsettled("the rows that they got are wrong themselves; all texts are read again");
				self.members.iter_mut().for_each(|member| member.known.clear());
				return Err(Failure::Contradiction);
			}
			for (member, told, again) in [(other, Some(*told), settled.again[1]), (answered_by, before, settled.again[0])] {
				if told != Some(settled.out) {
					self.judge(span, member, again == Some(settled.out));
				}
			}
			if before != Some(settled.out) {
				return Err(Failure::Again);
			}
		}
		Ok(answered)
	}

	/// A member has told something else than the truth. If it tells the truth now, with all the rows from here, it was given wrong ones before.
	fn judge(&mut self, span: usize, member: usize, honest: bool) {
		if honest {
			self.reports.unsettled("a holder was given wrong rows before, and reads all of its texts again");
			self.members[member].known.clear();
		} else if self.members[member].usable() {
			let layers = &self.spans[span].hold;
			let words = format!("told wrong rows of layers {} to {}", layers.first, layers.first.saturating_add(layers.layers));
			self.ban(span, member, words);
		}
	}

	/// What goes into a span for a text, and what comes out, computed here from its tokens; and what the `suspects` make of it, who get all the rows of the
	/// text from here.
	fn truth(&mut self, span: usize, text: &TextPart, kind: Kind, suspects: [usize; 2]) -> Result<Settled, String> {
		let hold = self.spans[span].hold.stage();
		let last = text.pages.last().ok_or("a text without pages")?;
		let (numbers, tokens) = self.history.text(*last).ok_or("a text whose beginning is not known")?;
		let tokens = &tokens[..];
		// One layer at a time: the driver need not have room for more.
		let mut rows = through(&mut self.embedding, tokens, None)?;
		for layer in 0..hold.layers.start {
			rows = self.after(layer, tokens, rows)?;
		}
		let first = usize::try_from(text.first).map_err(|error| error.to_string())?.min(tokens.len());
		let width = rows.len() / tokens.len().max(1);
		let (mut at, mut settled) = (0usize, Settled::default());
		let portions = || tokens[..first].chunks(PORTION).map(|portion| (portion, Wanted::Nothing, Kind::Rows));
		let portions = || portions().chain([(&tokens[first..], wanted_of(text.wanted), kind)]);
		for (portion, wanted, kind) in portions() {
			let narrow = |value: usize| u32::try_from(value).map_err(|error| error.to_string());
			let end = at.saturating_add(portion.len());
			let part = TextPart {
				first: narrow(at)?,
				count: narrow(portion.len())?,
				tokens: Vec::new(),
				wanted: wanted_code(wanted),
				pages: numbers[..end.div_ceil(PAGE_TOKENS).min(numbers.len())].to_vec(),
			};
			let entering = &rows[at * width..end * width];
			for (again, suspect) in settled.again.iter_mut().zip(suspects) {
				*again = self.single(span, suspect, (&part, kind), entering).ok().and_then(|roots| roots.first().copied());
			}
			settled.entered = root(entering);
			at = end;
		}
		let last = hold.layers.end.saturating_sub(1).max(hold.layers.start);
		for layer in hold.layers.start..last {
			rows = self.after(layer, tokens, rows)?;
		}
		let mut own = self.source.load(&Stage { embedding: false, layers: last..hold.layers.end, head: hold.head })?;
		let (pages, mut sequence) = (Pages::new(tokens.len().div_ceil(PAGE_TOKENS)), Sequence::default());
		let mut rows = &rows[..];
		for (portion, wanted, kind) in portions() {
			let (entering, rest) = rows.split_at(portion.len() * width);
			let mut piece = [Piece { sequence: &mut sequence, tokens: portion, wanted }];
			let out = own.pass(&pages, &mut piece, Input::Rows(entering), kind.into()).map_err(|error| error.to_string())?;
			(settled.out, rows) = (root(out), rest);
		}
		Ok(settled)
	}

	/// What a layer makes of the rows of a text.
	fn after(&self, layer: usize, tokens: &[u32], rows: Vec<f32>) -> Result<Vec<f32>, String> {
		let mut layer = self.source.load(&Stage { embedding: false, layers: layer..layer.saturating_add(1), head: false })?;
		through(&mut layer, tokens, Some(&rows))
	}

	/// Asks a member of a span no more.
	pub(super) fn ban(&mut self, span: usize, member: usize, words: String) {
		let liar = &mut self.members[member];
		liar.banned.cancel();
		liar.lose();
		self.reports.lied(&liar.name, words);
		// What others have computed from what it said before is computed anew.
		let later: Vec<usize> = self.spans[span + 1..].iter().flat_map(|span| span.members.iter().copied()).collect();
		later.into_iter().for_each(|member| self.members[member].known.clear());
	}
}

/// What a part of the model makes of the rows of a text; without rows, of its tokens.
fn through(part: &mut Inference, tokens: &[u32], rows: Option<&[f32]>) -> Result<Vec<f32>, String> {
	let width = part.dim();
	let (pages, mut sequence) = (Pages::new(tokens.len().div_ceil(PAGE_TOKENS)), Sequence::default());
	let mut out = Vec::with_capacity(tokens.len().saturating_mul(width));
	for (index, tokens) in tokens.chunks(PORTION).enumerate() {
		let first = index * PORTION;
		let input = rows.map_or(Input::Tokens, |rows| Input::Rows(&rows[first * width..(first + tokens.len()) * width]));
		let mut piece = [Piece { sequence: &mut sequence, tokens, wanted: Wanted::All }];
		out.extend_from_slice(part.pass(&pages, &mut piece, input, Output::Rows).map_err(|error| error.to_string())?);
	}
	Ok(out)
}
