import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { libraryModules } from '../../scripts/library-modules.mjs';

const root = fileURLToPath(new URL('../../src', import.meta.url));

const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.[cm]?tsx?$/.test(file))
  .map((file) => ({
    file,
    // Without comments, which may name what they are about.
    text: readFileSync(join(root, file), 'utf8').replace(/^\s*(\/\*\*? .*|\*.*|\/\/.*)$/gm, ''),
  }));

/** The files outside of `texts/` in which something stands, each with it. */
const users = (pattern: RegExp): string[] =>
  files
    .filter(({ file }) => !file.startsWith('texts/'))
    .flatMap(({ file, text }) => [...text.matchAll(pattern)].map(([found]) => `${file}: ${found}`))
    .sort();

/** The names that files outside of `texts/` import from a library. */
const importsOf = (library: string): string[] => [
  ...new Set(
    users(
      new RegExp(`import[^;]*?from '${library}'|import\\('${library}'\\)|require\\('${library}'\\)`, 'g'),
    ),
  ),
];

describe('texts of strangers', () => {
  it('are parsed as YAML by one door; other files write it', () => {
    const names = importsOf('yaml').flatMap((line) =>
      (/\{(?<names>.*)\}/s.exec(line)?.groups?.['names'] ?? line).split(',').map((name) => name.trim()),
    );
    const ofWriters = ['Document', 'LineCounter', 'isScalar', 'isSeq', 'stringify', 'visit'];
    expect([...new Set(names.filter(Boolean))].sort()).toEqual(ofWriters);
  });

  it('are parsed as JSON by one door', () => {
    // Texts that this process wrote, or its own package: each is of a value that was there before.
    const own = [
      ...[
        'base/version.ts',
        'checkpoint/containers/torch/reader.ts',
        'cli/serve.ts',
        'cli/work/partition.ts',
      ],
      ...['documents/pages/alive.tsx', 'export/mergekit-recipe.ts', 'export/mergekit-slices.ts'],
      ...['measure/verification/compare-record.ts', 'plan/plan-schema.ts'],
    ];
    const found = users(/JSON\s*\.\s*parse\b|\bparseTree\b/g).map((line) => line.replace(/:.*/s, ''));
    expect([...new Set(found)]).toEqual(own);
  });

  it('are read as tables by one door; other files write them', () => {
    const found = users(/Papa\.\w+/g).map((line) => line.replace(/.*: /s, ''));
    expect([...new Set(found)]).toEqual(['Papa.unparse']);
    expect(users(/jsonc-parser|csv-parse|js-yaml|json5/g)).toEqual([]);
  });

  it('run their expressions in a thread of their own', () => {
    expect(importsOf('@huggingface/tokenizers')).toHaveLength(1);
    // The main thread loads the address of the module, and not the module.
    for (const module of ['model/tokenizer/text-splitter', 'texts/expressions']) {
      expect(libraryModules).toContain(module);
      const name = module.split('/').at(-1);
      expect(users(new RegExp(`(from|import\\() ?'[^']*/${name}\\.js'`, 'g'))).toEqual([]);
    }
    const made = users(/\bvm\.|runInThisContext|new Function\(|\beval\(/g);
    expect([...new Set(made)]).toEqual(['cli/start.cts: runInThisContext']);
  });

  it('are templates that a parser with a limit reads, and nobody renders', () => {
    expect(importsOf('@huggingface/jinja')).toEqual([
      "model/tokenizer/chat-templates/chat-template.ts: import('@huggingface/jinja')",
    ]);
    expect(users(/\.render\(/g)).toEqual([]);
  });

  it('make no expression of this process', () => {
    // Each is made of constants of the same file.
    const own = [
      ...['documents/text/painted-bar.ts', 'evaluation/local-data.ts'],
      ...['model/adapters/tensor-names.ts', 'model/architecture/stacks.ts', 'model/experts/dense-layouts.ts'],
      'recipe/document.ts',
      ...[
        'sources/hub/push/answers.ts',
        'sources/ranges/folder.ts',
        'sources/remove-ranges.ts',
        'store/paths.ts',
      ],
    ];
    const found = users(/\bRegExp\(/g).map((line) => line.replace(/:.*/s, ''));
    expect([...new Set(found)]).toEqual(own);
    // `text.match(other)` makes an expression of a text; these are named literals, Python, and searches of other kinds.
    expect(users(/\.(match|matchAll|search)\((?!\/)\w*/g)).toEqual([
      'conversion/steps.ts: .matchAll(pattern',
      'documents/pages/text-search.ts: .search(query',
      'measure/partition/formats/python.ts: .match(pattern',
      'measure/verification/mistaken-inputs.ts: .match(commitNames',
      'model/adapters/check-complete.ts: .match(layerNumber',
      'search/search.ts: .search(searching',
      'sources/hub/push/local-paths.ts: .match(path',
    ]);
  });
});
