//! Continuous batching: one thread answers all requests together, and texts join and leave between passes through the model. Prompts are prefilled in
//! portions, and speculative decoding (prompt lookup) drafts tokens from what a text has said before.
//!
//! What a text gets does not depend on the others: see [`neuroshard_compute::exec`].

use super::{prefixes::Prefixes, stats::Stats};
use crate::{Adapted, Engine, Readiness};
use neuroshard_compute::exec::{InferenceError, Pages, Piece, Sequence, Wanted, PAGE_TOKENS};
use neuroshard_graph::{
	sampler::{sample, Counts, LogProbabilities, Sampling},
	Hash,
};
use std::{collections::VecDeque, io, sync::Arc, thread};
use tokio::sync::{mpsc, oneshot, OwnedSemaphorePermit, Semaphore};

/// Tokens of prompts that one pass prefills: those who wait for their next token do not wait for long prompts.
const PORTION: usize = 256;
/// Bytes of the logits of one text's prompt that a pass computes where its probabilities are told.
const TOLD_BYTES: usize = 64 << 20;
/// Rows up to which a pass costs about as much as one row: drafts of speculative decoding fill them.
const CHEAP_ROWS: usize = 8;
/// Last tokens of a text that are looked for earlier in it.
const LOOKUP: usize = 3;

/// Limits on texts that are answered at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
	/// Texts that are answered at a time.
	pub active: usize,
	/// Texts that wait.
	pub waiting: usize,
	/// Bytes of the KV cache.
	pub memory: usize,
	/// True if speculative decoding drafts tokens from what the text has said before. The answers are the same.
	pub lookup: bool,
}

/// A text to be continued.
pub struct Job {
	/// Its tokens, at least one.
	pub prompt: Vec<u32>,
	/// What the model has beside it.
	pub adapter: Option<Arc<Adapted>>,
	/// Sampling settings.
	pub sampling: Sampling,
	/// Most tokens; 0 is for prompts that are told back.
	pub most: u32,
	/// Alternatives to tell with each token.
	pub top: usize,
	/// True if probabilities are told.
	pub log: bool,
	/// True if the prompt is told back, before all else.
	pub echo: bool,
	/// True if it goes on behind a token that ends texts.
	pub endless: bool,
	/// Channel that the answer is sent to, with room for all of it: a token each, the end, and with `echo` two more. When nobody is there to take it, the text is given up.
	pub reply: mpsc::Sender<Reply>,
}

/// A part of an answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
	/// The prompt. Its tokens are told if probabilities are asked for, the first one without.
	Prompt(Vec<Token>),
	/// The next token.
	Token(Token),
	/// The token that ends the text, which is no part of the answer: told where prompt and probabilities are.
	Ending(Token),
	/// The end.
	End(End),
}

/// A chosen token.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
	/// Its number.
	pub id: u32,
	/// Natural logarithm of its probability, if that was asked for.
	pub log: Option<f32>,
	/// The likeliest tokens, and theirs.
	pub top: Vec<(u32, f32)>,
}

/// Why an answer ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
	/// A token that ends texts, which is not told.
	Stop,
	/// So many tokens were asked for, or the model takes no more.
	Length,
	/// The engine failed.
	Failed(InferenceError),
}

/// Something to do, and its place among those that wait.
enum Work {
	Continue(Job, OwnedSemaphorePermit),
	Alone(Alone, OwnedSemaphorePermit),
}

/// Something that needs the engine for itself, between two passes of the texts.
type Alone = Box<dyn FnOnce(&mut dyn Engine) + Send>;

/// Why a text is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
	/// More answers than may wait.
	#[error("{answers} answers are asked for at once, and {most} at most may wait")]
	TooMany {
		/// That are asked for.
		answers: usize,
		/// That may wait.
		most: usize,
	},
	/// Too many wait.
	#[error("too many requests are waiting; try again in some seconds")]
	Busy,
	/// Nobody holds a part of the model.
	#[error("nobody who holds a part of the model can be reached now; try again in some seconds")]
	Away,
	/// It is being shut down.
	#[error("the server is shutting down")]
	Stopping,
	/// It has no token.
	#[error("the prompt has no token")]
	Empty,
	/// Longer than the model or the memory allows.
	#[error("the prompt has {} tokens, and {most} at most can be read and continued", .tokens.map_or_else(|| "too many".to_owned(), |tokens| tokens.to_string()))]
	TooLong {
		/// Of the prompt, if they were counted.
		tokens: Option<usize>,
		/// That there may be.
		most: usize,
	},
	/// A token that the model does not know.
	#[error("the prompt has a token, {0}, that the model does not know")]
	Vocabulary(u32),
}

