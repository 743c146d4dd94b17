import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError, reasonOf, withPath } from '../../base/errors.js';
import { exists } from '../../base/exists.js';
import { cardName, provenanceName } from '../../checkpoint/file-names.js';
import { readSideFile } from '../../checkpoint/small-file.js';
import { contentOf } from '../../engine/output/provenance.js';
import type { Run } from '../../engine/run.js';
import type { MergePlan } from '../../plan/plan.js';
import { recipesIn } from '../../recipe/recorded-recipe.js';
import type { VerifiedFile } from './verification.js';
import type { WrittenFile } from './written-record.js';

/**
 * Compares files of a directory with their records, by SHA-256 where that was recorded, on all threads.
 *
 * @throws LayerloomError READ_FAILED, INTERRUPTED
 */
export const verifyFiles = async (
  directory: string,
  written: readonly WrittenFile[],
  run: Run,
): Promise<VerifiedFile[]> => {
  const found = new Map<string, VerifiedFile>();
  const waiting = written.values();
  const next = async (one: WrittenFile): Promise<void> => {
    found.set(one.file, await verifyFile(join(directory, one.file), one, run));
    run.report({ phase: 'checksums', done: found.size, total: written.length });
  };
  await run.pool.inLanes(async () => {
    for (const one of waiting) {
      if (run.pool.stopped) return;
      await next(one);
    }
  });
  return written.flatMap(({ file }) => found.get(file) ?? []);
};

const verifyFile = async (
  path: string,
  { file, bytes: wanted, sha256: recorded }: WrittenFile,
  { pool }: Run,
): Promise<VerifiedFile> => {
  // Without waiting for a pipe's other end.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return undefined;
      throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
    },
  );
  if (handle === undefined) return { file, bytes: null, state: 'missing', reason: 'is missing' };
  try {
    const found = await handle.stat();
    const differs = (reason: string): VerifiedFile => ({
      ...{ file, bytes: found.size, reason },
      state: file === cardName ? 'edited' : 'different',
    });
    if (!found.isFile()) return differs('is not a file');
    if (wanted !== undefined && found.size !== wanted)
      return differs(`has ${found.size} bytes instead of ${wanted}`);
    if (recorded === undefined) return { file, bytes: found.size, state: 'unrecorded' };
    const result = await pool.checksum(handle.fd);
    if (!result.ok) throw new LayerloomError('READ_FAILED', { file: path, reason: result.reason });
    if (result.sha256 === undefined || result.sha256 === recorded)
      return { file, bytes: found.size, state: 'equal' };
    return differs(`has SHA-256 ${result.sha256.slice(0, 12)}… instead of ${recorded.slice(0, 12)}…`);
  } catch (error) {
    throw withPath(error, path);
  } finally {
    await handle.close();
  }
};

/** Compares the files beside the weights with what a plan has for them. @throws LayerloomError READ_FAILED */
export const compareSideFiles = async (
  directory: string,
  files: MergePlan['files'],
): Promise<VerifiedFile[]> =>
  Promise.all(
    files.map(async (planned): Promise<VerifiedFile> => {
      const { name: file } = planned;
      const wanted = Buffer.from(await contentOf(planned));
      if (!(await exists(join(directory, file))))
        return { file, bytes: null, state: 'missing', reason: 'is missing' };
      const found = await readSideFile(join(directory, file));
      if (found.equals(wanted)) return { file, bytes: found.length, state: 'equal' };
      const bytes = found.length;
      if (file !== cardName)
        return { file, bytes, state: 'different', reason: 'is not what the inputs give' };
      const [given, compared] = [found, wanted].map((card) => recipesIn(card.toString()));
      return given !== undefined && given === compared
        ? { file, bytes, state: 'edited', reason: 'is not what the inputs give' }
        : { file, bytes, state: 'different', reason: 'has another recipe than the one that was compared' };
    }),
  );

/** True for a file that loaders of models read, or run: one that a merge did not write changes what is loaded. */
export const isLoaded = (name: string): boolean =>
  !name.includes('/') &&
  (/\.(safetensors|bin|pt|pth|gguf|py|index\.json|jinja|model)$/.test(name) ||
    /(config|tokens_map|vocab|tokenizer|added_tokens|merges)\w*\.(json|txt)$/.test(name));

/** Lists the files of a directory that are none of these, but for those of git and of the hub's client. */
export const listUnlisted = async (directory: string, known: ReadonlySet<string>): Promise<string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(join(directory, '/').length))
    .filter(
      (name) =>
        !known.has(name) &&
        name !== provenanceName &&
        !/^\.(git|cache\/huggingface)(\/|attributes$|ignore$)/.test(name),
    )
    .sort();
