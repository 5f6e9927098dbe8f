//! A provider on a node that says what is drawn and demanded.

use super::{super::Accounts, *};
use neuroshard_chain_client::keys::{PonwSigner, Seed};
use neuroshard_disputes::answers::TranscriptStore;
use neuroshard_fixtures::answers::{answered, audit, newest, AUDITOR, GENESIS, SESSION};
use neuroshard_fixtures::{self as testing, Connect};
use neuroshard_inference::receipt::Transcript;
use neuroshard_mock_node::{Fate, MockNode, Script};
use neuroshard_types::{
	answer_audit::Delivery,
	inference::chained,
	provider::{ProviderInfo, ProviderView},
	AccountId, H256,
};

/// Far behind now, and not too far.
fn soon() -> u64 {
	let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
	u64::try_from(since.as_millis()).unwrap() + 60_000
}

struct Fixture {
	node: MockNode,
	keeper: Keeper,
	/// Two answers that were paid for.
	transcripts: Vec<Transcript>,
	signer: PonwSigner,
	base: tempfile::TempDir,
}

impl Fixture {
	async fn new() -> Self {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let (client, submitter) = (node.client().await, node.submitter().await);
		let (me, signer) = (submitter.who().clone(), PonwSigner::from_seed(&Seed::random()).unwrap());
		let who = me.clone();
		let given = move || (0..2).map(|place| answered(who.clone(), &newest().params, place, |_| {})).collect();
		let transcripts: Vec<Transcript> = tokio::task::spawn_blocking(given).await.unwrap();
		let auditor = ProviderInfo { ponw_key: signer.public(), ..testing::provider().info };
		node.answer("Staking", "provider", &Some(ProviderView { info: auditor, ..testing::provider() }));
		let base = tempfile::tempdir().unwrap();
		let transcript_store = TranscriptStore::open(base.path()).unwrap();
		let accounts = Accounts::new(me, GENESIS, base.path().to_owned(), transcript_store.clone()).unwrap();
		let mut root = H256::zero();
		for (place, transcript) in transcripts.iter().enumerate() {
			let hash = transcript.receipt.hash(GENESIS);
			transcript_store.keep(transcript).unwrap();
			accounts.0.order.note(SESSION, u32::try_from(place).unwrap(), root, hash).unwrap();
			root = chained(root, hash);
		}
		let keeper = Keeper::new(client, submitter, signer.clone(), accounts);
		let fixture = Self { node, keeper, transcripts, signer, base };
		fixture.node.answer("Disputes", "answer_audit", &Some(fixture.audit()));
		fixture
	}

	/// The audit of the first answer.
	fn audit(&self) -> AnswerAuditView {
		let root = self.transcripts.iter().fold(H256::zero(), |root, next| chained(root, next.receipt.hash(GENESIS)));
		AnswerAuditView {
			delivery: Delivery::Demanded(90_000),
			demand_by: 80_000,
			closes_at: 100_000,
			..audit(&self.transcripts[0], 2, root)
		}
	}

	fn handed(&self) -> Handed {
		let [mut first, second] = [0, 1].map(|place: usize| self.transcripts[place].clone());
		// It was signed with another key than the one that is registered now.
		assert_ne!(first.key, Some(self.signer.public()));
		(first.key, first.signature) = (Some(self.signer.public()), Some(self.signer.sign_receipt(&first.receipt, GENESIS)));
		Handed { transcript: first, before: H256::zero(), later: vec![second.receipt.hash(GENESIS)] }
	}

	fn ask(&self) -> TextAsk {
		TextAsk { answer: self.audit().answer, auditor: AUDITOR, until: soon() }
	}

	async fn asked(&self, ask: &TextAsk, signature: ProofSignature) -> Result<Handed, String> {
		self.keeper.hand_over(ask, &signature).await.map_err(|error| error.json().to_string())
	}

	async fn deliver(&self, resting: &mut Rests<AnswerId>) {
		self.keeper.deliver_due(resting, &mut Some(0)).await.unwrap();
	}
}

