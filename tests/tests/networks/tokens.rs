//! A model of a tokenizer that was trained on its sponsor's text: workers that have no dataset get text, tokenizer and checkpoints from those who have, and make
//! a folder of it that other programs read.

use crate::scenario::{exported, finished};
use neuroshard_e2e::{kept_unless_passed, Binaries, Ended, Layout, Network, Prepared, Preset, Rules, Text, Tokens, Training};
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
	let over = finished(&mut network, &training).await;

	let worker = &network.workers[2];
	let out = folder.path().join("model");
	let card = exported(worker, &training, &over, &out).await;
	let file = |name: &str| fs::read(out.join(name)).unwrap();
	assert_eq!(file("tokenizer.json"), fs::read(training.dataset.join("tokenizer.json")).unwrap());
	// Its prompts begin with the end of a document, as the trained tokenizer says, and have fewer tokens than bytes.
	let prompt = card.text.prompt("pub fn main() {", false).unwrap();
	assert!(card.text.is_end(prompt[0]) && prompt.len() < 12, "{prompt:?}");
	let written = Ended::output_of(worker.command(["generate", "--prompt", "pub fn ", "--max-tokens", "20"])).await.unwrap();
	assert!(written.starts_with("pub fn ") && written.trim_end().len() > "pub fn ".len(), "{written:?}");
	network.stop().await;
	folder.disable_cleanup(false);
}
