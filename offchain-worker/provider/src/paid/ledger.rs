//! Ledger of a session: every answer with its receipt, and the vouchers that pay for them.

use codec::{Decode, Encode};
use neuroshard_payments::Tally;
use neuroshard_types::{
	inference::{SessionId, Voucher},
	AccountId, Balance, H256,
};
use sp_runtime::MultiSignature;
use std::{collections::VecDeque, sync::Arc};

/// Answers that are begun, or given, without a voucher for them.
pub(super) const CREDIT: usize = 16;

/// Why a request or a voucher is not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Unpaid {
	/// Of another session or for another provider, or the user did not sign it.
	#[error("the voucher is not one that the user of this session signed for this provider")]
	Foreign,
	/// Not for what was answered.
	#[error("the voucher is for {told_answers} answers and {told_amount} planck, which is not what was answered: {answers} answers cost {amount} planck")]
	Other {
		/// Answers of the voucher.
		told_answers: u32,
		/// Planck of the voucher.
		told_amount: Balance,
		/// Answers so far.
		answers: u32,
		/// Their price.
		amount: Balance,
	},
	/// Too many answers are not paid for.
	#[error("{0} answers of this session are under way or not paid for: send the voucher for them first")]
	Credit(usize),
	/// The escrow has less than the answer may cost.
	#[error("this answer may cost {most} planck, and the session has {left} left: top it up, or ask for fewer tokens")]
	Escrow {
		/// Most that the answer may cost.
		most: Balance,
		/// Amount that is left.
		left: Balance,
	},
}

/// A session's account.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub(super) struct Ledger {
	session: SessionId,
	provider: AccountId,
	/// From what the last voucher is for up to now. Never empty.
	states: VecDeque<Tally>,
	/// Receipts with their tokens, as JSON, of the answers after the first state: whoever lost one cannot pay without it.
	transcripts: VecDeque<Arc<Vec<u8>>>,
	/// The last voucher and its signature.
	voucher: Option<(Voucher, MultiSignature)>,
	/// Answers that are under way, and what they may cost.
	#[codec(skip)]
	under_way: usize,
	#[codec(skip)]
	reserved: Balance,
}

impl Ledger {
	/// A session that goes on from `state`, of which the chain knows that it was paid.
	pub(super) fn new(session: SessionId, provider: AccountId, state: Tally) -> Self {
		let (states, transcripts) = (VecDeque::from([state]), VecDeque::new());
		Self { session, provider, states, transcripts, voucher: None, under_way: 0, reserved: 0 }
	}

	/// All answers so far.
	pub(super) fn now(&self) -> Tally {
		self.states.back().copied().unwrap_or_default()
	}

	/// Returns the tally of the last voucher.
	pub(super) fn paid(&self) -> Tally {
		self.states.front().copied().unwrap_or_default()
	}

	/// The last voucher and its signature.
	pub(super) fn voucher(&self) -> Option<&(Voucher, MultiSignature)> {
		self.voucher.as_ref()
	}

	/// Receipts of the answers that are not paid for, with their tokens, as JSON.
	pub(super) fn transcripts(&self) -> impl Iterator<Item = &Arc<Vec<u8>>> {
		self.transcripts.iter()
	}

	/// Goes on from what the chain has paid, if that is more than is known here.
	pub(super) fn catch_up(&mut self, claimed: Tally) {
		if claimed.answers > self.now().answers {
			self.go_on_from(claimed);
		}
	}

	fn go_on_from(&mut self, state: Tally) {
		self.states = VecDeque::from([state]);
		self.transcripts.clear();
	}

	/// Takes a voucher of `user`; whether anything has changed. One for fewer answers than the last one changes nothing. One for more than are known here, as
	/// after the loss of this account's file, is refused: whoever is paid for answers can be asked for their texts, and loses its stake without them.
	///
	/// # Errors
	/// [`Unpaid::Foreign`], [`Unpaid::Other`].
	pub(super) fn take(&mut self, voucher: Voucher, signature: MultiSignature, user: &AccountId, genesis: H256) -> Result<bool, Unpaid> {
		let ours = voucher.session == self.session && voucher.provider == self.provider;
		if !ours || !voucher.is_signed(genesis, user, &signature) {
			return Err(Unpaid::Foreign);
		}
		self.note(voucher, signature)
	}

