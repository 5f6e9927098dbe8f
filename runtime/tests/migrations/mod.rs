//! Tests of what an upgrade to this runtime does to a state of an earlier one.

use codec::Encode;
use frame_support::{
	storage::{storage_prefix, unhashed},
	traits::{GetStorageVersion, StorageVersion},
	Blake2_128Concat, StorageHasher,
};
use neuroshard_runtime::{invariants, Disputes, Executive, Runtime, RuntimeGenesisConfig, SessionKeys, Staking, Validators};
use neuroshard_types::{
	answer_audit::AnswerId, inference::CheckpointId, provider::ProviderStatus, span::Span, AccountId, Balance, H256, NEURO,
};
use pallet_neuro_disputes::{
	AnswerAudit, AnswerAudits, AnswerClosings, AnswerClosingsSpan, AuditedSession, AuditedSessions, TextOf, UndrawnAnswers,
	UndrawnAnswersSpan,
};
use pallet_neuro_staking::Providers;
use pallet_neuro_validators::{FirstSessions, Sets};
use sp_io::hashing::twox_128;
use sp_keyring::Sr25519Keyring::{Alice, Bob};
use sp_runtime::{traits::OpaqueKeys, BuildStorage};

mod old_states;
mod stored;

#[test]
fn an_upgrade_from_the_first_version_keeps_providers_and_counts_them() {
	let storage = RuntimeGenesisConfig::default().build_storage().expect("the default genesis builds");
	sp_io::TestExternalities::new(storage).execute_with(|| {
		let who = AccountId::new([7; 32]);
		StorageVersion::new(1).put::<Staking>();
		unhashed::put_raw(&Providers::<Runtime>::hashed_key_for(&who), &stored::provider_1(0));
		Executive::execute_on_runtime_upgrade();
		let view = Staking::provider(who).expect("a provider");
		assert_eq!((view.status, view.bonded, view.reputation), (ProviderStatus::Active, 1_000 * NEURO, 300));
		assert_eq!((view.locked_until, view.suspended_until), (0, 0));
		assert_eq!(Staking::active_counts(), [0, 1, 1, 0]);
		assert_eq!(Staking::on_chain_storage_version(), Staking::in_code_storage_version());
	});
}

#[test]
fn an_upgrade_forgets_the_roots_of_earlier_sets() {
	let storage = RuntimeGenesisConfig::default().build_storage().expect("the default genesis builds");
	sp_io::TestExternalities::new(storage).execute_with(|| {
		let key = [&twox_128(b"Historical")[..], &twox_128(b"HistoricalSessions"), &[1; 12]].concat();
		unhashed::put_raw(&key, &[7; 36]);
		Executive::execute_on_runtime_upgrade();
		assert_eq!(unhashed::get_raw(&key), None);
	});
}

#[test]
fn an_upgrade_remembers_the_sets_of_the_running_session_and_of_the_next() {
	let mut genesis = RuntimeGenesisConfig::default();
	let keys = |seed| SessionKeys {
		babe: sp_core::sr25519::Public::from_raw([seed; 32]).into(),
		grandpa: sp_core::ed25519::Public::from_raw([seed; 32]).into(),
	};
	let validators = [(Alice.to_account_id(), keys(1)), (Bob.to_account_id(), keys(2))];
	genesis.balances.balances = validators.iter().map(|(who, _)| (who.clone(), 10_000 * NEURO)).collect();
	genesis.validators.candidates = validators.iter().map(|(who, _)| (who.clone(), 1_000 * NEURO)).collect();
	genesis.session.keys = validators.iter().map(|(who, keys)| (who.clone(), who.clone(), keys.clone())).collect();
	let storage = genesis.build_storage().expect("a genesis");
	sp_io::TestExternalities::new(storage).execute_with(|| {
		let _ = FirstSessions::<Runtime>::clear(u32::MAX, None);
		let _ = Sets::<Runtime>::clear(u32::MAX, None);
		StorageVersion::new(1).put::<Validators>();
		Executive::execute_on_runtime_upgrade();
		for (who, keys) in validators {
			for id in SessionKeys::key_ids() {
				for session in [0, 1] {
					let owner = Validators::key_owner(session, *id, keys.get_raw(*id));
					assert_eq!(owner.map(|((owner, _), validators)| (owner, validators)), Some((who.clone(), 2)));
				}
			}
		}
		assert_eq!(Validators::on_chain_storage_version(), Validators::in_code_storage_version());
		assert_eq!(invariants::broken(), None);
	});
}

#[test]
fn an_upgrade_gives_draws_of_answers_a_price_and_keeps_those_that_wait_and_those_that_were_made() {
	let storage = RuntimeGenesisConfig::default().build_storage().expect("the default genesis builds");
	sp_io::TestExternalities::new(storage).execute_with(|| {
		let (provider, auditor) = (AccountId::new([7; 32]), AccountId::new([8; 32]));
		// Session, provider, answers before and behind, receipts; run, round and root of the checkpoint; epoch and block.
		let numbers = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
		let noted =
			[&numbers(&[3, 0])[..], &[7; 32], &numbers(&[2, 5]), &[9; 32], &numbers(&[0, 1]), &[4; 32], &numbers(&[6, 0, 10])].concat();
		unhashed::put_raw(&UndrawnAnswers::<Runtime>::hashed_key_for(0), &noted);
		UndrawnAnswersSpan::<Runtime>::put(Span { first: 0, next: 1 });
		let answer = AnswerId { session: 1, provider: provider.clone(), place: 0 };
		let checkpoint = CheckpointId { run: 0, round: 1, root: H256::repeat_byte(4) };
		let (demand_by, closes_at, bound_until, text, disputed) = (10, 30, 40, TextOf::Undemanded, None);
		let (audited_by, receipts) = (auditor.clone(), H256::repeat_byte(9));
		let audit =
			AnswerAudit { auditor: audited_by, answers: 1, receipts, checkpoint, demand_by, closes_at, bound_until, text, disputed };
		AnswerAudits::<Runtime>::insert(&answer, audit);
		AuditedSessions::<Runtime>::insert(1, &provider, AuditedSession { audits: 1, condemned: false });
		AnswerClosings::<Runtime>::insert(0, &answer);
		AnswerClosingsSpan::<Runtime>::put(Span { first: 0, next: 1 });
		let keys = [Blake2_128Concat::hash(&auditor.encode()), Blake2_128Concat::hash(&answer.encode())].concat();
		unhashed::put_raw(&[&storage_prefix(b"Disputes", b"DrawnAnswers")[..], &keys].concat(), &[]);
		StorageVersion::new(2).put::<Disputes>();
		Executive::execute_on_runtime_upgrade();
		let kept = UndrawnAnswers::<Runtime>::get(0).expect("a claim of pay");
		assert_eq!((kept.answers.session, &kept.answers.provider, kept.epoch, kept.paid_at), (3, &provider, 6, 10));
		assert_eq!((kept.answers.before, kept.answers.answers, kept.answers.paid), (2, 5, Balance::MAX));
		assert_eq!((kept.answers.checkpoint, kept.answers.receipts), (checkpoint, receipts));
		assert_eq!(Disputes::answer_audit_terms().draw_price, NEURO);
		let listed: Vec<AnswerId> = Disputes::answer_audits_of(auditor, None).into_iter().map(|audit| audit.answer).collect();
		assert_eq!(listed, [answer]);
		assert_eq!(Disputes::on_chain_storage_version(), Disputes::in_code_storage_version());
		assert_eq!(Disputes::do_try_state(), Ok(()));
	});
}
