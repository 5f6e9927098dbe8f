//! Answers that the offered checkpoint does not give.

use super::Cheat;
use clap::Args;
use neuroshard_compute::exec::{Exec, Inference, InferenceError, Pages, Piece, Wanted};
use neuroshard_disputes::answers::Lie;
use neuroshard_graph::{ModelConfig, ParamLayout};
use neuroshard_inference::{Engine, ModelError};
use neuroshard_training::checkpoint::{Checkpoint, CheckpointError};
use std::{io, path::PathBuf, sync::Arc};

/// A false token comes at each place in a text that is a multiple of this, unless the place is the prompt's.
const EVERY: usize = 32;
/// How many times too large the wrong weight is: enough to be heard in every answer.
const FACTOR: f32 = 64.0;
/// Logits of a row that leaves no choice.
const NEVER: f32 = -1e9;
/// The characters that false tokens are taken from: what is answered can still be read, and goes on.
const CHARACTERS: std::ops::Range<usize> = 0x20..0x7f;

/// What is wrong with the answers of a provider. Everything follows from the text and the parameters, so that a game about an answer can be played
/// after a restart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnswerLie {
	/// Each 32nd token of a text is the character that the model holds for the least likely.
	Token,
	/// One weight of a layer is wrong.
	Layer,
	/// The parameters are those of the older checkpoint that is in this folder.
	Checkpoint(PathBuf),
}

impl Lie for AnswerLie {
	fn parameters(&self, model: &ModelConfig, mut right: Vec<f32>) -> Result<Vec<f32>, CheckpointError> {
		let layout = ParamLayout::new(model).map_err(CheckpointError::Config)?;
		match self {
			Self::Token => Ok(right),
			Self::Layer => {
				let name = format!("model.layers.{}.input_layernorm.weight", model.layers / 2);
				let tensor = layout.tensors().iter().find(|tensor| tensor.name == name);
				// Every model has this layer, and all the parameters of its layout.
				if let Some(weight) = tensor.and_then(|tensor| right.get_mut(tensor.range())?.first_mut()) {
					*weight *= FACTOR;
				}
				Ok(right)
			}
			Self::Checkpoint(folder) => {
				let missing = || CheckpointError::Io { path: folder.clone(), source: io::ErrorKind::NotFound.into() };
				Ok(Checkpoint::load(folder, &layout, 1)?.ok_or_else(missing)?.params)
			}
		}
	}

	fn engine(&self, model: &ModelConfig, parameters: &[f32], threads: usize) -> Result<Box<dyn Engine>, ModelError> {
		let honest = Box::new(Inference::new(Arc::new(Exec::new(threads)?), model, parameters)?);
		Ok(match self {
			Self::Token => Box::new(FalseTokens { honest, rows: Vec::new() }),
			Self::Layer | Self::Checkpoint(_) => honest,
		})
	}
}

/// An engine that leaves no choice but the false one where it lies.
struct FalseTokens {
	honest: Box<dyn Engine>,
	rows: Vec<f32>,
}

impl Engine for FalseTokens {
	fn vocab(&self) -> usize {
		self.honest.vocab()
	}

	fn longest(&self) -> usize {
		self.honest.longest()
	}

	fn dim(&self) -> usize {
		self.honest.dim()
	}

	fn page_bytes(&self) -> usize {
		self.honest.page_bytes()
	}

	fn pages(&self, limit: usize) -> Pages {
		self.honest.pages(limit)
	}

	fn logits(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		// For each row the place of the token that is chosen from it.
		let places = |piece: &Piece| {
			let (read, all) = (piece.sequence.len(), piece.sequence.len().saturating_add(piece.tokens.len()));
			match piece.wanted {
				Wanted::Nothing => 0..0,
				Wanted::Last => all..all.saturating_add(1),
				Wanted::All => read.saturating_add(1)..all.saturating_add(1),
			}
		};
		let places: Vec<usize> = pieces.iter().flat_map(places).collect();
		let vocab = self.honest.vocab();
		self.rows.clear();
		self.rows.extend_from_slice(self.honest.logits(pages, pieces)?);
		for (row, place) in self.rows.chunks_exact_mut(vocab.max(1)).zip(places) {
			if place.is_multiple_of(EVERY) {
				say_the_least_likely(row);
			}
		}
		Ok(&self.rows)
	}

	fn hidden(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		self.honest.hidden(pages, pieces)
	}
}

/// Changes a row of logits so that whatever the settings are, the least likely character is chosen.
fn say_the_least_likely(row: &mut [f32]) {
	let characters = CHARACTERS.zip(row.get(CHARACTERS).unwrap_or_default().iter().copied());
	let least = characters.min_by(|(_, one), (_, other)| one.total_cmp(other));
	row.fill(NEVER);
	if let Some(logit) = least.and_then(|(least, _)| row.get_mut(least)) {
		*logit = 0.0;
	}
}

