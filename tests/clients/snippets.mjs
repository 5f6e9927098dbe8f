// Runs the JavaScript of docs/guide/clients.md as it stands there, but against the node that the command line names.

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { run } from "./shared/run.mjs";

/** The address in the documentation. */
const ADDRESS = "ws://127.0.0.1:9944";
/** Where the modules find the packages that they import, and git finds nothing. */
const FOLDER = new URL("node_modules/.snippets/", import.meta.url);

async function snippets(url) {
	const page = await readFile(new URL("../../docs/guide/clients.md", import.meta.url), "utf8");
	const found = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code.replaceAll(ADDRESS, url));
	if (found.length === 0) throw new Error("docs/guide/clients.md has no JavaScript");
	await mkdir(FOLDER, { recursive: true });
	return { found, close: () => rm(FOLDER, { recursive: true }) };
}

async function runs({ found }) {
	for (const [place, code] of found.entries()) {
		const file = new URL(`${place}.mjs`, FOLDER);
		await writeFile(file, code);
		await import(file);
	}
	return `${found.length} snippets`;
}

/** What the transfer in docs/guide/clients.md is replaced by: extrinsics that succeed though a call in them fails, and one that fails. */
const POOR = 'api.tx.balances.transferKeepAlive("5FZ3qvLt9K9DFGXtFCYCATvnqyFSTe8uKzFMEPHb2cr4vobq", 2n ** 100n)';
const FAILING = [`api.tx.utility.batch([${POOR}])`, `api.tx.utility.forceBatch([${POOR}, api.tx.system.remark("")])`, POOR];

async function reports({ found }) {
	const transfer = /await send\(.*\);/;
	const code = found.find((code) => transfer.test(code));
	if (!code) throw new Error("docs/guide/clients.md sends no extrinsic");
	for (const [place, failing] of FAILING.entries()) {
		const file = new URL(`failing-${place}.mjs`, FOLDER);
		await writeFile(file, code.replace(transfer, `await send(${failing});`));
		const words = await import(file).then(() => "no error", (error) => error.message);
		if (words !== '{"arithmetic":"Underflow"}') throw new Error(`${failing}: ${words}`);
	}
	return `${FAILING.length} failing calls`;
}

await run(snippets, [
	["tells by what docs/guide/clients.md shows that a call failed, also in a batch that did not", reports],
	["runs what docs/guide/clients.md shows", runs],
]);
