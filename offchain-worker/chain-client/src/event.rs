//! Events of the chain's pallets by name, typed.

use crate::{client::ChainAt, error::ChainError, shape};
use codec::DecodeAll;
use scale_info::TypeInfo;
use std::marker::PhantomData;
use subxt::metadata::Metadata;

/// An event whose fields, by these names and in this order, are those of the tuple `F`.
pub(super) struct EventShape<F> {
	pub(super) pallet: &'static str,
	pub(super) name: &'static str,
	fields: &'static [&'static str],
	types: PhantomData<fn() -> F>,
}

impl<F: DecodeAll + TypeInfo + 'static> EventShape<F> {
	pub(super) const fn new(pallet: &'static str, name: &'static str, fields: &'static [&'static str]) -> Self {
		Self { pallet, name, fields, types: PhantomData }
	}

	fn describe(&self) -> String {
		format!("event {}::{}", self.pallet, self.name)
	}

	/// Checks that the chain's event has the same fields. A chain without such an event passes.
	///
	/// # Errors
	/// [`ChainError::Incompatible`].
	pub(super) fn check(&self, metadata: &Metadata) -> Result<(), ChainError> {
		let variants = metadata.pallet_by_name(self.pallet).and_then(|pallet| pallet.event_variants()).unwrap_or_default();
		let Some(variant) = variants.iter().find(|variant| variant.name == self.name) else { return Ok(()) };
		let fields: Vec<_> = variant.fields.iter().map(|field| (field.name.as_deref().unwrap_or_default(), field.ty.id)).collect();
		let incompatible = |mismatch| ChainError::Incompatible { what: self.describe(), mismatch };
		if !fields.iter().map(|(name, _)| *name).eq(self.fields.iter().copied()) {
			let chain = fields.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
			return Err(incompatible(shape::Mismatch { path: "fields".into(), chain, worker: self.fields.join(", ") }));
		}
		shape::same_arguments::<F>(metadata.types(), &fields).map_err(incompatible)
	}

	/// The fields, from their SCALE bytes.
	///
	/// # Errors
	/// [`ChainError::BadAnswer`].
	pub(super) fn decode(&self, bytes: &[u8]) -> Result<F, ChainError> {
		let bad = |error: codec::Error| ChainError::BadAnswer { what: self.describe(), reason: error.to_string() };
		F::decode_all(&mut &*bytes).map_err(bad)
	}
}

impl ChainAt {
	/// Reads the events of this block, in order, and returns what `read` makes of them from pallet, name and the fields' SCALE bytes of each.
	///
	/// # Errors
	/// What `read` says; the node is away or has discarded the block's state.
	pub(super) async fn read_events<T>(
		&self,
		read: impl Fn(&str, &str, &[u8]) -> Result<Option<T>, ChainError>,
	) -> Result<Vec<T>, ChainError> {
		let bad = |error: subxt::error::EventsError| self.client.rpc_error("the events of a block", error);
		let events = self.at.events().fetch().await.map_err(bad)?;
		let mut found = Vec::new();
		for event in events.iter() {
			let event = event.map_err(bad)?;
			found.extend(read(event.pallet_name(), event.event_name(), event.field_bytes())?);
		}
		Ok(found)
	}
}
