import type { Extent } from '../../tensor/extent.js';
import type { FileHeader, TensorInFile } from './containers/container-reader.js';
import type { OpenInput } from './files/open-input.js';

/** Maximum size of a description; bitsandbytes writes a few hundred bytes. */
export const mostDescriptionBytes = 4096;

/** Names in bitsandbytes: a 4-bit module's JSON, and the layout number of 8-bit codes. */
const names = /\.(weight\.quant_state\.bitsandbytes__(nf4|fp4)|weight_format)$/;

/** True for a packed matrix's shape in compressed-tensors, if groups of columns do not tell its width. */
const isShape = (name: string, { dtype }: TensorInFile, tensors: FileHeader['tensors']): boolean =>
  dtype === 'I64' &&
  name.endsWith('.weight_shape') &&
  (tensors.get(name.replace(/shape$/, 'scale'))?.shape[1] ?? 1) === 1;

/** Returns small tensors that describe how other tensors are stored; opening a checkpoint reads their bytes. */
export const descriptionsIn = ({ tensors }: FileHeader): readonly (readonly [string, TensorInFile])[] =>
  [...tensors].filter(
    ([name, tensor]) =>
      tensor.begin < tensor.end &&
      tensor.end - tensor.begin <= mostDescriptionBytes &&
      ((tensor.dtype === 'U8' && names.test(name)) || isShape(name, tensor, tensors)),
  );

/** Returns a partly downloaded file's missing ranges, which would be read as zeros. */
export type MissingBytes = (path: string, ranges: readonly Extent[]) => Promise<readonly Extent[]>;

/** Reads an open file's descriptions; none if some of their bytes are missing. */
export const readDescriptions = async (
  handle: OpenInput,
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
