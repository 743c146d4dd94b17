import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { codeTabs, tabNames } from '../../site/tabs.mjs';
import { fencesOf, pages, root } from './fences.js';

interface Token {
  readonly type: string;
  readonly info: string;
  content: string;
}

type Rule = (state: { tokens: Token[]; env: { relativePath?: string } }) => void;

/** Calls the plugin as markdown-it does: on the page's tokens, then on each fenced block. */
const render = (given: readonly [type: string, text: string][]): string => {
  const tokens = given.map(([type, text]): Token => ({ type, info: text, content: text }));
  const rules: Rule[] = [];
  const renderer = {
    rules: { fence: (all: Token[], index: number) => `${all[index]?.info}\n` },
  };
  codeTabs({
    core: { ruler: { push: (_: string, rule: Rule) => rules.push(rule) } },
    renderer,
  });
  for (const rule of rules) rule({ tokens, env: { relativePath: 'page.md' } });
  return tokens
    .map(({ type, content }, index) => (type === 'fence' ? renderer.rules.fence(tokens, index) : content))
    .join('');
};

describe('blocks between the marks of tabs', () => {
  it('go to a component by their languages, and others stay', () => {
    const shown = render([
      ['fence', 'sh'],
      ['html_block', '<!-- tabs -->\n'],
      ['fence', 'sh'],
      ['fence', 'python {2}'],
      ['html_block', '<!-- /tabs -->\n'],
      ['fence', 'ts'],
    ]);
    expect(shown).toBe(
      'sh\n<CodeTabs languages="sh python">\n<template #sh>\nsh\n</template>\n<template #python>\npython {2}\n</template>\n</CodeTabs>\nts\n',
    );
  });

  it.each([
    [
      'another language',
      [
        ['html_block', '<!-- tabs -->\n'],
        ['fence', 'yaml'],
        ['html_block', '<!-- /tabs -->\n'],
      ],
    ],
    [
      'a text',
      [
        ['html_block', '<!-- tabs -->\n'],
        ['paragraph_open', 'sh'],
        ['html_block', '<!-- /tabs -->\n'],
      ],
    ],
    [
      'no end',
      [
        ['html_block', '<!-- tabs -->\n'],
        ['fence', 'sh'],
      ],
    ],
  ] as [string, [string, string][]][])('are refused with %s, with the name of their page', (_, given) => {
    expect(() => render(given)).toThrow(
      'page.md: between <!-- tabs --> and <!-- /tabs --> are blocks of sh, ts, python',
    );
  });

  const grouped = pages.filter((page) => fencesOf(page).some(({ group }) => group !== undefined));

  it('are on the pages of the usual ways', () => {
    const names = ['method', 'methods', 'analysis', 'experiments', 'evaluation', 'tables', 'adapters'];
    expect(grouped).toEqual(expect.arrayContaining(['README.md', ...names.map((name) => `docs/${name}.md`)]));
  });

  it.each(grouped)('in %s are one of each language, in the order of the tabs, and nothing else', (page) => {
    const text = readFileSync(`${root}${page}`, 'utf8');
    const groups = [...text.matchAll(/^<!-- tabs -->\n(.*?)^<!-- \/tabs -->$/gms)].map(
      ([, inner = '']) => inner,
    );
    expect(2 * groups.length).toBe(text.match(/^<!-- \/?tabs -->$/gm)?.length);
    for (const inner of groups) {
      const languages = [...inner.matchAll(/^```(\w+)$.*?^```$/gms)].map(([, language]) => language);
      expect(languages).toEqual(Object.keys(tabNames));
      expect(inner.replace(/^```\w+$.*?^```$/gms, '').trim()).toBe('');
    }
  });
});