/// Hands texts to the thread. Clones share it.
#[derive(Clone)]
pub struct Batcher {
	work: mpsc::UnboundedSender<Work>,
	/// Places to wait at: they bound what was handed over and is not begun.
	places: Arc<Semaphore>,
	waiting: usize,
	longest: usize,
	vocab: usize,
	readiness: Readiness,
	stats: Arc<Stats>,
}

impl Batcher {
	/// Starts the thread, which ends when the last batcher is dropped and all is answered. `ends` says which tokens end a text, of which those below
	/// `usable` are chosen.
	///
	/// # Errors
	/// If the system has no thread to give.
	pub fn start(
		engine: Box<dyn Engine>,
		usable: usize,
		ends: impl Fn(u32) -> bool + Send + 'static,
		limits: Limits,
	) -> io::Result<(Self, thread::JoinHandle<()>)> {
		let pages = limits.memory / engine.page_bytes().max(1);
		let pages = engine.pages(pages);
		let (longest, vocab) = (engine.longest().min(pages.limit().saturating_mul(PAGE_TOKENS)), engine.vocab());
		let (stats, readiness) = (Arc::new(Stats::default()), engine.readiness());
		let (work, queue) = mpsc::unbounded_channel();
		let places = Arc::new(Semaphore::new(limits.waiting));
		let state = State {
			pages,
			engine,
			usable: usable.min(vocab),
			ends: Box::new(ends),
			limits,
			prefixes: Prefixes::default(),
			reserved: 0,
			waiting: VecDeque::new(),
			alone: VecDeque::new(),
			active: Vec::new(),
			stats: stats.clone(),
		};
		let thread = thread::Builder::new().name("inference".into()).spawn(move || state.run(queue))?;
		Ok((Self { work, places, waiting: limits.waiting, longest, vocab, readiness, stats }, thread))
	}

	/// Tokens of the longest text, prompt and answer together.
	pub fn longest(&self) -> usize {
		self.longest
	}

	/// Returns the statistics of what it has done.
	pub fn stats(&self) -> &Arc<Stats> {
		&self.stats
	}

	/// Checks whether so many answers to each of these prompts could ever be given.
	///
	/// # Errors
	/// [`Refused`].
	pub fn check(&self, prompts: &[Vec<u32>], choices: u32) -> Result<(), Refused> {
		let answers = prompts.len().saturating_mul(usize::try_from(choices).unwrap_or(usize::MAX));
		if answers > self.waiting {
			return Err(Refused::TooMany { answers, most: self.waiting });
		}
		prompts.iter().try_for_each(|prompt| self.fits(prompt))
	}

	/// Has texts continued, all of them or none.
	///
	/// # Errors
	/// [`Refused`].
	pub fn submit(&self, jobs: Vec<Job>) -> Result<(), Refused> {
		jobs.iter().try_for_each(|job| self.fits(&job.prompt))?;
		let mut places = self.places(jobs.len())?;
		for job in jobs {
			// There are as many places as jobs.
			let place = places.split(1).ok_or(Refused::Busy)?;
			self.work.send(Work::Continue(job, place)).map_err(|_| Refused::Stopping)?;
		}
		Ok(())
	}

	/// The mean of a text's rows of the residual stream after the last norm, scaled to length 1.
	///
	/// # Errors
	/// [`Refused`].
	pub async fn embed(&self, tokens: Vec<u32>, adapter: Option<Arc<Adapted>>) -> Result<Result<Vec<f32>, InferenceError>, Refused> {
		self.fits(&tokens)?;
		self.alone(move |engine| mean(engine, &tokens, adapter.as_deref())).await
	}

