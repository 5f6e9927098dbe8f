//! The store: files and index kept in step.

use crate::{
	index::{Evicted, Index, Space, State},
	layout::{Kind, Layout},
	leaves::{first_difference, leaf_count, parse_hashes, LEAF_BYTES},
	pins::Pins,
	Blob, ContentDescriptor, Disk, LeafList, LocalDisk, Partial, StoreError, Usage,
};
use neuroshard_graph::tiles::leaf_hashes;
use neuroshard_types::H256;
use std::{
	fmt,
	fs::{self, File, TryLockError},
	io::{self, Read},
	path::{Path, PathBuf},
	sync::{
		atomic::{AtomicU64, Ordering},
		Arc, Mutex, MutexGuard, PoisonError,
	},
};

/// Bytes read at a time from a reader: 1 MiB.
const READ_BYTES: usize = 256 * LEAF_BYTES;

/// A content store in a folder of its own. A handle: clones share the store.
#[derive(Clone)]
pub struct Store {
	inner: Arc<Inner>,
}

struct Inner {
	layout: Layout,
	disk: Arc<dyn Disk>,
	index: Mutex<Index>,
	/// Numbers the files in `tmp/`.
	sequence: AtomicU64,
	/// Holds the folder's lock while the store lives.
	_lock: File,
}

impl fmt::Debug for Store {
	fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
		f.debug_struct("Store").field("dir", &self.inner.layout.dir()).finish_non_exhaustive()
	}
}

/// The open files of a download.
pub(super) struct Files {
	pub(super) file: File,
	pub(super) path: PathBuf,
	pub(super) resumed: bool,
}

impl Store {
	/// Opens or creates the store in `dir`, which may take `max_bytes` bytes. Checks every leaf list, drops what is incomplete
	/// and evicts what a lowered limit no longer has room for. Fails if another process uses the folder.
	pub fn open(dir: &Path, max_bytes: u64) -> Result<Self, StoreError> {
		Self::open_on(dir, max_bytes, Arc::new(LocalDisk))
	}

	/// [`Self::open`], writing through `disk`.
	pub fn open_on(dir: &Path, max_bytes: u64, disk: Arc<dyn Disk>) -> Result<Self, StoreError> {
		let layout = Layout::create(dir)?;
		let lock = lock(&layout)?;
		layout.clear_tmp()?;
		let mut index = Index::new(max_bytes, Pins::load(&layout.pins_file())?);
		let mut found = layout.scan()?;
		// The order in which files were written stands for the order of use before this process.
		found.sort_by_key(|found| found.modified);
		for found in found {
			index.insert(found.content, if found.complete { State::Complete } else { State::Paused });
		}
		index.spares = layout.spares()?;
		let evicted = index.shrink(max_bytes);
		let store = Self { inner: Arc::new(Inner { layout, disk, index: Mutex::new(index), sequence: AtomicU64::new(0), _lock: lock }) };
		store.delete(&evicted)?;
		Ok(store)
	}

	/// Stores `bytes`, a positive whole number of 4 KiB leaves, and returns their descriptor. Storing what is there costs a hash.
	pub fn put(&self, bytes: &[u8]) -> Result<ContentDescriptor, StoreError> {
		self.put_list(&LeafList::of(bytes)?, bytes)
	}

	/// [`Self::put`] that pins the blob before anything could evict it.
	pub fn put_pinned(&self, bytes: &[u8], label: &str) -> Result<ContentDescriptor, StoreError> {
		let list = LeafList::of(bytes)?;
		self.pin(list.descriptor().root, label)?;
		self.put_list(&list, bytes)
	}

	fn put_list(&self, list: &LeafList, bytes: &[u8]) -> Result<ContentDescriptor, StoreError> {
		let content = list.descriptor();
		if self.index().touch(content.root).is_some() {
			return Ok(content);
		}
		let room = self.make_room(content)?;
		let data = self.temporary("bin")?;
		data.reserve(content.bytes())?;
		data.write(bytes, 0)?;
		self.install(list, data, room)?;
		Ok(content)
	}

