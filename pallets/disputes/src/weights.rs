//! Weights of the calls, of the hook and of the transaction extension.
//!
//! Derived by hand: the database accesses of each on its longest path, as the code makes them and priced by the runtime's `DbWeight`, plus an
//! allowance of compute time. What other pallets do on a call's behalf is counted with what their implementations in this workspace
//! need: their own weights say the same.

use core::marker::PhantomData;
use frame_support::{
	traits::Get,
	weights::{constants::WEIGHT_REF_TIME_PER_NANOS, Weight},
};

/// Weights of this pallet.
pub trait WeightInfo {
	/// `challenge_work`.
	fn challenge_work() -> Weight;
	/// `challenge_attestation`, of a claim that is judged by so many records.
	fn challenge_attestation(records: u32) -> Weight;
	/// `play` with a move that has so many bytes to hash, about a claim that is judged by so many records; but not with a piece.
	fn play(bytes: u32, records: u32) -> Weight;
	/// The verdict about a piece by itself, without what it is read from and what it leads to: the plan, the witness and the piece.
	fn verdict() -> Weight {
		VERDICT
	}
	/// What `play` costs more with records of so many members: their signatures, and their parts of the model looked up.
	fn records(members: u32) -> Weight {
		SIGNATURE.saturating_add(COVERS).saturating_mul(members.into())
	}
	/// `play` with a piece, about a claim that is judged by so many records, but for the decision. As any other move, but that plan and hashing are
	/// part of the verdict.
	fn piece(records: u32) -> Weight {
		Self::play(0, records).saturating_add(Self::verdict()).saturating_sub(PLAN)
	}
	/// `play` with a choice whose witness has so many bytes, about a claim that is judged by so many records, but for the decision. As for a piece, and
	/// the row of logits is hashed, and a token drawn from it.
	fn choice(bytes: u32, records: u32) -> Weight {
		let row = Weight::from_parts(u64::from(bytes).saturating_mul(HASH.saturating_add(DRAW)), 0);
		Self::piece(records).saturating_add(row)
	}
	/// Weight that a decision adds to `play`.
	fn decide() -> Weight;
	/// Looking for games that are to end, and passing over so many blocks in which none is.
	fn end_due(passed: u32) -> Weight;
	/// Ending a game as moot.
	fn end_moot() -> Weight;
	/// Ending a game at its deadline, by a decision.
	fn end_late() -> Weight;
	/// The transaction extension, for a `play`.
	fn check_turn() -> Weight;
	/// The transaction extension, for a `seal_audit` or `report_audit`.
	fn check_report() -> Weight;
	/// `enroll`, the list of verifiers being full.
	fn enroll() -> Weight;
	/// `resign`, the list of verifiers being full.
	fn resign() -> Weight;
	/// Looking at one verifier, which is active no more, the list being full.
	fn sweep() -> Weight;
	/// `seal_audit`.
	fn seal_audit() -> Weight;
	/// `report_audit`, the work being excluded: that costs more than leaving the list.
	fn report_audit() -> Weight;
	/// `challenge_audit`.
	fn challenge_audit() -> Weight;
	/// `challenge_answer`.
	fn challenge_answer() -> Weight;
	/// The transaction extension, for a `deliver_answer` with so many tokens and hashes of later receipts.
	fn check_delivery(tokens: u32, later: u32) -> Weight;
	/// `demand_answer`.
	fn demand_answer() -> Weight;
	/// `deliver_answer` with so many tokens and hashes of later receipts.
	fn deliver_answer(tokens: u32, later: u32) -> Weight;
	/// Looking for demands that are to end, and taking so many out of their queue.
	fn end_demands(seen: u32) -> Weight;
	/// Ending a demand that was not met.
	fn end_demand() -> Weight;
	/// Looking for audits of answers that are to be closed, and closing so many.
	fn close_answers(closed: u32) -> Weight;
	/// Looking for claims of pay that are to be drawn from.
	fn draw_answers_idle() -> Weight;
	/// Drawing from so many claims of pay, 256 answers each, so many answers, the list of verifiers being full.
	fn draw_answers(claims: u32, drawn: u32) -> Weight;
	/// Looking for a round that is to be drawn.
	fn draw_idle() -> Weight;
	/// Drawing so many audits of a round with 128 places, the list of verifiers being full.
	fn draw(audits: u32) -> Weight;
	/// Looking for audits that are to be closed.
	fn close_idle() -> Weight;
	/// Closing an audit, the list of verifiers being full.
	fn close() -> Weight;
}

