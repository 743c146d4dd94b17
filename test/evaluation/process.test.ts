import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { endGroup, startShell } from '../../src/core/programs/process.js';

const module = fileURLToPath(new URL('../../dist/core/programs/process.js', import.meta.url));

/** A program that starts a command in its own group, prints the group's id and waits for the command. */
const program = (command: string) => `
  import { spawnGroup } from ${JSON.stringify(module)};
  const child = spawnGroup(${JSON.stringify(command)}, ['a', 'b'], { output: 1, env: process.env });
  console.log(child.pid);
`;

const isThere = (group: number): boolean => {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
};

/** Whether the whole group ends; its watcher ends ten seconds after the others. */
const ended = async (group: number): Promise<boolean> => {
  for (let look = 0; look < 400 && isThere(group); look++) await pause(50);
  return !isThere(group);
};

describe('a process group', () => {
  it('ends with the process that started it, also if that is killed', async () => {
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program('sleep 600 & sleep 600')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const group = Number(line.toString());
    expect(isThere(group)).toBe(true);
    parent.kill('SIGKILL');
    expect(await ended(group)).toBe(true);
  });

  it('ends with its command, and has its words', async () => {
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program('echo "$2$1"')], {
      encoding: 'utf8',
    });
    const group = Number(/^\d+$/m.exec(printed)?.[0]);
    expect(printed).toMatch(/^ba$/m);
    expect(await ended(group)).toBe(true);
  });

  it('may have ended by itself before it is ended', async () => {
    const child = startShell('exit 3', [], { stdio: 'ignore' });
    await once(child, 'exit');
    await expect(endGroup(child)).resolves.toBeUndefined();
  });
});
