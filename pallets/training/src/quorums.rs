//! Quorums: places that several accounts hold together, each a span of the model.
//!
//! A leader proposes who holds what, and each member agrees to exactly that; its key for proofs of then is what all that it says about the work is checked with. The
//! leader then joins as anybody does: the place is its, and the others have none of their own. At the start of each round the chain notes who holds what of each
//! place in it, so that members may change from round to round. What an included place is paid is split by what falls to each span.

use crate::{Config, Error, Event, Led, Members, Pallet, Quorums, Round, Run};
use alloc::{collections::BTreeSet, vec::Vec};
use frame_support::{
	defensive, ensure,
	traits::{ConstU32, Get},
	weights::Weight,
	BoundedVec,
};
use neuroshard_types::{
	proof::ProofKey,
	quorum::{check_cut, fits_a_move, led_by, split, QuorumClaim, Seat, Span, MAX_MEMBERS, MAX_SEATS},
	traits::{Providers, WorkProofs},
	AccountId, Balance, RoundIndex, RunId, H256,
};
use sp_runtime::DispatchResult;

/// Seats of quorums, those of each by number one behind the other.
pub type Seats = BoundedVec<Seat, ConstU32<MAX_SEATS>>;
/// Who holds what in a quorum, by number.
pub type Holders = BoundedVec<(AccountId, Span), ConstU32<MAX_MEMBERS>>;

/// Whether `who` has agreed to a seat that another one leads.
fn follows(seats: &[Seat], who: &AccountId) -> bool {
	seats.iter().any(|seat| seat.who == *who && seat.leader != *who && seat.key.is_some())
}

/// Returns whether no two of the members are one account, and `leader` is among them.
fn are_members(holders: &Holders, leader: &AccountId) -> bool {
	let members: BTreeSet<&AccountId> = holders.iter().map(|(who, _)| who).collect();
	members.len() == holders.len() && members.contains(leader)
}

impl<T: Config> Pallet<T> {
	/// See [`crate::Call::form_quorum`].
	pub(crate) fn do_form_quorum(leader: AccountId, id: RunId, holders: &Holders) -> DispatchResult {
		let run = Self::active(id)?;
		Self::stake(&leader, run.config.min_bond)?;
		let mut seats = Quorums::<T>::get(id);
		seats.retain(|seat| seat.leader != leader);
		if !holders.is_empty() {
			ensure!(are_members(holders, &leader), Error::<T>::BadQuorum);
			let spans: Vec<Span> = holders.iter().map(|(_, span)| *span).collect();
			check_cut(&run.config.model, &spans).map_err(|_| Error::<T>::BadQuorum)?;
			ensure!(fits_a_move(&run.config.model, &run.config.train, &spans), Error::<T>::IntervalTooLong);
			ensure!(!follows(&seats, &leader), Error::<T>::InQuorum);
			let key = T::Providers::ponw_key(&leader).ok_or(Error::<T>::NotActiveWorker)?;
			if seats.len().saturating_add(holders.len()) > seats_at_most() {
				// Whoever waits for others to agree makes room for whoever comes now.
				let waiting: BTreeSet<AccountId> = seats.iter().filter(|seat| seat.key.is_none()).map(|seat| seat.leader.clone()).collect();
				seats.retain(|seat| !waiting.contains(&seat.leader));
			}
			for (who, span) in holders {
				let key = (*who == leader).then_some(key);
				let seat = Seat { leader: leader.clone(), who: who.clone(), span: *span, key };
				seats.try_push(seat).map_err(|_| Error::<T>::NoSeats)?;
			}
		}
		Self::keep_quorums(id, seats);
		Self::deposit_event(Event::QuorumProposed { run: id, leader, holders: holders.clone() });
		Ok(())
	}

