//! Placements against rings that are enumerated one by one, and worked examples.

use super::{
	order, replicas,
	table::{Pool, Stage},
	*,
};
use neuroshard_graph::{Class, ModelConfig};
use proptest::prelude::*;

fn node(name: &str, memory: u64) -> Node {
	let speed = Speed { flops: 100.0, bytes: 100.0 };
	Node { name: name.into(), memory, speed, reputation: 500, uptime: 0.9, roles: Roles::ALL }
}

fn links(nodes: usize) -> Links {
	Links::new(nodes, |_, _| Some(Link { latency: 0.5, bandwidth: 8.0 })).unwrap()
}

/// Layers of 10 bytes that take a second at 100 per second each, an embedding of 4 bytes and a head of 6.
fn model(layers: usize) -> Model {
	let work = |flops| Work { flops, bytes: 0 };
	Model {
		embedding: End { memory: 4, work: work(0) },
		layers: vec![Layer { memory: 10, attention: work(40), mlp: work(60) }; layers],
		head: End { memory: 6, work: work(50) },
		shared: 0,
		row: 4,
		token: 4,
		batch: 1,
	}
}

fn request(goal: Goal) -> Request {
	Request { goal, ..Request::default() }
}

/// Names, first layers and numbers of layers of a ring.
fn ring(placement: &Placement) -> Vec<(&str, usize, usize)> {
	placement.ring().map(|span| (span.name.as_str(), span.first, span.layers)).collect()
}

/// Returns the memory and time of a span, worked out without the code that is tested: bytes and seconds.
fn takes(model: &Model, node: &Node, from: usize, to: usize) -> (u64, f64) {
	let (mut bytes, mut seconds) = (0, 0.0);
	let mut work = |work: &Work| seconds += (work.flops as f64 / node.speed.flops).max(work.bytes as f64 / node.speed.bytes);
	for block in from..to {
		if block == 0 {
			bytes += model.embedding.memory;
			work(&model.embedding.work);
		} else if block <= model.layers.len() {
			bytes += model.layers[block - 1].memory;
			work(&model.layers[block - 1].attention);
			work(&model.layers[block - 1].mlp);
		} else {
			bytes += model.head.memory;
			work(&model.head.work);
		}
	}
	let whole = from == 0 && to == model.layers.len() + 2;
	(bytes - if whole { model.shared } else { 0 }, seconds)
}

/// A node with the blocks from one to another.
type Piece = (usize, usize, usize);

/// Returns the costs of a ring: `[latency, bottleneck, missing bytes]`; `None` if roles forbid it. Without a link, times are infinite.
fn costs(model: &Model, nodes: &[Node], links: &Links, request: &Request, ring: &[Piece]) -> Option<[f64; 3]> {
	let blocks = model.layers.len() + 2;
	let (mut latency, mut bottleneck, mut missing) = (0.0, 0.0f64, 0);
	for (place, (who, from, to)) in ring.iter().enumerate() {
		let node = &nodes[*who];
		let layers = (*from..*to).any(|block| block > 0 && block < blocks - 1);
		let forbidden = (*from == 0 && !node.roles.driver) || (*to == blocks && !node.roles.predictor);
		if forbidden || (layers && !node.roles.worker) || (!layers && !request.bare_ends) {
			return None;
		}
		let (bytes, seconds) = takes(model, node, *from, *to);
		missing += bytes.saturating_sub(node.memory);
		let (mut hop, mut occupied) = (0.0, 0.0);
		if ring.len() > 1 {
			let last = place + 1 == ring.len();
			let sent = if last { model.token } else { model.row } as f64;
			let link = links.get(*who, ring[(place + 1) % ring.len()].0);
			(hop, occupied) =
				link.map_or((f64::INFINITY, f64::INFINITY), |link| (link.latency + sent / link.bandwidth, sent / link.bandwidth));
		}
		latency += seconds + hop;
		bottleneck = bottleneck.max(seconds).max(occupied);
	}
	Some([latency, bottleneck, missing as f64])
}

/// Calls `visit` with every ring of at most `most` nodes that begins with `begun`, which has placed `from` blocks. `order` tells who may come
/// after whom.
fn enumerate(nodes: usize, blocks: usize, most: usize, ordered: bool, begun: &mut Vec<Piece>, visit: &mut dyn FnMut(&[Piece])) {
	let from = begun.last().map_or(0, |(_, _, to)| *to);
	if from == blocks {
		return visit(begun);
	}
	for node in 0..nodes {
		let comes_late = begun.last().is_none_or(|(last, ..)| *last < node);
		if begun.len() == most || begun.iter().any(|(other, ..)| *other == node) || (ordered && !comes_late) {
			continue;
		}
		for to in from + 1..=blocks {
			begun.push((node, from, to));
			enumerate(nodes, blocks, most, ordered, begun, visit);
			begun.pop();
		}
	}
}

/// The best costs by the goal, and the fewest missing bytes whatever the links.
fn best(case: &Case, ordered: bool) -> (Option<[f64; 2]>, Option<f64>) {
	let (mut least, mut fewest) = (None::<[f64; 2]>, None::<f64>);
	let most = if ordered { usize::MAX } else { case.request.most_spans };
	enumerate(case.nodes.len(), case.model.layers.len() + 2, most, ordered, &mut Vec::new(), &mut |ring| {
		let Some([latency, bottleneck, missing]) = costs(&case.model, &case.nodes, &case.links, &case.request, ring) else { return };
		fewest = Some(fewest.map_or(missing, |fewest| fewest.min(missing)));
		if missing > 0.0 || latency.is_infinite() {
			return;
		}
		let cost = match case.request.goal {
			Goal::Latency => [latency, 0.0],
			Goal::Throughput => [bottleneck, latency],
		};
		// Sums in another order differ in their last bits.
		let less = |best: [f64; 2]| match cost[0] - best[0] {
			difference if difference.abs() > 1e-9 * best[0].abs() => difference < 0.0,
			_ => cost[1] < best[1],
		};
		if least.is_none_or(less) {
			least = Some(cost);
		}
	});
	(least, fewest)
}

