//! `hold`.

use super::{
	directory, local,
	open::{create_base, open, Opened},
	parse,
	ports::Ports,
	reach::reach,
	CliError, Common,
};
use clap::Args;
use neuroshard_chain_client::keys::{network_seed, Keys};
use neuroshard_inference::Source;
use neuroshard_network::{keypair_from_secret, Multiaddr, PeerAddress, PeerId};
use neuroshard_ring::{
	accounts::{
		drivers::{Drivers, Registered},
		is_member,
		member::{Member, Tasks},
	},
	lend::{lend, Lent},
	loaded::Loaded,
};
use neuroshard_roles::directory::Announces;
use neuroshard_support::{hardware, memory::available_memory};
use neuroshard_types::{announcement::Holdings, provider::Addresses, RunId};
use std::{path::PathBuf, time::Duration};
use tokio::{sync::watch, time::sleep};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// Between two looks at what this machine has.
const LOOK: Duration = Duration::from_secs(2);
/// Checkpoints of a run of which parts can be held at a time.
const KEPT: usize = 2;

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
	/// Let every active provider with the role of a driver use this machine, whose identity the chain has. Needs an account and a node.
	#[arg(long, conflicts_with = "driver")]
	registered_drivers: bool,
	/// Be paid by the chain: agree to offers of drivers in which this account holds what it holds here, at the prices that they told, and to no others. Needs
	/// an account that is registered with the role of a worker or of a predictor. Ctrl-C takes what was agreed to back.
	#[arg(long, conflicts_with = "model")]
	provider: bool,
	/// Have drivers with `serve --ring auto` find this machine: announce to all providers where it listens, what it can hold, its speed and its free memory.
	/// Goes without saying with --provider. Needs an account that is registered with the role of a worker or of a predictor, and a node.
	#[arg(long)]
	announce: bool,
	/// Address under which drivers reach this machine although no interface has it (a forwarded port): it is announced in place of those that it listens at.
	#[arg(long, value_name = "MULTIADDR")]
	external: Vec<Multiaddr>,
	/// Dial private addresses that peers registered: for networks without the internet. Goes without saying on a chain for development.
	#[arg(long)]
	dial_private: bool,
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
		if self.driver.is_empty() && !self.registered_drivers && self.listen.iter().any(beyond) {
			let words = "beyond this machine, only drivers that are named may use it: add --driver PEER, which `serve --ring` prints, or --registered-drivers for all providers with that role";
			return Err(CliError::Invalid(words.to_owned()));
		}
		let (base, threads) = (common.base()?, hardware::threads(self.threads));
		create_base(&base)?;
		let keypair = keypair_from_secret(&mut network_seed(&base, &common.unlock())?.expose().to_owned())?;
		let account = match self.provider || self.announce || self.registered_drivers {
			false => None,
			true => {
				let opened = open(common).await?;
				let provider = opened.client.now().await?.provider(&opened.who).await?;
				is_member(&opened.who, &keypair.public().to_peer_id(), provider.as_ref())?;
				Some(opened)
			}
		};
		let which = Which { folder: self.model.clone(), run: self.run };
		let computes = local::Computes::new(self.device.device()?, threads)?;
		let (card, source) = local::card(&base, which.of(), &computes)?;
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
		for address in &bound {
			println!("layers of {} are held at {address}", card.name);
		}
		let (loaded, peer) = (Loaded::default(), streams.local());
		let (newest, sources) = watch::channel(vec![source]);
		let following = AbortOnDropHandle::new(tokio::spawn(follow(base.clone(), which, computes, newest)));
		let mut joined = None;
		if let Some(opened) = account.as_ref().filter(|_| self.provider || self.announce) {
			let addresses = announced(peer, &self.external, &bound)?;
			let has = {
				let (lent, sources, loaded) = (lent.clone(), sources.clone(), loaded.clone());
				move || lent.holdings(addresses.clone(), &sources.borrow(), &loaded)
			};
			let (told, holdings) = watch::channel(has());
			let telling = AbortOnDropHandle::new(tokio::spawn(tell(has, told)));
			let signer = Keys::unlock(&base, common.suri.as_deref(), &common.unlock())?.ponw;
			let announces = Announces { provider: opened.who.clone(), signer, peer, holdings };
			let reach = reach(&opened.client, &common.node, self.dial_private).await;
			joined = Some((directory::join(&base, "hold", &opened.client, reach, Some(announces)).await?, telling));
			println!("drivers with `serve --ring auto` find this machine by {}", opened.who);
		}
		let drivers = match &account {
			Some(opened) if self.registered_drivers => Drivers::Registered(Registered::new(opened.client.clone())),
			_ if self.driver.is_empty() => Drivers::Anybody,
			_ => Drivers::Named(self.driver.into_iter().collect()),
		};
		match account.filter(|_| self.provider) {
			None => lend(incoming, sources, lent, drivers, (None, loaded), stop).await,
			Some(Opened { who, client, submitter, .. }) => {
				println!("drivers are told that {who} holds them, which agrees to what they offer with it");
				let tasks = Tasks::default();
				let member = Member::new(client, submitter, tasks.clone()).run(stop.clone());
				tokio::join!(lend(incoming, sources, lent.of(who), drivers, (Some(tasks), loaded), stop), member);
			}
		}
		drop(following);
		if let Some((joined, _)) = joined {
			joined.leave().await;
		}
		drop(streams);
		// It ends with the token.
		let _ = task.await;
		Ok(0)
	}
}