#[tokio::test]
async fn a_text_is_handed_to_who_was_drawn_and_to_nobody_else() {
	let fixture = Fixture::new().await;
	let (ask, sign) = (fixture.ask(), |ask: &TextAsk| fixture.signer.sign_text_ask(ask, GENESIS));
	assert_eq!(fixture.asked(&ask, sign(&ask)).await, Ok(fixture.handed()));
	let other = PonwSigner::from_seed(&Seed::random()).unwrap();
	let forged = fixture.asked(&ask, other.sign_text_ask(&ask, GENESIS)).await.unwrap_err();
	assert!(forged.contains("not signed by the auditor's key"), "{forged}");
	for wrong in [
		TextAsk { auditor: AccountId::new([8; 32]), ..ask.clone() },
		TextAsk { until: 1, ..ask.clone() },
		TextAsk { until: soon() + 60 * 60_000, ..ask.clone() },
		TextAsk { answer: AnswerId { provider: AUDITOR, ..ask.answer.clone() }, ..ask.clone() },
	] {
		assert!(fixture.asked(&wrong, sign(&wrong)).await.is_err(), "{wrong:?}");
	}
	fixture.node.answer("Disputes", "answer_audit", &None::<AnswerAuditView>);
	let undrawn = fixture.asked(&ask, sign(&ask)).await.unwrap_err();
	assert!(undrawn.contains("was not drawn"), "{undrawn}");
}

#[tokio::test]
async fn what_is_demanded_is_put_into_a_block_with_what_shows_that_it_was_paid_for() {
	let fixture = Fixture::new().await;
	let mut resting = Rests::new(BACKOFF);
	let condemned = AnswerAuditView { condemned: true, ..fixture.audit() };
	fixture.node.answer("Disputes", "answers_demanded_of", &vec![condemned]);
	fixture.deliver(&mut resting).await;
	assert!(fixture.node.submitted().borrow().is_empty(), "it is lost already");
	fixture.node.answer("Disputes", "answers_demanded_of", &vec![fixture.audit()]);
	fixture.deliver(&mut resting).await;
	let client = fixture.node.client().await;
	let (at, mut delivered) = (client.now().await.unwrap(), Vec::new());
	for number in 0..=at.block().number {
		delivered.extend(at.delivered(client.block_at(number).await.unwrap()).await.unwrap());
	}
	let key = fixture.signer.public();
	assert_eq!(delivered.len(), 1);
	let handed = Handed::of(delivered.remove(0), key, GENESIS);
	assert_eq!(handed, fixture.handed());
	assert_eq!(handed.check(&fixture.audit(), key, GENESIS), Ok(()));
	// The chain is given time to take it.
	let answer = fixture.audit().answer;
	let now = fixture.node.client().await.now().await.unwrap().block().number;
	assert!(resting.has_failed(&answer));
	for _ in 0..9 {
		resting.note(answer.clone(), now, BlockNumber::MAX);
	}
	fixture.deliver(&mut resting).await;
	assert_eq!(fixture.node.submitted().borrow().len(), 1);
}

#[tokio::test]
async fn a_text_that_is_gone_is_told_and_tried_again() {
	let fixture = Fixture::new().await;
	fixture.node.answer("Disputes", "answers_demanded_of", &vec![fixture.audit()]);
	let answers = fixture.base.path().join("answers");
	std::fs::rename(&answers, fixture.base.path().join("away")).unwrap();
	std::fs::create_dir(&answers).unwrap();
	let mut resting = Rests::new(BACKOFF);
	fixture.deliver(&mut resting).await;
	assert!(fixture.node.submitted().borrow().is_empty() && resting.has_failed(&fixture.audit().answer));
	let ask = fixture.ask();
	let asked = fixture.asked(&ask, fixture.signer.sign_text_ask(&ask, GENESIS)).await.unwrap_err();
	assert!(asked.contains("cannot be read just now"), "{asked}");
	std::fs::remove_dir(&answers).unwrap();
	std::fs::rename(fixture.base.path().join("away"), &answers).unwrap();
	// More than the first rest.
	fixture.node.grow(4);
	fixture.deliver(&mut resting).await;
	assert_eq!(fixture.node.submitted().borrow().len(), 1);
}
