use super::*;
use jsonrpsee::{core::server::MethodsError, types::error::INVALID_PARAMS_CODE, RpcModule};
use neuroshard_types::{
	dataset::Tokenizer,
	proof::{PendingProof, ProofKey, ProofKind},
	provider::{HardwareProfile, ProviderInfo, ProviderStatus, ProviderView, Role, Roles, Tier, UnbondingChunk},
	reward::Earnings,
	run::{Attestation, ParticipantView, Phase, PhaseDurations, RoundView, RunConfig, RunStart, RunStatus, RunView, Work},
	Aggregator, ModelConfig, TrainConfig, F32, NEURO,
};
use serde_json::{json, Value};
use std::collections::BTreeMap;

const BEST: Hash = Hash::repeat_byte(0xbe);
const ALICE: AccountId = AccountId::new([1; 32]);
/// The SS58 form of [`ALICE`], prefix 42.
const ALICE_TEXT: &str = "5C62Ck4UrFPiBtoCmeSrgF7x9yv9mn38446dhCpsi2mLHiFT";

/// A chain that knows the answers to these questions at its best block, and to no others.
#[derive(Clone, Default)]
struct Answers(BTreeMap<([u8; 32], Vec<u8>), Vec<u8>>);

impl Answers {
	fn with<F: ViewFunction + Encode>(self, question: F, answer: F::ReturnType) -> Self {
		self.with_bytes(question, answer.encode())
	}

	fn with_bytes<F: ViewFunction + Encode>(mut self, question: F, answer: Vec<u8>) -> Self {
		self.0.insert((F::id().into(), question.encode()), answer);
		self
	}

	async fn call(self, method: &str, parameters: Value) -> Result<Value, (i32, String)> {
		let module: RpcModule<_> = Neuroshard::new(self).into_rpc();
		let parameters: Vec<Value> = serde_json::from_value(parameters).unwrap();
		module.call(method, parameters).await.map_err(|error| match error {
			MethodsError::JsonRpc(error) => (error.code(), error.message().to_owned()),
			other => panic!("{other}"),
		})
	}
}

impl ViewFunctions for Answers {
	fn best(&self) -> Hash {
		BEST
	}

	fn execute(&self, at: Hash, function: ViewFunctionId, parameters: Vec<u8>) -> Result<Vec<u8>, String> {
		assert_eq!(at, BEST);
		self.0.get(&(function.into(), parameters)).cloned().ok_or_else(|| "the chain does not know".into())
	}
}

fn run() -> RunView {
	let config = RunConfig {
		name: b"tiny".to_vec().try_into().unwrap(),
		dataset: 5,
		model: ModelConfig::tiny(),
		train: TrainConfig { seed: [0xa7; 32], aggregator: Aggregator::TrimmedMean { trim: 1 }, ..TrainConfig::tiny() },
		genesis_root: Hash::repeat_byte(1),
		start: RunStart::Seed,
		min_participants: 1,
		max_participants: 8,
		min_bond: 100 * NEURO,
		rounds: None,
		durations: PhaseDurations { joining: 1, training: 2, revealing: 3, availability: 4, checkpointing: 5 },
		tokenizer: Tokenizer::BYTES,
		overlaps: false,
		epochs: true,
	};
	RunView {
		sponsor: ALICE,
		config,
		status: RunStatus::Active,
		approved: true,
		rounds_adopted: 7,
		checkpoint: Hash::repeat_byte(2),
		joining: Vec::new(),
	}
}

