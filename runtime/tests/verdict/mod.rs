//! The last move of a dispute inside the runtime's WASM, for the most expensive pieces that there are of every operator: the verdict is the
//! native one. `cargo test --release -p neuroshard-runtime --test runtime verdict -- --nocapture` prints how long each takes.

mod case;
mod choice;
mod sparse;

use case::{Case, Data, Work};
use codec::{Decode, Encode};
use neuroshard_graph::{
	cell::Cell,
	corpus::MASK,
	game::{GameError, Move, Outcome, Position, Ruling},
	plan::Plan,
	witness::MAX_WITNESS,
	Adapter, Aggregator, Code, Compressed, Family, ModelConfig, Optimizer, Products, Projections, Robust, RopeScaling, Rule, TopK,
	TrainConfig, F32, MAX_LAYERS,
};
use neuroshard_runtime::kernels_api::Game;
use neuroshard_types::dataset::MAX_VOCAB;
use sc_executor::WasmExecutor;
use sp_core::traits::{CallContext, CodeExecutor, RuntimeCode, WrappedRuntimeCode};
use std::{
	collections::BTreeMap,
	time::{Duration, Instant},
};

/// An adapter on all projections, of more than a tile's rows. What it is beside is made up with the rest.
const ADAPTER: Adapter = Adapter { base: [0; 32], rank: 40, alpha: F32::new(16.0), projections: Projections::ALL };

/// Calls whose median is printed.
const CALLS: usize = 9;

/// Runs moves in the WASM runtime.
struct Chain(WasmExecutor<sp_io::SubstrateHostFunctions>);

impl Chain {
	fn new() -> Self {
		Self(WasmExecutor::builder().build())
	}

	/// Returns the outcome of a move, and the times that calls of it took: the fastest, the median and the slowest.
	fn play(&self, case: &Case, action: &Move) -> (Result<Outcome, GameError>, [Duration; 3]) {
		self.play_in(&case.game, &case.position, action)
	}

	/// [`Self::play`] in any game.
	fn play_in(&self, game: &Game, position: &Position, action: &Move) -> (Result<Outcome, GameError>, [Duration; 3]) {
		let wasm = neuroshard_runtime::WASM_BINARY.expect("this test needs the WASM runtime: unset SKIP_WASM_BUILD");
		let code = RuntimeCode { code_fetcher: &WrappedRuntimeCode(wasm.into()), hash: vec![1], heap_pages: None };
		let input = (game, position, action).encode();
		let mut externalities = sp_io::TestExternalities::default();
		let mut answer = Vec::new();
		let mut times: Vec<Duration> = (0..CALLS)
			.map(|_| {
				let started = Instant::now();
				let result = self.0.call(&mut externalities.ext(), &code, "KernelsApi_try_move", &input, CallContext::Offchain).0;
				let elapsed = started.elapsed();
				answer = result.unwrap();
				elapsed
			})
			.collect();
		times.sort();
		(Decode::decode(&mut &answer[..]).unwrap(), [times[0], times[CALLS / 2], times[CALLS - 1]])
	}
}

/// Every place of a shard has a token of the same tile of the embedding's rows.
fn same_tile(place: u32) -> u32 {
	place % 32
}

/// As [`scattered`]; every other token is no target.
fn masked(place: u32) -> u32 {
	scattered(place) | if place.is_multiple_of(2) { MASK } else { 0 }
}

/// Any 32 neighbours are in different tiles.
fn scattered(place: u32) -> u32 {
	place % 32 * 32
}

/// The same, of tokens that take four bytes.
fn scattered_wide(place: u32) -> u32 {
	MAX_VOCAB - 1 - scattered(place)
}

/// The model with as many layers as a step on such batches may have.
fn deepest(model: &ModelConfig, train: &TrainConfig) -> ModelConfig {
	let mut layers = (1..=MAX_LAYERS).rev().map(|layers| ModelConfig { layers, ..model.clone() });
	layers.find(|model| train.validate(model).is_ok()).expect("a step of one layer is small enough")
}

