//! `serve`.

use super::{local, parse, CliError, Common};
use crate::{
	hardware,
	infer::Model,
	serve::{batcher::Limits, serve, Options},
};
use clap::Args;
use neuroshard_types::RunId;
use std::{
	net::{Ipv4Addr, SocketAddr},
	path::PathBuf,
};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
pub(super) struct Serve {
	/// Serve the newest checkpoint of this run that is in the base folder; without it, that of the newest run.
	#[arg(long, conflicts_with = "model")]
	run: Option<RunId>,
	/// Serve the model in this folder, which is in Hugging Face Llama layout: what `export` wrote, or another one.
	#[arg(long, value_name = "DIR")]
	model: Option<PathBuf>,
	/// Name of the model in requests; `run-N`, or the folder's name, if not given.
	#[arg(long)]
	name: Option<String>,
	/// Address to listen at. With another one than 127.0.0.1, whoever reaches it may ask: use --api-keys.
	#[arg(long, value_name = "HOST:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)))]
	listen: SocketAddr,
	/// File with an API key of 16 characters or more in each line, and behind it, if there is a limit, requests per minute.
	#[arg(long, value_name = "FILE")]
	api_keys: Option<PathBuf>,
	/// Answers that are computed at a time.
	#[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
	parallel: u16,
	/// Answers that wait beside them, each choice to each prompt counted; who asks for more is told to come back later.
	#[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
	queue: u16,
	/// Memory for keys and values, in MiB. Answers wait for it.
	#[arg(long, value_name = "MIB", default_value_t = 1_024)]
	memory: usize,
	/// Do not guess tokens from what a text has said before. Guessing changes no answer, only how fast it comes.
	#[arg(long)]
	no_lookup: bool,
	/// Threads.
	#[arg(long, value_parser = parse::threads)]
	threads: Option<usize>,
}

impl Serve {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let stop = CancellationToken::new();
		super::start::stop_on_signals(&stop)?;
		let threads = hardware::threads(self.threads);
		let mut model = match &self.model {
			Some(folder) => Model::of_folder(folder, threads)?,
			None => local::model(&common.base()?, self.run, threads)?,
		};
		model.name = self.name.unwrap_or(model.name);
		let limits = Limits {
			active: self.parallel.into(),
			waiting: self.queue.into(),
			memory: self.memory.saturating_mul(1 << 20),
			lookup: !self.no_lookup,
		};
		let name = model.name.clone();
		let options = Options { address: self.listen, keys: self.api_keys, limits, signer: None };
		let ready = |address: SocketAddr| {
			println!("{name} answers at http://{address}/v1; a page to chat on is at http://{address}/");
			println!("curl http://{address}/v1/completions -H 'content-type: application/json' -d '{{\"model\": \"{name}\", \"prompt\": \"Once\"}}'");
		};
		serve(model, options, ready, stop).await?;
		Ok(0)
	}
}
