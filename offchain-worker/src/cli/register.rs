//! `register`.

use super::{
	open::{create_base, identity},
	CliError, Common,
};
use crate::{
	chain::{staking, ChainClient, Neuro, Submitter},
	hardware,
	keys::Keys,
};
use clap::{Args, ValueEnum};
use neuroshard_kernels::{exec::Exec, kat};
use neuroshard_types::{
	provider::{ProviderInfo, Role, Roles},
	NEURO,
};

/// Left to the account for fees after bonding.
const FEES: u128 = NEURO / 10;

#[derive(Debug, Args)]
pub(super) struct Register {
	/// Bond in NEURO; the chain's minimum if it is not given.
	#[arg(long, value_name = "NEURO")]
	bond: Option<Neuro>,
	/// Roles to offer.
	#[arg(long, value_enum, value_delimiter = ',', default_value = "worker")]
	roles: Vec<RoleName>,
	/// Network bandwidth in KiB/s. It is not measured: there may be nobody yet to measure it with.
	#[arg(long, value_name = "KIB_S", default_value_t = 1024)]
	bandwidth: u32,
	/// Threads to measure with.
	#[arg(long)]
	threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RoleName {
	Driver,
	Worker,
	Verifier,
	Predictor,
}

impl From<RoleName> for Role {
	fn from(name: RoleName) -> Self {
		match name {
			RoleName::Driver => Self::Driver,
			RoleName::Worker => Self::Worker,
			RoleName::Verifier => Self::Verifier,
			RoleName::Predictor => Self::Predictor,
		}
	}
}

impl Register {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let base = common.base()?;
		create_base(&base)?;
		let keys = Keys::load(&base, common.suri.as_deref())?;
		let client = ChainClient::connect(&common.node).await?;
		let bond = self.affordable_bond(&client, &keys).await?;

		// A machine whose bits differ would train and attest what nobody else gets.
		let exec = Exec::new(hardware::threads(self.threads)).map_err(|error| CliError::Invalid(error.to_string()))?;
		kat::verify(&exec).map_err(|error| CliError::KnownAnswer(error.to_string()))?;
		let hardware = hardware::measure(&exec, self.bandwidth);
		println!("measured  {} GFLOP/s, {} MiB of memory", hardware.gflops, hardware.memory_mib);

		let roles = self.roles.iter().fold(Roles::default(), |roles, role| roles.with((*role).into()));
		let info = ProviderInfo { roles, hardware, ..identity(&keys)? };
		let submitter = Submitter::spawn(client, keys.account.clone());
		let included = submitter.submit(staking::register(info, bond.0)).await?;
		println!("registered {} with a bond of {bond} in block {}", keys.account.address(), included.block.number);
		println!("next: neuroshard-worker run");
		Ok(0)
	}

	/// Refuses before anything is measured what the chain would refuse later.
	async fn affordable_bond(&self, client: &ChainClient, keys: &Keys) -> Result<Neuro, CliError> {
		let chain = client.now().await?;
		let (address, who) = (keys.account.address(), keys.account.id());
		if chain.provider(&who).await?.is_some() {
			return Err(CliError::AlreadyRegistered { address });
		}
		let (minimum, _) = chain.bond_limits().await?;
		let bond = self.bond.unwrap_or(Neuro(minimum));
		if bond.0 < minimum {
			return Err(CliError::BondTooSmall { minimum: Neuro(minimum) });
		}
		let free = chain.funds(&who).await?.free;
		if free < bond.0.saturating_add(FEES) {
			return Err(CliError::TooPoor { address, free: Neuro(free), bond });
		}
		Ok(bond)
	}
}
