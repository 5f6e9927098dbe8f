//! Reading content from mirrors.

use crate::{
	layout::File,
	location::Place,
	rest::{Attempts, Rest},
	FetchFailure, Location, MirrorError, MirrorFailure, PushError,
};
use futures::{stream::BoxStream, StreamExt};
use hyper::body::Bytes;
use neuroshard_store::{parse_hashes, Blob, ContentDescriptor, LeafList, Partial, Store, StoreError, LEAF_BYTES, MAX_NOTE_BYTES};
use neuroshard_support::backoff::Backoff;
use neuroshard_types::H256;
use object_store::{GetOptions, GetRange, RetryConfig};
use std::{
	ops::Range,
	sync::Arc,
	time::{Duration, Instant},
};
use tokio::time::{sleep, timeout};

/// Leaves that are checked and written together: 1 MiB.
const PIECE_LEAVES: u32 = 256;
/// The same in bytes.
const PIECE_BYTES: usize = PIECE_LEAVES as usize * LEAF_BYTES;
/// Bytes of a hash in a leaf list.
const HASH_BYTES: u64 = 32;

/// Timing of reading.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
	/// For a file to be opened.
	pub open: Duration,
	/// For the next piece of 1 MiB to come.
	pub piece: Duration,
	/// Rests between attempts of one fetch.
	pub again: Backoff<Duration>,
	/// Attempts in a row that bring less than 1 MiB and not all, after which a fetch gives a mirror up.
	pub vain: u32,
	/// How long a mirror is left alone that failed.
	pub failed: Backoff<Duration>,
	/// How long one that had something else than what it should have.
	pub lied: Backoff<Duration>,
}

impl Default for Timing {
	fn default() -> Self {
		let seconds = Duration::from_secs;
		Self {
			open: seconds(20),
			// 35 kB a second: a mirror that is slower is no use beside peers.
			piece: seconds(30),
			again: Backoff::new(seconds(1), seconds(8)),
			vain: 3,
			failed: Backoff::new(seconds(15), seconds(600)),
			// As long as a peer that did that, then longer: somebody has to put it right.
			lied: Backoff::new(seconds(600), seconds(6 * 3600)),
		}
	}
}

/// The mirrors that the operator named, in order. Cheap to clone; clones share what is known of them.
#[derive(Clone, Debug, Default)]
pub struct Mirrors {
	mirrors: Arc<[Mirror]>,
}

#[derive(Debug)]
struct Mirror {
	location: Location,
	place: Place,
	timing: Timing,
	rest: Rest,
}

/// Why one mirror did not bring a blob: its fault, or ours.
#[derive(Debug)]
enum Fault {
	Mirror(MirrorError),
	Store(StoreError),
	Ended,
}

impl From<MirrorError> for Fault {
	fn from(error: MirrorError) -> Self {
		Self::Mirror(error)
	}
}

impl From<StoreError> for Fault {
	fn from(error: StoreError) -> Self {
		Self::Store(error)
	}
}

impl Mirrors {
	/// Mirrors at these addresses. Nobody is asked yet. Credentials are those of the environment.
	///
	/// # Errors
	/// [`PushError::Settings`] for settings that do not make a store.
	pub fn open(locations: impl IntoIterator<Item = Location>, timing: Timing) -> Result<Self, PushError> {
		// What fails is tried again here, where what has come is kept.
		let retry = || RetryConfig { max_retries: 0, ..Default::default() };
		let open = |location: Location| match location.open(retry()) {
			Ok(place) => Ok(Mirror { location, place, timing, rest: Rest::default() }),
			Err(error) => Err(PushError::settings(location, &error)),
		};
		Ok(Self { mirrors: locations.into_iter().map(open).collect::<Result<_, _>>()? })
	}

	/// Returns whether none is named.
	pub fn is_empty(&self) -> bool {
		self.mirrors.is_empty()
	}

	/// Brings `content` into the store, or what is lacking of it where it was begun: `partial` is what has come, if the caller holds it. Every leaf is
	/// verified before it is stored. Dropping the future ends it; what has arrived is kept. `report` is told how many leaves are missing.
	///
	/// # Errors
	/// [`FetchFailure::Mirrors`] if none could; what has arrived is kept, and a later fetch from whomever goes on from there.
	pub async fn fetch(
		&self,
		store: &Store,
		content: ContentDescriptor,
		mut partial: Option<Partial>,
		report: impl Fn(u32),
	) -> Result<Blob, FetchFailure> {
		let mut failures = Vec::new();
		for mirror in self.mirrors.iter() {
			let brought = match mirror.awake() {
				Ok(()) => mirror.bring(store, content, &mut partial, &report).await,
				Err(resting) => Err(resting.into()),
			};
			match brought {
				Ok(blob) => return Ok(blob),
				Err(Fault::Mirror(error)) => failures.push(MirrorFailure { location: mirror.location.clone(), error }),
				Err(Fault::Store(error)) => return Err(error.into()),
				Err(Fault::Ended) => return Err(FetchFailure::Ended),
			}
		}
		Err(FetchFailure::Mirrors(failures))
	}

