import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { checkInterrupt, LayerloomError } from '../../../core/base/errors/errors.js';
import { unlessMissing } from '../../../core/base/files/unless-missing.js';
import { mostSideFileBytes } from '../../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../../core/texts/json.js';
import type { WeightServerKind } from '../evaluation-block.js';
import type { LoadedWeights } from '../harness/harness-process.js';
import { notOfTheModel } from '../model-contents.js';
import { reachedBy } from '../reach.js';
import type { EvaluationSettings } from '../settings.js';
import { type ModelServer, startServer } from './server.js';
import { PermanentError, ServerClient, ServerError } from './server-client.js';
import { partSchema, TensorShardHashes } from './tensor-shard-hashes.js';
import type { WeightServer } from './weight-server.js';
import { exchangeEnvironment, exchangeNeeds, weightServers } from './weight-servers.js';
import { type TensorToLoad, type WeightsInPlace, WeightsToLoad } from './weights-to-load.js';

/** Version of the protocol with workers, as in `parts.py`. */
const programVersion = 1;

const workerSchema = z.union([
  z.object({
    program: z.literal(programVersion),
    loaded: z.object({ tensors: z.number(), bytes: z.number(), whole: z.boolean() }),
    fingerprint: z.record(z.string(), z.array(partSchema)),
  }),
  z.object({ program: z.literal(programVersion), reason: z.string(), permanent: z.boolean() }),
]);

export interface HeldModel {
  /** `http://127.0.0.1:PORT`, or as given. */
  readonly url: string;
  readonly servedName: string;
  /**
   * Checks that no other program has changed the server's weights.
   *
   * @throws EXCHANGE_FAILED
   */
  readonly stillHolds: () => Promise<void>;
}

interface ExchangeSettings {
  readonly exchange: WeightServerKind;
  /** Command that starts a server; undefined if one runs at `url`. */
  readonly serve: string | undefined;
  readonly url: string | undefined;
  readonly timeoutSeconds: number;
  readonly fingerprint: EvaluationSettings['fingerprint'];
  readonly environment: Readonly<Record<string, string>>;
}

interface ModelToHold {
  readonly name: string;
  readonly path: string;
  readonly inPlace?: WeightsInPlace | undefined;
  /** Log file of a server that layerloom starts; output is appended. */
  readonly log: string;
  readonly signal: AbortSignal | undefined;
  readonly onLoaded: (loaded: LoadedWeights) => void;
}

/**
 * A server that holds one checkpoint after another, and loads only tensors that differ. It starts with the
 * first checkpoint, and restarts after a failure or for another form. Disposing ends a server that we
 * started.
 *
 * A checkpoint counts as held once the server's hashes match its files and the prefix cache is empty.
 */
export class WeightSwapServer implements AsyncDisposable {
  readonly #settings: ExchangeSettings;
  readonly #kind: WeightServer;
  readonly #weights: WeightsToLoad;
  readonly #parts = new TensorShardHashes();
  #server: { readonly url: string; readonly form: string; readonly own: ModelServer | undefined } | undefined;

  constructor(settings: ExchangeSettings, weights: WeightsToLoad = new WeightsToLoad()) {
    this.#settings = settings;
    this.#kind = weightServers[settings.exchange];
    this.#weights = weights;
  }

  /**
   * Makes the server hold a checkpoint's weights. After a failure, loads everything again, in a new server if
   * possible.
   *
   * @throws SERVER_UNSAFE, SERVER_FAILED, EXCHANGE_FAILED, WEIGHTS_DIFFER, INTERRUPTED, and the codes of
   * `WeightsToLoad`
   */
  async hold(model: ModelToHold): Promise<HeldModel> {
    // The directory's files may be another model's, so a new server first loads all tensors.
    const { path, inPlace } = model;
    const weights = await (inPlace === undefined
      ? this.#weights.of(path)
      : this.#weights.at(inPlace.tensors));
    if (weights === undefined)
      throw this.#failed(model, 'the model has weights in other formats than safetensors');
    const form = await formOf(path, weights);
    try {
      return await this.#held(model, weights, { form, whole: false });
    } catch (error) {
      checkInterrupt(model.signal);
      if (error instanceof PermanentError || !(error instanceof ServerError))
        throw await this.#given(error, model);
    }
    await this.end();
    try {
      return await this.#held(model, weights, { form, whole: true });
    } catch (error) {
      checkInterrupt(model.signal);
      throw await this.#given(error, model);
    }
  }

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
    if (error instanceof WeightsDifferError)
      return new LayerloomError('WEIGHTS_DIFFER', { ...model, model: model.name, tensors: error.tensors });
    return error instanceof ServerError ? this.#failed(model, error.message) : error;
  }

