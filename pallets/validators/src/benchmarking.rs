//! Benchmarks of every call in its most expensive case.
