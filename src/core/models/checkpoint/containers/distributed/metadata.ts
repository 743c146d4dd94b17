import { LayerloomError } from '../../../../base/errors/errors.js';
import { groupBy, itemAt } from '../../../../base/errors/lookup.js';
import { isCount } from '../../../../base/is-count.js';
import type { Dtype } from '../../../../tensor/dtype.js';
import { elementCount, type Shape } from '../../../../tensor/reference.js';
import { staysInside } from '../../../address/file-name.js';
import { extensions } from '../extensions.js';
import { short } from '../short-name.js';
import { dtypeOfGlobal } from '../torch/globals.js';
import { invalidTorchFile, unsupported } from '../torch/refusals.js';
import { usualKeys } from '../torch/state-dict.js';
import {
  type DictValue,
  globalName,
  isDict,
  listItems,
  type ObjectValue,
  objectOf,
  tupleItems,
  type Value,
} from '../torch/values.js';
import { classes, readMetadataPickle } from './pickle.js';

export const metadataName = '.metadata';
export const extension = extensions.distributed;

/** A piece of a tensor, which is a torch.save stream in a file. */
export interface PlacedPiece {
  readonly tensor: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly at: Shape;
  readonly sizes: Shape;
  readonly file: string;
  readonly offset: number;
  readonly length: number;
}

/** Formats `model.norm.weight at [16]`. */
export const pieceName = ({ tensor, at }: Pick<PlacedPiece, 'tensor' | 'at'>): string =>
  `${tensor} at [${at.join(', ')}]`;

/**
 * Parses `.metadata` of torch.distributed.checkpoint. Returns the pieces of the model's tensors, without
 * optimizer state, a run's numbers, and pickled values.
 *
 * @throws HEADER_INVALID, INDEX_INVALID, INDEX_UNSAFE_NAME, SHAPE_OVERFLOW; PICKLE_RUNS_CODE for a class that
 * does not describe tensors; WEIGHTS_UNSUPPORTED unless there is exactly one model
 */
export const parseMetadata = (bytes: Uint8Array, file: string): readonly PlacedPiece[] => {
  const root = new Fields(readMetadataPickle(bytes, file), classes.metadata, file);
  const entries = root.dict('state_dict_metadata');
  const places = placesIn(root.dict('storage_data'), file);
  return modelIn(entries, root.value('planner_data'), file).flatMap(({ name, key, tensor }) =>
    piecesOf(name, key, tensor, places, file),
  );
};

class Fields {
  readonly #items: ReadonlyMap<Value, Value>;
  readonly #file: string;

  constructor(value: Value | undefined, name: string, file: string) {
    const state = objectOf(value, name)?.state;
    if (!isDict(state)) throw invalidTorchFile(file, `it lacks an object ${short(name)}, or its attributes`);
    this.#items = state.items;
    this.#file = file;
  }

  value(name: string): Value | undefined {
    return this.#items.get(name);
  }

