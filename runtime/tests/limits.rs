//! What a block has room for when ordinary extrinsics have filled all that they may take of it.

use codec::{Decode, Encode};
use frame_support::{
	assert_ok,
	dispatch::{DispatchClass, DispatchInfo, GetDispatchInfo},
};
use frame_system::{Call as SystemCall, CheckWeight};
use neuroshard_graph::{
	game::{Contents, Entry, Move, MAX_LIST},
	witness::MAX_WITNESS,
};
use neuroshard_runtime::{
	configs::{RuntimeBlockLength, RuntimeBlockWeights},
	Runtime, RuntimeCall, RuntimeGenesisConfig, System, TxExtension,
};
use neuroshard_types::{
	audit::Report,
	dataset::{ChunkOpening, CHUNK_BYTES, MAX_PROOF_HASHES},
	dispute::{ClaimId, ClaimKind},
	AccountId, H256,
};
use sp_runtime::{
	traits::TransactionExtension,
	transaction_validity::{InvalidTransaction, TransactionValidityError},
	BuildStorage,
};

/// Bytes of an extrinsic beside its call, at most: length, version, address, signature, and what the extensions say.
const BESIDE_CALL: usize = 4 + 1 + 33 + 66 + 64;
/// Hashes of a proof in a list of [`MAX_LIST`].
const PROOF: usize = MAX_LIST.ilog2() as usize;
const SOMEBODY: AccountId = AccountId::new([7; 32]);

/// A block in which ordinary extrinsics have taken all that they may, of bytes and of time.
fn in_a_full_block(test: impl FnOnce()) {
	let storage = RuntimeGenesisConfig::default().build_storage().expect("a genesis");
	sp_io::TestExternalities::new(storage).execute_with(|| {
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

/// Whether there is room for this call, signed.
fn admit(call: &RuntimeCall) -> Result<(), TransactionValidityError> {
	let mut info = call.get_dispatch_info();
	info.extension_weight = extension().weight(call);
	let bytes = call.encoded_size() + BESIDE_CALL;
	let (_, length) = CheckWeight::<Runtime>::do_validate(&info, bytes)?;
	CheckWeight::<Runtime>::do_prepare(&info, bytes, length)
}

/// What is signed beside a call, all zeros: immortal, the first nonce, no tip, no hash of metadata.
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
		Move::Step { index: 1, before: Some(entry()), after: entry() },
		Move::Piece { piece: 1, before: Some(entry()), after: Some(entry()), witness: vec![7; MAX_WITNESS] },
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
		assert_eq!(admit(&remark), Err(InvalidTransaction::ExhaustsResources.into()));
		let opening = ChunkOpening {
			data: vec![7; CHUNK_BYTES as usize].try_into().expect("a chunk"),
			in_shard: vec![H256([7; 32]); MAX_PROOF_HASHES as usize].try_into().expect("a proof"),
			in_dataset: vec![H256([7; 32]); MAX_PROOF_HASHES as usize].try_into().expect("a proof"),
		};
		assert_ok!(admit(&pallet_neuro_dataset::Call::answer_challenge { id: 1, challenger: SOMEBODY, opening }.into()));
		assert_ok!(admit(&pallet_neuro_disputes::Call::seal_audit { run: 1, round: 1, sealed: H256([7; 32]) }.into()));
		let report = Report::Sample(H256([7; 32]));
		assert_ok!(admit(&pallet_neuro_disputes::Call::report_audit { run: 1, round: 1, salt: [7; 32], report }.into()));
	});
}
