//! What a quorum's round takes of memory is what members hold of the model, each its span.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;
mod seats;

use neuroshard_compute::exec::Exec;
use neuroshard_graph::{
	span::{cut, Span},
	Aggregator, ModelConfig,
};
use neuroshard_quorum::{held_bytes, Place};
use neuroshard_training::files::FiledCheckpoint;
use seats::{attempt, gone, honest, Setting, LEADER};
use std::{
	alloc::{GlobalAlloc, Layout, System},
	sync::{
		atomic::{AtomicUsize, Ordering},
		Arc,
	},
};

/// Bytes that are in use, and the most that were.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: what the system's allocator does.
unsafe impl GlobalAlloc for Counting {
	unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
		MOST.fetch_max(USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size(), Ordering::Relaxed);
		// SAFETY: the caller's.
		unsafe { System.alloc(layout) }
	}

	unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
		USED.fetch_sub(layout.size(), Ordering::Relaxed);
		// SAFETY: the caller's.
		unsafe { System.dealloc(pointer, layout) }
	}
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The only test here: another one would count as well.
#[test]
fn a_round_of_three_takes_the_memory_of_their_spans_and_less_than_half_a_vector_of_the_model_beside_it() {
	let mut setting = Setting::new(Aggregator::Mean, false);
	setting.model = ModelConfig { dim: 128, heads: 4, kv_heads: 4, ffn: 384, layers: 6, vocab: 2_048, tied: false, ..setting.model };
	setting.train.inner_steps = 4;
	setting.spans = cut(&setting.model, &[2, 3, 3]).unwrap();
	FiledCheckpoint::genesis(&setting.path("checkpoint-0"), 0, &setting.model, &setting.train, 1).unwrap();
	let vector = 4 * setting.layout().len();

	let exec = || Arc::new(Exec::new(1).unwrap());
	let held: Vec<u64> = (0..3).map(|member| held_bytes(&setting.place(member, 0), exec()).unwrap()).collect();
	let all = Place { spans: vec![Span::all(&setting.model)], ..setting.place(0, 0) };
	let whole = held_bytes(&all, exec()).unwrap();
	// Seven numbers for each parameter, and what micro-batches need: who has three layers of six has 35% of the parameters.
	let layers = 3 * (4 * 128 * 128 + 3 * 128 * 384 + 2 * 128);
	assert!(held[1] > 28 * layers && held[1] < whole / 2, "{held:?} of {whole}");
	assert!(held.iter().all(|held| *held < whole * 6 / 10), "{held:?} of {whole}");

	// Whoever begins with the checkpoint loads no moments. One vector of the whole model in one member would be more than the rest that is allowed.
	let held = held.iter().sum::<u64>() as usize;
	let (first, again) = (held - 2 * vector, held);
	let before = USED.load(Ordering::SeqCst);
	let seats = setting.seats(0, None);
	MOST.store(USED.load(Ordering::SeqCst), Ordering::SeqCst);
	// Member 1 is gone within the second interval.
	let attempts = attempt(&setting, 0, seats, &gone(1, 17));
	let most = MOST.load(Ordering::SeqCst) - before;
	assert!(most > first / 2 && most < first + vector / 2, "{most} bytes at most, where members hold {first}, and a vector has {vector}");

	let mut seats: Vec<_> = attempts.into_iter().map(|(seat, ..)| seat).collect();
	drop(seats.remove(1));
	seats.insert(1, setting.seat(1, 0, "round-0-member-1", None));
	MOST.store(USED.load(Ordering::SeqCst), Ordering::SeqCst);
	let attempts = attempt(&setting, 0, seats, &honest());
	assert!(attempts[LEADER].2.is_ok() && attempts[LEADER].1 == [2]);
	let most = MOST.load(Ordering::SeqCst) - before;
	assert!(most > first / 2 && most < again + vector / 2, "{most} bytes at most, where members hold {again}, and a vector has {vector}");
}
