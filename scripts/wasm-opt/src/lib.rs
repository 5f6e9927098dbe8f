//! Stands for the crate of the same name, by the patch in the workspace's `Cargo.toml`: that one compiles Binaryen's C++, which takes
//! longer than any other crate of a cold build, and `substrate-wasm-builder` asks it for no optimisation, but for two things. One is that debug sections are left out
//! ([`Pass::StripDwarf`]), which this does. The other, lowering sign extensions ([`Pass::SignextLowering`]), has nothing to do where the target is
//! `wasm32v1-none`, whose code has none.

use std::path::Path;

/// What is asked for. All of it amounts to the same here.
#[derive(Debug)]
pub struct OptimizationOptions(());

/// A change of the module.
#[derive(Debug)]
pub enum Pass {
	/// Debug sections are left out.
	StripDwarf,
	/// Sign extensions become shifts. There are none.
	SignextLowering,
}

/// Why there is no module.
#[derive(Debug)]
pub enum OptimizationError {
	/// It cannot be read or written.
	File(std::io::Error),
	/// It ends within something, or is no module.
	Malformed,
}

impl OptimizationOptions {
	/// No optimisation.
	pub fn new_opt_level_0() -> Self {
		Self(())
	}

	/// For machines without any extension of WebAssembly: what the compiler made is for these already.
	pub fn mvp_features_only(&mut self) -> &mut Self {
		self
	}

	/// Names of functions stay in any case.
	pub fn debug_info(&mut self, _value: bool) -> &mut Self {
		self
	}

	/// Asks for a pass.
	pub fn add_pass(&mut self, _pass: Pass) -> &mut Self {
		self
	}

	/// Writes the module at `from`, without its debug sections, to `to`.
	///
	/// # Errors
	/// [`OptimizationError`] if there is no module, or no place for it.
	pub fn run(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), OptimizationError> {
		let module = std::fs::read(from).map_err(OptimizationError::File)?;
		let stripped = without_debug_sections(&module).ok_or(OptimizationError::Malformed)?;
		std::fs::write(to, stripped).map_err(OptimizationError::File)
	}
}

/// Magic number and version.
const HEADER: &[u8] = b"\0asm\x01\0\0\0";
/// Identifier of a custom section, which begins with its name.
const CUSTOM: u8 = 0;

fn without_debug_sections(module: &[u8]) -> Option<Vec<u8>> {
	let mut rest = module.strip_prefix(HEADER)?;
	let mut kept = HEADER.to_vec();
	while let Some((id, after)) = rest.split_first() {
		let (length, body) = number(after)?;
		let (content, next) = (body.get(..length)?, body.get(length..)?);
		let section = rest.get(..rest.len().checked_sub(next.len())?)?;
		let name = || number(content).and_then(|(length, name)| name.get(..length));
		if *id != CUSTOM || !name()?.starts_with(b".debug_") {
			kept.extend_from_slice(section);
		}
		rest = next;
	}
	Some(kept)
}

/// An unsigned LEB128 of at most 32 bits, and what follows it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
	let mut value = 0usize;
	for (place, byte) in bytes.iter().take(5).enumerate() {
		value |= usize::from(byte & 0x7f) << (7 * place);
		if byte & 0x80 == 0 {
			return Some((value, bytes.get(place + 1..)?));
		}
	}
	None
}

#[cfg(test)]
mod tests {
	use super::*;

	fn section(id: u8, content: &[u8]) -> Vec<u8> {
		[&[id, u8::try_from(content.len()).unwrap()], content].concat()
	}

	#[test]
	fn debug_sections_are_left_out_and_nothing_else_changes() {
		let (types, names) = (section(1, &[0]), section(CUSTOM, b"\x04name123"));
		let debug = section(CUSTOM, b"\x0b.debug_infoabc");
		let module = [HEADER, &types, &debug, &names, &debug].concat();
		assert_eq!(without_debug_sections(&module), Some([HEADER, &types, &names].concat()));
		// A length in five bytes, as linkers write it.
		let padded = [HEADER, &[0x0a, 0x82, 0x80, 0x80, 0x80, 0x00, 7, 7]].concat();
		assert_eq!(without_debug_sections(&padded), Some(padded.clone()));
	}

	#[test]
	fn what_is_no_module_is_refused() {
		let module = [HEADER, &section(1, &[0])].concat();
		for length in (0..module.len()).filter(|length| *length != HEADER.len()) {
			assert_eq!(without_debug_sections(&module[..length]), None, "{length}");
		}
		assert_eq!(without_debug_sections(&[HEADER, &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0]].concat()), None);
		assert!(matches!(OptimizationOptions::new_opt_level_0().run("/nonexistent", "/nonexistent"), Err(OptimizationError::File(_))));
	}
}
