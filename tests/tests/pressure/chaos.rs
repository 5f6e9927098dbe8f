//! The script that has a network suffer; a network that does takes too long for a test.

use neuroshard_e2e::told_by;
use std::path::Path;

#[tokio::test]
async fn the_script_tells_every_option_without_building_anything() {
	let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/chaos.sh");
	let (told, known) = told_by(&script, Path::new(env!("CARGO_BIN_EXE_neuroshard-chaos"))).await.unwrap();
	assert_eq!(told, known);
	assert!(told.contains("kills"), "{told:?}");
}
