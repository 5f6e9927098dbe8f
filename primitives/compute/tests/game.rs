//! Whole disputes: honest players win on either side, whatever the other one does, and every game ends.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{every_code, every_compressed, every_rule, lively_theta, sent, sent_as, small::other_families, steps_behind, text::Text, Lcg};
use neuroshard_compute::{
	exec::{aggregate, outer_step, Exec},
	player::{CheckpointStory, PlayError, Player, Story, WorkStart, WorkStory},
	recorder::Library,
	trace::Mistake,
};
use neuroshard_graph::{
	cell::Cell,
	commit::{checkpoint_root, tensors_root},
	corpus::{Corpus, Window},
	game::{open_checkpoint, open_work, Base, Doubt, GameError, Move, Outcome, Position, Ruling, Setting, Side, Subject},
	graph::Op,
	merkle::Hash,
	witness::MAX_WITNESS,
	Aggregator, Code, ModelConfig, Optimizer, ParamLayout, Products, Projections, Robust, Rule, TrainConfig, F32,
};
use proptest::prelude::*;
use std::{collections::BTreeSet, sync::Arc};

/// Most moves of any game after its opening.
const MOST_MOVES: usize = 10;

/// How a game ended.
#[derive(Clone, PartialEq, Debug)]
enum End {
	Ruled(Ruling),
	/// This side made no legal move.
	Silent(Side),
}

/// What happened in a game.
struct Record {
	end: End,
	positions: Vec<Position>,
	witness: usize,
}

type Strategy<'a> = dyn FnMut(&Position, &[Move]) -> Option<Move> + 'a;

/// Plays a game to its end.
fn referee(setting: &Setting, first: Position, defender: &mut Strategy, challenger: &mut Strategy) -> Record {
	let (mut position, mut defence, mut positions, mut witness) = (first, Vec::new(), vec![first], 0);
	loop {
		let turn = position.turn();
		let action = match turn {
			Side::Defender => defender(&position, &defence),
			Side::Challenger => challenger(&position, &defence),
		};
		let Some(action) = action else { return Record { end: End::Silent(turn), positions, witness } };
		if let Move::Piece { witness: bytes, .. } = &action {
			witness = bytes.len();
		}
		match position.play(setting, &action) {
			Err(_) => return Record { end: End::Silent(turn), positions, witness },
			Ok(Outcome::Decided(ruling)) => return Record { end: End::Ruled(ruling), positions, witness },
			Ok(Outcome::Next(next)) => {
				if turn == Side::Defender {
					defence.push(action);
				}
				// A move names the position that it answers: none comes twice in a game.
				assert!(positions.iter().all(|earlier| earlier.hash() != next.hash()), "{next:?} comes twice");
				position = next;
				positions.push(position);
				assert!(positions.len() <= MOST_MOVES, "a game goes on and on");
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
		Err(error) => panic!("an honest player is at a loss: {error:?}"),
	}
}

/// A round on random text.
struct Round {
	model: ModelConfig,
	train: TrainConfig,
	text: Text,
	theta: Vec<f32>,
	momentum: Hash,
	start: Hash,
	/// Inner steps of the work.
	steps: u32,
	/// Parameters of the model that an adapter is beside.
	beside: Option<Arc<Vec<f32>>>,
	/// Parameters that the delta is the difference from, if not from those that it starts from, and the round that starts from their checkpoint.
	base: Option<(Vec<f32>, u32)>,
}

const ADOPTED: u32 = 2;

fn window_of(step: u32, sequence: u32) -> Option<Window> {
	Some(Window { shard: (step + sequence) % 3, start: step * 300 + sequence * 40 })
}

impl Round {
	fn new(model: ModelConfig, train: TrainConfig) -> Self {
		let layout = ParamLayout::trained(&model, &train).unwrap();
		let theta = lively_theta(&layout, 1);
		let momentum = tensors_root(&layout, &vec![0.0; layout.len()], 1);
		let steps = u64::from(ADOPTED) * u64::from(train.inner_steps);
		let start = checkpoint_root(&tensors_root(&layout, &theta, 1), &momentum, ADOPTED, steps);
		let text = Text::random(3, 6_000, model.vocab, 3);
		let steps = train.inner_steps;
		Self { model, train, text, theta, momentum, start, steps, beside: None, base: None }
	}

	/// One layer, two steps to an interval, a last interval of one step.
	fn small() -> Self {
		let model = ModelConfig { vocab: 64, dim: 64, heads: 2, kv_heads: 1, ffn: 32, max_seq: 64, ..ModelConfig::tiny() };
		Self::new(model, TrainConfig { batch: 1, inner_steps: 5, commit_interval: 2, ..TrainConfig::tiny() })
	}

	/// A round of an adapter with this rank on all projections.
	fn of_adapter(rank: u32) -> Self {
		let small = Self::small();
		let layout = ParamLayout::new(&small.model).unwrap();
		let beside = lively_theta(&layout, 4);
		let adapter = common::adapter(tensors_root(&layout, &beside, 1), rank, Projections::ALL);
		let round = Self::new(small.model, TrainConfig { adapter: Some(adapter), ..small.train });
		Self { beside: Some(Arc::new(beside)), ..round }
	}

	/// The same round, whose delta is the difference from another checkpoint than its inner steps start from.
	fn with_base(self) -> Self {
		let base = lively_theta(&ParamLayout::new(&self.model).unwrap(), 9);
		assert_ne!(base, self.theta);
		Self { base: Some((base, ADOPTED + 1)), ..self }
	}

	/// The checkpoint that the delta is the difference from.
	fn base(&self) -> Option<Base> {
		let (params, round) = self.base.as_ref()?;
		let params = tensors_root(&ParamLayout::new(&self.model).unwrap(), params, 1);
		let steps = u64::from(*round) * u64::from(self.train.inner_steps);
		Some(Base { checkpoint: checkpoint_root(&params, &self.momentum, *round, steps), round: *round })
	}

	fn corpus(&self) -> Corpus {
		self.text.corpus()
	}

	fn setting(&self, corpus: Corpus) -> Setting<'_> {
		Setting {
			model: &self.model,
			train: &self.train,
			round: ADOPTED,
			start: self.start,
			subject: Subject::Work { corpus, window: &window_of, steps: self.steps, base: self.base(), quorum: None },
		}
	}

	fn story(&self) -> WorkStory<impl FnMut(u32, u32, &mut [u32]) -> Result<(), String> + '_> {
		let read = |step, sequence, buffer: &mut [u32]| {
			let window = window_of(step, sequence).ok_or("no window")?;
			buffer.copy_from_slice(self.text.read(window, self.train.seq_len));
			Ok(())
		};
		let start = WorkStart { theta: self.theta.clone(), momentum: self.momentum, model: self.beside.clone() };
		let story = WorkStory::new(Arc::new(Exec::new(1).unwrap()), &self.model, &self.train, ADOPTED, start, read).unwrap();
		let story = story.with_steps(self.steps);
		match &self.base {
			Some((params, _)) => story.with_base((params.clone(), self.momentum)).unwrap(),
			None => story,
		}
	}

	fn story_with(&self, mistake: Mistake) -> WorkStory<impl FnMut(u32, u32, &mut [u32]) -> Result<(), String> + '_> {
		self.story().with_mistake(mistake)
	}

	/// What is revealed of a story.
	fn reveal(&self, story: &mut WorkStory<impl FnMut(u32, u32, &mut [u32]) -> Result<(), String>>) -> Option<(Vec<Hash>, Hash)> {
		let roots = story.roots(0, self.steps).unwrap();
		let (_, delta) = story.delta().unwrap()?;
		let committed = (1..).zip(roots).filter(|(step, _)| self.train.commits_after(*step)).map(|(_, root)| root).collect();
		Some((committed, delta))
	}

	/// A machine with a mistake in it, which believes in what it computed, against an honest challenger. `None` if the mistake has no
	/// consequence.
	fn dispute(&self, mistake: Mistake) -> Option<Record> {
		let corpus = self.corpus();
		let setting = self.setting(corpus);
		let mut defender = Player::new(setting, Side::Defender, self.story_with(mistake), None);
		let (roots, delta) = self.reveal(defender.story())?;
		let mut challenger = Player::new(setting, Side::Challenger, self.story(), Some(&self.text as &dyn Library));
		let doubt = challenger.story().doubt(&roots, delta).unwrap()?;
		let first = open_work(&setting, &roots, delta, doubt).unwrap();
		let record = referee(&setting, first, &mut honest(&mut defender), &mut honest(&mut challenger));
		Some(record)
	}

	/// The operator that a game came down to.
	fn operator(&self, record: &Record) -> Option<Op> {
		let &Position::PickPiece { site, target, leaf, .. } = record.positions.last()? else { return None };
		let plan = self.setting(self.corpus()).plan(&site).unwrap();
		let Cell { stage, .. } = target.cell(&plan, leaf)?;
		Some(plan.stages()[stage as usize].op)
	}
}

