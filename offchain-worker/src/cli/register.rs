//! `register` and `update`.

use super::{
	machine::{roles, Machine, RoleName},
	open::{create_base, identity, open, RunLock},
	owner, parse, CliError, Common,
};
use clap::Args;
use neuroshard_chain_client::{keys::Keys, staking, Call, ChainAt, ChainClient, ChainError, Heads, Included, Neuro, RoundSize, Submitter};
use neuroshard_compute::exec::Exec;
use neuroshard_roles::arithmetic::{self, open_challenge};
use neuroshard_types::{
	provider::{HardwareProfile, ProviderInfo, Role},
	AccountId, BlockNumber,
};

#[derive(Debug, Args)]
pub(super) struct Register {
	/// Account that owns the bond, and signs elsewhere: the account at hand is to be its operator, which signs its work and pays the fees of
	/// that. Prints what the owner signs, and sends nothing.
	#[arg(long, value_name = "ADDRESS", value_parser = parse::address)]
	owner: Option<AccountId>,
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
		let keys = Keys::unlock(&base, common.suri.as_deref(), &common.unlock())?;
		let client = ChainClient::connect_all(&common.node).await?;
		let now = client.now().await?;
		if let Some(owner) = &self.owner {
			return self.prepare(&now, &keys, owner).await;
		}
		let who = owner::of(&now, &keys.account).await?;
		let submitter = Submitter::spawn_for(client.clone(), keys.account.clone(), who.clone());
		let (exec, registered) = match now.provider(&who).await? {
			Some(provider) if open_challenge(&provider).is_some() => {
				println!("{who} is registered already, and has to prove its arithmetic yet");
				(self.machine.exec()?, now)
			}
			Some(_) => return Err(CliError::AlreadyRegistered { address: who.to_string() }),
			None => {
				let info = ProviderInfo { roles: roles(&self.roles), ..identity(&keys)? };
				let bond = self.affordable_bond(&now, &who, &info).await?;
				let exec = self.machine.exec()?;
				let info = ProviderInfo { hardware: self.machine.measure(&exec)?, ..info };
				let included = submitter.submit(staking::register(info, bond.0)).await?;
				println!("registered {who} with a bond of {bond} in block {}", included.block.number);
				(exec, client.at(included.block).await?)
			}
		};
		prove(&client, &registered, &submitter, &exec).await?;
		println!("next: neuroshard-worker run");
		Ok(0)
	}

	/// Prints what `owner` signs so that the account at hand is its operator, and what that needs.
	async fn prepare(&self, now: &ChainAt, keys: &Keys, owner: &AccountId) -> Result<u8, CliError> {
		let operator = keys.account.id();
		if *owner == operator {
			return Err(CliError::Invalid(format!("{owner} is the account at hand: leave --owner out, or make another account here")));
		}
		if let Some(known) = now.owner_of(&operator).await?.filter(|known| known != owner) {
			return Err(CliError::OtherOwner { operator: operator.to_string(), known: known.to_string(), owner: owner.to_string() });
		}
		let info = ProviderInfo { roles: roles(&self.roles), ..identity(keys)? };
		let name = staking::set_operator(Some(operator.clone()));
		if now.provider(owner).await?.is_none() {
			let bond = self.affordable_bond(now, owner, &info).await?;
			let info = ProviderInfo { hardware: self.machine.measure(&self.machine.exec()?)?, ..info.clone() };
			println!("a bond of {bond}, and {operator} as the operator:");
			owner::print_call(now, owner, &Call::all(vec![staking::register(info, bond.0), name]))?;
		} else if now.operator_of(owner).await?.as_ref() == Some(&operator) {
			println!("{owner} is registered, and has named {operator} as its operator already");
		} else {
			println!("{operator} as the operator, from that block on instead of any other:");
			owner::print_call(now, owner, &name)?;
		}
		let costs = now.costs(&info, RoundSize::LARGEST).await?;
		let needed = costs.before_work().saturating_add(now.fee(&staking::serve(Some(owner.clone()))).await?);
		println!(
			"{operator} pays the fees, and has {}: it needs {} up to the end of its first round, and what `doctor` says for disputes",
			Neuro(now.funds(&operator).await?.free),
			Neuro(needed)
		);
		println!("next: neuroshard-worker run --owner {owner}");
		Ok(0)
	}

	/// Refuses before anything is measured what the chain would refuse later.
	async fn affordable_bond(&self, chain: &ChainAt, who: &AccountId, info: &ProviderInfo) -> Result<Neuro, CliError> {
		let address = who.to_string();
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
		let free = chain.funds(who).await?.free;
		if free < needed.0 {
			return Err(CliError::TooPoor { address, free: Neuro(free), bond, needed });
		}
		Ok(bond)
	}
}

