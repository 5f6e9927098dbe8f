//! Disputes about answers: whoever says the truth wins on either side, whatever the other one does.
//!
//! `ANSWER_GAMES` says how many games are played at random (`cargo test --release -p neuroshard-graph --test answers -- --nocapture`
//! shows what they come to).

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use codec::Encode;
use common::{lively_theta, Lcg};
use neuroshard_compute::{
	exec::{Exec, Inference, Pages, Piece, Sequence, Stage, Wanted, PAGE_TOKENS},
	player::{AnswerStory, Job, PlayError, Player, Story, Traced},
	recorder::{record_choice, record_reading, record_row, row_hashes},
	trace::{Mistake, Trace},
};
use neuroshard_graph::{
	answer::{Answer, TokenList},
	cell::Cell,
	commit::{checkpoint_root, tensors_root},
	game::{open_answer, open_checkpoint, Entry, GameError, Move, Outcome, Position, Ruling, Setting, Side, Site, Subject},
	graph::{Op, Product},
	merkle::{merkle_root, prove, Hash},
	plan::Plan,
	sampler::{sample, Counts, Sampling},
	tiles::{bytes_of, leaf_hash},
	witness::{check, check_choice, check_row, choice_len, Agreed, Question, Source, Verdict, WitnessError, MAX_CHOICE, MAX_WITNESS},
	Class, ConfigError, Family, ModelConfig, ParamLayout, RopeScaling, TrainConfig, F32, MAX_TRAINED_VOCAB,
};
use std::{collections::BTreeMap, sync::Arc};

/// Most moves of any game after its opening.
const MOST_MOVES: usize = 6;
const ROUND: u32 = 3;
const CLASSES: [Class; 2] = [Class::ExactF32, Class::ExactInt8];

/// How a game ended.
#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
	Ruled(Ruling),
	/// This side made no legal move.
	Silent(Side),
}

/// What happened in a game.
struct Record {
	end: End,
	positions: Vec<Position>,
	moves: usize,
	/// Bytes of all moves.
	bytes: usize,
	witness: usize,
}

type Strategy<'a> = dyn FnMut(&Position, &[Move]) -> Option<Move> + 'a;

/// Plays a game to its end.
fn referee(setting: &Setting, first: Position, defender: &mut Strategy, challenger: &mut Strategy) -> Record {
	let (mut position, mut defence) = (first, Vec::new());
	let mut record = Record { end: End::Silent(Side::Defender), positions: vec![first], moves: 0, bytes: 0, witness: 0 };
	loop {
		let turn = position.turn();
		let action = match turn {
			Side::Defender => defender(&position, &defence),
			Side::Challenger => challenger(&position, &defence),
		};
		record.end = End::Silent(turn);
		let Some(action) = action else { return record };
		let played = position.play(setting, &action);
		if played.is_ok() {
			record.moves += 1;
			record.bytes += action.encoded_size();
			if let Move::Piece { witness, .. } | Move::Choice { witness, .. } = &action {
				record.witness = witness.len();
			}
		}
		assert!(record.moves <= MOST_MOVES, "a game goes on and on");
		match played {
			Err(_) => return record,
			Ok(Outcome::Decided(ruling)) => return Record { end: End::Ruled(ruling), ..record },
			Ok(Outcome::Next(next)) => {
				if turn == Side::Defender {
					defence.push(action);
				}
				assert!(record.positions.iter().all(|earlier| earlier.hash() != next.hash()), "{next:?} comes twice");
				position = next;
				record.positions.push(position);
			}
		}
	}
}

/// A strategy of a player.
fn honest<'a, 'b, S: Story>(player: &'a mut Player<'b, S>) -> impl FnMut(&Position, &[Move]) -> Option<Move> + use<'a, 'b, S>
where
	S::Error: std::fmt::Debug,
{
	move |position, defence| match player.play(position, defence) {
		Ok(action) => Some(action),
		Err(PlayError::Nothing) => None,
		Err(error) => panic!("a player is at a loss: {error:?}"),
	}
}

/// A number below `bound`.
fn below(random: &mut Lcg, bound: usize) -> usize {
	random.next() as usize % bound
}

fn any<T: Copy>(random: &mut Lcg, of: &[T]) -> T {
	of[below(random, of.len())]
}

/// The model, of any family, perhaps with heads of another width and scaled angles.
fn of_any_family(random: &mut Lcg, model: ModelConfig) -> ModelConfig {
	let family = any(random, &[Family::Llama, Family::Llama, Family::Qwen2, Family::Qwen3]);
	let width = if family.has_head_norms() { 32 } else { any(random, &[model.dim / model.heads, 64]) };
	let head_dim = (width * model.heads != model.dim).then_some(width);
	let [factor, low, high] = [8.0, 1.0, 4.0].map(F32::new);
	let llama3 = RopeScaling::Llama3 { factor, low, high, original: 16 };
	let rope_scaling = any(random, &[RopeScaling::None, RopeScaling::Linear { factor }, llama3]);
	ModelConfig { family, head_dim, rope_scaling, ..model }
}

/// A model, its checkpoint, and an answer.
#[derive(Clone)]
struct Case {
	model: ModelConfig,
	train: TrainConfig,
	theta: Vec<f32>,
	/// Roots of parameters and momentum.
	checkpoint: [Hash; 2],
	start: Hash,
	prompt: Vec<u32>,
	answer: Vec<u32>,
	ended: bool,
	sampling: Sampling,
	usable: u32,
	ends: Vec<u32>,
	class: Class,
}

impl Case {
	/// Without an answer.
	fn new(model: ModelConfig, seed: u64, prompt: Vec<u32>) -> Self {
		let (train, layout) = (TrainConfig::tiny(), ParamLayout::new(&model).unwrap());
		let theta = lively_theta(&layout, seed);
		let checkpoint = [tensors_root(&layout, &theta, 1), [9; 32]];
		let start = checkpoint_root(&checkpoint[0], &checkpoint[1], ROUND, u64::from(ROUND) * u64::from(train.inner_steps));
		let (sampling, usable) = (Sampling { seed, ..Sampling::default() }, model.vocab);
		let class = Class::default();
		Self { model, train, theta, checkpoint, start, prompt, answer: vec![], ended: false, sampling, usable, ends: vec![], class }
	}

