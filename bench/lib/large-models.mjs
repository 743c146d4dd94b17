// @ts-check
// Sparse models of the shapes of Llama 3.1 405B: their paths, and how they are made.
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { encodeHeader } from 'layerloom';
import { larger, makeAdapters, makeLargeCheckpoints } from './checkpoints.mjs';

const names = ['base', 'task', 'lang'];

/** A model with one matrix of more than 2³² elements, of which 4 MiB at either end are weights. @param {string} path @param {number} step */
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
 * The models of the lane. Each group says where they are and makes them when asked.
 *
 * @param {string} directory
 */
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
      adapters: [join(directory, 'adapter-1-r4'), join(directory, 'adapter-2-r4')],
      make: () => {
        makeLargeCheckpoints(join(directory, 'whole'), 126, names, { filled: 4096 });
        const most = Number.POSITIVE_INFINITY;
        makeLargeCheckpoints(join(directory, 'file'), 126, ['base'], { filled: 4096, most });
        makeAdapters(directory, 126, 4, ['adapter-1', 'adapter-2'], larger);
      },
    },
    layer: {
      models: three('layer'),
      adapter: join(directory, 'adapter-of-layer-r16'),
      make: () => {
        makeLargeCheckpoints(join(directory, 'layer'), 1, names, { filled: 2 ** 21 });
        makeAdapters(directory, 1, 16, ['adapter-of-layer'], larger);
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
