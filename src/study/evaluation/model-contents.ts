import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { itemAt, valueAt } from '../../core/base/errors/lookup.js';
import { reading } from '../../core/base/files/writing.js';
import { parseAddress } from '../../core/models/address/address.js';
import type { CheckpointIndex } from '../../core/models/checkpoint/checkpoint.js';
import { indexFileName } from '../../core/models/checkpoint/containers/safetensors/shard-index.js';
import { withFewFiles } from '../../core/models/checkpoint/files/few-at-once.js';
import { cardName, provenanceName } from '../../core/models/checkpoint/files/file-names.js';
import { observePath } from '../../core/models/checkpoint/same/identity.js';
import { isBareAdapter, openModel } from '../../core/models/reading/read-model.js';
import { keyOfStored } from '../../core/plan/operands/stored.js';
import { shardKey } from '../../core/plan/shard-key.js';
import type { TensorReference } from '../../core/tensor/reference.js';
import { storedTensor } from '../../core/tensor/stored-tensor.js';
import { type KeyedShard, shardsOfMerge } from '../store/files/weights.js';

export interface Slot {
  readonly name: string;
  readonly bytes: number;
}

/** File's tensors, each with a text that identifies its bytes. */
export interface ContentPart {
  readonly slots: readonly Slot[];
  readonly contents: readonly string[];
}

export interface ModelContents {
  /** Identifies the small files beside the weights. Only models with equal forms can exchange weights. */
  readonly form: string;
  /** Parts of the weights; models that share a shard share its part. */
  readonly parts: readonly ContentPart[];
}

/** Files that do not affect the model's answers, as in `exchange.py`. */
export const notOfTheModel: readonly string[] = [provenanceName, cardName, indexFileName];

/** Files above this size, such as tokenizers, are identified by size. */
const mostHashedBytes = 1 << 16;

export interface SmallFile {
  readonly name: string;
  readonly size: number;
  /** Bytes; undefined for a large file. */
  readonly content: Buffer | undefined;
}

export const smallFile = async (
  name: string,
  size: number,
  read: () => Promise<Buffer>,
): Promise<SmallFile> => ({ name, size, content: size <= mostHashedBytes ? await read() : undefined });

/** True for files beside the weights that affect the model. */
export const isOfTheModel = (name: string): boolean =>
  !name.endsWith('.safetensors') && !notOfTheModel.includes(name) && !name.includes('/');

export const formOfFiles = (files: readonly SmallFile[]): string => {
  const hash = createHash('sha256');
  for (const { name, size, content } of files.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    hash.update(`${name} ${size}\n`);
    if (content !== undefined) hash.update(content);
  }
  return hash.digest('hex');
};

export const slotOf = (
  name: string,
  { begin, end, dtype, shape }: Pick<TensorReference, 'begin' | 'end' | 'dtype' | 'shape'>,
): Slot => ({ name: `${name} ${dtype} ${shape.join()}`, bytes: end - begin });

/** Identifies weights: merges by shard keys, checkpoints by file identities. Reads a shard's header once. */
export class ContentsReader {
  readonly #shards = new Map<string, Promise<ContentPart>>();
  /** Slots by their text, so that models share equal slots. */
  readonly #slots = new Map<string, readonly Slot[]>();
  readonly #sources: Source[] = [];

  /**
   * Returns a checkpoint's contents and keeps them for comparison with later merges.
   *
   * @returns undefined for adapters, GGUF and other formats than safetensors
   * @throws as `openModel`; INPUT_CHANGED, READ_FAILED
   */
  async ofModel(path: string): Promise<ModelContents | undefined> {
    const address = await parseAddress(path);
    if (address.kind !== 'model' || (await isBareAdapter(address))) return undefined;
    const checkpoint = await openModel(path);
    const { files, tensors } = checkpoint;
    if (!files.every((file) => file.path.startsWith(`${path}/`) && file.path.endsWith('.safetensors')))
      return undefined;
    if ([...tensors.values()].some(({ change }) => change !== undefined)) return undefined;
    const hashes = await Promise.all(files.map(async (file) => (await observePath(file, 'samples')).hash));
    const source = new Source(checkpoint, hashes);
    this.#sources.push(source);
    const parts = files.map((_, index): ContentPart => {
      const inFile = new Map([...tensors].filter(([, { file }]) => file === index));
      return {
        slots: this.#slotsOf(inFile),
        contents: [...inFile.values()].map((tensor) => source.textOf(tensor)),
      };
    });
    return { form: await formOf(path), parts };
  }