	/// Any shape, prompt and settings, and what the model answers.
	fn random(random: &mut Lcg) -> Self {
		let (heads, kv_heads) = any(random, &[(2, 1), (1, 1), (4, 2), (2, 2)]);
		let wide = below(random, 12) == 0;
		let dim = if wide { 288 } else { any(random, &[32, 64]) };
		let model = ModelConfig {
			vocab: any(random, &[32, 64, 96, 288]),
			dim,
			layers: 1 + random.next() % 2,
			heads,
			kv_heads: if dim / heads % 32 == 0 || kv_heads == heads { kv_heads } else { heads },
			ffn: any(random, &[32, 96]),
			max_seq: if wide { 64 } else { any(random, &[32, 96, 352]) },
			tied: below(random, 2) == 0,
			..ModelConfig::tiny()
		};
		let model = of_any_family(random, model);
		let longest = model.max_seq as usize;
		let len = match below(random, 10) {
			0 => longest - below(random, 9),
			_ => 1 + below(random, longest.min(60) - 8),
		};
		let prompt = (0..len).map(|_| random.next() % model.vocab).collect();
		let mut case = Self::new(model, u64::from(random.next()), prompt);
		case.usable = 1 + random.next() % case.model.vocab;
		case.ends = (0..below(random, 6)).map(|_| random.next() % case.model.vocab).collect();
		case.sampling = settings(random);
		case.class = any(random, &CLASSES);
		let most = 1 + below(random, 10);
		case.answered(most)
	}

	/// With at most `most` tokens of what the model says.
	fn answered(mut self, most: usize) -> Self {
		(self.answer, self.ended) = (Vec::new(), false);
		self.go_on(most);
		self
	}

	fn inference(&self) -> Inference {
		let (exec, whole) = (Arc::new(Exec::new(1).unwrap()), Stage::whole(self.model.layers as usize));
		Inference::in_class(exec, &self.model, &self.theta, &whole, self.class).unwrap()
	}

	/// Adds what the model says behind the answer so far, until it has `most` tokens or ends.
	fn go_on(&mut self, most: usize) {
		let mut inference = self.inference();
		let pages = Pages::new(self.model.max_seq as usize / PAGE_TOKENS + 2);
		let (mut sequence, mut counts) = (Sequence::default(), Counts::default());
		counts.prompt(&self.prompt);
		self.answer.iter().for_each(|&token| counts.generated(token));
		let mut unread = [&self.prompt[..], &self.answer].concat();
		while self.answer.len() < most && sequence.len() + unread.len() <= inference.longest() {
			let piece = Piece { sequence: &mut sequence, tokens: &unread, wanted: Wanted::Last };
			let logits = inference.logits(&pages, &mut [piece]).unwrap();
			let position = (self.prompt.len() + self.answer.len()) as u32;
			let token = sample(logits, self.usable as usize, &counts, &self.sampling, position);
			if self.ends.contains(&token) {
				self.ended = true;
				return;
			}
			counts.generated(token);
			self.answer.push(token);
			unread = vec![token];
		}
	}

	fn claim(&self) -> Answer<'_> {
		let (prompt, answer) = (TokenList::of(&self.prompt), TokenList::of(&self.answer));
		let Self { ended, sampling, usable, class, .. } = *self;
		Answer { prompt, answer, ended, sampling, usable, ends: &self.ends, class }
	}

	fn setting(&self) -> Setting<'_> {
		Setting { model: &self.model, train: &self.train, round: ROUND, start: self.start, subject: Subject::Answer(self.claim()) }
	}

	fn text(&self) -> [&[u32]; 2] {
		[&self.prompt, &self.answer]
	}

	/// The truth about the answer.
	fn story(&self) -> AnswerStory {
		self.story_of(self.theta.clone())
	}

	/// The plan that reads it.
	fn plan(&self) -> Plan {
		Plan::reading(&self.model, self.claim().rows().unwrap(), self.class).unwrap()
	}

	/// What other parameters say about it.
	fn story_of(&self, theta: Vec<f32>) -> AnswerStory {
		let text = self.text().map(<[u32]>::to_vec);
		let exec = Arc::new(Exec::new(1).unwrap());
		AnswerStory::new(exec, &self.model, &self.train, (theta, self.checkpoint[1]), &self.claim(), text).unwrap()
	}

	fn challenger(&self) -> Player<'_, AnswerStory> {
		Player::new(self.setting(), Side::Challenger, self.story(), None)
	}

	fn defender(&self) -> Player<'_, AnswerStory> {
		Player::new(self.setting(), Side::Defender, self.story(), None)
	}

	/// An honest challenger against this defender. `None` if the claim is true.
	fn prosecute(&self, defender: &mut Strategy) -> Option<Record> {
		let (setting, mut challenger) = (self.setting(), self.challenger());
		let doubt = challenger.story().doubt(&self.claim()).unwrap()?;
		let first = open_answer(&setting, doubt).unwrap();
		let record = referee(&setting, first, defender, &mut honest(&mut challenger));
		Some(record)
	}

	/// [`Case::prosecute`] against a player.
	fn accuse(&self, mut defender: Player<'_, AnswerStory>) -> Option<Record> {
		let record = self.prosecute(&mut honest(&mut defender))?;
		Some(record)
	}

	/// [`Case::accuse`] against a machine with this mistake.
	fn accuse_mistaken(&self, mistake: Mistake) -> Option<Record> {
		self.accuse(Player::new(self.setting(), Side::Defender, self.story().with_mistake(mistake), None))
	}

	/// The claim of a machine with this mistake in it, which believes in what it computed: every token follows from its logits.
	fn mistaken(&self, mistake: Mistake) -> Self {
		let mut case = self.clone();
		for _ in 0..=case.answer.len() {
			let mut story = case.story().with_mistake(mistake);
			let Some(index) = story.doubt(&case.claim()).unwrap() else { break };
			let (place, row) = (index as usize, case.claim().row(index).unwrap());
			if place == case.answer.len() {
				break;
			}
			let mut counts = Counts::default();
			counts.prompt(&case.prompt);
			case.answer[..place].iter().for_each(|&token| counts.generated(token));
			let logits = story.trace(Job::Read).unwrap().trace.logits(row).unwrap();
			let position = case.prompt.len() as u32 + index;
			case.answer[place] = sample(logits, case.usable as usize, &counts, &case.sampling, position);
		}
		case
	}
}