	/// Stores `length` bytes read from `source`, a positive whole number of leaves, without holding them in memory.
	pub fn put_reader(&self, mut source: impl Read, length: u64) -> Result<ContentDescriptor, StoreError> {
		// The root is not known yet; the length is enough to make room.
		let room = self.make_room(ContentDescriptor { root: H256::zero(), leaves: leaf_count(length)? })?;
		let data = self.temporary("bin")?;
		data.reserve(length)?;
		let (mut buffer, mut hashes, mut offset) = (vec![0; READ_BYTES], Vec::new(), 0);
		while offset < length {
			let part = usize::try_from(length - offset).map_or(READ_BYTES, |rest| rest.min(READ_BYTES));
			let part = &mut buffer[..part];
			source.read_exact(part).map_err(|error| StoreError::io("read the source of", &data.path, error))?;
			hashes.extend(leaf_hashes(part, 1));
			data.write(part, offset)?;
			offset += part.len() as u64;
		}
		let list = LeafList::made_of(hashes);
		let content = list.descriptor();
		if self.index().touch(content.root).is_none() {
			self.install(&list, data, room)?;
		}
		Ok(content)
	}

	/// The blob `root`, if it is here and complete. Counts as a use.
	pub fn get(&self, root: H256) -> Result<Option<Blob>, StoreError> {
		// Under the lock, so that the files are not evicted between finding and opening them.
		let mut index = self.index();
		let Some(content) = index.touch(root) else { return Ok(None) };
		match self.open_blob(content) {
			Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
				tracing::warn!(?root, "the files of a blob are gone");
				index.remove(root);
				Ok(None)
			}
			outcome => outcome.map(Some),
		}
	}

	/// Leaves `start..start + count` of `root`, verified.
	pub fn read_leaves(&self, root: H256, start: u32, count: u32) -> Result<Vec<u8>, StoreError> {
		self.get(root)?.ok_or(StoreError::Unknown { root })?.read_leaves(start, count)
	}

	/// Returns whether the complete blob is here. Does not count as a use.
	pub fn contains(&self, root: H256) -> bool {
		matches!(self.index().find(root), Some((_, State::Complete)))
	}

	/// All complete blobs, by root.
	pub fn contents(&self) -> Vec<ContentDescriptor> {
		let mut contents = self.index().complete();
		contents.sort_unstable_by_key(|content| content.root);
		contents
	}

	/// Returns the usage of the store.
	pub fn usage(&self) -> Usage {
		self.index().usage()
	}

	/// Bytes that the file system has left; where it does not say, no less than anybody asks for.
	pub fn free(&self) -> u64 {
		self.disk().free(self.folder()).unwrap_or(u64::MAX)
	}

	/// Starts the download of the blob that `list` describes, or goes on with what an earlier one left behind.
	pub fn download(&self, list: LeafList) -> Result<Partial, StoreError> {
		let content = list.descriptor();
		if let Some(partial) = self.resume(content)? {
			return Ok(partial);
		}
		let room = self.make_room(content)?;
		let mut index = self.index();
		if index.find(content.root).is_some() {
			return Err(StoreError::Busy { root: content.root });
		}
		let files = self.create_part(&list)?;
		room.settle(&mut index);
		index.insert(content, State::Downloading);
		drop(index);
		Partial::new(self.clone(), list, files)
	}

	/// Goes on with a download that was begun earlier, also by an earlier process. `None` if there is none.
	pub fn resume(&self, content: ContentDescriptor) -> Result<Option<Partial>, StoreError> {
		let ContentDescriptor { root, leaves: expected } = content;
		let mut index = self.index();
		let stored = match index.find(root) {
			None | Some((_, State::Complete)) => return Ok(None),
			Some((_, State::Downloading)) => return Err(StoreError::Busy { root }),
			Some((stored, State::Paused)) => stored,
		};
		if stored.leaves != expected {
			return Err(StoreError::LeafCount { root, expected, actual: stored.leaves });
		}
		let path = self.inner.layout.path(root, Kind::Part);
		let file = File::options().read(true).write(true).open(&path).map_err(|error| StoreError::io("open", &path, error));
		let (Ok(file), Ok(Some(list))) = (file, self.inner.layout.read_list(root)) else {
			// Damaged since the store was opened: begin anew.
			index.remove(root);
			self.inner.layout.remove(root, &[Kind::Part, Kind::Leaves])?;
			return Ok(None);
		};
		index.insert(content, State::Downloading);
		drop(index);
		Partial::new(self.clone(), list, Files { file, path, resumed: true }).map(Some)
	}

	/// Keeps `root` from being evicted for the sake of `label`, also across restarts. It need not be here yet.
	pub fn pin(&self, root: H256, label: &str) -> Result<(), StoreError> {
		self.pin_all([root], label)
	}

	/// [`Self::pin`] for many roots at once.
	pub fn pin_all(&self, roots: impl IntoIterator<Item = H256>, label: &str) -> Result<(), StoreError> {
		self.change_pins(|pins| roots.into_iter().fold(false, |changed, root| pins.add(root, label) | changed))
	}

	/// Takes `label` off `root`, which may be evicted once it has no label left.
	pub fn unpin(&self, root: H256, label: &str) -> Result<(), StoreError> {
		self.change_pins(|pins| pins.take(root, label))
	}

	/// Takes `label` off everything that carries it.
	pub fn unpin_label(&self, label: &str) -> Result<(), StoreError> {
		self.change_pins(|pins| pins.with_label(label).into_iter().fold(false, |changed, root| pins.take(root, label) | changed))
	}

	/// Roots that carry `label`.
	pub fn pinned(&self, label: &str) -> Vec<H256> {
		self.index().pins.with_label(label)
	}

	/// All labels in use, each once.
	pub fn labels(&self) -> Vec<String> {
		self.index().pins.labels()
	}

	/// On a full disk the change holds until the process ends, or is written with the next one: without it nothing could be evicted there,
	/// and nothing that is here be used.
	fn change_pins(&self, change: impl FnOnce(&mut Pins) -> bool) -> Result<(), StoreError> {
		let mut index = self.index();
		let mut pins = index.pins.clone();
		if change(&mut pins) {
			match self.write_pins(&pins) {
				Err(error @ StoreError::DiskFull { .. }) => tracing::warn!("what is kept is not noted for the next start: {error}"),
				written => written?,
			}
			index.pins = pins;
		}
		Ok(())
	}

	fn write_pins(&self, pins: &Pins) -> Result<(), StoreError> {
		let file = self.temporary("pins")?;
		file.write(&pins.to_json(), 0)?;
		file.keep_as(&self.inner.layout.pins_file())
	}

	/// Folder of the store.
	pub(super) fn folder(&self) -> &Path {
		self.inner.layout.dir()
	}

	pub(super) fn disk(&self) -> &dyn Disk {
		&*self.inner.disk
	}

	/// Removes blob or download `root` and its files.
	pub(super) fn discard(&self, root: H256) {
		let mut index = self.index();
		index.remove(root);
		if let Err(error) = self.inner.layout.remove(root, &[Kind::Bin, Kind::Part, Kind::Leaves]) {
			tracing::warn!(%error, "a dropped blob leaves files behind");
		}
	}

	/// Notes that nobody works on the download of `root` any more.
	pub(super) fn pause(&self, root: H256) {
		self.index().pause(root);
	}

	/// Makes the synced download at `part` the blob `content`.
	pub(super) fn complete(&self, content: ContentDescriptor, part: &Path) -> Result<Blob, StoreError> {
		let path = self.inner.layout.path(content.root, Kind::Bin);
		let mut index = self.index();
		self.disk().rename(part, &path).map_err(|error| StoreError::writing(&path, 0, error))?;
		index.insert(content, State::Complete);
		self.open_blob(content)
	}

	fn open_blob(&self, content: ContentDescriptor) -> Result<Blob, StoreError> {
		let open = |kind| {
			let path = self.inner.layout.path(content.root, kind);
			File::open(&path).map(|file| (file, path.clone())).map_err(|error| StoreError::io("open", &path, error))
		};
		let ((data, path), (list, _)) = (open(Kind::Bin)?, open(Kind::Leaves)?);
		Ok(Blob::new(self.clone(), content, data, list, path))
	}

	/// Gives complete files their final names and enters the blob into the index.
	fn install(&self, list: &LeafList, data: Temporary, room: Room) -> Result<(), StoreError> {
		let content = list.descriptor();
		self.inner.layout.create_parent(content.root)?;
		let leaves = self.temporary("leaves")?;
		leaves.write(list.as_bytes(), 0)?;
		data.sync()?;
		// One thread at a time gives files their final names, so that the index always knows what is on disk.
		let mut index = self.index();
		let before = index.find(content.root);
		leaves.keep_as(&self.inner.layout.path(content.root, Kind::Leaves))?;
		if let Err(error) = data.keep_as(&self.inner.layout.path(content.root, Kind::Bin)) {
			self.remove_orphan(content.root, before.is_some());
			return Err(error);
		}
		if let Some((_, State::Paused)) = before {
			self.inner.layout.remove(content.root, &[Kind::Part])?;
		}
		room.settle(&mut index);
		index.insert(content, State::Complete);
		Ok(())
	}

	/// Removes a leaf list whose blob could not be installed, unless an older entry needs it.
	fn remove_orphan(&self, root: H256, needed: bool) {
		if !needed {
			if let Err(error) = self.inner.layout.remove(root, &[Kind::Leaves]) {
				tracing::warn!(%error, "a leaf list without its blob stays behind until the next start");
			}
		}
	}

	/// Creates the files of a new download at full length. Leaves nothing behind if that fails.
	fn create_part(&self, list: &LeafList) -> Result<Files, StoreError> {
		let content = list.descriptor();
		self.inner.layout.create_parent(content.root)?;
		let leaves = self.temporary("leaves")?;
		leaves.write(list.as_bytes(), 0)?;
		let data = self.temporary("part")?;
		data.reserve(content.bytes())?;
		let file = data.file.try_clone().map_err(|error| StoreError::io("open", &data.path, error))?;
		let path = self.inner.layout.path(content.root, Kind::Part);
		leaves.keep_as(&self.inner.layout.path(content.root, Kind::Leaves))?;
		if let Err(error) = data.keep_as(&path) {
			self.remove_orphan(content.root, false);
			return Err(error);
		}
		Ok(Files { file, path, resumed: false })
	}

	/// Sets room for `content` aside until the returned value is dropped, evicting what must go.
	fn make_room(&self, content: ContentDescriptor) -> Result<Room, StoreError> {
		let bytes = content.disk_bytes();
		let mut index = self.index();
		let evicted = index.reserve(bytes, &Space { folder: self.folder(), free: self.free() })?;
		let outcome = self.delete(&evicted);
		drop(index);
		let room = Room { store: self.clone(), bytes };
		outcome.map(|()| room)
	}

	pub(super) fn delete(&self, evicted: &Evicted) -> Result<(), StoreError> {
		for root in &evicted.blobs {
			tracing::debug!(?root, "evicting a blob");
			self.inner.layout.remove(*root, &[Kind::Bin, Kind::Part, Kind::Leaves])?;
		}
		for name in &evicted.spares {
			self.inner.layout.remove_spare(name)?;
		}
		Ok(())
	}

	pub(super) fn layout(&self) -> &Layout {
		&self.inner.layout
	}

	pub(super) fn temporary(&self, extension: &str) -> Result<Temporary, StoreError> {
		let number = self.inner.sequence.fetch_add(1, Ordering::Relaxed);
		let path = self.inner.layout.tmp().join(format!("{number}.{extension}"));
		let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
		let file = file.map_err(|error| StoreError::writing(&path, 0, error))?;
		Ok(Temporary { file, path, disk: self.inner.disk.clone(), kept: false })
	}

	pub(super) fn index(&self) -> MutexGuard<'_, Index> {
		// The index has no half-made states that a panic could expose.
		self.inner.index.lock().unwrap_or_else(PoisonError::into_inner)
	}
}

