import { type FileHandle, open } from 'node:fs/promises';
import type { FileIdentity } from '../checkpoint/checkpoint.js';
import { LayerloomError, reasonOf } from '../errors.js';
import type { PlannedInput, Source } from '../plan/plan.js';

/**
 * The files that a plan reads, open for reading and nothing else. Only descriptors: their bytes are read by native code.
 */
export class Inputs {
  readonly #inputs: readonly PlannedInput[];
  readonly #handles: ReadonlyMap<string, FileHandle>;

  private constructor(planned: readonly PlannedInput[], handles: ReadonlyMap<string, FileHandle>) {
    this.#inputs = planned;
    this.#handles = handles;
  }

  /** @throws LayerloomError READ_FAILED, INPUT_CHANGED */
  static async open(planned: readonly PlannedInput[], sources: readonly Source[]): Promise<Inputs> {
    const used = new Set(sources.map((source) => identityOf(planned, source).path));
    const handles = new Map<string, FileHandle>();
    const inputs = new Inputs(planned, handles);
    try {
      for (const path of used)
        handles.set(
          path,
          await open(path, 'r').catch((cause: unknown) => {
            throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
          }),
        );
      await inputs.verify();
      return inputs;
    } catch (error) {
      await inputs[Symbol.asyncDispose]();
      throw error;
    }
  }

  fdOf(source: Source): number {
    const fd = this.fdOfPath(this.pathOf(source));
    if (fd === undefined) throw new Error(`${this.pathOf(source)} is not open`);
    return fd;
  }

  /** Undefined for a file of which the plan reads nothing. */
  fdOfPath(path: string): number | undefined {
    return this.#handles.get(path)?.fd;
  }

  pathOf(source: Source): string {
    return identityOf(this.#inputs, source).path;
  }

  /**
   * Asks that every file still be what the plan saw: before the first byte is read, and after the last.
   *
   * @throws LayerloomError INPUT_CHANGED
   */
  async verify(): Promise<void> {
    for (const { path, bytes, mtimeNs } of this.#inputs.flatMap(({ files }) => files)) {
      const now = await this.#handles.get(path)?.stat({ bigint: true });
      if (now === undefined) continue;
      if (now.size !== BigInt(bytes))
        throw new LayerloomError('INPUT_CHANGED', {
          file: path,
          reason: `has changed from ${bytes} to ${now.size} bytes`,
        });
      if (String(now.mtimeNs) !== mtimeNs)
        throw new LayerloomError('INPUT_CHANGED', { file: path, reason: 'has been written' });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const handle of this.#handles.values()) await handle.close();
  }
}

const identityOf = (inputs: readonly PlannedInput[], { input, file }: Source): FileIdentity => {
  const identity = inputs[input]?.files[file];
  if (identity === undefined) throw new Error(`the plan has no file ${file} of input ${input}`);
  return identity;
};
