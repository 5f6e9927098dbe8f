//! Accounts whose process was stopped at any moment.

use super::{
	super::{
		tests::{issuer as signer, GENESIS},
		*,
	},
	recover::path,
	*,
};
use codec::Encode;
use neuroshard_disputes::answers::TranscriptStore;
use neuroshard_payments::Tally;
use neuroshard_types::inference::chained;
use sp_core::{sr25519, Pair};
use std::{fs, path::Path};

/// No log is settled before the end.
const NEVER: Pace = Pace { length: u64::MAX, quiet: Duration::from_secs(1 << 30) };

fn provider() -> AccountId {
	AccountId::new([1; 32])
}

fn user() -> sr25519::Pair {
	sr25519::Pair::from_seed(&[2; 32])
}

/// A record of an answer, the `place`th of session 7.
pub(super) fn record(place: u32) -> Record {
	let before = Tally { answers: place, amount: place.into(), receipts: H256::repeat_byte(3) };
	let (receipt, parameters, transcript) = (H256::from_low_u64_be(place.into()), H256::zero(), Arc::new(b"{}".to_vec()));
	Record::Answer { session: 7, provider: provider(), before, price: 1, receipt, parameters, transcript }
}

fn issuer() -> Arc<Issuer> {
	Arc::new(signer())
}

/// Accounts in `base`.
fn open(base: &Path, pace: Pace) -> io::Result<Accounts> {
	let folder = base.join("sessions");
	fs::create_dir_all(&folder)?;
	Accounts::with_pace(provider(), GENESIS, folder, TranscriptStore::open(base).map_err(io::Error::other)?, pace)
}

/// A voucher of session 7 for all these answers.
fn first(state: Tally) -> (Voucher, MultiSignature) {
	let Tally { answers, amount, receipts } = state;
	signed(7, answers, amount, receipts)
}

fn signed(session: SessionId, answers: u32, amount: Balance, receipts: H256) -> (Voucher, MultiSignature) {
	let voucher = Voucher { session, provider: provider(), amount, answers, receipts };
	let signature = user().sign(&voucher.message(GENESIS)).into();
	(voucher, signature)
}

/// Asks in a session, with this voucher.
async fn enter(accounts: &Accounts, session: SessionId, (voucher, signature): (Voucher, MultiSignature)) -> Payer {
	let open = accounts.opened(session, &AccountId::new(user().public().0)).unwrap();
	let payer = Payer { accounts: accounts.clone(), session, open, closing: false };
	payer.clone().take(1_000_000, Tally::default(), voucher, signature).await.unwrap();
	payer
}

/// Is given an answer, and returns its transcript, and all answers so far.
async fn answer(payer: &Payer, issuer: &Arc<Issuer>, token: u32) -> (Transcript, Tally) {
	let reserved = payer.reserve(100).unwrap();
	let transcript = reserved.issue(issuer.clone(), vec![97], vec![token], Ending::Cut, Sampling::default()).await.unwrap();
	(transcript, payer.open.with(|account| account.ledger.now()).unwrap())
}

/// State that is promised: all answers of each session, what its voucher is for, and the transcripts that are not paid for.
#[derive(Clone, PartialEq, Debug)]
struct Promised {
	session: SessionId,
	now: Tally,
	paid: Tally,
	voucher: Option<Signed>,
	transcripts: Vec<Transcript>,
}

async fn promised(accounts: &Accounts, session: SessionId) -> Promised {
	let ledger = accounts.read(session).await.unwrap();
	let ledger = ledger.unwrap_or_else(|| Ledger::new(session, provider(), Tally::default()));
	let transcripts = ledger.transcripts().map(|json| serde_json::from_slice(json).unwrap()).collect();
	Promised { session, now: ledger.now(), paid: ledger.paid(), voucher: ledger.voucher().cloned(), transcripts }
}

/// A copy of a folder, as a crash would leave it, with `log` as the log.
fn crashed(base: &Path, log: &[u8]) -> tempfile::TempDir {
	let copy = tempfile::tempdir().unwrap();
	fs::create_dir(copy.path().join("sessions")).unwrap();
	for entry in fs::read_dir(base.join("sessions")).unwrap() {
		let entry = entry.unwrap();
		fs::copy(entry.path(), copy.path().join("sessions").join(entry.file_name())).unwrap();
	}
	fs::write(path(&copy.path().join("sessions"), 0), log).unwrap();
	copy
}