/// Options of `serve` that make a provider cheat.
#[derive(Clone, Debug, Args)]
pub struct AnswerCheat {
	/// Give false answers, to be caught. For networks that are there to watch that.
	#[arg(long, value_name = "KIND", value_parser = of_answers, requires = "provider", conflicts_with = "ring")]
	cheat: Option<Cheat>,
	/// With stale-checkpoint: folder of the older checkpoint.
	#[arg(long, value_name = "DIR", required_if_eq("cheat", "stale-checkpoint"))]
	cheat_checkpoint: Option<PathBuf>,
}

impl AnswerCheat {
	/// What is to be wrong; `None` if nothing is.
	pub fn lie(&self) -> Option<AnswerLie> {
		match self.cheat? {
			Cheat::WrongToken => Some(AnswerLie::Token),
			Cheat::WrongLayer => Some(AnswerLie::Layer),
			Cheat::StaleCheckpoint => self.cheat_checkpoint.clone().map(AnswerLie::Checkpoint),
			// No option of `serve` names the others.
			_ => None,
		}
	}
}

fn of_answers(name: &str) -> Result<Cheat, String> {
	Cheat::named(name, true)
}

#[cfg(test)]
mod tests {
	use super::*;
	use clap::Parser;
	use neuroshard_disputes::cases::case::Case;
	use neuroshard_graph::{
		game::{Move, Outcome, Ruling, Side},
		sampler::Sampling,
		TrainConfig,
	};
	use neuroshard_inference::{
		batcher::{Batcher, Job, Limits, Reply},
		receipt::{
			check::{check, Known, Outcome as Checked},
			Issuer, Transcript,
		},
	};
	use neuroshard_training::presets;
	use neuroshard_types::{
		dataset::{TextTokens, Tokenizer},
		dispute::AnswerClaim,
		inference::{Class, Ending, Prices},
		run::{PhaseDurations, RunConfig, RunStart},
	};
	use tokio::sync::mpsc;

	const PROMPT: [u32; 3] = [97, 98, 99];
	const MOST: u32 = 40;

	fn config() -> RunConfig {
		let (model, train) = presets::tiny();
		let (dataset, min_bond, durations) =
			(0, 1, PhaseDurations { joining: 1, training: 1, revealing: 1, availability: 1, checkpointing: 1 });
		let genesis_root = Checkpoint::genesis(0, &model, &train, 1).unwrap().header.root();
		let (name, rounds) = (b"tiny".to_vec().try_into().unwrap(), None);
		RunConfig {
			name,
			dataset,
			model,
			train,
			genesis_root,
			start: RunStart::Seed,
			min_participants: 1,
			max_participants: 2,
			min_bond,
			rounds,
			durations,
			tokenizer: Tokenizer::BYTES,
			overlaps: false,
			epochs: true,
		}
	}

	fn newest() -> Checkpoint {
		let RunConfig { model, train, .. } = config();
		Checkpoint::genesis(0, &model, &train, 1).unwrap()
	}

	/// What a server with this engine answers, with a receipt that names the newest checkpoint.
	fn answered(engine: Box<dyn Engine>, lookup: bool, sampling: Sampling) -> Transcript {
		let limits = Limits { active: 1, waiting: 1, memory: 64 << 20, lookup };
		let (batcher, _) = Batcher::start(engine, TextTokens::BYTES.usable as usize, |token| token == 256, limits).unwrap();
		let (reply, mut replies) = mpsc::channel(MOST as usize + 1);
		let job =
			Job { prompt: PROMPT.to_vec(), adapter: None, sampling, most: MOST, top: 0, log: false, echo: false, endless: true, reply };
		batcher.submit(vec![job]).unwrap();
		let mut answer = Vec::new();
		while let Some(Reply::Token(token)) = replies.blocking_recv() {
			answer.push(token.id);
		}
		let issuer = Issuer {
			parameters: newest().header.root(),
			checkpoint: None,
			class: Class::ExactF32,
			usable: TextTokens::BYTES.usable,
			signer: None,
			prices: Prices { prompt: 1, generated: 1 },
		};
		issuer.issue(&PROMPT, &answer, Ending::Cut, sampling, None)
	}

	/// The first token that is not the newest checkpoint's.
	fn wrong(transcript: &Transcript) -> Option<usize> {
		let mut honest = Inference::new(Arc::new(Exec::new(1).unwrap()), &config().model, &newest().params).unwrap();
		let known = Known {
			parameters: newest().header.root(),
			adapter: None,
			class: Class::ExactF32,
			usable: TextTokens::BYTES.usable as usize,
			ends: &|token| token == 256,
		};
		match check(&mut honest, known, transcript).unwrap() {
			Checked::Equal => None,
			Checked::Differs { index, .. } => Some(index),
			Checked::OutOfRange(error) => panic!("{error}"),
		}
	}

