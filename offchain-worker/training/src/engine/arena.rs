//! One candle tensor that holds everything a job computes on.

use candle_core::{bail, CpuStorage, Device, InplaceOp1, Layout, Result, Tensor};
use neuroshard_compute::pages::zeros;
use std::sync::Mutex;

/// Bytes that the usable part is aligned to: a cache line and the widest SIMD register. candle aligns to less.
const ALIGNMENT: usize = 64;

/// An f32 arena on a device.
pub(super) struct ArenaTensor {
	tensor: Tensor,
	len: usize,
}

impl ArenaTensor {
	/// A zeroed arena of `len` elements.
	pub fn new(len: usize, device: &Device) -> Result<Self> {
		let slack = ALIGNMENT / size_of::<f32>();
		let whole = len + slack;
		Ok(Self { tensor: Tensor::from_vec(zeros(whole), whole, device)?, len })
	}

	/// Runs `job` on the arena as one in-place operator and returns what it returns.
	pub fn apply<R>(&self, name: &'static str, job: impl FnOnce(&mut [f32]) -> R) -> Result<R> {
		let operator = Operator { name, len: self.len, job: Mutex::new(Job::Waiting(job)) };
		self.tensor.inplace_op1(&operator)?;
		match operator.job.into_inner() {
			Ok(Job::Done(result)) => Ok(result),
			_ => bail!("operator {name} gave no result"),
		}
	}
}

/// State of an operator's job.
enum Job<F, R> {
	Waiting(F),
	Running,
	Done(R),
}

/// A job as a candle operator. candle hands operators out by shared reference, hence the mutex; nobody contends for it.
struct Operator<F, R> {
	name: &'static str,
	len: usize,
	job: Mutex<Job<F, R>>,
}

impl<F: FnOnce(&mut [f32]) -> R, R> InplaceOp1 for Operator<F, R> {
	fn name(&self) -> &'static str {
		self.name
	}

	fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
		let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets()) else {
			bail!("the arena is a contiguous f32 tensor")
		};
		let Some(values) = values.get_mut(start..end) else { bail!("the arena's layout leaves its storage") };
		// `align_offset` may decline to answer; an arena that is not aligned is slower and nothing else.
		let first = values.as_ptr().align_offset(ALIGNMENT).min(values.len().saturating_sub(self.len));
		let Some(arena) = values.get_mut(first..first + self.len) else { bail!("the arena is shorter than its plan") };
		let Ok(mut job) = self.job.lock() else { bail!("operator {} failed before", self.name) };
		match std::mem::replace(&mut *job, Job::Running) {
			Job::Waiting(work) => {
				*job = Job::Done(work(arena));
				Ok(())
			}
			_ => bail!("operator {} runs once", self.name),
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn jobs_see_the_same_aligned_memory_one_after_the_other() {
		let arena = ArenaTensor::new(100, &Device::Cpu).unwrap();
		let (len, aligned) = arena
			.apply("write", |values| {
				values[99] = 7.0;
				(values.len(), values.as_ptr().align_offset(64) == 0)
			})
			.unwrap();
		assert_eq!((len, aligned), (100, true));
		assert_eq!(arena.apply("read", |values| (values[98], values[99])).unwrap(), (0.0, 7.0));
	}

	/// Whether the system has large pages at all is its own matter; what is asked for is among the flags of the range.
	#[test]
	#[cfg(target_os = "linux")]
	fn large_pages_are_asked_for() {
		if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
			return;
		}
		let arena = ArenaTensor::new(4 << 20, &Device::Cpu).unwrap();
		let middle = arena.apply("place", |values| values.as_ptr() as usize + size_of_val(values) / 2).unwrap();
		let ranges = std::fs::read_to_string("/proc/self/smaps").unwrap();
		let mut inside = false;
		let flags = ranges.lines().find_map(|line| {
			if let Some((from, to)) = line.split_whitespace().next().and_then(|range| range.split_once('-')) {
				let [from, to] = [from, to].map(|place| usize::from_str_radix(place, 16).unwrap());
				inside = (from..to).contains(&middle);
			}
			line.strip_prefix("VmFlags:").filter(|_| inside)
		});
		assert!(flags.unwrap().split_whitespace().any(|flag| flag == "hg"), "{flags:?}");
	}
}
