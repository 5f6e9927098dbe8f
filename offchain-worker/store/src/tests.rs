//! Behaviour of the store, with real files in a temporary folder.

use super::*;
use neuroshard_types::H256;
use proptest::prelude::*;
use std::{
	fs::{self, File},
	io,
	os::unix::fs::FileExt,
	path::{Path, PathBuf},
	sync::{
		atomic::{AtomicU64, Ordering},
		Arc,
	},
};

const PLENTY: u64 = 1 << 30;
/// Bytes on disk of a blob of one leaf.
const ONE: u64 = 4096 + 32;

/// `leaves` leaves that differ from each other and between seeds.
fn bytes(seed: u8, leaves: usize) -> Vec<u8> {
	(0..leaves * LEAF_BYTES).map(|at| (at / LEAF_BYTES * 31 + at % 251) as u8 ^ seed.wrapping_mul(157)).collect()
}

fn hash(bytes: &[u8]) -> [u8; 32] {
	*blake2b_simd::Params::new().hash_length(32).hash(bytes).as_bytes().first_chunk().unwrap()
}

fn open(dir: &Path) -> Store {
	Store::open(dir, PLENTY).unwrap()
}

/// All files below `dir`, without the lock and the pins.
fn files(dir: &Path) -> Vec<PathBuf> {
	let mut found = Vec::new();
	for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
		match entry.is_dir() {
			true => found.extend(files(&entry)),
			false if ["store.lock", "pins.json"].iter().any(|name| entry.ends_with(name)) => {}
			false => found.push(entry),
		}
	}
	found
}

fn file_of(dir: &Path, root: H256, extension: &str) -> PathBuf {
	let name = hex::encode(root.0);
	dir.join("blobs").join(&name[..2]).join(format!("{name}.{extension}"))
}

#[test]
fn a_blob_is_named_by_the_tree_over_its_leaves_and_survives_a_restart() {
	let dir = tempfile::tempdir().unwrap();
	let data = bytes(1, 3);
	let leaf = |at: usize| {
		let quarters: Vec<u8> = data[at * 4096..][..4096].chunks(1024).flat_map(hash).collect();
		hash(&quarters)
	};
	let pair = hash(&[leaf(0), leaf(1)].concat());
	let root = H256(hash(&[pair, leaf(2)].concat()));

	let content = open(dir.path()).put(&data).unwrap();
	assert_eq!(content, ContentDescriptor { root, leaves: 3 });
	let store = open(dir.path());
	assert_eq!(store.get(root).unwrap().unwrap().bytes().unwrap(), data);
	assert_eq!(store.read_leaves(root, 1, 2).unwrap(), data[4096..]);
	assert_eq!(store.usage(), Usage { blobs: 1, bytes: 3 * ONE, kept: 0, limit: PLENTY });
	assert_eq!(store.contents(), vec![content]);
	assert!(store.get(H256::zero()).unwrap().is_none());
}

#[test]
fn a_reader_gives_the_same_blob_as_bytes_do_and_a_short_one_leaves_nothing() {
	let dir = tempfile::tempdir().unwrap();
	let store = open(dir.path());
	let data = bytes(2, 300);
	let short = store.put_reader(&data[..4096], data.len() as u64).unwrap_err();
	assert!(matches!(&short, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::UnexpectedEof), "{short}");
	assert_eq!((files(dir.path()), store.usage().bytes), (vec![], 0));
	let read = store.put_reader(data.as_slice(), data.len() as u64).unwrap();
	assert_eq!(read, LeafList::of(&data).unwrap().descriptor());
	assert_eq!(store.put(&data).unwrap(), read);
	assert_eq!(store.usage().blobs, 1);
}

