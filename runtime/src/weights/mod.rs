//! Weights of blocks, extrinsics, calls and hooks: `scripts/weights.sh` writes the modules, with what it measured in this runtime's WASM.
//!
//! Benchmarks of our pallets make each call and hook as costly as it can be, but not in all ways at once: what is paid to one cannot be taken from it.
//! So each of their weights is the larger one of what was measured and of what the pallet derives from all the database accesses that its code
//! can make. A pallet that is new in this list needs its file first: `scripts/weights.sh` measures the runtime that it is part of.
//!
//! Weights of the treasury and of session keys are those that the SDK's authors measured: the benchmarks of the first ask for more than the
//! treasury may pay here, and the second has them in a crate of its own. Those of BABE and GRANDPA, whose only calls are reports that nodes send
//! themselves, are the SDK's sums of its parts.

pub mod frame_system;
pub mod frame_system_extensions;
pub mod overhead;
pub mod pallet_assets;
pub mod pallet_balances;
pub mod pallet_collective;
pub mod pallet_identity;
pub mod pallet_multisig;
mod pallet_neuro_dataset;
mod pallet_neuro_disputes;
mod pallet_neuro_inference;
mod pallet_neuro_ownership;
mod pallet_neuro_ponw;
mod pallet_neuro_rewards;
mod pallet_neuro_staking;
mod pallet_neuro_training;
mod pallet_neuro_validators;
pub mod pallet_preimage;
pub mod pallet_proxy;
pub mod pallet_safe_mode;
pub mod pallet_scheduler;
pub mod pallet_sudo;
pub mod pallet_timestamp;
pub mod pallet_transaction_payment;
pub mod pallet_tx_pause;
pub mod pallet_utility;

use crate::Runtime;
use frame_support::weights::Weight;

/// The larger weights of a pallet's calls and hooks, which are listed with the names of their components.
macro_rules! larger {
	($name:ident, $pallet:ident: $($call:ident($($component:ident),*)),+ $(,)?) => {
		#[doc = concat!("Weights of `", stringify!($pallet), "`.")]
		pub struct $name;

		impl ::$pallet::WeightInfo for $name {
			$(
				fn $call($($component: u32),*) -> Weight {
					let derived = <::$pallet::weights::SubstrateWeight<Runtime> as ::$pallet::WeightInfo>::$call($($component),*);
					let measured = <$pallet::WeightInfo<Runtime> as ::$pallet::WeightInfo>::$call($($component),*);
					derived.max(measured)
				}
			)+
		}
	};
}

larger!(
	Dataset, pallet_neuro_dataset:
	propose(), activate(), retire(), force_retire(), remove(), attest(), withdraw_attestation(), challenge_shard(), answer_challenge(),
	check_answer(), conclude_challenge(), condemn(),
);
// The verdict is measured by a test of its own: `runtime/tests/verdict`.
larger!(
	Disputes, pallet_neuro_disputes:
	challenge_work(), challenge_attestation(r), play(b, r), decide(), end_due(p), end_moot(), end_late(), check_turn(), check_report(),
	enroll(), resign(), sweep(), seal_audit(), report_audit(), challenge_audit(), challenge_answer(),
	draw_idle(), draw(n), close_idle(), close(),
	check_delivery(t, l), demand_answer(), deliver_answer(t, l), end_demands(n), end_demand(), close_answers(n), draw_answers_idle(),
	draw_answers(c, d),
);
larger!(
	Inference, pallet_neuro_inference:
	offer(m), join(), leave(), withdraw_offer(m), open_session(), top_up(), claim(m), close_session(), settle(p),
);
larger!(Ownership, pallet_neuro_ownership: deposit_revenue(), claim(), claim_for(), enrol(), release(), transfer(), final_work());
larger!(Ponw, pallet_neuro_ponw: submit_uptime(), settle(n), clean(), hold(), release());
larger!(Rewards, pallet_neuro_rewards: claim(), claim_for(), set_shares(), rotate(n));
larger!(
	Staking, pallet_neuro_staking:
	register(), update_info(), bond_extra(), unbond(), withdraw_unbonded(), chill(), activate(), deregister(), prove_arithmetic(), lock(),
	report_sybil(), set_operator(), serve(), sweep_idle(), sweep(),
);
larger!(
	Training, pallet_neuro_training:
	create_run(), approve_run(), stop_run(p), force_stop_run(p), halt_model(), lift_halt(), join(), leave(), commit(p), reveal(p),
	vote_availability(p), attest(p), check_act(), remove_run(r), on_initialize(), advance(p), settle(p), begin(p), claim(r), condemn(),
);
larger!(
	Validators, pallet_neuro_validators:
	bond(), bond_extra(), unbond(), withdraw_unbonded(n), chill(), activate(), set_commission(), nominate(n), unnominate(),
	withdraw_nomination(), claim_rewards(), set_validator_count(), note_author(), punish(n), rotate_session(c, v),
);
