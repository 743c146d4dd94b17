// @ts-check
// Sparse models with the shapes of Llama 3.1 405B: their paths and their making.
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { encodeHeader } from 'layerloom';
import {
  generator,
  larger,
  makeAdapters,
  makeLargeCheckpoints,
  tensorsOf,
  vocabulary,
} from './checkpoints.mjs';
import { makeLargeGguf } from './large-gguf.mjs';

const names = ['base', 'task', 'lang'];

/**
 * Makes a model with one matrix of more than 2³² elements, with weights in 4 MiB at either end.
 *
 * @param {string} path
 * @param {number} step
 */
const makeWide = (path, step) => {
  mkdirSync(path, { recursive: true });
  const shape = [65_544, 65_536];
  const bytes = 2 * 65_544 * 65_536;
  const fd = openSync(join(path, 'model.safetensors'), 'w');
  const begin = writeSync(
    fd,
    encodeHeader([{ name: 'model.layers.0.mlp.up_proj.weight', dtype: 'BF16', shape, bytes }]),
  );
  ftruncateSync(fd, begin + bytes);
  const block = new Uint16Array(2 ** 21).map((_, at) => 0x3c00 + ((at * step) % 1021));
  for (const at of [begin, begin + bytes - block.byteLength])
    writeSync(fd, new Uint8Array(block.buffer), 0, null, at);
  closeSync(fd);
  const config = { model_type: 'llama', num_hidden_layers: 1, hidden_size: 65_536, torch_dtype: 'bfloat16' };
  writeFileSync(join(path, 'config.json'), JSON.stringify(config));
};

/**
 * Makes Gram matrices of the layers' matrices; only the header is written.
 *
 * @param {string} path
 * @param {number} layers
 */
const makeGrams = (path, layers) => {
  const tensors = tensorsOf(layers, vocabulary, larger)
    .filter(([name]) => name.endsWith('_proj.weight'))
    .map(([name, [, inputs = 0]]) => ({
      name,
      dtype: /** @type {const} */ ('F32'),
      shape: [inputs, inputs],
      bytes: 4 * inputs * inputs,
    }));
  const fd = openSync(path, 'w');
  const begin = writeSync(fd, encodeHeader(tensors));
  ftruncateSync(fd, begin + tensors.reduce((total, { bytes }) => total + bytes, 0));
  closeSync(fd);
};

const [rows, columns] = [6144, 4096];

/**
 * Makes a model with one matrix of random weights, and the Gram matrix of its inputs.
 *
 * @param {string} path
 * @param {number} seed
 */
const makeMatrix = (path, seed) => {
  mkdirSync(path, { recursive: true });
  const name = 'model.layers.0.mlp.up_proj.weight';
  const random = generator(seed);
  const weights = Uint16Array.from({ length: rows * columns }, () => {
    const bits = random();
    return ((bits & 1) << 15) | ((119 + ((bits >>> 1) % 4)) << 7) | ((bits >>> 8) & 127);
  });
  const gram = new Float32Array(columns * columns);
  for (let row = 0; row < columns; row += 1) {
    gram[row * columns + row] = 2;
    for (let column = 0; column < row; column += 1)
      gram[row * columns + column] = gram[column * columns + row] = random() / 2 ** 32 / columns;
  }
  for (const [file, dtype, shape, numbers] of /** @type {const} */ ([
    [join(path, 'model.safetensors'), 'BF16', [rows, columns], weights],
    [`${path}.grams.safetensors`, 'F32', [columns, columns], gram],
  ])) {
    const fd = openSync(file, 'w');
    writeSync(fd, encodeHeader([{ name, dtype, shape, bytes: numbers.byteLength }]));
    writeSync(fd, new Uint8Array(numbers.buffer));
    closeSync(fd);
  }
  const config = { model_type: 'llama', num_hidden_layers: 1, hidden_size: columns, torch_dtype: 'bfloat16' };
  writeFileSync(join(path, 'config.json'), JSON.stringify(config));
};

/** The models by group: paths, and a function that makes them. @param {string} directory */
export const largeModels = (directory) => {
  /** @param {string} group @returns {[base: string, task: string, language: string]} */
  const three = (group) => [
    join(directory, group, 'base'),
    join(directory, group, 'task'),
    join(directory, group, 'lang'),
  ];
  return {
    whole: {
      models: three('whole'),
      file: join(directory, 'file', 'base'),
      gguf: join(directory, 'whole.gguf'),
      grams: [join(directory, 'task.grams.safetensors'), join(directory, 'lang.grams.safetensors')],
      adapters: [join(directory, 'adapter-1-r4'), join(directory, 'adapter-2-r4')],
      make: () => {
        makeLargeCheckpoints(join(directory, 'whole'), 126, names, { filled: 4096 });
        const most = Number.POSITIVE_INFINITY;
        makeLargeCheckpoints(join(directory, 'file'), 126, ['base'], { filled: 4096, most });
        makeAdapters(directory, 126, 4, ['adapter-1', 'adapter-2'], larger);
        makeLargeGguf(join(directory, 'whole.gguf'), 126, 4096, 1);
        for (const name of ['task', 'lang']) makeGrams(join(directory, `${name}.grams.safetensors`), 126);
      },
    },
    layer: {
      models: three('layer'),
      adapter: join(directory, 'adapter-of-layer-r16'),
      donor: join(directory, 'donor'),
      ggufs: [join(directory, 'task.gguf'), join(directory, 'lang.gguf')],
      make: () => {
        makeLargeCheckpoints(join(directory, 'layer'), 1, names, { filled: 2 ** 21 });
        makeAdapters(directory, 1, 16, ['adapter-of-layer'], larger);
        makeLargeCheckpoints(directory, 1, ['donor'], { filled: 2 ** 21, others: 32 });
        for (const [index, name] of ['task', 'lang'].entries())
          makeLargeGguf(join(directory, `${name}.gguf`), 1, 2 ** 21, 1 + 2 * index);
      },
    },
    matrix: {
      models: three('matrix'),
      make: () => {
        for (const [index, path] of three('matrix').entries()) makeMatrix(path, 31 + index);
      },
    },
    wide: {
      models: three('wide'),
      make: () => {
        for (const [index, path] of three('wide').entries()) makeWide(path, 1 + 2 * index);
      },
    },
  };
};