#[test]
fn what_is_not_whole_leaves_is_refused() {
	let dir = tempfile::tempdir().unwrap();
	let store = open(dir.path());
	for length in [0, 1, 4095, 4097] {
		assert!(matches!(store.put(&vec![0; length]), Err(StoreError::Unaligned { bytes }) if bytes == length as u64));
	}
	assert!(matches!(store.put_reader(io::empty(), 1 << 60), Err(StoreError::TooLarge { .. })));
	assert_eq!(files(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn ranges_outside_a_blob_are_refused() {
	let dir = tempfile::tempdir().unwrap();
	let store = open(dir.path());
	let content = store.put(&bytes(1, 2)).unwrap();
	let blob = store.get(content.root).unwrap().unwrap();
	for (start, count) in [(0, 3), (2, 1), (1, u32::MAX), (u32::MAX, 1)] {
		assert!(matches!(blob.read_leaves(start, count), Err(StoreError::OutOfRange { .. })), "{start} {count}");
		assert!(matches!(blob.read_hashes(start, count), Err(StoreError::OutOfRange { .. })), "{start} {count}");
	}
}

#[test]
fn a_blob_damaged_on_disk_is_noticed_dropped_and_can_be_stored_again() {
	let dir = tempfile::tempdir().unwrap();
	let store = open(dir.path());
	let data = bytes(1, 4);
	let root = store.put(&data).unwrap().root;
	let file = File::options().write(true).open(file_of(dir.path(), root, "bin")).unwrap();
	file.write_all_at(&[data[2 * 4096 + 7] ^ 1], 2 * 4096 + 7).unwrap();
	assert_eq!(store.read_leaves(root, 0, 2).unwrap(), data[..2 * 4096]);
	assert!(matches!(store.read_leaves(root, 1, 3), Err(StoreError::Damaged { leaf: 2, .. })));
	assert!(!store.contains(root));
	assert_eq!(files(dir.path()), Vec::<PathBuf>::new());
	store.put(&data).unwrap();
	assert_eq!(store.read_leaves(root, 0, 4).unwrap(), data);
}

#[test]
fn what_a_crash_leaves_behind_is_cleared_away_and_foreign_files_stay() {
	let dir = tempfile::tempdir().unwrap();
	let store = open(dir.path());
	let [short, listless, wrong, sound] = [1, 2, 3, 4].map(|seed| store.put(&bytes(seed, 2)).unwrap().root);
	drop(store);
	File::options().write(true).open(file_of(dir.path(), short, "bin")).unwrap().set_len(4096).unwrap();
	fs::remove_file(file_of(dir.path(), listless, "leaves")).unwrap();
	fs::write(file_of(dir.path(), wrong, "leaves"), [9; 64]).unwrap();
	fs::write(dir.path().join("tmp/5.bin"), b"half").unwrap();
	let foreign = dir.path().join("blobs/notes.txt");
	fs::write(&foreign, b"mine").unwrap();

	let store = open(dir.path());
	assert_eq!(store.contents().iter().map(|content| content.root).collect::<Vec<_>>(), vec![sound]);
	let mut left = files(dir.path());
	left.sort();
	let mut expected = vec![file_of(dir.path(), sound, "bin"), file_of(dir.path(), sound, "leaves"), foreign];
	expected.sort();
	assert_eq!(left, expected);
}

#[test]
fn one_process_at_a_time_uses_a_folder_but_others_may_read_single_blobs() {
	let dir = tempfile::tempdir().unwrap();
	let store = open(dir.path());
	let data = bytes(1, 2);
	let root = store.put(&data).unwrap().root;
	let error = Store::open(dir.path(), PLENTY).unwrap_err();
	assert!(error.to_string().contains("in use by another neuroshard-worker"), "{error}");
	assert_eq!(read_blob(dir.path(), root).unwrap(), data);
	assert!(matches!(read_blob(dir.path(), H256::zero()), Err(StoreError::Unknown { .. })));
	drop(store);
	open(dir.path());
}

#[test]
fn a_download_resumes_after_a_restart_with_exactly_what_is_sound() {
	let dir = tempfile::tempdir().unwrap();
	let data = bytes(7, 10);
	let list = LeafList::of(&data).unwrap();
	let content = list.descriptor();
	let store = open(dir.path());
	assert!(store.resume(content).unwrap().is_none());
	let mut partial = store.download(list.clone()).unwrap();
	assert_eq!(partial.missing_ranges(4), vec![0..4, 4..8, 8..10]);
	partial.write(2, &data[2 * 4096..6 * 4096]).unwrap();
	assert_eq!((partial.missing(), partial.missing_ranges(128)), (6, vec![0..2, 6..10]));
	assert!(matches!(store.download(list.clone()), Err(StoreError::Busy { .. })));
	assert!(!store.contains(content.root));
	drop(partial);
	drop(store);
	// A write that the crash tore.
	File::options().write(true).open(file_of(dir.path(), content.root, "part")).unwrap().write_all_at(&[1; 10], 3 * 4096).unwrap();

	let store = open(dir.path());
	let mut partial = store.resume(content).unwrap().unwrap();
	assert_eq!(partial.missing_ranges(128), vec![0..2, 3..4, 6..10]);
	for range in partial.missing_ranges(128) {
		partial.write(range.start, &data[range.start as usize * 4096..range.end as usize * 4096]).unwrap();
	}
	let blob = partial.finish().unwrap();
	assert_eq!(blob.bytes().unwrap(), data);
	assert_eq!(store.usage(), Usage { blobs: 1, bytes: 10 * ONE, kept: 0, limit: PLENTY });
	assert!(!file_of(dir.path(), content.root, "part").exists());
}

#[test]
fn a_download_takes_no_wrong_leaf_no_foreign_leaf_and_no_early_end() {
	let dir = tempfile::tempdir().unwrap();
	let store = open(dir.path());
	let mut data = bytes(7, 3);
	let list = LeafList::of(&data).unwrap();
	let mut partial = store.download(list.clone()).unwrap();
	data[4096] ^= 1;
	assert!(matches!(partial.write(0, &data), Err(StoreError::WrongLeaf { leaf: 1, .. })));
	assert_eq!(partial.missing(), 3, "nothing of a bad answer is kept");
	assert!(matches!(partial.write(2, &data[..2 * 4096]), Err(StoreError::OutOfRange { .. })));
	assert!(matches!(partial.write(0, &data[..100]), Err(StoreError::Unaligned { .. })));
	partial.write(0, &data[..4096]).unwrap();
	partial.write(0, &data[..4096]).unwrap();
	assert!(matches!(partial.finish(), Err(StoreError::Incomplete { missing: 2, .. })));
}

#[test]
fn a_leaf_list_must_hash_to_its_root_and_have_the_promised_length() {
	let list = LeafList::of(&bytes(1, 3)).unwrap();
	let content = list.descriptor();
	let mut hashes = list.hashes().to_vec();
	assert!(LeafList::verified(content, hashes.clone()).is_ok());
	hashes[1][0] ^= 1;
	assert!(matches!(LeafList::verified(content, hashes.clone()), Err(StoreError::WrongLeafList { .. })));
	hashes.pop();
	assert!(matches!(LeafList::verified(content, hashes), Err(StoreError::LeafCount { expected: 3, actual: 2, .. })));
	assert!(LeafList::verified(ContentDescriptor { root: H256::zero(), leaves: 0 }, vec![]).is_err());
	assert!(LeafList::verified(ContentDescriptor { root: H256::zero(), leaves: u32::MAX }, vec![]).is_err());
}

#[test]
fn the_blob_unused_for_longest_goes_first_and_pinned_ones_never() {
	let dir = tempfile::tempdir().unwrap();
	let store = Store::open(dir.path(), 3 * ONE).unwrap();
	let put = |seed| store.put(&bytes(seed, 1)).unwrap().root;
	let [a, b, c] = [1, 2, 3].map(put);
	store.pin(a, "checkpoint").unwrap();
	store.get(b).unwrap().unwrap();
	let d = put(4);
	assert_eq!([a, b, c, d].map(|root| store.contains(root)), [true, true, false, true]);
	assert!(!file_of(dir.path(), c, "bin").exists() && !file_of(dir.path(), c, "leaves").exists());
	store.pin_all([b, d], "round 1").unwrap();
	store.pin(d, "round 2").unwrap();
	let error = store.put(&bytes(5, 1)).unwrap_err();
	assert!(matches!(error, StoreError::OverLimit { needed: ONE, .. }), "{error}");
	assert!(error.to_string().contains("raise --max-disk"), "{error}");
	assert!(store.labels().contains(&"round 1".to_owned()));
	store.unpin_label("round 1").unwrap();
	assert!(!store.labels().contains(&"round 1".to_owned()));
	let e = put(5);
	assert_eq!([a, b, d, e].map(|root| store.contains(root)), [true, false, true, true]);
	store.unpin(d, "round 2").unwrap();
	assert_eq!(store.usage(), Usage { blobs: 3, bytes: 3 * ONE, kept: ONE, limit: 3 * ONE });
}

#[test]
fn pins_survive_a_restart_and_a_lowered_limit_evicts_around_them() {
	let dir = tempfile::tempdir().unwrap();
	let store = open(dir.path());
	let kept = store.put_pinned(&bytes(1, 1), "shard").unwrap().root;
	let others = [2, 3].map(|seed| store.put(&bytes(seed, 1)).unwrap().root);
	drop(store);
	let store = Store::open(dir.path(), ONE).unwrap();
	assert_eq!((store.pinned("shard"), store.contains(kept)), (vec![kept], true));
	assert!(others.iter().all(|root| !store.contains(*root)));
	drop(store);
	fs::write(dir.path().join("pins.json"), b"{\"zz\": [\"x\"]}").unwrap();
	let error = Store::open(dir.path(), ONE).unwrap_err();
	assert!(matches!(error, StoreError::Pins { .. }), "{error}");
}

#[test]
fn an_evicted_blob_stays_readable_for_whoever_has_it_open() {
	let dir = tempfile::tempdir().unwrap();
	let store = Store::open(dir.path(), ONE).unwrap();
	let data = bytes(1, 1);
	let root = store.put(&data).unwrap().root;
	let blob = store.get(root).unwrap().unwrap();
	store.put(&bytes(2, 1)).unwrap();
	assert!(!store.contains(root));
	assert_eq!(blob.bytes().unwrap(), data);
}

#[test]
fn unfinished_downloads_count_and_give_way_like_blobs() {
	let dir = tempfile::tempdir().unwrap();
	let store = Store::open(dir.path(), 4 * ONE).unwrap();
	let list = LeafList::of(&bytes(1, 3)).unwrap();
	let partial = store.download(list.clone()).unwrap();
	assert!(matches!(store.put(&bytes(2, 2)), Err(StoreError::OverLimit { .. })), "one in progress may not be evicted");
	drop(partial);
	store.put(&bytes(2, 2)).unwrap();
	assert!(store.resume(list.descriptor()).unwrap().is_none());
	assert!(!file_of(dir.path(), list.descriptor().root, "part").exists());
}

/// A disk that has room for so many bytes of data.
struct SmallDisk {
	free: AtomicU64,
	/// True if running full shows when space is reserved, false if only when it is written.
	reserves: bool,
}

impl SmallDisk {
	fn take(&self, bytes: u64) -> io::Result<()> {
		let taken = self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(bytes));
		taken.map(|_| ()).map_err(|_| io::Error::from(io::ErrorKind::StorageFull))
	}
}

impl Disk for SmallDisk {
	fn reserve(&self, file: &File, bytes: u64) -> io::Result<()> {
		if self.reserves {
			self.take(bytes)?;
		}
		file.set_len(bytes)
	}
	fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
		if !self.reserves {
			self.take(bytes.len() as u64)?;
		}
		LocalDisk.write_at(file, bytes, offset)
	}
	fn sync(&self, file: &File) -> io::Result<()> {
		LocalDisk.sync(file)
	}
	fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
		LocalDisk.rename(from, to)
	}
	fn free(&self, _: &Path) -> io::Result<u64> {
		Ok(self.free.load(Ordering::Relaxed))
	}
}