/// Any settings that are in range, the plain ones often.
fn settings(random: &mut Lcg) -> Sampling {
	let seed = u64::from(random.next());
	let plain = Sampling { seed, ..Sampling::default() };
	match below(random, 4) {
		0 => plain,
		1 => Sampling { temperature: 0.0, ..plain },
		_ => Sampling {
			temperature: any(random, &[0.0, 0.01, 0.7, 1.0, 3.0]),
			top_k: any(random, &[0, 1, 3, 20]),
			top_p: any(random, &[1.0, 0.9, 0.3]),
			min_p: any(random, &[0.0, 0.05, 1.0]),
			repetition: any(random, &[1.0, 1.3, 0.5]),
			presence: any(random, &[0.0, 0.5, -1.0]),
			frequency: any(random, &[0.0, 0.2, -0.5]),
			seed,
		},
	}
}

fn mistake(random: &mut Lcg, case: &Case) -> Mistake {
	let stages = case.plan().stages().len();
	// High bits of the exponent and the mantissa have consequences.
	let mask = 1 << any(random, &[15, 20, 22, 24, 25, 26, 27, 30, 31]);
	Mistake { step: 0, stage: below(random, stages) as u32, output: 0, element: random.next().into(), mask }
}

/// What is false, and who lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Lie {
	/// One token is another one; what follows is what the model says then.
	Token,
	/// The text is said to end where it does not.
	Ending,
	/// Tokens were chosen with other settings.
	Settings,
	/// A bit of one value of one layer is wrong, and everything that follows is computed from it.
	Layer,
	/// The parameters are those of another checkpoint.
	Stale,
	/// The answer is one of the model in another class.
	Class,
	/// A wrong token, and a defender that posts anything, with or without a mistake beside that.
	Anything,
	/// None: the challenger picks anything, with proofs that hold.
	Vandal,
	/// None: the challenger changes what it sends as well.
	Forger,
	/// None: the challenger's machine has a mistake, or other parameters, and it believes in them.
	Wrong,
}

const LIES: [Lie; 10] =
	[Lie::Token, Lie::Ending, Lie::Settings, Lie::Layer, Lie::Stale, Lie::Class, Lie::Anything, Lie::Vandal, Lie::Forger, Lie::Wrong];

/// Another token in place of one.
fn with_other_token(mut case: Case, random: &mut Lcg) -> Case {
	if case.answer.is_empty() {
		case.ended = false;
		case.answer.push(random.next() % case.model.vocab);
	}
	let (count, place) = (case.answer.len(), below(random, case.answer.len()));
	// Often one that the model does not have.
	let other = any(random, &[1, 2, case.model.vocab, 70_000]);
	case.answer[place] = case.answer[place].wrapping_add(other);
	case.answer.truncate(place + 1);
	case.ended = false;
	if case.answer[place] < case.model.vocab {
		case.go_on(count);
	}
	case
}

/// Changes bytes, or the length.
fn edit(random: &mut Lcg, bytes: &mut Vec<u8>) {
	match below(random, 4) {
		_ if bytes.is_empty() => bytes.push(0),
		0 => bytes.push(random.next() as u8),
		1 => drop(bytes.pop()),
		_ => {
			let at = below(random, bytes.len());
			bytes[at] ^= 1 << (random.next() % 8);
		}
	}
}

/// What a challenger without a case picks.
fn vandal(case: &Case, truth: &mut AnswerStory, random: &mut Lcg, position: &Position, defence: &[Move], forge: bool) -> Option<Move> {
	let posted = defence.last().map_or(&[][..], Move::list);
	let entry = |index: usize| Some(Entry { hash: *posted.get(index)?, proof: prove(posted, index as u32)? });
	let at = below(random, posted.len().max(1));
	let mut action = match *position {
		Position::PickRead { .. } if below(random, 3) == 0 => Move::Vector(if forge { random.next() % 2 } else { 0 }),
		Position::PickRow { index, .. } => {
			let Traced { trace, nodes } = truth.trace(Job::Read).unwrap();
			let row = case.claim().row(index).unwrap();
			if below(random, 2) == 0 {
				let witness = record_row(trace, nodes, row, at as u32).unwrap();
				Move::Piece { piece: at as u32, before: None, after: Some(entry(at)?), witness }
			} else {
				let witness = record_choice(trace, case.text(), row).unwrap();
				assert_eq!(choice_len(case.model.vocab, (case.prompt.len() + case.answer.len()) as u32), witness.len());
				Move::Choice { index: if forge { index ^ (random.next() % 2) } else { index }, witness }
			}
		}
		Position::PickRead { .. } => Move::Node { index: at as u32, root: entry(at)? },
		Position::PickHash { .. } => Move::Hash { index: at as u32, entry: entry(at)? },
		Position::PickPiece { target, leaf, states, .. } => {
			let posted = if states == Hash::default() { &[][..] } else { posted };
			let piece = below(random, posted.len() + 1) as u32;
			let traced = truth.trace(Job::Read).unwrap();
			let cell = target.cell(traced.trace.plan(), leaf)?;
			let witness = record_reading(&traced.trace, &traced.nodes, case.text(), cell, piece).unwrap();
			let entry = |index: u32| Some(Entry { hash: *posted.get(index as usize)?, proof: prove(posted, index)? });
			Move::Piece { piece, before: piece.checked_sub(1).and_then(entry), after: entry(piece), witness }
		}
		_ => return None,
	};
	if let (true, Move::Choice { witness, .. } | Move::Piece { witness, .. }) = (forge, &mut action) {
		edit(random, witness);
	}
	Some(action)
}