	/// Takes a voucher that the user has signed, as [`Self::take`].
	///
	/// # Errors
	/// [`Unpaid::Other`].
	pub(super) fn note(&mut self, voucher: Voucher, signature: MultiSignature) -> Result<bool, Unpaid> {
		if voucher.answers < self.paid().answers {
			return Ok(false);
		}
		let state = Tally::from(&voucher);
		let Some(place) = self.states.iter().position(|known| *known == state) else {
			let Tally { answers, amount, .. } = self.now();
			return Err(Unpaid::Other { told_answers: voucher.answers, told_amount: voucher.amount, answers, amount });
		};
		self.states.drain(..place);
		self.transcripts.drain(..place.min(self.transcripts.len()));
		if place > 0 {
			self.voucher = Some((voucher, signature));
		}
		Ok(place > 0)
	}

	/// The same without the answers that are under way: those of whom nobody has it any more.
	pub(super) fn at_rest(self) -> Self {
		Self { under_way: 0, reserved: 0, ..self }
	}

	/// Begins an answer that may cost `most`, of a session with `whole` planck in all, paid ones included.
	///
	/// # Errors
	/// [`Unpaid::Credit`], [`Unpaid::Escrow`].
	pub(super) fn begin(&mut self, most: Balance, whole: Balance) -> Result<(), Unpaid> {
		let open = self.under_way.saturating_add(self.states.len()).saturating_sub(1);
		if open >= CREDIT {
			return Err(Unpaid::Credit(open));
		}
		let left = whole.saturating_sub(self.now().amount).saturating_sub(self.reserved);
		if most > left {
			return Err(Unpaid::Escrow { most, left });
		}
		self.under_way = self.under_way.saturating_add(1);
		self.reserved = self.reserved.saturating_add(most);
		Ok(())
	}

	/// Gives up an answer that was to cost `most`.
	pub(super) fn give_up(&mut self, most: Balance) {
		self.under_way = self.under_way.saturating_sub(1);
		self.reserved = self.reserved.saturating_sub(most);
	}

	/// Ends an answer that was to cost `most`, and costs `price`; `receipt` is its hash, and `transcript` all of it, as JSON.
	pub(super) fn end(&mut self, most: Balance, price: Balance, receipt: H256, transcript: Arc<Vec<u8>>) {
		self.give_up(most);
		self.add(price, receipt, transcript);
	}

	/// Adds an answer that was given after `before`, unless it is known. If it was not given after what is known, the chain had paid for what is between.
	pub(super) fn again(&mut self, before: Tally, price: Balance, receipt: H256, transcript: Arc<Vec<u8>>) {
		if before.answers < self.now().answers {
			return;
		}
		if before != self.now() {
			self.go_on_from(before);
		}
		self.add(price, receipt, transcript);
	}

