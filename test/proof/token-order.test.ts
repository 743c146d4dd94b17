import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verify } from '../../src/index.js';
import { llama, type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { tokenizerFiles } from '../fixtures/vocabulary.js';

// Another program may number the tokens of a merge otherwise: rows belong to tokens.

const rows = 24;
const words = Array.from({ length: rows }, (_, id) => `word${id}`);
const exchanged = words.map((_, id) => words[({ 5: 20, 20: 5 } as Record<number, number>)[id] ?? id] ?? '');

/** Exchanges two rows of embeddings and head. */
const withRowsExchanged = (tensors: Tensors): Tensors =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => {
      if (tensor.shape[0] !== rows) return [name, tensor];
      const width = tensor.data.length / rows;
      const row = (id: number) => tensor.data.slice(id * width, (id + 1) * width);
      const data = tensor.data.slice();
      data.set(row(20), 5 * width);
      data.set(row(5), 20 * width);
      return [name, { ...tensor, data }];
    }),
  );

const models = () => {
  const root = temporaryDirectory();
  const made = llama({ layers: 1, tied: false, seed: 1 });
  const against = writeCheckpoint(join(root, 'a'), { ...made, files: tokenizerFiles(words) });
  const write = (tensors: Tensors, order: readonly string[]): string =>
    writeCheckpoint(join(root, 'out'), { ...made, tensors, files: tokenizerFiles(order) });
  return { root, against, write, tensors: made.tensors };
};

const found = async (out: string, against: string) => {
  const { verdict, fault, warnings } = await verify(out, { against });
  return { verdict, kind: fault?.kind, warnings: warnings.join('\n') };
};

describe('an output that numbers tokens otherwise', () => {
  it('is intact if its rows are those of its tokens', async () => {
    const { against, write, tensors } = models();
    const out = write(withRowsExchanged(tensors), exchanged);
    expect(await found(out, against)).toEqual({
      verdict: 'intact',
      kind: undefined,
      warnings: expect.stringContaining('token by token'),
    });
    const sampled = await verify(out, { against, sample: 0.5, seed: 1 });
    expect(sampled.verdict).toBe('intact');
  });

  it('is different if rows or tokens alone have moved', async () => {
    const { against, write, tensors } = models();
    for (const out of [() => write(tensors, exchanged), () => write(withRowsExchanged(tensors), words)])
      expect(await found(out(), against)).toMatchObject({ verdict: 'different', kind: 'rows_permuted' });
  });

  it('is compared by numbers if its tokens are others, or cannot be read', async () => {
    const { against, write, tensors } = models();
    const renamed = write(
      tensors,
      words.map((word) => `${word}s`),
    );
    expect(await found(renamed, against)).toMatchObject({ verdict: 'intact', warnings: '' });
    writeFileSync(join(renamed, 'tokenizer.json'), '{');
    expect(await found(renamed, against)).toMatchObject({
      verdict: 'intact',
      warnings: expect.stringContaining('tokens are not compared'),
    });
  });
});