/// Microseconds of compute as weight.
const fn micros(time: u64) -> Weight {
	Weight::from_parts(time.saturating_mul(1_000).saturating_mul(WEIGHT_REF_TIME_PER_NANOS), 0)
}

/// Decoding a record of 128 places and looking through them: four passes of 0.3 us a place.
const RECORD: Weight = micros(154);
/// The largest plan that a move is judged by, in the runtime's WASM: that of an outer step with 128 deltas of 128 layers. 1.4 ms.
const PLAN: Weight = micros(2_000);
/// Everything that is computed for the largest admissible piece of any operator, in the runtime's WASM: plan, witness and piece. 3.3 ms.
const VERDICT: Weight = micros(5_000);
/// Blake2 in the runtime's WASM, picoseconds a byte.
const HASH: u64 = 10_000;
/// Drawing a token from a row of logits, in the runtime's WASM, picoseconds a byte of it: 1 us a logit. Natively it takes 0.2 to 0.4 us with the settings
/// that take longest, and products take 2.3 times as long there.
const DRAW: u64 = 250_000;
/// Checking a signature of a provider's key for proofs.
const SIGNATURE: Weight = micros(200);
/// Looking up what a member of a quorum holds of the largest model, before and after an interval and of an adapter's base, and what of it makes up the whole.
const COVERS: Weight = micros(250);
/// Decoding and encoding a full list of verifiers, and looking through it.
const LIST: Weight = micros(150);
/// Decoding and encoding a game and what belongs to it.
const SMALL: Weight = micros(20);

/// What it costs more, for each member of a quorum that may have to defend a claim, to open a game about it or to end one. Reads and writes: provider, load, held and
/// released account; when its claim falls, the proof of the member's part, how many it has, and its provider again. An overdue proof is looked for.
pub(crate) fn member<T: frame_system::Config>() -> Weight {
	SMALL.saturating_add(T::DbWeight::get().reads_writes(8, 7))
}

/// The hand-derived weights, priced by the runtime's database weights.
pub struct SubstrateWeight<T>(PhantomData<T>);

impl<T: frame_system::Config> SubstrateWeight<T> {
	fn db(reads: u64, writes: u64) -> Weight {
		T::DbWeight::get().reads_writes(reads, writes)
	}

	/// Weight of reading the grounds that a claim is judged by. Reads: run twice, and the records with the inner steps behind them; the first and the last one
	/// twice. For a sample its auditor and audit besides.
	fn grounds(records: u32) -> Weight {
		let records = u64::from(records).saturating_add(2);
		micros(30).saturating_add(RECORD.saturating_mul(records)).saturating_add(Self::db(records.saturating_mul(2).saturating_add(4), 0))
	}

	/// A game leaves. Reads: provider, the defender's load, two neighbours, docket three times, hold, an overdue proof, who paid. Writes: provider, load,
	/// game, its refused move, deadline, two neighbours, docket, fallen claim, hold, released account, who paid, receipt.
	fn leave() -> Weight {
		SMALL.saturating_add(Self::db(10, 13))
	}

	/// Weight of what a game's end does to the audit that its claim belongs to, which may close with it. Reads: auditor, audit twice, three dockets.
	fn audit() -> Weight {
		SMALL.saturating_add(Self::db(6, 0)).saturating_add(<Self as WeightInfo>::close())
	}

	/// A text is compared with its receipt, and that with the root of all receipts: four bytes a token are hashed, and copied twice, and each receipt is a hash.
	fn text(tokens: u32, later: u32) -> Weight {
		let tokens = Weight::from_parts(u64::from(tokens).saturating_mul(HASH.saturating_mul(8)), 0);
		micros(30).saturating_add(SIGNATURE).saturating_add(tokens).saturating_add(micros(2).saturating_mul(later.into()))
	}

