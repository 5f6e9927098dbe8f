//! Members of quorums that lie to the others, as processes: whoever has the whole model disputes the work, and the chain condemns the member that lied and nobody else.

use crate::{
	room::Load,
	scenario::{Scenario, ROUND},
};
use neuroshard_e2e::{kept_unless_passed, until, Binaries, Cheat, Layout, Network, Prepared, Preset, Rules, Text, Training, Verdicts};
use neuroshard_types::dispute::{ClaimKind, Decision};
use std::path::Path;

/// What the members do that do not lead: in the rows that they give, in the gradient, in their own weights, and in these without a word in the dispute.
const LIES: [(Cheat, Decision); 4] = [
	(Cheat::WrongRows, Decision::Fraud),
	(Cheat::WrongGradient, Decision::Fraud),
	(Cheat::WrongUpdate, Decision::Fraud),
	(Cheat::Silence, Decision::DefenderLate),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_quorums_in_which_one_member_lies_that_member_loses_its_stake_and_nobody_else() {
	let _room = Load::Heavy.room().await;
	let mut folder = kept_unless_passed("quorum-cheats").unwrap();
	let mut scenario = Scenario::with_lying_members(folder.path()).await;
	let client = scenario.network.client().clone();
	let mut verdicts = Verdicts::default();
	let network = &mut scenario.network;
	until("the verdicts about all quorums", 3 * ROUND, async || {
		network.check()?;
		verdicts.read(&client, client.heads().await?.finalized.number).await?;
		Ok((verdicts.list().len() >= LIES.len()).then_some(()))
	})
	.await
	.unwrap();
	assert_eq!(verdicts.list().len(), LIES.len(), "{verdicts:?}");
	let all_bonded = scenario.provider(0).await.bonded;
	for (number, (cheat, decision)) in LIES.into_iter().enumerate() {
		let [leader, liar] = [1 + 2 * number, 2 + 2 * number];
		let of = |worker: usize| scenario.account(worker);
		let decided = verdicts.list().iter().find(|one| one.verdict.claim.who == of(leader)).unwrap();
		assert_eq!((decided.verdict.claim.kind, decided.verdict.claim.round), (ClaimKind::Work, 0));
		assert_eq!((decided.verdict.decision, &decided.verdict.defender), (decision, &of(liar)), "{cheat:?}");
		assert_eq!(decided.verdict.challenger, of(0));
		let bonded = [scenario.provider(leader).await.bonded, scenario.provider(liar).await.bonded];
		assert_eq!(bonded, [all_bonded, 0], "{cheat:?}");
	}
	scenario.training.stopped(&scenario.network).await.unwrap();
	scenario.network.stop().await;
	folder.disable_cleanup(false);
}

impl Scenario {
	/// A worker that has the whole model and checks everything, and quorums of two of which the second member lies in the first round.
	async fn with_lying_members(folder: &Path) -> Self {
		let count = u16::try_from(LIES.len()).unwrap();
		let places = u32::from(1 + count);
		// Each member has an address for the others besides.
		let layout = Layout::create(folder.join("network"), None, 1 + 4 * count).unwrap();
		let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, places..=places).await.unwrap().with_patience(4);
		// One worker checks and disputes all of them, one after the other.
		let rules = Rules { window: 400, ..Preset::Tiny.rules() };
		let mut network = Network::start(Binaries::find().unwrap(), layout, rules).await.unwrap();
		let training = Training::sponsor(&network, prepared, Some(1)).await.unwrap();
		network.add_checking_workers(&[training.run], 1, Some(&training.dataset), 1).await.unwrap();
		let cheats = LIES.map(|(cheat, _)| (cheat, 0));
		network.add_false_quorums(training.run, &[2, training.model.layers], &cheats, Some(&training.dataset)).await.unwrap();
		Self { network, training }
	}
}