	fn add(&mut self, price: Balance, receipt: H256, transcript: Arc<Vec<u8>>) {
		self.states.push_back(self.now().with(price, receipt));
		self.transcripts.push_back(transcript);
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::inference::chained;
	use sp_core::{sr25519, Pair};

	const GENESIS: H256 = H256([3; 32]);

	fn user() -> sr25519::Pair {
		sr25519::Pair::from_seed(&[1; 32])
	}

	fn id(pair: &sr25519::Pair) -> AccountId {
		AccountId::new(pair.public().0)
	}

	fn provider() -> AccountId {
		AccountId::new([7; 32])
	}

	fn ledger() -> Ledger {
		Ledger::new(5, provider(), Tally::default())
	}

	fn signed(state: Tally, by: &sr25519::Pair) -> (Voucher, MultiSignature) {
		let Tally { answers, amount, receipts } = state;
		let voucher = Voucher { session: 5, provider: provider(), amount, answers, receipts };
		let signature = by.sign(&voucher.message(GENESIS)).into();
		(voucher, signature)
	}

	fn take(ledger: &mut Ledger, (voucher, signature): (Voucher, MultiSignature)) -> Result<bool, Unpaid> {
		ledger.take(voucher, signature, &id(&user()), GENESIS)
	}

	#[test]
	fn answers_add_up_and_a_voucher_pays_for_all_before_it() {
		let mut ledger = ledger();
		let mut states = vec![ledger.now()];
		for price in [10, 20, 30] {
			ledger.begin(50, 1_000).unwrap();
			ledger.end(50, price, H256::repeat_byte(9), b"{}".to_vec().into());
			states.push(ledger.now());
		}
		assert_eq!((states[3].answers, states[3].amount), (3, 60));
		assert_eq!(states[2].receipts, chained(chained(H256::zero(), H256::repeat_byte(9)), H256::repeat_byte(9)));
		take(&mut ledger, signed(states[2], &user())).unwrap();
		assert_eq!((ledger.paid(), ledger.now()), (states[2], states[3]));
		assert_eq!(ledger.voucher().unwrap().0.amount, 30);
		assert_eq!(ledger.transcripts().count(), 1);
		// An older one comes late.
		assert_eq!(take(&mut ledger, signed(states[1], &user())), Ok(false));
		assert_eq!((ledger.paid(), ledger.voucher().unwrap().0.amount), (states[2], 30));
	}

	#[test]
	fn what_was_not_answered_or_not_signed_by_the_user_is_not_taken() {
		let mut ledger = ledger();
		ledger.begin(50, 1_000).unwrap();
		ledger.end(50, 10, H256::repeat_byte(9), b"{}".to_vec().into());
		let (now, before) = (ledger.now(), ledger.clone());
		let other = sr25519::Pair::from_seed(&[2; 32]);
		assert_eq!(take(&mut ledger, signed(now, &other)), Err(Unpaid::Foreign));
		let (voucher, signature) = signed(now, &user());
		assert_eq!(take(&mut ledger, (Voucher { session: 6, ..voucher.clone() }, signature.clone())), Err(Unpaid::Foreign));
		assert_eq!(take(&mut ledger, (Voucher { amount: 9, ..voucher }, signature)), Err(Unpaid::Foreign));
		let less = Tally { amount: 9, ..now };
		let refused = Unpaid::Other { told_answers: 1, told_amount: 9, answers: 1, amount: 10 };
		assert_eq!(take(&mut ledger, signed(less, &user())), Err(refused));
		assert!(matches!(take(&mut ledger, signed(Tally { receipts: H256::zero(), ..now }, &user())), Err(Unpaid::Other { .. })));
		assert_eq!(ledger, before);
	}

	#[test]
	fn what_was_claimed_is_gone_on_from_and_nothing_else_is_paid_that_was_not_answered_here() {
		let (mut ledger, ahead) = (ledger(), Tally { answers: 10, amount: 70, receipts: H256::repeat_byte(4) });
		let refused = Unpaid::Other { told_answers: 10, told_amount: 70, answers: 0, amount: 0 };
		assert_eq!(take(&mut ledger, signed(ahead, &user())), Err(refused));
		assert_eq!((ledger.now(), ledger.voucher()), (Tally::default(), None));
		let further = Tally { answers: 12, amount: 90, receipts: H256::repeat_byte(5) };
		ledger.catch_up(further);
		ledger.catch_up(ahead);
		assert_eq!((ledger.now(), ledger.paid()), (further, further));
		assert_eq!(take(&mut ledger, signed(further, &user())), Ok(false), "it was claimed");
		assert!(matches!(take(&mut ledger, signed(Tally { answers: 13, amount: 95, ..ahead }, &user())), Err(Unpaid::Other { .. })));
	}

	#[test]
	fn neither_more_than_the_escrow_nor_more_than_the_credit_is_answered() {
		let mut ledger = ledger();
		ledger.begin(60, 100).unwrap();
		assert_eq!(ledger.begin(41, 100), Err(Unpaid::Escrow { most: 41, left: 40 }));
		ledger.begin(40, 100).unwrap();
		ledger.end(60, 10, H256::zero(), b"{}".to_vec().into());
		assert_eq!(ledger.begin(51, 100), Err(Unpaid::Escrow { most: 51, left: 50 }));
		ledger.give_up(40);
		ledger.begin(90, 100).unwrap();
		ledger.give_up(90);
		for _ in 1..CREDIT {
			ledger.begin(0, 100).unwrap();
		}
		assert_eq!(ledger.begin(0, 100), Err(Unpaid::Credit(CREDIT)));
		let now = ledger.now();
		take(&mut ledger, signed(now, &user())).unwrap();
		ledger.begin(0, 100).unwrap();
	}

	#[test]
	fn a_ledger_is_read_as_it_was_written_without_answers_that_were_under_way() {
		let mut ledger = ledger();
		ledger.begin(50, 1_000).unwrap();
		ledger.end(50, 10, H256::repeat_byte(9), b"{}".to_vec().into());
		let now = ledger.now();
		take(&mut ledger, signed(now, &user())).unwrap();
		let ended = ledger.clone();
		ledger.begin(50, 1_000).unwrap();
		assert_eq!(Ledger::decode(&mut &ledger.encode()[..]).unwrap(), ended);
	}
}
