//! A model of a tokenizer that was trained on its sponsor's text: workers that have no dataset get text, tokenizer and checkpoints from those who have, and make
//! a folder of it that other programs read.

use crate::scenario::SOON;
use neuroshard_e2e::{kept_unless_passed, until, Binaries, Ended, Layout, Network, Prepared, Preset, Rules, Text, Tokens, Training, View};
use neuroshard_graph::merkle::blake2_256;
use neuroshard_inference::Card;
use neuroshard_types::run::RunStatus;
use std::fs;

const ROUNDS: u32 = 2;
const RULES: Rules = Rules { window: 30, clock: 15, extension: 5, audits: None, answers: None, patient: false };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_without_the_dataset_trains_exports_and_writes_text_with_the_tokenizer_of_its_sponsor() {
	let mut folder = kept_unless_passed("tokens").unwrap();
	let layout = Layout::create(folder.path().join("network"), None, 3).unwrap();
	let text = (Text::Registry, Tokens::Trained(1_000));
	let prepared = Prepared::with_tokens(&layout, Preset::Tiny, text, 3..=3).await.unwrap().with_inner_steps(40);
	let mut network = Network::start(Binaries::find().unwrap(), layout, RULES).await.unwrap();
	let training = Training::sponsor(&network, prepared, Some(ROUNDS)).await.unwrap();
	assert_eq!(training.model.vocab, 1_024);
	network.add_workers(1, Some(&training.dataset), 1).await.unwrap();
	network.add_workers(2, None, 1).await.unwrap();
	let over = until("the end of the run", 2 * SOON, async || {
		network.check()?;
		let view = View::look(&network, &training, None).await?;
		Ok((view.run.status == RunStatus::Finished).then_some(view))
	});
	let over = over.await.unwrap();
	let losses: Vec<f32> = over.records.iter().map(|record| record.validation_loss.get()).collect();
	assert!(losses.len() == 2 && losses[0] < training.first_loss && losses[1] < losses[0], "{} > {losses:?}", training.first_loss);

	let worker = &network.workers[2];
	let newest = until("the last checkpoint", SOON, async || {
		let found = worker.checkpoint(training.run, &training.model)?;
		Ok(found.filter(|found| found.header.root() == over.run.checkpoint))
	});
	let newest = newest.await.unwrap();
	let out = folder.path().join("model");
	Ended::output_of(worker.command(["export", "--out", out.to_str().unwrap()])).await.unwrap();
	let file = |name: &str| fs::read(out.join(name)).unwrap();
	assert_eq!(file("tokenizer.json"), fs::read(training.dataset.join("tokenizer.json")).unwrap());
	let (card, shape, parameters) = Card::of_folder(&out, 1).unwrap();
	let bytes: Vec<u8> = newest.params.iter().flat_map(|value| value.to_le_bytes()).collect();
	assert_eq!((shape, parameters.root.0), (training.model.clone(), blake2_256(&bytes)));
	// Its prompts begin with the end of a document, as the trained tokenizer says, and have fewer tokens than bytes.
	let prompt = card.text.prompt("pub fn main() {", false).unwrap();
	assert!(card.text.is_end(prompt[0]) && prompt.len() < 12, "{prompt:?}");
	let written = Ended::output_of(worker.command(["generate", "--prompt", "pub fn ", "--max-tokens", "20"])).await.unwrap();
	assert!(written.starts_with("pub fn ") && written.trim_end().len() > "pub fn ".len(), "{written:?}");
	network.stop().await;
	folder.disable_cleanup(false);
}
