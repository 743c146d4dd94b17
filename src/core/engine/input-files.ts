import { stat } from 'node:fs/promises';
import { LayerloomError } from '../base/errors/errors.js';
import { itemAt } from '../base/errors/lookup.js';
import { reading } from '../base/files/writing.js';
import type { FileIdentity, FileState } from '../models/checkpoint/checkpoint.js';
import { type OpenInput, openInput } from '../models/checkpoint/files/open-input.js';
import { checkTime, observe, observeAgain } from '../models/checkpoint/same/identity.js';
import type { PlannedInput } from '../plan/plan.js';
import type { IdOfSource, StoredTensor } from '../tensor/stored-tensor.js';

interface OpenFile {
  readonly file: FileIdentity;
  readonly handle: OpenInput;
  /** The state when the run began, or when content was last verified; undefined for a glance. */
  state: FileState | undefined;
  /** Number of running operations that change its hard links. */
  linking: number;
}

/** Open input files. Results are valid if `verify` succeeds after the last read. */
export class InputFiles {
  readonly #inputs: readonly PlannedInput[];
  readonly #open: Map<string, OpenFile>;
  readonly linked: readonly string[];

  private constructor(
    planned: readonly PlannedInput[],
    opened: Map<string, OpenFile>,
    linked: readonly string[],
  ) {
    this.#inputs = planned;
    this.#open = opened;
    this.linked = linked;
  }

  /**
   * Opens a plan's files. A file with a recorded state (`seen`) must be unchanged since its weights were
   * measured; others must match the plan's size, modification time and header.
   *
   * @param isGlance checks size and mtime alone, for results that no file keeps
   *
   * @throws READ_FAILED, INPUT_CHANGED
   */
  static async open(
    planned: readonly PlannedInput[],
    sources: readonly StoredTensor[],
    linked: ReadonlySet<string> = new Set(),
    isGlance = false,
  ): Promise<InputFiles> {
    const files = [
      ...sources.map((source) => identityOf(planned, source)),
      ...planned.flatMap((input) => input.files.filter(({ path }) => linked.has(path))),
    ];
    const used = new Map(files.map((file) => [file.path, file]));
    const opened = new Map<string, OpenFile>();
    const inputs = new InputFiles(planned, opened, [...linked]);
    const openOne = async (file: FileIdentity): Promise<void> => {
      // A file that became a pipe has another state than recorded.
      const handle = await reading(file.path, () => openInput(file.path));
      try {
        const state = await (isGlance
          ? checkTime(handle, file)
          : file.seen === undefined
            ? observe(handle, file)
            : observeAgain(handle, file, file.seen, false));
        opened.set(file.path, { file, handle, state, linking: 0 });
      } catch (error) {
        await handle.close();
        throw error;
      }
    };
    const results = await Promise.allSettled([...used.values()].map(openOne));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure === undefined) return inputs;
    await inputs[Symbol.asyncDispose]();
    throw failure.reason;
  }

  get observed(): readonly PlannedInput[] {
    return this.#inputs.map((input) => ({
      ...input,
      files: input.files.map((file) => {
        const state = this.#open.get(file.path)?.state;
        return state === undefined ? file : { ...file, seen: state };
      }),
    }));
  }

  readonly fdOf = (source: StoredTensor): number => {
    const fd = this.fdOfPath(this.pathOf(source));
    if (fd === undefined) throw new Error(`${this.pathOf(source)} is not open`);
    return fd;
  };

  fdOfPath(path: string): number | undefined {
    return this.#open.get(path)?.handle.fd;
  }

  /** Returns a text that is equal for equal ranges of a file. */
  readonly idOf: IdOfSource = (source) => `${this.pathOf(source)} ${source.begin} ${source.end}`;

  readonly pathOf = (source: StoredTensor): string => identityOf(this.#inputs, source).path;

  namesOf(sources: readonly StoredTensor[]): string[] {
    return [...new Set(sources.map(({ input }) => itemAt(this.#inputs, input).name))];
  }

  /**
   * Checks that files have not changed since before the first read.
   *
   * @param paths default: all open files; ignores files that are not open
   * @throws INPUT_CHANGED, READ_FAILED
   */
  async verify(paths: Iterable<string> = this.#open.keys()): Promise<void> {
    for (const path of new Set(paths)) {
      const input = this.#open.get(path);
      if (input === undefined) continue;
      const before = input.state;
      const state = await (before === undefined
        ? checkTime(input.handle, input.file)
        : observeAgain(input.handle, input.file, before, input.linking > 0));
      // A concurrent call may have updated the state.
      if (input.state === before) input.state = state;
    }
  }

  /** @throws INPUT_CHANGED, READ_FAILED */
  verifySources(sources: readonly StoredTensor[]): Promise<void> {
    return this.verify(sources.map((source) => this.pathOf(source)));
  }

  /**
   * Checks that a path still names the open file and that the file is unchanged.
   *
   * @throws INPUT_CHANGED, READ_FAILED
   */
  async verifyPath(path: string): Promise<void> {
    const input = this.#open.get(path);
    if (input === undefined) throw new Error(`${path} is not open`);
    const [held, named] = await reading(path, () =>
      Promise.all([input.handle.stat({ bigint: true }), stat(path, { bigint: true })]),
    );
    // A hub model's incomplete file may be replaced by the complete one.
    const isReplaced = held.ino !== named.ino || held.dev !== named.dev;
    if (isReplaced && input.file.content === undefined)
      throw new LayerloomError('INPUT_CHANGED', { file: path, reason: 'has been replaced' });
    await this.verify([path]);
  }

  /**
   * Runs `work`, which makes or removes hard links to input files and so changes their ctime. Meanwhile, a
   * new ctime is accepted if the content has the same hash.
   *
   * @throws INPUT_CHANGED, READ_FAILED
   */
  async whileLinking<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
    const files = [...new Set(paths)].flatMap((path) => this.#open.get(path) ?? []);
    await this.verify(paths);
    for (const input of files) input.linking += 1;
    try {
      const result = await work();
      await this.verify(paths);
      return result;
    } finally {
      for (const input of files) input.linking -= 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { handle } of this.#open.values()) await handle.close();
  }
}

const identityOf = (inputs: readonly PlannedInput[], { input, file }: StoredTensor): FileIdentity => {
  const identity = inputs[input]?.files[file];
  if (identity === undefined) throw new Error(`the plan has no file ${file} of input ${input}`);
  return identity;
};
