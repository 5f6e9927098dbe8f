//! Numbers of the elementary functions, of Muon and of codes, for the text of the kernels.

use neuroshard_kernels::{math, scalar};

/// Their definitions in OpenCL C.
pub(crate) fn definitions() -> String {
	let single = [
		("EXP_LO", math::EXP_LO),
		("EXP_HI", math::EXP_HI),
		("ROUND", math::ROUND),
		("LOG2_E", math::LOG2_E),
		("LN2_HI", math::LN2_HI),
		("LN2_LO", math::LN2_LO),
		("MUON_EPS", scalar::MUON_EPS),
	];
	let polynomials = [("EXP_POLY", &math::EXP_POLY[..]), ("LN_POLY", &math::LN_POLY[..]), ("MUON_STEP", &scalar::MUON_STEP[..])];
	let coefficients = polynomials
		.iter()
		.flat_map(|(name, values)| values.iter().enumerate().map(move |(power, value)| (format!("{name}_{power}"), *value)));
	let all = single.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(coefficients);
	let floats: String = all.map(|(name, value)| format!("#define {name} as_float(0x{:08x}u)\n", value.to_bits())).collect();
	let cosines: Vec<String> = scalar::TRANSFORM.as_flattened().iter().map(|value| format!("0x{:08x}u", value.to_bits())).collect();
	let cosines = format!("__constant uint COSINES[{}] = {{{}}};\n", cosines.len(), cosines.join(", "));
	format!("{floats}#define SQRT_HALF_BITS 0x{:08x}u\n{cosines}", math::SQRT_HALF_BITS)
}