/// Blocks after the registration in which an answer is tried, before that is left to the worker.
const PATIENCE: BlockNumber = 24;

/// Answers the challenge that was open at `registered`, once: an answer counts on the branch only that has the challenge, and if nothing was sent
/// since. Without it another process of this account, or a reorganisation, would leave a second one, which fails and costs its fee.
async fn prove(client: &ChainClient, registered: &ChainAt, submitter: &Submitter, exec: &Exec) -> Result<(), CliError> {
	let (who, mut at) = (submitter.who(), registered.clone());
	let (mut heads, last) = (client.follow(Heads::default(), |_| {}), at.block().number.saturating_add(PATIENCE));
	loop {
		let failed = match at.provider(who).await?.map(|provider| open_challenge(&provider)) {
			// A reorganisation has taken the registration back, and the pool brings it again.
			None => CliError::NotRegistered { address: who.to_string() },
			Some(None) => return Ok(()),
			Some(Some(challenge)) => {
				println!(
					"the chain tests this machine: all operators on inputs of its choice, {:?} with {} threads",
					exec.level(),
					exec.threads()
				);
				let digest = arithmetic::answer(exec, challenge)?;
				match submitter.submit_as_of(staking::prove_arithmetic(digest), at.block()).await {
					Ok(Included { block, .. }) => {
						println!("passed: it computes what the chain computes; the provider is active from block {}", block.number);
						return Ok(());
					}
					Err(error) if error.is_dispatch("Staking::WrongAnswer") => return Err(CliError::WrongAnswer { source: error }),
					Err(source @ (ChainError::Pool { .. } | ChainError::NotIncluded { .. })) => CliError::NotProven { source },
					Err(source) => return Err(CliError::NotProven { source }),
				}
			}
		};
		if at.block().number >= last {
			return Err(failed);
		}
		heads.changed().await.map_err(|_| ChainError::Stopped)?;
		at = client.now().await?;
	}
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
	/// Registers what the machine does now, or other roles alone. Keys and addresses stay: a worker registers these itself when it starts.
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let opened = open(common).await?;
		create_base(&opened.base)?;
		// What a worker leaves over is not what the machine does.
		let _lock = RunLock::take(&opened.base)?;
		let provider = opened.client.now().await?.provider(&opened.who).await?;
		let Some(provider) = provider else { return Err(CliError::NotRegistered { address: opened.who.to_string() }) };
		// Roles say nothing of the machine, which may be busy just now.
		let exec = if self.roles.is_empty() || self.machine.is_told() { Some(self.machine.exec()?) } else { None };
		let measured = exec.as_ref().map(|exec| self.machine.measure(exec)).transpose()?;
		let hardware = measured.map_or(provider.info.hardware, |measured| changed(provider.info.hardware, measured));
		let roles = if self.roles.is_empty() { provider.info.roles } else { roles(&self.roles) };
		let included = opened.submitter.submit(staking::update_info(ProviderInfo { roles, hardware, ..provider.info })).await?;
		println!("updated {} in block {}", opened.who, included.block.number);
		let updated = opened.client.at(included.block).await?;
		let exec = exec.filter(|_| hardware.gflops > provider.info.hardware.gflops);
		// A faster machine is tested like a new one.
		if let Some(exec) = exec {
			prove(&opened.client, &updated, &opened.submitter, &exec).await?;
		}
		Ok(0)
	}
}

