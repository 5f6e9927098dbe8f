//! Tests of what a block has room for when ordinary extrinsics have filled all that they may take of it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod acts;

use crate::common::provider;
use codec::{Compact, Decode, Encode};
use frame_support::{
	assert_ok,
	dispatch::{DispatchClass, DispatchInfo, GetDispatchInfo, PostDispatchInfo},
	weights::Weight,
};
use frame_system::{Call as SystemCall, CheckWeight};
use neuroshard_graph::{
	answer::MAX_TEXT,
	game::{Contents, Entry, Move, MAX_LIST},
	witness::{MAX_CHOICE, MAX_WITNESS},
};
use neuroshard_runtime::{
	configs::{RuntimeBlockLength, RuntimeBlockWeights},
	BalancesConfig, ByClass, Runtime, RuntimeCall, RuntimeGenesisConfig, RuntimeOrigin, System, TxExtension, NEURO,
};
use neuroshard_types::{
	answer_audit::{Text, MAX_PROVEN},
	audit::Report,
	dataset::{ChunkOpening, CHUNK_BYTES, MAX_PROOF_HASHES},
	dispute::{ClaimId, ClaimKind},
	inference::{Class, Ending, Receipt, Sampling, Tokens},
	AccountId, Balance, F32, H256,
};
use pallet_neuro_disputes::MovesAlone;
use sp_runtime::{
	traits::{DispatchTransaction, TransactionExtension},
	transaction_validity::{
		InvalidTransaction, TransactionPriority, TransactionSource::External, TransactionValidityError, ValidTransaction,
	},
	BuildStorage,
};

/// Bytes of an extrinsic beside its call, at most: length, version, address, signature, and what the extensions say.
const BESIDE_CALL: usize = 4 + 1 + 33 + 66 + 64;
/// Hashes of a proof in a list of [`MAX_LIST`].
const PROOF: usize = MAX_LIST.ilog2() as usize;
const SOMEBODY: AccountId = AccountId::new([7; 32]);

/// A block without extrinsics, of a chain where [`SOMEBODY`] has money.
fn in_an_empty_block(test: impl FnOnce()) {
	let balances = BalancesConfig { balances: vec![(SOMEBODY, 1_000 * NEURO)], ..Default::default() };
	let storage = RuntimeGenesisConfig { balances, ..Default::default() }.build_storage().expect("a genesis");
	sp_io::TestExternalities::new(storage).execute_with(test);
}

/// A block in which ordinary extrinsics have taken all that they may, of bytes and of time.
fn in_a_full_block(test: impl FnOnce()) {
	in_an_empty_block(|| {
		let limit = RuntimeBlockWeights::get().get(DispatchClass::Normal).max_total.expect("a limit");
		let left = limit.saturating_sub(*System::block_weight().get(DispatchClass::Normal));
		System::register_extra_weight_unchecked(left, DispatchClass::Normal);
		let bytes = *RuntimeBlockLength::get().max.get(DispatchClass::Normal);
		// An inherent that takes no time and all these bytes.
		let info = DispatchInfo { class: DispatchClass::Mandatory, ..Default::default() };
		assert_ok!(CheckWeight::<Runtime>::do_prepare(&info, 0, bytes));
		test();
	});
}

/// Returns the dispatch information of this call, and the length of its bytes, signed.
fn known_of(call: &RuntimeCall) -> (DispatchInfo, usize) {
	let extension_weight = extension().weight(call);
	(DispatchInfo { extension_weight, ..call.get_dispatch_info() }, call.encoded_size() + BESIDE_CALL)
}

/// Checks that there is room for this call, signed by [`SOMEBODY`], and returns what is to be done when it has been dispatched.
fn admit(call: &RuntimeCall) -> Result<<MovesAlone<Runtime, ByClass> as TransactionExtension<RuntimeCall>>::Pre, TransactionValidityError> {
	admit_of(&SOMEBODY, call)
}

/// The same, signed by `who`.
fn admit_of(
	who: &AccountId,
	call: &RuntimeCall,
) -> Result<<MovesAlone<Runtime, ByClass> as TransactionExtension<RuntimeCall>>::Pre, TransactionValidityError> {
	let (info, bytes) = known_of(call);
	Ok(by_class().validate_and_prepare(RuntimeOrigin::signed(who.clone()), call, &info, bytes, 0)?.0)
}

