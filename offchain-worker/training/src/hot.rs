//! The hot checkpoint: the newest inner state of the round that this worker trains, so that after a crash, a power cut or an upgrade it goes on
//! in the middle of the round and ends it with the same bits.
//!
//! There is one, a spare file of the content store that the next one replaces, and the last of the spares to go when there is no room. Whoever reads it
//! compares a hash over all of it: a damaged one is as good as none, and the round begins anew.

use super::kept::OwnRound;
use codec::{Decode, DecodeAll, Encode};
use neuroshard_compute::round::{InnerState, Reached};
use neuroshard_graph::{merkle::Hash, ParamLayout, TrainConfig};
use neuroshard_store::{Store, StoreError};
use std::{
	io::{self, Read},
	time::{Duration, Instant},
};

/// Its name: after those of all other states, so that it goes last.
pub(super) const NAME: &str = "9";
/// First field of the file. Another number: another format.
const VERSION: u8 = 1;
/// Most bytes of a header: no round has so many inner steps that its losses take more.
const MOST_HEADER: u64 = 1 << 26;
/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;

/// Writing takes at most this part of the time.
const COST: u32 = 100;
/// Least and longest time from one to the next. The longest holds whatever it costs.
const LEAST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(120);

/// Schedule of hot checkpoints.
pub(super) struct Pace {
	last: Instant,
}

impl Pace {
	pub(super) fn begin(now: Instant) -> Self {
		Self { last: now }
	}

	/// Returns whether the next one is due where the one before took `cost`, copy and disk together.
	pub(super) fn is_due(&self, now: Instant, cost: Duration) -> bool {
		now.saturating_duration_since(self.last) >= cost.saturating_mul(COST).clamp(LEAST, LONGEST)
	}

	pub(super) fn note(&mut self, now: Instant) {
		self.last = now;
	}
}

#[derive(Encode, Decode)]
struct Header {
	version: u8,
	run: u32,
	round: u32,
	seed: Hash,
	step: u32,
	state_roots: Vec<Hash>,
	/// Bits of the losses.
	losses: Vec<u32>,
}

/// Length of the encoded header in 8 bytes, and itself.
pub(super) fn header(OwnRound { run, round, seed }: OwnRound, state: &InnerState<'_>) -> Vec<u8> {
	let losses = state.losses.iter().map(|loss| loss.to_bits()).collect();
	let header = Header { version: VERSION, run, round, seed: seed.0, step: state.step, state_roots: state.state_roots.to_vec(), losses };
	let encoded = header.encode();
	[(encoded.len() as u64).to_le_bytes().as_slice(), &encoded].concat()
}

fn hasher() -> blake2b_simd::State {
	blake2b_simd::Params::new().hash_length(32).to_state()
}

/// The last 32 bytes of the file: Blake2b-256 of all before.
pub(super) fn digest(parts: &[Vec<u8>]) -> Hash {
	let mut hasher = hasher();
	for part in parts {
		hasher.update(part);
	}
	finish(&hasher)
}

fn finish(hasher: &blake2b_simd::State) -> Hash {
	let mut hash = [0; 32];
	hash.copy_from_slice(hasher.finalize().as_bytes());
	hash
}

/// Why there is nothing to go on from.
enum Useless {
	/// There is none, or it is of another round or attempt.
	Other,
	Damaged,
	Io(io::Error),
	Store(StoreError),
}

impl From<StoreError> for Useless {
	fn from(error: StoreError) -> Self {
		Self::Store(error)
	}
}

impl From<io::Error> for Useless {
	fn from(error: io::Error) -> Self {
		match error.kind() {
			io::ErrorKind::UnexpectedEof => Self::Damaged,
			_ => Self::Io(error),
		}
	}
}

/// Reads the state of `round` from its hot checkpoint; `None` if there is none of it that is whole. It takes 12 bytes of memory for every
/// parameter.
pub fn read(store: &Store, round: OwnRound, layout: &ParamLayout, train: &TrainConfig) -> Option<Reached> {
	match open(store, round, layout.len()) {
		Ok(reached) if reached.is_of(train, layout.len()) => return Some(reached),
		Err(Useless::Other) => {}
		Ok(_) | Err(Useless::Damaged) => tracing::warn!("the hot checkpoint is damaged: this round begins anew"),
		Err(Useless::Io(error)) => tracing::warn!("the hot checkpoint cannot be read, this round begins anew: {error}"),
		Err(Useless::Store(error)) => tracing::warn!("the hot checkpoint cannot be read, this round begins anew: {error}"),
	}
	None
}

/// Returns whether the hot checkpoint is one of `round`, by its beginning.
pub fn is_of(store: &Store, round: OwnRound) -> bool {
	begin(store, round).is_ok()
}

fn begin(store: &Store, round: OwnRound) -> Result<(Hashed, Header), Useless> {
	let file = store.open_spare(NAME)?.ok_or(Useless::Other)?;
	let mut reader = Hashed { file, hasher: hasher() };
	let length = u64::from_le_bytes(reader.bytes(8)?.try_into().map_err(|_| Useless::Damaged)?);
	let length = usize::try_from(length.min(MOST_HEADER)).map_err(|_| Useless::Damaged)?;
	let header = Header::decode_all(&mut reader.bytes(length)?.as_slice()).map_err(|_| Useless::Damaged)?;
	if (header.version, header.run, header.round, header.seed) != (VERSION, round.run, round.round, round.seed.0) {
		return Err(Useless::Other);
	}
	Ok((reader, header))
}