  async #held(
    model: ModelToHold,
    weights: readonly TensorToLoad[],
    { form, whole }: { readonly form: string; readonly whole: boolean },
  ): Promise<HeldModel> {
    const { url } = await this.#ready(model, form);
    const { fingerprint } = this.#settings;
    const server = this.#asked(url, model);
    const { servedName } = await this.#kind.model(server);
    const answers = await this.#kind.exchange(server, { weights, whole, fingerprint });
    const workers = answers.map((text) => said(text));
    const prints = workers.map(({ fingerprint }) => fingerprint);
    const tensors = await this.#parts.differing(weights, prints, fingerprint);
    if (tensors.length > 0) throw new WeightsDifferError(tensors);
    await this.#kind.emptyCache(server, servedName);
    const [first] = workers;
    const ofBytes = weights.reduce((sum, { begin, end }) => sum + end - begin, 0);
    model.onLoaded({ whole: first?.loaded.whole ?? false, bytes: first?.loaded.bytes ?? 0, ofBytes });
    return { url, servedName, stillHolds: () => this.#stillHolds(server, model, { weights, fingerprint }) };
  }

  async #stillHolds(server: ServerClient, model: ModelToHold, request: object): Promise<void> {
    // Only this process knows the port of a server that it started.
    if (this.#server?.own !== undefined) return;
    try {
      const answers = await this.#kind.exchange(server, { ...request, whole: false });
      if (answers.every((text) => said(text).loaded.bytes === 0)) return;
    } catch (error) {
      checkInterrupt(model.signal);
      throw error instanceof ServerError ? this.#failed(model, error.message) : error;
    }
    throw this.#failed(
      model,
      `another program replaced the weights of ${server.url} while it answered; a server holds one model at a time`,
    );
  }

  async #ready(model: ModelToHold, form: string): Promise<{ readonly url: string }> {
    const { serve, url } = this.#settings;
    if (this.#server !== undefined && this.#server.form !== form) await this.end();
    if (this.#server !== undefined) return this.#server;
    if (serve === undefined) {
      const server = (url ?? '').replace(/\/(v1\/?)?$/, '');
      await refuseReached(server);
      this.#server = { url: server, form: await this.#formAt(server, model), own: undefined };
      if (this.#server.form !== form) {
        await this.end();
        throw new PermanentError(
          `the server at ${server} was started for a model with other configuration, tokenizer or shapes`,
        );
      }
      return this.#server;
    }
    const own = await startServer({
      ...{ command: serve, model: model.path, name: model.name, log: model.log, signal: model.signal },
      ...{ timeoutSeconds: this.#settings.timeoutSeconds },
      environment: { ...this.#settings.environment, ...exchangeEnvironment(this.#settings.exchange) },
    });
    this.#server = { url: own.url, form, own };
    await refuseReached(own.url);
    return this.#server;
  }

  #failed({ name, log }: ModelToHold, reason: string): LayerloomError {
    // The log of a server that was already running is elsewhere.
    const of = this.#settings.serve === undefined ? undefined : log;
    return new LayerloomError('EXCHANGE_FAILED', { model: name, reason, log: of });
  }

  #asked(url: string, { signal }: ModelToHold): ServerClient {
    const { timeoutSeconds } = this.#settings;
    return new ServerClient(url, { timeoutSeconds, signal, needs: exchangeNeeds(this.#kind) });
  }

  async #formAt(url: string, model: ModelToHold): Promise<string> {
    const { root } = await this.#kind.model(this.#asked(url, model));
    const isHere = await stat(root).then(
      (found) => found.isDirectory(),
      () => false,
    );
    const weights = isHere ? await this.#weights.of(root) : undefined;
    if (weights === undefined)
      throw new PermanentError(
        `the server at ${url} was started for ${root}, which is not a checkpoint on this machine`,
      );
    return formOf(root, weights);
  }
}

class WeightsDifferError extends ServerError {
  readonly tensors: readonly string[];

  constructor(tensors: readonly string[]) {
    super(`${tensors.length} tensors differ`);
    this.tensors = tensors;
  }
}

/**
 * Refuses a server that other machines can reach: they could replace its weights and call functions in its workers.
 *
 * @throws PermanentError
 */
const refuseReached = async (url: string): Promise<void> => {
  const address = await reachedBy(url);
  if (address !== undefined)
    throw new PermanentError(
      `others could reach the server at ${url}, by ${address}: let it listen only at 127.0.0.1`,
    );
};

/** Identifies a checkpoint except its tensors' values. */
const formOf = async (path: string, weights: readonly TensorToLoad[]): Promise<string> => {
  const hash = createHash('sha256');
  const entries = await readdir(path, { withFileTypes: true });
  const small = entries.map(({ name }) => name).filter((name) => !notOfTheModel.includes(name));
  for (const name of small.filter((name) => !name.endsWith('.safetensors')).toSorted()) {
    // A dangling link is not part of the model.
    const found = await unlessMissing(join(path, name), stat(join(path, name)));
    if (found === undefined || !found.isFile()) continue;
    // Larger files are weights in another format, which servers do not load. So their size and time suffice.
    const content =
      found.size > mostSideFileBytes ? `${found.size} ${found.mtimeMs}` : await readFile(join(path, name));
    hash.update(`${JSON.stringify(name)} ${createHash('sha256').update(content).digest('hex')}\n`);
  }
  const shapes = weights.map(({ name, dtype, shape }) => JSON.stringify([name, dtype, shape]));
  return hash.update(shapes.toSorted().join('\n')).digest('hex');
};

const said = (text: string): Extract<z.infer<typeof workerSchema>, { loaded: unknown }> => {
  const read = workerSchema.safeParse(jsonOrNone(text));
  if (!read.success) throw new ServerError(`a worker said ${text.slice(0, 300)}`);
  if (!('reason' in read.data)) return read.data;
  throw new (read.data.permanent ? PermanentError : ServerError)(read.data.reason);
};
