import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Why a removal or replacement takes nothing that is somebody else's. */
const reasons = {
  own: 'made by this process, under a name that no other process uses',
  left: 'left by a killed process of ours: known by its name, and by a claim or lock where others work',
  asked: 'asked for by a command, and checked to be what layerloom wrote',
  named: 'a file that the user names, written whole in its place',
  cache: 'in a cache of ours, where nothing is kept but what can be fetched or made again',
  record: 'a lock, claim, record or note of ours, under its lock',
  new: 'written into a folder that this process has made',
} as const;

type Reason = keyof typeof reasons;

/**
 * All calls that remove, cut, rename or replace files, with the reasons. A new one has to be added here, and its reason to be
 * one of those above.
 */
const calls: Readonly<Record<string, readonly [calls: string, ...reasons: Reason[]]>> = {
  'examples/demo/demo.mjs': ['renameSync', 'asked'],
  'examples/demo/experts.mjs': ['writeFileSync writeFileSync', 'new'],
  'examples/modular/draw.py': ['write_text write_text', 'named'],
  'examples/modular/run.py': ['rename rmtree rmtree', 'own'],
  'examples/modular/tables.py': ['write_text', 'named'],
  'examples/notebooks/small_models.py': ['write_text', 'new'],
  'python/layerloom/_merged.py': ['rename rmtree', 'own'],
  'python/layerloom/_model.py': ['unlink', 'own'],
  'python/layerloom/_scratch.py': ['rmtree', 'own'],
  'python/layerloom/train/grams.py': ['replace unlink', 'named', 'own'],
  'python/layerloom/train/importances.py': ['replace unlink', 'named', 'own'],
  'python/layerloom_eval/sglang_weights.py': ['replace', 'own'],
  'src/api/task-data.ts': ['rm', 'own'],
  'src/base/abandoned.ts': ['rm', 'left'],
  'src/base/put-in-place.ts': ['rename rm', 'cache', 'own'],
  'src/batch/assemble.ts': ['rm rename rm rm rename rm', 'left', 'own', 'asked'],
  'src/batch/in-place/merges-in-place.ts': ['rm rm writeFile', 'own'],
  'src/cli/start.cts': ['rmSync writeFileSync renameSync rmSync', 'cache'],
  'src/conversion/export-model.ts': ['rm rm rm', 'own'],
  'src/doctor/directory.ts': ['writeFile rm', 'own'],
  'src/documents/analysis/analysis-record.ts': ['rm', 'asked'],
  'src/engine/compute/recompute.ts': ['truncate rm', 'own'],
  'src/engine/output/durable.ts': ['rename rm rename rm rm writeFile copyFile rm rmdir', 'named', 'own'],
  'src/engine/output/journalled-shards.ts': ['rm', 'left'],
  'src/engine/output/link.ts': ['rm copyFile', 'left', 'own'],
  'src/engine/output/shard-file.ts': ['truncate', 'own'],
  'src/engine/output/staging.ts': [
    'rm rm rm rm rename rename rename rename rename rename rm',
    ...(['left', 'own', 'asked'] as const),
  ],
  'src/evaluation/harness.ts': ['rm writeFile', 'left', 'record'],
  'src/evaluation/loadable.ts': ['writeFile rename rm', 'own'],
  'src/evaluation/local-task.ts': ['writeFile', 'new'],
  'src/evaluation/prepare-tasks.ts': ['writeFile writeFile', 'new'],
  'src/evaluation/result-files.ts': ['rm', 'left'],
  'src/evaluation/sglang-server.ts': ['rm', 'own'],
  'src/evaluation/try-models.ts': ['rm rm', 'own'],
  'src/experiment/made-here.ts': ['writeFile rename', 'record'],
  'src/experiment/record/record-file.ts': ['rm', 'left'],
  'src/experiment/run-experiment.ts': ['truncate rm truncate', 'record', 'own'],
  'src/experiment/scoring/check-tasks.ts': ['rm', 'own'],
  'src/experiment/scoring/evaluation-folders.ts': ['rm', 'left'],
  'src/experiment/scoring/prepare-scoring.ts': ['rm', 'own'],
  'src/experiment/scoring/runs.ts': ['rm', 'left'],
  'src/experiment/scoring/score-failures.ts': ['rm', 'record'],
  'src/experiment/scoring/score-model.ts': ['rm rm', 'own'],
  'src/measure/extraction/run-extraction.ts': ['truncate', 'own'],
  'src/native/build.ts': ['renameSync rmSync', 'asked', 'own'],
  'src/sources/hub/cache/cache-writer.ts': ['copyFile writeFile writeFile', 'cache'],
  'src/sources/ranges/folder.ts': ['writeFile', 'cache'],
  'src/sources/ranges/hold.ts': ['rm', 'left'],
  'src/sources/ranges/own-folder.ts': ['rm', 'cache'],
  'src/sources/ranges/range-file.ts': ['truncate truncate truncate', 'cache'],
  'src/sources/remove-ranges.ts': ['rename rm rmdir rm', 'asked', 'cache', 'left'],
  'src/store/claim-file.ts': ['rm writeFileSync rm rm', 'record', 'left'],
  'src/store/claim.ts': ['rm rm', 'own'],
  'src/store/experiments.ts': ['rm rename rm rm', 'record', 'left'],
  'src/store/leftovers.ts': ['rm rm', 'left'],
  'src/store/link-shard.ts': ['rm', 'own'],
  'src/store/open-store.ts': ['writeFile', 'record'],
  'src/store/record.ts': ['rename', 'own'],
  'src/store/scratch.ts': ['writeFile rm rm', 'own', 'left'],
  'src/store/set-aside.ts': ['rename rename rename rename rm rm', 'asked'],
  'src/store/shard-store.ts': ['rm', 'left'],
  'src/store/verify.ts': ['rm', 'own'],
  'src/training/write-training.ts': ['writeFile copyFile copyFile', 'new'],
  'training/prepare_data.py': ['write_text rename rename', 'own'],
  // Locks, states of checkpoints that the same start has made; what is set aside is moved into a folder of its own.
  'training/train.sh': ['rm rm rm rm rm mv', 'record', 'left', 'own'],
};

