//! A model that no limited worker's memory admits: three hold it together, and others audit it in files, beside one that has the memory.

use crate::{
	room::Load,
	scenario::{included, SOON},
};
use neuroshard_e2e::{kept_unless_passed, until, Limited, Size};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_fits_into_no_limited_workers_memory_is_trained_by_a_quorum_and_audited_in_files() {
	let _room = Load::Heavy.room().await;
	let mut folder = kept_unless_passed("limits").unwrap();
	let mut limited = Limited::start(folder.path(), Size::M14, 3, 1).await.unwrap();
	let [limit, in_files] = limited.limits;
	assert!(limited.alone().unwrap() > limit.max(in_files) && !limited.seated);
	a_limited_worker_does_not_train_alone(&mut limited).await;
	// The worker that holds all attests the checkpoint of the leader, whose quorum has computed half of the work.
	let record = limited.adopted(0).await.unwrap();
	assert_eq!(included(&record), [limited.whole(), limited.leader()].into());
	let attested: Vec<_> = record.attested.iter().map(|(_, root)| *root).collect();
	assert!(!attested.is_empty() && attested.iter().all(|root| *root == record.checkpoint), "{attested:?}");
	let [one, other] = limited.audited(0).await.unwrap();
	assert_eq!(one, other);
	let said: Vec<_> = limited.auditors().iter().map(|auditor| auditor.said().unwrap()).collect();
	assert!(said.iter().any(|said| said.contains("auditing in files") && said.contains(&limited.leader().to_string())), "{said:?}");
	let memory = limited.memory().unwrap();
	memory.iter().for_each(|memory| println!("{memory}"));
	// All but the one that holds all: three who audit, and three members.
	let held: Vec<_> = memory.iter().filter_map(|memory| memory.limit).collect();
	assert_eq!(held, [in_files, in_files, in_files, limit, limit, limit]);
	assert!(memory[3].limit.is_none() && memory[3].peak > limit.max(in_files), "{}", memory[3]);
	limited.training.stopped(&limited.network).await.unwrap();
	limited.network.stop().await;
	folder.disable_cleanup(false);
}

/// Whoever would hold all of the model in a limited memory is told what that takes.
async fn a_limited_worker_does_not_train_alone(limited: &mut Limited) {
	let barred = until("a limited worker to refuse the run", SOON, async || {
		limited.network.check()?;
		let status = limited.auditors().first().and_then(|worker| worker.status());
		Ok(status.and_then(|status| status.barred.first().cloned()))
	});
	let barred = barred.await.unwrap();
	assert!(barred.contains("MiB of memory are needed") && barred.contains("neuroshard-worker quorum"), "{barred}");
}
