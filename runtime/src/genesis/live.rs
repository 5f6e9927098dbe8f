//! The preset of a network that lasts, and what such a network is not begun with.

use super::rewards;
use crate::{AccountId, BlockNumber, RuntimeGenesisConfig, BABE_GENESIS_EPOCH_CONFIG, BLOCK_TIME_MS, NEURO};
use alloc::{format, string::String, vec::Vec};
use serde_json::{json, Value};
use sp_keyring::{Ed25519Keyring, Sr25519Keyring};
use sp_runtime::Permill;

/// Blocks of an hour.
const HOUR: BlockNumber = 1_200;
/// Slots of an epoch: ten minutes. The least of a live network.
const EPOCH: u64 = 200;
/// Challenge window, in blocks. Audits need three epochs, twice four hours for sealing, and one for reporting.
const WINDOW: BlockNumber = 24 * HOUR;
/// Time that a side of a dispute has for all its moves, in blocks. The least of a live network.
const CLOCK: BlockNumber = 4 * HOUR;
/// Time that a side gains with every turn, in blocks.
const EXTENSION: BlockNumber = HOUR / 2;
/// Time that an attester of a dataset has for its answer, in blocks. The least of a live network.
const ANSWER: BlockNumber = 4 * HOUR;
/// Time that a provider has for delivering an answer that is demanded, in blocks. The least of a live network.
const DELIVER: BlockNumber = 4 * HOUR;
/// Time that a provider has to claim when a session ends, in blocks. The least of a live network.
const CLOSE: BlockNumber = 4 * HOUR;
/// Blocks of the epochs for which an equivocation can be reported: almost a week.
const REPORT_EPOCHS: u32 = 984;
/// Blocks of an era: six hours.
const ERA: BlockNumber = 6 * HOUR;

/// The JSON patch of the preset. Its operators put in `balances.balances`, `session.keys`, `validators.candidates`, and the members of
/// `council` and `technicalCommittee`.
pub(super) fn json() -> Value {
	json!({
		"balances": { "balances": [] },
		"parameters": { "live": true, "epochLength": EPOCH, "slotDuration": BLOCK_TIME_MS, "reportEpochs": REPORT_EPOCHS },
		"babe": { "epochConfig": BABE_GENESIS_EPOCH_CONFIG },
		"session": { "keys": [] },
		"validators": {
			"candidates": [],
			"validatorCount": 21,
			"minSelfBond": 1_000 * NEURO,
			"minNomination": 10 * NEURO,
			"cooldown": 7 * 24 * HOUR,
			"barPeriod": 28 * 24 * HOUR,
		},
		"disputes": {
			"clock": CLOCK,
			"extension": EXTENSION,
			"auditShare": Permill::from_percent(20).deconstruct(),
			"sealTime": 4 * HOUR,
			"reportTime": HOUR,
			"answerAuditShare": Permill::from_percent(1).deconstruct(),
			"answerDrawPrice": NEURO,
			"deliverTime": DELIVER,
		},
		"ponw": { "challengeWindow": WINDOW },
		"staking": { "cooldown": 7 * 24 * HOUR, "minBond": 100 * NEURO },
		"dataset": { "attestationPeriod": 7 * 24 * HOUR, "answerTime": ANSWER },
		"inference": { "closeDelay": 24 * HOUR },
		"rewards": rewards(ERA),
		"council": { "members": [] },
		"technicalCommittee": { "members": [] },
		"sudo": { "key": null },
	})
}

/// Checks that a chain may begin with this genesis: JSON with all fields. Every one may that does not say that it is of a live network, as
/// `parameters.live` of the preset does.
///
/// # Errors
/// Everything in it that belongs to a development network, or is missing, in words.
pub fn check(genesis: &[u8]) -> Result<(), String> {
	let genesis = serde_json::from_slice::<RuntimeGenesisConfig>(genesis).map_err(|error| format!("no genesis: {error}"))?;
	if !genesis.parameters.live {
		return Ok(());
	}
	let found: Vec<String> = durations(&genesis).chain(governance(&genesis)).chain(known_keys(&genesis)).collect();
	match found.is_empty() {
		true => Ok(()),
		false => Err(format!("a live network (parameters.live) is not begun like this: {}", found.join("; "))),
	}
}

