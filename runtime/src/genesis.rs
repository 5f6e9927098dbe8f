//! Genesis presets.

mod live;

pub use live::check;

use crate::{AccountId, Balance, BlockNumber, SessionKeys, BABE_GENESIS_EPOCH_CONFIG, BLOCK_TIME_MS, NEURO};
use alloc::{vec, vec::Vec};
use serde_json::{json, Value};
use sp_genesis_builder::PresetId;
use sp_keyring::{Ed25519Keyring, Sr25519Keyring};

/// One validator, short eras and windows.
pub const DEVELOPMENT: &str = sp_genesis_builder::DEV_RUNTIME_PRESET;
/// Two validators, otherwise as [`DEVELOPMENT`].
pub const LOCAL_TESTNET: &str = sp_genesis_builder::LOCAL_TESTNET_RUNTIME_PRESET;

/// For a network that lasts: production durations, audits, no sudo key, and no accounts: those are its operators' to put in. See [`check`].
pub const LIVE: &str = "live";

/// Values that differ between presets of development networks.
struct Preset {
	/// Slots of a BABE epoch.
	epoch_length: u64,
	/// Blocks during which work may be challenged.
	challenge_window: BlockNumber,
	/// Blocks that each side of a dispute has, and those that it gains with every turn.
	clocks: [BlockNumber; 2],
	/// Blocks from `unbond` to withdrawal.
	cooldown: BlockNumber,
	/// Blocks of an era.
	era_length: BlockNumber,
	/// Block authors and finalizers.
	validators: Vec<Sr25519Keyring>,
}

/// Accounts with money at genesis, for development networks only: their keys are public knowledge.
fn endowed() -> Vec<(AccountId, Balance)> {
	Sr25519Keyring::well_known().map(|key| (key.to_account_id(), 1_000_000 * NEURO)).collect()
}

/// Members of the council and of the technical committee of development networks.
fn governors() -> Vec<AccountId> {
	[Sr25519Keyring::Alice, Sr25519Keyring::Bob, Sr25519Keyring::Charlie].map(|key| key.to_account_id()).to_vec()
}

fn session_keys(validator: Sr25519Keyring) -> SessionKeys {
	// The ed25519 keyring holds the same names under the other curve.
	let grandpa = match validator {
		Sr25519Keyring::Alice => Ed25519Keyring::Alice,
		Sr25519Keyring::Bob => Ed25519Keyring::Bob,
		Sr25519Keyring::Charlie => Ed25519Keyring::Charlie,
		Sr25519Keyring::Dave => Ed25519Keyring::Dave,
		Sr25519Keyring::Eve => Ed25519Keyring::Eve,
		_ => Ed25519Keyring::Ferdie,
	};
	SessionKeys { babe: validator.public().into(), grandpa: grandpa.public().into() }
}

fn json_of(preset: Preset) -> Value {
	let keys: Vec<(AccountId, AccountId, SessionKeys)> = preset
		.validators
		.iter()
		.map(|validator| (validator.to_account_id(), validator.to_account_id(), session_keys(*validator)))
		.collect();
	let candidates: Vec<(AccountId, Balance)> =
		preset.validators.iter().map(|validator| (validator.to_account_id(), 10_000 * NEURO)).collect();
	json!({
		"balances": { "balances": endowed() },
		"parameters": { "epochLength": preset.epoch_length, "slotDuration": BLOCK_TIME_MS, "reportEpochs": 30 },
		"babe": { "epochConfig": BABE_GENESIS_EPOCH_CONFIG },
		"session": { "keys": keys },
		"validators": {
			"candidates": candidates,
			"validatorCount": 21,
			"minSelfBond": 1_000 * NEURO,
			"minNomination": 10 * NEURO,
			"cooldown": preset.cooldown,
			"barPeriod": preset.cooldown.saturating_mul(4),
		},
		"disputes": {
			"clock": preset.clocks[0],
			"extension": preset.clocks[1],
			// Nothing is audited: no challenge window this short has room for it. A chain spec with a longer one sets a share.
			"auditShare": 0,
			"sealTime": 30,
			"reportTime": 15,
			// One answer of five. With three epochs, three times as long fits into the time in which claims can be disputed: window and longest game.
			"answerAuditShare": 200_000,
			"answerDrawPrice": NEURO / 100,
			"deliverTime": 20,
		},
		"ponw": { "challengeWindow": preset.challenge_window },
		"staking": { "cooldown": preset.cooldown, "minBond": 100 * NEURO },
		"dataset": { "attestationPeriod": 28_800, "answerTime": 40 },
		"inference": { "closeDelay": 40 },
		"rewards": rewards(preset.era_length),
		"council": { "members": governors() },
		"technicalCommittee": { "members": governors() },
		"sudo": { "key": Some(Sr25519Keyring::Alice.to_account_id()) },
	})
}

/// Issuance and rates. The curve is for eras of 7,200 blocks: 9.4 million NEURO in the first year, and half of a year's issuance four years later.
fn rewards(era_length: BlockNumber) -> Value {
	json!({
		"eraLength": era_length,
		"historyDepth": 84,
		"initialBudget": 7_000 * NEURO,
		"budgetFloor": 10 * NEURO,
		"decayRatio": 999_881_398_686_573_512_u64,
		"erasPerStep": 1,
		"issuanceCap": 100_000_000,
		"budgetShares": [800_000, 150_000, 50_000],
		"operationUnits": [1_000, 1_500, 500, 2_000, 300],
		"trainingRate": 1_000,
		"roleRates": [1_200, 1_000, 1_100, 1_100],
		"roleTargets": [10, 50, 10, 10],
		"scarcityBonus": 500,
		"maxPointsPerProof": 1_000_000_000_000_u64,
	})
}

/// The JSON patch of a preset, by its name.
pub fn preset(id: &PresetId) -> Option<Vec<u8>> {
	let value = match id.as_ref() {
		DEVELOPMENT => json_of(Preset {
			epoch_length: 10,
			challenge_window: 10,
			clocks: [40, 20],
			cooldown: 600,
			era_length: 10,
			validators: vec![Sr25519Keyring::Alice],
		}),
		LOCAL_TESTNET => json_of(Preset {
			epoch_length: 10,
			challenge_window: 10,
			clocks: [40, 20],
			cooldown: 600,
			era_length: 10,
			validators: vec![Sr25519Keyring::Alice, Sr25519Keyring::Bob],
		}),
		LIVE => live::json(),
		_ => return None,
	};
	serde_json::to_vec(&value).ok()
}

/// Names of the presets.
pub fn preset_names() -> Vec<PresetId> {
	vec![PresetId::from(DEVELOPMENT), PresetId::from(LOCAL_TESTNET), PresetId::from(LIVE)]
}
