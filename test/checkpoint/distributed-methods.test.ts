import { join } from 'node:path';
import { expect, it } from 'vitest';
import { merge } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { weightsIn } from '../fixtures/contents.js';
import { gridOver, writeDistributed } from '../fixtures/distributed-files.js';
import { everyMethod } from '../fixtures/every-method.js';

const files = ['__0_0.distcp', '__0_1.distcp', '__1_0.distcp', '__1_1.distcp'];

it('merges distributed checkpoints by every method into the bytes of the same models in safetensors', async () => {
  const root = temporaryDirectory();
  const members = ['base', 'a', 'b', 'c'].map(
    (name, index) => [name, llama({ seed: index + 1, layers: 2 })] as const,
  );
  const write = (kind: string, writer: (path: string, model: ReturnType<typeof llama>) => string) =>
    Object.fromEntries(
      members.map(([name, model]) => [name, writer(join(root, kind, name), model)]),
    ) as Record<'base' | 'a' | 'b' | 'c', string>;
  const plain = everyMethod(write('plain', writeCheckpoint));
  const cut = everyMethod(
    write('cut', (path, { tensors, config }) =>
      writeDistributed(path, { tensors, config, cut: gridOver(files) }),
    ),
  );
  const different: string[] = [];
  for (const [name, recipe] of Object.entries(cut)) {
    const [one, other] = [join(root, 'out', 'cut', name), join(root, 'out', 'plain', name)];
    await merge(recipe, { out: one });
    await merge(plain[name] ?? recipe, { out: other });
    if (!weightsIn(one).equals(weightsIn(other))) different.push(name);
  }
  expect(different).toEqual([]);
});

it('quantises tensors in pieces, and rows that are only moved, like whole ones', async () => {
  const root = temporaryDirectory();
  const members = ['base', 'a'].map((name, index) => [name, llama({ seed: index + 1, layers: 1 })] as const);
  const outputs: Record<string, Buffer[]> = {};
  for (const kind of ['cut', 'plain']) {
    const [base = '', model = ''] = members.map(([name, { tensors, config }]) => {
      const path = join(root, kind, name);
      return kind === 'cut'
        ? writeDistributed(path, { tensors, config, cut: gridOver(files) })
        : writeCheckpoint(path, { tensors, config });
    });
    const at = (what: string) => join(root, 'out', kind, what);
    await merge({ method: 'relayout', model, quantize: 'int8' }, { out: at('relayout') });
    await merge({ method: 'revert', base, model, targetKept: 0.6, quantize: 'int8' }, { out: at('revert') });
    outputs[kind] = ['relayout', 'revert'].map((what) => weightsIn(at(what)));
  }
  expect(outputs['cut']).toEqual(outputs['plain']);
});
