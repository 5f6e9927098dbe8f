//! Challenges: how games begin.

use crate::{grounds, Clock, Config, Error, Event, Game, Games, HoldReason, Members, PaidBy, Pallet};
use codec::Encode;
use frame_support::{
	ensure,
	traits::{fungible::MutateHold, Get},
};
use neuroshard_graph::{
	game::{open_checkpoint, open_work, Doubt, Position},
	merkle::blake2_256,
	Hash,
};
use neuroshard_types::{
	dispute::{ClaimId, Claims},
	grounds::Grounds,
	run::Work,
	traits::Providers,
	AccountId, H256,
};
use sp_runtime::{DispatchError, DispatchResult};

use alloc::vec::Vec;

impl<T: Config> Pallet<T> {
	/// See [`crate::Call::challenge_work`]. Returns how many members of a quorum stand behind the work.
	pub(crate) fn do_challenge_work(payer: AccountId, claim: ClaimId, work: &Work, doubt: Doubt) -> Result<u32, DispatchError> {
		let challenger = T::Providers::acts_for(payer.clone());
		let grounds = Self::disputable(&claim, &challenger)?;
		let Grounds::Work { claim: judged, .. } = &grounds else { return Err(Error::<T>::NoClaim.into()) };
		ensure!(H256(blake2_256(&work.encode())) == judged.work_hash, Error::<T>::WrongWork);
		let roots: Vec<Hash> = work.state_roots.iter().map(|root| root.0).collect();
		let position = grounds.judge(|setting| open_work(setting, &roots, work.delta_root.0, doubt)).map_err(Error::<T>::from)?;
		let members = u32::try_from(Self::members_of(&grounds).len()).unwrap_or(u32::MAX);
		Self::open(claim, challenger, payer, Some(doubt), position, &grounds)?;
		Ok(members)
	}

	/// See [`crate::Call::challenge_attestation`]. Returns how many records the claim is judged by.
	pub(crate) fn do_challenge_attestation(payer: AccountId, claim: ClaimId) -> Result<u32, DispatchError> {
		let challenger = T::Providers::acts_for(payer.clone());
		let grounds = Self::disputable(&claim, &challenger)?;
		let position = grounds.judge(open_checkpoint).map_err(Error::<T>::from)?;
		Self::open(claim, challenger, payer, None, position, &grounds)?;
		Ok(grounds.records())
	}

	/// Returns the grounds that `claim` is judged by, if `challenger` may dispute it now.
	pub(crate) fn disputable(claim: &ClaimId, challenger: &AccountId) -> Result<Grounds, Error<T>> {
		ensure!(claim.who != *challenger, Error::<T>::OwnClaim);
		let adopted = T::Claims::adopted_at(claim.run, claim.round).ok_or(Error::<T>::NotAdopted)?;
		ensure!(Self::now() < adopted.saturating_add(T::ChallengeWindow::get()), Error::<T>::WindowOver);
		ensure!(!Self::is_condemned(claim), Error::<T>::Condemned);
		ensure!(!Games::<T>::contains_key(claim, challenger), Error::<T>::AlreadyOpen);
		grounds::of::<T>(claim).ok_or(Error::<T>::NoClaim)
	}

	/// Members of the quorum whose work a claim is, by number; nobody if it is of one machine.
	fn members_of(grounds: &Grounds) -> Members {
		let Grounds::Work { claim, .. } = grounds else { return Members::default() };
		let seats = claim.quorum.iter().flat_map(|quorum| &quorum.seats);
		// As many as in the game's rules.
		Members::truncate_from(seats.map(|seat| seat.who.clone()).collect())
	}

	/// Takes the bond of `payer`, who is the challenger or its operator, and begins the game.
	pub(crate) fn open(
		claim: ClaimId,
		challenger: AccountId,
		payer: AccountId,
		doubt: Option<Doubt>,
		position: Position,
		grounds: &Grounds,
	) -> DispatchResult {
		let (bond, now, clock) = (Self::price_of(&claim, &challenger)?, Self::now(), Clock::<T>::get());
		T::Currency::hold(&HoldReason::Challenge.into(), &payer, bond)?;
		if payer != challenger {
			PaidBy::<T>::insert(&claim, &challenger, payer);
		}
		let members = Self::members_of(grounds);
		let first_round = grounds.first_round();
		let mut game = Game {
			position,
			deadline: now,
			reserve: clock,
			moves: Default::default(),
			bond,
			first_round,
			earlier: None,
			later: None,
			members,
		};
		for (who, bond) in game.loads(&claim) {
			T::Providers::open_claim(who)?;
			Self::load(who, bond);
		}
		// With this one among its games.
		let deadline = now.saturating_add(clock).saturating_add(Self::gain(position.turn(), &claim.who));
		game.deadline = deadline;
		game.note_move(now);
		Self::enter(&claim, &challenger, game);
		Self::deposit_event(Event::Opened { claim, challenger, doubt, bond, deadline });
		Ok(())
	}
}
