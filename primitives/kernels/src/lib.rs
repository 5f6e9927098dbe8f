//! Bit-reproducible f32 operators of a Llama training step, and for answers a product of numbers that are held in 8 bits.
//!
//! Every operator is defined once, as a sequence of correctly rounded IEEE-754 operations in a fixed order (`docs/spec/arithmetic.md` is
//! the specification, version 1). Two implementations give the same bits, modulo the canonical form of zeros and NaNs:
//!
//! - [`scalar`]: the reference. It runs everywhere, also inside the chain's WASM runtime.
//! - [`exec::Exec`] (feature `std`): the same methods on SIMD registers and threads, which workers train with.
//!
//! `hash` (feature `std`) is what makes committing to tensors cheap.
//!
//! Tensors are row-major `f32` slices; a function that is given slices of other lengths than its documentation states panics.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

#[cfg(feature = "std")]
pub mod exec;
#[cfg(feature = "std")]
pub mod hash;
pub mod kat;
pub mod math;
pub mod num;
#[cfg(feature = "std")]
mod pool;
pub mod scalar;
pub mod schedule;
pub mod shape;
#[cfg(feature = "std")]
mod simd;
