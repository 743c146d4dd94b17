import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/core/base/files/shipped.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { linkPackage, python, skipped } from './package.js';

const notebooks = join(packageRoot, 'examples/notebooks');

/** The stand-in for lm_eval, as pip writes it for long paths. */
const writeHarness = (directory: string): void => {
  const standIn = join(packageRoot, 'test/fixtures/stand-in/python');
  writeFileSync(join(directory, 'lm_eval'), `#!/bin/sh\n'''exec' "${standIn}" "$0" "$@"\n`);
  chmodSync(join(directory, 'lm_eval'), 0o755);
};

const execute = (name: string): string[] => {
  const [packages, programs, work] = [linkPackage(), temporaryDirectory(), temporaryDirectory()];
  writeHarness(programs);
  const { LAYERLOOM_EXPERTS: _, LAYERLOOM_PROBLEMS: __, ...environment } = process.env;
  const { status, stdout, stderr } = spawnSync(
    python ?? '',
    [join(packageRoot, 'test/notebooks/execute.py'), join(notebooks, name), work],
    {
      encoding: 'utf8',
      env: {
        ...environment,
        PATH: [programs, dirname(process.execPath), environment['PATH']].join(delimiter),
        PYTHONPATH: [packages, notebooks].join(delimiter),
        PYTHONDONTWRITEBYTECODE: '1',
        // PEFT 0.21 uses a name of transformers 5 that is deprecated.
        PYTHONWARNINGS: 'ignore::FutureWarning:transformers.modeling_utils',
        HF_HUB_OFFLINE: '1',
      },
    },
  );
  expect(`${status}${status === 0 ? '' : `: ${stdout}${stderr}`}`).toBe('0');
  return readdirSync(work).filter((file) => file.endsWith('.png'));
};

const imports = (...modules: string[]): boolean =>
  python !== undefined && spawnSync(python, ['-c', `import ${modules.join(', ')}`]).status === 0;

describe.skipIf(python === undefined)(`notebooks${skipped}`, () => {
  // matplotlib builds a cache once a machine, and says so on stderr.
  beforeAll(() => {
    if (python !== undefined) spawnSync(python, ['-c', 'import matplotlib.font_manager']);
  }, 600_000);

  it('lead from two experts to a figure', () => {
    expect(execute('figure.ipynb')).toEqual(['figure-heat-map.png']);
  });

  it('lead from an experiment to tables, a chart and a report', () => {
    expect(execute('study.ipynb')).toEqual(['study-chart.png']);
  });

  const hasPeft = imports('torch', 'peft', 'transformers');
  it.skipIf(!hasPeft)(`merge adapters as PEFT does${hasPeft ? '' : ' (skipped: no torch, peft)'}`, () => {
    expect(execute('adapters.ipynb')).toEqual([]);
  });
});
