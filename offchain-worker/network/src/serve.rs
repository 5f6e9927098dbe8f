//! Answers to other peers' requests. Blocks on the disk; called from blocking threads.

use crate::message::{Answer, Incoming, Refusal, Request, MAX_HASHES, MAX_LEAVES_PER_REQUEST};
use neuroshard_store::{Blob, Store, StoreError};
use neuroshard_types::H256;

/// The answer to `request` out of `store`. Whatever the request says, at most 512 KiB are read.
pub(crate) fn answer(store: &Store, request: Incoming) -> Answer {
	match request.and_then(|request| read(store, request)) {
		Ok(data) => Answer::Data(data),
		Err(refusal) => Answer::Refused(refusal),
	}
}

fn read(store: &Store, request: Request) -> Result<Vec<u8>, Refusal> {
	let (root, start, count, most) = match request {
		Request::Hashes { root, start, count } => (root, start, count, MAX_HASHES),
		Request::Leaves { root, start, count } => (root, start, count, MAX_LEAVES_PER_REQUEST),
		// The actor answers these itself.
		Request::Farewell | Request::Gossip => return Ok(Vec::new()),
		Request::Note { root } => return store.note(root).map_err(|error| refusal(root, &error))?.ok_or(Refusal::Unknown),
	};
	if count == 0 || count > most {
		return Err(Refusal::BadCount);
	}
	let blob = find(store, root)?;
	let outcome = match request {
		Request::Hashes { .. } => blob.read_hashes(start, count),
		_ => blob.read_leaves(start, count),
	};
	outcome.map_err(|error| refusal(root, &error))
}

fn find(store: &Store, root: H256) -> Result<Blob, Refusal> {
	store.get(root).map_err(|error| refusal(root, &error))?.ok_or(Refusal::Unknown)
}

fn refusal(root: H256, error: &StoreError) -> Refusal {
	match error {
		StoreError::OutOfRange { .. } => Refusal::OutOfRange,
		StoreError::Unknown { .. } | StoreError::Damaged { .. } => Refusal::Unknown,
		_ => {
			tracing::warn!(?root, %error, "cannot serve a blob");
			Refusal::Failed
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_note_is_given_if_there_is_one() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let root = H256::repeat_byte(7);
		assert_eq!(answer(&store, Ok(Request::Note { root })), Answer::Refused(Refusal::Unknown));
		store.set_note(root, b"two blobs").unwrap();
		assert_eq!(answer(&store, Ok(Request::Note { root })), Answer::Data(b"two blobs".to_vec()));
	}

	#[test]
	fn requests_outside_the_blob_or_beyond_the_limits_are_refused() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let root = store.put(&[7; 3 * 4096]).unwrap().root;
		let leaves = |start, count| answer(&store, Ok(Request::Leaves { root, start, count }));
		let hashes = |start, count| answer(&store, Ok(Request::Hashes { root, start, count }));
		assert_eq!(leaves(1, 2), Answer::Data(vec![7; 2 * 4096]));
		assert!(matches!(hashes(0, 3), Answer::Data(data) if data.len() == 96));
		for (start, count) in [(0, 4), (3, 1), (u32::MAX, 1), (u32::MAX, 128)] {
			assert_eq!(leaves(start, count), Answer::Refused(Refusal::OutOfRange), "{start} {count}");
			assert_eq!(hashes(start, count), Answer::Refused(Refusal::OutOfRange), "{start} {count}");
		}
		for count in [0, MAX_LEAVES_PER_REQUEST + 1, u32::MAX] {
			assert_eq!(leaves(0, count), Answer::Refused(Refusal::BadCount), "{count}");
		}
		assert_eq!(hashes(0, MAX_HASHES + 1), Answer::Refused(Refusal::BadCount));
		let unknown = Request::Leaves { root: H256::repeat_byte(1), start: 0, count: 1 };
		assert_eq!(answer(&store, Ok(unknown)), Answer::Refused(Refusal::Unknown));
		assert_eq!(answer(&store, Err(Refusal::Malformed)), Answer::Refused(Refusal::Malformed));
	}
}
