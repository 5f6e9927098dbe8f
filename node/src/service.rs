//! The node's services: client, pool, BABE, GRANDPA, network, RPC.

use crate::{offences::LocalChain, rpc};
use futures::FutureExt;
use neuroshard_node::{
	patches::{
		equivocation::{Announcements, Equivocations, Watch},
		exporter,
		genesis::Genesis,
		gossip::Gossip,
		last_peer::LastPeer,
		listening::Listening,
		reports::Reports,
	},
	server, wasm_cache,
};
use neuroshard_runtime::{configs::MAX_BLOCK_LENGTH, opaque::Block, RuntimeApi};
use sc_client_api::{Backend as _, BlockBackend};
use sc_consensus::{BoxBlockImport, ImportQueue, LongestChain};
use sc_consensus_babe::{BabeLink, BabeWorkerHandle, SlotProportion};
use sc_consensus_grandpa::{FinalityProofProvider, LinkHalf, SharedVoterState};
use sc_executor::{HeapAllocStrategy, DEFAULT_HEAP_ALLOC_STRATEGY};
use sc_network::{NetworkBackend, Roles};
use sc_network_sync::{engine::SyncingEngine, service::network::NetworkServiceProvider};
use sc_service::{Configuration, Error, MetricsService, PartialComponents, TaskManager, WarpSyncConfig};
use sc_telemetry::{Telemetry, TelemetryWorker};
use sc_transaction_pool::TransactionPoolHandle;
use sc_transaction_pool_api::OffchainTransactionPoolFactory;
use sp_runtime::traits::Block as BlockT;
use std::{
	path::PathBuf,
	sync::Arc,
	time::{Duration, Instant},
};

type Executor = sc_executor::WasmExecutor<sp_io::SubstrateHostFunctions>;
/// Full client.
pub type Client = sc_service::TFullClient<Block, RuntimeApi, Executor>;
/// Database backend.
pub type Backend = sc_service::TFullBackend<Block>;
/// Fork choice.
pub type SelectChain = LongestChain<Backend, Block>;
/// Transaction pool.
pub type Pool = TransactionPoolHandle<Block, Client>;

/// Blocks between two stored GRANDPA justifications, beside those that change the authority set.
const JUSTIFICATION_PERIOD: u32 = 512;

/// Parts that [`partial`] makes beyond the SDK's own components.
pub struct Consensus {
	block_import: BoxBlockImport<Block>,
	grandpa_link: LinkHalf<Block, Client, SelectChain>,
	babe_link: BabeLink<Block>,
	babe_worker: BabeWorkerHandle<Block>,
	telemetry: Option<Telemetry>,
	watch: Watch<Client, LocalChain>,
	reports: Arc<Reports<Client, Arc<Pool>>>,
}

type Partial = PartialComponents<Client, Backend, SelectChain, sc_consensus::DefaultImportQueue<Block>, Pool, Consensus>;

/// As [`sc_service::new_wasm_executor`], with a folder for compiled code: compiling the runtime takes most of the time until a node answers.
fn executor(config: &Configuration, cache: PathBuf) -> Executor {
	let sc_service::config::ExecutorConfiguration { wasm_method, max_runtime_instances, default_heap_pages, runtime_cache_size } =
		config.executor;
	let heap = default_heap_pages.and_then(|pages| u32::try_from(pages).ok());
	let heap = heap.map_or(DEFAULT_HEAP_ALLOC_STRATEGY, |extra_pages| HeapAllocStrategy::Static { extra_pages });
	Executor::builder()
		.with_execution_method(wasm_method)
		.with_onchain_heap_alloc_strategy(heap)
		.with_offchain_heap_alloc_strategy(heap)
		.with_max_runtime_instances(max_runtime_instances)
		.with_runtime_cache_size(runtime_cache_size)
		.with_cache_path(cache)
		.build()
}