fn open(store: &Store, round: OwnRound, parameters: usize) -> Result<Reached, Useless> {
	let (mut reader, header) = begin(store, round)?;
	let vectors = [reader.floats(parameters)?, reader.floats(parameters)?, reader.floats(parameters)?];
	let (expected, mut found) = (finish(&reader.hasher), Vec::new());
	reader.file.read_to_end(&mut found)?;
	if found != expected {
		return Err(Useless::Damaged);
	}
	let losses = header.losses.into_iter().map(f32::from_bits).collect();
	Ok(Reached { step: header.step, vectors, state_roots: header.state_roots, losses })
}

/// A file that is hashed as it is read.
struct Hashed {
	file: std::fs::File,
	hasher: blake2b_simd::State,
}

impl Hashed {
	fn bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
		let mut bytes = vec![0; count];
		self.file.read_exact(&mut bytes)?;
		self.hasher.update(&bytes);
		Ok(bytes)
	}

	fn floats(&mut self, count: usize) -> io::Result<Vec<f32>> {
		let mut floats = Vec::with_capacity(count);
		while floats.len() < count {
			let piece = (count - floats.len()).min(PIECE / 4);
			let bytes = self.bytes(4 * piece)?;
			floats.extend(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
		}
		Ok(floats)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{
		keeper::Job,
		testing::{layout, open as open_store, state, train, vectors, ROUND},
	};
	use neuroshard_types::H256;

	#[test]
	fn one_is_due_every_hundred_times_its_cost_but_not_more_often_than_needed_and_at_least_every_two_minutes() {
		let begun = Instant::now();
		let pace = Pace::begin(begun);
		let due = |after: u64, cost: u64| pace.is_due(begun + Duration::from_millis(after), Duration::from_millis(cost));
		assert!(!due(1_999, 0) && due(2_000, 0) && due(2_000, 20));
		assert!(!due(39_999, 400) && due(40_000, 400));
		assert!(!due(119_999, 5_000) && due(120_000, 5_000));
	}

	#[test]
	fn whose_hot_checkpoint_it_is_is_known_without_reading_all_of_it() {
		let (_dir, store, _) = stored();
		assert!(is_of(&store, ROUND));
		// Inner steps that start from another cohort's checkpoint go through other states.
		let bridged = OwnRound::new(ROUND.run, ROUND.round, ROUND.seed, Some(H256::repeat_byte(7)));
		assert!(!is_of(&store, bridged) && !is_of(&store, OwnRound { round: ROUND.round + 1, ..ROUND }));
		assert_eq!(OwnRound::new(ROUND.run, ROUND.round, ROUND.seed, None), ROUND);
		let (_dir, empty) = open_store(1 << 30);
		assert!(!is_of(&empty, ROUND));
	}

	/// A store with the hot checkpoint of step 5, and the roots in it.
	fn stored() -> (tempfile::TempDir, Store, Vec<[u8; 32]>) {
		let (dir, store) = open_store(1 << 30);
		let (vectors, roots) = (vectors(5), vec![[4; 32]]);
		let state = InnerState { state_roots: &roots, ..state(5, &vectors) };
		assert!(Job::hot(ROUND, &state, Instant::now()).unwrap().write(&store).unwrap());
		(dir, store, roots)
	}

	#[test]
	fn a_round_goes_on_where_it_was_and_no_other_one_does() {
		let (_dir, store, roots) = stored();
		assert_eq!(store.spares(""), [NAME]);
		let reached = read(&store, ROUND, &layout(), &train()).unwrap();
		let vectors = vectors(5);
		assert_eq!((reached.step, &reached.vectors, reached.state_roots, reached.losses), (5, &vectors, roots, vec![0.5; 5]));
		let others = [OwnRound { run: 4, ..ROUND }, OwnRound { round: 8, ..ROUND }, OwnRound { seed: H256::repeat_byte(6), ..ROUND }];
		assert!(others.iter().all(|other| read(&store, *other, &layout(), &train()).is_none()));
		// One step is committed later than the file says.
		assert!(read(&store, ROUND, &layout(), &TrainConfig { commit_interval: 2, ..train() }).is_none());
	}

	#[test]
	fn a_damaged_one_is_as_good_as_none_wherever_the_damage_is() {
		let (dir, store, _) = stored();
		let path = walk(dir.path()).into_iter().find(|path| path.file_name().is_some_and(|name| name == NAME)).unwrap();
		let whole = std::fs::read(&path).unwrap();
		assert!(read(&store, ROUND, &layout(), &train()).is_some());
		for at in [0, 7, 9, 50, 100, whole.len() / 2, whole.len() - 40, whole.len() - 1] {
			let mut damaged = whole.clone();
			damaged[at] ^= 1;
			std::fs::write(&path, &damaged).unwrap();
			assert!(read(&store, ROUND, &layout(), &train()).is_none(), "byte {at}");
		}
		for length in [0, 5, 60, whole.len() - 1] {
			std::fs::write(&path, &whole[..length]).unwrap();
			assert!(read(&store, ROUND, &layout(), &train()).is_none(), "{length} bytes");
		}
		std::fs::write(&path, [whole.as_slice(), &[0]].concat()).unwrap();
		assert!(read(&store, ROUND, &layout(), &train()).is_none());
	}

	fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
		let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
		entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
	}
}
