//! `check`.

use super::{local, CliError, Common};
use clap::Args;
use neuroshard_inference::receipt::{
	check::{check, Known, Outcome},
	Transcript,
};
use neuroshard_support::{hardware, json_file};
use neuroshard_types::RunId;
use std::{
	fs::File,
	io::Read,
	path::{Path, PathBuf},
};

/// Exit code for an answer that the model does not give.
const DIFFERS: u8 = 2;
/// Bytes of a receipt's file, at most.
const LONGEST: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(super) struct Check {
	/// File with the receipt, as the answer brought it (`"receipt": true` in the request); - reads it from standard input.
	#[arg(value_name = "RECEIPT")]
	receipt: PathBuf,
	/// Compare with the newest checkpoint of this run that is in the base folder; without it, with that of the newest run.
	#[arg(long, conflicts_with = "model")]
	run: Option<RunId>,
	/// Compare with the model in this folder, which is in Hugging Face layout.
	#[arg(long, value_name = "DIR")]
	model: Option<PathBuf>,
	/// Adapter beside the model that the answer was asked of, in a folder as `export` and PEFT write it.
	#[arg(long, value_name = "DIR")]
	adapter: Option<PathBuf>,
	#[command(flatten)]
	device: super::device::DeviceOption,
	/// Threads.
	#[arg(long, value_parser = super::parse::threads)]
	threads: Option<usize>,
}

impl Check {
	pub(super) fn run(self, common: &Common) -> Result<u8, CliError> {
		let transcript = read(&self.receipt)?;
		let signed = transcript.validate()?;
		let class = transcript.receipt.class;
		let computes = local::Computes::new(self.device.device()?, hardware::threads(self.threads))?;
		let which = local::Which { folder: self.model.as_deref(), run: self.run, context: None };
		let (mut model, adapter) = local::with_adapter(&common.base()?, which, self.adapter.as_deref(), class, &computes)?;
		let (parameters, usable) = (adapter.as_ref().map_or(model.root, |adapter| adapter.root), model.usable());
		let text = &model.text;
		let known = Known { parameters, adapter: adapter.as_ref(), class, usable, ends: &|token| text.is_end(token) };
		let outcome = check(&mut *model.engine, known, &transcript)?;
		let vouches = match (&transcript.receipt.provider, signed) {
			(Some(provider), true) => format!("signed for {provider}"),
			_ => "not signed".to_owned(),
		};
		let token = |token: u32| format!("{token} ({:?})", model.text.token(token));
		match outcome {
			Outcome::Equal => {
				println!("equal: {} gives these {} tokens ({vouches})", model.name, transcript.answer.len());
				Ok(0)
			}
			Outcome::Differs { index, told, own } => {
				let told = told.map_or_else(|| "the end".to_owned(), token);
				println!(
					"different from token {index} of the answer on: the receipt has {told}, {} gives {} ({vouches})",
					model.name,
					token(own)
				);
				Ok(DIFFERS)
			}
			Outcome::OutOfRange(error) => {
				println!("false whatever {} gives, since nobody can claim the receipt's settings: {error} ({vouches})", model.name);
				Ok(DIFFERS)
			}
		}
	}
}

/// The transcript in a file.
pub(super) fn read(path: &Path) -> Result<Transcript, CliError> {
	let source: Box<dyn Read> = match path.to_str() {
		Some("-") => Box::new(std::io::stdin()),
		_ => Box::new(File::open(path).map_err(CliError::file(path))?),
	};
	let mut bytes = Vec::new();
	source.take(LONGEST).read_to_end(&mut bytes).map_err(CliError::file(path))?;
	json_file::parse(&bytes).map_err(|error| CliError::Invalid(format!("{} has no receipt: {error}", path.display())))
}