#[test]
fn a_mistake_in_any_operator_of_a_step_is_found_and_decided_at_that_operator() {
	// The loss is reported, and nothing is computed from it: see the next test.
	let silent = mistakes_are_found(&Round::small(), |_| true);
	assert_eq!(silent.into_iter().collect::<Vec<_>>(), ["LossRows", "MeanLoss", "TileSums", "TreeSum"]);
}

#[test]
fn a_mistake_in_any_operator_of_an_adapters_step_is_found_and_decided_at_that_operator() {
	use neuroshard_graph::graph::Product;
	let silent = mistakes_are_found(&Round::of_adapter(8), |_| true);
	assert_eq!(silent.into_iter().collect::<Vec<_>>(), ["LossRows", "MeanLoss", "TileSums", "TreeSum"]);
	let own = |op| matches!(op, Op::Scale | Op::Product(Product::Tn) | Op::AdamW);
	assert_eq!(mistakes_are_found(&Round::of_adapter(40), own), BTreeSet::new());
}

#[test]
fn a_mistake_in_any_operator_of_a_step_of_muon_is_found_and_decided_at_that_operator() {
	let small = Round::small();
	let train = TrainConfig { optimizer: Optimizer::Muon { momentum: F32::new(0.95) }, ..small.train.clone() };
	let round = Round { train, ..Round::small() };
	let plan = neuroshard_graph::plan::Plan::training(&round.model, &round.train).unwrap();
	let first = plan.job.unwrap().update.unwrap().first_direction;
	assert_eq!(mistakes_at(&round, |stage, _| stage >= first), BTreeSet::new());
}

#[test]
fn a_mistake_in_any_product_of_a_step_in_exact_int8_is_found_and_decided_at_that_product() {
	use neuroshard_graph::graph::Product::{Int8Nn, Int8Nt, Int8Tn};
	let small = Round::small();
	let round = Round::new(small.model, TrainConfig { products: Products::Int8, ..small.train });
	let own = |op| matches!(op, Op::Product(Int8Nt | Int8Nn | Int8Tn));
	assert_eq!(mistakes_are_found(&round, own), BTreeSet::new());
	// With another maximum a softmax is only rounded otherwise, which is lost where it is rounded to 8 bits: that mistake changes nothing.
	let silent = mistakes_are_found(&round, |op| !own(op));
	assert_eq!(silent.into_iter().collect::<Vec<_>>(), ["LossRows", "MeanLoss", "RowMax(Causal)", "TileSums", "TreeSum"]);
}

#[test]
fn a_step_in_f32_of_a_run_in_exact_int8_is_decided_at_its_first_product() {
	use neuroshard_graph::graph::Product::Int8Nt;
	let small = Round::small();
	let round = Round::new(small.model, TrainConfig { products: Products::Int8, ..small.train });
	let corpus = round.corpus();
	let setting = round.setting(corpus);
	let exact = Round::small();
	let mut liar = Player::new(setting, Side::Defender, exact.story(), Some(&round.text as &dyn Library));
	let (roots, delta) = round.reveal(liar.story()).unwrap();
	let mut challenger = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
	let doubt = challenger.story().doubt(&roots, delta).unwrap().unwrap();
	let first = open_work(&setting, &roots, delta, doubt).unwrap();
	let record = referee(&setting, first, &mut honest(&mut liar), &mut honest(&mut challenger));
	assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(Op::Product(Int8Nt))));
}

#[test]
fn an_adapter_that_was_trained_beside_another_base_is_decided_against_the_one_that_the_run_names() {
	let round = Round::of_adapter(32);
	let corpus = round.corpus();
	let setting = round.setting(corpus);
	let other = lively_theta(&ParamLayout::new(&round.model).unwrap(), 5);
	assert_ne!(round.beside.as_deref(), Some(&other));
	let wrong = Round { beside: Some(Arc::new(other)), ..Round::of_adapter(32) };
	let mut liar = Player::new(setting, Side::Defender, wrong.story(), Some(&round.text as &dyn Library));
	let (roots, delta) = round.reveal(liar.story()).unwrap();
	let mut challenger = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
	let doubt = challenger.story().doubt(&roots, delta).unwrap().unwrap();
	let first = open_work(&setting, &roots, delta, doubt).unwrap();
	let record = referee(&setting, first, &mut honest(&mut liar), &mut honest(&mut challenger));
	// The first thing that is read of the base is its embedding.
	assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(Op::Gather)));
	// Whoever has the right one has nothing to fear from who has not.
	let mut right = Player::new(setting, Side::Defender, round.story(), Some(&round.text as &dyn Library));
	let (roots, delta) = round.reveal(right.story()).unwrap();
	let mut accuser = Player::new(setting, Side::Challenger, wrong.story(), Some(&round.text as &dyn Library));
	let doubt = accuser.story().doubt(&roots, delta).unwrap().unwrap();
	let first = open_work(&setting, &roots, delta, doubt).unwrap();
	let record = referee(&setting, first, &mut honest(&mut right), &mut honest(&mut accuser));
	assert_ne!(record.end, End::Ruled(Ruling::Fraud));
	assert_ne!(record.end, End::Silent(Side::Defender));
}

