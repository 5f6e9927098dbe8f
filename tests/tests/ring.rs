//! A ring of workers that holds each half of a model twice, as processes: it answers as one process does, whoever is killed.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use neuroshard_e2e::{kept_unless_passed, lively_model, until, within, Binaries, Ended, Question, Reply, Ring, Server, Streamed};
use std::{
	process::Command,
	sync::{
		atomic::{AtomicBool, AtomicUsize, Ordering},
		Arc,
	},
	time::Duration,
};
use tokio::task::JoinSet;

const MODEL: &str = "tiny";
/// Tokens of the model's longest text: a stream of so many goes on while holders come back.
const LONGEST: u32 = 32_768;
/// Longest wait for an answer.
const SOON: Duration = Duration::from_secs(120);
/// Pieces of a stream behind which it is under way.
const BEGUN: usize = 200;

fn questions() -> Vec<Question> {
	let code = "fn main() { println!(\"{}\", 1 + 1); } ".repeat(20);
	vec![
		Question::default(),
		Question { temperature: 0.0, ..Question::default() },
		Question { seed: 11, n: 2, tokens: 90, ..Question::default() },
		Question { prompt: code.clone(), tokens: 120, ..Question::default() },
		Question { prompt: code, stream: true, n: 2, seed: 3, tokens: 70, ..Question::default() },
		Question { prompt: "Hello".into(), chat: true, stream: true, seed: 5, tokens: 100, ..Question::default() },
		Question { prompt: "Grüße, 世界".into(), chat: true, n: 2, seed: 6, ..Question::default() },
	]
}

async fn pieces(stream: &mut Streamed, count: usize) {
	for _ in 0..count {
		assert!(stream.next().await.unwrap());
	}
	assert!(!stream.is_done());
}

/// Starts killed holders, and waits until they are members again.
async fn start_again(ring: &mut Ring, holders: &[usize]) {
	for holder in holders {
		let joins = ring.joins(*holder).unwrap();
		ring.holders[*holder].begin().await.unwrap();
		ring.joined(*holder, joins + 1).await.unwrap();
	}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ring_answers_as_one_process_does_whoever_is_killed() {
	let mut folder = kept_unless_passed("ring").unwrap();
	let (files, worker) = (folder.path().join(MODEL), Binaries::find().unwrap().worker);
	lively_model(&files, LONGEST).unwrap();
	let alone = Server::start::<&str>(&worker, &files, &folder.path().join("alone"), &[]).await.unwrap();
	let mut ring = Ring::start(&worker, &files, &folder.path().join("ring")).await.unwrap();
	// All at once.
	let mut asked = JoinSet::new();
	for (number, question) in questions().into_iter().enumerate() {
		for address in [alone.address, ring.driver.address] {
			let question = question.clone();
			asked.spawn(async move { (number, question.ask(address, MODEL).await.unwrap()) });
		}
	}
	let mut answers = within("all answers", SOON, asked.join_all()).await.unwrap();
	answers.sort();
	for pair in answers.chunks(2) {
		assert_eq!(pair[0], pair[1]);
	}

	// One holder of each span is killed in the middle of a stream.
	let stream = Question { stream: true, seed: 8, tokens: 2_500, ..Question::default() };
	let (first, second): (Vec<_>, Vec<_>) = ring.spans.iter().map(|span| (span[0], span[1])).unzip();
	let mut answering = stream.begin(ring.driver.address, MODEL).await.unwrap();
	pieces(&mut answering, BEGUN).await;
	first.iter().for_each(|holder| ring.holders[*holder].kill());
	let (answered, expected) = tokio::join!(within("the rest of a stream", SOON, answering.all()), stream.ask(alone.address, MODEL));
	assert_eq!(answered.unwrap().unwrap(), expected.unwrap());
	for holder in &first {
		assert!(ring.late(*holder).unwrap() > 0, "holder {holder} was not asked");
	}

	// They are started again, and so are the other ones in the middle of a stream. That goes on with those that had not read its beginning.
	start_again(&mut ring, &first).await;
	let long = Question { tokens: LONGEST - 100, ..stream };
	let mut answering = long.begin(ring.driver.address, MODEL).await.unwrap();
	pieces(&mut answering, BEGUN).await;
	second.iter().for_each(|holder| ring.holders[*holder].kill());
	let (told, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
	let reading = {
		let (told, stop) = (told.clone(), stop.clone());
		tokio::spawn(async move {
			while !stop.load(Ordering::SeqCst) {
				pieces(&mut answering, 1).await;
				told.fetch_add(1, Ordering::SeqCst);
			}
			answering.texts().concat()
		})
	};
	start_again(&mut ring, &second).await;
	first.iter().for_each(|holder| ring.holders[*holder].kill());
	until("the lost holders to be noticed", SOON, async || {
		let mut noticed = true;
		for holder in &first {
			noticed &= ring.late(*holder)? > 1;
		}
		Ok(noticed.then_some(()))
	})
	.await
	.unwrap();
	let before = told.load(Ordering::SeqCst);
	until("the stream to go on", SOON, async || Ok((told.load(Ordering::SeqCst) > before + BEGUN).then_some(()))).await.unwrap();
	stop.store(true, Ordering::SeqCst);
	let told = within("the reader of a stream", SOON, reading).await.unwrap().unwrap();
	let mut alones = long.begin(alone.address, MODEL).await.unwrap();
	while alones.texts()[0].len() < told.len() {
		pieces(&mut alones, 1).await;
	}
	assert!(alones.texts()[0].starts_with(&told));
	drop(alones);

	// What it answered can be checked without it.
	let question = Question { receipt: true, tokens: 50, ..Question::default() };
	let reply = Reply::to(ring.driver.address, question.path(), question.body(MODEL).as_bytes()).await.unwrap();
	let body = reply.json().await.unwrap();
	let receipt = folder.path().join("receipt.json");
	std::fs::write(&receipt, body["choices"][0]["receipt"].to_string()).unwrap();
	let mut command = Command::new(&worker);
	command.arg("check").arg(&receipt).arg("--model").arg(&files).args(["--threads", "1"]);
	let said = Ended::output_of(command).await.unwrap();
	assert!(said.starts_with("equal: tiny gives these 50 tokens"), "{said}");

	alone.process.stop().await;
	ring.driver.process.stop().await;
	folder.disable_cleanup(false);
}
