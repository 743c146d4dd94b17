import { itemAt } from '../../../base/errors/lookup.js';
import type { TensorReference } from '../../../tensor/reference.js';
import type { CheckpointIndex, FileIdentity } from '../checkpoint.js';
import { withFewFiles } from '../files/few-at-once.js';
import { type OpenInput, openInput } from '../files/open-input.js';
import { readBlock } from '../files/read-block.js';

const blocks = 64;
const blockBytes = 4096;

/**
 * True if two checkpoints seem equal, which is no proof: equal files, or equal tensors in another container,
 * by headers and 64 evenly spaced blocks. False for a base with an adapter, whose tensors are not stored.
 *
 * Unreadable files count as different; the run reports them.
 */
export const lookAlike = async (a: CheckpointIndex, b: CheckpointIndex): Promise<boolean> => {
  if ([a, b].some(({ tensors }) => [...tensors.values()].some(({ change }) => change !== undefined)))
    return false;
  const pairs = a.files.flatMap((file, index) => {
    const other = b.files[index];
    return other?.bytes === file.bytes && other.header === file.header ? [[file, other] as const] : [];
  });
  if (pairs.length !== a.files.length || pairs.length !== b.files.length)
    return haveSameShapes(a, b) && (await tensorsLookAlike(a, b).catch(() => false));
  for (const [one, other] of pairs)
    if (one.path !== other.path && !(await filesLookAlike(one, other).catch(() => false))) return false;
  return true;
};

const filesLookAlike = async (a: FileIdentity, b: FileIdentity): Promise<boolean> => {
  // Compares stated hashes, because a hub file may be incomplete.
  if (a.content !== undefined || b.content !== undefined) return a.content === b.content;
  return await withFewFiles(async () => {
    await using one = await openInput(a.path);
    await using other = await openInput(b.path);
    for (let block = 0; block < blocks; block += 1) {
      const position = Math.floor((Math.max(0, a.bytes - blockBytes) * block) / (blocks - 1));
      if (!(await blockOf(one, position)).equals(await blockOf(other, position))) return false;
    }
    return true;
  });
};

const haveSameShapes = (a: CheckpointIndex, b: CheckpointIndex): boolean =>
  a.tensors.size === b.tensors.size &&
  [...a.tensors].every(([name, one]) => {
    const other = b.tensors.get(name);
    return (
      other?.dtype === one.dtype &&
      String(other.shape) === String(one.shape) &&
      bytesOf(other) === bytesOf(one)
    );
  });

const bytesOf = ({ begin, end }: TensorReference): number => end - begin;

const tensorsLookAlike = async (a: CheckpointIndex, b: CheckpointIndex): Promise<boolean> => {
  if ([...a.files, ...b.files].some(({ content }) => content !== undefined)) return false;
  const names = [...a.tensors.keys()].sort();
  const count = Math.min(blocks, names.length);
  for (let block = 0; block < count; block += 1) {
    const name = itemAt(names, Math.floor((block * names.length) / count));
    const [one, other] = await Promise.all([a, b].map((model) => middleOf(model, name)));
    if (one === undefined || other === undefined || !one.equals(other)) return false;
  }
  return true;
};

const middleOf = async ({ files, tensors }: CheckpointIndex, name: string): Promise<Buffer | undefined> => {
  const tensor = tensors.get(name);
  if (tensor === undefined) return undefined;
  const { file, begin } = tensor;
  const bytes = Math.min(blockBytes, bytesOf(tensor));
  const position = begin + Math.floor((bytesOf(tensor) - bytes) / 2);
  return await withFewFiles(async () => {
    await using handle = await openInput(itemAt(files, file).path);
    return await readBlock(handle, Buffer.alloc(bytes), position);
  });
};

const blockOf = (file: OpenInput, position: number): Promise<Buffer> =>
  readBlock(file, Buffer.alloc(blockBytes), position);
