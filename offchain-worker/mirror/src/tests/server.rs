//! A web server of files, built without our client and the library, that does to each request what a test says.

use crate::Location;
use neuroshard_store::LeafList;
use std::{
	collections::BTreeMap,
	sync::{Arc, Mutex},
};
use tokio::{
	io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
	net::{TcpListener, TcpStream},
};

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
	pub path: String,
	/// First byte, if it is not all of the file.
	pub from: Option<usize>,
}

impl Asked {
	/// Whether the bytes of a blob are asked for.
	pub fn is_bin(&self) -> bool {
		self.path.ends_with(".bin")
	}
}

/// What becomes of a request.
pub enum Reaction {
	/// What was asked for.
	Honest,
	/// The same, of another file.
	Instead(Vec<u8>),
	/// All of the file, whatever range was asked for.
	Whole,
	/// So many bytes of what was announced, then the end of the connection.
	Cut(usize),
	/// So many bytes of what was announced, and then nothing.
	Stall(usize),
	/// What was asked for, and zeros without end.
	Endless,
	/// This status, with a body without end.
	Status(u16),
	/// To the same place, again and again.
	Redirect,
	/// No answer.
	Silence,
}

/// A web server.
pub struct Server {
	pub location: Location,
	asked: Arc<Mutex<Vec<Asked>>>,
	sent: Arc<Mutex<usize>>,
}

impl Server {
	/// A server of the blob `data`, its leaf list, and `note` under the root `0xab…ab`. `react` is told of each request, and how many there were before.
	pub async fn start(data: &[u8], note: &[u8], react: impl Fn(&Asked, usize) -> Reaction + Send + Sync + 'static) -> Self {
		let list = LeafList::of(data).unwrap();
		let root = hex::encode(list.descriptor().root.0);
		let blob = format!("/mirror/blobs/{}/{root}", &root[..2]);
		let files = BTreeMap::from([
			(format!("{blob}.bin"), data.to_vec()),
			(format!("{blob}.leaves"), list.hashes().as_flattened().to_vec()),
			(format!("/mirror/notes/{}", "ab".repeat(32)), note.to_vec()),
		]);
		let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
		let location = format!("http://{}/mirror", listener.local_addr().unwrap()).parse().unwrap();
		let (asked, sent) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::<Mutex<usize>>::default());
		let (files, react, log, count) = (Arc::new(files), Arc::new(react), asked.clone(), sent.clone());
		tokio::spawn(async move {
			while let Ok((stream, _)) = listener.accept().await {
				let (files, react, log, count) = (files.clone(), react.clone(), log.clone(), count.clone());
				tokio::spawn(async move {
					let mut stream = BufReader::new(stream);
					let asked = read(&mut stream).await;
					let before = {
						let mut log = log.lock().unwrap();
						log.push(asked.clone());
						log.len() - 1
					};
					answer(&mut stream, &files, &asked, react(&asked, before), &count).await;
				});
			}
		});
		Self { location, asked, sent }
	}

	/// All requests so far.
	pub fn asked(&self) -> Vec<Asked> {
		self.asked.lock().unwrap().clone()
	}

	/// First bytes of the requests for the bytes of a blob.
	pub fn from(&self) -> Vec<Option<usize>> {
		self.asked().iter().filter(|asked| asked.is_bin()).map(|asked| asked.from).collect()
	}

	/// Bytes of bodies that clients took.
	pub fn sent(&self) -> usize {
		*self.sent.lock().unwrap()
	}
}

async fn read(stream: &mut BufReader<TcpStream>) -> Asked {
	let (mut path, mut from) = (String::new(), None);
	loop {
		let mut line = String::new();
		stream.read_line(&mut line).await.unwrap();
		let line = line.trim_end();
		if let Some(rest) = line.strip_prefix("GET ") {
			path = rest.split(' ').next().unwrap().to_owned();
		}
		if let Some(range) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
			from = Some(range.split('-').next().unwrap().parse().unwrap());
		}
		if line.is_empty() {
			return Asked { path, from };
		}
	}
}

async fn answer(
	stream: &mut BufReader<TcpStream>,
	files: &BTreeMap<String, Vec<u8>>,
	asked: &Asked,
	reaction: Reaction,
	count: &Mutex<usize>,
) {
	let mut send = async |bytes: &[u8]| {
		let sent = stream.write_all(bytes).await.is_ok();
		*count.lock().unwrap() += if sent { bytes.len() } else { 0 };
		sent
	};
	let Some(file) = files.get(&asked.path) else {
		send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
		return;
	};
	let file = if let Reaction::Instead(other) = &reaction { other } else { file };
	let from = if let Reaction::Whole = reaction { None } else { asked.from };
	let body = &file[from.unwrap_or_default().min(file.len())..];
	let announced = if let Reaction::Endless | Reaction::Status(_) = reaction { 1 << 60 } else { body.len() };
	let status = match (&reaction, from) {
		(Reaction::Silence, _) => std::future::pending().await,
		(Reaction::Redirect, _) => format!("302 Found\r\nLocation: {}", asked.path),
		(Reaction::Status(status), _) => format!("{status} Because"),
		(_, Some(from)) if from >= file.len() => "416 Range Not Satisfiable".into(),
		(_, Some(from)) => format!("206 Partial Content\r\nContent-Range: bytes {from}-{}/{}", file.len() - 1, file.len()),
		(_, None) => "200 OK".into(),
	};
	let head = format!("HTTP/1.1 {status}\r\nContent-Length: {announced}\r\nConnection: close\r\n\r\n");
	if !send(head.as_bytes()).await {
		return;
	}
	*count.lock().unwrap() -= head.len();
	if let Reaction::Cut(bytes) = reaction {
		send(&body[..bytes.min(body.len())]).await;
		return;
	}
	if let Reaction::Stall(bytes) = reaction {
		send(&body[..bytes.min(body.len())]).await;
		std::future::pending::<()>().await;
	}
	if !matches!(reaction, Reaction::Redirect | Reaction::Status(_)) && !send(body).await {
		return;
	}
	// The other side hangs up when it has seen enough.
	while matches!(reaction, Reaction::Endless | Reaction::Status(_)) && send(&[0; 16_384]).await {}
}
