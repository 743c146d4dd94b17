import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serverCommand, startServer } from '../../src/study/evaluation/servers/server.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const plain = { model: '/models/a-1', name: 'swahili/math-1+swh-1/default', port: 8000 };

describe('the command of a server', () => {
  it.each([
    ['vllm serve {model} --port {port}', 'vllm serve /models/a-1 --port 8000'],
    ['sh -c "serve {name}"', 'sh -c "serve swahili/math-1+swh-1/default"'],
    ["sh -c 'serve {name}'", "sh -c 'serve swahili/math-1+swh-1/default'"],
  ])('%s has its words, in quotes too where no shell acts on them', (template, expected) => {
    expect(serverCommand(template, plain)).toBe(expected);
  });

  it.each(['$(touch x)', '`touch x`', "a'; touch x; '", 'a b', 'a"b', 'a\nb'])(
    'has %j as one word',
    (name) => {
      expect(serverCommand('serve {name}', { ...plain, name })).toBe(
        `serve '${name.replaceAll("'", "'\\''")}'`,
      );
      for (const template of [
        'sh -c "serve {name}"',
        "sh -c 'serve {name}'",
        `sh -c "it's {name}"`,
        `echo \\" "{name}"`,
        `echo 'a\\' '{name}'`,
      ])
        expect(() => serverCommand(template, { ...plain, name })).toThrow(/\{name\} stands within quotes/);
    },
  );

  it.each([
    ['outside of quotes', 'printf "%s|" {name} {model} >'],
    ['by its variable', `sh -c 'printf "%s|" "$LAYERLOOM_NAME" "$LAYERLOOM_MODEL"' >`],
  ])('gets names of others %s as they are, and runs nothing in them', async (_, command) => {
    const folder = temporaryDirectory();
    const [out, log] = [join(folder, 'out'), join(folder, 'log')];
    const name = `$(touch ${folder}/x)\`touch ${folder}/x\`'; touch ${folder}/x; '"`;
    const started = startServer({
      ...{ command: `${command} ${out}`, model: '/a b', name, log, timeoutSeconds: 20, environment: {} },
    });
    await expect(started).rejects.toThrow(/it ended with exit code 0/);
    expect(readFileSync(out, 'utf8')).toBe(`${name}|/a b|`);
    expect(existsSync(join(folder, 'x'))).toBe(false);
  });
});
