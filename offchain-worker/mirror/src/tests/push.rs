//! What is pushed is what mirrors read, and is sent once.

use super::*;
use crate::{client::Connector, location::Place, PushError, Target};
use neuroshard_types::H256;
use object_store::{aws::AmazonS3Builder, RetryConfig};
use std::{
	cell::Cell,
	io::{self, Cursor},
	path::PathBuf,
	sync::{
		atomic::{AtomicU32, Ordering},
		Arc, Mutex,
	},
};
use tokio::{
	io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
	net::TcpListener,
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

/// A bucket in an object store that answers each request as `answer` says: method and query to status and body. Says what was asked.
async fn bucket(answer: impl Fn(&str, &str) -> (u16, String) + Send + Sync + 'static) -> (Target, Arc<Mutex<Vec<String>>>) {
	let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
	let endpoint = format!("http://{}", listener.local_addr().unwrap());
	let (asked, answer) = (Arc::<Mutex<Vec<String>>>::default(), Arc::new(answer));
	let log = asked.clone();
	tokio::spawn(async move {
		while let Ok((stream, _)) = listener.accept().await {
			let (log, answer) = (log.clone(), answer.clone());
			tokio::spawn(async move {
				let mut stream = BufReader::new(stream);
				let (mut first, mut length) = (String::new(), 0);
				stream.read_line(&mut first).await.unwrap();
				loop {
					let mut line = String::new();
					stream.read_line(&mut line).await.unwrap();
					if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
						length = bytes.trim().parse().unwrap();
					}
					if line.trim().is_empty() {
						break;
					}
				}
				stream.read_exact(&mut vec![0; length]).await.unwrap();
				let (method, rest) = first.split_once(' ').unwrap();
				let query = rest.split(' ').next().unwrap().split_once('?').map_or("", |(_, query)| query);
				let kind = query.split(['=', '&']).next().unwrap();
				log.lock().unwrap().push(format!("{method} {kind}").trim().to_owned());
				let (status, body) = answer(method, kind);
				// A `HEAD` has the length of what a `GET` would have.
				let head = format!(
					"HTTP/1.1 {status} Because\r\nETag: \"x\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
					if method == "HEAD" { body.clone() } else { body.len().to_string() }
				);
				let sent = if method == "HEAD" { head } else { head + &body };
				stream.write_all(sent.as_bytes()).await.unwrap();
			});
		}
	});
	let store = AmazonS3Builder::new().with_bucket_name("bucket").with_endpoint(endpoint).with_allow_http(true).with_skip_signature(true);
	let store = store.with_retry(RetryConfig { max_retries: 0, ..Default::default() }).with_http_connector(Connector).build().unwrap();
	let place = Place { store: Arc::new(store), prefix: "mirror".into() };
	(Target { location: "s3://bucket/mirror".parse().unwrap(), place }, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_store_does_not_tell_of_is_sent() {
	let (data, content) = (bytes(3), content(&bytes(3)));
	let open = || Ok(Cursor::new(data.clone()));
	let (target, asked) = bucket(|method, _| (if method == "HEAD" { 403 } else { 200 }, "0".into())).await;
	assert_eq!(target.blob(content, open).await.unwrap(), 3 * (4096 + 32));
	assert_eq!(asked.lock().unwrap()[..], ["HEAD", "HEAD", "PUT", "PUT"]);
	let (refusing, _) = bucket(|_, _| (403, "0".into())).await;
	let words = refusing.blob(content, open).await.unwrap_err().to_string();
	assert!(words.contains("does not let this worker read it") && words.contains("AWS_ACCESS_KEY_ID"), "{words}");
	let (absent, _) = bucket(|_, _| (404, "0".into())).await;
	assert!(matches!(absent.blob(content, open).await, Err(PushError::NoBucket(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_the_store_knows_no_more_is_done_if_its_file_is_there_and_else_the_bucket_is_not_blamed() {
	let data = bytes(2_500);
	let content = content(&data);
	for is_there in [true, false] {
		let heads = AtomicU32::new(0);
		let (target, asked) = bucket(move |method, kind| match (method, kind) {
			// Of the bytes and of the list, before they are sent.
			("HEAD", _) if heads.fetch_add(1, Ordering::Relaxed) < 2 || !is_there => (404, "0".into()),
			("HEAD", _) => (200, (2_500 * 4096).to_string()),
			("POST", "uploads") => (200, "<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>".into()),
			("POST", _) => (404, "<Error><Code>NoSuchUpload</Code></Error>".into()),
			_ => (200, String::new()),
		})
		.await;
		let pushed = target.blob(content, || Ok(Cursor::new(data.clone()))).await;
		let begun = ["HEAD", "HEAD", "POST uploads", "PUT partNumber", "PUT partNumber", "POST uploadId", "HEAD"];
		assert_eq!(asked.lock().unwrap()[..7], begun);
		match is_there {
			true => assert_eq!(pushed.unwrap(), 2_500 * (4096 + 32)),
			false => assert!(pushed.unwrap_err().to_string().contains("does not know the upload any more")),
		}
	}
}

#[test]
fn web_servers_take_nothing() {
	let error = Target::open("https://host/path".parse().unwrap()).unwrap_err();
	assert!(error.to_string().contains("s3://BUCKET/PATH"), "{error}");
}
