// @ts-check
/**
 * Replaces the modules that wrap libraries by bundles: `dist/X.cjs`, re-exported by `dist/X.js`, with
 * licences in `dist/X.licences.txt`. The libraries are development dependencies.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { libraryModules } from './library-modules.mjs';
import { licencesOf } from './licences.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

for (const module of libraryModules) {
  const { metafile } = await build({
    entryPoints: [`src/${module}.ts`],
    absWorkingDir: root,
    outfile: `dist/${module}.cjs`,
    bundle: true,
    minify: true,
    metafile: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    mainFields: ['module', 'main'],
    charset: 'ascii',
    legalComments: 'none',
    logLevel: 'warning',
  });
  const name = module.split('/').at(-1);
  writeFileSync(join(root, 'dist', `${module}.js`), `export * from './${name}.cjs';\n`);
  writeFileSync(join(root, 'dist', `${module}.licences.txt`), licencesOf(root, metafile));
}
