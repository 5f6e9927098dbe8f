//! Next step of an auditor of an answer. Pure.

use neuroshard_types::{
	answer_audit::{AnswerAuditView, Delivery},
	BlockNumber,
};

/// Knowledge here of an answer that this account was drawn for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
	/// Nothing; whether the provider was asked.
	Nothing {
		/// True if the provider was asked, by this process.
		asked: bool,
	},
	/// Its text.
	Text,
	/// That no game about it can be opened, and so no delivery of it is taken.
	Undisputable,
	/// That it is false.
	False,
	/// All that there is to know.
	All,
}

/// Something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
	/// Ask the provider for the text.
	Ask,
	/// Demand it on chain.
	Demand,
	/// Read what was delivered in this block.
	Read(BlockNumber),
	/// Compute the answer anew.
	Compute,
	/// Dispute it.
	Dispute,
}

/// Returns the step to take at block `now` about an answer that was drawn, where a provider has `deliver_time` blocks to hand its text over before it is
/// demanded of it, and as many after that.
pub(super) fn step(audit: &AnswerAuditView, known: Known, now: BlockNumber, deliver_time: BlockNumber) -> Option<Step> {
	// The next block is the first one that anything can be in.
	if audit.condemned || now.saturating_add(1) >= audit.closes_at {
		return None;
	}
	match (known, audit.delivery) {
		(Known::All, _) => None,
		(Known::False, _) => Some(Step::Dispute),
		(Known::Text, _) => Some(Step::Compute),
		(Known::Undisputable, Delivery::Undemanded) if now < audit.demand_by => Some(Step::Demand),
		(Known::Undisputable, _) => None,
		(Known::Nothing { .. }, Delivery::Delivered(block)) => Some(Step::Read(block)),
		(Known::Nothing { .. }, Delivery::Demanded(_) | Delivery::Withheld) => None,
		(Known::Nothing { asked }, Delivery::Undemanded) => {
			let waits = now.saturating_add(deliver_time / 2) < audit.demand_by;
			let in_time = now < audit.demand_by;
			Some(if asked && !waits && in_time { Step::Demand } else { Step::Ask })
		}
	}
}

/// The last block in which what is next about an answer can be done: until it is demanded, as long as that is possible, that of the demand, and else that of a
/// dispute. What is due first is done first.
pub(super) fn due_by(audit: &AnswerAuditView, known: Known, now: BlockNumber) -> BlockNumber {
	let is_demand = matches!(known, Known::Nothing { .. } | Known::Undisputable) && audit.delivery == Delivery::Undemanded;
	match is_demand && now <= audit.demand_by {
		true => audit.demand_by,
		false => audit.closes_at,
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{answer_audit::AnswerId, inference::CheckpointId, AccountId, H256};

	/// Drawn in block 80, with 20 blocks for each part.
	fn audit(delivery: Delivery) -> AnswerAuditView {
		AnswerAuditView {
			answer: AnswerId { session: 1, provider: AccountId::new([1; 32]), place: 0 },
			auditor: AccountId::new([2; 32]),
			answers: 1,
			receipts: H256::zero(),
			checkpoint: CheckpointId { run: 0, round: 0, root: H256::zero() },
			delivery,
			demand_by: 100,
			closes_at: 140,
			condemned: false,
		}
	}

	const NEW: Known = Known::Nothing { asked: false };
	const ASKED: Known = Known::Nothing { asked: true };

	#[test]
	fn the_text_is_asked_for_and_demanded_in_the_second_half_of_the_time_for_that() {
		let undemanded = |known, now| step(&audit(Delivery::Undemanded), known, now, 20);
		assert_eq!((undemanded(NEW, 80), undemanded(ASKED, 89)), (Some(Step::Ask), Some(Step::Ask)));
		assert_eq!((undemanded(ASKED, 90), undemanded(ASKED, 99)), (Some(Step::Demand), Some(Step::Demand)));
		// Who comes late asks first; and when it is too late for a demand, it can still be handed over.
		assert_eq!((undemanded(NEW, 95), undemanded(ASKED, 100)), (Some(Step::Ask), Some(Step::Ask)));
	}

	#[test]
	fn what_can_still_be_demanded_is_due_before_what_is_computed_or_disputed() {
		let undemanded = audit(Delivery::Undemanded);
		assert_eq!([NEW, ASKED, Known::Undisputable].map(|known| due_by(&undemanded, known, 100)), [100; 3]);
		assert_eq!([NEW, Known::Text, Known::False, Known::All].map(|known| due_by(&undemanded, known, 101)), [140; 4]);
		assert_eq!([Known::Text, Known::False].map(|known| due_by(&undemanded, known, 80)), [140; 2]);
		assert_eq!(due_by(&audit(Delivery::Delivered(90)), ASKED, 95), 140);
	}

	#[test]
	fn what_is_demanded_is_waited_for_and_read_from_its_block() {
		let of = |delivery| step(&audit(delivery), ASKED, 105, 20);
		assert_eq!(of(Delivery::Demanded(110)), None);
		assert_eq!(of(Delivery::Withheld), None);
		assert_eq!(of(Delivery::Delivered(104)), Some(Step::Read(104)));
	}

	#[test]
	fn what_nobody_could_dispute_is_demanded_since_nobody_can_deliver_it() {
		let of = |delivery, now| step(&audit(delivery), Known::Undisputable, now, 20);
		assert_eq!((of(Delivery::Undemanded, 80), of(Delivery::Undemanded, 100)), (Some(Step::Demand), None));
		assert_eq!(of(Delivery::Demanded(110), 90), None);
	}

	#[test]
	fn a_text_is_computed_and_what_is_false_disputed_until_the_last_block_for_that() {
		let undemanded = audit(Delivery::Undemanded);
		assert_eq!(step(&undemanded, Known::Text, 138, 20), Some(Step::Compute));
		assert_eq!(step(&undemanded, Known::False, 138, 20), Some(Step::Dispute));
		assert_eq!(step(&undemanded, Known::False, 139, 20), None);
		assert_eq!(step(&undemanded, Known::All, 100, 20), None);
		let condemned = AnswerAuditView { condemned: true, ..undemanded };
		assert_eq!(step(&condemned, Known::False, 100, 20), None);
	}
}