/// Returns the part of the extensions that looks at the class of a call.
fn by_class() -> MovesAlone<Runtime, ByClass> {
	extension().8
}

/// Returns the extension that is signed beside a call, all zeros: immortal, the first nonce, no tip, no hash of metadata.
fn extension() -> TxExtension {
	TxExtension::decode(&mut [0; 16].as_slice()).expect("an extension")
}

fn longest_moves() -> Vec<Move> {
	let list = || vec![[7; 32]; MAX_LIST as usize];
	let entry = || Entry { hash: [7; 32], proof: vec![[7; 32]; PROOF] };
	vec![
		Move::Steps(list()),
		Move::Checkpoints(list()),
		Move::Hashes(list()),
		Move::States(list()),
		Move::Nodes { before: Contents::Checkpoint([[7; 32]; 2]), after: [[7; 32]; 3], nodes: list() },
		Move::Outer { before: [[7; 32]; 2], after: [[7; 32]; 2], gradient: [7; 32] },
		Move::Aggregate { before: [[7; 32]; 2], after: [[7; 32]; 2], gradient: [7; 32], nodes: list() },
		Move::Step { index: 1, before: Some(entry()), after: entry() },
		Move::Piece { piece: 1, before: Some(entry()), after: Some(entry()), witness: vec![7; MAX_WITNESS] },
		Move::Choice { index: 1, witness: vec![7; MAX_CHOICE] },
	]
}

#[test]
fn the_longest_moves_of_disputes_find_room_beside_all_that_ordinary_extrinsics_may_take() {
	for kind in [ClaimKind::Work, ClaimKind::Attestation, ClaimKind::Audit] {
		for action in longest_moves() {
			in_a_full_block(|| {
				let claim = ClaimId { run: 1, round: 1, kind, who: SOMEBODY };
				let call = pallet_neuro_disputes::Call::play { claim, challenger: SOMEBODY, position: H256([7; 32]), action };
				assert_ok!(admit(&call.into()));
			});
		}
	}
}

#[test]
fn reports_of_auditors_and_answers_of_attesters_find_room_as_well_and_ordinary_extrinsics_none() {
	in_a_full_block(|| {
		let remark = RuntimeCall::System(SystemCall::remark { remark: Vec::new() });
		assert_eq!(admit(&remark).err(), Some(InvalidTransaction::ExhaustsResources.into()));
		let opening = ChunkOpening {
			data: vec![7; CHUNK_BYTES as usize].try_into().expect("a chunk"),
			in_shard: vec![H256([7; 32]); MAX_PROOF_HASHES as usize].try_into().expect("a proof"),
			in_dataset: vec![H256([7; 32]); MAX_PROOF_HASHES as usize].try_into().expect("a proof"),
		};
		assert_ok!(admit(&pallet_neuro_dataset::Call::answer_challenge { id: 1, challenger: SOMEBODY, opening }.into()));
		assert_ok!(admit(&pallet_neuro_disputes::Call::seal_audit { run: 1, round: 1, sealed: H256([7; 32]) }.into()));
		let report = Report::Sample(H256([7; 32]));
		assert_ok!(admit(&pallet_neuro_disputes::Call::report_audit { run: 1, round: 1, salt: [7; 32], report }.into()));
		assert_ok!(admit(&longest_delivery()));
	});
}

/// A delivery of as many tokens and later receipts as there can be.
fn longest_delivery() -> RuntimeCall {
	let [temperature, top_p, min_p, repetition, presence, frequency] = [0.0; 6].map(F32::new);
	let tokens = Tokens { count: MAX_TEXT / 2, root: H256([7; 32]) };
	let receipt = Receipt {
		provider: Some(SOMEBODY),
		paid: Some((1, 1)),
		parameters: H256([7; 32]),
		checkpoint: Some((1, 1)),
		class: Class::ExactF32,
		usable: 257,
		prompt: tokens,
		answer: tokens,
		ending: Ending::End,
		sampling: Sampling { temperature, top_k: 1, top_p, min_p, repetition, presence, frequency, seed: 1 },
		price: 1,
	};
	let text: Text = vec![u32::MAX; MAX_TEXT as usize / 2].try_into().expect("a text");
	let later = vec![H256([7; 32]); MAX_PROVEN as usize].try_into().expect("hashes");
	let (signature, before) = ([7; 65], H256([7; 32]));
	let answer = text.clone();
	pallet_neuro_disputes::Call::deliver_answer { session: 1, place: 1, receipt, signature, before, later, prompt: text, answer }.into()
}

