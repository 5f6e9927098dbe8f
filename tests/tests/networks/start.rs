//! A run that starts from a model that there is: its sponsor imports it, one worker offers it, and the others, which have no dataset either, get it from there, train it
//! on, make a folder of it that other programs read, and write text with the tokenizer of the sponsor.

use crate::{
	room::Load,
	scenario::{exported, finished},
};
use neuroshard_e2e::{kept_unless_passed, Binaries, Ended, Layout, Network, Prepared, Preset, Rules, Text, Tokens, Training};
use std::fs;

const ROUNDS: u32 = 2;
const RULES: Rules = Rules { window: 30, clock: 15, extension: 5, audits: None, answers: None, patient: false };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_train_an_imported_model_that_one_of_them_hands_out_and_export_it() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("start").unwrap();
	let layout = Layout::create(folder.path().join("network"), None, 3).unwrap();
	let text = (Text::Registry, Tokens::Trained(1_000));
	let prepared = Prepared::with_tokens(&layout, Preset::Tiny, text, 3..=3).await.unwrap().with_inner_steps(40);
	let [model, start, again] = ["model", "start", "again"].map(|name| folder.path().join(name));
	prepared.write_model(&model).unwrap();
	let prepared = prepared.starting_from(&model, &start).await.unwrap();
	let mut network = Network::start(Binaries::find().unwrap(), layout, RULES).await.unwrap();
	let training = Training::sponsor(&network, prepared, Some(ROUNDS)).await.unwrap();
	network.add_worker_with_start(&start, Some(&training.dataset), 1).await.unwrap();
	network.add_workers(2, None, 1).await.unwrap();
	let over = finished(&mut network, &training).await;

	// The command gives the checkpoint that the chain says.
	let worker = &network.workers[2];
	let [model, again] = [&model, &again].map(|path| path.to_str().unwrap());
	let told = Ended::output_of(worker.command(["model", "import", "--model", model, "--out", again])).await.unwrap();
	assert!(told.contains(&format!("checkpoint {:?}", over.run.config.genesis_root)) && told.contains("\"vocab\": 1024"), "{told}");

	let out = folder.path().join("trained");
	let card = exported(worker, &training, &over, &out).await;
	assert_eq!(fs::read(out.join("tokenizer.json")).unwrap(), fs::read(training.dataset.join("tokenizer.json")).unwrap());
	// Its prompts begin with the end of a document, as the trained tokenizer says, and have fewer tokens than bytes.
	let prompt = card.text.prompt("pub fn main() {", false).unwrap();
	assert!(card.text.is_end(prompt[0]) && prompt.len() < 12, "{prompt:?}");
	let written = Ended::output_of(worker.command(["generate", "--prompt", "pub fn ", "--max-tokens", "20"])).await.unwrap();
	assert!(written.starts_with("pub fn ") && written.trim_end().len() > "pub fn ".len(), "{written:?}");
	network.stop().await;
	folder.disable_cleanup(false);
}