#[derive(Clone, Debug)]
struct Case {
	model: Model,
	nodes: Vec<Node>,
	links: Links,
	request: Request,
}

fn work() -> impl Strategy<Value = Work> {
	(0u64..400, 0u64..400).prop_map(|(flops, bytes)| Work { flops, bytes })
}

fn case(nodes: std::ops::RangeInclusive<usize>, layers: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Case> {
	let layer = (1u64..20, work(), work()).prop_map(|(memory, attention, mlp)| Layer { memory, attention, mlp });
	let end = || (0u64..20, work()).prop_map(|(memory, work)| End { memory, work });
	let model = (end(), prop::collection::vec(layer, layers), end(), 0u64..20, 1u64..50, 1u32..4);
	let model = model.prop_map(|(embedding, layers, head, shared, row, batch)| Model {
		shared: shared.min(embedding.memory).min(head.memory),
		embedding,
		layers,
		head,
		row,
		token: 4,
		batch,
	});
	let role = || prop::bool::weighted(0.8);
	let node = (5u64..80, 1f64..200.0, 1f64..200.0, 0u16..=1000, 0f64..=1.0, (role(), role(), role()));
	let node = node.prop_map(|(memory, flops, bytes, reputation, uptime, (driver, worker, predictor))| Node {
		name: String::new(),
		memory,
		speed: Speed { flops, bytes },
		reputation,
		uptime,
		roles: Roles { driver, worker, predictor },
	});
	let nodes = prop::collection::vec(node, nodes).prop_map(|mut nodes| {
		nodes.iter_mut().enumerate().for_each(|(place, node)| node.name = format!("n{place}"));
		nodes
	});
	let link = prop::option::weighted(0.9, (0f64..3.0, 1f64..100.0).prop_map(|(latency, bandwidth)| Link { latency, bandwidth }));
	let request = (any::<bool>(), any::<bool>(), 1usize..6);
	let request = request.prop_map(|(latency, bare_ends, most_spans)| Request {
		goal: if latency { Goal::Latency } else { Goal::Throughput },
		bare_ends,
		most_spans,
		..Request::default()
	});
	(model, nodes, request).prop_flat_map(move |(model, nodes, request)| {
		let count = nodes.len();
		let rest = (Just(model), Just(nodes), Just(request));
		(rest, prop::collection::vec(link.clone(), count * count)).prop_map(move |((model, nodes, request), list)| {
			let links = Links::new(count, |from, to| list[from * count + to]).unwrap();
			Case { model, nodes, links, request }
		})
	})
}

fn close(a: f64, b: f64) -> bool {
	(a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Checks that a placement is one that roles, memory, links and the number of spans allow, and that its predictions are right.
fn check(case: &Case, placement: &Placement) {
	let Case { model, nodes, links, request } = case;
	let ring: Vec<&Span> = placement.ring().collect();
	let (mut from, mut stages) = (0, Vec::new());
	for span in &ring {
		assert_eq!(span.embedding, from == 0);
		let to = from + span.layers + usize::from(span.embedding) + usize::from(span.head);
		assert_eq!(span.first, from.saturating_sub(1).min(model.layers.len()));
		let (bytes, seconds) = takes(model, &nodes[span.node], from, to);
		assert!(span.bytes == bytes && close(span.seconds, seconds) && bytes <= nodes[span.node].memory);
		stages.push((span.node, from, to));
		from = to;
	}
	assert_eq!(from, model.layers.len() + 2);
	let holders: BTreeSet<usize> = ring.iter().map(|span| span.node).collect();
	assert_eq!(holders.len(), ring.len());
	let [latency, bottleneck, missing] = costs(model, nodes, links, request, &stages).unwrap();
	assert!(close(placement.latency, latency) && close(placement.bottleneck, bottleneck) && missing == 0.0);
	assert!(placement.left_out.len() + ring.len() == nodes.len());
	assert!(placement.explain().len() >= 2 + nodes.len());
}

fn cost(placement: &Placement) -> [f64; 2] {
	match placement.request.goal {
		Goal::Latency => [placement.latency, 0.0],
		Goal::Throughput => [placement.bottleneck, placement.latency],
	}
}

/// Checks that an outcome is the best of all rings, or says rightly why there is none.
fn is_best(case: &Case, outcome: Result<Placement, PlacementError>, ordered: bool) {
	match (outcome, best(case, ordered)) {
		(Ok(placement), (Some(best), _)) => {
			check(case, &placement);
			let cost = cost(&placement);
			assert!(close(cost[0], best[0]) && close(cost[1], best[1]), "{cost:?} against {best:?}");
			assert!(ordered || placement.ring().count() <= case.request.most_spans);
		}
		(Err(PlacementError::Memory { missing, exact, short, .. }), (None, Some(fewest))) => {
			assert!(exact && missing as f64 == fewest, "{missing} against {fewest}");
			assert_eq!(short.iter().map(|(_, bytes)| bytes).sum::<u64>(), missing);
		}
		(Err(PlacementError::NoRing), (None, fewest)) => assert!(fewest.is_none_or(|fewest| fewest == 0.0)),
		(Err(PlacementError::NoRole(_)), (None, None)) => {}
		(outcome, best) => panic!("{outcome:?} against {best:?}"),
	}
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(1_000))]

	#[test]
	fn few_nodes_form_the_best_of_all_rings_or_lack_what_is_said(case in case(1..=4, 1..=4)) {
		is_best(&case, place(&case.model, &case.nodes, &case.links, &case.request), false);
	}

	#[test]
	fn nodes_in_their_order_have_the_best_of_all_splits(case in case(1..=5, 1..=4)) {
		is_best(&case, by_speed(&case.model, &case.nodes, &case.links, &case.request), true);
	}

	#[test]
	fn scores_are_shares_of_the_best(case in case(1..=6, 1..=3)) {
		let all: Vec<usize> = (0..case.nodes.len()).collect();
		let scores = scores(&case.model, &case.nodes, &case.links, &all);
		for score in &scores {
			let parts = [score.total, score.speed, score.memory, score.latency, score.reputation, score.uptime];
			prop_assert!(parts.iter().all(|part| (0.0..=1.0 + 1e-12).contains(part)), "{:?}", score);
		}
		prop_assert!(scores.iter().any(|score| score.speed == 1.0) && scores.iter().any(|score| score.memory == 1.0));
	}

	#[test]
	fn memory_weighted_splits_are_in_proportion(memory in prop::collection::vec(0u64..1000, 1..12), more in 0usize..40) {
		let layers = memory.len() + more;
		let split = memory_weighted(layers, &memory).unwrap();
		prop_assert!(split.iter().sum::<usize>() == layers && split.iter().all(|layers| *layers >= 1));
		for (a, b) in memory.iter().zip(&split) {
			for (other, theirs) in memory.iter().zip(&split) {
				prop_assert!(a <= other || b >= theirs, "more memory, and fewer layers");
			}
		}
		let sum: u64 = memory.iter().sum();
		if memory.iter().all(|memory| memory * layers as u64 >= sum) && sum > 0 {
			for (memory, layers_of) in memory.iter().zip(&split) {
				let share = *memory as f64 * layers as f64 / sum as f64;
				prop_assert!((*layers_of as f64 - share).abs() < 1.0);
			}
		}
	}

	#[test]
	fn memory_weighted_rings_are_allowed(case in case(1..=11, 1..=12)) {
		let request = Request { split: Split::MemoryWeighted, bare_ends: false, ..case.request };
		let case = Case { request, ..case };
		match place(&case.model, &case.nodes, &case.links, &case.request) {
			Ok(placement) => check(&case, &placement),
			Err(PlacementError::Memory { missing, short, .. }) => prop_assert!(missing > 0 && !short.is_empty()),
			Err(error) => prop_assert!(matches!(error, PlacementError::NoRing | PlacementError::NoRole(_)), "{:?}", error),
		}
	}
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(60))]

	#[test]
	fn the_order_in_which_nodes_are_listed_does_not_matter(case in case(1..=12, 1..=4), turn in 0usize..12, redundancy in 1usize..3) {
		let count = case.nodes.len();
		// Some are alike but for their names.
		let mut nodes = case.nodes.clone();
		(1..count).filter(|place| place % 3 == 1).for_each(|place| nodes[place] = Node { name: nodes[place].name.clone(), ..nodes[place - 1].clone() });
		let request = Request { redundancy, ..case.request };
		let old = |place: usize| (count - 1 - place + turn) % count;
		let turned: Vec<Node> = (0..count).map(|place| nodes[old(place)].clone()).collect();
		let links = Links::new(count, |from, to| case.links.get(old(from), old(to))).unwrap();
		let rename = |placement: Placement, old: &dyn Fn(usize) -> usize| {
			let spans = placement.spans.into_iter().map(|span| Span { node: old(span.node), ..span }).collect();
			let left_out = placement.left_out.into_iter().map(|left| LeftOut { node: old(left.node), ..left }).collect();
			Placement { spans, left_out, ..placement }
		};
		let before = place(&case.model, &nodes, &case.links, &request).map(|placement| rename(placement, &|place| place));
		let after = place(&case.model, &turned, &links, &request).map(|placement| rename(placement, &old));
		prop_assert_eq!(before, after);
	}

	#[test]
	fn each_layer_is_held_as_often_as_asked_by_different_nodes(case in case(1..=12, 1..=6), redundancy in 1usize..5) {
		let request = Request { redundancy, ..case.request };
		let Ok(placement) = place(&case.model, &case.nodes, &case.links, &request) else { return Ok(()) };
		let holders = |holds: &dyn Fn(&&Span) -> bool| placement.spans.iter().filter(holds).map(|span| span.node).collect::<Vec<_>>();
		let mut parts: Vec<Vec<usize>> =
			(0..case.model.layers.len()).map(|layer| holders(&|span| (span.first..span.first + span.layers).contains(&layer))).collect();
		parts.extend([holders(&|span| span.embedding), holders(&|span| span.head)]);
		for nodes in parts {
			prop_assert_eq!(nodes.len(), redundancy);
			prop_assert_eq!(nodes.iter().collect::<BTreeSet<_>>().len(), redundancy);
		}
		for (place, node) in case.nodes.iter().enumerate() {
			let held: u64 = placement.spans.iter().filter(|span| span.node == place).map(|span| span.bytes).sum();
			prop_assert!(held <= node.memory);
		}
		for span in &placement.spans {
			let roles = case.nodes[span.node].roles;
			prop_assert!((roles.driver || !span.embedding) && (roles.predictor || !span.head) && (roles.worker || span.layers == 0));
		}
	}

	#[test]
	fn the_heuristic_finds_allowed_rings_that_are_no_better_than_the_best(case in case(10..=11, 1..=4)) {
		let request = Request { most_spans: 32, ..case.request };
		let case = Case { request, ..case };
		let Ok(placement) = place(&case.model, &case.nodes, &case.links, &request) else { return Ok(()) };
		check(&case, &placement);
		let all: Vec<usize> = (0..case.nodes.len()).collect();
		let pool = Pool { model: &case.model, nodes: &case.nodes, links: &case.links, request: &request, members: &all };
		let table = if request.goal == Goal::Latency { pool.latency() } else { pool.bottleneck() };
		let best = order::exact(&table, 32).unwrap().cost;
		prop_assert!(cost(&placement)[0] >= best * (1.0 - 1e-9));
	}
}

