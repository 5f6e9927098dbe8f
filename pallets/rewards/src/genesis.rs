//! Values of the chain's first block.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod genesis {
	/// Values of the chain's first block.
	#[pallet::genesis_config]
	pub struct GenesisConfig<T: Config> {
		/// Blocks of an era.
		pub era_length: BlockNumber,
		/// Ended eras that can still be claimed; at most [`MAX_HISTORY_DEPTH`].
		pub history_depth: EraIndex,
		/// Budget of the first era, in planck.
		pub initial_budget: Balance,
		/// Smallest budget of an era while the cap leaves room for it, in planck.
		pub budget_floor: Balance,
		/// Part of the budget that is left after each decay step, in parts of 10^18; at most 10^18.
		pub decay_ratio: u64,
		/// Eras between two decay steps.
		pub eras_per_step: EraIndex,
		/// Most that all budgets together ever come to, in whole NEURO, since JSON numbers have no room for so many planck.
		pub issuance_cap: u64,
		/// Parts of a budget in parts per million, which add up to 1,000,000: training, validation, treasury.
		pub budget_shares: [u32; 3],
		/// Weights of operations in thousandths of a work unit: forward, backward, gradient exchange, validation, checkpoint.
		pub operation_units: [u32; 5],
		/// Base rate of training, in thousandths of a point per unit.
		pub training_rate: u32,
		/// Role multipliers in thousandths: driver, worker, verifier, predictor.
		pub role_rates: [u32; 4],
		/// Active providers from which on a role is not scarce, 0 if it never is: driver, worker, verifier, predictor.
		pub role_targets: [u32; 4],
		/// Bonus of work in a role that nobody offers, in thousandths; at most 1,000.
		pub scarcity_bonus: u32,
		/// Most points that one proof or audit brings, in whole points.
		pub max_points_per_proof: u64,
		/// Type marker.
		#[serde(skip)]
		pub _config: core::marker::PhantomData<T>,
	}

	/// Eras of a day at 3 s a block, kept for 84 of them; 10,000 NEURO a day at first, half of it after a year, never below 100 before there
	/// are 100 million; all roles alike, and none scarce.
	impl<T: Config> Default for GenesisConfig<T> {
		fn default() -> Self {
			Self {
				era_length: 28_800,
				history_depth: 84,
				initial_budget: 10_000 * NEURO,
				budget_floor: 100 * NEURO,
				// 2^(-1/365)
				decay_ratio: 998_102_768_651_594_634,
				eras_per_step: 1,
				issuance_cap: 100_000_000,
				budget_shares: [800_000, 150_000, 50_000],
				operation_units: [1_000, 1_500, 500, 2_000, 300],
				training_rate: 1_000,
				role_rates: [1_000; 4],
				role_targets: [0; 4],
				scarcity_bonus: 500,
				max_points_per_proof: 1_000_000_000_000,
				_config: PhantomData,
			}
		}
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			let curve = Curve {
				initial: self.initial_budget,
				floor: self.budget_floor,
				ratio: self.decay_ratio,
				eras_per_step: self.eras_per_step,
				cap: NEURO.saturating_mul(self.issuance_cap.into()),
			};
			let [training, validation, treasury] = self.budget_shares;
			let shares = BudgetShares { training, validation, treasury };
			let [forward, backward, sync, validation, checkpoint] = self.operation_units;
			let operations = OperationUnits { forward, backward, sync, validation, checkpoint };
			let rates = Rates {
				training: self.training_rate,
				roles: self.role_rates,
				targets: self.role_targets,
				scarcity: self.scarcity_bonus,
				cap: self.max_points_per_proof,
			};
			assert!(self.era_length > 0, "an era has at least one block");
			assert!(
				(1..=MAX_HISTORY_DEPTH).contains(&self.history_depth),
				"an ended era can be claimed for at least one era and at most {MAX_HISTORY_DEPTH}"
			);
			assert!(
				curve.is_valid(),
				"the issuance curve falls, takes steps, has its floor below its beginning and its beginning below its cap"
			);
			assert!(shares.is_valid(), "the shares of a budget add up to 1,000,000");
			assert!(operations.is_valid(), "an operation counts at most a thousand units");
			assert!(
				rates.is_valid(),
				"rates are at most a thousand-fold, a scarce role counts at most twice, and a proof can be worth something"
			);
			EraLength::<T>::put(self.era_length);
			HistoryDepth::<T>::put(self.history_depth);
			Issuance::<T>::put(curve);
			Shares::<T>::put(shares);
			Operations::<T>::put(operations);
			WorkRates::<T>::put(rates);
			Current::<T>::put(CurrentEra { index: 0, starts_at: 0, parts: shares.split(curve.initial), to_validators: 0 });
		}
	}
}