#[test]
fn a_mistake_in_what_is_made_of_a_mask_is_found_and_decided_at_that_operator() {
	let small = Round::small();
	let train = TrainConfig { masked: true, ..small.train.clone() };
	let round = Round { text: small.text.masked(5), train, ..Round::small() };
	let own = |op| matches!(op, Op::CountTargets | Op::TileSums | Op::TreeSum | Op::LossRows | Op::MeanLoss | Op::LossBack);
	// The sums of counts change the gradient; the loss and its sums change nothing.
	assert_eq!(mistakes_are_found(&round, own).into_iter().collect::<Vec<_>>(), ["LossRows", "MeanLoss", "TileSums", "TreeSum"]);
	let stages = neuroshard_graph::plan::Plan::training(&round.model, &round.train).unwrap();
	let counting = stages.stages().iter().take_while(|stage| stage.op != Op::Gather).map(|stage| stage.op);
	assert_eq!(counting.collect::<Vec<_>>(), [Op::CountTargets, Op::TileSums, Op::TreeSum]);
	for (stage, op) in [(1, Op::TileSums), (2, Op::TreeSum)] {
		let record = round.dispute(Mistake { step: 3, stage, output: 0, element: 0, mask: 1 << 22 }).unwrap();
		assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(op)));
	}
}

#[test]
fn a_step_that_takes_every_token_as_a_target_is_decided_where_targets_are_counted() {
	let small = Round::small();
	let train = TrainConfig { masked: true, ..small.train.clone() };
	let round = Round { text: small.text.masked(5), train, ..Round::small() };
	let corpus = round.corpus();
	let setting = round.setting(corpus);
	// The liar reads its windows without their mask.
	let unmasked = Round { text: Round::small().text, train: round.train.clone(), ..Round::small() };
	let mut liar = Player::new(setting, Side::Defender, unmasked.story(), Some(&round.text as &dyn Library));
	let (roots, delta) = round.reveal(liar.story()).unwrap();
	let mut challenger = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
	let doubt = challenger.story().doubt(&roots, delta).unwrap().unwrap();
	let first = open_work(&setting, &roots, delta, doubt).unwrap();
	let record = referee(&setting, first, &mut honest(&mut liar), &mut honest(&mut challenger));
	assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(Op::CountTargets)));
	// Who reads the mask is right.
	let mut challenger = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
	let (roots, delta) = round.reveal(&mut round.story()).unwrap();
	assert_eq!(challenger.story().doubt(&roots, delta).unwrap(), None);
}

#[test]
fn a_mistake_in_any_operator_of_biases_and_norms_of_heads_is_found_and_decided_at_that_operator() {
	use Op::{AddBias, ColumnSums, RmsApply, RmsBackApply, RmsBackStats, RmsStats, RmsWeightGrad, Rope, RopeBack};
	for model in other_families() {
		let round = Round::new(
			ModelConfig { layers: 1, ..model },
			TrainConfig { batch: 1, inner_steps: 5, commit_interval: 2, ..TrainConfig::tiny() },
		);
		let own = |op| {
			let norms = matches!(op, RmsStats | RmsApply | RmsBackStats | RmsBackApply | RmsWeightGrad);
			norms || matches!(op, AddBias | ColumnSums | Rope { .. } | RopeBack { .. })
		};
		assert_eq!(mistakes_are_found(&round, own), BTreeSet::new());
	}
}

#[test]
fn mistakes_with_logits_and_embeddings_of_a_large_vocabulary_are_decided_where_they_are() {
	use neuroshard_graph::graph::{Extent, Product};
	let model = ModelConfig { vocab: 151_936, dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers: 1, max_seq: 32, ..ModelConfig::tiny() };
	let round = Round::new(model, TrainConfig { batch: 1, inner_steps: 2, commit_interval: 2, ..TrainConfig::tiny() });
	let plan = neuroshard_graph::plan::Plan::training(&round.model, &round.train).unwrap();
	let operators: Vec<Op> = plan.stages().iter().map(|stage| stage.op).collect();
	let logits = operators.iter().rposition(|op| *op == Op::Product(Product::Nt)).unwrap();
	let row = Extent::Row;
	let of = |op: Op| operators.iter().rposition(|other| *other == op).unwrap();
	let stages = [Op::Gather, Op::RowMax(row), Op::ExpSum(row), Op::LossBack, Op::ScatterAdd].map(of);
	// The product behind LossBack is a chain over the vocabulary.
	let chain = operators.iter().position(|op| *op == Op::Product(Product::Nn)).unwrap();
	for stage in stages.into_iter().chain([logits, chain]) {
		// In the last rows, where the vocabulary is long.
		let elements = [31 * 151_936 + 151_900, 31, 5 * 151_936 + 70_001, 17];
		let mistakes = elements.map(|element| Mistake { step: 1, stage: stage as u32, output: 0, element, mask: 1 << 22 });
		let record = mistakes.into_iter().find_map(|mistake| round.dispute(mistake)).expect("a consequence");
		assert_eq!((&record.end, round.operator(&record)), (&End::Ruled(Ruling::Fraud), Some(operators[stage])));
		assert!(record.witness <= MAX_WITNESS);
	}
}

/// Has every chosen stage make a mistake, each of which is found, and returns the operators whose mistakes change nothing.
fn mistakes_are_found(round: &Round, chosen: impl Fn(Op) -> bool) -> BTreeSet<String> {
	mistakes_at(round, |_, op| chosen(op))
}

/// The same of stages that are chosen by their number as well.
fn mistakes_at(round: &Round, chosen: impl Fn(usize, Op) -> bool) -> BTreeSet<String> {
	let stages: Vec<Op> =
		neuroshard_graph::plan::Plan::training(&round.model, &round.train).unwrap().stages().iter().map(|s| s.op).collect();
	let mut silent = BTreeSet::new();
	for (stage, op) in (0..).zip(&stages).filter(|(stage, op)| chosen(*stage as usize, **op)) {
		let outputs = match op {
			Op::AdamW | Op::Muon => 3,
			Op::SwigluBack => 2,
			_ => 1,
		};
		for output in 0..outputs {
			// The highest bit of the mantissa. Not every element counts: the first query sees one key, whatever its score.
			let elements = [0, 1_999, 2_017, 5_003, 7_919, 104_729, 611_953, 1_299_709];
			let mistakes = elements.map(|element| Mistake { step: 3, stage, output, element, mask: 1 << 22 });
			let Some(record) = mistakes.into_iter().find_map(|mistake| round.dispute(mistake)) else {
				silent.insert(format!("{op:?}"));
				continue;
			};
			assert_eq!(record.end, End::Ruled(Ruling::Fraud), "{op:?}, output {output}");
			assert_eq!(round.operator(&record), Some(*op), "output {output}");
			assert!(record.witness <= MAX_WITNESS);
		}
	}
	silent
}

