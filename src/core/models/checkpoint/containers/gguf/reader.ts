import { LayerloomError } from '../../../../base/errors/errors.js';
import { itemAt } from '../../../../base/errors/lookup.js';
import { type BlockLayout, bytesOfRow } from '../../../../tensor/block-layout.js';
import type { ContainerReader, TensorInFile } from '../container-reader.js';
import { extensions } from '../extensions.js';
import { short } from '../short-name.js';
import { configOf } from './config.js';
import { endOfHeader, type GgufHeader, type GgufTensor, parseGguf } from './header.js';
import {
  architectures,
  blockOf,
  type GgufArchitecture,
  headsKey,
  isNorm,
  positionFactors,
  transformersName,
} from './names.js';

const unsupported = (file: string, reason: string, remedy: string, tensor?: string): LayerloomError =>
  new LayerloomError('WEIGHTS_UNSUPPORTED', {
    file,
    ...(tensor === undefined ? {} : { tensor: short(tensor) }),
    reason,
    remedy,
  });

const architectureOf = ({ metadata }: GgufHeader, file: string): [string, GgufArchitecture] => {
  const parts = metadata.get('split.count');
  if (typeof parts === 'number' && parts > 1)
    throw unsupported(file, `it is one of ${parts} parts`, 'join them with llama-gguf-split');
  const name = String(metadata.get('general.architecture'));
  const found = Object.hasOwn(architectures, name) ? architectures[name] : undefined;
  if (found !== undefined) return [name, found];
  throw unsupported(
    file,
    `its architecture is ${short(name)}`,
    `${Object.keys(architectures).join(', ')} are read: give the model that it was made of`,
  );
};

/**
 * GGUF, llama.cpp's format. Tensors have transformers' names, row order and values: `blocks` undoes the
 * changes of llama.cpp's converter on reading.
 */
export const ggufReader: ContainerReader = {
  name: 'GGUF',
  extension: extensions.gguf,
  carriesSideFiles: true,
  weightsIn: (names) => {
    // Projectors for images may lie beside the model.
    const found = names.filter((name) => name.endsWith('.gguf') && !name.startsWith('mmproj'));
    return found.length === 1 ? found : [];
  },
  headerEnd: endOfHeader,
  parseHeader: (bytes, file, fileBytes) => {
    const header = parseGguf(bytes, file, fileBytes);
    const [name, architecture] = architectureOf(header, file);
    const heads = (key: string): number => {
      const value =
        header.metadata.get(`${name}.${key}`) ?? header.metadata.get(`${name}.attention.head_count`);
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
      throw unsupported(
        file,
        `its ${name}.${key} is no number of heads`,
        'give the model that it was made of',
      );
    };
    checkBlocks(header, name, file);
    const tensors = new Map<string, TensorInFile>();
    for (const tensor of header.tensors) {
      if (tensor.name === positionFactors) continue;
      const named = transformersName(tensor.name, architecture);
      if (named === undefined)
        throw unsupported(
          file,
          `is not among the tensors of ${name}`,
          'give the model that it was made of',
          tensor.name,
        );
      if (tensors.has(named))
        throw new LayerloomError('DUPLICATE_TENSOR', { file, tensor: short(tensor.name) });
      const key = architecture.turns ? headsKey(tensor.name) : undefined;
      tensors.set(
        named,
        inFile(
          tensor,
          file,
          key === undefined ? undefined : heads(key),
          isNorm(tensor.name) ? -architecture.inNorms : 0,
        ),
      );
    }
    const config = configOf(header);
    return {
      metadata: {},
      tensors,
      ...(config === undefined ? {} : { sideFiles: new Map([['config.json', config]]) }),
    };
  },
};

/** Checks the number of layers that loaders create: `config.json` is made from `block_count`. */
const checkBlocks = ({ metadata, tensors }: GgufHeader, name: string, file: string): void => {
  const said = metadata.get(`${name}.block_count`);
  const found = 1 + tensors.reduce((last, tensor) => Math.max(last, blockOf(tensor.name) ?? -1), -1);
  if (said !== undefined && said !== found)
    throw unsupported(
      file,
      `says that it has ${String(said)} layers, and has tensors of ${found}`,
      'give the model that it was made of',
    );
};

/** Tensors of plain elements are used as stored; tensors in blocks are decoded when read. */
const inFile = (
  { name, type, shape, begin, end }: GgufTensor,
  file: string,
  heads: number | undefined,
  plus: number,
): TensorInFile => {
  const rows = itemAt(shape, 0);
  const head = heads === undefined ? 0 : rows / heads;
  if (!Number.isInteger(head) || head % 2 !== 0)
    throw unsupported(
      file,
      `has ${rows} rows for ${heads} heads`,
      'give the model that it was made of',
      name,
    );
  const isPlain = (type === 'F32' || type === 'F16' || type === 'BF16') && head === 0 && plus === 0;
  if (isPlain) return { dtype: type, shape, begin, end };
  // A bias has one element per row.
  const width = head !== 0 && shape.length === 1 ? 1 : (shape.at(-1) ?? 1);
  if (bytesOfRow(type, width) === undefined)
    throw unsupported(file, `is of ${type} in one row`, 'give the model that it was made of', name);
  const form: BlockLayout = { type, width, head, plus };
  const dtype = type === 'F32' || type === 'F16' ? type : 'BF16';
  return { dtype, shape, begin, end, blocks: form };
};
