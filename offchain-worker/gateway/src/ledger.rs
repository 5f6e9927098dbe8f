//! Account of a session, kept by the receipts of its answers: receipts in, vouchers out. Once a receipt is wrong, no more vouchers come out.

use super::{
	asked::Asked,
	lost::{Lost, Missing},
};
use neuroshard_disputes::answers::{check_disputable, Undisputable};
use neuroshard_graph::sampler::{self, SamplingError};
use neuroshard_inference::{
	receipt::{Malformed, Transcript},
	text::{Growing, TextError},
	Card,
};
use neuroshard_payments::Tally;
use neuroshard_types::{
	inference::{CheckpointId, Class, Prices, SessionId, Voucher},
	provider::PonwKey,
	run::RunConfig,
	AccountId, Balance, H256,
};
use std::{collections::BTreeMap, sync::Arc, time::Instant};

/// Receipts that may come before their turn. Providers begin fewer answers without a voucher.
const MOST_EARLY: usize = 64;

/// Terms that all receipts of a session must have.
#[derive(Clone)]
pub struct Terms {
	/// First block of the chain.
	pub genesis: H256,
	/// The session.
	pub session: SessionId,
	/// Provider that is paid.
	pub provider: AccountId,
	/// Its registered key for proofs.
	pub key: PonwKey,
	/// The offered checkpoint.
	pub checkpoint: CheckpointId,
	/// The run that it is of.
	pub config: Arc<RunConfig>,
	/// The offered arithmetic.
	pub class: Class,
	/// The offered prices.
	pub prices: Prices,
	/// Tokenizer and templates of the model.
	pub card: Arc<Card>,
}