#[test]
fn a_delta_from_another_checkpoint_than_the_inner_steps_start_from_is_judged_by_both() {
	let round = Round::small().with_base();
	let setting = round.setting(round.corpus());
	let player = |side| Player::new(setting, side, round.story(), Some(&round.text as &dyn Library));
	// What an honest participant reveals is what the difference by hand gives.
	let (roots, delta) = round.reveal(player(Side::Defender).story()).unwrap();
	let layout = ParamLayout::new(&round.model).unwrap();
	let (sent, _) = round.story().delta().unwrap().unwrap();
	let (from_start, _) = Round::small().story().delta().unwrap().unwrap();
	let (base, _) = round.base.as_ref().unwrap();
	let ends: Vec<f32> = round.theta.iter().zip(&from_start).map(|(start, delta)| start - delta).collect();
	assert!(sent.iter().zip(base).zip(&ends).all(|((sent, base), end)| (sent - (base - end)).abs() <= 1e-6));
	assert_eq!(tensors_root(&layout, &sent, 1), delta);
	assert_eq!(player(Side::Challenger).story().doubt(&roots, delta).unwrap(), None);

	// Whoever sends the difference from where its inner steps started is found out, and so is whoever names its start as the base.
	let own = tensors_root(&layout, &from_start, 1);
	let mut challenger = player(Side::Challenger);
	assert_eq!(challenger.story().doubt(&roots, own).unwrap(), Some(Doubt::Delta));
	let first = open_work(&setting, &roots, own, Doubt::Delta).unwrap();
	let from_start = Round::small();
	let liar = || Player::new(setting, Side::Defender, from_start.story(), None);
	let Move::Ends { start, end } = liar().play(&first, &[]).unwrap() else { panic!("the ends are asked for") };
	assert_eq!(first.play(&setting, &Move::Ends { start, end }), Err(GameError::Root));
	let (mut honest_ends, mut liar) = (player(Side::Defender), liar());
	let mut defender = |position: &Position, defence: &[Move]| match position {
		Position::Ends { .. } => honest_ends.play(position, defence).ok(),
		_ => liar.play(position, defence).ok(),
	};
	let record = referee(&setting, first, &mut defender, &mut honest(&mut challenger));
	assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(Op::Delta)));
}

#[test]
fn a_mistake_in_inner_steps_is_found_whatever_the_delta_is_the_difference_from() {
	let round = Round::small().with_base();
	let plan = neuroshard_graph::plan::Plan::training(&round.model, &round.train).unwrap();
	let update = plan.stages().iter().position(|stage| stage.op == Op::AdamW).unwrap() as u32;
	for step in [0, 3] {
		let record = round.dispute(Mistake { step, stage: update, output: 0, element: 5_003, mask: 1 << 22 }).unwrap();
		assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(Op::AdamW)));
	}
	let record = round.dispute(Mistake { step: round.steps, stage: 0, output: 0, element: 7, mask: 1 << 22 }).unwrap();
	assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(Op::Delta)));
}

#[test]
fn a_false_claim_that_also_lies_about_the_loss_is_decided_at_the_loss() {
	let round = Round::small();
	let setting = round.setting(round.corpus());
	let plan = neuroshard_graph::plan::Plan::training(&round.model, &round.train).unwrap();
	let update = plan.stages().iter().position(|stage| stage.op == Op::AdamW).unwrap() as u32;
	let false_claim = Mistake { step: 3, stage: update, output: 0, element: 0, mask: 1 << 22 };
	for op in [Op::LossRows, Op::TileSums, Op::TreeSum, Op::MeanLoss] {
		let stage = plan.stages().iter().position(|stage| stage.op == op).unwrap() as u32;
		let lie = Mistake { step: 3, stage, output: 0, element: 0, mask: 1 << 22 };
		let mut claimant = Player::new(setting, Side::Defender, round.story_with(false_claim), None);
		let mut liar = Player::new(setting, Side::Defender, round.story_with(lie), None);
		let (roots, delta) = round.reveal(claimant.story()).unwrap();
		let first = open_work(&setting, &roots, delta, Doubt::Interval(1)).unwrap();
		let mut defender = |position: &Position, defence: &[Move]| match position {
			Position::Nodes { .. } => {
				let (Move::Nodes { before, after, .. }, Move::Nodes { nodes, .. }) =
					(claimant.play(position, defence).ok()?, liar.play(position, defence).ok()?)
				else {
					return None;
				};
				Some(Move::Nodes { before, after, nodes })
			}
			Position::Steps { .. } => claimant.play(position, defence).ok(),
			_ => liar.play(position, defence).ok(),
		};
		let mut challenger = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
		let record = referee(&setting, first, &mut defender, &mut honest(&mut challenger));
		assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(op)));
	}
}

#[test]
fn a_liar_who_posts_zeros_in_place_of_states_gains_nothing() {
	// A chain of 320: two pieces, so that the list of states has one entry, and that is its root.
	let model = ModelConfig { vocab: 64, dim: 320, heads: 1, kv_heads: 1, ffn: 32, max_seq: 32, ..ModelConfig::tiny() };
	let round = Round::new(model, TrainConfig { batch: 1, inner_steps: 2, commit_interval: 2, ..TrainConfig::tiny() });
	let setting = round.setting(round.corpus());
	let plan = neuroshard_graph::plan::Plan::training(&round.model, &round.train).unwrap();
	let product = plan.stages().iter().position(|stage| matches!(stage.op, Op::Product(_))).unwrap() as u32;
	let mistake = Mistake { step: 1, stage: product, output: 0, element: 31 * 320, mask: 1 << 22 };
	let mut liar = Player::new(setting, Side::Defender, round.story_with(mistake), None);
	let (roots, delta) = round.reveal(liar.story()).unwrap();
	let mut challenger = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
	let doubt = challenger.story().doubt(&roots, delta).unwrap().unwrap();
	let first = open_work(&setting, &roots, delta, doubt).unwrap();
	let mut defender = |position: &Position, defence: &[Move]| match position {
		Position::States { pieces, .. } => {
			assert_eq!(*pieces, 2);
			Some(Move::States(vec![[0; 32]]))
		}
		_ => liar.play(position, defence).ok(),
	};
	let record = referee(&setting, first, &mut defender, &mut honest(&mut challenger));
	assert_eq!(record.end, End::Ruled(Ruling::Fraud));
	assert!(record.positions.iter().any(|position| matches!(position, Position::States { .. })));
}