#[test]
fn a_full_disk_is_a_clear_error_and_leaves_nothing_half_written() {
	for reserves in [true, false] {
		let dir = tempfile::tempdir().unwrap();
		let disk = Arc::new(SmallDisk { free: AtomicU64::new(2 * ONE), reserves });
		let store = Store::open_on(dir.path(), PLENTY, disk.clone()).unwrap();
		let sound = store.put_pinned(&bytes(1, 1), "kept").unwrap().root;
		let before = files(dir.path());
		for error in [
			store.put(&bytes(2, 2)).unwrap_err(),
			store.put_reader(bytes(2, 2).as_slice(), 2 * 4096).unwrap_err(),
			store.put_pinned(&bytes(2, 40), "big").unwrap_err(),
		] {
			assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
			assert!(error.to_string().contains("the disk is full"), "{error}");
		}
		assert_eq!(files(dir.path()), before);
		assert_eq!(store.usage().bytes, ONE);
		assert_eq!(store.read_leaves(sound, 0, 1).unwrap(), bytes(1, 1));
		disk.free.store(PLENTY, Ordering::Relaxed);
		store.put(&bytes(2, 2)).unwrap();
	}
}

#[test]
fn where_the_disk_ends_before_the_limit_what_may_be_evicted_gives_way() {
	let dir = tempfile::tempdir().unwrap();
	let disk = Arc::new(SmallDisk { free: AtomicU64::new(PLENTY), reserves: false });
	let store = Store::open_on(dir.path(), PLENTY, disk.clone()).unwrap();
	let kept = store.put_pinned(&bytes(1, 1), "kept").unwrap().root;
	let [first, second] = [2, 3].map(|seed| store.put(&bytes(seed, 1)).unwrap().root);
	disk.free.store(0, Ordering::Relaxed);
	assert!(matches!(store.put(&bytes(4, 3)), Err(StoreError::DiskFull { needed, .. }) if needed == 3 * ONE));
	assert!([kept, first, second].iter().all(|root| store.contains(*root)), "nothing goes in vain");
	// What is deleted makes room, which this disk does not notice by itself.
	disk.free.store(ONE / 2, Ordering::Relaxed);
	let error = store.put(&bytes(4, 1)).unwrap_err();
	assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
	assert_eq!([kept, first, second].map(|root| store.contains(root)), [true, false, true], "as much as is needed, the oldest first");
}

