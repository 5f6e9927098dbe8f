//! Threads that run one function together, over and over: they spin for a moment after each job, then sleep.

use std::{
	any::Any,
	cell::UnsafeCell,
	hint::spin_loop,
	panic::{catch_unwind, resume_unwind, AssertUnwindSafe},
	sync::{
		atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
		Arc, Mutex, MutexGuard, PoisonError,
	},
	thread::{self, JoinHandle, Thread},
};

/// Turns of spinning before a thread sleeps: some ten microseconds, about the gap between two operators.
const SPINS: u32 = 2_000;

/// What a thread of the pool is asked to do: the function, and the thread to wake when all are done.
type Job = (*const (dyn Fn(usize) + Sync), Thread);

struct Shared {
	/// Number of jobs given out.
	epoch: AtomicU64,
	/// Threads that have not finished the current job.
	pending: AtomicUsize,
	/// Written by the caller before it raises `epoch`, read by threads after they saw it raised.
	job: UnsafeCell<Option<Job>>,
	stop: AtomicBool,
	panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `job` is written only while no thread reads it: before `epoch` is raised and after `pending` has fallen to zero.
unsafe impl Sync for Shared {}
// SAFETY: the pointer in `job` refers to a function that is `Sync`, and is used only while the caller keeps it alive.
unsafe impl Send for Shared {}

/// A fixed number of threads, of which the caller is the first.
pub(crate) struct Pool {
	shared: Arc<Shared>,
	workers: Vec<JoinHandle<()>>,
	/// One job at a time.
	turn: Mutex<()>,
}

/// Ignores poisoning: the state behind these locks is valid after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
	mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
	/// Starts `threads - 1` threads.
	pub(crate) fn new(threads: usize) -> std::io::Result<Self> {
		let shared = Arc::new(Shared {
			epoch: AtomicU64::new(0),
			pending: AtomicUsize::new(0),
			job: UnsafeCell::new(None),
			stop: AtomicBool::new(false),
			panic: Mutex::new(None),
		});
		let mut pool = Self { shared, workers: Vec::with_capacity(threads - 1), turn: Mutex::new(()) };
		for index in 1..threads {
			let shared = pool.shared.clone();
			let worker = thread::Builder::new().name(format!("kernels-{index}")).spawn(move || work(&shared, index))?;
			pool.workers.push(worker);
		}
		Ok(pool)
	}

	/// Threads, the caller's included.
	pub(crate) fn threads(&self) -> usize {
		self.workers.len() + 1
	}

	/// Runs `f(0)` here and `f(1)`, `f(2)`, ... on the other threads, and returns when all have returned.
	///
	/// # Panics
	/// If one of them does.
	pub(crate) fn run(&self, f: &(dyn Fn(usize) + Sync)) {
		let turn = lock(&self.turn);
		if self.workers.is_empty() {
			return f(0);
		}
		// SAFETY: only the lifetime changes. `Wait` below keeps this frame until every thread has finished with `f`, also when `f(0)` panics.
		let function: *const (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(f) };
		// SAFETY: no job is running, so nobody reads.
		unsafe { *self.shared.job.get() = Some((function, thread::current())) };
		self.shared.pending.store(self.workers.len(), Ordering::Relaxed);
		self.shared.epoch.fetch_add(1, Ordering::Release);
		for worker in &self.workers {
			worker.thread().unpark();
		}
		let wait = Wait(&self.shared);
		f(0);
		drop(wait);
		let panic = lock(&self.shared.panic).take();
		drop(turn);
		if let Some(panic) = panic {
			resume_unwind(panic);
		}
	}
}

impl Drop for Pool {
	fn drop(&mut self) {
		self.shared.stop.store(true, Ordering::Relaxed);
		self.shared.epoch.fetch_add(1, Ordering::Release);
		for worker in self.workers.drain(..) {
			worker.thread().unpark();
			// A thread's panics were caught and handed to the caller.
			let _ = worker.join();
		}
	}
}

/// Waits for all threads when dropped.
struct Wait<'a>(&'a Shared);

impl Drop for Wait<'_> {
	fn drop(&mut self) {
		let mut spins = 0;
		while self.0.pending.load(Ordering::Acquire) != 0 {
			if spins < SPINS {
				spins += 1;
				spin_loop();
			} else {
				thread::park();
			}
		}
	}
}

fn work(shared: &Shared, index: usize) {
	let mut seen = 0;
	loop {
		let mut spins = 0;
		while shared.epoch.load(Ordering::Acquire) == seen {
			if spins < SPINS {
				spins += 1;
				spin_loop();
			} else {
				thread::park();
			}
		}
		seen += 1;
		if shared.stop.load(Ordering::Relaxed) {
			return;
		}
		// SAFETY: the epoch was raised after the job was written, and the next write waits until this thread has counted itself out.
		let Some((function, caller)) = (unsafe { (*shared.job.get()).clone() }) else { return };
		// SAFETY: the caller keeps the function alive until this thread has counted itself out.
		if let Err(panic) = catch_unwind(AssertUnwindSafe(|| unsafe { (*function)(index) })) {
			*lock(&shared.panic) = Some(panic);
		}
		if shared.pending.fetch_sub(1, Ordering::Release) == 1 {
			caller.unpark();
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn every_thread_runs_every_job_once() {
		for threads in 1..=4 {
			let pool = Pool::new(threads).unwrap();
			let counts: Vec<AtomicUsize> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
			for _ in 0..500 {
				pool.run(&|t| {
					counts[t].fetch_add(1, Ordering::Relaxed);
				});
			}
			assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 500));
		}
	}

	#[test]
	fn jobs_of_several_callers_take_turns() {
		let pool = Pool::new(2).unwrap();
		let running = AtomicUsize::new(0);
		thread::scope(|scope| {
			for _ in 0..3 {
				scope.spawn(|| {
					for _ in 0..100 {
						pool.run(&|_| {
							assert!(running.fetch_add(1, Ordering::SeqCst) < 2);
							running.fetch_sub(1, Ordering::SeqCst);
						});
					}
				});
			}
		});
	}

	#[test]
	fn a_panic_reaches_the_caller_and_the_pool_survives_it() {
		let pool = Pool::new(2).unwrap();
		for bad in 0..2 {
			let result = catch_unwind(AssertUnwindSafe(|| pool.run(&|t| assert_ne!(t, bad, "chosen"))));
			assert!(result.is_err());
		}
		let ran = AtomicUsize::new(0);
		pool.run(&|_| {
			ran.fetch_add(1, Ordering::Relaxed);
		});
		assert_eq!(ran.load(Ordering::Relaxed), 2);
	}
}