	/// A bond goes back. Reads and writes: account, hold.
	fn bond() -> Weight {
		SMALL.saturating_add(Self::db(2, 2))
	}
}

impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
	fn challenge_work() -> Weight {
		Self::challenge_attestation(1)
	}
	// Reads: owner of an operator, record twice, window, game, provider, its load, an audit with its auditor, bond's account and hold, clock,
	// extension, docket, last game. Writes: provider, load, account, hold, who paid, held and released account, docket, last game, deadline, game. The
	// claim's work of 2 KiB is hashed.
	fn challenge_attestation(records: u32) -> Weight {
		micros(50).saturating_add(RECORD.saturating_mul(2)).saturating_add(Self::grounds(records)).saturating_add(Self::db(15, 11))
	}
	// Reads: owner of an operator, game, fallen claim, extension, clock, defender's load. Writes: game, its refused move, two deadlines.
	fn play(bytes: u32, records: u32) -> Weight {
		let hashing = Weight::from_parts(u64::from(bytes).saturating_mul(HASH), 0);
		SMALL.saturating_add(PLAN).saturating_add(hashing).saturating_add(Self::grounds(records)).saturating_add(Self::db(6, 4))
	}
	// Reads: docket, provider three times, its account and hold twice, the receiver's account. Writes: provider, account and hold twice, the
	// receiver's account, and one for the fallen claim. And `Claims::condemn`: 15 reads, 14 writes, twenty passes through 128 places. Of audits:
	// audit with its auditor, two games, epoch, verifiers read; audit, verifiers written. The punishment: penalties, minimum bond and number of
	// active ones read, the number written.
	fn decide() -> Weight {
		micros(60 + 768 + 50)
			.saturating_add(LIST)
			.saturating_add(Self::audit())
			.saturating_add(Self::bond())
			.saturating_add(Self::leave())
			.saturating_add(Self::db(9 + 15 + 6 + 3, 8 + 14 + 2 + 1))
	}
	// Reads: fallen claim, block that was swept to, deadline, and one for every block that is passed over. Writes: block that was swept to.
	fn end_due(passed: u32) -> Weight {
		SMALL.saturating_add(Self::db(u64::from(passed).saturating_add(3), 1))
	}
	// Reads: fallen claim, docket, game.
	fn end_moot() -> Weight {
		SMALL.saturating_add(Self::bond()).saturating_add(Self::leave()).saturating_add(Self::audit()).saturating_add(Self::db(3, 0))
	}
	// Reads: deadline, game, fallen claim, two records.
	fn end_late() -> Weight {
		SMALL.saturating_add(RECORD.saturating_mul(2)).saturating_add(Self::decide()).saturating_add(Self::db(5, 0))
	}
	// Reads: owner of an operator, game, fallen claim, turns of the block. Writes: the last. The position of a few hundred bytes is hashed, as in `play`; 8 KiB of
	// turns are looked through.
	fn check_turn() -> Weight {
		micros(20).saturating_add(Self::db(4, 1))
	}
	// Reads: owner of an operator, auditor, audit, genesis hash, least stake, provider.
	fn check_report() -> Weight {
		micros(15).saturating_add(Self::db(6, 0))
	}
	// Reads: owner of an operator, provider, epoch, verifiers. Writes: verifiers.
	fn enroll() -> Weight {
		SMALL.saturating_add(LIST).saturating_add(Self::db(4, 1))
	}
	// Reads: owner of an operator, epoch, verifiers. Writes: verifiers.
	fn resign() -> Weight {
		SMALL.saturating_add(LIST).saturating_add(Self::db(3, 1))
	}
	// Reads: verifiers twice, provider, epoch. Writes: verifiers.
	fn sweep() -> Weight {
		SMALL.saturating_add(LIST.saturating_mul(2)).saturating_add(Self::db(4, 1))
	}
	// Reads: owner of an operator, auditor, audit, time for reporting, provider, least stake. Writes: audit.
	fn seal_audit() -> Weight {
		SMALL.saturating_add(Self::db(6, 1))
	}
	// Reads: owner of an operator, auditor, audit, genesis hash, provider twice. Writes: provider, audit. And `Claims::exclude`, as in `decide`.
	fn report_audit() -> Weight {
		SMALL.saturating_add(micros(768)).saturating_add(Self::db(6 + 13, 2 + 12))
	}
	// As for work. Reads besides: auditor and audit, three times.
	fn challenge_audit() -> Weight {
		Self::challenge_attestation(1).saturating_add(Self::db(6, 0))
	}
	// As another challenge, and a signature is checked and a plan made. Reads: genesis hash, session, claim and condemnation of the provider, its audited
	// session and audit, receipt twice, offer, run, two records. Writes: receipt.
	fn challenge_answer() -> Weight {
		SIGNATURE.saturating_add(PLAN).saturating_add(Self::challenge_attestation(1)).saturating_add(Self::db(12, 1))
	}
	// Reads: owner of an operator, audit, condemnation, audited session, genesis hash, provider.
	fn check_delivery(tokens: u32, later: u32) -> Weight {
		Self::text(tokens, later).saturating_add(Self::db(6, 0))
	}
	// Reads: owner of an operator, audit, condemnation, audited session, provider, least stake, time for delivering, numbers in use, account, hold. Writes: audit,
	// entry, numbers in use, account, hold.
	fn demand_answer() -> Weight {
		SMALL.saturating_add(Self::db(10, 5))
	}
	// Reads: as of its check, and account, hold, total issuance. Writes: audit, account, hold, total issuance.
	fn deliver_answer(tokens: u32, later: u32) -> Weight {
		SMALL.saturating_add(Self::text(tokens, later)).saturating_add(Self::db(6 + 3, 4))
	}
	// Reads: numbers in use, oldest entry, audit. Writes: numbers in use. For each: entry and audit of the next one read, entry written.
	fn end_demands(seen: u32) -> Weight {
		let seen = u64::from(seen);
		micros(seen.saturating_mul(5).saturating_add(5))
			.saturating_add(Self::db(seen.saturating_mul(2).saturating_add(3), seen.saturating_add(1)))
	}
	// As a decision. Reads besides: condemnation, session, claim of pay, audited session twice. Writes: audit, condemnation, audited session.
	fn end_demand() -> Weight {
		SMALL.saturating_add(Self::decide()).saturating_add(Self::db(5, 3))
	}
	// Reads: numbers in use, oldest entry, audit. Writes: numbers in use. For each: entry and audit of the next one, audited session read; entry, audit, auditor,
	// audited session written.
	fn close_answers(closed: u32) -> Weight {
		let closed = u64::from(closed);
		micros(closed.saturating_mul(10).saturating_add(5))
			.saturating_add(Self::db(closed.saturating_mul(3).saturating_add(3), closed.saturating_mul(4).saturating_add(1)))
	}
	// Reads: numbers in use, oldest entry, epoch.
	fn draw_answers_idle() -> Weight {
		micros(5).saturating_add(Self::db(3, 0))
	}
	// Reads: verifiers, randomness, share, price, time for delivering, window, clock, extension, numbers in use of closes. Writes: numbers in use of both queues. For every
	// claim of pay: entry, condemnation, audited session read; entry, audited session written; 264 numbers are drawn, each a hash. For every answer: audit read;
	// auditor, entry, audit written.
	fn draw_answers(claims: u32, drawn: u32) -> Weight {
		let (claims, drawn) = (u64::from(claims), u64::from(drawn));
		let lots = micros(claims.saturating_mul(600).saturating_add(drawn.saturating_mul(20)));
		let writes = claims.saturating_mul(2).saturating_add(drawn.saturating_mul(3)).saturating_add(2);
		let reads = claims.saturating_mul(3).saturating_add(drawn).saturating_add(9);
		lots.saturating_add(LIST).saturating_add(Self::db(reads, writes))
	}
	// Reads: numbers in use, oldest entry, epoch.
	fn draw_idle() -> Weight {
		micros(5).saturating_add(Self::db(3, 0))
	}
	// Reads: record three times, run three times and for every audit, inner steps, window, both times, share, verifiers, randomness, numbers in use. Writes: entry, numbers in use of
	// both queues. For every audit: two auditors, audit, entry written. 770 numbers are drawn, each a hash.
	fn draw(audits: u32) -> Weight {
		let each = u64::from(audits);
		let lots = micros(each.saturating_mul(20).saturating_add(3_000));
		lots.saturating_add(LIST)
			.saturating_add(RECORD.saturating_mul(3))
			.saturating_add(Self::db(each.saturating_add(14), each.saturating_mul(4).saturating_add(3)))
	}
	// Reads: numbers in use, oldest entry, audit. Writes: numbers in use.
	fn close_idle() -> Weight {
		micros(5).saturating_add(Self::db(3, 1))
	}
	// Reads: entry, audit, three dockets, record; for each auditor provider six times, epoch, verifiers, rates, era, count of its role, points,
	// total. Writes: entry, audit; for each auditor itself, provider three times, verifiers, points, total. Besides, for each that is punished for a row of missed
	// audits: penalties, provider three times, account, holds, total issuance, minimum bond, number of active ones, and verifiers' bonds read;
	// provider twice, account, holds, total issuance, number written.
	fn close() -> Weight {
		let lists = LIST.saturating_mul(2);
		SMALL.saturating_add(RECORD).saturating_add(lists).saturating_add(Self::db(6 + 2 * (13 + 10), 2 + 2 * (7 + 6)))
	}
}