#[test]
fn a_wrong_delta_alone_is_decided_at_its_tile() {
	let round = Round::small();
	let (corpus, mut wrong) = (round.corpus(), round.story());
	let setting = round.setting(corpus);
	let (roots, _) = round.reveal(&mut wrong).unwrap();
	// Another delta than the states say: that of a round with a mistake in its last step.
	let mut other = round.story_with(Mistake { step: 4, stage: 0, output: 0, element: 0, mask: 1 << 22 });
	let (_, delta) = round.reveal(&mut other).unwrap();
	let mut challenger = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
	assert_eq!(challenger.story().doubt(&roots, delta), Ok(Some(Doubt::Delta)));
	let first = open_work(&setting, &roots, delta, Doubt::Delta).unwrap();
	let hashes = {
		let mut story = round.story_with(Mistake { step: 4, stage: 0, output: 0, element: 0, mask: 1 << 22 });
		story.trace(neuroshard_compute::player::Job::Delta).unwrap().trace.result_hashes(0)
	};
	let mut truthful = Player::new(setting, Side::Defender, round.story(), None);
	let mut defender = |position: &Position, defence: &[Move]| match position {
		Position::Hashes { .. } => Some(Move::Hashes(hashes.clone())),
		_ => truthful.play(position, defence).ok(),
	};
	let record = referee(&setting, first, &mut defender, &mut honest(&mut challenger));
	assert_eq!(record.end, End::Ruled(Ruling::Fraud));
	assert_eq!(round.operator(&record), Some(Op::Delta));
}

/// As [`Round::small`], of four inner steps where there may be up to nine.
fn short_round() -> Round {
	let Round { model, train, .. } = Round::small();
	let aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps: 2 } });
	Round { steps: 4, ..Round::new(model, TrainConfig { inner_steps: 9, aggregator, ..train }) }
}

#[test]
fn a_mistake_in_a_round_that_ended_early_is_decided_where_it_is() {
	let round = short_round();
	let (setting, (roots, delta)) = (round.setting(round.corpus()), round.reveal(&mut round.story()).unwrap());
	assert_eq!((roots.len(), round.story().doubt(&roots, delta)), (2, Ok(None)));
	assert_eq!(open_work(&setting, &roots, delta, Doubt::Interval(2)), Err(GameError::Place), "it has no third interval");
	for step in 0..4 {
		let stages = setting.plan(&neuroshard_graph::game::Site::Step { step, vectors: [[0; 32]; 3], nodes: [0; 32] }).unwrap();
		let stage = stages.stages().iter().position(|stage| stage.op == Op::AdamW).unwrap() as u32;
		let record = round.dispute(Mistake { step, stage, output: 0, element: 9, mask: 1 << 22 }).expect("it changes the state");
		assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(Op::AdamW)), "in step {step}");
	}
	let record = round.dispute(Mistake { step: 4, stage: 0, output: 0, element: 9, mask: 1 << 22 }).expect("it changes the delta");
	assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(Op::Delta)));
}

#[test]
fn who_says_to_have_taken_more_steps_loses() {
	let round = short_round();
	let (mut roots, delta) = round.reveal(&mut round.story()).unwrap();
	// Two more steps are claimed, whose state is that after four.
	roots.push(roots[1]);
	let more = Round { steps: 6, ..short_round() };
	let setting = more.setting(more.corpus());
	let mut challenger = Player::new(setting, Side::Challenger, more.story(), Some(&more.text as &dyn Library));
	assert_eq!(challenger.story().doubt(&roots, delta), Ok(Some(Doubt::Interval(2))));
	let first = open_work(&setting, &roots, delta, Doubt::Interval(2)).unwrap();
	let mut defender = Player::new(setting, Side::Defender, more.story(), None);
	let record = referee(&setting, first, &mut honest(&mut defender), &mut honest(&mut challenger));
	assert_ne!(record.end, End::Ruled(Ruling::Unfounded));
}

/// [`Round::small`] and rounds of adapters, with deltas that are sent as any code.
fn coded_rounds() -> impl Iterator<Item = (Code, Round)> {
	let of = |code: Code, Round { model, train, beside, .. }: Round| {
		let train = TrainConfig { aggregator: sent_as(code).aggregator, ..train };
		(code, Round { beside, ..Round::new(model, train) })
	};
	every_code()
		.into_iter()
		.flat_map(move |code| [Round::small(), Round::of_adapter(8), Round::of_adapter(40)].map(|round| of(code, round)))
}

#[test]
fn a_mistake_in_a_code_or_its_residual_is_decided_at_that_operator() {
	for (code, round) in coded_rounds() {
		let setting = round.setting(round.corpus());
		let layout = ParamLayout::trained(&round.model, &round.train).unwrap();
		let residual = code.decay().map(|_| lively_theta(&layout, 9));
		let honest_story = || round.story().with_residual(residual.clone());
		let before = residual.as_ref().map(|residual| tensors_root(&layout, residual, 1));
		let (mut roots, delta) = round.reveal(&mut honest_story()).unwrap();
		roots.extend(before.into_iter().chain(honest_story().residual().unwrap().map(|(_, root)| root)));
		assert_eq!(roots.len() as u32, round.train.revealed_roots());
		assert_eq!(honest_story().doubt(&roots, delta), Ok(None), "{code:?}");

		let stages = setting.plan(&neuroshard_graph::game::Site::Delta { vectors: [[0; 32]; 2] }).unwrap().stages().to_vec();
		for (stage, op) in [(0, Op::Encode(code))].into_iter().chain(code.decay().map(|_| (4, Op::Residual(code)))) {
			assert_eq!(stages[stage as usize].op, op);
			let liar = || {
				let mistake = Mistake { step: round.train.inner_steps, stage, output: 0, element: 700, mask: 1 << 20 };
				honest_story().with_mistake(mistake)
			};
			let (_, wrong_delta) = round.reveal(&mut liar()).unwrap();
			let mut wrong = roots[..round.train.state_roots() as usize].to_vec();
			wrong.extend(before.into_iter().chain(liar().residual().unwrap().map(|(_, root)| root)));
			let mut challenger = Player::new(setting, Side::Challenger, honest_story(), Some(&round.text as &dyn Library));
			assert_eq!(challenger.story().doubt(&wrong, wrong_delta), Ok(Some(Doubt::Delta)), "{op:?}");
			let first = open_work(&setting, &wrong, wrong_delta, Doubt::Delta).unwrap();
			let mut defender = Player::new(setting, Side::Defender, liar(), None);
			let record = referee(&setting, first, &mut honest(&mut defender), &mut honest(&mut challenger));
			assert_eq!((record.end.clone(), round.operator(&record)), (End::Ruled(Ruling::Fraud), Some(op)));
			assert!(record.witness <= MAX_WITNESS);
		}
	}
}