#[tokio::test]
async fn an_account_that_is_read_again_has_no_answers_under_way() {
	let base = tempfile::tempdir().unwrap();
	let accounts = open(base.path(), NEVER).unwrap();
	let payer = enter(&accounts, 7, first(Tally::default())).await;
	let given_up = payer.reserve(100).unwrap();
	answer(&payer, &issuer(), 98).await;
	drop(given_up);
	let mut account = accounts.read(7).await.unwrap().unwrap();
	assert_eq!(account.begin(1_000 - account.now().amount, 1_000), Ok(()));
}

#[tokio::test]
async fn nothing_that_was_promised_is_lost_at_a_crash_at_any_byte() {
	let base = tempfile::tempdir().unwrap();
	let (accounts, issuer) = (open(base.path(), NEVER).unwrap(), issuer());
	let log = path(&base.path().join("sessions"), 0);
	let zero = first(Tally::default());
	let (one, two) = (enter(&accounts, 7, zero).await, enter(&accounts, 8, signed(8, 0, 0, H256::zero())).await);
	let mut promises = vec![(0, promised(&accounts, 7).await, promised(&accounts, 8).await)];
	for step in 0..7 {
		match step {
			// What was answered up to here is paid for.
			4 => drop(enter(&accounts, 7, first(one.open.with(|account| account.ledger.now()).unwrap())).await),
			step if step % 3 == 2 => drop(answer(&two, &issuer, step).await),
			step => drop(answer(&one, &issuer, step).await),
		}
		let length = usize::try_from(fs::metadata(&log).unwrap().len()).unwrap();
		promises.push((length, promised(&accounts, 7).await, promised(&accounts, 8).await));
	}
	assert!(promises.last().unwrap().1.paid.answers > 0);
	let bytes = fs::read(&log).unwrap();
	// At the ends of what was written, beside them, and in between.
	let ends = promises.iter().flat_map(|(length, _, _)| [length.saturating_sub(1), *length, length + 1, length + 40]);
	for length in ends.chain((0..bytes.len()).step_by(97)).filter(|length| *length <= bytes.len()) {
		let (_, seven, eight) = promises.iter().rfind(|(end, _, _)| *end <= length).unwrap();
		let copy = crashed(base.path(), &bytes[..length]);
		let told = owed::owed(&copy.path().join("sessions")).unwrap();
		let unsigned = |promised: &Promised| promised.now.amount - promised.paid.amount;
		for expected in [seven, eight].into_iter().filter(|expected| expected.now.answers > 0) {
			let found = told.iter().find(|owed| owed.session == expected.session).unwrap();
			assert_eq!((found.unsigned, &found.voucher), (unsigned(expected), &expected.voucher), "{length}");
		}
		let again = open(copy.path(), NEVER).unwrap();
		assert_eq!((&promised(&again, 7).await, &promised(&again, 8).await), (seven, eight), "{length}");
		for transcript in seven.transcripts.iter().chain(&eight.transcripts) {
			assert_eq!(again.0.transcript_store.transcript(&transcript.receipt, GENESIS).unwrap(), *transcript);
		}
		for expected in [seven, eight].into_iter().filter(|expected| expected.now.answers > 0) {
			let shown = again.0.order.show(expected.session, 0, expected.now.answers, expected.now.receipts).unwrap();
			assert_eq!(shown.later.len(), usize::try_from(expected.now.answers).unwrap() - 1);
		}
		// It goes on from there.
		let voucher = signed(7, seven.paid.answers, seven.paid.amount, seven.paid.receipts);
		let (_, state) = answer(&enter(&again, 7, voucher).await, &issuer, 99).await;
		assert_eq!(state.answers, seven.now.answers + 1);
	}
}

