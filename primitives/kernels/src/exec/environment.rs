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

	/// Runs `is_exact` with the given control register.
	fn with_mxcsr(mxcsr: u32) -> bool {
		let mut before = 0u32;
		let before_at = &mut before as *mut u32;
		let mxcsr_at = &mxcsr as *const u32;
		// SAFETY: the register is restored before any floating-point operation of the caller.
		unsafe {
			core::arch::asm!("stmxcsr [{}]", in(reg) before_at);
			core::arch::asm!("ldmxcsr [{}]", in(reg) mxcsr_at);
			let exact = is_exact();
			core::arch::asm!("ldmxcsr [{}]", in(reg) before_at);
			exact
		}
	}

	#[test]
	fn other_rounding_and_lost_subnormals_are_noticed() {
		assert!(with_mxcsr(0x1f80));
		for bad in [0x1f80 | 1 << 6, 0x1f80 | 1 << 15, 0x1f80 | 1 << 13, 0x1f80 | 2 << 13, 0x1f80 | 3 << 13] {
			assert!(!with_mxcsr(bad), "{bad:#x}");
		}
	}
}
