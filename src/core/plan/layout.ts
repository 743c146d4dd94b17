import { invalidParameter } from '../base/errors/invalid-parameter.js';
import { groupBy } from '../base/errors/lookup.js';
import { adapterWeightsName } from '../models/adapters/peft-config.js';
import type { Place } from '../models/architecture/architecture.js';
import { writer } from '../models/checkpoint/containers/containers.js';
import type { Layout } from '../models/checkpoint/layouts.js';
import { isModuleWeights, moduleOf, moduleWeightsName } from '../models/checkpoint/module-folders.js';
import type { Dtype } from '../tensor/dtype.js';
import { elementCount, type Shape } from '../tensor/reference.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import type { MergePlan, PlannedExpression, PlannedShard, PlannedTensor } from './plan.js';
import { nameInFile, placedInFile, tensorsInFile } from './tensors-in-file.js';

export interface LayoutOptions {
  readonly layout: Layout;
  /** Maximum bytes of tensors in a shard; a larger tensor gets its own shard. */
  readonly maxShardBytes: number;
}

/** An output tensor without its position in a file. */
export interface UnplacedTensor {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly bytes: number;
  readonly place: Place;
  readonly expression: PlannedExpression;
  readonly part?: PlannedTensor['part'];
}

export const defaultShardSize = '5GB';

const units: Readonly<Record<string, number>> = {
  ...{ '': 1, K: 1e3, M: 1e6, G: 1e9, B: 1e9, T: 1e12 },
  ...{ KI: 2 ** 10, MI: 2 ** 20, GI: 2 ** 30, TI: 2 ** 40 },
};

/**
 * Parses `5GB`, `500MB`, `5GiB`, `5e9` or `5000000000`. As in mergekit, `5B` is five billion.
 *
 * @throws INVALID_PARAMETER
 */
export const parseShardSize = (size: string | number): number => {
  const groups =
    /^(?<number>\d+(\.\d+)?(e\d+)?)\s*(?<unit>(?:[KMGT]i(?=B)|[KMGTB])?)(?:(?<=[KMGTi])B)?$/i.exec(
      String(size).trim(),
    )?.groups;
  const bytes = Math.floor(
    Number(groups?.['number']) * (units[groups?.['unit']?.toUpperCase() ?? ''] ?? Number.NaN),
  );
  if (!Number.isSafeInteger(bytes) || bytes < 1)
    throw invalidParameter('max-shard-size', size, 'a size such as 5GB or 500MB');
  return bytes;
};

/** An input file that may become an output shard unchanged. */
export interface InputFile {
  readonly bytes: number;
  readonly tensors: ReadonlyMap<string, number>;
}

/** Returns a source's file; undefined if loaders would refuse it as an output shard. */
export type InputFileOf = (source: StoredTensor) => InputFile | undefined;

/**
 * Assigns files and positions to tensors.
 *
 * @param form adapters are always one file
 */
export const layOut = (
  tensors: readonly UnplacedTensor[],
  options: LayoutOptions,
  inputFileOf: InputFileOf,
  form?: MergePlan['form'],
): PlannedShard[] =>
  divide(tensors, options, form).map(({ file, tensors: inFile }) => placeIn(file, inFile, inputFileOf));

export interface UnplacedShard<T extends UnplacedTensor = UnplacedTensor> {
  readonly file: string;
  readonly tensors: readonly T[];
}

export const divide = <T extends UnplacedTensor>(
  tensors: readonly T[],
  { layout, maxShardBytes }: LayoutOptions,
  form: MergePlan['form'],
): UnplacedShard<T>[] => {
  if (form === 'adapter') return [{ file: adapterWeightsName, tensors }];
  const { '': own = [], ...modules } = Object.fromEntries(groupBy(tensors, folderOf));
  const groups = layout === 'layer' ? groupByLayer(own) : [inModelOrder(own)];
  const shards = groups.flatMap((group) => fill(group, maxShardBytes));
  return [
    ...shards.map((shard, index) => ({ file: writer.shardName(index, shards.length), tensors: shard })),
    // A module's folder has one file in every layout, because the module's loader reads only that file.
    ...Object.entries(modules).map(([folder, inFolder]) => ({
      file: `${folder}/${moduleWeightsName}`,
      tensors: inFolder,
    })),
  ];
};

const folderOf = ({ name }: Named): string => moduleOf(name)?.folder ?? '';

export const placeIn = (
  file: string,
  tensors: readonly UnplacedTensor[],
  inputFileOf: InputFileOf,
): PlannedShard => asInputFile(tensors, file, inputFileOf) ?? placeInFile(tensors, file);

/** Orders embeddings, layers from the bottom, other tensors, final norm, head. */
const orderOf = ({ layer, role }: Place): number => {
  if (role === 'embedding') return -1;
  if (layer !== undefined) return layer;
  const behindLayers = ['finalNorm', 'head'].indexOf(role);
  return Number.MAX_SAFE_INTEGER - (behindLayers === -1 ? 0 : 2 - behindLayers);
};