/// One game at random. `None` if the claim of a liar turned out to be true.
fn game(lie: Lie, random: &mut Lcg) -> Option<Record> {
	let case = Case::random(random);
	// A prompt as long as the model reads may leave nothing to say.
	case.claim().rows()?;
	let truthful = |case: &Case| case.accuse(case.defender());
	match lie {
		Lie::Token => truthful(&with_other_token(case, random)),
		Lie::Ending => {
			let mut case = case;
			if case.ended || below(random, 2) == 0 {
				let shorter = below(random, case.answer.len().max(1));
				case.answer.truncate(shorter);
			}
			case.ended = true;
			if case.claim().rows()? > case.model.max_seq {
				return None;
			}
			truthful(&case)
		}
		Lie::Settings => {
			let mut case = case;
			let claimed = core::mem::replace(&mut case.sampling, settings(random));
			let count = case.answer.len().max(1);
			let case = Case { sampling: claimed, ..case.answered(count) };
			truthful(&case)
		}
		Lie::Layer => {
			// Most mistakes change no token.
			(0..40).find_map(|_| {
				let mistake = mistake(random, &case);
				case.mistaken(mistake).accuse_mistaken(mistake)
			})
		}
		Lie::Stale => {
			let stale = lively_theta(&ParamLayout::new(&case.model).unwrap(), u64::from(random.next()));
			let count = case.answer.len().max(1);
			let other = Case { theta: stale.clone(), ..case.clone() }.answered(count);
			let case = Case { answer: other.answer, ended: other.ended, ..case };
			// The roots of the true checkpoint are known to everybody.
			let bold = below(random, 4) > 0;
			let story = if bold { case.story().with_parameters(stale).unwrap() } else { case.story_of(stale) };
			case.accuse(Player::new(case.setting(), Side::Defender, story, None))
		}
		Lie::Class => {
			// A longer answer of a wide choice: the classes differ by little.
			let sampling = Sampling { seed: random.next().into(), ..Sampling::default() };
			let other = if case.class == Class::ExactF32 { Class::ExactInt8 } else { Class::ExactF32 };
			let told = Case { class: other, sampling, ..case.clone() }.answered(200);
			let case = Case { class: case.class, ..told.clone() };
			// It believes in the other class, or at least says what is true of this one.
			let story = if below(random, 2) == 0 { told.story() } else { case.story() };
			case.accuse(Player::new(case.setting(), Side::Defender, story, None))
		}
		Lie::Anything => {
			let case = with_other_token(case, random);
			let story = match below(random, 2) {
				0 => case.story(),
				_ => case.story().with_mistake(mistake(random, &case)),
			};
			let mut liar = Player::new(case.setting(), Side::Defender, story, None);
			let seed = random.next();
			let mut random = Lcg(u64::from(seed));
			let mut defender = |position: &Position, defence: &[Move]| {
				let mut action = liar.play(position, defence).ok()?;
				if let Move::Read { nodes: list, .. } | Move::Hashes(list) | Move::States(list) = &mut action {
					let at = below(&mut random, list.len());
					if random.next().is_multiple_of(2) {
						list[at] = any(&mut random, &[[0; 32], [7; 32], leaf_hash(&[0; 4_096])]);
					}
				}
				Some(action)
			};
			case.prosecute(&mut defender)
		}
		Lie::Vandal | Lie::Forger => {
			let (setting, mut truth) = (case.setting(), case.story());
			let first = open_answer(&setting, random.next() % case.claim().choices()).unwrap();
			let (mut defender, forge) = (case.defender(), lie == Lie::Forger);
			let mut challenger =
				|position: &Position, defence: &[Move]| vandal(&case, &mut truth, random, position, defence, forge && random_bit(position));
			let record = referee(&setting, first, &mut honest(&mut defender), &mut challenger);
			Some(record)
		}
		Lie::Wrong => {
			let setting = case.setting();
			let story = if below(random, 2) == 0 {
				case.story_of(lively_theta(&ParamLayout::new(&case.model).unwrap(), u64::from(random.next())))
			} else {
				case.story().with_mistake(mistake(random, &case))
			};
			let mut challenger = Player::new(setting, Side::Challenger, story, None);
			let doubt = challenger.story().doubt(&case.claim()).unwrap().unwrap_or(0);
			let first = open_answer(&setting, doubt).unwrap();
			let mut defender = case.defender();
			// Its witness may contradict what was agreed on.
			let mut challenge = |position: &Position, defence: &[Move]| challenger.play(position, defence).ok();
			let record = referee(&setting, first, &mut honest(&mut defender), &mut challenge);
			Some(record)
		}
	}
}

/// A bit that says whether a forger changes what it sends here.
fn random_bit(position: &Position) -> bool {
	position.hash()[0].is_multiple_of(2)
}

