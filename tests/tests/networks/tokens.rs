//! From a Parquet file to a model of a large vocabulary that other programs read: its tokenizer is trained on the file, workers train the model, and who lies where
//! a step is as wide as the vocabulary is caught.

use crate::{room::Load, scenario::exported, trial};
use neuroshard_e2e::{kept_unless_passed, made_dataset, registry_texts, Binaries, Cheat, Ended, Prepared, Preset, Training, Trial};
use neuroshard_types::{run::RoundRecord, TrainConfig};
use parquet::{
	basic::Compression,
	data_type::{ByteArray, ByteArrayType},
	file::{properties::WriterProperties, writer::SerializedFileWriter},
	schema::parser::parse_message_type,
};
use std::{
	fs::{self, File},
	path::Path,
	process::Command,
	sync::Arc,
};

/// Tokens of the tokenizer: a tile row of logits is 1,032 tiles.
const VOCAB: u32 = 33_000;
const BYTES: u64 = 8 << 20;
/// Rows of a row group.
const GROUP: usize = 500;
/// One for each operator that is as wide as the vocabulary.
const CHEATS: [(Cheat, u32); 3] = [(Cheat::WrongEmbedding, 1), (Cheat::WrongLoss, 1), (Cheat::WrongScatter, 1)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_a_parquet_file_become_a_model_of_a_large_vocabulary_and_who_lies_where_that_is_wide_is_caught() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("tokens").unwrap();
	let rows = folder.path().join("rows.parquet");
	write_rows(&rows, &registry_texts(BYTES).unwrap());
	let dataset = made_dataset(&rows, VOCAB, None, Preset::Tiny, folder.path()).await.unwrap();
	// Little of it: a step costs by the vocabulary, whatever the width.
	let train = TrainConfig { batch: 4, inner_steps: 8, commit_interval: 2, ..Preset::Tiny.configs().1 };
	let prepared = Prepared::of_dataset(dataset, Preset::Tiny, train, Trial::participants(&CHEATS)).await.unwrap();
	let mut trial = Trial::of_run(folder.path(), prepared, &CHEATS).await.unwrap();
	assert_eq!(trial.training.model.vocab, VOCAB.next_multiple_of(32));
	trial::check(&trial, &CHEATS);

	let (worker, out) = (&trial.network.workers[1], folder.path().join("model"));
	let card = exported(worker, &trial.training, &trial.view, &out).await;
	assert_eq!(fs::read(out.join("tokenizer.json")).unwrap(), fs::read(trial.training.dataset.join("tokenizer.json")).unwrap());
	let prompt = card.text.prompt("pub fn main() {", false).unwrap();
	assert!(card.text.is_end(prompt[0]) && prompt.len() < 8, "{prompt:?}");
	others_agree(&trial.training, trial.view.records.last().unwrap(), &out).await;
	trial.network.stop().await;
	folder.disable_cleanup(false);
}

/// Writes a file with a row for each text.
fn write_rows(path: &Path, texts: &[String]) {
	let schema = Arc::new(parse_message_type("message rows { REQUIRED BYTE_ARRAY text (UTF8); }").unwrap());
	let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
	let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
	for rows in texts.chunks(GROUP) {
		let rows: Vec<ByteArray> = rows.iter().map(|text| ByteArray::from(text.as_str())).collect();
		let mut group = writer.next_row_group().unwrap();
		let mut column = group.next_column().unwrap().unwrap();
		column.typed::<ByteArrayType>().write_batch(&rows, None, None).unwrap();
		column.close().unwrap();
		group.close().unwrap();
	}
	writer.close().unwrap();
}

/// Whether transformers gets the validation loss that was attested, where `scripts/check-peers.sh` has installed it.
async fn others_agree(training: &Training, record: &RoundRecord, model: &Path) {
	let target = Binaries::find().unwrap().worker.ancestors().nth(2).unwrap().to_path_buf();
	let python = target.join("check-peers/venv/bin/python");
	if !python.is_file() {
		println!("{} is not there: the attested loss is not compared with that of transformers", python.display());
		return;
	}
	let TrainConfig { validation_sequences, seq_len, .. } = training.train;
	let numbers = [validation_sequences.to_string(), seq_len.to_string(), record.validation_loss.get().to_string()];
	let mut command = Command::new(python);
	command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/check_loss.py")).arg(model).arg(&training.dataset).args(numbers);
	println!("{}", Ended::output_of(command).await.unwrap());
}
