//! Weights of the calls.
//!
//! Derived by hand: the database accesses of each call on its longest path, as the code makes them, plus an allowance of
//! compute time. `p` is the number of places of the round. What other pallets do on a call's behalf is counted here with
//! what their implementations in this workspace need: five reads and four writes per proof that is settled, one of each per
//! note on a reputation; eight reads, four writes and 150 us, signature check included, per proof that is submitted.
//! The benchmarks measure the same calls; run them on the target machine to replace these figures.

use crate::MAX_ABSENCES;
use core::marker::PhantomData;
use frame_support::{
	traits::Get,
	weights::{constants::WEIGHT_REF_TIME_PER_NANOS, Weight},
};
use neuroshard_types::MAX_PARTICIPANTS;

/// Weights of the calls, of the transitions that run in a block's initialization, and of what a dispute asks for.
pub trait WeightInfo {
	/// `create_run`.
	fn create_run() -> Weight;
	/// `approve_run`.
	fn approve_run() -> Weight;
	/// `stop_run` in a round with `p` places.
	fn stop_run(p: u32) -> Weight;
	/// `force_stop_run` in a round with `p` places.
	fn force_stop_run(p: u32) -> Weight;
	/// `halt_model`.
	fn halt_model() -> Weight;
	/// `lift_halt`.
	fn lift_halt() -> Weight;
	/// `join`.
	fn join() -> Weight;
	/// `leave`.
	fn leave() -> Weight;
	/// `commit` in a round with `p` places.
	fn commit(p: u32) -> Weight;
	/// `reveal` in a round with `p` places.
	fn reveal(p: u32) -> Weight;
	/// `vote_availability` in a round with `p` places.
	fn vote_availability(p: u32) -> Weight;
	/// `attest` in a round with `p` places.
	fn attest(p: u32) -> Weight;
	/// Check whether there is room for an act, and noting that it was refused, in a round with 128 places, for the transaction extension.
	fn check_act() -> Weight;
	/// `remove_run` that removes `r` records.
	fn remove_run(r: u32) -> Weight;
	/// Finding what is due in a block.
	fn on_initialize() -> Weight;
	/// Moving a round with `p` places on, all of them absent.
	fn advance(p: u32) -> Weight;
	/// Settling the proofs of a round with `p` places, all revealed.
	fn settle(p: u32) -> Weight;
	/// Starting a round with `p` places.
	fn begin(p: u32) -> Weight;
	/// `Claims::work`, or `Claims::attestation` about `r` outer steps with the deltas of 128 places each, for whoever calls it.
	fn claim(r: u32) -> Weight;
	/// `Claims::condemn` or `Claims::exclude` with 128 places in the record and in the round under way, for whoever calls it.
	fn condemn() -> Weight;
}

/// Microseconds of compute as weight.
fn micros(time: u64) -> Weight {
	Weight::from_parts(time.saturating_mul(1_000).saturating_mul(WEIGHT_REF_TIME_PER_NANOS), 0)
}

/// Encoding or decoding a round, or looking through its places: below 0.3 us a place and pass.
fn places(p: u32, passes: u64) -> Weight {
	Weight::from_parts(u64::from(p).saturating_mul(passes).saturating_mul(300).saturating_mul(WEIGHT_REF_TIME_PER_NANOS), 0)
}

/// [`WeightInfo`] with the runtime's database weights.
pub struct SubstrateWeight<T>(PhantomData<T>);

impl<T: frame_system::Config> SubstrateWeight<T> {
	fn db(reads: u64, writes: u64) -> Weight {
		T::DbWeight::get().reads_writes(reads, writes)
	}
}

impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
	// Reads: dataset twice, next id, active list, hold and account, and of a run that goes on from another one that run and its record. Writes: run, round,
	// next id, active list, dataset, hold, account.
	// The plan of a training step is made, to see whether it has too many nodes: 0.8 ms for the largest in the runtime's WASM.
	fn create_run() -> Weight {
		micros(2_000).saturating_add(Self::db(8, 7))
	}
	// Reads: run, share of audits. Writes: run.
	fn approve_run() -> Weight {
		micros(20).saturating_add(Self::db(2, 1))
	}
	// Reads: run, round, active list. Writes: run, round, active list. What ends a run, and the proofs, are those of `settle`.
	fn stop_run(p: u32) -> Weight {
		micros(40).saturating_add(Self::db(3, 3)).saturating_add(Self::settle(p))
	}
	// As `stop_run`, and an event with a reason.
	fn force_stop_run(p: u32) -> Weight {
		micros(10).saturating_add(Self::stop_run(p))
	}
	// Reads: run, halt. Writes: halt.
	fn halt_model() -> Weight {
		micros(20).saturating_add(Self::db(2, 1))
	}
	// Reads: halt. Writes: halt.
	fn lift_halt() -> Weight {
		micros(20).saturating_add(Self::db(1, 1))
	}
	// Reads: owner of an operator, run, provider twice, dropouts, members, round, active list. Writes: members, round, active list.
	fn join() -> Weight {
		micros(80).saturating_add(Self::db(8, 3))
	}
	// Reads: owner of an operator, run, members, round, active list. Writes: members, round, active list.
	fn leave() -> Weight {
		micros(50).saturating_add(Self::db(5, 3))
	}
	// Reads: owner of an operator, run, round, provider, time, active list, members. Writes: round, active list.
	fn commit(p: u32) -> Weight {
		micros(30).saturating_add(places(p, 3)).saturating_add(Self::db(7, 2))
	}
	// As `commit`, with the residuals and what inner steps started from read, the work written, two hashes of up to 2.1 KiB, and the submitted proof, with the speed that was tested.
	fn reveal(p: u32) -> Weight {
		micros(50 + 150).saturating_add(places(p, 5)).saturating_add(Self::db(9 + 9, 3 + 4))
	}
	// As `attest`, and members move into the round; for the last voter the provider of each place is read for its stake.
	fn vote_availability(p: u32) -> Weight {
		Self::attest(p).saturating_add(places(p, 1)).saturating_add(Self::db(p.into(), 0))
	}
	// As `commit`; p votes for each of p roots, or deltas, are tallied in the worst case: three times, 10 ns each.
	fn attest(p: u32) -> Weight {
		let tally = micros(u64::from(p).saturating_mul(p.into()).saturating_mul(3).div_ceil(100));
		micros(30).saturating_add(places(p, 4)).saturating_add(tally).saturating_add(Self::db(7, 2))
	}
	// Reads: run, round, provider, what was refused twice. Writes: what was refused.
	fn check_act() -> Weight {
		micros(20).saturating_add(places(MAX_PARTICIPANTS, 3)).saturating_add(Self::db(5, 1))
	}
	// Reads: run, hold, account, whether the model has shares, and one record more than is removed. Writes: run, hold, account, and the records with the
	// inner steps behind them and what these started from.
	fn remove_run(r: u32) -> Weight {
		let records = u64::from(r);
		micros(40)
			.saturating_add(places(r, 3))
			.saturating_add(Self::db(records.saturating_add(5), records.saturating_mul(3).saturating_add(3)))
	}
	fn on_initialize() -> Weight {
		micros(5).saturating_add(Self::db(1, 0))
	}
	// Reads: run, round, members, dropouts, active list. Writes: round, members, dropouts, active list; and for each place its provider is read for
	// its stake, and a dropout noted. Four passes tell whether too many are absent.
	fn advance(p: u32) -> Weight {
		let each = u64::from(p);
		let tally = micros(each.saturating_mul(each).saturating_mul(3).div_ceil(100));
		micros(30)
			.saturating_add(places(p.saturating_add(MAX_ABSENCES), 8))
			.saturating_add(places(p, 4))
			.saturating_add(tally)
			.saturating_add(Self::db(each.saturating_mul(2).saturating_add(5), each.saturating_add(4)))
	}
	// For each proof: settled, work read, hashed and removed, reputation noted, and the provider's claims. Once: the three durations that the
	// time of disputes consists of; run, record, the oldest record, dropouts and residuals written, and what
	// the end of a run writes: round, members, refusals, residuals, active list, replay guards, and a dataset that leaves with its last user, with
	// counter, hold and account, the round that is drawn and what the one under way started from. Inner steps are written and the oldest removed, with what
	// they started from. An audit of the round is noted: share, run, epoch and bounds read, bounds and
	// entry written.
	fn settle(p: u32) -> Weight {
		let each = u64::from(p);
		micros(each.saturating_mul(10).saturating_add(50))
			.saturating_add(places(p, 50).saturating_add(places(MAX_ABSENCES, 2)))
			.saturating_add(Self::db(each.saturating_mul(8).saturating_add(15), each.saturating_mul(7).saturating_add(22)))
	}
	// Reads: members, randomness, time, active list, the round that was drawn, the three durations that the time of disputes consists of, and two of each
	// member's provider. Writes: round, members, active list, the round that is drawn twice, and what the one that begins starts from.
	fn begin(p: u32) -> Weight {
		let each = u64::from(p);
		micros(50).saturating_add(places(p, 12)).saturating_add(Self::db(each.saturating_mul(2).saturating_add(8), 6))
	}
	// Reads: run twice, what inner steps started from, and the records of all steps with the inner steps behind them and their bridges; the first and the last one twice.
	fn claim(r: u32) -> Weight {
		let records = u64::from(r).saturating_add(2);
		let steps = places(MAX_PARTICIPANTS.saturating_mul(r.saturating_add(2)), 4);
		micros(30).saturating_add(steps).saturating_add(Self::db(records.saturating_mul(3).saturating_add(4), 0))
	}
	// Reads: run, record, residuals, members, round and active list three times; a proof with its account's standing, twice; provider twice. Writes:
	// record, residuals, members, round and active list three times, run; proof, standing twice; provider twice.
	fn condemn() -> Weight {
		micros(60).saturating_add(places(MAX_PARTICIPANTS, 26)).saturating_add(Self::db(16, 15))
	}
}

