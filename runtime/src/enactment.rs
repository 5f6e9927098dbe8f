//! Enactment of what only root may do, done by two bodies that have agreed on it, so that nobody has to hold a key for it.

pub use pallet::*;

#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
mod pallet {
	use alloc::boxed::Box;
	use frame_support::{dispatch::GetDispatchInfo, pallet_prelude::*, traits::UnfilteredDispatchable};
	use frame_system::{pallet_prelude::*, RawOrigin};
	use sp_runtime::traits::{Hash, Saturating};

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

	/// See the module's documentation.
	#[pallet::pallet]
	#[pallet::storage_version(STORAGE_VERSION)]
	pub struct Pallet<T>(_);

	/// Types that the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<RuntimeEvent: From<Event<Self>>> {
		/// The runtime's calls.
		type RuntimeCall: Parameter + UnfilteredDispatchable<RuntimeOrigin = Self::RuntimeOrigin> + GetDispatchInfo;
		/// Origin that clears calls, and takes that back.
		type ClearOrigin: EnsureOrigin<Self::RuntimeOrigin>;
		/// Origin that has cleared calls made.
		type EnactOrigin: EnsureOrigin<Self::RuntimeOrigin>;
		/// Blocks after which a cleared call may be made, so that everybody sees it coming.
		#[pallet::constant]
		type Notice: Get<BlockNumberFor<Self>>;
		/// Most calls that are cleared at a time.
		#[pallet::constant]
		type MaxCleared: Get<u32>;
	}

	/// Hashes of calls that may be made by root, and the first block in which they may.
	#[pallet::storage]
	pub type Cleared<T: Config> = StorageValue<_, BoundedVec<(T::Hash, BlockNumberFor<T>), T::MaxCleared>, ValueQuery>;

	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(fn deposit_event)]
	pub enum Event<T: Config> {
		/// A call may be made from this block on.
		CallCleared {
			/// Hash of the call.
			hash: T::Hash,
			/// First block in which it may be made.
			from: BlockNumberFor<T>,
		},
		/// A call may not be made any more.
		ClearanceWithdrawn {
			/// Hash of the call.
			hash: T::Hash,
		},
		/// A call was made by root.
		CallEnacted {
			/// Hash of the call.
			hash: T::Hash,
			/// What became of it.
			result: DispatchResult,
		},
	}

	/// Why a call is refused, and what to do about it.
	#[pallet::error]
	pub enum Error<T> {
		/// The call is cleared already. There is nothing to do.
		AlreadyCleared,
		/// As many calls as possible are cleared. Have one made, or withdraw it.
		TooManyCleared,
		/// The call is not cleared. The technical committee has to clear its hash first.
		NotCleared,
		/// The notice is not over. The storage item `Cleared` says when it is.
		TooEarly,
	}

	#[pallet::call]
	impl<T: Config> Pallet<T> {
		/// Lets the call with this hash be made by root, once, when the notice is over. For [`Config::ClearOrigin`].
		#[pallet::call_index(0)]
		#[pallet::weight(short::<T>())]
		pub fn clear(origin: OriginFor<T>, hash: T::Hash) -> DispatchResult {
			T::ClearOrigin::ensure_origin(origin)?;
			let from = frame_system::Pallet::<T>::block_number().saturating_add(T::Notice::get());
			Cleared::<T>::try_mutate(|cleared| {
				ensure!(cleared.iter().all(|(one, _)| *one != hash), Error::<T>::AlreadyCleared);
				cleared.try_push((hash, from)).map_err(|_| Error::<T>::TooManyCleared)
			})?;
			Self::deposit_event(Event::CallCleared { hash, from });
			Ok(())
		}

		/// Takes a clearance back. For [`Config::ClearOrigin`].
		#[pallet::call_index(1)]
		#[pallet::weight(short::<T>())]
		pub fn withdraw(origin: OriginFor<T>, hash: T::Hash) -> DispatchResult {
			T::ClearOrigin::ensure_origin(origin)?;
			Self::take(hash, None)?;
			Self::deposit_event(Event::ClearanceWithdrawn { hash });
			Ok(())
		}

		/// Makes a cleared call by root, whatever the filters say. For [`Config::EnactOrigin`]. Its clearance is used up also if it fails.
		#[pallet::call_index(2)]
		#[pallet::weight({
			let info = call.get_dispatch_info();
			(info.call_weight.saturating_add(short::<T>()).saturating_add(hash::<T>(call)), info.class)
		})]
		pub fn enact(origin: OriginFor<T>, call: Box<<T as Config>::RuntimeCall>) -> DispatchResult {
			T::EnactOrigin::ensure_origin(origin)?;
			let hash = T::Hashing::hash_of(&call);
			Self::take(hash, Some(frame_system::Pallet::<T>::block_number()))?;
			let made = call.dispatch_bypass_filter(RawOrigin::Root.into());
			Self::deposit_event(Event::CallEnacted { hash, result: made.map(|_| ()).map_err(|error| error.error) });
			Ok(())
		}
	}

	impl<T: Config> Pallet<T> {
		/// Takes a clearance off the list; where `now` is given, its notice must be over.
		fn take(hash: T::Hash, now: Option<BlockNumberFor<T>>) -> DispatchResult {
			Cleared::<T>::try_mutate(|cleared| {
				let place = cleared.iter().position(|(one, _)| *one == hash).ok_or(Error::<T>::NotCleared)?;
				let (_, from) = cleared.remove(place);
				ensure!(now.is_none_or(|now| from <= now), Error::<T>::TooEarly);
				Ok(())
			})
		}
	}

	/// Returns the weight of encoding and hashing a call: 10 ns a byte, as for the lists that moves in disputes post.
	fn hash<T: Config>(call: &<T as Config>::RuntimeCall) -> Weight {
		let bytes = u64::try_from(call.encoded_size()).unwrap_or(u64::MAX);
		Weight::from_parts(10_000, 0).saturating_mul(bytes)
	}

	/// Returns the weight of reading, looking through and writing the list. Not measured: a safe upper bound.
	fn short<T: Config>() -> Weight {
		Weight::from_parts(20_000_000, 0).saturating_add(T::DbWeight::get().reads_writes(1, 1))
	}
}
