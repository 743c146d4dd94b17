import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { relayout, soup } from '../../src/api/merge.js';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import type { CheckpointIndex } from '../../src/core/models/checkpoint/checkpoint.js';
import type { ContainerReader } from '../../src/core/models/checkpoint/containers/container-reader.js';
import { findWeights, readers } from '../../src/core/models/checkpoint/containers/containers.js';
import { sideFileContent } from '../../src/core/models/checkpoint/side-file-content.js';
import { openModel } from '../../src/core/models/reading/read-model.js';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { missingRanges } from '../../src/core/models/sources/ranges/folder/folder.js';
import { isDtype } from '../../src/core/tensor/dtype.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import {
  llama,
  llamaShapes,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { weightsIn } from '../fixtures/contents.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { startHub } from '../fixtures/hub-server.js';

// A read-only container with typical contents: a line of JSON, then the data.

const lines: ContainerReader = {
  name: 'lines',
  extension: '.lines',
  weightsIn: (names) => names.filter((name) => name === 'weights.lines'),
  headerEnd: (start, file, fileBytes) => {
    const end = start.indexOf(10) + 1;
    if (end === 0 && start.length >= fileBytes)
      throw new LayerloomError('HEADER_INVALID', { file, reason: 'has no line' });
    return end === 0 ? Math.min(fileBytes, 2 * start.length + 100) : end;
  },
  parseHeader: (header, file) => {
    const { tensors, sideFiles } = JSON.parse(Buffer.from(header).toString()) as {
      tensors: [string, string, number[], number, number][];
      sideFiles: Record<string, string>;
    };
    const at = header.length;
    return {
      metadata: { format: 'pt' },
      tensors: new Map(
        tensors.map(([name, dtype, shape, begin, end]) => {
          if (!isDtype(dtype)) throw new LayerloomError('UNKNOWN_DTYPE', { file, tensor: name, dtype });
          return [name, { dtype, shape, begin: at + begin, end: at + end }];
        }),
      ),
      sideFiles: new Map(Object.entries(sideFiles)),
    };
  },
};

const writeLines = (directory: string, tensors: Tensors, sideFiles: Record<string, string>): string => {
  let position = 0;
  const places = Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
    const begin = position;
    position += data.length;
    return [name, dtype, shape, begin, position];
  });
  const header = `${JSON.stringify({ tensors: places, sideFiles })}\n`;
  mkdirSync(directory, { recursive: true });
  const data = Object.values(tensors).map((tensor) => tensor.data);
  writeFileSync(join(directory, 'weights.lines'), Buffer.concat([Buffer.from(header), ...data]));
  return directory;
};

const template = '{{ messages }}';

const experts = (hidden = 16) => {
  const root = temporaryDirectory();
  const models = [1, 2].map((seed) => llama({ seed, hidden, layers: 2 }));
  const carried = (config: unknown) => ({
    'config.json': JSON.stringify(config, null, 2),
    'chat_template.jinja': template,
    LICENSE: 'MIT\n'.repeat(30_000),
  });
  return {
    root,
    lines: models.map(({ tensors, config }, index) =>
      writeLines(join(root, `lines-${index}`), tensors, carried(config)),
    ),
    safetensors: models.map((model, index) => writeCheckpoint(join(root, `plain-${index}`), model)),
  };
};

describe('a container that is only read', () => {
  const list = readers as unknown as ContainerReader[];
  beforeEach(() => void list.push(lines));
  afterEach(() => void list.splice(list.indexOf(lines), 1));

  it('is merged to the bytes of the same tensors in safetensors, with the files that it carries', async () => {
    const { root, ...models } = experts();
    const [out, expected, bare] = [join(root, 'out'), join(root, 'expected'), join(root, 'bare')];
    const files = models.lines.map((model) => join(model, 'weights.lines'));
    await soup({ models: models.safetensors }, { out: expected });
    await soup({ models: models.lines }, { out });
    expect((await soup({ models: files }, { out: bare })).warnings).toEqual([]);
    for (const each of [out, bare]) {
      expect(weightsIn(each).equals(weightsIn(expected))).toBe(true);
      expect(readFileSync(join(each, 'config.json'))).toEqual(readFileSync(join(expected, 'config.json')));
      expect(readFileSync(join(each, 'chat_template.jinja'), 'utf8')).toBe(template);
      expect(readdirSync(each)).toContain('LICENSE');
    }
  });

  it('is written anew, and never linked as an output', async () => {
    const { root, ...models } = experts();
    const [model = '', same = ''] = [models.lines[0], models.safetensors[0]];
    const [out, expected] = [join(root, 'out'), join(root, 'expected')];
    await relayout({ model: same }, { out: expected, layout: 'size' });
    await relayout({ model }, { out, layout: 'size' });
    const [written, original] = await Promise.all([openModel(out), openModel(expected)]);
    const shapesOf = ({ tensors }: CheckpointIndex) =>
      [...tensors].map(([name, { dtype, shape }]) => [name, dtype, shape]).toSorted();
    expect(shapesOf(written)).toEqual(shapesOf(original));
  });

  it('comes from the hub by its header, whatever the length of that', async () => {
    const [model = ''] = experts(256).lines;
    const hub = await startHub();
    hub.addDirectory('org/model', model);
    const { path } = await bringHeaders('org/model', impatient(hubUser(hub)));
    const [there, here] = [await openModel(model), await openModel(path)];
    expect([...here.tensors]).toEqual([...there.tensors]);
    expect(here.files[0]?.header).toBe(there.files[0]?.header);
    expect(here.config).toEqual(there.config);
    const [first] = here.tensors.values();
    const bytes = here.files[0]?.bytes ?? 0;
    const [lacking] = await missingRanges(join(path, 'weights.lines'), [{ begin: 0, end: bytes }]);
    expect(lacking?.begin).toBeGreaterThanOrEqual(first?.begin ?? bytes);
    expect(lacking?.end).toBe(bytes);
  });

  it('goes behind files that lie beside it, and before those that a base has for an adapter', async () => {
    const {
      lines: [model = ''],
    } = experts();
    writeFileSync(join(model, 'chat_template.jinja'), 'beside');
    const read = async (from: CheckpointIndex) =>
      (await sideFileContent(from, 'chat_template.jinja')).toString();
    expect(await read(await openModel(model))).toBe('beside');
    const adapter = writeAdapter(join(model, 'adapter'), lora({ shapes: llamaShapes({ layers: 2 }) }));
    const plain = await openModel(`${join(model, 'weights.lines')}+${adapter}`);
    expect(await read(plain)).toBe(template);
    writeFileSync(join(adapter, 'chat_template.jinja'), 'of the adapter');
    expect(await read(await openModel(`${join(model, 'weights.lines')}+${adapter}`))).toBe('of the adapter');
  });

  it('is found behind the containers before it in the list', () => {
    expect(findWeights(['weights.lines'])?.reader).toBe(lines);
    expect(findWeights(['weights.lines', 'model.safetensors'])?.reader.name).toBe('safetensors');
    expect(findWeights(['other.lines'])).toBeUndefined();
  });
});
