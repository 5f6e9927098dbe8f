//! Chain parameters that genesis fixes for good, so that one WASM serves every preset.

pub use pallet::*;

#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
mod pallet {
	use frame_support::{
		pallet_prelude::*,
		traits::{ConstU32, ConstU64},
	};

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

	/// See the module's documentation.
	#[pallet::pallet]
	#[pallet::storage_version(STORAGE_VERSION)]
	pub struct Pallet<T>(_);

	/// This pallet needs nothing from outside.
	#[pallet::config]
	pub trait Config: frame_system::Config {}

	/// Slots of a BABE epoch. It must never change after genesis: block production would stop.
	#[pallet::storage]
	pub type EpochLength<T> = StorageValue<_, u64, ValueQuery, ConstU64<200>>;

	/// Milliseconds of a slot, in which a block is made. It must never change after genesis: block production would stop.
	#[pallet::storage]
	pub type SlotDuration<T> = StorageValue<_, u64, ValueQuery, ConstU64<{ crate::BLOCK_TIME_MS }>>;

	/// Epochs for which an equivocation can be reported.
	#[pallet::storage]
	pub type ReportEpochs<T> = StorageValue<_, u32, ValueQuery, ConstU32<984>>;

	/// Values of the chain's first block.
	#[pallet::genesis_config]
	#[derive(frame_support::DefaultNoBound)]
	pub struct GenesisConfig<T: Config> {
		/// True if this is to be a network that lasts: then genesis is refused with values of a development network
		/// ([`crate::genesis::check`]).
		pub live: bool,
		/// Slots of a BABE epoch; the default of 200 (10 minutes) if zero.
		pub epoch_length: u64,
		/// Milliseconds of a slot; the default of 3,000 if zero. All other durations of this chain are in blocks.
		pub slot_duration: u64,
		/// Epochs for which an equivocation can be reported; the default of 984 (almost 7 days, if an epoch takes 10 minutes) if zero.
		pub report_epochs: u32,
		/// Type marker.
		#[serde(skip)]
		pub _config: core::marker::PhantomData<T>,
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			if self.epoch_length != 0 {
				EpochLength::<T>::put(self.epoch_length);
			}
			if self.slot_duration != 0 {
				SlotDuration::<T>::put(self.slot_duration);
			}
			if self.report_epochs != 0 {
				ReportEpochs::<T>::put(self.report_epochs);
			}
		}
	}

	/// Reads [`EpochLength`] where a `Get` is asked for.
	pub struct GetEpochLength<T>(PhantomData<T>);

	impl<T: Config> Get<u64> for GetEpochLength<T> {
		fn get() -> u64 {
			EpochLength::<T>::get()
		}
	}

	/// Reads [`SlotDuration`] where a `Get` is asked for.
	pub struct GetSlotDuration<T>(PhantomData<T>);

	impl<T: Config> Get<u64> for GetSlotDuration<T> {
		fn get() -> u64 {
			SlotDuration::<T>::get()
		}
	}

	/// Least milliseconds between two blocks: BABE takes half of a slot for that.
	pub struct GetMinimumPeriod<T>(PhantomData<T>);

	impl<T: Config> Get<u64> for GetMinimumPeriod<T> {
		fn get() -> u64 {
			SlotDuration::<T>::get() / 2
		}
	}
}