/// Client, pool and import queue: what the tools need, and what [`start`] builds on.
pub fn partial(config: &Configuration, wasm_cache: Option<PathBuf>) -> Result<Partial, Error> {
	let telemetry = config
		.telemetry_endpoints
		.clone()
		.filter(|endpoints| !endpoints.is_empty())
		.map(|endpoints| -> Result<_, sc_telemetry::Error> {
			let worker = TelemetryWorker::new(16)?;
			let telemetry = worker.handle().new_telemetry(endpoints);
			Ok((worker, telemetry))
		})
		.transpose()?;
	let cache = wasm_cache.unwrap_or_else(|| config.base_path.path().join("wasm-cache"));
	// The executor refuses a relative path, and would compile the runtime at every start.
	let cache = std::path::absolute(cache)?;
	wasm_cache::prepare(&cache).map_err(|error| Error::Application(error.into()))?;
	tracing::info!(
		"Preparing the runtime. Where it has to be compiled, this takes seconds to some minutes, by the machine. Compiled code is kept in {}",
		cache.display()
	);
	let started = Instant::now();
	let executor = executor(config, cache);
	let backend = sc_service::new_db_backend(config.db_config())?;
	let genesis = Genesis { spec: &*config.chain_spec, commit: !config.no_genesis(), backend: backend.clone(), executor: executor.clone() };
	let (client, backend, keystore_container, task_manager) = sc_service::new_full_parts_with_genesis_builder::<Block, RuntimeApi, _, _>(
		config,
		telemetry.as_ref().map(|(_, telemetry)| telemetry.handle()),
		executor,
		backend,
		genesis,
		false,
	)?;
	let client = Arc::new(client);
	// Asked of the runtime, which is compiled for that at the latest.
	let babe_config = sc_consensus_babe::configuration(&*client)?;
	tracing::info!("The runtime is ready after {:.1} s", started.elapsed().as_secs_f64());
	let telemetry = telemetry.map(|(worker, telemetry)| {
		task_manager.spawn_handle().spawn("telemetry", None, worker.run());
		telemetry
	});
	let select_chain = LongestChain::new(backend.clone());
	let transaction_pool = Arc::from(
		sc_transaction_pool::Builder::new(task_manager.spawn_essential_handle(), client.clone(), config.role.is_authority().into())
			.with_options(config.transaction_pool.clone())
			.with_prometheus(config.prometheus_registry())
			.build(),
	);
	let (grandpa_import, grandpa_link) = sc_consensus_grandpa::block_import(
		client.clone(),
		JUSTIFICATION_PERIOD,
		&(client.clone() as Arc<_>),
		select_chain.clone(),
		telemetry.as_ref().map(Telemetry::handle),
	)?;
	let justification_import = Box::new(grandpa_import.clone());
	let slot_duration = babe_config.slot_duration();
	let (block_import, babe_link) = sc_consensus_babe::block_import(
		babe_config,
		grandpa_import,
		client.clone(),
		move |_, ()| async move {
			let timestamp = sp_timestamp::InherentDataProvider::from_system_time();
			let slot = sp_consensus_babe::inherents::InherentDataProvider::from_timestamp_and_slot_duration(*timestamp, slot_duration);
			Ok((slot, timestamp))
		},
		select_chain.clone(),
		OffchainTransactionPoolFactory::new(Arc::clone(&transaction_pool)),
	)?;
	let reports = Arc::new(Reports::new(client.clone(), Arc::clone(&transaction_pool)));
	let watch = Watch::new(client.clone(), LocalChain::new(client.clone(), reports.clone(), slot_duration));
	let block_import = Equivocations::new(block_import, watch.clone());
	let (import_queue, babe_worker) = sc_consensus_babe::import_queue(sc_consensus_babe::ImportQueueParams {
		link: babe_link.clone(),
		block_import: block_import.clone(),
		justification_import: Some(justification_import),
		client: client.clone(),
		slot_duration,
		spawner: &task_manager.spawn_essential_handle(),
		registry: config.prometheus_registry(),
		telemetry: telemetry.as_ref().map(Telemetry::handle),
	})?;
	let other = Consensus { block_import: Box::new(block_import), grandpa_link, babe_link, babe_worker, telemetry, watch, reports };
	Ok(PartialComponents { client, backend, task_manager, import_queue, keystore_container, select_chain, transaction_pool, other })
}

/// Starts the node on the network backend that the configuration names.
pub fn start(config: Configuration, wasm_cache: Option<PathBuf>, listening: Listening) -> Result<TaskManager, Error> {
	match config.network.network_backend {
		sc_network::config::NetworkBackendType::Libp2p => start_with::<sc_network::NetworkWorker<_, _>>(config, wasm_cache, listening),
		sc_network::config::NetworkBackendType::Litep2p => start_with::<sc_network::Litep2pNetworkBackend>(config, wasm_cache, listening),
	}
}

