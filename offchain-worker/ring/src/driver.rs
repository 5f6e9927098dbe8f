//! The driver of a ring: has the spans of a model computed by those who hold them, one after the other, and answers with the logits.
//!
//! Whoever of a span's holders answers first in the order of preference is used; the others get the same rows, so that their KV cache is
//! those that they would need in its place, and tell hashes of what they computed. One that is late is replaced by the next. What a holder lacks,
//! since it came later or was restarted, is computed anew from the tokens when it is needed.

use super::{
	history::{History, Tellers},
	link::{Event, Recruit},
	member::Member,
	message::{by_text, root, told_rows, wanted_code, width, Done, Kind, Pass, Reply, Request, TextPart},
	presence::Presence,
	report::Reports,
	settle::Computed,
	span::Span,
};
use neuroshard_compute::exec::{GivenUp, InferenceError, Input, Output, Pages, Piece, Stage, PAGE_TOKENS};
use neuroshard_inference::{Engine, Part, Readiness, Source};
use neuroshard_types::H256;
use std::{
	collections::HashMap,
	ops::Range,
	sync::mpsc::{Receiver, RecvTimeoutError},
	time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// Tokens that are computed anew in one pass: whole pages.
pub(super) const PORTION: usize = 4 * PAGE_TOKENS;
/// A holder whose place only one could take that has to read the texts again is waited for so many times longer.
const COLD: u32 = 5;

/// Times that members are waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
	/// Beyond the time that a span usually takes, before another holder takes the place of one that does not answer.
	pub late: Duration,
	/// For a pass of a size that was not seen yet.
	pub unknown: Duration,
	/// For a holder of a span that nobody else holds, before the texts are given up.
	pub lost: Duration,
	/// The same where no text has begun: whoever asks can ask again.
	pub begun: Duration,
}

impl Default for Patience {
	fn default() -> Self {
		Self {
			// With what its replacement takes, a lost holder costs less than 200 ms.
			late: Duration::from_millis(150),
			unknown: Duration::from_secs(30),
			lost: Duration::from_secs(60),
			begun: Duration::from_secs(2),
		}
	}
}

/// A ring of workers, as an engine.
pub struct Ring {
	pub(super) source: Source,
	pub(super) embedding: Box<dyn Part>,
	pub(super) spans: Vec<Span>,
	pub(super) members: Vec<Member>,
	events: Receiver<(usize, Event)>,
	presence: Presence,
	pub(super) history: History,
	given_up: GivenUp,
	pub(super) passes: u64,
	pub(super) patience: Patience,
	pub(super) reports: Reports,
	/// Time at which a holder was last brought up to date beside the passes.
	pub(super) mended: Option<Instant>,
	longest: usize,
	page_bytes: usize,
	out: Vec<f32>,
}

/// Answer to a pass.
pub(super) struct Answered {
	pub(super) by: usize,
	pub(super) roots: Vec<H256>,
	pub(super) rows: Vec<f32>,
}

/// Rows on their way through the ring, and who has told those of each text: nobody, if they come from here.
pub(super) struct Rows {
	pub(super) values: Vec<f32>,
	pub(super) by: Vec<Tellers>,
}

impl Rows {
	/// Rows of so many texts that were computed here.
	pub(super) fn own(values: Vec<f32>, texts: usize) -> Self {
		Self { values, by: vec![Tellers::default(); texts] }
	}
}

/// Why rows do not come through the ring.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stopped {
	/// Somebody was found to have told wrong rows to a later span, and is not asked again: what follows from them begins anew.
	#[error("somebody has told wrong rows to a later span")]
	Contradiction,
	/// For another reason.
	#[error(transparent)]
	Inference(#[from] InferenceError),
}

/// Why a pass has no answer.
pub(super) enum Failure {
	/// Somebody else is to be asked.
	Again,
	/// Nobody else is.
	Stopped(Stopped),
}

/// Why a member's answer is not used.
pub(super) enum Failed {
	Late,
	Gone,
	Refused,
}

/// Member that has answered a pass, and its answer.
type Told = (usize, Done, Vec<f32>);
/// Failure of a member; of nobody, if time ran out.
type Trouble = (Option<usize>, Failed);