/// Jobs whose pieces are as large as any, with the trees that are as deep as any or the plans that are as large as any.
fn works() -> Vec<Work> {
	let large = ModelConfig {
		vocab: 65_536,
		dim: 4_096,
		layers: 6,
		heads: 16,
		kv_heads: 8,
		ffn: 16_384,
		max_seq: 2_048,
		tied: true,
		..ModelConfig::tiny()
	};
	let train = TrainConfig { batch: 2, seq_len: 1_024, ..TrainConfig::tiny() };
	let step = Work { name: "large", model: large.clone(), train: train.clone(), deltas: None, delta: false, token: scattered };
	// As many nodes as there may be, in pieces as large as any.
	let one = TrainConfig { batch: 1, ..train.clone() };
	let deep = deepest(&ModelConfig { dim: 512, heads: 2, kv_heads: 1, ffn: 1_024, ..large.clone() }, &one);
	// Heads of two numbers, of which a tile covers sixteen.
	let few = TrainConfig { batch: 1, seq_len: 128, ..train.clone() };
	let narrow = ModelConfig { vocab: 1_024, dim: 512, heads: 256, kv_heads: 128, ffn: 512, max_seq: 128, ..large.clone() };
	let narrow = deepest(&narrow, &few);
	// Biases; and norms of heads of which a tile of factors is about 32, which turn by scaled angles.
	let linear = RopeScaling::Linear { factor: F32::new(4.0) };
	let biased = ModelConfig { family: Family::Qwen2, rope_scaling: linear, layers: 1, ..large.clone() };
	let llama3 = RopeScaling::Llama3 { factor: F32::new(8.0), low: F32::new(1.0), high: F32::new(4.0), original: 1_024 };
	let normed = ModelConfig {
		family: Family::Qwen3,
		heads: 64,
		kv_heads: 64,
		head_dim: Some(128),
		rope_scaling: llama3,
		layers: 1,
		..large.clone()
	};
	let tokens = TrainConfig { batch: 2, seq_len: 256, ..train.clone() };
	let deep_biased = deepest(&ModelConfig { dim: 512, heads: 2, kv_heads: 1, ffn: 1_024, ..biased.clone() }, &one);
	// Chains over so many tokens that they are cut into segments.
	let small = ModelConfig { vocab: 1_024, dim: 512, layers: 1, ffn: 512, ..large.clone() };
	let long = TrainConfig { batch: 8, seq_len: 1_024, ..train.clone() };
	// Short sequences in shards of their own, all of whose tokens are added to the same tile.
	let short = TrainConfig { batch: 64, seq_len: 32, ..train.clone() };
	let lines = TrainConfig { batch: 32, seq_len: 32, ..train.clone() };
	let trimmed = TrainConfig { aggregator: Aggregator::TrimmedMean { trim: 1 }, ..train.clone() };
	let robust = |clip, rule| TrainConfig { aggregator: Aggregator::Robust(Robust { clip: F32::new(clip), rule }), ..train.clone() };
	let krum = robust(2.0, Rule::MultiKrum { liars: 40 });
	let centred = robust(2.0, Rule::CentredClipping { liars: 40, radius: F32::new(1.0), steps: 8 });
	let median = robust(2.0, Rule::Median);
	let mixed = robust(2.0, Rule::MixedKrum { liars: 0 });
	let weighted = robust(2.0, Rule::WeightedMean { least_steps: 1 });
	let sent = |code, clip, rule| {
		let robust = Robust { clip: F32::new(clip), rule };
		TrainConfig { aggregator: Aggregator::Compressed(Compressed { code, robust }), ..train.clone() }
	};
	let top = |numbers, cosine| Code::TopK(TopK { numbers, decay: F32::new(0.9), cosine });
	// Four tiles to a piece, and the most numbers of a tile.
	let (cosines, many) = (sent(top(4, true), 0.0, Rule::Mean), sent(top(64, true), 2.0, Rule::MultiKrum { liars: 40 }));
	let (int8, int8_krum) = (sent(Code::Int8, 0.0, Rule::Mean), sent(Code::Int8, 2.0, Rule::MultiKrum { liars: 40 }));
	let median_of_codes = sent(top(64, false), 2.0, Rule::Median);
	let code = |name, train: &TrainConfig| Work { name, train: train.clone(), delta: true, ..step.clone() };
	let adapted = TrainConfig { adapter: Some(ADAPTER), ..tokens.clone() };
	let muon = Optimizer::Muon { momentum: F32::new(0.95) };
	let (orthogonal, one_orthogonal) = (TrainConfig { optimizer: muon, ..tokens.clone() }, TrainConfig { optimizer: muon, ..one.clone() });
	let deep_orthogonal = deepest(&deep, &one_orthogonal);
	let outer = |name, model: &ModelConfig, train: &TrainConfig| Work {
		name,
		model: model.clone(),
		train: train.clone(),
		deltas: Some(128),
		..step.clone()
	};
	vec![
		outer("mean of 128", &large, &train),
		outer("deep mean of 128", &deep, &train),
		outer("trimmed mean of 128", &large, &trimmed),
		outer("deep trimmed of 128", &deep, &trimmed),
		outer("Multi-Krum of 128", &large, &krum),
		outer("deep Multi-Krum of 128", &deep, &krum),
		outer("centred clipping of 128", &large, &centred),
		outer("deep centred clipping of 128", &deep, &centred),
		outer("clipped median of 128", &large, &median),
		Work { deltas: Some(64), ..outer("Multi-Krum of 64 mixed", &large, &mixed) },
		outer("mean of 128 by inner steps", &large, &weighted),
		outer("Multi-Krum of 128 codes", &large, &many),
		outer("Multi-Krum of 128 in 8 bits", &large, &int8_krum),
		outer("clipped median of 128 codes", &large, &median_of_codes),
		code("cosines", &cosines),
		code("many cosines", &many),
		code("8 bits", &int8),
		Work { name: "delta", delta: true, ..step.clone() },
		Work { name: "deep delta", model: deep.clone(), delta: true, ..step.clone() },
		Work { name: "masked", model: small.clone(), train: TrainConfig { masked: true, ..tokens.clone() }, token: masked, ..step.clone() },
		Work {
			name: "many, in int8",
			model: small.clone(),
			train: TrainConfig { products: Products::Int8, ..long.clone() },
			..step.clone()
		},
		Work { name: "many tokens", model: small, train: long, ..step.clone() },
		Work { name: "short sequences", train: short, token: same_tile, ..step.clone() },
		Work { name: "deep, short", model: deepest(&deep, &lines), train: lines, token: same_tile, ..step.clone() },
		Work {
			name: "largest vocabulary",
			model: ModelConfig { vocab: MAX_VOCAB, layers: 2, ..large.clone() },
			token: scattered_wide,
			..step.clone()
		},
		Work { name: "biases", model: biased, ..step.clone() },
		Work { name: "deep, biases", model: deep_biased, train: one.clone(), ..step.clone() },
		Work { name: "adapter", model: ModelConfig { layers: 1, ..large.clone() }, train: adapted, ..step.clone() },
		Work { name: "Muon", model: ModelConfig { layers: 1, ..large.clone() }, train: orthogonal, ..step.clone() },
		Work { name: "deep, Muon", model: deep_orthogonal, train: one_orthogonal, ..step.clone() },
		Work { name: "norms of heads", model: normed, train: tokens, ..step.clone() },
		Work { name: "deep, narrow heads", model: narrow, train: few, ..step.clone() },
		Work { name: "deep", model: deep, train: one, ..step.clone() },
		step,
	]
}