	/// Extrinsics of the dispute about an answer in which the liar says what it has computed, and how it ends.
	fn dispute(lie: &AnswerLie, transcript: &Transcript) -> (u32, Ruling) {
		let case = || {
			let claim = AnswerClaim { config: config(), receipt: transcript.receipt.clone() };
			let Checkpoint { params, header, .. } = newest();
			let text = [transcript.prompt.clone(), transcript.answer.clone()];
			Case::answer(Arc::new(Exec::new(1).unwrap()), 0, claim, (params, header.momentum.0), text).unwrap()
		};
		let (mut challenger, mut liar) = (case(), case().computed_with(|model, right| lie.parameters(model, right)).unwrap());
		let doubt = challenger.doubted_choice().unwrap().unwrap();
		let (mut position, mut defence, mut extrinsics) = (challenger.open_answer(doubt).unwrap(), Vec::<Move>::new(), 1);
		loop {
			let side = position.turn();
			let player = if side == Side::Defender { &mut liar } else { &mut challenger };
			let action = player.respond(side, &position, &defence).unwrap();
			extrinsics += 1;
			match challenger.grounds().judge(|setting| position.play(setting, &action)).unwrap() {
				Outcome::Decided(ruling) => return (extrinsics, ruling),
				Outcome::Next(next) => position = next,
			}
			if side == Side::Defender {
				defence.push(action);
			}
		}
	}

	fn engine(lie: &AnswerLie) -> Box<dyn Engine> {
		let model = config().model;
		lie.engine(&model, &lie.parameters(&model, newest().params).unwrap(), 1).unwrap()
	}

	#[test]
	fn a_false_token_comes_at_every_32nd_place_whatever_the_settings_and_however_a_text_is_read() {
		let plain = Sampling { seed: 3, ..Sampling::default() };
		let greedy = Sampling { temperature: 0.0, repetition: 1.3, presence: 0.5, ..plain };
		let narrow = Sampling { top_k: 5, top_p: 0.5, min_p: 0.1, ..plain };
		for sampling in [plain, greedy, narrow] {
			let [one, other] = [true, false].map(|lookup| answered(engine(&AnswerLie::Token), lookup, sampling));
			assert_eq!((one.answer.len(), &one.answer), (MOST as usize, &other.answer));
			assert_eq!(wrong(&one), Some(EVERY - PROMPT.len()));
			assert!(CHARACTERS.contains(&(one.answer[EVERY - PROMPT.len()] as usize)));
		}
	}

	#[test]
	fn every_liar_says_what_it_believes_in_and_loses_with_a_piece() {
		let older = tempfile::tempdir().unwrap();
		let (model, train) = presets::tiny();
		let before = Checkpoint::genesis(0, &model, &TrainConfig { seed: [1; 32], ..train }, 1).unwrap();
		before.save(older.path(), &ParamLayout::new(&model).unwrap()).unwrap();
		for (lie, extrinsics) in [(AnswerLie::Token, 5), (AnswerLie::Layer, 6), (AnswerLie::Checkpoint(older.path().into()), 6)] {
			let transcript = answered(engine(&lie), true, Sampling::default());
			assert!(wrong(&transcript).is_some(), "{lie:?}");
			assert_eq!(dispute(&lie, &transcript), (extrinsics, Ruling::Fraud), "{lie:?}");
		}
	}

	#[test]
	fn without_an_older_checkpoint_the_folder_is_named() {
		let error = AnswerLie::Checkpoint("/nowhere".into()).parameters(&config().model, newest().params).unwrap_err();
		assert!(error.to_string().contains("/nowhere"), "{error}");
	}

	#[derive(Parser)]
	struct Line {
		#[arg(long)]
		provider: bool,
		#[arg(long)]
		ring: bool,
		#[command(flatten)]
		cheat: AnswerCheat,
	}

	#[test]
	fn every_lie_is_asked_for_by_its_name_and_by_providers_only() {
		let lie = |line: &[&str]| Line::try_parse_from([&["serve"], line].concat()).map(|line| line.cheat.lie()).ok();
		assert_eq!(lie(&["--provider"]), Some(None));
		assert_eq!(lie(&["--provider", "--cheat", "wrong-token"]), Some(Some(AnswerLie::Token)));
		assert_eq!(lie(&["--provider", "--cheat", "wrong-layer"]), Some(Some(AnswerLie::Layer)));
		let stale = ["--provider", "--cheat", "stale-checkpoint", "--cheat-checkpoint", "/older"];
		assert_eq!(lie(&stale), Some(Some(AnswerLie::Checkpoint("/older".into()))));
		assert_eq!(lie(&stale[..3]), None);
		assert_eq!(lie(&["--cheat", "wrong-token"]), None);
		assert_eq!(lie(&["--provider", "--ring", "--cheat", "wrong-token"]), None);
	}
}
