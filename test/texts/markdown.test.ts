import { describe, expect, it } from 'vitest';
import { fencedBlocks, frontMatterOf } from '../../src/core/texts/markdown.js';

const blocks = (card: string): [string, string][] =>
  fencedBlocks(card).map(({ language, begin, end }) => [language, card.slice(begin, end)]);

describe('a card', () => {
  it('has front matter between two lines of dashes, with which it begins', () => {
    expect(frontMatterOf('---\na: 1\nb: 2\n---\n# x\n---\n')).toBe('a: 1\nb: 2');
    expect(frontMatterOf('---\r\na: 1\r\n---')).toBe('a: 1');
    expect(frontMatterOf('---\n---\n')).toBe('');
    for (const card of [
      '',
      'a\n---\nb\n---\n',
      '---\na: 1\n',
      ' ---\na\n---\n',
      '----\na\n---\n',
      '---\na\n--- \n',
    ])
      expect(frontMatterOf(card), JSON.stringify(card)).toBeUndefined();
  });

  it('has blocks between fences, as CommonMark has them', () => {
    expect(blocks('x\n```yaml\na: 1\n```\n~~~ YML title\nb\n~~~\n   ````{.yaml}\n```\n`````  \n')).toEqual([
      ['yaml', 'a: 1\n'],
      ['yml', 'b\n'],
      ['yaml', '```\n'],
    ]);
    expect(blocks('```yaml\r\na: 1\r\n```\r\n')).toEqual([['yaml', 'a: 1\r\n']]);
    expect(blocks('```yaml\na: 1\n~~~\n``\n``` x\n')).toEqual([]);
    expect(blocks('```yaml\n'.repeat(100_000))).toEqual([]);
  });
});
