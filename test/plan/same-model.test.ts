import { closeSync, cpSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planMerge } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

const models = () => {
  const root = temporaryDirectory();
  const write = (name: string, seed: number) => writeCheckpoint(join(root, name), llama({ layers: 4, seed }));
  const copyOf = (path: string, name: string): string => {
    cpSync(path, join(root, name), { recursive: true });
    return join(root, name);
  };
  return { base: write('base', 0), task: write('math', 1), language: write('swh', 2), copyOf };
};

const counts = { bottom: 1, top: 1 } as const;
const sameIn = (warnings: readonly string[]) => warnings.filter((text) => text.includes('looks like'));

describe('one model in two roles', () => {
  it('is warned of as task and language, also as a copy', async () => {
    const { task, copyOf } = models();
    for (const language of [task, copyOf(task, 'again')]) {
      const { warnings } = await planMerge({ method: 'layer_swap', task, language, ...counts });
      expect(sameIn(warnings)).toEqual([
        `language ${language} looks like task ${task}: the same model in two roles, by samples of its files; check the paths`,
      ]);
    }
  });

  it('is warned of as base and expert, in swaps and reverts', async () => {
    const { base, task, language, copyOf } = models();
    const swap = { method: 'layer_swap', task, language, ...counts } as const;
    for (const wrong of [task, copyOf(language, 'wrong')])
      expect(sameIn((await planMerge({ ...swap, base: wrong })).warnings)).toHaveLength(1);
    expect(
      sameIn((await planMerge({ method: 'revert', base, model: copyOf(base, 'same'), ...counts })).warnings),
    ).toHaveLength(1);
    expect(sameIn((await planMerge({ ...swap, base })).warnings)).toEqual([]);
  });

  it('is not said of models of one form, or of copies that training has changed', async () => {
    const { task, language, copyOf } = models();
    const changed = copyOf(task, 'changed');
    const file = join(changed, 'model.safetensors');
    const fd = openSync(file, 'r+');
    writeSync(fd, Buffer.alloc(4096, 7), 0, 4096, statSync(file).size - 4096);
    closeSync(fd);
    for (const other of [language, changed]) {
      const { warnings } = await planMerge({ method: 'layer_swap', task, language: other, ...counts });
      expect(sameIn(warnings)).toEqual([]);
    }
  });

  it("is not said of a recipe's list of models, which may have the base among them", async () => {
    const { base, task } = models();
    const { warnings } = await planMerge({
      method: 'ties',
      base,
      models: [task, base],
      weights: [1, 1],
      density: 0.5,
    });
    expect(sameIn(warnings)).toEqual([]);
  });
});