/// Cells and pieces of every stage that differs from those before it.
fn questions(work: &Work, plan: &Plan) -> Vec<(Cell, u32)> {
	let job = neuroshard_graph::resume::Job::new(plan, work.parameters());
	let mut known = BTreeMap::new();
	for (number, stage) in (0..).zip(plan.stages()) {
		let inputs = plan.inputs(stage);
		let shapes: Vec<_> = inputs.iter().take(8).map(|&(id, _)| plan.tensor(id).map(|info| (info.rows, info.cols))).collect();
		known.entry((format!("{:?}", stage.op), inputs.len(), shapes)).or_insert((number, stage));
	}
	let mut questions = Vec::new();
	for (number, stage) in known.into_values() {
		let output = plan.outputs(stage).len() as u32 - 1;
		let info = plan.tensor(plan.outputs(stage)[output as usize]).unwrap();
		let (rows, cols) = (info.rows.div_ceil(32), info.cols.div_ceil(32));
		let places = [(0, 0), (rows - 1, 0), (rows - 1, cols - 1), (rows / 2, cols / 2)];
		for cell in places.map(|(row, col)| Cell { stage: number, output, row, col }) {
			let pieces = job.pieces(cell).unwrap();
			questions.extend([0, pieces / 2, pieces - 1].map(|piece| (cell, piece)));
		}
	}
	questions
}

