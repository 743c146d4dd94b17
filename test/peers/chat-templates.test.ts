import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { chatTemplates } from '../../src/core/models/tokenizer/chat-templates/formats.js';

const { LAYERLOOM_PYTHON: python } = process.env;
const hasMergekit = python !== undefined && spawnSync(python, ['-c', 'import mergekit']).status === 0;

/** mergekit's templates as their families published the format; docs/parity.md has the reasons. */
const published: Readonly<Record<string, (text: string) => string>> = {
  chatml: (text) => text,
  mistral: (text) => text,
  llama3: (text) => text.replaceAll('<|eot_id|>\n', '<|eot_id|>'),
  alpaca: (text) => text.replace(/^\n\n/, '').replace(/(?<!\n)### Response:\n$/, '\n\n### Response:\n'),
  exaone: (text) =>
    text
      .replace(/^ {8}(\[\|system\|\]\[\|endofturn\|\]\n)\n/, '$1')
      .replaceAll('\n        [|endofturn|]\n\n', '[|endofturn|]\n')
      .replaceAll('\n        \n\n', '\n')
      .replace(/^ {4}\[\|/gm, '[|')
      .replace(/\[\|assistant\|\]\n$/, '[|assistant|]'),
};

type Rendered = Record<string, Record<string, { own: string; peer: string | null }>>;

describe.skipIf(!hasMergekit)('named chat templates (LAYERLOOM_PYTHON with mergekit)', () => {
  it('render in transformers as mergekit does, but for its departures from the published formats', () => {
    const script = fileURLToPath(new URL('parity/chat_templates.py', import.meta.url));
    const rendered = JSON.parse(
      execFileSync(python ?? '', [script], { input: JSON.stringify(chatTemplates) }).toString(),
    ) as Rendered;
    const compared = Object.entries(rendered).filter(([, texts]) => texts['user']?.peer !== null);
    expect(compared.map(([name]) => name).sort()).toEqual(Object.keys(published).sort());
    for (const [name, texts] of compared)
      for (const [conversation, { own, peer }] of Object.entries(texts)) {
        // Alpaca has no other roles: mergekit's template omits such turns, ours raises an error.
        if (name === 'alpaca' && conversation === 'an unknown role')
          expect(own).toMatch(/^error: alpaca has no role/);
        else if (peer?.startsWith('error: ')) expect(own, `${name}, ${conversation}`).toMatch(/^error: /);
        else expect(own, `${name}, ${conversation}`).toBe(published[name]?.(peer ?? ''));
      }
  });
});
