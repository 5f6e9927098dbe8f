//! The operators of [`neuroshard_kernels::scalar`] on this machine's SIMD registers and threads, with the same bits.

mod aggregate;
mod attention;
mod commitment;
mod environment;
mod int8;
mod int8_blocks;
mod operators;
mod packed;
mod product;
mod scratch;
mod unfused;

pub use crate::simd::Level;
pub use int8::{PackedInt8, Quantized};
pub use int8_blocks::Shared;
pub use packed::{Packed, Seen, PAGE};

use crate::pool::Pool;
use scratch::Scratch;
use std::{
	marker::PhantomData,
	ops::Range,
	sync::{
		atomic::{AtomicBool, AtomicUsize, Ordering},
		Mutex,
	},
};

/// Why an [`Exec`] cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
	/// No thread was asked for.
	#[error("at least one thread is needed")]
	NoThreads,
	/// This process runs with another rounding mode, or flushes subnormal numbers to zero.
	#[error("the floating-point environment is not the IEEE default (round to nearest even, subnormals kept); something in this process changed it")]
	Environment,
	/// The machine lacks the instruction set that was asked for.
	#[error("this machine cannot run {0:?} instructions")]
	Level(Level),
	/// A thread could not be started.
	#[error("cannot start a compute thread: {0}")]
	Thread(#[from] std::io::Error),
}

/// Work, in elements or fused multiply-adds, below which waking other threads costs more than it saves.
const WORTH: usize = 32 * 1024;

/// Runs operators. Methods have the names, arguments, panics and results (modulo canon) of the functions in [`neuroshard_kernels::scalar`].
///
/// Methods may be called from several threads; they take turns on the pool.
pub struct Exec {
	level: Level,
	pool: Pool,
	/// Working memory of each thread.
	scratch: Vec<Mutex<Scratch>>,
	/// Quantized operands of products.
	quantized: Mutex<int8_blocks::Operands>,
	/// Work from which on all threads are woken.
	worth: AtomicUsize,
}

impl Exec {
	/// An executor on the fastest instruction set of this machine, with `threads` threads, the caller's included.
	///
	/// New threads inherit the priority of the calling one.
	pub fn new(threads: usize) -> Result<Self, ExecError> {
		let level = Level::available().pop().unwrap_or(Level::Portable);
		Self::with_level(threads, level)
	}

	/// An executor on a given instruction set.
	pub fn with_level(threads: usize, level: Level) -> Result<Self, ExecError> {
		if threads == 0 {
			return Err(ExecError::NoThreads);
		}
		if !Level::available().contains(&level) {
			return Err(ExecError::Level(level));
		}
		let pool = Pool::new(threads)?;
		let exact = AtomicBool::new(true);
		pool.run(&|_| {
			exact.fetch_and(environment::is_exact(), Ordering::Relaxed);
		});
		if !exact.into_inner() {
			return Err(ExecError::Environment);
		}
		let scratch = (0..threads).map(|_| Mutex::default()).collect();
		Ok(Self { level, pool, scratch, quantized: Mutex::default(), worth: WORTH.into() })
	}

	/// Threads it computes with.
	pub fn threads(&self) -> usize {
		self.pool.threads()
	}

	/// Instruction set it computes with.
	pub fn level(&self) -> Level {
		self.level
	}

	/// Runs `f(0)` to `f(threads - 1)` at the same time, each on a thread of its own: work beside that of operators.
	///
	/// # Panics
	/// If one of them does.
	pub fn on_threads(&self, f: impl Fn(usize) + Sync) {
		self.pool.run(&f);
	}

	/// Runs `f`, in which all threads share the work of every operator, however small it is: their part in it is tested, too.
	pub(crate) fn with_all_threads<T>(&self, f: impl FnOnce() -> T) -> T {
		self.worth.store(0, Ordering::Relaxed);
		let result = f();
		self.worth.store(WORTH, Ordering::Relaxed);
		result
	}

	/// Threads that are worth waking for `work` elements or fused multiply-adds.
	fn threads_for(&self, work: usize) -> usize {
		if work < self.worth.load(Ordering::Relaxed) {
			1
		} else {
			self.threads()
		}
	}

	/// Threads that are worth waking for so many multiply-adds of a vector unit, which does 16 in the time of one element of other operators, with weights of
	/// so many bytes: of few rows, reading them takes longer.
	fn threads_for_product(&self, multiplies: usize, bytes: usize) -> usize {
		self.threads_for((multiplies / 16).max(bytes / size_of::<f32>()))
	}

	/// Runs `f(0)` to `f(threads - 1)`, where `threads` is 1 or all of the pool's.
	fn run(&self, threads: usize, f: impl Fn(usize) + Sync) {
		if threads == 1 {
			f(0);
		} else {
			self.pool.run(&f);
		}
	}

	/// Runs `f` on ranges that cover `0..len`, one for each thread that is worth it if an element takes `work`.
	fn split(&self, len: usize, work: usize, f: impl Fn(Range<usize>) + Sync) {
		let threads = self.threads_for(len * work);
		self.run(threads, |t| f(share(len, 1, t, threads)));
	}
}

/// Part `index` of `0..len` cut into `parts` nearly equal ranges whose bounds are multiples of `unit`. May be empty.
fn share(len: usize, unit: usize, index: usize, parts: usize) -> Range<usize> {
	let units = len.div_ceil(unit);
	let bound = |i: usize| len.min(units * i / parts * unit);
	bound(index)..bound(index + 1)
}

/// A mutable slice that threads take disjoint parts of.
struct Parts<'a, T = f32> {
	at: *mut T,
	len: usize,
	lifetime: PhantomData<&'a mut [T]>,
}

// SAFETY: whoever takes a part promises that parts are disjoint.
unsafe impl<T: Send> Sync for Parts<'_, T> {}

impl<'a, T> Parts<'a, T> {
	fn new(slice: &'a mut [T]) -> Self {
		Self { at: slice.as_mut_ptr(), len: slice.len(), lifetime: PhantomData }
	}

	/// The elements of `range`.
	///
	/// # Safety
	/// No two parts that exist at the same time overlap.
	#[allow(clippy::mut_from_ref)]
	unsafe fn get(&self, range: Range<usize>) -> &mut [T] {
		assert!(range.start <= range.end && range.end <= self.len, "part");
		// SAFETY: inside the slice; disjoint as the caller promises.
		unsafe { std::slice::from_raw_parts_mut(self.at.add(range.start), range.len()) }
	}
}
