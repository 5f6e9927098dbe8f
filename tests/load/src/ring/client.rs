//! One client after the other, each of which does what is drawn for it.

use super::{
	draw::{Draw, Way},
	gaps::Gap,
	measurement::Seen,
	Known, Shared, MODEL,
};
use neuroshard_e2e::{head, Answers, Reply, Streamed};
use std::{
	io::{ErrorKind, Result},
	sync::Arc,
	time::{Duration, Instant},
};
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};

/// Longest time of an answer, with all pauses, for who reads it.
const LONGEST: Duration = Duration::from_secs(180);
/// A slow reader waits so long behind each of this many pieces.
const SLOWLY: (Duration, usize) = (Duration::from_millis(100), 4);
/// Bytes of a body that is too large.
const OVERSIZE: usize = (4 << 20) + 1;

/// A client.
pub(super) struct Client {
	shared: Arc<Shared>,
	number: u32,
	draw: Draw,
	seen: Seen,
}

impl Client {
	pub(super) fn new(shared: Arc<Shared>, number: u32) -> Self {
		// The questions have another seed.
		Self { shared, number, draw: Draw::new(u64::from(number) + 1), seen: Seen::default() }
	}

	/// Does one thing after the other until the time is over.
	pub(super) async fn run(mut self) -> Seen {
		while Instant::now() < self.shared.until {
			self.next().await;
		}
		self.seen
	}

	async fn next(&mut self) {
		let shared = self.shared.clone();
		let index = self.draw.below(u32::try_from(shared.known.len()).unwrap_or(u32::MAX));
		let Some(known) = shared.known.get(usize::try_from(index).unwrap_or_default()) else { return };
		match self.draw.way() {
			Way::Steady => {
				let answers = timeout(LONGEST, self.steady(known)).await;
				self.judge(known, answers.unwrap_or_else(|late| Err(late.into())));
			}
			Way::Slow => {
				let answers = timeout(LONGEST, self.slow(known)).await;
				self.judge(known, answers.unwrap_or_else(|late| Err(late.into())));
			}
			Way::Leaves => {
				let pieces = self.draw.below(30);
				let stays = self.leaves(known, pieces);
				// Whatever comes is not its business any more.
				let _ = timeout(LONGEST, stays).await;
				self.seen.left += 1;
			}
			Way::Half => {
				self.half(known).await;
				self.seen.halves += 1;
			}
			Way::Oversize => {
				let body = vec![b' '; OVERSIZE];
				let status = self.refused(known.question.path(), &body).await;
				self.seen.refused("a body that is too large", status, 413);
			}
			Way::Broken => {
				let mut body = known.question.body(MODEL).into_bytes();
				let at = body.len() / 2;
				body.splice(at..at, [0xff, 0xc0, 0x80]);
				let status = self.refused(known.question.path(), &body).await;
				self.seen.refused("a body that is no UTF-8", status, 400);
			}
		}
	}

	/// What became of an answer that was waited for.
	fn judge(&mut self, known: &Known, answers: Result<Answers>) {
		match answers {
			Ok(answers) if answers == known.answers => self.seen.answers += 1,
			Ok(answers) => self.seen.wrong.push(format!("{:?}: {answers:?}, not {:?}", known.question, known.answers)),
			Err(error) if error.to_string().starts_with("status 429") => self.seen.refused("more than wait", Some(429), 429),
			Err(error) => self.seen.incomplete.push(format!("{:?}: {error}", known.question)),
		}
	}

	async fn steady(&mut self, known: &Known) -> Result<Answers> {
		let question = &known.question;
		if !question.stream {
			return question.ask(self.shared.address, MODEL).await;
		}
		let asked = Instant::now();
		let mut stream = question.begin(self.shared.address, MODEL).await?;
		let mut last: Option<Instant> = None;
		while stream.next().await? {
			let now = Instant::now();
			// A chat opens before its first token.
			if stream.texts().iter().all(|text| text.is_empty()) || stream.is_done() {
				continue;
			}
			match last {
				None => self.seen.first_tokens.push(now.duration_since(asked)),
				Some(last) => {
					let since = |time: Instant| time.duration_since(self.shared.start);
					self.seen.gaps.push(Gap { reader: self.number, from: since(last), to: since(now) });
				}
			}
			last = Some(now);
		}
		stream.all().await
	}

	async fn stream(&self, known: &Known) -> Result<Streamed> {
		known.question.begin(self.shared.address, MODEL).await
	}

	async fn slow(&self, known: &Known) -> Result<Answers> {
		if !known.question.stream {
			return known.question.ask(self.shared.address, MODEL).await;
		}
		let (pause, pieces) = SLOWLY;
		let mut stream = self.stream(known).await?;
		for number in 1usize.. {
			if !stream.next().await? {
				break;
			}
			if number.is_multiple_of(pieces) {
				tokio::time::sleep(pause).await;
			}
		}
		stream.all().await
	}

	async fn leaves(&self, known: &Known, pieces: u32) -> Result<()> {
		if !known.question.stream {
			// Before the answer.
			let asking = known.question.ask(self.shared.address, MODEL);
			let _ = timeout(Duration::from_millis(u64::from(pieces) * 20), asking).await;
			return Ok(());
		}
		let mut stream = self.stream(known).await?;
		for _ in 0..pieces {
			if !stream.next().await? {
				break;
			}
		}
		Ok(())
	}

	/// Half a head, or half a body, and a while of nothing.
	async fn half(&mut self, known: &Known) {
		let body = known.question.body(MODEL);
		let head = head(known.question.path(), body.len());
		let sent = match self.draw.below(2) {
			0 => head[..head.len() / 2].to_owned(),
			_ => head + &body[..body.floor_char_boundary(body.len() / 2)],
		};
		let wait = Duration::from_millis(u64::from(self.draw.below(4_000)));
		let Ok(mut stream) = TcpStream::connect(self.shared.address).await else { return };
		if stream.write_all(sent.as_bytes()).await.is_ok() {
			tokio::time::sleep(wait).await;
		}
	}

	/// The status with which a body is refused; `None` if the connection ends before.
	async fn refused(&self, path: &str, body: &[u8]) -> Option<u16> {
		match timeout(LONGEST, Reply::to(self.shared.address, path, body)).await {
			Ok(Ok(reply)) => Some(reply.status),
			Ok(Err(error)) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe) => None,
			_ => Some(0),
		}
	}
}