	/// Has work done that needs the engine for itself: the texts wait meanwhile.
	///
	/// # Errors
	/// [`Refused`].
	pub async fn alone<R: Send + 'static>(&self, work: impl FnOnce(&mut dyn Engine) -> R + Send + 'static) -> Result<R, Refused> {
		let (place, (reply, answer)) = (self.places(1)?, oneshot::channel());
		let work = move |engine: &mut dyn Engine| {
			if !reply.is_closed() {
				// Nobody may be there to take it any more.
				let _ = reply.send(work(engine));
			}
		};
		self.work.send(Work::Alone(Box::new(work), place)).map_err(|_| Refused::Stopping)?;
		answer.await.map_err(|_| Refused::Stopping)
	}

	fn places(&self, count: usize) -> Result<OwnedSemaphorePermit, Refused> {
		if !self.readiness.is_ready() {
			return Err(Refused::Away);
		}
		let (answers, most) = (count, self.waiting);
		let count = u32::try_from(count).ok().filter(|_| answers <= most).ok_or(Refused::TooMany { answers, most })?;
		self.places.clone().try_acquire_many_owned(count).map_err(|_| Refused::Busy)
	}

	fn fits(&self, tokens: &[u32]) -> Result<(), Refused> {
		if let Some(token) = tokens.iter().find(|token| usize::try_from(**token).map_or(true, |token| token >= self.vocab)) {
			return Err(Refused::Vocabulary(*token));
		}
		match tokens.len() {
			0 => Err(Refused::Empty),
			len if len > self.longest => Err(Refused::TooLong { tokens: Some(len), most: self.longest }),
			_ => Ok(()),
		}
	}
}

/// A text that is being continued.
struct Text {
	job: Job,
	tokens: Vec<u32>,
	prompt: usize,
	read: Sequence,
	counts: Counts,
	pages: usize,
	/// Tokens of the prompt whose probabilities are known, if they are to be told.
	told: Vec<Token>,
	end: Option<End>,
}

/// What a text reads in a pass.
struct Next {
	tokens: Vec<u32>,
	wanted: Wanted,
	/// The first rows of logits, which come before tokens of the prompt.
	before: usize,
	/// How many of the last tokens are drafts.
	drafts: usize,
}

impl Text {
	/// The next tokens to be read: a portion of the prompt, or the newest token and at most `drafts` of what may follow.
	fn next(&self, portion: usize, drafts: usize) -> Next {
		let unread = self.tokens.get(self.read.len()..).unwrap_or_default();
		let tells = self.job.echo && self.job.log;
		match unread {
			[last] => {
				let left = self.left().saturating_sub(1).min(drafts);
				let drafted = lookup(&self.tokens, left);
				let wanted = if drafted.is_empty() { Wanted::Last } else { Wanted::All };
				let tokens = std::iter::once(*last).chain(drafted.iter().copied()).collect();
				Next { tokens, wanted, before: 0, drafts: drafted.len() }
			}
			_ if unread.len() <= portion => {
				let (wanted, before) = if tells { (Wanted::All, unread.len() - 1) } else { (Wanted::Last, 0) };
				Next { tokens: unread.to_vec(), wanted, before, drafts: 0 }
			}
			_ => {
				let (wanted, before) = if tells { (Wanted::All, portion) } else { (Wanted::Nothing, 0) };
				Next { tokens: unread[..portion].to_vec(), wanted, before, drafts: 0 }
			}
		}
	}

	/// A token, and what is told about it.
	fn describe(&self, id: u32, logits: &[f32], usable: usize) -> Token {
		let told = self.job.log.then(|| LogProbabilities::new(logits));
		let top = told.as_ref().map(|all| all.top(usable, self.job.top)).unwrap_or_default();
		Token { id, log: told.map(|all| all.of(id)), top }
	}

	/// Tokens that may come.
	fn left(&self) -> usize {
		let generated = self.tokens.len() - self.prompt;
		usize::try_from(self.job.most).unwrap_or(usize::MAX).saturating_sub(generated)
	}
}

/// Returns the tokens that followed the last time that the text had its last [`LOOKUP`] tokens, `most` tokens at most.
fn lookup(tokens: &[u32], most: usize) -> &[u32] {
	let Some(before) = tokens.len().checked_sub(LOOKUP).filter(|_| most > 0) else { return &[] };
	let last = &tokens[before..];
	let earlier = tokens[..tokens.len() - 1].windows(LOOKUP).rposition(|window| window == last);
	earlier.map_or(&[], |at| {
		let follows = &tokens[at + LOOKUP..];
		&follows[..follows.len().min(most)]
	})
}

struct State {
	engine: Box<dyn Engine>,
	usable: usize,
	ends: Box<dyn Fn(u32) -> bool + Send>,
	limits: Limits,
	pages: Pages,
	prefixes: Prefixes,
	/// Pages that the active texts may come to take.
	reserved: usize,
	/// Texts that wait, with their places.
	waiting: VecDeque<(Job, OwnedSemaphorePermit)>,
	alone: VecDeque<(Alone, OwnedSemaphorePermit)>,
	active: Vec<Text>,
	stats: Arc<Stats>,
}

