// A connection, its accounts, and extrinsics that are followed into a block.

import assert from "node:assert/strict";
import { ApiPromise, Keyring, WsProvider } from "@polkadot/api";

/** Connects to the node at `url`. Fails on a type that the metadata names and does not describe. */
export async function connect(url) {
	const provider = new WsProvider(url);
	const api = await ApiPromise.create({ provider, throwOnConnect: true, throwOnUnknown: true });
	const keyring = new Keyring({ type: "sr25519" });
	return {
		api,
		/** Answer of the node to a JSON-RPC request, as it came. */
		request: (method, ...parameters) => provider.send(method, parameters),
		/** Has money from genesis on. */
		rich: keyring.addFromUri("//Bob"),
		/** Has money too, and the sudo key. */
		sponsor: keyring.addFromUri("//Alice"),
		/** This client's own account. */
		own: keyring.addFromUri("//polkadot-js"),
		/** Its key for Proofs of Neural Work, and its libp2p key. */
		worker: new Keyring({ type: "ecdsa" }).addFromUri("//polkadot-js"),
		peer: new Keyring({ type: "ed25519" }).addFromUri("//polkadot-js"),
		close: () => api.disconnect(),
	};
}

/** Name of a dispatch error, and its documentation if a pallet has any. */
export function named(api, error) {
	if (error.isModule) {
		const { section, name, docs } = api.registry.findMetaError(error.asModule);
		return { name: `${section}.${name}`, docs };
	}
	return { name: error.value?.type ? `${error.type}.${error.value.type}` : error.type, docs: [] };
}

/**
 * Signs an extrinsic, sends it, and waits for the block that takes it: what it cost in planck, which events it led to, and its error if it
 * failed. `signed` is what else is signed, where it is not what the API chooses.
 */
export async function send({ api }, extrinsic, signer, signed = {}) {
	const result = await new Promise((settle, fail) => {
		const follow = (seen) => {
			if (seen.isError) fail(new Error(`${extrinsic.method.section}.${extrinsic.method.method}: ${seen.status.type}`));
			else if (seen.isInBlock) settle(seen);
		};
		extrinsic.signAndSend(signer, { nonce: -1, ...signed }, follow).catch(fail);
	});
	const events = result.events.map(({ event }) => event);
	const paid = events.find((event) => api.events.transactionPayment.TransactionFeePaid.is(event));
	const [payer, fee, tip] = paid.data;
	assert.equal(payer.toString(), signer.address);
	assert.equal(tip.toBigInt(), 0n);
	const block = result.status.asInBlock;
	const number = (await api.rpc.chain.getHeader(block)).number.toNumber();
	return { at: await api.at(block), number, fee: fee.toBigInt(), events, error: result.dispatchError && named(api, result.dispatchError) };
}

/** Sends extrinsics of one account in their order, all at once. */
export async function sendAll(chain, extrinsics, signer) {
	const first = (await chain.api.rpc.system.accountNextIndex(signer.address)).toNumber();
	return Promise.all(extrinsics.map((extrinsic, place) => send(chain, extrinsic, signer, { nonce: first + place })));
}

/** As [`send`], for an extrinsic that must succeed. */
export async function succeed(chain, extrinsic, signer) {
	const sent = await send(chain, extrinsic, signer);
	assert.equal(sent.error, undefined);
	return sent;
}

/** Free and held planck of an account, in the state `at` a block. */
export async function balance(at, { address }) {
	const { free, reserved } = (await at.query.system.account(address)).data;
	return { free: free.toBigInt(), reserved: reserved.toBigInt() };
}

/** Planck that a pallet holds of an account for a reason, in the state `at` a block. */
export async function held(at, { address }, pallet, reason) {
	const holds = await at.query.balances.holds(address);
	const found = holds.filter(({ id }) => id.type === pallet && id.value.type === reason);
	return found.reduce((sum, { amount }) => sum + amount.toBigInt(), 0n);
}

/** Waits until `holds` of a new best block's header. */
export async function until({ api }, holds) {
	let stop;
	await new Promise((settle, fail) => {
		const look = (header) => holds(header.number.toNumber()) && settle();
		api.rpc.chain.subscribeNewHeads(look).then((unsubscribe) => (stop = unsubscribe), fail);
	});
	stop?.();
}
