//! A run of an adapter beside a model that its sponsor has imported: workers fetch that model, train the adapter, and who trains it beside another one is caught. What comes
//! out is a folder for PEFT, and the model with the adapter merged.

use crate::room::Load;
use crate::trial;
use neuroshard_e2e::{kept_unless_passed, Cheat, Ended, Layout, Prepared, Preset, Text, Tokens, Trial};
use std::fs;

/// Beside the other model, and a wrong bit beside the right one.
const CHEATS: [(Cheat, u32); 2] = [(Cheat::WrongBase, 1), (Cheat::BitFlip, 1)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_train_an_adapter_beside_an_imported_model_and_who_takes_another_one_is_caught() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("adapter").unwrap();
	let layout = Layout::create(folder.path().join("prepared"), None, 1).unwrap();
	let text = (Text::Registry, Tokens::Trained(1_000));
	let prepared = Prepared::with_tokens(&layout, Preset::Tiny, text, 3..=6).await.unwrap().with_inner_steps(40);
	let [model, start, adapter, merged] = ["model", "start", "adapter", "merged"].map(|name| folder.path().join(name));
	prepared.write_model(&model).unwrap();
	let prepared = prepared.beside(&model, &start, 8).await.unwrap();
	let mut trial = Trial::of_run(folder.path(), prepared, &CHEATS).await.unwrap();
	trial::check(&trial, &CHEATS);

	let worker = &trial.network.workers[1];
	let run = trial.training.run.to_string();
	let [base, out, all] = [&model, &adapter, &merged].map(|path| path.to_str().unwrap());
	let told = Ended::output_of(worker.command(["export", "--run", &run, "--out", out])).await.unwrap();
	let root = trial.view.run.checkpoint;
	assert!(told.contains(&format!("checkpoint {root:?} of run {run}")), "{told}");
	let config: serde_json::Value = serde_json::from_slice(&fs::read(adapter.join("adapter_config.json")).unwrap()).unwrap();
	assert_eq!((config["r"].as_u64(), config["target_modules"].as_array().unwrap().len()), (Some(8), 7));
	let refused = Ended::of(worker.command(["generate", "--run", &run, "--prompt", "pub fn "])).await.unwrap();
	assert!(refused.error.contains("--merged"), "{}", refused.error);

	Ended::output_of(worker.command(["export", "--run", &run, "--merged", "--out", all])).await.unwrap();
	for model in [&["--model", all][..], &["--model", base, "--adapter", out]] {
		let words = ["generate", "--prompt", "pub fn ", "--max-tokens", "20"].into_iter().chain(model.iter().copied());
		let written = Ended::output_of(worker.command(words)).await.unwrap();
		assert!(written.starts_with("pub fn ") && written.trim_end().len() > "pub fn ".len(), "{written:?}");
	}
	trial.network.stop().await;
	folder.disable_cleanup(false);
}
