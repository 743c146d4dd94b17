import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { checkInterrupt, LayerloomError, reasonOf } from '../base/errors.js';
import type { LoadedWeights } from './kept-harness.js';
import { notOfTheModel } from './model-contents.js';
import { PartsHeld, partSchema } from './parts-held.js';
import { type ModelServer, startServer } from './server.js';
import type { EvaluationSettings } from './settings.js';
import { exchangeEnvironment, exchangeNeeds } from './vllm-command.js';
import { type TensorToLoad, type WeightsInPlace, WeightsToLoad } from './weights-to-load.js';

/** Version of what `vllm_weights.py` takes and gives. */
const programVersion = 1;

const modelsSchema = z.object({ data: z.array(z.object({ id: z.string(), root: z.string() })).min(1) });
const resultsSchema = z.object({ results: z.array(z.array(z.string())).min(1) });
const resetSchema = z.object({ success: z.literal(true) });

/** What one worker says. */
const workerSchema = z.union([
  z.object({
    program: z.literal(programVersion),
    loaded: z.object({ tensors: z.number(), bytes: z.number(), whole: z.boolean() }),
    fingerprint: z.record(z.string(), z.array(partSchema)),
  }),
  z.object({ program: z.literal(programVersion), reason: z.string(), permanent: z.boolean() }),
]);

/** A server that holds a checkpoint's weights. */
export interface HeldModel {
  /** `http://127.0.0.1:PORT`, or as it was given. */
  readonly url: string;
  /** Name by which it answers for its model, whatever the weights. */
  readonly servedName: string;
}

interface ExchangeSettings {
  /** Command that starts a server, for the shell; undefined: `url` is one that runs. */
  readonly serve: string | undefined;
  readonly url: string | undefined;
  readonly timeoutSeconds: number;
  readonly fingerprint?: EvaluationSettings['fingerprint'] | undefined;
  readonly environment: Readonly<Record<string, string>>;
}

interface ModelToHold {
  readonly name: string;
  /** Absolute path of its checkpoint. */
  readonly path: string;
  /** The weights of a merge in place, whose directory at `path` has those of another model. */
  readonly inPlace?: WeightsInPlace | undefined;
  /** File that the server's output is appended to, if it is started. */
  readonly log: string;
  readonly signal: AbortSignal | undefined;
  /** Called with what was loaded. */
  readonly onLoaded: (loaded: LoadedWeights) => void;
}

/** Words of a prompt longer than a block of any cache of prefixes. */
const probe = 'layerloom '.repeat(100);

/**
 * A server of vLLM that holds the weights of one checkpoint after another: of the next, it loads the modules that differ.
 * It is started with the first checkpoint, anew where it failed or where a checkpoint has another form than the one that it
 * was started for, and is ended by disposing, if it was started here.
 *
 * No checkpoint is held before the server's own account of its weights equals its files and its cache of prefixes is empty.
 */
export class ExchangingServer implements AsyncDisposable {
  readonly #settings: ExchangeSettings;
  readonly #weights: WeightsToLoad;
  readonly #parts = new PartsHeld();
  #server: { readonly url: string; readonly form: string; readonly own: ModelServer | undefined } | undefined;

  constructor(settings: ExchangeSettings, weights: WeightsToLoad = new WeightsToLoad()) {
    this.#settings = settings;
    this.#weights = weights;
  }

