//! Proofs of Neural Work: one of uptime of each provider, as many as the chain takes of one in an hour.

use super::{
	accounts::{in_parallel, Set},
	delivery::deliver,
	measurement::{Kind, Measurement},
	transfers::{limit, VALIDITY},
};
use neuroshard_chain_client::{
	keys::{Account, PonwSigner, Seed},
	ponw, staking, Call, ChainAt,
};
use neuroshard_e2e::{Error, Nodes};
use neuroshard_kernels::kat;
use neuroshard_network::keypair_from_secret;
use neuroshard_roles::arithmetic::open_challenge;
use neuroshard_types::{
	proof::{Proof, ProofKey, ProofKind},
	provider::{HardwareProfile, ProviderInfo, Role, Roles},
	Balance, Moment, H256, NEURO,
};

/// What a provider has in genesis, in planck: its bond, and fees.
pub(super) const ENDOWMENT: Balance = 1_000 * NEURO;
/// Milliseconds in an hour.
const HOUR: Moment = 3_600_000;
/// What every provider says of its machine, which none has.
const HARDWARE: HardwareProfile = HardwareProfile { gflops: 100, memory_mib: 1_024, bandwidth_kib_s: 1_024 };

/// A provider: its account, and the key of its proofs.
pub(super) struct Provider {
	pub(super) account: Account,
	signer: PonwSigner,
}

/// The providers.
pub(super) fn providers(count: u32) -> Result<Vec<Provider>, Error> {
	in_parallel(count, |index| {
		let signer = PonwSigner::from_seed(&Seed::random()).ok_or_else(|| Error::Setup("a random number is no key".into()))?;
		Ok(Provider { account: Set::Providers.account(index)?, signer })
	})
}

impl Provider {
	fn info(&self) -> Result<ProviderInfo, Error> {
		let setup = |error: &dyn std::fmt::Display| Error::Setup(format!("a peer id: {error}"));
		let mut secret = *Seed::random().expose();
		let peer = keypair_from_secret(&mut secret).map_err(|error| setup(&error))?.public().to_peer_id();
		Ok(ProviderInfo {
			roles: Roles::only(Role::Worker),
			hardware: HARDWARE,
			ponw_key: self.signer.public(),
			peer_id: peer.to_bytes().try_into().map_err(|_| setup(&"too long"))?,
			addresses: Default::default(),
		})
	}

	/// A proof that it is up at this chain time.
	fn proof(&self, time: Moment, genesis: H256) -> Result<Call, Error> {
		let run = time.checked_div(HOUR).and_then(|hour| u32::try_from(hour).ok());
		let run = run.ok_or_else(|| Error::Setup(format!("{time} is no chain time")))?;
		let proof = Proof { key: ProofKey { run, round: 0, kind: ProofKind::Uptime }, timestamp: time, work_hash: H256::zero() };
		let signature = self.signer.sign(&proof, genesis, &self.account.id());
		Ok(ponw::submit_uptime(proof, signature))
	}
}

/// Registers all `providers`, and measures a proof of each.
///
/// # Errors
/// Those of delivering and measuring.
pub(super) async fn measure(nodes: &mut Nodes, providers: &[Provider], say: &impl Fn(&str)) -> Result<Measurement, Error> {
	say(&format!("registering {} providers", providers.len()));
	let bond = now(nodes).await?.bond_limits().await?.0;
	all_call(nodes, providers, 0, |_, provider| Ok(staking::register(provider.info()?, bond))).await?;
	say("answering the chain's tests of their arithmetic");
	let at = now(nodes).await?;
	let mut challenges = Vec::new();
	for provider in providers {
		let known = at.provider(&provider.account.id()).await?;
		let challenge = known.as_ref().and_then(open_challenge);
		challenges.push(challenge.ok_or_else(|| Error::Unsound("a new provider has no challenge".into()))?);
	}
	all_call(nodes, providers, 1, |index, _| {
		let challenge = challenges.get(index).ok_or_else(|| Error::Setup(format!("there is no challenge {index}")))?;
		Ok(staking::prove_arithmetic(H256(kat::drawn(challenge.0))))
	})
	.await?;
	say("signing and sending their proofs");
	let (time, genesis) = (now(nodes).await?.time().await?, nodes.client().genesis());
	all_call(nodes, providers, 2, |_, provider| provider.proof(time, genesis)).await
}

/// Has every provider make the call that `call` gives for it, and measures that.
async fn all_call(
	nodes: &mut Nodes,
	providers: &[Provider],
	nonce: u64,
	call: impl Fn(usize, &Provider) -> Result<Call, Error> + Sync,
) -> Result<Measurement, Error> {
	let at = now(nodes).await?;
	let count = u32::try_from(providers.len()).map_err(|error| Error::Setup(error.to_string()))?;
	let extrinsics = in_parallel(count, |index| {
		let index = usize::try_from(index).map_err(|error| Error::Setup(error.to_string()))?;
		let provider = providers.get(index).ok_or_else(|| Error::Setup(format!("there is no provider {index}")))?;
		Ok(at.sign(&provider.account, &call(index, provider)?, nonce, 0, Some((at.block(), VALIDITY)))?)
	})?;
	let delivered = deliver(nodes, extrinsics, limit(count)).await?;
	Measurement::take(Kind::Proofs, nodes, &delivered).await
}

/// The state after the finalized block.
async fn now(nodes: &Nodes) -> Result<ChainAt, Error> {
	let client = nodes.client();
	Ok(client.at(client.heads().await?.finalized).await?)
}