#[tokio::test]
async fn runs_have_floats_as_numbers_and_the_seed_as_hexadecimal_digits() {
	// Run 4 has gone between the two questions.
	let chain = Answers::default()
		.with(RunsViewFunction::<Runtime>::new(), vec![3, 4])
		.with(RunViewFunction::<Runtime>::new(3), Some(run()))
		.with(RunViewFunction::<Runtime>::new(4), None);
	let answer = chain.call("neuroshard_runs", json!([])).await.unwrap();
	let expected = json!([{
		"id": 3,
		"name": "tiny",
		"sponsor": ALICE_TEXT,
		"dataset": 5,
		"model": {
			"vocab": 64, "dim": 32, "layers": 1, "heads": 2, "kv_heads": 2, "ffn": 64, "max_seq": 32, "tied": true,
			"rope_theta": 10_000, "norm_eps": 1e-5
		},
		"train": {
			"arithmetic_version": 2, "seed": format!("0x{}", "a7".repeat(32)), "batch": 2, "seq_len": 32, "inner_steps": 4,
			"commit_interval": 2, "lr": 0.001, "lr_min": 0.0001, "warmup_steps": 2, "total_steps": 0, "beta1": 0.9, "beta2": 0.95,
			"eps": 1e-8, "weight_decay": 0.1, "clip": 1.0, "outer_lr": 1.0, "outer_beta": 0.0,
			"aggregator": { "TrimmedMean": { "trim": 1 } }, "validation_sequences": 4
		},
		"rounds": null,
		"roundsAdopted": 7,
		"checkpoint": format!("0x{}", "02".repeat(32)),
		"status": "Active",
		"approved": true
	}]);
	assert_eq!(answer, expected);
	let read: Vec<Run> = serde_json::from_value(answer).unwrap();
	assert_eq!(read, [Run::new(3, run())]);
}

#[tokio::test]
async fn a_round_tells_what_each_participant_has_done() {
	let nothing_done = ParticipantView {
		account: AccountId::new([0; 32]),
		sealed: None,
		work: None,
		vote: None,
		attestation: None,
		included: false,
		counted: true,
	};
	let work = Work { state_roots: Vec::new().try_into().unwrap(), delta_root: Hash::repeat_byte(4), delta_bytes: 1, tokens: 2 };
	let attestation = Attestation { checkpoint: Hash::repeat_byte(5), validation_loss: F32::new(3.25) };
	let all_done = ParticipantView {
		account: ALICE,
		sealed: Some(Hash::repeat_byte(3)),
		work: Some(work),
		vote: Some(vec![1].try_into().unwrap()),
		attestation: Some(attestation),
		included: true,
		counted: true,
	};
	let round = RoundView {
		round: 6,
		attempt: 1,
		phase: Phase::Checkpointing,
		deadline: Some(46),
		checkpoint: Hash::repeat_byte(2),
		start: Hash::repeat_byte(2),
		seed: Hash::repeat_byte(9),
		started_at: (40, 123_000),
		participants: vec![nothing_done, all_done],
		late: Vec::new(),
		ahead: None,
		bridge: None,
	};
	let chain = Answers::default().with(RoundViewFunction::<Runtime>::new(3), Some(round)).with(RoundViewFunction::<Runtime>::new(4), None);
	let answer = chain.clone().call("neuroshard_currentRound", json!([3])).await.unwrap();
	assert_eq!((&answer["round"], &answer["attempt"], &answer["phase"]), (&json!(6), &json!(1), &json!("Checkpointing")));
	assert_eq!((&answer["deadline"], &answer["checkpoint"]), (&json!(46), &json!(format!("0x{}", "02".repeat(32)))));
	let idle = &answer["participants"][0];
	for (key, expected) in [
		("committed", json!(false)),
		("deltaRoot", Value::Null),
		("voted", json!(false)),
		("attested", Value::Null),
		("included", json!(false)),
	] {
		assert_eq!(idle[key], expected, "{key}");
	}
	let expected = json!({
		"account": ALICE_TEXT,
		"committed": true,
		"deltaRoot": format!("0x{}", "04".repeat(32)),
		"voted": true,
		"attested": format!("0x{}", "05".repeat(32)),
		"validationLoss": 3.25,
		"included": true
	});
	assert_eq!(answer["participants"][1], expected);
	assert_eq!(chain.call("neuroshard_currentRound", json!([4])).await.unwrap(), Value::Null);
}