impl Ring {
	/// A ring of `names`, each with what is cancelled when it is banned, whose connections come as events with their numbers and are seen in
	/// the presence, and in which each span is held by its members. The driver turns tokens
	/// into rows; the first span begins with the first layer.
	///
	/// # Errors
	/// In words, if the embedding cannot be loaded.
	pub(super) fn new(
		source: Source,
		spans: Vec<Span>,
		names: Vec<(String, CancellationToken)>,
		(events, presence): (Receiver<(usize, Event)>, Presence),
		patience: Patience,
		reports: Reports,
	) -> Result<Self, String> {
		let embedding = source.load(&Stage { embedding: true, layers: 0..0, head: false })?;
		let size = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
		let config = &source.config;
		// Keys and values of each layer, for all tokens of a page.
		let width = size(config.kv_heads).saturating_mul(size(config.head_dim()));
		let page_bytes = [2, width, size(config.layers), PAGE_TOKENS, size_of::<f32>()];
		let members = names.into_iter().map(|(name, banned)| Member::new(name, banned));
		Ok(Self {
			longest: size(config.max_seq),
			page_bytes: page_bytes.into_iter().fold(1, usize::saturating_mul),
			members: members.collect(),
			history: History::default(),
			given_up: GivenUp::default(),
			passes: 0,
			mended: None,
			out: Vec::new(),
			source,
			embedding,
			spans,
			events,
			presence,
			patience,
			reports,
		})
	}

	/// Has every text read its tokens, and returns what is asked for of the wanted rows.
	fn read(&mut self, pages: &Pages, pieces: &mut [Piece], kind: Kind) -> Result<(), InferenceError> {
		if pieces.iter().any(|piece| piece.sequence.adapter().is_some()) {
			return Err(InferenceError::Adapter);
		}
		let before: Vec<usize> = pieces.iter().map(|piece| piece.sequence.len()).collect();
		let rows = self.embedding.pass(pages, pieces, Input::Tokens, Output::Rows)?.to_vec();
		let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
		let texts = pieces.iter().zip(&before).map(|(piece, first)| TextPart {
			first: narrow(*first),
			count: narrow(piece.tokens.len()),
			tokens: Vec::new(),
			wanted: wanted_code(piece.wanted),
			pages: piece.sequence.numbers().collect(),
		});
		let texts: Vec<TextPart> = texts.collect();
		for ((text, first), piece) in texts.iter().zip(&before).zip(&*pieces) {
			self.history.note(&text.pages, *first, piece.tokens);
		}
		self.forget();
		let rows = Rows::own(rows, texts.len());
		let out = loop {
			match self.through(self.spans.len(), &texts, &rows, kind) {
				// Whoever told wrong rows is not asked again, so that this ends.
				Err(Stopped::Contradiction) => {}
				Err(Stopped::Inference(error)) => break Err(error),
				Ok(out) => break Ok(out),
			}
		};
		match out {
			Ok(out) => self.out = out.values,
			Err(error) => {
				// As before. Their last pages may hold more than they say, which is written over.
				pieces.iter_mut().zip(before).for_each(|(piece, first)| piece.sequence.truncate(first));
				return Err(error);
			}
		}
		Ok(())
	}

	/// Forgets pages that no text has any more, and has the holders told with the next pass.
	fn forget(&mut self) {
		let given_up = self.given_up.take();
		self.history.forget(&given_up);
		for member in &mut self.members {
			for page in &given_up {
				member.known.remove(page);
				// It need not hear of what it does not have.
				if member.held.remove(page) {
					member.given_up.push(*page);
				}
			}
		}
	}

	/// Rows through the first `count` spans.
	pub(super) fn through(&mut self, count: usize, texts: &[TextPart], rows: &Rows, kind: Kind) -> Result<Rows, Stopped> {
		let mut through: Option<Rows> = None;
		for index in 0..count {
			let kind = if index + 1 == self.spans.len() { kind } else { Kind::Rows };
			through = Some(self.span(index, texts, through.as_ref().unwrap_or(rows), kind)?);
		}
		Ok(through.unwrap_or_else(|| Rows { values: rows.values.clone(), by: rows.by.clone() }))
	}