#[test]
fn an_honest_code_wins_against_a_challenger_who_doubts_it() {
	for (_, round) in coded_rounds() {
		let setting = round.setting(round.corpus());
		let (mut roots, delta) = round.reveal(&mut round.story()).unwrap();
		let layout = ParamLayout::trained(&round.model, &round.train).unwrap();
		let zeros = tensors_root(&layout, &vec![0.0; round.theta.len()], 1);
		roots.extend(round.story().residual().unwrap().into_iter().flat_map(|(_, root)| [zeros, root]));
		for seed in 0..20 {
			let first = open_work(&setting, &roots, delta, Doubt::Delta).unwrap();
			let mut defender = Player::new(setting, Side::Defender, round.story(), None);
			let truth = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
			let mut vandal = Vandal { random: Lcg(seed), truth };
			let record = referee(&setting, first, &mut honest(&mut defender), &mut |position, defence| vandal.play(position, defence));
			assert!(matches!(record.end, End::Ruled(Ruling::Unfounded) | End::Silent(Side::Challenger)), "{:?}", record.end);
		}
	}
}

#[test]
fn an_audit_takes_its_sample_from_the_round_itself_whatever_was_revealed() {
	let round = Round::small();
	let (roots, delta) = round.reveal(&mut round.story()).unwrap();
	for step in 0..round.train.inner_steps {
		let own = round.story().roots(step, 1).unwrap()[0];
		assert_eq!(round.story().audit(&roots, delta, Some(step)), Ok((None, Some(own))), "step {step}");
		let wrong_delta = round.story().audit(&roots, [9; 32], Some(step));
		assert_eq!(wrong_delta, Ok((Some(Doubt::Delta), Some(own))), "step {step}");
		for interval in 0..3 {
			let mut claimed = roots.clone();
			claimed[interval as usize] = [9; 32];
			let mut story = round.story();
			assert_eq!(story.audit(&claimed, delta, Some(step)), Ok((Some(Doubt::Interval(interval)), Some(own))), "step {step}");
			// It still has the start of the interval that the dispute is about.
			assert_eq!(story.roots(2 * interval, 1), round.story().roots(2 * interval, 1));
		}
	}
	assert_eq!(round.story().audit(&roots, delta, Some(round.train.inner_steps)), Ok((None, None)));
	assert_eq!(round.story().audit(&roots, delta, None), Ok((None, None)));
}

#[test]
fn a_claim_that_goes_on_after_a_step_that_diverged_is_fraud() {
	let mut round = Round::small();
	let layout = ParamLayout::new(&round.model).unwrap();
	let norm = layout.get("model.norm.weight").unwrap().range();
	round.theta[norm].fill(f32::MAX);
	let root = tensors_root(&layout, &round.theta, 1);
	round.start = checkpoint_root(&root, &round.momentum, ADOPTED, u64::from(ADOPTED) * u64::from(round.train.inner_steps));
	let setting = round.setting(round.corpus());
	let mut challenger = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
	// Somebody goes on where the job ends, and reveals what its arithmetic gives.
	let tokens = round.text.read(window_of(0, 0).unwrap(), round.train.seq_len).to_vec();
	let zeros = vec![0.0; layout.len()];
	let trace = neuroshard_compute::trace::Trace::step(
		&Arc::new(Exec::new(1).unwrap()),
		&round.model,
		&round.train,
		&[&round.theta, &zeros, &zeros],
		&tokens,
		ADOPTED,
		0,
	)
	.unwrap();
	let after: [Hash; 3] = trace.result_roots().unwrap();
	let state = neuroshard_graph::commit::state_root(&after[0], &after[1], &after[2], 1, 1);
	let roots = [[1; 32], [2; 32], [3; 32]];
	assert_eq!(challenger.story().doubt(&roots, [4; 32]), Ok(Some(Doubt::Interval(0))));
	assert_eq!(challenger.story().audit(&roots, [4; 32], Some(1)), Ok((Some(Doubt::Interval(0)), None)));
	let first = open_work(&setting, &roots, [4; 32], Doubt::Interval(0)).unwrap();
	let nodes = trace.node_roots();
	let params = tensors_root(&layout, &round.theta, 1);
	let before = neuroshard_graph::game::Contents::Checkpoint([params, round.momentum]);
	let mut defender = |position: &Position, _: &[Move]| match position {
		Position::Steps { .. } => Some(Move::Steps(vec![state, [1; 32]])),
		Position::Nodes { .. } => Some(Move::Nodes { before, after, nodes: nodes.clone() }),
		Position::States { target, leaf, .. } => {
			let cell = target.cell(trace.plan(), *leaf)?;
			Some(Move::States(trace.prefix_hashes(cell).ok()?))
		}
		_ => None,
	};
	let record = referee(&setting, first, &mut defender, &mut honest(&mut challenger));
	assert_eq!(record.end, End::Ruled(Ruling::Fraud));
	assert_eq!(round.operator(&record), Some(Op::MeanLoss));
}

