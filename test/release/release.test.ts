import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';

const { tools, reason, registry } = inject('install');
const [index, indexReason] = [inject('index'), inject('indexReason')];

const smoke = async (lane: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<string> => {
  const script = fileURLToPath(new URL(`../${lane}/smoke.sh`, import.meta.url));
  const { stdout } = await promisify(execFile)('sh', [script, ...words], { env: { ...process.env, ...env } });
  return stdout;
};

/** A lane that cannot run says why in its name. */
const unless = (why: string): string => (why === '' ? '' : ` (skipped: ${why})`);

describe('a release', () => {
  it.skipIf(tools === undefined)(`installs by name from an npm registry${unless(reason)}`, async () => {
    expect(await smoke('install', ['layerloom'], { npm_config_registry: registry })).toContain('Algorithm 1');
  });

  it.skipIf(index === undefined)(`installs by name from a Python index${unless(indexReason)}`, async () => {
    expect(await smoke('wheels', [], { PIP_INDEX_URL: `${index}/simple/` })).toContain('Algorithm 1');
  });
});
