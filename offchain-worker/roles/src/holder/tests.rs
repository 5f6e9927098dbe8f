//! The holder against a node that answers what the test says, and remembers what was sent.

use super::{
	folder::tests::{built, flip},
	*,
};
use neuroshard_fixtures::Connect;
use neuroshard_mock_node::{decoded_metadata, Fate, MockNode, Script};
use neuroshard_types::{
	dataset::{AttestationTerms, DatasetStatus, Manifest},
	provider::{ProviderInfo, ProviderView, Role, Roles, Tier},
	AccountId, NEURO,
};
use tokio::task::JoinHandle;

/// Far behind all blocks that are made here.
const LATE: BlockNumber = 1_000_000;
/// Before all of them.
const OVER: BlockNumber = 0;

fn provider() -> ProviderView {
	let (hardware, addresses, peer_id) = Default::default();
	ProviderView {
		info: ProviderInfo { roles: Roles::only(Role::Worker), hardware, ponw_key: [2; 33], peer_id, addresses },
		status: ProviderStatus::Active,
		bonded: 200 * NEURO,
		unbonding: Vec::new(),
		open_claims: 0,
		disputable_until: 0,
		reputation: 0,
		tier: Tier::C,
		locked_until: 0,
		suspended_until: 0,
		missed_audits: 0,
	}
}

fn challenge(by: u8, shard: u32, deadline: BlockNumber) -> ChallengeView {
	ChallengeView { challenger: AccountId::new([by; 32]), place: ChunkPlace { shard, chunk: 0 }, deadline }
}

/// A node, and a folder with dataset 3 of its chain.
struct Fixture {
	node: MockNode,
	base: tempfile::TempDir,
	folder: PathBuf,
	manifest: Manifest,
	me: AccountId,
}

impl Fixture {
	/// On a node on which this becomes of extrinsics.
	async fn new(fate: fn(usize) -> Fate) -> Self {
		let node = MockNode::start(Script { blocks_a_look: 1, fate }).await;
		let base = tempfile::tempdir().unwrap();
		let (folder, manifest) = built(base.path());
		let terms = AttestationTerms { deposit: NEURO, period: 400, bond: NEURO, answer_time: 40, penalty: 100 * NEURO };
		let status = DatasetStatus::Active;
		let view = DatasetView { proposer: AccountId::new([9; 32]), deposit: 0, manifest: manifest.clone(), status, users: 1 };
		node.answer("Dataset", "datasets", &vec![3 as DatasetId]);
		node.answer("Dataset", "dataset", &Some(view));
		node.answer("Dataset", "attestation_terms", &terms);
		node.answer("Staking", "provider", &Some(provider()));
		let me = node.submitter().await.who().clone();
		let fixture = Self { node, base, folder, manifest, me };
		fixture.attests(&[]);
		fixture
	}

	/// Has the account attest dataset 3 until a block, with these challenges; or nothing.
	fn attests(&self, attestations: &[(BlockNumber, Vec<ChallengeView>)]) {
		let shards = ShardRange { first: 0, count: self.manifest.shape.shard_count };
		let view = |(expires_at, challenges): &(_, Vec<_>)| HoldingView {
			dataset: 3,
			shards,
			expires_at: *expires_at,
			challenges: challenges.clone(),
		};
		self.node.answer("Dataset", "attestations_of", &attestations.iter().map(view).collect::<Vec<_>>());
	}

	async fn start(&self, attest: bool) -> (JoinHandle<()>, CancellationToken) {
		let (stop, base) = (CancellationToken::new(), self.base.path().to_path_buf());
		let (client, submitter) = (self.node.client().await, self.node.submitter().await);
		let holder = Holder::new(base, client, submitter, Some(self.folder.clone()), attest);
		(tokio::spawn(holder.run(stop.clone())), stop)
	}

	fn attest(&self) -> Call {
		holdings::attest(3, ShardRange { first: 0, count: self.manifest.shape.shard_count })
	}

	async fn answer(&self, challenge: &ChallengeView) -> Call {
		let mut folder = Folder::new(self.folder.clone());
		folder.look(0, false).await.unwrap();
		holdings::answer(3, challenge.challenger.clone(), folder.open(challenge.place).await.unwrap().unwrap())
	}

	fn withdraw(&self) -> Call {
		holdings::withdraw(3, self.me.clone())
	}

	/// Waits until this call was sent, and returns how many extrinsics were sent by then.
	async fn sent(&self, call: &Call) -> usize {
		let call = call.encode(&decoded_metadata()).unwrap();
		let mut submitted = self.node.submitted();
		let all = submitted.wait_for(|all| all.iter().any(|one| one.ends_with(&call))).await.unwrap();
		all.len()
	}

	/// Returns whether this call was sent.
	fn was_sent(&self, call: &Call) -> bool {
		let call = call.encode(&decoded_metadata()).unwrap();
		self.node.submitted().borrow().iter().any(|one| one.ends_with(&call))
	}
}

