//! Computes some answers anew, on a thread of its own, while others are given.

use super::Gateway;
use neuroshard_inference::{
	receipt::{
		check::{check, Known, Outcome},
		Transcript,
	},
	Model,
};
use rand::{rngs::OsRng, Rng};
use std::{
	io,
	sync::{
		mpsc::{sync_channel, Receiver, SyncSender, TrySendError},
		Weak,
	},
	thread,
};

/// Answers that wait to be computed. More are not checked.
const WAITING: usize = 64;

/// Hands answers to the thread that computes.
pub(super) struct Checker {
	share: f64,
	answers: SyncSender<Transcript>,
}

/// The other end.
pub(super) struct Work {
	model: Model,
	answers: Receiver<Transcript>,
}

impl Checker {
	/// Checks this share of the answers with `model`.
	pub(super) fn new(share: f64, model: Model) -> (Self, Work) {
		let (sender, receiver) = sync_channel(WAITING);
		(Self { share, answers: sender }, Work { model, answers: receiver })
	}

	/// Has an answer checked, or not. Whoever gave it cannot know.
	pub(super) fn offer(&self, transcript: &Transcript) {
		if !OsRng.gen_bool(self.share.clamp(0.0, 1.0)) {
			return;
		}
		match self.answers.try_send(transcript.clone()) {
			Ok(()) => {}
			Err(TrySendError::Full(_)) => {
				tracing::warn!("an answer is not checked: {WAITING} wait already. Name a smaller share with --check")
			}
			Err(TrySendError::Disconnected(_)) => tracing::error!("an answer is not checked: the thread that checks has ended"),
		}
	}
}

impl Work {
	/// Starts the thread, which ends with the gateway.
	pub(super) fn start(self, gateway: Weak<super::Inner>) -> io::Result<()> {
		let work = move || {
			let Self { mut model, answers } = self;
			for transcript in answers {
				let verdict = judge(&mut model, &transcript);
				let Some(gateway) = gateway.upgrade().map(Gateway) else { return };
				match verdict {
					Ok(()) => tracing::debug!("an answer was computed anew, and is right"),
					Err(False { doubt, why }) => gateway.disputed(&transcript, doubt, &why),
				}
			}
		};
		thread::Builder::new().name("check".into()).spawn(work).map(drop)
	}
}

/// An answer that the model does not give.
struct False {
	/// The first of its tokens, counted from 0, that is another one; `None` if that cannot be told.
	doubt: Option<u32>,
	why: String,
}

/// Checks an answer by the model itself.
fn judge(model: &mut Model, transcript: &Transcript) -> Result<(), False> {
	let (parameters, usable, text) = (model.root, model.usable(), &model.text);
	let known = Known { parameters, adapter: None, class: model.class, usable, ends: &|token| text.is_end(token) };
	match check(&mut *model.engine, known, transcript) {
		Ok(Outcome::Equal) => Ok(()),
		Ok(Outcome::Differs { index, told, own }) => {
			let told = told.map_or_else(|| "the end".to_owned(), |token| token.to_string());
			let why = format!("from token {index} of the answer on, the receipt has {told}, and the model gives {own}");
			Err(False { doubt: u32::try_from(index).ok(), why })
		}
		// The chain asks for no token.
		Ok(Outcome::OutOfRange(error)) => Err(False { doubt: Some(0), why: format!("nobody can claim its settings: {error}") }),
		Err(error) => Err(False { doubt: None, why: format!("it cannot be computed anew: {error}") }),
	}
}

#[cfg(test)]
mod tests {
	use super::{super::testing::given, *};
	use neuroshard_data::tokenizer::Tokenizer;
	use neuroshard_graph::Class;
	use neuroshard_training::{checkpoint::Checkpoint, presets};

	#[test]
	fn an_answer_that_the_model_does_not_give_is_told() {
		let (config, train) = presets::tiny();
		let params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		let mut model = Model::of_run("run-0".into(), &config, &Tokenizer::bytes(), &params, [5; 32], Class::ExactF32, 1).unwrap();
		let verdict = |model: &mut Model| judge(model, &given(0).transcript).map_err(|found| (found.doubt, found.why)).unwrap_err();
		let (doubt, why) = verdict(&mut model);
		assert!(doubt.is_some() && why.contains("of the answer on, the receipt has"), "{why}");
		model.root = Default::default();
		let (doubt, why) = verdict(&mut model);
		assert!(doubt.is_none() && why.contains("cannot be computed anew"), "{why}");
	}

	#[test]
	fn settings_out_of_range_are_disputed() {
		let (config, train) = presets::tiny();
		let params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		let mut model = Model::of_run("run-0".into(), &config, &Tokenizer::bytes(), &params, [5; 32], Class::ExactF32, 1).unwrap();
		let mut transcript = given(0).transcript;
		transcript.receipt.sampling.temperature = neuroshard_types::F32::new(3e38);
		(transcript.key, transcript.signature) = (None, None);
		let found = judge(&mut model, &transcript).unwrap_err();
		assert!(found.doubt == Some(0) && found.why.contains("temperature must be"), "{}", found.why);
	}

	#[test]
	fn all_or_none_are_checked_if_that_is_the_share() {
		let (config, train) = presets::tiny();
		let params = Checkpoint::genesis(0, &config, &train, 1).unwrap().params;
		for (share, expected) in [(0.0, 0), (1.0, 3)] {
			let model = Model::of_run("run-0".into(), &config, &Tokenizer::bytes(), &params, [5; 32], Class::ExactF32, 1).unwrap();
			let (checker, work) = Checker::new(share, model);
			(0..3).for_each(|index| checker.offer(&given(index).transcript));
			drop(checker);
			assert_eq!(work.answers.iter().count(), expected);
		}
	}
}