#[test]
fn a_full_disk_keeps_nobody_from_letting_go_of_what_is_kept() {
	let dir = tempfile::tempdir().unwrap();
	let disk = Arc::new(SmallDisk { free: AtomicU64::new(PLENTY), reserves: false });
	let store = Store::open_on(dir.path(), PLENTY, disk.clone()).unwrap();
	let root = store.put_pinned(&bytes(1, 1), "round 1").unwrap().root;
	disk.free.store(0, Ordering::Relaxed);
	store.pin(root, "round 2").unwrap();
	store.unpin_label("round 1").unwrap();
	assert_eq!((store.labels(), store.usage().kept), (vec!["round 2".to_owned()], ONE));
	store.unpin_label("round 2").unwrap();
	assert_eq!(store.usage().kept, 0);
	// It is on disk with the next change that can be written.
	disk.free.store(PLENTY, Ordering::Relaxed);
	store.pin(root, "round 3").unwrap();
	drop(store);
	assert_eq!(open(dir.path()).labels(), ["round 3"]);
}

#[test]
fn a_disk_that_fills_up_during_a_download_ends_it_without_a_trace() {
	let dir = tempfile::tempdir().unwrap();
	let disk = Arc::new(SmallDisk { free: AtomicU64::new(4 * ONE), reserves: false });
	let store = Store::open_on(dir.path(), PLENTY, disk.clone()).unwrap();
	let data = bytes(3, 4);
	let mut partial = store.download(LeafList::of(&data).unwrap()).unwrap();
	partial.write(0, &data[..2 * 4096]).unwrap();
	// Something else has taken the rest.
	disk.free.store(4096, Ordering::Relaxed);
	assert!(matches!(partial.write(2, &data[2 * 4096..]), Err(StoreError::DiskFull { .. })));
	drop(partial);
	assert_eq!((files(dir.path()), store.usage().bytes), (vec![], 0));
}