/// Room set aside in the index.
pub(super) struct Room {
	pub(super) store: Store,
	pub(super) bytes: u64,
}

impl Room {
	/// Gives the room back to `index`, which is about to count what fills it.
	pub(super) fn settle(mut self, index: &mut Index) {
		index.release(std::mem::take(&mut self.bytes));
	}
}

impl Drop for Room {
	fn drop(&mut self) {
		// Settled room must not lock the index again: its owner holds it.
		if self.bytes != 0 {
			self.store.index().release(self.bytes);
		}
	}
}

/// A file in `tmp/`, removed unless it is given a final name.
pub(super) struct Temporary {
	file: File,
	path: PathBuf,
	disk: Arc<dyn Disk>,
	kept: bool,
}

impl Temporary {
	pub(super) fn reserve(&self, bytes: u64) -> Result<(), StoreError> {
		self.disk.reserve(&self.file, bytes).map_err(|error| StoreError::writing(&self.path, bytes, error))
	}

	pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
		self.disk.write_at(&self.file, bytes, offset).map_err(|error| StoreError::writing(&self.path, bytes.len() as u64, error))
	}

	pub(super) fn sync(&self) -> Result<(), StoreError> {
		self.disk.sync(&self.file).map_err(|error| StoreError::writing(&self.path, 0, error))
	}

	pub(super) fn keep_as(mut self, path: &Path) -> Result<(), StoreError> {
		self.sync()?;
		self.disk.rename(&self.path, path).map_err(|error| StoreError::writing(path, 0, error))?;
		self.kept = true;
		Ok(())
	}
}