	/// The first note on `root` that `accept` takes.
	///
	/// # Errors
	/// Why each mirror has none.
	pub async fn note<T>(&self, root: H256, accept: impl Fn(&[u8]) -> Option<T>) -> Result<T, Vec<MirrorFailure>> {
		let mut failures = Vec::new();
		for mirror in self.mirrors.iter() {
			let noted = match mirror.awake() {
				Ok(()) => mirror.note(root, &accept).await,
				Err(resting) => Err(resting),
			};
			match noted {
				Ok(accepted) => return Ok(accepted),
				Err(error) => failures.push(MirrorFailure { location: mirror.location.clone(), error }),
			}
		}
		Err(failures)
	}
}

impl Mirror {
	/// Fails while it rests.
	fn awake(&self) -> Result<(), MirrorError> {
		self.rest.left(Instant::now()).map_or(Ok(()), |left| Err(MirrorError::Resting(left)))
	}

	/// Remembers how it did.
	fn judge(&self, error: Option<&MirrorError>) {
		let Some(error) = error else { return self.rest.clear() };
		if error.is_lack() {
			return;
		}
		tracing::warn!("mirror {} {error}. It is left alone for a while; content comes from others meanwhile", self.location);
		self.rest.note(if error.is_lie() { self.timing.lied } else { self.timing.failed }, Instant::now());
	}

	/// Brings what `partial` lacks, which holds what has come also if that fails.
	async fn bring(
		&self,
		store: &Store,
		content: ContentDescriptor,
		partial: &mut Option<Partial>,
		report: &impl Fn(u32),
	) -> Result<Blob, Fault> {
		let brought = self.bring_once(store, content, partial, report).await;
		match &brought {
			Ok(_) => self.judge(None),
			Err(Fault::Mirror(error)) => self.judge(Some(error)),
			Err(Fault::Store(_) | Fault::Ended) => {}
		}
		brought
	}

	async fn bring_once(
		&self,
		store: &Store,
		content: ContentDescriptor,
		partial: &mut Option<Partial>,
		report: &impl Fn(u32),
	) -> Result<Blob, Fault> {
		let mut taken = match partial.take() {
			Some(partial) => partial,
			None => {
				let resuming = store.clone();
				match blocking(move || resuming.resume(content)).await?? {
					Some(partial) => partial,
					None => {
						let list = self.leaf_list(content).await?;
						let store = store.clone();
						blocking(move || store.download(list)).await??
					}
				}
			}
		};
		let mut attempts = Attempts::new(self.timing.again, self.timing.vain);
		report(taken.missing());
		let mut before = taken.missing();
		while let Some(range) = taken.missing_ranges(u32::MAX).into_iter().next() {
			let (returned, outcome) = self.leaves(taken, range, report).await?;
			taken = returned;
			let Err(error) = outcome else { continue };
			let progress = before.saturating_sub(taken.missing()) >= PIECE_LEAVES;
			before = taken.missing();
			match attempts.again(error, progress) {
				Ok(rest) => sleep(rest).await,
				Err(error) => {
					*partial = Some(taken);
					return Err(error.into());
				}
			}
		}
		Ok(blocking(move || taken.finish()).await??)
	}

	/// Reads leaves `range` and stores those that are right, until one is not or none comes. The inner error is the mirror's fault.
	async fn leaves(
		&self,
		mut partial: Partial,
		range: Range<u32>,
		report: &impl Fn(u32),
	) -> Result<(Partial, Result<(), MirrorError>), Fault> {
		let ContentDescriptor { root, leaves } = partial.descriptor();
		let bytes = |leaf: u32| u64::from(leaf) * LEAF_BYTES as u64;
		let mut body = match self.open(File::Bin(root), bytes(range.start)..bytes(range.end), bytes(leaves)).await {
			Ok(body) => body,
			Err(error) => return Ok((partial, Err(error))),
		};
		let (mut buffer, mut next) = (Vec::with_capacity(PIECE_BYTES), range.start);
		while next < range.end {
			let wanted = usize::try_from(bytes(range.end - next)).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
			let filled = self.fill(&mut body, &mut buffer, wanted).await;
			// Whole leaves that came before a break are kept.
			let whole = buffer.len().min(wanted) / LEAF_BYTES * LEAF_BYTES;
			let rest = buffer.split_off(whole);
			let piece = std::mem::replace(&mut buffer, rest);
			let count = u32::try_from(piece.len() / LEAF_BYTES).unwrap_or(PIECE_LEAVES);
			if count > 0 {
				let (returned, written) = blocking(move || {
					let written = partial.write(next, &piece);
					(partial, written)
				})
				.await?;
				partial = returned;
				match written {
					Ok(()) => {}
					Err(StoreError::WrongLeaf { leaf, .. }) => return Ok((partial, Err(MirrorError::CorruptLeaf { leaf }))),
					Err(error) => return Err(error.into()),
				}
				next += count;
				report(partial.missing());
			}
			match filled {
				Ok(true) => {}
				Ok(false) => {
					let found = bytes(next) + buffer.len() as u64;
					let error = MirrorError::Short { file: "a blob", found, expected: bytes(range.end) };
					return Ok((partial, Err(error)));
				}
				Err(error) => return Ok((partial, Err(error))),
			}
		}
		Ok((partial, Ok(())))
	}

