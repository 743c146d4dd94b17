import type { FileHandle } from 'node:fs/promises';
import type { Extent } from '../../tensor/extent.js';
import type { FileHeader, TensorInFile } from './containers/container-reader.js';

/** Bytes of a description at most; bitsandbytes writes some hundred. */
export const mostDescriptionBytes = 4096;

/** The names that bitsandbytes gives them: the text of a module of four bits, and the number of an order of eight-bit codes. */
const names = /\.(weight\.quant_state\.bitsandbytes__(nf4|fp4)|weight_format)$/;

/**
 * Returns the small tensors of a file that say how others are stored, the shape of a weight, say: they are no weights, and
 * read when a checkpoint is opened. What is longer is none.
 */
export const descriptionsIn = ({ tensors }: FileHeader): readonly (readonly [string, TensorInFile])[] =>
  [...tensors].filter(
    ([name, { dtype, begin, end }]) =>
      dtype === 'U8' && begin < end && end - begin <= mostDescriptionBytes && names.test(name),
  );

/** Returns the bytes that lie not here, of a file that is here in part: they would be read as zeros. */
export type MissingBytes = (path: string, ranges: readonly Extent[]) => Promise<readonly Extent[]>;

/** Reads the descriptions of an open file; of one that is here in part none, unless all have come. */
export const readDescriptions = async (
  handle: FileHandle,
  path: string,
  header: FileHeader,
  missingBytes: MissingBytes,
): Promise<readonly (readonly [string, Uint8Array])[]> => {
  const found = descriptionsIn(header);
  if (found.length === 0) return [];
  const ranges = found.map(([, { begin, end }]) => ({ begin, end }));
  if ((await missingBytes(path, ranges)).length > 0) return [];
  const descriptions: [string, Uint8Array][] = [];
  for (const [name, { begin, end }] of found) {
    const { buffer } = await handle.read(Buffer.alloc(end - begin), 0, end - begin, begin);
    descriptions.push([name, buffer]);
  }
  return descriptions;
};
