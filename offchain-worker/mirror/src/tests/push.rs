//! What is pushed is what mirrors read, and is sent once.

use super::*;
use crate::{PushError, Target};
use neuroshard_types::H256;
use std::{
	cell::Cell,
	io::{self, Cursor},
	path::PathBuf,
};

/// Files below a folder, with their sizes, in order of their names.
fn files(folder: &Path) -> Vec<(PathBuf, u64)> {
	let mut found = Vec::new();
	for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
		match entry.file_type().unwrap().is_dir() {
			true => found.extend(files(&entry.path())),
			false => found.push((entry.path(), entry.metadata().unwrap().len())),
		}
	}
	found.sort();
	found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_was_pushed_is_read_and_pushed_again_only_as_far_as_it_is_missing() {
	// Above 8 MiB, which are sent in parts.
	let data = bytes(2_500);
	let (dir, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
	let (at, content) = (dir.path().join("a/b"), content(&data));
	let target = Target::open(folder(&at)).unwrap();
	let opened = Cell::new(0);
	let open = || {
		opened.set(opened.get() + 1);
		Ok(Cursor::new(data.clone()))
	};
	assert_eq!(target.blob(content, open).await.unwrap(), 2_500 * (4096 + 32));
	assert_eq!(files(&at).iter().map(|(_, size)| *size).collect::<Vec<_>>(), [2_500 * 4096, 2_500 * 32]);
	let store = Store::open(ours.path(), PLENTY).unwrap();
	assert_eq!(fetch(&mirrors([folder(&at)]), &store, content).await.unwrap().bytes().unwrap(), data);

	opened.set(0);
	assert_eq!(target.blob(content, open).await.unwrap(), 0);
	assert_eq!(opened.get(), 0, "what is there is not even read");
	let (list, _) = files(&at).remove(1);
	std::fs::remove_file(list).unwrap();
	assert_eq!(target.blob(content, open).await.unwrap(), 2_500 * 32);
	let (bin, _) = files(&at).remove(0);
	std::fs::write(bin, b"cut short").unwrap();
	assert_eq!(target.blob(content, open).await.unwrap(), 2_500 * 4096, "a file of another size is replaced");
	assert_eq!(std::fs::read(files(&at).remove(0).0).unwrap(), data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_sent_once() {
	let dir = tempfile::tempdir().unwrap();
	let (target, root) = (Target::open(folder(dir.path())).unwrap(), H256::repeat_byte(3));
	assert_eq!(target.note(root, b"parts").await.unwrap(), 5);
	assert_eq!(target.note(root, b"parts").await.unwrap(), 0);
	assert_eq!(mirrors([folder(dir.path())]).note(root, |note| Some(note.to_vec())).await.unwrap(), b"parts");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_from_its_root_is_not_pushed_also_if_it_changes_meanwhile() {
	let data = bytes(2_500);
	let mut other = data.clone();
	other[2_400 * 4096] ^= 1;
	let (content, found) = (content(&data), content(&other).root);
	let dir = tempfile::tempdir().unwrap();
	let target = Target::open(folder(dir.path())).unwrap();
	let error = target.blob(content, || Ok(Cursor::new(other.clone()))).await.unwrap_err();
	assert!(matches!(error, PushError::Root { found: was, expected } if (was, expected) == (found, content.root)), "{error}");
	let opened = Cell::new(0);
	let changing = || {
		opened.set(opened.get() + 1);
		Ok(Cursor::new(if opened.get() == 1 { data.clone() } else { other.clone() }))
	};
	assert!(matches!(target.blob(content, changing).await, Err(PushError::Root { .. })));
	assert!(matches!(target.blob(content, || Ok(Cursor::new(data[..4096].to_vec()))).await, Err(PushError::Read(_))));
	let gone = || Err::<Cursor<Vec<u8>>, _>(io::Error::from(io::ErrorKind::NotFound));
	assert!(matches!(target.blob(content, gone).await, Err(PushError::Read(_))));
	assert_eq!(files(dir.path()), [], "nothing of it is left");
}

#[test]
fn web_servers_take_nothing() {
	let error = Target::open("https://host/path".parse().unwrap()).unwrap_err();
	assert!(error.to_string().contains("s3://BUCKET/PATH"), "{error}");
}
