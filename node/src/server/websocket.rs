//! A WebSocket (RFC 6455) over which one call, or batch, is made at a time.
//!
//! The SDK's server reads on while it answers, and makes room for as much as the header of a frame says will come. So only what reads and writes headers is
//! taken from the library that it uses.

use super::{
	calls::Caller,
	coming::{slow, Coming},
	explain::explained_text,
};
use hyper::body::Buf;
use jsonrpsee::{
	types::{error::reject_too_big_request, Id},
	MethodResponse,
};
use soketto::{
	base::{Codec, Header, OpCode},
	Parsing,
};
use std::{io, pin::pin, sync::Arc, time::Duration};
use tokio::{
	io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
	select,
	sync::mpsc,
	time::{interval_at, timeout_at, Instant, MissedTickBehavior},
};

/// Bytes that are read ahead of what is looked at.
const AHEAD: usize = 8_192;
/// Time between two pings.
const PING: Duration = Duration::from_secs(30);
/// Time after which a client that has said nothing at all has gone.
const SILENT: Duration = Duration::from_secs(600);

/// Answers calls, one at a time, and passes on what subscriptions say, until the client goes.
///
/// # Errors
/// Why the connection ends, if the client did not end it.
pub async fn serve(io: impl AsyncRead + AsyncWrite, caller: Arc<Caller>, mut notifications: mpsc::Receiver<String>) -> io::Result<()> {
	let (reading, writing) = tokio::io::split(io);
	let (mut reader, mut writer) = (Reader::new(reading, &caller), Writer { io: writing, codec: Codec::new() });
	let mut pings = interval_at(Instant::now() + PING, PING);
	pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
	let mut heard = Instant::now();
	loop {
		select! {
			said = reader.next() => match said? {
				Some(Said::Request(request)) if request.is_too_large() => {
					writer.text(too_large(caller.limits.request).as_ref()).await?;
				}
				Some(Said::Request(request)) => {
					let mut answering = pin!(caller.answer(request));
					// A subscription waits until what it says is taken.
					let answer = loop {
						select! {
							answer = &mut answering => break answer?,
							Some(notification) = notifications.recv() => writer.text(explained_text(notification).as_bytes()).await?,
						}
					};
					if let Some(answer) = answer {
						writer.text(answer.as_ref()).await?;
						answer.sent();
					}
				}
				Some(Said::Ping(payload)) => writer.frame(OpCode::Pong, &payload).await?,
				Some(Said::Pong) => {}
				Some(Said::Close) => return writer.frame(OpCode::Close, &[]).await,
				None => return Ok(()),
			},
			Some(notification) = notifications.recv() => {
				writer.text(explained_text(notification).as_bytes()).await?;
				continue;
			}
			_ = pings.tick() => {
				if heard.elapsed() > SILENT {
					return Err(slow());
				}
				writer.frame(OpCode::Ping, &[]).await?;
				continue;
			}
		}
		heard = Instant::now();
	}
}

fn too_large(most: u32) -> String {
	MethodResponse::error(Id::Null, reject_too_big_request(most)).into_result()
}

fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
	io::Error::new(io::ErrorKind::InvalidData, error)
}

/// What a client says.
enum Said {
	/// A message, in as many parts as it likes.
	Request(Coming),
	Ping(Vec<u8>),
	Pong,
	Close,
}

/// Reads what a client says.
struct Reader<'a, Io> {
	io: Io,
	codec: Codec,
	caller: &'a Caller,
	/// What has come and was not looked at.
	ahead: Vec<u8>,
	/// The frame that comes, and how many bytes of it have come.
	frame: Option<(Header, usize)>,
	/// The message that comes.
	message: Option<Coming>,
	/// What has come of a frame of the protocol's own.
	control: Vec<u8>,
}

impl<'a, Io: AsyncRead + Unpin> Reader<'a, Io> {
	fn new(io: Io, caller: &'a Caller) -> Self {
		let mut codec = Codec::new();
		// Nothing is kept of what is too large: it is read to its end, and then refused.
		codec.set_max_data_size(usize::MAX);
		Self { io, codec, caller, ahead: Vec::new(), frame: None, message: None, control: Vec::new() }
	}

