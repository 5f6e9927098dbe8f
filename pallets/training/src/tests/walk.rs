//! Random walks: whatever is called in whatever order, the invariants hold.

use super::*;
use crate::{Bridges, Participant, Rounds, Runs};
use neuroshard_types::{
	dispute::{ClaimKind, Claims as _},
	run::{vote_bitmap, Attestation, RunStatus, VoteBitmap},
	traits::Providers,
	H256,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// One step of a walk. Workers and runs are taken modulo how many there are.
#[derive(Clone, Debug)]
enum Move {
	/// Lets so many blocks begin.
	Blocks(u32),
	/// Somebody does what its phase asks for, as it should.
	Act(u8, u32),
	/// Everybody who is waited for does.
	All(u32),
	/// Somebody votes or attests something else than the others.
	Dissent(u8, u32, u8),
	/// Those who may report those who are waited for as missing, or others.
	Report(u32, u8),
	Join(u8, u32),
	Leave(u8, u32),
	/// Work, or an attestation, of the last rounds is proven false.
	Condemn(u8, u32, u32, bool),
	/// Work of the last rounds has no result.
	Exclude(u8, u32, u32),
	/// Two runs become cohorts of one family.
	Family(u32, u32),
	/// A provider chills or activates, with another bond.
	Change(u8, bool, u8),
	Create(u8),
	Approve(u32),
	Stop(u32),
	Remove(u32, u32),
}

const WORKERS: u8 = 6;

fn steps() -> impl Strategy<Value = Move> {
	let (who, run) = (1..=WORKERS, 0u32..4);
	prop_oneof![
		12 => (1u32..4).prop_map(Move::Blocks),
		1 => (5u32..12).prop_map(Move::Blocks),
		30 => (who.clone(), run.clone()).prop_map(|(who, run)| Move::Act(who, run)),
		12 => run.clone().prop_map(Move::All),
		6 => (who.clone(), run.clone(), any::<u8>()).prop_map(|(who, run, bits)| Move::Dissent(who, run, bits)),
		8 => (run.clone(), any::<u8>()).prop_map(|(run, bits)| Move::Report(run, bits)),
		16 => (who.clone(), run.clone()).prop_map(|(who, run)| Move::Join(who, run)),
		1 => (who.clone(), run.clone()).prop_map(|(who, run)| Move::Leave(who, run)),
		2 => (who.clone(), run.clone(), 1u32..4, any::<bool>()).prop_map(|(who, run, ago, work)| Move::Condemn(who, run, ago, work)),
		1 => (who.clone(), run.clone(), 1u32..4).prop_map(|(who, run, ago)| Move::Exclude(who, run, ago)),
		2 => (who, prop::bool::weighted(0.8), any::<u8>()).prop_map(|(who, active, bond)| Move::Change(who, active, bond)),
		1 => (0u8..3).prop_map(Move::Create),
		1 => (run.clone(), run.clone()).prop_map(|(first, run)| Move::Family(first, run)),
		1 => run.clone().prop_map(Move::Approve),
		1 => (0u32..6).prop_map(Move::Stop),
		1 => (run, 0u32..3).prop_map(|(run, limit)| Move::Remove(run, limit)),
	]
}

/// One of the newest runs.
fn pick(run: u32) -> RunId {
	crate::NextRun::<Test>::get().saturating_sub(run + 1)
}

fn act(who: &AccountId, run: RunId) {
	let Some(round) = Rounds::<Test>::get(run) else { return };
	let revealed = round.revealed().count();
	// Any of these may be refused: of the wrong phase, or by who has no part in it.
	let _ = match Bridges::<Test>::get(run, round.round).filter(|bridge| bridge.who == *who && round.seed.0[0] % 4 > 0) {
		Some(bridge) => commit_bridged_to(who, run, &work(who, run), bridge.checkpoint),
		None => commit(who, run),
	};
	let _ = reveal(who, run);
	let _ = vote(who, run, &ALL[..revealed]);
	if Rounds::<Test>::contains_key(run) {
		let _ = attest(who, run, 1, 2.0);
	}
}

fn dissent(who: &AccountId, run: RunId, bits: u8) {
	let Some(round) = Rounds::<Test>::get(run) else { return };
	let origin = || RuntimeOrigin::signed(who.clone());
	let mask = 1u16.checked_shl(round.revealed().count().try_into().unwrap()).map_or(0, |bit| bit - 1).to_le_bytes()[0];
	let bitmap = VoteBitmap::truncate_from(vec![bits & mask]);
	let _ = Training::vote_availability(origin(), run, round.round, round.attempt, bitmap);
	let attestation = Attestation { checkpoint: H256::repeat_byte(bits), validation_loss: neuroshard_types::F32(bits.into()) };
	let _ = Training::attest(origin(), run, round.round, round.attempt, attestation);
}

/// Everybody who may reports those who are waited for, or others.
fn report(run: RunId, bits: u8) {
	let Some(round) = Rounds::<Test>::get(run) else { return };
	let phase = round.stage.phase();
	let waited_for = |participant: &Participant| participant.counted && !participant.has_acted(phase);
	let named = round.participants.iter().enumerate().map(|(place, one)| waited_for(one) != (bits >> (place % 8) & 1 == 1 && bits > 200));
	let missing = vote_bitmap(named).unwrap();
	for who in 1..=WORKERS {
		let origin = RuntimeOrigin::signed(worker(who));
		let _ = Training::report_missing(origin, run, round.round, round.attempt, phase, missing.clone());
	}
}

fn perform(step: Move) {
	match step {
		Move::Blocks(blocks) => skip(blocks),
		Move::Act(who, run) => act(&worker(who), pick(run)),
		Move::All(run) => (1..=WORKERS).for_each(|who| act(&worker(who), pick(run))),
		Move::Dissent(who, run, bits) => dissent(&worker(who), pick(run), bits),
		Move::Report(run, bits) => report(pick(run), bits),
		Move::Join(who, run) => {
			let before = Training::round(pick(run));
			let _ = join(&worker(who), pick(run));
			let (Some(before), Some(after)) = (before, Training::round(pick(run))) else { return };
			for one in before.participants.iter().map(|one| &one.account) {
				assert_eq!(before.position(one), after.position(one), "somebody who joins moves the windows of others");
			}
		}
		Move::Leave(who, run) => {
			let _ = leave(&worker(who), pick(run));
		}
		Move::Condemn(who, run, ago, work) => {
			let Some(round) = Runs::<Test>::get(pick(run)).and_then(|run| run.rounds_adopted.checked_sub(ago)) else { return };
			let (run, condemned) = (pick(run), if work { condemn_work } else { condemn_attestation });
			let claim = claim(run, round, if work { ClaimKind::Work } else { ClaimKind::Attestation }, &worker(who));
			let before = Training::is_condemned(&claim);
			// Records of rounds that long ago are kept as long as the run is.
			condemned(run, round, &claim.who);
			let place = Rounds::<Test>::get(run).and_then(|round| round.participant(&claim.who).cloned());
			if let Some(place) = place.filter(|_| !before && Training::is_condemned(&claim)) {
				assert_eq!((place.stake, place.counted), (0, false), "a condemned account has a say");
			}
		}
		Move::Exclude(who, run, ago) => {
			let Some(round) = Runs::<Test>::get(pick(run)).and_then(|run| run.rounds_adopted.checked_sub(ago)) else { return };
			Training::exclude(&claim(pick(run), round, ClaimKind::Work, &worker(who)));
		}
		Move::Family(first, run) => {
			let _ = Training::add_cohort(RuntimeOrigin::signed(SPONSOR), pick(first), pick(run));
		}
		Move::Change(who, active, bond) => provider(&worker(who), |provider| {
			provider.active = active;
			provider.bond = 50 + 10 * u128::from(bond);
		}),
		Move::Create(kind) => {
			let config = match kind {
				0 => config(),
				1 => RunConfig { rounds: Some(4), overlaps: true, ..config() },
				_ => RunConfig { max_participants: 5, ..unequal::unequal(3) },
			};
			let _ = Training::create_run(RuntimeOrigin::signed(SPONSOR), config);
		}
		Move::Approve(run) => {
			let _ = Training::approve_run(RuntimeOrigin::root(), pick(run));
		}
		// Rarely, so that rounds are adopted too.
		Move::Stop(5) => {
			let _ = Training::stop_run(RuntimeOrigin::signed(SPONSOR), pick(0));
		}
		Move::Stop(_) => {}
		Move::Remove(run, limit) => {
			let _ = Training::remove_run(RuntimeOrigin::signed(SPONSOR), pick(run), limit);
		}
	}
}

/// Round and attempt of every run with a round under way.
fn progress() -> BTreeMap<RunId, (u32, u32)> {
	Rounds::<Test>::iter().map(|(run, round)| (run, (round.round, round.attempt))).collect()
}

/// Every round ends adopted, or is tried again; nothing is skipped and nothing goes back. (A walk looks after every step,
/// and a step of several blocks may hold several such ends.)
fn goes_forward(before: &BTreeMap<RunId, (u32, u32)>, after: &BTreeMap<RunId, (u32, u32)>) {
	for (run, (round, attempt)) in after {
		let (last_round, last_attempt) = before.get(run).copied().unwrap_or((0, 0));
		assert!((*round, *attempt) >= (last_round, last_attempt), "run {run} went back");
		assert_eq!(*round, Runs::<Test>::get(run).expect("a run with a round").rounds_adopted);
	}
}

/// Whoever counts in a record of a round that was adopted after block `started` has at least as much to be slashed as it counts with.
/// Nothing but blocks happened since, so that stakes are what they were then.
fn stakes_are_behind_what_was_adopted_since(started: u32) {
	let records = crate::Records::<Test>::iter_values().filter(|record| record.adopted_at > started);
	for place in records.flat_map(|record| record.places).filter(|place| place.counted) {
		assert!(MockProviders::slashable(&place.account) >= place.stake, "{} votes with what is gone", place.account);
	}
}

/// Whoever has a claim in a record, included or not, was noted no earlier than the record's round was adopted.
fn every_claim_keeps_its_stake() {
	for record in crate::Records::<Test>::iter_values() {
		let claims = record.places.iter().filter(|place| place.revealed.is_some() || place.attested.is_some());
		for who in claims.map(|place| &place.account) {
			assert!(Disputable::get().get(who) >= Some(&record.adopted_at), "claims of {who} do not keep its stake");
		}
	}
}

/// Work is judged by another checkpoint than that of its round exactly if it is that of a bridge which started from there. Returns where there are any.
fn bridges_and_no_others_have_a_base() -> Vec<(RunId, u32)> {
	let mut bridged = Vec::new();
	for (run, round, record) in crate::Records::<Test>::iter() {
		let taken = Bridges::<Test>::get(run, round).filter(|bridge| bridge.taken);
		for place in record.places {
			let Some(claim) = Training::work(run, round, &place.account) else { continue };
			let bridge = taken.as_ref().filter(|bridge| bridge.who == place.account);
			assert_eq!(claim.base.map(|base| (base.checkpoint, base.round)), bridge.map(|_| (record.start, round)));
			assert!(bridge.is_none_or(|bridge| (bridge.checkpoint, bridge.round) == (claim.start, claim.start_round)));
			bridged.extend(bridge.map(|_| (run, round)));
		}
	}
	bridged
}

/// Events of a walk.
#[derive(Debug, Default)]
struct Seen {
	/// Rounds that were adopted.
	adopted: usize,
	/// Times that somebody came late to one.
	late: usize,
	/// Rounds in which somebody started from the checkpoint of another cohort.
	bridged: usize,
}

fn walk(steps: Vec<Move>) -> Seen {
	let (mut seen, mut bridged) = (Seen::default(), BTreeSet::new());
	new_test_ext().execute_with(|| {
		MaxActiveRuns::set(4);
		create(RunConfig { max_participants: 5, ..unequal::unequal(3) });
		create(RunConfig { min_participants: 1, max_participants: 6, overlaps: true, ..config() });
		let [one, other] = [(); 2].map(|()| create(config()));
		Training::add_cohort(RuntimeOrigin::signed(SPONSOR), one, other).expect("runs that are alike");
		for step in steps {
			let (before, started) = (progress(), System::block_number());
			let blocks = matches!(step, Move::Blocks(_));
			perform(step);
			goes_forward(&before, &progress());
			if blocks {
				stakes_are_behind_what_was_adopted_since(started);
			}
			Training::do_try_state().expect("invariants hold after every step");
			every_claim_keeps_its_stake();
			bridged.extend(bridges_and_no_others_have_a_base());
			let pending = Fates::get().values().filter(|fate| **fate == Fate::Pending).count();
			assert_eq!(u32::try_from(pending), Ok(Submitted::get() - Settled::get()));
		}
		for record in System::events() {
			let RuntimeEvent::Training(event) = record.event else { continue };
			seen.adopted += usize::from(matches!(event, crate::Event::RoundAdopted { .. }));
			seen.late += usize::from(matches!(event, crate::Event::CameLate { .. }));
		}
		for run in Training::runs() {
			if Training::run(run).is_some_and(|run| run.status == RunStatus::Active) {
				Training::force_stop_run(RuntimeOrigin::signed(STOPPER), run, Default::default()).expect("an active run");
			}
		}
		// The mock counts a proof only once, so equal counts mean all of them.
		assert_eq!(Submitted::get(), Settled::get());
		Training::do_try_state().expect("invariants hold at the end");
	});
	Seen { bridged: bridged.len(), ..seen }
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

	#[test]
	fn whatever_happens_every_proof_is_settled_once_and_the_invariants_hold(steps in prop::collection::vec(steps(), 200..500)) {
		walk(steps);
	}
}

/// The walks above are worth something only if rounds are adopted in them, somebody comes late, and somebody starts from the checkpoint of another cohort.
#[test]
fn long_walks_adopt_rounds_with_latecomers_and_bridges() {
	use proptest::{
		strategy::ValueTree,
		test_runner::{RngAlgorithm, TestRng, TestRunner},
	};
	let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
	let mut seen = Seen::default();
	for _ in 0..5 {
		let steps = prop::collection::vec(steps(), 3_000).new_tree(&mut runner).expect("a walk").current();
		let Seen { adopted, late, bridged } = walk(steps);
		(seen.adopted, seen.late, seen.bridged) = (seen.adopted + adopted, seen.late + late, seen.bridged + bridged);
	}
	assert!(seen.adopted >= 100 && seen.late >= 6 && seen.bridged >= 6, "{seen:?}");
}
