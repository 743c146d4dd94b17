import { itemAt } from '../../base/errors/lookup.js';
import { commitText } from '../../models/address/found-model.js';
import { stateOfRanges } from '../../models/sources/ranges/folder/folder.js';
import type { NeededRanges } from '../../models/sources/source.js';
import { bytesOf, type Extent, joinExtents } from '../../tensor/extent.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import { sourcesOfTensors } from '../operands.js';
import { type MergePlan, type PlannedDownload, type PlannedInput, verbatimPath } from '../plan.js';

export interface MissingWeights extends PlannedDownload {
  readonly needs: readonly NeededRanges[];
  /** Complete files that were not verified. */
  readonly unverified: readonly string[];
}

/**
 * Lists what a run would download, from records of the cache of ranges, without network.
 *
 * @param linked input files to be read whole, with headers
 */
export const missingWeights = async (
  inputs: readonly PlannedInput[],
  sources: readonly StoredTensor[],
  linked: ReadonlySet<string> = new Set(),
): Promise<MissingWeights> => {
  const wanted = new Map<string, Extent[]>();
  const want = (path: string, extent: Extent) => {
    const extents = wanted.get(path) ?? [];
    extents.push(extent);
    wanted.set(path, extents);
  };
  for (const { input, file, begin, end } of sources)
    want(itemAt(itemAt(inputs, input).files, file).path, { begin, end });
  for (const { path, bytes } of inputs.flatMap(({ files }) => files))
    if (linked.has(path)) want(path, { begin: 0, end: bytes });
  const needs = await Promise.all(
    [...wanted].map(async ([path, extents]) => {
      const { missing: ranges, isUnverified: unverified } = await stateOfRanges(path, joinExtents(extents));
      return { path, ranges, unverified };
    }),
  );
  const missing = needs.filter(({ ranges }) => ranges.length > 0);
  const bytesIn = new Map(missing.map(({ path, ranges }) => [path, bytesOf(ranges)]));
  const models = new Map<string, { model: string; bytes: number; of: number }>();
  for (const input of inputs) {
    const { name, path, files } = input;
    const bytes = sum(files, (file) => bytesIn.get(file.path) ?? 0);
    const model = commitText(input) ?? name;
    if (bytes > 0) models.set(path, { model, bytes, of: sum(files, (file) => file.bytes) });
  }
  return {
    bytes: sum(missing, ({ ranges }) => bytesOf(ranges)),
    models: [...models.values()],
    needs: missing,
    unverified: needs.filter(({ unverified }) => unverified).map(({ path }) => path),
  };
};

export const missingForPlan = ({ inputs, shards }: MergePlan): Promise<MissingWeights> =>
  missingWeights(
    inputs,
    shards.flatMap(({ tensors }) => sourcesOfTensors(tensors)),
    verbatimFiles({ inputs, shards }),
  );

export const verbatimFiles = ({
  inputs,
  shards,
}: Pick<MergePlan, 'inputs' | 'shards'>): ReadonlySet<string> =>
  new Set(shards.flatMap((shard) => verbatimPath(shard, inputs) ?? []));

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