	/// What the client says next. None at its end. Giving up the wait changes nothing.
	async fn next(&mut self) -> io::Result<Option<Said>> {
		loop {
			let Some((header, came)) = &self.frame else {
				match self.codec.decode_header(&self.ahead).map_err(broken)? {
					Parsing::Done { value, offset } => {
						self.ahead.drain(..offset);
						self.begin(value)?;
					}
					Parsing::NeedMore(_) if !self.read().await? => return Ok(None),
					Parsing::NeedMore(_) => {}
				}
				continue;
			};
			let left = header.payload_len().saturating_sub(*came);
			if left == 0 {
				if let Some(said) = self.end() {
					return Ok(Some(said));
				}
			} else if self.ahead.is_empty() {
				if !self.read().await? {
					return Ok(None);
				}
			} else {
				self.take(left).await?;
			}
		}
	}

	/// Reads ahead, and says whether more may come.
	async fn read(&mut self) -> io::Result<bool> {
		let mut bytes = [0; AHEAD];
		let reading = self.io.read(&mut bytes);
		let read = match &self.message {
			Some(message) => timeout_at(message.until(), reading).await.map_err(|_| slow())??,
			None => reading.await?,
		};
		self.ahead.extend_from_slice(&bytes[..read]);
		Ok(read > 0)
	}

	fn begin(&mut self, header: Header) -> io::Result<()> {
		if !header.opcode().is_control() {
			// Each part of a message comes after the one before, and nothing else that is data.
			if (header.opcode() == OpCode::Continue) != self.message.is_some() {
				return Err(broken("a part of no message, or a message within another one"));
			}
			let Caller { kind, limits, .. } = self.caller;
			self.message.get_or_insert_with(|| Coming::new(kind, limits));
		}
		self.frame = Some((header, 0));
		Ok(())
	}

	/// Takes what has come of the `left` bytes of a frame.
	async fn take(&mut self, left: usize) -> io::Result<()> {
		let part = left.min(self.ahead.len());
		let Some((header, came)) = &mut self.frame else { return Ok(()) };
		let control = header.opcode().is_control();
		if let Some(message) = self.message.as_mut().filter(|_| !control) {
			message.room(part).await?;
		}
		// From here on, nothing waits.
		let mask = header.mask().to_be_bytes();
		let bytes = &mut self.ahead[..part];
		bytes.iter_mut().zip(mask.iter().cycle().skip(*came % mask.len())).for_each(|(byte, mask)| *byte ^= mask);
		match &mut self.message {
			Some(message) if !control => message.take(bytes),
			_ => self.control.extend_from_slice(bytes),
		}
		self.ahead.drain(..part);
		*came += part;
		Ok(())
	}

	/// Ends a frame, and says what ends with it.
	fn end(&mut self) -> Option<Said> {
		let (header, _) = self.frame.take()?;
		let control = std::mem::take(&mut self.control);
		match header.opcode() {
			OpCode::Ping => Some(Said::Ping(control)),
			OpCode::Pong => Some(Said::Pong),
			OpCode::Close => Some(Said::Close),
			_ if header.is_fin() => self.message.take().map(Said::Request),
			_ => None,
		}
	}
}

/// Writes what a client is told.
struct Writer<Io> {
	io: Io,
	codec: Codec,
}

impl<Io: AsyncWrite + Unpin> Writer<Io> {
	async fn text(&mut self, text: &[u8]) -> io::Result<()> {
		self.frame(OpCode::Text, text).await
	}

	async fn frame(&mut self, code: OpCode, payload: &[u8]) -> io::Result<()> {
		let mut header = Header::new(code);
		header.set_payload_len(payload.len());
		self.io.write_all_buf(&mut Buf::chain(self.codec.encode_header(&header), payload)).await?;
		self.io.flush().await
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::server::{budget::Kind, calls::Subscriptions, Limits};
	use jsonrpsee::{
		server::{BatchRequestConfig, BoundedSubscriptions, ConnectionId, MethodSink, RandomStringIdProvider, ResponsePayload},
		Methods, RpcModule,
	};
	use tokio::{
		io::{duplex, DuplexStream},
		sync::Semaphore,
		task::JoinHandle,
	};

	const SOON: Duration = Duration::from_millis(50);
	const LATER: Duration = Duration::from_secs(600);
	const LIMITS: Limits = Limits { request: 1 << 20, answer: 1 << 20, coming: LATER, call: LATER, taking: LATER };
	const MASK: [u8; 4] = [1, 20, 37, 255];
	const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"small"}"#;
	const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":1}"#;
	const TEXT: u8 = 0x81;
	const FIRST: u8 = 0x01;
	const MIDDLE: u8 = 0x00;
	const LAST: u8 = 0x80;