#[test]
fn liars_lose_and_honest_sides_never_do() {
	let games = std::env::var("ANSWER_GAMES").ok().and_then(|games| games.parse().ok()).unwrap_or(450usize);
	let seed = std::env::var("ANSWER_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1u64);
	let (mut played, mut largest, mut most, mut longest, mut total) = (0, 0, 0, 0, 0);
	let mut ends: BTreeMap<(Lie, String), usize> = BTreeMap::new();
	let mut number = seed << 32;
	while played < games {
		number += 1;
		let lie = LIES[number as usize % LIES.len()];
		let Some(record) = game(lie, &mut Lcg(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))) else {
			*ends.entry((lie, "no lie after all".into())).or_default() += 1;
			continue;
		};
		let expected = match lie {
			Lie::Token | Lie::Settings | Lie::Ending | Lie::Layer | Lie::Class => record.end == End::Ruled(Ruling::Fraud),
			Lie::Stale | Lie::Anything => matches!(record.end, End::Ruled(Ruling::Fraud) | End::Silent(Side::Defender)),
			Lie::Vandal => record.end == End::Ruled(Ruling::Unfounded),
			Lie::Forger | Lie::Wrong => matches!(record.end, End::Ruled(Ruling::Unfounded) | End::Silent(Side::Challenger)),
		};
		assert!(expected, "game {number}, {lie:?}: {:?} after {:?}", record.end, record.positions);
		assert!(record.witness <= MAX_WITNESS);
		let how = match record.positions.last() {
			Some(Position::PickPiece { .. }) => "piece",
			Some(Position::PickRow { .. }) => "row",
			Some(Position::PickRead { .. }) => "nodes",
			_ => "no move",
		};
		*ends.entry((lie, format!("{:?} ({how})", record.end))).or_default() += 1;
		(played, total) = (played + 1, total + record.bytes);
		(largest, most, longest) = (largest.max(record.witness), most.max(record.moves), longest.max(record.bytes));
	}
	println!(
		"{played} games: at most {most} moves after the opening, {longest} bytes in a game (mean {}), {largest} in a witness",
		total / played
	);
	ends.iter().for_each(|((lie, end), count)| println!("{count:>6}  {lie:?}: {end}"));
}

/// A small model with an answer of six tokens.
fn small() -> Case {
	small_in(Class::default())
}

/// [`small`] in a class.
fn small_in(class: Class) -> Case {
	let model = ModelConfig { vocab: 288, dim: 64, heads: 2, kv_heads: 1, ffn: 32, max_seq: 64, ..ModelConfig::tiny() };
	let mut case = Case::new(model, 5, (0..29).map(|token| token * 7 % 288).collect());
	(case.usable, case.class) = (257, class);
	case.answered(6)
}

#[test]
fn a_mistake_in_any_operator_is_decided_at_that_operator() {
	for class in CLASSES {
		let case = small_in(class);
		let plan = case.plan();
		for (stage, op) in (0..).zip(plan.stages().iter().map(|stage| stage.op)) {
			let mistakes = (0..200).map(|place| Mistake { step: 0, stage, output: 0, element: 17 + 389 * place, mask: 1 << 29 });
			let record = mistakes.into_iter().find_map(|mistake| case.mistaken(mistake).accuse_mistaken(mistake));
			let record = record.unwrap_or_else(|| panic!("no mistake in {op:?} has a consequence"));
			assert_eq!(record.end, End::Ruled(Ruling::Fraud), "{op:?}");
			let Some(&Position::PickPiece { target, leaf, .. }) = record.positions.last() else { panic!("{op:?}: not decided at a piece") };
			assert_eq!(plan.stages()[target.cell(&plan, leaf).unwrap().stage as usize].op, op);
		}
	}
}

#[test]
fn an_answer_in_eight_bits_is_true_only_in_that_class() {
	let case = small_in(Class::ExactInt8).answered(30);
	assert!(case.accuse(case.defender()).is_none());
	// Chosen by the logits of exact f32, or said to be.
	let honest = Case { class: Class::ExactF32, ..case.clone() }.answered(30);
	assert!(honest.accuse(honest.defender()).is_none());
	assert_ne!(case.answer, honest.answer);
	for (claimed, computed) in [(&case, &honest), (&honest, &case)] {
		let lie = Case { answer: computed.answer.clone(), ..claimed.clone() };
		let told = Case { class: computed.class, ..lie.clone() };
		let record = lie.accuse(Player::new(lie.setting(), Side::Defender, told.story(), None)).unwrap();
		assert_eq!(record.end, End::Ruled(Ruling::Fraud));
		// The first product is where the classes part.
		let Some(&Position::PickPiece { target, leaf, .. }) = record.positions.last() else { panic!("not decided at a piece") };
		let plan = lie.plan();
		let stage = target.cell(&plan, leaf).unwrap().stage as usize;
		assert_eq!(plan.stages().iter().position(|stage| matches!(stage.op, Op::Product(_))), Some(stage));
	}
}

#[test]
fn rows_of_a_trace_are_what_the_model_says_whatever_fills_up_the_text() {
	for case in CLASSES.map(small_in) {
		rows_are_what_the_model_says(&case);
	}
}

fn rows_are_what_the_model_says(case: &Case) {
	let mut inference = case.inference();
	let text = [&case.prompt[..], &case.answer].concat();
	let mut sequence = Sequence::default();
	let piece = Piece { sequence: &mut sequence, tokens: &text, wanted: Wanted::All };
	let logits = inference.logits(&Pages::new(4), &mut [piece]).unwrap();
	let exec = Arc::new(Exec::new(2).unwrap());
	for filling in [0, 7, u32::MAX] {
		let mut tokens = text.clone();
		tokens.resize(64, filling);
		let read = (tokens.as_slice(), case.class);
		let trace = Trace::reading(&exec, &case.model, &case.train, Arc::new(case.theta.clone()), read, None).unwrap();
		for (row, logits) in (0..).zip(logits.chunks(288)) {
			let traced = trace.logits(row).unwrap();
			assert!(traced.iter().map(|x| x.to_bits()).eq(logits.iter().map(|x| x.to_bits())), "row {row}");
		}
		assert_eq!((trace.logits(63).map(<[f32]>::len), trace.logits(64)), (Some(288), None));
	}
}