/// What is registered where `known` is, and `measured` was found. A speed that is no more than a quarter higher is the same one, measured at a better moment: it is
/// not worth another test, before which nothing may be open that the provider has claimed.
fn changed(known: HardwareProfile, measured: HardwareProfile) -> HardwareProfile {
	let same = known.gflops..=known.gflops.saturating_add(known.gflops / 4);
	let gflops = if same.contains(&measured.gflops) { known.gflops } else { measured.gflops };
	HardwareProfile { gflops, ..measured }
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_fixtures::{provider, Connect};
	use neuroshard_mock_node::{decoded_metadata, nonce_of, Fate, MockNode, Script};
	use neuroshard_types::{
		provider::{ProviderStatus, ProviderView},
		H256,
	};

	/// A provider that has to answer a challenge yet.
	fn unproven(node: &MockNode) {
		let status = ProviderStatus::Unproven { challenge: H256::repeat_byte(7) };
		let provider = ProviderView { status, bonded: 0, ..provider() };
		node.answer("Staking", "provider", &Some(provider));
	}

	#[test]
	fn a_speed_is_raised_only_where_the_machine_is_clearly_faster() {
		let profile = |gflops| HardwareProfile { gflops, memory_mib: 7, bandwidth_kib_s: 9 };
		let speed = |measured| changed(HardwareProfile { gflops: 100, memory_mib: 1, bandwidth_kib_s: 1 }, profile(measured));
		assert_eq!([100, 101, 125].map(speed), [profile(100); 3]);
		assert_eq!([126, 99, 1].map(speed), [126, 99, 1].map(profile));
	}

	#[tokio::test]
	async fn other_roles_alone_leave_the_registered_machine_as_it_is() {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let (base, hardware) = (tempfile::tempdir().unwrap(), HardwareProfile { gflops: 123, memory_mib: 45, bandwidth_kib_s: 67 });
		let known = ProviderInfo { hardware, ..provider().info };
		node.answer("Staking", "provider", &Some(ProviderView { info: known.clone(), ..provider() }));
		node.answer("Staking", "owner_of", &None::<AccountId>);
		node.fund(1_000 * neuroshard_types::NEURO);
		let (url, base) = (node.url(), base.path().to_str().unwrap().to_owned());
		let arguments =
			["neuroshard-worker", "update", "--roles", "worker,driver", "--node", &url, "--base-path", &base, "--suri", "//Alice"];
		let cli = <super::super::Cli as clap::Parser>::try_parse_from(arguments).unwrap();
		assert_eq!(super::super::run(cli).await.unwrap(), 0);
		let expected = ProviderInfo { roles: roles(&[RoleName::Worker, RoleName::Driver]), ..known };
		let call = staking::update_info(expected).encode(&decoded_metadata()).unwrap();
		let sent = node.submitted().borrow().clone();
		assert!(sent.len() == 1 && sent[0].ends_with(&call), "{sent:?}");
	}

	#[tokio::test]
	async fn an_answer_is_not_sent_behind_one_that_is_on_its_way_already() {
		// Another process of this account has sent one, and the pool keeps it.
		let node =
			MockNode::start(Script { blocks_a_look: 1, fate: |number| if number == 0 { Fate::Stale } else { Fate::Included } }).await;
		unproven(&node);
		let (client, submitter, mut submitted) = (node.client().await, node.submitter().await, node.submitted());
		tokio::select! {
			_ = submitter.submit_once(staking::prove_arithmetic(H256::zero())) => panic!("it is in no block"),
			sent = submitted.wait_for(|all| !all.is_empty()) => drop(sent.unwrap()),
		}
		let at = client.now().await.unwrap();
		prove(&client, &at, &submitter, &Exec::new(1).unwrap()).await.unwrap();
		let nonces: Vec<_> = node.submitted().borrow().iter().map(|extrinsic| nonce_of(extrinsic)).collect();
		assert!(nonces.len() > 1 && nonces.iter().all(|nonce| *nonce == 0), "one place is taken once: {nonces:?}");
	}

	#[tokio::test]
	async fn a_registration_that_a_reorganisation_took_back_is_waited_for() {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		node.answer("Staking", "provider", &None::<ProviderView>);
		let (client, submitter, exec) = (node.client().await, node.submitter().await, Exec::new(1).unwrap());
		let at = client.now().await.unwrap();
		let mut heads = client.follow(Heads::default(), |_| {});
		let mut proving = Box::pin(prove(&client, &at, &submitter, &exec));
		tokio::select! {
			ended = &mut proving => panic!("{ended:?} without a registration"),
			later = heads.wait_for(|heads| heads.best.number > at.block().number + 4) => drop(later.unwrap()),
		}
		unproven(&node);
		proving.await.unwrap();
		assert_eq!(node.submitted().borrow().len(), 1);
	}

	#[tokio::test]
	async fn an_answer_that_another_extrinsic_was_faster_than_is_decided_on_anew() {
		let outdated = |number| if number == 0 { Fate::Refused(1010, "Transaction is outdated") } else { Fate::Included };
		let node = MockNode::start(Script { blocks_a_look: 1, fate: outdated }).await;
		unproven(&node);
		let (client, submitter) = (node.client().await, node.submitter().await);
		let at = client.now().await.unwrap();
		prove(&client, &at, &submitter, &Exec::new(1).unwrap()).await.unwrap();
		let submitted = node.submitted().borrow().clone();
		assert!(submitted.len() == 2 && submitted[0] != submitted[1], "as of another block");
	}
}
