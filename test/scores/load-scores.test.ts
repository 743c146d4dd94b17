import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scoreTables, writeReport } from '../../src/index.js';
import { ResultFiles } from '../../src/study/evaluation/result-files.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { constructedResult } from '../fixtures/scored.js';

/** An experiment with only references, each scored by another version of one task. */
const study = async (versions: Readonly<Record<string, string>>) => {
  const folder = temporaryDirectory();
  const files = new ResultFiles(folder);
  const references = [];
  for (const [name, taskVersion] of Object.entries(versions)) {
    const result = constructedResult({ model: name, scores: [1, 0], changes: { taskVersion } });
    const { file } = await files.write(result, {});
    const { task, fewshot, n, rows, metrics } = result;
    references.push({
      ...{ name, model: `${name}=./${name}`, languages: ['swahili'] },
      role: name === 'base' ? 'base' : 'task',
      scores: { [task]: { taskVersion, fewshot, n, rows, metrics, result: `evaluations/${file}` } },
    });
  }
  writeFileSync(
    join(folder, 'experiment.json'),
    JSON.stringify({
      ...{ layerloom: '0.1.0', state: 'done', experiment: '', base: null, store: '', cost: {} },
      ...{ merges: [], references, bytesRead: 0, bytesWritten: 0, seconds: 0 },
      evaluate: { tasks: { swahili: 'mgsm_direct_sw' } },
    }),
  );
  return folder;
};

describe('results of several versions of a task', () => {
  it('are one warning of tables and of the report, with the command that scores the fewer again', async () => {
    const folder = await study({ base: '3', 'math-1': '3', 'math-2': '2' });
    const warning = `mgsm_direct_sw: 2 models have results of version 3 of the task, and 1 of version 2 (math-2); means are over both, and the versions are not compared. \`layerloom evaluate ${folder} --force --only math-2\` scores these again`;
    expect((await scoreTables(folder)).warnings).toEqual([warning]);
    expect((await writeReport(folder, { out: join(folder, 'page.html') })).warnings).toEqual([warning]);
  });

  it('are no warning where there is one version', async () => {
    expect((await scoreTables(await study({ base: '3', 'math-1': '3' }))).warnings).toEqual([]);
  });
});

it("a result of an earlier version, which states no longest answer, has the task's own", async () => {
  const folder = temporaryDirectory();
  const files = new ResultFiles(folder);
  const { file, result } = await files.write(constructedResult({ scores: [1, 0] }), {});
  const path = join(files.directory, file);
  const { maxTokens, ...earlier } = JSON.parse(readFileSync(path, 'utf8'));
  expect(maxTokens).toBeNull();
  writeFileSync(path, JSON.stringify(earlier));
  expect(readdirSync(files.directory)).toContain(file);
  expect((await new ResultFiles(folder).read(file)).result.maxTokens).toBeNull();
  expect(result.maxTokens).toBeNull();
});