#[tokio::test]
async fn the_folders_dataset_is_attested_and_withdrawn_when_that_is_not_wanted_any_more() {
	let fixture = Fixture::new(|_| Fate::Included).await;
	let (running, stop) = fixture.start(true).await;
	assert_eq!(fixture.sent(&fixture.attest()).await, 1);
	stop.cancel();
	running.await.unwrap();

	fixture.attests(&[(LATE, vec![])]);
	let (running, stop) = fixture.start(false).await;
	fixture.sent(&fixture.withdraw()).await;
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn an_attestation_that_only_the_pool_refused_is_sent_again_soon() {
	let fixture =
		Fixture::new(|number| if number == 0 { Fate::Refused(1010, "Transaction call is not expected") } else { Fate::Included }).await;
	let (running, stop) = fixture.start(true).await;
	let attest = fixture.attest().encode(&decoded_metadata()).unwrap();
	let mut submitted = fixture.node.submitted();
	let both = submitted.wait_for(|all| all.len() == 2).await.unwrap();
	assert!(both.iter().all(|one| one.ends_with(&attest)));
	drop(both);
	let heads = fixture.node.client().await.heads().await.unwrap();
	assert!(heads.best.number < LONG_REST, "{heads:?}");
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn a_chunk_that_cannot_be_opened_does_not_keep_others_from_being_answered() {
	let fixture = Fixture::new(|_| Fate::Included).await;
	let (lost, good) = (challenge(1, 0, LATE), challenge(2, 1, LATE + 1));
	let [impossible, possible] = [fixture.answer(&lost).await, fixture.answer(&good).await];
	flip(&fixture.folder, 0);
	fixture.attests(&[(LATE, vec![lost, good])]);
	let (running, stop) = fixture.start(true).await;
	fixture.sent(&possible).await;
	assert!(!fixture.was_sent(&impossible) && !running.is_finished());
	// It is put right in time.
	flip(&fixture.folder, 0);
	fixture.sent(&impossible).await;
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn an_answer_that_the_chain_refuses_does_not_keep_others_from_being_given() {
	let fixture = Fixture::new(|number| if number == 0 { Fate::Failed } else { Fate::Included }).await;
	let (first, second) = (challenge(1, 0, LATE), challenge(2, 1, LATE + 1));
	let [refused, taken] = [fixture.answer(&first).await, fixture.answer(&second).await];
	fixture.attests(&[(LATE, vec![first, second])]);
	let (running, stop) = fixture.start(false).await;
	assert_eq!(fixture.sent(&taken).await, 2);
	assert!(fixture.was_sent(&refused));
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn an_answer_waits_for_nothing_that_the_account_sent_before() {
	let fixture = Fixture::new(|number| if number == 0 { Fate::Kept } else { Fate::Included }).await;
	let (running, stop) = fixture.start(true).await;
	assert_eq!(fixture.sent(&fixture.attest()).await, 1);
	let asked = challenge(1, 0, LATE);
	let answer = fixture.answer(&asked).await;
	fixture.attests(&[(LATE, vec![asked])]);
	fixture.sent(&answer).await;
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn who_leaves_withdraws_answers_concludes_what_was_missed_and_removes_what_has_expired() {
	let fixture = Fixture::new(|_| Fate::Included).await;
	fixture.attests(&[(LATE, vec![])]);
	let (client, submitter) = (fixture.node.client().await, fixture.node.submitter().await);
	let leaving = Holder::leaving(client, submitter, Some(fixture.folder.clone()));
	let ended = tokio::spawn(leaving.run_to_the_end(CancellationToken::new()));
	fixture.sent(&fixture.withdraw()).await;
	let (missed, asked) = (challenge(1, 0, OVER), challenge(2, 1, LATE));
	let answer = fixture.answer(&asked).await;
	fixture.attests(&[(OVER, vec![asked])]);
	fixture.sent(&answer).await;
	let conclude = holdings::conclude(3, fixture.me.clone(), missed.challenger.clone());
	fixture.attests(&[(OVER, vec![missed])]);
	fixture.sent(&conclude).await;
	assert!(!ended.is_finished());
	fixture.attests(&[]);
	ended.await.unwrap();
}

#[tokio::test]
async fn a_worker_that_is_asked_to_leave_ends_what_it_attests_without_its_folder_too() {
	let fixture = Fixture::new(|_| Fate::Included).await;
	fixture.attests(&[(LATE, vec![])]);
	std::fs::rename(&fixture.folder, fixture.base.path().join("away")).unwrap();
	std::fs::write(fixture.base.path().join(LEAVE_FILE), b"").unwrap();
	let (running, stop) = fixture.start(true).await;
	fixture.sent(&fixture.withdraw()).await;
	stop.cancel();
	running.await.unwrap();
}

#[tokio::test]
async fn what_is_attested_of_a_dataset_that_is_gone_is_removed() {
	let fixture = Fixture::new(|_| Fate::Included).await;
	fixture.node.answer("Dataset", "datasets", &Vec::<DatasetId>::new());
	fixture.node.answer("Dataset", "dataset", &None::<DatasetView>);
	fixture.attests(&[(LATE, vec![])]);
	let (running, stop) = fixture.start(true).await;
	fixture.sent(&fixture.withdraw()).await;
	assert!(!fixture.was_sent(&fixture.attest()));
	stop.cancel();
	running.await.unwrap();
}
