import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/core/base/files/shipped.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

/**
 * A Python with the packages of examples/notebooks/requirements.txt, except layerloom, which comes from this
 * clone.
 */
export const python = process.env['LAYERLOOM_NOTEBOOKS_PYTHON'];

export const skipped = python === undefined ? ' (skipped: LAYERLOOM_NOTEBOOKS_PYTHON names no Python)' : '';

export const linkPackage = (): string => {
  const directory = temporaryDirectory();
  const [source, target] = [join(packageRoot, 'python/layerloom'), join(directory, 'layerloom')];
  mkdirSync(target);
  for (const name of readdirSync(source)) symlinkSync(join(source, name), join(target, name));
  symlinkSync(packageRoot, join(target, 'engine'));
  return directory;
};