	struct Client {
		io: DuplexStream,
		kind: Kind,
		serving: JoinHandle<io::Result<()>>,
	}

	impl Client {
		fn new(limits: Limits, methods: impl Into<Methods>) -> Self {
			let (io, server) = duplex(10_000);
			let kind = Kind::new(4 << 20, 4 << 20, 1);
			let (sink, notifications) = mpsc::channel(4);
			let subscriptions = Subscriptions {
				bound: BoundedSubscriptions::new(1),
				sink: MethodSink::new(sink),
				ids: Box::new(RandomStringIdProvider::new(16)),
			};
			let caller = Caller {
				methods: methods.into(),
				kind: kind.clone(),
				limits,
				batches: BatchRequestConfig::Limit(10),
				layer: Default::default(),
				extensions: Default::default(),
				id: ConnectionId(1),
				subscriptions: Some(subscriptions),
				_place: Arc::new(Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()),
			};
			Self { io, kind, serving: tokio::spawn(serve(server, Arc::new(caller), notifications)) }
		}

		/// Sends a frame, masked as a client's must be.
		async fn send(&mut self, start: u8, payload: &[u8]) {
			let mut header = Header::new(OpCode::Text);
			header.set_masked(true).set_mask(u32::from_be_bytes(MASK)).set_payload_len(payload.len());
			let mut frame = Codec::new().encode_header(&header).to_vec();
			frame[0] = start;
			let head = frame.len();
			frame.extend_from_slice(payload);
			Codec::apply_mask(&header, &mut frame[head..]);
			// It may be refused before its end.
			let _ = self.io.write_all(&frame).await;
		}

		/// The first byte of a frame, and what it says.
		async fn receive(&mut self) -> (u8, Vec<u8>) {
			let [start, length] = [self.io.read_u8().await.unwrap(), self.io.read_u8().await.unwrap()];
			let length = if length == 126 { self.io.read_u16().await.unwrap() } else { length.into() };
			let mut payload = vec![0; length.into()];
			self.io.read_exact(&mut payload).await.unwrap();
			(start, payload)
		}

		async fn is_answered(&mut self) {
			self.send(TEXT, CALL).await;
			assert_eq!(self.receive().await, (TEXT, ANSWER.to_vec()));
		}

		async fn end(self) -> io::ErrorKind {
			self.serving.await.unwrap().unwrap_err().kind()
		}
	}

	fn small() -> RpcModule<()> {
		let mut methods = RpcModule::new(());
		methods.register_method("small", |_, _, _| 1).unwrap();
		methods
	}

	#[tokio::test]
	async fn a_message_in_parts_is_one_call_and_what_is_no_message_may_come_between() {
		let mut client = Client::new(LIMITS, small());
		for (start, part) in [(FIRST, &CALL[..5]), (MIDDLE, &CALL[5..6]), (0x89, b"now"), (MIDDLE, b""), (0x8a, b""), (LAST, &CALL[6..])] {
			client.send(start, part).await;
		}
		assert_eq!(client.receive().await, (0x8a, b"now".to_vec()));
		assert_eq!(client.receive().await, (TEXT, ANSWER.to_vec()));
		client.is_answered().await;
		client.send(0x88, &[3, 232]).await;
		assert_eq!(client.receive().await, (0x88, Vec::new()));
		client.serving.await.unwrap().unwrap();
	}

	#[tokio::test]
	async fn parts_that_belong_to_no_message_end_the_connection() {
		for parts in [vec![LAST], vec![MIDDLE], vec![FIRST, FIRST], vec![FIRST, TEXT], vec![0x83], vec![0x09]] {
			let mut client = Client::new(LIMITS, small());
			for start in parts {
				client.send(start, b"x").await;
			}
			assert_eq!(client.end().await, io::ErrorKind::InvalidData);
		}
	}

