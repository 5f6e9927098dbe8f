//! Weights of a block and an extrinsic by themselves, measured by `scripts/weights.sh`: medians, on 2 cores
//! (Intel(R) Xeon(R) Processor).

use frame_support::{
	parameter_types,
	weights::{constants::WEIGHT_REF_TIME_PER_NANOS, Weight},
};

parameter_types! {
	/// A block with nothing but inherents.
	pub const BlockExecutionWeight: Weight = Weight::from_parts(358_922 * WEIGHT_REF_TIME_PER_NANOS, 0);
	/// An extrinsic that does nothing: its signature, its transaction extensions, and what keeps it in the block.
	pub const ExtrinsicBaseWeight: Weight = Weight::from_parts(105_670 * WEIGHT_REF_TIME_PER_NANOS, 0);
}
