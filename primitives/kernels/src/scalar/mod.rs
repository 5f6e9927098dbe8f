//! The reference: every operator as plain loops in the order of the specification.

mod activation;
mod aggregate;
mod attention;
mod bias;
mod code;
mod embedding;
mod int8;
mod int8_blocks;
mod loss;
mod muon;
mod norm;
mod optimizer;
mod product;
mod reduce;
mod rope;
mod scale;
mod unfused;

pub use activation::{add_assign, sub, swiglu_backward, swiglu_forward};
pub use aggregate::{
	clip_factors, distance_sums, krum_weights, mean, mixed_krum_weights, moved_weights, step_weights, tile_distance, trimmed_mean,
	weighted_sum, Move, Squares,
};
pub use attention::{attention_backward, attention_decode, attention_forward, AttentionBackward};
pub use bias::{add_bias, column_sums};
pub use code::{
	cosine_forward, cosine_inverse, int8_decode, int8_encode, int8_scale, top_decode, top_encode, top_entries, INT8_CODE, TRANSFORM,
};
pub use embedding::{embedding_gather, embedding_scatter_add};
pub use int8::{matmul_int8, Group};
pub use int8_blocks::{matmul_int8_nn, matmul_int8_nt, matmul_int8_tn, Square};
pub use loss::{count_targets, cross_entropy_backward, cross_entropy_loss, cross_entropy_stats, NO_TARGET};
pub use muon::{muon, muon_direction, muon_normalize, muon_polynomial, MUON_EPS, MUON_STEP};
pub use norm::{rms_apply, rms_backward_apply, rms_backward_stats, rms_stats, rms_weight_grad, row_groups, RmsBackward};
pub use optimizer::{adamw, clip_scale, nesterov};
pub use product::{matmul_nn, matmul_nt, matmul_tn};
pub use reduce::{tile_sum_squares, tile_sums, tree_sum, Lanes};
pub use rope::{rope_backward, rope_forward};
pub use scale::scale;
pub use unfused::{attention_scores, counted, exp_sum, head_dots, row_max, score_back, softmax, weighted_keys, weighted_queries};
