import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What a file says of its source map: its path in the package. */
const mapOf = (file: string): string | undefined => {
  const name = /^\/\/# sourceMappingURL=(?<name>\S+)\s*$/m.exec(readFileSync(join(root, file), 'utf8'))
    ?.groups?.['name'];
  return name === undefined ? undefined : normalize(join(dirname(file), name));
};

describe('the package', () => {
  let files: readonly string[] = [];

  beforeAll(() => {
    const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [packed] = JSON.parse(said) as [{ files: readonly { path: string }[] }];
    files = packed.files.map(({ path }) => path);
  });

  it('has what it exports and runs', () => {
    for (const file of ['dist/index.js', 'dist/index.d.ts', 'dist/cli/main.js', 'package.json'])
      expect(files).toContain(file);
  });

  it('names no source map that it lacks, nor one of sources that it lacks', () => {
    const code = files.filter((file) => /\.(c?js|d\.c?ts)$/.test(file) && existsSync(join(root, file)));
    expect(code.length).toBeGreaterThan(100);
    const lacking = code.flatMap((file) => {
      const map = mapOf(file);
      if (map === undefined) return [];
      if (!files.includes(map)) return [`${file}: ${map}`];
      const { sources, sourcesContent = [] } = JSON.parse(readFileSync(join(root, map), 'utf8')) as {
        sources: readonly string[];
        sourcesContent?: readonly unknown[];
      };
      return sources
        .filter(
          (source, index) =>
            typeof sourcesContent[index] !== 'string' &&
            !files.includes(normalize(join(dirname(map), source))),
        )
        .map((source) => `${map}: ${source}`);
    });
    expect(lacking).toEqual([]);
  });
});
