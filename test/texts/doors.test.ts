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
    // Without comments, which may name these functions.
    text: readFileSync(join(root, file), 'utf8').replace(/^\s*(\/\*\*? .*|\*.*|\/\/.*)$/gm, ''),
  }));

const users = (pattern: RegExp): string[] =>
  files
    .filter(({ file }) => !file.startsWith('core/texts/'))
    .flatMap(({ file, text }) => [...text.matchAll(pattern)].map(([found]) => `${file}: ${found}`))
    .sort();

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
    // Texts from this process or its own package: serialised from existing values.
    const own = [
      ...[
        'core/base/files/version.ts',
        'core/engine/output/record/provenance.ts',
        'core/models/checkpoint/containers/collected.ts',
        'core/models/checkpoint/containers/torch/reader.ts',
        'cli/schema.ts',
        'cli/serve.ts',
        'cli/work/merging/partition.ts',
      ],
      ...[
        'study/pages/components/alive.tsx',
        'core/plan/export/mergekit-recipe.ts',
        'core/plan/export/mergekit-slices.ts',
      ],
      ...['core/measure/verification/compare-record.ts', 'core/plan/check/plan-schema.ts'],
    ];
    const found = users(/JSON\s*\.\s*parse\b|\bparseTree\b/g).map((line) => line.replace(/:.*/s, ''));
    expect([...new Set(found)]).toEqual(own.toSorted());
  });

  it('are read as tables by one door; other files write them', () => {
    const found = users(/Papa\.\w+/g).map((line) => line.replace(/.*: /s, ''));
    expect([...new Set(found)]).toEqual(['Papa.unparse']);
    expect(users(/jsonc-parser|csv-parse|js-yaml|json5/g)).toEqual([]);
  });

  it('run their expressions in a thread of their own', () => {
    expect(importsOf('@huggingface/tokenizers')).toHaveLength(1);
    // The main thread loads only the module's address.
    for (const module of ['core/models/tokenizer/files/text-splitter', 'core/texts/expressions']) {
      expect(libraryModules).toContain(module);
      const name = module.split('/').at(-1);
      expect(users(new RegExp(`(from|import\\() ?'[^']*/${name}\\.js'`, 'g'))).toEqual([]);
    }
    const made = users(/\bvm\.|runInThisContext|new Function\(|\beval\(/g);
    expect([...new Set(made)]).toEqual(['cli/start.cts: runInThisContext']);
  });

  it('are templates that a parser with a limit reads, and nobody renders', () => {
    expect(importsOf('@huggingface/jinja')).toEqual([
      "core/models/tokenizer/chat-templates/chat-template.ts: import('@huggingface/jinja')",
    ]);
    expect(users(/\.render\(/g)).toEqual([]);
  });

  it('make no expression of this process', () => {
    // Each is made of constants of the same file.
    const own = [
      ...['cli/text/painted-bar.ts', 'study/evaluation/data/local/local-data.ts'],
      'study/evaluation/data/task-facts.ts',
      ...[
        'core/models/adapters/tensor-names.ts',
        'core/models/architecture/stacks.ts',
        'core/models/experts/dense-layouts.ts',
      ],
      ...['core/measure/proof/config-differences.ts', 'core/methods/recipe/document/document.ts'],
      ...[
        'core/models/sources/hub/push/upload/answers.ts',
        'core/models/sources/ranges/folder/folder.ts',
        'core/models/sources/remove-ranges.ts',
        'study/store/files/paths.ts',
      ],
    ];
    const found = users(/\bRegExp\(/g).map((line) => line.replace(/:.*/s, ''));
    expect([...new Set(found)]).toEqual(own.toSorted());
    // `text.match(other)` compiles a text as an expression; these are named literals, Python, and a search of
    // another kind.
    expect(users(/\.(match|matchAll|search)\((?!\/)\w*/g)).toEqual([
      'core/conversion/steps.ts: .matchAll(pattern',
      'core/measure/partition/formats/python.ts: .match(pattern',
      'core/measure/verification/mistaken-inputs.ts: .match(commitNames',
      'core/models/adapters/check-complete.ts: .match(layerNumber',
      'core/models/sources/hub/push/local-paths.ts: .match(path',
      'study/pages/components/data/text-search.ts: .search(query',
    ]);
  });
});
