//! Workers on the CPU and on a device in one run: they come to the same bits, and who flips one on the device is caught by those on the CPU.

use crate::room::Load;
use crate::trial;
use neuroshard_e2e::{kept_unless_passed, Cheat, Layout, Prepared, Preset, Text, Trial};
use std::fs;

/// The first device that speaks OpenCL; `scripts/setup.sh --tests` installs one that is slow.
const DEVICE: &str = "opencl:0";
const CHEATS: [(Cheat, u32); 1] = [(Cheat::BitFlip, 1)];
const INNER_STEPS: u32 = 12;
/// Workers on the device: an honest one, and the cheater.
const ON_DEVICE: [usize; 2] = [1, 3];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_on_the_cpu_and_on_a_device_agree_on_every_bit_and_who_flips_one_on_the_device_is_caught() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("devices").unwrap();
	let layout = Layout::create(folder.path().join("prepared"), None, 1).unwrap();
	let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, Trial::participants(&CHEATS)).await.unwrap();
	let prepared = prepared.with_inner_steps(INNER_STEPS);
	let mut trial = Trial::of_run_on(folder.path(), prepared, &CHEATS, Some(DEVICE)).await.unwrap();
	trial::check(&trial, &CHEATS);
	for number in 0..trial.network.workers.len() {
		let log = fs::read_to_string(folder.path().join(format!("network/logs/worker-{number}.log"))).unwrap();
		assert_eq!(log.contains("it computes the bits of the CPU"), ON_DEVICE.contains(&number), "worker {number}");
		assert!(!log.contains("The CPU computes from now on"), "worker {number}");
	}
	trial.network.stop().await;
	folder.disable_cleanup(false);
}