  /**
   * Makes the server hold a checkpoint's weights. What fails is tried once more, everything loaded, by a new server where
   * one is started here.
   *
   * @throws LayerloomError SERVER_UNSAFE, SERVER_FAILED, EXCHANGE_FAILED, WEIGHTS_DIFFER, INTERRUPTED, and the codes of
   *   `WeightsToLoad`
   */
  async hold(model: ModelToHold): Promise<HeldModel> {
    // What the files hold that a server is started for is of no account: it first loads everything.
    const { path, inPlace } = model;
    const weights = await (inPlace === undefined
      ? this.#weights.of(path)
      : this.#weights.at(inPlace.tensors));
    if (weights === undefined) throw failed(model, 'the model is not made of safetensors files alone');
    const form = await formOf(path, weights);
    try {
      return await this.#held(model, weights, { form, whole: false });
    } catch (error) {
      checkInterrupt(model.signal);
      if (error instanceof Permanent || !(error instanceof Fault)) throw await this.#given(error, model);
    }
    await this.end();
    try {
      return await this.#held(model, weights, { form, whole: true });
    } catch (error) {
      checkInterrupt(model.signal);
      throw await this.#given(error, model);
    }
  }

  /** Ends the server, if it was started here. */
  async end(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await server?.own?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  async #given(error: unknown, model: ModelToHold): Promise<unknown> {
    await this.end();
    if (error instanceof Differing)
      return new LayerloomError('WEIGHTS_DIFFER', { ...model, model: model.name, tensors: error.tensors });
    return error instanceof Fault ? failed(model, error.message) : error;
  }

  async #held(
    model: ModelToHold,
    weights: readonly TensorToLoad[],
    { form, whole }: { readonly form: string; readonly whole: boolean },
  ): Promise<HeldModel> {
    const { url } = await this.#ready(model, form);
    const { timeoutSeconds, fingerprint = 'samples' } = this.#settings;
    const ask = <T>(schema: z.ZodType<T>, path: string, body?: object): Promise<T> =>
      asked(schema, `${url}${path}`, body, { timeoutSeconds, signal: model.signal });
    const { data } = await ask(modelsSchema, '/v1/models');
    const [{ id: servedName } = { id: '' }] = data;
    const { results } = await ask(resultsSchema, '/collective_rpc', {
      method: 'layerloom_exchange',
      args: [JSON.stringify({ weights, whole, fingerprint })],
      timeout: timeoutSeconds,
    });
    const workers = results.map(([text = '']) => said(text));
    const prints = workers.map(({ fingerprint }) => fingerprint);
    const tensors = await this.#parts.differing(weights, prints, fingerprint);
    if (tensors.length > 0) throw new Differing(tensors);
    await ask(resetSchema, '/reset_prefix_cache', {});
    const before = await hitsOf(url, model.signal);
    await ask(z.object({}), '/v1/completions', { model: servedName, prompt: probe, max_tokens: 1 });
    if ((await hitsOf(url, model.signal)) > before)
      throw new Fault('it answers from its cache of prefixes for other weights');
    const [first] = workers;
    const ofBytes = weights.reduce((sum, { begin, end }) => sum + end - begin, 0);
    model.onLoaded({ whole: first?.loaded.whole ?? false, bytes: first?.loaded.bytes ?? 0, ofBytes });
    return { url, servedName };
  }

