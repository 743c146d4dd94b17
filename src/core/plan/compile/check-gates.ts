import { itemAt } from '../../base/errors/lookup.js';
import { reading } from '../../base/files/writing.js';
import { invalidSetting } from '../../methods/framework/declaration/settings.js';
import { openInput } from '../../models/checkpoint/files/open-input.js';
import { refusePieces } from '../../models/checkpoint/pieces.js';
import { isFloating } from '../../tensor/dtype.js';
import { storedBytes, type TensorReference } from '../../tensor/reference.js';
import type { OpenedModel } from './inputs/models.js';

/** Maximum bytes of a file of routers, for 100 layers of 64 experts, 8192 wide, in float32. */
const mostBytes = 256 * 1024 * 1024;

const exponents: Readonly<Record<string, { readonly mask: number; readonly bytes: 2 | 4 }>> = {
  F32: { mask: 0x7f80_0000, bytes: 4 },
  BF16: { mask: 0x7f80, bytes: 2 },
  F16: { mask: 0x7c00, bytes: 2 },
};

/**
 * Refuses NaN and infinity in a routers' file, which the engine copies without checks.
 *
 * @throws INVALID_PARAMETER, READ_FAILED
 */
export const checkGates = async ({ checkpoint }: OpenedModel): Promise<void> => {
  const { tensors, files, path } = checkpoint;
  const bytes = [...tensors.values()].reduce((total, tensor) => total + storedBytes(tensor), 0);
  if (bytes > mostBytes)
    throw invalidSetting(['gates'], path, `a file of routers, and this has ${bytes} bytes of tensors`);
  for (const [name, reference] of tensors) {
    const kind = exponents[reference.dtype];
    if (!isFloating(reference.dtype) || kind === undefined)
      throw invalidSetting(
        ['gates'],
        path,
        `routers in float32, bfloat16 or float16, and ${name} is ${reference.dtype}`,
      );
    refusePieces(checkpoint, name, reference);
    const numbers = await readRange(itemAt(files, reference.file).path, reference);
    for (let at = 0; at < numbers.length; at += kind.bytes) {
      const bits = kind.bytes === 4 ? numbers.readUInt32LE(at) : numbers.readUInt16LE(at);
      if ((bits & kind.mask) === kind.mask)
        throw invalidSetting(
          ['gates'],
          path,
          `finite numbers, and element ${at / kind.bytes} of ${name} is NaN or infinite; make the file again`,
        );
    }
  }
};

const readRange = (file: string, { begin, end }: TensorReference): Promise<Buffer> =>
  reading(file, async () => {
    await using handle = await openInput(file);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - begin), 0, end - begin, begin);
    if (bytesRead < end - begin) throw new Error('it ends before its tensors do');
    return buffer;
  });
