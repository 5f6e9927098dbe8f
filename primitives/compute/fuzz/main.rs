//! The dispute game under libFuzzer; see `scripts/fuzz.sh`, which builds and runs this.
//!
//! `fuzz pack DIRECTORY FILE` keeps inputs in one file, `fuzz unpack FILE DIRECTORY` does the reverse. All else is libFuzzer's.

mod harness;
mod memory;

use std::{
	ffi::{c_char, c_int, CString},
	panic::catch_unwind,
	path::Path,
};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

extern "C" {
	fn LLVMFuzzerRunDriver(argc: *mut c_int, argv: *mut *mut *mut c_char, run: extern "C" fn(*const u8, usize) -> c_int) -> c_int;
}

extern "C" fn run(data: *const u8, len: usize) -> c_int {
	// SAFETY: libFuzzer passes `len` readable bytes, which stay as they are during the call.
	let input = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, len) } };
	if catch_unwind(|| harness::run(input, memory::allocated)).is_err() {
		// A signal is what libFuzzer takes for a finding.
		std::process::abort();
	}
	0
}

fn pack(directory: &Path, file: &Path) -> std::io::Result<()> {
	let mut inputs = std::fs::read_dir(directory)?.map(|entry| std::fs::read(entry?.path())).collect::<Result<Vec<_>, _>>()?;
	inputs.sort();
	std::fs::write(file, harness::pack(&inputs))
}

fn unpack(file: &Path, directory: &Path) -> std::io::Result<()> {
	std::fs::create_dir_all(directory)?;
	let inputs = harness::unpack(&std::fs::read(file)?);
	(0..).zip(inputs).try_for_each(|(number, input): (u32, _)| std::fs::write(directory.join(format!("kept-{number}")), input))
}

fn main() -> std::io::Result<()> {
	let arguments: Vec<String> = std::env::args().collect();
	match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
		[_, "pack", directory, file] => return pack(directory.as_ref(), file.as_ref()),
		[_, "unpack", file, directory] => return unpack(file.as_ref(), directory.as_ref()),
		_ => {}
	}
	harness::prepare();
	let mut arguments: Vec<*mut c_char> =
		arguments.into_iter().filter_map(|argument| CString::new(argument).ok()).map(CString::into_raw).collect();
	let mut count = c_int::try_from(arguments.len()).unwrap_or(c_int::MAX);
	arguments.push(std::ptr::null_mut());
	let mut list = arguments.as_mut_ptr();
	// SAFETY: `argc` and `argv` are as the C standard wants those of `main`, and live until the process ends.
	std::process::exit(unsafe { LLVMFuzzerRunDriver(&mut count, &mut list, run) })
}