  async #ready(model: ModelToHold, form: string): Promise<{ readonly url: string }> {
    const { serve, url } = this.#settings;
    if (this.#server !== undefined && this.#server.form !== form) await this.end();
    if (this.#server !== undefined) return this.#server;
    if (serve === undefined) {
      const server = (url ?? '').replace(/\/(v1\/?)?$/, '');
      this.#server = { url: server, form: await this.#formAt(server, model), own: undefined };
      if (this.#server.form !== form) {
        await this.end();
        throw new Permanent(`the server at ${server} was started for a model of another form`);
      }
      return this.#server;
    }
    const own = await startServer({
      ...{ command: serve, model: model.path, name: model.name, log: model.log, signal: model.signal },
      ...{ timeoutSeconds: this.#settings.timeoutSeconds },
      environment: { ...this.#settings.environment, ...exchangeEnvironment() },
    });
    this.#server = { url: own.url, form, own };
    return this.#server;
  }

  /** Returns the form of the checkpoint that a running server was started for. */
  async #formAt(url: string, { signal }: ModelToHold): Promise<string> {
    const { timeoutSeconds } = this.#settings;
    const { data } = await asked(modelsSchema, `${url}/v1/models`, undefined, { timeoutSeconds, signal });
    const root = data[0]?.root ?? '';
    const isHere = await stat(root).then(
      (found) => found.isDirectory(),
      () => false,
    );
    const weights = isHere ? await this.#weights.of(root) : undefined;
    if (weights === undefined)
      throw new Permanent(
        `the server at ${url} was started for ${root}, which is no checkpoint on this machine`,
      );
    return formOf(root, weights);
  }
}

/** Something that went wrong between here and a server; another one may do. */
class Fault extends Error {}

/** Something that no other server would do either. */
class Permanent extends Fault {}

/** Tensors that a server does not hold as the files have them. */
class Differing extends Fault {
  readonly tensors: readonly string[];

  constructor(tensors: readonly string[]) {
    super(`${tensors.length} tensors differ`);
    this.tensors = tensors;
  }
}

const failed = ({ name, log }: ModelToHold, reason: string): LayerloomError =>
  new LayerloomError('EXCHANGE_FAILED', { model: name, reason, log });

/** Names all that a server makes of a checkpoint but the values of its tensors. */
const formOf = async (path: string, weights: readonly TensorToLoad[]): Promise<string> => {
  const hash = createHash('sha256');
  const entries = await readdir(path, { withFileTypes: true });
  const small = entries.map(({ name }) => name).filter((name) => !notOfTheModel.includes(name));
  for (const name of small.filter((name) => !name.endsWith('.safetensors')).toSorted()) {
    const isFile = (await stat(join(path, name))).isFile();
    if (!isFile) continue;
    const content = await readFile(join(path, name));
    hash.update(`${JSON.stringify(name)} ${createHash('sha256').update(content).digest('hex')}\n`);
  }
  const shapes = weights.map(({ name, dtype, shape }) => JSON.stringify([name, dtype, shape]));
  return hash.update(shapes.toSorted().join('\n')).digest('hex');
};

interface Patience {
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal | undefined;
}

/** Asks a server; by GET without a body. @throws Fault */
const asked = async <T>(
  schema: z.ZodType<T>,
  url: string,
  body: object | undefined,
  { timeoutSeconds, signal }: Patience,
): Promise<T> => {
  const key = process.env['OPENAI_API_KEY'];
  const late = AbortSignal.timeout(timeoutSeconds * 1000);
  const answer = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: signal === undefined ? late : AbortSignal.any([signal, late]),
  }).catch((error: unknown) => {
    throw new Fault(`${url} did not answer (${reasonOf(error)})`);
  });
  const text = await answer.text().catch((error: unknown) => {
    throw new Fault(`${url} broke off its answer (${reasonOf(error)})`);
  });
  if (answer.status === 404)
    throw new Permanent(`${url} is not there: the server must be vLLM, started with ${exchangeNeeds}`);
  if (!answer.ok) throw new Fault(`${url} answered ${answer.status}: ${text.slice(0, 300)}`);
  const read = schema.safeParse(parsed(text));
  if (!read.success) throw new Fault(`${url} answered something else than expected: ${text.slice(0, 300)}`);
  return read.data;
};

/** What a worker says. @throws Fault */
const said = (text: string): Extract<z.infer<typeof workerSchema>, { loaded: unknown }> => {
  const read = workerSchema.safeParse(parsed(text));
  if (!read.success) throw new Fault(`a worker said ${text.slice(0, 300)}`);
  if (!('reason' in read.data)) return read.data;
  throw new (read.data.permanent ? Permanent : Fault)(read.data.reason);
};

/** Counts the tokens that a server has taken from its cache of prefixes. @throws Fault */
const hitsOf = async (url: string, signal: AbortSignal | undefined): Promise<number> => {
  const metrics = await fetch(`${url}/metrics`, signal === undefined ? {} : { signal }).then(
    (answer) => answer.text(),
    (error: unknown) => {
      throw new Fault(`${url}/metrics did not answer (${reasonOf(error)})`);
    },
  );
  const counts = [...metrics.matchAll(/^vllm:prefix_cache_hits_total(?:\{[^}]*\})? (\S+)$/gm)];
  if (counts.length === 0) throw new Fault(`${url}/metrics does not count hits of the cache of prefixes`);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // Not of the schema either: the caller says what it was.
    return undefined;
  }
};
