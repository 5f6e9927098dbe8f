//! Compute threads step back for everything else on the machine.

/// Niceness of compute threads: a validator or anything interactive beside them gets three times the share of one of them, and whoever trains still
/// makes its rounds on a machine that does other work all the time.
const NICENESS: i32 = 5;

/// Lowers the scheduling priority of the calling thread, and thereby of threads it starts from now on (on Linux,
/// niceness belongs to threads): call it on a thread of its own before the engine is made there. Returns whether the system agreed; work is as correct without it.
pub fn lower_thread_priority() -> bool {
	let current = rustix::process::getpriority_process(None).unwrap_or(0);
	current >= NICENESS || rustix::process::setpriority_process(None, NICENESS).is_ok()
}

/// Share of the processor that a computation gets beside others of this worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
	/// As much as training: both step back for everything else on the machine.
	Low,
	/// Most of it, while training has what is left.
	Normal,
}

impl Priority {
	/// Gives the calling thread this priority, and thereby threads that it starts from now on.
	pub fn take(self) {
		if self == Self::Low && !lower_thread_priority() {
			tracing::debug!("the system keeps a compute thread at normal priority");
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn niceness() -> i32 {
		rustix::process::getpriority_process(None).unwrap()
	}

	#[test]
	fn only_the_calling_thread_and_its_children_step_back() {
		let before = niceness();
		let inside = std::thread::spawn(|| {
			lower_thread_priority();
			(niceness(), std::thread::spawn(niceness).join().unwrap())
		});
		assert_eq!(inside.join().unwrap(), (NICENESS.max(before), NICENESS.max(before)));
		assert_eq!(niceness(), before);
	}

	#[test]
	fn what_has_normal_priority_keeps_that_of_the_process() {
		let before = niceness();
		let of = |priority: Priority| {
			let inside = move || {
				priority.take();
				niceness()
			};
			std::thread::spawn(inside).join().unwrap()
		};
		assert_eq!((of(Priority::Normal), of(Priority::Low)), (before, NICENESS.max(before)));
	}
}