impl State {
	fn run(mut self, mut queue: mpsc::UnboundedReceiver<Work>) {
		loop {
			if self.active.is_empty() && self.waiting.is_empty() && self.alone.is_empty() {
				let Some(work) = queue.blocking_recv() else { return };
				self.take(work);
			}
			while let Ok(work) = queue.try_recv() {
				self.take(work);
			}
			// Whoever has gone frees its place.
			self.waiting.retain(|(job, _)| !job.reply.is_closed());
			while self.active.len() < self.limits.active {
				let Some((job, place)) = self.waiting.pop_front() else { break };
				if let Err(job) = self.admit(job) {
					self.waiting.push_front((job, place));
					break;
				}
			}
			self.measure();
			// Also what came in between may have found it lost.
			self.begin_anew();
			self.pass();
			// One at a time: the texts go on in between.
			if let Some((work, _place)) = self.alone.pop_front() {
				work(&mut *self.engine);
			}
			self.measure();
		}
	}

	fn take(&mut self, work: Work) {
		match work {
			Work::Continue(job, place) => self.waiting.push_back((job, place)),
			Work::Alone(work, place) => self.alone.push_back((work, place)),
		}
	}

	fn measure(&self) {
		self.stats.texts.set(i64::try_from(self.active.len()).unwrap_or(i64::MAX));
		self.stats.pages.set(i64::try_from(self.pages.used()).unwrap_or(i64::MAX));
	}

	/// Begins a text, if there is memory for all that it may become.
	fn admit(&mut self, mut job: Job) -> Result<(), Job> {
		// The last token need not be read.
		let room = self.engine.longest().saturating_sub(job.prompt.len()).saturating_add(1);
		job.most = job.most.min(u32::try_from(room).unwrap_or(u32::MAX));
		let most = usize::try_from(job.most).unwrap_or(room);
		let pages = job.prompt.len().saturating_add(most).div_ceil(PAGE_TOKENS).min(self.pages.limit());
		if self.reserved.saturating_add(pages) > self.pages.limit() {
			return Err(job);
		}
		self.reserved += pages;
		// What was read before has no logits.
		let tells = job.echo && job.log;
		let read = if tells { Sequence::default() } else { Sequence::with_prefix(self.prefixes.longest(beside(&job), &job.prompt)) };
		let read = read.beside(job.adapter.as_ref().map(|adapter| adapter.packed.clone()));
		let told = job.prompt.iter().take(tells.into()).map(|id| Token { id: *id, log: None, top: Vec::new() }).collect();
		let mut counts = Counts::default();
		counts.prompt(&job.prompt);
		self.stats.prompt_tokens.inc_by(job.prompt.len() as u64);
		self.stats.shared_tokens.inc_by(read.len() as u64);
		self.active.push(Text { tokens: job.prompt.clone(), prompt: job.prompt.len(), job, read, counts, pages, told, end: None });
		Ok(())
	}

	/// Has all texts read again if something else computes from now on: they go on with the tokens that they would have got.
	fn begin_anew(&mut self) -> bool {
		let replaced = self.engine.replace_lost();
		if replaced {
			self.prefixes = Prefixes::default();
			for text in &mut self.active {
				text.read = Sequence::default().beside(text.job.adapter.as_ref().map(|adapter| adapter.packed.clone()));
				text.told.truncate(1);
			}
			self.pages = self.engine.pages(self.limits.memory / self.engine.page_bytes().max(1));
		}
		replaced
	}

