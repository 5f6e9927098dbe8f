//! Devices that speak OpenCL: a [`Backend`](neuroshard_compute::exec::Backend) that gives the bits of the CPU.
//!
//! OpenCL C is IEEE 754 where the driver says so: `fma`, sums, products, quotients and roots are rounded correctly, and subnormal numbers kept. A device that
//! does not promise all of it is [refused](Found::lacks). The library of OpenCL is loaded when devices are first asked for, so that everything builds and runs
//! without one.

mod backend;
mod constants;
mod decoding;
mod device;
mod handle;
mod products;
mod rounds;
mod verify;

pub use backend::{Arena, OpenCl, Table};
pub use device::{devices, found, Found, OpenClError};