fn start_with<N: NetworkBackend<Block, <Block as BlockT>::Hash>>(
	mut config: Configuration,
	wasm_cache: Option<PathBuf>,
	listening: Listening,
) -> Result<TaskManager, Error> {
	let PartialComponents {
		client,
		backend,
		mut task_manager,
		import_queue,
		keystore_container,
		select_chain,
		transaction_pool,
		other: Consensus { block_import, grandpa_link, babe_link, babe_worker, mut telemetry, watch, reports },
	} = partial(&config, wasm_cache)?;

	let mut net_config = sc_network::config::FullNetworkConfiguration::<_, _, N>::new(
		&config.network,
		config.prometheus_config.as_ref().map(|prometheus| prometheus.registry.clone()),
	);
	let metrics = N::register_notification_metrics(config.prometheus_registry());
	let genesis_hash = client.block_hash(0)?.ok_or_else(|| Error::Other("the database has no genesis block".into()))?;
	let grandpa_protocol = sc_consensus_grandpa::protocol_standard_name(&genesis_hash, &config.chain_spec);
	let (grandpa_protocol_config, grandpa_notifications) =
		sc_consensus_grandpa::grandpa_peers_set_config::<_, N>(grandpa_protocol.clone(), metrics.clone(), net_config.peer_store_handle());
	net_config.add_notification_protocol(grandpa_protocol_config);
	let authority_set = grandpa_link.shared_authority_set().clone();
	let warp_sync = Arc::new(sc_consensus_grandpa::warp_proof::NetworkProvider::new(backend.clone(), authority_set.clone(), Vec::new()));

	let network_service = NetworkServiceProvider::new();
	let protocol_id = config.protocol_id();
	let fork_id = config.chain_spec.fork_id();
	let peers = &config.network.default_peers_set;
	let downloader = sc_service::build_default_block_downloader(
		&protocol_id,
		fork_id,
		&mut net_config,
		network_service.handle(),
		client.clone(),
		peers.in_peers.saturating_add(peers.out_peers).try_into().unwrap_or(usize::MAX),
		&task_manager.spawn_handle(),
	);
	let strategy = sc_service::build_polkadot_syncing_strategy(
		protocol_id.clone(),
		fork_id,
		&mut net_config,
		Some(WarpSyncConfig::WithProvider(warp_sync)),
		downloader,
		client.clone(),
		&task_manager.spawn_handle(),
		config.prometheus_registry(),
		sc_service::default_gap_sync_body_policy(config.blocks_pruning),
	)?;
	let (syncing, sync_service, block_announce_config) = SyncingEngine::new(
		Roles::from(&config.role),
		client.clone(),
		config.prometheus_registry(),
		metrics.clone(),
		&net_config,
		protocol_id.clone(),
		fork_id,
		Box::new(Announcements::new(watch, tokio::time::sleep)),
		Box::new(LastPeer::new(strategy, client.clone())),
		network_service.handle(),
		import_queue.service(),
		net_config.peer_store_handle(),
	)?;
	task_manager.spawn_essential_handle().spawn_blocking("syncing", None, syncing.run());
	// Another node may have begun to listen there meanwhile.
	listening.peers.check().map_err(|error| Error::Application(error.into()))?;
	let (network, system_rpc_tx, tx_handler_controller, sync_service, _bitswap) =
		sc_service::build_network_advanced(sc_service::BuildNetworkAdvancedParams {
			role: config.role,
			protocol_id,
			fork_id,
			announce_block: config.announce_block,
			net_config,
			client: client.clone(),
			transaction_pool: Arc::new(Gossip::new(transaction_pool.clone())),
			spawn_handle: task_manager.spawn_handle(),
			spawn_essential_handle: task_manager.spawn_essential_handle(),
			import_queue,
			sync_service,
			block_announce_config,
			network_service_provider: network_service,
			metrics_registry: config.prometheus_registry(),
			metrics,
			blocks_pruning: config.blocks_pruning,
		})?;

	let again = crate::offences::report_again(client.clone(), reports.clone());
	task_manager.spawn_handle().spawn_blocking("equivocation-reports", None, again);

	if config.offchain_worker.enabled {
		let offchain_workers = sc_offchain::OffchainWorkers::new(sc_offchain::OffchainWorkerOptions {
			runtime_api_provider: client.clone(),
			is_validator: config.role.is_authority(),
			keystore: Some(keystore_container.keystore()),
			offchain_db: backend.offchain_storage(),
			transaction_pool: Some(OffchainTransactionPoolFactory::new(transaction_pool.clone())),
			network_provider: Arc::new(network.clone()),
			enable_http_requests: false,
			custom_extensions: |_| Vec::new(),
		})?;
		task_manager.spawn_handle().spawn(
			"offchain-workers",
			"offchain-worker",
			offchain_workers.run(client.clone(), task_manager.spawn_handle()).boxed(),
		);
	}

	let role = config.role;
	let force_authoring = config.force_authoring;
	let enable_grandpa = !config.disable_grandpa;
	let name = config.network.node_name.clone();
	let prometheus_registry = config.prometheus_registry().cloned();
	let voter_state = SharedVoterState::empty();

	let rpc_builder = {
		let dependencies = rpc::Dependencies {
			client: client.clone(),
			pool: transaction_pool.clone(),
			select_chain: select_chain.clone(),
			chain_spec: config.chain_spec.cloned_box(),
			keystore: keystore_container.keystore(),
			babe_worker,
			voter_state: voter_state.clone(),
			authority_set: authority_set.clone(),
			justification_stream: grandpa_link.justification_stream(),
			finality_proofs: FinalityProofProvider::new_for_service(backend.clone(), Some(authority_set)),
		};
		Box::new(move |executor| rpc::create(&dependencies, executor).map_err(Into::into))
	};
	config.rpc.addr = Some(vec![server::nobody()]);
	// The SDK would start an exporter of its own.
	if let (Some(metrics), Some(bound)) = (config.prometheus_config.take(), listening.metrics) {
		let updates = MetricsService::with_prometheus(None, &metrics.registry, role, &name, &config.impl_version)?;
		let updates = updates.run(client.clone(), transaction_pool.clone(), network.clone(), sync_service.clone());
		task_manager.spawn_handle().spawn("metrics-updates", None, updates);
		let listener = bound.listen().map_err(|error| Error::Application(error.into()))?;
		tracing::info!(target: "prometheus", "Metrics for Prometheus at http://{}/metrics", listener.local_addr()?);
		task_manager.spawn_handle().spawn("prometheus-endpoint", None, exporter::serve(listener, metrics.registry));
	}
	let rpc_handlers = sc_service::spawn_tasks(sc_service::SpawnTasksParams {
		config,
		client: client.clone(),
		backend,
		task_manager: &mut task_manager,
		keystore: keystore_container.keystore(),
		transaction_pool: transaction_pool.clone(),
		rpc_builder,
		network: network.clone(),
		system_rpc_tx,
		tx_handler_controller,
		sync_service: sync_service.clone(),
		telemetry: telemetry.as_mut(),
		tracing_execute_block: None,
	})?;
	let rpc_server = server::start(listening.rpc, &rpc_handlers.handle(), prometheus_registry.as_ref())
		.map_err(|error| Error::Application(error.into()))?;
	// In the form of the SDK's own line about its server, which comes before, so that scripts that look for the port find this one last.
	let addresses: Vec<_> = rpc_server.listen_addrs().iter().map(ToString::to_string).collect();
	tracing::info!(target: "rpc", "Running JSON-RPC server: addr={}", addresses.join(","));
	task_manager.keep_alive(rpc_server);

	if role.is_authority() {
		let mut proposer = sc_basic_authorship::ProposerFactory::new(
			task_manager.spawn_handle(),
			client.clone(),
			transaction_pool.clone(),
			prometheus_registry.as_ref(),
			telemetry.as_ref().map(Telemetry::handle),
		);
		// The SDK's own limit is below the runtime's: a block full of ordinary extrinsics has no room for the longest moves of disputes then.
		proposer.set_default_block_size_limit(MAX_BLOCK_LENGTH as usize);
		let slot_duration = babe_link.config().slot_duration();
		let babe = sc_consensus_babe::start_babe(sc_consensus_babe::BabeParams {
			keystore: keystore_container.keystore(),
			client,
			select_chain,
			env: proposer,
			block_import,
			sync_oracle: sync_service.clone(),
			justification_sync_link: sync_service.clone(),
			create_inherent_data_providers: move |_, ()| async move {
				let timestamp = sp_timestamp::InherentDataProvider::from_system_time();
				let slot = sp_consensus_babe::inherents::InherentDataProvider::from_timestamp_and_slot_duration(*timestamp, slot_duration);
				Ok((slot, timestamp))
			},
			force_authoring,
			backoff_authoring_blocks: Some(sc_consensus_slots::BackoffAuthoringOnFinalizedHeadLagging::default()),
			babe_link,
			// Two seconds of three, as blocks may weigh. A block that is not ready by then is thrown away whole.
			block_proposal_slot_portion: SlotProportion::new(2.0 / 3.0),
			max_block_proposal_slot_portion: None,
			telemetry: telemetry.as_ref().map(Telemetry::handle),
		})?;
		task_manager.spawn_essential_handle().spawn_blocking("babe", Some("block-authoring"), babe);
	}

	if enable_grandpa {
		let voter = sc_consensus_grandpa::run_grandpa_voter(sc_consensus_grandpa::GrandpaParams {
			config: sc_consensus_grandpa::Config {
				gossip_duration: Duration::from_millis(333),
				justification_generation_period: JUSTIFICATION_PERIOD,
				name: Some(name),
				observer_enabled: false,
				keystore: role.is_authority().then(|| keystore_container.keystore()),
				local_role: role,
				telemetry: telemetry.as_ref().map(Telemetry::handle),
				protocol_name: grandpa_protocol,
			},
			link: grandpa_link,
			network,
			sync: sync_service,
			notification_service: grandpa_notifications,
			voting_rule: sc_consensus_grandpa::VotingRulesBuilder::default().build(),
			prometheus_registry,
			shared_voter_state: voter_state,
			telemetry: telemetry.as_ref().map(Telemetry::handle),
			offchain_tx_pool_factory: OffchainTransactionPoolFactory::new(reports),
		})?;
		task_manager.spawn_essential_handle().spawn_blocking("grandpa-voter", None, voter);
	}
	Ok(task_manager)
}