#[test]
fn the_reading_plan_is_the_forward_part_of_a_validation_plan() {
	let (model, train) = (common::tiny_model(), TrainConfig { batch: 1, seq_len: 64, ..common::tiny_train() });
	let plan = |tokens, class| Plan::reading(&model, tokens, class);
	let (reading, validation) = (plan(64, Class::ExactF32).unwrap(), Plan::validation(&model, &train).unwrap());
	let kinds = |plan: &Plan| -> Vec<_> { plan.stages().iter().map(|stage| (stage.op, stage.rows, stage.first_node)).collect() };
	let (read, validated) = (kinds(&reading), kinds(&validation));
	assert_eq!(read[..], validated[..read.len()]);
	let in_int8 = |op| if op == Op::Product(Product::Nt) { Op::Product(Product::Int8) } else { op };
	let expected: Vec<_> = read.iter().map(|&(op, rows, first)| (in_int8(op), rows, first)).collect();
	assert_eq!(kinds(&plan(64, Class::ExactInt8).unwrap()), expected);
	assert_eq!(expected.iter().filter(|(op, ..)| *op == Op::Product(Product::Int8)).count(), 7 * 2 + 1);
	assert!(matches!(validated[read.len()].0, Op::RowMax(_)));
	assert_eq!(reading.listed_nodes(), reading.node_count());
	let logits = reading.tensor(reading.last_output().unwrap()).unwrap();
	assert_eq!((logits.rows, logits.cols), (64, model.vocab));
	for (tokens, error) in
		[(0, ConfigError::Dimension), (33, ConfigError::Dimension), (96, ConfigError::TooLarge), (u32::MAX - 31, ConfigError::TooLarge)]
	{
		assert_eq!(plan(tokens, Class::ExactInt8), Err(error), "{tokens}");
	}
	let long = ModelConfig { max_seq: 1 << 20, heads: 4, kv_heads: 4, ..model };
	for class in CLASSES {
		assert!(Plan::reading(&long, 8_192, class).is_ok());
		assert_eq!(Plan::reading(&long, 8_224, class), Err(ConfigError::TooLarge));
	}
}

#[test]
fn claims_that_cannot_be_judged_are_not_opened() {
	let case = small();
	let open = |case: &Case, doubt| open_answer(&case.setting(), doubt);
	assert_eq!(open(&case, 0), Ok(Position::Read { index: 0 }));
	assert_eq!((open(&case, 5).is_ok(), open(&case, 6)), (true, Err(GameError::Place)));
	assert_eq!(open(&Case { ended: true, ..case.clone() }, 6), Ok(Position::Read { index: 6 }));
	assert_eq!(open(&Case { prompt: vec![], ..case.clone() }, 0), Err(GameError::Text));
	assert_eq!(open(&Case { answer: vec![], ..case.clone() }, 0), Err(GameError::Text));
	let warm = Sampling { temperature: 3e38, ..case.sampling };
	assert_eq!(open(&Case { sampling: warm, ..case.clone() }, 0), Err(GameError::Settings));
	assert_eq!(open_checkpoint(&case.setting()), Err(GameError::OtherClaim));
	// The last token of a cut answer is chosen with the longest text that the model reads, and not read itself.
	let full = Case { prompt: vec![1; 60], ..case.clone() }.answered(9);
	assert_eq!((full.answer.len(), full.claim().rows(), open(&full, 4).is_ok()), (5, Some(64), true));
	assert_eq!(open(&Case { ended: true, ..full }, 4), Err(GameError::Text));
	let long = ModelConfig { max_seq: 1 << 15, heads: 1, dim: 32, ..case.model.clone() };
	let text = |prompt| Case { model: long.clone(), prompt: vec![1; prompt], ..case.clone() };
	assert_eq!((open(&text(16_378), 0).is_ok(), open(&text(16_379), 0)), (true, Err(GameError::Text)));
	// Every vocabulary that is trained has room beside the longest text.
	let vocab = |vocab| Case { model: ModelConfig { vocab, ..long.clone() }, ..text(16_378) };
	assert_eq!(open(&vocab(MAX_TRAINED_VOCAB), 0), Ok(Position::Read { index: 0 }));
	assert_eq!(open(&vocab(MAX_TRAINED_VOCAB + 32), 0), Err(GameError::Config(ConfigError::TooLarge)));
	assert_eq!(choice_len(MAX_TRAINED_VOCAB, 16_384), MAX_CHOICE);
}

/// The row of a wrong token of an answer, with what both sides have posted before. The vocabulary has a second tile that is not full.
fn large_case() -> Case {
	let model = ModelConfig { vocab: 1_056, dim: 32, layers: 1, heads: 1, kv_heads: 1, ffn: 32, max_seq: 64, ..ModelConfig::tiny() };
	let mut case = Case::new(model, 5, (0..29).map(|token| token * 37 % 1_056).collect()).answered(4);
	case.answer[2] = (case.answer[2] + 1) % 1_056;
	case
}

#[test]
fn a_row_of_logits_that_is_not_what_the_nodes_say_is_decided_at_its_tile() {
	let case = large_case();
	let (setting, index) = (case.setting(), 2);
	for tile in [0, 1] {
		// A liar who stands by its token posts logits that lead to it, or anything.
		let mut truthful = case.defender();
		let mut liar = |position: &Position, defence: &[Move]| {
			let mut action = truthful.play(position, defence).unwrap();
			if let (Position::Row { .. }, Move::Hashes(list)) = (position, &mut action) {
				assert_eq!(list.len(), 2);
				list[tile] = [7; 32];
			}
			Some(action)
		};
		let record = referee(&setting, open_answer(&setting, index).unwrap(), &mut liar, &mut honest(&mut case.challenger()));
		assert_eq!((record.end, record.moves), (End::Ruled(Ruling::Fraud), 4));
		assert!(matches!(record.positions.last(), Some(Position::PickRow { .. })));
		// 32 tiles of logits, or the one that is left, each with its proofs: one node has all of the 33.
		assert!(record.witness > if tile == 0 { 32 * 4_096 } else { 4_096 } && record.witness <= MAX_WITNESS);
	}
	let record = case.accuse(case.defender()).unwrap();
	assert_eq!((record.end, record.moves, record.witness), (End::Ruled(Ruling::Fraud), 4, 4 * (2_048 + 29 + 4)));
}