	/// Rows through one span.
	fn span(&mut self, index: usize, texts: &[TextPart], rows: &Rows, kind: Kind) -> Result<Rows, Stopped> {
		let mut began = Instant::now();
		let (mut failures, mut alone_since) = (0usize, None);
		let (mut banned, before) = (self.banned(0..self.spans.len()), self.banned(0..index));
		self.enter(index, texts, rows)?;
		loop {
			self.news();
			if self.banned(0..index) > before {
				// These rows may be what that one has told.
				return Err(Stopped::Contradiction);
			}
			let all = self.banned(0..self.spans.len());
			if all > banned {
				// What was spent to find a liar is not the others' fault.
				(began, banned) = (Instant::now(), all);
			}
			if began.elapsed() > self.patience.lost {
				return Err(InferenceError::Lost.into());
			}
			if failures > 1 {
				self.wait(self.patience.late / 10);
			}
			let Some(first) = self.preferred(index, texts) else {
				// Nobody is there: somebody may come back.
				let patience = if texts.iter().all(|text| text.first == 0) { self.patience.begun } else { self.patience.lost };
				let alone = *alone_since.get_or_insert_with(Instant::now);
				if alone.elapsed() > patience || self.members_of(index).all(|member| member.banned.is_cancelled()) {
					return Err(InferenceError::Lost.into());
				}
				self.wait(self.patience.late);
				continue;
			};
			alone_since = None;
			if !texts.iter().all(|text| self.members[first].knows(text)) {
				if !self.warm(index, first, texts)? {
					failures += 1;
				}
				continue;
			}
			self.mend(index, first, texts)?;
			let asked = Instant::now();
			match self.ask(index, first, texts, rows, kind) {
				Ok(answered) => {
					if failures > 0 {
						self.reports.replaced(began.elapsed());
					}
					self.spans[index].remember(rows.values.len(), asked.elapsed());
					return Ok(answered);
				}
				Err(Failure::Again) => failures += 1,
				Err(Failure::Stopped(why)) => return Err(why),
			}
		}
	}

	/// Returns the number of members of some spans that are banned.
	pub(super) fn banned(&self, spans: Range<usize>) -> usize {
		spans.flat_map(|span| self.members_of(span)).filter(|member| member.banned.is_cancelled()).count()
	}