/// Operational calls that everybody may sign, if only to see them fail.
fn operational_calls() -> Vec<RuntimeCall> {
	let kill = || RuntimeCall::from(SystemCall::kill_prefix { prefix: vec![1], subkeys: 1_000 });
	let boxed = || Box::new(kill());
	vec![
		kill(),
		SystemCall::set_heap_pages { pages: 1 }.into(),
		SystemCall::apply_authorized_upgrade { code: vec![7; 1_000] }.into(),
		pallet_sudo::Call::sudo { call: boxed() }.into(),
		pallet_utility::Call::batch { calls: vec![kill(), kill()] }.into(),
		pallet_utility::Call::dispatch_as { as_origin: Box::new(frame_system::RawOrigin::Root.into()), call: boxed() }.into(),
		pallet_proxy::Call::proxy { real: SOMEBODY.into(), force_proxy_type: None, call: boxed() }.into(),
		RuntimeCall::Council(pallet_collective::Call::execute { proposal: boxed(), length_bound: 9 }),
	]
}

#[test]
fn operational_calls_of_other_pallets_take_nothing_of_what_is_kept_for_moves() {
	for call in operational_calls() {
		let (info, bytes) = known_of(&call);
		assert_eq!(info.class, DispatchClass::Operational, "{call:?}");
		in_a_full_block(|| assert_eq!(admit(&call).err(), Some(InvalidTransaction::ExhaustsResources.into()), "{call:?}"));
		in_an_empty_block(|| {
			let of = |class| *System::block_weight().get(class);
			let before = [DispatchClass::Normal, DispatchClass::Operational].map(of);
			let base = RuntimeBlockWeights::get().get(DispatchClass::Normal).base_extrinsic;
			let pre = admit(&call).expect("room");
			let taken = before[0] + base + info.total_weight().saturating_add_proof_size(bytes as u64);
			assert_eq!([DispatchClass::Normal, DispatchClass::Operational].map(of), [taken, before[1]], "{call:?}");

			// Only the extensions have cost something.
			let mut post = PostDispatchInfo { actual_weight: Some(info.extension_weight), ..Default::default() };
			assert_ok!(MovesAlone::<Runtime, ByClass>::post_dispatch(pre, &info, &mut post, bytes, &Ok(())));
			let kept = before[0] + base + post.actual_weight.expect("a weight") + Weight::from_parts(0, bytes as u64);
			assert_eq!([DispatchClass::Normal, DispatchClass::Operational].map(of), [kept, before[1]], "{call:?}");
		});
	}
}

/// The place that a pool gives this call, signed by [`SOMEBODY`] with a tip in planck.
fn priority(call: &RuntimeCall, tip: Balance) -> TransactionPriority {
	let mut priority = 0;
	in_an_empty_block(|| priority = valid(call, tip).priority);
	priority
}

/// Returns the validity of this call for a pool in the present block, signed by [`SOMEBODY`] with a tip in planck.
fn valid(call: &RuntimeCall, tip: Balance) -> ValidTransaction {
	let (info, bytes) = known_of(call);
	// What follows the tip: no hash of metadata.
	let by_class = MovesAlone::<Runtime, ByClass>::decode(&mut (Compact(tip), 0u8).encode().as_slice()).expect("an extension");
	by_class.validate_only(RuntimeOrigin::signed(SOMEBODY), call, &info, bytes, External, 0).expect("valid").0
}

