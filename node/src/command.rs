//! Runs what the command line asks for.

use crate::{
	chain_spec,
	cli::{Cli, Subcommand},
	service,
};
use neuroshard_node::patches::listening::Listening;
use sc_cli::{RunCmd, SubstrateCli};
use sc_service::PartialComponents;

impl SubstrateCli for Cli {
	fn impl_name() -> String {
		"NeuroShard Node".into()
	}
	fn impl_version() -> String {
		env!("SUBSTRATE_CLI_IMPL_VERSION").into()
	}
	fn description() -> String {
		env!("CARGO_PKG_DESCRIPTION").into()
	}
	fn author() -> String {
		"NeuroShard developers".into()
	}
	fn support_url() -> String {
		"the issue tracker of the repository that you built this from".into()
	}
	fn copyright_start_year() -> i32 {
		2026
	}
	fn load_spec(&self, id: &str) -> Result<Box<dyn sc_service::ChainSpec>, String> {
		chain_spec::load(id)
	}
}

/// Parses the command line and runs the node or a tool until it ends.
pub fn run() -> sc_cli::Result<()> {
	let cli = Cli::from_args();
	match &cli.subcommand {
		None => {
			let runner = cli.create_runner(&cli.run).map_err(|error| with_remedy(error, &cli.run))?;
			let (run, cache) = (cli.run.clone(), cli.wasm_cache.clone());
			runner.run_node_until_exit(|config| async move {
				let listening = Listening::bind(&run, &config).map_err(|error| sc_cli::Error::Application(error.into()))?;
				service::start(config, cache, listening).map_err(|error| match error {
					// As it is, without the name of the layer.
					sc_service::Error::Application(error) => sc_cli::Error::Application(error),
					error => sc_cli::Error::Service(error),
				})
			})
		}
		Some(Subcommand::Key(command)) => command.run(&cli),
		Some(Subcommand::ExportChainSpec(command)) => {
			let spec = cli.load_spec(&command.chain)?;
			command.run(spec)
		}
		Some(Subcommand::CheckBlock(command)) => cli.create_runner(command)?.async_run(|config| {
			let PartialComponents { client, task_manager, import_queue, .. } = service::partial(&config, None)?;
			Ok((command.run(client, import_queue), task_manager))
		}),
		Some(Subcommand::ExportBlocks(command)) => cli.create_runner(command)?.async_run(|config| {
			let PartialComponents { client, task_manager, .. } = service::partial(&config, None)?;
			Ok((command.run(client, config.database), task_manager))
		}),
		Some(Subcommand::ExportState(command)) => cli.create_runner(command)?.async_run(|config| {
			let PartialComponents { client, task_manager, .. } = service::partial(&config, None)?;
			Ok((command.run(client, config.chain_spec), task_manager))
		}),
		Some(Subcommand::ImportBlocks(command)) => cli.create_runner(command)?.async_run(|config| {
			let PartialComponents { client, task_manager, import_queue, .. } = service::partial(&config, None)?;
			Ok((command.run(client, import_queue), task_manager))
		}),
		Some(Subcommand::PurgeChain(command)) => cli.create_runner(command)?.sync_run(|config| command.run(config.database)),
		Some(Subcommand::Revert(command)) => cli.create_runner(command)?.async_run(|config| {
			let PartialComponents { client, task_manager, backend, .. } = service::partial(&config, None)?;
			let revert = Box::new(|client: std::sync::Arc<service::Client>, backend, blocks| {
				sc_consensus_babe::revert(client.clone(), backend, blocks)?;
				sc_consensus_grandpa::revert(client, blocks)?;
				Ok(())
			});
			Ok((command.run(client, backend, Some(revert)), task_manager))
		}),
	}
}

/// Names the command that makes a missing network key. The SDK's own words leave binary and folder to the reader.
fn with_remedy(error: sc_cli::Error, run: &RunCmd) -> sc_cli::Error {
	let sc_cli::Error::NetworkKeyNotFound(path) = error else { return error };
	let place = match (&run.network_params.node_key_params.node_key_file, &run.shared_params.base_path) {
		(Some(file), _) => format!("--file {}", file.display()),
		(None, Some(folder)) => format!("--base-path {}", folder.display()),
		(None, None) => "--default-base-path".into(),
	};
	let chain = run.shared_params.chain.as_ref().map(|chain| format!(" --chain {chain}")).unwrap_or_default();
	let message = format!(
		"a validator keeps one network key, so that others find it again, and {} does not exist. Make it once: \
		 neuroshard-node key generate-node-key {place}{chain}\nA chain on this machine only needs none: neuroshard-node --dev",
		path.display()
	);
	sc_cli::Error::Application(message.into())
}