#[test]
fn weights_add_up_to_one() {
	assert!((SPEED + MEMORY + LATENCY + REPUTATION + UPTIME - 1.0).abs() < 1e-12);
}

#[test]
fn a_score_is_the_weighted_mean_of_its_parts() {
	let mut nodes = [node("best", 1_000), node("half", 13)];
	nodes[1].speed.flops = 50.0;
	nodes[1].reputation = 250;
	nodes[1].uptime = 0.45;
	// 26 bytes are needed: more memory counts as that. Both have the same two links.
	let model = Model { embedding: End::default(), layers: model(2).layers, head: model(2).head, ..model(2) };
	let scores = scores(&model, &nodes, &links(2), &[0, 1]);
	assert!(close(scores[0].total, 1.0), "{:?}", scores[0]);
	assert_eq!((scores[1].speed, scores[1].memory, scores[1].latency), (0.5, 0.5, 1.0));
	assert!(close(scores[1].total, 0.15 + 0.125 + 0.2 + 0.075 + 0.05), "{:?}", scores[1]);
}

#[test]
fn a_node_without_links_is_far() {
	let far = Links::new(3, |from, to| (from != 2 && to != 2).then_some(Link { latency: 0.5, bandwidth: 8.0 })).unwrap();
	let scores = scores(&model(2), &[node("a", 9), node("b", 9), node("c", 9)], &far, &[0, 1, 2]);
	assert_eq!(scores.iter().map(|score| score.latency).collect::<Vec<_>>(), [1.0, 1.0, 0.0]);
}

