//! Invariants of the pallet's storage.

use crate::{
	cohorts::is_alike, overlap::Start, replay, round::Accounts, Absences, Active, Bridges, Cohorts, Config, Drawn, Families, Halted,
	InnerSteps, Latecomers, Led, Members, Missing, NextRun, Pallet, Participant, Place, Quorums, Record, Records, Refusals, Residuals,
	Round, Rounds, Run, Runs, Stage, Starts, Works,
};
use alloc::{
	collections::{BTreeMap, BTreeSet},
	vec::Vec,
};
use frame_support::{ensure, traits::Get};
use neuroshard_types::{
	quorum::{check_cut, Seat, Span},
	run::Phase,
	AccountId, Balance, RoundIndex, RunId, MAX_PARTICIPANTS,
};
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Checks every invariant; its cost grows with the number of runs and records, so it is no part of a block.
	///
	/// - The active list names exactly the runs that are not finished, ascending; only these have members, a round, works, dropouts and refusals.
	/// - Runs are older than the next identifier; a run's records are of adopted rounds and no more than are kept; what was condemned in
	///   them is redone.
	/// - Only models of known runs are halted.
	/// - The deposits of every sponsor add up to what is held of it.
	/// - Every round is what its stage allows: see the private checks below.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		let active = Active::<T>::get();
		let unfinished: BTreeSet<RunId> = Runs::<T>::iter().filter(|(_, run)| run.finished_at.is_none()).map(|(id, _)| id).collect();
		ensure!(active.iter().map(|entry| entry.run).eq(unfinished.iter().copied()), "active list differs from unfinished runs");
		ensure!(Rounds::<T>::iter_keys().all(|id| unfinished.contains(&id)), "round of a run that is not active");
		ensure!(Members::<T>::iter_keys().all(|id| unfinished.contains(&id)), "members of a run that is not active");
		ensure!(Absences::<T>::iter_keys().all(|id| unfinished.contains(&id)), "dropouts of a run that is not active");
		ensure!(Refusals::<T>::iter_keys().all(|id| unfinished.contains(&id)), "something refused in a run that is not active");
		ensure!(Refusals::<T>::iter().all(|(id, refused)| refused.is_sound(id)), "what was refused is of another run, or noted twice");
		ensure!(Missing::<T>::iter_keys().all(|id| unfinished.contains(&id)), "somebody missing in a run that is not active");
		for (id, residuals) in Residuals::<T>::iter() {
			ensure!(unfinished.contains(&id), "residuals of a run that is not active");
			ensure!(residuals.windows(2).all(|pair| pair[0].0 < pair[1].0), "residuals out of order");
			let leaves = Runs::<T>::get(id).is_some_and(|run| run.config.train.leaves_residual() && run.rounds_adopted > 0);
			ensure!(leaves, "residuals of a run whose deltas leave none, or that has no adopted round");
		}
		for absences in Absences::<T>::iter_values() {
			ensure!(!absences.is_empty() && absences.windows(2).all(|pair| pair[0].who < pair[1].who), "dropouts out of order, or none");
			ensure!(absences.iter().all(|absence| absence.dropouts > 0), "an account that did not drop out has to wait");
		}
		ensure!(Works::<T>::iter_keys().all(|(id, _)| unfinished.contains(&id)), "work of a run that is not active");
		ensure!(Records::<T>::iter_keys().all(|(id, _)| Runs::<T>::contains_key(id)), "record of an unknown run");
		ensure!(Latecomers::<T>::iter_keys().all(|(id, _)| Runs::<T>::contains_key(id)), "latecomers of an unknown run");
		ensure!(InnerSteps::<T>::iter_keys().all(|(id, _)| Runs::<T>::contains_key(id)), "inner steps of an unknown run");
		ensure!(Starts::<T>::iter_keys().all(|(id, _)| Runs::<T>::contains_key(id)), "starts of an unknown run");
		ensure!(Drawn::<T>::iter_keys().all(|id| unfinished.contains(&id)), "a round is drawn in a run that is not active");
		Self::try_families(&unfinished)?;
		Self::try_quorums(&unfinished)?;
		ensure!(Halted::<T>::iter_keys().all(Runs::<T>::contains_key), "the model of an unknown run is halted");
		Self::try_deposits()?;
		for (id, run) in Runs::<T>::iter() {
			Self::try_run(id, &run)?;
		}
		for entry in active {
			let (Some(run), Some(round)) = (Runs::<T>::get(entry.run), Rounds::<T>::get(entry.run)) else {
				return Err("active run without a round".into());
			};
			let members = Members::<T>::get(entry.run);
			ensure!(entry.due.is_some() == round.deadline.is_some(), "a deadline is not scheduled");
			let latest = round.deadline.map(|deadline| deadline.max(round.adoptable_at));
			ensure!(entry.due <= latest, "a run is looked at after its deadline");
			ensure!(round.round == run.rounds_adopted, "round differs from the rounds adopted");
			Self::try_members(&run, &round, &members)?;
			Self::try_places(&run, &round)?;
			Self::try_progress(&round)?;
			let reports = Missing::<T>::get(entry.run);
			ensure!(reports.is_none_or(|reports| reports.is_sound(&round)), "reports that no participant can have made");
			Self::try_works(entry.run, &round)?;
			Self::try_drawn(entry.run, &run, &round)?;
		}
		Ok(())
	}

	/// Quorums are cuts of the model, nobody agreed to hold a part of two places, and of each round it is known who held what.
	fn try_quorums(unfinished: &BTreeSet<RunId>) -> Result<(), TryRuntimeError> {
		ensure!(Quorums::<T>::iter_keys().all(|id| unfinished.contains(&id)), "quorums of a run that is not active");
		for (id, seats) in Quorums::<T>::iter() {
			let (run, members) = (Runs::<T>::get(id).ok_or("quorums of an unknown run")?, Members::<T>::get(id));
			Self::are_quorums(&run, &seats)?;
			let mut agreed = BTreeSet::new();
			for seat in seats.iter().filter(|seat| seat.key.is_some()) {
				ensure!(agreed.insert(&seat.who), "an account holds a part of two places");
				ensure!(seat.who == seat.leader || !members.contains(&seat.who), "a member of a quorum has a place of its own");
			}
		}
		for (id, round, seats) in Led::<T>::iter() {
			let run = Runs::<T>::get(id).ok_or("seats of a round of an unknown run")?;
			Self::are_quorums(&run, &seats)?;
			ensure!(seats.iter().all(|seat| seat.key.is_some()), "who has not agreed holds a part of a place");
			let under_way = Rounds::<T>::get(id).filter(|under_way| under_way.round == round);
			let has_place = |who: &AccountId| match (&under_way, Records::<T>::get(id, round)) {
				(Some(under_way), _) => under_way.participant(who).is_some(),
				(None, record) => record.is_some_and(|record| record.place(who).is_some()),
			};
			ensure!(seats.iter().all(|seat| has_place(&seat.leader)), "a quorum without a place");
		}
		Ok(())
	}

	fn are_quorums(run: &Run, seats: &[Seat]) -> Result<(), TryRuntimeError> {
		ensure!(!seats.is_empty(), "a list of quorums without any");
		let quorums: Vec<&[Seat]> = seats.chunk_by(|one, next| one.leader == next.leader).collect();
		let leaders: BTreeSet<&AccountId> = seats.iter().map(|seat| &seat.leader).collect();
		ensure!(leaders.len() == quorums.len(), "the seats of a quorum are not one behind the other");
		for quorum in quorums {
			let spans: Vec<Span> = quorum.iter().map(|seat| seat.span).collect();
			ensure!(check_cut(&run.config.model, &spans).is_ok(), "a quorum whose spans are no cut of the model");
			ensure!(quorum.iter().any(|seat| seat.who == seat.leader), "a quorum without its leader");
		}
		Ok(())
	}

	/// Families and their cohorts name each other, and every cohort is an active run that is like the others. Bridges are of rounds that are kept, or of the one under way.
	fn try_families(unfinished: &BTreeSet<RunId>) -> Result<(), TryRuntimeError> {
		let mut in_family = BTreeMap::new();
		for (family, cohorts) in Cohorts::<T>::iter() {
			ensure!(!cohorts.is_empty() && cohorts.windows(2).all(|pair| pair[0] < pair[1]), "cohorts out of order, or none");
			ensure!(cohorts.iter().all(|id| unfinished.contains(id)), "a cohort that is not active");
			let runs: Vec<Run> = cohorts.iter().filter_map(Runs::<T>::get).collect();
			ensure!(
				runs.iter().all(|run| run.config.takes_bridges()) && runs.windows(2).all(|pair| is_alike(&pair[0], &pair[1])),
				"cohorts that differ"
			);
			ensure!(runs.windows(2).all(|pair| pair[0].sponsor == pair[1].sponsor), "cohorts of different sponsors");
			in_family.extend(cohorts.into_iter().map(|id| (id, family)));
		}
		ensure!(Families::<T>::iter().collect::<BTreeMap<_, _>>() == in_family, "families differ from their cohorts");
		for (id, index, bridge) in Bridges::<T>::iter() {
			let run = Runs::<T>::get(id).ok_or("a bridge of an unknown run")?;
			let under_way = Rounds::<T>::get(id).filter(|round| round.round == index && round.stage != Stage::Joining);
			let record = Records::<T>::get(id, index);
			ensure!(under_way.is_some() != record.is_some(), "a bridge of no round that is kept");
			let holds = under_way.as_ref().map(|round| round.participant(&bridge.who).map(|one| one.delta_root.is_some()));
			let held = record.as_ref().map(|record| record.place(&bridge.who).map(|place| place.revealed.is_some()));
			let revealed = holds.or(held).flatten().ok_or("a bridge without a place")?;
			ensure!(bridge.run != id && run.config.takes_bridges(), "a bridge to the same run, or where there is none");
			ensure!(revealed || !bridge.taken, "a bridge was taken by work that was not revealed");
			let other = Records::<T>::get(bridge.run, bridge.round).map(|record| record.start);
			ensure!(other.is_none_or(|start| start == bridge.checkpoint), "a bridge to no checkpoint of the other cohort");
		}
		Ok(())
	}

	fn try_deposits() -> Result<(), TryRuntimeError> {
		let mut sums = BTreeMap::<AccountId, Balance>::new();
		for run in Runs::<T>::iter_values() {
			let sum = sums.entry(run.sponsor).or_default();
			*sum = sum.saturating_add(run.deposit);
		}
		ensure!(sums.iter().all(|(who, sum)| Self::held(who) == *sum), "deposits differ from the hold");
		Ok(())
	}

	fn try_run(id: RunId, run: &Run) -> Result<(), TryRuntimeError> {
		ensure!(id < NextRun::<T>::get(), "identifier was not given yet");
		ensure!(run.deposit == Self::deposit(run.config.rounds), "deposit differs from what the run needs");
		let start = run.config.start.root(0, 0);
		ensure!(start.is_none_or(|root| root == run.config.genesis_root), "run starts from another checkpoint than it says");
		let rounds: Vec<_> = Records::<T>::iter_key_prefix(id).collect();
		ensure!(rounds.iter().all(|round| *round < run.rounds_adopted), "record of a round that was not adopted");
		let kept = rounds.len() <= usize::try_from(T::RecordsKept::get()).unwrap_or(usize::MAX);
		ensure!(kept, "more records than are kept");
		Self::try_replay(id, run)?;
		let known: BTreeSet<RoundIndex> = InnerSteps::<T>::iter_key_prefix(id).collect();
		let weighed = if run.config.train.weighs_steps() { rounds.iter().copied().collect() } else { BTreeSet::new() };
		ensure!(known == weighed, "inner steps are not kept of exactly the records whose deltas weigh by them");
		let mut started: BTreeSet<RoundIndex> = Starts::<T>::iter_key_prefix(id).collect();
		let under_way = Rounds::<T>::get(id).filter(|round| round.stage != Stage::Joining);
		if let Some(round) = under_way.filter(|_| run.config.overlaps) {
			ensure!(started.remove(&round.round), "it is not kept what the round under way started from");
		}
		Self::try_latecomers(id, run, &rounds)?;
		let overlapping = if run.config.overlaps { rounds.iter().copied().collect() } else { BTreeSet::new() };
		ensure!(started == overlapping, "starts are not kept of exactly the records of a run whose rounds overlap");
		Starts::<T>::iter_prefix(id).try_for_each(|(index, start)| Self::try_start(id, run, index, &start))?;
		Records::<T>::iter_prefix(id).try_for_each(|(index, record)| Self::try_record(id, run, index, &record))
	}

	/// Whoever came late has a place, once, in the round under way or in an adopted one of a run in which somebody may.
	fn try_latecomers(id: RunId, run: &Run, rounds: &[RoundIndex]) -> Result<(), TryRuntimeError> {
		for (index, late) in Latecomers::<T>::iter_prefix(id) {
			let accounts: Vec<AccountId> = match rounds.contains(&index) {
				true => Records::<T>::get(id, index).map(|record| record.places.into_iter().map(|place| place.account).collect()),
				false => Rounds::<T>::get(id)
					.filter(|round| round.round == index)
					.map(|round| round.participants.into_iter().map(|one| one.account).collect()),
			}
			.unwrap_or_default();
			let distinct: BTreeSet<&AccountId> = late.iter().collect();
			ensure!(run.config.train.weighs_steps() && !late.is_empty(), "somebody came late to a run that lets nobody in, or nobody did");
			ensure!(distinct.len() == late.len() && late.len() < accounts.len(), "somebody came late twice, or nobody was there");
			ensure!(late.iter().all(|who| accounts.binary_search(who).is_ok()), "somebody came late who has no place");
			let most = usize::try_from(run.config.max_participants).unwrap_or(usize::MAX);
			ensure!(accounts.len() <= most, "more places than windows are drawn for");
		}
		Ok(())
	}

	/// Inner steps start from the checkpoint of their round, or of the one before.
	fn try_start(id: RunId, run: &Run, index: RoundIndex, start: &Start) -> Result<(), TryRuntimeError> {
		ensure!(start.round <= index && index <= start.round.saturating_add(1), "inner steps start from an older checkpoint");
		let checkpoint = match start.round == run.rounds_adopted {
			true => Some(run.checkpoint),
			false => Records::<T>::get(id, start.round).map(|record| record.start),
		};
		ensure!(checkpoint.is_none_or(|checkpoint| checkpoint == start.checkpoint), "inner steps start from no checkpoint of the run");
		Ok(())
	}

	/// The next round is drawn exactly where rounds overlap and one is under way that is not the last. It starts from the newest checkpoint, and has places that ascend.
	fn try_drawn(id: RunId, run: &Run, round: &Round) -> Result<(), TryRuntimeError> {
		let drawn = Drawn::<T>::get(id);
		let comes = run.config.overlaps && round.stage != Stage::Joining && Self::has_round(run, round.round.saturating_add(1));
		ensure!(drawn.is_some() == comes, "a round is drawn that cannot be, or none is");
		let Some(drawn) = drawn else { return Ok(()) };
		let newest = (drawn.start.checkpoint, drawn.start.round) == (run.checkpoint, run.rounds_adopted);
		ensure!(newest, "a round is drawn that starts from an older checkpoint");
		ensure!(drawn.places.windows(2).all(|pair| pair[0] < pair[1]), "places that are drawn are out of order");
		Ok(())
	}

	/// A replay that is due begins before the round under way, not too long ago, at a good checkpoint, and its records are there. Spans
	/// ascend and are of adopted rounds.
	fn try_replay(id: RunId, run: &Run) -> Result<(), TryRuntimeError> {
		let spans = &run.spans;
		ensure!(spans.iter().all(|span| span.from < span.until && span.until < run.rounds_adopted), "a span of rounds not adopted");
		ensure!(spans.windows(2).all(|pair| pair[0].until < pair[1].from), "spans overlap, or are out of order");
		let Some(first) = run.replay else { return Ok(()) };
		ensure!(run.finished_at.is_none(), "a run that is over redoes outer steps");
		let steps = run.rounds_adopted.checked_sub(first);
		ensure!(steps.is_some_and(|steps| 0 < steps && steps < T::MaxReplay::get()), "outer steps are redone from a wrong round");
		ensure!(replay::good_start(spans, first) == first, "outer steps are redone from a checkpoint that is not good");
		ensure!((first..run.rounds_adopted).all(|round| Records::<T>::contains_key(id, round)), "a record is missing to redo a step");
		Ok(())
	}

	/// A record says nothing that its round did not allow, it follows the one before, its checkpoint stands or has fallen; and what was
	/// condemned in it was redone, or will be, unless that is too long ago.
	fn try_record(id: RunId, run: &Run, index: RoundIndex, record: &Record) -> Result<(), TryRuntimeError> {
		let places = &record.places;
		ensure!(places.windows(2).all(|pair| pair[0].account < pair[1].account), "places of a record out of order");
		ensure!(places.iter().all(|place| !place.included || place.revealed.is_some()), "included without a revealed delta");
		if let Some(steps) = InnerSteps::<T>::get(id, index) {
			let good = |(place, steps): (&Place, &u32)| match place.revealed {
				Some(_) => run.config.train.may_end_after(*steps),
				None => *steps == 0,
			};
			ensure!(steps.len() == places.len() && places.iter().zip(&steps).all(good), "inner steps after which no round ends");
		}
		let attested = |place: &Place| place.attested.is_none_or(|_| place.counted && place.revealed.is_some());
		ensure!(places.iter().all(attested), "attested without a vote");
		ensure!(places.iter().all(|place| !place.disqualified || place.attested.is_some()), "an attestation is condemned that is none");
		ensure!(places.iter().all(|place| !place.condemned || place.excluded_from.is_some()), "condemned work is not excluded");
		let excluded = |place: &Place| place.excluded_from.is_none_or(|from| place.revealed.is_some() && index < from);
		ensure!(places.iter().all(excluded), "work is excluded that is none, or before it was claimed");
		ensure!(places.iter().all(|place| place.excluded_from <= Some(run.rounds_adopted)), "work is excluded from a round to come");
		ensure!(record.fallen || record.has_quorum(), "a checkpoint stands without two thirds");
		ensure!(index > 0 || record.start == run.config.genesis_root, "the first round started from another checkpoint");
		let before = index.checked_sub(1).and_then(|before| Records::<T>::get(id, before));
		ensure!(before.as_ref().is_none_or(|before| before.checkpoint == record.start), "a round started from another checkpoint");
		let earliest = before.map_or(0, |before| before.adopted_at.saturating_add(Self::shortest_round()));
		ensure!(earliest <= record.adopted_at, "a round was adopted so early that records go before disputes are over");

		let in_span = |until: RoundIndex| run.spans.iter().any(|span| span.from <= index && until <= span.until);
		let recent = index.saturating_add(T::MaxReplay::get()) >= run.rounds_adopted;
		ensure!(record.first_round <= index, "outer steps were redone from a later round");
		ensure!(!recent || record.first_round == index || in_span(index), "outer steps were redone that no span tells");
		let first_clean = places.iter().filter(|place| place.included).filter_map(|place| place.excluded_from).max();
		let due = run.replay.is_some_and(|first| first <= index) || run.finished_at.is_some();
		let reachable = |from: RoundIndex| from.saturating_sub(replay::good_start(&run.spans, index)) < T::MaxReplay::get();
		let clean = first_clean.is_none_or(|from| in_span(from) || !recent || !reachable(from));
		ensure!(due || clean, "an excluded delta stays in the model");
		Ok(())
	}

	/// Members ascend and are no more than the run takes. While Joining, the deadline is set exactly if they are enough.
	fn try_members(run: &Run, round: &Round, members: &Accounts) -> Result<(), TryRuntimeError> {
		let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
		ensure!(members.windows(2).all(|pair| pair[0] < pair[1]), "members out of order");
		ensure!(count <= run.config.max_participants && count <= MAX_PARTICIPANTS, "too many members");
		match &round.stage {
			Stage::Joining => ensure!((count >= run.config.min_participants) == round.deadline.is_some(), "wrong joining deadline"),
			Stage::Checkpointing { next, .. } => ensure!(next.windows(2).all(|pair| pair[0] < pair[1]), "next places out of order"),
			_ => {}
		}
		ensure!(round.stage == Stage::Joining || round.deadline.is_some(), "phase without a deadline");
		Ok(())
	}

	/// Places ascend, are none while Joining, and those that count carry the smallest bond. Whoever has nothing at stake has no say.
	fn try_places(run: &Run, round: &Round) -> Result<(), TryRuntimeError> {
		ensure!(round.participants.windows(2).all(|pair| pair[0].account < pair[1].account), "places out of order");
		ensure!((round.stage == Stage::Joining) == round.participants.is_empty(), "places while joining, or a round without");
		ensure!(round.counted().all(|participant| participant.stake >= run.config.min_bond), "a counted stake below the minimum");
		let struck = |participant: &Participant| participant.stake == 0;
		let silent = |participant: &Participant| !participant.counted && participant.attestation.is_none();
		ensure!(round.participants.iter().filter(|one| struck(one)).all(silent), "somebody has a say without a stake");
		if let Stage::Availability { repeats } | Stage::Checkpointing { repeats, .. } = round.stage {
			ensure!(repeats <= T::MaxRepeats::get(), "a vote was repeated too often");
		}
		Ok(())
	}

	/// Nobody did anything that an earlier phase or the present one does not allow, and who counts missed nothing.
	fn try_progress(round: &Round) -> Result<(), TryRuntimeError> {
		const PHASES: [Phase; 4] = [Phase::Training, Phase::Revealing, Phase::Availability, Phase::Checkpointing];
		let present = PHASES.iter().position(|phase| *phase == round.stage.phase());
		for participant in &round.participants {
			let acted = PHASES.map(|phase| participant.has_acted(phase));
			ensure!(acted.windows(2).all(|pair| pair[0] || !pair[1]), "acted without having acted before");
			for (index, acted) in acted.into_iter().enumerate() {
				ensure!(!acted || present.is_some_and(|present| index <= present), "acted before its time");
				let missed = !acted && present.is_some_and(|present| index < present);
				ensure!(!missed || !participant.counted, "somebody counts who missed a phase");
			}
			let decided = matches!(round.stage, Stage::Checkpointing { .. });
			ensure!(!participant.included || (decided && participant.delta_root.is_some()), "included without a revealed delta");
		}
		ensure!(
			!matches!(round.stage, Stage::Checkpointing { .. }) || round.participants.iter().any(|participant| participant.included),
			"a checkpoint of nothing"
		);
		Ok(())
	}

	/// The stored works are exactly those whose roots were revealed.
	fn try_works(id: RunId, round: &Round) -> Result<(), TryRuntimeError> {
		for participant in round.revealed() {
			let work = Works::<T>::get(id, &participant.account);
			ensure!(work.is_some_and(|work| Some(work.delta_root) == participant.delta_root), "revealed work is missing");
		}
		ensure!(Works::<T>::iter_key_prefix(id).count() == round.revealed().count(), "work that nobody revealed");
		Ok(())
	}
}