const inModelOrder = <T extends UnplacedTensor>(tensors: readonly T[]): T[] =>
  [...tensors].sort((a, b) => orderOf(a.place) - orderOf(b.place) || compareInFile(a, b));

/** Compares names in a file. Parts of a tensor compare as equal, so sorting keeps their order. */
const compareInFile = (a: Named, b: Named): number =>
  writer.compare({ ...a, name: nameInFile(a) }, { ...b, name: nameInFile(b) });

const groupByLayer = <T extends UnplacedTensor>(tensors: readonly T[]): T[][] => {
  const groups: T[][] = [];
  for (const tensor of inModelOrder(tensors)) {
    const group = groups.at(-1);
    const neighbour = group?.[0];
    if (group === undefined || neighbour === undefined || orderOf(neighbour.place) !== orderOf(tensor.place))
      groups.push([tensor]);
    else group.push(tensor);
  }
  return groups;
};

const fill = <T extends UnplacedTensor>(tensors: readonly T[], maxShardBytes: number): T[][] => {
  const shards: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const inFile of groupBy(tensors, nameInFile).values()) {
    const own = inFile.reduce((total, tensor) => total + tensor.bytes, 0);
    if (bytes + own > maxShardBytes) {
      shards.push([]);
      bytes = 0;
    }
    shards.at(-1)?.push(...inFile);
    bytes += own;
  }
  return shards;
};

/** Returns the input file that a shard equals; undefined unless it copies exactly one file's tensors. */
const asInputFile = (
  tensors: readonly UnplacedTensor[],
  file: string,
  inputFileOf: InputFileOf,
): PlannedShard | undefined => {
  const sources = tensors.flatMap(({ expression }) =>
    expression.kind === 'copy' ? [expression.source] : [],
  );
  const [first] = sources;
  if (first === undefined || sources.length !== tensors.length) return undefined;
  if (!sources.every((source) => source.input === first.input && source.file === first.file))
    return undefined;
  const whole = inputFileOf(first);
  const names = groupBy(tensors, nameInFile);
  if (whole?.tensors.size !== names.size) return undefined;
  const placed = tensors.map(({ name, dtype, shape, place, expression, part }, index): PlannedTensor => {
    const { begin = 0, end = 0 } = sources[index] ?? {};
    return { name, dtype, shape, begin, end, layer: place.layer ?? null, expression, ...partIn(part) };
  });
  const inOrder = placed.sort((a, b) => a.begin - b.begin || a.end - b.end);
  // Compares offsets: swapped layers or experts would have other offsets.
  const isSame = placedInFile(inOrder).every(({ name, begin }) => whole.tensors.get(name) === begin);
  const inPlace = [...groupBy(inOrder, nameInFile)].every(([name, parts]) =>
    parts.every((part, index) => part.name === names.get(name)?.[index]?.name),
  );
  if (!isSame || !inPlace) return undefined;
  return { file, bytes: whole.bytes, verbatim: { input: first.input, file: first.file }, tensors: inOrder };
};

type Named = Pick<UnplacedTensor, 'name' | 'dtype' | 'part'>;

const partIn = (part: PlannedTensor['part']): Pick<PlannedTensor, 'part'> =>
  part === undefined ? {} : { part };

const placeInFile = (tensors: readonly UnplacedTensor[], file: string): PlannedShard => ({
  file,
  ...placeAfterHeader(tensors.map(({ place, ...tensor }) => ({ ...tensor, layer: place.layer ?? null }))),
});

const placeAfterHeader = (
  tensors: readonly (Omit<PlannedTensor, 'begin' | 'end'> & { readonly bytes: number })[],
): Pick<PlannedShard, 'bytes' | 'tensors'> => {
  const inOrder = [...tensors].sort(compareInFile);
  let position = writer.encodeHeader(tensorsInFile(inOrder)).length;
  const planned = inOrder.map(({ name, dtype, shape, bytes, layer, expression, part }) => {
    const begin = position;
    position += bytes;
    return { name, dtype, shape, begin, end: position, layer, expression, ...partIn(part) };
  });
  return { bytes: position, tensors: planned };
};

export const partOfShard = (tensors: readonly PlannedTensor[]): Pick<PlannedShard, 'bytes' | 'tensors'> =>
  placeAfterHeader(tensors.map((tensor) => ({ ...tensor, bytes: tensor.end - tensor.begin })));

/** Returns the index's text; undefined for a single file. */
export const indexTextOf = (planned: readonly PlannedShard[]): string | undefined => {
  const shards = planned.filter(({ file }) => !isModuleWeights(file));
  if (shards.length < 2) return undefined;
  const places = new Map<string, string>();
  let [parameters, bytes] = [0, 0];
  for (const { file, tensors } of shards)
    for (const tensor of tensors) {
      places.set(nameInFile(tensor), file);
      parameters += elementCount(tensor.shape) ?? 0;
      bytes += tensor.end - tensor.begin;
    }
  return writer.encodeIndex(places, { total_parameters: parameters, total_size: bytes });
};
