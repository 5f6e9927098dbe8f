//! Obstacles that keep a participant from taking part. Pure: the planner waits, this says what for.

use super::{plan::may_join, view::ChainView};
use crate::{arithmetic::open_challenge, obstacle::Obstacle};
use neuroshard_types::{
	provider::{ProviderStatus, ProviderView, Role, Suspension},
	run::RunStatus,
	Balance, H256,
};

/// Returns what keeps this worker from taking part, the most lasting first. `least_bond` is the chain's minimum, if it is known; `failed` says of a
/// challenge that this machine has no answer to it that the chain takes.
pub(in crate::participant) fn obstacle(
	chain: &ChainView,
	provider: Option<&ProviderView>,
	least_bond: Option<Balance>,
	failed: impl Fn(H256) -> bool,
) -> Option<Obstacle> {
	let Some(provider) = provider else { return Some(Obstacle::Unregistered) };
	let bond = provider.bonded;
	match provider.suspension(chain.best) {
		Some(Suspension::Forever) => return Some(Obstacle::Banned),
		Some(Suspension::Until(until)) => return Some(Obstacle::Suspended { until }),
		None => {}
	}
	if let Some(challenge) = open_challenge(provider) {
		return Some(match least_bond.filter(|least| bond < *least) {
			_ if failed(challenge) => Obstacle::WrongArithmetic,
			Some(least) => Obstacle::UnprovenBond { bond, least },
			None => Obstacle::Unproven,
		});
	}
	if provider.status == ProviderStatus::Chilled {
		return Some(match least_bond.filter(|least| bond < *least) {
			Some(least) => Obstacle::BondGone { bond, least },
			None => Obstacle::Chilled,
		});
	}
	if !provider.info.roles.contains(Role::Worker) {
		// A verifier has enough to do without training.
		return (!provider.info.roles.contains(Role::Verifier)).then_some(Obstacle::NoWorkerRole);
	}
	let state = chain.run.as_ref().filter(|run| run.view.status == RunStatus::Active)?;
	if chain.is_short() {
		return Some(Obstacle::Short { free: chain.free, reserve: chain.reserve });
	}
	if state.members.contains(&chain.me) {
		return None;
	}
	let (run, least) = (state.id, state.view.config.min_bond);
	match state.next_join {
		_ if may_join(chain, state) => None,
		_ if bond < least => Some(Obstacle::BondTooSmall { run, bond, least }),
		Some(until) => Some(Obstacle::CoolingOff { run, until }),
		None => Some(Obstacle::Full { run }),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::participant::decide::plan::tests::training;
	use neuroshard_fixtures::provider;
	use neuroshard_types::{
		provider::{ProviderInfo, Roles},
		BlockNumber, NEURO,
	};

	/// An active provider of 5 NEURO that is no member.
	fn outside() -> ChainView {
		let (mut chain, _) = training();
		chain.bond = 5 * NEURO;
		let me = chain.me.clone();
		chain.run.as_mut().unwrap().members.retain(|member| *member != me);
		chain
	}

	fn words(chain: &ChainView, provider: Option<&ProviderView>) -> String {
		obstacle(chain, provider, Some(3 * NEURO), |challenge| challenge.is_zero()).map(|obstacle| obstacle.to_string()).unwrap_or_default()
	}

	#[test]
	fn nothing_keeps_a_member_or_who_may_join() {
		assert_eq!(words(&training().0, Some(&provider())), "");
		assert_eq!(words(&outside(), Some(&provider())), "");
	}

	#[test]
	fn a_chilled_provider_hears_what_ends_that() {
		let mut chilled = ProviderView { status: ProviderStatus::Chilled, ..provider() };
		let chain = ChainView { active: false, ..outside() };
		let text = words(&chain, Some(&chilled));
		assert!(text.contains("chilled") && text.contains("neuroshard-worker activate") && !text.contains("bond-extra"), "{text}");
		chilled.bonded = 0;
		let text = words(&chain, Some(&chilled));
		assert!(text.contains("bond-extra --amount 3`, then `neuroshard-worker activate`"), "{text}");
		assert!(words(&chain, None).contains("register"));
	}

	#[test]
	fn a_suspended_provider_hears_until_when_and_a_banned_one_that_it_is() {
		let chain = ChainView { active: false, ..outside() };
		let suspended =
			|until| words(&chain, Some(&ProviderView { status: ProviderStatus::Chilled, suspended_until: until, ..provider() }));
		assert!(suspended(chain.best + 1).contains(&format!("from block {} on", chain.best + 1)));
		assert!(suspended(chain.best).contains("chilled") && suspended(BlockNumber::MAX).contains("banned for good"));
	}

	#[test]
	fn a_provider_without_the_worker_role_hears_so_unless_it_audits() {
		let chain = ChainView { active: false, ..outside() };
		let of = |role| ProviderView { info: ProviderInfo { roles: Roles::only(role), ..provider().info }, ..provider() };
		assert!(words(&chain, Some(&of(Role::Predictor))).contains("update --roles worker"));
		assert_eq!(words(&chain, Some(&of(Role::Verifier))), "");
	}

	#[test]
	fn a_provider_whose_machine_is_not_tested_yet_hears_what_happens_and_one_that_failed_what_to_do() {
		let chain = ChainView { active: false, ..outside() };
		let unproven = |byte, bonded| {
			let status = ProviderStatus::Unproven { challenge: H256::repeat_byte(byte) };
			words(&chain, Some(&ProviderView { status, bonded, ..provider() }))
		};
		assert!(unproven(1, 3 * NEURO).contains("the worker answers that by itself"));
		let text = unproven(0, 3 * NEURO);
		assert!(text.contains("failed the chain's test") && text.contains("another machine") && text.contains("leave"), "{text}");
		assert!(unproven(1, 2 * NEURO).contains("bond-extra --amount 1`"));
	}

	#[test]
	fn a_run_that_asks_for_a_larger_bond_is_named_with_what_is_missing() {
		let mut chain = outside();
		chain.run.as_mut().unwrap().view.config.min_bond = 7 * NEURO;
		let text = words(&chain, Some(&provider()));
		assert!(text.contains("run 7 asks for a bond of 7 NEURO") && text.contains("bond-extra --amount 2`"), "{text}");
	}

	#[test]
	fn an_account_that_a_dispute_could_empty_hears_what_is_missing() {
		let (mut chain, _) = training();
		(chain.free, chain.reserve) = (NEURO, 3 * NEURO + NEURO / 2);
		let text = words(&chain, Some(&provider()));
		assert!(
			text.contains("1 NEURO are free") && text.contains("can come to 3.5 NEURO") && text.contains("send this account 2.5"),
			"{text}"
		);
		chain.free = chain.reserve;
		assert_eq!(words(&chain, Some(&provider())), "");
	}

	#[test]
	fn who_must_wait_hears_until_which_block() {
		let mut chain = outside();
		chain.run.as_mut().unwrap().next_join = Some(99);
		assert!(words(&chain, Some(&provider())).contains("may join again at block 99"));
	}

	#[test]
	fn a_full_run_is_waited_for_in_words() {
		let mut chain = outside();
		let run = chain.run.as_mut().unwrap();
		run.view.config.max_participants = 2;
		assert!(words(&chain, Some(&provider())).contains("waits for a place"));
		chain.run.as_mut().unwrap().view.status = RunStatus::Finished;
		assert_eq!(words(&chain, Some(&provider())), "", "there is nothing to wait for");
	}
}
