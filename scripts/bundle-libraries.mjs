// @ts-check
/**
 * Replaces the compiled modules that stand for libraries by bundles: `dist/X.cjs`, which `dist/X.js` exports again, and
 * the licences of what is in it in `dist/X.licences.txt`. Their libraries are development dependencies.
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