	/// The leaf list of `content`.
	async fn leaf_list(&self, content: ContentDescriptor) -> Result<LeafList, Fault> {
		let expected = u64::from(content.leaves) * HASH_BYTES;
		let (mut bytes, mut attempts) = (Vec::new(), Attempts::new(self.timing.again, self.timing.vain));
		loop {
			let before = bytes.len();
			match self.append(File::Leaves(content.root), &mut bytes, expected).await {
				Ok(true) => break,
				Ok(false) => {
					let found = bytes.len() as u64;
					return Err(MirrorError::Short { file: "a leaf list", found, expected }.into());
				}
				Err(error) => sleep(attempts.again(error, bytes.len().saturating_sub(before) >= PIECE_BYTES)?).await,
			}
		}
		let verified = blocking(move || LeafList::verified(content, parse_hashes(&bytes).unwrap_or_default())).await?;
		verified.map_err(|error| match error {
			StoreError::WrongLeafList { .. } => MirrorError::WrongLeafList.into(),
			error => error.into(),
		})
	}

	/// Appends to `bytes` what of the first `total` bytes of a file is lacking. `false` if the file ends before.
	async fn append(&self, file: File, bytes: &mut Vec<u8>, total: u64) -> Result<bool, MirrorError> {
		let mut body = self.open(file, bytes.len() as u64..total, total).await?;
		let total = usize::try_from(total).unwrap_or(usize::MAX);
		while bytes.len() < total {
			let piece = total.min(bytes.len().saturating_add(PIECE_BYTES));
			if !self.fill(&mut body, bytes, piece).await? {
				return Ok(false);
			}
		}
		bytes.truncate(total);
		Ok(true)
	}

	/// The note on `root`, if `accept` takes it.
	async fn note<T>(&self, root: H256, accept: impl Fn(&[u8]) -> Option<T>) -> Result<T, MirrorError> {
		let mut attempts = Attempts::new(self.timing.again, self.timing.vain);
		let noted = loop {
			let mut bytes = Vec::new();
			// Its length is not known: it ends where the file does, or is none.
			let read = async {
				let mut body = self.open(File::Note(root), 0..MAX_NOTE_BYTES as u64, MAX_NOTE_BYTES as u64).await?;
				self.fill(&mut body, &mut bytes, MAX_NOTE_BYTES + 1).await
			};
			match read.await {
				Ok(longer) => break if longer { None } else { accept(&bytes) }.ok_or(MirrorError::WrongNote),
				Err(error) => match attempts.again(error, false) {
					Ok(rest) => sleep(rest).await,
					Err(error) => break Err(error),
				},
			}
		};
		self.judge(noted.as_ref().err());
		noted
	}

	/// Opens `range` of a file of `total` bytes. All of it is asked for without naming a range, which some servers do not know.
	async fn open(
		&self,
		file: File,
		range: Range<u64>,
		total: u64,
	) -> Result<BoxStream<'static, object_store::Result<Bytes>>, MirrorError> {
		let range = (range != (0..total)).then_some(GetRange::Bounded(range));
		let path = file.below(&self.place.prefix);
		let opened = self.place.store.get_opts(&path, GetOptions { range, ..Default::default() });
		let opened = timeout(self.timing.open, opened).await.map_err(|_| MirrorError::Slow(self.timing.open))?;
		Ok(opened.map_err(|error| MirrorError::of(&error))?.into_stream())
	}

	/// Fills `buffer` up to `wanted` bytes; `false` if the body ends before. What came stays there in any case, and may be more by what came together.
	async fn fill(
		&self,
		body: &mut BoxStream<'static, object_store::Result<Bytes>>,
		buffer: &mut Vec<u8>,
		wanted: usize,
	) -> Result<bool, MirrorError> {
		let filling = async {
			while buffer.len() < wanted {
				match body.next().await {
					None => return Ok(false),
					Some(piece) => buffer.extend_from_slice(&piece.map_err(|error| MirrorError::of(&error))?),
				}
			}
			Ok(true)
		};
		timeout(self.timing.piece, filling).await.map_err(|_| MirrorError::Slow(self.timing.piece))?
	}
}

/// Runs `work`, which uses the disk, on a thread where it may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
	neuroshard_support::blocking::blocking(work).await.ok_or(Fault::Ended)
}
