import { expect, it } from 'vitest';
import { fileOf } from './fences.js';
import { lineNotPrinted } from './shown.js';

const printed = 'plan\n\n  merges   3\n  written  5 kB in 0.31 s (7.1 MB/s)\n/tmp/x/out\n';

it.each<[string, string[], string | undefined]>([
  ['all lines', ['plan', '', '  merges   3'], undefined],
  ['another figure', ['plan', '', '  merges   4'], '  merges   4'],
  ['lines with one left out', ['plan', '  merges   3'], '  merges   3'],
  ['lines left out by …', ['plan', '…', '  written  5 kB in 2 s (9 MB/s)'], undefined],
  ['the wrong order', ['  merges   3', '…', 'plan'], 'plan'],
  ['text left out by …', ['…', '/…/out'], undefined],
  ['a paragraph cut short by …', ['pl…', '  merges   3'], undefined],
  [
    'a size that is no duration',
    ['…', '  written  6 kB in 0.31 s (7.1 MB/s)'],
    '  written  6 kB in 0.31 s (7.1 MB/s)',
  ],
])('compares what is shown with what is printed: %s', (_, shown, missing) => {
  expect(lineNotPrinted(shown, printed)).toBe(missing);
});

it('finds the file that a block shows', () => {
  const of = (text: string) => fileOf({ page: 'a.md', line: 1, language: 'yaml', text });
  expect(of('# ties.yaml\nmethod: ties\n')).toEqual({ file: 'ties.yaml', isPart: false });
  expect(of('# in study.yaml\nevaluate: {}\n')).toEqual({ file: 'study.yaml', isPart: true });
  expect(of('// swap.mjs\nawait x;\n')).toEqual({ file: 'swap.mjs', isPart: false });
  expect(of('# The paper\nmethod: ties\n')).toBeUndefined();
});