#[test]
fn memory_weighted_splits_worked_out_by_hand() {
	// 24, 8 and 16 of 48: shares of 6, 2 and 4.
	assert_eq!(memory_weighted(12, &[24, 8, 16]), Ok(vec![6, 2, 4]));
	// Shares of 4.17, 3.33 and 2.5: whole parts 4, 3, 2, and the largest fraction is the last one's.
	assert_eq!(memory_weighted(10, &[5, 4, 3]), Ok(vec![4, 3, 3]));
	// Shares of 2.5 each: fractions and memory are alike, so the one before.
	assert_eq!(memory_weighted(5, &[7, 7]), Ok(vec![3, 2]));
	// Shares of 9.89, 0.1 and 0.01: one for the small ones, eight are left.
	assert_eq!(memory_weighted(10, &[1000, 10, 1]), Ok(vec![8, 1, 1]));
	// 0.75 of 6 for the smallest: one. Then 5 layers over 4 and 3: 2.86 and 2.14.
	assert_eq!(memory_weighted(6, &[4, 3, 1]), Ok(vec![3, 2, 1]));
	assert_eq!(memory_weighted(3, &[1, 1, 100]), Ok(vec![1, 1, 1]));
	assert_eq!(memory_weighted(5, &[0, 0]), Ok(vec![3, 2]));
	assert_eq!(memory_weighted(3, &[u64::MAX, u64::MAX]), Ok(vec![2, 1]));
	assert_eq!(memory_weighted(2, &[1, 1, 1]), Err(PlacementError::TooManyNodes { nodes: 3, layers: 2 }));
	assert_eq!(memory_weighted(2, &[]), Err(PlacementError::NoNodes));
}

#[test]
fn layers_are_split_by_the_memory_that_the_ends_leave() {
	// Whoever comes first has 4 bytes less, and whoever comes last 6: 60, 20 and 40 for layers are shares of 6, 2 and 4.
	let roles = |driver, predictor| Roles { driver, worker: true, predictor };
	let mut nodes = [node("a", 64), node("b", 20), node("c", 46)];
	(nodes[0].roles, nodes[1].roles, nodes[2].roles) = (roles(true, false), roles(false, false), roles(false, true));
	let request = Request { split: Split::MemoryWeighted, ..Request::default() };
	let placement = place(&model(12), &nodes, &links(3), &request).unwrap();
	assert_eq!(ring(&placement), [("a", 0, 6), ("b", 6, 2), ("c", 8, 4)]);
	assert!(placement.spans.iter().all(|span| span.memory_share == 1.0 && span.limit == Limit::Memory));
}

