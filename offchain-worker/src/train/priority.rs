//! Compute threads step back for everything else on the machine.

/// Niceness of compute threads: a validator or anything interactive beside them keeps its share of the processor.
const NICENESS: i32 = 10;

/// Lowers the scheduling priority of the calling thread, and thereby of threads it starts from now on (on Linux,
/// niceness belongs to threads). Returns whether the system agreed; work is as correct without it.
pub fn lower_thread_priority() -> bool {
	rustix::process::setpriority_process(None, NICENESS).is_ok()
}