/// Computation alone, for tests.
impl WeightInfo for () {
	fn challenge_work() -> Weight {
		RECORD
	}
	fn challenge_attestation(records: u32) -> Weight {
		RECORD.saturating_mul(records.into())
	}
	fn play(bytes: u32, records: u32) -> Weight {
		PLAN.saturating_add(Weight::from_parts(u64::from(bytes).saturating_mul(HASH), 0))
			.saturating_add(Self::challenge_attestation(records))
	}
	fn decide() -> Weight {
		SMALL
	}
	fn end_due(passed: u32) -> Weight {
		SMALL.saturating_mul(passed.into())
	}
	fn end_moot() -> Weight {
		SMALL
	}
	fn end_late() -> Weight {
		SMALL
	}
	fn check_turn() -> Weight {
		SMALL
	}
	fn check_report() -> Weight {
		SMALL
	}
	fn enroll() -> Weight {
		LIST
	}
	fn resign() -> Weight {
		LIST
	}
	fn sweep() -> Weight {
		LIST
	}
	fn seal_audit() -> Weight {
		SMALL
	}
	fn report_audit() -> Weight {
		SMALL
	}
	fn challenge_audit() -> Weight {
		Self::challenge_work()
	}
	fn challenge_answer() -> Weight {
		Self::challenge_work()
	}
	fn check_delivery(tokens: u32, _: u32) -> Weight {
		SMALL.saturating_add(Weight::from_parts(u64::from(tokens).saturating_mul(HASH), 0))
	}
	fn demand_answer() -> Weight {
		SMALL
	}
	fn deliver_answer(tokens: u32, later: u32) -> Weight {
		Self::check_delivery(tokens, later)
	}
	fn end_demands(seen: u32) -> Weight {
		SMALL.saturating_mul(seen.into())
	}
	fn end_demand() -> Weight {
		SMALL
	}
	fn close_answers(closed: u32) -> Weight {
		SMALL.saturating_mul(closed.into())
	}
	fn draw_answers_idle() -> Weight {
		SMALL
	}
	fn draw_answers(claims: u32, drawn: u32) -> Weight {
		SMALL.saturating_mul(claims.saturating_add(drawn).into())
	}
	fn draw_idle() -> Weight {
		SMALL
	}
	fn draw(audits: u32) -> Weight {
		SMALL.saturating_mul(audits.into())
	}
	fn close_idle() -> Weight {
		SMALL
	}
	fn close() -> Weight {
		LIST
	}
}