#[test]
fn moves_about_a_row_that_do_not_fit_are_refused() {
	let case = large_case();
	let (setting, mut story) = (case.setting(), case.story());
	let claim = case.claim();
	let Traced { trace, nodes } = story.trace(Job::Read).unwrap();
	let row = claim.row(2).unwrap();
	let site = Site::Read { vectors: [case.checkpoint[0]], nodes: merkle_root(nodes) };
	let open = Position::Row { site, index: 2 };
	let hashes = row_hashes(trace, row).unwrap();
	assert_eq!(open.play(&setting, &Move::Hashes(vec![[0; 32]; 3])), Err(GameError::Length { expected: 2, found: 3 }));
	assert_eq!(open.play(&setting, &Move::Vector(0)), Err(GameError::WrongMove));
	let Ok(Outcome::Next(pick)) = open.play(&setting, &Move::Hashes(hashes.clone())) else { panic!("a legal move") };
	let entry = |index: usize| Entry { hash: hashes[index], proof: prove(&hashes, index as u32).unwrap() };
	let witness = |tile| record_row(trace, nodes, row, tile).unwrap();
	let piece = |piece, before, after, witness| pick.play(&setting, &Move::Piece { piece, before, after, witness });
	// What is right shows nothing against it.
	for tile in [0, 1] {
		let right = piece(tile, None, Some(entry(tile as usize)), witness(tile));
		assert_eq!(right, Ok(Outcome::Decided(Ruling::Unfounded)));
	}
	assert_eq!(piece(0, Some(entry(0)), Some(entry(1)), witness(0)), Err(GameError::Entry));
	assert_eq!(piece(0, None, None, witness(0)), Err(GameError::Entry));
	assert_eq!(piece(0, None, Some(entry(1)), witness(0)), Err(GameError::Entry));
	assert_eq!(piece(2, None, Some(entry(1)), witness(1)), Err(GameError::Place));
	assert_eq!(piece(1, None, Some(entry(1)), witness(0)), Err(GameError::Witness(WitnessError::Leaf(0))));
	assert_eq!(piece(1, None, Some(entry(1)), vec![0; MAX_WITNESS + 1]), Err(GameError::Witness(WitnessError::Length)));
	let agreed = Agreed { vectors: &case.checkpoint[..1], nodes: merkle_root(nodes), results: &[], tokens: None };
	assert!(matches!(check_row(trace.plan(), &agreed, 64, (0, [0; 32]), &[]), Err(WitnessError::Malformed(_))));
}

#[test]
fn moves_that_a_position_does_not_ask_for_are_refused() {
	let mut case = small();
	case.answer[3] = (case.answer[3] + 1) % 257;
	let (setting, mut defender, mut challenger) = (case.setting(), case.defender(), case.challenger());
	assert_eq!(challenger.story().doubt(&case.claim()), Ok(Some(3)));
	let first = open_answer(&setting, 3).unwrap();
	let read = defender.play(&first, &[]).unwrap();
	let Move::Read { start, nodes } = read.clone() else { panic!("{read:?}") };
	let count = nodes.len() as u32;
	for (action, error) in [
		(Move::Read { start: [start[1], start[0]], nodes: nodes.clone() }, GameError::Root),
		(Move::Read { start, nodes: nodes[1..].to_vec() }, GameError::Length { expected: count, found: count - 1 }),
		(Move::Hashes(nodes.clone()), GameError::WrongMove),
		(Move::Choice { index: 3, witness: vec![] }, GameError::WrongMove),
	] {
		assert_eq!(first.play(&setting, &action), Err(error));
	}
	let Ok(Outcome::Next(pick)) = first.play(&setting, &read) else { panic!("a legal move") };
	assert!(matches!(pick, Position::PickRead { site: Site::Read { .. }, index: 3 }));
	let all_right = challenger.play(&pick, std::slice::from_ref(&read)).unwrap();
	assert_eq!(all_right, Move::Vector(0));
	assert_eq!(pick.play(&setting, &Move::Vector(1)), Err(GameError::Place));
	assert_eq!(pick.play(&setting, &Move::Choice { index: 3, witness: vec![] }), Err(GameError::WrongMove));
	let Ok(Outcome::Next(row)) = pick.play(&setting, &all_right) else { panic!("a legal move") };
	let hashes = defender.play(&row, &[]).unwrap();
	let before = pick;
	let Ok(Outcome::Next(pick)) = row.play(&setting, &hashes) else { panic!("a legal move") };
	let Move::Choice { index: 3, witness } = challenger.play(&pick, &[read.clone(), hashes]).unwrap() else { panic!("a wrong token") };
	let choice = |index, witness: &[u8]| pick.play(&setting, &Move::Choice { index, witness: witness.to_vec() });
	assert_eq!(choice(3, &witness), Ok(Outcome::Decided(Ruling::Fraud)));
	assert_eq!(choice(2, &witness), Err(GameError::Place));
	assert!(choice(3, &witness[1..]).is_err() && choice(3, &[&witness[..], &[0]].concat()).is_err());
	// Tokens of the prompt, of the answer, and the row.
	for (at, leaf) in [(0, 0), (4 * 29, 1), (4 * 35, 2), (4 * 35 + 1_024 + 95, 2), (witness.len() - 1, 2)] {
		let mut forged = witness.clone();
		forged[at] ^= 1;
		assert_eq!(choice(3, &forged), Err(GameError::Witness(WitnessError::Leaf(leaf))), "byte {at}");
	}
	assert_eq!(pick.play(&setting, &Move::Vector(0)), Err(GameError::WrongMove));
	let pick = before;
	let Move::Read { nodes, .. } = &read else { panic!("{read:?}") };
	let node = |index| Move::Node { index, root: Entry { hash: nodes[0], proof: prove(nodes, 0).unwrap() } };
	assert!(pick.play(&setting, &node(0)).is_ok());
	assert_eq!((pick.play(&setting, &node(1)), pick.play(&setting, &node(count))), (Err(GameError::Entry), Err(GameError::Place)));
}

