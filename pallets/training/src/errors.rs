//! Errors of the calls.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod errors {
	/// Why a call is refused, and what to do about it.
	#[pallet::error]
	pub enum Error<T> {
		/// No such run. The view function `runs` lists them.
		UnknownRun,
		/// The run is over. Join another one.
		RunFinished,
		/// The run is still going on. Stop it first.
		RunActive,
		/// The run's history is still needed for challenges. Try again as many blocks after its end as the constant
		/// `HistoryPeriod` says.
		HistoryNeeded,
		/// As many runs as possible are active. Wait until one is over.
		TooManyRuns,
		/// No identifier is left for a new run. Join a run that there is: the view function `runs` lists them.
		RunIdsExhausted,
		/// Only the run's sponsor may do this. The view function `run` shows who that is.
		NotSponsor,
		/// The run is approved already. There is nothing to do.
		AlreadyApproved,
		/// Nothing of the run's rounds could be audited, so that nobody would look at what is paid. Approve a run with an interval of at least 2
		/// steps between committed states, and at least as many inner steps.
		NotAuditable,
		/// The model is halted already. There is nothing to do.
		AlreadyHalted,
		/// The model is not halted. There is nothing to lift.
		NotHalted,
		/// The name is empty or not UTF-8. Choose another one.
		BadName,
		/// The numbers of participants cannot be. Take at least 1 and at most 128, or 64 with Multi-Krum of mixed deltas, and a minimum that is not above the maximum.
		BadParticipants,
		/// A phase is too short or too long. Each needs at least one block and at most as many as the constant
		/// `MaxPhaseDuration` says.
		BadDurations,
		/// The run has no rounds, or its smallest bond is zero. Ask for at least one round, or no limit, and for a bond above zero.
		BadLimits,
		/// A dimension is zero, no multiple of 32, or too large. `vocab`, `dim`, `ffn`, `max_seq`, `seq_len` and the widths of all queries and of all
		/// keys must be multiples of 32, that of a head even, and with norms of heads a multiple of 32, `seq_len` at most `max_seq`, and no other count
		/// zero.
		BadDimension,
		/// The heads do not fit the model. `kv_heads` must divide `heads`, and `heads` must divide `dim`, unless `head_dim` says how wide they are: leave
		/// it out where it is `dim / heads`.
		BadHeads,
		/// The model or its step is larger than the protocol can judge. Choose a smaller model, batch or sequence, or
		/// AdamW in place of Muon, with which it may have more layers.
		ModelTooLarge,
		/// The arithmetic version is not that of this chain. Use a worker that matches the runtime.
		ArithmeticVersion,
		/// A round has at most 64 state roots and the interval is at least 1. Choose a longer interval.
		CommitInterval,
		/// A hyperparameter is outside its range. Keep `lr` and `weight_decay` from 0 to 1, `lr_min` from 0 to `lr`, `beta1` and `outer_beta` from 0
		/// to 0.9999, `beta2` from `beta1` to 0.999999, `eps` from 1e-16 to 1, `norm_eps` above 0 to 1, `clip` above 0 to 1e6, `outer_lr` from 0 to
		/// 10, `rope_theta` 2 at least, the factor of `rope_scaling` above 1 to 1e6, its `low` above 0 and below its `high`, which is up to 1e6, its
		/// `original` not zero, and `total_steps` zero or `warmup_steps` at least.
		BadHyperparameter,
		/// The dataset is not active. Activate it, or choose another one.
		DatasetNotActive,
		/// The vocabulary of the model, or `tokenizer`, is not that of the dataset. Take both from the dataset's manifest; the view function
		/// `Dataset::dataset` shows it.
		WrongVocabulary,
		/// A full round would need more windows than the training shards hold. Choose a larger dataset, fewer
		/// participants, fewer inner steps or a smaller batch.
		DatasetTooSmall,
		/// Held-out shards hold fewer windows than `validation_sequences`. Measure on fewer, or hold out more shards.
		HeldOutTooSmall,
		/// Only active providers with the worker role take part. Register, or activate the provider.
		NotActiveWorker,
		/// The active bond is below the run's minimum. Bond more.
		BondTooSmall,
		/// The account is a member already. There is nothing to do.
		AlreadyMember,
		/// The account is no member of this run. Call `join` first.
		NotMember,
		/// The account dropped out several times in a row. The view function `next_join` says in which block it may join again.
		CoolingOff,
		/// As many members as the run takes have joined. Try again when one has left.
		RunFull,
		/// The run is in another round. Look at the view function `round`.
		WrongRound,
		/// The round was started anew since, from the same checkpoint but with other windows, or in Checkpointing there is something else
		/// to compute: work and votes of an earlier attempt do not count. Look at the view functions `round` and `outer_job`, and
		/// train, or compute the checkpoint, again.
		WrongAttempt,
		/// The round is in another phase. Look at the view function `round`.
		WrongPhase,
		/// The account holds no place in this round. Join, and wait for the next one.
		NotParticipant,
		/// The account missed a deadline of this round, or had given up its place. Join again for the next one.
		DroppedOut,
		/// The account has acted in this phase already, and may not change what it said. Wait for the next phase.
		AlreadyActed,
		/// Less of the account's bond is left to be slashed than its votes in this round weigh: it was withdrawn, or slashed. Bond again, and join
		/// the next one.
		StakeGone,
		/// Salt and work do not give the sealed commitment. Reveal exactly what was committed to.
		SealBroken,
		/// The work has another number of state roots than the run asks for. The view function `run` shows the intervals; commit to one
		/// root for each.
		WrongStateRoots,
		/// The work has another number of tokens than the run asks for. State what its configuration gives, which the view function `run`
		/// shows.
		WrongTokens,
		/// The delta has another size than the run's model gives. Send the delta of the model that the view function `run` shows.
		WrongDeltaBytes,
		/// The proof is not about this work: its key or its work hash differs. Sign the work that is revealed with the registered PoNW key.
		WrongProof,
		/// The vote is not one for this round. It needs one bit for each revealed participant, and zeros beyond them.
		BadVote,
		/// Only who has done what a phase asks for may report others as missing in it. Do that first.
		NotActed,
		/// The work does not begin with the residual that the account's last delta has left in this run, nor with one of zeros. The view function
		/// `residual` shows its root; begin with that, or with zeros.
		WrongResidual,
		/// There is no code of so many numbers, or the rule sorts numbers of all deltas, which goes with TopK without cosine only. Choose 4, 8, 16, 32 or
		/// 64 numbers, or another rule.
		BadCode,
		/// The fewest inner steps of a weighted mean are none, or more than the run's inner steps. Take at least 1, and at most as many.
		BadLeastSteps,
		/// Rounds overlap in a run whose deltas weigh by inner steps, or are sent as a code that leaves a residual. Let rounds not overlap, or choose
		/// another rule or code.
		BadOverlap,
		/// The runs are one, or differ in dataset, model, training or first checkpoint; or rounds overlap, or deltas leave a residual. Create a run with
		/// the same run file, without overlap and without a code that leaves a residual.
		NotAlike,
		/// The run is a cohort of a family already. Name one that is in none second.
		InFamily,
		/// The family has as many cohorts as can be. Wait until one ends, or found another family.
		FamilyFull,
		/// The checkpoint that the run is to start from does not have the root that is stated, or the run and round that it is to be of do not start from its
		/// parameters and momentum, or the chain does not have that round's checkpoint any more, or one of both trains an adapter that the other one does not.
		/// Name one that the view function `record` or `run` shows, of a run with the same adapter but for alpha, or no run.
		WrongStart,
		/// The dataset is masked and `train.masked` says that it is not, or the other way round. Take it from the dataset's manifest; the view function
		/// `Dataset::dataset` shows it.
		WrongMask,
		/// The members of a quorum are not its leader and others, each once and at most 32, or their spans do not hold each unit of the model once. Cut the model anew.
		BadQuorum,
		/// All that the members of such a quorum say about the inner steps between two committed states does not fit into a move of a dispute. Take fewer members, or a
		/// run with a shorter `train.commit_interval`.
		IntervalTooLong,
		/// All seats of the quorums of this run are taken. Lead a smaller one, or take part alone.
		NoSeats,
		/// What is agreed to is not what the leader has proposed, or not for this account. The view function `quorums` shows what is.
		OtherQuorum,
		/// The account has agreed to be a member of another one's quorum in this run. Call `leave` first.
		InQuorum,
		/// The account has a place in this run, or leads a quorum. Give that up first, with `leave` or with a quorum of nobody.
		HasPlace,
		/// Not all members of the quorum have agreed. Wait until they have.
		NotAgreed,
		/// An adapter has no projection, a rank of 0 or more than 256, or an alpha that is not above 0 and at most 1,000,000. Give it what it lacks.
		BadAdapter,
		/// The run trains an adapter with Muon, or Muon's momentum is not from 0 to 0.9999. Leave one of `train.optimizer` and `train.adapter` out, or take a
		/// momentum such as 0.95.
		BadOptimizer,
	}
}
