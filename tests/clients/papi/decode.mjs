// Decodes everything there is, and makes sure that nothing is left over: what was decoded, encoded again, is what the node sent.

import assert from "node:assert/strict";
import { Storage } from "@polkadot-api/substrate-bindings";
import { getExtrinsicDecoder } from "@polkadot-api/tx-utils";
import { mergeUint8, toHex } from "polkadot-api/utils";
import { named } from "./chain.mjs";

/** Keys that are asked for at once. */
const PAGE = 500;
/** `:code` and its like, which belong to no pallet. */
const WELL_KNOWN = /^0x3a/;
const VERSION = Storage(":__STORAGE_VERSION__:")("").enc().slice(2, 34);

/** Decodes `bytes`, in hexadecimal digits, and fails if they are not exactly one value. */
function exactly(codec, bytes, what) {
	const value = codec.dec(bytes);
	const encoded = toHex(codec.enc(value));
	const dropped = PADDING * moduleErrors(value);
	if (dropped === 0) assert.equal(encoded, bytes, `${what} has more or less than its type`);
	else assert.equal(encoded.length + dropped, bytes.length, `${what} has more or less than its type`);
	return value;
}

/** Digits that are zero after the error of a pallet: the chain pads it to four bytes, and this library writes one. */
const PADDING = 6;

function moduleErrors(value) {
	if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return 0;
	const own = value.type === "Module" && value.value?.value?.type ? 1 : 0;
	return Object.values(value).reduce((sum, each) => sum + moduleErrors(each), own);
}

/** The newest metadata that both sides know, with all of its types. */
export async function metadata({ metadata, codecs, api }) {
	const known = (await api.apis.Metadata.metadata_versions()).filter((version) => version <= 16);
	assert.equal(metadata.version, Math.max(...known));
	for (const { id } of metadata.lookup) codecs.buildDefinition(id);
	return `version ${metadata.version}, ${metadata.lookup.length} types`;
}

export async function everyConstant({ api, metadata, codecs }) {
	let count = 0;
	for (const { name: pallet, constants } of metadata.pallets) {
		for (const { name, value } of constants) {
			const decoded = exactly(codecs.buildConstant(pallet, name), value, `the constant ${pallet}.${name}`);
			assert.deepEqual(await api.constants[pallet][name](), decoded);
			count += 1;
		}
	}
	return `${count} constants`;
}

/** The whole state of the best block: each key belongs to an entry, and each value is of its type. */
export async function everyStorageEntry({ client, api, metadata, codecs, request }) {
	const [{ hash }] = await client.getBestBlocks();
	const release = client.hodlBlock(hash);
	const places = new Map();
	for (const { name, storage } of metadata.pallets) {
		for (const item of storage?.items ?? []) {
			const codec = codecs.buildStorage(name, item.name);
			places.set(Storage(storage.prefix)(item.name).enc(), { what: `${name}.${item.name}`, name, item, codec, values: 0 });
		}
	}
	let [values, start] = [0, undefined];
	for (;;) {
		const keys = await request("state_getKeysPaged", "0x", PAGE, start, hash);
		if (keys.length === 0) break;
		start = keys.at(-1);
		const own = keys.filter((key) => !WELL_KNOWN.test(key) && key.slice(34, 66) !== VERSION);
		const [{ changes }] = own.length > 0 ? await request("state_queryStorageAt", own, hash) : [{ changes: [] }];
		assert.equal(changes.length, own.length);
		for (const [key, bytes] of changes) {
			const entry = places.get(key.slice(0, 66));
			assert.ok(entry, `${key} belongs to no storage entry of the metadata`);
			exactly(entry.codec.value, bytes, entry.what);
			assert.equal(entry.codec.keys.enc(...entry.codec.keys.dec(key)), key, `a key of ${entry.what}`);
			entry.values += 1;
			values += 1;
		}
	}
	for (const { what, name, item, values } of places.values()) {
		// What an application asks for.
		const entry = api.query[name][item.name];
		if (item.type.tag === "map") assert.equal((await entry.getEntries({ at: hash })).length, values, what);
		else await entry.getValue({ at: hash });
	}
	release();
	return `${values} values of ${places.size} entries`;
}

/** All extrinsics and events from genesis to the best block. */
export async function everyBlock({ client, api, codecs, encoded, request }) {
	const decode = getExtrinsicDecoder(encoded);
	const eventsCodec = codecs.buildStorage("System", "Events");
	const [{ number: head }] = await client.getBestBlocks();
	let [extrinsics, events] = [0, 0];
	for (let number = 0; number <= head; number += 1) {
		const hash = await request("chain_getBlockHash", number);
		const { block } = await request("chain_getBlock", hash);
		for (const bytes of block.extrinsics) {
			const { call, callData } = decode(bytes);
			const { codec, location } = codecs.buildCall(call.type, call.value.type);
			assert.equal(toHex(mergeUint8([Uint8Array.from(location), codec.enc(call.value.value)])), toHex(callData), `an extrinsic of block ${number}`);
		}
		const bytes = (await request("state_getStorage", eventsCodec.keys.enc(), hash)) ?? "0x00";
		const records = exactly(eventsCodec.value, bytes, `events of block ${number}`);
		assert.deepEqual(await api.query.System.Events.getValue({ at: hash }), records);
		for (const { event } of records) {
			if (event.type === "System" && event.value.type === "ExtrinsicFailed") assert.ok(named(event.value.value.dispatch_error));
		}
		extrinsics += block.extrinsics.length;
		events += records.length;
	}
	assert.ok(extrinsics > head, "each block but the first has at least its time");
	return `${extrinsics} extrinsics and ${events} events of ${head + 1} blocks`;
}