#[test]
fn what_a_model_costs() {
	let config = ModelConfig { layers: 2, kv_heads: 1, dim: 64, vocab: 96, max_seq: 64, ..ModelConfig::tiny() };
	let model = Model::of(&config, Load { class: Class::ExactF32, context: 33, sequences: 5, batch: 3 }).unwrap();
	// 2 heads of 32; q and o have 64 x 64 parameters, k and v 64 x 32, the MLP 3 x 64 x 64, norms 2 x 64.
	let (projections, mlp) = (2 * 64 * 64 + 2 * 64 * 32, 3 * 64 * 64);
	let pages = 33u64.div_ceil(u64::try_from(neuroshard_compute::exec::PAGE_TOKENS).unwrap());
	let cached = pages * u64::try_from(neuroshard_compute::exec::PAGE_TOKENS).unwrap() * 2 * 32 * 4 * 5;
	let layer = model.layers[1];
	assert_eq!(layer.memory, 4 * (projections + mlp + 128) + cached);
	assert_eq!(layer.attention, Work { flops: 3 * (2 * projections + 4 * 64 * 33), bytes: 4 * (projections + 64) + 3 * 33 * 2 * 32 * 4 });
	assert_eq!(layer.mlp, Work { flops: 3 * 2 * mlp, bytes: 4 * (mlp + 64) });
	assert_eq!(model.embedding, End { memory: 4 * 96 * 64, work: Work { flops: 0, bytes: 3 * 4 * 64 } });
	assert_eq!(model.head, End { memory: 4 * 97 * 64, work: Work { flops: 3 * 2 * 96 * 64, bytes: 4 * 97 * 64 } });
	assert_eq!((model.shared, model.row, model.token), (4 * 96 * 64, 3 * 4 * 64, 12));
	// All parameters, the tied matrix once.
	assert_eq!(model.memory(), 4 * config.parameters() + 2 * cached);
	let untied =
		Model::of(&ModelConfig { tied: false, ..config.clone() }, Load { class: Class::ExactF32, context: 33, sequences: 5, batch: 3 })
			.unwrap();
	assert_eq!(untied.memory(), 4 * ModelConfig { tied: false, ..config.clone() }.parameters() + 2 * cached);
	// In 8 bits with a scale for each 32, and an embedding in f32 beside the head's matrix.
	let small = Model::of(&config, Load { class: Class::ExactInt8, context: 33, sequences: 5, batch: 3 }).unwrap();
	let bytes = |parameters: u64| parameters + parameters / 8;
	assert_eq!(small.layers[0].memory, bytes(projections + mlp) + 4 * 128 + cached);
	assert_eq!(small.layers[0].mlp, Work { flops: 3 * 2 * mlp, bytes: bytes(mlp) + 4 * 64 });
	assert_eq!((small.embedding.memory, small.head.memory, small.shared), (4 * 96 * 64, bytes(96 * 64) + 4 * 64, 0));
	for (context, sequences, batch) in [(0, 1, 1), (65, 1, 1), (64, 1, 0), (64, 1, 2)] {
		assert_eq!(Model::of(&config, Load { class: Class::ExactF32, context, sequences, batch }), Err(PlacementError::Load { most: 64 }));
	}
	let bad = ModelConfig { heads: 3, ..config };
	assert!(matches!(Model::of(&bad, Load { class: Class::ExactF32, context: 1, sequences: 1, batch: 1 }), Err(PlacementError::Config(_))));
}

#[test]
fn one_node_that_has_the_memory_is_fastest_alone_and_two_answer_more() {
	let nodes = [node("a", 100), node("b", 100)];
	let placement = place(&model(4), &nodes, &links(2), &request(Goal::Latency)).unwrap();
	assert_eq!(ring(&placement), [("a", 0, 4)]);
	// 4 layers of a second each, and a head of half a second.
	assert!(close(placement.latency, 4.5) && close(placement.seconds_per_token(), 4.5));
	assert_eq!(placement.left_out[0].why, Why::NotBetter);
	let placement = place(&model(4), &nodes, &links(2), &request(Goal::Throughput)).unwrap();
	assert_eq!(ring(&placement), [("a", 0, 2), ("b", 2, 2)]);
	// Two layers and the head; two hops of 0.5 + 4 / 8 seconds in between.
	assert!(close(placement.bottleneck, 2.5) && close(placement.latency, 6.5));
}

#[test]
fn faster_nodes_have_more_layers_for_throughput() {
	let mut nodes = [node("a", 100), node("b", 100)];
	nodes[1].speed.flops = 300.0;
	nodes[1].roles.driver = false;
	nodes[0].roles.predictor = false;
	let placement = place(&model(8), &nodes, &links(2), &request(Goal::Throughput)).unwrap();
	assert_eq!(ring(&placement), [("a", 0, 2), ("b", 2, 6)]);
	assert!(close(placement.bottleneck, 6.5 / 3.0));
}

#[test]
fn only_its_roles_decide_what_a_node_holds() {
	let mut nodes = [node("driver", 4), node("worker", 40), node("predictor", 6)];
	nodes[0].roles = Roles { driver: true, worker: false, predictor: false };
	nodes[1].roles = Roles { driver: false, worker: true, predictor: false };
	nodes[2].roles = Roles { driver: false, worker: false, predictor: true };
	let bare = Request { bare_ends: true, ..Request::default() };
	let placement = place(&model(4), &nodes, &links(3), &bare).unwrap();
	assert_eq!(ring(&placement), [("driver", 0, 0), ("worker", 0, 4), ("predictor", 4, 0)]);
	assert_eq!(place(&model(4), &nodes, &links(3), &Request::default()), Err(PlacementError::NoRole(Role::Driver)));
	nodes[0].roles.worker = true;
	assert_eq!(place(&model(4), &nodes, &links(3), &Request::default()), Err(PlacementError::NoRole(Role::Predictor)));
	assert_eq!(PlacementError::NoRole(Role::Driver).to_string(), "no node may be a driver: a ring needs one");
}

