import { constants, type FileHandle, open, stat } from 'node:fs/promises';
import type { FileIdentity, FileState } from '../checkpoint/checkpoint.js';
import { observe, observeAgain } from '../checkpoint/identity.js';
import { LayerloomError, reasonOf } from '../errors.js';
import type { PlannedInput } from '../plan/plan.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';

/** A file that a plan reads. */
interface OpenInput {
  readonly file: FileIdentity;
  readonly handle: FileHandle;
  /** As it was found when the run began, or when it was last seen to be the same. */
  state: FileState;
  /** How many pieces of work are under way that make or remove hard links of it. */
  linking: number;
}

/**
 * The files that a plan reads, open for reading and nothing else. Only descriptors: their bytes are read by native code. What is computed from them is right if
 * `verify` passes after the last byte was read.
 */
export class InputFiles {
  readonly #inputs: readonly PlannedInput[];
  readonly #open: Map<string, OpenInput>;
  /** Paths of the files that were opened to be linked as they stand. */
  readonly linked: readonly string[];

  private constructor(
    planned: readonly PlannedInput[],
    opened: Map<string, OpenInput>,
    linked: readonly string[],
  ) {
    this.#inputs = planned;
    this.#open = opened;
    this.linked = linked;
  }

  /**
   * Opens what `sources` lie in and what is `linked` as it stands, and sees that it is what was planned: where numbers were taken from weights for the plan, nothing may have been written
   * since before that; elsewhere size, modification time and header must be the same.
   *
   * @throws LayerloomError READ_FAILED, INPUT_CHANGED
   */
  static async open(
    planned: readonly PlannedInput[],
    sources: readonly StoredTensor[],
    linked: ReadonlySet<string> = new Set(),
  ): Promise<InputFiles> {
    const files = [
      ...sources.map((source) => identityOf(planned, source)),
      ...planned.flatMap((input) => input.files.filter(({ path }) => linked.has(path))),
    ];
    const used = new Map(files.map((file) => [file.path, file]));
    const opened = new Map<string, OpenInput>();
    const inputs = new InputFiles(planned, opened, [...linked]);
    const openOne = async (file: FileIdentity): Promise<void> => {
      // What became a pipe is not waited for: its state says that it has changed.
      const handle = await open(file.path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
        (cause: unknown) => {
          throw new LayerloomError('READ_FAILED', { file: file.path, reason: reasonOf(cause) }, { cause });
        },
      );
      try {
        const state =
          file.seen === undefined
            ? await observe(handle, file)
            : await observeAgain(handle, file, file.seen, false);
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

  /** The plan's inputs, with the states of the files that are open. */
  get observed(): readonly PlannedInput[] {
    return this.#inputs.map((input) => ({
      ...input,
      files: input.files.map((file) => {
        const state = this.#open.get(file.path)?.state;
        return state === undefined ? file : { ...file, seen: state };
      }),
    }));
  }

  fdOf(source: StoredTensor): number {
    const fd = this.fdOfPath(this.pathOf(source));
    if (fd === undefined) throw new Error(`${this.pathOf(source)} is not open`);
    return fd;
  }

  /** Undefined for a file of which the plan reads nothing. */
  fdOfPath(path: string): number | undefined {
    return this.#open.get(path)?.handle.fd;
  }

  pathOf(source: StoredTensor): string {
    return identityOf(this.#inputs, source).path;
  }

  /** Names of the models that byte ranges are of, each once. */
  namesOf(sources: readonly StoredTensor[]): string[] {
    return [...new Set(sources.map(({ input }) => this.#inputs[input]?.name ?? ''))];
  }

  /**
   * Asks that files still be what they were before their first weight was read.
   *
   * @param paths by default all that are open; others are passed over
   * @throws LayerloomError INPUT_CHANGED, READ_FAILED
   */
  async verify(paths: Iterable<string> = this.#open.keys()): Promise<void> {
    for (const path of new Set(paths)) {
      const input = this.#open.get(path);
      if (input === undefined) continue;
      const before = input.state;
      const state = await observeAgain(input.handle, input.file, before, input.linking > 0);
      // Another call may have seen it meanwhile.
      if (input.state === before) input.state = state;
    }
  }

  /** @throws LayerloomError INPUT_CHANGED, READ_FAILED */
  verifySources(sources: readonly StoredTensor[]): Promise<void> {
    return this.verify(sources.map((source) => this.pathOf(source)));
  }

  /**
   * Asks that an open file still have its path, after the path was linked or copied.
   *
   * @throws LayerloomError INPUT_CHANGED, READ_FAILED
   */
  async verifyPath(path: string): Promise<void> {
    const input = this.#open.get(path);
    if (input === undefined) throw new Error(`${path} is not open`);
    const [held, named] = await Promise.all([
      input.handle.stat({ bigint: true }),
      stat(path, { bigint: true }).catch((cause: unknown) => {
        throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
      }),
    ]);
    if (held.ino !== named.ino || held.dev !== named.dev)
      throw new LayerloomError('INPUT_CHANGED', { file: path, reason: 'has been replaced' });
    await this.verify([path]);
  }

  /**
   * Does what makes or removes hard links of input files, which moves their status-change times. Only while this is under way a moved time is no
   * change where the content's hash is the same; what came before is looked at before.
   *
   * @throws LayerloomError INPUT_CHANGED, READ_FAILED
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