#[tokio::test]
async fn a_damaged_log_is_told_with_what_to_do_and_nothing_is_deleted() {
	let base = tempfile::tempdir().unwrap();
	let (accounts, issuer) = (open(base.path(), NEVER).unwrap(), issuer());
	let one = enter(&accounts, 7, first(Tally::default())).await;
	for token in 0..3 {
		answer(&one, &issuer, token).await;
	}
	let mut bytes = fs::read(path(&base.path().join("sessions"), 0)).unwrap();
	bytes[30] ^= 1;
	let copy = crashed(base.path(), &bytes);
	let folder = copy.path().join("sessions");
	for words in [open(copy.path(), NEVER).map(drop).unwrap_err().to_string(), owed::owed(&folder).unwrap_err().to_string()] {
		assert!(words.contains("answers-0.log is damaged at byte 0") && words.contains("move all files answers-*.log"), "{words}");
	}
	assert_eq!(fs::read(path(&folder, 0)).unwrap(), bytes);
}

#[tokio::test]
async fn what_is_settled_is_in_the_files_of_accounts_and_not_in_a_log() {
	let base = tempfile::tempdir().unwrap();
	let (accounts, issuer) = (open(base.path(), Pace { length: 1, quiet: Duration::from_millis(1) }).unwrap(), issuer());
	let one = enter(&accounts, 7, first(Tally::default())).await;
	for token in 0..5 {
		answer(&one, &issuer, token).await;
	}
	let expected = promised(&accounts, 7).await;
	drop((one, accounts));
	let folder = base.path().join("sessions");
	let logs = fs::read_dir(&folder).unwrap().filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().ends_with(".log"));
	assert_eq!(logs.count(), 0);
	let ledger = owed::read(&folder, 7).unwrap().unwrap();
	assert_eq!((ledger.now(), ledger.paid()), (expected.now, expected.paid));
	let again = open(base.path(), NEVER).unwrap();
	assert_eq!(promised(&again, 7).await, expected);
}

#[tokio::test]
async fn accounts_of_a_version_without_a_log_are_gone_on_from() {
	let base = tempfile::tempdir().unwrap();
	let folder = base.path().join("sessions");
	fs::create_dir(&folder).unwrap();
	owed::tests::write(&folder, 7, &provider(), &user(), 10, 20);
	let before = owed::read(&folder, 7).unwrap().unwrap();
	let accounts = open(base.path(), NEVER).unwrap();
	let Tally { answers, amount, receipts } = before.paid();
	let payer = enter(&accounts, 7, signed(7, answers, amount, receipts)).await;
	let (transcript, now) = answer(&payer, &issuer(), 5).await;
	let receipts = chained(before.now().receipts, transcript.receipt.hash(GENESIS));
	assert_eq!(now, Tally { answers: 3, amount: 32, receipts });
	// A record that was settled already changes nothing, and one behind what the chain paid for goes on from there.
	let mut ledger = before.clone();
	record(1).apply(&mut ledger);
	assert_eq!(ledger.encode(), before.encode());
	record(9).apply(&mut ledger);
	assert_eq!((ledger.paid().answers, ledger.now().answers), (9, 10));
}

#[tokio::test]
async fn sessions_that_are_asked_in_are_bounded_and_what_they_owe_is_not_forgotten() {
	let base = tempfile::tempdir().unwrap();
	let (accounts, issuer) = (open(base.path(), NEVER).unwrap(), issuer());
	let one = enter(&accounts, 7, first(Tally::default())).await;
	answer(&one, &issuer, 5).await;
	let expected = promised(&accounts, 7).await;
	drop(one);
	let user = AccountId::new(user().public().0);
	for session in 100..100 + SessionId::try_from(MOST_SESSIONS).unwrap() {
		accounts.opened(session, &user).unwrap();
	}
	assert!(!accounts.is_open(7) && accounts.open().len() <= MOST_SESSIONS);
	assert_eq!(accounts.vouchers().await.unwrap(), [(7, None)]);
	accounts.forget_orders().unwrap();
	assert!(accounts.0.order.show(7, 0, 1, expected.now.receipts).is_ok());
	let again = enter(&accounts, 7, first(Tally::default())).await;
	assert_eq!(again.open.with(|account| account.ledger.now()).unwrap(), expected.now);
}