#[test]
fn missing_memory_is_told_in_bytes() {
	// 10 layers and the ends need 110 bytes. Five layers with the embedding, and five with the head, lack 4 and 16 of 50 and 40; no split lacks less.
	let nodes = [node("a", 50), node("b", 40)];
	let error = place(&model(10), &nodes, &links(2), &request(Goal::Latency)).unwrap_err();
	let short: Vec<(String, u64)> = vec![("a".into(), 4), ("b".into(), 16)];
	assert_eq!(error, PlacementError::Memory { needed: 110, available: 90, missing: 20, short, exact: true });
	assert_eq!(
		error.to_string(),
		"20 bytes of memory are missing: the model needs 110 bytes, and the nodes lend 90; a lacks 4, b lacks 16"
	);

	// Enough in all, but the third layer would need 10 in one place: the embedding and two layers lack 3 on "b", the head and two layers 5.
	let nodes = [node("a", 19), node("b", 21)];
	let error = place(&model(3), &nodes, &links(2), &request(Goal::Latency)).unwrap_err();
	assert_eq!(error, PlacementError::Memory { needed: 40, available: 40, missing: 3, short: vec![("b".into(), 3)], exact: true });
	assert_eq!(
		error.to_string(),
		"3 bytes of memory are missing: the model needs 40 bytes, and the nodes lend 40, but not in pieces that whole layers fit in; b lacks 3"
	);

	// Nobody has room for anything.
	let nodes = [node("a", 0)];
	let error = place(&model(1), &nodes, &links(1), &request(Goal::Throughput)).unwrap_err();
	assert!(matches!(error, PlacementError::Memory { missing: 20, .. }), "{error:?}");

	// Many nodes.
	let nodes: Vec<Node> = (0..20).map(|place| node(&format!("n{place}"), 20)).collect();
	let few = Request { most_spans: 2, ..Request::default() };
	let error = place(&model(10), &nodes, &links(20), &few).unwrap_err();
	assert!(matches!(error, PlacementError::Memory { needed: 110, missing: 70, exact: false, .. }), "{error:?}");
	assert!(error.to_string().starts_with("70 bytes of memory are missing, or somewhat fewer: "), "{error}");
}

#[test]
fn without_links_there_is_no_ring() {
	let none = Links::new(2, |_, _| None).unwrap();
	let nodes = [node("a", 30), node("b", 30)];
	assert_eq!(place(&model(4), &nodes, &none, &request(Goal::Latency)), Err(PlacementError::NoRing));
	// But one node needs none.
	assert_eq!(ring(&place(&model(2), &nodes, &none, &request(Goal::Latency)).unwrap()), [("a", 0, 2)]);
}

#[test]
fn numbers_that_nothing_can_be_computed_from_are_refused() {
	let refused = |change: &dyn Fn(&mut Node)| {
		let mut nodes = [node("a", 100), node("b", 100)];
		change(&mut nodes[1]);
		place(&model(2), &nodes, &links(2), &Request::default()).unwrap_err()
	};
	for value in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
		assert!(matches!(refused(&|node| node.speed.flops = value), PlacementError::Node { name, .. } if name == "b"));
		assert!(matches!(refused(&|node| node.speed.bytes = value), PlacementError::Node { .. }));
		assert_eq!(Links::new(2, |_, _| Some(Link { latency: 0.0, bandwidth: value })), Err(PlacementError::Link { from: 0, to: 1 }));
	}
	for value in [f64::NAN, f64::INFINITY, -0.1, 1.1] {
		assert!(matches!(refused(&|node| node.uptime = value), PlacementError::Node { .. }));
	}
	for latency in [f64::NAN, f64::INFINITY, -0.1] {
		assert_eq!(
			Links::new(2, |from, _| (from == 1).then_some(Link { latency, bandwidth: 1.0 })),
			Err(PlacementError::Link { from: 1, to: 0 })
		);
	}
	assert!(matches!(refused(&|node| node.reputation = 1001), PlacementError::Node { .. }));
	assert!(matches!(refused(&|node| node.name = String::new()), PlacementError::Node { .. }));
	assert_eq!(refused(&|node| node.name = "a".into()), PlacementError::SameName("a".into()));
	let nodes = [node("a", 100)];
	let refused = |model: &Model, request: &Request| place(model, &nodes, &links(1), request).unwrap_err();
	assert_eq!(refused(&model(0), &Request::default()), PlacementError::Model);
	assert_eq!(refused(&model(129), &Request::default()), PlacementError::Model);
	assert_eq!(refused(&Model { shared: 5, ..model(2) }, &Request::default()), PlacementError::Model);
	assert_eq!(refused(&Model { batch: 0, ..model(2) }, &Request::default()), PlacementError::Model);
	for request in [(0, 1), (1, 0), (1, MOST_SPANS + 1)] {
		let request = Request { redundancy: request.0, most_spans: request.1, ..Request::default() };
		assert_eq!(refused(&model(2), &request), PlacementError::Request);
	}
	assert_eq!(place(&model(2), &[], &links(0), &Request::default()), Err(PlacementError::NoNodes));
	assert_eq!(place(&model(2), &nodes, &links(2), &Request::default()), Err(PlacementError::LinksOfOthers { links: 2, nodes: 1 }));
}