impl Drop for Temporary {
	fn drop(&mut self) {
		if !self.kept {
			// Whatever stays is removed when the store is opened next.
			let _ = fs::remove_file(&self.path);
		}
	}
}

fn lock(layout: &Layout) -> Result<File, StoreError> {
	let path = layout.lock_file();
	let file = File::options().write(true).create(true).truncate(false).open(&path);
	let file = file.map_err(|error| StoreError::io("open", &path, error))?;
	match file.try_lock() {
		Ok(()) => Ok(file),
		Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: layout.dir().to_owned() }),
		Err(TryLockError::Error(error)) => Err(StoreError::io("lock", &path, error)),
	}
}

/// Where the bytes of blob `root` of the store in `dir` are, once it is complete: for whoever reads a part of them, and compares them with the root themselves.
pub fn blob_path(dir: &Path, root: H256) -> PathBuf {
	Layout::at(dir).path(root, Kind::Bin)
}

/// All bytes of blob `root` of the store in `dir`, verified, while another process may be using that store.
pub fn read_blob(dir: &Path, root: H256) -> Result<Vec<u8>, StoreError> {
	let layout = Layout::at(dir);
	let read = |kind| {
		let path = layout.path(root, kind);
		match fs::read(&path) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::Unknown { root }),
			outcome => outcome.map_err(|error| StoreError::io("read", &path, error)),
		}
	};
	let (bytes, hashes) = (read(Kind::Bin)?, read(Kind::Leaves)?);
	let leaves = leaf_count(bytes.len() as u64)?;
	let list = LeafList::verified(ContentDescriptor { root, leaves }, parse_hashes(&hashes).ok_or(StoreError::WrongLeafList { root })?)?;
	match first_difference(0, &bytes, list.hashes()) {
		None => Ok(bytes),
		Some(leaf) => Err(StoreError::WrongLeaf { root, leaf }),
	}
}