	/// See [`crate::Call::agree_quorum`].
	pub(crate) fn do_agree_quorum(who: AccountId, id: RunId, leader: AccountId, holders: &Holders) -> DispatchResult {
		let run = Self::active(id)?;
		Self::stake(&who, run.config.min_bond)?;
		let mut seats = Quorums::<T>::get(id);
		let proposed = led_by(&seats, &leader).map(|seat| (&seat.who, seat.span));
		ensure!(!holders.is_empty() && proposed.eq(holders.iter().map(|(who, span)| (who, *span))), Error::<T>::OtherQuorum);
		ensure!(!follows(&seats, &who), Error::<T>::InQuorum);
		ensure!(led_by(&seats, &who).next().is_none() && !Members::<T>::get(id).contains(&who), Error::<T>::HasPlace);
		let key = T::Providers::ponw_key(&who).ok_or(Error::<T>::NotActiveWorker)?;
		let own = seats.iter_mut().find(|seat| seat.leader == leader && seat.who == who).ok_or(Error::<T>::OtherQuorum)?;
		own.key = Some(key);
		Quorums::<T>::insert(id, seats);
		Self::deposit_event(Event::QuorumAgreed { run: id, leader, who });
		Ok(())
	}

	/// Takes back what `who` has agreed to: the place of the quorum ends with the round under way. Returns whether it was a member of one that another leads.
	pub(crate) fn leave_quorum(id: RunId, run: &Run, who: &AccountId) -> bool {
		let mut seats = Quorums::<T>::get(id);
		let own = seats.iter_mut().find(|seat| seat.who == *who && seat.leader != *who && seat.key.is_some());
		let Some(seat) = own else { return false };
		seat.key = None;
		let leader = seat.leader.clone();
		Self::keep_quorums(id, seats);
		Self::remove_member(id, run, leader.clone());
		Self::deposit_event(Event::QuorumLeft { run: id, leader, who: who.clone() });
		true
	}

	/// The stake that the place of `who` has in votes, if it may hold one: itself, and everybody of the quorum that it leads.
	pub(crate) fn stake_of_place(seats: &Seats, who: &AccountId, min_bond: Balance) -> Result<Balance, Error<T>> {
		ensure!(!follows(seats, who), Error::<T>::InQuorum);
		for seat in led_by(seats, who) {
			ensure!(seat.key.is_some(), Error::<T>::NotAgreed);
			Self::stake(&seat.who, min_bond)?;
		}
		Self::stake(who, min_bond)
	}

	fn keep_quorums(id: RunId, seats: Seats) {
		match seats.is_empty() {
			true => Quorums::<T>::remove(id),
			false => Quorums::<T>::insert(id, seats),
		}
	}

	/// Notes who holds what in a round that begins with these places. Until the round is over their stakes stay where they are.
	pub(crate) fn note_led(id: RunId, index: RoundIndex, mut seats: Seats, has_place: impl Fn(&AccountId) -> bool) {
		seats.retain(|seat| has_place(&seat.leader));
		if !seats.is_empty() {
			keep_stakes::<T>(&seats);
			Led::<T>::insert(id, index, seats);
		}
	}

	/// Notes it of a place that comes when the round has begun. Returns whether it can be had: nobody of its quorum has a part in the round already.
	pub(crate) fn note_late_quorum(id: RunId, round: &Round, leader: &AccountId) -> bool {
		let (quorums, mut led) = (Quorums::<T>::get(id), Led::<T>::get(id, round.round));
		let own: Vec<Seat> = led_by(&quorums, leader).cloned().collect();
		let busy = |who: &AccountId| round.participant(who).is_some() || led.iter().any(|seat| seat.who == *who);
		// As many as there are seats in all, unless others have changed theirs since the round began.
		let room = led.len().saturating_add(own.len()) <= seats_at_most();
		if busy(leader) || own.iter().any(|seat| busy(&seat.who)) || !room {
			return false;
		}
		if !own.is_empty() {
			keep_stakes::<T>(&own);
			own.into_iter().for_each(|seat| drop(led.try_push(seat)));
			Led::<T>::insert(id, round.round, led);
		}
		true
	}

	/// Forgets who held what in a round that comes to nothing.
	pub(crate) fn forget_led(id: RunId, index: RoundIndex) {
		free_stakes::<T>(&Led::<T>::take(id, index));
	}

	/// Whose work the claim of `leader` in this round is; `None` if it is its own.
	pub(crate) fn quorum_of(run: RunId, round: RoundIndex, seed: H256, leader: &AccountId) -> Option<QuorumClaim> {
		let genesis = frame_system::Pallet::<T>::block_hash(frame_system::pallet_prelude::BlockNumberFor::<T>::default());
		QuorumClaim::of(genesis, (run, round, seed), &Led::<T>::get(run, round), leader)
	}