#[test]
fn naming_any_node_of_an_honest_step_the_loss_and_the_norm_among_them_shows_nothing() {
	let round = Round::small();
	let setting = round.setting(round.corpus());
	let mut defender = Player::new(setting, Side::Defender, round.story(), None);
	let (roots, delta) = round.reveal(defender.story()).unwrap();
	// The last interval has one step.
	let first = open_work(&setting, &roots, delta, Doubt::Interval(2)).unwrap();
	let truth = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
	let mut vandal = Vandal { random: Lcg(1), truth };
	let mut named = Vec::new();
	for index in 0..neuroshard_graph::plan::Plan::training(&round.model, &round.train).unwrap().listed_nodes() {
		let mut challenger = |position: &Position, defence: &[Move]| match (position, defence.last()) {
			(Position::PickNode { .. }, Some(Move::Nodes { nodes, .. })) => {
				let proof = neuroshard_graph::merkle::prove(nodes, index)?;
				Some(Move::Node { index, root: neuroshard_graph::game::Entry { hash: nodes[index as usize], proof } })
			}
			_ => vandal.play(position, defence),
		};
		let record = referee(&setting, first, &mut honest(&mut defender), &mut challenger);
		assert_eq!(record.end, End::Ruled(Ruling::Unfounded), "node {index}");
		named.extend(round.operator(&record));
	}
	assert!(named.contains(&Op::MeanLoss) && named.contains(&Op::TreeSum));
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

	#[test]
	fn an_honest_challenger_wins_against_any_mistake(
		(layers, tied, seq) in (1u32..3, any::<bool>(), prop::sample::select(vec![32u32, 64])),
		(heads, kv_heads) in prop::sample::select(vec![(2u32, 1u32), (1, 1), (4, 2)]),
		interval in 1u32..4,
		(step, stage, output, element, bit) in (0u32..4, any::<u32>(), 0u32..3, any::<u64>(), 0u32..32),
	) {
		let dim = if heads == 1 { 32 } else { 64 };
		let model = ModelConfig { vocab: 64, dim, layers, heads, kv_heads, ffn: 32, max_seq: 64, tied, ..ModelConfig::tiny() };
		let train = TrainConfig { batch: 1, seq_len: seq, inner_steps: 4, commit_interval: interval, ..TrainConfig::tiny() };
		let round = Round::new(model, train);
		let stages = neuroshard_graph::plan::Plan::training(&round.model, &round.train).unwrap().stages().len() as u32;
		let mistake = Mistake { step, stage: stage % stages, output, element, mask: 1 << bit };
		if let Some(record) = round.dispute(mistake) {
			// A mistake may make the numbers infinite: to go on after that is fraud, too.
			prop_assert!(matches!(record.end, End::Ruled(Ruling::Fraud)), "{:?}", record.end);
			prop_assert!(record.witness <= MAX_WITNESS);
		}
	}

	/// The challenger picks at random among what was posted, with proofs that hold.
	#[test]
	fn an_honest_defender_is_never_found_guilty(seed: u64, doubt in prop::option::of(0u32..3)) {
		let round = Round::small();
		let setting = round.setting(round.corpus());
		let mut defender = Player::new(setting, Side::Defender, round.story(), None);
		let (roots, delta) = round.reveal(defender.story()).unwrap();
		let doubt = doubt.map_or(Doubt::Delta, Doubt::Interval);
		let first = open_work(&setting, &roots, delta, doubt).unwrap();
		let mut challenger = Vandal { random: Lcg(seed), truth: Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library)) };
		let record = referee(&setting, first, &mut honest(&mut defender), &mut |position, defence| challenger.play(position, defence));
		prop_assert!(matches!(record.end, End::Ruled(Ruling::Unfounded) | End::Silent(Side::Challenger)), "{:?}", record.end);
	}

	/// The defender of a false claim changes entries of what it posts as it likes.
	#[test]
	fn an_honest_challenger_wins_against_a_defender_who_posts_anything(seed: u64, element: u64) {
		let round = Round::small();
		let setting = round.setting(round.corpus());
		let mistake = Mistake { step: 2, stage: 3, output: 0, element, mask: 1 << 20 };
		let mut liar = Player::new(setting, Side::Defender, round.story_with(mistake), None);
		let (roots, delta) = round.reveal(liar.story()).unwrap();
		let mut challenger = Player::new(setting, Side::Challenger, round.story(), Some(&round.text as &dyn Library));
		let Some(doubt) = challenger.story().doubt(&roots, delta).unwrap() else { return Ok(()) };
		let first = open_work(&setting, &roots, delta, doubt).unwrap();
		let mut random = Lcg(seed);
		let mut defender = |position: &Position, defence: &[Move]| {
			let mut action = liar.play(position, defence).ok()?;
			if let Move::Steps(list) | Move::Nodes { nodes: list, .. } | Move::Hashes(list) | Move::States(list) = &mut action {
				let at = random.next() as usize % list.len();
				if random.next().is_multiple_of(2) {
					list[at] = [random.next() as u8; 32];
				}
			}
			Some(action)
		};
		let record = referee(&setting, first, &mut defender, &mut honest(&mut challenger));
		prop_assert!(matches!(record.end, End::Ruled(Ruling::Fraud) | End::Silent(Side::Defender)), "{:?}", record.end);
	}

	#[test]
	fn outer_steps_are_decided(seed: u64, rounds in 1usize..4, wrong in 0u32..5, rule in 0usize..74) {
		let case = Outer::new(seed, rounds, rule);
		let (claimed, lie) = case.claim(wrong);
		let setting = case.setting(claimed);
		let first = open_checkpoint(&setting).unwrap();
		let mut defender = Player::new(setting, Side::Defender, case.story(lie), None);
		let mut challenger = Player::new(setting, Side::Challenger, case.story(Lie::None), None);
		let record = referee(&setting, first, &mut honest(&mut defender), &mut honest(&mut challenger));
		match lie {
			Lie::None => prop_assert_eq!(record.end, End::Silent(Side::Challenger)),
			_ => prop_assert_eq!(record.end, End::Ruled(Ruling::Fraud)),
		}
	}
}

/// A challenger without a case, who picks anything.
struct Vandal<'a, S> {
	random: Lcg,
	truth: Player<'a, S>,
}

impl<S: Story> Vandal<'_, S>
where
	S::Error: std::fmt::Debug,
{
	fn play(&mut self, position: &Position, defence: &[Move]) -> Option<Move> {
		use neuroshard_graph::{game::Entry, merkle::prove};
		let posted = defence.last().map_or(&[][..], Move::list);
		let random = self.random.next();
		let entry = |index: u32| Some(Entry { hash: *posted.get(index as usize)?, proof: prove(posted, index)? });
		let any = || random % posted.len().max(1) as u32;
		Some(match *position {
			Position::PickStep { .. } => {
				let index = any();
				Move::Step { index, before: index.checked_sub(1).and_then(entry), after: entry(index)? }
			}
			Position::PickNode { .. } if random.is_multiple_of(4) => Move::Vector(random % 5),
			Position::PickVector { .. } => Move::Vector(random % 3),
			Position::PickNode { .. } => Move::Node { index: any(), root: entry(any())? },
			Position::PickHash { .. } => Move::Hash { index: any(), entry: entry(any())? },
			Position::PickPiece { site, target, leaf, states, .. } => {
				let posted = if states == Hash::default() { &[][..] } else { posted };
				let piece = random % (posted.len() as u32 + 1);
				let (job, step) = match site {
					neuroshard_graph::game::Site::Step { step, .. } => (neuroshard_compute::player::Job::Step(step), step),
					_ => (neuroshard_compute::player::Job::Delta, 0),
				};
				let traced = self.truth.story().trace(job).unwrap();
				let cell = target.cell(traced.trace.plan(), leaf)?;
				let window = |sequence: u32| window_of(step, sequence);
				let text = Text::random(3, 6_000, 64, 3);
				let tokens = neuroshard_graph::witness::Tokens { corpus: text.corpus(), window: &window };
				let witness =
					neuroshard_compute::recorder::record(&traced.trace, &traced.nodes, Some((tokens, &text)), cell, piece).unwrap();
				let entry = |index: u32| Some(Entry { hash: *posted.get(index as usize)?, proof: prove(posted, index)? });
				Move::Piece { piece, before: piece.checked_sub(1).and_then(entry), after: entry(piece), witness }
			}
			_ => return None,
		})
	}
}

/// What is wrong with a claim about outer steps.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Lie {
	None,
	/// The first of a step's deltas is left out.
	Aggregate(u32),
	/// The step is twice as long.
	Rate,
}

/// Outer steps of several rounds.
struct Outer {
	model: ModelConfig,
	train: TrainConfig,
	/// Parameters, momentum, and deltas as they are sent.
	vectors: Vec<Vec<f32>>,
	/// Which vectors are deltas of each step.
	steps: Vec<Vec<usize>>,
	roots: Vec<Vec<Hash>>,
	/// Inner steps behind deltas, where they count.
	inner_steps: Vec<Vec<u32>>,
	start: Hash,
}