/// Durations that leave people no time, and checks that are off.
fn durations(genesis: &RuntimeGenesisConfig) -> impl Iterator<Item = String> {
	let RuntimeGenesisConfig { parameters, ponw, disputes, dataset, inference, .. } = genesis;
	let least = |name: &str, found: u64, least: u64| (found < least).then(|| format!("{name} is {found}, and must be at least {least}"));
	[
		// Zero stands for the default, which is long enough.
		least(
			"parameters.slotDuration",
			if parameters.slot_duration == 0 { BLOCK_TIME_MS } else { parameters.slot_duration },
			BLOCK_TIME_MS,
		),
		least("parameters.epochLength", if parameters.epoch_length == 0 { EPOCH } else { parameters.epoch_length }, EPOCH),
		least("ponw.challengeWindow", ponw.challenge_window.into(), WINDOW.into()),
		least("disputes.clock", disputes.clock.into(), CLOCK.into()),
		least("disputes.extension", disputes.extension.into(), EXTENSION.into()),
		least("dataset.answerTime", if dataset.answer_time == 0 { ANSWER } else { dataset.answer_time }.into(), ANSWER.into()),
		least("inference.closeDelay", if inference.close_delay == 0 { CLOSE } else { inference.close_delay }.into(), CLOSE.into()),
		least("disputes.deliverTime", disputes.deliver_time.into(), DELIVER.into()),
		disputes.audit_share.is_zero().then(|| "disputes.auditShare is 0, so that nobody has to check anything".into()),
		(disputes.answer_draw_price < NEURO)
			.then(|| format!("disputes.answerDrawPrice is {}, and must be at least {NEURO}", disputes.answer_draw_price)),
		disputes.answer_audit_share.is_zero().then(|| "disputes.answerAuditShare is 0, so that nobody has to look at any answer".into()),
	]
	.into_iter()
	.flatten()
}

/// Returns the faults of genesis about who decides, and who makes blocks.
fn governance(genesis: &RuntimeGenesisConfig) -> impl Iterator<Item = String> {
	let missing = |name: &str, is_missing: bool| is_missing.then(|| format!("{name} is empty"));
	[
		genesis.sudo.key.as_ref().map(|key| format!("sudo.key is {key:?}: one key that may do everything")),
		missing("balances.balances", genesis.balances.balances.is_empty()),
		missing("session.keys", genesis.session.keys.is_empty()),
		missing("validators.candidates", genesis.validators.candidates.is_empty()),
		missing("council.members", genesis.council.members.is_empty()),
		missing("technicalCommittee.members", genesis.technical_committee.members.is_empty()),
	]
	.into_iter()
	.flatten()
}

/// Accounts and session keys that everybody has the secrets of.
fn known_keys(genesis: &RuntimeGenesisConfig) -> impl Iterator<Item = String> {
	let RuntimeGenesisConfig { balances, session, validators, council, technical_committee, .. } = genesis;
	let places: [(&str, Vec<&AccountId>); 5] = [
		("balances.balances", balances.balances.iter().map(|(who, ..)| who).collect()),
		("session.keys", session.keys.iter().flat_map(|(account, validator, _)| [account, validator]).collect()),
		("validators.candidates", validators.candidates.iter().map(|(who, _)| who).collect()),
		("council.members", council.members.iter().collect()),
		("technicalCommittee.members", technical_committee.members.iter().collect()),
	];
	let mut found = Vec::new();
	for key in Sr25519Keyring::iter() {
		let account = key.to_account_id();
		let with_it = places.iter().filter(|(_, accounts)| accounts.contains(&&account));
		found.extend(with_it.map(|(place, _)| format!("{place} has the account of //{key}, whose secret everybody knows")));
		if session.keys.iter().any(|(.., keys)| keys.babe == key.public().into()) {
			found.push(format!("session.keys has the BABE key of //{key}, whose secret everybody knows"));
		}
	}
	for key in Ed25519Keyring::iter().filter(|key| session.keys.iter().any(|(.., keys)| keys.grandpa == key.public().into())) {
		found.push(format!("session.keys has the GRANDPA key of //{key}, whose secret everybody knows"));
	}
	found.into_iter()
}
