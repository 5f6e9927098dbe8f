//! What a member does by what the chain says.

use super::*;
use crate::{participant::decide::plan::tests::training, status::Status, Honest};
use codec::Encode as _;
use neuroshard_chain_client::{keys::Keys, rewards, Call};
use neuroshard_fixtures::Connect;
use neuroshard_mock_node::{Fate, MockNode, Script};
use neuroshard_network::{keypair_from_secret, Network, NetworkConfig, Purpose, Streams};
use neuroshard_store::Store;
use neuroshard_types::{
	audit::AuditView,
	dispute::{ClaimId, Terms},
	provider::ProviderView,
	quorum::{Seat, Span},
	NEURO,
};
use tokio::task::JoinHandle;
use tokio_util::sync::DropGuard;

struct Fixture {
	node: MockNode,
	reporter: Reporter,
	stop: CancellationToken,
	work: JoinHandle<Result<(), WorkerError>>,
	_ending: DropGuard,
	_base: tempfile::TempDir,
}

/// Who leads: the first participant.
fn leader() -> AccountId {
	round().participants[0].account.clone()
}

fn view() -> RunView {
	training().0.run.unwrap().view
}

fn round() -> RoundView {
	training().0.run.and_then(|run| run.round).unwrap()
}

fn seats(who: &AccountId, key: Option<[u8; 33]>) -> Vec<Seat> {
	let seat = |who: &AccountId, first, key| Seat { leader: leader(), who: who.clone(), span: Span { first, count: 1 }, key };
	vec![seat(&leader(), 0, Some([1; 33])), seat(who, 1, key)]
}

impl Fixture {
	/// A member at work, where the chain has this run, and this round under way; the seats are asked of it.
	async fn start(view: Option<RunView>, round: Option<RoundView>, seats: impl FnOnce(&AccountId) -> Vec<Seat>) -> Self {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let (base, stop) = (tempfile::tempdir().unwrap(), CancellationToken::new());
		let keys = Keys::import(base.path(), "//Alice").unwrap();
		let owner = keys.account.id();
		node.answer("Training", "run", &view);
		node.answer("Training", "round", &round);
		node.answer("Training", "quorums_of", &seats(&owner));
		// Nothing of it can be disputed when the run is over.
		node.answer("Staking", "provider", &None::<ProviderView>);
		node.answer("Disputes", "games_of", &Vec::<(ClaimId, AccountId)>::new());
		node.answer("Disputes", "audits_of", &Vec::<AuditView>::new());
		node.answer("Dataset", "attestations_of", &Vec::<u32>::new());
		node.answer("Disputes", "terms", &Terms { window: 100, clock: 20, extension: 10, bond: NEURO, most_games: 32 });
		let keypair = || keypair_from_secret(&mut [1; 32]).unwrap();
		let store = Store::open(&base.path().join("store"), 1 << 24).unwrap();
		let (net, _) = Network::start(NetworkConfig::default(), keypair(), store.clone(), stop.clone()).await.unwrap();
		let (streams, incoming, _, _) = Streams::start_for(Purpose::Quorum, keypair(), Vec::new(), stop.clone()).await.unwrap();
		let reporter = Reporter::new(Status::default());
		let client = node.client().await;
		let parts = Parts { base: base.path().to_path_buf(), keys, owner, client, store, net, reporter: reporter.clone() };
		let ways = Ways { members: Default::default(), streams, incoming };
		let options =
			MemberOptions { run: 7, leader: leader(), ways, dataset: None, threads: 1, claim_from: NEURO, conduct: Arc::new(Honest) };
		let (ending, runtime) = (stop.clone(), tokio::runtime::Handle::current());
		let work = tokio::task::spawn_blocking(move || runtime.block_on(work_in_quorum(parts, options, ending)));
		Self { node, reporter, _ending: stop.clone().drop_guard(), stop, work, _base: base }
	}

	async fn task(&self, words: &str) {
		let says = |status: &Status| status.task.as_ref().is_some_and(|task| task.contains(words));
		self.reporter.subscribe().wait_for(says).await.unwrap();
	}

	async fn ends(self) -> Result<(), WorkerError> {
		self.stop.cancel();
		self.work.await.unwrap()
	}
}

#[tokio::test]
async fn a_run_that_there_is_not_ends_the_work_and_so_does_one_that_is_over() {
	let unknown = Fixture::start(None, None, |_| Vec::new()).await;
	assert!(matches!(unknown.work.await.unwrap(), Err(WorkerError::UnknownRun(7))));
	let over = Fixture::start(Some(RunView { status: RunStatus::Finished, ..view() }), None, |_| Vec::new()).await;
	over.work.await.unwrap().unwrap();
	assert!(over.reporter.current().ended.unwrap().contains("run 7 is over"));
}

#[tokio::test]
async fn whoever_has_no_part_in_a_round_says_why_and_waits() {
	let without = Fixture::start(Some(view()), Some(round()), |_| seats(&AccountId::new([77; 32]), Some([2; 33]))).await;
	without.task("has no seat of this account").await;
	without.ends().await.unwrap();
	let other_key = Fixture::start(Some(view()), Some(round()), |me| seats(me, Some([2; 33]))).await;
	other_key.task("key for proofs").await;
	// The round is over.
	other_key.node.answer("Training", "round", &None::<RoundView>);
	other_key.task("waiting for the next round of run 7").await;
	other_key.ends().await.unwrap();
}

#[tokio::test]
async fn what_a_member_has_earned_is_claimed_once_it_is_as_much_as_the_operator_wants() {
	let fixture = Fixture::start(Some(view()), None, |_| Vec::new()).await;
	let (asked, mut times) = tokio::sync::watch::channel(0);
	let too_little = vec![(3u32, NEURO / 2)];
	fixture.node.answer_by("Rewards", "claimable_eras", move |_| {
		asked.send_modify(|asked| *asked += 1);
		too_little.encode()
	});
	// Twice at each of two looks: at the newest and at the finalized block.
	times.wait_for(|times| *times >= 4).await.unwrap();
	fixture.node.answer("Rewards", "claimable_eras", &vec![(3u32, NEURO / 2), (5, NEURO / 2)]);
	let me = Keys::import(tempfile::tempdir().unwrap().path(), "//Alice").unwrap().account.id();
	let call = Call::all([3, 5].map(|era| rewards::claim_for(me.clone(), era)).into()).encode(&neuroshard_mock_node::decoded_metadata());
	let mut submitted = fixture.node.submitted();
	let all = submitted.wait_for(|all| !all.is_empty()).await.unwrap().clone();
	assert!(all[0].ends_with(&call.unwrap()));
	fixture.ends().await.unwrap();
}

#[test]
fn a_round_is_wanted_while_it_is_trained_and_the_leader_has_sealed_nothing() {
	let round = RoundView { phase: Phase::Training, ..round() };
	assert!(is_wanted(&round, &leader()));
	assert!(!is_wanted(&RoundView { phase: Phase::Revealing, ..round.clone() }, &leader()));
	assert!(!is_wanted(&round, &AccountId::new([77; 32])));
	let (mut sealed, mut dropped) = (round.clone(), round);
	sealed.participants[0].sealed = Some(H256::zero());
	dropped.participants[0].counted = false;
	assert!(!is_wanted(&sealed, &leader()) && !is_wanted(&dropped, &leader()));
}