/// The name of an operator without its numbers.
fn name(case: &Case) -> String {
	format!("{:?}", case.op).split([' ', '{']).next().unwrap_or_default().to_owned()
}

/// The pieces of each operator that take longest natively in every job, with either kind of numbers, and those with the largest witness.
fn hardest() -> Vec<Case> {
	let mut hardest = BTreeMap::new();
	for work in works() {
		let plan = work.plan();
		println!("{}: {} layers, {} nodes, {} tiles of a vector", work.name, work.model.layers, plan.node_count(), plan.vector_len());
		for data in [Data::Usual, Data::Subnormal] {
			let (mut largest, mut slowest) = (BTreeMap::<String, Case>::new(), BTreeMap::<String, (Duration, Case)>::new());
			for (cell, piece) in questions(&work, &plan) {
				let one = Case::new(&work, &plan, cell, piece, data);
				let started = Instant::now();
				let _ = one.play();
				let taken = started.elapsed();
				let name = name(&one);
				if slowest.get(&name).is_none_or(|(most, _)| taken > *most) {
					slowest.insert(name.clone(), (taken, one.clone()));
				}
				if largest.get(&name).is_none_or(|most| one.witness > most.witness) {
					largest.insert(name, one);
				}
			}
			let cases = largest.into_values().chain(slowest.into_values().map(|(_, case)| case));
			let known = |case: Case| ((name(&case), work.name, case.witness, case.piece, format!("{data:?}")), case);
			hardest.extend(cases.map(known));
		}
	}
	hardest.into_values().collect()
}

/// Row that is printed of an operator: its slowest case.
struct Row {
	fastest: Duration,
	text: String,
}