	/// What falls to `leader` of so much that its place has done; all of it without a quorum.
	pub(crate) fn own_part(run: &Run, seats: &[Seat], leader: &AccountId, all: u128) -> u128 {
		let spans = led_by(seats, leader).map(|seat| seat.span);
		let parts = split(all, &run.config.model, &run.config.train, spans);
		led_by(seats, leader).zip(parts).find(|(seat, _)| seat.who == *leader).map_or(all, |(_, part)| part)
	}

	/// Confirms the proof of a place that is included: of its units each member of a quorum has what falls to its span, and the leader what is left.
	pub(crate) fn confirm_place(run: &Run, seats: &[Seat], leader: &AccountId, key: ProofKey, units: u128) {
		let spans = led_by(seats, leader).map(|seat| seat.span);
		let mut left = units;
		for (seat, part) in led_by(seats, leader).zip(split(units, &run.config.model, &run.config.train, spans)) {
			if seat.who != *leader {
				left = left.saturating_sub(part);
				T::Proofs::confirm_part(&seat.who, key, part, run.approved);
			}
		}
		T::Proofs::confirm(leader, key, left, run.approved);
	}

	/// Voids the proofs of all who have a part in the work of `leader` in this round.
	pub(crate) fn void_place(id: RunId, index: RoundIndex, leader: &AccountId, key: ProofKey) {
		T::Proofs::void(leader, key);
		for seat in led_by(&Led::<T>::get(id, index), leader).filter(|seat| seat.who != *leader) {
			T::Proofs::void(&seat.who, key);
		}
	}
}

/// Lets no member of a quorum withdraw its stake while the round lasts. Proofs keep those of leaders.
fn keep_stakes<T: Config>(seats: &[Seat]) {
	for seat in seats {
		// They are providers: that was looked at just before.
		if T::Providers::open_claim(&seat.who).is_err() {
			defensive!("a member of a quorum is no provider");
		}
	}
}

/// Ends that.
pub(crate) fn free_stakes<T: Config>(seats: &[Seat]) {
	seats.iter().for_each(|seat| T::Providers::close_claim(&seat.who));
}

/// What joining costs more with a quorum of so many: who leads whom, provider and bond of each, and the seats of the round under way. Where it is joined late, each gets
/// a claim on its stake.
pub(crate) fn at_join<T: Config>(members: u32) -> Weight {
	let members = u64::from(members);
	T::DbWeight::get()
		.reads_writes(members.saturating_mul(3).saturating_add(3), members.saturating_add(1))
		.saturating_add(looks(members.saturating_add(2)))
}

/// What the start of a round costs more with so many seats: who holds what; of each provider and bond, and a claim on its stake that one of an attempt before may have ended.
pub(crate) fn at_begin<T: Config>(seats: usize) -> Weight {
	T::DbWeight::get()
		.reads_writes(of_seats(seats, 4).saturating_add(2), of_seats(seats, 2).saturating_add(2))
		.saturating_add(looks(of_seats(seats, 1)))
}

/// Looking through all seats for each place.
const fn looks(seats: u64) -> Weight {
	Weight::from_parts(seats.saturating_mul(20_000_000), 0)
}

/// What the adoption of a round costs more with so many seats: until when the stake of each stays, and its proof. Reads: provider three times, activity, proofs, pending proof,
/// queue, last proven. Writes: provider three times, proofs, pending proof, queue and its bounds, last proven.
pub(crate) fn at_adoption<T: Config>(seats: usize) -> Weight {
	T::DbWeight::get()
		.reads_writes(of_seats(seats, 9).saturating_add(1), of_seats(seats, 9).saturating_add(1))
		.saturating_add(looks(of_seats(seats, 1)))
}

fn of_seats(seats: usize, each: u64) -> u64 {
	u64::try_from(seats).unwrap_or(u64::MAX).saturating_mul(each)
}

fn seats_at_most() -> usize {
	usize::try_from(MAX_SEATS).unwrap_or(usize::MAX)
}
