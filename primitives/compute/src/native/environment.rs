//! The floating-point environment that the arithmetic needs.

/// Whether this thread rounds to nearest even and keeps subnormals, as every operator assumes.
pub(super) fn is_exact() -> bool {
	#[cfg(target_arch = "x86_64")]
	{
		/// Denormals-are-zero, rounding control, flush-to-zero.
		const FORBIDDEN: u32 = 1 << 6 | 3 << 13 | 1 << 15;
		let mut mxcsr = 0u32;
		// SAFETY: stores the control register to a local variable.
		unsafe { core::arch::asm!("stmxcsr [{}]", in(reg) &mut mxcsr, options(nostack, preserves_flags)) };
		mxcsr & FORBIDDEN == 0
	}
	#[cfg(target_arch = "aarch64")]
	{
		/// Flush-to-zero for f16 and for f32, rounding mode.
		const FORBIDDEN: u64 = 1 << 19 | 3 << 22 | 1 << 24;
		let fpcr: u64;
		// SAFETY: reads the control register.
		unsafe { core::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags)) };
		fpcr & FORBIDDEN == 0
	}
	#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
	{
		true
	}
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
	use super::is_exact;
	use crate::native::{Exec, ExecError};

	/// What the control register holds in a new process.
	const DEFAULT: u32 = 0x1f80;

	/// Runs `f` with the given control register.
	fn with_mxcsr<T>(mxcsr: u32, f: impl FnOnce() -> T) -> T {
		// SAFETY: the register is restored before any floating-point operation of the caller.
		unsafe {
			core::arch::asm!("ldmxcsr [{}]", in(reg) &mxcsr);
			let result = f();
			core::arch::asm!("ldmxcsr [{}]", in(reg) &DEFAULT);
			result
		}
	}

	#[test]
	fn other_rounding_and_lost_subnormals_are_noticed() {
		assert!(with_mxcsr(DEFAULT, is_exact));
		for bad in [1 << 6, 1 << 15, 1 << 13, 2 << 13, 3 << 13] {
			assert!(!with_mxcsr(DEFAULT | bad, is_exact), "{bad:#x}");
		}
	}

	#[test]
	fn no_executor_is_made_in_a_process_that_flushes_subnormals() {
		for threads in [1, 2] {
			let result = with_mxcsr(DEFAULT | 1 << 15, || Exec::new(threads).map(|_| ()));
			assert!(matches!(result, Err(ExecError::Environment)));
		}
		assert!(matches!(Exec::new(0).map(|_| ()), Err(ExecError::NoThreads)));
	}
}
