//! Writing content to a mirror.

use crate::{client::COMPLETION, layout::File, location::Place, Location, MirrorError, MirrorFailure, PushError};
use hyper::body::Bytes;
use neuroshard_graph::{merkle::merkle_root, tiles::leaf_hashes, Hash};
use neuroshard_store::{ContentDescriptor, LEAF_BYTES};
use neuroshard_types::H256;
use object_store::{path::Path, MultipartUpload, ObjectStoreExt, PutPayload, RetryConfig};
use std::{
	future::Future,
	io::{self, Cursor, Read},
	time::Duration,
};
use tokio::time::timeout;

/// Bytes that are sent together: 8 MiB. Of the 10,000 parts that object stores allow, the largest blob takes 8,192.
const PART: usize = 8 << 20;
/// For one request to be done, attempts included.
const REQUEST: Duration = COMPLETION;
/// How long one request is tried anew.
const RETRIES: Duration = Duration::from_secs(180);

/// A mirror that content is pushed to.
#[derive(Clone, Debug)]
pub struct Target {
	pub(crate) location: Location,
	pub(crate) place: Place,
}

impl Target {
	/// The mirror at `location`. Nobody is asked yet. Credentials are those of the environment.
	///
	/// # Errors
	/// [`PushError::ReadOnly`], [`PushError::Settings`].
	pub fn open(location: Location) -> Result<Self, PushError> {
		if !location.takes() {
			return Err(PushError::ReadOnly(location));
		}
		let place = location.open(RetryConfig { max_retries: 5, retry_timeout: RETRIES, ..Default::default() });
		match place {
			Ok(place) => Ok(Self { location, place }),
			Err(error) => Err(PushError::settings(location, &error)),
		}
	}

