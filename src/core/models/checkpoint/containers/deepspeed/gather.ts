import { itemAt } from '../../../../base/errors/lookup.js';
import { boxesOfRange } from '../../../../tensor/boxes.js';
import { bitsOf } from '../../../../tensor/dtype.js';
import { elementsOf } from '../../../../tensor/reference.js';
import type { TensorInFile } from '../container-reader.js';
import { short } from '../short-name.js';
import { invalidTorchFile, unsupported } from '../torch/refusals.js';
import type { Flat, ModelState, NamedShape, OptimizerState } from './states.js';

export interface Ranks {
  /** Model states: one for all ranks in stages 1 and 2, one for each in stage 3. */
  readonly models: readonly ModelState[];
  readonly optimizers: readonly OptimizerState[];
  /** The file of rank 0, for errors. */
  readonly path: string;
}

/** Consecutive elements of a flattened tensor, starting at `from`. */
interface Part extends Flat {
  readonly from: number;
}

/** A tensor of the model, or a piece of one, in a file. */
export interface Gathered {
  readonly file: string;
  readonly name: string;
  readonly tensor: TensorInFile;
}

const mostGathered = 1_000_000;

class Vector {
  readonly #parts: readonly Flat[];
  readonly #starts: number[] = [];
  readonly length: number;

  constructor(parts: readonly Flat[]) {
    this.#parts = parts;
    let start = 0;
    for (const { elements } of parts) {
      this.#starts.push(start);
      start += elements;
    }
    this.length = start;
  }

