//! `hold`.

use super::{
	local,
	open::{create_base, open, Opened},
	parse,
	ports::Ports,
	CliError, Common,
};
use clap::Args;
use neuroshard_chain_client::keys::network_seed;
use neuroshard_network::{keypair_from_secret, Multiaddr, PeerId};
use neuroshard_ring::{
	accounts::{
		is_member,
		member::{Member, Tasks},
	},
	lend::{lend, Lent},
};
use neuroshard_support::{hardware, memory::available_memory};
use neuroshard_types::RunId;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
pub(super) struct Hold {
	/// Hold layers of the newest checkpoint of this run that is in the base folder; without it, of that of the newest run.
	#[arg(long, conflicts_with = "model")]
	run: Option<RunId>,
	/// Hold layers of the model in this folder, which is in Hugging Face layout.
	#[arg(long, value_name = "DIR")]
	model: Option<PathBuf>,
	/// Address to listen at. With another one than 127.0.0.1, name who may use this machine with --driver. Port 0 is one that the system chooses, and the same
	/// each time that this command is started with this base path.
	#[arg(long, value_name = "MULTIADDR", default_value = "/ip4/127.0.0.1/udp/0/quic-v1")]
	listen: Vec<Multiaddr>,
	/// Who may use this machine: the identity that `serve --ring` prints. May be given several times; without it, whoever reaches the address.
	#[arg(long, value_name = "PEER")]
	driver: Vec<PeerId>,
	/// Be paid by the chain: agree to offers of drivers in which this account holds what it holds here, at the prices that they told, and to no others. Needs
	/// an account that is registered with the role of a worker or of a predictor. Ctrl-C takes what was agreed to back.
	#[arg(long, conflicts_with = "model")]
	provider: bool,
	/// Memory for parameters and KV cache, in MiB; half of what is free if not given.
	#[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
	memory: Option<u32>,
	#[command(flatten)]
	device: super::device::DeviceOption,
	/// Threads.
	#[arg(long, value_parser = parse::threads)]
	threads: Option<usize>,
}

impl Hold {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let stop = CancellationToken::new();
		super::start::stop_on_signals(&stop)?;
		let beyond = |address: &Multiaddr| !address.to_string().starts_with("/ip4/127.") && !address.to_string().starts_with("/ip6/::1/");
		if self.driver.is_empty() && self.listen.iter().any(beyond) {
			let words = "beyond this machine, only drivers that are named may use it: add --driver PEER, which `serve --ring` prints";
			return Err(CliError::Invalid(words.to_owned()));
		}
		let (base, threads) = (common.base()?, hardware::threads(self.threads));
		create_base(&base)?;
		let keypair = keypair_from_secret(&mut network_seed(&base, &common.unlock())?.expose().to_owned())?;
		let account = match self.provider {
			false => None,
			true => {
				let opened = open(common).await?;
				let provider = opened.client.now().await?.provider(&opened.who).await?;
				is_member(&opened.who, &keypair.public().to_peer_id(), provider.as_ref())?;
				Some(opened)
			}
		};
		let which = local::Which { folder: self.model.as_deref(), run: self.run, context: None };
		let computes = local::Computes::new(self.device.device()?, threads)?;
		let (card, source) = local::card(&base, which, &computes)?;
		let memory = self.memory.map(|mebibytes| u64::from(mebibytes) << 20);
		let memory = memory.or_else(|| available_memory().map(|free| free / 2)).unwrap_or(1 << 30);
		let lent = match computes.device() {
			Some(device) => Lent::measured(&source, &**device, memory.min(device.memory())),
			None => Lent::measured(&source, computes.exec(), memory),
		};
		let lent = lent.map_err(|error| CliError::Invalid(error.to_string()))?;
		let ports = Ports::read(&base);
		let (streams, incoming, bound, task) = ports.listen(keypair, self.listen.clone(), &stop).await?;
		if let Err(error) = ports.keep(&self.listen, &bound) {
			tracing::warn!("where this worker listens cannot be kept ({error}): started again, it may be at another port, where no driver looks for it");
		}
		for address in bound {
			println!("layers of {} are held at {address}", card.name);
		}
		let drivers = self.driver.into_iter().collect();
		match account {
			None => lend(incoming, source, lent, drivers, None, stop).await,
			Some(Opened { who, client, submitter, .. }) => {
				println!("drivers are told that {who} holds them, which agrees to what they offer with it");
				let tasks = Tasks::default();
				let member = Member::new(client, submitter, tasks.clone()).run(stop.clone());
				tokio::join!(lend(incoming, source, lent.of(who), drivers, Some(tasks), stop), member);
			}
		}
		drop(streams);
		// It ends with the token.
		let _ = task.await;
		Ok(0)
	}
}
