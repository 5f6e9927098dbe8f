//! `eval`.

use super::{local, serve::Arithmetic, CliError, Common};
use clap::Args;
use neuroshard_inference::eval::{accuracy, perplexity, Question};
use neuroshard_support::{counted::counted, hardware};
use neuroshard_types::RunId;
use std::{fs, path::PathBuf};

#[derive(Debug, Args)]
pub(super) struct Eval {
	/// Say how well the model predicts the text in this file, in UTF-8.
	#[arg(long, value_name = "FILE", required_unless_present = "choices")]
	text: Option<PathBuf>,
	/// Say how many of the questions in this file the model answers right: an object of JSON in each line, with `context`, `choices` (texts) and `answer` (the
	/// place of the right one, from 0 on).
	#[arg(long, value_name = "FILE", required_unless_present = "text")]
	choices: Option<PathBuf>,
	/// Evaluate the newest checkpoint of this run that is in the base folder; without it, that of the newest run.
	#[arg(long, conflicts_with = "model")]
	run: Option<RunId>,
	/// Evaluate the model in this folder, which is in Hugging Face layout: what `export` wrote, or another one.
	#[arg(long, value_name = "DIR")]
	model: Option<PathBuf>,
	/// Adapter beside the model, in a folder as `export` and PEFT write it.
	#[arg(long, value_name = "DIR")]
	adapter: Option<PathBuf>,
	/// Tokens of a text that are read at a time; as many as the model can read if not given.
	#[arg(long, value_name = "TOKENS", requires = "text")]
	window: Option<usize>,
	/// Tokens by which a window begins after the one before; half a window if not given. With less, each token has more before it, and it takes longer.
	#[arg(long, value_name = "TOKENS", requires = "text")]
	stride: Option<usize>,
	/// What stands between context and choice.
	#[arg(long, value_name = "TEXT", default_value = " ", requires = "choices")]
	between: String,
	/// How parameters are held and multiplied, as in `serve`.
	#[arg(long, value_enum, default_value_t = Arithmetic::F32)]
	class: Arithmetic,
	#[command(flatten)]
	device: super::device::DeviceOption,
	/// Threads.
	#[arg(long, value_parser = super::parse::threads)]
	threads: Option<usize>,
}

impl Eval {
	pub(super) fn run(self, common: &Common) -> Result<u8, CliError> {
		let read = |path: &PathBuf| fs::read_to_string(path).map_err(CliError::file(path));
		let text = self.text.as_ref().map(read).transpose()?;
		let questions = self.choices.as_ref().map(|path| questions(&read(path)?)).transpose()?;
		let which = local::Which { folder: self.model.as_deref(), run: self.run, context: None };
		let computes = local::Computes::new(self.device.device()?, hardware::threads(self.threads))?;
		let (mut model, adapter) = local::with_adapter(&common.base()?, which, self.adapter.as_deref(), self.class.into(), &computes)?;
		let adapter = adapter.as_ref();
		let name = adapter.map_or(model.name.clone(), |adapter| format!("{} with {}", model.name, adapter.name));
		if let Some(text) = text {
			let window = self.window.unwrap_or_else(|| model.engine.longest());
			let stride = self.stride.unwrap_or(window / 2);
			let found = perplexity(&mut model, adapter, &text, window, stride)?;
			let nats = found.per_token();
			println!(
				"{name}: {nats:.6} nats a token, {:.6} nats a byte, perplexity {:.4}; {} tokens, {} bytes, {} of {window} tokens, stride {stride}",
				found.per_byte(),
				nats.exp(),
				found.tokens,
				found.bytes,
				counted(found.windows, "window"),
			);
		}
		if let Some(questions) = questions {
			let found = accuracy(&mut model, adapter, &questions, &self.between)?;
			let [(acc, acc_error), (norm, norm_error)] = [found.right, found.right_normalized].map(|right| found.share(right));
			println!(
				"{name}: acc {acc:.4} (standard error {acc_error:.4}), acc_norm {norm:.4} (standard error {norm_error:.4}); {} questions",
				found.questions
			);
		}
		Ok(0)
	}
}

/// The questions in lines of JSON.
fn questions(text: &str) -> Result<Vec<Question>, CliError> {
	let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
	let read = |(number, line): (usize, &str)| {
		serde_json::from_str(line).map_err(|error| CliError::Invalid(format!("line {number} of the questions is not understood: {error}")))
	};
	let questions = lines.map(read).collect::<Result<Vec<_>, _>>()?;
	match questions.is_empty() {
		true => Err(CliError::Invalid("there are no questions in the file".into())),
		false => Ok(questions),
	}
}

#[cfg(test)]
mod tests {
	use super::{super::Cli, *};
	use clap::Parser;

	#[test]
	fn a_text_or_questions_are_needed() {
		let parse = |arguments: &[&str]| Cli::try_parse_from([&["neuroshard-worker", "eval"], arguments].concat());
		for arguments in [&["--text", "a"][..], &["--choices", "a", "--between", ""], &["--text", "a", "--choices", "b", "--window", "64"]]
		{
			parse(arguments).unwrap();
		}
		for arguments in [&["--model", "a"][..], &["--choices", "a", "--window", "64"], &["--text", "a", "--run", "1", "--model", "b"]] {
			assert!(parse(arguments).is_err(), "{arguments:?}");
		}
	}

	#[test]
	fn a_line_that_is_no_question_is_named() {
		let good = r#"{"context": "1 + 1 =", "choices": ["2", "3"], "answer": 0}"#;
		assert_eq!(questions(&format!("{good}\n\n{good}\n")).unwrap().len(), 2);
		let error = questions(&format!("{good}\n\n{{\"context\": 1}}")).unwrap_err().to_string();
		assert!(error.contains("line 3"), "{error}");
		assert!(questions("\n").unwrap_err().to_string().contains("no questions"));
	}
}
