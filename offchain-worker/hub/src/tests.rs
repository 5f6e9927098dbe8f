use super::*;
use axum::{
	body::Body,
	extract::State,
	http::{header, HeaderMap, Request, Response, StatusCode},
	Router,
};
use hyper::body::Frame;
use sha2::{Digest, Sha256};
use std::{
	ffi::OsString,
	fs,
	os::unix::fs::symlink,
	pin::Pin,
	sync::{Arc, Mutex},
	task::{Context, Poll},
};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const LARGE: &[u8] = b"a file that is large, at least for a test";
const TOKEN: &str = "hf_secret";

/// What was asked for, and whether with the token.
type Asked = Arc<Mutex<Vec<(String, bool)>>>;

/// Answers of a server by path: status, headers and body.
type Answers = Arc<dyn Fn(&str) -> (u16, Vec<(&'static str, String)>, Vec<u8>) + Send + Sync>;

/// A server on loopback, its address, and what it was asked.
async fn serve(answers: Answers) -> (String, Asked) {
	let asked = Asked::default();
	serve_app(Router::new().fallback(answer).with_state((answers, asked.clone())), asked).await
}

/// The same, whose files have no end.
async fn serve_endlessly(answers: Answers) -> (String, Asked) {
	let asked = Asked::default();
	let endless = |state, headers, request: Request<Body>| async {
		let is_file = !request.uri().path().starts_with("/api/");
		let answered = answer(state, headers, request).await;
		if is_file {
			answered.map(|_| Body::new(Endless))
		} else {
			answered
		}
	};
	serve_app(Router::new().fallback(endless).with_state((answers, asked.clone())), asked).await
}

async fn serve_app(app: Router, asked: Asked) -> (String, Asked) {
	let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
	let address = format!("http://{}", listener.local_addr().unwrap());
	tokio::spawn(async move { axum::serve(listener, app).await });
	(address, asked)
}

async fn answer(State((answers, asked)): State<(Answers, Asked)>, headers: HeaderMap, request: Request<Body>) -> Response<Body> {
	let path = request.uri().path().to_owned();
	let is_known = headers.get(header::AUTHORIZATION).is_some_and(|value| value == &format!("Bearer {TOKEN}"));
	let (status, headers, body) = answers(&path);
	asked.lock().unwrap().push((path, is_known));
	let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
	for (name, value) in headers {
		response = response.header(name, value);
	}
	response.body(Body::from(body)).unwrap()
}

fn large_hash() -> String {
	hex::encode(Sha256::digest(LARGE))
}

/// A hub with these files in the dataset a/b, whose large file is elsewhere.
fn hub_of(files: &'static [&'static str], elsewhere: String) -> Answers {
	Arc::new(move |path| {
		let listed = files.iter().map(|file| format!("{{\"rfilename\": {file:?}}}")).collect::<Vec<_>>().join(", ");
		match path {
			"/api/datasets/a/b/revision/main" | "/api/datasets/a/b/revision/refs%2Fpr%2F1" => {
				(200, vec![], format!("{{\"sha\": \"{COMMIT}\", \"siblings\": [{listed}], \"private\": false}}").into_bytes())
			}
			_ => match path.strip_prefix(&format!("/datasets/a/b/resolve/{COMMIT}/")) {
				Some("data/large.parquet") => {
					let headers = vec![
						("location", format!("{elsewhere}/large")),
						("etag", "\"of-the-redirection\"".to_owned()),
						("x-linked-etag", format!("\"{}\"", large_hash())),
						("x-linked-size", LARGE.len().to_string()),
					];
					(302, headers, Vec::new())
				}
				Some(name) => {
					(200, vec![("etag", format!("W/\"tag-of-{}\"", name.replace(['/', '.', '%'], "-")))], name.as_bytes().to_vec())
				}
				None => (404, vec![], b"nothing".to_vec()),
			},
		}
	})
}

/// The hub above, whose files all have this tag and content.
fn tagged(tag: String, content: &'static [u8]) -> Answers {
	Arc::new(move |path| match path.starts_with("/api/") {
		true => hub_of(FILES, String::new())(path),
		false => (200, vec![("etag", format!("\"{tag}\""))], content.to_vec()),
	})
}

/// Zeros without end, of which nothing says how many they are.
struct Endless;

impl hyper::body::Body for Endless {
	type Data = hyper::body::Bytes;
	type Error = std::convert::Infallible;

	fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
		Poll::Ready(Some(Ok(Frame::data(hyper::body::Bytes::from_static(&[0; 1 << 20])))))
	}
}