  /**
   * @returns undefined if the merge is not written
   * @throws as `openModel`; READ_FAILED
   */
  async ofMerge(directory: string): Promise<ModelContents | undefined> {
    const shards = await withFewFiles(() => shardsOfMerge(directory));
    if (shards === undefined) return undefined;
    const parts = await Promise.all(
      shards.map((shard) => {
        const part = this.#shards.get(shard.key) ?? this.#partOf(directory, shard);
        this.#shards.set(shard.key, part);
        // Does not cache a failure, because another merge may have an intact copy.
        part.catch(() => this.#shards.delete(shard.key));
        return part;
      }),
    );
    return { form: await formOf(directory), parts };
  }

  async #partOf(directory: string, { file, key }: KeyedShard): Promise<ContentPart> {
    const { tensors } = await openModel(join(directory, file));
    const slots = this.#slotsOf(tensors);
    const from = this.#sources.find((source) => source.keyOfCopies(tensors, slots) === key);
    return { slots, contents: from?.textsOf(tensors, slots) ?? slots.map(() => key) };
  }

  #slotsOf(tensors: ReadonlyMap<string, TensorReference>): readonly Slot[] {
    const slots = [...tensors].map(([name, tensor]) => slotOf(name, tensor));
    const text = slots.map(({ name }) => name).join('\n');
    const known = this.#slots.get(text) ?? slots;
    this.#slots.set(text, known);
    return known;
  }
}

class Source {
  readonly #tensors: CheckpointIndex['tensors'];
  readonly #hashes: readonly string[];
  readonly #keys = new Map<readonly Slot[], string | undefined>();
  readonly #texts = new Map<readonly Slot[], readonly string[]>();

  constructor({ tensors }: CheckpointIndex, hashes: readonly string[]) {
    this.#tensors = tensors;
    this.#hashes = hashes;
  }

  textOf(tensor: TensorReference): string {
    return keyOfStored(storedTensor(0, tensor), ({ file }) => itemAt(this.#hashes, file));
  }

  /** Returns the key of a shard of copied tensors; undefined if the checkpoint lacks such a tensor. */
  keyOfCopies(shard: ReadonlyMap<string, TensorReference>, slots: readonly Slot[]): string | undefined {
    if (this.#keys.has(slots)) return this.#keys.get(slots);
    const copies = [...shard].flatMap(([name, { dtype, shape }]) => {
      const own = this.#tensors.get(name);
      if (own === undefined) return [];
      return [{ name, dtype, shape, expression: { kind: 'copy' as const, source: storedTensor(0, own) } }];
    });
    const key =
      copies.length === shard.size ? shardKey(copies, ({ file }) => itemAt(this.#hashes, file)) : undefined;
    this.#keys.set(slots, key);
    return key;
  }

  textsOf(shard: ReadonlyMap<string, TensorReference>, slots: readonly Slot[]): readonly string[] {
    const texts =
      this.#texts.get(slots) ?? [...shard.keys()].map((name) => this.textOf(valueAt(this.#tensors, name)));
    this.#texts.set(slots, texts);
    return texts;
  }
}

const formOf = (directory: string): Promise<string> =>
  withFewFiles(() =>
    reading(directory, async () => {
      const files: SmallFile[] = [];
      for (const name of (await readdir(directory)).filter(isOfTheModel)) {
        const path = join(directory, name);
        const status = await stat(path);
        if (status.isFile()) files.push(await smallFile(name, status.size, () => readFile(path)));
      }
      return formOfFiles(files);
    }),
  );
