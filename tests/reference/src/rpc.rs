//! JSON-RPC methods of this node and view functions of this chain.

use crate::{
	cell,
	chain::{docs, parameters, type_name},
	source::items,
	ReferenceError,
};
use frame_metadata::v16::RuntimeMetadataV16;
use std::fmt::Write as _;

/// Runtime APIs that only this chain has.
const OWN_APIS: [&str; 2] = ["KernelsApi", "InvariantsApi"];

/// Returns the page.
///
/// # Errors
/// [`ReferenceError`] if the source of the namespace is not as expected.
pub fn page(metadata: &RuntimeMetadataV16) -> Result<String, ReferenceError> {
	let mut page = String::from(
		"# JSON-RPC and view functions\n\nWhat this node and this chain add to those of the SDK. [Clients](../guide/clients.md) says how to ask, with \
		 examples. This page is written by `scripts/reference.sh`.\n\n## The `neuroshard` namespace\n\n| Method | Parameters | Answer |\n| --- | --- | --- |\n",
	);
	// Writing to a string does not fail.
	for method in items("node/src/namespace/mod.rs", "pub trait NeuroshardApi")? {
		let Some((name, rest)) = method.line.strip_prefix("fn ").and_then(|line| line.split_once('(')) else { continue };
		let parameters = rest.split_once(')').map_or("", |(inside, _)| inside).replace("&self", "");
		let parameters = parameters.trim_start_matches([',', ' ']);
		let _ = writeln!(page, "| `neuroshard_{}` | {} | {} |", camel(name), code(parameters), cell(&method.docs));
	}
	page.push_str(
		"\n## View functions\n\nClients call them as `RuntimeViewFunction_execute_view_function` through `state_call`, at any block whose state the node has. \
		 The metadata (version 16) has their identifiers and types.\n",
	);
	for pallet in metadata.pallets.iter().filter(|pallet| !pallet.view_functions.is_empty()) {
		let _ = write!(page, "\n### `{}`\n\n| Function | Answer | Type |\n| --- | --- | --- |\n", pallet.name);
		for function in &pallet.view_functions {
			let call = format!("{}({})", function.name, parameters(&metadata.types, &function.inputs));
			let output = type_name(&metadata.types, function.output.id);
			let _ = writeln!(page, "| {} | {} | {} |", code(&call), cell(&docs(&function.docs)), code(&output));
		}
	}
	page.push_str("\n## Runtime APIs of this chain\n\nThrough `state_call`, as `Api_function`.\n\n| Function | Answer |\n| --- | --- |\n");
	for api in metadata.apis.iter().filter(|api| OWN_APIS.contains(&api.name.as_str())) {
		for method in &api.methods {
			let call = format!("{}_{}({})", api.name, method.name, parameters(&metadata.types, &method.inputs));
			let _ = writeln!(page, "| {} | {} |", code(&call), cell(&docs(&method.docs)));
		}
	}
	Ok(page)
}

fn code(text: &str) -> String {
	match text.is_empty() {
		true => String::new(),
		false => format!("`{}`", cell(text)),
	}
}

fn camel(name: &str) -> String {
	let mut parts = name.split('_');
	let first = parts.next().unwrap_or_default().to_owned();
	parts.fold(first, |camel, part| {
		let mut letters = part.chars();
		let head: String = letters.next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default();
		camel + &head + letters.as_str()
	})
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn methods_are_spelled_as_clients_spell_them() {
		assert_eq!((camel("current_round"), camel("runs")), ("currentRound".into(), "runs".into()));
	}

	#[test]
	fn every_own_api_and_pallet_has_its_functions() {
		let page = page(&crate::chain::metadata().unwrap()).unwrap();
		for part in [
			"`neuroshard_pendingRewards`",
			"### `Training`",
			"`KernelsApi_known_answers()`",
			"`InvariantsApi_broken()`",
			"`operator_of(owner: AccountId32)`",
		] {
			assert!(page.contains(part), "{part}");
		}
	}
}