#[test]
fn the_largest_pieces_of_every_operator_are_judged_in_wasm_as_natively() {
	let chain = Chain::new();
	let (mut rows, mut largest) = (BTreeMap::<String, Row>::new(), BTreeMap::<String, usize>::new());
	let cases = hardest();
	// Compiles the runtime.
	let _ = chain.play(&cases[0], &Move::Vector(0));
	for case in &cases {
		let (verdict, [fastest, median, slowest]) = chain.play(case, &case.action);
		assert_eq!(verdict, Ok(Outcome::Decided(Ruling::Unfounded)), "{:?}", case.op);
		if let Some(lie) = case.of_a_wrong_tile() {
			let (verdict, _) = chain.play(&lie, &lie.action);
			assert_eq!(verdict, Ok(Outcome::Decided(Ruling::Fraud)), "{:?}", case.op);
		}
		assert!(case.witness <= MAX_WITNESS, "{:?}: {} bytes", case.op, case.witness);
		let most = largest.entry(name(case)).or_default();
		*most = case.witness.max(*most);
		let ms = |time: Duration| time.as_secs_f64() * 1e3;
		let (piece, pieces) = case.piece;
		let text = format!(
			"{:6.2} {:6.2} {:6.2}  {:20} {:9} piece {piece} of {pieces}, {} bytes",
			ms(fastest),
			ms(median),
			ms(slowest),
			case.name,
			format!("{:?}", case.data),
			case.witness,
		);
		if rows.get(&name(case)).is_none_or(|row| row.fastest < fastest) {
			rows.insert(name(case), Row { fastest, text });
		}
	}
	println!("slowest of {} cases, ms: fastest, median, slowest of {CALLS} calls; largest witness", cases.len());
	for (name, Row { text, .. }) in &rows {
		println!("{name:18} {text}; {} bytes", largest[name]);
	}
	// A training step has 43 operators, with those of biases, one where a dataset is masked, one of adapters, three of exact int8, four of Muon, and one that adds up the
	// sums of squares of all units; then there are the delta, two ways to aggregate, and the outer step; and of robust rules sums of distances and
	// distances, each of two kinds, five kinds of weights, the weighted sum and the trimmed mean of shortened deltas.
	// Of codes there are two kinds, and what one of them leaves.
	assert_eq!(rows.len(), 47 + 4 + 11 + 3, "{:?}", rows.keys());
}

#[test]
fn a_plan_is_made_in_wasm_for_every_move() {
	let chain = Chain::new();
	let usual = ModelConfig {
		vocab: 4_096,
		dim: 384,
		layers: 6,
		heads: 6,
		kv_heads: 6,
		ffn: 1_024,
		max_seq: 256,
		tied: false,
		..ModelConfig::tiny()
	};
	let train = TrainConfig { batch: 8, seq_len: 256, ..TrainConfig::tiny() };
	// As many stages as there may be of an adapter.
	let adapted = TrainConfig { batch: 1, seq_len: 32, adapter: Some(ADAPTER), ..train.clone() };
	let narrow = deepest(&ModelConfig { vocab: 1_024, dim: 32, heads: 1, kv_heads: 1, ffn: 32, ..usual.clone() }, &adapted);
	// As many layers as there may be with Muon.
	let muon = TrainConfig { adapter: None, optimizer: Optimizer::Muon { momentum: F32::new(0.95) }, ..adapted.clone() };
	let shallow = deepest(&narrow, &muon);
	let usual = Work { name: "13.8M", model: usual, train, deltas: None, delta: false, token: same_tile };
	let narrow = Work { name: "deep, adapter", model: narrow, train: adapted, ..usual.clone() };
	let shallow = Work { name: "deep, narrow, Muon", model: shallow, train: muon, ..usual.clone() };
	for work in works().into_iter().chain([usual, narrow, shallow]) {
		let plan = work.plan();
		let (cell, piece) = questions(&work, &plan)[0];
		let case = Case::new(&work, &plan, cell, piece, Data::Usual);
		// Opens the list of a vector: nothing but a plan is needed for that. A move of another kind needs none.
		let position = match case.position {
			Position::PickPiece { site, .. } => Position::PickVector { site, results: [[1; 32]; 3] },
			other => other,
		};
		let case = Case { position, ..case };
		let (none, [_, bare, _]) = chain.play(&case, &Move::Steps(Vec::new()));
		let (next, [fastest, median, slowest]) = chain.play(&case, &Move::Vector(0));
		assert_eq!(none, Err(GameError::WrongMove));
		assert_eq!(next, case.game.play(&case.position, &Move::Vector(0)));
		println!("{:20} {:5} nodes: {median:?} ({fastest:?} to {slowest:?}), without a plan {bare:?}", work.name, plan.node_count());
	}
}