#[test]
fn many_threads_store_and_read_at_once() {
	let dir = tempfile::tempdir().unwrap();
	let store = open(dir.path());
	std::thread::scope(|scope| {
		for thread in 0..4u8 {
			let store = store.clone();
			scope.spawn(move || {
				for round in 0..8u8 {
					// Neighbouring threads store the same blobs.
					let data = bytes(thread / 2 * 8 + round, 5);
					let root = store.put(&data).unwrap().root;
					assert_eq!(store.read_leaves(root, 1, 3).unwrap(), data[4096..4 * 4096]);
				}
			});
		}
	});
	assert_eq!(store.usage(), Usage { blobs: 16, bytes: 16 * 5 * ONE, kept: 0, limit: PLENTY });
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(24))]

	#[test]
	fn the_limit_holds_and_pinned_blobs_stay_whatever_happens(steps in prop::collection::vec((0u8..6, 1usize..4, 0u8..4), 1..24)) {
		let dir = tempfile::tempdir().unwrap();
		let limit = 7 * ONE;
		let mut store = Store::open(dir.path(), limit).unwrap();
		let mut pinned: Vec<H256> = Vec::new();
		for (seed, leaves, action) in steps {
			let data = bytes(seed, leaves);
			let root = LeafList::of(&data).unwrap().descriptor().root;
			match action {
				0 | 1 => match store.put(&data) {
					Ok(content) => prop_assert_eq!(content.root, root),
					Err(error) => prop_assert!(matches!(error, StoreError::OverLimit { .. }), "{}", error),
				},
				2 if store.contains(root) && !pinned.contains(&root) => {
					store.pin(root, "test").unwrap();
					pinned.push(root);
				},
				2 => {
					store.unpin(root, "test").unwrap();
					pinned.retain(|pinned| *pinned != root);
				},
				_ => {
					drop(store);
					store = Store::open(dir.path(), limit).unwrap();
				},
			}
			let usage = store.usage();
			prop_assert!(usage.bytes <= limit && usage.kept <= usage.bytes);
			for root in &pinned {
				let blob = store.get(*root).unwrap();
				prop_assert!(blob.is_some_and(|blob| blob.bytes().is_ok()));
			}
		}
	}
}

#[test]
fn a_second_name_of_a_blob_replaces_what_was_there_and_outlives_it() {
	let dir = tempfile::tempdir().unwrap();
	let store = Store::open(&dir.path().join("store"), 1 << 20).unwrap();
	let path = dir.path().join("shard.bin");
	std::fs::write(&path, "old").unwrap();
	let data = vec![7; LEAF_BYTES];
	let root = store.put(&data).unwrap().root;
	let blob = store.get(root).unwrap().unwrap();
	// Twice: the second time it is one file already.
	blob.link_to(&path).unwrap();
	blob.link_to(&path).unwrap();
	drop(blob);
	store.discard(root);
	assert_eq!(std::fs::read(&path).unwrap(), data);
	let names = std::fs::read_dir(dir.path()).unwrap().count();
	assert_eq!(names, 2, "the store and the file, nothing else");
}