#[tokio::test]
async fn a_provider_has_its_roles_by_name_and_its_unbonding_parts_in_one_sum() {
	let info = ProviderInfo {
		roles: Roles::only(Role::Worker).with(Role::Predictor),
		hardware: HardwareProfile { gflops: 207, memory_mib: 22_088, bandwidth_kib_s: 1_024 },
		ponw_key: [2; 33],
		peer_id: Vec::new().try_into().unwrap(),
		addresses: Vec::new().try_into().unwrap(),
	};
	let chunk = |amount| UnbondingChunk { amount, unlocks_at: 9 };
	let provider = ProviderView {
		info,
		status: ProviderStatus::Active,
		bonded: 10_000 * NEURO,
		unbonding: vec![chunk(1), chunk(2)],
		open_claims: 4,
		disputable_until: 321,
		reputation: 101,
		tier: Tier::C,
		locked_until: 1_200,
		suspended_until: 0,
		missed_audits: 0,
	};
	let bob = AccountId::new([2; 32]);
	let chain = Answers::default()
		.with(ProviderViewFunction::<Runtime>::new(ALICE), Some(provider))
		.with(ProviderViewFunction::<Runtime>::new(bob.clone()), None);
	let answer = chain.clone().call("neuroshard_provider", json!([ALICE_TEXT])).await.unwrap();
	let expected = json!({
		"roles": ["Worker", "Predictor"],
		"hardware": { "gflops": 207, "memory_mib": 22_088, "bandwidth_kib_s": 1_024 },
		"status": "Active",
		"bonded": "10000000000000000",
		"unbonding": "3",
		"openClaims": 4,
		"disputableUntil": 321,
		"reputation": 101,
		"tier": "C",
		"lockedUntil": 1_200,
		"suspendedUntil": 0
	});
	assert_eq!(answer, expected);
	assert_eq!(chain.call("neuroshard_provider", json!([bob])).await.unwrap(), Value::Null);
}

#[tokio::test]
async fn rewards_are_exact_beyond_what_a_json_number_holds() {
	let earnings = Earnings { claimed: u128::MAX, claimable: 9_007_199_254_740_993, current_era_estimate: 0 };
	let key = ProofKey { run: 0, round: 1, kind: ProofKind::Training };
	let pending = vec![(key, PendingProof { units: 5, final_at: None }); 2];
	let chain = Answers::default()
		.with(EarningsViewFunction::<Runtime>::new(ALICE), earnings)
		.with(PendingViewFunction::<Runtime>::new(ALICE), pending.try_into().unwrap());
	let answer = chain.call("neuroshard_pendingRewards", json!([ALICE_TEXT])).await.unwrap();
	let expected = json!({
		"claimed": "340282366920938463463374607431768211455",
		"claimable": "9007199254740993",
		"currentEraEstimate": "0",
		"pendingProofs": 2
	});
	assert_eq!(answer, expected);
}

#[tokio::test]
async fn a_wrong_parameter_is_refused_before_the_chain_is_asked() {
	let wrong = [
		("neuroshard_currentRound", json!([])),
		("neuroshard_currentRound", json!(["zero"])),
		("neuroshard_currentRound", json!([-1])),
		("neuroshard_provider", json!(["5C62Ck4UrFPiBtoCmeSrgF7x9yv9mn38446dhCpsi2mLHiFU"])),
		("neuroshard_pendingRewards", json!(["0x01"])),
	];
	for (method, parameters) in wrong {
		let (code, message) = Answers::default().call(method, parameters.clone()).await.unwrap_err();
		assert_eq!(code, INVALID_PARAMS_CODE, "{method} {parameters}: {message}");
	}
}

#[tokio::test]
async fn what_the_chain_cannot_answer_is_an_error_with_its_reason() {
	let silent = Answers::default().call("neuroshard_runs", json!([])).await.unwrap_err();
	assert_eq!(silent, (INTERNAL_ERROR_CODE, "the chain does not know".into()));
	// A number of runs, but none of them.
	let garbled = Answers::default().with_bytes(RunsViewFunction::<Runtime>::new(), vec![8]);
	let (code, message) = garbled.call("neuroshard_runs", json!([])).await.unwrap_err();
	assert!(code == INTERNAL_ERROR_CODE && message.contains("another format"), "{message}");
}
