import { itemAt, ownValue, valueAt } from '../../../core/base/errors/lookup.js';
import { parseAddress } from '../../../core/models/address/address.js';
import { isBareAdapter, openModel } from '../../../core/models/reading/read-model.js';
import { bitsOf, type Dtype } from '../../../core/tensor/dtype.js';
import { FilesToRead, hashRanges, type Range, sampledRanges } from '../data/local/file-ranges.js';
import type { ComparedShare } from '../evaluation-block.js';

export interface PlacedTensor {
  readonly name: string;
  /** Absolute path of a safetensors file; offsets count from its start. */
  readonly file: string;
  readonly begin: number;
  readonly end: number;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
}

export interface TensorToLoad extends PlacedTensor {
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly key: string;
}

/** Weights of an unwritten merge. The merge's directory has the files of another model, the donor. */
export interface WeightsInPlace {
  readonly tensors: readonly PlacedTensor[];
  /** Tensors of the directory's files, with the same names, shapes and dtypes. */
  readonly donated: readonly PlacedTensor[];
}

/** Program's hashes of tensors, whole or sampled. */
export type Fingerprint = Readonly<Record<string, { readonly whole: string } | { readonly samples: string }>>;

/** Dtypes that can be exchanged, as in `exchange.py`. */
export const exchangedDtypes: readonly Dtype[] = [
  ...(['F64', 'F32', 'F16', 'BF16'] as const),
  ...(['I64', 'I32', 'I16', 'I8', 'U8', 'BOOL'] as const),
];

/** Number of samples of a tensor, as in `exchange.py`. */
const samples = 8;

/** Identifies tensors by hashes of their bytes. Hashes a range of a file once, even if merges share it. */
export class WeightsToLoad {
  readonly #keys = new Map<string, Promise<string>>();

  /**
   * @returns undefined for adapters, GGUF and other formats than safetensors
   * @throws as `openModel`; READ_FAILED
   */
  async of(path: string): Promise<readonly TensorToLoad[] | undefined> {
    const address = await parseAddress(path);
    if (address.kind !== 'model' || (await isBareAdapter(address))) return undefined;
    const { files, tensors } = await openModel(path);
    if (!files.every((file) => file.path.endsWith('.safetensors'))) return undefined;
    if ([...tensors.values()].some(({ change }) => change !== undefined)) return undefined;
    const placed = [...tensors].map(([name, { file, begin, end, dtype, shape }]) => {
      return { name, file: itemAt(files, file).path, begin, end, dtype, shape };
    });
    return await this.at(placed);
  }

  /** @throws READ_FAILED */
  async at(tensors: readonly PlacedTensor[]): Promise<readonly TensorToLoad[]> {
    await using files = new FilesToRead();
    const identities = new Map<string, string>();
    try {
      for (const file of new Set(tensors.map((tensor) => tensor.file))) {
        const { dev, ino, size, mtimeNs } = await files.read(file, (handle) => handle.stat({ bigint: true }));
        identities.set(file, `${dev} ${ino} ${size} ${mtimeNs}`);
      }
      const found: TensorToLoad[] = [];
      for (const tensor of tensors) {
        const { file, begin, end } = tensor;
        const range = `${valueAt(identities, file)} ${begin} ${end}`;
        const key = this.#keys.get(range) ?? files.read(file, (handle) => hashRanges(handle, [[begin, end]]));
        this.#keys.set(range, key);
        found.push({ ...tensor, key: await key });
      }
      return found;
    } catch (error) {
      this.#keys.clear();
      throw error;
    }
  }
}

const samplesOf = ({ begin, end, dtype }: TensorToLoad): readonly Range[] =>
  sampledRanges([[begin, end]], samples, bitsOf(dtype) / 8);

/**
 * Returns tensors that differ between a program and its files, or that the program does not report.
 *
 * @param asked `whole` rejects samples
 * @throws READ_FAILED
 */
export const tensorsThatDiffer = async (
  weights: readonly TensorToLoad[],
  fingerprint: Fingerprint,
  asked: ComparedShare,
): Promise<string[]> => {
  await using files = new FilesToRead();
  const differing: string[] = [];
  for (const tensor of weights) {
    const said = ownValue(fingerprint, tensor.name);
    if (said !== undefined && 'samples' in said && asked === 'samples') {
      const hash = await files.read(tensor.file, (handle) => hashRanges(handle, samplesOf(tensor)));
      if (hash === said.samples) continue;
    } else if (said !== undefined && 'whole' in said && said.whole === tensor.key) continue;
    differing.push(tensor.name);
  }
  return differing;
};