/// The model of which parts are held.
#[derive(Clone)]
struct Which {
	folder: Option<PathBuf>,
	run: Option<RunId>,
}

impl Which {
	fn of(&self) -> local::Which<'_> {
		local::Which { folder: self.folder.as_deref(), run: self.run, context: None }
	}
}

/// Where drivers are told that this machine is.
fn announced(peer: PeerId, external: &[Multiaddr], bound: &[PeerAddress]) -> Result<Addresses, CliError> {
	let addresses: Vec<Multiaddr> = match external {
		[] => bound.iter().flat_map(|bound| bound.addresses.clone()).collect(),
		external => external.to_vec(),
	};
	let (_, bytes) = PeerAddress::new(peer, addresses).to_bytes();
	let long = |_| {
		CliError::Invalid(
			"an address of this machine is longer than the 128 bytes that are announced: name another one with --external".into(),
		)
	};
	let bytes = bytes.into_iter().map(|bytes| bytes.try_into().map_err(long)).collect::<Result<Vec<_>, _>>()?;
	Ok(Addresses::truncate_from(bytes))
}

/// Looks from time to time at what this machine has.
async fn tell(has: impl Fn() -> Holdings, told: watch::Sender<Holdings>) {
	loop {
		sleep(LOOK).await;
		let now = has();
		told.send_if_modified(|known| std::mem::replace(known, now.clone()) != now);
	}
}

/// Has the newest checkpoint of a run held when it comes, beside the one before, which drivers may use still.
async fn follow(base: PathBuf, which: Which, computes: local::Computes, newest: watch::Sender<Vec<Source>>) {
	loop {
		sleep(LOOK).await;
		let Some(root) = local::newest(&base, which.of()) else { continue };
		let known = newest.borrow().first().map(|source| source.parameters);
		if known == Some(root) {
			continue;
		}
		let (base, which, computes) = (base.clone(), which.clone(), computes.clone());
		let read = tokio::task::spawn_blocking(move || local::card(&base, which.of(), &computes));
		match read.await {
			Ok(Ok((card, source))) => {
				tracing::info!("a newer checkpoint of {} is held from now on", card.name);
				newest.send_modify(|all| {
					all.insert(0, source);
					all.truncate(KEPT);
				});
			}
			// It may be written just now.
			Ok(Err(error)) => tracing::debug!("a newer checkpoint cannot be read, which is tried again: {error}"),
			Err(_) => return,
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_graph::ParamLayout;
	use neuroshard_roles::write_model;
	use neuroshard_training::{
		checkpoint::{checkpoint_folder, Checkpoint},
		engine::Device,
		presets,
	};

	#[tokio::test]
	async fn a_newer_checkpoint_of_the_run_is_held_beside_the_one_before() {
		let base = tempfile::tempdir().unwrap();
		let folder = checkpoint_folder(base.path(), 3);
		std::fs::create_dir_all(&folder).unwrap();
		let (model, train) = presets::tiny();
		let (mut checkpoint, layout) = (Checkpoint::genesis(3, &model, &train, 1).unwrap(), ParamLayout::new(&model).unwrap());
		write_model(&folder, &model).unwrap();
		checkpoint.save(&folder, &layout).unwrap();
		let (computes, which) = (local::Computes::new(Device::Cpu, 1).unwrap(), Which { folder: None, run: Some(3) });
		let (_, source) = local::card(base.path(), which.of(), &computes).unwrap();
		let (newest, mut sources) = watch::channel(vec![source]);
		let _following = AbortOnDropHandle::new(tokio::spawn(follow(base.path().to_owned(), which, computes, newest)));
		let mut roots = vec![checkpoint.header.root()];
		for round in 1..=2 {
			checkpoint.header.round = round;
			checkpoint.save(&folder, &layout).unwrap();
			sources.changed().await.unwrap();
			roots.insert(0, checkpoint.header.root());
			let held: Vec<_> = sources.borrow_and_update().iter().map(|source| source.parameters).collect();
			assert_eq!(held, roots[..2]);
		}
	}

	#[test]
	fn what_is_announced_is_where_this_machine_listens_unless_another_address_is_named() {
		let peer = PeerId::random();
		let [bound, external]: [Multiaddr; 2] =
			["/ip4/127.0.0.1/udp/7/quic-v1", "/ip4/192.0.2.1/udp/9/quic-v1"].map(|text| text.parse().unwrap());
		let listens = [PeerAddress::new(peer, [bound.clone()])];
		let told = |external: &[Multiaddr]| {
			let addresses = announced(peer, external, &listens).unwrap();
			PeerAddress::from_bytes(&peer.to_bytes(), addresses.iter().map(|address| address.as_slice())).unwrap().addresses
		};
		assert_eq!((told(&[]), told(std::slice::from_ref(&external))), (vec![bound], vec![external.clone()]));
	}
}
