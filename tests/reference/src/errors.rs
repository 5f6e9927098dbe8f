//! Errors of the chain, and what to do.

use crate::{cell, chain::docs, source::read, ReferenceError};
use frame_metadata::v16::RuntimeMetadataV16;
use scale_info::TypeDef;
use std::fmt::Write as _;

/// Where the remedies for errors of the SDK are written by hand.
const REMEDIES: &str = "tests/reference/remedies.md";

/// Returns the page.
///
/// # Errors
/// [`ReferenceError::Read`] without the remedies.
pub fn page(metadata: &RuntimeMetadataV16) -> Result<String, ReferenceError> {
	let mut page = String::from(
		"# Errors\n\nWhy an extrinsic failed or was refused, and what to do. Clients show the same texts, which are in the metadata. This page is written by \
		 `scripts/reference.sh`; what it says about errors of the SDK is from `tests/reference/remedies.md`.\n\n## Errors of NeuroShard's pallets\n",
	);
	for pallet in &metadata.pallets {
		let Some(ty) = pallet.error.as_ref().and_then(|error| metadata.types.resolve(error.ty.id)) else { continue };
		let is_own = ty.path.segments.first().is_some_and(|first| first.starts_with("pallet_neuro"));
		let TypeDef::Variant(variants) = &ty.type_def else { continue };
		if !is_own || variants.variants.is_empty() {
			continue;
		}
		// Writing to a string does not fail.
		let _ = write!(page, "\n### `{}`\n\n| Error | What happened, and what to do |\n| --- | --- |\n", pallet.name);
		for variant in &variants.variants {
			let _ = writeln!(page, "| `{}.{}` | {} |", pallet.name, variant.name, cell(&docs(&variant.docs)));
		}
	}
	page.push('\n');
	page.push_str(&read(REMEDIES)?);
	Ok(page)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn every_error_of_our_pallets_says_something() {
		let page = page(&crate::chain::metadata().unwrap()).unwrap();
		assert!(page.contains("| `Training.StakeGone` |") && page.contains("## Errors of the chain's own machinery and what to do\n"));
		let silent: Vec<&str> = page.lines().filter(|line| line.starts_with("| `") && line.ends_with("` |  |")).collect();
		assert!(silent.is_empty(), "{silent:?}");
	}
}
