//! Chain specs of the node's presets, with values of genesis changed.

use crate::{Ended, Error};
use serde_json::Value;
use std::{
	path::{Path, PathBuf},
	process::Command,
	time::Duration,
};

/// Where a chain spec has the genesis of pallets.
const GENESIS: &str = "/genesis/runtimeGenesis/patch";

/// The preset of an ordinary local network.
pub(crate) const LOCAL: &str = "local";

/// A chain spec.
pub(crate) struct Spec(Value);

impl Spec {
	/// That of `preset`, as `node` prints it.
	///
	/// # Errors
	/// [`Error::Command`] if the node prints none, [`Error::Setup`] if it is no JSON.
	pub(crate) async fn export(node: &Path, preset: &str) -> Result<Self, Error> {
		let mut command = Command::new(node);
		command.args(["export-chain-spec", "--chain", preset]);
		Self::parse(&Ended::output_of(command).await?)
	}

	/// The spec that `text` is.
	///
	/// # Errors
	/// [`Error::Setup`] if it is no JSON.
	pub(crate) fn parse(text: &str) -> Result<Self, Error> {
		serde_json::from_str(text).map(Self).map_err(|error| Error::Setup(format!("the node's chain spec: {error}")))
	}

	/// The value of genesis at `place`: pallet and field, such as `disputes/clock`.
	///
	/// # Errors
	/// [`Error::Setup`] if the spec has none there.
	pub(crate) fn genesis(&mut self, place: &str) -> Result<&mut Value, Error> {
		let missing = || Error::Setup(format!("the node's chain spec has no {GENESIS}/{place}"));
		self.0.pointer_mut(&format!("{GENESIS}/{place}")).ok_or_else(missing)
	}

	/// Has it make a block in each `slot`.
	///
	/// # Errors
	/// [`Error::Setup`] if it has no place for that.
	pub(crate) fn pace(&mut self, slot: Duration) -> Result<(), Error> {
		let milliseconds = u64::try_from(slot.as_millis()).map_err(|_| Error::Setup(format!("no slot is {slot:?} long")))?;
		*self.genesis("parameters/slotDuration")? = milliseconds.into();
		Ok(())
	}

	/// Writes it to a file in `folder`.
	///
	/// # Errors
	/// [`Error::File`].
	pub(crate) fn write(&self, folder: &Path) -> Result<PathBuf, Error> {
		let path = folder.join("chain.json");
		std::fs::write(&path, self.0.to_string()).map_err(Error::file(&path))?;
		Ok(path)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use serde_json::json;

	#[test]
	fn what_is_changed_is_written_and_all_the_rest_stays() {
		let genesis =
			|clock: u32| json!({ "id": "x", "genesis": { "runtimeGenesis": { "patch": { "disputes": { "clock": clock, "bond": 7 } } } } });
		let mut spec = Spec::parse(&genesis(1).to_string()).unwrap();
		*spec.genesis("disputes/clock").unwrap() = json!(2);
		let error = spec.genesis("disputes/clocks").unwrap_err().to_string();
		assert!(error.contains("disputes/clocks"), "{error}");
		let folder = tempfile::tempdir().unwrap();
		let written: Value = serde_json::from_slice(&std::fs::read(spec.write(folder.path()).unwrap()).unwrap()).unwrap();
		assert_eq!(written, genesis(2));
		assert!(Spec::parse("no JSON").is_err());
	}
}
