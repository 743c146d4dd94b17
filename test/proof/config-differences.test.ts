import { describe, expect, it } from 'vitest';
import { configDifferences } from '../../src/core/measure/proof/config-differences.js';

type Given = Parameters<typeof configDifferences>;

const compared = (found: object, expected: object) =>
  configDifferences(
    { files: [{ name: 'config.json', text: JSON.stringify(expected) }] } as unknown as Given[0],
    [],
    { checkpoint: { config: found } } as unknown as Given[2],
  );

describe('differences in config.json', () => {
  it('are faults if loaders compute otherwise, and shown cut', async () => {
    const { faults, warnings } = await compared({ rms_norm_eps: 1e-6 }, { rms_norm_eps: 1e-5 });
    expect(warnings).toEqual([]);
    expect(faults.map(({ sentence }) => sentence)).toEqual([
      expect.stringContaining('rms_norm_eps 0.000001, and the expected merge 0.00001'),
    ]);
    const long = await compared({ custom: 'x'.repeat(5000) }, { custom: 'y' });
    expect(long.warnings[0]?.length).toBeLessThan(400);
  });

  // A quadratic expression would take minutes, and the test would time out.
  it('take linear time in the length of a key', async () => {
    const key = 'norm'.repeat(250_000);
    const { faults, warnings } = await compared({ [key]: 1 }, { [key]: 2 });
    expect([faults, warnings.length]).toEqual([[], 1]);
  });
});