#[test]
fn a_pool_puts_moves_before_all_else_whatever_that_pays() {
	let claim = ClaimId { run: 1, round: 1, kind: ClaimKind::Work, who: SOMEBODY };
	let moves = longest_moves().into_iter().map(|action| {
		let (claim, position) = (claim.clone(), H256([7; 32]));
		RuntimeCall::from(pallet_neuro_disputes::Call::play { claim, challenger: SOMEBODY, position, action })
	});
	let seal = pallet_neuro_disputes::Call::seal_audit { run: 1, round: 1, sealed: H256([7; 32]) };
	let moves: Vec<_> = moves.chain([seal.into()]).collect();
	let remark = || RuntimeCall::from(SystemCall::remark { remark: Vec::new() });
	let others: Vec<_> = operational_calls().into_iter().chain([remark()]).collect();

	let last = moves.iter().map(|call| priority(call, 0)).min().expect("moves");
	for call in &others {
		assert!(priority(call, 0) < priority(call, NEURO), "what pays more comes first: {call:?}");
		assert!(priority(call, 900 * NEURO) < last, "{call:?}");
	}
	assert!(moves.iter().all(|call| priority(call, 0) < priority(call, NEURO)));
}

#[test]
fn a_move_after_a_refused_one_has_the_room_and_the_place_of_ordinary_extrinsics() {
	let claim = || ClaimId { run: 1, round: 1, kind: ClaimKind::Work, who: SOMEBODY };
	let play = |action| {
		RuntimeCall::from(pallet_neuro_disputes::Call::play { claim: claim(), challenger: SOMEBODY, position: H256([7; 32]), action })
	};
	for action in longest_moves() {
		let call = play(action);
		in_a_full_block(|| {
			assert_ok!(admit(&call).map(drop));
			pallet_neuro_disputes::Missed::<Runtime>::insert(claim(), SOMEBODY, ());
			assert_eq!(admit(&call).err(), Some(InvalidTransaction::ExhaustsResources.into()));
		});
		in_an_empty_block(|| {
			pallet_neuro_disputes::Missed::<Runtime>::insert(claim(), SOMEBODY, ());
			let (info, bytes) = known_of(&call);
			let valid = by_class().validate_only(RuntimeOrigin::signed(SOMEBODY), &call, &info, bytes, External, 0);
			assert!(valid.expect("valid").0.priority < pallet_neuro_disputes::FIRST);
			assert_ok!(admit(&call).map(drop));
		});
	}
}

#[test]
fn moves_leave_half_of_a_block_to_what_they_come_before() {
	in_an_empty_block(|| {
		let seal = RuntimeCall::from(pallet_neuro_disputes::Call::seal_audit { run: 1, round: 1, sealed: H256([7; 32]) });
		assert_eq!(RuntimeBlockWeights::get().max_block.ref_time(), 2_000_000_000_000);
		let (all, of_moves) = (RuntimeBlockWeights::get().max_block, || *System::block_weight().get(DispatchClass::Operational));
		while admit(&seal).is_ok() {
			assert!(of_moves().all_lte(all / 2));
		}
		assert!(of_moves().ref_time() > all.ref_time() / 2 - known_of(&seal).0.total_weight().ref_time() * 2, "they may take the half");
		let remark = RuntimeCall::System(SystemCall::remark { remark: Vec::new() });
		assert_ok!(admit(&remark));
	});
	// All extrinsics before an ordinary one count towards what it may fill: three quarters of the bytes. Acts have a sixteenth of all.
	let moves = <Runtime as pallet_neuro_disputes::Config>::MovesShare::get();
	let acts = <Runtime as pallet_neuro_disputes::Config>::ActsShare::get();
	assert_eq!([moves.bytes, acts.bytes, *RuntimeBlockLength::get().max.get(DispatchClass::Normal)], [15 << 17, 5 << 16, 15 << 18]);
	// Together half of the 2 s: neither takes what is the other's.
	assert_eq!([moves.time, acts.time], [750_000_000_000, 250_000_000_000]);
}

#[test]
fn an_inherent_that_a_signed_call_carries_has_the_room_of_ordinary_extrinsics() {
	let set = Box::new(pallet_timestamp::Call::set { now: 1 }.into());
	let call = RuntimeCall::from(pallet_proxy::Call::proxy { real: SOMEBODY.into(), force_proxy_type: None, call: set });
	assert_eq!(call.get_dispatch_info().class, DispatchClass::Mandatory);
	in_a_full_block(|| assert_eq!(admit(&call).err(), Some(InvalidTransaction::ExhaustsResources.into())));
	in_an_empty_block(|| {
		let before = *System::block_weight().get(DispatchClass::Mandatory);
		assert_ok!(admit(&call).map(drop));
		assert_eq!(*System::block_weight().get(DispatchClass::Mandatory), before);
	});
}
