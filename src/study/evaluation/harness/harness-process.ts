import type { ChildProcess } from 'node:child_process';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { shellWord } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { shipped } from '../../../core/base/files/shipped.js';
import { endGroup, spawnGroup } from '../../../core/programs/process.js';
import { pythonOfHarness } from '../../../core/programs/python-of-harness.js';
import { jsonOrNone } from '../../../core/texts/json.js';
import { tensorsThatDiffer, type WeightsInPlace, WeightsToLoad } from '../servers/weights-to-load.js';
import type { EvaluationSettings } from '../settings.js';

/** Tested version; other versions cause a warning. */
export const knownHarnessVersion = '0.4.13';

/** Python program that runs the harness for several models, and its protocol's version. */
const program = shipped('python/layerloom_eval');
const programVersion = 1;

/** Time limit for the program's greeting, sent before its imports. */
const greetingMs = 30_000;

const greetingSchema = z.object({
  program: z.literal(programVersion),
  lm_eval: z.string().nullable(),
  /** Functions and arguments that layerloom uses and this version lacks. */
  lacks: z.array(z.string()).default([]),
});

/** Command line of 0.4.10 and later; older harnesses are unsupported. */
const commandLineOfRuns = 'lm_eval run --config';

interface NotKept {
  readonly reason: string;
  readonly isTooOld?: boolean;
}

const fingerprintSchema = z.record(
  z.string(),
  z.union([z.object({ whole: z.string() }), z.object({ samples: z.string() })]),
);

const loadedSchema = z.object({ tensors: z.number(), bytes: z.number(), whole: z.boolean() });

/** A line that the program prints: at most one line between loading and the first request, and one line at the end. */
const lineSchema = z.union([
  z.object({ loaded: loadedSchema, fingerprint: fingerprintSchema }),
  z.object({ code: z.number(), text: z.string().optional() }),
]);

export interface LoadedWeights {
  /** True if the back end loaded the whole model itself. */
  readonly whole: boolean;
  readonly bytes: number;
  readonly ofBytes: number;
}

export interface HarnessEnd {
  readonly code: number | null;
  readonly by: NodeJS.Signals | null;
  readonly text?: string | undefined;
}

export interface TrialWords {
  readonly prompt: string;
  readonly max_tokens: number;
  readonly chat: boolean;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Tensors that differ from their files; the process then ended without answering. */
export interface WrongWeights {
  readonly differing: readonly string[];
}

interface ProcessRun {
  /** Words after `lm_eval`, or a prompt. */
  readonly words: readonly string[] | TrialWords;
  /** Log file, to which output is appended. */
  readonly log: string;
  /** Absolute path of a checkpoint, or the weights of an unwritten merge. Undefined if a server has them. */
  readonly weights: string | WeightsInPlace | undefined;
  /** How tensors that stay loaded are checked. */
  readonly fingerprint: EvaluationSettings['fingerprint'];
  /** Called after loading, before the first request. */
  readonly onLoaded: (loaded: LoadedWeights) => void;
}

/** True for back ends that can release a model: transformers, and HTTP servers. */
export const canServeMoreRuns = ({ backend }: Pick<EvaluationSettings, 'backend'>): boolean =>
  backend === 'hf' || /completions$/.test(backend);

const isTrial = (words: readonly string[] | TrialWords): words is TrialWords => 'prompt' in words;

/**
 * True if successive models share a process or server that loads only tensors that differ. Sharing a
 * process needs a harness whose Python is known; its version is checked when the process starts.
 *
 * @param separate true for one process per model
 */
export const exchangesWeights = async (
  {
    backend,
    serve,
    baseUrls,
    exchange,
  }: Pick<EvaluationSettings, 'backend' | 'serve' | 'baseUrls' | 'exchange'>,
  command: string,
  separate = false,
): Promise<boolean> => {
  if (exchange !== undefined) return !separate || serve === undefined;
  if (separate || backend !== 'hf' || serve !== undefined || baseUrls.length > 0) return false;
  return (await pythonOfHarness(command, process.env['PATH'] ?? '')) !== undefined;
};

interface Session {
  readonly child: ChildProcess;
  readonly lines: AsyncIterator<string>;
  readonly ended: Promise<HarnessEnd>;
}

/** A harness process for successive models. The first run, or the next after a failure, starts it. */
export class HarnessProcess implements AsyncDisposable {
  readonly #command: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #weights: WeightsToLoad;
  #session: Session | undefined;
  #notKept: NotKept | undefined;

  /** @param weights shared finder of the tensors to load */
  constructor(
    command: string,
    environment: Readonly<Record<string, string>>,
    weights: WeightsToLoad = new WeightsToLoad(),
  ) {
    this.#command = command;
    this.#environment = environment;
    this.#weights = weights;
  }