#[test]
fn what_is_stored_keeps_its_numbers() {
	let index = |bytes: Vec<u8>| bytes[0];
	let read = Site::Read { vectors: [[1; 32]], nodes: [2; 32] };
	assert_eq!((index(read.encode()), read.encode().len()), (3, 65));
	let step = Site::Step { step: 0, vectors: [[0; 32]; 3], nodes: [0; 32] };
	assert_eq!(index(step.encode()), 0);
	let aggregate = Site::Aggregate { step: 0, vectors: [[0; 32]; 2], gradient: [0; 32], nodes: [0; 32] };
	assert_eq!((index(aggregate.encode()), aggregate.encode().len()), (4, step.encode().len()));
	assert_eq!(
		index(
			Position::PickPiece { site: read, target: neuroshard_graph::game::Target::Node(0), leaf: 0, tile: [0; 32], states: [0; 32] }
				.encode()
		),
		12
	);
	assert_eq!((index(Position::Read { index: 0 }.encode()), index(Position::PickRead { site: read, index: 0 }.encode())), (13, 14));
	assert_eq!(index(Move::Piece { piece: 0, before: None, after: None, witness: vec![] }.encode()), 11);
	assert_eq!(
		(index(Move::Read { start: [[0; 32]; 2], nodes: vec![] }.encode()), index(Move::Choice { index: 0, witness: vec![] }.encode())),
		(12, 13)
	);
	let aggregate = Move::Aggregate { before: [[0; 32]; 2], after: [[0; 32]; 2], gradient: [0; 32], nodes: vec![] };
	assert_eq!(index(aggregate.encode()), 14);
	let rows = [Position::Row { site: read, index: 0 }.encode(), Position::PickRow { site: read, index: 0, row: [0; 32] }.encode()];
	assert_eq!(rows.map(index), [16, 17]);
	let errors = [GameError::OtherClaim, GameError::Text, GameError::Settings];
	assert_eq!(errors.map(|error| index(error.encode())), [7, 8, 10]);
}

#[test]
fn every_piece_of_reading_is_decided() {
	CLASSES.into_iter().for_each(every_piece_is_decided);
}

fn every_piece_is_decided(class: Class) {
	let model = ModelConfig { vocab: 320, dim: 320, heads: 2, kv_heads: 1, ffn: 288, layers: 1, max_seq: 320, ..ModelConfig::tiny() };
	let mut case = Case::new(model, 3, (0..280).map(|token| token * 7 % 330).collect());
	case.answer = vec![70_000, 1, 2, 3];
	(case.ended, case.class) = (true, class);
	let (mut story, mut random) = (case.story(), Lcg(5));
	let claim = case.claim();
	let Traced { trace, nodes } = story.trace(Job::Read).unwrap();
	let (plan, job) = (trace.plan(), trace.job());
	let agreed = Agreed { vectors: &case.checkpoint[..1], nodes: merkle_root(nodes), results: &[], tokens: Some(Source::Text(claim)) };
	let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
	for (number, stage) in (0..).zip(plan.stages()) {
		let info = plan.tensor(plan.outputs(stage)[0]).unwrap();
		for _ in 0..3 {
			let (row, col) = (random.next() % info.rows.div_ceil(32), random.next() % info.cols.div_ceil(32));
			let cell = Cell { stage: number, output: 0, row, col };
			let prefixes = trace.prefix_hashes(cell).unwrap();
			let tile = leaf_hash(&bytes_of(&*trace.tile_values(plan.outputs(stage)[0], row, col).unwrap()));
			for piece in 0..job.pieces(cell).unwrap() {
				let before = piece.checked_sub(1).map_or([0; 32], |before| prefixes[before as usize]);
				let question = Question { cell, piece, before, after: prefixes.get(piece as usize).copied().unwrap_or(tile) };
				let witness = record_reading(trace, nodes, case.text(), cell, piece).unwrap();
				let most = sizes.entry(format!("{:?}", stage.op)).or_default();
				*most = witness.len().max(*most);
				assert!(witness.len() <= MAX_WITNESS);
				assert_eq!(check(&job, &agreed, &question, &witness), Ok(Verdict::Upheld), "{:?}", stage.op);
				let lie = Question { after: [3; 32], ..question };
				assert_eq!(check(&job, &agreed, &lie, &witness), Ok(Verdict::Refuted));
				let mut longer = witness.clone();
				longer.push(0);
				assert_eq!(check(&job, &agreed, &question, &longer), Err(WitnessError::Length));
				if !witness.is_empty() {
					let mut forged = witness;
					let at = below(&mut random, forged.len());
					forged[at] ^= 1;
					let error = check(&job, &agreed, &question, &forged);
					assert!(matches!(error, Err(WitnessError::Leaf(_) | WitnessError::State)), "{:?}: byte {at}: {error:?}", stage.op);
				}
			}
		}
	}
	println!("{sizes:#?}");
	let nothing = Agreed { vectors: &[], nodes: [0; 32], results: &[], tokens: None };
	let question = Question { cell: Cell { stage: 0, output: 0, row: 0, col: 0 }, piece: 0, before: [0; 32], after: [0; 32] };
	assert_eq!(check(&job, &nothing, &question, &[]), Err(WitnessError::NoTokens));
	assert_eq!(check_choice(plan, &nothing, 0, &[0; 32], &[]), Err(WitnessError::NoTokens));
	assert_eq!(check_choice(plan, &agreed, 0, &[0; 32], &vec![0; MAX_CHOICE + 1]), Err(WitnessError::Length));
}
