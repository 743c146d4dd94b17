import { constants, open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LayerloomError } from '../../../../base/errors/errors.js';
import { groupBy, itemAt, keep } from '../../../../base/errors/lookup.js';
import { readFailed, reading } from '../../../../base/files/writing.js';
import { readRange } from '../../files/read-block.js';
import { collectedHeader, ofCollected } from '../collected.js';
import type { ContainerReader } from '../container-reader.js';
import { extensions } from '../extensions.js';
import { readTorchZip } from '../torch/reader.js';
import { unsupported } from '../torch/refusals.js';
import { type Gathered, gathered } from './gather.js';
import { readStatesPickle } from './pickle.js';
import { modelStateIn, optimizerStateIn, type StatesFile } from './states.js';

const extension = extensions.deepspeed;

const modelOfAll = `mp_rank_00_model${extension}`;
const modelName = /^zero_pp_rank_(\d+)_mp_rank_00_model_states\.pt$/;
const optimizerName = /^(?:bf16_)?zero_pp_rank_(\d+)_mp_rank_00_optim_states\.pt$/;

/** Matches files of tensor, pipeline or expert parallelism. */
const otherDivision =
  /^(?!.*mp_rank_00).*mp_rank_\d+.*_states\.pt$|expert.*_states\.pt$|^layer_.*_states\.pt$/;

const isStates = (name: string): boolean =>
  name === modelOfAll || modelName.test(name) || optimizerName.test(name) || otherDivision.test(name);

const readStates = async (path: string): Promise<StatesFile> => {
  // Does not block if the file is a FIFO.
  const handle = await reading(path, () => open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw readFailed(path, new Error('it is not a file'));
    const { size } = found;
    const { pickle, storages } = await readTorchZip((from, to) => readRange(handle, from, to), path, size);
    return { path, root: readStatesPickle(pickle, path), storages: new Map(storages) };
  } finally {
    await handle.close();
  }
};

const byRank = (names: readonly string[], pattern: RegExp): ReadonlyMap<number, string> =>
  new Map(
    names.flatMap((name) => {
      const rank = pattern.exec(name)?.[1];
      return rank === undefined ? [] : [[Number(rank), name] as const];
    }),
  );

const gatherIn = async (directory: string, names: readonly string[]): Promise<readonly Gathered[]> => {
  const other = names.find((name) => otherDivision.test(name));
  if (other !== undefined)
    throw unsupported(
      join(directory, other),
      'its model is divided over tensor-parallel ranks, pipeline stages or experts, and only a division over data-parallel ranks is read',
    );
  const optimizers = byRank(names, optimizerName);
  const models = byRank(names, modelName);
  const ofRanks = names.filter((name) => optimizerName.test(name) || modelName.test(name));
  if (ofRanks.length > optimizers.size + models.size)
    throw unsupported(join(directory, itemAt(ofRanks, 0)), 'another file beside it is of the same rank');
  const lacking = (missing: readonly string[]) =>
    new LayerloomError('NOT_A_CHECKPOINT', {
      path: directory,
      reason: `lacks ${missing.slice(0, 3).join(', ')}${missing.length > 3 ? `, … (${missing.length} files in all)` : ''} of DeepSpeed’s ranks; its save has not finished, or its copy is incomplete`,
    });
  const [first] = [...optimizers.values()].sort();
  if (first === undefined) throw lacking([`zero_pp_rank_0_mp_rank_00_optim${extension}`]);
  const { stage, world } = optimizerStateIn(await readStates(join(directory, first)));
  const ranks = Array.from({ length: Math.min(world, mostRanks + 1) }, (_, rank) => rank);
  if (ranks.length > mostRanks || [...optimizers.keys(), ...models.keys()].some((rank) => rank >= world))
    throw unsupported(join(directory, first), `it is of ${world} ranks, and other files are beside it`);
  const ofRank = (kind: string) => (rank: number) => `zero_pp_rank_${rank}_mp_rank_00_${kind}${extension}`;
  const ofModels =
    stage === 3 ? ranks.map((rank) => models.get(rank) ?? ofRank('model')(rank)) : [modelOfAll];
  const ofOptimizers = ranks.map((rank) => optimizers.get(rank) ?? ofRank('optim')(rank));
  const missing = [...ofModels, ...ofOptimizers].filter((name) => !names.includes(name));
  if (missing.length > 0) throw lacking(missing);
  const inOrder = async <T>(files: readonly string[], parse: (file: StatesFile) => T): Promise<T[]> => {
    const found: T[] = [];
    for (const name of files) found.push(parse(await readStates(join(directory, name))));
    return found;
  };
  const states = {
    models: await inOrder(ofModels, modelStateIn),
    optimizers: await inOrder(ofOptimizers, optimizerStateIn),
    path: join(directory, itemAt(ofModels, 0)),
  };
  const { groups } = itemAt(states.models, 0);
  const isOdd = states.optimizers.some(
    (one) =>
      one.stage !== stage ||
      one.world !== world ||
      one.flat.length !== (stage === 3 ? itemAt(states.optimizers, 0).flat.length : groups.length),
  );
  if (isOdd) throw unsupported(states.path, 'its ranks differ in stage, number of ranks or groups');
  return gathered(states);
};

/** Maximum number of ranks; each rank has one or two files. */
const mostRanks = 16_384;

type ByFile = ReadonlyMap<string, readonly Gathered[]>;

const parsed = new Map<string, Promise<ByFile>>();
const mostParsed = 8;

/** Returns tensors by file. Parses a directory once while its files stay the same. */
const contentOf = async (directory: string): Promise<ByFile> => {
  const names = (await reading(directory, () => readdir(directory))).filter(isStates).sort();
  const states: string[] = [];
  for (const name of names) {
    const path = join(directory, name);
    const { size, mtimeNs, ctimeNs, ino } = await reading(path, () => stat(path, { bigint: true }));
    states.push([path, size, mtimeNs, ctimeNs, ino].join(' '));
  }
  const key = states.join('\n');
  const known = parsed.get(key);
  if (known !== undefined) return await known;
  const found = gatherIn(directory, names).then((all) => groupBy(all, ({ file }) => basename(file)));
  keep(parsed, key, found, mostParsed);
  found.catch(() => parsed.delete(key));
  return await found;
};

/** A `global_step` folder of DeepSpeed's ZeRO: the optimizer's float32 weights, divided among ranks. */
export const deepspeedReader: ContainerReader = {
  name: 'DeepSpeed’s ZeRO checkpoint',
  extension,
  isInFolder: true,
  weightsIn: (names) => names.filter(isStates).sort(),
  collectHeader: async (_, file) => {
    const own = (await contentOf(dirname(file))).get(basename(file)) ?? [];
    return collectedHeader(own.map(({ name, tensor }) => [name, tensor]));
  },
  ...ofCollected,
};