	/// One pass of the active texts through the model.
	fn pass(&mut self) {
		self.active.retain_mut(|text| {
			let given_up = text.job.reply.is_closed();
			if given_up {
				self.reserved -= text.pages;
			}
			!given_up
		});
		let count = self.active.len();
		if count == 0 {
			return;
		}
		let drafts = if self.limits.lookup { (CHEAP_ROWS / count).saturating_sub(1) } else { 0 };
		// Prompts share what is read of them in a pass.
		let readers = self.active.iter().filter(|text| text.tokens.len() > text.read.len().saturating_add(1)).count();
		let portion = (PORTION / readers.max(1)).max(1);
		let (usable, longest, vocab) = (self.usable, self.engine.longest(), self.engine.vocab());
		let most_told = (TOLD_BYTES / size_of::<f32>() / vocab.max(1)).max(1);
		let next = self.active.iter().map(|text| {
			let tells = text.job.echo && text.job.log;
			text.next(if tells { portion.min(most_told) } else { portion }, drafts)
		});
		let next: Vec<_> = next.collect();
		let needed = self.active.iter().zip(&next).map(|(text, next)| text.read.pages_for(next.tokens.len())).sum();
		self.prefixes.make_room(&self.pages, needed);
		let pieces = self.active.iter_mut().zip(&next);
		let pieces = pieces.map(|(text, next)| Piece { sequence: &mut text.read, tokens: &next.tokens, wanted: next.wanted });
		let mut pieces: Vec<_> = pieces.collect();
		let mut rows = match self.engine.logits(&self.pages, &mut pieces) {
			Ok(logits) => logits.chunks_exact(vocab),
			Err(error) => {
				if !self.begin_anew() {
					self.active.iter_mut().for_each(|text| text.end = Some(End::Failed(error)));
					self.dismiss();
				}
				return;
			}
		};
		for (text, Next { tokens, wanted, before, drafts }) in self.active.iter_mut().zip(&next) {
			for logits in rows.by_ref().take(*before) {
				let id = text.tokens.get(text.told.len()).copied().unwrap_or_default();
				let told = text.describe(id, logits, usable);
				text.told.push(told);
			}
			if *wanted == Wanted::Nothing || tokens.len() == *before {
				continue;
			}
			if text.job.echo && text.tokens.len() == text.prompt {
				_ = text.job.reply.try_send(Reply::Prompt(std::mem::take(&mut text.told)));
				if text.left() == 0 {
					text.end = Some(End::Length);
				}
			}
			let drafted = tokens.get(tokens.len().saturating_sub(*drafts)..).unwrap_or_default();
			let mut drafted = drafted.iter();
			let own = rows.by_ref().take(drafted.len() + 1);
			let mut wrong = false;
			for logits in own {
				if wrong || text.end.is_some() {
					continue;
				}
				let position = u32::try_from(text.tokens.len()).unwrap_or(u32::MAX);
				let id = sample(logits, usable, &text.counts, &text.job.sampling, position);
				if !text.job.endless && (self.ends)(id) {
					if text.job.echo && text.job.log {
						_ = text.job.reply.try_send(Reply::Ending(text.describe(id, logits, usable)));
					}
					text.end = Some(End::Stop);
					continue;
				}
				text.counts.generated(id);
				text.tokens.push(id);
				self.stats.generated_tokens.inc();
				// There is room for the whole answer: it fails only when nobody takes it.
				let _ = text.job.reply.try_send(Reply::Token(text.describe(id, logits, usable)));
				if text.left() == 0 || text.tokens.len() > longest {
					text.end = Some(End::Length);
				}
				let draft = drafted.next();
				wrong = draft.is_some_and(|draft| *draft != id);
				if draft == Some(&id) {
					self.stats.drafted_tokens.inc();
				}
			}
			// What was drafted wrong was not read.
			text.read.truncate(text.tokens.len().saturating_sub(1));
		}
		self.dismiss();
	}

	/// Tells those that have ended, and lets them go.
	fn dismiss(&mut self) {
		let (prefixes, reserved) = (&mut self.prefixes, &mut self.reserved);
		self.active.retain_mut(|text| {
			let Some(end) = text.end.take() else { return true };
			*reserved -= text.pages;
			prefixes.keep(beside(&text.job), &text.tokens, text.read.full());
			let _ = text.job.reply.try_send(Reply::End(end));
			false
		});
	}
}

/// What keys and values of a text depend on besides its tokens.
fn beside(job: &Job) -> Hash {
	job.adapter.as_ref().map(|adapter| adapter.root.0).unwrap_or_default()
}