  /** Returns elements `begin` to `end`, as elements of a tensor that start at `from`. */
  cut(begin: number, end: number, from = 0): readonly Part[] {
    let index = this.#firstAt(begin);
    const found: Part[] = [];
    for (; index < this.#parts.length && itemAt(this.#starts, index) < end; index += 1) {
      const [part, start] = [itemAt(this.#parts, index), itemAt(this.#starts, index)];
      const [first, last] = [Math.max(begin, start), Math.min(end, start + part.elements)];
      if (first >= last) continue;
      const bytes = bitsOf(part.dtype) / 8;
      found.push({
        ...part,
        begin: part.begin + (first - start) * bytes,
        elements: last - first,
        from: from + first - begin,
      });
    }
    return found;
  }

  #firstAt(begin: number): number {
    let [low, high] = [0, this.#starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (itemAt(this.#starts, middle) <= begin) low = middle;
      else high = middle;
    }
    return low;
  }
}

type Parts = Map<NamedShape, readonly Part[]>;

/**
 * Locates parameters in stages 1 and 2: each group is a vector of its parameters, divided among the ranks.
 */
const trainedByGroup = ({ models, optimizers, path }: Ranks): Parts => {
  const found: Parts = new Map();
  const { groups } = itemAt(models, 0);
  const { paddings, world } = itemAt(optimizers, 0);
  for (const [index, parameters] of groups.entries()) {
    const vector = new Vector(optimizers.map(({ flat }) => itemAt(flat, index)));
    let offset = 0;
    for (const [at, parameter] of parameters.entries()) {
      const elements = elementsOf(parameter.shape);
      found.set(parameter, vector.cut(offset, offset + elements));
      offset += elements + (paddings === undefined ? 0 : (paddings[index]?.[at] ?? Number.NaN));
    }
    // The vector is padded to a multiple of this; the last rank may have saved it without padding.
    const multiple = 2 * world;
    if (Math.ceil(offset / multiple) !== Math.ceil(vector.length / multiple))
      throw invalidTorchFile(
        path,
        `its group ${index} has ${vector.length} elements, and its parameters ${offset}`,
      );
  }
  return found;
};

/** Locates parameters in stage 3: each is divided among the ranks, padded to equal parts. */
const trainedByParameter = ({ models, optimizers, path }: Ranks): Parts => {
  const found: Parts = new Map();
  const vectors = optimizers.map(({ flat }) => new Vector(flat));
  let offset = 0;
  for (const parameter of itemAt(models, 0).groups.flat()) {
    const elements = elementsOf(parameter.shape);
    const each = Math.ceil(elements / vectors.length);
    found.set(
      parameter,
      vectors.flatMap((vector, rank) =>
        vector.cut(offset, offset + Math.min(each, Math.max(0, elements - rank * each)), rank * each),
      ),
    );
    offset += each;
  }
  const other = vectors.find(({ length }) => length !== offset);
  if (other !== undefined)
    throw invalidTorchFile(path, `a rank has ${other.length} elements, and its parameters ${offset}`);
  return found;
};

const frozenIn = ({ models, path }: Ranks): Parts =>
  new Map(
    itemAt(models, 0).frozen.map((parameter) => {
      const parts = models.map(({ fragments }) => fragments.get(parameter.name));
      const here = parts.filter((part) => part !== undefined);
      if (here.length < parts.length)
        throw invalidTorchFile(path, `it lacks the frozen parameter ${short(parameter.name)} of a rank`);
      return [parameter, new Vector(here).cut(0, elementsOf(parameter.shape))] as const;
    }),
  );

const piecesOf = ({ name, shape }: NamedShape, parts: readonly Part[], path: string): readonly Gathered[] => {
  const [all, held] = [elementsOf(shape), parts.reduce((sum, { elements }) => sum + elements, 0)];
  if (all === 0) throw unsupported(path, `its parameter ${short(name)} has no elements`);
  if (held !== all)
    throw invalidTorchFile(path, `its ranks hold ${held} of the ${all} elements of ${short(name)}`);
  return parts.flatMap(({ file, dtype, begin, from, elements }) => {
    let next = begin;
    return boxesOfRange(shape, from, from + elements).map(({ at, sizes }): Gathered => {
      const [first, end] = [next, next + (elementsOf(sizes) * bitsOf(dtype)) / 8];
      next = end;
      const tensor = { dtype, shape: sizes, begin: first, end, piece: { tensor: name, shape, at } };
      return { file, name: `${name} at [${at.join(', ')}]`, tensor };
    });
  });
};

/**
 * Locates a model's tensors in the files of all ranks: buffers, frozen and trained parameters, and aliases.
 *
 * @throws HEADER_INVALID, WEIGHTS_UNSUPPORTED
 */
export const gathered = (ranks: Ranks): readonly Gathered[] => {
  const { models, optimizers, path } = ranks;
  const { buffers, shared } = itemAt(models, 0);
  const isDivided = itemAt(optimizers, 0).stage === 3;
  const tensors = new Map<string, readonly Gathered[]>(
    [...buffers].map(([name, { file, tensor }]) => [name, [{ file, name, tensor }]]),
  );
  for (const [parameter, parts] of [
    ...frozenIn(ranks),
    ...(isDivided ? trainedByParameter(ranks) : trainedByGroup(ranks)),
  ]) {
    if (tensors.has(parameter.name))
      throw invalidTorchFile(path, `it has the parameter ${short(parameter.name)} twice`);
    tensors.set(parameter.name, piecesOf(parameter, parts, path));
  }
  for (const [alias, name] of shared) {
    const whole = tensors.get(name);
    const rename = ({ file, tensor: { piece, ...tensor } }: Gathered): Gathered =>
      piece === undefined
        ? { file, name: alias, tensor }
        : {
            file,
            name: `${alias} at [${piece.at.join(', ')}]`,
            tensor: { ...tensor, piece: { ...piece, tensor: alias } },
          };
    if (whole !== undefined) tensors.set(alias, whole.map(rename));
  }
  const all = [...tensors.values()].flat();
  if (all.length > mostGathered)
    throw unsupported(path, `its tensors are in ${all.length} pieces, more than ${mostGathered}`);
  return all;
};