impl Outer {
	fn new(seed: u64, rounds: usize, rule: usize) -> Self {
		let model = ModelConfig { vocab: 32, ffn: 32, ..ModelConfig::tiny() };
		let simple = [Aggregator::Mean, Aggregator::TrimmedMean { trim: 1 }];
		let every = simple.into_iter().chain(every_rule().into_iter().map(Aggregator::Robust)).chain(every_compressed());
		let aggregator = every.collect::<Vec<_>>()[rule];
		// Of a model, or of an adapter with less than a tile's rows or more.
		let adapter = [None, Some(8), Some(40)][seed as usize % 3].map(|rank| common::adapter([0; 32], rank, Projections::ALL));
		let train = TrainConfig { aggregator, adapter, outer_lr: F32::new(0.7), outer_beta: F32::new(0.9), ..TrainConfig::tiny() };
		let layout = ParamLayout::trained(&model, &train).unwrap();
		let mut random = Lcg(seed);
		let mut vectors: Vec<Vec<f32>> = (0..8).map(|_| lively_theta(&layout, u64::from(random.next()))).collect();
		vectors.iter_mut().skip(2).for_each(|delta| *delta = sent(&train, &layout, delta));
		// Every second step may be an empty one, but not the last.
		let mut step = |number: usize| -> Vec<usize> {
			let count = if number + 1 < rounds && random.next().is_multiple_of(2) { 0 } else { 3 + random.next() % 3 };
			(0..count as usize).map(|delta| 2 + delta).collect()
		};
		let steps: Vec<Vec<usize>> = (0..rounds).map(&mut step).collect();
		let of_deltas = ParamLayout::of_deltas(&model, &train).unwrap();
		let root = |vector: usize| tensors_root(if vector < 2 { &layout } else { &of_deltas }, &vectors[vector], 1);
		let roots = steps.iter().map(|step| step.iter().map(|&vector| root(vector)).collect()).collect();
		let start = checkpoint_root(&root(0), &root(1), 5, 5 * u64::from(train.inner_steps));
		let inner_steps = steps.iter().map(|step| steps_behind(aggregator, step.len())).collect();
		Self { model, train, vectors, steps, roots, inner_steps, start }
	}

	fn setting(&self, claimed: Hash) -> Setting<'_> {
		Setting {
			model: &self.model,
			train: &self.train,
			round: 5,
			start: self.start,
			subject: Subject::Checkpoint { deltas: &self.roots, inner_steps: &self.inner_steps, claimed },
		}
	}

	/// The story of somebody who lies; its traces are those of its own computation.
	fn story(&self, lie: Lie) -> CheckpointStory<impl FnMut(u32) -> Result<Vec<Vec<f32>>, String> + '_> {
		let mut train = self.train.clone();
		if lie == Lie::Rate {
			train.outer_lr = F32::new(1.4);
		}
		let deltas = move |step: u32| {
			let mut deltas: Vec<Vec<f32>> = self.steps[step as usize].iter().map(|&vector| self.vectors[vector].clone()).collect();
			if lie == Lie::Aggregate(step) {
				deltas[0].fill(0.0);
			}
			Ok(deltas)
		};
		let start = [self.vectors[0].clone(), self.vectors[1].clone()];
		let story = CheckpointStory::new(Arc::new(Exec::new(1).unwrap()), &self.model, &train, 5, start, deltas).unwrap();
		story.with_inner_steps(self.inner_steps.clone())
	}

	fn claim(&self, wrong: u32) -> (Hash, Lie) {
		let last = self.steps.len() as u32 - 1;
		let lie = match wrong {
			0 => Lie::None,
			1 | 2 => Lie::Rate,
			_ => Lie::Aggregate(last),
		};
		let root = |lie| *self.story(lie).roots(0, last + 1).unwrap().last().unwrap();
		let claimed = root(lie);
		// A median of codes may be the same without one of them.
		(claimed, if claimed == root(Lie::None) { Lie::None } else { lie })
	}
}

#[test]
fn the_outer_story_is_what_aggregation_and_outer_step_give() {
	let case = Outer::new(1, 1, 0);
	let [mut params, mut momentum] = [case.vectors[0].clone(), case.vectors[1].clone()];
	let deltas: Vec<&[f32]> = case.steps[0].iter().map(|&vector| case.vectors[vector].as_slice()).collect();
	let mut gradient = vec![0.0; params.len()];
	let (layout, exec) = (ParamLayout::trained(&case.model, &case.train).unwrap(), Exec::new(1).unwrap());
	aggregate(&exec, &layout.tiling(), &deltas, &[], case.train.aggregator, &mut gradient).unwrap();
	outer_step(&exec, &mut params, &mut momentum, &gradient, 0.7, 0.9).unwrap();
	let roots = [&params, &momentum].map(|vector| tensors_root(&layout, vector, 1));
	let expected = checkpoint_root(&roots[0], &roots[1], 6, 6 * u64::from(case.train.inner_steps));
	assert_eq!(case.claim(0).0, expected);
}

#[test]
fn moves_that_a_position_does_not_ask_for_are_refused() {
	let round = Round::small();
	let setting = round.setting(round.corpus());
	let (roots, delta) = round.reveal(&mut round.story()).unwrap();
	let open = |doubt| open_work(&setting, &roots, delta, doubt);
	assert_eq!(open(Doubt::Interval(3)), Err(GameError::Place));
	assert_eq!(open(Doubt::Interval(u32::MAX)), Err(GameError::Place));
	assert_eq!(open_checkpoint(&setting), Err(GameError::OtherClaim));
	let first = open(Doubt::Interval(0)).unwrap();
	let second = roots[1];
	for (action, error) in [
		(Move::Steps(vec![second]), GameError::Length { expected: 2, found: 1 }),
		(Move::Steps(vec![second, second]), GameError::Root),
		(Move::Hashes(vec![second]), GameError::WrongMove),
		(Move::Vector(0), GameError::WrongMove),
	] {
		assert_eq!(first.play(&setting, &action), Err(error));
	}
	let Ok(Outcome::Next(pick)) = first.play(&setting, &Move::Steps(vec![second, roots[0]])) else { panic!("a legal move") };
	let entry = neuroshard_graph::game::Entry { hash: second, proof: vec![roots[0]] };
	let step = |index, before, after| Move::Step { index, before, after };
	assert!(pick.play(&setting, &step(0, None, entry.clone())).is_ok());
	for wrong in [
		step(0, Some(entry.clone()), entry.clone()),
		step(1, None, entry.clone()),
		step(1, Some(entry.clone()), entry.clone()),
		step(0, None, neuroshard_graph::game::Entry { proof: vec![], ..entry.clone() }),
	] {
		assert_eq!(pick.play(&setting, &wrong), Err(GameError::Entry));
	}
	assert_eq!(pick.play(&setting, &step(2, Some(entry.clone()), entry)), Err(GameError::Entry));
}
