//! A ring of workers that holds each half of a model twice, as processes: it answers as one process does, whoever is killed.

use neuroshard_e2e::{kept_unless_passed, lively_model, told_by, until, Binaries, Ended, Question, Reply, Ring, Server, Streamed};
use std::{path::Path, process::Command, time::Duration};
use tokio::task::JoinSet;

const MODEL: &str = "tiny";
/// Tokens of the model's longest text: a stream of so many takes longer than others need to notice that a peer is gone.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ring_answers_as_one_process_does_whoever_is_killed() {
	let mut folder = kept_unless_passed("ring").unwrap();
	let (files, worker) = (folder.path().join(MODEL), Binaries::find().unwrap().worker);
	lively_model(&files, LONGEST).unwrap();
	let alone = Server::start::<&str>(&worker, &files, &folder.path().join("alone"), &[]).await.unwrap();
	let mut ring = Ring::start(&worker, &files, &folder.path().join("ring")).await.unwrap();
	let long = Question { stream: true, seed: 8, tokens: 24_000, ..Question::default() };
	let expected = {
		let (long, address) = (long.clone(), alone.address);
		tokio::spawn(async move { long.ask(address, MODEL).await.unwrap() })
	};

	// All at once.
	let mut asked = JoinSet::new();
	for (number, question) in questions().into_iter().enumerate() {
		for address in [alone.address, ring.driver.address] {
			let question = question.clone();
			asked.spawn(async move { (number, question.ask(address, MODEL).await.unwrap()) });
		}
	}
	let mut answers = tokio::time::timeout(SOON, asked.join_all()).await.unwrap();
	answers.sort();
	for pair in answers.chunks(2) {
		assert_eq!(pair[0], pair[1]);
	}

	// One holder of each span is killed in the middle of a stream and started again; then the other ones are, in the middle of the same stream.
	let mut stream = long.begin(ring.driver.address, MODEL).await.unwrap();
	pieces(&mut stream, BEGUN).await;
	let (first, second): (Vec<_>, Vec<_>) = ring.spans.iter().map(|span| (span[0], span[1])).unzip();
	first.iter().for_each(|holder| ring.holders[*holder].kill());
	pieces(&mut stream, BEGUN).await;
	let rest = tokio::spawn(tokio::time::timeout(SOON, stream.all()));
	for holder in &first {
		until("a lost holder to be noticed", SOON, async || Ok((ring.late(*holder)? > 0).then_some(()))).await.unwrap();
		ring.holders[*holder].begin().await.unwrap();
		ring.joined(*holder, 2).await.unwrap();
	}
	assert!(!rest.is_finished(), "the stream was too short");
	second.iter().for_each(|holder| ring.holders[*holder].kill());
	assert_eq!(rest.await.unwrap().unwrap().unwrap(), expected.await.unwrap());
	let question = Question { seed: 12, ..Question::default() };
	assert_eq!(question.ask(ring.driver.address, MODEL).await.unwrap(), question.ask(alone.address, MODEL).await.unwrap());

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

#[tokio::test]
async fn the_script_for_load_tells_the_options_of_its_program() {
	let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/load-serve.sh");
	let (told, known) = told_by(&script, Path::new(env!("CARGO_BIN_EXE_neuroshard-load-serve"))).await.unwrap();
	assert_eq!(told, known);
	assert!(told.contains("clients"), "{told:?}");
}
