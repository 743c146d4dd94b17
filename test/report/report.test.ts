import { join } from 'node:path';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { planMerge } from '../../src/api/plan-merge.js';
import { drawLayers } from '../../src/cli/text/layer-stack.js';
import { formatBytes, formatCount, formatRate, formatSeconds } from '../../src/core/base/format.js';
import { joinRuns, plainTable } from '../../src/core/base/table.js';
import { llama, temporaryDirectory, writeCheckpoint, writePair } from '../fixtures/checkpoints.js';

const plain = pc.createColors(false);

describe('numbers for people', () => {
  it.each<[number, string]>([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.00 kB'],
    [16_060_522_240, '16.1 GB'],
    [999_999, '1000 kB'],
    [11.7e12, '11.7 TB'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it.each<[number, string]>([
    [576, '576'],
    [134_515_008, '134.5 M'],
    [8_030_261_248, '8.03 B'],
  ])('%d parameters are %s', (count, text) => {
    expect(formatCount(count)).toBe(text);
  });

  it.each<[number, string]>([
    [0.04, '0.0 s'],
    [9.96, '10.0 s'],
    [42.4, '42 s'],
    [200, '3 min 20 s'],
    [7260, '2 h 1 min'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(formatSeconds(seconds)).toBe(text);
  });

  it('have a rate also where no time has passed', () => {
    expect(formatRate(2e9, 2)).toBe('1.00 GB/s');
    expect(formatRate(0, 0)).toBe('0 B/s');
  });
});

describe('the picture of a merge', () => {
  it('shows layers from the top, each expert in its shade', async () => {
    const { task, language } = writePair();
    const plan = await planMerge({
      method: 'layer_swap',
      task,
      language,
      bottom: 2,
      top: 1,
      bottomTransition: 1,
    });
    const bar = (shade: string) => shade.repeat(24);
    expect(drawLayers(plan, plain).split('\n')).toEqual([
      `  layer 7   ${bar('█')}  language`,
      `  layer 6   ${bar('░')}  task`,
      `  layer 5   ${bar('░')}`,
      `  layer 4   ${bar('░')}`,
      `  layer 3   ${bar('░')}`,
      `  layer 2   ${bar('▒')}  0.5 task + 0.5 language`,
      `  layer 1   ${bar('█')}  language`,
      `  layer 0   ${bar('█')}`,
      `  outside   ${bar('▒')}  0.5 task + 0.5 language`,
    ]);
  });

  it('leaves out the middle of a long run', async () => {
    const root = temporaryDirectory();
    const models = ['a', 'b'].map((name, seed) =>
      writeCheckpoint(join(root, name), llama({ layers: 40, seed })),
    );
    const [task = '', language = ''] = models;
    const drawing = drawLayers(await planMerge({ method: 'layer_swap', task, language }), plain);
    expect(drawing.split('\n')).toHaveLength(5 + 5 + 2 + 1);
    expect(drawing).toContain('⋮');
  });

  it('names both parts of a layer whose norms are averaged', async () => {
    const { task, language } = writePair();
    const plan = await planMerge({
      method: 'layer_swap',
      task,
      language,
      bottom: 2,
      top: 1,
      norms: 'average',
    });
    expect(drawLayers(plan, plain)).toMatch(
      /attention, feed-forward: language;\n.*norms: 0.5 task \+ 0.5 language/,
    );
  });
});

describe('a table', () => {
  it('aligns columns without lines', () => {
    expect(
      plainTable(
        [
          ['a', '1'],
          ['long', '20'],
        ],
        1,
      ),
    ).toBe('  a      1\n  long  20');
  });

  it('joins neighbours that are alike', () => {
    const rows = joinRuns([1, 1, 2, 1], String, (first, last) => [String(first), String(last)]);
    expect(rows).toEqual([
      ['1', '1'],
      ['2', '2'],
      ['1', '1'],
    ]);
  });
});