  dict(name: string): DictValue {
    const value = this.value(name);
    if (!isDict(value)) throw invalidTorchFile(this.#file, `its ${name} is no dictionary`);
    return value;
  }

  counts(name: string): readonly number[] {
    const items = tupleItems(this.value(name));
    if (items === undefined || items.length > 64 || !items.every(isCount))
      throw invalidTorchFile(this.#file, `its ${name} is not a list of at most 64 counts`);
    return items;
  }

  count(name: string): number {
    const value = this.value(name);
    if (!isCount(value)) throw invalidTorchFile(this.#file, `its ${name} is no count`);
    return value;
  }
}

interface Entry {
  /** The key's path before it was flattened: all but the last part, and the last part. */
  readonly under: string;
  readonly name: string;
  readonly isModel: boolean;
  readonly key: string;
  readonly tensor: ObjectValue;
}

/** Path parts under which trainers nest a model's state. */
const nesting: ReadonlySet<string> = new Set([...usualKeys, 'app', 'model_state_dict']);
const isNesting = (part: string): boolean => nesting.has(part);

/** First parts of keys of a trainer's own state, in checkpoints without paths. */
const ofTraining = /^(optim\w*|lr_scheduler\w*|scheduler\w*|rng\w*|dataloader\w*|train_state)\./;

/** Finds the model's tensors: in the only nesting of a model, or at the top. */
const modelIn = (entries: DictValue, paths: Value | undefined, file: string): readonly Entry[] => {
  const entryOf = ([key, value]: readonly [Value, Value]): readonly Entry[] => {
    if (typeof key !== 'string') throw invalidTorchFile(file, 'it has a key that is no text');
    const tensor = objectOf(value, classes.tensor);
    if (tensor === undefined && objectOf(value, classes.bytes) === undefined)
      throw invalidTorchFile(file, `it describes ${short(key)} as neither a tensor nor bytes`);
    const path = pathOf(key, paths);
    const [under, name] = [path.slice(0, -1), itemAt(path, path.length - 1)];
    return tensor === undefined
      ? []
      : [{ under: under.join('.'), isModel: under.every(isNesting), name, key, tensor }];
  };
  const found = [...entries.items].flatMap(entryOf);
  const models = groupBy(
    found.filter(({ isModel }) => isModel),
    ({ under }) => under,
  );
  const others = found.find(({ isModel }) => !isModel)?.under ?? '';
  const [within, ...more] = [...models.keys()].filter((nested) => nested !== '');
  const top = models.get('') ?? [];
  const [among, ...rest] =
    within === undefined ? [''] : [within, ...more, ...(top.every(isNumber) ? [] : ['its top'])];
  const model = models.get(among);
  if (model === undefined)
    throw unsupported(
      file,
      `it holds no tensors of a model${others === '' ? '' : `, and some under ${short(others)}`}`,
    );
  if (rest.length > 0)
    throw unsupported(
      file,
      `it has tensors under ${[among, ...rest].map(short).join(' and ')}; which is meant is not clear`,
    );
  return model;
};

const isNumber = ({ tensor: { state } }: Entry): boolean =>
  isDict(state) && (tupleItems(state.items.get('size')) ?? []).length === 0;

const pathOf = (key: string, paths: Value | undefined): readonly string[] => {
  const path = isDict(paths) ? tupleItems(paths.items.get(key)) : undefined;
  if (path !== undefined && path.length > 0) return path.map(String);
  const training = ofTraining.exec(key)?.[1];
  return training === undefined ? [key] : [training, key];
};

const placeKey = (key: string, at: readonly number[]): string => `${key}\n${at.join(' ')}`;

const placesIn = ({ items }: DictValue, file: string): ReadonlyMap<string, Value> => {
  const places = new Map<string, Value>();
  for (const [index, place] of items) {
    const fields = new Fields(index, classes.index, file);
    const key = fields.value('fqn');
    if (typeof key !== 'string') throw invalidTorchFile(file, 'a key of its index is not a text');
    const offset = fields.value('offset');
    if (offset === undefined || offset === null) continue;
    const at = placeKey(key, fields.counts('offset'));
    if (places.has(at)) throw invalidTorchFile(file, `it places a piece of ${short(key)} twice`);
    places.set(at, place);
  }
  return places;
};

const piecesOf = (
  tensor: string,
  key: string,
  described: ObjectValue,
  places: ReadonlyMap<string, Value>,
  file: string,
): readonly PlacedPiece[] => {
  const fields = new Fields(described, classes.tensor, file);
  const shape = fields.counts('size');
  if (elementCount(shape) === undefined) throw new LayerloomError('SHAPE_OVERFLOW', { file, tensor, shape });
  const dtype = dtypeIn(fields.value('properties'), tensor, file);
  const chunks = (listItems(fields.value('chunks')) ?? []).map((chunk) => {
    const box = new Fields(chunk, classes.chunk, file);
    return { at: box.counts('offsets'), sizes: box.counts('sizes') };
  });
  if (chunks.length === 0)
    throw new LayerloomError('HEADER_INVALID', { file, tensor, reason: 'has no pieces' });
  // Devices without rows of a tensor have empty pieces, or write none.
  const filled = chunks.filter(({ sizes }) => elementCount(sizes) !== 0);
  return (filled.length > 0 ? filled : chunks.slice(0, 1)).map(({ at, sizes }) => {
    const wrong = (reason: string) =>
      new LayerloomError('HEADER_INVALID', { file, tensor: short(pieceName({ tensor, at })), reason });
    const stored = places.get(placeKey(key, at));
    if (stored === undefined) throw wrong('is in no file by its storage_data');
    const place = new Fields(stored, classes.place, file);
    const name = place.value('relative_path');
    if (typeof name !== 'string') throw wrong('is in a file whose name is no text');
    if (!staysInside(name)) throw new LayerloomError('INDEX_UNSAFE_NAME', { file, tensor, name });
    if (!/^[^/\\]+\.distcp$/.test(name))
      throw new LayerloomError('INDEX_INVALID', {
        file,
        reason: `it names ${short(name)}, which is no ${extension} file beside it; write or download the checkpoint again`,
      });
    const transforms = place.value('transform_descriptors') ?? null;
    if (transforms !== null && listItems(transforms)?.length !== 0)
      throw unsupported(file, `${short(tensor)} is compressed, so that it cannot be mapped`);
    const extent = { offset: place.count('offset'), length: place.count('length') };
    return { tensor, dtype, shape, at, sizes, file: name, ...extent };
  });
};

const dtypeIn = (properties: Value | undefined, tensor: string, file: string): Dtype => {
  const name = globalName(tupleItems(objectOf(properties, classes.properties)?.state)?.[0]);
  const dtype = dtypeOfGlobal(name);
  if (dtype === undefined)
    throw unsupported(file, `${short(tensor)} has the dtype ${short(name ?? 'unknown')}`);
  return dtype;
};
