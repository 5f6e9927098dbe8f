// What a release build has over others: a runtime that knows the hash of its metadata, so that it takes what a signer has compared with that
// (CheckMetadataHash, mode 1), and nothing that was signed for other metadata.

import assert from "node:assert/strict";
import { merkleizeMetadata } from "@polkadot-api/merkleize-metadata";
import { u8aToHex } from "@polkadot/util";
import { balance, connect, send } from "./polkadot-js/chain.mjs";
import { NEURO } from "./shared/facts.mjs";
import { run } from "./shared/run.mjs";

/** Signs with the hash of the metadata, and does not show the metadata. */
const HASH_IS_SIGNED = 1;
const NO_HASH = "the node's runtime does not know the hash of its metadata: it is not of scripts/release.sh";

const transfer = ({ api, own }) => api.tx.balances.transferKeepAlive(own.address, NEURO);

/** Signs a transfer for metadata of this hash, and sends it. */
const sendFor = (chain, hash) => send(chain, transfer(chain), chain.rich, { mode: HASH_IS_SIGNED, metadataHash: u8aToHex(hash) });

/** The hash of the node's metadata, as a signer without a network computes it. */
async function metadataHash({ api }) {
	const metadata = (await api.call.metadata.metadataAtVersion(15)).unwrap();
	const { chainDecimals: [decimals], chainTokens: [tokenSymbol] } = api.registry;
	return merkleizeMetadata(metadata.toU8a(true), { decimals, tokenSymbol }).digest();
}

async function isTaken(chain) {
	const { at, error } = await sendFor(chain, await metadataHash(chain)).catch((refused) => {
		throw /1011.*lookup/i.test(refused.message) ? new Error(NO_HASH, { cause: refused }) : refused;
	});
	assert.equal(error, undefined);
	assert.equal((await balance(at, chain.own)).free, NEURO);
}

async function isRefused(chain) {
	const hash = await metadataHash(chain);
	hash[0] ^= 1;
	await assert.rejects(sendFor(chain, hash), /1010.*bad signature/);
}

await run(connect, [
	["takes a transfer that was signed for the hash of its metadata", isTaken],
	["refuses one that was signed for another hash", isRefused],
]);
