//! Motions of both bodies, and what they do at once.

use super::{decided::decided, signed, Act, Deed};
use codec::{Decode, Encode};
use frame_support::dispatch::GetDispatchInfo;
use neuroshard_runtime::{enactment::Cleared, OriginCaller, Runtime, RuntimeCall, RuntimeOrigin, SafeMode, System};
use pallet_collective::{Call, CostOf, Instance1, Instance2, Members, ProposalOf, Proposals, RawOrigin, Voting};

/// One that decides.
#[derive(Clone, Copy)]
pub enum Body {
	Council,
	Committee,
}

/// Returns the action of two of the three members of a body.
pub fn at_once(body: Body, call: impl Into<RuntimeCall>) -> Deed {
	let origin = match body {
		Body::Council => OriginCaller::Council(RawOrigin::Members(2, 3)),
		Body::Committee => OriginCaller::TechnicalCommittee(RawOrigin::Members(2, 3)),
	};
	Some((RuntimeOrigin::from(origin), call.into()))
}

pub fn deed(act: &Act) -> Deed {
	// Safe mode ends soon, since it refuses most of what there is to do.
	if SafeMode::is_entered() && act.is_one_in(4) {
		return at_once(Body::Council, pallet_safe_mode::Call::force_exit {});
	}
	match act.what % 20 {
		0..=4 => {
			let (body, call) = decided(act)?;
			match body {
				Body::Council => propose::<Instance1>(act, call),
				Body::Committee => propose::<Instance2>(act, call),
			}
		}
		5..=13 => match act.is_one_in(2) {
			true => go_on::<Instance1>(act),
			false => go_on::<Instance2>(act),
		},
		14 => {
			give_notice();
			None
		}
		_ => {
			let (body, call) = decided(act)?;
			at_once(body, call)
		}
	}
}

/// The notice of what is cleared is over: it is longer than a sequence.
fn give_notice() {
	Cleared::<Runtime>::mutate(|cleared| cleared.iter_mut().for_each(|(_, from)| *from = System::block_number()));
}

fn length(call: &RuntimeCall) -> u32 {
	call.encoded_size().try_into().expect("a short call")
}

fn propose<I: 'static>(act: &Act, call: RuntimeCall) -> Deed
where
	Runtime: pallet_collective::Config<I, Proposal = RuntimeCall>,
	RuntimeCall: From<Call<Runtime, I>>,
{
	let member = act.one_of(Members::<Runtime, I>::get())?;
	let length_bound = length(&call);
	signed(member, Call::propose { threshold: 2, proposal: Box::new(call), length_bound })
}

/// A vote, the end of a motion, or what comes after that.
fn go_on<I: 'static>(act: &Act) -> Deed
where
	Runtime: pallet_collective::Config<I, Proposal = RuntimeCall>,
	RuntimeCall: From<Call<Runtime, I>>,
{
	let motion = Proposals::<Runtime, I>::get().into_iter().next();
	let Some(proposal) = motion else {
		let proposal_hash = act.one_of(CostOf::<Runtime, I>::iter_keys())?;
		return act.mine(Call::release_proposal_cost { proposal_hash });
	};
	// The number of a motion comes first of all that is stored of it.
	let index = u32::decode(&mut &Voting::<Runtime, I>::get(proposal)?.encode()[..]).ok()?;
	let call = ProposalOf::<Runtime, I>::get(proposal)?;
	if act.amount.is_multiple_of(4) {
		let (proposal_weight_bound, length_bound) = (call.get_dispatch_info().call_weight, length(&call));
		return act.mine(Call::close { proposal_hash: proposal, index, proposal_weight_bound, length_bound });
	}
	let member = act.one_of(Members::<Runtime, I>::get())?;
	signed(member, Call::vote { proposal, index, approve: act.amount % 8 != 1 })
}
