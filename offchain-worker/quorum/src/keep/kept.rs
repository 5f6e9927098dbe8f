//! What was kept of an attempt at an interval, and the defence that it makes.

use super::{seam_path, step_path, KeepError};
use crate::{
	member::Place,
	message::{Rows, Sums},
};
use codec::DecodeAll;
use neuroshard_compute::{
	exec::Exec,
	player::{GivenStep, SpanStory},
	trace::TraceError,
};
use neuroshard_graph::{
	game::{Record, Signature},
	span::{given, put_sums, sums, Held, Seam, Span},
};
use std::{
	fs::{self, File},
	io::{BufReader, ErrorKind, Read},
	path::{Path, PathBuf},
	sync::Arc,
};

/// Bytes of what is no numbers, at most.
const MOST: u64 = 16 << 20;
/// Bytes of a signature.
const SIGNED: u64 = 65;

/// Why a member cannot defend itself by what it kept.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DefenceError {
	/// What was kept.
	#[error(transparent)]
	Keep(#[from] KeepError),
	/// The configuration.
	#[error(transparent)]
	Trace(#[from] TraceError),
	/// The place has no span in the quorum.
	#[error("the quorum has no member number {0}, or its span is of another model")]
	Place(usize),
	/// The base of an adapter is not given, or that of another span.
	#[error("the member's span has {expected} numbers of the model that the adapter is beside where {found} are given; load its part of the base")]
	Base {
		/// Numbers that the span has; none without an adapter.
		expected: usize,
		/// Numbers that are given.
		found: usize,
	},
}

/// What was kept of an attempt at an interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
	folder: PathBuf,
	first: u32,
}

/// Reads numbers by their bits.
fn numbers(from: &mut impl Read, path: &Path, count: usize) -> Result<Vec<u32>, KeepError> {
	let mut bytes = [0; 4];
	let mut read = || {
		from.read_exact(&mut bytes).map_err(|error| failed(path, &error))?;
		Ok(u32::from_le_bytes(bytes))
	};
	// As many as the file has, or a place asks for: a vector that grows takes up to three times as much.
	let mut numbers = Vec::with_capacity(count);
	for _ in 0..count {
		numbers.push(read()?);
	}
	Ok(numbers)
}

fn failed(path: &Path, error: &std::io::Error) -> KeepError {
	match error.kind() {
		ErrorKind::UnexpectedEof => KeepError::Malformed(path.into()),
		_ => KeepError::of(path, error),
	}
}

/// A file that has to have so many bytes.
fn open(path: &Path, bytes: u64) -> Result<BufReader<File>, KeepError> {
	let file = File::open(path).map_err(|error| failed(path, &error))?;
	let found = file.metadata().map_err(|error| failed(path, &error))?.len();
	match found == bytes {
		true => Ok(BufReader::with_capacity(1 << 16, file)),
		false => Err(KeepError::Malformed(path.into())),
	}
}

/// Reads what a file of at most so many bytes says.
pub(crate) fn decode<T: DecodeAll>(path: &Path, most: u64) -> Result<T, KeepError> {
	let mut bytes = Vec::new();
	let file = File::open(path).map_err(|error| failed(path, &error))?;
	file.take(most).read_to_end(&mut bytes).map_err(|error| failed(path, &error))?;
	T::decode_all(&mut &bytes[..]).map_err(|_| KeepError::Malformed(path.into()))
}

fn size(count: u64) -> usize {
	usize::try_from(count).unwrap_or(usize::MAX)
}

/// The place's own span.
fn span(place: &Place) -> Result<Span, DefenceError> {
	place.spans.get(place.member).copied().ok_or(DefenceError::Place(place.member))
}

impl Kept {
	pub(super) fn new(folder: PathBuf, first: u32) -> Self {
		Self { folder, first }
	}

	/// First inner step of the interval.
	pub fn first(&self) -> u32 {
		self.first
	}

	/// Whether the member has signed a record about it.
	pub fn has_ended(&self) -> bool {
		self.folder.join("record").exists()
	}

	/// What it has signed.
	///
	/// # Errors
	/// [`KeepError`], also if the attempt has not ended.
	pub fn record(&self) -> Result<(Record, Signature), KeepError> {
		decode(&self.folder.join("record"), MOST)
	}

