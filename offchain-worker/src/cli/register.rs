//! `register` and `update`.

use super::{
	machine::{roles, Machine, RoleName},
	open::{create_base, identity, open, RunLock},
	CliError, Common,
};
use crate::{
	arithmetic::{self, open_challenge},
	chain::{staking, ChainAt, ChainClient, Neuro, RoundSize, Submitter},
	keys::Keys,
};
use clap::Args;
use neuroshard_kernels::exec::Exec;
use neuroshard_types::provider::{ProviderInfo, Role};

#[derive(Debug, Args)]
pub(super) struct Register {
	/// Bond in NEURO; the chain's minimum if it is not given.
	#[arg(long, value_name = "NEURO", allow_negative_numbers = true)]
	bond: Option<Neuro>,
	/// Roles to offer. `worker,verifier` trains, and audits the work of others when it is drawn for that.
	#[arg(long, value_enum, value_delimiter = ',', default_value = "worker")]
	roles: Vec<RoleName>,
	#[command(flatten)]
	machine: Machine,
}

impl Register {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let base = common.base()?;
		create_base(&base)?;
		let keys = Keys::load(&base, common.suri.as_deref())?;
		let client = ChainClient::connect(&common.node).await?;
		let (who, now) = (keys.account.id(), client.now().await?);
		let submitter = Submitter::spawn(client.clone(), keys.account.clone());
		let (exec, registered) = match now.provider(&who).await? {
			Some(provider) if open_challenge(&provider).is_some() => {
				println!("{} is registered already, and has to prove its arithmetic yet", keys.account.address());
				(self.machine.exec()?, now)
			}
			Some(_) => return Err(CliError::AlreadyRegistered { address: keys.account.address() }),
			None => {
				let info = ProviderInfo { roles: roles(&self.roles), ..identity(&keys)? };
				let bond = self.affordable_bond(&now, &keys, &info).await?;
				let exec = self.machine.exec()?;
				let info = ProviderInfo { hardware: self.machine.measure(&exec), ..info };
				let included = submitter.submit(staking::register(info, bond.0)).await?;
				println!("registered {} with a bond of {bond} in block {}", keys.account.address(), included.block.number);
				(exec, client.at(included.block).await?)
			}
		};
		prove(&client, &registered, &submitter, &exec).await?;
		println!("next: neuroshard-worker run");
		Ok(0)
	}

	/// Refuses before anything is measured what the chain would refuse later.
	async fn affordable_bond(&self, chain: &ChainAt, keys: &Keys, info: &ProviderInfo) -> Result<Neuro, CliError> {
		let (address, who) = (keys.account.address(), keys.account.id());
		let (least, _) = chain.bond_limits().await?;
		let minimum = match info.roles.contains(Role::Verifier) {
			true => least.max(chain.verifier_terms().await?.next_bond),
			false => least,
		};
		let bond = self.bond.unwrap_or(Neuro(minimum));
		if bond.0 < minimum {
			return Err(CliError::BondTooSmall { minimum: Neuro(minimum) });
		}
		let costs = chain.costs(info, RoundSize::LARGEST).await?;
		let needed = Neuro(bond.0.saturating_add(costs.before_work()));
		let free = chain.funds(&who).await?.free;
		if free < needed.0 {
			return Err(CliError::TooPoor { address, free: Neuro(free), bond, needed });
		}
		Ok(bond)
	}
}

/// Answers the challenge that was open at `registered`.
async fn prove(client: &ChainClient, registered: &ChainAt, submitter: &Submitter, exec: &Exec) -> Result<(), CliError> {
	let who = submitter.who();
	let mut provider = registered.provider(who).await?;
	while let Some(challenge) = provider.as_ref().and_then(open_challenge) {
		println!("the chain tests this machine: all operators on inputs of its choice, {:?} with {} threads", exec.level(), exec.threads());
		let digest = arithmetic::answer(exec, challenge)?;
		match submitter.submit(staking::prove_arithmetic(digest)).await {
			Ok(included) => {
				println!("passed: it computes what the chain computes; the provider is active from block {}", included.block.number);
				return Ok(());
			}
			// A worker that runs meanwhile was faster.
			Err(error) if error.is_dispatch("Staking::AlreadyProven") => return Ok(()),
			Err(error) if error.is_dispatch("Staking::WrongAnswer") => {
				// After a reorganisation the registration may be in another block, with another challenge.
				provider = client.now().await?.provider(who).await?;
				if provider.as_ref().and_then(open_challenge) == Some(challenge) {
					return Err(CliError::WrongAnswer { source: error });
				}
			}
			Err(source) => return Err(CliError::NotProven { source }),
		}
	}
	Ok(())
}

#[derive(Debug, Args)]
pub(super) struct Update {
	/// Roles to offer; as they are if not given.
	#[arg(long, value_enum, value_delimiter = ',')]
	roles: Vec<RoleName>,
	#[command(flatten)]
	machine: Machine,
}

impl Update {
	/// Registers what the machine does now. Keys and addresses stay: a worker registers these itself when it starts.
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let opened = open(common).await?;
		create_base(&opened.base)?;
		// What a worker leaves over is not what the machine does.
		let _lock = RunLock::take(&opened.base)?;
		let provider = opened.client.now().await?.provider(&opened.account.id()).await?;
		let Some(provider) = provider else { return Err(CliError::NotRegistered { address: opened.account.address() }) };
		let hardware = self.machine.measure(&self.machine.exec()?);
		let roles = if self.roles.is_empty() { provider.info.roles } else { roles(&self.roles) };
		let included = opened.submitter.submit(staking::update_info(ProviderInfo { roles, hardware, ..provider.info })).await?;
		println!("updated {} in block {}", opened.account.address(), included.block.number);
		Ok(0)
	}
}
