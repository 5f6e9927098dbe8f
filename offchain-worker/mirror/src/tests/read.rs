//! What is read from mirrors is right, and is asked for once; mirrors that lie or fail are named and left alone.

use super::*;
use neuroshard_types::H256;

const LEAVES: usize = 1_000;

/// A store in a folder of its own.
fn store() -> (tempfile::TempDir, Store) {
	let dir = tempfile::tempdir().unwrap();
	let store = Store::open(dir.path(), PLENTY).unwrap();
	(dir, store)
}

/// Does to the first request for a blob's bytes what `reaction` says, and is honest otherwise.
fn at_first(reaction: impl Fn() -> Reaction + Send + Sync + 'static) -> impl Fn(&Asked, usize) -> Reaction + Send + Sync + 'static {
	// The leaf list is asked for before.
	move |asked, before| if asked.is_bin() && before <= 1 { reaction() } else { Reaction::Honest }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_is_read_from_a_web_server_and_nothing_twice() {
	let data = bytes(LEAVES);
	let server = Server::start(&data, b"", |_, _| Reaction::Honest).await;
	let (_dir, store) = store();
	let mirrors = mirrors([server.location.clone()]);
	let blob = fetch(&mirrors, &store, content(&data)).await.unwrap();
	assert_eq!(blob.bytes().unwrap(), data);
	assert_eq!(server.sent(), LEAVES * (4096 + 32));
	assert_eq!(server.asked().len(), 2);
	assert!(store.contains(content(&data).root), "it can be handed on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_knows_no_ranges_does_where_nothing_breaks_off() {
	let data = bytes(LEAVES);
	let server = Server::start(&data, b"", |_, _| Reaction::Whole).await;
	let (_dir, store) = store();
	let blob = fetch(&mirrors([server.location.clone()]), &store, content(&data)).await.unwrap();
	assert_eq!(blob.bytes().unwrap(), data);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_broke_off_goes_on_with_the_leaf_at_which_it_did() {
	let data = bytes(LEAVES);
	let server = Server::start(&data, b"", at_first(|| Reaction::Cut(300 * 4096 + 100))).await;
	let (_dir, store) = store();
	let blob = fetch(&mirrors([server.location.clone()]), &store, content(&data)).await.unwrap();
	assert_eq!(blob.bytes().unwrap(), data);
	assert_eq!(server.from(), [None, Some(300 * 4096)]);
	assert_eq!(server.sent(), LEAVES * (4096 + 32) + 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leaf_list_that_broke_off_goes_on_as_well() {
	let data = bytes(LEAVES);
	let server = Server::start(&data, b"", |_, before| if before == 0 { Reaction::Cut(777) } else { Reaction::Honest }).await;
	let (_dir, store) = store();
	fetch(&mirrors([server.location.clone()]), &store, content(&data)).await.unwrap();
	assert_eq!(server.asked()[1].from, Some(777));
	assert_eq!(server.sent(), LEAVES * (4096 + 32));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_breaks_off_and_knows_no_ranges_is_left_to_others_with_what_came() {
	let data = bytes(LEAVES);
	let rangeless = Server::start(&data, b"", |asked, before| match asked.is_bin() && before == 1 {
		true => Reaction::Cut(300 * 4096),
		false => Reaction::Whole,
	})
	.await;
	let (_dir, store) = store();
	let alone = mirrors([rangeless.location.clone()]);
	assert_eq!(failures(&alone, &store, content(&data)).await, [MirrorError::NoRanges]);
	assert_eq!(missing(&store, content(&data)), 700);
	let other = Server::start(&data, b"", |_, _| Reaction::Honest).await;
	let both = mirrors([rangeless.location.clone(), other.location.clone()]);
	assert_eq!(fetch(&both, &store, content(&data)).await.unwrap().bytes().unwrap(), data);
	assert_eq!((other.from(), other.sent()), (vec![Some(300 * 4096)], 700 * 4096));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_goes_on_after_a_restart_without_the_leaf_list() {
	let data = bytes(LEAVES);
	let fading = Server::start(&data, b"", |asked, _| if asked.is_bin() { Reaction::Cut(200 * 4096) } else { Reaction::Honest }).await;
	let (dir, store) = store();
	let unlucky = Mirrors::open([fading.location.clone()], Timing { vain: 1, ..timing() }).unwrap();
	assert!(matches!(&failures(&unlucky, &store, content(&data)).await[..], [MirrorError::Failed(_)]));
	drop(store);
	let store = Store::open(dir.path(), PLENTY).unwrap();
	let server = Server::start(&data, b"", |_, _| Reaction::Honest).await;
	let blob = fetch(&mirrors([server.location.clone()]), &store, content(&data)).await.unwrap();
	assert_eq!(blob.bytes().unwrap(), data);
	assert_eq!((server.asked().len(), server.sent()), (1, 800 * 4096));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_breaks_off_again_and_again_is_used_as_long_as_it_brings_a_mebibyte() {
	let data = bytes(LEAVES);
	let fading = Server::start(&data, b"", |asked, _| if asked.is_bin() { Reaction::Cut(300 * 4096) } else { Reaction::Honest }).await;
	let (_dir, store) = store();
	let mirrors = Mirrors::open([fading.location.clone()], Timing { vain: 2, ..timing() }).unwrap();
	assert_eq!(fetch(&mirrors, &store, content(&data)).await.unwrap().bytes().unwrap(), data);
	assert_eq!(fading.from(), [0, 300, 600, 900].map(|leaf| (leaf > 0).then_some(leaf * 4096)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_brings_a_little_each_time_is_given_up_with_what_came() {
	let data = bytes(LEAVES);
	// Less than 1 MiB, and then nothing: it is asked once. The same, and then the end of the connection: it is asked as often as one that brings nothing.
	for (reaction, asked) in [(Reaction::Stall as fn(usize) -> Reaction, 1), (Reaction::Cut, 2)] {
		let (_dir, store) = store();
		let slow = Server::start(&data, b"", move |asked, _| if asked.is_bin() { reaction(255 * 4096) } else { Reaction::Honest }).await;
		let brief = Timing { piece: Duration::from_millis(200), vain: 2, ..timing() };
		let mirrors = Mirrors::open([slow.location.clone()], brief).unwrap();
		let failures = failures(&mirrors, &store, content(&data)).await;
		assert!(matches!(&failures[..], [MirrorError::Slow(_) | MirrorError::Failed(_)]), "{failures:?}");
		assert_eq!((slow.from().len(), missing(&store, content(&data))), (asked, 1_000 - 255 * asked as u32));
	}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_is_found_before_it_is_stored_and_the_mirror_rests() {
	let data = bytes(LEAVES);
	let mut flipped = data.clone();
	flipped[700 * 4096 + 5] ^= 1;
	let liar = Server::start(&data, b"", move |asked, _| match asked.is_bin() {
		true => Reaction::Instead(flipped.clone()),
		false => Reaction::Honest,
	})
	.await;
	let (_dir, store) = store();
	let honest = Server::start(&data, b"", |_, _| Reaction::Honest).await;
	let lies = mirrors([liar.location.clone()]);
	assert_eq!(failures(&lies, &store, content(&data)).await, [MirrorError::CorruptLeaf { leaf: 700 }]);
	assert_eq!(missing(&store, content(&data)), 1_000 - 512, "the mebibytes before are kept");
	let asked = liar.asked().len();
	assert!(matches!(&failures(&lies, &store, content(&data)).await[..], [MirrorError::Resting(_)]));
	assert_eq!(liar.asked().len(), asked, "it is not asked any more");
	let both = mirrors([liar.location.clone(), honest.location.clone()]);
	assert_eq!(fetch(&both, &store, content(&data)).await.unwrap().bytes().unwrap(), data);
	assert_eq!(honest.from(), [Some(512 * 4096)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leaf_list_of_something_else_is_refused() {
	let data = bytes(3);
	let (_dir, store) = store();
	for list in [vec![7; 96], vec![7; 95], vec![7; 1 << 20]] {
		let expected =
			if list.len() < 96 { MirrorError::Short { file: "a leaf list", found: 95, expected: 96 } } else { MirrorError::WrongLeafList };
		let liar = Server::start(&data, b"", move |_, _| Reaction::Instead(list.clone())).await;
		assert_eq!(failures(&mirrors([liar.location.clone()]), &store, content(&data)).await, [expected]);
		assert_eq!(store.usage().bytes, 0, "nothing is stored");
	}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_file_is_said_to_be_one_whether_from_the_beginning_or_in_the_middle() {
	let data = bytes(LEAVES);
	let (_dir, store) = store();
	let short = data[..600 * 4096 + 9].to_vec();
	let server = Server::start(&data, b"", move |asked, _| match asked.is_bin() {
		true => Reaction::Instead(short.clone()),
		false => Reaction::Honest,
	})
	.await;
	let (found, expected) = (600 * 4096 + 9, 1_000 * 4096);
	let is_short = [MirrorError::Short { file: "a blob", found, expected }];
	assert_eq!(failures(&mirrors([server.location.clone()]), &store, content(&data)).await, is_short);
	assert_eq!(missing(&store, content(&data)), 400);
	let again = failures(&mirrors([server.location.clone()]), &store, content(&data)).await;
	assert_eq!(again, is_short, "the nine bytes are asked for again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_end_is_read_as_far_as_it_is_wanted() {
	let data = bytes(LEAVES);
	let server = Server::start(&data, b"note", |_, _| Reaction::Endless).await;
	let (_dir, store) = store();
	let mirrors = mirrors([server.location.clone()]);
	assert_eq!(fetch(&mirrors, &store, content(&data)).await.unwrap().bytes().unwrap(), data);
	let noted = mirrors.note(H256::repeat_byte(0xab), |note| Some(note.to_vec())).await.unwrap_err();
	assert_eq!(noted[0].error, MirrorError::WrongNote, "a note ends");
	// Sockets hold some megabytes that nobody read.
	assert!(server.sent() < LEAVES * (4096 + 32) + (512 << 10) + 3 * (16 << 20), "{}", server.sent());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
	let data = bytes(3);
	let server = Server::start(&data, b"", |_, _| Reaction::Redirect).await;
	let (_dir, store) = store();
	let mirrors = mirrors([server.location.clone()]);
	let failures = failures(&mirrors, &store, content(&data)).await;
	assert_eq!(failures, [MirrorError::Redirect(302)]);
	assert!(failures[0].to_string().contains("name the address that it leads to"));
	assert_eq!(server.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_fails_is_asked_a_few_times_and_its_endless_words_are_not_read() {
	let data = bytes(3);
	let server = Server::start(&data, b"", |_, _| Reaction::Status(500)).await;
	let (_dir, store) = store();
	let mirrors = Mirrors::open([server.location.clone()], Timing { vain: 3, ..timing() }).unwrap();
	let failures = failures(&mirrors, &store, content(&data)).await;
	assert!(matches!(&failures[..], [MirrorError::Failed(words)] if words.contains("500") && words.len() < 350), "{failures:?}");
	assert_eq!(server.asked().len(), 3);
	assert!(server.sent() < 3 * (16 << 20), "{}", server.sent());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_is_asked_once_and_credentials_are_spoken_of() {
	let data = bytes(3);
	// Stores say 403 also of what they do not have: that is no reason to leave them alone.
	for (status, rests) in [(401, true), (403, false)] {
		let server = Server::start(&data, b"", move |_, _| Reaction::Status(status)).await;
		let (_dir, store) = store();
		let mirrors = mirrors([server.location.clone()]);
		let error = failures(&mirrors, &store, content(&data)).await.remove(0);
		assert!(error.to_string().contains(&status.to_string()) && error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
		assert_eq!(server.asked().len(), 1);
		let again = failures(&mirrors, &store, content(&data)).await.remove(0);
		assert_eq!(matches!(again, MirrorError::Resting(_)), rests, "{again}");
	}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_is_given_up_and_so_is_one_that_is_not_there() {
	let data = bytes(3);
	let silent = Server::start(&data, b"", |_, _| Reaction::Silence).await;
	let (_dir, store) = store();
	let brief = Timing { open: Duration::from_millis(50), vain: 1, ..timing() };
	let nobody = "http://127.0.0.1:9/".parse().unwrap();
	let mirrors = Mirrors::open([silent.location.clone(), nobody], brief).unwrap();
	let failures = failures(&mirrors, &store, content(&data)).await;
	assert!(matches!(&failures[..], [MirrorError::Slow(_), MirrorError::Failed(_)]), "{failures:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_taken_from_the_first_mirror_that_has_the_right_one() {
	let data = bytes(1);
	let absent = Server::start(&data, b"", |_, _| Reaction::Honest).await;
	let wrong = Server::start(&data, b"wrong", |_, _| Reaction::Honest).await;
	let right = Server::start(&data, b"right", |_, _| Reaction::Honest).await;
	let accept = |note: &[u8]| (note == b"right").then_some(7);
	let all = mirrors([&absent, &wrong, &right].map(|server| server.location.clone()));
	assert_eq!(all.note(H256::repeat_byte(0xab), accept).await.unwrap(), 7);
	let noted = mirrors([right.location.clone()]).note(H256::repeat_byte(0xcd), accept).await.unwrap_err();
	assert_eq!(noted[0].to_string(), format!("mirror {} does not have it", right.location));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_of_a_store_is_a_mirror() {
	let data = bytes(LEAVES);
	let (served, theirs) = store();
	theirs.put(&data).unwrap();
	theirs.set_note(H256::repeat_byte(5), b"made of that").unwrap();
	let (_dir, ours) = store();
	let mirrors = mirrors([folder(served.path())]);
	assert_eq!(fetch(&mirrors, &ours, content(&data)).await.unwrap().bytes().unwrap(), data);
	assert_eq!(mirrors.note(H256::repeat_byte(5), |note| Some(note.to_vec())).await.unwrap(), b"made of that");
	assert_eq!(failures(&mirrors, &ours, content(&bytes(2))).await, [MirrorError::Absent]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_a_file_cut_short_is_said_to_have_one() {
	let data = bytes(LEAVES);
	let (served, theirs) = store();
	theirs.put(&data).unwrap();
	let name = hex::encode(content(&data).root.0);
	let file = served.path().join("blobs").join(&name[..2]).join(format!("{name}.bin"));
	std::fs::File::options().write(true).open(file).unwrap().set_len(100 * 4096).unwrap();
	let (_dir, ours) = store();
	let short = MirrorError::Short { file: "a blob", found: 100 * 4096, expected: 1_000 * 4096 };
	assert_eq!(failures(&mirrors([folder(served.path())]), &ours, content(&data)).await, [short]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_is_no_fault_of_the_mirror() {
	let data = bytes(LEAVES);
	let server = Server::start(&data, b"", |_, _| Reaction::Honest).await;
	let dir = tempfile::tempdir().unwrap();
	let small = Store::open(dir.path(), 1 << 20).unwrap();
	let mirrors = mirrors([server.location.clone()]);
	let error = fetch(&mirrors, &small, content(&data)).await.unwrap_err();
	assert!(matches!(error, FetchFailure::Store(_)), "{error}");
	let (_dir, store) = store();
	fetch(&mirrors, &store, content(&data)).await.unwrap();
}
