import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Reasons why a removal or replacement affects nobody else's files. */
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

/** All calls that remove, cut, rename or replace files, each with a reason from above. */
const calls: Readonly<Record<string, readonly [calls: string, ...reasons: Reason[]]>> = {
  'examples/demo/demo.mjs': ['renameSync', 'asked'],
  'examples/demo/experts.mjs': ['writeFileSync writeFileSync', 'new'],
  'examples/modular/draw.py': ['write_text write_text', 'named'],
  'examples/modular/run.py': ['rename rmtree rmtree', 'own'],
  'examples/modular/tables.py': ['write_text', 'named'],
  'examples/notebooks/small_models.py': ['write_bytes write_text', 'new'],
  'python/layerloom/_merged.py': ['rename rmtree', 'own'],
  'python/layerloom/_model.py': ['unlink', 'own'],
  'python/layerloom/_scratch.py': ['rmtree', 'own'],
  'python/layerloom/train/rows.py': ['replace unlink', 'named', 'own'],
  'python/layerloom_eval/sglang_weights.py': ['replace', 'own'],
  'src/api/task-data.ts': ['rm', 'own'],
  'src/core/base/files/abandoned.ts': ['rm', 'left'],
  'src/core/base/files/put-in-place.ts': ['rename rm', 'cache', 'own'],
  'src/study/batch/assemble.ts': ['rm rename rm rm rename rm', 'left', 'own', 'asked'],
  'src/study/bundle/compare-merge.ts': ['rename', 'new'],
  'src/study/bundle/make-again.ts': ['rm', 'own'],
  'src/study/bundle/rebuild-study.ts': ['rename rm', 'own'],
  'src/study/experiment/in-place/merges-in-place.ts': ['rm rm writeFile', 'own'],
  'src/cli/start.cts': ['rmSync writeFileSync renameSync rmSync', 'cache'],
  'src/core/conversion/export-model.ts': ['rm rm rm', 'own'],
  'src/api/doctor/directory.ts': ['writeFile rm', 'own'],
  'src/study/pages/analysis/analysis-record.ts': ['rm', 'asked'],
  'src/core/engine/compute/measures/read-values.ts': ['truncate', 'own'],
  'src/core/engine/compute/recompute.ts': ['truncate', 'own'],
  'src/core/engine/compute/scratch.ts': ['rm', 'own'],
  'src/core/engine/output/durable.ts': ['rename rm rename rm rm writeFile copyFile rm rmdir', 'named', 'own'],
  'src/core/engine/output/journalled-shards.ts': ['rm', 'left'],
  'src/core/engine/output/link.ts': ['rm copyFile', 'left', 'own'],
  'src/core/engine/output/shard-file.ts': ['truncate', 'own'],
  'src/core/engine/output/staging.ts': [
    'rm rm rm rm rename rename rename rename rename rename rm',
    ...(['left', 'own', 'asked'] as const),
  ],
  'src/study/evaluation/harness/harness.ts': ['rm writeFile', 'left', 'record'],
  'src/study/evaluation/harness/loadable.ts': ['writeFile rename rm', 'own'],
  'src/study/evaluation/data/local/local-task.ts': ['writeFile', 'new'],
  'src/study/evaluation/data/prepare-tasks.ts': ['writeFile writeFile', 'new'],
  'src/study/evaluation/result-files.ts': ['rm', 'left'],
  'src/study/evaluation/servers/sglang-server.ts': ['rm', 'own'],
  'src/study/evaluation/try-models.ts': ['rm rm', 'own'],
  'src/study/experiment/made-here.ts': ['writeFile rename', 'record'],
  'src/study/experiment/record/record-file.ts': ['rm', 'left'],
  'src/study/experiment/run-experiment.ts': ['truncate rm truncate', 'record', 'own'],
  'src/study/experiment/scoring/requests/check-tasks.ts': ['rm', 'own'],
  'src/study/experiment/scoring/requests/evaluation-folders.ts': ['rm', 'left'],
  'src/study/experiment/scoring/prepare-scoring.ts': ['rm', 'own'],
  'src/study/experiment/scoring/runs.ts': ['rm', 'left'],
  'src/study/experiment/scoring/progress/score-failures.ts': ['rm', 'record'],
  'src/study/experiment/scoring/score-model.ts': ['rm rm', 'own'],
  'src/core/measure/extraction/run-extraction.ts': ['truncate', 'own'],
  'src/core/native/build.ts': ['renameSync rmSync', 'asked', 'own'],
  'src/core/models/sources/hub/cache/cache-writer.ts': ['copyFile writeFile writeFile', 'cache'],
  'src/core/models/sources/ranges/folder/folder.ts': ['writeFile', 'cache'],
  'src/core/models/sources/ranges/folder/hold.ts': ['rm', 'left'],
  'src/core/models/sources/ranges/folder/own-folder.ts': ['rm', 'cache'],
  'src/core/models/sources/ranges/range-file.ts': ['truncate truncate truncate', 'cache'],
  'src/core/models/sources/remove-ranges.ts': ['rename rm rmdir rm', 'asked', 'cache', 'left'],
  'src/study/store/claims/claim-file.ts': ['rm writeFileSync rm rm', 'record', 'left'],
  'src/study/store/claims/claim.ts': ['rm rm', 'own'],
  'src/study/store/experiments.ts': ['rm rename rm rm', 'record', 'left'],
  'src/study/store/leftovers.ts': ['rm rm', 'left'],
  'src/study/store/files/link-shard.ts': ['rm', 'own'],
  'src/study/store/files/open-store.ts': ['writeFile', 'record'],
  'src/study/store/files/record.ts': ['rename', 'own'],
  'src/study/store/claims/scratch.ts': ['writeFile rm rm', 'own', 'left'],
  'src/study/store/files/set-aside.ts': ['rename rename rename rename rm rm', 'asked'],
  'src/study/store/shard-store.ts': ['rm', 'left'],
  'src/study/store/verify.ts': ['rm', 'own'],
  'src/study/training/write-training.ts': ['writeFile copyFile copyFile', 'new'],
  'training/prepare_data.py': ['write_text rename rename', 'own'],
  // Locks, and states of checkpoints from the same start; files set aside are moved into a separate folder.
  'training/train.sh': ['rm rm rm rm rm mv', 'record', 'left', 'own'],
};

const call =
  /(?<![\w.]|\bfunction )(rm|rmSync|rmdir|rmdirSync|unlinkSync|rename|renameSync|copyFile|copyFileSync|writeFile|writeFileSync|cp|cpSync)\(|\.(truncate|rename|rmdir|unlink)\((?!columns)|\b(?:shutil|os)\.(rmtree|move|copy\w*|unlink|remove|rename|replace|rmdir)\(|\.(write_text|write_bytes)\(|\b(rm|mv) -/g;

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
