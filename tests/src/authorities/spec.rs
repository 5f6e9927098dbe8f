//! The chain spec of a network with other validators than those of the ordinary one.

use crate::{
	slot,
	spec::{Spec, LOCAL},
	Ended, Error,
};
use neuroshard_types::{Balance, NEURO};
use serde_json::{json, Value};
use std::{
	path::{Path, PathBuf},
	process::Command,
};

/// What each validator of genesis has at stake, in planck.
const SELF_BOND: Balance = 10_000 * NEURO;
/// Slots of an epoch, as few as leave time for some blocks: elections take effect after at most two.
const EPOCH_LENGTH: u64 = 6;

/// Writes the spec of a local network whose validators have these well-known names into `folder`.
///
/// # Errors
/// [`Error::Command`] if the node prints no spec or no key, [`Error::Setup`] for a spec without a place for them, [`Error::File`].
pub(super) async fn write(node: &Path, folder: &Path, names: &[&str]) -> Result<PathBuf, Error> {
	let mut spec = Spec::export(node, LOCAL).await?;
	spec.pace(slot())?;
	let (mut keys, mut candidates) = (Vec::new(), Vec::new());
	for name in names {
		let (account, finality) = (address(node, name, "sr25519").await?, address(node, name, "ed25519").await?);
		keys.push(json!([account, account, { "babe": account, "grandpa": finality }]));
		candidates.push(json!([account, SELF_BOND]));
	}
	let changes =
		[("session/keys", json!(keys)), ("validators/candidates", json!(candidates)), ("parameters/epochLength", json!(EPOCH_LENGTH))];
	for (place, value) in changes {
		*spec.genesis(place)? = value;
	}
	spec.write(folder)
}

/// Address of a well-known key.
async fn address(node: &Path, name: &str, scheme: &str) -> Result<String, Error> {
	let mut letters = name.chars();
	let capitalized: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
	let mut command = Command::new(node);
	command.args(["key", "inspect", "--scheme", scheme, "--output-type", "json", &format!("//{capitalized}")]);
	let shown = parse(&Ended::output_of(command).await?)?;
	let missing = || Error::Setup(format!("the node shows no address of {name}"));
	Ok(shown.get("ss58Address").and_then(Value::as_str).ok_or_else(missing)?.to_owned())
}

fn parse(text: &str) -> Result<Value, Error> {
	serde_json::from_str(text).map_err(|error| Error::Setup(format!("what the node printed is no JSON: {error}")))
}