	pub(super) fn members_of(&self, span: usize) -> impl Iterator<Item = &Member> + '_ {
		self.spans[span].members.iter().map(|member| &self.members[*member])
	}

	/// The first usable member that has the whole KV cache; else the first usable one.
	fn preferred(&self, span: usize, texts: &[TextPart]) -> Option<usize> {
		let usable = || self.spans[span].members.iter().copied().filter(|member| self.members[*member].usable());
		usable().find(|member| texts.iter().all(|text| self.members[*member].knows(text))).or_else(|| usable().next())
	}

	/// Asks `first` for the rows, and the others for their hashes. With an error, somebody else is to be asked.
	fn ask(&mut self, span: usize, first: usize, texts: &[TextPart], rows: &Rows, kind: Kind) -> Result<Rows, Failure> {
		self.passes += 1;
		let rows = &rows.values[..];
		let pass = Pass { number: self.passes, kind, told: true, given_up: Vec::new(), texts: texts.to_vec(), rows: Some(root(rows)) };
		if !self.members[first].send(&pass, rows) {
			self.demote(span, first, &Failed::Late);
			return Err(Failure::Again);
		}
		let others = self.spans[span].members.iter().copied();
		let others: Vec<usize> = others.filter(|other| *other != first && self.members[*other].usable()).collect();
		let spare = !others.is_empty();
		// Who has which texts.
		let mut partly: HashMap<usize, Vec<usize>> = HashMap::new();
		for other in others {
			let member = &self.members[other];
			let known: Vec<usize> = (0..texts.len()).filter(|text| !member.silent && member.knows(&texts[*text])).collect();
			let (part, rows) = self.part(&pass, rows, &known);
			// Texts that it does not have go on without it.
			let left_out = (0..texts.len()).filter(|text| !known.contains(text)).flat_map(|text| &texts[text].pages);
			let left_out: Vec<u64> = left_out.copied().collect();
			let member = &mut self.members[other];
			left_out.iter().for_each(|page| _ = member.known.remove(page));
			if !known.is_empty() && member.send(&part, &rows) {
				partly.insert(other, known);
			}
		}
		let usual = self.spans[span].usual(rows.len());
		let patience = usual.map_or(self.patience.unknown, |usual| usual.saturating_mul(2) + self.patience.late);
		let asked = Instant::now();
		let replaceable = partly.values().any(|known| known.len() == texts.len());
		let mut until = Instant::now()
			+ match (replaceable, usual) {
				(true, _) => patience,
				(false, Some(_)) if spare => patience + self.patience.late * (COLD - 1),
				// Where nobody could take its place, there is nothing but to wait.
				_ => self.patience.lost,
			};
		let mut hashes: HashMap<usize, Vec<H256>> = HashMap::new();
		let mut asking = first;
		let answered = loop {
			match self.reply(pass.number, until) {
				Ok((by, done, rows)) if by == asking && done.told => break Answered { by, roots: done.roots, rows },
				Ok((by, done, _)) => _ = hashes.insert(by, done.roots),
				Err((by, failed)) if by.is_none_or(|by| by == asking) => {
					self.demote(span, asking, &failed);
					partly.remove(&asking);
					// One with the same KV cache has computed the same.
					let next =
						self.spans[span].members.iter().copied().find(|other| {
							self.members[*other].usable() && partly.get(other).is_some_and(|known| known.len() == texts.len())
						});
					let Some(next) = next else { return Err(Failure::Again) };
					if !self.members[next].link.as_ref().is_some_and(|link| link.say(&Request::Again(pass.number))) {
						return Err(Failure::Again);
					}
					asking = next;
					until = Instant::now() + patience;
				}
				Err((Some(by), _)) => _ = partly.remove(&by),
				Err((None, _)) => {}
			}
		};
		let counts: Vec<usize> = texts.iter().map(|text| told_rows(kind, text)).collect();
		let width = width(&self.source.config, kind);
		let whole = answered.rows.len() == counts.iter().sum::<usize>().saturating_mul(width);
		if !whole || answered.roots != by_text(&answered.rows, &counts, width).map(root).collect::<Vec<_>>() {
			self.ban(span, answered.by, "sent rows that do not have the hash it told".to_owned());
			return Err(Failure::Again);
		}
		partly.remove(&answered.by);
		// The others may be slower, and one that has nothing to compute is soonest.
		let until = (asked + patience).max(Instant::now() + self.patience.late);
		self.collect(span, &partly, &mut hashes, until);
		self.compare(span, &Computed { texts, kind }, answered, &partly, &hashes)
	}

	/// Waits for the hashes of those who computed the same.
	fn collect(&mut self, span: usize, partly: &HashMap<usize, Vec<usize>>, hashes: &mut HashMap<usize, Vec<H256>>, until: Instant) {
		let mut waited: Vec<usize> = partly.keys().copied().collect();
		while waited.iter().any(|other| !hashes.contains_key(other) && self.members[*other].usable()) {
			match self.reply(self.passes, until) {
				Ok((by, done, _)) => _ = hashes.insert(by, done.roots),
				Err((None, _)) => break,
				// Whoever refuses tells nothing.
				Err((Some(by), _)) => waited.retain(|other| *other != by),
			}
		}
		// Whoever has told nothing comes last the next time.
		let silent: Vec<usize> = partly.keys().copied().filter(|other| !hashes.contains_key(other)).collect();
		for other in silent {
			let failed = match self.members[other].usable() {
				false => Failed::Gone,
				true if waited.contains(&other) => Failed::Late,
				true => Failed::Refused,
			};
			self.demote(span, other, &failed);
		}
	}

	/// The texts numbered in `known`, and their rows.
	fn part(&self, pass: &Pass, rows: &[f32], known: &[usize]) -> (Pass, Vec<f32>) {
		let counts: Vec<usize> = pass.texts.iter().map(|text| usize::try_from(text.count).unwrap_or(usize::MAX)).collect();
		let parts: Vec<&[f32]> = by_text(rows, &counts, self.embedding.dim()).collect();
		let rows: Vec<f32> = known.iter().filter_map(|text| parts.get(*text)).flat_map(|rows| rows.iter().copied()).collect();
		let texts = known.iter().filter_map(|text| pass.texts.get(*text)).cloned().collect();
		(Pass { told: false, rows: Some(root(&rows)), texts, ..pass.clone() }, rows)
	}

	/// The next answer to a pass, or what became of a member; of nobody, if nothing comes in time.
	pub(super) fn reply(&mut self, number: u64, until: Instant) -> Result<Told, Trouble> {
		loop {
			let left = until.saturating_duration_since(Instant::now());
			match self.events.recv_timeout(left) {
				Ok((by, Event::Reply(Reply::Done(done), rows))) if done.number == number && self.members[by].usable() => {
					self.members[by].silent = false;
					if done.number <= self.members[by].stale {
						return Err((Some(by), Failed::Refused));
					}
					return Ok((by, done, rows));
				}
				Ok((by, Event::Reply(Reply::Refused { number: Some(refused), words }, _))) if refused == number => {
					self.refused(by, &words);
					return Err((Some(by), Failed::Refused));
				}
				Ok((by, Event::Gone)) => {
					self.happened(by, Event::Gone);
					return Err((Some(by), Failed::Gone));
				}
				Ok((by, event)) => self.happened(by, event),
				Err(RecvTimeoutError::Timeout) => return Err((None, Failed::Late)),
				Err(RecvTimeoutError::Disconnected) => {
					// Nobody will ever come back.
					std::thread::sleep(left.min(self.patience.late));
					return Err((None, Failed::Gone));
				}
			}
		}
	}

	/// Takes note of all that has happened.
	fn news(&mut self) {
		while let Ok((by, event)) = self.events.try_recv() {
			self.happened(by, event);
		}
	}

	/// Waits for something to happen.
	fn wait(&mut self, most: Duration) {
		if let Ok((by, event)) = self.events.recv_timeout(most) {
			self.happened(by, event);
		}
	}

	fn happened(&mut self, by: usize, event: Event) {
		if let Event::Recruited(Recruit { span, name, banned }) = event {
			// They come in the order of their numbers.
			if let (Some(span), true) = (self.spans.get_mut(span), by == self.members.len()) {
				self.members.push(Member::new(name, banned));
				span.members.push(by);
			}
			return;
		}
		let Some(member) = self.members.get_mut(by) else { return };
		match event {
			Event::Recruited(_) => {}
			Event::Connected(link) => {
				member.lose();
				(member.link, member.ready) = (Some(link), true);
				self.reports.joined(&member.name);
			}
			Event::Refused(words) => self.reports.refused(&member.name, &words),
			// Of a pass that is over.
			Event::Reply(Reply::Refused { words, .. }, _) => self.refused(by, &words),
			// An answer that came too late.
			Event::Reply(Reply::Done(_), _) => member.silent = false,
			Event::Reply(..) => {}
			Event::Gone => {
				if member.ready {
					self.reports.gone(&member.name);
				}
				member.lose();
			}
		}
	}

	/// A member has refused a pass: it lacks what that was to give it.
	fn refused(&mut self, member: usize, words: &str) {
		let member = &mut self.members[member];
		member.refused(self.passes);
		self.reports.refused(&member.name, words);
	}

	/// Prefers all others.
	pub(super) fn demote(&mut self, span: usize, member: usize, failed: &Failed) {
		let members = &mut self.spans[span].members;
		members.retain(|other| *other != member);
		members.push(member);
		let name = &self.members[member].name;
		match failed {
			Failed::Late => {
				self.reports.late(name);
				self.members[member].silent = true;
			}
			// That was reported when it happened.
			Failed::Gone | Failed::Refused => {}
		}
		// It is not waited for in texts that are under way: others have what it has.
		if matches!(failed, Failed::Late) && self.members_of(span).filter(|member| member.usable()).count() > 1 {
			self.members[member].known.clear();
		}
	}

	/// Waits a moment for something to happen.
	#[cfg(test)]
	pub(super) fn news_for_test(&mut self) {
		self.wait(Duration::from_millis(50));
	}

	/// Waits until somebody holds each span; the first span that nobody holds in time is told.
	///
	/// # Errors
	/// Number of the first layer of the span.
	pub(super) fn ready(&mut self, until: Instant) -> Result<(), u32> {
		loop {
			self.news();
			let missing = (0..self.spans.len()).find(|span| !self.members_of(*span).any(Member::usable));
			let Some(missing) = missing else { return Ok(()) };
			let left = until.saturating_duration_since(Instant::now());
			if left.is_zero() {
				return Err(self.spans[missing].hold.first);
			}
			self.wait(left);
		}
	}
}

impl Engine for Ring {
	fn vocab(&self) -> usize {
		self.embedding.vocab()
	}

	fn longest(&self) -> usize {
		self.longest
	}

	fn dim(&self) -> usize {
		self.embedding.dim()
	}

	fn page_bytes(&self) -> usize {
		self.page_bytes
	}

	fn readiness(&self) -> Readiness {
		let presence = self.presence.clone();
		Readiness::new(move || presence.is_complete())
	}

	fn pages(&self, limit: usize) -> Pages {
		Pages::elsewhere(limit, self.given_up.clone())
	}

	fn logits(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		self.read(pages, pieces, Kind::Logits)?;
		Ok(&self.out)
	}

	fn hidden(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		self.read(pages, pieces, Kind::Hidden)?;
		Ok(&self.out)
	}
}