#[test]
fn equals_are_told_apart_by_their_names() {
	let nodes = [node("c", 100), node("a", 100), node("b", 100)];
	assert_eq!(ring(&place(&model(3), &nodes, &links(3), &request(Goal::Latency)).unwrap()), [("a", 0, 3)]);
}

#[test]
fn replicas_are_as_many_as_nodes_allow_and_others_make_room_for_that() {
	// "large" could repeat both stages, and "small" only the first: the better one must not take it away.
	let nodes = [node("a", 14), node("b", 26), node("large", 30), node("small", 14)];
	let request = Request { redundancy: 2, ..Request::default() };
	let (model, links) = (model(3), links(4));
	let pool = Pool { model: &model, nodes: &nodes, links: &links, request: &request, members: &[0, 1, 2, 3] };
	let stages = [Stage { node: 0, from: 0, to: 2 }, Stage { node: 1, from: 2, to: 5 }];
	let replicas = replicas::place(&pool, &stages).unwrap();
	assert_eq!(replicas, [(Stage { node: 3, from: 0, to: 2 }, 1), (Stage { node: 2, from: 2, to: 5 }, 1)]);

	// The same the other way round: "small" may only have the second stage, which the better one would have taken.
	let mut nodes = [node("a", 14), node("b", 26), node("large", 30), node("small", 26)];
	nodes[3].roles.driver = false;
	let pool = Pool { nodes: &nodes, ..pool };
	let replicas = replicas::place(&pool, &stages).unwrap();
	assert_eq!(replicas, [(Stage { node: 2, from: 0, to: 2 }, 1), (Stage { node: 3, from: 2, to: 5 }, 1)]);

	// Without "small", whoever has memory left beside what it holds.
	let nodes = [node("a", 14), node("b", 40), node("large", 30)];
	let pool = Pool { nodes: &nodes, members: &[0, 1, 2], ..pool };
	let replicas = replicas::place(&pool, &stages);
	assert_eq!(replicas, Ok(vec![(Stage { node: 1, from: 0, to: 2 }, 1), (Stage { node: 2, from: 2, to: 5 }, 1)]));
}

#[test]
fn a_ring_of_fewer_nodes_leaves_some_for_replicas() {
	// Three can share the work. But all of their spans need 40 bytes, and the whole model 36, since it has one matrix at both ends: so each node
	// can only have all of it.
	let model = Model { shared: 4, ..model(3) };
	let nodes = [node("a", 36), node("b", 36), node("c", 36)];
	let single = place(&model, &nodes, &links(3), &request(Goal::Throughput)).unwrap();
	assert_eq!(single.ring().count(), 3);
	let request = Request { redundancy: 3, ..request(Goal::Throughput) };
	let placement = place(&model, &nodes, &links(3), &request).unwrap();
	assert_eq!(placement.spans.iter().map(|span| (span.layers, span.copy)).collect::<Vec<_>>(), [(3, 0), (3, 1), (3, 2)]);
	assert_eq!(placement.fewer_than, Some(3));

	let error = place(&model, &nodes, &links(3), &Request { redundancy: 4, ..request }).unwrap_err();
	assert!(matches!(error, PlacementError::Redundancy { asked: 4, .. }), "{error:?}");
}

#[test]
fn too_few_nodes_for_a_replica_are_told_with_the_bytes_that_are_missing() {
	let nodes = [node("a", 40), node("b", 33)];
	let request = Request { redundancy: 2, ..Request::default() };
	let error = place(&model(3), &nodes, &links(2), &request).unwrap_err();
	assert_eq!(error, PlacementError::Redundancy { first: 0, last: 2, asked: 2, found: 1, bytes: 40, missing: 7 });
	assert_eq!(
		error.to_string(),
		"layers 0 to 2 need 2 different nodes, and only 1 could hold them: a replica takes 40 bytes; the one that comes nearest lacks 7 bytes"
	);
}

