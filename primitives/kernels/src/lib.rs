//! Bit-reproducible f32 operators of a Llama training step, and for answers a product of numbers that are held in 8 bits.
//!
//! Every operator is defined once, as a sequence of correctly rounded IEEE-754 operations in a fixed order (`docs/spec/arithmetic.md` is
//! the specification, version 1). Here is the reference, [`scalar`], which runs everywhere, also inside the chain's WASM runtime. What workers
//! train with, the same operators on SIMD registers and threads, is `neuroshard-compute`: it gives the same bits, modulo the canonical form
//! of zeros and NaNs.
//!
//! `hash` (feature `std`) is what makes committing to tensors cheap.
//!
//! Tensors are row-major `f32` slices; a function that is given slices of other lengths than its documentation states panics.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

#[cfg(feature = "std")]
pub mod hash;
pub mod kat;
pub mod math;
pub mod num;
pub mod scalar;
pub mod schedule;
pub mod shape;
