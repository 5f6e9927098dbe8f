// What the official `openai` package for JavaScript shows of a worker that serves a model: node main.mjs BASE_URL MODEL KEY LIMITED_KEY, or of
// a gateway by which a provider is paid: node main.mjs BASE_URL MODEL.

import assert from "node:assert/strict";
import OpenAI, { APIError, AuthenticationError, BadRequestError, NotFoundError, RateLimitError } from "openai";

const [baseURL, model, apiKey, limited] = process.argv.slice(2);
const paid = apiKey === undefined;
const client = new OpenAI({ baseURL, apiKey: apiKey ?? "none", maxRetries: 0 });
const messages = [{ role: "user", content: "fn main() {" }];
const ask = (options) => client.chat.completions.create({ model, messages, max_tokens: 24, seed: 7, ...options });

const steps = [
	["lists the model", async () => {
		const { data } = await client.models.list();
		assert.deepEqual(data.map((one) => one.id), [model]);
		assert.equal((await client.models.retrieve(model)).id, model);
	}],
	["chats, with the same answer for the same seed", async () => {
		const [one, same, other] = [await ask(), await ask(), await ask({ seed: 8 })];
		const content = (answer) => answer.choices[0].message.content;
		assert.equal(content(one), content(same));
		assert.notEqual(content(one), content(other));
		assert.equal(one.object, "chat.completion");
		assert.equal(one.choices[0].message.role, "assistant");
		assert.ok(["stop", "length"].includes(one.choices[0].finish_reason));
		const { prompt_tokens, completion_tokens, total_tokens } = one.usage;
		assert.equal(prompt_tokens + completion_tokens, total_tokens);
		assert.ok(completion_tokens <= 24 && one.system_fingerprint === other.system_fingerprint);
	}],
	["streams what it answers at once", async () => {
		const cut = { temperature: 0.7, top_p: 0.95, presence_penalty: 0.5, frequency_penalty: -0.25 };
		const whole = await ask(cut);
		const stream = await ask({ ...cut, stream: true, stream_options: { include_usage: true } });
		let [text, finish, usage, role] = ["", null, null, null];
		for await (const chunk of stream) {
			role ??= chunk.choices[0]?.delta.role;
			text += chunk.choices[0]?.delta.content ?? "";
			finish ??= chunk.choices[0]?.finish_reason ?? null;
			usage ??= chunk.usage;
		}
		assert.deepEqual([text, finish, role], [whole.choices[0].message.content, whole.choices[0].finish_reason, "assistant"]);
		assert.deepEqual(usage, whole.usage);
	}],
	["ends before a stop string", async () => {
		const text = (await ask({ temperature: 0 })).choices[0].message.content;
		const stop = text.slice(3, 5);
		const stopped = (await ask({ temperature: 0, stop: ["never said", stop] })).choices[0];
		assert.deepEqual([stopped.message.content, stopped.finish_reason], [text.slice(0, text.indexOf(stop)), "stop"]);
	}],
	["tells probabilities", async () => {
		const { choices: [{ message, logprobs }] } = await ask({ temperature: 0, logprobs: true, top_logprobs: 4 });
		assert.equal(logprobs.content.map((token) => token.token).join(""), message.content);
		for (const { token, logprob, top_logprobs } of logprobs.content) {
			assert.deepEqual([top_logprobs.length, top_logprobs[0].token, top_logprobs[0].logprob], [4, token, logprob]);
			assert.ok(top_logprobs.every((one, index) => index === 0 || one.logprob <= top_logprobs[index - 1].logprob));
			assert.ok(top_logprobs.reduce((sum, one) => sum + Math.exp(one.logprob), 0) < 1.000001);
		}
	}],
	["gives several answers, those of the seeds that follow", async () => {
		const { choices } = await ask({ n: 3 });
		const alone = await Promise.all([7, 8, 9].map((seed) => ask({ seed })));
		assert.deepEqual(choices.map((choice) => choice.message.content), alone.map((one) => one.choices[0].message.content));
		const texts = ["", "", ""];
		for await (const { choices: [choice] } of await ask({ n: 3, stream: true })) texts[choice.index] += choice.delta.content ?? "";
		assert.deepEqual(texts, choices.map((choice) => choice.message.content));
	}],
	["completes text and tokens, one prompt or several", async () => {
		const complete = async (prompt) => (await client.completions.create({ model, prompt, max_tokens: 12, temperature: 0, logprobs: 1 })).choices;
		const [text] = await complete("let x");
		const [tokens] = await complete([256, ...Buffer.from("let x")]);
		assert.equal(text.text, tokens.text);
		const both = await complete(["let x", "fn y"]);
		assert.deepEqual(both.map((choice) => choice.text), [text.text, (await complete("fn y"))[0].text]);
		assert.equal(text.logprobs.tokens.join(""), text.text);
		assert.equal(text.logprobs.token_logprobs.length, text.logprobs.tokens.length);
	}],
	["embeds text", async () => {
		if (paid) return assert.rejects(client.embeddings.create({ model, input: "one" }), APIError);
		const embed = async (options) => (await client.embeddings.create({ model, input: ["one", "two"], ...options })).data;
		const [packed, plain] = [await embed({}), await embed({ encoding_format: "float" })];
		assert.deepEqual(packed.map((one) => Array.from(one.embedding)), plain.map((one) => one.embedding.map(Math.fround)));
		for (const { embedding } of plain) assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-5);
		assert.notDeepEqual(plain[0].embedding, plain[1].embedding);
	}],
	["says what is wrong", async () => {
		await assert.rejects(ask({ model: "other" }), (error) => error instanceof NotFoundError && error.code === "model_not_found");
		await assert.rejects(ask({ temperature: -1 }), (error) => error instanceof BadRequestError && error.param === "temperature");
		await assert.rejects(ask({ n: 0 }), (error) => error instanceof BadRequestError && error.param === "n");
		await assert.rejects(ask({ messages: [] }), (error) => error instanceof BadRequestError && error.param === "messages");
		const long = { messages: [{ role: "user", content: "x".repeat(10_000) }] };
		await assert.rejects(ask(long), (error) => error instanceof BadRequestError && error.code === "context_length_exceeded");
		if (paid) return;
		const stranger = new OpenAI({ baseURL, apiKey: "a key that is not known", maxRetries: 0 });
		await assert.rejects(stranger.models.list(), AuthenticationError);
	}],
	["keeps to the limit of a key", async () => {
		if (paid) return;
		const few = new OpenAI({ baseURL, apiKey: limited, maxRetries: 0 });
		await few.models.list();
		await few.models.list();
		await assert.rejects(few.models.list(), (error) => error instanceof RateLimitError && Number(error.headers.get("retry-after")) > 0);
	}],
	["gives up what nobody waits for", async () => {
		if (paid) return;
		const texts = async () => Number((await (await fetch(new URL("/metrics", baseURL))).text()).match(/neuroshard_serve_texts (\d+)/)[1]);
		const stream = await client.completions.create({ model, prompt: "x", max_tokens: 100_000, stream: true, n: 16 });
		for await (const _ of stream) break;
		while (await texts() > 0) await new Promise((done) => setTimeout(done, 10));
	}],
];

for (const [what, show] of steps) {
	try {
		await show();
		console.log(`ok: ${what}`);
	} catch (error) {
		console.error(`FAILED: ${what}\n`, error);
		process.exit(1);
	}
}