/// The mean of a text's rows of the residual stream after the last norm, scaled to length 1.
fn mean(engine: &mut dyn Engine, tokens: &[u32], adapter: Option<&Adapted>) -> Result<Vec<f32>, InferenceError> {
	let (sequence, mut sum) = (Sequence::default(), vec![0.0f32; engine.dim()]);
	let mut sequence = sequence.beside(adapter.map(|adapter| adapter.packed.clone()));
	// Beside the pages of the texts: this one ends before they go on.
	let pages = engine.pages(tokens.len().div_ceil(PAGE_TOKENS));
	for tokens in tokens.chunks(PORTION) {
		let piece = Piece { sequence: &mut sequence, tokens, wanted: Wanted::All };
		for row in engine.hidden(&pages, &mut [piece])?.chunks_exact(sum.len()) {
			sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
		}
	}
	let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
	Ok(sum.into_iter().map(|value| if length > 0.0 { value / length } else { 0.0 }).collect())
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{Part, Standby};
	use neuroshard_compute::exec::{DeviceError, Exec, Inference, Input, Output};
	use neuroshard_training::{checkpoint::Checkpoint, presets};
	use proptest::prelude::*;
	use std::sync::atomic::{AtomicBool, Ordering};

	const END: u32 = 256;

	fn inference() -> Inference {
		let (model, train) = presets::tiny();
		let mut params = Checkpoint::genesis(0, &model, &train, 1).unwrap().params;
		// Larger weights, as after some training.
		params.iter_mut().enumerate().for_each(|(index, value)| *value *= 3.0 + (index % 11) as f32 * 0.1);
		Inference::new(Arc::new(Exec::new(1).unwrap()), &model, &params).unwrap()
	}

	fn limits() -> Limits {
		Limits { active: 4, waiting: 64, memory: 64 << 20, lookup: true }
	}

	fn start(limits: Limits) -> Batcher {
		Batcher::start(Box::new(inference()), 257, |token| token == END, limits).unwrap().0
	}

	fn job(prompt: &[u32], most: u32, sampling: Sampling) -> (Job, mpsc::Receiver<Reply>) {
		let (reply, replies) = mpsc::channel(usize::try_from(most).unwrap() + 1);
		(Job { prompt: prompt.to_vec(), adapter: None, sampling, most, top: 0, log: false, echo: false, endless: false, reply }, replies)
	}

	/// All tokens of an answer, and why it ended.
	fn all(mut replies: mpsc::Receiver<Reply>) -> (Vec<u32>, End) {
		let mut tokens = Vec::new();
		loop {
			match replies.blocking_recv().unwrap() {
				Reply::Token(token) => tokens.push(token.id),
				Reply::End(end) => return (tokens, end),
				Reply::Prompt(_) | Reply::Ending(_) => {}
			}
		}
	}

	/// The answer without a batch, a page of another text, or a draft: the whole text is read again for every token.
	fn expected(inference: &mut Inference, prompt: &[u32], most: u32, sampling: &Sampling) -> (Vec<u32>, End) {
		let (mut tokens, mut counts, pages) = (prompt.to_vec(), Counts::default(), Pages::new(8));
		counts.prompt(prompt);
		for _ in 0..most {
			if tokens.len() > inference.longest() {
				return (tokens.split_off(prompt.len()), End::Length);
			}
			let mut sequence = Sequence::default();
			let piece = Piece { sequence: &mut sequence, tokens: &tokens, wanted: Wanted::Last };
			let logits = inference.logits(&pages, &mut [piece]).unwrap();
			let token = sample(logits, 257, &counts, sampling, u32::try_from(tokens.len()).unwrap());
			if token == END {
				return (tokens.split_off(prompt.len()), End::Stop);
			}
			counts.generated(token);
			tokens.push(token);
		}
		(tokens.split_off(prompt.len()), End::Length)
	}

	/// Prompts of which many begin alike, and repeat themselves.
	fn asked() -> impl Strategy<Value = Vec<(Vec<u32>, u32, Sampling)>> {
		let prompt = (0usize..100, 1u32..4, any::<bool>()).prop_map(|(len, period, other)| {
			let words = (0u32..).map(move |index| 97 + index % (3 * period));
			words.take(len + 1).chain(other.then_some(65)).collect::<Vec<_>>()
		});
		let sampling = (
			any::<u64>(),
			prop::sample::select(vec![0.0f32, 0.3, 1.0]),
			prop::sample::select(vec![0u32, 5]),
			prop::sample::select(vec![1.0f32, 1.3]),
		);
		let sampling = sampling.prop_map(|(seed, temperature, top_k, repetition)| Sampling {
			seed,
			temperature,
			top_k,
			repetition,
			..Sampling::default()
		});
		prop::collection::vec((prompt, 1u32..60, sampling), 1..10)
	}

	proptest! {
		#![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

		#[test]
		fn an_answer_does_not_depend_on_the_batch_on_shared_pages_or_on_drafts(asked in asked(), lookup in any::<bool>(), few in any::<bool>()) {
			let mut alone = inference();
			// With little memory, texts wait for each other.
			let memory = if few { 3 * alone.page_bytes() } else { 64 << 20 };
			let batcher = start(Limits { lookup, memory, ..limits() });
			for _ in 0..2 {
				let mut replies = Vec::new();
				for (prompt, most, sampling) in &asked {
					let (job, reply) = job(prompt, *most, *sampling);
					batcher.submit(vec![job]).unwrap();
					replies.push(reply);
				}
				for ((prompt, most, sampling), replies) in asked.iter().zip(replies) {
					prop_assert_eq!(all(replies), expected(&mut alone, prompt, *most, sampling));
				}
			}
		}
	}

	#[test]
	fn what_is_drafted_and_what_was_read_before_is_counted() {
		let batcher = start(limits());
		let prompt: Vec<u32> = (0..100).map(|index| 97 + index % 5).collect();
		let greedy = Sampling { temperature: 0.0, ..Sampling::default() };
		let mut answers = Vec::new();
		for _ in 0..2 {
			let (job, replies) = job(&prompt, 20, greedy);
			batcher.submit(vec![job]).unwrap();
			answers.push(all(replies));
		}
		assert_eq!(answers[0], answers[1]);
		let stats = batcher.stats();
		assert_eq!((stats.prompt_tokens.get(), stats.shared_tokens.get()), (200, 64));
		assert!(stats.text().contains("neuroshard_serve_shared_tokens_total 64"));
	}

	#[test]
	fn what_does_not_fit_is_refused_and_more_than_may_wait_is_put_off() {
		let batcher = start(Limits { active: 1, waiting: 2, ..limits() });
		let refused = |prompt: &[u32]| batcher.submit(vec![job(prompt, 1, Sampling::default()).0]).unwrap_err();
		assert_eq!(refused(&[97; 129]), Refused::TooLong { tokens: Some(129), most: 128 });
		assert_eq!((refused(&[300]), refused(&[])), (Refused::Vocabulary(300), Refused::Empty));
		// All of a request or nothing.
		let many: Vec<_> = (0..3).map(|_| job(&[97], 1, Sampling::default()).0).collect();
		assert_eq!(batcher.submit(many), Err(Refused::TooMany { answers: 3, most: 2 }));
	}

	/// An engine that lacks a part.
	struct Parted(Inference);

	impl Engine for Parted {
		fn vocab(&self) -> usize {
			self.0.vocab()
		}
		fn longest(&self) -> usize {
			self.0.longest()
		}
		fn dim(&self) -> usize {
			self.0.dim()
		}
		fn page_bytes(&self) -> usize {
			self.0.page_bytes()
		}
		fn readiness(&self) -> Readiness {
			Readiness::new(|| false)
		}
		fn pages(&self, limit: usize) -> Pages {
			Pages::new(limit)
		}
		fn logits(&mut self, _: &Pages, _: &mut [Piece]) -> Result<&[f32], InferenceError> {
			Err(InferenceError::Lost)
		}
		fn hidden(&mut self, _: &Pages, _: &mut [Piece]) -> Result<&[f32], InferenceError> {
			Err(InferenceError::Lost)
		}
	}

	#[tokio::test]
	async fn nothing_is_taken_that_nobody_can_compute_now() {
		let (batcher, _) = Batcher::start(Box::new(Parted(inference())), 257, |token| token == END, limits()).unwrap();
		assert_eq!(batcher.submit(vec![job(&[97], 1, Sampling::default()).0]), Err(Refused::Away));
		assert_eq!(batcher.embed(vec![97], None).await, Err(Refused::Away));
	}

	/// A device that is lost in its pass after so many.
	struct Failing {
		inner: Inference,
		left: usize,
		is_lost: Arc<AtomicBool>,
	}

	impl Failing {
		fn computes(&mut self) -> Result<(), InferenceError> {
			self.left = self.left.checked_sub(1).ok_or_else(|| {
				self.is_lost.store(true, Ordering::Relaxed);
				InferenceError::Device(DeviceError { what: "compute", code: -5 })
			})?;
			Ok(())
		}
	}

	impl Engine for Failing {
		fn vocab(&self) -> usize {
			self.inner.vocab()
		}
		fn longest(&self) -> usize {
			self.inner.longest()
		}
		fn dim(&self) -> usize {
			self.inner.dim()
		}
		fn page_bytes(&self) -> usize {
			self.inner.page_bytes()
		}
		fn readiness(&self) -> Readiness {
			let is_lost = self.is_lost.clone();
			Readiness::new(move || !is_lost.load(Ordering::Relaxed))
		}
		fn pages(&self, limit: usize) -> Pages {
			// Fewer than there are afterwards.
			self.inner.pages(limit.min(8))
		}
		fn logits(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
			self.computes()?;
			Engine::logits(&mut self.inner, pages, pieces)
		}
		fn hidden(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
			self.computes()?;
			Engine::hidden(&mut self.inner, pages, pieces)
		}
	}

	impl Part for Failing {
		fn pass(&mut self, pages: &Pages, pieces: &mut [Piece], input: Input, output: Output) -> Result<&[f32], InferenceError> {
			self.computes()?;
			self.inner.pass(pages, pieces, input, output)
		}
	}

	/// Everything that is told of an answer.
	fn told(mut replies: mpsc::Receiver<Reply>) -> Vec<Reply> {
		std::iter::from_fn(|| replies.blocking_recv()).collect()
	}

	#[test]
	fn texts_whose_device_is_lost_go_on_with_the_tokens_they_would_have_got() {
		let prompts: Vec<Vec<u32>> = (0..3).map(|text| (0..70 + 20 * text).map(|index| 97 + index % (3 + text)).collect()).collect();
		let answers = |batcher: &Batcher| {
			let jobs = prompts.iter().zip(0..).map(|(prompt, number): (_, u32)| {
				let (job, _) = job(prompt, 12, Sampling { seed: number.into(), ..Sampling::default() });
				let (reply, replies) = mpsc::channel(16);
				(Job { reply, log: true, top: 2, echo: number == 1, ..job }, replies)
			});
			let (jobs, replies): (Vec<_>, Vec<_>) = jobs.unzip();
			batcher.submit(jobs).unwrap();
			replies.into_iter().map(told).collect::<Vec<_>>()
		};
		let expected = answers(&start(limits()));
		for left in 0..8 {
			let failing = Failing { inner: inference(), left, is_lost: Arc::default() };
			let engine = Standby::new(Box::new(failing), || Ok(Box::new(inference())));
			let (batcher, _) = Batcher::start(Box::new(engine), 257, |token| token == END, limits()).unwrap();
			assert_eq!(answers(&batcher), expected, "{left} passes before");
			assert_eq!(answers(&batcher), expected, "{left} passes before, asked again");
		}
	}

	#[tokio::test]
	async fn what_is_asked_of_a_device_that_is_lost_fails_and_is_answered_when_it_is_asked_again() {
		let failing = || Failing { inner: inference(), left: 0, is_lost: Arc::default() };
		let start = |engine| Batcher::start(Box::new(engine), 257, |token| token == END, limits()).unwrap().0;
		let batcher = start(Standby::new(Box::new(failing()), || Ok(Box::new(inference()))));
		assert!(matches!(batcher.embed(vec![97], None).await.unwrap(), Err(InferenceError::Device(_))));
		assert!(batcher.embed(vec![97], None).await.unwrap().is_ok());
		// Where nothing takes its place, nobody waits for an answer.
		let batcher = start(Standby::new(Box::new(failing()), || Err("the folder is gone".into())));
		assert!(matches!(batcher.embed(vec![97], None).await.unwrap(), Err(InferenceError::Device(_))));
		assert!(matches!(batcher.embed(vec![97], None).await, Ok(Err(InferenceError::Device(_))) | Err(Refused::Away)));
		assert_eq!(batcher.embed(vec![97], None).await, Err(Refused::Away));
	}

	#[test]
	fn a_text_that_nobody_waits_for_makes_room_for_others() {
		let batcher = start(Limits { active: 1, ..limits() });
		for _ in 0..20 {
			let (job, replies) = job(&[97; 10], 100, Sampling::default());
			drop(replies);
			batcher.submit(vec![job]).unwrap();
		}
		let (job, replies) = job(&[97], 1, Sampling { temperature: 0.0, ..Sampling::default() });
		batcher.submit(vec![job]).unwrap();
		assert_eq!(all(replies).0.len(), 1);
		assert!(batcher.stats().generated_tokens.get() <= 1 + 20);
	}

	#[test]
	fn a_lookup_finds_what_followed_the_same_words() {
		assert_eq!(lookup(&[1, 2, 3, 4, 5, 1, 2, 3], 2), [4, 5]);
		assert_eq!(lookup(&[1, 2, 3, 4, 5, 1, 2, 3], 9), [4, 5, 1, 2, 3]);
		assert_eq!(lookup(&[7, 7, 7, 7], 4), [7]);
		assert_eq!(lookup(&[1, 2, 3, 1, 2], 4), [] as [u32; 0]);
		assert_eq!(lookup(&[1, 2], 4), [] as [u32; 0]);
	}
}
