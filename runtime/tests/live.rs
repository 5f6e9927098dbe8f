//! The preset of a network that lasts.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::common::genesis_of;
use neuroshard_runtime::{genesis, AccountId, RuntimeGenesisConfig, SessionKeys, NEURO};
use sp_core::crypto::UncheckedFrom;
use sp_keyring::{Ed25519Keyring, Sr25519Keyring};
use sp_runtime::{BuildStorage, Permill};

/// The preset with what its operators put in.
fn filled() -> RuntimeGenesisConfig {
	let who = AccountId::new([7; 32]);
	let keys = SessionKeys { babe: UncheckedFrom::unchecked_from([8; 32]), grandpa: UncheckedFrom::unchecked_from([9; 32]) };
	let mut genesis = genesis_of(genesis::LIVE);
	genesis.balances.balances = vec![(who.clone(), 1_000_000 * NEURO)];
	genesis.session.keys = vec![(who.clone(), who.clone(), keys)];
	genesis.validators.candidates = vec![(who.clone(), 10_000 * NEURO)];
	genesis.council.members = vec![who.clone()];
	genesis.technical_committee.members = vec![who];
	genesis
}

fn check(genesis: &RuntimeGenesisConfig) -> Result<(), String> {
	genesis::check(&serde_json::to_vec(genesis).expect("JSON"))
}

#[test]
fn the_live_preset_becomes_a_chain_as_soon_as_its_operators_are_in_it() {
	let genesis = filled();
	assert_eq!(check(&genesis), Ok(()));
	genesis.build_storage().expect("a chain");
}

#[test]
fn without_its_operators_it_says_what_is_missing() {
	let error = check(&genesis_of(genesis::LIVE)).expect_err("nobody is in it");
	for place in ["balances.balances", "session.keys", "validators.candidates", "council.members", "technicalCommittee.members"] {
		assert!(error.contains(&format!("{place} is empty")), "{error}");
	}
}

#[test]
fn a_live_network_is_not_begun_with_any_value_of_a_devnet() {
	type Change = fn(&mut RuntimeGenesisConfig);
	let alice = || Sr25519Keyring::Alice.to_account_id();
	let changes: [(&str, Change); 17] = [
		("parameters.slotDuration is 1000", |genesis| genesis.parameters.slot_duration = 1_000),
		("parameters.epochLength is 10", |genesis| genesis.parameters.epoch_length = 10),
		("ponw.challengeWindow is 10", |genesis| genesis.ponw.challenge_window = 10),
		("disputes.clock is 40", |genesis| genesis.disputes.clock = 40),
		("disputes.extension is 20", |genesis| genesis.disputes.extension = 20),
		("disputes.auditShare is 0", |genesis| genesis.disputes.audit_share = Permill::zero()),
		("disputes.answerAuditShare is 0", |genesis| genesis.disputes.answer_audit_share = Permill::zero()),
		("disputes.answerDrawPrice is 1,", |genesis| genesis.disputes.answer_draw_price = 1),
		("disputes.deliverTime is 20", |genesis| genesis.disputes.deliver_time = 20),
		("dataset.answerTime is 40", |genesis| genesis.dataset.answer_time = 40),
		("inference.closeDelay is 40", |genesis| genesis.inference.close_delay = 40),
		("sudo.key is", |genesis| genesis.sudo.key = Some(AccountId::new([7; 32]))),
		("balances.balances has the account of //Alice", |genesis| {
			genesis.balances.balances.push((Sr25519Keyring::Alice.to_account_id(), NEURO))
		}),
		("validators.candidates has the account of //Bob", |genesis| {
			genesis.validators.candidates.push((Sr25519Keyring::Bob.to_account_id(), NEURO));
		}),
		("council.members has the account of //Charlie", |genesis| genesis.council.members.push(Sr25519Keyring::Charlie.to_account_id())),
		("session.keys has the BABE key of //Dave", |genesis| {
			genesis.session.keys.iter_mut().for_each(|(.., keys)| keys.babe = Sr25519Keyring::Dave.public().into());
		}),
		("session.keys has the GRANDPA key of //Eve", |genesis| {
			genesis.session.keys.iter_mut().for_each(|(.., keys)| keys.grandpa = Ed25519Keyring::Eve.public().into());
		}),
	];
	for (words, change) in changes {
		let mut genesis = filled();
		change(&mut genesis);
		let error = check(&genesis).expect_err(words);
		assert!(error.contains(words) && !error.contains(';'), "{words}: {error}");
	}
	let mut genesis = filled();
	genesis.session.keys.iter_mut().for_each(|(account, ..)| *account = alice());
	assert!(check(&genesis).is_err());
}

#[test]
fn other_networks_may_have_any_values() {
	for preset in [genesis::DEVELOPMENT, genesis::LOCAL_TESTNET] {
		assert_eq!(check(&genesis_of(preset)), Ok(()));
	}
}