	/// Sends the blob `content`, unless it is there with the right length, and says how many bytes that took. `open` gives its bytes from the
	/// beginning, and is called again to send what was hashed before. The leaf list comes last: where it is, the blob is whole.
	///
	/// # Errors
	/// [`PushError::Root`] if the bytes are not those of `content`.
	pub async fn blob<R: Read + Send + 'static>(
		&self,
		content: ContentDescriptor,
		open: impl Fn() -> io::Result<R>,
	) -> Result<u64, PushError> {
		let (bin, leaves) = (File::Bin(content.root), File::Leaves(content.root));
		let list_bytes = content.disk_bytes() - content.bytes();
		let (has_bin, has_list) = (self.has(bin, content.bytes()).await?, self.has(leaves, list_bytes).await?);
		if has_bin && has_list {
			return Ok(0);
		}
		let source = open()?;
		let hashes = blocking(move || hashes_of(source, content)).await??;
		let mut sent = 0;
		if !has_bin {
			self.send(bin, open()?, content.bytes(), &hashes, content.root).await?;
			sent += content.bytes();
		}
		if !has_list {
			let bytes = Cursor::new(hashes.as_flattened().to_vec());
			self.send(leaves, bytes, list_bytes, &[], content.root).await?;
			sent += list_bytes;
		}
		Ok(sent)
	}

	/// Sends the note on `root`, unless one of that length is there, and says how many bytes that took. To be called after what it names is sent.
	///
	/// # Errors
	/// [`PushError::Mirror`].
	pub async fn note(&self, root: H256, note: &[u8]) -> Result<u64, PushError> {
		let (file, bytes) = (File::Note(root), note.len() as u64);
		if self.has(file, bytes).await? {
			return Ok(0);
		}
		self.send(file, Cursor::new(note.to_vec()), bytes, &[], root).await?;
		Ok(bytes)
	}

	/// Returns whether a file is there, with so many bytes.
	async fn has(&self, file: File, bytes: u64) -> Result<bool, PushError> {
		let path = self.path(file);
		match self.request(self.place.store.head(&path)).await {
			Ok(found) => Ok(found.size == bytes),
			// Whoever may not list or read a store may write to it.
			Err(PushError::Mirror(failure)) if failure.error.is_lack() => Ok(false),
			Err(error) => Err(error),
		}
	}

	/// Sends a file of `length` bytes, which takes its place when it is whole. Its leaves must be those of `hashes`, if that names any.
	async fn send<R: Read + Send + 'static>(
		&self,
		file: File,
		mut source: R,
		length: u64,
		hashes: &[Hash],
		root: H256,
	) -> Result<(), PushError> {
		let path = self.path(file);
		let mut left = length;
		let mut expected = hashes;
		let mut next = |source: R| {
			let part = usize::try_from(left).map_or(PART, |left| left.min(PART));
			left = left.saturating_sub(part as u64);
			let (these, rest) = expected.split_at(expected.len().min(part / LEAF_BYTES));
			expected = rest;
			read_part(source, part, these.to_vec(), root)
		};
		if length <= PART as u64 {
			let (_, part) = next(source).await?;
			return self.begun(self.request(self.place.store.put(&path, PutPayload::from_bytes(part))).await).map(drop);
		}
		let parts = length.div_ceil(PART as u64);
		let mut upload = self.begun(self.request(self.place.store.put_multipart(&path)).await)?;
		let sending = async {
			for _ in 0..parts {
				let (back, part) = next(source).await?;
				source = back;
				self.request(upload.put_part(PutPayload::from_bytes(part))).await?;
			}
			self.request(upload.complete()).await.map(drop)
		};
		let sent = match sending.await {
			// The store does not know the upload any more. An attempt before may have completed it.
			Err(PushError::Mirror(failure)) if failure.error == MirrorError::Absent => match self.has(file, length).await {
				Ok(true) => Ok(()),
				Ok(false) => Err(self.failure(MirrorError::Failed("it does not know the upload any more: push again".into()))),
				Err(error) => Err(error),
			},
			sent => sent,
		};
		if sent.is_err() {
			// What the store keeps of it would be paid for. Whether it works, the error above is what matters.
			let _ = self.request(upload.abort()).await;
		}
		sent
	}

	fn path(&self, file: File) -> Path {
		file.below(&self.place.prefix)
	}

	/// What came of a request that needs nothing but a bucket.
	fn begun<T>(&self, done: Result<T, PushError>) -> Result<T, PushError> {
		match done {
			Err(PushError::Mirror(failure)) if failure.error == MirrorError::Absent => Err(PushError::NoBucket(self.location.clone())),
			done => done,
		}
	}

	/// One request to the store, in bounded time.
	async fn request<T>(&self, request: impl Future<Output = object_store::Result<T>>) -> Result<T, PushError> {
		let error = match timeout(REQUEST, request).await {
			Ok(Ok(done)) => return Ok(done),
			Ok(Err(error)) => MirrorError::of(&error),
			Err(_) => MirrorError::Slow(REQUEST),
		};
		Err(self.failure(error))
	}

	fn failure(&self, error: MirrorError) -> PushError {
		MirrorFailure { location: self.location.clone(), error }.into()
	}
}

/// Reads the next `bytes` bytes of `source`, whose leaves must be those of `hashes`, if that names any.
async fn read_part<R: Read + Send + 'static>(
	mut source: R,
	bytes: usize,
	hashes: Vec<Hash>,
	expected: H256,
) -> Result<(R, Bytes), PushError> {
	blocking(move || {
		let mut part = vec![0; bytes];
		source.read_exact(&mut part)?;
		let found = if hashes.is_empty() { Vec::new() } else { leaf_hashes(&part, 1) };
		match found == hashes {
			true => Ok((source, Bytes::from(part))),
			false => Err(PushError::Root { found: H256(merkle_root(&found)), expected }),
		}
	})
	.await?
}

/// The leaf hashes of all bytes of `source`, which must be those of `content`. Blocks.
fn hashes_of(mut source: impl Read, content: ContentDescriptor) -> Result<Vec<Hash>, PushError> {
	let (mut hashes, mut left) = (Vec::new(), content.bytes());
	let mut buffer = vec![0; PART];
	while left > 0 {
		let part = usize::try_from(left).map_or(PART, |left| left.min(PART));
		let part = &mut buffer[..part];
		source.read_exact(part)?;
		hashes.extend(leaf_hashes(part, 1));
		left -= part.len() as u64;
	}
	let found = H256(merkle_root(&hashes));
	match found == content.root {
		true => Ok(hashes),
		false => Err(PushError::Root { found, expected: content.root }),
	}
}

/// Runs `work`, which uses the disk, on a thread where it may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, PushError> {
	neuroshard_support::blocking::blocking(work).await.ok_or(PushError::Ended)
}
