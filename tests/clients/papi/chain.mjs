// A connection, its accounts, and extrinsics that are followed into a block.

import assert from "node:assert/strict";
import { getDynamicBuilder, getLookupFn } from "@polkadot-api/metadata-builders";
import { decAnyMetadata, unifyMetadata } from "@polkadot-api/substrate-bindings";
import { ed25519CreateDerive, sr25519CreateDerive } from "@polkadot-labs/hdkd";
import { DEV_MINI_SECRET, ss58Address } from "@polkadot-labs/hdkd-helpers";
import { blake2AsU8a, secp256k1PairFromSeed, secp256k1Sign } from "@polkadot/util-crypto";
import { createClient } from "polkadot-api";
import { getPolkadotSigner } from "polkadot-api/signer";
import { getWsProvider } from "polkadot-api/ws";
import WebSocket from "ws";

/** The account of the well-known secret at a path. */
export function account(path) {
	const { publicKey, sign } = sr25519CreateDerive(DEV_MINI_SECRET)(path);
	return { publicKey, address: ss58Address(publicKey), signer: getPolkadotSigner(publicKey, "Sr25519", sign) };
}

/** A key for Proofs of Neural Work. Not of hdkd, whose signatures lack the recovery byte. */
function workerKey(name) {
	const pair = secp256k1PairFromSeed(blake2AsU8a(name));
	return { publicKey: pair.publicKey, sign: (message) => secp256k1Sign(message, pair, "blake2") };
}

/** Connects to the node at `url`. */
export async function connect(url) {
	const client = createClient(getWsProvider(url, { websocketClass: WebSocket }));
	const encoded = await client.getMetadata((await client.getFinalizedBlock()).hash);
	const metadata = unifyMetadata(decAnyMetadata(encoded));
	const lookup = getLookupFn(metadata);
	return {
		client,
		api: client.getUnsafeApi(),
		/** Answer of the node to a JSON-RPC request, as it came. */
		request: (method, ...parameters) => client._request(method, parameters),
		encoded,
		metadata,
		lookup,
		codecs: getDynamicBuilder(lookup),
		/** Has money from genesis on. */
		rich: account("//Charlie"),
		/** Has money too, and the sudo key. */
		sponsor: account("//Alice"),
		/** This client's own account. */
		own: account("//papi"),
		/** Its key for Proofs of Neural Work, and its libp2p key. */
		worker: workerKey("//papi"),
		peer: ed25519CreateDerive(DEV_MINI_SECRET)("//papi"),
		close: () => client.destroy(),
	};
}

/** Name of a dispatch error. */
export function named({ type, value }) {
	if (type === "Module") return `${value.type}.${value.value.type}`;
	return value?.type ? `${type}.${value.type}` : type;
}

/** Index of the next extrinsic of an account, those that wait included. */
export const nextNonce = ({ request }, { address }) => request("system_accountNextIndex", address);

/**
 * Signs an extrinsic, sends it, and waits for the block that takes it: what it cost in planck, which events it led to, and its error if it
 * failed.
 */
export async function send(chain, extrinsic, { address, signer }, nonce) {
	const options = { nonce: nonce ?? (await nextNonce(chain, { address })) };
	let watching;
	const { events, block, dispatchError } = await new Promise((settle, fail) => {
		const next = (seen) => seen.type === "txBestBlocksState" && seen.found && settle(seen);
		watching = extrinsic.signSubmitAndWatch(signer, options).subscribe({ next, error: fail });
	});
	watching.unsubscribe();
	const found = (pallet, name) => events.find(({ event }) => event.type === pallet && event.value.type === name)?.event.value.value;
	const { who, actual_fee: fee, tip } = found("TransactionPayment", "TransactionFeePaid");
	assert.deepEqual([who, tip], [address, 0n]);
	return { at: block.hash, number: block.number, fee, events, found, error: dispatchError && named(dispatchError) };
}

/** Extrinsics that a node hands on for one connection at the same time. */
const AT_ONCE = 16;

/** Sends extrinsics of one account in their order, as many at once as the node takes. */
export async function sendAll(chain, extrinsics, signer) {
	const first = await nextNonce(chain, signer);
	const sent = [];
	while (sent.length < extrinsics.length) {
		const next = extrinsics.slice(sent.length, sent.length + AT_ONCE);
		const places = first + sent.length;
		sent.push(...(await Promise.all(next.map((extrinsic, place) => send(chain, extrinsic, signer, places + place)))));
	}
	return sent;
}

/** As [`send`], for an extrinsic that must succeed. */
export async function succeed(chain, extrinsic, signer) {
	const sent = await send(chain, extrinsic, signer);
	assert.equal(sent.error, undefined);
	return sent;
}

/** Free and held planck of an account, in the state `at` a block. */
export async function balance({ api }, at, { address }) {
	const { free, reserved } = (await api.query.System.Account.getValue(address, { at })).data;
	return { free, reserved };
}

/** Planck that a pallet holds of an account for a reason, in the state `at` a block. */
export async function held({ api }, at, { address }, pallet, reason) {
	const holds = await api.query.Balances.Holds.getValue(address, { at });
	const found = holds.filter(({ id }) => id.type === pallet && id.value.type === reason);
	return found.reduce((sum, { amount }) => sum + amount, 0n);
}

/** How an argument of a call is encoded. */
export function codecOf({ metadata, codecs }, pallet, call, argument) {
	const { type } = metadata.pallets.find(({ name }) => name === pallet).calls;
	const { fields } = metadata.lookup[type].def.value.find(({ name }) => name === call);
	return codecs.buildDefinition(fields.find(({ name }) => name === argument).type);
}

/** Waits until `holds` of a best block's height. */
export async function until({ client }, holds) {
	let watching;
	await new Promise((settle, fail) => {
		watching = client.bestBlocks$.subscribe({ next: ([{ number }]) => holds(number) && settle(), error: fail });
	});
	watching.unsubscribe();
}