	/// Parameters, first and second moments of the member's span before the interval.
	///
	/// # Errors
	/// [`DefenceError`].
	pub fn start(&self, place: &Place) -> Result<[Vec<f32>; 3], DefenceError> {
		let held = Held::new(&place.model, place.train.adapter, span(place)?).map_err(|_| DefenceError::Place(place.member))?;
		let len = held.layout.len();
		let vector = |vector: usize| {
			let path = self.folder.join(format!("start-{vector}"));
			let bits = numbers(&mut open(&path, 4 * len as u64)?, &path, len)?;
			Ok(bits.into_iter().map(f32::from_bits).collect())
		};
		let read = || Ok([vector(0)?, vector(1)?, vector(2)?]);
		read().map_err(DefenceError::Keep)
	}

	/// What the member was given in a step at a seam, micro-batch by micro-batch, with the sender's signatures: what it shows who says that it was given
	/// something else.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn rows(&self, place: &Place, step: u32, seam: Seam) -> Result<Vec<Rows>, KeepError> {
		let rows = u64::from(place.micro_batch).saturating_mul(place.train.seq_len.into());
		let len = rows.saturating_mul(place.model.dim.into());
		let micros = place.train.batch.checked_div(place.micro_batch).unwrap_or_default();
		let path = seam_path(&self.folder, step, seam);
		let mut file = open(&path, len.saturating_mul(4).saturating_add(SIGNED).saturating_mul(micros.into()))?;
		let mut next = |micro| {
			let numbers = numbers(&mut file, &path, size(len))?.into_iter().map(f32::from_bits).collect();
			let mut signature = [0; 65];
			file.read_exact(&mut signature).map_err(|error| failed(&path, &error))?;
			Ok(Rows { step, micro, seam, numbers, signature })
		};
		(0..micros).map(&mut next).collect()
	}

	/// What all members told in a step, by number, with their signatures.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn sums(&self, step: u32) -> Result<Vec<Sums>, KeepError> {
		decode(&step_path(&self.folder, step, "sums"), MOST)
	}

	/// All that the member was given in a step.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn given(&self, place: &Place, step: u32) -> Result<GivenStep, KeepError> {
		let (model, adapter) = (&place.model, place.train.adapter.is_some());
		let own = place.spans.get(place.member).copied();
		let rows = own.into_iter().flat_map(|own| given(model, adapter, own)).map(|seam| {
			let rows = self.rows(place, step, seam)?;
			Ok(rows.into_iter().flat_map(|rows| rows.numbers).collect())
		});
		let rows = rows.collect::<Result<_, KeepError>>()?;
		let mut all = vec![0.0; size(sums(model, adapter).into())];
		let told = self.sums(step)?;
		if told.len() != place.spans.len() {
			return Err(KeepError::Malformed(step_path(&self.folder, step, "sums")));
		}
		for (&span, told) in place.spans.iter().zip(told) {
			put_sums(model, adapter, span, &told.squares, &mut all);
		}
		let count = u64::from(place.train.batch).saturating_mul(u64::from(place.train.seq_len).saturating_add(1));
		let path = step_path(&self.folder, step, "tokens");
		let tokens = match place.reads_tokens() {
			true => numbers(&mut open(&path, count.saturating_mul(4))?, &path, size(count))?,
			// None are read: it needs no right ones.
			false => vec![0; size(count)],
		};
		Ok(GivenStep { tokens, rows, sums: all })
	}

	/// The member's side of a game about the interval: of an adapter with its part of the base, which is not kept. One step at a time is read into memory, and
	/// the state twice.
	///
	/// # Errors
	/// [`DefenceError`].
	pub fn story(&self, exec: Arc<Exec>, place: &Place, base: Option<Vec<f32>>) -> Result<SpanStory<KeepError>, DefenceError> {
		let (record, _) = self.record()?;
		let beside =
			place.train.adapter.map(|_| Held::new(&place.model, None, span(place)?).map_err(|_| DefenceError::Place(place.member)));
		let (expected, found) = (beside.transpose()?.map_or(0, |held| held.layout.len()), base.as_ref().map_or(0, Vec::len));
		if expected != found {
			return Err(DefenceError::Base { expected, found });
		}
		let (kept, of, first) = (self.clone(), place.clone(), record.first);
		let read = move |step: u32| kept.given(&of, first.saturating_add(step));
		let start = (self.start(place)?, base);
		let of = (&place.model, &place.train, span(place)?);
		Ok(SpanStory::kept(exec, of, place.round, start, (record, Box::new(read)))?)
	}

	/// Forgets this attempt.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn remove(self) -> Result<(), KeepError> {
		fs::remove_dir_all(&self.folder).map_err(|error| KeepError::of(&self.folder, &error))
	}
}