const call =
  /(?<![\w.]|\bfunction )(rm|rmSync|rmdir|rmdirSync|unlinkSync|rename|renameSync|copyFile|copyFileSync|writeFile|writeFileSync|cp|cpSync)\(|\.(truncate|rename|rmdir|unlink)\((?!columns)|\b(?:shutil|os)\.(rmtree|move|copy\w*|unlink|remove|rename|replace|rmdir)\(|\.(write_text|write_bytes)\(|\b(rm|mv) -/g;

/** The calls of a program, without those that its comments name. */
const callsIn = (file: string): string => {
  const text = readFileSync(`${root}/${file}`, 'utf8')
    .replace(/\/\*[\s\S]*?\*\/|^\s*(\/\/|#).*$/gm, '')
    .replace(/^import [^;]* from '[^']*';/gm, '');
  return [...text.matchAll(call)].map((found) => found.slice(1).find((name) => name !== undefined)).join(' ');
};

it('removes, cuts and replaces files in the listed places alone, each with its reason', () => {
  const folders = ['src', 'bin', 'training', 'tasks', 'examples', 'python'];
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...folders], {
    cwd: root,
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
    .filter((file) => /\.([mc]?[tj]sx?|py|sh)$/.test(file) && !file.startsWith('python/tests/'));
  const found = files.map((file) => [file, callsIn(file)] as const).filter(([, names]) => names !== '');
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(Object.entries(calls).map(([file, [names]]) => [file, names])),
  );
});

it('removes no folder and no checkpoint in the scripts of a training', () => {
  for (const name of ['train.sh', 'train_runs.sh']) {
    const lines = readFileSync(`${root}/training/${name}`, 'utf8').split('\n');
    const removing = lines.filter(
      (line) => /\b(rm|rmdir|unlink|find .*-delete)\b/.test(line) && !line.trim().startsWith('#'),
    );
    for (const line of removing)
      expect(line).toMatch(/rm -f -- ("\$1"|"\$1\.next"|"\$lock"|"\$name\/\$file")/);
  }
});
