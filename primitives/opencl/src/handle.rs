//! Handles of the driver.

use std::{
	mem::ManuallyDrop,
	ops::{Deref, DerefMut},
	panic::{catch_unwind, AssertUnwindSafe},
};

/// A handle that is given back in silence: a device that is lost may refuse even that, and then there is nothing more to do.
pub(crate) struct Handle<T>(ManuallyDrop<T>);

impl<T> Handle<T> {
	pub(crate) fn new(handle: T) -> Self {
		Self(ManuallyDrop::new(handle))
	}
}

impl<T> Deref for Handle<T> {
	type Target = T;

	fn deref(&self) -> &T {
		&self.0
	}
}

impl<T> DerefMut for Handle<T> {
	fn deref_mut(&mut self) -> &mut T {
		&mut self.0
	}
}

impl<T> Drop for Handle<T> {
	fn drop(&mut self) {
		// The library panics where the driver gives an error.
		// SAFETY: it is dropped here and nowhere else, once.
		let _ = catch_unwind(AssertUnwindSafe(|| unsafe { ManuallyDrop::drop(&mut self.0) }));
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_handle_that_the_driver_refuses_to_take_back_ends_nothing() {
		struct Refused;
		impl Drop for Refused {
			fn drop(&mut self) {
				panic!("the driver says no");
			}
		}
		drop(Handle::new(Refused));
		let ended = catch_unwind(|| {
			let _held = Handle::new(Refused);
			panic!("something else");
		});
		assert_eq!(ended.unwrap_err().downcast_ref::<&str>(), Some(&"something else"));
	}
}