/// Fault of an answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Wrong {
	#[error("the receipt contradicts itself: {0}")]
	Malformed(#[from] Malformed),
	#[error("the receipt is not signed")]
	Unsigned,
	#[error("the receipt is not signed with the key that the provider has registered")]
	OtherKey,
	#[error("the receipt is of another provider")]
	OtherProvider,
	#[error("the receipt is for another chain")]
	OtherChain,
	#[error("the receipt is not of session {0}")]
	OtherSession(SessionId),
	#[error("there are two receipts for answer {0} of the session")]
	Again(u32),
	#[error("there are two receipts for choice {0} of one request")]
	ChoiceAgain(u32),
	#[error("there are two answers for choice {0} of one request")]
	Twice(u32),
	#[error("choice {0} of one request goes on behind its receipt")]
	BehindReceipt(u32),
	#[error("the receipt is of no answer that broke off")]
	NotLost,
	#[error("the receipt for answer {0} of the session did not come, and too many did that follow it")]
	Gap(u32),
	#[error(
		"the receipt is about parameters {told:?}, and {offered:?} are offered: if the provider offers something else by now, a restart uses that"
	)]
	OtherParameters { told: H256, offered: H256 },
	#[error("the receipt names another round of a run than the offered one, or none: on chain it would be about another model")]
	OtherRound,
	#[error("the receipt is about another arithmetic than the offered one")]
	OtherClass,
	#[error("the receipt asks for {told} planck, and by the offered prices it is {agreed}")]
	Price { told: Balance, agreed: Balance },
	#[error("nobody asked for choice {0}")]
	Choice(u32),
	#[error("the receipt is about another prompt than the one that was asked")]
	OtherPrompt,
	#[error("the receipt has another {0} than the request, or than the API's default where the request names none")]
	Setting(&'static str),
	#[error("the receipt claims what nobody can claim: its {0}")]
	Impossible(#[from] SamplingError),
	#[error("if the answer were false, nobody could show it on chain: {0}")]
	Undisputable(#[from] Undisputable),
	#[error("the answer has {found} tokens, and at most {most} were asked for")]
	TooLong { found: u32, most: u32 },
	#[error("the answer goes on behind its end, at token {0}")]
	PastEnd(usize),
	#[error("the text of the answer is not that of the receipt's tokens")]
	OtherText,
	#[error("the receipt's tokens cannot be read: {0}")]
	Text(#[from] TextError),
	#[error("the answer is larger than any answer should be")]
	TooLarge,
	#[error("the answer cannot be read, since it is encoded as {0:?}")]
	Encoding(String),
	#[error("the answer cannot be read, since its type is {0:?}")]
	ContentType(String),
	#[error("{0}")]
	Stopped(String),
}

impl Wrong {
	/// Returns whether the receipt is false whatever the model says, so that it can be disputed.
	pub(super) fn is_false(&self) -> bool {
		matches!(self, Self::Impossible(_))
	}
}

/// An answer as the provider gave it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Given {
	/// Its place among the answers to one request.
	pub(super) choice: u32,
	/// Text that the client saw.
	pub(super) text: String,
	/// The receipt.
	pub(super) transcript: Transcript,
}

/// Account of a session.
pub(super) struct Ledger {
	terms: Terms,
	owed: Tally,
	/// Prices and hashes of receipts before whose turn others have to come.
	early: BTreeMap<u32, (Balance, H256)>,
	/// Answers whose receipts did not come.
	lost: Lost,
	/// Why nothing is paid any more.
	stopped: Option<String>,
}

impl Ledger {
	/// A session that goes on from `owed`.
	pub(super) fn new(terms: Terms, owed: Tally) -> Self {
		Self { terms, owed, early: BTreeMap::new(), lost: Lost::default(), stopped: None }
	}

	/// Returns the terms of the session.
	pub(super) fn terms(&self) -> &Terms {
		&self.terms
	}

	/// Returns the debt so far.
	pub(super) fn owed(&self) -> Tally {
		self.owed
	}

	/// Why nothing is paid any more, if that is so.
	pub(super) fn stopped(&self) -> Option<&str> {
		self.stopped.as_deref()
	}

	/// Pays nothing from now on. The first reason stays.
	pub(super) fn stop(&mut self, why: String) {
		self.stopped.get_or_insert(why);
	}

	/// The voucher for all answers so far.
	pub(super) fn voucher(&self) -> Voucher {
		self.owed.voucher(self.terms.session, self.terms.provider.clone())
	}

	/// Takes an answer to a request that asked for `asked`. Returns the next voucher; none if other answers have to come before.
	///
	/// # Errors
	/// [`Wrong`]: nothing is paid from then on.
	pub(super) fn take(&mut self, given: &Given, asked: &Asked) -> Result<Option<Voucher>, Wrong> {
		if let Some(why) = &self.stopped {
			return Err(Wrong::Stopped(why.clone()));
		}
		let Given { choice, text, transcript } = given;
		let taken = self.judge(*choice, text, transcript, asked).and_then(|index| {
			match self.lost.came(index, transcript.receipt.hash(transcript.genesis)) {
				true => Ok(None),
				false => self.note(index, transcript),
			}
		});
		taken.inspect_err(|wrong| self.stop(wrong.to_string()))
	}

	/// Notes answers to `asked` whose receipts did not come: all that are not in `seen` with `None`. The rest of it is what came of their texts.
	pub(super) fn lose(&mut self, asked: &Asked, seen: BTreeMap<u32, Option<String>>, now: Instant) {
		if self.stopped.is_none() {
			self.lost.add(asked, seen, now);
		}
	}

	/// Answers whose receipts did not come, and are waited for at `now`; none where nothing is paid any more.
	pub(super) fn lost(&mut self, now: Instant) -> usize {
		self.lost.forget_old(now);
		if self.stopped.is_none() {
			self.lost.len()
		} else {
			0
		}
	}

	/// Takes a receipt that the provider tells when it is asked, if it is that of an answer that broke off: then by all that an answer is held against, but for
	/// the end of its text, which nobody saw. Returns whether it was taken, and the next voucher; none if other answers have to come before. One that is known
	/// is passed over.
	///
	/// # Errors
	/// [`Wrong`]: it is not taken, and that is all. It may be the receipt of an answer that is on its way.
	pub(super) fn recover(&mut self, transcript: &Transcript) -> Result<(bool, Option<Voucher>), Wrong> {
		if let Some(why) = &self.stopped {
			return Err(Wrong::Stopped(why.clone()));
		}
		let index = self.agreed(transcript)?;
		if index < self.owed.answers || self.early.contains_key(&index) {
			return Ok((false, None));
		}
		check_disputable(&self.terms.config, self.terms.checkpoint.round, &transcript.receipt)?;
		let found = self.lost.find(|missing| fits(&self.terms.card, missing, transcript));
		let place = found.ok_or(Wrong::NotLost)?;
		let voucher = self.note(index, transcript)?;
		self.lost.found(place, index, transcript.receipt.hash(transcript.genesis));
		Ok((true, voucher))
	}

	/// Returns the number of answers that broke off which a receipt could be of.
	pub(super) fn fits(&self, transcript: &Transcript) -> usize {
		// Nothing is compared of what the provider has not signed, nor of a text that is longer than any.
		let disputable = || check_disputable(&self.terms.config, self.terms.checkpoint.round, &transcript.receipt).is_ok();
		match self.agreed(transcript).is_ok() && disputable() {
			true => self.lost.count(|missing| fits(&self.terms.card, missing, transcript)),
			false => 0,
		}
	}

	/// Notes that a receipt that was told is not taken. Whether it was not noted before.
	pub(super) fn refuse(&mut self, transcript: &Transcript) -> bool {
		self.lost.refuse(transcript.receipt.hash(transcript.genesis))
	}

	/// Checks that an answer is as it was asked and agreed, as far as can be seen without the model, and returns its place in the session.
	fn judge(&self, choice: u32, text: &str, transcript: &Transcript, asked: &Asked) -> Result<u32, Wrong> {
		let (terms, index) = (&self.terms, self.agreed(transcript)?);
		answers(choice, transcript, asked)?;
		check_disputable(&terms.config, terms.checkpoint.round, &transcript.receipt)?;
		match written(&terms.card, transcript, asked)? == text {
			true => Ok(index),
			false => Err(Wrong::OtherText),
		}
	}

	/// Checks that a receipt is as was agreed, whatever was asked, and returns its place in the session.
	fn agreed(&self, transcript: &Transcript) -> Result<u32, Wrong> {
		let (terms, receipt) = (&self.terms, &transcript.receipt);
		if !transcript.validate()? {
			return Err(Wrong::Unsigned);
		}
		if transcript.key != Some(terms.key) {
			return Err(Wrong::OtherKey);
		}
		if receipt.provider.as_ref() != Some(&terms.provider) {
			return Err(Wrong::OtherProvider);
		}
		if transcript.genesis != terms.genesis {
			return Err(Wrong::OtherChain);
		}
		let index = match receipt.paid {
			Some((session, index)) if session == terms.session => index,
			_ => return Err(Wrong::OtherSession(terms.session)),
		};
		if receipt.parameters != terms.checkpoint.root {
			return Err(Wrong::OtherParameters { told: receipt.parameters, offered: terms.checkpoint.root });
		}
		if receipt.checkpoint != Some((terms.checkpoint.run, terms.checkpoint.round)) {
			return Err(Wrong::OtherRound);
		}
		if receipt.class != terms.class {
			return Err(Wrong::OtherClass);
		}
		let agreed = terms.prices.of(receipt.prompt.count, receipt.answer.count);
		if receipt.price != agreed {
			return Err(Wrong::Price { told: receipt.price, agreed });
		}
		sampler::Sampling::from(receipt.sampling).validate()?;
		Ok(index)
	}

	/// Adds the answer at `index`, and those that waited for it.
	fn note(&mut self, index: u32, transcript: &Transcript) -> Result<Option<Voucher>, Wrong> {
		let Transcript { receipt, genesis, .. } = transcript;
		if index < self.owed.answers || self.early.contains_key(&index) {
			return Err(Wrong::Again(index));
		}
		if index > self.owed.answers && self.early.len() >= MOST_EARLY {
			return Err(Wrong::Gap(self.owed.answers));
		}
		self.early.insert(index, (receipt.price, receipt.hash(*genesis)));
		let before = self.owed.answers;
		while let Some((price, hash)) = self.early.remove(&self.owed.answers) {
			self.owed = self.owed.with(price, hash);
		}
		Ok((self.owed.answers > before).then(|| self.voucher()))
	}
}

/// Checks that a receipt is of an answer that was asked for, as the `choice`th one to `asked`.
fn answers(choice: u32, transcript: &Transcript, asked: &Asked) -> Result<(), Wrong> {
	let receipt = &transcript.receipt;
	if asked.prompt(choice).ok_or(Wrong::Choice(choice))? != transcript.prompt {
		return Err(Wrong::OtherPrompt);
	}
	if let Some(setting) = asked.other_setting(choice, &receipt.sampling) {
		return Err(Wrong::Setting(setting));
	}
	match asked.most.filter(|most| receipt.answer.count > *most) {
		Some(most) => Err(Wrong::TooLong { found: receipt.answer.count, most }),
		None => Ok(()),
	}
}

/// Returns whether a receipt can be of an answer that broke off.
fn fits(card: &Card, missing: &Missing, transcript: &Transcript) -> bool {
	answers(missing.choice, transcript, &missing.asked).is_ok()
		&& written(card, transcript, &missing.asked).is_ok_and(|text| text.starts_with(&missing.seen))
}

/// The text of an answer as its client sees it, which is as long as what was asked: nothing behind a token that ends texts, nor behind the token with which a
/// stop string is complete.
fn written(card: &Card, transcript: &Transcript, asked: &Asked) -> Result<String, Wrong> {
	let (mut growing, mut whole, mut stopped) = (Growing::after(&transcript.prompt), String::new(), None);
	for (place, token) in transcript.answer.iter().enumerate() {
		if stopped.is_some() || !asked.endless && card.text.is_end(*token) {
			return Err(Wrong::PastEnd(place));
		}
		let known = whole.len();
		whole += &growing.push(&card.text, *token)?;
		stopped = asked.stop(&whole, known);
	}
	if stopped.is_none() {
		let known = whole.len();
		whole += &growing.finish(&card.text)?;
		stopped = asked.stop(&whole, known);
	}
	whole.truncate(stopped.unwrap_or(whole.len()));
	Ok(whole)
}

#[cfg(test)]
mod tests {
	use super::{
		super::testing::{asked, given, receipt, resigned, terms},
		*,
	};
	use neuroshard_types::inference::chained;
	use neuroshard_types::inference::{Tokens, Voucher};

	fn ledger() -> Ledger {
		Ledger::new(terms(), Tally::default())
	}

	fn wrong(given: Given) -> String {
		let mut ledger = ledger();
		let words = ledger.take(&given, &asked()).unwrap_err().to_string();
		assert_eq!((ledger.stopped(), ledger.owed()), (Some(&*words), Tally::default()));
		words
	}

	#[test]
	fn a_voucher_is_for_all_answers_so_far() {
		let mut ledger = ledger();
		let (first, second) = (given(0), given(1));
		let price = terms().prices.of(first.transcript.receipt.prompt.count, 3);
		let hashes = [&first, &second].map(|given| given.transcript.receipt.hash(terms().genesis));
		let one = ledger.take(&first, &asked()).unwrap().unwrap();
		let receipts = chained(H256::zero(), hashes[0]);
		assert_eq!(one, Voucher { session: 7, provider: terms().provider, amount: price, answers: 1, receipts });
		let two = ledger.take(&second, &asked()).unwrap().unwrap();
		assert_eq!((two.amount, two.answers, two.receipts), (2 * price, 2, chained(receipts, hashes[1])));
	}

	#[test]
	fn answers_that_come_early_wait_for_their_turn() {
		let mut ordered = ledger();
		let all: Vec<_> = (0..4).map(|index| ordered.take(&given(index), &asked()).unwrap().unwrap()).collect();
		let mut ledger = ledger();
		assert_eq!(ledger.take(&given(2), &asked()).unwrap(), None);
		assert_eq!(ledger.take(&given(1), &asked()).unwrap(), None);
		assert_eq!(ledger.take(&given(0), &asked()).unwrap().as_ref(), Some(&all[2]));
		assert_eq!(ledger.take(&given(3), &asked()).unwrap().as_ref(), Some(&all[3]));
	}

	#[test]
	fn an_answer_that_never_comes_is_not_waited_for_without_end() {
		let mut ledger = ledger();
		let most = u32::try_from(MOST_EARLY).unwrap();
		for index in 1..=most {
			assert_eq!(ledger.take(&given(index), &asked()).unwrap(), None);
		}
		assert!(matches!(ledger.take(&given(most + 1), &asked()), Err(Wrong::Gap(0))));
		assert_eq!(ledger.owed(), Tally::default());
	}

	#[test]
	fn no_answer_is_paid_twice() {
		let mut ledger = ledger();
		ledger.take(&given(0), &asked()).unwrap();
		assert!(matches!(ledger.take(&given(0), &asked()), Err(Wrong::Again(0))));
		let mut ledger = Ledger::new(terms(), Tally::default());
		ledger.take(&given(1), &asked()).unwrap();
		assert!(matches!(ledger.take(&given(1), &asked()), Err(Wrong::Again(1))));
	}

	/// Has the answer to `asked` break off after `seen`.
	fn lose(ledger: &mut Ledger, asked: &Asked, seen: &str) {
		ledger.lose(asked, [(0, Some(seen.into()))].into(), Instant::now());
	}

	#[test]
	fn an_answer_that_broke_off_is_paid_for_once_by_the_receipt_that_is_told() {
		let (mut ordered, mut ledger) = (ledger(), ledger());
		let all: Vec<_> = (0..2).map(|index| ordered.take(&given(index), &asked()).unwrap().unwrap()).collect();
		lose(&mut ledger, &asked(), "ab");
		// Another answer has come behind it.
		assert_eq!(ledger.take(&given(1), &asked()).unwrap(), None);
		assert_eq!(ledger.recover(&given(1).transcript).unwrap(), (false, None), "it is known");
		assert_eq!(ledger.recover(&given(0).transcript).unwrap(), (true, Some(all[1].clone())));
		assert_eq!(ledger.recover(&given(0).transcript).unwrap(), (false, None));
		assert!(matches!(ledger.recover(&given(2).transcript), Err(Wrong::NotLost)), "one is lost, and one is paid");
		assert_eq!((ledger.lost(Instant::now()), ledger.stopped(), ledger.owed()), (0, None, ordered.owed()));
	}

	#[test]
	fn a_receipt_that_is_told_while_its_answer_is_on_its_way_is_paid_once() {
		// Two equal requests: the receipt of the second one is told first, and taken for that of the first one.
		let mut ledger = ledger();
		lose(&mut ledger, &asked(), "");
		assert_eq!(ledger.recover(&given(1).transcript).unwrap(), (true, None));
		assert_eq!(ledger.take(&given(1), &asked()).unwrap(), None);
		assert_eq!((ledger.lost(Instant::now()), ledger.stopped()), (1, None));
		let (taken, voucher) = ledger.recover(&given(0).transcript).unwrap();
		assert_eq!((taken, voucher.unwrap().answers, ledger.lost(Instant::now())), (true, 2, 0));
		// Once more is once too often.
		assert!(matches!(ledger.take(&given(1), &asked()), Err(Wrong::Again(1))));
	}

	#[test]
	fn a_receipt_that_is_told_is_held_against_all_that_was_asked_and_seen() {
		let refused = |transcript: &Transcript, asked: &Asked, seen: &str| {
			let mut ledger = ledger();
			lose(&mut ledger, asked, seen);
			let words = ledger.recover(transcript).unwrap_err().to_string();
			assert_eq!((ledger.lost(Instant::now()), ledger.stopped(), ledger.owed()), (1, None, Tally::default()));
			words
		};
		let right = given(0).transcript;
		assert_eq!(refused(&right, &asked(), "b"), Wrong::NotLost.to_string());
		assert_eq!(refused(&right, &asked(), "abcd"), Wrong::NotLost.to_string());
		let changed = |change: &dyn Fn(&mut Asked)| {
			let mut asked = asked();
			change(&mut asked);
			asked
		};
		assert_eq!(refused(&right, &changed(&|asked| asked.prompts = vec![vec![1, 2]]), "ab"), Wrong::NotLost.to_string());
		assert_eq!(refused(&right, &changed(&|asked| asked.most = Some(2)), "ab"), Wrong::NotLost.to_string());
		let seed = receipt(|receipt| receipt.sampling.seed += 1).transcript;
		assert_eq!(refused(&seed, &asked(), "ab"), Wrong::NotLost.to_string());
		let told = |change: fn(&mut neuroshard_types::inference::Receipt)| refused(&receipt(change).transcript, &asked(), "ab");
		assert!(told(|receipt| receipt.price += 1).contains("by the offered prices"));
		assert!(told(|receipt| receipt.paid = Some((8, 0))).contains("not of session 7"));
		assert!(told(|receipt| receipt.parameters = H256::zero()).contains("about parameters"));
		assert!(told(|receipt| receipt.usable = 288).contains("were chosen from 288"));
		assert!(refused(&resigned(0, 2, |_| {}).transcript, &asked(), "ab").contains("the key that the provider has registered"));
		let nothing = |transcript: &mut Transcript| {
			transcript.answer.clear();
			transcript.receipt.answer = Tokens::of(&[]);
			transcript.receipt.price = terms().prices.of(transcript.receipt.prompt.count, 0);
		};
		assert!(refused(&resigned(0, 1, nothing).transcript, &asked(), "").contains("nobody could show it on chain"));
		// Nobody lost anything.
		assert!(matches!(ledger().recover(&right), Err(Wrong::NotLost)));
		let mut stopped = ledger();
		lose(&mut stopped, &asked(), "ab");
		stopped.stop("for a reason".into());
		assert!(matches!(stopped.recover(&right), Err(Wrong::Stopped(_))));
	}

	#[test]
	fn no_receipt_fits_a_lost_answer_that_the_provider_has_not_signed() {
		let mut ledger = ledger();
		lose(&mut ledger, &asked(), "ab");
		assert_eq!(ledger.fits(&given(0).transcript), 1);
		let longer = Transcript { answer: vec![97, 98, 99, 100], ..given(0).transcript };
		assert_eq!([ledger.fits(&resigned(0, 2, |_| {}).transcript), ledger.fits(&longer)], [0, 0]);
	}

	#[test]
	fn nothing_is_paid_after_a_wrong_receipt() {
		let mut ledger = ledger();
		ledger.take(&given(0), &asked()).unwrap();
		let owed = ledger.owed();
		let unsigned = Given { transcript: Transcript { key: None, signature: None, ..given(1).transcript }, ..given(1) };
		assert!(matches!(ledger.take(&unsigned, &asked()), Err(Wrong::Unsigned)));
		assert!(matches!(ledger.take(&given(1), &asked()), Err(Wrong::Stopped(_))));
		assert_eq!((ledger.owed(), ledger.stopped()), (owed, Some("the receipt is not signed")));
	}

	#[test]
	fn receipts_of_others_and_forged_ones_are_not_paid() {
		let forged = Given { transcript: Transcript { signature: Some([7; 65]), ..given(0).transcript }, ..given(0) };
		assert!(wrong(forged).contains("the signature is not that of the key"));
		let mut changed = given(0);
		changed.transcript.answer.push(97);
		assert!(wrong(changed).contains("the answer is not the one"));
		assert!(wrong(resigned(0, 2, |_| {})).contains("the key that the provider has registered"));
		assert!(wrong(receipt(|receipt| receipt.provider = Some(AccountId::new([9; 32])))).contains("another provider"));
		assert!(wrong(receipt(|receipt| receipt.provider = None)).contains("another provider"));
		let mut foreign = resigned(0, 1, |transcript| transcript.genesis = H256::repeat_byte(9));
		foreign.text = given(0).text;
		assert!(wrong(foreign).contains("another chain"));
		assert!(wrong(receipt(|receipt| receipt.paid = Some((8, 0)))).contains("not of session 7"));
		assert!(wrong(receipt(|receipt| receipt.paid = None)).contains("not of session 7"));
	}

	#[test]
	fn answers_that_nobody_could_dispute_are_not_paid() {
		// Nothing was chosen.
		let words = wrong(resigned(0, 1, |transcript| {
			transcript.answer.clear();
			transcript.receipt.answer = Tokens::of(&[]);
			transcript.receipt.price = terms().prices.of(transcript.receipt.prompt.count, 0);
		}));
		assert!(words.contains("nobody could show it on chain"), "{words}");
		// The text is longer than what the model reads.
		let terms = terms();
		let room = usize::try_from(terms.config.model.max_seq).unwrap();
		let long = |generated: usize| {
			let answer = vec![97; generated];
			let mut given = resigned(0, 1, |transcript| {
				transcript.receipt.answer = Tokens::of(&answer);
				transcript.receipt.price = terms.prices.of(transcript.receipt.prompt.count, transcript.receipt.answer.count);
				transcript.answer = answer;
			});
			given.text = "a".repeat(generated);
			given
		};
		let mut asked = asked();
		asked.most = None;
		let prompt = asked.prompts[0].len();
		assert!(ledger().take(&long(room + 1 - prompt), &asked).is_ok());
		assert!(matches!(ledger().take(&long(room + 2 - prompt), &asked), Err(Wrong::Undisputable(_))));
	}

	#[test]
	fn receipts_that_are_not_what_was_agreed_or_asked_are_not_paid() {
		assert!(wrong(receipt(|receipt| receipt.parameters = H256::zero())).contains("about parameters"));
		assert!(wrong(receipt(|receipt| receipt.checkpoint = None)).contains("another round"));
		assert!(wrong(receipt(|receipt| receipt.usable = 288)).contains("were chosen from 288"));
		assert!(wrong(receipt(|receipt| receipt.price += 1)).contains("by the offered prices"));
		assert!(wrong(receipt(|receipt| receipt.price -= 1)).contains("by the offered prices"));
		assert!(wrong(receipt(|receipt| receipt.sampling.seed += 1)).contains("another seed"));
		assert!(wrong(Given { choice: 1, ..given(0) }).contains("nobody asked for choice 1"));
		assert!(wrong(Given { text: "other".into(), ..given(0) }).contains("the text of the answer"));
		assert!(wrong(Given { text: "ab".into(), ..given(0) }).contains("the text of the answer"));
		assert!(wrong(receipt(|receipt| receipt.sampling.top_k = 1)).contains("another top_k"), "the request names none");
		let mut ledger = ledger();
		let changed = |change: &dyn Fn(&mut Asked)| {
			let mut asked = asked();
			change(&mut asked);
			asked
		};
		let longer = changed(&|asked| asked.prompts = vec![vec![1, 2]]);
		assert!(matches!(ledger.take(&given(0), &longer), Err(Wrong::OtherPrompt)));
		let mut ledger = Ledger::new(terms(), Tally::default());
		let shorter = changed(&|asked| asked.most = Some(2));
		assert!(matches!(ledger.take(&given(0), &shorter), Err(Wrong::TooLong { found: 3, most: 2 })));
	}

	#[test]
	fn an_answer_that_goes_on_behind_its_end_is_not_paid() {
		let end = neuroshard_data::tokenizer::bytes::END_OF_TEXT;
		let with = |tokens: &[u32], text: &str| {
			let mut given = resigned(0, 1, |transcript| {
				transcript.answer = tokens.to_vec();
				transcript.receipt.answer = Tokens::of(tokens);
				transcript.receipt.price = terms().prices.of(transcript.receipt.prompt.count, transcript.receipt.answer.count);
			});
			given.text = text.into();
			given
		};
		let stopping = |strings: &[&str]| {
			let mut asked = asked();
			asked.stops = strings.iter().map(|stop| (*stop).to_owned()).collect();
			asked
		};
		for (answer, stops, is_paid) in [
			(with(&[97, 98, 99], "a"), &["bc"][..], true),
			(with(&[97, 98, 99], "ab"), &["c", "bcd"], true),
			(with(&[97, 98, 99], "abc"), &["d"], true),
			(with(&[97, 98, 99], "a"), &["b"], false),
			(with(&[97, 98, 99], "ab"), &[], false),
			(with(&[97, 98, 99], "ab"), &["bc"], false),
			(with(&[97, end], "a"), &[], false),
			(with(&[end, 97], "a"), &[], false),
		] {
			let taken = ledger().take(&answer, &stopping(stops));
			assert_eq!(taken.is_ok(), is_paid, "{:?} {stops:?}: {taken:?}", answer.transcript.answer);
			let mut lost = ledger();
			lose(&mut lost, &stopping(stops), &answer.text);
			// Of an answer that broke off, more may come than was seen.
			let is_paid = is_paid || stops.is_empty() && answer.text == "ab";
			assert_eq!(lost.recover(&answer.transcript).is_ok(), is_paid, "{:?} {stops:?}", answer.transcript.answer);
		}
		let mut endless = asked();
		endless.endless = true;
		assert!(ledger().take(&with(&[97, end, 98], "ab"), &endless).is_ok());
	}

	#[test]
	fn what_nobody_can_claim_is_false_and_not_only_other_than_asked() {
		use neuroshard_types::F32;
		for change in [
			(|receipt| receipt.sampling.temperature = F32::from(3e38)) as fn(&mut neuroshard_types::inference::Receipt),
			|receipt| receipt.sampling.presence = F32::from(-1e38),
			|receipt| receipt.sampling.repetition = F32::from(f32::NAN),
		] {
			let mut ledger = ledger();
			let told = receipt(change);
			assert!(ledger.take(&told, &asked()).unwrap_err().is_false());
			assert_eq!(ledger.owed(), Tally::default());
			let mut lost = super::tests::ledger();
			lose(&mut lost, &asked(), "");
			assert!(lost.recover(&told.transcript).unwrap_err().is_false());
		}
		let mut other = resigned(0, 2, |transcript| transcript.receipt.sampling.temperature = F32::from(3e38));
		other.text = "abc".into();
		assert!(!ledger().take(&other, &asked()).unwrap_err().is_false(), "nobody of this session has signed it");
	}
}
