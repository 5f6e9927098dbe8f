//! How a ring bears load: many clients, some of them bad ones, while its members are killed and started again. Every complete answer is compared with
//! that of one process.

mod client;
mod draw;
mod gaps;
mod measurement;
mod mishaps;

pub use measurement::ServeMeasurement;

use crate::{Answers, Error, Question, Ring, Server};
use client::Client;
use draw::Draw;
use measurement::Seen;
use std::{
	path::Path,
	sync::Arc,
	time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// Name of the model.
const MODEL: &str = "tiny";
/// Tokens of its longest text.
const LONGEST: u32 = 1_024;
/// Different questions.
const QUESTIONS: u32 = 96;
/// Longest time of one answer for whom another process computes it.
const REFERENCE: Duration = Duration::from_secs(120);

/// What a ring is loaded with.
#[derive(Clone, Copy, Debug)]
pub struct ServeLoad {
	/// How long.
	pub time: Duration,
	/// Clients at a time.
	pub clients: u32,
}

/// A question, and its answer by one process.
struct Known {
	question: Question,
	answers: Answers,
}

/// What clients and mishaps share.
struct Shared {
	address: std::net::SocketAddr,
	known: Vec<Known>,
	start: Instant,
	until: Instant,
}

impl ServeLoad {
	/// Starts a ring in the new folder `folder`, loads it, and says how it did. `say` is told what is done.
	///
	/// # Errors
	/// Those of the processes. A ring that does not do what it should is no error: see [`ServeMeasurement::faults`].
	pub async fn run(&self, worker: &Path, folder: &Path, say: impl Fn(&str)) -> Result<ServeMeasurement, Error> {
		let files = folder.join(MODEL);
		crate::lively_model(&files, LONGEST)?;
		say("one process answers all questions");
		let known = reference(worker, &files, &folder.join("alone")).await?;
		say("starting the ring");
		let mut ring = Ring::start(worker, &files, &folder.join("ring")).await?;
		let start = Instant::now();
		let shared = Arc::new(Shared { address: ring.driver.address, known, start, until: start + self.time });
		let mut clients = JoinSet::new();
		for number in 0..self.clients {
			clients.spawn(Client::new(shared.clone(), number).run());
		}
		let mishaps = mishaps::run(&mut ring, start, self.time, &say).await?;
		say("waiting for the last answers");
		let mut seen = Seen::default();
		while let Some(of_client) = clients.join_next().await {
			seen.add(of_client.map_err(|error| Error::Setup(error.to_string()))?);
		}
		let measured = ServeMeasurement::of(*self, seen, mishaps);
		ring.driver.process.stop().await;
		Ok(measured)
	}
}

/// Different questions, and what one process answers.
async fn reference(worker: &Path, files: &Path, folder: &Path) -> Result<Vec<Known>, Error> {
	let server = Server::start::<&str>(worker, files, folder, &[]).await?;
	let mut draw = Draw::new(0);
	let mut asked = JoinSet::new();
	for number in 0..QUESTIONS {
		let (question, address) = (draw.question(number), server.address);
		asked.spawn(async move {
			let answers = tokio::time::timeout(REFERENCE, question.ask(address, MODEL)).await;
			(question, answers.unwrap_or_else(|late| Err(late.into())))
		});
	}
	let mut known = Vec::new();
	while let Some(answered) = asked.join_next().await {
		let (question, answers) = answered.map_err(|error| Error::Setup(error.to_string()))?;
		let answers = answers.map_err(|error| Error::Setup(format!("one process does not answer {question:?}: {error}")))?;
		known.push(Known { question, answers });
	}
	server.process.stop().await;
	Ok(known)
}