	#[tokio::test]
	async fn a_message_that_is_too_large_is_refused_whatever_its_parts_and_the_connection_goes_on() {
		let limits = Limits { request: 100, ..LIMITS };
		for parts in [vec![(TEXT, 101)], vec![(FIRST, 50), (MIDDLE, 50), (LAST, 1)], vec![(FIRST, 5_000), (MIDDLE, 5_000), (LAST, 5_000)]] {
			let mut client = Client::new(limits, small());
			for (start, length) in parts {
				client.send(start, &vec![b'x'; length]).await;
			}
			let (_, refusal) = client.receive().await;
			assert!(refusal.starts_with(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32007"#), "{}", refusal.escape_ascii());
			client.is_answered().await;
		}
	}

	#[tokio::test]
	async fn what_a_client_says_will_come_takes_no_memory() {
		let mut client = Client::new(LIMITS, small());
		client.io.write_all(&[TEXT, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]).await.unwrap();
		client.io.write_all(&[b'x'; 60 << 10]).await.unwrap();
		assert_eq!(client.kind.requests.taken(), 0);
		client.io.write_all(&[b'x'; 40 << 10]).await.unwrap();
		assert_eq!(client.kind.requests.taken(), 128 << 10, "in steps of 64 KiB");
		client.io.write_all(&vec![b'x'; 924 << 10]).await.unwrap();
		let (_, refusal) = client.receive().await;
		assert!(refusal.starts_with(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700"#), "{}", refusal.escape_ascii());
		assert_eq!([client.kind.requests.taken(), client.kind.answers.taken()], [0, 0]);
	}

	#[tokio::test]
	async fn what_asks_for_no_answer_keeps_nobody_waiting() {
		let mut client = Client::new(LIMITS, small());
		client.send(TEXT, br#"{"jsonrpc":"2.0","method":"small"}"#).await;
		client.send(TEXT, br#"[{"jsonrpc":"2.0","method":"small"}]"#).await;
		client.is_answered().await;
	}

	#[tokio::test]
	async fn a_method_learns_that_its_answer_was_sent() {
		let mut methods = small();
		let (told, mut asked) = mpsc::channel(1);
		let notified = move |_: jsonrpsee::types::Params<'_>, _: &(), _: &jsonrpsee::Extensions| {
			let (answer, sent) = ResponsePayload::success(1).notify_on_completion();
			let told = told.clone();
			tokio::spawn(async move { told.send(sent.await.is_ok()).await });
			answer
		};
		methods.register_method("notified", notified).unwrap();
		let mut client = Client::new(LIMITS, methods);
		client.send(TEXT, br#"{"jsonrpc":"2.0","id":1,"method":"notified"}"#).await;
		assert_eq!(client.receive().await.1, ANSWER);
		assert_eq!(asked.recv().await, Some(true));
	}

	#[tokio::test]
	async fn what_a_subscription_says_is_passed_on_behind_its_answer() {
		let mut methods = small();
		let subscribed = |_: jsonrpsee::types::Params<'static>, pending: jsonrpsee::PendingSubscriptionSink, _, _| async move {
			let sink = pending.accept().await.unwrap();
			for number in 0..10 {
				sink.send(jsonrpsee::SubscriptionMessage::from_json(&number).unwrap()).await.unwrap();
			}
		};
		methods.register_subscription("numbers", "number", "end", subscribed).unwrap();
		let mut client = Client::new(LIMITS, methods);
		client.send(TEXT, br#"{"jsonrpc":"2.0","id":1,"method":"numbers"}"#).await;
		assert!(client.receive().await.1.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":""#));
		for number in 0..10 {
			let (_, said) = client.receive().await;
			let said: serde_json::Value = serde_json::from_slice(&said).unwrap();
			assert_eq!(said["params"]["result"], number);
		}
		client.is_answered().await;
	}

	#[tokio::test]
	async fn a_request_that_comes_too_slowly_and_a_call_that_takes_too_long_end_the_connection() {
		let mut client = Client::new(Limits { coming: SOON, ..LIMITS }, small());
		client.is_answered().await;
		client.send(FIRST, b"{").await;
		assert_eq!(client.end().await, io::ErrorKind::TimedOut);

		let mut methods = small();
		methods.register_async_method("never", |_, _, _| std::future::pending::<u32>()).unwrap();
		let mut client = Client::new(Limits { call: SOON, ..LIMITS }, methods);
		let kind = client.kind.clone();
		client.send(TEXT, br#"{"jsonrpc":"2.0","id":1,"method":"never"}"#).await;
		assert_eq!(client.end().await, io::ErrorKind::TimedOut);
		assert_eq!(kind.answers.taken(), 1 << 20, "it goes on, and has its memory");
	}
}