/// For tests: an allowance of compute time and no database.
impl WeightInfo for () {
	fn create_run() -> Weight {
		micros(60)
	}
	fn approve_run() -> Weight {
		micros(20)
	}
	fn stop_run(p: u32) -> Weight {
		micros(40).saturating_add(Self::settle(p))
	}
	fn force_stop_run(p: u32) -> Weight {
		micros(50).saturating_add(Self::settle(p))
	}
	fn halt_model() -> Weight {
		micros(20)
	}
	fn lift_halt() -> Weight {
		micros(20)
	}
	fn join() -> Weight {
		micros(60)
	}
	fn leave() -> Weight {
		micros(50)
	}
	fn commit(p: u32) -> Weight {
		micros(30).saturating_add(places(p, 3))
	}
	fn reveal(p: u32) -> Weight {
		micros(200).saturating_add(places(p, 4))
	}
	fn vote_availability(p: u32) -> Weight {
		micros(30).saturating_add(places(p, 5))
	}
	fn attest(p: u32) -> Weight {
		micros(30).saturating_add(places(p, 4))
	}
	fn check_act() -> Weight {
		micros(20).saturating_add(places(MAX_PARTICIPANTS, 3))
	}
	fn remove_run(r: u32) -> Weight {
		micros(40).saturating_add(places(r, 3))
	}
	fn on_initialize() -> Weight {
		micros(5)
	}
	fn advance(p: u32) -> Weight {
		micros(30).saturating_add(places(p, 8))
	}
	fn settle(p: u32) -> Weight {
		micros(50).saturating_add(places(p, 40))
	}
	fn begin(p: u32) -> Weight {
		micros(50).saturating_add(places(p, 8))
	}
	fn claim(r: u32) -> Weight {
		micros(30).saturating_add(places(MAX_PARTICIPANTS.saturating_mul(r), 4))
	}
	fn condemn() -> Weight {
		micros(60).saturating_add(places(MAX_PARTICIPANTS, 20))
	}
}