  /** Why the process cannot be shared; undefined if it can or is not yet known. */
  get notKept(): NotKept | undefined {
    return this.#notKept;
  }

  /**
   * @returns undefined if the process cannot be shared: functions are missing, or its Python is unknown
   * @throws HARNESS_MISSING if its command line is too old
   */
  async run({
    words,
    log,
    weights: asked,
    fingerprint,
    onLoaded,
  }: ProcessRun): Promise<HarnessEnd | WrongWeights | undefined> {
    const session = await this.#start(log);
    if (session === undefined) return undefined;
    const { child, lines, ended } = session;
    const isInPlace = typeof asked === 'object';
    const weights =
      typeof asked === 'string'
        ? await this.#weights.of(asked)
        : asked && (await this.#weights.at(asked.tensors));
    const there = isInPlace ? await this.#weights.at(asked.donated) : undefined;
    const say = (message: object) => (child.stdin as Writable).write(`${JSON.stringify(message)}\n`);
    const what = isTrial(words) ? { trial: words } : { words };
    say({ ...what, log, fingerprint, weights: weights ?? null, there: there ?? null });
    let isAgreed = false;
    for (;;) {
      const next = await Promise.race([lines.next(), ended.then(() => undefined)]);
      const line =
        next === undefined || next.done ? undefined : lineSchema.safeParse(jsonOrNone(next.value)).data;
      if (line === undefined) {
        await this.end();
        return await ended;
      }
      // If fingerprints were not compared, the process loaded the directory's files, which belong to another model.
      if ('code' in line && line.code === 0 && isInPlace && !isAgreed)
        return { differing: asked.tensors.map(({ name }) => name) };
      if ('code' in line) return { by: null, ...line };
      const differing = await tensorsThatDiffer(weights ?? [], line.fingerprint, fingerprint);
      if (differing.length > 0) {
        await this.end();
        return { differing };
      }
      const ofBytes = (weights ?? []).reduce((sum, { begin, end }) => sum + end - begin, 0);
      onLoaded({ whole: line.loaded.whole, bytes: line.loaded.bytes, ofBytes });
      isAgreed = true;
      say({ go: true });
    }
  }

  /** Ends the process; the next run starts a new one. */
  async end(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    if (session === undefined) return;
    await endGroup(session.child);
    await session.ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  async #start(log: string): Promise<Session | undefined> {
    if (this.#session?.child.exitCode === null && this.#session.child.signalCode === null)
      return this.#session;
    await this.end();
    if (this.#notKept !== undefined) return undefined;
    const env = { ...process.env, ...this.#environment };
    const python = await pythonOfHarness(this.#command, env['PATH'] ?? '');
    const found: Session | NotKept =
      python === undefined
        ? { reason: 'its Python cannot be found from its command' }
        : await greeted(python, log, env);
    if ('child' in found) {
      this.#session = found;
      return found;
    }
    this.#notKept = found;
    if (found.isTooOld)
      throw new LayerloomError('HARNESS_MISSING', { command: this.#command, reason: found.reason });
    return undefined;
  }
}

const greeted = async (python: string, log: string, env: NodeJS.ProcessEnv): Promise<Session | NotKept> => {
  const errors = await open(log, 'a');
  let child: ChildProcess;
  try {
    child = spawnGroup(`exec ${python} ${shellWord(program)}`, [], { output: errors.fd, piped: true, env });
  } catch (error) {
    await errors.close();
    throw error;
  }
  const ended = new Promise<HarnessEnd>((resolve) => {
    child.once('exit', (code, by) => resolve({ code, by }));
    child.once('error', () => resolve({ code: 127, by: null }));
  });
  await errors.close();
  // If the process ends before reading a request, `ended` reports it.
  (child.stdin as Writable).on('error', () => undefined);
  const lines = createInterface(child.stdout as Readable)[Symbol.asyncIterator]();
  const late = new AbortController();
  const first = await Promise.race([
    lines.next(),
    ended.then(() => undefined),
    pause(greetingMs, undefined, { signal: late.signal }).catch(() => undefined),
  ]);
  late.abort();
  const text = first === undefined || first.done ? undefined : first.value;
  const greeting = text === undefined ? undefined : greetingSchema.safeParse(jsonOrNone(text)).data;
  const { lm_eval: version = null, lacks = [] } = greeting ?? {};
  const [lacked] = lacks;
  const is04 = /^0\.4\.\d/.test(version ?? '');
  if (is04 && lacked === undefined) return { child, lines, ended };
  await endGroup(child);
  if (version === null) return { reason: 'its Python has no lm_eval' };
  return {
    reason: `it is lm_eval ${version}, and ${is04 ? `lacks ${lacked}` : 'none of 0.4'}`,
    isTooOld: lacks.includes(commandLineOfRuns),
  };
};