fn settings(cache: &Path, variables: &[(&'static str, &str)]) -> Settings {
	let mut all: Vec<(&str, OsString)> = vec![("HF_HUB_CACHE", cache.into()), ("HF_TOKEN", TOKEN.into())];
	all.extend(variables.iter().map(|(name, value)| (*name, value.into())));
	Settings::from(|name| all.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())).unwrap()
}

/// The files that a name asks for, below their snapshot, and those that were fetched.
async fn snapshot(settings: &Settings, name: &str) -> Result<(Vec<String>, Vec<String>), HubError> {
	let mut fetched = Vec::new();
	let name: Name = name.parse()?;
	let snapshot = Hub::new(settings.clone())?.snapshot(&name, &mut |file| fetched.push(file.to_owned())).await?;
	assert_eq!(snapshot.commit, COMMIT);
	// Whoever asks for one file has all that was asked for.
	assert_eq!(snapshot.may_lack, settings.is_offline && name.path().is_none_or(|path| !path.ends_with(".txt")));
	let below = |path: &PathBuf| path.strip_prefix(&snapshot.folder).unwrap().to_str().unwrap().to_owned();
	Ok((snapshot.files.iter().map(below).collect(), fetched))
}

const FILES: &[&str] = &[".gitattributes", "README.md", "data/large.parquet", "data/x y.jsonl", "data/deep/z.txt", "top.txt"];

#[tokio::test]
async fn files_are_fetched_once_and_are_where_the_tools_of_the_hub_look_for_them() {
	let folder = tempfile::tempdir().unwrap();
	let (cdn, cdn_asked) = serve(Arc::new(|_| (200, vec![], LARGE.to_vec()))).await;
	let (hub, asked) = serve(hub_of(FILES, cdn)).await;
	let online = settings(folder.path(), &[("HF_ENDPOINT", &hub)]);
	let (files, fetched) = snapshot(&online, "hf://datasets/a/b/data/*").await.unwrap();
	assert_eq!((&files, &fetched), (&vec!["data/large.parquet".to_owned(), "data/x y.jsonl".to_owned()], &files));
	// The token is for the hub alone.
	assert!(asked.lock().unwrap().iter().all(|(_, is_known)| *is_known));
	assert_eq!(cdn_asked.lock().unwrap()[..], [("/large".to_owned(), false)]);
	let repository = folder.path().join("datasets--a--b");
	assert_eq!(fs::read_to_string(repository.join("refs/main")).unwrap(), COMMIT);
	let large = repository.join("snapshots").join(COMMIT).join("data/large.parquet");
	assert_eq!(fs::read_link(&large).unwrap(), PathBuf::from(format!("../../../blobs/{}", large_hash())));
	assert_eq!(fs::read(&large).unwrap(), LARGE);
	assert_eq!(fs::read(repository.join("blobs/tag-of-data-x-20y-jsonl")).unwrap(), b"data/x%20y.jsonl");
	// All but what is hidden or says something about it; what is there is not fetched again.
	let (files, fetched) = snapshot(&online, "hf://datasets/a/b").await.unwrap();
	assert_eq!(files, ["data/deep/z.txt", "data/large.parquet", "data/x y.jsonl", "top.txt"]);
	assert_eq!(fetched, ["data/deep/z.txt", "top.txt"]);
	assert_eq!(snapshot(&online, "hf://datasets/a/b/data").await.unwrap().0, files[..3]);
	assert_eq!(snapshot(&online, "hf://datasets/a/b/**/*.txt").await.unwrap().0, ["data/deep/z.txt", "top.txt"]);
	assert_eq!(snapshot(&online, "hf://datasets/a/b@refs/pr/1/top.txt").await.unwrap().0, ["top.txt"]);
	assert!(repository.join("refs/refs/pr/1").exists());
	let parts = |folder: &str| fs::read_dir(repository.join(folder)).unwrap().count();
	assert_eq!((parts("blobs"), parts("snapshots")), (4, 1), "nothing that was begun is left");
}

#[tokio::test]
async fn offline_the_cache_is_all_there_is() {
	let folder = tempfile::tempdir().unwrap();
	let at = |name: &str| folder.path().join("datasets--a--b").join(name);
	let snapshot_at = |name: &str| at(&format!("snapshots/{COMMIT}/{name}"));
	fs::create_dir_all(at("blobs")).unwrap();
	fs::create_dir_all(at("refs")).unwrap();
	fs::create_dir_all(snapshot_at("data")).unwrap();
	fs::write(at("blobs/tag"), "text").unwrap();
	fs::write(at("refs/main"), COMMIT).unwrap();
	symlink("../../../blobs/tag", snapshot_at("data/a.txt")).unwrap();
	fs::write(snapshot_at("b.txt"), "a file without a link, as on some systems").unwrap();
	// Nobody is there to be asked.
	let offline = settings(folder.path(), &[("HF_HUB_OFFLINE", "1"), ("HF_ENDPOINT", "http://127.0.0.1:1")]);
	assert_eq!(snapshot(&offline, "hf://datasets/a/b").await.unwrap().0, ["b.txt", "data/a.txt"]);
	assert_eq!(snapshot(&offline, &format!("hf://datasets/a/b@{COMMIT}/data")).await.unwrap().0, ["data/a.txt"]);
	for name in ["hf://datasets/a/c", "hf://datasets/a/b@other", "hf://a/b"] {
		let words = snapshot(&offline, name).await.unwrap_err().to_string();
		assert!(words.contains(name) && words.contains("HF_HUB_OFFLINE"), "{words}");
	}
	let words = snapshot(&offline, "hf://datasets/a/b/*.parquet").await.unwrap_err().to_string();
	assert!(words.contains("has no such file; there are b.txt, data/a.txt"), "{words}");
	// Links are followed once, and to the contents of the same repository.
	fs::write(folder.path().join("secret"), "secret").unwrap();
	symlink("tag", at("blobs/link")).unwrap();
	for target in ["../../../secret", "../../blobs/link", "../../refs/main", "/etc/hostname", "b.txt", "../../blobs", "data/a.txt"] {
		symlink(target, snapshot_at("bad.txt")).unwrap();
		let words = snapshot(&offline, "hf://datasets/a/b/bad.txt").await.unwrap_err().to_string();
		assert!(words.contains("bad.txt leads out of the cache"), "{target}: {words}");
		fs::remove_file(snapshot_at("bad.txt")).unwrap();
	}
	// A link to a content that is gone is one that is not there.
	symlink("../../blobs/gone", snapshot_at("gone.txt")).unwrap();
	assert!(matches!(snapshot(&offline, "hf://datasets/a/b/gone.txt").await, Err(HubError::NotCached { .. })));
	// A folder that is a link is not looked into.
	fs::create_dir(folder.path().join("outside")).unwrap();
	fs::write(folder.path().join("outside/x.txt"), "x").unwrap();
	symlink(folder.path().join("outside"), snapshot_at("linked")).unwrap();
	assert!(matches!(snapshot(&offline, "hf://datasets/a/b/linked").await, Err(HubError::Outside { .. })));
}

#[tokio::test]
async fn hubs_that_do_not_answer_or_answer_wrongly_are_refused_in_words() {
	async fn words(answers: Answers, name: &str) -> String {
		let folder = tempfile::tempdir().unwrap();
		let (hub, _) = serve(answers).await;
		let online = settings(folder.path(), &[("HF_ENDPOINT", &hub)]);
		let error = snapshot(&online, name).await.unwrap_err();
		let blobs = folder.path().join("datasets--a--b/blobs");
		assert!(!blobs.exists() || fs::read_dir(blobs).unwrap().count() == 0);
		assert!(!format!("{error} {error:?}").contains(TOKEN));
		error.to_string()
	}
	let plain = |status: u16, headers: &[(&'static str, &str)], body: &[u8]| -> Answers {
		let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
		let body = body.to_vec();
		Arc::new(move |_| (status, headers.clone(), body.clone()))
	};
	let name = "hf://datasets/a/b";
	for (answers, expected) in [
		(plain(401, &[], b""), "the hub answers 401: take a token"),
		(plain(404, &[], b""), "the hub answers 404: there is no such thing"),
		(plain(500, &[], b""), "the hub answers 500"),
		(plain(200, &[], b"<html>"), "this is no list of files"),
		(plain(200, &[], b"{\"sha\": \"../../x\", \"siblings\": []}"), "names no commit"),
		(plain(302, &[("location", "/")], b""), "more than 10 times"),
		(plain(302, &[("location", "file:///etc/passwd")], b""), "an address that is none"),
		(plain(302, &[], b""), "an address that is none"),
		(hub_of(&["../../x"], String::new()), "lists \"../../x\", which is no place in a folder"),
		(hub_of(&["/etc/x"], String::new()), "which is no place in a folder"),
		(hub_of(&["README.md"], String::new()), "has no such file; there are README.md"),
	] {
		let found = words(answers, name).await;
		assert!(found.contains(expected), "{found}");
	}
	// Files with other bytes than the hub says, or without a tag that can be a name.
	let large = "hf://datasets/a/b/data/large.parquet";
	for (body, expected) in
		[(&LARGE[1..], "other bytes"), (&[LARGE, b"!"].concat(), "other bytes"), (&[b"A", &LARGE[1..]].concat(), "SHA-256")]
	{
		let (cdn, _) = serve(plain(200, &[], body)).await;
		let found = words(hub_of(FILES, cdn), large).await;
		assert!(found.contains(expected), "{found}");
	}
	for tag in ["\"../../../x\"", "\"\"", "\".hidden-tag\"", "\"a/b/c/d/e/f\""] {
		let tagged = move |path: &str| match path.starts_with("/api/") {
			true => hub_of(FILES, String::new())(path),
			false => (200, vec![("etag", tag.to_owned())], b"text".to_vec()),
		};
		let found = words(Arc::new(tagged), "hf://datasets/a/b/top.txt").await;
		assert!(found.contains("does not say which file it is"), "{tag}: {found}");
	}
	// Git's hash of "text" is another one than this; and a file without end.
	for (endless, tag, expected) in [
		(false, "9".repeat(40), "Git's hash f3a34851d44d6b97c90fbb99dd3d18c261b9a237"),
		(true, "tag-of-it".into(), "more than 67108864 bytes"),
	] {
		let answers = tagged(tag, b"text");
		let (hub, _) = if endless { serve_endlessly(answers).await } else { serve(answers).await };
		let folder = tempfile::tempdir().unwrap();
		let online = settings(folder.path(), &[("HF_ENDPOINT", &hub)]);
		let found = snapshot(&online, "hf://datasets/a/b/top.txt").await.unwrap_err().to_string();
		assert!(found.contains(expected), "{found}");
		assert_eq!(fs::read_dir(folder.path().join("datasets--a--b/blobs")).unwrap().count(), 0);
	}
	let folder = tempfile::tempdir().unwrap();
	let (hub, _) = serve(tagged("f3a34851d44d6b97c90fbb99dd3d18c261b9a237".into(), b"text")).await;
	let online = settings(folder.path(), &[("HF_ENDPOINT", &hub)]);
	assert_eq!(snapshot(&online, "hf://datasets/a/b/top.txt").await.unwrap().0, ["top.txt"]);
	let away = settings(Path::new("/nowhere"), &[("HF_ENDPOINT", "http://127.0.0.1:1")]);
	let found = snapshot(&away, name).await.unwrap_err().to_string();
	assert!(found.contains("http://127.0.0.1:1/api/datasets/a/b/revision/main") && found.contains("HF_HUB_OFFLINE=1"), "{found}");
}

#[tokio::test]
async fn of_a_model_that_is_taken_which_it_is_read_from() {
	let folder = tempfile::tempdir().unwrap();
	let at = |name: &str| folder.path().join("models--a--b/snapshots").join(COMMIT).join(name);
	fs::create_dir_all(at("onnx")).unwrap();
	for name in ["config.json", "model.safetensors", "chat_template.jinja", "pytorch_model.bin", "README.md", "onnx/config.json"] {
		fs::write(at(name), name).unwrap();
	}
	let offline = settings(folder.path(), &[("HF_HUB_OFFLINE", "1")]);
	let (files, _) = snapshot(&offline, &format!("hf://a/b@{COMMIT}")).await.unwrap();
	assert_eq!(files, ["chat_template.jinja", "config.json", "model.safetensors"]);
}
