import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { argument, layerloomCommand, shellPath, shellWord } from '../../src/core/base/errors/command-line.js';

const texts = [
  '-rf',
  '--force',
  '--',
  '-',
  '-o',
  '',
  ' ',
  'a b',
  "it's",
  '$HOME',
  '`id`',
  '~',
  '*',
  'a\nb',
  'ä',
  '\\',
  '!',
  '#x',
];

describe('a printed command', () => {
  it('has each word as it is, whatever shell acts on it', () => {
    const echoed = (word: string) => execFileSync('sh', ['-c', `printf '%s' ${word}`]).toString();
    for (const text of texts) {
      expect(echoed(shellWord(text))).toBe(text);
      expect(echoed(shellPath(text))).toBe(text.startsWith('-') ? `./${text}` : text);
    }
  });

  it('takes no path for an option', () => {
    for (const path of texts.filter((text) => text.startsWith('-'))) {
      expect(layerloomCommand('evaluate', argument(path))).toBe(`layerloom evaluate ./${path}`);
      expect(layerloomCommand('batch', 'FILE', '-o', argument(path))).toBe(
        `layerloom batch FILE -o ./${path}`,
      );
    }
  });

  it('has only words of the source and arguments', () => {
    const path: string = '-rf';
    // @ts-expect-error A text that is neither is an error of types.
    expect(layerloomCommand('evaluate', path)).toBe('layerloom evaluate -rf');
  });
});