#[test]
fn a_placement_explains_itself() {
	let mut nodes = [node("alice", 34), node("bob", 100), node("carol", 9), node("dave", 34), node("erin", 34), node("frank", 90)];
	nodes[0].speed.flops = 200.0;
	nodes[0].roles.predictor = false;
	nodes[1].roles.driver = false;
	nodes[5].reputation = 100;
	nodes[5].speed.flops = 20.0;
	nodes[4].roles = Roles { driver: false, worker: false, predictor: false };
	let request = Request { redundancy: 2, ..request(Goal::Throughput) };
	let placement = place(&model(5), &nodes, &links(6), &Request { redundancy: 1, ..request }).unwrap();
	let erin = "erin was left out: it has no role that this ring needs.";
	let carol = "carol was left out: its memory lacks 1 B for the smallest part that it could hold.";
	let expected = [
		"The ring has 3 nodes for 5 layers. It is planned for the most tokens a second: 0.7, since alice, which is busiest, is occupied for 1.50 s by \
		a step of 1 token. A step alone takes 7.00 s, of which 4.00 s are computing and 3.00 s on the way between nodes.",
		"Of 6 candidates, all rings with all splits of the layers were compared: none is better.",
		"alice, which comes first as a driver, holds the embedding and layers 0 to 2: 34 B, 100% of its memory. A step takes 1.50 s here, and 1.00 s \
		on to dave. More does not fit into its memory.",
		"dave holds layer 3: 10 B, 29% of its memory. A step takes 1.00 s here, and 1.00 s on to bob. More layers here would not relieve the \
		bottleneck; computing takes most of the time.",
		"bob, which comes last as a predictor, holds layer 4 and the head: 16 B, 16% of its memory. A step takes 1.50 s here, and 1.00 s back to \
		alice. More layers here would not relieve the bottleneck; computing takes most of the time.",
		erin,
		carol,
		"frank was left out: no ring with it has more tokens a second, or as many sooner.",
	];
	assert_eq!(placement.explain(), expected);
	assert_eq!(placement.to_string(), expected.map(|line| format!("{line}\n")).concat());

	let placement = place(&model(5), &nodes, &links(6), &Request { goal: Goal::Latency, ..request }).unwrap();
	let expected = [
		"The ring has 2 nodes for 5 layers. It is planned for the shortest time of a token: 6.00 s, of which 4.00 s are computing and 2.00 s on the \
		way between nodes.",
		"Of 6 candidates, all rings with all splits of the layers were compared: none is better.",
		"alice, which comes first as a driver, holds the embedding and layers 0 to 2: 34 B, 100% of its memory. A step takes 1.50 s here, and 1.00 s \
		on to bob. More does not fit into its memory.",
		"bob, which comes last as a predictor, holds layers 3 to 4 and the head: 26 B, 26% of its memory. A step takes 2.50 s here, and 1.00 s back \
		to alice. More layers here would not make a token faster; computing takes most of the time.",
		"dave repeats the embedding and layers 0 to 2 of alice: 34 B, 100% of its memory. Of those outside the ring that have the memory, it was \
		taken for its score of 0.74.",
		"frank repeats layers 3 to 4 and the head of bob: 26 B, 29% of its memory. Of those outside the ring that have the memory, it was taken for \
		its score of 0.61.",
		"dave has no span of the ring itself: it only repeats those of others.",
		erin,
		carol,
		"frank has no span of the ring itself: it only repeats those of others.",
	];
	assert_eq!(placement.explain().iter().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(expected));
}

#[test]
fn detours_of_the_nearest_neighbour_are_turned_around() {
	// On a line: from 0 to the nearest, 1 and 2, then back to -2 and on to the end at 10 are 18; the best way is 14.
	let places: [f64; 5] = [0.0, 10.0, 1.0, 2.0, -2.0];
	let nodes: Vec<Node> = (0..5).map(|place| node(&format!("n{place}"), 100)).collect();
	let links = Links::new(5, |from, to| Some(Link { latency: (places[from] - places[to]).abs(), bandwidth: 1e9 })).unwrap();
	let (model, request) = (model(5), Request::default());
	let pool = Pool { model: &model, nodes: &nodes, links: &links, request: &request, members: &[0, 1, 2, 3, 4] };
	assert_eq!(order::short_order(&pool.latency(), 0, |node| node == 1), [0, 4, 2, 3, 1]);
	assert_eq!(order::short_order(&pool.latency(), 0, |node| node == 0), [0]);
}

#[test]
fn a_thousand_nodes_are_placed() {
	// A scatter of numbers that is the same each time.
	let scatter = |seed: usize, below: usize| (seed.wrapping_mul(2_654_435_761) >> 7) % below;
	let config = ModelConfig { layers: 128, dim: 256, ffn: 512, heads: 8, kv_heads: 8, vocab: 1024, max_seq: 1024, ..ModelConfig::tiny() };
	let model = Model::of(&config, Load { class: Class::ExactF32, context: 1024, sequences: 4, batch: 2 }).unwrap();
	let nodes: Vec<Node> = (0..1000)
		.map(|place| Node {
			name: format!("n{place}"),
			memory: model.memory() / 30 + u64::try_from(scatter(place, 1_000_000)).unwrap(),
			speed: Speed { flops: 1e9 * (1 + scatter(place + 7, 50)) as f64, bytes: 1e9 * (1 + scatter(place + 13, 9)) as f64 },
			reputation: u16::try_from(scatter(place + 23, 1001)).unwrap(),
			uptime: 0.5 + scatter(place + 31, 500) as f64 / 1000.0,
			roles: Roles { driver: place % 3 == 0, worker: true, predictor: place % 5 == 0 },
		})
		.collect();
	let link = |from: usize, to: usize| Link { latency: 1e-3 * (1 + scatter(from * 1000 + to, 200)) as f64, bandwidth: 1e7 };
	let links = Links::new(1000, |from, to| (from % 97 != to % 89).then(|| link(from, to))).unwrap();
	for (goal, split) in [(Goal::Latency, Split::BySpeed), (Goal::Throughput, Split::BySpeed), (Goal::Latency, Split::MemoryWeighted)] {
		let request = Request { goal, split, redundancy: 3, most_spans: 64, ..Request::default() };
		// An effort that grows as 2^nodes would never end.
		let placement = place(&model, &nodes, &links, &request).unwrap();
		check(&Case { model: model.clone(), nodes: nodes.clone(), links: links.clone(), request }, &placement);
		assert_eq!(placement.spans.iter().map(|span| span.layers).sum::<usize>(), 3 * 128);
	}
}

#[test]
fn nine_nodes_and_the_most_layers_are_placed_exactly() {
	let nodes: Vec<Node> = (0..9).map(|place| node(&format!("n{place}"), 400 + place)).collect();
	for goal in [Goal::Latency, Goal::Throughput] {
		let placement = place(&model(128), &nodes, &links(9), &request(goal)).unwrap();
		assert_eq!(placement.search, Search::Exact);
	}
}
